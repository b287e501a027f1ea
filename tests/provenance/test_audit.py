"""What `toolnoise audit` says of results as they are, damaged, or made to harm who audits them.

Damage that nobody covers up is found: flipped bits, and files that are lost, exchanged, older, added or no files. Each
finding follows from one file and the statements that name it, so many files are damaged at once.
"""

import ast
import io
import itertools
import json
import os
import pickle
import random
import re
import secrets
import shutil
import subprocess
import zipfile
from datetime import timedelta

import pytest
from forging import (
    ROOTED,
    Folder,
    audited,
    chain,
    definition,
    ended,
    flipped,
    made_from,
    move_times,
    said,
    sha256,
    written,
)

from toolnoise.base.program import ROOT

CELL = "smallcnn/digits/cpu"
RUN, METRICS = f"runs/{CELL}/algo_impl/1", f"metrics/cells/{CELL}/impl.csv"
TABLE = "figures/table2.html"


@pytest.mark.parametrize("options", [[], ["--strict"]])
@pytest.mark.parametrize("study", ["small", "other"])
def test_results_made_in_one_go_are_clean_in_one_line_with_the_digest_of_the_root(study, options, both):
    done = said("audit", both[study].root, *options)
    assert (done.code, done.err) == (0, "")
    (line,) = done.out.splitlines()
    files, root = re.fullmatch(r"clean: ([\d,]+) files\b.*, root ([0-9a-f]{64})", line).groups()
    assert int(files.replace(",", "")) == len(both[study].original)
    assert root == sha256(both[study].original[both[study].stated[ROOTED]])


def test_moved_and_renamed_results_are_clean_and_bit_equal(small, tmp_path):
    received = shutil.copytree(small.root, tmp_path / "received")
    found = audited(received, "--strict")
    assert (found.findings, found.root) == ([], small.audit().root)
    done = said("diff", small.root, received)
    assert (done.code, done.out.splitlines()[-1]) == (0, "bit-equal: every file except times")
    (study,) = json.loads(said("diff", small.root, received, "--json").out)["studies"]
    timed = {*study["not_compared"]}
    assert {"metrics/identical.csv", "metrics/convergence.csv", "index.html"} <= timed
    assert "metrics/stability.csv" not in timed


def test_two_studies_in_one_folder_are_told_apart(forged, tmp_path):
    for one in forged.values():
        shutil.copytree(one.root, tmp_path / "results" / one.study)
    found = audited(tmp_path / "results", "--strict")
    assert found.findings == []
    assert {one["study"]: one["root"] for one in found.json["studies"]} == {
        name: folder.audit().root for name, folder in forged.items()
    }
    (tmp_path / "results/other/metrics/layers.csv").write_text("")
    found = audited(tmp_path / "results")
    assert {one["artifact"] for one in found.findings} == {"results/other/metrics/layers.csv"}


def test_without_a_root_all_else_is_verified(small):
    """As `snakemake table2` leaves it: completeness is unknown."""
    page = small.stated[ROOTED]
    small.delete(page, *small.beside[page])
    done = said("audit", small.root)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1].endswith("no root: completeness unknown")
    small.delete("metrics/claims.csv", small.stated["metrics/claims.csv"])
    assert small.audit().findings == []
    small.put(TABLE, b"")
    assert small.audit().told({"changed"}, {small.name(TABLE)})


def test_a_speed_that_was_measured_after_the_page_is_clean(forged):
    """The root names its statement of before, or none."""
    other, speed = forged["other"], "speed/smallcnn/mine/cpu/control.json"
    page, before = (ended(json.loads(other.original[other.stated[one]])) for one in (ROOTED, speed))
    other.edit(speed, lambda record: record["seconds"].update(training=1.5))
    other.settle(speed)
    other.restate(speed, lambda made: move_times(made, page - before + timedelta(minutes=1)))
    assert other.audit("--strict").findings == []
    other.restate(ROOTED, lambda made: chain(made).pop(other.name(other.stated[speed])))
    assert other.audit("--strict").findings == []
    other.put(speed, other.original[speed])
    assert other.audit().told({"changed"}, {other.name(speed)})


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=True).stdout


