"""What the published tables say once they are tested: the numbers that the paper's text lacks."""

import numpy as np
import pytest
from scipy import stats

from toolnoise.study import published

NUMBERS = published.read()
TABLE_2 = {
    number[1:5]: float(number.value) for number in NUMBERS if number[0] == "table2" and number[8] == "accuracy_sd"
}
ERRORS = {number[1:5]: 100 - float(number.value) for number in NUMBERS if number[8] == "accuracy_mean"}
TABLE_5 = [number for number in NUMBERS if number.item == "table5"]
HALF_A_DIGIT = 0.0005  # of a printed SD
DIGIT = 0.01  # of a printed ratio: some are cut off rather than rounded (1.8155 at least is printed as 1.81)


def f_test(sd, other, runs):
    """The p-value of the F test of two SDs of as many runs each."""
    null, ratio = stats.f(runs - 1, runs - 1), (sd / other) ** 2
    return 2 * min(null.cdf(ratio), null.sf(ratio))


def against_algo_impl():
    """The p-value of each arm's SD against that of ALGO+IMPL, in table 2."""
    for (model, dataset, hardware, variant), sd in TABLE_2.items():
        if variant != "algo_impl":
            runs = 5 if dataset == "imagenet" else 10
            both = TABLE_2[model, dataset, hardware, "algo_impl"]
            yield (model, dataset, hardware, variant), f_test(sd, both, runs)


def test_of_table_2s_twenty_f_tests_five_are_below_five_percent():
    found = dict(against_algo_impl())
    assert len(found) == 20
    below = {place: round(pvalue, 3) for place, pvalue in found.items() if pvalue < 0.05}
    assert below == {
        ("smallcnn", "cifar10", "p100", "algo"): 0.047,
        ("smallcnn", "cifar10", "p100", "impl"): 0.007,
        ("smallcnn", "cifar10", "rtx5000", "impl"): 0.0,
        ("smallcnn", "cifar10", "v100", "impl"): 0.004,
        ("resnet18", "cifar10", "v100", "algo"): 0.001,
    }


def test_every_ratio_of_table_5_follows_from_its_sds_as_far_as_they_were_rounded():
    values = {(number.variant, number.group, number.metric): float(number.value) for number in TABLE_5}
    ratios = [number for number in TABLE_5 if number.metric.endswith("_ratio")]
    assert len(ratios) == 36
    for number in ratios:
        metric = number.metric.removesuffix("_ratio")
        part, whole = values[number.variant, number.group, metric], values[number.variant, "all", metric]
        lowest, highest = (part - HALF_A_DIGIT) / (whole + HALF_A_DIGIT), (part + HALF_A_DIGIT) / (whole - HALF_A_DIGIT)
        assert lowest - DIGIT < float(number.value) < highest + DIGIT, number


@pytest.mark.parametrize(
    ("model", "dataset", "examples", "points"),
    [
        ("smallcnn", "cifar10", 10_000, 0.435),
        ("resnet18", "cifar10", 10_000, 0.183),
        ("resnet18", "cifar100", 10_000, 0.365),
        ("resnet50", "imagenet", 50_000, 0.153),
    ],
)
def test_the_size_of_the_test_set_alone_makes_an_sd_of_so_many_points(model, dataset, examples, points):
    error = ERRORS[model, dataset, "v100", "algo_impl"] / 100
    assert round(100 * np.sqrt(error / (2 * examples)), 3) == pytest.approx(points, abs=0.0011)
