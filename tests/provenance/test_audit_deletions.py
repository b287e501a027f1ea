"""What is deleted, swapped or replayed is found, and no list of what was left out makes it go unnoticed."""

import shutil
import subprocess
from datetime import timedelta

import flips
import pytest
from test_audit_mutations import (
    CELL,
    METRICS,
    ROOTED,
    STABILITY,
    TABLE,
    WEIGHTS,
    Folder,
    definition,
    flip,
    move_times,
    swap,
)
from toolnoise.provenance.audit.rules import ROOT_SIGNED, RULES

from toolnoise.base import files
from toolnoise.provenance import left_out, signing, tree
from toolnoise.provenance.audit import examine

# Lists of what was left out of a slim copy: none makes a missing part of the results go unnoticed


LACKS = "as a slim copy: weights (16), predictions (7), data sets (1) and executed notebooks (6) were left out"
RULE = "only-what-slim-leaves-out-is"


@pytest.fixture(scope="module")
def original(small_study, slimmed, tmp_path_factory):
    root = tmp_path_factory.mktemp("slim") / "results/small"
    slimmed(small_study / "results/small", root)
    return folder_of(root)


def folder_of(root):
    paths = (path for path in root.rglob("*") if path.is_file())
    return Folder(root, {path.relative_to(root).as_posix(): path.read_bytes() for path in paths})


@pytest.fixture
def copy(original):
    yield original
    original.restore()


def relist(folder, edit, settled=True):
    """Edit the list of what was left out; a thorough forger also rewrites its statement."""
    folder.change_json(folder.path(left_out.FILE), edit)
    if settled:
        folder.settle(left_out.FILE)


def listed(folder, *paths):
    """Delete files and list them as left out, with the digests in their statements."""
    digests = {one: files.sha256(folder.path(one)) for one in paths}
    for one in paths:
        folder.path(one).unlink()
    relist(folder, lambda found: found.update(digests))


def all_below(folder, *places):
    found = [path for place in places for path in sorted(folder.path(place).rglob("*")) if path.is_file()]
    return [path.relative_to(folder.root).as_posix() for path in found]


def vouch(folder):
    """Have the root name every statement as it is, and the list's statement name the root."""
    folder.vouch()
    own = folder.name(left_out.STATEMENT)
    folder.change(ROOTED, lambda root: definition(root)["internalParameters"]["statements"].pop(own))
    name_root(folder)


def name_root(folder):
    root = folder.stated(ROOTED)
    chain = {folder.name(root.relative_to(folder.root).as_posix()): files.sha256(root)}
    folder.change(left_out.FILE, lambda made: definition(made)["internalParameters"].update(statements=chain))


def parts_of_a_changed_number(folder):
    stability = folder.path(STABILITY)
    stability.write_text(stability.read_text().replace("0.", "1.", 1))
    folder.settle(STABILITY, everywhere=True)
    listed(folder, *all_below(folder, "metrics/cells"))
    vouch(folder)


def everything_that_is_shown(folder):
    listed(folder, *all_below(folder, "metrics", "figures"), "index.html")


def the_study(folder):
    listed(folder, "study.json")


def weights_without_a_statement(folder):
    folder.stated(WEIGHTS).unlink()
    vouch(folder)


def other_weights(folder):
    relist(folder, lambda found: found.update({WEIGHTS: "0" * 64}))


def a_file_that_never_was(folder):
    relist(folder, lambda found: found.update({"data/better.npz": "0" * 64}))


def a_list_that_was_edited(folder):
    relist(folder, lambda found: found.pop(WEIGHTS), settled=False)


def a_list_of_an_earlier_page(folder):
    move_times(folder, ROOTED, timedelta(microseconds=-1))


def a_list_that_is_gone(folder):
    folder.path(left_out.FILE).unlink()


def a_list_that_a_measure_made(folder):
    folder.change(left_out.FILE, lambda made: definition(made).update(buildType="urn:toolnoise:collect:1"))


def a_list_of_no_root(folder):
    folder.change(left_out.FILE, lambda made: definition(made)["internalParameters"].pop("statements"))


def a_list_of_numbers(folder):
    relist(folder, lambda found: found.update({WEIGHTS: 1}))


def a_statement_of_the_list_that_is_cut_off(folder):
    folder.path(left_out.STATEMENT).write_text("{")


