"""Other verbs that are killed, and two Snakemakes at once: the same bits, and the audit finds nothing."""

import shutil
import signal
import subprocess
import sys

import pytest
from conftest import NAME, ROOT, bits, files_of, study_of

KILLS = 5
RUNS = 3


@pytest.fixture(scope="module")
def both(tmp_path_factory, prepared, write_study):
    """Two Snakemakes that make one study in one folder at once: the folder, and how they ended."""
    place = shutil.copytree(prepared, tmp_path_factory.mktemp("verbs"), dirs_exist_ok=True)
    write_study(place, study_of(RUNS))
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", place]
    command += ["--configfile", place / "study.yaml", "--cores", "2"]
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


def remade(driver, argv, folder, at):
    """Kill a job at some of its operations, and make it again each time: its files must be the same."""
    # The first time, it also makes folders.
    _, undisturbed = (driver.do(argv, folder=str(folder)) for _ in range(2))
    assert undisturbed.code == 0, undisturbed.said
    wanted = results_of(folder)
    for number in at(undisturbed.done):
        assert driver.do(argv, folder=str(folder), fault="kill", at=number).code == -signal.SIGKILL
        again = driver.do(argv, folder=str(folder))
        assert again.code == 0, again.said
        found = results_of(folder)
        assert found.keys() == wanted.keys()
        assert [name for name in wanted if found[name] != wanted[name]] == []


def results_of(folder):
    """Every file but statements, which have times."""
    found = files_of(folder / f"results/{NAME}")
    return {name: content for name, content in found.items() if not name.startswith("statements/")}


def test_a_measure_that_is_killed_anywhere_is_made_again(finished, left, driver, at, findings, tmp_path):
    part(finished, tmp_path, "study.json", "data/", "runs/", "predictions/")
    remade(driver, left["measure", ""], tmp_path, at)
    assert findings(tmp_path, complete=False) == []


def test_a_figure_that_is_killed_anywhere_is_made_again(finished, left, driver, at, findings):
    remade(driver, left["render", "table2"], finished, at)
    for verb in ("write-page", "write-audit"):
        assert driver.do(left[verb, ""]).code == 0
    assert findings(finished) == []


def test_an_audit_repairs_what_is_damaged_or_missing_and_removes_what_is_left(finished, toolnoise, findings):
    results = finished / f"results/{NAME}"
    wanted = results_of(finished)
    (results / "figures/table2.csv").write_text("damaged")
    (results / "figures/table2.md").unlink()
    (results / "statements/figures/table2.html.intoto.json").unlink()
    (results / "figures/.table2.csv.13gkcno8.csv").write_text("half")
    untouched = {path: path.stat().st_mtime_ns for path in (results / "runs").rglob("*")}
    done = toolnoise(finished, "audit", results, "--clean", "--repair")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "removed: " in done.stderr
    assert "running: " in done.stderr
    found = results_of(finished)
    assert found.keys() == wanted.keys()
    # Pages show when a figure was made.
    assert {name for name in wanted if found[name] != wanted[name]} <= {"report.html", "page/statements.js"}
    assert {path: path.stat().st_mtime_ns for path in (results / "runs").rglob("*")} == untouched
    assert findings(finished) == []


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """A signing key, and the file that allows it."""
    folder = tmp_path_factory.mktemp("key")
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"]
    subprocess.run(made, check=True)
    (folder / "allowed").write_text("me@example.org " + (folder / "key.pub").read_text())
    return folder


def test_a_signing_that_is_killed_goes_on(finished, key, driver, at, findings, tmp_path):
    before, argv = tmp_path / "before", ["sign", f"results/{NAME}", "--key", str(key / "key")]
    shutil.copytree(finished / "results", before)
    undisturbed = driver.do(argv)
    assert undisturbed.code == 0, undisturbed.said
    wanted = files_of(finished / "results")
    for number in at(undisturbed.done):
        shutil.rmtree(finished / "results")
        shutil.copytree(before, finished / "results")
        assert driver.do(argv, fault="kill", at=number).code == -signal.SIGKILL
        assert driver.do(argv).code == 0
        assert files_of(finished / "results") == wanted
    assert findings(finished, "--require-signatures", str(key / "allowed")) == []


def test_an_import_that_is_killed_is_made_again(finished, driver, at, findings, toolnoise, tmp_path):
    archive, there = tmp_path / "runs.tar", tmp_path / "there"
    done = toolnoise(finished, "export", f"results/{NAME}", "--out", archive, "--no-predictions")
    assert done.returncode == 0, done.stderr
    argv, started = ["import", str(archive), "--into", f"results/{NAME}"], ("study.json", "data/digits.npz")
    part(finished, there, *started)
    undisturbed = driver.do(argv, folder=str(there))
    assert undisturbed.code == 0, undisturbed.said
    wanted = files_of(there)
    assert f"results/{NAME}/runs/linear/digits/cpu/control/1/run.json" in wanted
    for number in at(undisturbed.done):
        part(finished, there, *started)
        assert driver.do(argv, folder=str(there), fault="kill", at=number).code == -signal.SIGKILL
        again = driver.do(argv, folder=str(there))
        assert again.code == 0, again.said
        assert files_of(there) == wanted
    assert findings(there, complete=False) == []
