"""Identical runs: what is measured of them, tests between them, and Pham et al.'s study."""

import numpy as np
import pytest
from scipy import stats

from toolnoise.base import metric_files
from toolnoise.papers.identical import metric as identical_runs
from toolnoise.papers.identical.draw import comparisons_of_analysis as compared
from toolnoise.papers.identical.draw import levene_pvalue, mann_whitney
from toolnoise.papers.identical.metric import CRITERIA, IDENTICAL, STATED, History, Weak, experiment_columns

LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
# Right on 10, 8, 7 and 2 of them; class 1 has all right, half, three and none.
PREDICTIONS = np.array(
    [
        [0, 0, 0, 0, 1, 1, 1, 1, 2, 2],
        [0, 0, 0, 0, 1, 1, 0, 0, 2, 2],
        [0, 0, 0, 1, 1, 1, 1, 0, 2, 0],
        [1, 1, 1, 1, 0, 0, 0, 0, 2, 2],
    ]
)


def history(accuracy, loss=None, seconds=1.0):
    loss = [1 - value for value in accuracy] if loss is None else loss
    return History(*(np.array(values, float) for values in (loss, loss, accuracy, [seconds] * len(accuracy))))


HISTORIES = [history([0.2, 0.5, 1.0, 0.9], seconds=second) for second in (1, 2, 4, 10)]


def measured(criterion="best-accuracy", runs=range(4), **options):
    runs = list(runs)
    return identical(PREDICTIONS[runs], LABELS, 4, [HISTORIES[run] for run in runs], criterion, **options)


def identical(*given, **options):
    return identical_runs.measure_identical_runs(*given, **options)[0]


def each_run(*given, **options):
    return identical_runs.measure_identical_runs(*given, **options)[1]


def test_accuracy_is_its_range_sd_and_mean():
    found = measured(runs=[0, 1, 2])
    assert found["no_try"] == 3
    assert (found["max_accuracy"], found["min_accuracy"]) == (1.0, 0.7)
    assert found["max_accuracy_diff"] == pytest.approx(0.3)
    assert found["mean_accuracy"] == pytest.approx(2.5 / 3)
    assert found["std_dev_accuracy"] == pytest.approx(np.std([1, 0.8, 0.7], ddof=1))


def test_accuracies_may_be_those_after_the_criterions_epoch_and_are_those_at_the_end_otherwise():
    runs = [history([0.2, 0.5, 0.9, 0.8]), history([0.6, 0.4, 0.3, 0.2]), history([0.1, 0.1, 0.1, 0.1])]
    given = PREDICTIONS[:3], LABELS, 4, runs
    # The highest are those after epochs 3, 1 and 1; of patience, no run has an epoch.
    found = identical(*given, "best-accuracy", when="criterion")
    assert (found["max_accuracy"], found["min_accuracy"]) == (0.9, 0.1)
    assert [row["accuracy"] for row in each_run(*given, "best-accuracy", when="criterion")] == [0.9, 0.6, 0.1]
    for others in (identical(*given, "best-accuracy"), identical(*given, "patience", when="criterion")):
        assert (others["max_accuracy"], others["min_accuracy"]) == (1.0, 0.7)
    # Those of classes, and which runs are weak, are of the end.
    assert found["max_per_label_acc_diff"] == 0.5
    weak = identical(*given, "best-accuracy", Weak("zero", 0.75), when="criterion")
    assert (weak["n_weak"], weak["max_accuracy"], weak["min_accuracy"]) == (1, 0.9, 0.6)


def test_the_class_of_the_largest_range_and_that_of_the_largest_sd_are_named_with_their_examples():
    found = measured(runs=[0, 1, 2])
    # Class 1 has 1, 0.5, 0.75; class 2 has 1, 1, 0.5: the same range, of which the first counts, and another SD.
    assert (found["max_diff_label"], found["max_per_label_acc_diff"], found["no_samples_max_diff"]) == ("1", 0.5, 4)
    assert (found["max_label_accuracy"], found["min_label_accuracy"]) == (1.0, 0.5)
    assert (found["max_std_label"], found["no_samples_max_std"]) == ("2", 2)
    assert found["max_per_label_acc_std"] == pytest.approx(np.std([1, 1, 0.5], ddof=1))


