"""`toolnoise compare` on evaluation logs of language models: read as their own programs write them, and measured.

`eval_logs.tar.xz` has logs that lm-evaluation-harness and Inspect wrote (tests/make_eval_logs.py). Oracles are SciPy,
and other code in float64.
"""

import importlib.util
import json
import random
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scripts import loaded

from toolnoise import cli
from toolnoise.base.errors import BadInput
from toolnoise.base.program import ROOT
from toolnoise.comparison import compared_questions, question_logs
from toolnoise.comparison.comparison_text import laid_out
from toolnoise.comparison.question_logs import Asked, Log, Scored, samples_of
from toolnoise.comparison.sniff import read_logs_of_arms, sniff

ARCHIVE = Path(__file__).with_name("eval_logs.tar.xz")


@pytest.fixture(scope="module")
def logs(unpacked_archive):
    return unpacked_archive


def samples(logs, arm, task="choices"):
    (path,) = (logs / f"lm_eval/{arm}").glob(f"samples_{task}_*.jsonl")
    return str(path)


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def compared(*arms, metric=None, cluster=None, paired=False):
    given = [[arm] if isinstance(arm, str) else arm for arm in arms]
    read = read_logs_of_arms(given, Asked(metric, cluster), paired=paired)
    (found,) = compared_questions.compare_all(read, cluster, paired=paired)
    return found


def runs(scores, groups=None, answers=None):
    """An arm from scores of runs, questions and samples, [R, Q, n], and perhaps their answers."""
    made = []
    for (run, question, sample), score in np.ndenumerate(np.atleast_3d(scores)):
        answer = None if answers is None else str(answers[run, question, sample])
        cluster = groups and str(groups[question])
        made.append(Scored(f"q{question}", float(score), run, str(sample), answer, cluster))
    return Log("arm", "score", ["made"], samples_of(made))


def of_arrays(a, b, groups=None, paired=False):
    (found,) = compared_questions.compare_all([runs(a, groups), runs(b, groups)], groups and "group", paired=paired)
    return found


# One run an arm: the paired t test over questions, the jackknife over groups


def test_the_harness_says_what_its_own_table_says_and_the_interval_is_the_paired_t_tests(logs):
    found = compared(samples(logs, "a1"), samples(logs, "b1"), metric="acc")
    a, b = (np.array([line["acc"] for line in lines(samples(logs, arm))]) for arm in ("a1", "b1"))
    test = stats.ttest_rel(b, a)
    interval = test.confidence_interval()
    assert found.difference == pytest.approx((b.mean() - a.mean(), *interval), rel=1e-12)
    assert found.pvalue == pytest.approx(test.pvalue, rel=1e-12)
    assert (found.a.mean, found.b.mean, found.n_questions, found.way) == (a.mean(), b.mean(), 100, "one run")
    assert found.good_flips.value == pytest.approx(np.mean((a == 0) & (b == 1)))
    assert found.bad_flips.value == pytest.approx(np.mean((a == 1) & (b == 0)))
    # The figures of docs/compare.md: what the harness's own comparison, which is not paired, says of the same files.
    errors = [arm.std(ddof=1) / 10 for arm in (a, b)]
    unpaired = 2 * stats.norm.sf(abs(b.mean() - a.mean()) / np.hypot(*errors))
    text = " ".join((ROOT / "docs/compare.md").read_text().split())
    assert f"p = {found.pvalue:.3f}" in text
    assert f"p = {unpaired:.3f}" in text


def test_equal_groups_have_the_cluster_robust_error_and_unequal_ones_the_jackknifes(logs, drawn):
    found = compared(samples(logs, "a1"), samples(logs, "b1"), metric="acc", cluster="passage_id")
    rows = zip(*(lines(samples(logs, arm)) for arm in ("a1", "b1")), strict=True)
    pairs = [(one["doc"]["passage_id"], other["acc"] - one["acc"]) for one, other in rows]
    d, names = np.array([each for _, each in pairs]), [name for name, _ in pairs]
    rest = d - d.mean()
    sums = [sum(value for value, of in zip(rest, names, strict=True) if of == name) for name in dict.fromkeys(names)]
    robust = np.sqrt(20 / 19 * sum(value**2 for value in sums)) / 100
    assert found.n_groups == len(sums) == 20
    half = stats.t.ppf(0.975, 19) * robust
    assert found.difference == pytest.approx((d.mean(), d.mean() - half, d.mean() + half), rel=1e-12)

    groups = np.repeat(np.arange(7), [1, 2, 3, 4, 5, 6, 9]).tolist()
    a, b = drawn.integers(0, 2, (2, 30)).astype(float)
    shuffled = drawn.permutation(30)
    found = of_arrays([a[shuffled]], [b[shuffled]], [groups[place] for place in shuffled])
    d, groups = b - a, np.array(groups)
    without = [d[groups != group].mean() for group in range(7)]
    error = np.sqrt(6 / 7 * sum((mean - d.mean()) ** 2 for mean in without))
    freedom = 30**2 / sum(count**2 for count in (1, 2, 3, 4, 5, 6, 9)) - 1
    half = stats.t.ppf(0.975, freedom) * error
    assert found.difference == pytest.approx((d.mean(), d.mean() - half, d.mean() + half), rel=1e-12)
    assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, freedom), rel=1e-12)