HARMS = {
    parts_of_a_changed_number: {
        (RULE, METRICS),
        ("every-output-is-there", METRICS),
        ("collected-are-their-parts", STABILITY),
    },
    everything_that_is_shown: {
        *((RULE, one) for one in (METRICS, STABILITY, "figures/table2.html", "index.html")),
        *(("study-is-complete", one) for one in (METRICS, STABILITY, "figures/table2.html", "index.html")),
    },
    the_study: {(RULE, "study.json"), ("study-is-complete", "study.json")},
    weights_without_a_statement: {(RULE, WEIGHTS)},
    other_weights: {("every-output-is-there", WEIGHTS)},
    a_file_that_never_was: {(RULE, "data/better.npz")},
    a_list_that_was_edited: {(RULE, left_out.FILE), ("every-output-is-there", WEIGHTS)},
    a_list_of_an_earlier_page: {(RULE, left_out.FILE)},
    a_list_that_is_gone: {(RULE, left_out.FILE), ("every-output-is-there", WEIGHTS)},
    a_list_that_a_measure_made: {(RULE, left_out.FILE)},
    a_list_of_no_root: {(RULE, left_out.FILE)},
    a_list_of_numbers: {("only-plain-files", left_out.FILE)},
    a_statement_of_the_list_that_is_cut_off: {("statements-can-be-read", left_out.STATEMENT)},
}


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_what_is_left_out_without_leave_is_found(harm, copy):
    harm(copy)
    found = copy.audit()
    assert {(rule, copy.name(one)) for rule, one in HARMS[harm]} <= {one[:2] for one in found.findings}
    assert found.verdict(strict=False).startswith("not clean: ")
    assert not found.is_clean(strict=False)


def test_a_slim_copy_is_clean_and_the_verdict_says_what_was_left_out(copy):
    found = copy.audit()
    assert found.verdict(strict=True) == f"clean, {LACKS}"
    assert examine.as_text(found, strict=True).splitlines()[-1].startswith(f"clean, {LACKS}: ")
    assert examine.as_json(found, strict=True)["verdict"] == f"clean, {LACKS}"
    (stated,) = [one.list_stated for one in found.results.trees]
    (top,) = [one.top for one in found.results.trees]
    assert stated.statement.chain == {copy.name(top.path): top.sha256}
    assert found.roots[0].startswith(f"small: list {stated.sha256} ")


def test_a_list_without_a_statement_is_never_plainly_clean(copy):
    """As the first slim copies had them."""
    copy.path(left_out.STATEMENT).unlink()
    found = copy.audit()
    assert (found.findings, found.is_clean(strict=False), found.is_clean(strict=True)) == ((), True, False)
    assert found.verdict(strict=False) == f"clean, {LACKS}, by a list without a statement"
    assert found.verdict(strict=True) == f"not clean, {LACKS}, by a list without a statement"
    assert any("nothing says for which root" in note for note in found.notes)


