"""A look at the runs so far, by a plan: `toolnoise compare A B --peek plan.json`.

The look says whether B is better or worse, whether to stop for futility, or how many runs to go on with. Its interval
is a repeated confidence interval (Jennison and Turnbull 1989): those of all looks together hold the true difference
with 95 %, so the last one is valid whenever and for whatever reason the study stopped.

A look at runs that were looked at before counts once. A look that the plan does not have is paid for from the level,
by its share of the runs. Looks and plans are refused if runs are older than the plan, as far as their times are known.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import decimals_by_uncertainty, rounded_text
from toolnoise.comparison import comparison, read_arms
from toolnoise.comparison.runs_of_metric import RunsOfMetric, read_runs_of_metric
from toolnoise.comparison.sequential import bounds, looks, planning
from toolnoise.comparison.sequential.planning import Plan
from toolnoise.comparison.two_arms import paired_difference
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.two_means import Result, cautious, mean_difference

POINTS = 100
# A file system may keep times in steps of two seconds.
SECONDS = 2.0
BETTER, WORSE, FUTILE, GO_ON, UNDECIDED = "B is better", "B is worse", "stop for futility", "go on", "not decided"
ENDS = (BETTER, WORSE, UNDECIDED)


class Values(NamedTuple):
    """The values of both arms, B - A in the unit of the plan; `step` is the smallest change of one."""

    a: np.ndarray
    b: np.ndarray
    step: float


class Peek(NamedTuple):
    """What a look found; `interval` is NaN where the look can decide nothing."""

    plan: Plan
    look: looks.Look
    number: int
    is_new: bool
    is_planned: bool
    difference: Estimate
    next_at: int | None
    earlier: str | None
    times_known: bool


def peek(plan_file: str, arms: Sequence[Sequence[str]], labels_file: str | None) -> Peek:
    """Judge the runs so far by a plan, and keep the look beside it."""
    plan = planning.read(plan_file)
    if len(arms) != 2:
        raise BadInput("command line", "ARMS", f"found {len(arms)}", "two arms, as the plan has")
    if plan.metric and labels_file:
        raise BadInput("command line", "--labels", f"found a plan for {plan.metric}", "only for accuracy")
    values, known = _of_metric(plan, arms) if plan.metric else _of_accuracy(plan, arms, labels_file)
    return judge(plan, plan_file, values, known)


def judge(plan: Plan, plan_file: str, values: Values, times_known: bool) -> Peek:
    """The look at these values, added to the plan's looks unless it is there already."""
    before = looks.read(plan_file)
    runs = min(len(values.a), len(values.b))
    if not planning.FEWEST <= runs <= plan.most:
        raise BadInput(plan_file, "runs", f"found {runs} runs of each arm", f"{planning.FEWEST} to {plan.most}")
    values = values._replace(a=values.a[:runs], b=values.b[:runs])
    look = looks.Look(*looks.now(), runs, tuple(values.a.tolist()), tuple(values.b.tolist()), None, 0.0, GO_ON)
    for earlier in before:
        if not look.has_the_runs_of(earlier):
            found = f"runs that were there on {earlier.at} are not, or have changed"
            raise BadInput(plan_file, "looks", found, f"all {earlier.runs} runs of each arm, unchanged")
    is_new = not before or runs > before[-1].runs
    counted = [earlier.runs for earlier in before] + ([runs] if is_new else [])
    decides_at = plan.decisive(counted)[-1]
    test, error, freedom = _test(plan, values)
    others = before if is_new else before[:-1]
    ended = next((earlier.decision for earlier in others if earlier.decision in ENDS), None)
    decision = _decision(plan, counted, test, error, decides_at)
    look = look._replace(
        pvalue=None if math.isnan(test.pvalue) else test.pvalue, decides_at=decides_at, decision=decision
    )
    if is_new:
        looks.add(plan_file, look)
    reach = stats.t.isf(decides_at / 2, freedom) * error if decides_at and error > 0 else math.nan
    difference = test.effect.value
    return Peek(
        plan,
        look if is_new else before[-1],
        len(counted),
        is_new,
        runs in plan.runs,
        Estimate(difference, difference - reach, difference + reach),
        next((at for at in plan.runs if at > runs), None) if decision in (GO_ON, FUTILE) else None,
        ended,
        times_known,
    )