def test_results_by_other_code_are_stale_and_no_finding_unless_asked(small):
    """A module is as an earlier commit had it, and not as it is here."""
    if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode:
        pytest.skip("no repository")
    name = "workflow/toolnoise/base/metric_files.py"
    meaning = ast.dump(ast.parse((ROOT / name).read_text()))
    texts = {one: git("show", f"{one}:{name}") for one in git("log", "--format=%H", "--", name).decode().split()}
    old = next(one for one, text in texts.items() if ast.dump(ast.parse(text)) != meaning)

    def state(made):
        (module,) = [one for one in made_from(made, "code") if one["name"] == name]
        module["digest"]["sha256"] = sha256(texts[old])
        (commit,) = made_from(made, "commit")
        commit["digest"]["gitCommit"] = old
        commit["annotations"] |= {"dirty": True, "diff_sha256": "0" * 64}
        # What counts of the code is another, too: a comment makes nothing stale.
        made["predicate"]["runDetails"]["metadata"]["toolnoise_code"] = "0" * 64

    small.restate("metrics/claims.csv", state)
    small.settle_upwards()
    found = small.audit()
    assert (found.code, found.findings) == (0, [])
    assert small.name("metrics/claims.csv") in json.dumps(found.json["stale"])
    assert "stale" in said("audit", small.root).out
    assert small.audit("--strict").code == 1


# Damage that nobody covers up
# ----------------------------

FLIPS = 30


@pytest.fixture(params=["small", "other"])
def folder(request, forged):
    """One of the two."""
    return forged[request.param]


@pytest.fixture
def drawn():
    """Other numbers in each run; with FLIPS_SEED those of the run that printed it."""
    seed = int(os.environ.get("FLIPS_SEED", secrets.randbits(32)))
    print(f"FLIPS_SEED={seed}")
    return random.Random(seed)


def flip_one_of(drawn, content):
    return flipped(content, drawn.randrange(len(content)), drawn.randrange(8))


def missed(found, rules, folder, artifacts):
    """The files that have no finding under one of some rules."""
    return [one for one in artifacts if not found.told(rules, {folder.name(one)})]


def jobs_missed(found, rules, folder, artifacts):
    """The files of whose jobs neither a file nor the statement has one."""
    return [one for one in artifacts if not found.told(rules, folder.names(one))]


def test_a_bit_flipped_in_any_file_is_found(folder, drawn):
    places = {path: flip_one_of(drawn, folder.original[path]) for path in drawn.sample(folder.files, FLIPS)}
    for path, content in places.items():
        folder.put(path, content)
    found = folder.audit()
    assert missed(found, {"changed"}, folder, places) == []
    assert {one["artifact"] for one in found.findings if one["rule"] == "changed"} == {*map(folder.name, places)}


def test_a_bit_flipped_in_any_statement_is_found(folder, drawn):
    others = [path for path in folder.statements if path != folder.stated[ROOTED]]
    places = {path: flip_one_of(drawn, folder.original[path]) for path in drawn.sample(others, FLIPS)}
    for path, content in places.items():
        folder.put(path, content)
    found = folder.audit()
    # One that cannot be read is unknown; one that can is another than the root names.
    assert jobs_missed(found, {"unknown", "root"}, folder, places) == []


def test_a_bit_flipped_in_the_root_is_found_or_the_root_has_another_digest(small, drawn):
    before, path = small.audit().root, small.stated[ROOTED]
    assert before == sha256(small.original[path])
    for _ in range(4):
        small.put(path, flip_one_of(drawn, small.original[path]))
        assert small.audit().root != before


# Files that are lost, exchanged, or older
# ----------------------------------------


