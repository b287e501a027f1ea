"""Archives: runs that leave one folder and enter another, an archive in place of a folder, and all that is refused."""

import base64
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from datetime import datetime
from types import SimpleNamespace

import pytest
from forging import change, said

from toolnoise.base import files
from toolnoise.base.errors import BadInput, as_given
from toolnoise.base.program import ROOT
from toolnoise.checks import sharing
from toolnoise.provenance import archive, signing, statements
from toolnoise.provenance.statements import CODE, Artifact, Statement, path_for
from toolnoise.study import config, grid

NOON = datetime(2026, 1, 31, 12)
DATA = "results/small/data/digits.npz"
OUTPUTS = ("weights.npz", "history.csv", "run.json")
WEIGHTS, _, RECORD = (f"results/small/runs/smallcnn/digits/cpu-eigen/control/1/{name}" for name in OUTPUTS)
DUMP = "results/small/predictions/smallcnn/digits/cpu-eigen/control.npy"
# The study with its data, and what was made on one of its toolings.
PREPARED, OF_EIGEN = ("study.yaml", "study.json", "/data/digits.npz"), ("/cpu-eigen/control/", "/cpu-eigen/control.")


def part(small_study, folder, *kept):
    """Copy a part of the small study to another folder: its tables and pages are made from the rest anywhere."""
    for path in small_study.rglob("*"):
        name = path.relative_to(small_study).as_posix()
        if path.is_file() and any(one in name for one in kept) and not re.search("/(metrics|page|logs)/", f"/{name}"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / name)
    return folder


def known(folder):
    root = folder / "results/small"
    return grid.load_study(root / "study.json"), root


def export(folder, out):
    return sharing.export_archive(*known(folder), out)


def snapshot(folder):
    return {str(path.relative_to(folder)): path.is_dir() or path.read_bytes() for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def whole(small_study, tmp_path_factory):
    """A site where `cpu-eigen` ran, and what it exported; read-only."""
    site = part(small_study, tmp_path_factory.mktemp("site") / "a", *PREPARED, *OF_EIGEN)
    told = export(site, site.parent / "whole.tar")
    return SimpleNamespace(site=site, archive=site.parent / "whole.tar", told=told)


@pytest.fixture
def here(small_study, tmp_path):
    """Another site, where only the data are prepared."""
    return part(small_study, tmp_path / "b", *PREPARED)


@pytest.fixture
def take(here):
    """Import into that site."""
    return lambda path, **options: sharing.import_archive(path, *known(here), **options)


def members(path):
    """The contents of an archive by name, in their order."""
    with tarfile.open(path) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar.getmembers()}


def pack(path, some):
    archive.write_archive(path, (archive.Member(name, len(data), iter([data])) for name, data in some.items()))
    return path


@pytest.fixture
def changed(whole, tmp_path):
    """The archive, with its members changed."""

    def write(change):
        some = members(whole.archive)
        change(some)
        return pack(tmp_path / "changed.tar", some)

    return write


def restated(of, way, value):
    """Another value in the statement of a file."""

    def edit(some):
        name = path_for(of).as_posix()
        about = json.loads(some[name])
        change(about, way.split(), value)
        some[name] = json.dumps(about).encode()

    return edit


def fitting(of, output, data):
    """Another file, and a statement that is right about it."""

    def edit(some):
        (number,) = [number for number, name in enumerate(OUTPUTS) if output.endswith(name)]
        some[output] = data
        restated(of, f"subject {number} digest sha256", hashlib.sha256(data).hexdigest())(some)
        restated(of, f"subject {number} annotations size", len(data))(some)

    return edit


def renamed(name, other):
    return lambda some: some.update({other: some.pop(name)})


def dropped(*parts):
    return lambda some: [some.pop(name) for name in list(some) if any(part in name for part in parts)]


def another_spec(some):
    """The record of another run, with a statement that is right about it, and without the dump."""
    record = json.loads(some[RECORD])
    record["spec"]["recipe"]["learning_rate"] = 0.5
    fitting(WEIGHTS, RECORD, json.dumps(record).encode())(some)
    dropped("predictions")(some)


