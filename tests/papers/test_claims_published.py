"""Verdicts on claims: on the numbers that the papers published, with the figure of them."""

import collections
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from toolnoise.checks import parameters
from toolnoise.papers.claims import effects, judging
from toolnoise.papers.claims.judging import CERTAIN, CLAIMS, OPEN, REFUTED, SUPPORTED
from toolnoise.study import config, expected, grid, job_code
from toolnoise.study.cells import Whole
from toolnoise.study.expected import METRICS

JUDGED = {kind: METRICS[kind].columns for kind in job_code.JUDGED}

# Verdicts on the numbers that the papers published


CLAIMED = [{"name": name, **claim} for name, claim in config.registered("claims").items()]
BY_NAME = {claim["name"]: claim for claim in CLAIMED}


@pytest.fixture(scope="module")
def verdicts():
    rows = judging.verdicts(CLAIMED, judging.by_publication())
    return pd.DataFrame(rows, columns=list(CLAIMS))


@pytest.fixture(scope="module")
def whole(verdicts):
    return verdicts[verdicts["part"] == "all"].set_index("claim")


def test_every_claim_is_one_of_three_papers_and_says_where_it_is_made():
    papers = collections.Counter(claim["paper"] for claim in CLAIMED)
    assert set(papers) == {"Zhuang et al.", "Summers & Dinneen", "Pham et al."}
    assert papers["Zhuang et al."] > 40
    places = [claim["source"] for claim in CLAIMED]
    assert [place for place in places if not re.match(r"sections? [1-4]|abstract|mitigation table", place)] == []
    assert max(len(claim["says"]) for claim in CLAIMED) <= 65, "a line of the figure"


def test_of_table_2s_twenty_comparisons_five_are_below_five_percent_and_two_remain_after_holm():
    about = BY_NAME["small-cnn-sd"] | {"of": {"variant": ["algo", "impl"]}, "over": {"variant": "algo_impl"}}
    about |= {"where": {}, "parts": "any"}
    parts = pd.DataFrame(judging.verdicts([about], judging.by_publication()), columns=list(CLAIMS)).iloc[1:]
    assert len(parts) == 20
    parts = parts.assign(either=parts[["pvalue", "against"]].min(axis=1))
    below = parts[parts["either"] < 0.05].set_index("part")
    assert below["either"].round(3).to_dict() == {
        "smallcnn/cifar10/p100: algo over algo_impl": 0.047,
        "smallcnn/cifar10/p100: impl over algo_impl": 0.007,
        "smallcnn/cifar10/rtx5000: impl over algo_impl": 0.0,
        "smallcnn/cifar10/v100: impl over algo_impl": 0.004,
        "resnet18/cifar10/v100: algo over algo_impl": 0.001,
    }
    assert list(parts[parts["verdict"] == REFUTED]["part"]) == [
        "smallcnn/cifar10/rtx5000: impl over algo_impl",
        "resnet18/cifar10/v100: algo over algo_impl",
    ]
    assert SUPPORTED not in set(parts["verdict"])


@pytest.mark.parametrize(
    ("of", "over", "model", "ratio"),
    [
        ("impl", "algo_impl", "smallcnn", 0.32),
        ("impl", "algo", "resnet18", 1.14),
    ],
)
def test_table_2_pooled_over_gpus(of, over, model, ratio):
    sides = {"of": {"variant": of}, "over": {"variant": over}, "where": {"model": model}}
    claim = BY_NAME["small-cnn-sd"] | sides | {"parts": "pooled"}
    found, parts = effects.examine(claim, judging.by_publication())
    assert len(parts) == {"smallcnn": 3, "resnet18": 6}[model]
    assert found.effect.value == pytest.approx(ratio, abs=0.005)
    # The exact error of log s instead of its approximation: 5 % wider than 1 / sqrt(2 (n - 1)) at ten runs.
    half = 1.96 * np.sqrt(2 / 18 / len(parts))
    assert np.log(found.effect.high / found.effect.value) == pytest.approx(half * 1.057, rel=0.01)


