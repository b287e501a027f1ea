"""The values of single runs, from which tests of spread, ratios between cells and dots in figures are made."""

from collections.abc import Mapping

import numpy as np

from toolnoise.base.metric_files import CELL, Columns
from toolnoise.base.noise_sources import DRAWN
from toolnoise.formulas.accuracy import class_accuracies
from toolnoise.formulas.equal_runs import digests_of_runs
from toolnoise.formulas.groups import group_rates

# A draw is a replicate, or `own` for a source whose draws runs never share: drawn anew in every process, or not used.
RUNS: Columns = {**CELL, "seed": int, **dict.fromkeys(DRAWN, str), "metric": str, "group": str, "value": float}
OWN = "own"
# A number that is equal for two runs only if all their logits are equal bit by bit.
FINGERPRINT = "fingerprint"
FINGERPRINT_DIGITS = 13  # hexadecimal digits, so 52 bits, which a float holds exactly

Values = list[tuple[str, str, np.ndarray]]


def per_run(
    predicted: np.ndarray,
    entropies: np.ndarray | None,
    labels: np.ndarray,
    classes: int,
    groups: Mapping[str, np.ndarray],
) -> Values:
    """The rates of each run, as (metric, group, values [S]), from predictions [S, N] and, if known, entropies [S]."""
    everyone = np.ones(len(labels), bool)
    measured = [(rate, "all", part.values) for rate, part in group_rates(predicted, labels, classes, everyone).items()]
    if entropies is not None:
        measured.append(("cross_entropy", "all", entropies))
    by_class = class_accuracies(predicted, labels, classes).T
    measured += [("accuracy", str(index), values) for index, values in enumerate(by_class)]
    for name, member in groups.items():
        measured += [
            (rate, name, part.values) for rate, part in group_rates(predicted, labels, classes, member).items()
        ]
    return measured


def fingerprints(logits: np.ndarray) -> np.ndarray:
    """The start of the SHA-256 of each run's logits as a number, [S], from logits [S, N, C].

    If two cells have equal numbers for runs of the same draws, they do not differ: a source that varies in only one of
    them changed no bit.
    """
    return np.array([float(int(digest[:FINGERPRINT_DIGITS], 16)) for digest in digests_of_runs(logits)])
