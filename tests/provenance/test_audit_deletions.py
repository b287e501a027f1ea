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
from forging import ROOTED, Folder, audited, flipped, made_from, move_times, said, sha256, written

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


def not_told(found, rules, folder, artifacts):
    """The files that an audit should have named under one of some rules, and did not."""
    return [one for one in artifacts if not found.told(rules, {folder.name(one)})]


# Bits
# ----


def test_a_bit_flipped_in_any_file_is_found(folder, drawn):
    places = {path: flip_one_of(drawn, folder.original[path]) for path in drawn.sample(folder.files, FLIPS)}
    for path, content in places.items():
        folder.put(path, content)
    found = folder.audit()
    assert not_told(found, {"changed"}, folder, places) == []
    assert {one["artifact"] for one in found.findings if one["rule"] == "changed"} == {*map(folder.name, places)}


def test_a_bit_flipped_in_any_statement_is_found(folder, drawn):
    others = [path for path in folder.statements if path != folder.stated[ROOTED]]
    places = {path: flip_one_of(drawn, folder.original[path]) for path in drawn.sample(others, FLIPS)}
    for path, content in places.items():
        folder.put(path, content)
    found = folder.audit()
    # One that cannot be read is unknown; one that can is another than the root names.
    missed = [one for one in places if not found.told({"unknown", "root"}, folder.names(one))]
    assert {path: list(places[path]) for path in missed} == {}


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
    assert not_told(folder.audit(), {"missing"}, folder, lost) == []


def test_files_whose_statements_are_deleted_are_unknown(folder, drawn):
    lost = [folder.stated[one] for one in some(folder, drawn)]
    folder.delete(*lost)
    found = folder.audit()
    assert not_told(found, {"unknown"}, folder, [one for path in lost for one in folder.beside[path]]) == []


def test_a_statement_that_the_root_names_is_missing(small):
    path = small.stated["metrics/claims.csv"]
    small.delete(path)
    assert small.audit().told({"missing", "root"}, {small.name(path)})


def test_files_that_are_deleted_with_their_statements_are_missing(folder, drawn):
    # A study is whole without measured speeds.
    lost = [one for one in some(folder, drawn) if not one.startswith("speed/")]
    folder.delete(*(path for one in lost for path in folder.beside[folder.stated[one]]))
    folder.delete(*(folder.stated[one] for one in lost))
    found = folder.audit()
    assert [one for one in lost if not found.told({"missing", "complete"}, folder.names(one))] == []


def test_files_that_took_the_place_of_others_are_found(folder, drawn):
    artifacts = some(folder, drawn)
    taken = dict(zip(artifacts, artifacts[1:] + artifacts[:1], strict=True))
    for one, other in taken.items():
        folder.put(one, folder.original[other])
    # A table of a study with one cell may be that of the cell.
    changed = [one for one, other in taken.items() if folder.original[one] != folder.original[other]]
    assert len(changed) > len(artifacts) / 2
    assert not_told(folder.audit(), {"changed"}, folder, changed) == []


def test_files_that_are_cut_off_or_empty_are_found(small, drawn):
    first, second = drawn.sample(small.files, 2)
    small.put(first, small.original[first][:-1])
    small.put(second, b"")
    assert not_told(small.audit(), {"changed"}, small, [first, second]) == []


def test_an_older_version_that_is_put_back_with_its_statement_is_found(folder, drawn):
    older = some(folder, drawn)
    for one in older:
        folder.put(one, flip_one_of(drawn, folder.original[one]))
        folder.settle(one)
        folder.restate(one, lambda statement: move_times(statement, timedelta(minutes=-1)))
    found = folder.audit()
    assert [one for one in older if not found.told({"root"}, folder.names(one))] == []
    # So are those whose products name another file, if there is no root.
    read = set().union(*(inputs(folder, path) for path in folder.statements if path != folder.stated[ROOTED]))
    page = folder.beside[folder.stated[ROOTED]]
    folder.delete(*page, folder.stated[ROOTED])
    found = folder.audit()
    assert [one for one in older if folder.name(one) in read and not found.told({"inputs"}, folder.names(one))] == []


