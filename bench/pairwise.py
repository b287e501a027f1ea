"""All pairwise measures of a cell of 100 runs x 10,000 examples x 10 classes, against the published implementation.

The published implementation is Summers & Dinneen's evaluate.py: a loop over pairs of runs that averages the logits,
predicts, computes the cross-entropy and ranks both runs again for each pair. Here it is rewritten from PyTorch in
NumPy, measured on some random pairs, and extrapolated to all. The benchmark stops unless both sides give the same five
numbers on these pairs. Seconds are CPU seconds with one BLAS thread, because other processes may be running.

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
from pathlib import Path

import numpy as np

from toolnoise.base import arrays
from toolnoise.metrics.accuracy import predictions
from toolnoise.metrics.churn import pairwise_churn
from toolnoise.metrics.correlation import pairwise_pearson, pairwise_spearman
from toolnoise.metrics.ensembles import pairwise_accuracy_change, pairwise_cross_entropy_change

RUNS, EXAMPLES, CLASSES = 100, 10_000, 10
SAMPLE = 40  # pairs for measuring the published implementation


def main() -> None:
    if len(sys.argv) > 1:
        print(*_memory(sys.argv[1], sys.argv[2]))
        return
    rng = np.random.Generator(np.random.Philox(1))
    labels = rng.integers(0, CLASSES, EXAMPLES)
    shared = rng.normal(size=(EXAMPLES, CLASSES)) + 3.2 * np.eye(CLASSES)[labels]
    logits = np.stack([(shared + 0.4 * rng.normal(size=shared.shape)).astype(np.float32) for _ in range(RUNS)])
    started = time.process_time()
    ours = measures(logits, labels, verbose=True)
    ours_seconds = time.process_time() - started

    every = np.transpose(np.triu_indices(RUNS, 1))
    pairs = rng.permutation(every)[:SAMPLE]
    alone = [(accuracy(run, labels), cross_entropy(run, labels)) for run in logits]
    started = time.process_time()
    theirs = [published(logits[i], logits[j], alone[i], alone[j], labels) for i, j in pairs]
    theirs_seconds = (time.process_time() - started) * len(every) / SAMPLE
    for name, matrix, wanted in zip(ours, ours.values(), np.transpose(theirs), strict=True):
        np.testing.assert_allclose(matrix[tuple(pairs.T)], wanted, rtol=1e-5, atol=1e-7, err_msg=name)

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "dump.npy", Path(folder) / "labels.npy"]
        for path, array in zip(paths, (logits, labels), strict=True):
            arrays.write_npy(path, array)
        done = subprocess.run([sys.executable, __file__, *paths], check=True, capture_output=True, text=True)
    resident, allocated = map(float, done.stdout.split())
    print(f"pairwise_measures: {len(every)} pairs of {RUNS} runs x {EXAMPLES} examples x {CLASSES} classes")
    churn, spearman = (ours[name][tuple(every.T)].mean() for name in ("churn", "spearman"))
    print(f"  mean churn {100 * churn:.1f} %, Spearman's r {spearman:.3f}")
    print(f"  {ours_seconds:.1f} s against {theirs_seconds:.0f} s (from {SAMPLE} pairs)")
    print(f"  peak memory {resident:.2f} x the dump, {allocated:.2f} x besides it")
    print(f"ratio pairwise_measures {theirs_seconds / ours_seconds:.1f}")
    if resident > 2:
        raise SystemExit(f"peak memory is {resident:.2f} times the dump; allowed: at most 2")


def measures(logits: np.ndarray, labels: np.ndarray, verbose: bool = False) -> dict[str, np.ndarray]:
    """The published measures of every pair of runs, by toolnoise."""
    found = {}
    for name, measure in {
        "churn": lambda: pairwise_churn(predictions(logits)),
        "pearson": lambda: pairwise_pearson(logits),
        "spearman": lambda: pairwise_spearman(logits),
        "accuracy change": lambda: pairwise_accuracy_change(logits, labels),
        "cross-entropy change": lambda: pairwise_cross_entropy_change(logits),
    }.items():
        started = time.process_time()
        found[name] = measure()
        if verbose:
            print(f"  {name} {time.process_time() - started:.2f} s")
    return found


def published(
    one: np.ndarray, other: np.ndarray, about_one: tuple, about_other: tuple, labels: np.ndarray
) -> tuple[float, ...]:
    """The numbers of evaluate.py for a pair: for each change, the mean over the pair's two members."""
    together = (one + other) * np.float32(0.5)
    gained = accuracy(together, labels), cross_entropy(together, labels)
    changes = [whole - (mine + yours) / 2 for whole, mine, yours in zip(gained, about_one, about_other, strict=True)]
    churn = np.mean(one.argmax(axis=1) != other.argmax(axis=1))
    a, b = one.ravel(), other.ravel()
    count = a.size
    spearman = 1 - 6 * np.square(ranks(a) - ranks(b), dtype=np.float64).sum() / (count * (count**2 - 1.0))
    x, y = a - a.mean(), b - b.mean()
    pearson = (x * y).sum() / (np.sqrt(np.square(x).sum()) * np.sqrt(np.square(y).sum()))
    return churn, pearson, spearman, *changes


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
    measures(logits[:2, :10], labels[:10])  # load code and buffers that are independent of size
    before = _status("VmRSS")
    measures(logits, labels)
    resident = _status("VmHWM") - before
    tracemalloc.start()
    measures(logits, labels)
    return resident / logits.nbytes, tracemalloc.get_traced_memory()[1] / logits.nbytes


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return 1024 * int(line.split()[1])
    raise KeyError(key)


if __name__ == "__main__":
    main()
