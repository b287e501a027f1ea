"""Rules that compute numbers again where that is cheap: what was put together, and accuracies.

`audit --recompute` performs the other jobs again, apart from training.
"""

from pathlib import Path

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.datasets import prepared
from toolnoise.formulas.accuracy import predictions
from toolnoise.steps import STEPS, Job, writing
from toolnoise.study import layout
from toolnoise.study.cells import MetricFile
from toolnoise.training import runs
from toolnoise.verify.audit.evidence import Evidence, Found, guarded

# Inference may differ in its last bits from one machine to the next: a class that changes with them is no finding.
BORDERLINE = 1 / 1000


def collected_are_their_parts(evidence: Evidence) -> Found:
    """Every metric file of the whole study has the rows of its parts, in their order, and no others."""
    for name, job in evidence.jobs.items():
        if isinstance(job.place, MetricFile) and evidence.tree.inside(name) in evidence.tree.files:
            yield from guarded(name, lambda name=name, job=job: _collected(evidence, name, job))


def accuracies_are_the_logits(evidence: Evidence) -> Found:
    """The last accuracy in the history of every run is that of its logits."""
    present = evidence.tree.files
    for name, job in evidence.jobs.items():
        # What a training program left has no accuracies of its own.
        predicts = job.verb in writing(layout.LOGITS) and STEPS[job.verb].needs.tooling
        needs = [file for file, _ in (*job.inputs, *job.outputs)] if predicts else []
        # What is left out of a slim copy is named in the verdict, what is missing under other rules.
        if needs and all(evidence.tree.inside(file) in present for file in needs):
            yield from guarded(name, lambda name=name, job=job: _accuracies(evidence, name, job))


def _collected(evidence: Evidence, name: str, job: Job) -> Found:
    heads, bodies = zip(*(_split(evidence.small(part)) for part, _ in job.inputs), strict=True)
    if _split(evidence.small(name)) != (heads[0], b"".join(bodies)):
        yield name, f"does not have the rows of its {len(job.inputs)} parts"


def _split(path: Path) -> tuple[bytes, bytes]:
    """The version and the names of the columns, and the rows."""
    with readable(path, "a metric file"):
        version, _, body = path.read_bytes().partition(b"\n")
    columns, _, rows = body.partition(b"\n")
    return version + b"\n" + columns, rows


def _accuracies(evidence: Evidence, logits: str, job: Job) -> Found:
    named: dict[str, list[str]] = {}
    for name, role in job.inputs:
        named.setdefault(role, []).append(name)
    (data,) = named["data"]
    stack, labels = arrays.read_npy(evidence.path(logits)), prepared.targets(evidence.path(data))["test_labels"]
    records = named["records"]
    if stack.ndim not in (2, 3) or stack.shape[:2] != (len(records), len(labels)):
        raise BadInput(logits, "shape", f"found {stack.shape}", f"{len(records)} runs x {len(labels)} examples")
    for record, layer in zip(records, stack, strict=True):
        yield from guarded(record, lambda record=record, layer=layer: _accuracy(evidence, record, layer, labels))


def _accuracy(evidence: Evidence, record: str, layer: np.ndarray, labels: np.ndarray) -> Found:
    run = runs.read(evidence.small(record))
    history = evidence.tree.named(f"{evidence.tree.inside(record).rpartition('/')[0]}/history.csv")
    evidence.small(history)
    if run.diverged:
        return
    stated, computed = (
        float(run.history()[-1]["test_accuracy"]),
        float((predictions(layer[np.newaxis])[0] == labels).mean()),
    )
    allowed = max(1, int(BORDERLINE * len(labels))) / len(labels)
    if not abs(stated - computed) <= allowed * (1 + 1e-9):
        yield history, f"ends with a test accuracy of {stated:.6g}; that of its logits is {computed:.6g}"
