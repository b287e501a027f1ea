"""Differences between two frameworks: by inference alone, by training, and where and when runs diverge.

Run s of one framework and run s of the other start from the same weights and see the same batches, so only the
framework differs. The runs of each framework also predict on the other: these predictions differ from their own by
inference alone. The rest of the difference between trained runs is due to training.

With all algorithmic draws fixed, replicates are bit-equal and there is no interval over runs. In that case, a mean
over test examples has an interval over examples: the range if other examples were used with the same two networks.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Dump, Output, PlaceNames, WholeRuns
from toolnoise.base.metric_files import MEASURE, PAIR, Columns
from toolnoise.dumps import stacks
from toolnoise.dumps.stacks import Predictions
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.churn import paired_churn
from toolnoise.formulas.equal_runs import bit_equal, first_epochs, rate_step
from toolnoise.formulas.weights import relative_distances
from toolnoise.measures.reading import runs_at
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t, wilson_interval
from toolnoise.study.cells import Pair
from toolnoise.study.runs import Run
from toolnoise.study.variants import variant_named

# Rows compare runs of two frameworks. Rows of inference alone compare predictions of the same runs, trained on
# `hardware`, with those on `other_hardware`. `examples` is the number of test examples; `interval` is over `runs` or
# over `examples`.
FRAMEWORKS: Columns = {**PAIR, "examples": int, "interval": str, **MEASURE}
# The same pairs of runs in one tensor, or in one column of their histories: after an epoch, or within that many epochs.
PARTINGS: Columns = {**PAIR, "what": str, "epoch": int, **MEASURE}

# The units that an interval is over.
RUNS, EXAMPLES = "runs", "examples"
# The columns of a history that describe training, and the name for the first tensor to differ.
COURSE = ("train_loss", "test_loss", "test_accuracy")
ANY = "any"
PartingRow = tuple[str, int, str, Estimate, int]  # what, epoch, metric, estimate, number of runs


class Predicted(NamedTuple):
    """Logits [S, N, C] of runs on their training tooling, and on the other one."""

    here: np.ndarray
    elsewhere: np.ndarray


def total_churn(first: Predicted, second: Predicted, over: str) -> list[tuple[str, Estimate]]:
    """The churn between run s of each framework, and the part of it that inference alone does not explain."""
    (a, a_elsewhere), (b, b_elsewhere) = (tuple(map(predictions, both)) for both in (first, second))
    moved = (a != a_elsewhere).astype(np.int8) + (b != b_elsewhere)
    rest, equal = (a != b) - moved / 2, bit_equal((first.here, second.here))
    return [
        ("churn", _churn(a, b, over, equal)),
        ("churn_training", _mean(rest, over, rate_step(2 * a.shape[1], equal)).within(-1, 1)),
    ]


def inference_changes(runs: Predicted, over: str) -> list[tuple[str, Estimate]]:
    """The changes in the predictions of the same networks on the other tooling."""
    largest, relative = np.zeros(len(runs.here)), np.zeros(runs.here.shape[:2])
    for run, both in enumerate(zip(*runs, strict=True)):
        here, elsewhere = (logits.astype(np.float64) for logits in both)
        largest[run] = np.abs(elsewhere - here).max(initial=0)
        relative[run] = relative_distances(here, elsewhere)
    equal = bit_equal(runs)
    return [
        ("churn_inference", _churn(*map(predictions, runs), over, equal)),
        ("logits_max_difference", _largest(largest)),
        ("logits_relative_difference", _mean(relative, over).within(0, 2)),
    ]


def parting_epochs(first: np.ndarray) -> list[tuple[str, Estimate, int]]:
    """The share of runs that diverge in a quantity, and their mean first epoch; each with its number of runs.

    `first` is the first epoch of each run, [S]; it is NaN for a run that does not diverge.
    """
    parted = first[~np.isnan(first)]
    return [
        ("parted", wilson_interval(len(parted), len(first)), len(first)),
        ("first_epoch", mean_t(parted, step=1).within(1, np.inf), len(parted)),
    ]


def _churn(a: np.ndarray, b: np.ndarray, over: str, equal: bool) -> Estimate:
    if over == RUNS:
        return mean_t(paired_churn(a, b), rate_step(a.shape[1], equal)).within(0, 1)
    return wilson_interval(np.count_nonzero(a[0] != b[0]), a.shape[1]) if len(a) else UNDEFINED


def _mean(values: np.ndarray, over: str, step: float = np.nan) -> Estimate:
    """The mean of values [S, N], one for each run and example."""
    if not len(values):
        return UNDEFINED
    return mean_t(values.mean(axis=1), step) if over == RUNS else mean_t(values[0])


def _largest(values: np.ndarray) -> Estimate:
    """The largest value of all runs, [S]; it has no interval."""
    return Estimate(float(values.max())) if len(values) else UNDEFINED


def measure(
    pair: PlaceNames,
    logits: Dump,
    exchanged: Dump,
    records: WholeRuns,
    other_logits: Dump,
    other_exchanged: Dump,
    other_records: WholeRuns,
    *,
    out: Output,
    out_partings: Output,
) -> None:
    """Write the differences of two frameworks in inference and in training, and where and when their runs diverge.

    Each tooling contributes the dump of its runs, the dump of the same runs on the other tooling, and the runs.
    """
    pair, dumps = Pair(*pair), (exchanged, other_exchanged)
    home, away = ([_dump(path) for path in paths] for paths in ((logits, other_logits), dumps))
    for dump, moved, path in zip(home, away, dumps, strict=True):
        if (dump.seeds, dump.logits.shape) != (moved.seeds, moved.logits.shape):
            odd = f"found the seeds {moved.seeds} and logits of shape {moved.logits.shape}"
            raise BadInput(path, "", odd, f"{dump.seeds} and {dump.logits.shape}, as on the training tooling")
    first, other = home
    if first.logits.shape[1:] != other.logits.shape[1:]:
        raise BadInput(other_logits, "", f"found logits of shape {other.logits.shape[1:]}", f"those of {logits}")
    shared = [seed for seed in first.seeds if seed in other.seeds]
    places = [np.array([dump.seeds.index(seed) for seed in shared], int) for dump in home]
    finished = first.finished[places[0]] & other.finished[places[1]]
    # If nothing may vary, replicates are bit-equal, as the control gate has checked: they count as one run.
    over, most = (RUNS, None) if variant_named(pair.variant).varying else (EXAMPLES, 1)
    kept = [place[finished][:most] for place in places]
    missing, examples = int((~finished).sum()), first.logits.shape[1]
    both = [Predicted(*(dump.logits[place] for dump in dumps)) for *dumps, place in zip(home, away, kept, strict=True)]
    rows = [(pair, *row) for row in total_churn(*both, over)]
    for way, predicted in zip((pair, pair.reversed), both, strict=True):
        rows += [(way, *row) for row in inference_changes(predicted, over)]
    trained = [runs_at(*arguments) for arguments in zip((records, other_records), home, kept, strict=True)]
    parts = _partings(list(zip(*trained, strict=True)))
    counts = (len(kept[0]), missing)
    metric_files.write_metrics(
        out,
        FRAMEWORKS,
        [(*way, examples, over, metric, "all", *estimate, *counts) for way, metric, estimate in rows],
    )
    metric_files.write_metrics(
        out_partings,
        PARTINGS,
        [
            (*pair, what, epoch, metric, "all", *estimate, count, missing)
            for what, epoch, metric, estimate, count in parts
        ],
    )


def _dump(logits: str) -> Predictions:
    return stacks.read_predictions(logits, Path(logits).with_suffix(".json"))


def _partings(pairs: Sequence[tuple[Run, Run]]) -> list[PartingRow]:
    """Where and when runs of equal draws diverge: by tensor, in layer order, and in losses and accuracies."""
    if not pairs:
        return _first(ANY, 0, np.empty(0))
    compared = [_compared(*pair) for pair in pairs]
    names = compared[0][0]
    tensors, courses, apart, course_apart = (np.array(part) for part in list(zip(*compared, strict=True))[1:])
    last = course_apart.shape[1]
    # A tensor that never differs counts as later than any epoch.
    rows = _first(ANY, last, np.fmin.reduce(tensors, axis=1))
    for place, name in enumerate(names):
        rows += _first(name, last, tensors[:, place])
        rows.append((name, last, *_apart(apart[:, place])))
    for place, name in enumerate(COURSE):
        rows += _first(name, last, courses[:, place])
        rows += [(name, at, *_apart(values)) for at, values in enumerate(course_apart[:, :, place].T, 1)]
    return rows


def _first(what: str, last: int, epochs: np.ndarray) -> list[PartingRow]:
    return [(what, last, metric, estimate, count) for metric, estimate, count in parting_epochs(epochs)]


def _apart(distances: np.ndarray) -> tuple[str, Estimate, int]:
    return "relative_l2", mean_t(distances).within(0, 2), len(distances)


def _compared(first: Run, other: Run) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The tensors of two runs, the first epochs where tensors and course differ, and both relative distances."""
    weights = first.weights(), other.weights()
    shapes = [[(name, tensor.shape) for name, tensor in tensors.items()] for tensors in weights]
    if shapes[0] != shapes[1]:
        odd = sorted(set(shapes[0]) ^ set(shapes[1]))
        what = "found another shape, or none" if odd else "found them in another order"
        wanted = f"the tensors of {first.folder / 'weights.npz'}"
        raise BadInput(other.folder / "weights.npz", odd[0][0] if odd else "", what, wanted)
    histories = [_from_history(run, len(weights[0])) for run in (first, other)]
    digests = first_epochs(*(digests for digests, _ in histories))
    courses = [np.array(course) for _, course in histories]
    pairs = zip(*(tensors.values() for tensors in weights), strict=True)
    apart = [relative_distances(*(tensor.reshape(1, -1) for tensor in pair))[0] for pair in pairs]
    course_apart = relative_distances(*(course.reshape(-1, 1) for course in courses))
    return (
        list(weights[0]),
        digests,
        first_epochs(*courses),
        np.array(apart),
        course_apart.reshape(-1, len(COURSE)),
    )


def _from_history(run: Run, tensors: int) -> tuple[list[list[str]], list[list[float]]]:
    """A history's content after each epoch: a digest of every tensor, and the columns in COURSE."""
    path, digests, course = run.folder / "history.csv", [], []
    for row in run.history():
        digests.append(row["tensors_sha256"].split())
        if len(digests[-1]) != tensors:
            what = f"epoch {row['epoch']} has {len(digests[-1])} digests"
            raise BadInput(path, "tensors_sha256", what, f"{tensors}, as weights.npz has")
        course.append([float(row[name]) for name in COURSE])
    return digests, course