def some(folder, drawn):
    """Files of 25 jobs; not the page, nor the study, without which nobody knows what should be there."""
    jobs = drawn.sample(sorted({*folder.beside} - {folder.stated[ROOTED], folder.stated["study.json"]}), 25)
    return [drawn.choice(folder.beside[job]) for job in jobs]


def test_deleted_files_are_missing(folder, drawn):
    lost = some(folder, drawn)
    folder.delete(*lost)
    assert missed(folder.audit(), {"missing"}, folder, lost) == []


def test_files_whose_statements_are_deleted_are_unknown(folder, drawn):
    lost = [folder.stated[one] for one in some(folder, drawn)]
    folder.delete(*lost)
    found = folder.audit()
    assert missed(found, {"unknown"}, folder, [one for path in lost for one in folder.beside[path]]) == []
    # The root names them.
    assert found.told({"missing", "root"}, {*map(folder.name, lost)})


def test_files_that_are_deleted_with_their_statements_are_missing(folder, drawn):
    # A study is whole without measured speeds.
    lost = [one for one in some(folder, drawn) if not one.startswith("speed/")]
    folder.delete(*(path for one in lost for path in folder.beside[folder.stated[one]]))
    folder.delete(*(folder.stated[one] for one in lost))
    found = folder.audit()
    assert jobs_missed(found, {"missing", "complete"}, folder, lost) == []


def test_an_older_version_that_is_put_back_with_its_statement_is_found(folder, drawn):
    older = some(folder, drawn)
    for one in older:
        folder.put(one, flip_one_of(drawn, folder.original[one]))
        folder.settle(one)
        folder.restate(one, lambda statement: move_times(statement, timedelta(minutes=-1)))
    found = folder.audit()
    assert jobs_missed(found, {"root"}, folder, older) == []
    # So are those whose products name another file, if there is no root.
    read = set().union(*(inputs(folder, path) for path in folder.statements if path != folder.stated[ROOTED]))
    page = folder.beside[folder.stated[ROOTED]]
    folder.delete(*page, folder.stated[ROOTED])
    found = folder.audit()
    assert jobs_missed(found, {"inputs"}, folder, [one for one in older if folder.name(one) in read]) == []


# What does not belong to the results
# -----------------------------------


def test_whatever_lies_there_that_no_job_made_is_unknown(small, tmp_path):
    added = ["figures/more.png", "metrics/.hidden.csv", "empty.csv", f"{RUN}/.weights.npz.13gkcno8"]
    added += ["statements/readme.txt", "statements/metrics/.hidden.intoto.json"]
    added += [f"checkpoints/{CELL}/algo_impl/1.npz", "checkpoints/note.txt"]
    for one in added:
        small.put(one, b"")
    elsewhere = tmp_path / "weights.npz"
    shutil.move(small.path(f"{RUN}/weights.npz"), elsewhere)
    small.path(f"{RUN}/weights.npz").symlink_to(elsewhere)
    small.path("figures/all").symlink_to("/")
    small.path("figures/circle").symlink_to("circle")
    small.delete("metrics/stability.csv")
    os.mkfifo(small.path("metrics/stability.csv"))
    strange = [f"{RUN}/weights.npz", "figures/all", "figures/circle", "metrics/stability.csv"]
    assert missed(small.audit(), {"unknown"}, small, [*added, *strange]) == []


@pytest.mark.parametrize("name", [b"a\nb.png", b"\xff.png", "\N{RIGHT-TO-LEFT OVERRIDE}gnp.png".encode()])
def test_a_file_with_a_strange_name_is_unknown_and_its_line_can_be_printed(name, small):
    (small.path("figures") / os.fsdecode(name)).write_bytes(b"")
    assert small.audit().rules == {"unknown"}


def test_two_statements_of_one_file_are_unknown(small):
    for copied in ("metrics/again", "again"):
        small.put(f"statements/{copied}.intoto.json", small.original[small.stated["metrics/stability.csv"]])
    small.settle_upwards()
    assert small.audit().told({"unknown"}, small.names("metrics/stability.csv"))