def test_samples_enter_by_the_mean_of_a_question(drawn):
    a, b = drawn.integers(0, 2, (2, 1, 40, 8)).astype(float)
    found = of_arrays(a, b)
    test = stats.ttest_rel(b[0].mean(axis=1), a[0].mean(axis=1))
    assert found.difference[1:] == pytest.approx(tuple(test.confidence_interval()), rel=1e-12)
    assert (found.a.n_samples, found.b.n_samples) == ((8, 8), (8, 8))


# Several runs: crossed with questions


def mean_squares(arms):
    """The variances of a mean by runs and by their interaction with questions, cell by cell."""
    of_runs = of_both = 0.0
    for arm in arms:
        count, questions = arm.shape
        grand = arm.mean()
        of_runs += sum((run.mean() - grand) ** 2 for run in arm) / (count - 1) / count
        rest = 0.0
        for run in range(count):
            for question in range(questions):
                rest += (arm[run, question] - arm[run].mean() - arm[:, question].mean() + grand) ** 2
        of_both += rest / (count - 1) / (questions - 1) / count / questions
    return of_runs, of_both


@pytest.mark.parametrize("paired", [False, True])
def test_the_interval_over_runs_and_questions_has_the_mean_squares_of_both(paired, drawn):
    a, b = (drawn.random((5, 60)) + 0.3 * drawn.random((5, 1)) + drawn.random(60) for _ in "ab")
    found = of_arrays(a, b, paired=paired)
    d = (b - a).mean(axis=0)
    of_questions = d.var(ddof=1) / 60
    of_runs, of_both = mean_squares([b - a] if paired else [a, b])
    parts = [arm.mean(axis=1).var(ddof=1) / 5 for arm in (a, b)]
    freedom = 4 if paired else sum(parts) ** 2 / sum(part**2 / 4 for part in parts)
    rests = 59 * (4 if paired else 8)

    def half(tail):
        quantiles = stats.t.isf(tail, [59, freedom, rests])
        squares = quantiles**2 * [of_questions, of_runs, of_both]
        return np.sqrt(max(squares[0] + squares[1] - squares[2], squares[0], squares[1]))

    width = half(0.025)
    assert found.difference == pytest.approx((d.mean(), d.mean() - width, d.mean() + width), rel=1e-10)
    assert half(found.pvalue / 2) == pytest.approx(abs(d.mean()), rel=1e-6)
    # On these questions alone, it is the test of the runs' means.
    test = stats.ttest_rel if paired else stats.ttest_ind
    how = {} if paired else {"equal_var": False}
    interval = test(b.mean(axis=1), a.mean(axis=1), **how).confidence_interval()
    assert found.difference_over_runs[1:] == pytest.approx(tuple(interval), rel=1e-10)
    over_questions = tuple(stats.ttest_1samp(d, 0).confidence_interval())
    assert found.difference_over_questions[1:] == pytest.approx(over_questions, rel=1e-10)
    assert found.way == ("paired" if paired else "independent")


def test_one_draw_two_runs_or_the_same_runs_say_nothing_about_the_methods(drawn):
    a, b = drawn.random((2, 4, 50)) + np.array([0, 3])[:, np.newaxis, np.newaxis]
    for way, why, few in (
        ("one run", "another training run", [(a[:1], b), (a, b[:1]), (a[:1], b[:1])]),
        ("two runs", "two runs", [(a[:2], b[:2]), (a[:2], b), (a, b[:2])]),
        ("same runs", "4 runs are in both arms", [(a, np.concatenate([b, a]))]),
    ):
        for found in [of_arrays(*arms) for arms in few]:
            assert found.way == way
            assert np.isnan(found.difference_over_runs.low)
            said = compared_questions.as_json([found])["verdict"]
            assert f"This says nothing about the methods: {why}" in said
            assert ("for this pair of runs" in said) == (found.a.n_runs == found.b.n_runs == 1)
    assert of_arrays(a[:2], b[:2], paired=True).way == "paired"
    assert of_arrays(a, np.concatenate([b, a[:1]])).way == "independent"


