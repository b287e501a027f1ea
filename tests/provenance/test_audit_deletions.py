"""Damage that nobody covers up is found: flipped bits, and files that are lost, exchanged, older, added or no files.

Each finding follows from one file and the statements that name it, so many files are damaged at once.
"""

import json
import os
import random
import secrets
import shutil
from datetime import timedelta

import pytest
from forging import ROOTED, Folder, audited, flipped, made_from, move_times, sha256, written

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

CELL = "smallcnn/digits/cpu"
RUN = f"runs/{CELL}/algo_impl/1"


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


def test_statements_that_changed_places_are_unknown(small):
    both = [f"metrics/cells/{CELL}/impl.csv", f"metrics/cells/{CELL}/control.csv"]
    small.swap(*(small.stated[one] for one in both))
    assert jobs_missed(small.audit(), {"unknown"}, small, both) == []


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