def test_what_another_study_made_is_unknown(both, small):
    """A statement with its file, as they were there; and a statement that was written as if it were of this study."""
    other, artifact = both["other"], "metrics/remedies.csv"
    for path in (artifact, other.stated[artifact]):
        small.put(path, other.original[path])
    small.put("metrics/growth.csv", other.original["metrics/growth.csv"])
    text = other.original[other.stated["metrics/growth.csv"]].replace(b"results/other/", b"results/small/")
    small.put("statements/metrics/growth.csv.intoto.json", written(json.loads(text)))
    small.settle_upwards()
    found = small.audit()
    assert found.told({"unknown"}, small.names(artifact) | other.names(artifact))
    assert found.told(
        {"unknown", "study"}, small.names("metrics/growth.csv", "statements/metrics/growth.csv.intoto.json")
    )


def test_what_lies_beside_the_studies_is_unknown(small):
    (small.root.parent / "note.txt").write_text("")
    found = audited(small.root.parent)
    assert found.rules == {"unknown"}


# A run that nobody should know of
# --------------------------------

WITHOUT = "smallcnn-bn/digits/cpu/algo_impl"
GONE = [f"runs/{WITHOUT}/{seed}" for seed in (1, 2)]


def drop_cell(study):
    """The study without that cell."""
    study["grid"][1]["variants"].remove("algo_impl")


def inputs(folder, path):
    """What the job of a statement read, by name."""
    return {one["name"] for one in made_from(json.loads(folder.original[path]), "input")}


def resting_on(folder, artifact):
    """The statements of a file's job and of all jobs that it went into, directly or through others."""
    reached, before = {folder.stated[artifact]}, set()
    while reached != before:
        before, made = set(reached), {folder.name(one) for path in reached for one in folder.beside[path]}
        reached |= {path for path in folder.statements if inputs(folder, path) & made}
    return reached


@pytest.fixture
def lost(small):
    """The jobs of a run and of all that rests on it, and their files; the page is not among them."""
    jobs = resting_on(small, f"{GONE[0]}/weights.npz") - {small.stated[ROOTED]}
    return [*jobs, *(one for path in jobs for one in small.beside[path])]


def test_a_run_that_is_deleted_with_all_that_rests_on_it_is_found(small, lost):
    assert f"predictions/{WITHOUT}.npy" in lost
    assert "figures/table2.html" in lost
    small.delete(*lost)
    assert small.audit().told({"missing", "complete"}, small.names(f"{GONE[0]}/run.json"))
    # A root that does not name them any more.
    small.settle_upwards()
    assert small.audit().told({"complete", "missing"}, small.names(f"{GONE[0]}/run.json"))


def test_a_run_that_is_deleted_and_all_above_it_made_anew_is_found(
    small_study, small, tmp_path, change_study, snakemake
):
    """Snakemake makes the study without the run; then somebody claims that it is the whole study."""
    site = shutil.copytree(small_study, tmp_path / "site")
    change_study(site, drop_cell)
    results = site / "results/small"
    for path in [path for path in results.rglob("*") if path.is_file() and f"/{WITHOUT}" in path.as_posix()]:
        path.unlink()
    done = snakemake(site)
    assert done.returncode == 0, done.stdout + done.stderr
    forged = Folder(results, tmp_path / "forged")
    assert forged.audit("--strict").findings == []
    there, runs = forged.names("study.json"), small.names(*(f"{run}/run.json" for run in GONE))
    # The whole study is put back; with its statement; with a root that names both.
    forged.put("study.json", small.original["study.json"])
    assert forged.audit().told({"changed"}, there)
    forged.put(forged.stated["study.json"], small.original[small.stated["study.json"]])
    assert forged.audit().told({"root", "inputs", "complete"}, there)
    forged.restore()
    forged.put("study.json", small.original["study.json"])
    forged.settle_upwards()
    assert forged.audit().told({"complete"}, runs)
    # Nor does a study hide them that this version cannot read: its own code wrote it.
    forged.edit("study.json", lambda study: study["figures"].append("growth_fits"))
    forged.settle_upwards()
    assert forged.audit().told({"complete", "study"}, there)
    forged.restore()
    # The page of the whole study is put back, which names what is no longer there.
    for one in (small.stated[ROOTED], *small.beside[small.stated[ROOTED]]):
        forged.put(one, small.original[one])
    assert forged.audit().told({"root", "missing", "complete"}, runs | forged.names("metrics/stability.csv"))


