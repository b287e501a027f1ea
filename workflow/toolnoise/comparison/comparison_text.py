"""What `toolnoise compare` prints: the numbers of each comparison as a table, and the conclusions in words."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.base.printing import aligned
from toolnoise.comparison.comparison import ArmSummary, Comparison, Replacement
from toolnoise.stats.estimates import Estimate

LEVEL = 0.05


def as_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The comparison for programs: accuracy, churn and flips are fractions, undefined values are null."""
    records = [
        _plain(comparison) | {"over": _over(comparison), "verdict": " ".join(_sentences(comparison))}
        for comparison in comparisons
    ]
    return records[0] if len(records) == 1 else {"comparisons": records}


def as_text(comparisons: Sequence[Comparison]) -> str:
    """The comparison for people."""
    return "\n\n\n".join(_block(comparison, len(comparisons)) for comparison in comparisons)


def _block(comparison: Comparison, tests: int) -> str:
    a, b = comparison.a, comparison.b
    over, examples = _over(comparison), f"{comparison.n_examples} examples"
    rows = [
        ("", a.name, b.name, f"{a.name} to {b.name}", "95 % interval", "over"),
        ("accuracy %", *_percents(a, b, "accuracy_mean"), *_points(comparison.accuracy_difference, over)),
        ("  these runs", "", "", *_points(comparison.accuracy_difference_over_examples, examples)),
        ("  in SDs", "", "", *_shown(comparison.hedges_g, "{:+.2f}", over)),
        (f"  {b.name} beats {a.name}, % of pairs", "", "", *_shares(comparison.probability_of_improvement, over)),
        ("  SD", *_percents(a, b, "accuracy_sd"), *_shown(comparison.accuracy_sd_ratio, "x {:.2f}", over)),
        ("  SD, same draw", *_percents(a, b, "accuracy_sd_same_draw"), "", "", ""),
    ]
    if comparison.cross_entropy_difference is not None:
        means = (f"{arm.cross_entropy_mean.value:.4f}" for arm in (a, b))
        rows.append(("cross-entropy", *means, *_shown(comparison.cross_entropy_difference, "{:+.4f}", over)))
    rows += [
        ("churn %", *_percents(a, b, "churn"), *_points(comparison.churn_difference, over)),
        (f"  {b.name} / {a.name}", "", "", *_shown(comparison.churn_ratio, "x {:.2f}", over)),
        ("churn, same draw %", *_percents(a, b, "churn_same_draw"), "", "", ""),
        *_changed(f"{b.name} replaces {a.name} %", comparison.other_draws, over),
        *_changed(f"{b.name} replaces {a.name}, same draw %", comparison.same_draw, over),
    ]
    # A line without any number is left out.
    rows = [rows[0], *(row for row in rows[1:] if any(cell not in ("", "n/a") for cell in row[1:-1]))]
    lines = [f"{arm.name}: {arm.file}, {_runs(arm)}" for arm in (a, b)]
    lines += [examples, *_pairing(comparison), *comparison.notes, "", *aligned(rows), "", *_sentences(comparison)]
    if tests > 1 and not math.isnan(comparison.pvalue):
        by_holm = f"by Holm {comparison.pvalue_holm:.2g} ({tests} comparisons with {a.name})"
        lines.append(f"p = {comparison.pvalue:.2g}, {by_holm}.")
    return "\n".join(lines)


def _pairing(comparison: Comparison) -> list[str]:
    """How many draws both arms have, and how much their runs weigh."""
    sources = _of(comparison.same_draws)
    if comparison.way == "paired":
        return [f"Paired: {comparison.n_draws} draws{sources} are in both arms."]
    if comparison.way != "partly paired":
        return []
    a, b = comparison.n_draws_each
    line = f"Partly paired: {comparison.n_draws} of {a} draws{sources} are in both arms; all runs count."
    if a != b:
        each = f"of {a} in {comparison.a.name} and {b} in {comparison.b.name}"
        line = f"Partly paired: {comparison.n_draws} draws{sources} are in both arms, {each}; all runs count."
    if comparison.pair_weight:
        pairs = round(100 * comparison.pair_weight)
        line += f" Their runs are correlated: the difference is {pairs} % the pairs' and {100 - pairs} % the means'."
    return [line]


def _sentences(comparison: Comparison) -> list[str]:
    return [
        *(_without_winner(comparison) if comparison.way == "one draw" else _better(comparison)),
        *_changes(comparison),
    ]


def _better(comparison: Comparison) -> list[str]:
    a, b = comparison.a.name, comparison.b.name
    value, low, high = comparison.accuracy_difference
    if low == high == 0:
        return ["All runs are equally accurate."]
    over = f"95 % over {_over(comparison)}"
    if not comparison.pvalue < LEVEL:
        return [f"No significant difference in accuracy: {_interval(low, high)} points ({over}) includes 0."]
    if not comparison.pvalue_holm < LEVEL:
        return [f"No significant difference in accuracy after Holm's correction: p = {comparison.pvalue_holm:.2g}."]
    winner, beats = b, comparison.probability_of_improvement.value
    if value < 0:
        winner, beats, low, high = a, 1 - beats, -high, -low
    sentences = [
        f"{winner} is more accurate by {100 * abs(value):.2f} points ({_interval(low, high)}, {over}): "
        f"its run beats the other's in {100 * beats:.0f} % of pairs."
    ]
    examples = comparison.accuracy_difference_over_examples
    if examples.low <= 0 <= examples.high:
        sentences.append("On other examples of the same kind this may not hold: the interval over examples includes 0.")
    return sentences


