"""Components of variance: how much of the noise is the algorithm's, the implementation's, and their interaction.

Runs form a table with a row for each algorithmic draw and a column for each implementation draw. A run's deviation from
the mean is that of its row, that of its column and the rest, the interaction. The implementation's noise for a given
algorithmic draw, IMPL within ALGO, has the variance of column and interaction together. Where implementation draws
cannot be repeated, as on a GPU, columns mean nothing; then only the rows and what is within them are told apart.

Each component is a sum or a difference of mean squares. Its interval is the modified large-sample one (Graybill and
Wang 1980 for sums, Ting et al. 1990 for differences), for normal effects.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate


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
    if not crossed:
        freedom = rows * (columns - 1)
        within = _Square(float(np.sum((shifted - by_row) ** 2)) / freedom, freedom)
        return Components(_difference(between, within, columns), _sum((within, 1.0)), UNDEFINED, UNDEFINED)
    freedom = (rows - 1) * (columns - 1)
    rest = _Square(float(np.sum((shifted - by_row - by_column + grand) ** 2)) / freedom, freedom)
    across = _Square(rows * float(np.sum((by_column - grand) ** 2)) / (columns - 1), columns - 1)
    return Components(
        _difference(between, rest, columns),
        _sum((across, 1 / rows), (rest, (rows - 1) / rows)),
        _difference(across, rest, rows),
        _sum((rest, 1.0)),
    )


def _sum(*parts: tuple[_Square, float]) -> Estimate:
    """A sum of mean squares, each times its factor."""
    terms = np.array([square.value * factor for square, factor in parts])
    low, high = np.transpose([_shares(square.freedom) for square, _ in parts])
    value = float(terms.sum())
    return Estimate(
        value, value - float(np.sqrt(np.sum((low * terms) ** 2))), value + float(np.sqrt(np.sum((high * terms) ** 2)))
    )


def _difference(one: _Square, other: _Square, factor: float) -> Estimate:
    """(One mean square minus another) / factor; it can be negative, which means that no such variance is visible."""
    a, b = one.value / factor, other.value / factor
    (low_a, high_a), (low_b, high_b) = _shares(one.freedom), _shares(other.freedom)
    upper, lower = stats.f.ppf([1 - TAIL, TAIL], one.freedom, other.freedom)
    cross_low = ((upper - 1) ** 2 - low_a**2 * upper**2 - high_b**2) / upper
    cross_high = ((1 - lower) ** 2 - high_a**2 * lower**2 - low_b**2) / lower
    below = (low_a * a) ** 2 + (high_b * b) ** 2 + cross_low * a * b
    above = (high_a * a) ** 2 + (low_b * b) ** 2 + cross_high * a * b
    return Estimate(a - b, a - b - float(np.sqrt(max(below, 0.0))), a - b + float(np.sqrt(max(above, 0.0))))


def _shares(freedom: int) -> tuple[float, float]:
    """How far the bounds of a mean square lie below and above it, as shares of it."""
    low, high = stats.chi2.ppf([1 - TAIL, TAIL], freedom) / freedom
    return float(1 - 1 / low), float(1 / high - 1)
