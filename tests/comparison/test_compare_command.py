"""What is computed and said of two or more sets of runs, how they are given, and `toolnoise compare` as one runs it."""

import itertools
import json

import numpy as np
import pytest
from scipy import stats

import toolnoise as tn
from toolnoise.base import noise_sources
from toolnoise.base.spec import Spec
from toolnoise.comparison import arms, comparison, comparison_text
from toolnoise.comparison.arms import PREDICTIONS, Arm
from toolnoise.comparison.label_files import Truth
from toolnoise.comparison.two_arms import probability_of_improvement
from toolnoise.formulas.accuracy import accuracies
from toolnoise.stats.significance import mean_difference
from toolnoise.study.variants import VARIANTS

# What is computed and said of two or more sets of runs


LABELS = np.arange(400) % 4
ALL = list(noise_sources.ALGORITHMIC)


def answers_of(predicted, file="a", **more):
    return Arm(file, predicted, LABELS, np.ones(len(LABELS), int), **more)


def arm(share_wrong, runs, seed=1, entropies=None):
    """Runs that err on their own examples."""
    rng = np.random.Generator(np.random.Philox(seed))
    wrong = rng.random((runs, len(LABELS))) < share_wrong
    predicted = np.where(wrong, (LABELS + rng.integers(1, 4, wrong.shape)) % 4, LABELS)
    return answers_of(predicted, "a.npy", entropies=entropies)


def drawn(variant, seeds, **more):
    """The draws of runs of a variant, as a dump has them."""
    hardware = {"name": "cpu", "engine": "tensorflow", "impl_noise": "reduction-order"}
    parts = {"model": {"name": "m"}, "recipe": {}, "hardware": hardware}
    parts["variant"] = {"name": variant, "varying": VARIANTS[variant]}
    found = noise_sources.draws_of_runs(Spec.read({"study_seed": 0, "seed": 0, **parts, **more}), seeds)
    return [{source: numbers[run] for source, numbers in found.items()} for run in range(len(seeds))]


def of_draws(numbers, shift=0.0, seed=1):
    """Runs whose share of errors depends on their draw more than on anything else."""
    rng = np.random.Generator(np.random.Philox(seed))
    share = 0.3 - shift + 0.1 * np.sin(np.array(numbers, float))[:, np.newaxis]
    wrong = np.random.Generator(np.random.Philox(9)).random((len(numbers), len(LABELS))) < share
    wrong[rng.random(wrong.shape) < 0.02] ^= True
    return answers_of((LABELS + wrong) % 4, drawn=[dict.fromkeys(ALL, draw) for draw in numbers])


def compared(a, b, paired=False):
    (found,) = comparison.compare_all([a, b], paired=paired)
    return found


def printed(found):
    return comparison_text.laid_out(comparison_text.blocks(found))


def verdict(found):
    return comparison_text.as_json([found])["verdict"]


def test_the_difference_is_b_less_a_with_welchs_interval():
    a, b = arm(0.4, 6), arm(0.3, 9, 2)
    found = compared(a, b)
    scores = [accuracies(answers.answers, LABELS) for answers in (a, b)]
    assert found.difference == pytest.approx(mean_difference(*scores).effect)
    assert found.pvalue == found.pvalue_holm == pytest.approx(mean_difference(*scores).pvalue)
    assert found.probability_of_improvement == probability_of_improvement(*scores)
    change = found.other_draws
    assert found.difference.value == pytest.approx(change["good_flips"].value - change["bad_flips"].value)
    assert change["churn"].value >= change["good_flips"].value + change["bad_flips"].value
    assert (found.a.n_runs, found.b.n_runs, found.n_examples, found.way) == (6, 9, 400, "independent")
    assert np.isnan(found.same_draw["churn"].value)


def test_paired_arms_are_compared_draw_by_draw():
    a, b = of_draws(range(6)), of_draws(range(6), 0.05, 2)
    paired = compared(a, b)
    apart = compared(a, b._replace(drawn=[dict.fromkeys(ALL, draw) for draw in range(10, 16)]))
    assert (paired.way, paired.n_draws, paired.same_draws) == ("paired", 6, ALL)
    assert paired.difference.value == pytest.approx(apart.difference.value)
    for quantity in ("difference", "sd_ratio", "churn_difference", "churn_ratio"):
        one, other = getattr(paired, quantity), getattr(apart, quantity)
        assert one.high - one.low < other.high - other.low, quantity
    scores = [accuracies(answers.answers, LABELS) for answers in (a, b)]
    without = [np.log([np.std(np.delete(runs, unit), ddof=1) for unit in range(6)]) for runs in scores]
    half = stats.t.ppf(0.975, 5) * np.sqrt(5 / 6) * np.linalg.norm(np.subtract(*without) - np.subtract(*without).mean())
    ratio = np.std(scores[1]) / np.std(scores[0])
    assert paired.sd_ratio == pytest.approx((ratio, ratio / np.exp(half), ratio * np.exp(half)))
    # Pairs of the same draw are no part of the churn of other draws.
    assert paired.same_draw["churn"].value < apart.other_draws["churn"].value < paired.other_draws["churn"].value
    text = printed([paired])
    assert "Paired: 6 draws of init, shuffle, augment and dropout are in both arms." in text.splitlines()
    assert "paired t over 6 draws" in verdict(paired)


