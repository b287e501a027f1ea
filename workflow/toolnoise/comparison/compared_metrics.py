"""Compare arms by the metrics of their runs, and format the comparison for `toolnoise compare`.

Runs of two arms with the same seed are a pair. The seeds that both arms have decide between Student's paired test, the
partly paired test and Welch's. If sessions are known, the mean of an arm's runs in a session replaces the run, and the
session the seed. P-values are adjusted by Holm's method over all metrics and all pairs of arms that are tested.
"""

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from toolnoise.base.errors import BadArgument
from toolnoise.base.printing import counted, rounded_text
from toolnoise.comparison import comparison_text, designs, two_arms
from toolnoise.comparison.comparison_text import LEVEL, Block, Row
from toolnoise.comparison.designs import UNTESTED, Compared, Design, Way
from toolnoise.comparison.metric_runs import LEFT, NUMBERED, OWN_SESSIONS, SHARED, Runs
from toolnoise.comparison.naming import Metric
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t, sd_chi2
from toolnoise.stats.significance import Result

PREVIOUS = "previous"  # in place of an arm's name: the arm before, in the order of the table
RUN_ID = re.compile(r"(?=[A-Za-z0-9]*[0-9])[A-Za-z0-9]{8}")  # in names given by loggers: unique to a run
ROUNDING = 1e-12  # relative to the largest number: smaller differences come from rounded decimals
WIDEST = 20  # letters in a heading


def compare(runs: Runs, against: str | None = None) -> list[Compared]:
    """Compare arms by every metric: all with the first or with `against`, or each with the one before."""
    if len(runs.arms) < 2:
        left = " ".join(note for note in runs.notes if note.startswith(LEFT))
        what = f"found {f'{runs.arms[0]} alone' if runs.arms else 'no run'}. {left}"
        raise BadArgument("by", what.rstrip(". "), "two arms or more, with runs that have the metric")
    of_arms = {(arm, each.name): runs.of(arm, each.name) for arm in runs.arms for each in runs.metrics}
    contents, found = _contents(runs), []
    for a, b in _pairs(runs.arms, against):
        same = _runs_in_both(contents[a], contents[b])
        for metric in runs.metrics:
            of_a, of_b = (of_arms[arm, metric.name] for arm in (a, b))
            if len(of_a) and len(of_b):
                found.append(_compared(metric, a, b, of_a, of_b, same, runs.sessions_missing(metric.name)))
    return two_arms.adjust_pvalues(found)


def _pairs(arms: Sequence[str], against: str | None) -> list[tuple[str, str]]:
    if against not in (None, PREVIOUS, *arms):
        raise BadArgument("against", f"found {against}", f"{PREVIOUS}, or of the arms: {', '.join(arms)}")
    if against == PREVIOUS and PREVIOUS not in arms:
        return list(itertools.pairwise(arms))
    first = arms[0] if against is None else against
    return [(first, arm) for arm in arms if arm != first]


def _contents(runs: Runs) -> dict[str, list[tuple[str, str | None, tuple[float, ...]]]]:
    """The runs of each arm by their names, seeds (None if unknown) and numbers."""
    measured = runs.numbers[runs.numbers.notna().any(axis=1)].fillna(math.inf)
    contents: dict[str, list[tuple[str, str | None, tuple[float, ...]]]] = {}
    about = runs.about.loc[measured.index, ["arm", "run", "seed"]].itertuples(index=False)
    for (arm, name, seed), numbers in zip(about, measured.itertuples(index=False, name=None), strict=True):
        contents.setdefault(arm, []).append((name, seed, numbers))
    return contents


def _runs_in_both(a: Sequence[tuple], b: Sequence[tuple]) -> int:
    """The number of runs that are in both arms: equal by id and numbers, or all runs of the smaller arm.

    Some numbers may agree by chance, such as accuracies in whole percent. Seeds, if they are known, must agree, too.
    """
    with_id = [[(name, numbers) for name, _, numbers in of if RUN_ID.search(name)] for of in (a, b)]
    seeded = all(seed is not None and not seed.startswith(NUMBERED) for _, seed, _ in (*a, *b))
    contents = [[(seed if seeded else "", numbers) for _, seed, numbers in of] for of in (a, b)]
    different = len({numbers for *_, numbers in min(a, b, key=len)})
    return max(designs.equal_runs(*with_id), designs.copied_runs(*contents, different))


