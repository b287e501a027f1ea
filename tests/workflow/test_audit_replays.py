"""Each kind of artifact is deleted, swapped with its sibling, or replayed: an older one put back with its statement."""

from datetime import timedelta

import pytest
from test_audit_mutations import CELL, METRICS, STABILITY, TABLE, WEIGHTS, both, flip, folders, move_times, swap

__all__ = ["both", "folders"]

STATEMENT = f"statements/{METRICS}.intoto.json"
# By kind: an artifact, its sibling, and the one whose statement speaks of it.
KINDS = {
    "weights": (WEIGHTS, f"runs/{CELL}/algo_impl/2/weights.npz", WEIGHTS),
    "logits": (f"predictions/{CELL}/impl.npy", f"predictions/{CELL}/algo_impl.npy", f"predictions/{CELL}/impl.npy"),
    "metric of a cell": (METRICS, f"metrics/cells/{CELL}/control.csv", METRICS),
    "metric of the study": (STABILITY, "metrics/runs.csv", STABILITY),
    "figure": ("figures/noise_by_source-cpu.svg", "figures/batch_norm-cpu.svg", "figures/noise_by_source-cpu.svg"),
    "table": (TABLE, "figures/table2.md", TABLE),
    "file of the page": ("page/audit.js", "page/statements.js", "page/audit.js"),
    "data": ("data/digits.npz", WEIGHTS, "data/digits.npz"),
    "statement": (STATEMENT, f"statements/metrics/cells/{CELL}/control.csv.intoto.json", METRICS),
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
# The statement of the page's audit is the root: an older one is told by the root's digest, which the audit prints.
ROOT = ("file of the page", replayed)


@pytest.mark.parametrize("harm", USUAL, ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_deleted_swapped_or_replayed_is_found_or_said(kind, harm, folders):
    folder, (artifact, sibling, stated) = folders["small"], KINDS[kind]
    before = folder.audit()
    harm(folder, artifact, sibling, stated)
    found = folder.audit()
    if (kind, harm) == ROOT:
        assert found.roots != before.roots
        return
    assert found.roots == before.roots
    told = {one.artifact for one in found.findings if one.rule == FOUND[harm].get(kind, USUAL[harm])}
    assert folder.name(stated) in told, found.findings[:9]
    assert found.verdict(strict=False).startswith("not clean")
