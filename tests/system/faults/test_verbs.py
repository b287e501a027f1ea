"""Other verbs that are killed, and two Snakemakes at once: the same bits, and the audit finds nothing."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import NAME, bits, files_of, study_of

from toolnoise.base import program, scratch

KILLS = 5
CUTS = 2
RUNS = 3


@pytest.fixture(scope="module")
def both(tmp_path_factory, prepared, write_study):
    """Two Snakemakes that make one study in one folder at once: the folder, and how they ended."""
    place = shutil.copytree(prepared, tmp_path_factory.mktemp("verbs"), dirs_exist_ok=True)
    write_study(place, study_of(RUNS))
    command = [sys.executable, "-m", "snakemake", "--snakefile", program.path_of_snakefile(), "--directory", place]
    command += ["--configfile", place / "study.yaml", "--cores", "2", "--workflow-profile", "none"]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in "12"]
    said = [one.communicate()[1] for one in started]
    return place, [(one.returncode, text) for one, text in zip(started, said, strict=True)]


@pytest.fixture(scope="module")
def finished(both):
    """The finished study."""
    return both[0]


@pytest.fixture(scope="module")
def left(finished, commands):
    """The command lines of its jobs."""
    return commands(finished)


@pytest.fixture(scope="module")
def driver(finished, drive):
    return drive(finished)


def part(finished, folder, *kept):
    """Copy a part of the study's results, with statements, to another folder; what was there goes."""
    shutil.rmtree(folder, ignore_errors=True)
    whole = finished / f"results/{NAME}"
    for path in whole.rglob("*"):
        name = path.relative_to(whole).as_posix()
        if path.is_file() and name.removeprefix("statements/").startswith(kept):
            target = folder / f"results/{NAME}" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)


def test_of_two_snakemakes_at_once_one_works_and_nothing_is_lost(both, findings):
    place, ended = both
    assert 0 in [code for code, _ in ended], ended
    for code, said in ended:
        assert code == 0 or "Directory cannot be locked" in said, said
    assert len({bits(place, seed)[0] for seed in range(1, RUNS + 1)}) == 1
    assert findings(place) == []


@pytest.fixture
def at(drawn, record_property):
    """The operations at which a job is killed; their number is printed at the end."""

    def draw(done):
        numbers = drawn(len(done), KILLS)
        record_property("kills survived, bit-equal", len(numbers))
        return numbers

    return draw


def remade(driver, argv, folder, at, start=lambda: None, of=None):
    """Kill a job at some of its operations, and make it again each time: its files must be the same."""
    of = of or results_of
    # The first time, it also makes folders.
    for _ in range(2):
        start()
        undisturbed = driver.do(argv, folder=str(folder))
        assert undisturbed.code == 0, undisturbed.said
    wanted = of(folder)
    for number in at(undisturbed.done):
        start()
        assert driver.do(argv, folder=str(folder), fault="kill", at=number).code == -signal.SIGKILL
        again = driver.do(argv, folder=str(folder))
        assert again.code == 0, again.said
        assert differing(of(folder), wanted) == []
    return wanted


def results_of(folder):
    """Every file but statements, which have times."""
    found = files_of(folder / f"results/{NAME}")
    return {name: content for name, content in found.items() if not name.startswith("statements/")}


def differing(found, wanted):
    """The names of files that only one of two folders has, or that are not the same."""
    return [name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)]


def test_a_measure_that_is_killed_anywhere_is_made_again(finished, left, driver, at, findings, tmp_path):
    part(finished, tmp_path, "study.json", "data/", "runs/", "predictions/")
    remade(driver, left["measure", ""], tmp_path, at)
    assert findings(tmp_path, complete=False) == []


def test_a_figure_that_is_killed_anywhere_is_made_again(finished, left, driver, at, findings):
    remade(driver, left["render", "table2"], finished, at)
    assert driver.do(left["write-page", ""]).code == 0
    assert findings(finished) == []


@pytest.fixture
def read_only(finished, tmp_path):
    """The study in a folder that nobody may write to."""
    folder = shutil.copytree(finished, tmp_path / "read-only")
    shutil.rmtree(folder / ".snakemake")
    places = [folder, *folder.rglob("*")]
    for path in places:
        path.chmod(path.stat().st_mode & ~0o222)
    yield folder
    for path in places:
        path.chmod(path.stat().st_mode | 0o200)