def test_equal_runs_count_as_one(drawn):
    a, b = drawn.integers(0, 2, (2, 3, 50)).astype(float)
    copied = of_arrays(a[[0, 0]], b[[1, 1, 1]])
    alone = of_arrays(a[:1], b[1:2])
    notes = ["The 2 runs of A are equal in all scores and count as one."]
    notes += ["The 3 runs of B are equal in all scores and count as one.", "Both: made."]
    assert (copied.way, copied.a.n_runs, copied.b.n_runs, copied.notes) == ("one run", 1, 1, notes)
    copied.notes = alone.notes
    assert compared_questions.as_json([copied]) == compared_questions.as_json([alone])
    assert "This says nothing about the methods" in compared_questions.as_json([copied])["verdict"]
    some, each = of_arrays(a[[0, 1, 2, 0]], b), of_arrays(a, b)
    said = "Of the 4 runs of A, 3 differ; runs that are equal in all scores count as one."
    assert some.notes[0] == said
    assert some.difference == each.difference
    assert "over 3 + 3 runs" in compared_questions.as_json([some])["verdict"]


def test_arms_that_never_differ_leave_room_for_what_few_questions_cannot_show():
    found = of_arrays(np.ones((1, 50)), np.ones((1, 50)))
    # The rule of three: -ln 0.025 / 50.
    assert found.difference == pytest.approx((0, np.log(0.025) / 50, -np.log(0.025) / 50))
    assert found.pvalue == 1
    found = of_arrays(np.full((1, 50), 7.0), np.full((1, 50), 7.0))
    assert np.isnan(found.difference.low)
    assert "Both have the same score" in compared_questions.as_json([found])["verdict"]


@pytest.mark.parametrize("shape", [(20, 1, 8, False), (20, 5, 1, False), (20, 3, 8, True)], ids=str)
def test_no_more_than_six_percent_of_nulls_have_a_winner(shape):
    bench = loaded(ROOT / "bench/error_rates.py")
    draw, nulls, false, of_questions = np.random.Generator(np.random.Philox(5)), 300, 0, 0
    for _ in range(nulls):
        a, b, lengths = bench.log(draw, *shape, 0.0)
        false += bench.log_winner(a, b, lengths, shape[3])
        # Questions of a group, or of a run, taken one by one.
        one_by_one = (b.mean(axis=2) - a.mean(axis=2)).mean(axis=0)
        of_questions += stats.ttest_1samp(one_by_one, 0).pvalue < 0.05
    assert false / nulls <= 0.06
    assert of_questions / nulls > 0.08


# Answers as texts


def test_churn_counts_pairs_of_answers(drawn):
    words = drawn.choice(["x", "y", "z"], (2, 3, 12, 4))
    arms = [runs(np.array(of) == "x", answers=of) for of in words]
    (found,) = compared_questions.compare_all(arms)
    a, b = words
    between = [x != y for one in a for other in b for x in one.T for y in other.T]
    assert found.churn.value == pytest.approx(np.mean(between))
    pairs = [(one, other) for one in range(3) for other in range(3) if one != other]
    between = [a[one][:, [i]] != a[other][:, [j]] for one, other in pairs for i in range(4) for j in range(4)]
    assert found.a.churn_runs.value == pytest.approx(np.mean(between))
    within = [run[:, i] != run[:, j] for run in a for i in range(4) for j in range(4) if i != j]
    assert found.a.churn_samples.value == pytest.approx(np.mean(within))


# The programs' own files


def test_filters_of_the_harness_are_chosen_by_its_own_names(logs):
    a, b = (samples(logs, arm, "sums") for arm in ("a1", "b1"))
    both = "exact_match,strict-match, exact_match,flexible-extract"
    with pytest.raises(BadInput, match=f"found the scores {both}; one of them, such as metric="):
        compared(a, b)
    for name in ("strict-match", "flexible-extract"):
        found = compared(a, b, metric=f"exact_match,{name}")
        mean = np.mean([line["exact_match"] for line in lines(a) if line["filter"] == name])
        assert (found.a.mean, found.metric) == (pytest.approx(mean), f"exact_match,{name}")
    texts = [[line["filtered_resps"][0] for line in lines(path) if line["filter"] == "strict-match"] for path in (a, b)]
    found = compared(a, b, metric="exact_match,strict-match")
    assert found.churn.value == pytest.approx(np.mean([one != other for one, other in zip(*texts, strict=True)]))
    with pytest.raises(
        BadInput, match=r"found the scores .*; not acc: one of them, such as metric='exact_match,strict-match'"
    ):
        compared(a, b, metric="acc")