def test_time_to_convergence_is_that_of_all_epochs_up_to_it_and_training_that_of_all():
    found = measured(runs=[0, 1, 2])
    assert [found[f"{what}_convergent_epoch"] for what in ("max", "min", "mean", "std_dev")] == [3, 3, 3, 0]
    assert [found[f"{what}_convergent"] for what in ("max", "min", "mean")] == [12, 3, 7]
    assert found["max_convergent_diff"] == 9
    assert found["max_convergent_diff_epoch"] == 0
    assert (found["max_training"], found["max_training_diff"], found["training_relative_diff"]) == (
        16,
        12,
        12 / (28 / 3),
    )


def test_each_run_has_its_own_numbers_and_those_of_the_class_with_the_largest_sd():
    rows = each_run(PREDICTIONS, LABELS, 4, HISTORIES, "best-accuracy", Weak("zero", 0.5))
    assert [row["status"] for row in rows] == ["counted"] * 3 + ["weak"]
    assert [row["accuracy"] for row in rows] == [1.0, 0.8, 0.7, 0.2]
    assert {row["class"] for row in rows} == {"2"}  # over the runs that count
    assert [row["class_accuracy"] for row in rows] == [1, 1, 0.5, 1]
    assert [(row["convergent_epoch"], row["convergent"]) for row in rows] == [(3, 3), (3, 6), (3, 12), (3, 30)]
    assert rows[0]["per_epoch_average"] == 1
    assert np.isnan(each_run(PREDICTIONS, LABELS, 4, HISTORIES, "patience")[0]["convergent"])


@pytest.mark.parametrize(
    ("criterion", "accuracy", "loss", "epoch"),
    [
        ("last", [0.1, 0.9, 0.8], None, 3),
        ("lowest-loss", [0.1, 0.9, 0.8], [3, 2, 1], 3),
        ("near-best", [0.1, 0.889, 0.893, 0.9], None, 3),
        ("patience", [0.5] * 8, [9, 3, 2, 4, 5, 2, 3, 4], 3),
        ("patience", [0.5] * 8, [8, 7, 6, 5, 4, 3, 2, 1], None),
    ],
)
def test_each_criterion_is_what_it_states(criterion, accuracy, loss, epoch):
    assert CRITERIA[criterion](history(accuracy, loss)) == epoch
    assert CRITERIA.keys() == STATED.keys()


@pytest.mark.parametrize(
    ("rule", "left", "stated"),
    [
        (Weak("zero", 0.75), 2, "accuracy below 0.75"),
        (Weak("chance", 0.0), 3, "accuracy below chance + 0"),  # 0.4
        (Weak("best", -0.25), 2, "accuracy below the best run - 0.25"),
    ],
)
def test_weak_runs_are_left_out_by_a_rule_that_is_stated(rule, left, stated):
    found = measured(weak=rule)
    assert (found["no_try"], found["n_weak"], found["weak_rule"]) == (left, 4 - left, stated)
    assert found["min_accuracy"] > 0.2


PUBLISHED = """
backend backend_version cuda_version cudnn_version network random_seed stopping_type no_try max_accuracy_diff
max_accuracy min_accuracy std_dev_accuracy mean_accuracy max_diff_label max_per_label_acc_diff
max_label_accuracy min_label_accuracy no_samples_max_diff max_std_label max_per_label_acc_std
no_samples_max_std max_convergent_diff max_convergent min_convergent std_dev_convergent mean_convergent
max_convergent_diff_epoch max_convergent_epoch min_convergent_epoch std_dev_convergent_epoch
mean_convergent_epoch max_per_epoch_diff max_per_epoch min_per_epoch std_dev_per_epoch mean_per_epoch
max_first_epoch_diff max_first_epoch min_first_epoch std_dev_first_epoch mean_first_epoch
"""


def test_a_file_begins_with_the_columns_of_the_published_table(tmp_path, make_spec):
    assert " ".join(IDENTICAL).startswith(" ".join(PUBLISHED.split()))
    observed = {"versions": {"tensorflow": "2.21.0"}, "build": {"cuda_version": "12.5", "cudnn_version": "9"}}
    about = experiment_columns({"spec": make_spec("impl", 3).as_json(), "observed": observed})
    cell = {"dataset": "digits", "hardware": "cpu", "variant": "impl", "n_missing": 0}
    for runs in ([], [1], range(4)):
        values = about | measured(runs=runs) | cell
        assert values.keys() == set(IDENTICAL)
        metric_files.write_metrics(tmp_path / "identical.csv", IDENTICAL, [[values[name] for name in IDENTICAL]])
        read = metric_files.read_metrics(tmp_path / "identical.csv", IDENTICAL).iloc[0]
        for name, value in values.items():
            np.testing.assert_equal(read[name], value)


