"""Pairwise measures of a cell of 100 runs x 10,000 examples x 10 classes, against the published implementation.

The published implementation is Summers & Dinneen's evaluate.py: a loop over pairs of runs that predicts and ranks both
runs again for each pair, averages their logits and computes the cross-entropy. Here it is rewritten from PyTorch in
NumPy and in float64, measured on the pairs of some runs, and extrapolated to all pairs. No two logits of these runs are
equal, because it breaks ties by order. The benchmark stops unless both sides give the same numbers to 1e-12: churn and
both correlations as each run's mean over the other runs, the ensemble changes pair by pair.

Churn and correlation are then measured on 1,000 runs: their time should grow with the runs, not with their pairs.
Seconds are CPU seconds with one BLAS thread, because other processes may be running. For the same reason, both sides of
churn and correlation are timed in turns: in each of ten rounds, toolnoise with all runs and then the published way with
a tenth of its pairs. The seconds of a side are the median of its rounds. 100 and 1,000 runs take turns five times. The
ensemble changes are timed once on either side.

Memory is measured in a process of its own that maps the dump from its file: its peak minus its memory before, in
resident pages by the kernel's count (VmHWM - VmRSS), including those of the mapped dump. Reading the dump therefore
counts as 1 times its size. tracemalloc measures the memory that was allocated in addition.

    python bench/pairwise.py
"""

import os

# Before the import of NumPy, which reads it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import arrays
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.churn import churn
from toolnoise.formulas.correlation import pearson_distances, spearman_distances
from toolnoise.formulas.ensembles import pairwise_accuracy_change, pairwise_cross_entropy_change

RUNS, EXAMPLES, CLASSES = 100, 10_000, 10
MANY = 1_000  # runs, to see how time grows
ROUNDS, ROUNDS_OF_MANY = 10, 5
SAMPLE = 40  # runs whose pairs measure the published churn and correlation; pairs that measure its ensemble changes
PAIRS = RUNS * (RUNS - 1) // 2


def main() -> None:
    if len(sys.argv) > 1:
        print(*_memory(sys.argv[1], sys.argv[2]))
        return
    rng = np.random.Generator(np.random.Philox(1))
    labels = rng.integers(0, CLASSES, EXAMPLES)
    shared = rng.normal(size=(EXAMPLES, CLASSES)) + 3.2 * np.eye(CLASSES)[labels]
    every = np.stack([draw(shared, rng) for _ in range(MANY)])
    for run in every[:SAMPLE]:
        without_ties(run, shared, rng)
    logits = every[:RUNS]
    exact = logits.astype(np.float64)

    print(f"{RUNS} runs x {EXAMPLES} examples x {CLASSES} classes")
    ours, theirs = [], []
    rounds = np.array_split(list(combinations(range(SAMPLE), 2)), ROUNDS)
    for pairs in rounds:
        ours.append(timed_linear(logits))
        theirs.append(timed(lambda pairs=pairs: [published(exact[i], exact[j]) for i, j in pairs]))
    seconds = report_linear(ours)
    theirs_seconds = PAIRS * np.median([spent / len(found) for found, spent in theirs])
    theirs = np.concatenate([found for found, _ in theirs])
    check_linear(logits[:SAMPLE], theirs)
    mean = {name: found.sums.sum() / (2 * PAIRS) for name, (found, _) in ours[0].items()}
    print(f"  mean churn {100 * mean['churn']:.1f} %, Spearman's r {1 - mean['spearman']:.3f}")
    print(f"  {seconds:.2f} s against {theirs_seconds:.0f} s (from {len(theirs)} pairs)")
    print(f"ratio churn_and_correlation {theirs_seconds / seconds:.1f}")

    changes, changes_seconds = ensemble_changes(logits, labels)
    alone = [(accuracy(run, labels), cross_entropy(run, labels)) for run in exact]
    pairs = rng.permutation(np.transpose(np.triu_indices(RUNS, 1)))[:SAMPLE]
    theirs, more_seconds = timed(
        lambda: [published_changes(exact[i], exact[j], alone[i], alone[j], labels) for i, j in pairs]
    )
    more_seconds *= PAIRS / len(pairs)
    for matrix, wanted in zip(changes, np.transpose(theirs), strict=True):
        np.testing.assert_allclose(matrix[tuple(pairs.T)], wanted, rtol=0, atol=1e-12)
    seconds_of_all, theirs_of_all = seconds + changes_seconds, theirs_seconds + more_seconds
    print(f"with the ensemble changes, of all {PAIRS} pairs")
    print(f"  {seconds_of_all:.1f} s against {theirs_of_all:.0f} s (from {len(pairs)} pairs)")
    print(f"ratio pairwise_measures {theirs_of_all / seconds_of_all:.1f}")

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "dump.npy", Path(folder) / "labels.npy"]
        for path, array in zip(paths, (logits, labels), strict=True):
            arrays.write_npy(path, array)
        done = subprocess.run([sys.executable, __file__, *paths], check=True, capture_output=True, text=True)
    resident, allocated = map(float, done.stdout.split())
    print(f"  peak memory {resident:.2f} x the dump, {allocated:.2f} x besides it")

    print(f"{MANY} runs")
    few, many = zip(*[(timed_linear(logits), timed_linear(every)) for _ in range(ROUNDS_OF_MANY)], strict=True)
    many_seconds = report_linear(many)
    growth = many_seconds / seconds_of(few)
    print(f"  {many_seconds:.1f} s")
    print(f"ratio churn_and_correlation_{MANY}_to_{RUNS} {growth:.1f}")
    if resident > 2.2:
        raise SystemExit(f"peak memory is {resident:.2f} times the dump; allowed: at most 2.2")
    if theirs_seconds < 100 * seconds:
        raise SystemExit(f"the published way takes {theirs_seconds / seconds:.1f} times as long; wanted: at least 100")
    if growth > 12:
        raise SystemExit(f"{MANY} runs take {growth:.1f} times the time of {RUNS}; allowed: at most 12")


