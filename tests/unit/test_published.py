"""The published numbers, and when a study agrees with them."""

from collections import Counter

import pandas as pd
import pytest

from toolnoise.figures import published
from toolnoise.metrics.overhead import OVERHEAD
from toolnoise.metrics.stability import STABILITY
from toolnoise.stats.agreement import mean_range, sd_range
from toolnoise.stats.estimates import Estimate

NUMBERS = published.read()
DATA = ("dataset", "split", "group", "label", "count")


def test_every_number_of_the_tables_is_there():
    assert Counter(number.item for number in NUMBERS) == {
        "table2": 10 * 3 * 2,
        "table3": 8 + 4,
        "table4": 4 * 2,
        "table5": 15 * 3 + 12 * 3,
        "fig2": 5,
        "fig3": 2,
        "fig5": 2,
        "fig9a": 6,
        "fig9b": 6,
    }


def test_no_number_stands_twice_and_each_says_where_it_was_read():
    places = [(*number[:9],) for number in NUMBERS]
    assert len(set(places)) == len(places)
    assert all(number.source.startswith("arXiv:2106.11872 ") for number in NUMBERS)
    assert {number.evidence for number in NUMBERS} <= set(published.EVIDENCE)
    assert "M" not in published.EVIDENCE  # only remembered


def number(item, metric, **names):
    (found,) = [
        one
        for one in NUMBERS
        if (one.item, one.metric) == (item, metric) and all(getattr(one, key) == name for key, name in names.items())
    ]
    return found


V100 = {"model": "smallcnn", "dataset": "cifar10", "hardware": "v100", "variant": "algo_impl"}
MEAN, SD = number("table2", "accuracy_mean", **V100), number("table2", "accuracy_sd", **V100)
BARS = number("fig3", "accuracy_sd", model="smallcnn")


def test_the_sd_of_a_figure_is_the_tables_with_another_divisor():
    assert (SD.value, BARS.value) == ("0.91", "0.86")
    assert BARS.amount == pytest.approx(SD.amount, abs=0.00005)


def test_the_ratios_of_table_5_are_those_of_its_sds():
    sds = {one[1:9]: one.amount for one in NUMBERS if one.item == "table5" and one.metric.endswith("_sd")}
    for one in NUMBERS:
        if one.item == "table5" and one.metric.endswith("_ratio"):
            part = one._replace(metric=one.metric.removesuffix("_ratio"))
            ratio = sds[part[1:9]] / sds[part._replace(group="all")[1:9]]
            # Both SDs are printed to half a unit of the last digit, 0.0005 points.
            assert one.amount == pytest.approx(ratio, abs=0.005 + 0.03 * ratio)


def test_table_3_adds_up_to_table_4():
    counts = {(one.group, one.label): one.amount for one in NUMBERS if one.item == "table3" and one.metric == "count"}
    for pair in (("Male", "Female"), ("Young", "Old")):
        assert sum(counts[group, label] for group in pair for label in "01") == 162770


def stability(*rows):
    return pd.DataFrame(rows, columns=STABILITY)


def counts(*rows):
    return pd.DataFrame(rows, columns=DATA)


def cell(metric, value, low=float("nan"), high=float("nan"), runs=10, group="all", **names):
    place = {**V100, **names}
    return (*place.values(), metric, group, value, low, high, runs, 0)


def one(wanted, rows=(), data=(), overhead=None, numbers=NUMBERS):
    compared = published.compare(numbers, stability(*rows), counts(*data), overhead)
    (found,) = [each for each in compared if each.number == wanted]
    return found


def test_a_cell_that_the_study_has_not_run_says_so_for_every_number():
    compared = published.compare(NUMBERS, stability(cell("accuracy_mean", 0.9, model="mine")), counts())
    assert [each.number for each in compared] == NUMBERS
    assert {each.verdict for each in compared} == {"not run"}


def test_a_mean_agrees_within_welchs_interval_of_both():
    rows = [cell("accuracy_mean", 0.6203 + 0.005), cell("accuracy_sd", 0.008)]
    found = one(MEAN, rows)
    assert found.ours == mean_range(0.6253, 0.008, 10, 0.0091, 10)
    assert found.verdict == "yes"
    assert one(MEAN, [cell("accuracy_mean", 0.6203 + 0.02), rows[1]]).verdict == "no"


@pytest.mark.parametrize(("sd", "verdict"), [(0.0091 / 1.9, "yes"), (0.0091 / 2.1, "no"), (0.0091 * 2.1, "no")])
def test_an_sd_agrees_by_the_f_distribution_of_both_numbers_of_runs(sd, verdict):
    found = one(SD, [cell("accuracy_sd", sd)])
    assert found.ours == sd_range(sd, 10, 10)
    assert found.verdict == verdict