@pytest.mark.parametrize(("variant", "seed"), [("control", "1"), ("impl", "1"), ("algo_impl", "-1"), ("bit", "-1")])
def test_fixed_seed_is_what_varies_by_the_implementation_at_most(make_spec, variant, seed):
    found = experiment_columns({"spec": make_spec(variant, 1).as_json(), "observed": {"versions": {"tensorflow": "2"}}})
    assert found["random_seed"] == seed
    assert (found["backend"], found["network"], found["cuda_version"]) == ("tensorflow", "smallcnn", "")


# Tests between identical runs: which sets are compared, and the p-values of SciPy that their analysis uses


DRAWS = np.random.Generator(np.random.Philox(5))


def runs(
    network="lenet1", hardware="v100", variant="impl", criteria=("lowest-loss", "best-accuracy"), count=6, **given
):
    about = {"network": network, "dataset": "mnist", "hardware": hardware, "variant": variant, "status": "counted"}
    names = ("accuracy", "class_accuracy", "convergent", "convergent_epoch")
    values = {name: DRAWS.normal(size=count) for name in names} | given
    return [
        about | {"stopping_type": criterion} | {name: mine[run] for name, mine in values.items()}
        for criterion in criteria
        for run in range(count)
    ]


def sets(rows):
    found = {}
    for one in compared(rows):
        different = [field for field in one.a._fields if getattr(one.a, field) != getattr(one.b, field)]
        found.setdefault(one.comparison, []).append((one.quantity, *different))
    return found


def test_fixed_seeds_are_compared_with_default_runs_of_the_same_training():
    found = sets([*runs(), *runs(variant="algo_impl"), *runs(variant="control")])
    assert found["seeds"] == [("accuracy", "variant"), ("class_accuracy", "variant")]
    assert set(found) == {"seeds", "criteria"}


def test_networks_and_toolings_are_compared_by_their_runs_with_fixed_seeds():
    rows = [*runs(), *runs("lenet5"), *runs(hardware="h100"), *runs("lenet5", variant="algo_impl")]
    found = sets(rows)
    assert found["networks"] == [("accuracy", "network"), ("class_accuracy", "network")]
    assert found["toolings"] == [("accuracy", "hardware"), ("convergent_epoch", "hardware")]


def test_criteria_are_compared_by_the_convergence_of_the_same_runs():
    assert sets(runs())["criteria"] == [("convergent", "stopping_type"), ("convergent_epoch", "stopping_type")]
    assert sets(runs(criteria=("last",))) == {}
    assert {"lowest-loss", "best-accuracy"} <= set(CRITERIA)


def test_only_runs_that_count_and_have_converged_are_tested():
    epochs = np.array([3, 4, np.nan, 5, 6, 7])
    rows = [*runs(convergent_epoch=epochs), *runs(hardware="h100")]
    rows[0]["status"] = "weak"
    accuracy, epoch = (one for one in compared(rows) if one.comparison == "toolings")
    assert (accuracy.n_a, accuracy.n_b, epoch.n_a) == (5, 6, 4)


def test_p_values_are_scipys_levene_around_medians_and_two_sided_mann_whitney():
    a, b = DRAWS.normal(size=16), 2 * DRAWS.normal(size=16) + 1
    assert levene_pvalue(a, b) == stats.levene(a, b).pvalue
    greater, less = (
        stats.mannwhitneyu(a, b, alternative=side, method="asymptotic").pvalue for side in ("greater", "less")
    )
    assert mann_whitney(a, b) == pytest.approx(2 * min(greater, less))
    (one, _) = (
        one
        for one in compared([*runs(accuracy=a[:6]), *runs(hardware="h100", accuracy=b[:6])])
        if one.comparison == "toolings"
    )
    assert (one.levene, one.mann_whitney) == (levene_pvalue(a[:6], b[:6]), mann_whitney(a[:6], b[:6]))
