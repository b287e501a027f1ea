"""Is B better than A, and what changes if B replaces A? Two sets of runs, compared in numbers and in words.

Differences are B - A. Intervals are over runs: they cover what training again would give on these examples. Accuracy
also has an interval over examples: it covers what these runs would show on other examples of the same kind.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.printing import aligned
from toolnoise.dumps.prediction_files import Answers
from toolnoise.metrics.accuracy import accuracies
from toolnoise.metrics.churn import churn
from toolnoise.metrics.flips import bad_flips, cross_churn, good_flips
from toolnoise.stats.estimates import Estimate, mean_t
from toolnoise.stats.jackknife import cross_jackknife, pairwise_jackknife
from toolnoise.stats.result import Result
from toolnoise.stats.spread import sd_chi2
from toolnoise.stats.two_means import hedges_g, mean_difference, probability_of_improvement


class Arm(NamedTuple):
    """One side alone; cross-entropy is None without scores, or if one is infinite."""

    file: str
    n_runs: int
    n_missing: int
    accuracy_mean: Estimate
    accuracy_sd: Estimate
    cross_entropy_mean: Estimate | None
    churn: Estimate


class Comparison(NamedTuple):
    """Two arms and their differences."""

    n_examples: int
    a: Arm
    b: Arm
    accuracy_difference: Estimate
    pvalue: float
    accuracy_difference_over_examples: Estimate
    hedges_g: Estimate
    probability_of_improvement: Estimate
    cross_entropy_difference: Estimate | None
    churn: Estimate
    good_flips: Estimate
    bad_flips: Estimate

    @property
    def sentences(self) -> list[str]:
        """The conclusions, as sentences."""
        return [*_better(self), *_changes(self)]


def compare(a: Answers, b: Answers, labels: np.ndarray) -> Comparison:
    """Compare the runs of `b` with those of `a`, on examples with these labels."""
    right = [answers.predicted == labels for answers in (a, b)]
    scores = [accuracies(answers.predicted, labels) for answers in (a, b)]
    entropies = [_finite(answers.entropies) for answers in (a, b)]
    tested = _difference(*scores)
    return Comparison(
        len(labels),
        *(_arm(*sides) for sides in zip((a, b), scores, entropies, strict=True)),
        tested.effect.within(-1, 1),
        tested.pvalue,
        mean_t(right[1].mean(axis=0) - right[0].mean(axis=0)).within(-1, 1),
        hedges_g(*scores),
        probability_of_improvement(*scores),
        None if entropies[0] is None or entropies[1] is None else _difference(*entropies).effect,
        cross_jackknife(cross_churn(a.predicted, b.predicted)).within(0, 1),
        cross_jackknife(good_flips(*right)).within(0, 1),
        cross_jackknife(bad_flips(*right)).within(0, 1),
    )


def as_json(found: Comparison) -> dict[str, Any]:
    """The comparison for programs: accuracy, churn and flips are fractions, undefined values are null."""
    return {name: _plain(value) for name, value in found._asdict().items()} | {"verdict": " ".join(found.sentences)}


def as_text(found: Comparison) -> str:
    """The comparison for people."""
    a, b = found.a, found.b
    rows = [
        ("", "A", "B", "A to B", "95 % interval"),
        ("accuracy %", *(_percent(arm.accuracy_mean.value) for arm in (a, b)), *_points(found.accuracy_difference)),
        ("  SD over runs", *(_percent(arm.accuracy_sd.value) for arm in (a, b)), "", ""),
        ("  over examples", "", "", *_points(found.accuracy_difference_over_examples)),
        ("  in SDs", "", "", *_shown(found.hedges_g, "{:+.2f}")),
        ("  B beats A, % of pairs", "", "", *_shares(found.probability_of_improvement)),
    ]
    if found.cross_entropy_difference is not None:
        means = (f"{arm.cross_entropy_mean.value:.4f}" for arm in (a, b))
        rows.append(("cross-entropy", *means, *_shown(found.cross_entropy_difference, "{:+.4f}")))
    rows += [
        ("churn %", *(_percent(arm.churn.value) for arm in (a, b)), *_shares(found.churn)),
        ("  good flips %", "", "", *_shares(found.good_flips)),
        ("  bad flips %", "", "", *_shares(found.bad_flips)),
    ]
    files = [f"{name}: {arm.file}, {_runs(arm)}" for name, arm in (("A", a), ("B", b))]
    return "\n".join([*files, f"{found.n_examples} examples", "", *aligned(rows), "", *found.sentences])


def _arm(answers: Answers, scores: np.ndarray, entropies: np.ndarray | None) -> Arm:
    return Arm(
        answers.file,
        len(scores),
        answers.missing,
        mean_t(scores).within(0, 1),
        sd_chi2(scores),
        None if entropies is None else mean_t(entropies).within(0, np.inf),
        pairwise_jackknife(churn(answers.predicted)).within(0, 1),
    )


def _finite(entropies: np.ndarray | None) -> np.ndarray | None:
    """The cross-entropies; None if there are none or one is infinite (a probability of exactly 0)."""
    return entropies if entropies is not None and np.isfinite(entropies).all() else None


def _difference(a: np.ndarray, b: np.ndarray) -> Result:
    """Welch's test; with a single run on a side, only the difference."""
    if min(len(a), len(b)) < 2:
        return Result(np.nan, np.nan, Estimate(float(b.mean() - a.mean()), np.nan, np.nan))
    return mean_difference(a, b)


