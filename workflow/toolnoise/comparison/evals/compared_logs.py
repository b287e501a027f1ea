"""Is B better than A by their evaluation logs, and for what else does that hold? The numbers that `compare` prints.

Differences are B - A. Each question counts once, whatever its samples, and each run counts the same; runs of an arm
whose scores and answers are all equal are one. Churn is how often answers as texts differ: between the arms, between
runs of an arm, and between samples of a run.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from toolnoise.comparison import crossed, designs
from toolnoise.comparison.comparison import counted_once
from toolnoise.comparison.crossed import mean_error
from toolnoise.comparison.designs import Assumption
from toolnoise.comparison.evals.aligned import Aligned, Answered, Cell, align
from toolnoise.comparison.evals.log_files import Runs
from toolnoise.comparison.read_arms import NAMES
from toolnoise.comparison.two_arms import adjusted
from toolnoise.stats import draws
from toolnoise.stats.estimates import Estimate, equal_reach, t_interval

Way = Literal["paired", "independent", "two runs", "one run", "same runs"]
# Ways in which intervals are about these runs alone.
OF_THESE_RUNS: tuple[Way, ...] = ("two runs", "one run", "same runs")


class LogArm(NamedTuple):
    """One side alone: its different runs, the fewest and the most samples of a question in a run, the mean score.

    Churn is the share of answers that differ between two runs, and between two samples of a run.
    """

    name: str
    file: str
    n_runs: int
    n_samples: tuple[int, int]
    mean: float
    churn_runs: Estimate | None
    churn_samples: Estimate | None


class Parts(NamedTuple):
    """The shares of the variance of the difference; that of samples is part of questions where there is one each."""

    questions: float
    runs: float
    samples: float | None


class LogComparison(NamedTuple):
    """Two arms and their differences.

    `difference` is over all draws that there are enough of. `way` says whether runs are: "one run" an arm is not, nor
    are "two runs" that are no pairs (`designs.FEWEST`). Of paired arms, `n_pairs` counts pairs; those with an equal run
    are one. Groups are the values of `cluster`; without it, each question is one. `shares` says that scores lie from 0
    to 1.
    """

    metric: str
    shares: bool
    n_questions: int
    cluster: str | None
    n_groups: int
    n_left_out: int
    n_unscored: int
    a: LogArm
    b: LogArm
    way: Way
    n_pairs: int
    n_in_both: int
    notes: list[str]
    difference: Estimate
    pvalue: float
    pvalue_holm: float
    difference_over_questions: Estimate
    difference_over_runs: Estimate
    parts: Parts | None
    churn: Estimate | None
    good_flips: Estimate | None
    bad_flips: Estimate | None


def compare_all(
    arms: Sequence[Runs], cluster: str | None = None, assumption: Assumption = "independent"
) -> list[LogComparison]:
    """Compare each arm with the first; p-values are also adjusted by Holm.

    Runs of paired arms share their seeds in turn; those with the same start are no draws of their own.
    """
    named = zip(NAMES[1:], arms[1:], strict=False)
    return adjusted([_compare(arms[0], other, name, cluster, assumption) for name, other in named])


def _compare(first: Runs, other: Runs, name: str, cluster: str | None, assumption: Assumption) -> LogComparison:
    paired, contents = assumption == "paired", [_contents(arm) for arm in (first, other)]
    aligned = _counted(align(first, other, cluster), contents, paired=paired)
    a, b, lengths = aligned[:3]
    fewest = min(len(a.scores), len(b.scores))
    way = "one run" if assumption == "same start" or fewest < 2 else assumption
    way = "two runs" if way == "independent" and fewest < designs.FEWEST else way
    # One log twice is said by its scores: both are equal on every question.
    same = designs.copied_runs(*contents, len(set(min(contents, key=len))))
    way = "same runs" if same else way
    alone = way in OF_THESE_RUNS
    every = np.concatenate([a.scores.ravel(), b.scores.ravel()])
    shares = bool(every.min() >= 0 and every.max() <= 1)
    runs = [arm.scores.mean(axis=0, keepdims=True) if alone else arm.scores for arm in (a, b)]
    squares = crossed.squares(*runs, lengths, paired=paired)
    step = 1.0 if shares else np.nan
    result = crossed.tested(squares, len(lengths), step)
    of_these = crossed.tested(squares._replace(runs=crossed.NOTHING, interaction=crossed.NOTHING), len(lengths), step)
    texts = _has_answers(a) and _has_answers(b)
    flips = _flips(aligned) if _binary(aligned) else (None, None)
    most = (-1.0, 1.0) if shares else (-np.inf, np.inf)
    return LogComparison(
        other.metric,
        shares,
        len(a.scores[0]),
        cluster,
        len(lengths),
        aligned.left_out,
        aligned.unscored,
        _arm("A", first, a, lengths),
        _arm(name, other, b, lengths),
        way,
        len(a.scores) if paired and not alone else 0,
        same,
        [*_equal_runs(first, contents[0], "A"), *_equal_runs(other, contents[1], name), *_notes(first, other, name)],
        result.effect.within(*most),
        result.pvalue,
        result.pvalue,
        of_these.effect.within(*most),
        crossed.over_runs(squares).within(*most),
        _parts(squares, a, b),
        _share(_churn_of_arms(a, b), lengths) if texts else None,
        *flips,
    )


def _contents(arm: Runs) -> list[Hashable]:
    """What each run has, by which equal runs are known."""
    return [frozenset((row.question, row.sample, row.score, row.answer) for row in run) for run in arm.runs]


def _equal_runs(arm: Runs, contents: Sequence[Hashable], name: str) -> list[str]:
    answered = any(row.answer is not None for run in arm.runs for row in run)
    return counted_once(name, contents, f"equal in all scores{' and answers' * answered}")


def _counted(aligned: Aligned, contents: Sequence[Sequence[Hashable]], *, paired: bool) -> Aligned:
    """Both arms with each run once, and the mean scores of each draw: of paired runs, one with an equal run in it."""
    drawn = [designs.assumed(len(of), "paired" if paired else "independent") for of in contents]
    # Runs of two arms may agree by chance, so they are never taken for one.
    named = [(place, content) for place, of in enumerate(contents) for content in of]
    units = draws.merged(np.concatenate(draws.units(*drawn)), named)
    arms = []
    for arm, of, numbers in zip(aligned[:2], contents, np.split(units, [len(contents[0])]), strict=True):
        once = [of.index(content) for content in dict.fromkeys(of)]
        means = designs.unit_means(arm.scores[once], numbers[once], np.unique(numbers))
        arms.append(Answered(means, arm.samples[once], arm.variances[once], [arm.cells[run] for run in once]))
    return aligned._replace(a=arms[0], b=arms[1])


def _arm(name: str, runs: Runs, arm: Answered, lengths: np.ndarray) -> LogArm:
    samples = (int(arm.samples.min()), int(arm.samples.max()))
    texts = _has_answers(arm)
    changes = [of(arm) if texts else None for of in (_churn_of_runs, _churn_of_samples)]
    of_arm = (None if each is None else _share(each, lengths) for each in changes)
    return LogArm(name, runs.file, len(arm.cells), samples, float(arm.scores.mean()), *of_arm)


def _share(of_questions: np.ndarray, lengths: np.ndarray) -> Estimate:
    share, error, freedom = mean_error(of_questions, lengths)
    if error:
        return t_interval(share, error, freedom).within(0, 1)
    # Where all questions are alike, another one need not be.
    reach = equal_reach(len(lengths), 1)
    return Estimate(share, share - reach, share + reach).within(0, 1)


def _binary(aligned: Aligned) -> bool:
    """Whether each sample is right or wrong."""
    arms = (aligned.a, aligned.b)
    return all(row.score in (0, 1) for arm in arms for run in arm.cells for cell in run for row in cell)


def _flips(aligned: Aligned) -> tuple[Estimate, Estimate]:
    """The shares of pairs of samples that go from wrong to right, and from right to wrong."""
    of_a, of_b = (arm.scores.mean(axis=0) for arm in (aligned.a, aligned.b))
    return _share((1 - of_a) * of_b, aligned.lengths), _share(of_a * (1 - of_b), aligned.lengths)


def _has_answers(arm: Answered) -> bool:
    """Whether every sample has its answer."""
    return all(row.answer is not None for run in arm.cells for cell in run for row in cell)


def _churn_of_arms(a: Answered, b: Answered) -> np.ndarray:
    """The share of pairs of a sample of A and one of B whose answers differ, of each question."""
    pairs = zip(*(map(_counts, zip(*arm.cells, strict=True)) for arm in (a, b)), strict=True)
    return np.array([1 - _together(one, other) / (one.total() * other.total()) for one, other in pairs])


def _churn_of_runs(arm: Answered) -> np.ndarray | None:
    """The same of two runs of an arm."""
    if len(arm.cells) < 2:
        return None
    found = []
    for cells in zip(*arm.cells, strict=True):
        runs = [_counts([cell]) for cell in cells]
        of_all = sum(runs, Counter())
        equal = _together(of_all, of_all) - sum(_together(run, run) for run in runs)
        pairs = of_all.total() ** 2 - sum(run.total() ** 2 for run in runs)
        found.append(1 - equal / pairs)
    return np.array(found)


def _churn_of_samples(arm: Answered) -> np.ndarray | None:
    """The same of two samples of a run."""
    if arm.samples.min() < 2:
        return None
    found = []
    for cells in zip(*arm.cells, strict=True):
        runs = [_counts([cell]) for cell in cells]
        equal = sum(_together(run, run) - run.total() for run in runs)
        found.append(1 - equal / sum(run.total() * (run.total() - 1) for run in runs))
    return np.array(found)


def _counts(cells: Sequence[Cell]) -> Counter[str | None]:
    return Counter(row.answer for cell in cells for row in cell)


def _together(one: Counter[str | None], other: Counter[str | None]) -> int:
    """The number of pairs of equal answers."""
    return sum(count * other[answer] for answer, count in one.items())


def _parts(squares: crossed.Squares, a: Answered, b: Answered) -> Parts | None:
    """What the variance of the difference comes from, as far as samples and runs can tell."""
    questions, runs, both = (part.variance for part in squares[1:])
    whole = max(questions + runs - both, questions, runs)
    if not whole > 0:
        return None
    of_samples = None
    if min(a.samples.min(), b.samples.min()) > 1:
        of_samples = sum(float(arm.variances.sum()) / arm.variances.size**2 for arm in (a, b))
    of_runs = max(runs - both, 0.0)
    if of_samples is not None:
        of_samples = min(of_samples, whole - of_runs)
    rest = whole - of_runs - (of_samples or 0.0)
    return Parts(rest / whole, of_runs / whole, None if of_samples is None else of_samples / whole)


def _notes(a: Runs, b: Runs, name: str) -> list[str]:
    """How files were read, as sentences."""
    if [*a.how] == [*b.how]:
        return [f"Both: {how}." for how in a.how]
    return [f"{called}: {how}." for called, arm in (("A", a), (name, b)) for how in arm.how]
