"""What `toolnoise compare` prints of metrics in tables: verdicts, then the numbers, then what was read."""

import math
from collections.abc import Sequence
from typing import Any

from toolnoise.base.printing import counted, rounded_text
from toolnoise.comparison.comparison_text import (
    LEVEL,
    Block,
    Row,
    correlated,
    decimals_of_line,
    in_both_arms,
    in_own_unit,
    mean_row,
    name_of_test,
    plain,
    sd_ratio,
    shares,
    shown,
    too_few,
    verdict,
    with_numbers,
)
from toolnoise.comparison.designs import UNTESTED
from toolnoise.comparison.tables.differences import MetricArm, MetricComparison
from toolnoise.comparison.tables.runs import Runs
from toolnoise.comparison.tables.sessions import OWN_SESSIONS, SHARED
from toolnoise.stats.estimates import Estimate

WIDEST = 20  # letters of a heading


def as_json(runs: Runs, found: Sequence[MetricComparison]) -> dict[str, Any]:
    """The comparison for programs: in the metrics' own unit, undefined values are null."""
    each = [plain(one) | {"over": over(one), "verdict": " ".join(sentences(one))} for one in found]
    return {"read": runs.described, "tests": tests(found), "comparisons": each}


def block(runs: Runs, found: Sequence[MetricComparison]) -> Block:
    """The comparison for people; of more than two arms, winners come first."""
    if len({(each.a.name, each.b.name) for each in found}) == 1:
        verdicts, rows = [" ".join(sentences(each)) for each in found], _of_two_arms(found)
    else:
        ordered = sorted(found, key=lambda each: (not each.pvalue_holm < LEVEL, math.isnan(each.pvalue)))
        verdicts, rows = [sentences(each)[0] for each in ordered], _of_several_arms(found)
    notes = list(dict.fromkeys(note for each in found for note in _weighing(each)))
    if (count := tests(found)) > 1:
        notes.append(f"Holm's correction is over {count} tests.")
    if any(each.way == "no sessions" for each in found):
        notes.append(f"{SHARED}: name it by --session COLUMN, or say {OWN_SESSIONS}.")
    return Block(verdicts, rows, [*notes, *runs.described])


def _way(found: MetricComparison) -> str:
    return "higher" if found.lower_is_better is None else "better"


def _beats(found: MetricComparison) -> Estimate:
    """How often a run of B is better, or higher where that is not known."""
    return found.probability_of_higher if found.lower_is_better is None else found.probability_of_improvement


def tests(found: Sequence[MetricComparison]) -> int:
    """How many p-values there are, over which Holm's method adjusts."""
    return sum(not math.isnan(each.pvalue) for each in found)


def over(found: MetricComparison) -> str:
    """What the intervals are about."""
    if found.way == "paired":
        return f"{found.n_pairs} paired {found.pairs_are}"
    if found.way in UNTESTED:
        return ""
    return "runs" if found.a.n_sessions is None else "sessions"


def _of_two_arms(found: Sequence[MetricComparison]) -> list[Row]:
    """Some lines a metric."""
    a, b = (shortened(arm.name, WIDEST) for arm in (found[0].a, found[0].b))
    rows = [("", a, b, f"{b} - {a}", "95 % CI", "over")]
    for each in found:
        by, name = over(each), f"{each.metric} ({each.unit})" if each.unit else each.metric
        rows += with_numbers(
            [
                mean_row(name, each.a.mean, each.b.mean, each.difference, by),
                ("  in SDs", "", "", *shown(each.hedges_g, "{:+.2f}", by)),
                (f"  {b} is {_way(each)}, % of pairs", "", "", *shares(_beats(each), by)),
                ("  SD", *in_own_unit(each.a, each.b, "sd"), *sd_ratio(each.sd_ratio, by)),
            ]
        )
    return rows


def _of_several_arms(found: Sequence[MetricComparison]) -> list[Row]:
    """A line a comparison."""
    rows = [("", "", "mean of the first", "of the second", "difference", "95 % CI", "p", "by Holm")]
    for each in found:
        arms = f"{shortened(each.a.name, WIDEST)} to {shortened(each.b.name, WIDEST)}"
        name, *numbers, _ = mean_row(each.metric, each.a.mean, each.b.mean, each.difference, "")
        pvalues = ("" if math.isnan(p) else f"{p:.2g}" for p in (each.pvalue, each.pvalue_holm))
        rows.append((arms, name, *numbers, *pvalues))
    return rows


def _weighing(found: MetricComparison) -> list[str]:
    """How runs enter the means and their difference, where not each of them weighs alike."""
    said = [] if found.a.n_sessions is None else [_in_sessions(found.a), _in_sessions(found.b)]
    return said + [f"{found.b.name} - {found.a.name}:{correlated(found.pair_weight)}"] * bool(found.pair_weight)


def _in_sessions(arm: MetricArm) -> str:
    return f"{arm.name}: {counted(arm.n_runs, 'run')} in {counted(arm.n_sessions, 'session')}, averaged."


def shortened(name: str, most: int) -> str:
    """A name of so many letters at most."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def _no_winner(found: MetricComparison) -> str:
    """Why there is no test."""
    arms = (found.a, found.b)
    if found.way == "same runs":
        return in_both_arms(found.n_in_both)
    if found.way == "no sessions":
        return "the sessions of the runs are not known"
    if found.way == "two draws":
        if found.a.n_sessions is None:
            return too_few("runs", [arm.name for arm in arms if arm.n_runs == 2])
        return too_few("sessions", [arm.name for arm in arms if arm.n_sessions == 2])
    if in_one := [arm.name for arm in arms if arm.n_sessions == 1]:
        if len(in_one) == 1:
            return f"{in_one[0]} ran in one session"
        return "all runs are of one session" if found.n_pairs else "the arms ran in different sessions"
    alone = " and ".join(f"{arm.name} is one run" for arm in arms if arm.n_runs == 1)
    return f"{alone or 'all runs are one draw'}, and luck cannot be ruled out"


def sentences(found: MetricComparison) -> list[str]:
    """The verdict as a paper prints it, and how often a run of the better arm beats one of the other."""
    a, b, name = found.a, found.b, found.metric
    difference, unit = found.difference, f" {found.unit}" if found.unit else ""
    value = rounded_text(difference.value, decimals_of_line(1, difference, a.mean, b.mean), "+")
    here = f"{name}: {b.name} - {a.name} is {value}{unit}"
    if found.way in UNTESTED:
        return [f"No winner: {_no_winner(found)} ({here})."]
    if math.isnan(found.pvalue):
        if difference.value == 0 and a.sd.value == b.sd.value == 0:
            return [f"{name}: all runs of {a.name} and {b.name} are equal."]
        equal = "every pair" if found.way == "paired" else "every two runs"
        return [f"{here} in {equal}: without any noise, there is no test."]
    in_sessions = a.n_sessions is not None and b.n_sessions is not None
    units = (a.n_sessions, b.n_sessions) if in_sessions else (a.n_runs, b.n_runs)
    test = name_of_test(found.way, units, found.n_pairs, "sessions" if in_sessions else "runs", found.pairs_are)
    return verdict(found, name, difference, _beats(found).value, test, lower=found.lower_is_better, unit=unit)