def _test(plan: Plan, values: Values) -> tuple[Result, float, float]:
    """The test, with the standard error of the difference and its degrees of freedom."""
    a, b, runs = values.a, values.b, len(values.a)
    if plan.paired:
        return paired_difference(a, b, values.step), float(np.std(b - a, ddof=1) / math.sqrt(runs)), runs - 1
    squares = np.array([np.var(arm, ddof=1) / runs for arm in (a, b)])
    error = math.sqrt(squares.sum())
    freedom = cautious(error**4 / np.sum(squares**2 / (runs - 1)), runs, runs) if error else math.nan
    return mean_difference(a, b, (values.step, values.step)), error, float(freedom)


def _decision(plan: Plan, counted: Sequence[int], test: Result, error: float, decides_at: float) -> str:
    if test.pvalue <= decides_at and test.effect.value:
        return BETTER if (test.effect.value > 0) != plan.lower else WORSE
    if counted[-1] == plan.most:
        return UNDECIDED
    fraction = counted[-1] / plan.most
    if plan.futility and bounds.is_late(fraction) and error > 0:
        last = plan.decisive([*counted, plan.most])[-1]
        chance = bounds.conditional_power(test.effect.value / error, fraction, plan.gain / error, last)
        return FUTILE if chance < bounds.FUTILE else GO_ON
    return GO_ON


def _of_metric(plan: Plan, arms: Sequence[Sequence[str]]) -> tuple[Values, bool]:
    for arm in arms:
        if len(arm) != 1:
            raise BadInput(arm[0], "", f"found {len(arm)} files in an arm", "one CSV with a line for each run")
    a, b = (read_runs_of_metric(arm[0], plan.metric, timed=True) for arm in arms)
    for arm in (a, b):
        if arm.times:
            for time in arm.times:
                _require_later(plan, arm.file, time)
        else:
            _require_later(plan, arm.file, _written(arm.file))
    if plan.paired:
        a, b = _pairs(a, b)
    return Values(a.values, b.values, math.nan), bool(a.times and b.times)


def _pairs(a: RunsOfMetric, b: RunsOfMetric) -> tuple[RunsOfMetric, RunsOfMetric]:
    """The runs of both arms with the same seed, in A's order; without seeds, in the order of lines."""
    if a.seeds is None or b.seeds is None:
        if len(a.values) != len(b.values):
            raise BadInput(b.file, "", f"found {len(b.values)} runs, and {len(a.values)} in {a.file}", "pairs")
        return a, b
    places = [(place, b.seeds.index(seed)) for place, seed in enumerate(a.seeds) if seed in b.seeds]
    if not places:
        raise BadInput(b.file, "the column of seeds", f"found no seed of {a.file}", "pairs with the same seed")
    of_a, of_b = map(list, zip(*places, strict=True))
    return a._replace(values=a.values[of_a]), b._replace(values=b.values[of_b])


def _of_accuracy(plan: Plan, arms: Sequence[Sequence[str]], labels_file: str | None) -> tuple[Values, bool]:
    """The accuracies of predictions in points; the mean of each draw where draws have several runs."""
    from toolnoise.comparison import label_files

    labels = label_files.read(labels_file) if labels_file else read_arms.labels_of(arms[0])
    answers = [read_arms.read(arm, labels) for arm in arms]
    recorded = any(arm.drawn is not None for arm in answers)
    paired = plan.paired and not recorded
    read_arms.require_comparable(answers, paired, False)
    for file in (file for arm in arms for given in arm for file in read_arms.files_of(given)):
        _require_later(plan, file, _written(file))
    judged, right = read_arms.right_or_wrong(answers, labels)
    how = "paired" if paired else "independent"
    a, b = (comparison.side(name, arm, right, how) for name, arm in zip("AB", judged, strict=True))
    design = comparison.designed(a, b)
    planned = "paired" if plan.paired else "independent"
    # A look judges two runs an arm, too.
    way = "independent" if design.way == "two draws" and not design.shared else design.way
    if way != planned:
        raise BadInput(answers[1].file, "", f"the runs are {way}", f"the plan's are {planned}")
    means = comparison.unit_means(design, a.scores, b.scores)
    return Values(*(POINTS * of for of in means), POINTS / right.size), False


