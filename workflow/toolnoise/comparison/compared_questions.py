"""Is B better than A by their evaluation logs, and over which draws does that hold? The numbers that `compare` prints.

Both arms are compared on the questions that every run of both has. Questions are matched by name, and by content if
logs have it: different documents with one name are different questions. Differences are B - A. Each question counts
once, whatever its number of samples, and each run counts the same. Runs of an arm with all scores and answers equal are
one. Churn is the share of answers (texts) that differ: between the arms, runs of an arm, or samples of a run.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import counted
from toolnoise.comparison import comparison_text, crossed, designs
from toolnoise.comparison.comparison_text import PERCENT, Block
from toolnoise.comparison.crossed import mean_error
from toolnoise.comparison.designs import Compared
from toolnoise.comparison.naming import NAMES
from toolnoise.comparison.question_logs import Log
from toolnoise.comparison.two_arms import adjust_pvalues
from toolnoise.stats import draws
from toolnoise.stats.estimates import Estimate, equal_reach, t_interval

Way = Literal["paired", "independent", "two runs", "one run", "same runs"]
# Designs whose intervals cover these runs alone.
OF_THESE_RUNS: tuple[Way, ...] = ("two runs", "one run", "same runs")
ASSUMED = {
    "independent": ["Assumed: every run has a seed of its own (not paired)."],
    "paired": ["Paired: run s of both has the same seed."],
}
LEAST_SHARE = 0.5  # the share of questions that both arms must have


def compare_all(arms: Sequence[Log], cluster: str | None = None, *, paired: bool = False) -> list[Compared]:
    """Compare each arm with the first; p-values are also adjusted by Holm.

    If arms are paired, run s of each arm has the same seed.
    """
    named = zip(NAMES[1:], arms[1:], strict=False)
    return adjust_pvalues([_compare(arms[0], other, name, cluster, paired=paired) for name, other in named])


def _compare(first: Log, other: Log, name: str, cluster: str | None, *, paired: bool) -> Compared:
    """Compare two arms; the interval of `difference` is over questions, and over runs if there are enough.

    "one run" per arm is not enough, nor are "two runs" that are no pairs (`way`, `designs.FEWEST`). `n_pairs` is the
    number of pairs in paired arms; pairs with an equal run are one. Groups are the values of `cluster`; without it,
    each question is a group. `shares` is true if all scores are from 0 to 1.
    """
    contents = [_contents(arm) for arm in (first, other)]
    samples, lengths, left_out, unscored = align(first, other, cluster)
    once = [[of.index(content) for content in dict.fromkeys(of)] for of in contents]
    a, b = (samples[(samples["arm"] == arm) & samples["run"].isin(runs)] for arm, runs in enumerate(once))
    scores = _of_draws([_scores(samples[samples["arm"] == arm]) for arm in (0, 1)], contents, paired=paired)
    fewest = min(map(len, scores))
    way = "one run" if fewest < 2 else "paired" if paired else "independent"
    way = "two runs" if way == "independent" and fewest < designs.FEWEST else way
    # The same log given twice shows in the scores: they are equal on every question.
    same = designs.copied_runs(*contents, len(set(min(contents, key=len))))
    way = "same runs" if same else way
    alone = way in OF_THESE_RUNS
    shares = bool(min(of.min() for of in scores) >= 0 and max(of.max() for of in scores) <= 1)
    runs = [of.mean(axis=0, keepdims=True) if alone else of for of in scores]
    squares = crossed.mean_squares(*runs, lengths, paired=paired)
    step = 1.0 if shares else np.nan
    result = crossed.test_of_difference(squares, len(lengths), step)
    of_these = crossed.test_of_difference(
        squares._replace(runs=crossed.NOTHING, interaction=crossed.NOTHING), len(lengths), step
    )
    most = (-1.0, 1.0) if shares else (-np.inf, np.inf)
    texts = _has_answers(a) and _has_answers(b)
    means = [of.mean(axis=0) for of in scores]
    good, bad = None, None
    if samples["score"].isin((0, 1)).all():
        good, bad = (_share(of, lengths) for of in ((1 - means[0]) * means[1], means[0] * (1 - means[1])))
    return Compared(
        metric=other.metric,
        shares=shares,
        n_questions=len(means[0]),
        cluster=cluster,
        n_groups=len(lengths),
        n_left_out=left_out,
        n_unscored=unscored,
        a=_arm("A", first, a, scores[0], lengths),
        b=_arm(name, other, b, scores[1], lengths),
        way=way,
        n_pairs=len(scores[0]) if paired and not alone else 0,
        n_in_both=same,
        notes=_notes({"A": first, name: other}, contents),
        difference=result.effect.within(*most),
        pvalue=result.pvalue,
        pvalue_holm=result.pvalue,
        difference_over_questions=of_these.effect.within(*most),
        difference_over_runs=crossed.over_runs(squares).within(*most),
        churn=_share(_churn_of_arms(a, b), lengths) if texts else None,
        good_flips=good,
        bad_flips=bad,
    )


def align(a: Log, b: Log, cluster: str | None) -> tuple[pd.DataFrame, np.ndarray, int, int]:
    """The samples of both arms on the questions that all runs have; `arm`, `run` and `question` are places.

    Questions of a group are consecutive. Also returns the sizes of the groups, and the numbers of questions left out
    and of samples without a score.
    """
    table = pd.concat([of.samples.assign(arm=arm) for arm, of in enumerate((a, b))], ignore_index=True)
    scored = table[table["score"].notna()]
    for arm, of in enumerate((a, b)):
        _require_once(of, scored[scored["arm"] == arm])
    of_questions = scored.groupby("question", sort=False)
    runs = scored.drop_duplicates(["question", "arm", "run"]).groupby("question", sort=False).size()
    in_all = runs == sum(of.samples["run"].nunique() for of in (a, b))
    # A question's name must stand for the same question in all runs.
    shared = in_all & (of_questions["content"].nunique() < 2)
    if shared.sum() < LEAST_SHARE * len(shared) or shared.sum() < 2:
        what, wanted = (
            f"found {shared.sum()} of {len(shared)} questions in every run of it and of {a.file}",
            "two or more",
        )
        if not shared.all():
            example = shared.idxmin()
            why = ": its document differs" if in_all[example] else ""
            what, wanted = f"{what}; not so, for example: {example!r}{why}", "the same, or at least half of them"
        raise BadInput(b.file, "", what, wanted)
    kept = scored[scored["question"].isin(shared.index[shared])]
    places, names = pd.factorize(_groups(a, b, kept) if cluster else shared.index[shared])
    if len(names) < 2:
        raise BadArgument("cluster", f"found one {cluster}: {names[0]}", "two or more")
    in_groups = shared.index[shared][np.argsort(places, kind="stable")]
    kept = kept.assign(question=in_groups.get_indexer(kept["question"])).astype({"score": float})
    return kept, np.bincount(places), int((~shared).sum()), int(table["score"].isna().sum())


def _require_once(arm: Log, scored: pd.DataFrame) -> None:
    """Refuse a run without a score, and a sample that occurs twice."""
    if scored["run"].nunique() < arm.samples["run"].nunique():
        raise BadInput(arm.file, "", "found no sample with a score", "a log with scores")
    sizes = scored.groupby(["run", "question", "sample"]).size()
    if sizes.max() > 1:
        _, question, sample = sizes.idxmax()
        which = f"sample {sample} of question {question}" if sample else f"question {question}"
        allowed = "once, or a column of samples, epochs or seeds"
        raise BadInput(arm.file, which, f"found {sizes.max()} times", allowed)


def _groups(a: Log, b: Log, scored: pd.DataFrame) -> pd.Series:
    """The group of each question; runs that disagree on it are refused."""
    of_questions = scored.groupby("question", sort=False)["cluster"]
    counts = of_questions.nunique()
    if counts.max() > 1:
        question = counts.idxmax()
        first, second, *_ = sorted(of_questions.get_group(question).unique())
        what = f"found in {first} and in {second}"
        raise BadInput(b.file, f"question {question}", what, f"the same group here and in {a.file}")
    return of_questions.first()


def _scores(samples: pd.DataFrame) -> np.ndarray:
    """The mean score of each run and question of an arm, [R, Q]."""
    groups = samples.groupby(["run", "question"])["score"]
    # Computed relative to the first sample, so that the mean of equal scores is exactly that score.
    first = groups.first()
    rest = (samples["score"] - groups.transform("first")).groupby([samples["run"], samples["question"]]).mean()
    return (first + rest).to_numpy().reshape(-1, samples["question"].nunique())


def _of_draws(
    scores: Sequence[np.ndarray], contents: Sequence[Sequence[Hashable]], *, paired: bool
) -> list[np.ndarray]:
    """The mean scores of each draw, [D, Q]; equal runs count once, and so do pairs with an equal run."""
    drawn = [designs.assumed_draws(len(of), paired=paired) for of in contents]
    # Logs of two arms may agree by chance, so they are never counted as one run.
    named = [(arm, content) for arm, of in enumerate(contents) for content in of]
    units = np.split(draws.merge_equal_runs(np.concatenate(draws.units_of_arms(*drawn)), named), [len(contents[0])])
    found = []
    for of_runs, of, numbers in zip(scores, contents, units, strict=True):
        once = [of.index(content) for content in dict.fromkeys(of)]
        found.append(designs.unit_means(of_runs[once], numbers[once], np.unique(numbers)))
    return found


def _contents(arm: Log) -> list[Hashable]:
    """The content of each run, by which equal runs are recognised."""
    of_runs = arm.samples.groupby("run")[["question", "sample", "score", "answer"]]
    return [frozenset(of.itertuples(index=False, name=None)) for _, of in of_runs]


def _arm(name: str, runs: Log, samples: pd.DataFrame, scores: np.ndarray, lengths: np.ndarray) -> Compared:
    """One arm: its distinct runs, the fewest and most samples of a question in a run, and the mean score.

    Churn is the share of answers that differ between two runs, and between two samples of a run.
    """
    counts = samples.groupby(["run", "question"]).size()
    of_runs = of_samples = None
    n_runs = len(counts.index.unique("run"))
    if _has_answers(samples):
        # For each question: samples, pairs of samples within a run, and pairs that agree.
        total, within = ((counts**power).groupby("question").sum() for power in (1, 2))
        equal, equal_within = _equal_pairs(samples, []), _equal_pairs(samples, ["run"])
        if n_runs > 1:
            of_runs = 1 - (equal - equal_within) / (total**2 - within)
        if counts.min() > 1:
            of_samples = 1 - (equal_within - total) / (within - total)
    churn_runs, churn_samples = (of if of is None else _share(of.to_numpy(), lengths) for of in (of_runs, of_samples))
    return Compared(
        name=name,
        file=runs.file,
        n_runs=n_runs,
        n_samples=(int(counts.min()), int(counts.max())),
        mean=float(scores.mean()),
        churn_runs=churn_runs,
        churn_samples=churn_samples,
    )


def _equal_pairs(samples: pd.DataFrame, within: list[str]) -> pd.Series:
    """The number of ordered pairs of samples that agree, per question, self-pairs included: in all, or within runs."""
    return (samples.groupby(["question", *within, "answer"]).size() ** 2).groupby("question").sum()


def _churn_of_arms(a: pd.DataFrame, b: pd.DataFrame) -> np.ndarray:
    """Per question, the share of pairs (a sample of A, a sample of B) whose answers differ."""
    of_a, of_b = (arm.groupby(["question", "answer"]).size() for arm in (a, b))
    equal = of_a.mul(of_b, fill_value=0).groupby("question").sum()
    return (1 - equal / (of_a.groupby("question").sum() * of_b.groupby("question").sum())).to_numpy()


def _has_answers(samples: pd.DataFrame) -> bool:
    """Whether every sample has its answer."""
    return bool(samples["answer"].notna().all())


def _share(of_questions: np.ndarray, lengths: np.ndarray) -> Estimate:
    share, error, freedom = mean_error(of_questions, lengths)
    if error:
        return t_interval(share, error, freedom).within(0, 1)
    # If all questions have the same share, another question may still differ.
    reach = equal_reach(len(lengths), 1)
    return Estimate(share, share - reach, share + reach).within(0, 1)


def _notes(arms: Mapping[str, Log], contents: Sequence[Sequence[Hashable]]) -> list[str]:
    """Sentences on equal runs and on how files were read."""
    notes = []
    for (name, arm), of_runs in zip(arms.items(), contents, strict=True):
        answered = bool(arm.samples["answer"].notna().any())
        notes += comparison_text.counted_once(name, of_runs, f"equal in all scores{' and answers' * answered}")
    a, b = arms.values()
    if [*a.how] == [*b.how]:
        return notes + [f"Both: {how}." for how in a.how]
    return notes + [f"{name}: {how}." for name, arm in arms.items() for how in arm.how]


def as_json(comparisons: Sequence[Compared]) -> dict[str, Any]:
    """The comparison as plain values: scores in their own unit, shares as fractions, None for undefined values."""
    return comparison_text.records(
        [(comparison_text.as_plain_values(each), _over(each), _sentences(each)) for each in comparisons]
    )


def blocks(comparisons: Sequence[Compared]) -> list[Block]:
    """The comparisons as printed."""
    return [_block(each, len(comparisons)) for each in comparisons]


def _block(found: Compared, tests: int) -> Block:
    a, b, questions = found.a, found.b, _questions(found)
    name, means = found.metric + " %" * found.shares, map(Estimate, (a.mean, b.mean))
    scale = PERCENT if found.shares else 1
    rows = [comparison_text.mean_row(name, *means, found.difference, _over(found), scale)]
    if found.way not in OF_THESE_RUNS:
        rows.append(comparison_text.difference_row("  these runs", found.difference_over_questions, questions, scale))
        rows.append(
            comparison_text.difference_row("  these questions", found.difference_over_runs, _runs(found), scale)
        )
    of_both = {f"{b.name} replaces {a.name}, answers %": found.churn}
    of_both |= {"  from wrong to right": found.good_flips, "  from right to wrong": found.bad_flips}
    rows += [(line, "", "", *comparison_text.share_cells(of, questions)) for line, of in of_both.items() if of]
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


def _over(found: Compared) -> str:
    """The draws that the interval of the difference covers."""
    return _questions(found) if found.way in OF_THESE_RUNS else f"{_runs(found)}, {_questions(found)}"


def _questions(found: Compared) -> str:
    return f"{found.n_groups} {'questions' if found.cluster is None else f'groups by {found.cluster}'}"


def _runs(found: Compared) -> str:
    return f"{found.n_pairs} pairs of runs" if found.n_pairs else f"{found.a.n_runs} + {found.b.n_runs} runs"


def _sentences(found: Compared) -> list[str]:
    a, b, difference, scale = found.a, found.b, found.difference, PERCENT if found.shares else 1
    if math.isnan(difference.low) and difference.value == 0:
        return [f"Both have the same {found.metric}, with no difference on any question."]
    if math.isnan(found.pvalue):
        size = f"{b.name} - {a.name} is {comparison_text.number_text(difference, scale, '+')} on every question"
        return [f"{found.metric}: {size}: {comparison_text.NO_NOISE}."]
    these = " for this pair of runs" if a.n_runs == b.n_runs == 1 else " for these runs"
    how = {"lower": None, "unit": " points" * found.shares, "scale": scale}
    how["these"] = these if found.way in OF_THESE_RUNS else ""
    (said,) = comparison_text.verdict(found, found.metric, difference, None, f"over {_over(found)}", **how)
    if found.way in OF_THESE_RUNS:
        another = f"another training run of {a.name} or {b.name} may differ by more"
        why = another if found.way == "one run" else comparison_text.no_winner(found)
        said += f" This says nothing about the methods: {why}."
    return [said]