def plan_of(a: pd.DataFrame, b: pd.DataFrame) -> Design:
    """The design for two arms: runs of one session, or else of one seed, are one draw; others are their own draw."""
    numbers: dict[object, int] = {}
    units = []
    for side, of in enumerate((a, b)):
        known = [seed if session is None else session for seed, session in zip(of["seed"], of["session"], strict=True)]
        draws = [(side, place) if draw is None else draw for place, draw in enumerate(known)]
        units.append([numbers.setdefault(draw, len(numbers)) for draw in draws])
    return designs.design(*map(np.array, units))


def test_of_metric(plan: Design, a: np.ndarray, b: np.ndarray) -> Result:
    """The test of two arms' numbers; there is none if all paired differences are equal."""
    if plan.way == "paired":
        of_a, of_b = plan.means(a, b)
        differences = of_b - of_a
        if np.ptp(differences) <= ROUNDING * max(np.abs(of_a).max(), np.abs(of_b).max()):
            return Result(np.nan, np.nan, Estimate(float(differences.mean())))
    # The smallest possible difference of a metric is not known.
    return two_arms.difference(plan, a, b, np.nan)


def _arm(name: str, of_runs: np.ndarray, of_sessions: np.ndarray | None, way: Way) -> Compared:
    """The runs of an arm that have the metric; with sessions, mean and SD are computed over the sessions' means."""
    units = of_runs if of_sessions is None else of_sessions
    mean, sd = mean_t(units, np.nan), sd_chi2(units, np.nan)
    if way == "no sessions":  # runs of one session show nothing about other sessions
        mean, sd = Estimate(mean.value), Estimate(sd.value)
    n_sessions = None if of_sessions is None else len(of_sessions)
    return Compared(name=name, n_runs=len(of_runs), n_sessions=n_sessions, mean=mean, sd=sd)


def _compared(
    metric: Metric, name_a: str, name_b: str, of_a: pd.DataFrame, of_b: pd.DataFrame, same: int, no_sessions: bool
) -> Compared:
    """Compare two arms by one metric.

    `n_pairs` is the number of seeds, sessions or paired runs (`pairs_are`) in both arms. If the direction of the metric
    is unknown, `lower_is_better` is None, and `probability_of_higher` replaces `probability_of_improvement`.
    """
    a, b = of_a["value"].to_numpy(), of_b["value"].to_numpy()
    plan, in_sessions = plan_of(of_a, of_b), of_a["session"].notna().any()
    if no_sessions or same:
        plan = plan._replace(way="same runs" if same else "no sessions")
    means = plan.means(a, b)
    untested = plan.way in UNTESTED
    arm_a, arm_b = (
        _arm(name, of, of_sessions if in_sessions else None, plan.way)
        for name, of, of_sessions in zip((name_a, name_b), (a, b), means, strict=True)
    )
    numbered = str(of_a["seed"].iloc[0]).startswith(NUMBERED)
    pairs_are = "sessions" if in_sessions else "runs" if numbered else "seeds"
    pairs = plan.shared if in_sessions or plan.way in two_arms.PAIRED else 0
    units = ("sessions" if in_sessions else "runs", pairs_are)
    found = two_arms.of_units(plan, a, b, test_of_metric(plan, a, b), lower=metric.lower)
    beats, known = found.pop("probability_of_improvement"), metric.lower is not None
    return Compared(
        metric=metric.name,
        lower_is_better=metric.lower,
        unit=metric.unit,
        a=arm_a,
        b=arm_b,
        test="none" if untested else comparison_text.name_of_test(plan.way, tuple(map(len, means)), pairs, *units),
        n_pairs=pairs,
        pairs_are=pairs_are,
        n_in_both=same,
        **found,
        sd_ratio=UNDEFINED if untested else two_arms.sd_ratio(plan, a, b),
        probability_of_improvement=beats if known else UNDEFINED,
        probability_of_higher=UNDEFINED if known else beats,
    )


def as_json(runs: Runs, found: Sequence[Compared]) -> dict[str, Any]:
    """The comparison as plain values in the metrics' own units; undefined values are None."""
    each = [
        comparison_text.as_plain_values(one) | {"over": unit_of_intervals(one), "verdict": " ".join(sentences(one))}
        for one in found
    ]
    return {"read": runs.described, "tests": count_of_tests(found), "comparisons": each}


def block(runs: Runs, found: Sequence[Compared]) -> Block:
    """The comparison as printed; for more than two arms, comparisons with a winner come first."""
    if len({(each.a.name, each.b.name) for each in found}) == 1:
        verdicts, rows = [" ".join(sentences(each)) for each in found], _of_two_arms(found)
    else:
        ordered = sorted(found, key=lambda each: (not each.pvalue_holm < LEVEL, math.isnan(each.pvalue)))
        verdicts, rows = [sentences(each)[0] for each in ordered], _of_several_arms(found)
    notes = list(dict.fromkeys(note for each in found for note in _weighing(each)))
    if (count := count_of_tests(found)) > 1:
        notes.append(f"Holm's correction is over {count} tests.")
    if any(each.way == "no sessions" for each in found):
        notes.append(f"{SHARED}: session names its column, or say {OWN_SESSIONS}.")
    return Block(verdicts, rows, [*notes, *runs.described])


