"""Runs that leave one folder as an archive and enter another: what travels, and all that is refused on the way in."""

import base64
import copy
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from toolnoise.provenance.audit.rules import RULES
from toolnoise.provenance.audit.rules.root import age_check

from toolnoise import steps
from toolnoise.base import files
from toolnoise.provenance import archive, exporting, importing, sharing, signing, statements, tree
from toolnoise.provenance.audit import examine
from toolnoise.provenance.statements import CODE, INPUT, RESOURCE, SOURCE, Artifact, Statement
from toolnoise.study import config, job_code
from toolnoise.study import grid as studies

NOON = datetime(2026, 1, 31, 12)
DATA = "results/shared/data/digits.npz"
STUDY = {
    "study": "shared",
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["digits"],
            "recipe": "digits",
            "hardware": ["cpu", "cpu-eigen"],
            "variants": ["control"],
            "seeds": 2,
        }
    ],
    "figures": ["table2"],
}


def stated(folder, job, content):
    """Write what a job of a study leaves: these bytes and a statement that is right about them."""
    outputs = []
    for name, role in job.outputs:
        data = content(name)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        outputs.append(Artifact(name, hashlib.sha256(data).hexdigest(), len(data), role))
    inputs = [described(folder / name, name, role, INPUT) for name, role in job.inputs]
    if job.verb == "prepare":
        inputs.append(Artifact("digits.csv.gz", "ab" * 32, 7, kind=SOURCE))
    made_by = job_code.digests_of_sources(job.verb, job.parameters)
    inputs += [Artifact(name, sha, kind=CODE if name.endswith(".py") else RESOURCE) for name, sha in made_by.items()]
    about = (job.parameters, {"host": folder.name}, NOON, NOON, {"python": "3.11.7"})
    statement = Statement(job.verb, tuple(outputs), tuple(inputs), *about)
    files.write_json(folder / statements.path_for(outputs[0].name), statement.as_json())


def described(path, name, role, kind):
    data = path.read_bytes()
    return Artifact(name, hashlib.sha256(data).hexdigest(), len(data), role, kind)


def make(folder, study, hardware=()):
    """A results folder with prepared data, and with runs and dumps of these toolings."""
    files.write_json(folder / "results/shared/study.json", study.config)
    (folder / "study.yaml").write_text(json.dumps(study.config))

    def content(name):
        if name.endswith("run.json"):
            seed = int(name.split("/")[-2])
            cell = next(cell for cell in study.cells if f"/{cell.hardware}/" in name)
            return json.dumps({"spec": study.spec(cell, seed).as_json()}).encode()
        return (name + "\n").encode() * 100

    for job in steps.jobs(study):
        on = job.parameters.get("spec", {}).get("hardware", {}).get("name")
        if job.verb == "prepare" or (job.verb in ("train", "predict") and on in hardware):
            stated(folder, job, content)
    return folder