def draw(shared: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (shared + 0.4 * rng.normal(size=shared.shape)).astype(np.float32)


def without_ties(run: np.ndarray, shared: np.ndarray, rng: np.random.Generator) -> None:
    """Draw equal logits of a run again until no two are equal."""
    flat = run.reshape(-1)
    while True:
        order = flat.argsort()
        again = order[1:][flat[order[1:]] == flat[order[:-1]]]
        if not again.size:
            return
        flat[again] = draw(shared.reshape(-1)[again], rng)


def timed(measure: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    found = measure()
    return found, time.process_time() - started


LINEAR = {
    "churn": lambda logits: churn(predictions(logits)),
    "pearson": pearson_distances,
    "spearman": spearman_distances,
}


def timed_linear(logits: np.ndarray) -> dict[str, tuple[Any, float]]:
    """Churn and correlation of each run with the others, by toolnoise, each with its seconds."""
    return {name: timed(lambda measure=measure: measure(logits)) for name, measure in LINEAR.items()}


def report_linear(rounds: Sequence[dict[str, tuple[Any, float]]]) -> float:
    """Print the seconds of each measure; return those of all together."""
    for name in LINEAR:
        print(f"  {name} {np.median([measured[name][1] for measured in rounds]):.3f} s")
    return seconds_of(rounds)


def seconds_of(rounds: Sequence[dict[str, tuple[Any, float]]]) -> float:
    return float(np.median([sum(spent for _, spent in measured.values()) for measured in rounds]))


def check_linear(logits: np.ndarray, theirs: np.ndarray) -> None:
    """Each run's mean over the other runs, from the published values of every pair of these runs."""
    first, second = np.triu_indices(len(logits), 1)
    for (name, measure), values in zip(LINEAR.items(), theirs.T, strict=True):
        distances = values if name == "churn" else 1 - values
        wanted = np.bincount(first, distances, len(logits)) + np.bincount(second, distances, len(logits))
        others = len(logits) - 1
        np.testing.assert_allclose(measure(logits).sums / others, wanted / others, rtol=0, atol=1e-12, err_msg=name)


def ensemble_changes(logits: np.ndarray, labels: np.ndarray) -> tuple[list[np.ndarray], float]:
    """The two ensemble changes of every pair, by toolnoise, and their seconds."""
    gained, gained_seconds = timed(lambda: pairwise_accuracy_change(logits, labels))
    saved, saved_seconds = timed(lambda: pairwise_cross_entropy_change(logits))
    print(f"  accuracy change {gained_seconds:.2f} s\n  cross-entropy change {saved_seconds:.2f} s")
    return [gained, saved], gained_seconds + saved_seconds


def published(one: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """Churn, Pearson's and Spearman's r of a pair in evaluate.py."""
    differ = np.mean(one.argmax(axis=1) != other.argmax(axis=1))
    a, b = one.ravel(), other.ravel()
    count = a.size
    spearman = 1 - 6 * np.square(ranks(a) - ranks(b), dtype=np.float64).sum() / (count * (count**2 - 1.0))
    x, y = a - a.mean(), b - b.mean()
    pearson = (x * y).sum() / (np.sqrt(np.square(x).sum()) * np.sqrt(np.square(y).sum()))
    return differ, pearson, spearman


def published_changes(
    one: np.ndarray, other: np.ndarray, about_one: tuple, about_other: tuple, labels: np.ndarray
) -> list[float]:
    """The ensemble changes of a pair in evaluate.py: for each, the mean over the pair's two members."""
    together = (one + other) * 0.5
    gained = accuracy(together, labels), cross_entropy(together, labels)
    return [whole - (mine + yours) / 2 for whole, mine, yours in zip(gained, about_one, about_other, strict=True)]


def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return np.mean(logits.argmax(axis=1) == labels)


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> float:
    above = logits - logits.max(axis=1, keepdims=True)
    right = above[np.arange(len(labels)), labels]
    return np.mean(np.log(np.exp(above).sum(axis=1)) - right, dtype=np.float64)


def ranks(values: np.ndarray) -> np.ndarray:
    order = values.argsort()
    found = np.empty(len(values), np.int64)
    found[order] = np.arange(len(values))
    return found


def _memory(dump: str, labels: str) -> tuple[float, float]:
    """Peak resident and peak allocated bytes during the measurement, as multiples of the dump."""
    logits, labels = arrays.read_npy(dump), np.load(labels)
    _measure_all(logits[:2, :10], labels[:10])  # load code and buffers that are independent of size
    before = _status("VmRSS")
    _measure_all(logits, labels)
    resident = _status("VmHWM") - before
    tracemalloc.start()
    _measure_all(logits, labels)
    return resident / logits.nbytes, tracemalloc.get_traced_memory()[1] / logits.nbytes


def _measure_all(logits: np.ndarray, labels: np.ndarray) -> None:
    for measure in LINEAR.values():
        measure(logits)
    pairwise_accuracy_change(logits, labels)
    pairwise_cross_entropy_change(logits)


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return 1024 * int(line.split()[1])
    raise KeyError(key)


if __name__ == "__main__":
    main()
