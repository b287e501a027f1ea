"""The shares of ALGO and IMPL in the noise of runs that repeat the implementation under several algorithmic draws.

Two runs of one draw differ by the implementation alone; two runs of different draws and different implementation draws
differ as two runs of ALGO+IMPL do. So the ratio of these two churns says how much of ALGO+IMPL's churn is IMPL's own.
"""

import numpy as np

from toolnoise.formulas import Row
from toolnoise.formulas.churn import pairs_that_differ
from toolnoise.formulas.components import components, of_own_row
from toolnoise.formulas.declared import bounded
from toolnoise.stats.estimates import UNDEFINED, Estimate, positive_mean_t, t_interval
from toolnoise.stats.jackknife import log_jackknife, standard_error

PARTS = {"algo": "row", "impl": "within", "impl_alone": "column", "interaction": "interaction"}


def rows(predicted: np.ndarray, labels: np.ndarray, table: np.ndarray, crossed: bool) -> list[Row]:
    """Components of accuracy and of each example's correctness, and churns, from predictions [S, N] of runs.

    `table` [draws, runs of each] has the places of the runs; `crossed` says that its columns are implementation draws.
    """
    right = (predicted == labels)[table]  # [A, R, N]
    accuracy = components(right.mean(axis=-1), crossed)
    estimates = [(f"accuracy_variance_{name}", getattr(accuracy, part)) for name, part in PARTS.items()]
    estimates += [(f"correctness_variance_{name}", part) for name, part in _of_examples(right, crossed).items()]
    same, other, share = _churns(predicted[table], crossed)
    estimates += [("churn_same_draw", same), ("churn_other_draw", other), ("churn_impl_share", share)]
    return bounded((metric, "all", estimate) for metric, estimate in estimates)


def _of_examples(right: np.ndarray, crossed: bool) -> dict[str, Estimate]:
    """The components of an example's correctness, on average over the examples, with intervals over draws.

    That of the implementation's own component has none: it would be over draws of both, of which some differ much more
    than others.
    """
    if min(right.shape[:2]) < 2:
        return dict.fromkeys(PARTS, UNDEFINED)
    algo, alone = _of_both(right, crossed)
    without = [_of_both(np.delete(right, draw, axis=0), crossed)[0] for draw in range(len(right)) if len(right) > 2]
    impl, interaction = _of_each_draw(right, crossed)
    return {
        # It can be negative.
        "algo": t_interval(algo, standard_error(np.array(without)) if without else np.nan, len(right) - 1),
        "impl": positive_mean_t(impl),
        "impl_alone": Estimate(alone),
        "interaction": positive_mean_t(interaction),
    }


def _of_both(right: np.ndarray, crossed: bool) -> tuple[float, float]:
    """The parts of the algorithm's draws and of the implementation's, from mean squares of what is right [A, R, N]."""
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
    """The variance between the runs of each draw, and its interaction, from what is right [A, R, N]."""
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
    """Churn between runs of the same draw, between runs of others, and the first over the second; over draws."""
    draws, runs, _ = predicted.shape
    if min(draws, runs) < 2:
        return UNDEFINED, UNDEFINED, UNDEFINED
    same = np.array([_disagreements(of_draw) for of_draw in predicted])
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
    differing = _disagreements(predicted.reshape(draws * runs, examples)) - same.sum()
    pairs = draws * (draws - 1) / 2 * runs**2
    if crossed:
        differing -= sum(_disagreements(predicted[:, run]) for run in range(runs))
        pairs = draws * (draws - 1) / 2 * runs * (runs - 1)
    return float(differing / pairs)


def _disagreements(predicted: np.ndarray) -> float:
    """The sum of the churns of all pairs of runs [S, N]."""
    return pairs_that_differ(predicted).sum() / predicted.shape[1]