def test_what_is_listed_under_a_signed_root_is_found_all_the_same(copy, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ann"], check=True)
    signing.sign(copy.root, tmp_path / "ann", root=True)
    rules = (*RULES, ROOT_SIGNED)

    def audited():
        with signing.only(tmp_path / "ann.pub") as key:
            return examine.examine(tree.load(copy.root), 1, rules=rules, key=key)

    found = audited()
    assert found.verdict(strict=True) == f"clean, {LACKS}"
    assert found.signatures.startswith("good, by")
    lost = [*all_below(copy, "metrics", "figures"), "index.html"]
    digests = {one: files.sha256(copy.path(one)) for one in lost}
    for one in digests:
        copy.path(one).unlink()
    relist(copy, lambda listing: listing.update(digests), settled=False)
    found = audited()
    assert {copy.name(one) for one in digests} <= {one.artifact for one in found.findings if one.rule == RULE}
    assert not found.is_clean(strict=False)


def test_all_signatures_are_also_asked_of_the_list(copy, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ann"], check=True)
    (tmp_path / "allowed").write_text(f"ann {(tmp_path / 'ann.pub').read_text()}")
    signed, _ = signing.sign(copy.root, tmp_path / "ann")
    stated = len(tree.load_study(copy.root).statements)
    assert signed == stated + 1
    found = examine.examine(tree.load(copy.root), 1, signers=signing.AllowedSigners(tmp_path / "allowed"))
    assert found.signatures == "good, by ann"
    assert found.signers["ann"] == stated + 1


def test_a_flip_anywhere_in_the_list_or_its_statement_is_found(copy):
    assert flips.statements(copy.root, 1)[1:] == [left_out.STATEMENT, left_out.FILE]
    for path in (left_out.STATEMENT, left_out.FILE):
        found = flips.flipped(copy.root, path, range(0, 10**5, 7))
        assert found.tried > 100
        assert found.missed == []


# Each kind of artifact is deleted, swapped with its sibling, or replayed: an older one put back with its statement


@pytest.fixture(scope="module")
def whole(small_study, tmp_path_factory):
    root = tmp_path_factory.mktemp("whole") / "results/small"
    return folder_of(shutil.copytree(small_study / "results/small", root))


@pytest.fixture
def folder(whole):
    yield whole
    whole.restore()


RATIOS, COUNTS = f"metrics/ratios/{CELL}.csv", "metrics/data/digits.csv"
STATEMENT = f"statements/{RATIOS}.intoto.json"
# By kind: an artifact, its sibling, and the one whose statement speaks of it.
KINDS = {
    "weights": (WEIGHTS, f"runs/{CELL}/algo_impl/2/weights.npz", WEIGHTS),
    "logits": (f"predictions/{CELL}/impl.npy", f"predictions/{CELL}/algo_impl.npy", f"predictions/{CELL}/impl.npy"),
    "metric of a cell": (METRICS, f"metrics/cells/{CELL}/control.csv", METRICS),
    "metric of the study": (STABILITY, "metrics/runs.csv", STABILITY),
    "figure": ("figures/noise_by_source-cpu.svg", "figures/batch_norm-cpu.svg", "figures/noise_by_source-cpu.svg"),
    "table": (TABLE, "figures/table2.md", TABLE),
    "file of the page": ("index.html", "page/tables.js", "index.html"),
    "data": ("data/digits.npz", "runs/smallcnn-bn/digits/cpu/impl/20002/weights.npz", "data/digits.npz"),
    "statement": (STATEMENT, f"statements/{COUNTS}.intoto.json", RATIOS),
    "study.json": ("study.json", "metrics/data.csv", "study.json"),
}


def deleted(folder, artifact, _sibling, _stated):
    folder.path(artifact).unlink()


def swapped(folder, artifact, sibling, _stated):
    swap(folder.path(artifact), folder.path(sibling))


def replayed(folder, artifact, _sibling, stated):
    """What an earlier version of the job left: other bytes, and the statement of its day, which fits them."""
    if artifact == "study.json":
        folder.path(artifact).write_text(folder.path(artifact).read_text() + "\n")
    elif artifact != STATEMENT:
        flip(folder.path(artifact))
    if artifact != STATEMENT:
        folder.settle(artifact)
    move_times(folder, stated, timedelta(minutes=-1))


FOUND = {
    deleted: {"statement": "every-file-is-stated"},
    swapped: {"statement": "statements-lie-in-place"},
    replayed: {},
}
USUAL = {deleted: "every-output-is-there", swapped: "digests-match", replayed: "statements-are-the-roots"}


# Each is found by what it and its statement say, so it is done to all at once.
@pytest.mark.parametrize("harm", USUAL, ids=lambda harm: harm.__name__)
def test_what_is_deleted_swapped_or_replayed_is_found(harm, folder):
    # The statement of the page is the root: an older one is told by the root's digest, which the audit prints.
    kinds = {kind: of for kind, of in KINDS.items() if (kind, harm) != ("file of the page", replayed)}
    before = folder.audit()
    for of in kinds.values():
        harm(folder, *of)
    found = folder.audit()
    assert found.roots == before.roots
    for kind, (_, _, stated) in kinds.items():
        told = {one.artifact for one in found.findings if one.rule == FOUND[harm].get(kind, USUAL[harm])}
        assert folder.name(stated) in told, kind
    assert found.verdict(strict=False).startswith("not clean")


def test_a_replayed_page_has_another_root(folder):
    before = folder.audit()
    replayed(folder, *KINDS["file of the page"])
    assert folder.audit().roots != before.roots