def test_outputs_that_appear_late_cost_a_wait_and_no_bits(finished, shim, snakemake, findings, tmp_path):
    late = {"LD_PRELOAD": str(shim), "LATE_BELOW": f"results/{NAME}/", "LATE_SECONDS": "3"}
    place, wanted = shutil.copytree(finished, tmp_path / "late"), results_of(finished)
    for part in ("metrics", "figures"):
        shutil.rmtree(place / f"results/{NAME}/{part}")
    (place / f"results/{NAME}/index.html").unlink()
    # What was copied is new, too: on a fast machine Snakemake would look for study.json before it appears.
    time.sleep(4)
    impatient = snakemake(place, "--latency-wait", "0", env=late)
    assert impatient.returncode == 1
    assert "latency-wait" in impatient.stdout + impatient.stderr
    patient = snakemake(place, "--latency-wait", "60", "--rerun-incomplete", env=late)
    assert patient.returncode == 0, patient.stdout + patient.stderr
    assert differing(results_of(place), wanted) == []
    # What was made again is younger than the pages that were made from it, on a slow machine by more than two minutes.
    assert [finding for finding in findings(place) if finding["rule"] != "order"] == []


READING = ["summary", "estimate", "audit RESULTS"]
WRITING = {"run --cores 1": ".snakemake", "run -n": ".snakemake"}


def test_in_a_folder_that_is_read_only_all_is_read_and_what_writes_ends_in_one_line(read_only, run, refusal):
    script = [Path(sys.executable).with_name("toolnoise")]
    if not os.geteuid():
        # Without the right to ignore permissions, which root has.
        setpriv = shutil.which("setpriv") or pytest.skip("as root, this needs setpriv")
        script = [setpriv, "--bounding-set=-all", "--inh-caps=-all", *script]
    for words in READING:
        done = run(read_only, *script, *words.replace("RESULTS", f"results/{NAME}").split())
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    for words, place in WRITING.items():
        said = refusal(run(read_only, *script, *words.split()))
        assert said.startswith(f"toolnoise: {place}: no permission")


def test_a_signing_that_is_killed_goes_on(finished, driver, at, findings, tmp_path):
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"]
    subprocess.run(made, check=True)
    before = shutil.copytree(finished / "results", tmp_path / "before")

    def start():
        shutil.rmtree(finished / "results")
        shutil.copytree(before, finished / "results")

    remade(driver, ["sign", f"results/{NAME}", "--key", str(tmp_path / "key")], finished, at, start, files_of)
    assert findings(finished, "--require-signature", str(tmp_path / "key.pub")) == []


def test_an_import_that_is_killed_is_made_again(finished, driver, at, findings, toolnoise, tmp_path):
    archive, there = tmp_path / "runs.tar", tmp_path / "there"
    done = toolnoise(finished, "export", f"results/{NAME}", "--out", archive, "--no-predictions")
    assert done.returncode == 0, done.stderr

    def start():
        part(finished, there, "study.json", "data/digits.npz")

    made = remade(driver, ["import", str(archive), "--into", f"results/{NAME}"], there, at, start, files_of)
    assert f"results/{NAME}/runs/linear/digits/cpu/control/1/run.json" in made
    assert findings(there, complete=False) == []


# What a power cut leaves of the files of a job: a journal of its operations, replayed on a disk that keeps the least.
# A disk keeps the content that a file had when it was last synced, and a name if its folder was synced since. What was
# not synced may be kept, too, in any order. So each moment has several disks: one that kept all names before any
# content, one that kept nothing that was not synced, and one that kept nothing else than the names of statements.

KEPT = {"every name": lambda _: True, "no name": lambda _: False, "statements": lambda path: "/statements/" in path}


@dataclass(eq=False)
class File:
    """A file: its content on disk, and the whole content that it got its last name with."""

    content: bytes = b""
    whole: bytes | None = None