def test_runs_of_a_draw_count_as_one_of_it():
    numbers = np.repeat(range(4), 3)
    a, b = of_draws(numbers), of_draws(numbers + 10, 0.2, 2)
    found = compared(a, b)
    means = [accuracies(answers.answers, LABELS).reshape(4, 3).mean(axis=1) for answers in (a, b)]
    assert found.difference == pytest.approx(mean_difference(*means).effect)
    assert (found.a.n_runs, found.a.n_draws) == (12, 4)
    assert found.a.churn_same_draw.value < found.a.churn.value
    assert found.a.accuracy_sd_same_draw.value < found.a.sd.value
    assert "over 4 and 4 draws" in verdict(found)


EIGHT = [name for name in VARIANTS if name != "bit"]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(EIGHT, EIGHT)))
def test_any_two_variants_are_paired_or_have_no_winner(one, other):
    """B is far better on these examples, so only the draws can be in the way of a winner."""
    seeds = [1, 2, 3, 4, 5]
    found = compared(arm(0.5, 5)._replace(drawn=drawn(one, seeds)), arm(0.1, 5, 2)._replace(drawn=drawn(other, seeds)))
    text = printed([found])
    if {one, other} <= {"algo", "algo_impl"}:
        assert "Paired: 5 draws of init, shuffle, augment and dropout" in text
        assert "B is better than A: " in text
        return
    assert "is better" not in text
    assert "No winner: " in text
    assert np.isnan([found.pvalue, found.difference.low, found.hedges_g.low]).all()
    assert found.difference_over_examples.low > 0
    fixed = [source for source in ALL if any(source not in VARIANTS[name] for name in (one, other))]
    assert any(source in text for source in fixed)


def test_a_gain_beyond_noise_is_called_one_and_names_the_better():
    better = verdict(compared(arm(0.4, 6), arm(0.2, 6, 2)))
    assert better.startswith("B is better than A: accuracy +")
    assert better.endswith(" Every run of B beats every run of A.")
    worse = verdict(compared(arm(0.2, 6, 2), arm(0.4, 6)))
    assert worse.startswith("A is better than B: accuracy +")
    assert better.split(";")[0][len("B is better than A") :] == worse.split(";")[0][len("A is better than B") :]


def test_single_runs_have_a_difference_but_no_winner():
    found = compared(arm(0.4, 1), arm(0.1, 1, 2))
    assert found.difference.value > 0.2
    assert np.isnan([found.difference.low, found.pvalue, found.other_draws["churn"].low]).all()
    low, high = found.difference_over_examples[1:]
    assert 0 < low < found.difference.value < high
    assert "No winner: A is one run and B is one run, and luck cannot be ruled out." in verdict(found)


def test_what_holds_on_these_examples_alone_says_so():
    # B is right on one example more, in every run but one; each run errs on an example of its own.
    a = np.repeat(np.where(np.arange(400) < 100, LABELS, (LABELS + 1) % 4)[np.newaxis], 6, axis=0)
    b = a.copy()
    b[1:, 100] = LABELS[100]
    for answers in (a, b):
        answers[np.arange(6), np.arange(300, 306)] = (LABELS[300:306] + 2) % 4
    found = comparison.compare_all([answers_of(each) for each in (a, b)])[0]
    assert verdict(found).startswith("B is better than A: accuracy +0.21 points")
    low, high = (f"{100 * end:.2f}" for end in found.difference_over_both[1:])
    assert float(low) < 0 < float(high)
    assert f"Over new runs and new examples: {low} to {high}, which includes 0." in verdict(found)


