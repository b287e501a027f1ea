"""What `toolnoise compare` prints of values and losses: the numbers of each comparison, and conclusions in words."""

import math
from collections.abc import Sequence
from typing import Any

from toolnoise.base.printing import counted
from toolnoise.comparison import comparison_text
from toolnoise.comparison.compared_numbers import NumberComparison
from toolnoise.comparison.comparison_text import (
    Block,
    difference_row,
    in_own_unit,
    interval_text,
    mean_row,
    name_of_test,
    number_text,
    of_these_examples,
    over_what,
    sd_ratio,
    shares,
    shown,
    verdict,
)
from toolnoise.comparison.designs import UNTESTED
from toolnoise.formulas.outcomes import LOSSES, NUMBERS


def as_json(comparisons: Sequence[NumberComparison]) -> dict[str, Any]:
    """The comparison for programs: in the numbers' own unit, undefined values are null."""
    return comparison_text.records(comparisons, _sentences)


def blocks(comparisons: Sequence[NumberComparison]) -> list[Block]:
    """The comparisons for people."""
    return [_block(each, len(comparisons)) for each in comparisons]


def _block(found: NumberComparison, tests: int) -> Block:
    a, b, by = found.a, found.b, over_what(found)
    words = NUMBERS[found.outcome]
    examples = counted(found.n_examples, words.example)
    rows = [
        mean_row(name_of(found), a.mean, b.mean, found.difference, by),
        difference_row("  these runs", found.difference_over_examples, examples),
        ("  in SDs", "", "", *shown(found.hedges_g, "{:+.2f}", by)),
        (f"  {b.name} is lower, % of pairs", "", "", *shares(found.probability_of_improvement, by)),
        ("  SD", *in_own_unit(a, b, "sd"), *sd_ratio(found.sd_ratio, by)),
    ]
    if found.outcome == LOSSES:
        of_examples = shown(found.perplexity_ratio_over_examples, "x {:.4f}", examples)
        rows.append(("perplexity", *in_own_unit(a, b, "perplexity"), *shown(found.perplexity_ratio, "x {:.4f}", by)))
        rows.append(("  these runs", "", "", *of_examples))
    else:
        rows.append(mean_row("RMSE", a.rmse, b.rmse, found.rmse_difference, by))
    rows += [
        ("between runs", *in_own_unit(a, b, "apart"), *shown(found.apart_other_draws, "{:.4g}", by)),
        ("between runs, same draw", "", "", *shown(found.apart_same_draw, "{:.4g}", by)),
    ]
    about = [f"{arm.name}: {arm.file}, {comparison_text.runs(arm)}" for arm in (a, b)]
    units = f"{examples}, {found.n_units} {words.unit}s" if found.n_units != found.n_examples else examples
    about += [units, *comparison_text.pairing(found), *found.notes]
    first, *says = _sentences(found)
    return comparison_text.block(found, tests, first, rows, [*says, *about])


def _sentences(found: NumberComparison) -> list[str]:
    return [*(_without_winner(found) if found.way in UNTESTED else _better(found)), *_apart(found)]


def _better(found: NumberComparison) -> list[str]:
    a, b = found.a.name, found.b.name
    difference, name = found.difference, name_of(found)
    if difference.low == difference.high == 0:
        return [f"Both have the same {name}."]
    if math.isnan(found.pvalue):
        return [f"{name}: {b} - {a} is {number_text(difference, sign='+')}: without any noise, there is no test."]
    test = name_of_test(found.way, found.n_draws_each, found.n_draws, over_what(found).rpartition(" ")[2], "draws")
    share, ratio = found.probability_of_improvement.value, found.perplexity_ratio
    says = verdict(found, name, difference, share, test, lower=True, ratio=ratio)
    examples = found.difference_over_examples
    if len(says) > 1 and examples.low <= 0 <= examples.high:
        says[0] += of_these_examples(NUMBERS[found.outcome].example)
    return says


def _without_winner(found: NumberComparison) -> list[str]:
    """The difference of these runs, and why it says nothing about other draws."""
    difference = found.difference_over_examples
    name, kind = name_of(found), NUMBERS[found.outcome].example
    if difference == (0, 0, 0):
        return [f"Both have the same {name}."]
    over = f"95 % over {found.n_examples} {kind}s"
    ends = "" if math.isnan(difference.low) else f" ({interval_text(difference)}, {over})"
    here = f"{found.b.name} - {found.a.name} is {number_text(difference, sign='+')} here{ends}"
    return [f"No winner: {comparison_text.no_winner(found)}. {name[0].upper()}{name[1:]}: {here}."]


def _apart(found: NumberComparison) -> list[str]:
    unit, says = NUMBERS[found.outcome].unit, []
    of = f"{unit}'s loss" if found.outcome == LOSSES else unit
    a, b, other = found.a, found.b, found.apart_other_draws.value
    if not math.isnan(other) and other:
        says.append(f"If {b.name} replaces {a.name}, a {of} changes by {other:.3g} on average.")
    if not math.isnan(a.apart.value):
        says.append(f"If {a.name} is trained again, by {a.apart.value:.3g}.")
    return says


def name_of(found: NumberComparison) -> str:
    """What is compared, with its unit if it has one."""
    return "loss (nats)" if found.outcome == LOSSES else "mean absolute error"