def _require_later(plan: Plan, file: str, time: datetime) -> None:
    made = datetime.fromisoformat(plan.made)
    if (made - time).total_seconds() > SECONDS:
        found = f"has runs of {time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        raise BadInput(file, "", found, f"runs after the plan, made {made:%Y-%m-%d %H:%M:%S} UTC")


def _written(file: str) -> datetime:
    """When a file was last written: no run in it is later."""
    return datetime.fromtimestamp(Path(file).stat().st_mtime, UTC)


def as_json(found: Peek) -> dict[str, Any]:
    """The look for programs; null: not defined, or no interval yet."""
    look = found.look
    low, high = (None if math.isnan(end) else end for end in found.difference[1:])
    return {
        "decision": look.decision,
        "decided_before": found.earlier,
        "look": found.number,
        "is_new": found.is_new,
        "is_planned": found.is_planned,
        "at": look.at,
        "who": look.who,
        "runs_per_arm": look.runs,
        "most_runs_per_arm": found.plan.most,
        "mean_a": float(np.mean(look.a)),
        "mean_b": float(np.mean(look.b)),
        "difference": found.difference.value,
        "difference_low": low,
        "difference_high": high,
        "interval": "repeated confidence interval",
        "pvalue": look.pvalue,
        "decides_at_p": look.decides_at,
        "next_look_at": found.next_at,
    }


def as_text(found: Peek) -> str:
    """The look, for a person."""
    plan, look = found.plan, found.look
    what = plan.metric or "accuracy in points"
    places = decimals_by_uncertainty((found.difference.high - found.difference.low) / 2)
    value, low, high = (rounded_text(end, places, "+") for end in found.difference)
    again = "" if found.is_new else f", as on {look.at} (the same runs count once)"
    lines = [
        f"Look {found.number}, at {look.runs} of {plan.most} runs of each arm{again}: {what}, "
        f"{'lower' if plan.lower else 'higher'} is better, {'paired' if plan.paired else 'independent'}.",
        f"  A {rounded_text(np.mean(look.a), places)}, B {rounded_text(np.mean(look.b), places)}: B - A = {value}"
        + (
            ""
            if math.isnan(found.difference.low)
            else f" ({low} to {high}, {100 * (1 - plan.level):g} %, valid at every look and after stopping)"
        ),
    ]
    tested = "p is not defined" if look.pvalue is None else f"p = {look.pvalue:.2g}"
    lines.append(f"  {tested}; {f'p at most {look.decides_at:.2g} decides here' if look.decides_at else 'too early'}.")
    if not found.is_planned:
        lines.append("  The plan has no look here: it is paid for from the level, and later looks are stricter.")
    if not found.times_known:
        lines.append("  Times of runs are not recorded; files were last written after the plan.")
    if found.earlier:
        lines.append(f"An earlier look has ended this study: {found.earlier}. This look does not change that.")
    lines.append(_advice(found))
    return "\n".join(lines)


def _advice(found: Peek) -> str:
    look, plan = found.look, found.plan
    if look.decision in (BETTER, WORSE):
        early = " A difference that stopped early tends to be too large." if look.runs < plan.most else ""
        return f"Decided: {look.decision}.{early}"
    if look.decision == UNDECIDED:
        return "Not decided: the plan has no more runs."
    if look.decision == FUTILE:
        return (
            f"Stop for futility: below {100 * bounds.FUTILE:.0f} % chance to decide if the gain is the planned "
            f"{plan.gain:g}. Going on to {found.next_at} keeps the error level."
        )
    return f"Go on: {found.next_at - look.runs} more runs of each arm, then look at {found.next_at}."