def test_several_files_are_runs_and_files_of_several_tasks_have_further_questions(logs, here):
    found = compared(*([samples(logs, f"{arm}{run}") for run in (1, 2)] for arm in "ab"), metric="acc")
    assert (found.a.n_runs, found.b.n_runs, found.n_questions) == (2, 2, 100)
    for arm in ("a1", "b1"):
        (here / arm).mkdir()
        for task in ("choices", "others"):
            name = Path(samples(logs, arm)).name.replace("choices", task)
            (here / arm / name).write_text(Path(samples(logs, arm)).read_text())
    both = compared("a1", "b1", metric="acc", cluster="task")
    assert (both.a.n_runs, both.n_questions, both.n_groups) == (1, 200, 2)
    alone = compared(samples(logs, "a1"), samples(logs, "b1"), metric="acc")
    assert both.difference.value == pytest.approx(alone.difference.value)


@pytest.mark.usefixtures("here")
def test_paired_logs_are_paired_by_the_numbers_in_their_names(drawn):
    for arm, scores in zip("ab", drawn.integers(0, 2, (2, 12, 9)), strict=True):
        for seed in (1, 2, 10, 11):
            table(f"{arm}_seed{seed}.csv", enumerate(scores[seed]), "id,correct")
    asked = {"paired": True}
    shell, ordered = (
        compared([f"a_seed{seed}.csv" for seed in of], [f"b_seed{seed}.csv" for seed in (1, 2, 10)], **asked)
        for of in ((1, 10, 2), (1, 2, 10))
    )
    assert shell.difference == ordered.difference
    with pytest.raises(BadInput, match=r"paired: found runs 1, 2 in a_.*, 2, 10 in b_.*; the same runs in each arm"):
        compared(["a_seed1.csv", "a_seed2.csv"], ["b_seed2.csv", "b_seed10.csv"], **asked)


