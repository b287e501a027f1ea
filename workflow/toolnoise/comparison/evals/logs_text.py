"""What `toolnoise compare` prints of evaluation logs: the numbers of each comparison, and conclusions in words."""

import math
from collections.abc import Sequence
from typing import Any

from toolnoise.base.printing import counted
from toolnoise.comparison import comparison_text
from toolnoise.comparison.comparison_text import (
    PERCENT,
    Block,
    difference_row,
    mean_row,
    number_text,
    plain,
    shares,
    verdict,
)
from toolnoise.comparison.evals.compared_logs import OF_THESE_RUNS, LogArm, LogComparison
from toolnoise.stats.estimates import Estimate


def as_json(comparisons: Sequence[LogComparison]) -> dict[str, Any]:
    """The comparison for programs: scores in their own unit, shares as fractions, undefined values null."""
    return comparison_text.records([(plain(each), _over(each), _sentences(each)) for each in comparisons])


def blocks(comparisons: Sequence[LogComparison]) -> list[Block]:
    """The comparisons for people."""
    return [_block(each, len(comparisons)) for each in comparisons]


def _block(found: LogComparison, tests: int) -> Block:
    a, b = found.a, found.b
    questions, runs = _questions(found), _runs(found)
    name, means, scale = found.metric + " %" * found.shares, map(Estimate, (a.mean, b.mean)), _scale(found)
    rows = [mean_row(name, *means, found.difference, _over(found), scale)]
    if found.way not in OF_THESE_RUNS:
        rows.append(difference_row("  these runs", found.difference_over_questions, questions, scale))
        rows.append(difference_row("  these questions", found.difference_over_runs, runs, scale))
    for name, of in (
        (f"{b.name} replaces {a.name}, answers %", found.churn),
        ("  from wrong to right", found.good_flips),
        ("  from right to wrong", found.bad_flips),
    ):
        if of is not None:
            rows.append((name, "", "", *shares(of, questions)))
    for name, key in (("another run, answers %", "churn_runs"), ("another sample, answers %", "churn_samples")):
        cells = tuple("" if getattr(arm, key) is None else f"{100 * getattr(arm, key).value:.2f}" for arm in (a, b))
        if any(cells):
            rows.append((name, *cells, "", "", ""))
    about = [f"{arm.name}: {arm.file}, {counted(arm.n_runs, 'run')}{_samples(arm)}" for arm in (a, b)]
    groups = "" if found.cluster is None else f" in {found.n_groups} groups by {found.cluster}"
    about.append(f"{found.n_questions} questions in every run of both{groups}{_missing(found)}")
    about += [*found.notes, *_assumed(found)]
    verdict, *says = _sentences(found)
    return comparison_text.block(found, tests, verdict, rows, [*says, *about])


def _samples(arm: LogArm) -> str:
    fewest, most = arm.n_samples
    if most == 1:
        return ""
    return f", {fewest if fewest == most else f'{fewest} to {most}'} samples of each question"


def _missing(found: LogComparison) -> str:
    said = f"; {counted(found.n_left_out, 'other')} left out" if found.n_left_out else ""
    return said + (f"; {counted(found.n_unscored, 'sample')} without a score" if found.n_unscored else "")


def _assumed(found: LogComparison) -> list[str]:
    if found.way == "independent":
        return ["Assumed: every run has a seed of its own (no --paired)."]
    return ["Paired: run s of both has the same seed."] if found.way == "paired" else []


def _over(found: LogComparison) -> str:
    """What the interval of the difference is over."""
    return _questions(found) if found.way in OF_THESE_RUNS else f"{_runs(found)}, {_questions(found)}"


def _questions(found: LogComparison) -> str:
    return f"{found.n_groups} {'questions' if found.cluster is None else f'groups by {found.cluster}'}"


def _runs(found: LogComparison) -> str:
    return f"{found.n_pairs} pairs of runs" if found.n_pairs else f"{found.a.n_runs} + {found.b.n_runs} runs"


def _sentences(found: LogComparison) -> list[str]:
    a, b, difference = found.a.name, found.b.name, found.difference
    if math.isnan(difference.low) and difference.value == 0:
        return [f"Both have the same {found.metric}, with no difference on any question."]
    if math.isnan(found.pvalue):
        size = number_text(difference, _scale(found), "+")
        return [f"{found.metric}: {b} - {a} is {size} on every question: without any noise, there is no test."]
    unit = " points" * found.shares
    how = {"lower": None, "unit": unit, "scale": _scale(found), "these": _these(found)}
    (said,) = verdict(found, found.metric, difference, None, f"over {_over(found)}", **how)
    why = {
        "one run": f"another training run of {a} or {b} may differ by more",
        "same runs": comparison_text.in_both_arms(found.n_in_both),
        "two runs": comparison_text.too_few("runs", [arm.name for arm in (found.a, found.b) if arm.n_runs == 2]),
    }
    if found.way in why:
        said += f" This says nothing about the methods: {why[found.way]}."
    return [said, *_where_from(found)]


def _these(found: LogComparison) -> str:
    """Of what a difference is, where it is not one of methods."""
    if found.way not in OF_THESE_RUNS:
        return ""
    return " for this pair of runs" if found.a.n_runs == found.b.n_runs == 1 else " for these runs"


def _where_from(found: LogComparison) -> list[str]:
    """What the width of the interval comes from."""
    if found.parts is None or (found.way in OF_THESE_RUNS and found.parts.samples is None):
        return []
    named = {"the choice of questions": found.parts.questions, "training runs": found.parts.runs}
    if found.parts.samples is None:
        named = {"questions and their single samples": found.parts.questions, "training runs": found.parts.runs}
    elif found.way in OF_THESE_RUNS:
        named.pop("training runs")
    if found.parts.samples is not None:
        named["samples"] = found.parts.samples
    said = ", ".join(f"{100 * share:.0f} % from {name}" for name, share in named.items())
    return [f"Of the variance of this difference, {said}."]


def _scale(found: LogComparison) -> float:
    return PERCENT if found.shares else 1