def test_an_sd_by_n_is_compared_as_one_by_n_minus_1():
    at_the_edge = BARS.amount / 2.0  # 0.907 by n - 1, 0.86 by n: only the former is beyond
    assert one(BARS, [cell("accuracy_sd", at_the_edge)]).verdict == "yes"
    assert one(BARS, [cell("accuracy_sd", at_the_edge * 0.98)]).verdict == "no"


def test_one_run_has_nothing_to_compare():
    rows = [cell("accuracy_mean", 0.62, runs=1), cell("accuracy_sd", float("nan"), runs=1)]
    assert {one(wanted, rows).verdict for wanted in (MEAN, SD)} == {"n/a"}


@pytest.mark.parametrize(("low", "high", "verdict"), [(0.14, 0.15, "yes"), (0.147, 0.15, "no")])
def test_churn_agrees_within_our_own_interval(low, high, verdict):
    wanted = number("fig2", "churn", variant="impl")
    names = {"model": "resnet50", "dataset": "imagenet", "variant": "impl"}
    assert one(wanted, [cell("churn", 0.148, low, high, 5, **names)]).verdict == verdict


def test_the_largest_class_is_looked_for_over_classes_and_the_papers_variants():
    wanted = number("fig5", "accuracy_sd_ratio", dataset="cifar10")
    names = {"model": "resnet18"}
    rows = [
        cell("accuracy_sd_ratio", 3.0, 1.5, 6.0, group="0", **names),
        cell("accuracy_sd_ratio", 5.0, 2.5, 9.0, group="7", **names, variant="impl"),
        cell("accuracy_sd_ratio", 8.0, 7.5, 9.0, group="7", **names, variant="init"),
        cell("accuracy_sd_ratio", 9.0, 8.0, 9.5, group="Old", **names),
    ]
    found = one(wanted, rows)
    assert found.ours == Estimate(5.0, 2.5, 9.0)
    assert found.verdict == "yes"


def test_counts_are_exact_and_shares_within_their_last_digit():
    blond_men = number("table3", "count", group="Male", label="1")
    share = number("table3", "share", group="Male")
    data = [("celeba", "train", "all", "all", 162770), ("celeba", "train", "Male", "1", 1387)]
    assert one(blond_men, data=data).verdict == "yes"
    assert one(share, data=data).verdict == "yes"  # 0.85 %, printed as 0.8 %
    data[1] = ("celeba", "train", "Male", "1", 1500)
    assert (one(blond_men, data=data).verdict, one(share, data=data).verdict) == ("no", "no")


def test_times_are_those_of_the_metric_file_of_overhead():
    overhead = pd.DataFrame(
        [
            ("vgg19", "p100", "gpu", 64, 224, 100, "kernel_ratio", 2.2, 2.1, 2.3, 5, 0),
            ("mobilenet", "p100", "gpu", 64, 224, 100, "kernel_ratio", 1.05, 1.0, 1.1, 5, 0),
            ("mediumcnn-k1", "p100", "gpu", 64, 224, 100, "kernel_ratio", 0.9, 0.8, 1.0, 5, 0),
            ("vgg19", "t4", "gpu", 8, 224, 100, "kernel_ratio", 2.0, 1.9, 2.1, 5, 0),
        ],
        columns=OVERHEAD,
    )
    worst = number("fig9a", "kernel_ratio", hardware="p100", model="vgg19")
    least = number("fig9a", "kernel_ratio", hardware="p100", group="smallest")
    assert one(worst, overhead=overhead).verdict == "yes"
    assert one(least, overhead=overhead).ours.value == 1.05  # MediumCNN is in the other figure
    # Smaller batches than the paper's are another measurement.
    assert one(number("fig9a", "kernel_ratio", hardware="t4", model="vgg19"), overhead=overhead).verdict == "not run"


HEAD = ",".join(published.Number._fields)
GOOD = "t,m,d,h,v,,all,,churn,1,percent,5,,P,somewhere"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n", f"line 1: unexpected columns; expected {HEAD}"),
        (f"{HEAD}\nt,m\n", "line 2: 2 fields; expected 15"),
        (f"{HEAD}\n{GOOD.replace(',P,', ',M,')}\n", "line 2, evidence: found 'M'; allowed: P, C, R, W, D"),
        (f"{HEAD}\n{GOOD.replace('percent', 'miles')}\n", "line 2, unit: found 'miles'; allowed: "),
        (f"{HEAD}\n{GOOD.replace(',1,', ',one,')}\n", "line 2: could not convert string to float: 'one'"),
    ],
)
def test_a_wrong_file_of_published_numbers_is_refused_in_one_line(tmp_path, refused, text, line):
    path = tmp_path / "published.csv"
    path.write_text(text)
    assert refused(published.read, path).startswith(f"{path}: {line}")
    assert "no such file" in refused(published.read, tmp_path / "none.csv")
