"""Cohen's kappa between two toolings that train from equal draws."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolnoise.base import metric_files
from toolnoise.dumps import stacks
from toolnoise.measures.reading import counts
from toolnoise.metrics.accuracy import predictions
from toolnoise.metrics.kappa import KAPPA, paired_kappa
from toolnoise.stats.estimates import mean_t


def measure(pair: Sequence[str], logits: str, index: str, other_logits: str, other_index: str, out: str | Path) -> None:
    """Write the kappa of run s on one tooling and run s on the other."""
    one, other = stacks.read_predictions(logits, index), stacks.read_predictions(other_logits, other_index)
    shared = [seed for seed in one.seeds if seed in other.seeds]
    places = [[dump.seeds.index(seed) for seed in shared] for dump in (one, other)]
    finished = one.finished[places[0]] & other.finished[places[1]]
    kept = [dump.logits[np.array(place, int)[finished]] for dump, place in zip((one, other), places, strict=True)]
    kappa = mean_t(paired_kappa(*map(predictions, kept), kept[0].shape[-1])).within(-1, 1)
    metric_files.write(out, KAPPA, [(*pair, "kappa", "all", *kappa, *counts(finished))])
