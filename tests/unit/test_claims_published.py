"""Verdicts on the numbers that the papers published."""

import collections

import numpy as np
import pandas as pd
import pytest

from toolnoise.claims import judging
from toolnoise.claims.judging import CLAIMS, OPEN, SUPPORTED
from toolnoise.study import config, published

CLAIMED = [{"name": name, **claim} for name, claim in config.registered("claims").items()]


@pytest.fixture(scope="module")
def verdicts():
    rows = judging.verdicts(CLAIMED, judging.by_publication())
    return pd.DataFrame(rows, columns=list(CLAIMS))


@pytest.fixture(scope="module")
def whole(verdicts):
    return verdicts[verdicts["part"] == "all"].set_index("claim")


def test_there_are_about_25_claims_of_three_papers_each_with_its_source():
    assert 25 <= len(CLAIMED) <= 35
    papers = collections.Counter(claim["paper"] for claim in CLAIMED)
    assert set(papers) == {"Zhuang et al.", "Summers & Dinneen", "Pham et al."}
    assert all(claim["source"] != "the study file" for claim in CLAIMED)


def test_every_claim_has_one_verdict(whole):
    assert list(whole.index) == [claim["name"] for claim in CLAIMED]
    assert set(whole["verdict"]) <= {SUPPORTED, OPEN, "refuted", "not published"}


def test_published_items_exist():
    items = {judging._item(number) for path in judging.NUMBERS for number in published.read(path)}
    assert {item for claim in CLAIMED for item in claim.get("published", {}).get("items", ())} <= items


def test_of_table_2s_twenty_comparisons_five_are_below_five_percent_and_two_remain_after_holm(verdicts):
    parts = verdicts[(verdicts["claim"] == "sd-by-source") & (verdicts["part"] != "all")]
    assert len(parts) == 20
    below = parts[parts["pvalue"] < 0.05].set_index("part")
    assert below["pvalue"].round(3).to_dict() == {
        "smallcnn/cifar10/p100: algo over algo_impl": 0.047,
        "smallcnn/cifar10/p100: impl over algo_impl": 0.007,
        "smallcnn/cifar10/rtx5000: impl over algo_impl": 0.0,
        "smallcnn/cifar10/v100: impl over algo_impl": 0.004,
        "resnet18/cifar10/v100: algo over algo_impl": 0.001,
    }
    assert list(parts[parts["verdict"] == SUPPORTED]["part"]) == [
        "smallcnn/cifar10/rtx5000: impl over algo_impl",
        "resnet18/cifar10/v100: algo over algo_impl",
    ]


@pytest.mark.parametrize(
    ("of", "over", "model", "ratio"),
    [
        ("impl", "algo_impl", "smallcnn", 0.32),
        ("algo", "algo_impl", "smallcnn", 0.76),
        ("impl", "algo_impl", "resnet18", 0.92),
        ("algo", "algo_impl", "resnet18", 0.81),
        ("impl", "algo", "resnet18", 1.14),
    ],
)
def test_table_2_pooled_over_gpus(of, over, model, ratio):
    claim = next(claim for claim in CLAIMED if claim["name"] == "both-above-algo-sd")
    claim = claim | {"of": {"variant": of}, "over": {"variant": over}, "where": {"model": model}}
    found, parts = judging.examine(claim, judging.by_publication())
    assert len(parts) == {"smallcnn": 3, "resnet18": 6}[model]
    assert found.effect.value == pytest.approx(ratio, abs=0.005)
    # The exact error of log s instead of its approximation: 5 % wider than 1 / sqrt(2 (n - 1)) at ten runs.
    half = 1.96 * np.sqrt(2 / 18 / len(parts))
    assert np.log(found.effect.high / found.effect.value) == pytest.approx(half * 1.057, rel=0.01)


def test_what_the_papers_numbers_can_and_cannot_show(whole):
    assert (
        whole["verdict"].to_dict()
        | {
            "both-above-impl-sd": SUPPORTED,
            "algo-above-impl-sd": OPEN,
            "algo-like-impl-churn": OPEN,
            "batch-norm-sd": SUPPORTED,
            "tooling-sd": OPEN,
            "v100-noisiest-sd": OPEN,
            "men-fnr": SUPPORTED,
            "men-fnr-beyond-size": OPEN,
            "rarity": SUPPORTED,
            "snapshots-cross-entropy": SUPPORTED,
            "algo-above-impl-l2": "not published",
        }
        == whole["verdict"].to_dict()
    )


def test_an_open_verdict_has_the_runs_that_it_would_need(whole):
    told = whole[(whole["verdict"] == OPEN) & whole["pvalue"].notna()]
    assert len(told) > 5
    assert (told["n_needed"] > told["n_units"]).all()
    assert whole.loc["both-above-impl-sd", "n_needed"] != whole.loc["both-above-impl-sd", "n_needed"], "decided"


def test_a_number_without_a_spread_is_shown_and_decides_nothing(whole):
    churn = whole.loc["algo-like-impl-churn"]
    assert churn["value"] == pytest.approx(14.68 / 14.89)
    assert churn["note"] == "no spread is published"
    assert np.isnan(churn["adjusted"])


def test_the_claim_on_l2_says_that_it_is_nearly_trivial(whole):
    assert "√2" in whole.loc["algo-above-impl-l2", "note"]