@dataclass
class Disk:
    """The files and folders of a job by name: those that its process sees, and those that a power cut leaves."""

    live: dict[str, File | None] = field(default_factory=dict)
    synced: dict[str, File | None] = field(default_factory=dict)

    def do(self, kind, path, before, copy):
        """Perform one operation; `copy` is what the shim copied of the file."""
        match kind:
            case "m":
                self.live[path] = None
            case "u":
                self.live.pop(path, None)
            case "r":
                self.live[path] = self.live.pop(before)
                self.live[path].whole = copy.read_bytes()
            case "d":
                others = {name: file for name, file in self.synced.items() if Path(name).parent != Path(path)}
                self.synced = others | {n: file for n, file in self.live.items() if Path(n).parent == Path(path)}
            case "s":
                self.live.setdefault(path, File()).content = copy.read_bytes()
            case _:
                self.live.setdefault(path, File())

    def left(self, kept):
        """The names that are left if those were kept which were not synced, by their rule."""
        names = {name: file for name, file in self.synced.items() if not kept(name)}
        return names | {name: file for name, file in self.live.items() if kept(name)}


def moments(journal: Path) -> Iterator[Disk]:
    """The disk after each operation of a journal; it is the same object, which changes."""
    disk = Disk()
    for number, line in enumerate((journal / "lines").read_text().splitlines(), 1):
        disk.do(*line.split("\t"), journal / str(number))
        yield disk


def lay(names: dict[str, File | None], start: Path, folder: Path) -> None:
    """Put what is left of the files below `start` into a folder."""
    for name, file in names.items():
        target = folder / Path(name).relative_to(start)
        (target if file is None else target.parent).mkdir(parents=True, exist_ok=True)
        if file is not None:
            target.write_bytes(file.content)


CUT = [
    ("train", "1", ("study.json", "data/")),
    ("predict", "", ("study.json", "data/", "runs/")),
    ("measure", "", ("study.json", "data/", "runs/", "predictions/")),
    ("render", "table2", ("study.json", "data/", "runs/", "predictions/", "metrics/")),
]


@pytest.mark.parametrize(("verb", "of", "parts"), CUT, ids=[verb for verb, *_ in CUT])
def test_after_a_power_cut_nothing_half_written_counts_as_whole(
    verb, of, parts, finished, left, driver, drawn, findings, record_property, tmp_path
):
    place, journal = tmp_path / "place", tmp_path / "journal"
    journal.mkdir()
    part(finished, place, *parts)
    done = driver.do(left[verb, of], folder=str(place), journal=str(journal))
    assert done.code == 0, done.said
    wanted, said = same_in_each(place, verb), drawn(len(done.done), CUTS)
    for number, disk in enumerate(moments(journal), 1):
        for rule, kept in KEPT.items():
            names = disk.left(kept)
            require_whole(names, place, (number, rule))
            if number in said:
                part(finished, tmp_path / "cut", *parts)
                lay(names, place, tmp_path / "cut")
                again = driver.do(left[verb, of], folder=str(tmp_path / "cut"))
                assert again.code == 0, (number, rule, again.said)
                assert same_in_each(tmp_path / "cut", verb) == wanted, (number, rule)
    # The replay ends with what is there.
    whole = {path: path.read_bytes() for path in place.rglob("*") if str(path) in disk.live and path.is_file()}
    assert {Path(name): file.content for name, file in disk.live.items() if file} == whole
    assert findings(tmp_path / "cut", complete=False) == []
    record_property("power cuts, nothing half-written counts", number * len(KEPT))
    record_property("power cuts, made again with equal bits", len(said) * len(KEPT))


def same_in_each(folder, verb):
    """What must be the same each time a job is done."""
    if verb == "train":
        return bits(folder, 1)
    return {name: re.sub(rb'"seconds": \{[^}]*\}', b"", content) for name, content in results_of(folder).items()}


def require_whole(names, place, moment):
    """Each file with a name of its own has all of its content, and so have the outputs of each statement."""
    for name, file in names.items():
        if file and not scratch.is_scratch(Path(name).name):
            assert file.content == file.whole, (moment, name)
            if name.endswith(".intoto.json"):
                for subject in json.loads(file.content)["subject"]:
                    output = names.get(str(place / subject["name"]))
                    assert output, (moment, subject["name"])
                    assert hashlib.sha256(output.content).hexdigest() == subject["digest"]["sha256"], (moment, name)