def test_what_was_made_on_a_tooling_travels_with_its_statements(whole):
    assert str(whole.told) == "2 runs, 1 dumps of predictions"
    # The runs and dumps of the other tooling.
    assert whole.told.others == 14 + 6
    names = [*members(whole.archive)]
    stated_there = [name for name in names if name.startswith("results/small/statements/")]
    assert names == sorted(stated_there) + sorted(set(names) - set(stated_there))
    assert "results/small/statements/data/digits.npz.intoto.json" in names
    assert DATA not in names
    assert len(names) == 4 + 2 * 3 + 2


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.xz"])
def test_exporting_twice_gives_the_same_bytes_and_importing_the_same_files(suffix, whole, here, take, tmp_path):
    packed = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for path in packed:
        export(whole.site, path)
    assert packed[0].read_bytes() == packed[1].read_bytes()
    of_data = (here / path_for(DATA)).read_bytes()
    told = take(packed[0])
    assert (told.jobs, told.others) == (whole.told.jobs, 0)
    results = snapshot(here)
    for name, data in members(packed[0]).items():
        # The statement of the data here stays.
        assert results[name] == (of_data if name.endswith("digits.npz.intoto.json") else data)
    assert not [name for name in results if ".making-" in name]
    told = take(packed[0])
    assert (str(told), told.others) == ("nothing", 3)
    assert snapshot(here) == results


def test_what_comes_in_is_of_one_age_and_no_older_than_the_data(whole, here, take):
    os.utime(here / DATA, ns=(2**61, 2**61))  # far in the future, as another machine's clock may have it
    take(whole.archive)
    ages = {(here / name).stat().st_mtime_ns for name in members(whole.archive) if "digits.npz" not in name}
    assert ages == {2**61}


def test_only_some_toolings_and_no_predictions(small_study, tmp_path, printed_by_verb):
    out, options = tmp_path / "some.tar", ("--hardware", "cpu-eigen", "--no-predictions")
    assert printed_by_verb("export", small_study / "results/small", "--out", out, *options) == "exported 2 runs\n"
    assert not [name for name in members(out) if "predictions" in name or "/cpu/" in name]


def test_a_study_is_told_by_its_file_and_its_folder_by_the_archive(
    whole, here, tmp_path, monkeypatch, printed_by_verb, refused_by_verb
):
    monkeypatch.chdir(whole.site)
    said = printed_by_verb("export", "study.yaml", "--out", tmp_path / "one.tar")
    assert said == "exported 2 runs, 1 dumps of predictions; 20 more of the study are not made yet\n"
    assert (tmp_path / "one.tar").read_bytes() == whole.archive.read_bytes()
    monkeypatch.chdir(here)
    path = here / "results/small/study.json"
    narrow = json.loads(path.read_text()) | {"only": ["cpu"], "figures": ["table2"]}
    files.write_json(path, config.narrow_to_toolings(narrow, "study"))
    assert "--study selects another form of it" in refused_by_verb("import", whole.archive)
    said = printed_by_verb("import", whole.archive, "--study", "study.yaml")
    assert said == "imported 2 runs, 1 dumps of predictions\n"


def test_runs_of_an_earlier_form_of_the_study_stay(whole, tmp_path, refused):
    site = shutil.copytree(whole.site, tmp_path / "site")
    path = site / path_for(WEIGHTS)
    about = json.loads(path.read_text())
    change(about, f"{ASKED} spec recipe learning_rate".split(), 0.5)
    files.write_json(path, about)
    told = export(site, tmp_path / "less.tar")
    assert (told.jobs, told.others) == ({"train": 1, "predict": 1}, 21)
    shutil.rmtree(site / "results/small/statements/runs")
    shutil.rmtree(site / "results/small/statements/predictions")
    assert "has nothing to export" in refused(export, site, tmp_path / "none.tar")