def snapshot(folder):
    return {str(path.relative_to(folder)): path.is_dir() or path.read_bytes() for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def study():
    return studies.build(config.resolve(copy.deepcopy(STUDY), "shared.yaml"), "shared.yaml")


@pytest.fixture(scope="module")
def whole(study, tmp_path_factory):
    """A site where `cpu` ran, and what it exported; read-only."""
    site = make(tmp_path_factory.mktemp("site") / "a", study, ["cpu"])
    told = exporting.export(site / "results/shared", site.parent / "whole.tar")
    return SimpleNamespace(site=site, archive=site.parent / "whole.tar", told=told)


@pytest.fixture
def here(study, tmp_path):
    """Another site, where `cpu-eigen` ran."""
    return make(tmp_path / "b", study, ["cpu-eigen"])


@pytest.fixture
def take(here):
    """Import into that site."""
    return lambda path, **options: importing.take(path, here / "results/shared", **options)


def members(path):
    with tarfile.open(path) as tar:
        return [(one, tar.extractfile(one).read()) for one in tar.getmembers()]


def pack(path, some, mode="w:"):
    with tarfile.open(path, mode, format=tarfile.USTAR_FORMAT) as tar:
        for one, data in some:
            one.size = len(data)
            tar.addfile(one, io.BytesIO(data))
    return path


@pytest.fixture
def changed(whole, tmp_path):
    """The archive, with its members changed: `change` is given a list of pairs and edits it."""

    def write(change):
        some = members(whole.archive)
        return pack(tmp_path / "changed.tar", change(some) or some)

    return write


def place(some, ending):
    return next(number for number, (one, _) in enumerate(some) if one.name.endswith(ending))


RUN = "cpu/control/1/weights.npz"


def edit_statement(ending, change):
    """Change a statement in the archive."""

    def edit(some):
        number = place(some, ending + ".intoto.json")
        about = json.loads(some[number][1])
        change(about)
        some[number] = (some[number][0], json.dumps(about).encode())

    return edit


def edit_file(ending, data, restate=""):
    """Change a file in the archive, and what the statement named says of it."""

    def edit(some):
        number = place(some, ending)
        some[number] = (some[number][0], data)
        if restate:

            def right(about):
                (one,) = [one for one in about["subject"] if one["name"].endswith(ending)]
                one["digest"]["sha256"] = hashlib.sha256(data).hexdigest()
                one["annotations"]["size"] = len(data)

            edit_statement(restate, right)(some)

    return edit


def renamed(ending, name):
    def edit(some):
        some[place(some, ending)][0].name = name

    return edit


def added(name, data=b"1", at=None, **about):
    def edit(some):
        one = tarfile.TarInfo(name)
        for key, value in about.items():
            setattr(one, key, value)
        some.insert(len(some) if at is None else place(some, at), (one, data))

    return edit


def dropped(*endings):
    return lambda some: [pair for pair in some if not pair[0].name.endswith(endings)]


def twice(ending):
    return lambda some: some.insert(place(some, ending), some[place(some, ending)])


def definition(about):
    return about["predicate"]["buildDefinition"]


def dependency(about, kind):
    return next(
        one for one in definition(about)["resolvedDependencies"] if one.get("annotations", {}).get("kind") == kind
    )


def swapped(some):
    one, other = (place(some, f"cpu/control/{seed}/weights.npz.intoto.json") for seed in (1, 2))
    some[one], some[other] = (some[one][0], some[other][1]), (some[other][0], some[one][1])


def test_what_was_made_on_a_tooling_travels_with_its_statements(whole):
    assert str(whole.told) == "2 runs, 1 dumps of predictions"
    assert whole.told.others == 3
    names = [one.name for one, _ in members(whole.archive)]
    stated_there = [name for name in names if name.startswith("results/shared/statements/")]
    assert names == sorted(stated_there) + sorted(set(names) - set(stated_there))
    assert "results/shared/statements/data/digits.npz.intoto.json" in names
    assert DATA not in names
    assert len(names) == 4 + 2 * 3 + 2


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.xz"])
def test_exporting_twice_gives_the_same_bytes_and_importing_the_same_files(suffix, whole, here, take, tmp_path):
    packed = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for path in packed:
        exporting.export(whole.site / "results/shared", path)
    assert packed[0].read_bytes() == packed[1].read_bytes()
    told = take(packed[0])
    assert (told.jobs, told.others) == (whole.told.jobs, 0)
    results = snapshot(here / "results/shared")
    for one, data in members(packed[0]):
        if not one.name.endswith("digits.npz.intoto.json"):
            assert results[str(Path(one.name).relative_to("results/shared"))] == data
    assert not [name for name in results if ".making-" in name]


def test_the_statement_of_the_data_here_stays(whole, here, take):
    before = (here / statements.path_for(DATA)).read_bytes()
    take(whole.archive)
    assert (here / statements.path_for(DATA)).read_bytes() == before


def test_an_audit_bears_with_data_that_was_prepared_here_after_it_was_used_there(whole, here, take):
    path = here / statements.path_for(DATA)
    tomorrow = NOON + timedelta(days=1)
    files.write_json(path, statements.read(path)._replace(started=tomorrow, finished=tomorrow).as_json())
    take(whole.archive)
    found = examine.examine(
        tree.load(here / "results/shared"), 1, rules=[rule for rule in RULES if "times" in rule.name]
    )
    assert found.findings == ()


def test_what_comes_in_is_of_one_age_and_no_older_than_the_data(whole, here, take):
    os.utime(here / DATA, ns=(2**61, 2**61))  # far in the future, as another machine's clock may have it
    take(whole.archive)
    ages = {(here / one.name).stat().st_mtime_ns for one, _ in members(whole.archive) if "digits.npz" not in one.name}
    assert ages == {2**61}


def test_importing_again_changes_nothing(whole, here, take):
    take(whole.archive)
    before = snapshot(here)
    told = take(whole.archive)
    assert (str(told), told.others) == ("nothing", 3)
    assert snapshot(here) == before


def test_runs_that_lack_a_file_are_completed(whole, here, take):
    take(whole.archive)
    before = snapshot(here)
    gone = next(here.rglob("cpu/control/1/history.csv"))
    gone.unlink()
    assert take(whole.archive).jobs == {"train": 1}
    assert snapshot(here) == before


def test_only_some_toolings_and_no_predictions(study, tmp_path):
    site = make(tmp_path / "both", study, ["cpu", "cpu-eigen"])
    out = tmp_path / "some.tar"
    told = exporting.export(site / "results/shared", out, ["cpu-eigen"], predictions=False)
    assert (told.jobs, told.others) == ({"train": 2}, 0)
    assert not [one.name for one, _ in members(out) if "predictions" in one.name or "/cpu/" in one.name]


def test_a_study_is_told_by_its_file_too(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(whole.site)
    exporting.export("study.yaml", tmp_path / "one.tar")
    assert (tmp_path / "one.tar").read_bytes() == whole.archive.read_bytes()


def test_the_folder_is_found_by_the_name_in_the_archive(whole, here, monkeypatch):
    monkeypatch.chdir(here)
    assert importing.take(whole.archive).jobs == whole.told.jobs


def test_a_study_of_some_toolings_takes_others_if_the_whole_study_is_named(whole, here, take, refused):
    narrow = json.loads((here / "study.yaml").read_text())
    files.write_json(here / "results/shared/study.json", config.narrowed(narrow | {"only": ["cpu-eigen"]}, "study"))
    assert "--study selects another form of it" in refused(take, whole.archive)
    assert take(whole.archive, study=here / "study.yaml").jobs == whole.told.jobs


def test_runs_of_an_earlier_form_of_the_study_stay(whole, tmp_path, refused):
    site = shutil.copytree(whole.site, tmp_path / "site")
    path = site / statements.path_for("results/shared/runs/smallcnn/digits/cpu/control/1/weights.npz")
    about = json.loads(path.read_text())
    definition(about)["externalParameters"]["spec"]["recipe"]["learning_rate"] = 0.5
    files.write_json(path, about)
    told = exporting.export(site / "results/shared", tmp_path / "less.tar")
    assert (told.jobs, told.others) == ({"train": 1, "predict": 1}, 4)
    shutil.rmtree(site / "results/shared/statements/runs")
    shutil.rmtree(site / "results/shared/statements/predictions")
    assert "has nothing to export" in refused(exporting.export, site / "results/shared", tmp_path / "none.tar")


@pytest.mark.parametrize("change", [lambda data: b"X" + data[1:], lambda data: data[:-1], lambda data: data + b"1"])
def test_a_file_that_is_not_what_its_statement_says_is_not_exported(change, whole, tmp_path, refused):
    site = shutil.copytree(whole.site, tmp_path / "site")
    path = next((site / "results").rglob(RUN))
    path.write_bytes(change(path.read_bytes()))
    line = refused(exporting.export, site / "results/shared", tmp_path / "out.tar")
    assert line.startswith(f"{path}: differs from its statement")
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert refused(exporting.export, site / "results/shared", tmp_path / "out.tar").startswith(f"{path}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_bad_options_of_an_export_are_one_line(whole, tmp_path, refused):
    results = whole.site / "results/shared"
    assert refused(exporting.export, results, tmp_path / "a.zip").endswith("ends in .tar, .tar.gz, .tar.xz")
    line = refused(exporting.export, results, tmp_path / "a.tar", ["v100"])
    assert line == "command line: --hardware: no 'v100' in the study; allowed: cpu, cpu-eigen"
    assert refused(exporting.export, tmp_path, tmp_path / "a.tar").startswith(f"{tmp_path}/study.json")


def test_a_name_that_no_tar_holds_is_one_line(tmp_path, refused):
    long = archive.Member("results/" + "a" * 300, 0, iter(()))
    assert "does not fit into an archive" in refused(sharing.pack, tmp_path / "a.tar", [long])
    large = archive.Member("results/a", 2**33, iter(()))
    assert "does not fit into an archive" in refused(sharing.pack, tmp_path / "a.tar", [large])
    assert not list(tmp_path.iterdir())


LINK = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}
KINDS = {
    "a symbolic link": LINK,
    "a hard link": {"type": tarfile.LNKTYPE, "linkname": "results/shared/study.json"},
    "a device": {"type": tarfile.CHRTYPE},
    "a pipe": {"type": tarfile.FIFOTYPE},
    "a folder": {"type": tarfile.DIRTYPE},
    "a sparse file": {"type": tarfile.GNUTYPE_SPARSE},
    "a further header": {"type": tarfile.XHDTYPE},
    "a long name": {"type": tarfile.GNUTYPE_LONGNAME},
}
HARMFUL = {
    "a changed byte": (edit_file(f"runs/smallcnn/digits/{RUN}", b"X" * 5300), "has 5300 bytes"),
    "a larger file": (edit_file(f"runs/smallcnn/digits/{RUN}", bytes(10**8)), "has 100000000 bytes"),
    "above": (renamed(f"digits/{RUN}", "../weights.npz"), "../weights.npz: is not named by a statement"),
    "above in the middle": (
        renamed(f"digits/{RUN}", "results/shared/runs/../../../weights.npz"),
        "results/shared/runs/../../../weights.npz: is not named",
    ),
    "absolute": (renamed(f"digits/{RUN}", "/tmp/weights.npz"), "/tmp/weights.npz: is not named"),
    "another case": (
        renamed(f"digits/{RUN}", f"results/shared/runs/SmallCNN/digits/{RUN}"),
        "SmallCNN/digits/cpu/control/1/weights.npz: is not named",
    ),
    "a twin in Unicode": (
        renamed(f"digits/{RUN}", f"results/shared/runs/\uff53mallcnn/digits/{RUN}"),
        "control/1/weights.npz: is not named",
    ),
    "a dot": (
        renamed(f"digits/{RUN}", f"results/shared/./runs/smallcnn/digits/{RUN}"),
        "results/shared/./runs/smallcnn/digits/cpu/control/1/weights.npz: is not named",
    ),
    "a name with a line end": (renamed(f"digits/{RUN}", "results\n/x"), "results\\n/x: is not named"),
    "another study": (renamed("digits.npz.intoto.json", "results/other/statements/a.intoto.json"), "results/other/"),
    "a file without statement": (added("results/shared/notes.txt"), "notes.txt: is not named by a statement"),
    "a study": (added("results/shared/study.json"), "study.json: is not named by a statement"),
    "the data itself": (added(DATA), f"{DATA}: is not named by a statement"),
    "a statement of what is made anywhere": (
        added("results/shared/statements/study.json.intoto.json", b"{}", at="digits.npz.intoto.json"),
        "study.json.intoto.json: ",
    ),
    "a file twice": (twice(f"digits/{RUN}"), "weights.npz: is not named by a statement in the archive, or occurs"),
    "a statement twice": (twice("cpu/control/1/weights.npz.intoto.json"), "weights.npz.intoto.json: is out of place"),
    "a statement after the files": (
        lambda some: some.append(some.pop(place(some, "cpu/control/1/weights.npz.intoto.json"))),
        "which must be here or in the archive",
    ),
    "a file that is missing": (dropped(f"digits/{RUN}"), "cpu/control/1/weights.npz: is missing"),
    "a statement that is missing": (dropped(f"{RUN}.intoto.json"), "must be here or in the archive"),
    "runs of a dump that are missing": (
        lambda some: [pair for pair in some if "/runs/" not in pair[0].name],
        "cpu/control/1/run.json; which must be here or in the archive",
    ),
    "nothing but the data's statement": (lambda some: some[:1], "statements, each once, of jobs of the study"),
    "a changed spec": (
        edit_statement(
            RUN, lambda about: definition(about)["externalParameters"]["spec"]["recipe"].update(learning_rate=0.5)
        ),
        "differs from the study here in its spec",
    ),
    "a changed key": (
        edit_statement(RUN, lambda about: definition(about)["externalParameters"]["keys"]["init"].update(key="0" * 32)),
        "differs from the study here in its spec",
    ),
    "another verb": (
        edit_statement(RUN, lambda about: definition(about).update(buildType="urn:toolnoise:predict:1")),
        "differs from the study here in its verb",
    ),
    "statements of two runs swapped": (swapped, "differs from the study here in its spec"),
    "outputs elsewhere": (
        edit_statement(RUN, lambda about: about["subject"][1].update(name="results/shared/study.json")),
        "differs from the study here in its list of outputs",
    ),
    "a dump of other runs": (
        edit_statement(
            "cpu/control.npy", lambda about: definition(about)["resolvedDependencies"].remove(dependency(about, INPUT))
        ),
        "differs from the study here in its list of inputs",
    ),
    "a run of other data": (
        edit_statement(RUN, lambda about: dependency(about, INPUT)["digest"].update(sha256="cd" * 32)),
        "digits.npz: SHA-256",
    ),
    "other data": (
        edit_statement("digits.npz", lambda about: about["subject"][0]["digest"].update(sha256="cd" * 32)),
        "digits.npz: SHA-256",
    ),
    "a dump of another run": (
        edit_file("cpu/control/1/run.json", b"{}", restate=RUN),
        "control.npy.intoto.json: names a different results/shared/runs/smallcnn/digits/cpu/control/1/run.json",
    ),
    "other code": (
        edit_statement(RUN, lambda about: dependency(about, CODE)["digest"].update(sha256="cd" * 32)),
        "that differs from the one here; the same code, or --other-code",
    ),
    "a statement without sizes": (
        edit_statement(RUN, lambda about: about["subject"][0]["annotations"].pop("size")),
        "lacks sizes",
    ),
    "more bytes than the disk has": (
        edit_statement(RUN, lambda about: about["subject"][0]["annotations"].update(size=2**60)),
        "are free for",
    ),
    "an endless statement": (
        edit_file(f"{RUN}.intoto.json", b" " * (4 * 2**20 + 1)),
        "weights.npz.intoto.json: has 4194305 bytes; at most 4194304",
    ),
    "a statement that is none": (edit_file(f"{RUN}.intoto.json", b"{"), "weights.npz.intoto.json: damaged"),
    "a statement nested too deeply": (edit_file(f"{RUN}.intoto.json", b"[" * 10**5), "npz.intoto.json: damaged"),
}
HARMFUL |= {
    kind: (added("results/shared/linked", b"", at=f"digits/{RUN}", **about), "shared/linked: a link")
    for kind, about in KINDS.items()
}


@pytest.mark.parametrize(("harm", "told"), HARMFUL.values(), ids=HARMFUL)
def test_what_does_not_match_is_refused_in_one_line_and_leaves_nothing(harm, told, changed, here, take, refused):
    path = changed(harm)
    before = snapshot(here)
    line = refused(take, path)
    assert told in line
    assert snapshot(here) == before


def test_one_byte_is_enough(whole, tmp_path, here, take, refused):
    content = bytearray(whole.archive.read_bytes())
    content[content.index(b"runs/smallcnn/digits/cpu/control/1/weights.npz\n")] ^= 1
    (tmp_path / "changed.tar").write_bytes(content)
    before = snapshot(here)
    assert "1/weights.npz: differs from its statement" in refused(take, tmp_path / "changed.tar")
    assert snapshot(here) == before


def test_a_record_of_another_spec_is_refused_though_its_statement_is_right_about_it(changed, take, refused):
    def edit(some):
        dropped("control.npy", "control.json", "control.npy.intoto.json")
        record = json.loads(some[place(some, "cpu/control/1/run.json")][1])
        record["spec"]["recipe"]["learning_rate"] = 0.5
        edit_file("cpu/control/1/run.json", json.dumps(record).encode(), restate=RUN)(some)
        return [pair for pair in some if "predictions" not in pair[0].name]

    assert "run.json: differs from its statement in its spec" in refused(take, changed(edit))


def test_other_code_is_taken_if_that_is_asked_for(changed, here, take):
    name = "workflow/toolnoise/training/loop.py"

    def older(about):
        for one in definition(about)["resolvedDependencies"]:
            if one["name"] == name:
                one["digest"]["sha256"] = "cd" * 32

    path = changed(edit_statement(RUN, older))
    assert take(path, other_code=True).jobs == {"train": 2, "predict": 1}
    assert next((here / "results").rglob(RUN)).exists()


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_that_ends_early_or_goes_on_is_refused_wherever_it_was_cut(
    packed, whole, here, take, refused, tmp_path
):
    plain = whole.archive.read_bytes()
    end = len(plain.rstrip(b"\0")) // 512 * 512 + 512  # where the last member ends
    path = tmp_path / "cut.tar"
    before = snapshot(here)
    cuts = [plain[:length] for length in (0, 1, 511, 512, 700, 2048, len(plain) // 2, end - 512, end, end + 512)]
    longer = [plain + bytes(10240), plain + b"more", plain[:-1] + b"\1"]
    padded = bytearray(plain)
    padded[512 + (-(-int(plain[124:135], 8) // 512)) * 512 - 1] = 1  # after the first file, before the second header
    for content in [*cuts, *longer, bytes(padded)]:
        path.write_bytes(gzip.compress(content, mtime=0) if packed else content)
        assert refused(take, path).startswith(f"{path}: ")
    if packed:
        whole_packed = gzip.compress(plain, mtime=0)
        for content in (whole_packed[:-1], whole_packed[:-8], whole_packed[: len(whole_packed) // 2]):
            path.write_bytes(content)
            assert "damaged or truncated" in refused(take, path)
    assert snapshot(here) == before


def test_a_bomb_is_not_unpacked(changed, tmp_path, take, refused):
    # A gigabyte of zeros in a megabyte, where a run's weights should be.
    plain = changed(lambda some: some[: place(some, f"digits/{RUN}")])
    one = tarfile.TarInfo(f"results/shared/runs/smallcnn/digits/{RUN}")
    one.size = 10**9
    path = tmp_path / "bomb.tar.gz"
    content = plain.read_bytes().rstrip(b"\0")
    content += bytes(-len(content) % 512)
    # One after the other, gzip's members are one stream.
    path.write_bytes(gzip.compress(content + one.tobuf(tarfile.USTAR_FORMAT)) + 100 * gzip.compress(bytes(10**7)))
    assert "has 1000000000 bytes" in refused(take, path)


def test_a_record_of_spaces_is_not_unpacked(changed, here, take, refused, monkeypatch):
    # Valid JSON of any size in a small archive, and its statement says so.
    spaces = b" " * (2**20 + 1)

    def spacious(some):
        some[:] = dropped("control.npy", "control.json", "control.npy.intoto.json")(some)
        edit_file("cpu/control/1/run.json", spaces, restate=RUN)(some)

    path = changed(spacious)
    monkeypatch.setattr(files, "LARGEST_TEXT", 2**20)
    before = snapshot(here)
    line = refused(take, path)
    # Named as a member: once unpacked, it would be a file.
    assert line.startswith(f"{path}: results/shared/runs/")
    assert line.endswith(f"run.json: has {len(spaces)} bytes; at most {2**20}")
    assert snapshot(here) == before


def test_what_is_no_archive_is_one_line(take, refused, tmp_path, here, monkeypatch):
    (tmp_path / "text.tar").write_text("hello " * 400)
    assert refused(take, tmp_path / "text.tar").startswith(f"{tmp_path / 'text.tar'}: damaged or truncated")
    assert "no such file" in refused(take, tmp_path / "absent.tar")
    monkeypatch.chdir(here)
    assert "damaged or truncated" in refused(importing.take, tmp_path / "text.tar")
    assert "belongs to no study" in refused(
        importing.take, pack(tmp_path / "o.tar", [(tarfile.TarInfo("../../x/y"), b"")])
    )


def test_a_file_that_is_here_with_other_bytes_stays(whole, here, take, refused):
    path = here / "results/shared/runs/smallcnn/digits" / RUN
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    before = snapshot(here)
    assert refused(take, whole.archive) == f"{path}: is already here with different bytes; an equal file, or none"
    assert snapshot(here) == before


def test_without_its_data_or_its_study_nothing_comes_in(whole, here, take, refused):
    (here / DATA).write_bytes(b"other data")
    assert refused(take, whole.archive).startswith(f"{here / DATA}: SHA-256 ")
    (here / DATA).unlink()
    line = refused(take, whole.archive)
    assert line == f"{here / DATA}: no such file; prepare the data first: snakemake {DATA}"
    (here / "results/shared/study.json").unlink()
    assert refused(take, whole.archive).startswith(f"{here}/results/shared/study.json: ")
    shutil.rmtree(here / "results")
    assert "no such folder" in refused(take, whole.archive)
    # The root of the machine lies in no folder.
    assert refused(importing.take, whole.archive, "/").startswith("/study.json: ")


def test_nothing_comes_in_while_snakemake_works(whole, here, take, refused):
    (here / ".snakemake/locks").mkdir(parents=True)
    (here / ".snakemake/locks/0.input.lock").touch()
    assert "Snakemake is running here" in refused(take, whole.archive)


def test_what_snakemake_recorded_of_earlier_files_is_forgotten_and_nothing_else(whole, here, take):
    def record(kind, name):
        path = here / ".snakemake" / kind / base64.urlsafe_b64encode(name.encode()).decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        return path

    name = f"results/shared/runs/smallcnn/digits/{RUN}"
    stale = [record("metadata", name), record("incomplete", name)]
    kept = record("metadata", name.replace("/cpu/", "/cpu-eigen/"))
    take(whole.archive)
    assert [path.exists() for path in (*stale, kept)] == [False, False, True]


def test_if_one_file_cannot_be_placed_none_is(whole, here, take, refused):
    # Dumps would be placed first.
    (here / "results/shared/predictions/smallcnn/digits/cpu").mkdir()
    (here / "results/shared/runs/smallcnn/digits/cpu").write_text("in the way")
    before = snapshot(here)
    assert "cannot be written to" in refused(take, whole.archive)
    assert snapshot(here) == before


def test_a_statement_whose_files_are_gone_makes_room_or_comes_back(whole, here, take, refused):
    stale = here / statements.path_for(f"results/shared/runs/smallcnn/digits/{RUN}")
    files.write_text(stale, "earlier")
    blocked = here / "results/shared/runs/smallcnn/digits/cpu/control/2"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("in the way")
    assert "cannot be written to" in refused(take, whole.archive)
    assert stale.read_text() == "earlier"
    blocked.unlink()
    take(whole.archive)
    assert statements.read(stale).verb == "train"


def test_signed_statements_travel_as_they_are_and_may_be_required(whole, here, take, refused, tmp_path):
    site = shutil.copytree(whole.site, tmp_path / "site")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    (tmp_path / "allowed").write_text(f"ann@example.org {(tmp_path / 'key.pub').read_text()}")
    signers = signing.AllowedSigners(tmp_path / "allowed")
    before = snapshot(here)
    assert "is not signed" in refused(lambda: take(whole.archive, signers=signers))
    assert snapshot(here) == before
    signing.sign(site / "results", tmp_path / "key")
    exporting.export(site / "results/shared", tmp_path / "signed.tar.gz")
    assert take(tmp_path / "signed.tar.gz", signers=signers).jobs == whole.told.jobs
    with_revoked = signing.AllowedSigners(tmp_path / "allowed", tmp_path / "key.pub")
    assert "with a revoked key" in refused(lambda: take(tmp_path / "signed.tar.gz", signers=with_revoked))
    name = statements.path_for(f"results/shared/runs/smallcnn/digits/{RUN}")
    assert (here / name).read_bytes() == (site / name).read_bytes()
    assert signers.check(here / name, statements.read(here / name)).principals == ("ann@example.org",)


# In earlier results, the root was the statement of an audit on the page.
@pytest.mark.parametrize(("verb", "output"), [("write-page", "index.html"), ("write-audit", "page/audit.js")])
def test_one_signature_on_the_root_vouches_for_an_archive(verb, output, whole, here, take, refused, tmp_path):
    site, root = shutil.copytree(whole.site, tmp_path / "site"), f"results/shared/statements/{output}.intoto.json"
    assert not [one for one, _ in members(whole.archive) if one.name == root]
    chain = {str(path.relative_to(site)): files.sha256(path) for path in site.rglob("*.intoto.json")}
    page = Artifact(f"results/shared/{output}", "ab" * 32, 7, "out")
    made = Statement(verb, (page,), (), {"study": "shared"}, {}, NOON, NOON, {"python": "3.11"}, chain=chain)
    files.write_json(site / root, made.as_json())
    for name in ("ann", "bob"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    signing.sign(site / "results", tmp_path / "ann", root=True)
    exporting.export(site / "results/shared", tmp_path / "rooted.tar")
    before = snapshot(here)

    def requiring(path, name="ann", **options):
        with signing.only(tmp_path / f"{name}.pub") as key:
            return take(path, key=key, **options)

    def forged(some):
        edit_statement(RUN, lambda about: about["predicate"]["runDetails"]["metadata"].update(by="me"))(some)

    other = pack(tmp_path / "other.tar", (lambda some: forged(some) or some)(members(tmp_path / "rooted.tar")))
    for path, name, told in (
        (whole.archive, "ann", "has no root"),
        (tmp_path / "rooted.tar", "bob", "who is not an allowed signer"),
        (other, "ann", f"{RUN}.intoto.json: is not as the root names it"),
    ):
        assert told in refused(requiring, path, name)
        assert snapshot(here) == before
    # An older archive has a good signature, too. Without a required key, the root must still name each statement.
    late, early = age_check("2026-02-01"), age_check("2026-01-31")
    for asked in (requiring, take):
        line = refused(lambda asked=asked: asked(tmp_path / "rooted.tar", age=late))
        assert line.endswith(f"{root}: is of 2026-01-31T12:00:00Z; 2026-02-01T00:00:00Z or later")
    assert "has no root" in refused(lambda: take(whole.archive, age=early))
    assert "is not as the root names it" in refused(lambda: take(other, age=early))
    assert snapshot(here) == before
    assert requiring(tmp_path / "rooted.tar", age=early).jobs == whole.told.jobs
    # The page that it is of is not here.
    assert not (here / root).exists()


def test_a_list_of_allowed_signers_travels_and_is_not_trusted(whole, here, take, refused, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    listed, path = tmp_path / "listed", tmp_path / "listed.tar"
    listed.write_text(f"ann@example.org {(tmp_path / 'key.pub').read_text()}")
    exporting.export(whole.site / "results/shared", path, signers=listed)
    some = members(path)
    (kept,) = [content for one, content in some if one.name == "allowed_signers"]
    assert kept == listed.read_bytes()
    assert len(some) == len(members(whole.archive)) + 1
    before = snapshot(here)
    large = [(one, bytes(2**20 + 1) if one.name == "allowed_signers" else content) for one, content in some]
    assert "allowed_signers: has 1048577 bytes" in refused(take, pack(tmp_path / "large.tar", large))
    twice = [*some, next(one for one in some if one[0].name == "allowed_signers")]
    assert "is not named by a statement" in refused(take, pack(tmp_path / "twice.tar", twice))
    assert snapshot(here) == before
    assert take(path).jobs == whole.told.jobs
    assert not list(here.rglob("allowed_signers"))
    (tmp_path / "nobody").write_text("# nobody")
    for bad in (tmp_path / "nobody", tmp_path / "absent"):
        assert bad.name in refused(lambda bad=bad: exporting.export(whole.site / "results/shared", path, signers=bad))


def test_a_statement_may_be_as_large_as_the_files_that_it_names_require():
    digest = Artifact("results/study/runs/a-rather-long-name/digits/cpu/algo_impl/60000/weights.npz", "0" * 64, 10**9)
    one = len(json.dumps(digest._replace(role="beside records", kind=INPUT).descriptor(), indent=8))
    job = steps.Job("predict", None, {}, ((digest.name, "beside records"),) * 120_000, ())
    assert sharing.largest_statement(job._replace(inputs=())) < one * 120_000 < sharing.largest_statement(job)