@pytest.mark.parametrize("paired", [False, True])
def test_of_new_runs_on_new_examples_95_percent_of_intervals_have_the_true_difference(paired):
    """Whether a run is right: the sum of what the run, the example and both have in common is above a threshold."""
    draw = np.random.Generator(np.random.Philox(11))
    studies, count, sds = 300, 60, (0.25, 0.7, 1.0)
    means = np.array([0.5, 0.8])
    true = np.diff(stats.norm.cdf(means / np.linalg.norm(sds)))[0]
    covered = {"difference": 0, "difference_over_examples": 0, "difference_over_both": 0}
    for _ in range(studies):
        seeds, arms_drawn = draw.normal(size=(5, 1)), []
        for mean in means:
            of_runs = (0.6 * seeds + 0.8 * draw.normal(size=(5, 1))) if paired else draw.normal(size=(5, 1))
            parts = (of_runs, draw.normal(size=count), draw.normal(size=(5, count)))
            right = mean + sum(sd * part for sd, part in zip(sds, parts, strict=True)) > 0
            arms_drawn.append(Arm("", right.astype(int), np.ones(count, int), np.ones(count, int)))
        (found,) = comparison.compare_all(arms_drawn, paired=paired)
        for name in covered:
            _, low, high = getattr(found, name)
            covered[name] += low <= true <= high
    shares = {name: times / studies for name, times in covered.items()}
    assert shares["difference_over_both"] >= 0.93, shares
    assert max(shares["difference"], shares["difference_over_examples"]) < 0.92, shares


def test_bit_identical_runs_are_one_run():
    a, b = arm(0.3, 1), arm(0.2, 1, 2)
    of_bits = ((a, "x"), (b, "y"))
    copies = [one._replace(answers=one.answers.repeat(5, axis=0), bits=[bits] * 5) for one, bits in of_bits]
    found = compared(*copies)
    assert "is better" not in verdict(found)
    assert (found.a.n_draws, found.a.churn_same_draw.value) == (1, 0)
    assert "The 5 runs of B are bit-identical and count as one." in found.notes
    half = copies[0]._replace(answers=arm(0.3, 5).answers, bits=["x", "x", "y", "z", "w"])
    assert "Of the 5 runs of A, 4 differ; runs that are bit-identical count as one." in compared(half, b).notes


def test_runs_that_stand_in_both_arms_are_named_and_have_no_winner():
    a, more = arm(0.4, 5), arm(0.1, 6, 2)
    copied = more._replace(answers=np.concatenate([more.answers, a.answers]))
    for bits in (None, list("vwxyz")):
        first = a._replace(bits=bits)
        found = compared(first, copied._replace(bits=bits and [*"abcdef", *bits]))
        assert found.way == "same runs"
        assert np.isnan([found.pvalue, found.difference.low, found.hedges_g.value]).all()
        alike = "bit-identical with" if bits else "equal in all predictions to"
        assert f"5 runs of B are {alike} runs of A." in found.notes
        assert "No winner: 5 runs are in both arms" in verdict(found)
        assert "is better" not in verdict(found) and "nan" not in printed([found])
    # Of equal scores one is enough, of equal predictions not: on an easy test set they may be luck.
    found = compared(a._replace(bits=list("vwxyz")), more._replace(bits=list("abcdez")))
    assert found.way == "same runs" and "1 run is in both arms" in verdict(found)
    assert compared(a, more._replace(answers=np.concatenate([more.answers, a.answers[:1]]))).pvalue < 0.05
    # The draws of a study's cells are known: equal runs of two variants are a finding.
    numbers = [dict.fromkeys(ALL, draw) for draw in range(5)]
    known = a._replace(bits=list("vwxyz"), drawn=numbers)
    other = more._replace(answers=more.answers[:5], bits=list("vbcde"), drawn=numbers)
    assert compared(known, other).way == "paired"


def test_cross_entropy_is_compared_where_there_are_scores():
    a, b = arm(0.3, 3, entropies=np.array([1.0, 1.1, 1.2])), arm(0.3, 3, 2, entropies=np.array([0.9, 1.0, 1.1]))
    assert compared(a, b).cross_entropy_difference.value == pytest.approx(-0.1)
    assert "cross-entropy" in printed([compared(a, b)])
    other = b._replace(entropies=None, notes=["no scores"])
    found = compared(a, other)
    assert found.cross_entropy_difference is found.b.cross_entropy_mean is None
    assert "cross-entropy" not in printed([found])
    assert "B: no scores." in found.notes


