"""Cohen's kappa between two toolings: agreement beyond what the frequencies of their answers give by chance."""

import numpy as np

from toolnoise.base.metric_files import MEASURE, PAIR, Columns

KAPPA: Columns = {**PAIR, **MEASURE}


def paired_kappa(a: np.ndarray, b: np.ndarray, classes: int) -> np.ndarray:
    """Kappa of run s of `a` and run s of `b`, [S], from predictions [S, N]; undefined where all answers are one."""
    frequencies = [np.stack([(one == label).mean(axis=1) for label in range(classes)]) for one in (a, b)]
    chance = (frequencies[0] * frequencies[1]).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return ((a == b).mean(axis=1) - chance) / (1 - chance)