def test_a_cell_that_is_taken_from_the_roots_study_and_from_the_file_or_not_is_found(small):
    small.edit("study.json", drop_cell)
    small.settle_upwards()
    # Its files and their statements are there.
    assert small.audit().told({"unknown", "study"}, small.names(f"{GONE[0]}/run.json"))
    vouched = small.path(small.stated[ROOTED]).read_bytes()
    small.restore()
    small.put(small.stated[ROOTED], vouched)
    assert small.audit().told({"complete", "root", "inputs"}, small.names("study.json"))


@pytest.mark.parametrize("content", [b"[]", b"{", b"[" * 100_000, b""])
def test_a_study_file_that_is_none_is_found(content, small):
    small.put("study.json", content)
    small.settle_upwards()
    assert small.audit().told({"complete", "study", "unknown"}, small.names("study.json"))


# Files made to harm who reads them: a line a finding, no traceback, and nothing is run or waited for
# ---------------------------------------------------------------------------------------------------

HUGE = 4 << 40
DEEP = b"[" * 200_000

ODD = [None, True, -1, 0.5, 10**300, float("inf"), float("nan"), [], {}, [[[]]], {"": {"": None}}, [{"name": 1}]]
ODD += ["", "a\0b\x1b[31m\n\u202e", "../../../../etc/passwd", "/dev/zero", "\N{SNOWMAN}" * 5000, "results/small/"]
ODD += ["9" * 5000, "2026-11-20T00:00:00.000000Z", {"sha256": ["0"]}]