def test_what_the_papers_numbers_can_and_cannot_show(whole):
    shown = {
        "mean-accuracy": OPEN,
        "small-sd": OPEN,
        "sd-without-impl": OPEN,
        "sd-without-algo": OPEN,
        "impl-noise": SUPPORTED,
        "resnet50-churn": OPEN,
        "algo-above-impl-churn": OPEN,
        "algo-above-impl-l2": "not published",
        "batch-norm-sd": SUPPORTED,
        "architecture-over-data": SUPPORTED,
        "class-sd-cifar10": OPEN,
        "class-sd-cifar100": OPEN,
        "groups-above-all": OPEN,
        "kernels-cost-at-most": OPEN,
        "churn-by-cores": "not published",
        "sources-alike-correlation": OPEN,
        "sources-alike-ensembles": OPEN,
        "sources-alike-cka": "not published",
        "one-bit-logits": OPEN,
        "one-bit-weights": "not published",
        "snapshots-variability": OPEN,
        "snapshots-augmented": OPEN,
        "every-library": "not published",
        "men-fnr": SUPPORTED,
        "men-fnr-beyond-size": OPEN,
        "old-accuracy": SUPPORTED,
        "rarity": SUPPORTED,
        "v100-churn": "not published",
        "snapshots-cross-entropy": SUPPORTED,
    }
    assert whole.loc[list(shown), "verdict"].to_dict() == shown


def test_phams_own_numbers_are_shown(whole):
    mine = whole[(whole["paper"] == "Pham et al.") & (whole["verdict"] != "not published")]
    assert mine["value"].round(3).to_dict() == {
        "default-accuracy": 10.8,
        "impl-accuracy": 2.9,
        "impl-class-accuracy": 52.4,
        "impl-below-default": 0.269,
        "training-time": 145.3,
    }
    assert mine["verdict"].to_dict() == {
        "default-accuracy": CERTAIN,
        "impl-accuracy": SUPPORTED,
        "impl-class-accuracy": SUPPORTED,
        "impl-below-default": CERTAIN,
        "training-time": CERTAIN,
    }


def test_an_interval_agrees_with_the_p_value_beside_it_and_stands_in_the_sentence(verdicts):
    """It lies on the claim's side, or on the other, exactly where the adjusted p-value is below 5 %."""
    tested = verdicts[verdicts["adjusted"].notna() & ~verdicts["note"].str.contains("only")]
    assert {"all"} < set(tested["part"])
    assert set(tested["test"]) == {"ratio", "level", "equivalence", "trend"}
    inside = (tested["claimed_low"] < tested["decides_low"]) & (tested["decides_high"] < tested["claimed_high"])
    outside = (tested["decides_high"] < tested["claimed_low"]) | (tested["decides_low"] > tested["claimed_high"])
    assert ((inside | outside) == (tested["adjusted"] < 0.05)).all()
    assert (inside == (tested["verdict"] == SUPPORTED)).all()
    assert {SUPPORTED, OPEN} <= set(tested["verdict"])
    # A ratio of two SDs whose ends are more than a factor of 20 apart has no interval: here that of five runs an arm.
    wide, shown = (tested[tested["decides_low"].isna() == missing] for missing in (True, False))
    assert set(wide["part"].str.partition(":")[0]) == {"resnet50-v15/imagenet/v100"}
    assert stats.f.isf(0.025 / 10, 4, 4) > 20, "of ten cells"
    of_sds = shown[shown["claim"].str.contains("sd-|-sd") & (shown["scale"] == "ratio")]
    assert (of_sds["decides_high"] < 20 * of_sds["decides_low"]).all() and len(of_sds)
    for row in wide.itertuples():
        assert "(no interval: too few runs to tell)" in judging.sentence(row)
    for row in shown.itertuples():
        ends = (row.decides_low, row.decides_high)
        found = re.search(r"\((\S+) to (\S+)\).*adjusted p (?:< )?([\d.]+)", judging.sentence(row, short=True))
        assert [float(number) for number in found.groups()[:2]] == [float(f"{end:.3g}") for end in ends]
        assert float(found[3]) == pytest.approx(row.adjusted, abs=0.001)