def _beats(found: Compared) -> Estimate:
    """The probability that a run of B is better; higher, if the direction is not known."""
    return found.probability_of_higher if found.lower_is_better is None else found.probability_of_improvement


def count_of_tests(found: Sequence[Compared]) -> int:
    """The number of p-values that Holm's method adjusts."""
    return sum(not math.isnan(each.pvalue) for each in found)


def unit_of_intervals(found: Compared) -> str:
    """The unit that the intervals are over."""
    if found.way == "paired":
        return f"{found.n_pairs} paired {found.pairs_are}"
    if found.way in UNTESTED:
        return ""
    return "runs" if found.a.n_sessions is None else "sessions"


def _of_two_arms(found: Sequence[Compared]) -> list[Row]:
    """The table of two arms, a few lines per metric."""
    a, b = (shorten_name(arm.name, WIDEST) for arm in (found[0].a, found[0].b))
    rows = [("", a, b, f"{b} - {a}", "95 % CI", "over")]
    for each in found:
        by, name = unit_of_intervals(each), f"{each.metric} ({each.unit})" if each.unit else each.metric
        way = "higher" if each.lower_is_better is None else "better"
        rows += comparison_text.with_numbers(
            [
                comparison_text.mean_row(name, each.a.mean, each.b.mean, each.difference, by),
                ("  in SDs", "", "", *comparison_text.estimate_cells(each.hedges_g, "{:+.2f}", by)),
                (f"  {b} is {way}, % of pairs", "", "", *comparison_text.share_cells(_beats(each), by)),
                (
                    "  SD",
                    *comparison_text.of_both((each.a.sd, each.b.sd)),
                    *comparison_text.sd_ratio(each.sd_ratio, by),
                ),
            ]
        )
    return rows


def _of_several_arms(found: Sequence[Compared]) -> list[Row]:
    """The table of several arms, a line per comparison."""
    rows = [("", "", "mean of the first", "of the second", "difference", "95 % CI", "p", "by Holm")]
    for each in found:
        arms = f"{shorten_name(each.a.name, WIDEST)} to {shorten_name(each.b.name, WIDEST)}"
        name, *numbers, _ = comparison_text.mean_row(each.metric, each.a.mean, each.b.mean, each.difference, "")
        pvalues = ("" if math.isnan(p) else f"{p:.2g}" for p in (each.pvalue, each.pvalue_holm))
        rows.append((arms, name, *numbers, *pvalues))
    return rows


def _weighing(found: Compared) -> list[str]:
    """Notes on weights if not all runs weigh the same."""
    said = [
        f"{arm.name}: {counted(arm.n_runs, 'run')} in {counted(arm.n_sessions, 'session')}, averaged."
        for arm in (found.a, found.b)
        if arm.n_sessions is not None
    ]
    if found.pair_weight:
        said.append(f"{found.b.name} - {found.a.name}:{comparison_text.weight_text(found.pair_weight)}")
    return said


def shorten_name(name: str, most: int) -> str:
    """A name shortened to at most this many letters."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def sentences(found: Compared) -> list[str]:
    """The verdict as a paper prints it, and how often a run of the better arm beats a run of the other."""
    a, b, name = found.a, found.b, found.metric
    difference, unit = found.difference, f" {found.unit}" if found.unit else ""
    value = rounded_text(difference.value, comparison_text.decimals_of_line(1, difference, a.mean, b.mean), "+")
    here = f"{name}: {b.name} - {a.name} is {value}{unit}"
    if found.way in UNTESTED:
        unit = "draws" if a.n_sessions is None else "sessions"
        return [f"No winner: {comparison_text.no_winner(found, unit)} ({here})."]
    if math.isnan(found.pvalue):
        if difference.value == 0 and a.sd.value == b.sd.value == 0:
            return [f"{name}: all runs of {a.name} and {b.name} are equal."]
        equal = "every pair" if found.way == "paired" else "every two runs"
        return [f"{here} in {equal}: {comparison_text.NO_NOISE}."]
    return comparison_text.verdict(
        found, name, difference, _beats(found).value, found.test, lower=found.lower_is_better, unit=unit
    )
