"""The numbers with which docs/published-errors.md argues, computed from the published ones and from null studies."""

import re

import numpy as np
import pandas as pd
import pytest

from toolnoise.base.program import ROOT
from toolnoise.stats.sd_ratio import largest_by_size

STUDIES, RUNS = 20_000, 10
BLOND_MEN, OTHER_MEN = 180, 7_535  # in CelebA's test set
IMAGENET = 76.6  # accuracy of ResNet-50 under IMPL, in %


@pytest.fixture(scope="module")
def page():
    return " ".join((ROOT / "docs/published-errors.md").read_text().split())


@pytest.fixture(scope="module")
def published():
    rows = pd.read_csv(ROOT / "resources/published.csv")
    return rows.set_index(["item", "variant", "group", "metric"]).sort_index()["value"]


def largest_ratios(classes, images, accuracy):
    """The largest SD of a class over the SD of accuracy, in studies whose examples all err alike and independently."""
    draw = np.random.Generator(np.random.Philox(23))
    batches = [draw.binomial(images, accuracy, (STUDIES // 20, RUNS, classes)) for _ in range(20)]
    return np.concatenate([right.std(axis=1).max(axis=1) / right.mean(axis=2).std(axis=1) for right in batches])


def test_the_shares_of_null_studies_are_those_of_simulation(page):
    hundred = largest_ratios(100, 100, 0.734)
    share = np.mean(hundred > 23)
    ten = largest_ratios(10, 1000, 0.933)
    medians = [f"{np.median(found):.1f}" for found in (ten, hundred)]
    assert f"medians of {' and '.join(medians)} for 10 and 100 equal classes" in page
    assert f"above 23 in {share:.0%} of null studies".replace("%", " %") in page
    assert f"{STUDIES:,} null studies" in page
    for found, sizes in ((ten, [1000] * 10), (hundred, [100] * 100)):
        assert np.median(found) == pytest.approx(largest_by_size(np.array(sizes), RUNS).value, rel=0.02)


def test_the_published_churn_cannot_be_agreement(page, published):
    churn = published["fig2", "impl", "all", "churn"].item()
    agreement = 2 * IMAGENET - 100
    assert churn < agreement
    assert f"at {IMAGENET} % accuracy two networks agree on at least {agreement:.0f} %, and churn is {churn} %" in page


def test_table_5_did_not_divide_false_negatives_by_negatives(page, published):
    most = 100 * BLOND_MEN / OTHER_MEN / 2 * np.sqrt(RUNS / (RUNS - 1))
    found = [published["table5", variant, "Male", "fnr_sd"].item() for variant in ("algo_impl", "algo", "impl")]
    assert min(found) > most
    assert f"is at most {most:.1f} points; it has {min(found):.1f} to {max(found):.1f}" in page


def columns_that_fit(published, cut):
    """The columns of table 5 whose SD over all can be one number for each printed SD and ratio, rounded or cut off."""
    fitting = 0
    for rate in ("accuracy", "fpr", "fnr"):
        for variant in ("algo_impl", "algo", "impl"):
            bounds = [spread(published["table5", variant, "all", f"{rate}_sd"].item(), 3, cut)]
            for group in ("Male", "Female", "Young", "Old"):
                sd = spread(published["table5", variant, group, f"{rate}_sd"].item(), 3, cut)
                ratio = spread(published["table5", variant, group, f"{rate}_sd_ratio"].item(), 2, cut)
                bounds.append((sd[0] / ratio[1], sd[1] / ratio[0]))
            lows, highs = zip(*bounds, strict=True)
            fitting += max(lows) <= min(highs)
    return fitting


def spread(printed, digits, cut):
    """The range of values that are printed so."""
    unit = 10.0**-digits
    return (printed, printed + unit) if cut else (printed - unit / 2, printed + unit / 2)


def test_three_columns_of_table_5_fit_their_ratios_only_if_digits_were_cut_off(page, published):
    assert columns_that_fit(published, cut=False) == 6
    assert columns_that_fit(published, cut=True) == 9
    assert re.search("Three of table 5's nine columns fit their ratios only if digits were cut off", page)
