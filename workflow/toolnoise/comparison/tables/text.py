"""What `toolnoise compare` prints of metrics in tables: the numbers of each two arms, and conclusions in words."""

import math
from collections.abc import Sequence
from typing import Any

from toolnoise.base.printing import aligned, counted
from toolnoise.comparison.comparison_text import (
    correlated,
    in_own_unit,
    not_significant,
    plain,
    sd_ratio,
    shares,
    shown,
    with_numbers,
)
from toolnoise.comparison.tables.differences import MetricComparison
from toolnoise.comparison.tables.runs import Runs

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


def tests(found: Sequence[MetricComparison]) -> int:
    """How many p-values there are, over which Holm's method adjusts."""
    return sum(not math.isnan(each.pvalue) for each in found)


def over(found: MetricComparison) -> str:
    """What the intervals are about."""
    if found.way == "paired":
        return f"{found.n_pairs} paired {found.pairs_are}"
    return "" if found.way == "one draw" else "runs"


def _block(found: Sequence[MetricComparison], count: int) -> str:
    a, b = (shortened(arm.name, WIDEST) for arm in (found[0].a, found[0].b))
    rows = [("", a, b, f"{b} - {a}", "95 % interval", "over")]
    for each in found:
        by, name = over(each), f"{each.metric} ({each.unit})" if each.unit else each.metric
        rows += with_numbers(
            [
                (name, *in_own_unit(each.a, each.b, "mean"), *shown(each.difference, "{:+.4g}", by)),
                ("  in SDs", "", "", *shown(each.hedges_g, "{:+.2f}", by)),
                (f"  {b} is better, % of pairs", "", "", *shares(each.probability_of_improvement, by)),
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
        return f"Paired: {found.n_pairs} seeds are in both arms."
    if found.way == "partly paired":
        runs = f"{a.n_runs} runs of {a.name} and {b.n_runs} of {b.name}"
        line = f"Partly paired: {found.n_pairs} seeds are in both arms, of {runs}; all runs count."
        return line + correlated(found.pair_weight)
    if found.way == "independent":
        few = f" With so few runs: {found.test}." if "," in found.test else ""
        return f"Not paired: {a.name} and {b.name} share no seed, {a.n_runs} and {b.n_runs} runs.{few}"
    return f"{a.name} has {counted(a.n_runs, 'run')}, {b.name} has {counted(b.n_runs, 'run')}."


def shortened(name: str, most: int) -> str:
    """A name of so many letters at most."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def sentence(found: MetricComparison) -> str:
    """The verdict in words."""
    a, b, name = found.a, found.b, found.metric
    value, low, high = found.difference
    unit = f" {found.unit}" if found.unit else ""
    if found.way == "one draw":
        alone = " and ".join(f"{arm.name} is one run" for arm in (a, b) if arm.n_runs == 1)
        here = f"{name}: {b.name} - {a.name} is {value:+.4g}{unit} here"
        return f"{here}. That is no winner: {alone or 'all runs are one draw'}, and luck cannot be ruled out."
    if math.isnan(found.pvalue):
        if value == 0 and a.sd.value == b.sd.value == 0:
            return f"{name}: all runs are equal."
        equal = "every pair" if found.way == "paired" else "every two runs"
        return f"{name}: {b.name} - {a.name} is {value:+.4g}{unit} in {equal}: without any noise, there is no test."
    by = f"95 % over {over(found)}"
    if undecided := not_significant(found, name, f"{low:.4g} to {high:.4g}{unit} ({by})"):
        return undecided
    beats = found.probability_of_improvement.value
    winner = b
    if (value < 0) != found.lower_is_better:
        winner, beats = a, 1 - beats
    if value < 0:
        value, low, high = -value, -high, -low
    way = "lower" if found.lower_is_better else "higher"
    return (
        f"{winner.name} is better: its {name} is {way} by {value:.4g}{unit} ({low:.4g} to {high:.4g}, {by}), "
        f"and its run beats the other's in {100 * beats:.0f} % of pairs."
    )
