"""Two arms on the questions that every run of both has: scores, samples and answers, in one order.

Questions are matched by name, and by content where logs have it: under one name, other documents are other questions.
Those of a group stand together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison.evals.log_files import Runs
from toolnoise.comparison.evals.scored import Scored

# The share of all questions that both arms must have.
LEAST_SHARE = 0.5

Cell = Sequence[Scored]


class Answered(NamedTuple):
    """The runs of an arm on its questions: mean scores, numbers of samples and variances of means, [R, Q]; the samples.

    The variance of a mean over samples is NaN where there is one.
    """

    scores: np.ndarray
    samples: np.ndarray
    variances: np.ndarray
    cells: Sequence[Sequence[Cell]]


class Aligned(NamedTuple):
    """Both arms on the same questions; how many are alike in turn, and how many were left out."""

    a: Answered
    b: Answered
    lengths: np.ndarray
    left_out: int
    unscored: int


def align(a: Runs, b: Runs, cluster: str | None) -> Aligned:
    """Both arms on the questions that all their runs have."""
    tables, unscored = [], 0
    for arm in (a, b):
        of_runs = []
        for run in arm.runs:
            table, failed = _by_question(arm.file, run)
            unscored += failed
            of_runs.append(table)
        tables.append(of_runs)
    every = [table for of_runs in tables for table in of_runs]
    asked = dict.fromkeys(question for table in every for question in table)
    shared = [question for question in asked if all(question in table for table in every) and _alike(question, every)]
    if len(shared) < LEAST_SHARE * len(asked) or len(shared) < 2:
        what = f"found {len(shared)} of {len(asked)} questions in every run of it and of {a.file}"
        wanted = "two or more"
        if others := asked.keys() - shared:
            example = next(question for question in asked if question in others)
            why = ": its document differs" if all(example in table for table in every) else ""
            what, wanted = f"{what}; not so, for example: {example!r}{why}", "the same, or at least half of them"
        raise BadInput(b.file, "", what, wanted)
    groups = [_group(a.file, b.file, question, every) if cluster else question for question in shared]
    places = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    if len(places) < 2:
        raise BadInput("command line", "--cluster", f"found one {cluster}: {groups[0]}", "two or more")
    order = sorted(range(len(shared)), key=lambda at: places[groups[at]])
    shared = [shared[at] for at in order]
    lengths = np.bincount([places[group] for group in groups])
    return Aligned(*(_answered(of_runs, shared) for of_runs in tables), lengths, len(asked) - len(shared), unscored)


def _by_question(file: str, run: Sequence[Scored]) -> tuple[dict[str, list[Scored]], int]:
    """The scored samples of each question of a run, and how many have no score."""
    found: dict[str, list[Scored]] = {}
    for row in run:
        if row.score is not None:
            found.setdefault(row.question, []).append(row)
    if not found:
        raise BadInput(file, "", "found no sample with a score", "a log with scores")
    for question, rows in found.items():
        if len(rows) > 1:
            name, times = Counter(row.sample for row in rows).most_common(1)[0]
            if times > 1:
                which = f"sample {name} of question {question}" if name else f"question {question}"
                raise BadInput(file, which, f"found {times} times", "once, or a column of samples, epochs or seeds")
    return found, sum(row.score is None for row in run)


def _alike(question: str, tables: Sequence[Mapping[str, Cell]]) -> bool:
    """Whether all runs mean the same by the name of a question."""
    return len({row.content for table in tables for row in table[question] if row.content}) < 2


def _group(a: str, b: str, question: str, tables: Sequence[Mapping[str, Cell]]) -> str:
    groups = {row.cluster for table in tables for row in table[question]}
    if len(groups) > 1:
        first, second = sorted(map(str, groups))[:2]
        raise BadInput(
            b, f"question {question}", f"found in {first} and in {second}", f"the same group here and in {a}"
        )
    return str(groups.pop())


def _answered(runs: Sequence[Mapping[str, Cell]], questions: Sequence[str]) -> Answered:
    cells = [[run[question] for question in questions] for run in runs]
    scores = [[np.array([row.score for row in cell]) for cell in of_run] for of_run in cells]
    variances = [[values.var(ddof=1) / len(values) if len(values) > 1 else np.nan for values in run] for run in scores]
    means = [[values[0] + (values - values[0]).mean() for values in run] for run in scores]
    samples = [[len(values) for values in run] for run in scores]
    return Answered(np.array(means), np.array(samples), np.array(variances), cells)