def nodes(value, way=()):
    """The ways to all values in JSON."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*way, key)
        yield from nodes(one, (*way, key))


def oddly(drawn, content):
    """JSON with another value somewhere, or without one."""
    value = json.loads(content)
    *before, last = drawn.choice(list(nodes(value)))
    place = value
    for key in before:
        place = place[key]
    if drawn.random() < 0.2:
        del place[last]
    else:
        place[last] = drawn.choice(ODD)
    return json.dumps(value).encode()


def assert_lines_can_be_printed(small):
    """What a person reads has no control characters, and says the same."""
    done = said("audit", small.root)
    assert (done.code, done.err) == (1, "")
    assert done.out.encode()
    assert not [letter for letter in done.out if letter != "\n" and not letter.isprintable()]


@pytest.mark.parametrize("number", range(12))
def test_json_of_any_shape_is_a_finding(number, small):
    """Other shapes in each run, in 25 files at once; with SHAPES_SEED those of the run that printed it."""
    seed = int(os.environ.get("SHAPES_SEED", secrets.randbits(32)))
    print(f"SHAPES_SEED={seed}")
    drawn = random.Random(f"{seed} {number}")
    statements = [path for path in small.statements if path != small.stated[ROOTED]]
    records = [path for path in small.files if path.endswith(".json") and json.loads(small.original[path])]
    # Statements as they are, or vouched for, or the root as well; then records that all statements fit.
    changed = drawn.sample(records if number % 4 == 3 else statements, 15)
    for path in [*changed, small.stated[ROOTED]] if number % 4 == 2 else changed:
        small.put(path, oddly(drawn, small.original[path]))
    if number % 2:
        small.settle_upwards()
    assert small.audit().code == 1
    assert_lines_can_be_printed(small)


def test_an_engine_that_does_not_exist_is_a_finding(small):
    def name_it(made):
        definition(made)["externalParameters"]["spec"]["hardware"]["engine"] = "{}"

    small.restate(f"{RUN}/weights.npz", name_it)
    wrong = [one["what"] for one in small.audit().findings if one["rule"] == "record"]
    assert "engine: found '{}'; one of tensorflow, jax, torch" in wrong


UNREADABLE = [b"", b"{", DEEP, b'{"_type": ' + DEEP, b'{"_type": ' + b"9" * 100_000 + b"}", b"null", b"[1, 2]"]
UNREADABLE += [
    b'"text"',
    b'{"_type": "\xff\xfe"}',
    '{"_type": 1}'.encode("utf-16"),
    b'{"payload": "", "signatures": []}',
]


def test_statements_that_cannot_be_read_are_unknown(small):
    paths = dict(zip([path for path in small.statements if "/figures/" not in path], UNREADABLE, strict=False))
    for path, content in paths.items():
        small.put(path, content)
    found = small.audit()
    assert [path for path in paths if not found.told({"unknown"}, small.names(path))] == []
    assert_lines_can_be_printed(small)


def test_a_root_that_cannot_be_read_is_unknown(small):
    for content in UNREADABLE:
        small.put(small.stated[ROOTED], content)
        found = small.audit()
        assert found.root is None
        assert found.told({"unknown"}, small.names(ROOTED))


class Calling(str):
    """A path of which a pickle makes a folder when it is loaded."""

    def __reduce__(self):
        return (os.mkdir, (str(self),))


def npz_of(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(f"{name}.npy", content)
    return file.getvalue()


def npy(header, data=b""):
    text = repr(header).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def test_files_that_no_job_would_write_are_findings_and_nothing_in_them_is_run(small, tmp_path):
    """All digests fit, so everything that reads them comes to them."""
    trap = tmp_path / "trap"
    objects = npy({"descr": "|O", "fortran_order": False, "shape": (1,)}, pickle.dumps(Calling(trap)))
    endless = npy({"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**20)})
    odd = {
        f"{RUN}/weights.npz": npz_of("conv1/kernel", objects),
        f"runs/{CELL}/algo_impl/2/weights.npz": npz_of("conv1/kernel", endless),
        f"runs/{CELL}/impl/1/weights.npz": pickle.dumps(Calling(trap)),
        f"runs/{CELL}/control/1/run.json": DEEP,
        f"runs/{CELL}/control/2/history.csv": b'"\n' * 1000 + b"\0\xff",
        f"predictions/{CELL}/impl.npy": objects,
        f"predictions/{CELL}/algo_impl.npy": endless,
        f"predictions/{CELL}/control.json": b'{"seeds": {"a": 1}, "spec": []}',
        "metrics/stability.csv": b"\xff" * 1000,
        "metrics/runs.csv": b"",
        "control/smallcnn-bn/digits/cpu.json": b'{"bit_equal": NaN}',
        "data/digits.npz": npz_of("train_images", objects),
    }
    for path, content in odd.items():
        small.put(path, content)
    small.settle_upwards()
    found = small.audit()
    assert "changed" not in found.rules
    # Data is only read when measures are made again.
    missed = [path for path in odd if not found.told({"record", "draws", "control", "numbers"}, small.names(path))]
    assert missed == ["data/digits.npz"]
    assert_lines_can_be_printed(small)
    assert not trap.exists()


def test_a_file_of_another_size_is_not_read(small, toolnoise):
    """A file of 4 TiB takes an hour to read, and no room on the disk."""
    small.put("figures/table2.csv", small.original["figures/table2.csv"][:-1])
    for path in (f"{RUN}/weights.npz", "figures/more.png", small.stated[METRICS]):
        small.put(path, b"")
        os.truncate(small.path(path), HUGE)
    done = toolnoise(small.root, "audit", ".", "--json", timeout=120)
    found = json.loads(done.stdout)["findings"]
    told = {(one["rule"], one["artifact"]) for one in found}
    assert {("changed", small.name(one)) for one in (f"{RUN}/weights.npz", "figures/table2.csv")} <= told
    assert ("unknown", small.name("figures/more.png")) in told
    assert [rule for rule, artifact in told if rule == "unknown" and artifact in small.names(METRICS)]


def test_what_statements_name_outside_the_results_is_not_opened(small, toolnoise):
    """Each has the right digest: who opens it finds nothing wrong. Nobody ever writes to the pipe."""
    site = small.root.parent.parent
    (site.parent / "secret.py").write_bytes(b"secret")
    os.mkfifo(site / "pipe.py")
    (site / "outside").symlink_to(site.parent)
    named = {
        "metrics/ratios.csv": "../secret.py",
        "metrics/claims.csv": str(site.parent / "secret.py"),
        "metrics/data.csv": "outside/secret.py",
        "metrics/runs.csv": "pipe.py",
    }
    for artifact, name in named.items():
        about = {"name": name, "digest": {"sha256": sha256(b"secret")}, "annotations": {"kind": "code"}}
        small.restate(artifact, lambda made, about=about: definition(made)["resolvedDependencies"].append(about))
    small.settle_upwards()
    done = toolnoise(site, "audit", "results/small", "--json", timeout=120)
    told = {one["artifact"] for one in json.loads(done.stdout)["findings"] if one["rule"] == "code"}
    assert [one for one in named if not told & small.names(one)] == []


def test_a_chain_of_a_thousand_jobs_is_followed(small):
    """A statement each, and each made from the one before: Python's stack is shorter."""
    text = small.original[small.stated["metrics/claims.csv"]]
    for number in range(1500):
        value = json.loads(text)
        value["subject"][0]["name"] = small.name(f"x/{number}.csv")
        about = made_from(value, "input")[0] | {"name": small.name(f"x/{number - 1}.csv")}
        about["digest"] = value["subject"][0]["digest"]
        kept = [one for one in definition(value)["resolvedDependencies"] if one["annotations"]["kind"] == "commit"]
        definition(value)["resolvedDependencies"] = [*kept, about]
        small.put(f"statements/x/{number}.csv.intoto.json", written(value))
        small.put(f"x/{number}.csv", small.original["metrics/claims.csv"])
    done = said("audit", small.path("x/1499.csv"))
    assert done.code == 1
    assert done.err == ""