def _better(found: Comparison) -> list[str]:
    value, low, high = found.accuracy_difference
    by = f"{100 * abs(value):.2f} points"
    if math.isnan(low):
        above = "as accurate as A" if value == 0 else f"{by} {'above' if value > 0 else 'below'} A"
        return [f"B is {above} here; with one run of a method, luck cannot be ruled out."]
    if low <= 0 <= high:
        if low == high:
            return ["All runs are equally accurate."]
        return [f"No significant difference in accuracy: {_interval(low, high)} points (95 % over runs) includes 0."]
    winner, beats = "B", found.probability_of_improvement.value
    if value < 0:
        winner, beats, low, high = "A", 1 - beats, -high, -low
    sentences = [
        f"{winner} is more accurate by {by} ({_interval(low, high)}, 95 % over runs): "
        f"its run beats the other's in {100 * beats:.0f} % of pairs."
    ]
    over = found.accuracy_difference_over_examples
    if over.low <= 0 <= over.high:
        sentences.append("On other examples of the same kind this may not hold: the interval over examples includes 0.")
    return sentences


def _changes(found: Comparison) -> list[str]:
    if found.churn.value == 0:
        return ["No prediction changes if B replaces A."]
    changed, good, bad = (_percent(share.value) for share in (found.churn, found.good_flips, found.bad_flips))
    sentences = [
        f"If B replaces A, {changed} % of the predictions change: "
        f"{good} % from wrong to right, {bad} % from right to wrong."
    ]
    if not math.isnan(found.a.churn.value):
        sentences.append(f"If A is trained again, {_percent(found.a.churn.value)} % change.")
    return sentences


def _runs(arm: Arm) -> str:
    missing = f" ({arm.n_missing} diverged)" if arm.n_missing else ""
    return f"{arm.n_runs} run{'' if arm.n_runs == 1 else 's'}{missing}"


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.2f} to {100 * high:.2f}"


def _percent(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{100 * value:.2f}"


def _points(estimate: Estimate) -> tuple[str, str]:
    return _shown(Estimate(*(100 * number for number in estimate)), "{:+.2f}")


def _shares(estimate: Estimate) -> tuple[str, str]:
    return _shown(Estimate(*(100 * number for number in estimate)), "{:.2f}")


def _shown(estimate: Estimate, form: str) -> tuple[str, str]:
    value, low, high = ("n/a" if math.isnan(number) else form.format(number) for number in estimate)
    return value, "n/a" if low == high == "n/a" else f"{low} to {high}"


def _plain(value: object) -> object:
    if isinstance(value, Arm):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, Estimate):
        return dict(zip(("value", "ci_low", "ci_high"), map(_plain, value), strict=True))
    return None if isinstance(value, float) and not math.isfinite(value) else value
