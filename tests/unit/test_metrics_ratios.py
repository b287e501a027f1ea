"""Ratios of noise against plain recomputation from predictions."""

import itertools

import numpy as np
import pytest
from scipy import stats

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.formulas.churn import normalised_churn, pairwise_churn
from toolnoise.formulas.ratios import Runs, ratios
from toolnoise.measures.by_draw import churns, grouped

EXAMPLES = 300
LABELS = np.arange(EXAMPLES) % 4


def drawn(draw, run):
    return dict.fromkeys(ALGORITHMIC, draw) | {"impl": run}


ALGO = [drawn(seed, 0) for seed in (1, 2, 3, 4, 5)]
IMPL = [drawn(draw, run) for draw in (1, 2, 3, 4) for run in (1, 2, 3)]


def predictions(runs, seed):
    """Predictions that depend on the draw, and a little on the run."""
    changes = np.random.Generator(np.random.Philox(seed))
    of_draw = {draw: np.where(changes.random(EXAMPLES) < 0.8, LABELS, (LABELS + 1) % 4) for draw in range(1, 6)}
    found = []
    for one in runs:
        moved = changes.random(EXAMPLES) < 0.01 * changes.integers(3, 9)
        found.append(np.where(moved, changes.integers(0, 4, EXAMPLES), of_draw[one["init"]]))
    return np.array(found)


def runs_of(drawn_runs, predicted):
    accuracies = (predicted == LABELS).mean(axis=1)
    values = {metric: found for metric, _, found in churns(grouped(drawn_runs), predicted, LABELS, {})}
    return Runs(drawn_runs, values | {"accuracy": accuracies, "cross_entropy": 1 - accuracies**2})


def of_pairs(distance):
    def noise(predicted):
        return np.mean([distance(*both) for both in itertools.combinations(predicted, 2)])

    return noise


def churn(a, b):
    return np.mean(a != b)


def normalised(a, b):
    return normalised_churn(pairwise_churn(np.array([a, b])), np.array([churn(a, LABELS), churn(b, LABELS)]))[0, 1]


def sd(predicted):
    return np.std((predicted == LABELS).mean(axis=1), ddof=1)


PLAIN = {"churn": of_pairs(churn), "churn_normalised": of_pairs(normalised), "accuracy_sd": sd}


def of_draws(runs, predicted, noise, metric):
    """The noise within the runs of each draw, averaged: SDs as variances."""
    draws = np.array([one["init"] for one in runs])
    found = np.array([noise(predicted[draws == draw]) for draw in np.unique(draws)])
    return np.sqrt(np.mean(found**2)) if metric.endswith("sd") else found.mean()


CHURNS = ("churn", "churn_normalised")


@pytest.mark.parametrize("metric", CHURNS)
def test_paired_runs_are_left_out_of_both(metric):
    one, other = predictions(ALGO, 1), predictions(ALGO, 2)
    found = ratios(runs_of(ALGO, one), runs_of(ALGO, other))
    assert found[1:] == (5, 5, "paired")
    noise = PLAIN[metric]
    logarithms = np.log([noise(np.delete(one, run, 0)) / noise(np.delete(other, run, 0)) for run in range(5)])
    error = np.sqrt(4 / 5 * np.sum((logarithms - logarithms.mean()) ** 2))
    ratio = noise(one) / noise(other)
    ends = ratio * np.exp(stats.t.ppf([0.025, 0.975], 4) * error)
    np.testing.assert_allclose(found.estimates[metric], [ratio, *ends], rtol=1e-9)


def test_paired_sds_have_the_interval_of_pitman_and_morgan():
    one, other = predictions(ALGO, 1), predictions(ALGO, 2)
    found = ratios(runs_of(ALGO, one), runs_of(ALGO, other)).estimates["accuracy_sd"]
    assert found.value == pytest.approx(sd(one) / sd(other))
    # At a bound, the sum and the difference of the scaled runs correlate so that the test has a p-value of 5 %.
    first, second = ((predicted == LABELS).mean(axis=1) for predicted in (one, other))
    for bound in found[1:]:
        assert stats.pearsonr(first + bound * second, first - bound * second).pvalue == pytest.approx(0.05)


