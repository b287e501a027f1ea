"""Draws: what is independent for every combination of variants, and how a measure of one draw becomes one of all."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise.base import noise_sources
from toolnoise.base.spec import Spec
from toolnoise.comparison import designs
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import apart
from toolnoise.measures.by_draw import distances, grouped, over_draws
from toolnoise.stats import draws
from toolnoise.stats.estimates import Estimate, mean_t
from toolnoise.stats.spread import root_mean_square
from toolnoise.study.variants import VARIANTS

# What is independent, for every combination of variants


def spec_of(varying, noise, **more):
    hardware = {"name": "cpu", "engine": "tensorflow", "impl_noise": noise}
    parts = {"model": {"name": "m"}, "recipe": {}, "hardware": hardware, "variant": {"name": "v", "varying": varying}}
    return Spec.read({"study_seed": 0, "seed": 0, **parts, **more})


def drawn(variant, seeds, noise="reduction-order", **more):
    """The draws of runs of a variant, as a dump has them."""
    found = noise_sources.draws(spec_of(VARIANTS[variant], noise, **more), seeds)
    return [{source: numbers and numbers[run] for source, numbers in found.items()} for run in range(len(seeds))]


FREE = ("algo", "algo_impl")  # variants that fix no algorithmic source


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations_with_replacement(VARIANTS, 2)))
def test_units_of_two_variants_are_their_common_algorithmic_draws(one, other):
    seeds = [1, 2, 3, 4, 5]
    a, b = draws.units(drawn(one, seeds), drawn(other, seeds))
    both_free = one in FREE and other in FREE
    if both_free:
        np.testing.assert_array_equal(a, b)  # paired: run s of one belongs to run s of the other
    for units, variant, beside in ((a, one, other), (b, other, one)):
        # One draw, unless every algorithmic source varies and the other does not tie the runs together.
        tied = beside in noise_sources.ALGORITHMIC
        assert len(set(units)) == (5 if variant in FREE and not tied else 1), (variant, beside)


def test_draws_of_a_variant_are_units_and_pair_with_algo():
    impl, algo = drawn("impl", [10001, 10002, 20001, 20002], draw=1), drawn("algo", [1, 2, 3])
    a, b = draws.units(impl, algo)
    assert a.tolist() == [0, 0, 1, 1]
    assert b.tolist() == [0, 1, 2]


def test_data_has_a_draw_only_where_it_may_vary_and_then_one_of_its_own_in_every_run():
    assert "data" not in drawn("algo_impl", [1])[0]
    assert [run["data"] for run in drawn("data", [1, 2])] == [1, 2]
    # Run 1 of two draws trains on two samples, as its seed says, so draws stay units.
    several = drawn("data", [10001, 10002, 20001], draw=1)
    assert [run["data"] for run in several] == [10001, 10002, 20001]
    assert draws.units(several)[0].tolist() == [0, 0, 1]


def test_native_noise_is_drawn_anew_and_makes_no_unit():
    runs = drawn("algo_impl", [1, 2], noise="native")
    assert [run["impl"] for run in runs] == [None, None]
    assert draws.units(runs)[0].tolist() == [0, 1]


@pytest.mark.parametrize("variant", FREE)
def test_run_s_of_two_toolings_share_every_algorithmic_draw(variant):
    one, other = drawn(variant, [1, 2, 3], noise="reduction-order"), drawn(variant, [1, 2, 3], noise="native")
    plan = designs.design(*draws.units(one, other))
    assert plan.way == "paired"
    assert designs.shared_between(plan, one, other) == list(noise_sources.ALGORITHMIC)


def test_what_is_bit_identical_is_one_run():
    assert draws.merged(np.array([0, 1, 2, 3]), ["x", "y", "x", "z"]).tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize(
    ("a", "b", "way", "compared", "shared"),
    [
        ([0, 1, 2], [0, 1, 2], "paired", ([0, 1, 2], [0, 1, 2]), 3),
        ([0, 1, 2, 3], [1, 1, 2, 4], "partly paired", ([1, 2, 0, 3], [1, 2, 4]), 2),
        ([0, 1], [2, 3, 3], "two draws", ([0, 1], [2, 3]), 0),
        ([0, 1, 2], [3, 4, 5], "independent", ([0, 1, 2], [3, 4, 5]), 0),
        ([0, 1, 2], [2, 3, 4], "partly paired", ([2, 0, 1], [2, 3, 4]), 1),
        ([0, 1, 2], [2, 3], "two draws", ([2, 0, 1], [2, 3]), 1),
        ([0, 1], [0, 1, 2], "two draws", ([0, 1], [0, 1, 2]), 2),
        ([0, 1], [0, 1], "paired", ([0, 1], [0, 1]), 2),
        ([0, 1, 2], [3, 3], "one draw", ([0, 1, 2], [3]), 0),
        ([0, 1, 2], [2, 2], "one draw", ([2, 0, 1], [2]), 1),
        ([0, 0], [0], "one draw", ([0], [0]), 1),
    ],
)
def test_the_design_follows_from_the_units_of_both_arms(a, b, way, compared, shared):
    found = designs.design(np.array(a), np.array(b))
    assert (found.way, found.shared) == (way, shared)
    assert (found.units_a.tolist(), found.units_b.tolist()) == compared


@pytest.mark.parametrize(("paired", "way"), [(True, "paired"), (False, "independent")])
def test_what_is_assumed_of_runs_without_draws_ties_them(paired, way):
    a, b = draws.units(designs.assumed(3, paired=paired), designs.assumed(3, paired=paired))
    assert designs.design(a, b).way == way


def test_shared_sources_are_those_with_one_draw_in_all_runs():
    assert draws.shared(drawn("init", [1, 2])) == ["shuffle", "augment", "dropout"]
    assert draws.shared(drawn("impl", [1, 2])) == list(noise_sources.ALGORITHMIC)
    algo, both = drawn("algo", [1, 2, 3]), drawn("algo_impl", [2, 3, 4])
    plan = designs.design(*draws.units(algo, both))
    assert designs.shared_between(plan, algo, both) == list(noise_sources.ALGORITHMIC)
    apart = designs.design(*draws.units(algo, drawn("algo", [7, 8])))
    assert designs.shared_between(apart, algo, drawn("algo", [7, 8])) == []


def test_means_over_units_weigh_units_and_not_runs():
    numbers = np.array([5, 5, 5, 8])
    np.testing.assert_array_equal(
        designs.unit_means(np.array([0.1, 0.1, 0.1, 0.4]), numbers, np.array([5, 8])), [0.1, 0.4]
    )
    matrix = np.arange(16.0).reshape(4, 4)
    blocks = designs.pair_means(matrix, numbers, numbers, np.array([5, 8]), np.array([8]))
    np.testing.assert_allclose(blocks, [[matrix[:3, 3].mean()], [matrix[3, 3]]])
    same = designs.same_unit_means(matrix + matrix.T, numbers)
    np.testing.assert_allclose(same, [np.mean([1 + 4, 2 + 8, 6 + 9])])


def test_a_source_that_a_training_does_not_use_ties_no_runs_together():
    spec = spec_of(["init", "shuffle"], "native")

    def units(unused):
        found = noise_sources.draws(spec, [1, 2, 3], unused)
        return draws.units(
            [{source: numbers and numbers[run] for source, numbers in found.items()} for run in range(3)]
        )[0].tolist()

    # The recipe of the authors' code has neither augmentation nor dropout, which their ALGO would fix.
    assert units(["augment", "dropout"]) == [0, 1, 2]
    assert units(["augment"]) == [0, 0, 0]


# A measure of one draw becomes one of all draws


NAN = np.nan


def over(metric, *found):
    """One row over draws that have these estimates."""
    ((name, group, estimate),) = over_draws([[(metric, "all", of_draw)] for of_draw in found])
    assert (name, group) == (metric, "all")
    return estimate


def test_noise_has_its_interval_over_draws_on_a_logarithmic_scale():
    found = over("churn", *(Estimate(value, NAN, NAN) for value in (0.005, 0.0, 0.015, 0.006)))
    assert found == pytest.approx((0.0065, 0.0011, 0.0383), abs=1e-4)
    variances = over("accuracy_sd", *(Estimate(value, NAN, NAN) for value in (0.005, 0.0, 0.015, 0.006)))
    assert variances.value == pytest.approx(np.sqrt((0.005**2 + 0.015**2 + 0.006**2) / 4))
    assert 0 < variances.low < variances.value / 2
    assert variances.high > variances.value * 2
    # Where only the mean level differs between draws, it is Student's.
    accuracies = np.array([0.95, 0.96, 0.94])
    assert over("accuracy_mean", *(Estimate(value, NAN, NAN) for value in accuracies)) == mean_t(accuracies)


def test_a_similarity_has_the_interval_of_its_distance_from_1():
    value, low, high = over("cka", *(Estimate(value, NAN, NAN) for value in (0.99, 0.9, 0.98)))
    squares = root_mean_square(np.sqrt([0.01, 0.1, 0.02]))
    assert (1 - value, 1 - high) == pytest.approx(tuple(np.square(squares[:2])))
    assert low == max(0, 1 - squares.high**2)


@pytest.mark.parametrize("metric", ["churn", "accuracy_sd", "cka"])
def test_two_draws_have_no_interval(metric):
    assert_equal(over(metric, Estimate(0.1, 0, 1), Estimate(0.2, 0, 1))[1:], (NAN, NAN))


def test_draws_with_equal_values_keep_the_interval_of_one_draw():
    assert_equal(over("accuracy_sd", Estimate(0.0), Estimate(0.0)), Estimate(0.0))  # bit-equal, or too few
    assert over("accuracy_sd", Estimate(0.0, 0.0, 0.02), Estimate(0.0, 0.0, 0.02)) == (0, 0, 0.02)
    assert_equal(over("churn", Estimate(0.1, NAN, NAN), Estimate(0.1, 0.0, 0.2)), Estimate(0.1, NAN, NAN))


def test_draws_do_not_show_what_other_examples_would_change():
    found = over("churn_new_examples", Estimate(0.1, 0.0, 0.2), Estimate(0.2, 0.1, 0.3))
    assert_equal(found, Estimate(0.15000000000000002, NAN, NAN))


def test_the_ratio_of_sds_is_that_of_the_reported_sds():
    logits = np.random.default_rng(3).normal(size=(12, 60, 3)).astype(np.float32)
    labels, groups = np.arange(60) % 3, {"some": np.arange(60) < 20}
    # In one draw all runs are right on class 1: the mean of the ratios' logarithms over draws is undefined.
    logits[:4, labels == 1] += 99 * np.eye(3, dtype=np.float32)[1]
    drawn = grouped([{"init": run // 4} for run in range(12)])
    weights = apart(np.ones((4, 3)))
    rows = over_draws([stability(logits[some], labels, groups, weights, 1) for some in drawn.groups])
    rows += of_all_draws(predictions(logits), labels, 3, groups, drawn.groups, rows)
    found = {(metric, group): estimate for metric, group, estimate in rows}
    for group in ("0", "1", "2", "some"):
        ratio = found["accuracy_sd_ratio", group].value
        assert ratio == pytest.approx(found["accuracy_sd", group].value / found["accuracy_sd", "all"].value)


def test_each_run_has_its_mean_distance_from_the_runs_of_its_draw():
    vectors = np.random.default_rng(4).normal(size=(6, 5))
    drawn = grouped([{"init": run % 2} for run in range(6)])
    found = {metric: values for metric, _, values in distances(drawn, [apart(vectors[some]) for some in drawn.groups])}
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for metric, of_runs in (("l2_raw", vectors), ("l2_unit", units)):
        others = [[other for other in range(6) if other != run and other % 2 == run % 2] for run in range(6)]
        wanted = [np.linalg.norm(of_runs[run] - of_runs[others[run]], axis=1).mean() for run in range(6)]
        assert found[metric] == pytest.approx(np.array(wanted))
