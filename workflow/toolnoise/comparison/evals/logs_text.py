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
from toolnoise.comparison.evals.compared_logs import OF_THESE_RUNS, LogComparison
from toolnoise.stats.estimates import Estimate

ASSUMED = {
    "independent": ["Assumed: every run has a seed of its own (not paired)."],
    "paired": ["Paired: run s of both has the same seed."],
}


def as_json(comparisons: Sequence[LogComparison]) -> dict[str, Any]:
    """The comparison for programs: scores in their own unit, shares as fractions, undefined values null."""
    return comparison_text.records([(plain(each), _over(each), _sentences(each)) for each in comparisons])


def blocks(comparisons: Sequence[LogComparison]) -> list[Block]:
    """The comparisons for people."""
    return [_block(each, len(comparisons)) for each in comparisons]


def _block(found: LogComparison, tests: int) -> Block:
    a, b, questions = found.a, found.b, _questions(found)
    name, means, scale = found.metric + " %" * found.shares, map(Estimate, (a.mean, b.mean)), _scale(found)
    rows = [mean_row(name, *means, found.difference, _over(found), scale)]
    if found.way not in OF_THESE_RUNS:
        rows.append(difference_row("  these runs", found.difference_over_questions, questions, scale))
        rows.append(difference_row("  these questions", found.difference_over_runs, _runs(found), scale))
    of_both = {f"{b.name} replaces {a.name}, answers %": found.churn}
    of_both |= {"  from wrong to right": found.good_flips, "  from right to wrong": found.bad_flips}
    rows += [(name, "", "", *shares(of, questions)) for name, of in of_both.items() if of is not None]
    for name, key in (("another run, answers %", "churn_runs"), ("another sample, answers %", "churn_samples")):
        changes = [getattr(arm, key) for arm in (a, b)]
        cells = ["" if of is None else f"{PERCENT * of.value:.2f}" for of in changes]
        rows += [(name, *cells, "", "", "")] * any(cells)
    about = []
    for arm in (a, b):
        fewest, most = arm.n_samples
        samples = "" if most == 1 else f", {fewest} to {most} samples of each question"
        samples = f", {most} samples of each question" if fewest == most > 1 else samples
        about.append(f"{arm.name}: {arm.file}, {counted(arm.n_runs, 'run')}{samples}")
    asked = f"{found.n_questions} questions in every run of both"
    asked += "" if found.cluster is None else f" in {found.n_groups} groups by {found.cluster}"
    asked += f"; {counted(found.n_left_out, 'other')} left out" if found.n_left_out else ""
    asked += f"; {counted(found.n_unscored, 'sample')} without a score" if found.n_unscored else ""
    first, *says = _sentences(found)
    notes = [*says, *about, asked, *found.notes, *ASSUMED.get(found.way, [])]
    return comparison_text.block(found, tests, first, rows, notes)


def _over(found: LogComparison) -> str:
    """What the interval of the difference is over."""
    return _questions(found) if found.way in OF_THESE_RUNS else f"{_runs(found)}, {_questions(found)}"


def _questions(found: LogComparison) -> str:
    return f"{found.n_groups} {'questions' if found.cluster is None else f'groups by {found.cluster}'}"


def _runs(found: LogComparison) -> str:
    return f"{found.n_pairs} pairs of runs" if found.n_pairs else f"{found.a.n_runs} + {found.b.n_runs} runs"


def _scale(found: LogComparison) -> float:
    return PERCENT if found.shares else 1


def _sentences(found: LogComparison) -> list[str]:
    a, b, difference = found.a, found.b, found.difference
    if math.isnan(difference.low) and difference.value == 0:
        return [f"Both have the same {found.metric}, with no difference on any question."]
    if math.isnan(found.pvalue):
        size = f"{b.name} - {a.name} is {number_text(difference, _scale(found), '+')} on every question"
        return [f"{found.metric}: {size}: without any noise, there is no test."]
    these = " for this pair of runs" if a.n_runs == b.n_runs == 1 else " for these runs"
    how = {"lower": None, "unit": " points" * found.shares, "scale": _scale(found)}
    how["these"] = these if found.way in OF_THESE_RUNS else ""
    (said,) = verdict(found, found.metric, difference, None, f"over {_over(found)}", **how)
    if found.way in OF_THESE_RUNS:
        another = f"another training run of {a.name} or {b.name} may differ by more"
        why = another if found.way == "one run" else comparison_text.no_winner(found)
        said += f" This says nothing about the methods: {why}."
    return [said, *_where_from(found)]


def _where_from(found: LogComparison) -> list[str]:
    """What the width of the interval comes from, if there is more than one thing."""
    if found.parts is None:
        return []
    questions, runs, samples = found.parts
    named = {"questions and their single samples" if samples is None else "the choice of questions": questions}
    named |= {"training runs": None if found.way in OF_THESE_RUNS else runs, "samples": samples}
    said = [f"{PERCENT * share:.0f} % from {name}" for name, share in named.items() if share is not None]
    return [f"Of the variance of this difference, {', '.join(said)}."] if len(said) > 1 else []
