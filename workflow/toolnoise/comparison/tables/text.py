"""What `toolnoise compare` prints of metrics in tables: the numbers of each two arms, and conclusions in words."""

import math
from collections.abc import Sequence
from typing import Any

from toolnoise.base.printing import aligned, counted, rounded_text
from toolnoise.comparison.comparison_text import (
    correlated,
    decimals_of_line,
    in_both_arms,
    in_own_unit,
    interval_text,
    mean_row,
    not_significant,
    number_text,
    other_way_round,
    plain,
    sd_ratio,
    shares,
    shown,
    too_few,
    with_numbers,
)
from toolnoise.comparison.designs import UNTESTED
from toolnoise.comparison.tables.differences import MetricComparison
from toolnoise.comparison.tables.runs import Runs
from toolnoise.comparison.tables.sessions import OWN_SESSIONS, SESSIONS_MISSING
from toolnoise.stats.estimates import Estimate

WIDEST = 20  # letters of a heading


def as_json(runs: Runs, found: Sequence[MetricComparison]) -> dict[str, Any]:
    """The comparison for programs: in the metrics' own unit, undefined values are null."""
    each = [plain(one) | {"over": over(one), "verdict": sentence(one)} for one in found]
    return {"read": runs.described, "tests": tests(found), "comparisons": each}


def as_text(runs: Runs, found: Sequence[MetricComparison]) -> str:
    """The comparison for people."""
    pairs = list(dict.fromkeys((each.a.name, each.b.name) for each in found))
    blocks = [_block([each for each in found if (each.a.name, each.b.name) == pair], tests(found)) for pair in pairs]
    return "\n".join(runs.described) + "\n\n" + "\n\n\n".join(blocks)


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


def _block(found: Sequence[MetricComparison], count: int) -> str:
    a, b = (shortened(arm.name, WIDEST) for arm in (found[0].a, found[0].b))
    rows = [("", a, b, f"{b} - {a}", "95 % interval", "over")]
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
    says = [sentence(each) for each in found]
    for each in found if count > 1 else ():
        if not math.isnan(each.pvalue):
            says.append(f"{each.metric}: p = {each.pvalue:.2g}, by Holm {each.pvalue_holm:.2g} ({count} tests).")
    return "\n".join([*dict.fromkeys(map(_pairing, found)), "", *aligned(rows), "", *says])


def _pairing(found: MetricComparison) -> str:
    """Which runs are paired."""
    a, b = found.a, found.b
    if found.way == "paired":
        if found.pairs_are == "runs":
            return f"Paired: {found.n_pairs} runs of each arm, as --paired says."
        return f"Paired: {found.n_pairs} {found.pairs_are} are in both arms{_in_sessions(found)}."
    unit = "run" if a.n_sessions is None else "session"
    of_a, of_b = (arm.n_runs if arm.n_sessions is None else arm.n_sessions for arm in (a, b))
    if found.way == "partly paired":
        units = f"{of_a} {unit}s of {a.name} and {of_b} of {b.name}"
        shared = f"{found.n_pairs} {found.pairs_are} are in both arms"
        line = f"Partly paired: {shared}, of {units}; all {unit}s count{_in_sessions(found)}."
        return line + correlated(found.pair_weight)
    if found.way == "independent":
        few = f" With so few {unit}s: {found.test}." if "," in found.test else ""
        none = found.pairs_are.removesuffix("s")
        counts = f"{of_a} and {of_b} {unit}s{_in_sessions(found)}"
        return f"Not paired: {a.name} and {b.name} share no {none}, {counts}.{few}"
    return f"{a.name} has {counted(of_a, unit)}, {b.name} has {counted(of_b, unit)}{_in_sessions(found)}."


def _in_sessions(found: MetricComparison) -> str:
    return "" if found.a.n_sessions is None else f" ({found.a.n_runs} and {found.b.n_runs} runs, averaged)"


def shortened(name: str, most: int) -> str:
    """A name of so many letters at most."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def _no_winner(found: MetricComparison) -> str:
    """Why there is no test."""
    arms = (found.a, found.b)
    if found.way == "same runs":
        return in_both_arms(found.n_in_both)
    if found.way == "no sessions":
        return f"{SESSIONS_MISSING}. Name it by --session COLUMN, or say {OWN_SESSIONS}"
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


def sentence(found: MetricComparison) -> str:
    """The verdict in words."""
    a, b, name = found.a, found.b, found.metric
    difference, unit = found.difference, f" {found.unit}" if found.unit else ""
    value = rounded_text(difference.value, decimals_of_line(1, difference, a.mean, b.mean), "+")
    if found.way in UNTESTED:
        return f"{name}: {b.name} - {a.name} is {value}{unit} here. That is no winner: {_no_winner(found)}."
    if math.isnan(found.pvalue):
        if difference.value == 0 and a.sd.value == b.sd.value == 0:
            return f"{name}: all runs are equal."
        equal = "every pair" if found.way == "paired" else "every two runs"
        return f"{name}: {b.name} - {a.name} is {value}{unit} in {equal}: without any noise, there is no test."
    by = f"95 % over {over(found)}"
    if undecided := not_significant(found, name, f"{interval_text(difference)}{unit} ({by})"):
        return undecided
    beats, winner = _beats(found).value, b
    if (difference.value < 0) != bool(found.lower_is_better):
        winner, beats = a, 1 - beats
    if difference.value < 0:
        difference = other_way_round(difference)
    size = f"by {number_text(difference)}{unit} ({interval_text(difference)}, {by})"
    if found.lower_is_better is None:
        return (
            f"{winner.name} has the higher {name}, {size}: its run is above the other's in {100 * beats:.0f} % of "
            "pairs. Which way is better is not known: --lower or --higher says it."
        )
    way = "lower" if found.lower_is_better else "higher"
    return (
        f"{winner.name} is better: its {name} is {way} {size}, and its run beats the other's in {100 * beats:.0f} % of "
        "pairs."
    )
