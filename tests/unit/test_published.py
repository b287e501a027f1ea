"""The published numbers, as they are read and what they say of each other."""

from collections import Counter

import pytest

from toolnoise.study import config, published

NUMBERS = published.read()


def test_every_number_of_the_tables_is_there():
    assert Counter(number.item for number in NUMBERS) == {
        "table2": 10 * 3 * 2,
        "table3": 8 + 8,
        "table4": 4 * 3,
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


def test_what_is_derived_is_tagged_as_inferred_and_the_source_of_every_inference_is_told():
    assert all("value" in one.inferred.split() for one in NUMBERS if one.evidence == "D")
    inferred = Counter(tag for one in NUMBERS for tag in one.inferred.split())
    # 30 SDs of table 2, 3 of figure 2 and 2 of figure 3; largest and smallest of the ranges of figures 9a and 9b.
    assert inferred == {"ddof": 35, "variant": 2, "model": 8, "value": 4 + 3}
    assert all(one.source.partition(";")[2] for one in NUMBERS if one.inferred)


def test_every_tooling_with_a_number_is_of_the_kind_that_numbers_are_compared_on():
    registry = config.registered("hardware")
    named = {one.hardware for one in NUMBERS if one.hardware}
    assert {registry[name]["accelerator"] for name in named} == {published.ACCELERATOR}


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


def test_the_shares_of_table_3_are_its_counts_over_those_of_table_4():
    counts = {one[6:8]: one.amount for one in NUMBERS if one.item == "table3" and one.metric == "count"}
    shares = {one[6:8]: one.amount for one in NUMBERS if one.metric == "share"}
    assert shares.keys() == counts.keys()
    for part, share in shares.items():
        # Blond men are 0.852 %, printed as 0.8 %; the others are rounded to one decimal.
        slip = 0.0005 if part == ("Male", "1") else 0
        assert share == pytest.approx(counts[part] / 162770, abs=0.0005 + slip)


HEAD = ",".join(published.Number._fields)
GOOD = "t,m,d,h,v,,all,,churn,1,percent,5,,P,,somewhere"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n", f"line 1: unexpected columns; expected {HEAD}"),
        (f"{HEAD}\nt,m\n", "line 2: 2 fields; expected 16"),
        (f"{HEAD}\n{GOOD.replace(',P,', ',M,')}\n", "line 2, evidence: found 'M'; allowed: P, C, R, W, D"),
        (f"{HEAD}\n{GOOD.replace('percent', 'miles')}\n", "line 2, unit: found 'miles'; allowed: "),
        (f"{HEAD}\n{GOOD.replace(',P,,', ',P,colour,')}\n", "line 2, inferred: found 'colour'; allowed: item, model, "),
        (f"{HEAD}\n{GOOD.replace(',1,', ',one,')}\n", "line 2: could not convert string to float: 'one'"),
    ],
)
def test_a_wrong_file_of_published_numbers_is_refused_in_one_line(tmp_path, refused, text, line):
    path = tmp_path / "published.csv"
    path.write_text(text)
    assert refused(published.read, path).startswith(f"{path}: {line}")
    assert "no such file" in refused(published.read, tmp_path / "none.csv")
