"""Stability of a cell's runs, and how its measures are declared."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import special, stats

from toolnoise import streams
from toolnoise.formulas import variance_components
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.churn import churn
from toolnoise.formulas.declared import METRICS, USUAL, bounded, labels
from toolnoise.formulas.groups import (
    by_difficulty,
    rates,
    sd_ratio,
)
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import apart
from toolnoise.measures.by_draw import grouped, over_draws
from toolnoise.programs import program_measures as of_programs
from toolnoise.stats.estimates import Estimate, equal_runs_sd, mean_t, sd_chi2
from toolnoise.stats.jackknife import pairwise_jackknife

STREAM = streams.key(0, "init", 1)
LABELS = np.arange(60) % 3


def noisy(runs):
    rng = np.random.Generator(np.random.Philox(1))
    logits = rng.normal(size=(runs, 60, 3)) + 2 * np.eye(3)[LABELS]
    return logits.astype(np.float32), rng.normal(size=(runs, 40)).astype(np.float32)


def every_row(logits, labels, groups, vectors):
    predicted, one_draw = predictions(logits), [np.arange(len(logits))]
    given = labels, logits.shape[-1], groups
    rows = stability(predicted, *given, apart(vectors), STREAM, scores=logits)
    return rows + of_all_draws(predicted, *given, one_draw, rows)


def measured(logits, vectors, labels=LABELS, groups=None):
    rows = every_row(logits, labels, groups or {}, vectors)
    found = {(metric, group): estimate for metric, group, estimate in rows}
    assert len(found) == len(rows)
    return found


SIMILARITIES = {"correlation_pearson", "correlation_spearman", "cka", "cka_debiased"}
RATIOS = ("sd_ratio", "sd_ratio_null", "sd_ratio_holm", "sd_ratio_difficulty_null", "sd_ratio_difficulty_holm")


def test_every_row_is_there_whatever_the_number_of_runs():
    labels, groups = np.arange(60) % 2, {"Old": np.arange(60) < 20, "Nobody": np.zeros(60, bool)}
    found = [measured(logits[..., :2], vectors, labels, groups).keys() for logits, vectors in map(noisy, (0, 1, 3))]
    assert found[0] == found[1] == found[2]
    assert {group for _, group in found[0]} == {"all", "0", "1", *groups}


def test_a_sub_group_is_measured_on_its_own_examples_against_all():
    logits, vectors = noisy(8)
    labels, old = np.arange(60) % 2, np.arange(60) < 20
    found = measured(logits[..., :2], vectors, labels, {"Old": old})
    predicted = predictions(logits[..., :2])
    part, whole = (rates(predicted, labels, 2, member)["fnr"] for member in (old, np.ones(60, bool)))
    assert found["fnr_sd", "Old"] == sd_chi2(part.values)
    assert found["fnr_sd_ratio", "Old"] == sd_ratio([part], [whole])
    assert found["churn", "Old"] == pairwise_jackknife(churn(predicted[:, old])).within(0, 1)
    shares = special.softmax(logits[..., :2].astype(np.float64), axis=-1)
    losses = -np.log(shares[:, np.arange(20), labels[:20]]).mean(axis=1)
    assert found["cross_entropy_mean", "Old"].value == pytest.approx(losses.mean())
    assert found["cross_entropy_sd", "Old"].value == pytest.approx(losses.std(ddof=1))
    assert found["fnr_sd_ratio_null", "Old"].value == np.sqrt(30 / 10)
    assert found["fnr_sd_ratio_difficulty_null", "Old"] == pytest.approx(by_difficulty([part], [whole]).range(7))


def test_without_runs_everything_is_undefined_and_one_run_has_accuracies_and_nothing_else():
    for (metric, _), estimate in measured(*noisy(0)).items():
        expected = metric == "accuracy_sd_ratio_null"  # follows from the numbers of examples
        assert np.isnan(estimate).tolist() == [not expected, True, True]
    defined = ("accuracy_mean", "cross_entropy_mean", "accuracy_sd_ratio_null", "accuracy_sd_binomial_null")
    for (metric, _), (value, low, high) in measured(*noisy(1)).items():
        assert np.isnan([value, low, high]).tolist() == [metric not in defined, True, True]


def test_each_metric_is_the_one_that_its_name_says():
    logits, vectors = noisy(8)
    predicted, found = logits.argmax(axis=2), measured(logits, vectors)
    overall = np.mean(predicted == LABELS, axis=1)
    per_class = np.mean((predicted == LABELS)[:, LABELS == 1], axis=1)
    losses = -np.log(special.softmax(logits.astype(np.float64), axis=-1)[:, np.arange(60), LABELS]).mean(axis=1)
    directions = vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    flat = logits.reshape(8, -1)
    pairs = list(itertools.combinations(range(8), 2))
    wanted = {
        ("accuracy_mean", "all"): overall.mean(),
        ("accuracy_sd", "all"): overall.std(ddof=1),
        ("accuracy_mean", "1"): per_class.mean(),
        ("accuracy_sd_robust", "1"): per_class.std(ddof=1),
        ("accuracy_sd_ratio", "1"): per_class.std() / overall.std(),
        ("accuracy_sd_ratio_null", "1"): np.sqrt(60 / 20),
        ("accuracy_sd_binomial_null", "all"): np.sqrt(overall.mean() * (1 - overall.mean()) / 60),
        ("cross_entropy_mean", "all"): losses.mean(),
        ("cross_entropy_sd", "all"): losses.std(ddof=1),
        ("churn", "all"): np.mean([np.mean(predicted[a] != predicted[b]) for a, b in pairs]),
        ("churn_new_examples", "all"): np.mean([np.mean(predicted[a] != predicted[b]) for a, b in pairs]),
        ("l2_raw", "all"): np.mean([np.linalg.norm(vectors[a].astype(float) - vectors[b]) for a, b in pairs]),
        ("l2_unit", "all"): np.mean([np.linalg.norm(directions[a] - directions[b]) for a, b in pairs]),
        ("correlation_pearson", "all"): np.mean([np.corrcoef(flat[a], flat[b])[0, 1] for a, b in pairs]),
        ("correlation_spearman", "all"): np.mean([stats.spearmanr(flat[a], flat[b]).statistic for a, b in pairs]),
        ("ensemble_accuracy_change", "all"): np.mean(
            [
                np.mean((logits[a] + logits[b]).argmax(axis=1) == LABELS) - (overall[a] + overall[b]) / 2
                for a, b in pairs
            ]
        ),
    }
    assert {key: found[key].value for key in wanted} == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_bit_equal_runs_have_no_noise_and_no_intervals_and_a_row_says_why(runs):
    logits, vectors = noisy(1)
    found = measured(np.repeat(logits, runs, axis=0), np.repeat(vectors, runs, axis=0))
    for (metric, _), (value, low, high) in found.items():
        if metric in SIMILARITIES | {"bit_equal"}:
            assert value == 1
        elif metric in {f"accuracy_{ratio}" for ratio in RATIOS} - {"accuracy_sd_ratio_null"}:
            assert np.isnan(value)  # nothing over nothing
        elif not metric.endswith(("_null", "_mean")):
            assert value == 0
        # What is expected of the size of a part alone has a range.
        assert metric.endswith("_null") or np.isnan([low, high]).all()


def test_runs_that_differ_have_no_interval_without_width():
    # Right on all examples with other logits, and wrong on as many of a class.
    logits, vectors = noisy(5)
    logits[:, LABELS == 0] += 99 * np.eye(3, dtype=np.float32)[0]
    found = measured(logits, vectors)
    assert found["accuracy_sd", "0"] == found["accuracy_sd_robust", "0"] == equal_runs_sd(5, 1 / 20)
    assert found["accuracy_mean", "0"] == pytest.approx((1, 1 - 3.689 / 100, 1), rel=1e-3)
    assert not [key for key, estimate in found.items() if estimate.low == estimate.high]
    same = measured(logits[:, LABELS == 0], vectors, LABELS[LABELS == 0])
    assert_equal(same["churn", "all"], Estimate(0.0, np.nan, np.nan))


def test_a_class_without_examples_is_undefined_and_disturbs_nothing():
    logits, vectors = noisy(4)
    logits[..., 2] = -9
    padded = np.pad(logits, ((0, 0), (0, 0), (0, 1)), constant_values=-9)
    wider = measured(padded, vectors)
    # Correlation and cross-entropy are of the logits, and see one more of them.
    of_scores = {"cka", "cka_debiased", "correlation_pearson", "correlation_spearman", "ensemble_cross_entropy_change"}
    of_scores |= {f"cross_entropy_{what}" for what in ("mean", "sd", "sd_robust")}
    for key, estimate in measured(logits, vectors).items():
        if key[0] not in of_scores:
            assert_equal(wider[key], estimate)
    empty = [estimate for (_, group), estimate in wider.items() if group == "3"]
    assert len(empty) == 3 + len(RATIOS)
    assert np.isnan(empty).all()


# Every measure of a cell is declared, and its declaration alone decides on its range and its rule over draws


DRAWN = [{"init": run // 3, "impl": run % 3} for run in range(12)]
FEW_LABELS = np.arange(40) % 2
GROUPS = {"some": np.arange(40) < 25}
LOGITS = np.random.default_rng(1).normal(size=(12, 40, 2)).astype(np.float32)


def test_every_row_of_a_cell_is_declared_and_nothing_else_is():
    together = grouped(DRAWN)
    predicted, vectors = predictions(LOGITS), np.random.default_rng(2).normal(size=(12, 7))
    weights = [apart(vectors[some]) for some in together.groups]
    of_draws = list(zip(together.groups, weights, strict=True))
    given = FEW_LABELS, 2, GROUPS
    found = over_draws(
        [stability(predicted[some], *given, mine, STREAM, scores=LOGITS[some]) for some, mine in of_draws]
    )
    found += of_all_draws(predicted, *given, together.groups, found)
    found += variance_components.rows(predicted, FEW_LABELS, together.table, together.crossed)
    everyone = {"all": np.ones(40, bool)}
    for how, numbers in (
        (of_programs.Errors(FEW_LABELS), LOGITS[:, :, 0]),
        (of_programs.Losses(), np.abs(LOGITS[:, :, 0])),
    ):
        found += over_draws([of_programs.stability(how, numbers[some], everyone, mine) for some, mine in of_draws])
    assert {metric for metric, *_ in found} | {"n_draws"} == METRICS.keys()
    for metric, _, estimate in found:
        np.testing.assert_equal(estimate.within(*METRICS[metric].range), estimate, metric)


def over(metric, declared, *found):
    ((*_, estimate),) = over_draws([[(metric, "all", of_draw)] for of_draw in found], declared)
    return estimate


def test_a_measure_that_nobody_declared_is_an_error_and_a_program_declares_its_own():
    found = [Estimate(value, np.nan, np.nan) for value in (0.1, 0.2)]
    with pytest.raises(KeyError, match="unheard_of"):
        over("unheard_of", METRICS, *found)
    with pytest.raises(KeyError, match="unheard_of"):
        bounded([("unheard_of", "all", found[0])])
    assert set(USUAL) <= labels().keys(), "the usual columns of the page"
    # Those of a training program may have any name.
    declared = of_programs.declared_as(["accuracy", "loss_sd_ratio"])
    found = [Estimate(value, np.nan, np.nan) for value in (93.5, 91.0, 92.0)]
    for metric in ("accuracy_mean", "loss_sd_ratio_mean"):
        assert over(metric, declared, *found) == mean_t(np.array([93.5, 91.0, 92.0]))  # in per cent