def test_a_file_that_is_not_what_its_statement_says_is_not_exported(whole, tmp_path, refused):
    site = shutil.copytree(whole.site, tmp_path / "site")
    path = site / WEIGHTS
    data = path.read_bytes()
    for changed in (b"X" + data[1:], data[:-1], data + b"1"):
        path.write_bytes(changed)
        assert refused(export, site, tmp_path / "out.tar").startswith(f"{path}: differs from its statement")
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert refused(export, site, tmp_path / "out.tar").startswith(f"{path}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_bad_options_of_an_export_are_one_line(whole, tmp_path, refused_by_verb):
    results = whole.site / "results/small"
    line = refused_by_verb("export", results, "--out", tmp_path / "a.tar", "--hardware", "v100")
    assert line.endswith("--hardware: no 'v100' in the study; allowed: cpu, cpu-eigen")
    assert f"{tmp_path}/study.json" in refused_by_verb("export", tmp_path, "--out", tmp_path / "a.tar")


STATED, MADE_FROM = path_for(WEIGHTS).as_posix(), "predicate buildDefinition resolvedDependencies"
ASKED, ELSE = "predicate buildDefinition externalParameters", "cd" * 32
NOT_NAMED, NOT_HERE = "has no statement", "files of the study"
OTHER_CODE = restated(
    WEIGHTS,
    MADE_FROM,
    lambda made: [one | ({"digest": {"sha256": ELSE}} if one["annotations"]["kind"] == CODE else {}) for one in made],
)
HARMFUL = {
    "a flipped byte": (lambda some: some.update({WEIGHTS: b"X" + some[WEIGHTS][1:]}), "weights.npz: its SHA-256 is "),
    "another study": (renamed(STATED, "results/other/statements/a.intoto.json"), "is not of the study"),
    "a file without statement": (
        lambda some: some.update({"results/small/notes.txt": b"1"}),
        f"notes.txt: {NOT_NAMED}",
    ),
    "a record of another spec": (another_spec, "run.json: differs from its statement: spec.recipe.learning_rate"),
    "an input outside the study": (
        restated(WEIGHTS, f"{MADE_FROM} 0 name", "/etc/passwd"),
        f"was made from /etc/passwd; {NOT_HERE}",
    ),
    "a statement of what is made anywhere": (
        renamed(path_for(DUMP).as_posix(), path_for("results/small/study.json").as_posix()),
        "study.json.intoto.json: states a predict job that is not part of the study",
    ),
    "a file that is missing": (dropped(WEIGHTS), "cpu-eigen/control/1/weights.npz: is stated but missing"),
    "a statement that is missing": (dropped(STATED), NOT_NAMED),
    "nothing but the data's statement": (dropped("/runs/", "/predictions/"), "has no statement of a job of the study"),
    "a changed spec": (
        restated(WEIGHTS, f"{ASKED} spec recipe learning_rate", 0.5),
        "was made for another study: spec.recipe",
    ),
    "another verb": (
        restated(WEIGHTS, "predicate buildDefinition buildType", "urn:toolnoise:predict:1"),
        "states a predict job that is not part of the study",
    ),
    "outputs elsewhere": (
        restated(WEIGHTS, "subject 1 name", "results/small/study.json"),
        "does not have the outputs of its job: ",
    ),
    "a dump of other runs": (
        restated(DUMP, MADE_FROM, lambda made: [one for one in made if not one["name"].endswith("1/run.json")]),
        "is not of the runs of its cell: ",
    ),
    "a run of other data": (restated(WEIGHTS, f"{MADE_FROM} 0 digest sha256", ELSE), "digits.npz: SHA-256"),
    "a dump of another run": (
        lambda some: fitting(WEIGHTS, RECORD, some[RECORD] + b"\n")(some),
        f"control.npy.intoto.json: names a different {RECORD}",
    ),
    "other code": (OTHER_CODE, ".py that differs from the one here; commit "),
}


@pytest.mark.parametrize(("harm", "told"), HARMFUL.values(), ids=HARMFUL)
def test_what_does_not_match_is_refused_in_one_line_and_leaves_nothing(harm, told, changed, here, take, refused):
    path = changed(harm)
    before = snapshot(here)
    assert told in refused(take, path)
    assert snapshot(here) == before


def test_other_code_is_taken_if_that_is_asked_for(changed, here, take):
    assert take(changed(OTHER_CODE), other_code=True).jobs == {"train": 2, "predict": 1}
    assert (here / WEIGHTS).exists()


def test_what_is_no_archive_is_one_line(here, tmp_path, monkeypatch, refused_by_verb):
    monkeypatch.chdir(here)
    (tmp_path / "text.tar").write_text("hello " * 400)
    assert "damaged or truncated" in refused_by_verb("import", tmp_path / "text.tar")
    assert "no such file" in refused_by_verb("import", tmp_path / "absent.tar")
    other = pack(tmp_path / "o.tar", {"../../x/y": b""})
    assert "belongs to no study" in refused_by_verb("import", other)


def test_a_file_that_is_here_with_other_bytes_stays(whole, here, take, refused):
    path = here / WEIGHTS
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    before = snapshot(here)
    assert refused(take, whole.archive) == f"{path}: is already here with different bytes; an equal file, or none"
    assert snapshot(here) == before


def test_without_its_data_or_its_study_nothing_comes_in(whole, here, take, refused, refused_by_verb):
    (here / DATA).write_bytes(b"other data")
    assert refused(take, whole.archive).startswith(f"{here / DATA}: SHA-256 ")
    (here / DATA).unlink()
    line = refused(take, whole.archive)
    assert line == f"{here / DATA}: no such file; make it first: snakemake {DATA}"
    into = here / "results/small"
    (into / "study.json").unlink()
    assert f"{into}/study.json: " in refused_by_verb("import", whole.archive, "--into", into)
    shutil.rmtree(into)
    assert "no such folder" in refused_by_verb("import", whole.archive, "--into", into)


def test_nothing_comes_in_while_snakemake_works(whole, here, take, refused):
    files.write_text(here / ".snakemake/locks/0.input.lock", "")
    assert "Snakemake is running here" in refused(take, whole.archive)


def test_what_snakemake_recorded_of_earlier_files_is_forgotten_and_nothing_else(whole, here, take):
    def record(kind, name):
        path = here / ".snakemake" / kind / base64.urlsafe_b64encode(name.encode()).decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        return path

    stale = [record("metadata", WEIGHTS), record("incomplete", WEIGHTS), record("metadata", str(path_for(WEIGHTS)))]
    kept = record("metadata", WEIGHTS.replace("/cpu-eigen/", "/cpu/"))
    take(whole.archive)
    assert [path.exists() for path in (*stale, kept)] == [False, False, False, True]


def test_if_one_file_cannot_be_placed_none_is(whole, here, take, refused_by_verb):
    # A statement whose files are gone makes room, and comes back.
    stale = here / path_for(WEIGHTS)
    files.write_text(stale, "earlier")
    blocked = here / "results/small/runs/smallcnn/digits/cpu-eigen/control/2"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("in the way")
    before = snapshot(here)
    line = refused_by_verb("import", whole.archive, "--into", here / "results/small")
    assert "a file is in the way where a folder belongs" in line
    assert snapshot(here) == before
    blocked.unlink()
    take(whole.archive)
    assert statements.read_statement(stale).verb == "train"


def test_one_signature_on_the_root_vouches_for_an_archive(whole, here, take, refused, tmp_path):
    site, root = shutil.copytree(whole.site, tmp_path / "site"), "results/small/statements/index.html.intoto.json"
    chain = {str(path.relative_to(site)): files.sha256(path) for path in site.rglob("*.intoto.json")}
    page = Artifact("results/small/index.html", "ab" * 32, 7, "out")
    made = Statement("write-page", (page,), (), {}, {}, NOON, NOON, {"python": "3.11"}, chain=chain)
    files.write_json(site / root, made.as_json())
    for name in ("ann", "bob"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    export(site, tmp_path / "bare.tar")
    signing.sign(site / "results", tmp_path / "ann")
    export(site, tmp_path / "rooted.tar")
    before = snapshot(here)

    def requiring(path, name="ann"):
        return take(path, why_unsigned=signing.signature_check(tmp_path / f"{name}.pub"))

    some = members(tmp_path / "rooted.tar")
    restated(WEIGHTS, "predicate runDetails metadata by", "me")(some)
    other = pack(tmp_path / "other.tar", some)
    for path, name, told in (
        (whole.archive, "ann", "there is no root"),
        (tmp_path / "bare.tar", "ann", "results/small/index.html: is not signed"),
        (tmp_path / "rooted.tar", "bob", "has no valid signature by SHA256:"),
        (other, "ann", f"{STATED}: is not as the root names it"),
    ):
        assert told in refused(requiring, path, name)
        assert snapshot(here) == before
    assert requiring(tmp_path / "rooted.tar").jobs == whole.told.jobs
    # The page that it is of is not here.
    assert not (here / root).exists()


# An archive in the place of a results folder: what is refused, what it is called, and that nothing of it stays
# --------------------------------------------------------------------------------------------------------

PLAIN = "results/mine/study.json"
PACKED = ROOT / "evidence/outside-small.tar.xz"


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Where archives are unpacked."""
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    return room


@pytest.fixture
def packed(tmp_path):
    """Write an archive of these files, in their order; each may have what no archive of ours has."""

    def write(*members, name="mine.tar.xz", **about):
        path = tmp_path / name
        with lzma.open(path, "wb") as file:
            for member in members:
                info = tarfile.TarInfo(member)
                info.size = 2
                for key, value in about.items():
                    setattr(info, key, value)
                file.write(info.tobuf(tarfile.USTAR_FORMAT))
                file.write(b"{}".ljust(tarfile.BLOCKSIZE, b"\0") if info.size else b"")
            file.write(bytes(2 * tarfile.BLOCKSIZE))
        return path

    return write


def read(path):
    with archive.opened_results(path) as (folder,):
        return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())


def test_an_archive_is_unpacked_for_as_long_as_it_is_read(packed, room):
    path = packed(PLAIN, "results/mine/metrics/runs.csv")
    with archive.opened_results(path, path / "metrics", room) as (folder, inside, other):
        assert (folder / "study.json").read_text() == "{}"
        assert inside == folder / "metrics"
        assert other == room
        assert len(list(room.iterdir())) == 1
        assert (as_given(folder), as_given(f"{inside}: odd")) == (str(path), f"{path / 'metrics'}: odd")
    assert as_given(folder) == str(folder)
    assert list(room.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("results/../../a", "is not of the study"),
        ("results/other/a", "is not of the study"),
        ("results/mine/../../../a", "is not of the study"),
        ("results/mine//a", "is not of the study"),
        ("results/mine/b\\a", "is not of the study"),
        (PLAIN, "comes twice"),
        (f"{PLAIN}/a", "lies below a file"),
    ],
)
def test_a_name_that_leads_elsewhere_or_comes_twice_is_refused(name, says, packed, room, tmp_path):
    path = packed(PLAIN, name)
    before = sorted(tmp_path.rglob("*"))
    assert room in before
    with pytest.raises(BadInput, match=says) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert sorted(tmp_path.rglob("*")) == before


KINDS = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
KINDS += [tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_file_is_refused(kind, packed, room):
    path = packed("results/mine/a", type=kind, linkname="/etc/passwd", size=0)
    with pytest.raises(BadInput, match="a link, a folder, a device or the like"):
        read(path)
    assert list(room.iterdir()) == []


def test_what_would_fill_the_disk_is_refused_before_it_is_written(packed, room, monkeypatch):
    many = packed(*(f"results/mine/{number}" for number in range(9)))
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 8 * archive.LEAST)
    monkeypatch.setattr(files, "LARGEST_RATIO", 1)
    with pytest.raises(BadInput, match=f"{many}: unpacks to {9 * archive.LEAST} bytes or more; at most"):
        read(many)
    huge = packed(PLAIN, name="huge.tar.xz", size=(8 << 30) - 1)
    with pytest.raises(BadInput, match=f"{huge}: unpacks to {(8 << 30) - 1} bytes or more; at most"):
        read(huge)
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 1 << 62)
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(BadInput, match=f"{huge}: {PLAIN}: has .* bytes; 0 are free"):
        read(huge)
    assert list(room.iterdir()) == []


@pytest.mark.parametrize("packer", [bytes, gzip.compress, lzma.compress])
def test_an_archive_that_ends_early_or_goes_on_is_refused_wherever_it_was_cut(packer, packed, room, tmp_path, refused):
    plain = lzma.decompress(packed(PLAIN, "results/mine/b").read_bytes())
    cut = [plain[:length] for length in (0, 1, 511, 512, 700, 1024, 1100, 2048, 2560)]
    # After the first file, before the second header; after the end.
    cut += [plain[:1023] + b"\1" + plain[1024:], plain + bytes(10240), plain + b"more", plain[:-1] + b"\1"]
    for number, content in enumerate(cut):
        path = tmp_path / f"{number}.tar"
        path.write_bytes(packer(content))
        assert refused(read, path).startswith(f"{path}: ")
    if packer is not bytes:
        for content in (packer(plain)[:-1], packer(plain)[:-8], packer(plain)[: len(packer(plain)) // 2]):
            path.write_bytes(content)
            assert refused(read, path).startswith(f"{path}: damaged or truncated")
    assert list(room.iterdir()) == []


def test_an_archive_of_nothing_is_refused(packed):
    with pytest.raises(BadInput, match="is empty"):
        read(packed())


def test_a_summary_and_a_diff_of_an_archive_are_those_of_its_folder(evidence):
    folder = evidence("outside-small")
    text = said("summary", "--study", PACKED, "--json").out
    assert json.loads(text)["page"] == f"{PACKED}/index.html"
    _, of_folder, _ = said("summary", "--study", folder / "study.json", "--json")
    assert json.loads(text)["cells"] == json.loads(of_folder)["cells"]
    code, text, _ = said("diff", PACKED, folder, "--json")
    assert (code, json.loads(text)["a"]) == (0, str(PACKED))


def test_an_audit_names_the_files_of_an_archive(packed, room):
    path = packed(PLAIN, "results/mine/statements/a.intoto.json")
    code, text, _ = said("audit", path, "--json")
    found = json.loads(text)
    assert (code, found["studies"][0]["folder"]) == (1, str(path))
    assert f"{path}/statements/a.intoto.json: " in " ".join(one["what"] for one in found["findings"])
    assert str(room) not in text
    assert list(room.iterdir()) == []


def test_an_audit_repairs_no_archive(refused_by_verb):
    line = refused_by_verb("audit", PACKED, "--repair")
    assert line == f"toolnoise: command line: --repair: {PACKED} is an archive; a results folder"


# A study made at two sites: one tooling's runs come from another folder, and the page is made here
# ------------------------------------------------------------------------------------------------

ANYWHERE = {"measure_cell": 1, "check_control": 1, "measure_pair": 1}


@pytest.fixture
def site(copied):
    """The small study without its page and without all that was made on that tooling, to change."""
    for path in [*copied.rglob("*")]:
        if path.is_file() and ("cpu-eigen" in str(path.relative_to(copied)) or path.name.startswith("index.html")):
            path.unlink()
    return copied


def imported(toolnoise, site, archive):
    done = toolnoise(site, "import", archive, "--study", "study.yaml")
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_figures(jobs):
    return {rule: count for rule, count in jobs.items() if rule in (*ANYWHERE, "train_run", "dump_predictions")}


@pytest.mark.long
def test_imported_runs_are_not_trained_again_and_the_study_is_finished(site, whole, toolnoise, snakemake, planned):
    assert without_figures(planned(site)) == ANYWHERE | {"train_run": 2, "dump_predictions": 1}
    assert imported(toolnoise, site, whole.archive) == "imported 2 runs, 1 dumps of predictions\n"
    assert without_figures(planned(site)) == ANYWHERE
    done = snakemake(site)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (site / "results/small/index.html").exists()
    assert planned(site) == {}
    audit = toolnoise(site, "audit", "--strict")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert audit.stdout.splitlines()[-1].startswith("clean: ")
    assert imported(toolnoise, site, whole.archive) == "imported nothing; 3 were already here\n"
    assert planned(site) == {}


@pytest.mark.long
def test_runs_that_take_the_place_of_earlier_ones_are_not_trained_again_either(
    site, whole, toolnoise, snakemake, planned, change_study
):
    # What Snakemake recorded of the earlier runs would have it train anew.
    change_study(site, lambda study: study["recipes"]["plain"].update(learning_rate=0.02))
    done = snakemake(site, "--", DUMP)
    assert done.returncode == 0, done.stdout + done.stderr
    change_study(site, lambda study: study["recipes"]["plain"].update(learning_rate=0.01))
    refused = toolnoise(site, "import", whole.archive, "--study", "study.yaml")
    assert refused.returncode == 2
    assert "is already here with different bytes" in refused.stderr
    for part in ("runs", "predictions"):
        shutil.rmtree(site / f"results/small/{part}/smallcnn/digits/cpu-eigen", ignore_errors=True)
    imported(toolnoise, site, whole.archive)
    assert without_figures(planned(site)) == ANYWHERE