def test_other_documents_under_the_same_numbers_are_other_questions(logs, here):
    changed = lines(samples(logs, "b1"))
    for count in (30, 100):
        for line in changed[:count]:
            line["doc"] = {**line["doc"], "passage": "another"}
        (here / f"{count}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    found = compared(samples(logs, "a1"), "30.jsonl", metric="acc")
    assert (found.n_questions, found.n_left_out) == (70, 30)
    assert "70 questions in every run of both; 30 others left out" in laid_out(compared_questions.blocks([found]))
    line = (
        r"100.jsonl: found 0 of 100 questions in every run .*; not so, for example: '0': its document differs; the same"
    )
    with pytest.raises(BadInput, match=line):
        compared(samples(logs, "a1"), "100.jsonl", metric="acc")


def test_both_formats_of_inspect_say_the_same(logs):
    pytest.importorskip("zstandard", reason="zstandard is not installed")
    folder = logs / "inspect"
    asked = {"metric": "match", "cluster": "passage_id"}
    packed, plain = (compared(*(str(folder / f"{arm}.{kind}") for arm in "ab"), **asked) for kind in ("eval", "json"))
    assert packed.difference == plain.difference
    assert (packed.n_questions, packed.n_groups, packed.a.n_samples) == (12, 6, (2, 2))
    about = json.loads((folder / "a.json").read_text())
    (score,) = (score for score in about["results"]["scores"] if score["name"] == "match")
    assert plain.a.mean == pytest.approx(score["metrics"]["accuracy"]["value"])
    with pytest.raises(BadInput, match="found the scores match, includes; one of them, such as metric="):
        compared(*(str(folder / f"{arm}.eval") for arm in "ab"))
    failed = compared(str(folder / "a.eval"), str(folder / "failed.eval"), metric="match")
    assert (failed.n_questions, failed.n_left_out, failed.n_unscored) == (11, 1, 1)


def test_a_log_packed_with_zstandard_says_what_it_needs(logs, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(BadInput, match=r"is packed with Zstandard; pip install zstandard"):
        compared(*(str(logs / f"inspect/{arm}.eval") for arm in "ab"), metric="match")


def test_scores_of_inspect_are_numbers_or_its_letters(here):
    values = ["C", "P", "I", "N", 0.25, True, "yes", "0.5"]
    log = {"status": "success", "eval": {"task": "t", "model": "m"}}
    for arm in "ab":
        each = [
            {"id": place, "epoch": 1, "input": [{"id": arm, "role": "user", "content": str(place)}]}
            | {"scores": {"s": {"value": {"one": value, "other": 1}}}}
            for place, value in enumerate(values)
        ]
        (here / f"{arm}.json").write_text(json.dumps(log | {"samples": each}))
    found = question_logs.read_inspect_log("a.json", Asked("s/one"))
    assert found.scores == [1, 0.5, 0, 0, 0.25, 1, 1, 0.5]
    assert found.how == ["read as a log of Inspect of m: s/one"]
    # Names of messages are drawn at random, and are no part of a question.
    assert compared("a.json", "b.json", metric="s/one").n_questions == len(values)
    with pytest.raises(BadInput, match="found the scores s/one, s/other; one of them, such as metric="):
        question_logs.read_inspect_log("a.json", Asked())


# Tables


def table(path, rows, names="id,seed,sample,passage,correct"):
    Path(path).write_text("\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.mark.usefixtures("here")
def test_a_table_has_seeds_samples_and_groups(drawn):
    for arm in "ab":
        cells = [(q, seed, n) for q in range(12) for seed in (7, 3) for n in range(2)]
        table(f"{arm}.csv", [(q, seed, n, f"p{q // 3}", drawn.integers(2)) for q, seed, n in cells])
    found = compared("a.csv", "b.csv", cluster="passage")
    assert (found.a.n_runs, found.a.n_samples, found.n_groups, found.way) == (2, (2, 2), 4, "two runs")
    assert compared("a.csv", "b.csv", paired=True).way == "paired"
    # The same as JSON lines, which are known without an option.
    for arm in "ab":
        names, *rows = Path(f"{arm}.csv").read_text().splitlines()
        records = [dict(zip(names.split(","), row.split(","), strict=True)) for row in rows]
        made = [json.dumps({**each, "seed": int(each["seed"]), "correct": each["correct"] == "1"}) for each in records]
        Path(f"{arm}.jsonl").write_text("\n".join(made))
    assert sniff([["a.jsonl"], ["b.jsonl"]], (), None, correct=False, cluster=None) == "questions"
    again = compared("a.jsonl", "b.jsonl", cluster="passage")
    assert again.difference == found.difference
    Path("b.csv").write_text(Path("b.csv").read_text().replace(",7,", ",8,"))
    with pytest.raises(BadInput, match=r"paired: found runs 3, 7 in a.csv, 3, 8 in b.csv; the same runs in each arm"):
        compared("a.csv", "b.csv", paired=True)


@pytest.mark.usefixtures("here")
def test_shares_beside_percent_are_refused_and_other_scales_are_not(drawn):
    shares = drawn.integers(0, 2, 12)
    for name, scores in (
        ("a", shares),
        ("p", 100 * shares),
        ("zero", 0 * shares),
        ("far", 101 * shares),
        ("n", -shares),
    ):
        table(f"{name}.csv", enumerate(scores), "id,score")
    line = r"p.csv: found 0 to 100 in p.csv, and 0 to 1 in a.csv; one scale in all: shares, or percent"
    for arms in (("a.csv", "p.csv"), ("p.csv", "a.csv"), (["a.csv", "p.csv"], "p.csv")):
        with pytest.raises(BadInput, match=line):
            compared(*arms)
    for arms in (("p.csv", "p.csv"), ("zero.csv", "p.csv"), ("a.csv", "far.csv"), ("n.csv", "p.csv")):
        assert compared(*arms).n_questions == 12


ONE = [(q, q % 2) for q in range(8)]
WRONG = {
    "two scores": (
        ([(q, 1, 0.5) for q in range(8)], "id,correct,acc"),
        "found the scores correct, acc; one of them, such as metric=",
    ),
    "no number": (([(q, "maybe") for q in range(8)], "id,correct"), "row 1, column correct: found 'maybe'; a number"),
    "twice": (([*ONE, ONE[0]], "id,correct"), "question 0: found 2 times; once, or a column of samples, epochs or"),
    "other questions": (([(q + 100, 1) for q in range(8)], "id,correct"), "b.csv: found 0 of 16 questions"),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_table_is_refused_in_one_line(case):
    (rows, names), said = WRONG[case]
    table("a.csv", ONE, "id,correct")
    table("b.csv", rows, names)
    with pytest.raises(BadInput, match=r"^b\.csv: ") as error:
        compared("a.csv", "b.csv", metric=None)
    assert said in str(error.value)


NO_QUESTIONS = {
    "metrics": ([(0.90,), (0.91,)], "acc", "found acc 0.9"),
    "by seed": ([(0, 0.90), (1, 0.91)], "seed,acc", "found several values of seed"),
    "answers by seed": ([(0, "yes", 1), (1, "yes", 1)], "seed,pred,acc", "found several values of seed"),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("case", NO_QUESTIONS)
@pytest.mark.parametrize("option", ["acc", None])
def test_metrics_of_runs_are_no_scores_of_questions(case, option, refused_by_verb):
    rows, names, found = NO_QUESTIONS[case]
    table("a.csv", rows, names)
    Path("a.jsonl").write_text(
        "".join(json.dumps(dict(zip(names.split(","), row, strict=True))) + "\n" for row in rows)
    )
    asked = ["--metric", option] if option else []
    for name, words in (("a.jsonl", asked), ("a.csv", ["--correct", *asked])):
        line = f"{name}: {found}, and no column of questions; a column id of the questions; metrics of runs go in one "
        assert line in refused_by_verb("compare", name, name, *words)


@pytest.mark.usefixtures("here")
def test_groups_must_be_there_and_be_the_same():
    for arm, shift in (("a", 0), ("b", 0), ("c", 1)):
        table(f"{arm}.csv", [(q, (q + shift) // 2, 1, q % 2) for q in range(8)], "id,passage,one,correct")
    with pytest.raises(BadInput, match=r"a.csv: found no column topic; one of id, passage, one, correct as cluster"):
        compared("a.csv", "b.csv", cluster="topic")
    with pytest.raises(BadInput, match=r"cluster: found one one: 1; two or more"):
        compared("a.csv", "b.csv", cluster="one")
    with pytest.raises(BadInput, match=r"c.csv: question 1: found in 0 and in 1; the same group here and in a.csv"):
        compared("a.csv", "c.csv", cluster="passage")


# The command line


def test_the_command_reads_logs_without_an_option_and_prints_both_forms(logs, printed_by_verb):
    arms = [samples(logs, arm) for arm in ("a1", "b1")]
    text = printed_by_verb("compare", *arms, "--metric", "acc", "--cluster", "passage_id")
    assert "100 questions in every run of both in 20 groups by passage_id\n" in text
    assert "Both: read as samples of lm-evaluation-harness: acc.\n" in text
    found = json.loads(printed_by_verb("compare", *arms, "--metric", "acc", "--json"))
    assert found["difference"]["value"] == pytest.approx(0.12)
    assert (found["over"], found["way"], found["n_questions"]) == ("100 questions", "one run", 100)
    several = [word for arm in "ab" for word in ("--arm", *(samples(logs, f"{arm}{run}") for run in (1, 2)))]
    text = printed_by_verb("compare", *several, "--metric", "acc", "--paired")
    assert "2 pairs of runs, 100 questions" in text
    assert "  these questions" in text


@pytest.mark.parametrize("name", ["a1-log.jsonl", "a.eval", "a-log.json", "a-log.csv"])
def test_a_damaged_log_ends_in_one_line_or_is_read(name, here, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "tests/fuzz")
    base, mutations = (importlib.import_module(module) for module in ("fuzz_base", "fuzz"))
    right = np.random.Generator(np.random.Philox(3)).random((2, 24)) < 0.6
    metric = {"a1-log.jsonl": ["--metric", "acc,strict"], "a-log.csv": ["--correct"]}.get(name, ["--metric", "match"])
    codes = set()
    for seed in range(30):
        for path in here.iterdir():
            path.unlink() if path.is_file() or path.is_symlink() else path.rmdir()
        for arm in "ab":
            base._logs(here, arm, right)
        kinds = next(changes for ends, changes in mutations.BY_KIND.items() if name.endswith(ends))
        rng = random.Random(seed)
        few = [mutations.truncated, mutations.bits_flipped, mutations.other_bytes]
        content, _ = rng.choice([*kinds, *few])(Path(name).read_bytes(), rng)
        Path(name).write_bytes(content)
        try:
            cli.main(["compare", name, name.replace("a", "b", 1), *metric, "--cluster", "passage"])
            codes.add(0)
        except SystemExit as ended:
            codes.add(ended.code)
            assert capsys.readouterr().err.count("\n") == 1, seed
    assert codes == {0, 2}