def test_an_older_page_that_is_put_back_has_another_root(small):
    before = small.audit().root
    small.put(ROOTED, small.original[ROOTED] + b" ")
    small.settle(ROOTED)
    small.restate(ROOTED, lambda statement: move_times(statement, timedelta(microseconds=-1)))
    assert small.audit().root != before


# What does not belong to the results
# -----------------------------------

CELL = "smallcnn/digits/cpu"
RUN = f"runs/{CELL}/algo_impl/1"


def test_whatever_lies_there_that_no_job_made_is_unknown(small, tmp_path):
    added = [
        "figures/more.png",
        "metrics/.hidden.csv",
        "statements/readme.txt",
        "statements/metrics/.hidden.intoto.json",
        f"{RUN}/.weights.npz.13gkcno8",
        f"checkpoints/{CELL}/algo_impl/1.npz",
        "checkpoints/note.txt",
        "empty.csv",
    ]
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
    assert not_told(small.audit(), {"unknown"}, small, [*added, *strange]) == []


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
    one, other = f"metrics/cells/{CELL}/impl.csv", f"metrics/cells/{CELL}/control.csv"
    small.swap(small.stated[one], small.stated[other])
    found = small.audit()
    assert found.told({"unknown"}, small.names(one))
    assert found.told({"unknown"}, small.names(other))


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


def test_without_the_page_nobody_says_that_all_is_there(small, lost):
    page = small.stated[ROOTED]
    small.delete(*lost, page, *small.beside[page])
    found = small.audit()
    assert (found.findings, found.root) == ([], None)
    assert said("audit", small.root).out.splitlines()[-1].endswith("no root: completeness unknown")


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
    forged.restore()
    # The page of the whole study is put back, which names what is no longer there.
    for one in (small.stated[ROOTED], *small.beside[small.stated[ROOTED]]):
        forged.put(one, small.original[one])
    assert forged.audit().told({"root", "missing", "complete"}, runs | forged.names("metrics/stability.csv"))


def test_a_cell_that_is_taken_from_the_roots_study_and_not_from_the_file_is_found(small):
    small.edit("study.json", drop_cell)
    small.settle_upwards()
    vouched = small.path(small.stated[ROOTED]).read_bytes()
    small.restore()
    small.put(small.stated[ROOTED], vouched)
    assert small.audit().told({"complete", "root", "inputs"}, small.names("study.json"))


def test_a_cell_that_is_taken_from_both_while_its_statements_are_there_is_found(small):
    small.edit("study.json", drop_cell)
    small.settle_upwards()
    assert small.audit().told({"unknown", "study"}, small.names(f"{GONE[0]}/run.json"))


def test_a_run_that_the_study_is_said_to_have_is_missing(small):
    small.edit("study.json", lambda study: study["grid"][0].update(seeds=3))
    small.settle_upwards()
    wanted = [f"runs/{CELL}/impl/3/run.json", f"runs/{CELL}/impl/3/weights.npz"]
    statement = f"statements/{wanted[1]}.intoto.json"
    assert small.audit().told({"complete"}, small.names(*wanted, statement))


@pytest.mark.parametrize("content", [b"[]", b"{", b"[" * 100_000, b""])
def test_a_study_file_that_is_none_is_found(content, small):
    small.put("study.json", content)
    small.settle_upwards()
    assert small.audit().told({"complete", "study", "unknown"}, small.names("study.json"))


def test_a_study_that_this_version_cannot_read_hides_nothing(small, lost):
    """Its own code wrote it, so it is of no earlier version."""
    small.edit("study.json", lambda study: study["figures"].append("growth_fits"))
    small.delete(*lost)
    small.settle_upwards()
    assert small.audit().code == 1