def test_more_than_two_arms_are_compared_with_the_first_by_holm():
    arms = [arm(0.3, 6), arm(0.29, 6, 2), arm(0.2, 6, 3), arm(0.28, 1, 4)]
    found = comparison.compare_all(arms)
    assert [one.b.name for one in found] == ["B", "C", "D"]
    assert len({one.a.mean for one in found}) == 1
    assert found[1].pvalue_holm == pytest.approx(2 * found[1].pvalue)
    assert np.isnan(found[2].pvalue_holm)  # one run is no test, and not counted as one
    plain = json.loads(json.dumps(comparison_text.as_json(found), allow_nan=False))["comparisons"]
    assert [one["b"]["name"] for one in plain] == ["B", "C", "D"]
    text = printed(found)
    assert text.count("\nA: a.npy, 6 runs\n") == 3
    assert "C is better than A: " in text.partition("\n\n")[0]
    assert "by Holm" in text


@pytest.mark.parametrize("runs", [(1, 1), (1, 4), (2, 2), (4, 3)])
def test_every_comparison_can_be_told_and_read_by_programs(runs):
    found = compared(arm(0.5, runs[0]), arm(0.01, runs[1], 2)._replace(missing=2, file="b.npy"))
    text = printed([found])
    assert "nan" not in text
    assert f"B: b.npy, {runs[1]} run{'s' if runs[1] > 1 else ''} (2 diverged)" in text.splitlines()
    plain = json.loads(json.dumps(comparison_text.as_json([found]), allow_nan=False))
    assert plain["accuracy_difference"]["value"] == found.difference.value
    assert plain["other_draws"]["churn"]["value"] == found.other_draws["churn"].value
    assert plain["verdict"].startswith(text.splitlines()[0])
    assert (plain["pvalue"] is None) == (min(runs) < 3)
    assert plain["b"]["n_missing"] == 2


# The runs of a method in one file, or in one file a run


TRUE = np.array([0, 1, 2, 1, 0])
LOGITS = np.random.Generator(np.random.Philox(1)).normal(size=(3, 5, 3))
CLASSES = LOGITS.argmax(axis=2)


@pytest.fixture
def folder(tmp_path):
    for run in range(3):
        np.save(tmp_path / f"run{run}.npy", LOGITS[run])
    (tmp_path / "notes.txt").write_text("not a run")
    return tmp_path


def read(*given, source="y.npy"):
    return arms.read_arm([str(one) for one in given], PREDICTIONS, Truth(str(source), TRUE, len(TRUE)))