def test_one_sd_is_compared_with_a_number_by_chi_squared(verdicts):
    (found,) = verdicts.query("part == 'smallcnn/cifar10/v100/algo_impl' and claim == 'small-sd'").itertuples()
    assert (found.value, found.scale) == (pytest.approx(0.91), "points")
    ends = 0.91 * np.sqrt(9 / stats.chi2.ppf([0.975, 0.025], 9))
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(ends))
    assert found.pvalue == pytest.approx(2 * stats.chi2.cdf(9 * 0.91**2, 9))


def test_no_two_claims_contradict_each_other_on_one_contrast():
    assert contradictions(CLAIMED, judging.by_publication()) == []


def test_nor_do_they_on_a_finished_study(evidence):
    folder = evidence("gpu-h100")
    study = grid.load(folder / "study.json")
    files = {kind: folder / "metrics" / Path(name).name for kind, name in expected.collected(study).items()}
    read = judging.read_tables({kind: files[kind] for kind in JUDGED if kind in files}, JUDGED)
    assert len(read) >= 2
    judged = parameters.claims(study, Whole())
    claims = job_code.claims_with_those_of_papers(judged["claims"], config.registered("claims"))
    assert contradictions(claims, judging.by_study(read, judged["toolings"])) == []


def contradictions(claims, side):
    """The contrasts of arms of which two claims have opposite verdicts, where one may be the other's reciprocal."""
    rows = pd.DataFrame(judging.verdicts(claims, side), columns=list(CLAIMS))
    verdicts = rows[rows["part"] == "all"].set_index("claim")["verdict"]
    told = collections.defaultdict(set)
    for claim in claims:
        whole, each = effects.examine(claim, side)
        if whole and "direction" in claim and verdicts[claim["name"]] in (SUPPORTED, REFUTED):
            terms = [
                {subject: weight for (weight, _), subject in zip(part.terms, part.subjects, strict=True)}
                for shown in each
                for part in shown.parts
            ]
            sign = np.sign(min(terms[0].items())[1])
            compared = frozenset(frozenset((name, sign * weight) for name, weight in one.items()) for one in terms)
            is_above = (claim["direction"] in ("above", "rising")) == (verdicts[claim["name"]] == SUPPORTED)
            told[claim["measure"], claim.get("reference", 1), claim["parts"], compared].add(is_above == (sign > 0))
    assert told
    return [key for key, sides in told.items() if len(sides) > 1]


def test_a_mean_says_which_of_its_parts_disagree_and_what_is_for_every_tooling_is_refuted_by_one(evidence):
    """On an H200 the cost of determinism rises with the kernel's size in PyTorch, and falls in JAX."""
    folder = evidence("gpu-cost-h200")
    read = judging.read_tables({kind: [folder / f"metrics/{kind}.csv"] for kind in ("overhead", "kernels")}, JUDGED)
    toolings = parameters.claims(grid.load(folder / "study.json"), Whole())["toolings"]
    side = judging.by_study(read, toolings)
    found = pd.DataFrame(judging.verdicts(CLAIMED, side), columns=list(CLAIMS)).set_index(["claim", "part"])
    assert found.loc[("kernel-skew", "all"), "verdict"] == "supported"
    assert found.loc[("kernel-skew", "all"), "note"] == "of 8 parts, 4 supported and 4 refuted"
    assert found.loc[("cost-by-kernel-size", "all"), "verdict"] == "refuted"
    assert found.loc["cost-by-kernel-size"]["verdict"].tolist() == ["refuted", "supported", "refuted"]
    assert found.loc[("determinism-costs", "all"), "note"] == ""