@pytest.mark.parametrize("metric", CHURNS)
def test_a_draw_moves_both_cells_and_the_run_without_a_partner_moves_its_own(metric):
    impl, algo = predictions(IMPL, 3), predictions(ALGO, 4)
    found = ratios(runs_of(IMPL, impl), runs_of(ALGO, algo))
    assert found[1:] == (4, 5, "paired")
    noise, draws = PLAIN[metric], np.array([one["init"] for one in IMPL])
    within = np.array([noise(impl[draws == draw]) for draw in (1, 2, 3, 4)])
    among = np.log([noise(np.delete(algo, run, 0)) for run in range(5)])
    moved = np.zeros(5)
    moved[:4] = (within / within.mean() - 1) / np.sqrt(4 * 3)
    # A cell is noisier without a run that is quieter than the others.
    error = np.sqrt(np.sum((moved + np.sqrt(4 / 5) * (among - among.mean())) ** 2))
    ratio = of_draws(IMPL, impl, noise, metric) / noise(algo)
    ends = ratio * np.exp(stats.t.ppf([0.025, 0.975], 3) * error)
    np.testing.assert_allclose(found.estimates[metric], [ratio, *ends], rtol=1e-9)


def test_an_sd_within_draws_has_one_degree_of_freedom_fewer_than_draws():
    impl, algo = predictions(IMPL, 3), predictions(ALGO, 4)
    found = ratios(runs_of(IMPL, impl), runs_of(ALGO, algo)).estimates["accuracy_sd"]
    ratio = of_draws(IMPL, impl, sd, "accuracy_sd") / sd(algo)
    ends = ratio / np.sqrt(stats.f.ppf([0.975, 0.025], 3, 4))
    np.testing.assert_allclose(found, [ratio, *ends], rtol=1e-9)


def test_runs_without_a_common_draw_are_independent():
    others = [drawn(seed, 0) for seed in (11, 12, 13, 14)]
    one, other = predictions(ALGO, 1), predictions([drawn(seed - 10, 0) for seed in (11, 12, 13, 14)], 5)
    found = ratios(runs_of(ALGO, one), runs_of(others, other))
    assert found[1:] == (5, 4, "independent")
    assert found.estimates["churn"].low < found.estimates["churn"].value < found.estimates["churn"].high


def test_one_draw_has_a_ratio_for_that_draw_and_no_interval():
    fixed = [drawn(0, run) for run in range(4)]
    predicted = predictions([drawn(1, run) for run in range(4)], 6)
    found = ratios(runs_of(fixed, predicted), runs_of(ALGO, algo := predictions(ALGO, 7)))
    assert found[1:] == (1, 5, "one draw")
    value, low, high = found.estimates["churn"]
    assert value == pytest.approx(PLAIN["churn"](predicted) / PLAIN["churn"](algo), rel=1e-12)
    assert np.isnan([low, high]).all()


def test_control_is_exactly_no_noise_and_no_ratio_has_it_below():
    control = runs_of([drawn(0, 0)] * 3, np.repeat(predictions([drawn(1, 0)], 8), 3, axis=0))
    algo = runs_of(ALGO, predictions(ALGO, 7))
    for estimate in ratios(control, algo).estimates.values():
        assert estimate.value == 0
        assert np.isnan(estimate.low)
    assert np.isnan([estimate.value for estimate in ratios(control, control).estimates.values()]).all()


def test_draws_that_the_other_cell_ties_together_have_no_interval():
    tied = [drawn(draw, 0) | {"init": 10} for draw in (1, 2)] + [drawn(draw, 0) | {"init": 11} for draw in (3, 4)]
    found = ratios(runs_of(ALGO, predictions(ALGO, 1)), runs_of(tied, predictions(ALGO[:4], 2)))
    assert found[1:] == (5, 2, "crossed")
    assert np.isnan(found.estimates["churn"].low)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_runs_are_no_error(count):
    few = runs_of(ALGO[:count], predictions(ALGO, 1)[:count])
    estimate = ratios(few, runs_of(ALGO, predictions(ALGO, 2))).estimates["churn"]
    assert np.isnan(estimate.value) == (count < 2)
    assert np.isnan(estimate.low)


def test_cells_of_the_same_runs_bit_by_bit_are_said_to_be_and_have_no_interval():
    one = runs_of(ALGO, predicted := predictions(ALGO, 1))
    prints = np.arange(5.0)
    same, unlike = (Runs(ALGO, one.values | {"fingerprint": marks}) for marks in (prints, prints + 1))
    found = ratios(same, same)
    assert found.design == "bit-equal"
    assert found.estimates["churn"].value == 1
    assert np.isnan(found.estimates["churn"].low)
    assert ratios(same, unlike).design == "paired"
    assert ratios(one, runs_of(ALGO, predicted)).design == "paired"