def test_a_folder_a_pattern_and_what_a_shell_makes_of_it_are_the_same_runs(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    files = [folder / f"run{run}.npy" for run in range(3)]
    for given in ([folder], [folder / "*.npy"], files, [f"{folder.name}/run[0-9].npy"]):
        found = read(*given)
        np.testing.assert_array_equal(found.answers, CLASSES)
        assert (len(found.entropies), found.classes, len(set(found.bits)), found.drawn) == (3, 3, 3, None)
    assert read(*files).file == f"{files[0]} ... {files[2]}"
    assert read(folder).file == str(folder)


def test_of_several_files_each_is_one_run(folder, refused):
    np.save(folder / "run1.npy", LOGITS)
    assert refused(read, folder) == f"{folder}/run1.npy: found 3 runs; one run in each of 3 files"
    assert len(read(folder / "run1.npy").answers) == 3


def test_what_is_no_arm_is_refused(folder, tmp_path_factory, refused):
    empty = tmp_path_factory.mktemp("empty")
    for given in (empty, empty / "*.npy"):
        assert refused(read, given) == f"{given}: found no file; .npy, .npz, .csv files, one a run"
    np.save(folder / "y.npy", TRUE)
    assert "found the labels among the runs" in refused(lambda: read(folder, source=folder / "y.npy"))
    np.save(folder / "y.npy", np.pad(LOGITS[0], ((0, 0), (0, 1))))
    assert "found 4 classes; the 3 of " in refused(read, *sorted(folder.glob("*.npy")))


def test_more_is_not_assumed_than_can_be(folder, refused):
    three, two, one = read(folder), read(*sorted(folder.glob("*.npy"))[:2]), read(folder / "run0.npy")
    known = three._replace(drawn=[{}] * 3, file="known.npy")
    arms.require_comparable([three, three], paired=True)
    for of, paired, line in (
        ([three, two], True, "paired: found 3, 2 runs; equal numbers of runs"),
        ([three, known], True, "paired: the draws of known.npy are known; only for files of your own"),
        ([one, one, one], False, "arms: found 3 methods of one run each; quote the pattern: 'a/*.npy', or"),
    ):
        assert line in refused(lambda of=of, paired=paired: arms.require_comparable(of, paired=paired))
    for given, options, line in (
        ([TRUE] * 27, {}, "arms: found 27 arms; at most 26"),
        ([TRUE], {}, "arms: found 1; two or more arms"),
    ):
        assert line in refused(tn.compare_predictions, *given, labels=TRUE, **options)


@pytest.mark.parametrize(
    "name", ["seed{}.npy", "{}-seed5/run_{}.npy", "multirun/2026-01-02/10-11-12/{}/p.npy", "seed{}.csv"]
)
def test_paired_files_are_paired_by_the_numbers_in_their_names_or_columns(name, here, refused):
    paths = {number: here / name.replace("{}", str(number)) for number in (1, 2, 10, 11)}
    for number, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        predicted = np.roll(TRUE, number)
        if path.suffix == ".csv":
            path.write_text("seed,pred\n" + "".join(f"{number + 3},{each}\n" for each in predicted))
            paths[number] = path.rename(path.with_name(f"p{number % 10}{number // 10}.csv"))
        else:
            np.save(path, predicted)
    shell, ordered, other = (read(*(paths[number] for number in of)) for of in ((1, 10, 2), (1, 2, 10), (2, 10, 11)))
    np.testing.assert_array_equal(shell.answers, ordered.answers)
    np.testing.assert_array_equal(ordered.answers, [np.roll(TRUE, number) for number in (1, 2, 10)])
    arms.require_comparable([shell, ordered], paired=True)
    arms.require_comparable([shell, other])
    first = "4, 5, 13" if name.endswith("csv") else "1, 2, 10"
    line = refused(lambda: arms.require_comparable([shell, other], paired=True))
    assert line.startswith(f"paired: found runs {first} in ")
    assert line.endswith("; the same runs in each arm")


# As a person runs it: on cells of a study, and on files that another program wrote


CELL = "results/small/predictions/smallcnn/digits/cpu"


@pytest.fixture
def study(small_study, monkeypatch):
    """The folder of the small study, which is the current one."""
    monkeypatch.chdir(small_study)
    return small_study


def test_two_cells_are_compared_by_the_labels_of_their_study(study, toolnoise, printed_by_verb):
    done = toolnoise(study, "compare", f"{CELL}/algo_impl.npy", f"{CELL}/impl.npy")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    about = [f"A: {CELL}/algo_impl.npy, 2 runs", f"B: {CELL}/impl.npy, 2 runs of 1 draw", "500 examples"]
    place = lines.index(about[0])
    assert lines[place : place + 3] == about
    found = json.loads(printed_by_verb("compare", f"{CELL}/algo_impl.npy", f"{CELL}/impl.npy", "--json"))
    logits, labels = (np.load(study / f"{CELL}/impl.npy"), np.load(study / "results/small/data/digits.npz"))
    accuracy = (logits.argmax(axis=2) == labels["test_labels"]).mean()
    assert found["b"]["accuracy_mean"]["value"] == pytest.approx(accuracy)
    assert found["verdict"] == " ".join([lines[0], *lines[lines.index("", 2) + 1 : place]])


def test_a_method_may_have_one_file_a_run_and_more_than_two_methods_are_compared(
    here, printed_by_verb, refused_by_verb
):
    rng = np.random.Generator(np.random.Philox(1))
    labels = rng.integers(0, 3, 200)
    np.save(here / "y.npy", labels)
    for name, strength in (("a", 1), ("b", 3), ("c", 1)):
        (here / name).mkdir()
        for run in range(4):
            np.save(here / name / f"{run}.npy", rng.normal(size=(200, 3)) + strength * np.eye(3)[labels])
    patterns = ["a/*.npy", "b", "c/[0-9].npy"]
    said = printed_by_verb("compare", "--labels", "y.npy", *patterns, "--paired", "--json")
    first, second = json.loads(said)["comparisons"]
    assert first["verdict"].startswith("B is better than A: ") and "paired t over 4 draws" in first["verdict"]
    assert "better" not in second["verdict"]
    # As a shell makes of patterns: unquoted they are refused, with --arm they are arms.
    files = {name: [f"{name}/{run}.npy" for run in range(4)] for name in "abc"}
    arms = [part for each in files.values() for part in ("--arm", *each)]
    again = printed_by_verb("compare", "--labels", "y.npy", *arms, "--paired", "--json")
    for one, other in zip(json.loads(again)["comparisons"], (first, second), strict=True):
        assert one["accuracy_difference"] == other["accuracy_difference"]
    said = refused_by_verb("compare", "--labels", "y.npy", *files["a"], *files["b"])
    assert said.startswith("toolnoise: command line: ARMS: found 8 methods of one run each; quote the pattern")
    assert "two or more arms" in refused_by_verb("compare", "--labels", "y.npy", "a")
    assert "found both ARMS and --arm" in refused_by_verb("compare", "a", "--arm", "b", "--arm", "c")