# Repair, and the verb
# --------------------


def test_repaired_results_are_clean(small_study, tmp_path, toolnoise):
    site = shutil.copytree(small_study, tmp_path / "site")
    results = site / "results/small"
    before = {path: path.read_bytes() for path in results.glob("metrics/**/*.csv")}
    for name in ("metrics/claims.csv", "page/smallcnn/digits/cpu/control.html"):
        (results / name).write_bytes(flipped((results / name).read_bytes(), -3))
    (results / "metrics/data.csv").unlink()
    (results / "statements/metrics/data/digits.csv.intoto.json").write_text("{")
    left = results / "metrics/.data.csv.13gkcno8.csv"
    left.write_text("half")
    done = toolnoise(site, "audit", results)
    assert done.returncode == 1
    assert "results/small/metrics/claims.csv" in done.stdout
    done = toolnoise(site, "audit", results, "--repair")
    assert done.returncode == 0, done.stdout + done.stderr
    assert audited(results, "--strict").findings == []
    assert not left.exists()
    assert {path: path.read_bytes() for path in before} == before


def test_what_is_no_results_folder_is_refused_and_so_is_a_sample_of_nothing(here, refused_by_verb):
    (here / "empty").mkdir()
    (here / "small.csv").write_text("a\n")
    for name in ("elsewhere", "empty", "small.csv"):
        assert name in refused_by_verb("audit", name)
    for verb, count in itertools.product(("audit", "rebuild"), (0, -1)):
        line = refused_by_verb(verb, "empty", "--sample", count)
        assert line == f"toolnoise: command line: --sample: found {count}; at least 1"
