"""Components of variance: how much of the noise is the algorithm's, the implementation's, and their interaction.

Runs form a table with a row for each algorithmic draw and a column for each implementation draw. A run's deviation from
the mean is that of its row, that of its column and the rest, the interaction. The implementation's noise for a given
algorithmic draw, IMPL within ALGO, has the variance of column and interaction together. Where implementation draws
cannot be repeated, as on a GPU, columns mean nothing; then only the rows and what is within them are told apart.

The variance within rows and that of the interaction are means over rows, and rows differ in noise by factors: their
intervals are over rows (`positive_mean_t`). The others are differences of mean squares, with the modified large-sample
interval of Ting et al. (1990), for normal effects.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, positive_mean_t


class Components(NamedTuple):
    """Variances; `column` and `interaction` are undefined where columns mean nothing. `within` is both together."""

    row: Estimate
    within: Estimate
    column: Estimate
    interaction: Estimate


NONE = Components(UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED)


class _Square(NamedTuple):
    """A mean square with its degrees of freedom."""

    value: float
    freedom: int


def components(table: np.ndarray, crossed: bool) -> Components:
    """The components of a table of runs [draws, runs of each]; `crossed` if columns are draws of the implementation."""
    rows, columns = table.shape
    if min(table.shape) < 2:
        return NONE
    shifted = table - table[0, 0]  # equal values then have exactly no variance
    by_row, by_column = shifted.mean(axis=1, keepdims=True), shifted.mean(axis=0, keepdims=True)
    grand = shifted.mean()
    between = _Square(columns * float(np.sum((by_row - grand) ** 2)) / (rows - 1), rows - 1)
    rest = shifted - by_row
    of_rows = np.sum(rest**2, axis=1) / (columns - 1)
    if not crossed:
        within = positive_mean_t(of_rows)
        square = _Square(within.value, rows * (columns - 1))
        return Components(_difference(between, square, columns), within, UNDEFINED, UNDEFINED)
    rest = rest - by_column + grand
    interaction = positive_mean_t(of_own_row(np.sum(rest**2, axis=1) * (rows / ((rows - 1) * (columns - 1)))))
    square = _Square(interaction.value, (rows - 1) * (columns - 1))
    across = _Square(rows * float(np.sum((by_column - grand) ** 2)) / (columns - 1), columns - 1)
    # All rows have the same columns, so the columns' part of the variance does not average out over rows.
    share = max(across.value - square.value, 0) / rows / of_rows.mean() if of_rows.any() else 0.0
    within = positive_mean_t(of_rows, 2 * share**2 / (columns - 1))
    return Components(_difference(between, square, columns), within, _difference(across, square, rows), interaction)


def of_own_row(squares: np.ndarray) -> np.ndarray:
    """The interaction of each row, from the mean squares of the rests of rows, which have the same mean.

    The mean of a column is subtracted from each rest, so a row's mean square has a part of all rows' interaction. They
    would differ less than rows do, and few would show how noisy the noisiest is. One of a quiet row may be negative.
    """
    rows = len(squares)
    return ((rows - 1) * squares - squares.mean()) / (rows - 2) if rows > 2 else squares


def _difference(whole: _Square, part: _Square, factor: float) -> Estimate:
    """(`whole` - `part`) / factor of mean squares; it can be negative, which means that no such variance is visible."""
    a, b = whole.value / factor, part.value / factor
    (low_a, high_a), (low_b, high_b) = _shares(whole.freedom), _shares(part.freedom)
    upper, lower = stats.f.ppf([1 - TAIL, TAIL], whole.freedom, part.freedom)
    cross_low = ((upper - 1) ** 2 - low_a**2 * upper**2 - high_b**2) / upper
    cross_high = ((1 - lower) ** 2 - high_a**2 * lower**2 - low_b**2) / lower
    below = (low_a * a) ** 2 + (high_b * b) ** 2 + cross_low * a * b
    above = (high_a * a) ** 2 + (low_b * b) ** 2 + cross_high * a * b
    return Estimate(a - b, a - b - float(np.sqrt(max(below, 0.0))), a - b + float(np.sqrt(max(above, 0.0))))


def _shares(freedom: int) -> tuple[float, float]:
    """How far the bounds of a mean square lie below and above it, as shares of it."""
    low, high = stats.chi2.ppf([1 - TAIL, TAIL], freedom) / freedom
    return float(1 - 1 / low), float(1 / high - 1)