def _without_winner(comparison: Comparison) -> list[str]:
    """The difference of these runs, and why it says nothing about other draws."""
    a, b = comparison.a.name, comparison.b.name
    value, low, high = comparison.accuracy_difference_over_examples
    if low == high == 0:
        return ["All runs are equally accurate."]
    by = f"{100 * abs(value):.2f} points {'above' if value > 0 else 'below'}" if value else "as accurate as"
    interval = "" if math.isnan(low) else f" ({_interval(low, high)}, 95 % over {comparison.n_examples} examples)"
    single = [_one_draw(arm) for arm in (comparison.a, comparison.b) if arm.n_draws == 1]
    reason = " and ".join(single) or f"shared draws tie the runs of {a} and {b} together"
    if comparison.same_draws:
        reason = f"all runs share one draw{_of(comparison.same_draws)}"
    return [f"{b} is {by} {a} here{interval}. That is no winner: {reason}, and luck cannot be ruled out."]


def _one_draw(arm: ArmSummary) -> str:
    if arm.n_runs == 1:
        return f"{arm.name} is one run"
    if not arm.one_draw_of:
        return f"the {arm.n_runs} runs of {arm.name} are one draw"
    return f"the {arm.n_runs} runs of {arm.name} share one draw{_of(arm.one_draw_of)}"


def _changes(comparison: Comparison) -> list[str]:
    a, b = comparison.a.name, comparison.b.name
    other, same = comparison.other_draws, comparison.same_draw
    if all(math.isnan(change.churn.value) or change.churn.value == 0 for change in (other, same)):
        return [f"No prediction changes if {b} replaces {a}."]
    sentences = []
    if not math.isnan(other.churn.value):
        replaced = f"these runs of {b} replace" if comparison.b.n_draws == 1 else f"{b}, trained anew, replaces"
        changed = f"{_percent(other.churn)} % of the predictions change: {_directions(other)}"
        sentences.append(f"If {replaced} {a}, {changed}.")
    if not math.isnan(comparison.a.churn.value):
        sentences.append(f"If {a} is trained again, {_percent(comparison.a.churn)} % change.")
    if not math.isnan(same.churn.value):
        whole = comparison.same_draws == list(ALGORITHMIC)
        with_same = "With the same draws" if whole else f"Between runs that share draws{_of(comparison.same_draws)}"
        sentences.append(f"{with_same}, {_percent(same.churn)} % change: {_directions(same)}.")
    return sentences


def _directions(change: Replacement) -> str:
    return f"{_percent(change.good_flips)} % from wrong to right, {_percent(change.bad_flips)} % from right to wrong"


def _over(comparison: Comparison) -> str:
    """What the intervals over draws are about."""
    if comparison.way == "paired":
        return f"{comparison.n_draws} paired draws"
    if comparison.way == "one draw":
        return ""
    return "runs" if all(arm.n_draws == arm.n_runs for arm in (comparison.a, comparison.b)) else "draws"


def _runs(arm: ArmSummary) -> str:
    missing = f" ({arm.n_missing} diverged)" if arm.n_missing else ""
    draws = "" if arm.n_draws == arm.n_runs else f" of {arm.n_draws} draw{'' if arm.n_draws == 1 else 's'}"
    return f"{arm.n_runs} run{'' if arm.n_runs == 1 else 's'}{draws}{missing}"


def _of(sources: Sequence[str]) -> str:
    *others, last = sources or [""]
    return f" of {', '.join(others)}{' and ' if others else ''}{last}" if last else ""


def _changed(name: str, change: Replacement, over: str) -> list[tuple[str, ...]]:
    return [
        (name, "", "", *_shares(change.churn, over)),
        ("  from wrong to right", "", "", *_shares(change.good_flips, over)),
        ("  from right to wrong", "", "", *_shares(change.bad_flips, over)),
    ]


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.2f} to {100 * high:.2f}"


def _percent(estimate: Estimate) -> str:
    return "n/a" if math.isnan(estimate.value) else f"{100 * estimate.value:.2f}"


def _percents(a: ArmSummary, b: ArmSummary, quantity: str) -> tuple[str, str]:
    return _percent(getattr(a, quantity)), _percent(getattr(b, quantity))


def _points(estimate: Estimate, over: str) -> tuple[str, str, str]:
    return _shown(Estimate(*(100 * number for number in estimate)), "{:+.2f}", over)


def _shares(estimate: Estimate, over: str) -> tuple[str, str, str]:
    return _shown(Estimate(*(100 * number for number in estimate)), "{:.2f}", over)


def _shown(estimate: Estimate, form: str, over: str) -> tuple[str, str, str]:
    value, low, high = ("n/a" if math.isnan(number) else form.format(number) for number in estimate)
    return (value, "n/a", "") if low == high == "n/a" else (value, f"{low} to {high}", over)


def _plain(value: object) -> Any:
    if isinstance(value, Estimate):
        return dict(zip(("value", "ci_low", "ci_high"), map(_plain, value), strict=True))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return None if isinstance(value, float) and not np.isfinite(value) else value
