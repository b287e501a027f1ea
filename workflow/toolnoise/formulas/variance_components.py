"""Components of variance: the noise of the algorithm, the noise of the implementation, and their interaction.

Runs form a table with a row for each algorithmic draw and a column for each implementation draw. A run's deviation from
the mean is the sum of its row's deviation, its column's deviation, and a rest, the interaction. The implementation's
noise for a given algorithmic draw, IMPL within ALGO, has the variance of column and interaction together. If draws of
the implementation cannot be repeated, as on a GPU, columns mean nothing: only rows, and noise within rows, are known.

The variance within rows and the variance of the interaction are means over rows. Rows differ in noise by factors, so
the intervals of these means are over rows (`positive_mean_t`). The others are differences of mean squares, with the
modified large-sample interval of Ting et al. (1990), for normal effects.

Two runs of one draw differ by the implementation alone. Two runs that share neither draw differ as two runs of
ALGO+IMPL do. So the ratio of these two churns is IMPL's own share of the churn of ALGO+IMPL.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from toolnoise.formulas import Row
from toolnoise.formulas.churn import disagreements
from toolnoise.formulas.declared import within_range
from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, positive_mean_t, t_interval
from toolnoise.stats.jackknife import log_jackknife, standard_error


class Components(NamedTuple):
    """The components of a variance; those that need columns are undefined if columns mean nothing.

    `impl` is the sum of the implementation's own component and the interaction.
    """

    algo: Estimate
    impl: Estimate
    impl_alone: Estimate = UNDEFINED
    interaction: Estimate = UNDEFINED


NONE = Components(UNDEFINED, UNDEFINED)


def component_rows(predicted: np.ndarray, labels: np.ndarray, table: np.ndarray, crossed: bool) -> list[Row]:
    """Components of accuracy and of each example's correctness, and churns, from predictions [S, N] of runs.

    `table` [draws, runs of each] has the indices of the runs; if `crossed`, its columns are implementation draws.
    """
    right = (predicted == labels)[table]  # [A, R, N]
    of_both = {"accuracy": components(right.mean(axis=-1), crossed), "correctness": _of_examples(right, crossed)}
    estimates = [
        (f"{name}_variance_{part}", estimate) for name, of in of_both.items() for part, estimate in of._asdict().items()
    ]
    same, other, share = _churns(predicted[table], crossed)
    estimates += [("churn_same_draw", same), ("churn_other_draw", other), ("churn_impl_share", share)]
    return within_range((metric, "all", estimate) for metric, estimate in estimates)


def _of_examples(right: np.ndarray, crossed: bool) -> Components:
    """The components of an example's correctness, on average over the examples, with intervals over draws.

    The implementation's own component has no interval: it would be over draws of both kinds, some of which differ much
    more than others.
    """
    if min(right.shape[:2]) < 2:
        return NONE
    algo, alone = _of_both(right, crossed)
    without = [_of_both(np.delete(right, draw, axis=0), crossed)[0] for draw in range(len(right)) if len(right) > 2]
    impl, interaction = _of_each_draw(right, crossed)
    # It can be negative.
    of_algo = t_interval(algo, standard_error(np.array(without)) if without else np.nan, len(right) - 1)
    return Components(of_algo, positive_mean_t(impl), Estimate(alone), positive_mean_t(interaction))


def _of_both(right: np.ndarray, crossed: bool) -> tuple[float, float]:
    """The components of the algorithm and of the implementation alone, from mean squares of correctness [A, R, N]."""
    draws, runs, examples = right.shape
    squares = np.square
    hits = right.sum(dtype=np.int64)
    total = squares(right.sum(axis=(0, 1), dtype=np.int64)).sum() / (draws * runs)
    by_draw = squares(right.sum(axis=1, dtype=np.int64)).sum() / runs
    between = (by_draw - total) / (draws - 1)
    if not crossed:
        within = (hits - by_draw) / (draws * (runs - 1))
        return float((between - within) / runs / examples), np.nan
    by_run = squares(right.sum(axis=0, dtype=np.int64)).sum() / draws
    rest = (hits - by_draw - by_run + total) / ((draws - 1) * (runs - 1))
    across = (by_run - total) / (runs - 1)
    return float((between - rest) / runs / examples), float((across - rest) / draws / examples)


def _of_each_draw(right: np.ndarray, crossed: bool) -> tuple[np.ndarray, np.ndarray]:
    """The variance between the runs of each draw, and its interaction, from correctness [A, R, N]."""
    draws, runs, examples = right.shape
    by_draw, by_run = right.sum(axis=1, dtype=np.int64), right.sum(axis=0, dtype=np.int64)
    within = (by_draw - np.square(by_draw) / runs).sum(axis=1)
    variances = within / ((runs - 1) * examples)
    if not crossed:
        return variances, np.full(draws, np.nan)
    total = by_run.sum(axis=0)
    along = np.array([by_run[of_draw].sum() for of_draw in right]) - (by_draw * total).sum(axis=1) / runs
    across = (np.square(by_run).sum(axis=0) - np.square(total) / runs).sum()
    rest = within - 2 * along / draws + across / draws**2
    return variances, of_own_row(rest * (draws / ((draws - 1) * (runs - 1) * examples)))


def _churns(predicted: np.ndarray, crossed: bool) -> tuple[Estimate, Estimate, Estimate]:
    """Churn between runs of one draw, churn between runs of different draws, and their ratio; intervals over draws."""
    draws, runs, _ = predicted.shape
    if min(draws, runs) < 2:
        return UNDEFINED, UNDEFINED, UNDEFINED
    same = np.array([disagreements(of_draw) for of_draw in predicted])
    within = same / (runs * (runs - 1) / 2)
    other = _between(predicted, same, crossed)
    if draws < 3:
        values = within.mean(), other, within.mean() / other if other else np.nan
        return tuple(Estimate(float(value)) for value in values)
    without = np.array(
        [_between(np.delete(predicted, draw, axis=0), np.delete(same, draw), crossed) for draw in range(draws)]
    )
    means = np.array([np.delete(within, draw).mean() for draw in range(draws)])
    share = log_jackknife(within.mean() / other, means / without) if other > 0 and (without > 0).all() else UNDEFINED
    return positive_mean_t(within), log_jackknife(other, without), share


def _between(predicted: np.ndarray, same: np.ndarray, crossed: bool) -> float:
    """Churn between runs of different draws, without pairs that share an implementation draw."""
    draws, runs, examples = predicted.shape
    differing = disagreements(predicted.reshape(draws * runs, examples)) - same.sum()
    pairs = draws * (draws - 1) / 2 * runs**2
    if crossed:
        differing -= sum(disagreements(predicted[:, run]) for run in range(runs))
        pairs = draws * (draws - 1) / 2 * runs * (runs - 1)
    return float(differing / pairs)


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
        return Components(_difference(between, square, columns), within)
    rest = rest - by_column + grand
    interaction = positive_mean_t(of_own_row(np.sum(rest**2, axis=1) * (rows / ((rows - 1) * (columns - 1)))))
    square = _Square(interaction.value, (rows - 1) * (columns - 1))
    across = _Square(rows * float(np.sum((by_column - grand) ** 2)) / (columns - 1), columns - 1)
    # All rows have the same columns, so the columns' part of the variance does not average out over rows.
    share = max(across.value - square.value, 0) / rows / of_rows.mean() if of_rows.any() else 0.0
    within = positive_mean_t(of_rows, 2 * share**2 / (columns - 1))
    return Components(_difference(between, square, columns), within, _difference(across, square, rows), interaction)


def of_own_row(squares: np.ndarray) -> np.ndarray:
    """The interaction of each row, from the mean squares of the rows' residuals, which have the same mean.

    The mean of a column is subtracted from each residual, so a row's mean square has a part of all rows' interaction.
    So the squares differ less than rows do and hide how noisy the noisiest is. A quiet row's result may be negative.
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
    """The distances of the bounds of a mean square below and above it, as shares of the mean square."""
    low, high = stats.chi2.ppf([1 - TAIL, TAIL], freedom) / freedom
    return float(1 - 1 / low), float(1 / high - 1)
