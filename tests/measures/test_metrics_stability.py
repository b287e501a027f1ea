"""Stability of a cell's runs, how its measures are declared, the range that no interval leaves; and draws as units."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_equal
from scipy import special, stats

from toolnoise import streams
from toolnoise.base import noise_sources
from toolnoise.base.spec import Spec
from toolnoise.comparison import designs
from toolnoise.formulas import variance_components
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.churn import normalised_churn, pairwise_churn
from toolnoise.formulas.declared import METRICS, USUAL, labels_of_measures, within_range
from toolnoise.formulas.ensembles import by_size
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import weight_distances
from toolnoise.measures.by_draw import group_by_draw, over_draws, over_sizes
from toolnoise.papers import growth, remedies
from toolnoise.papers.claims.effects import STUDY, scale_of
from toolnoise.papers.frameworks.pair import cross_tooling
from toolnoise.papers.language.measure import language_rows
from toolnoise.papers.layers.measure import layer_rows
from toolnoise.programs import program_measures
from toolnoise.stats import draws
from toolnoise.stats.estimates import Estimate, equal_runs_sd, mean_t
from toolnoise.study.variants import VARIANTS

STREAM = streams.stream_key(0, "init", 1)
LABELS = np.arange(60) % 3


def noisy(runs):
    rng = np.random.Generator(np.random.Philox(1))
    logits = rng.normal(size=(runs, 60, 3)) + 2 * np.eye(3)[LABELS]
    return logits.astype(np.float32), rng.normal(size=(runs, 40)).astype(np.float32)


def measured(logits, vectors, labels=LABELS, groups=None):
    predicted, one_draw = predictions(logits), [np.arange(len(logits))]
    given = labels, logits.shape[-1], groups or {}
    rows = stability(predicted, *given, weight_distances(vectors), STREAM, scores=logits)
    rows += of_all_draws(predicted, *given, one_draw, rows)
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


def test_without_runs_everything_is_undefined_and_one_run_has_accuracies_and_nothing_else():
    for (metric, _), estimate in measured(*noisy(0)).items():
        expected = metric == "accuracy_sd_ratio_null"  # follows from the numbers of examples
        assert np.isnan(estimate).tolist() == [not expected, True, True]
    defined = ("accuracy_mean", "cross_entropy_mean", "accuracy_sd_ratio_null", "accuracy_sd_binomial_null")
    for (metric, _), (value, low, high) in measured(*noisy(1)).items():
        assert np.isnan([value, low, high]).tolist() == [metric not in defined, True, True]


def test_each_metric_is_the_one_that_its_name_says():
    logits, vectors = noisy(8)
    old = np.arange(60) < 20
    predicted, found = logits.argmax(axis=2), measured(logits, vectors, groups={"Old": old})
    overall = np.mean(predicted == LABELS, axis=1)
    per_class = np.mean((predicted == LABELS)[:, LABELS == 1], axis=1)
    of_examples = -special.log_softmax(logits.astype(np.float64), axis=-1)[:, np.arange(60), LABELS]
    losses, of_old = of_examples.mean(axis=1), of_examples[:, old].mean(axis=1)
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
        ("cross_entropy_mean", "Old"): of_old.mean(),
        ("cross_entropy_sd", "Old"): of_old.std(ddof=1),
        ("churn", "Old"): np.mean([np.mean(predicted[a, old] != predicted[b, old]) for a, b in pairs]),
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


def over_draws_of(metric, declared, *found):
    ((*_, estimate),) = over_draws([[(metric, "all", of_draw)] for of_draw in found], declared)
    return estimate


def test_a_measure_that_nobody_declared_is_an_error_and_a_program_declares_its_own():
    found = [Estimate(value) for value in (0.1, 0.2)]
    with pytest.raises(KeyError, match="unheard_of"):
        over_draws_of("unheard_of", METRICS, *found)
    with pytest.raises(KeyError, match="unheard_of"):
        within_range([("unheard_of", "all", found[0])])
    assert set(USUAL) <= labels_of_measures().keys(), "the usual columns of the page"
    # Those of a training program may have any name.
    declared = program_measures.declared_as(["accuracy", "loss_sd_ratio"])
    found = [Estimate(value) for value in (93.5, 91.0, 92.0)]
    for metric in ("accuracy_mean", "loss_sd_ratio_mean"):
        assert over_draws_of(metric, declared, *found) == mean_t(np.array([93.5, 91.0, 92.0]))  # in per cent


INF = np.inf
# By hand from what each number is; the first pattern that fits counts.
RANGES = {
    r"(accuracy|fpr|fnr)_(mean|holm|sd_ratio_holm|sd_ratio_difficulty_holm)": (0, 1),
    r"(accuracy|fpr|fnr)_(sd|sd_robust|sd_independent_null|sd_binomial_null)": (0, 0.5),
    r"(accuracy|fpr|fnr)_sd_ratio(_.*)?": (0, INF),
    r"accuracy_sd_distribution": (-0.5, 0.5),
    r"(accuracy|correctness)_variance_.*": (-0.25, 0.25),
    r"perplexity_mean": (1, INF),
    r"unknown_mean": (-INF, INF),
    r".*_(mean|sd|sd_robust)": (0, INF),
    r"churn.*|segment_churn|continuation_.*|divergence|parted|grown|bit_equal": (0, 1),
    r"l2_unit|movement|logits": (0, 2),
    r"l2_raw|mean_absolute_difference": (0, INF),
    r"cka": (0, 1),
    r"cka_debiased|correlation_.*|accuracy_difference": (-1, 1),
    r"ensemble_accuracy_change": (-0.5, 1),
    r"ensemble_cross_entropy_change": (-INF, 0),
    r"variability_reduction": (-INF, 1),
    r"first|l2_unit_last|movement_last|logits_last|grown_last": (0, 2),
    r"misfit|misfit_exponential": (0, INF),
    r"rate|rate_exponential|rate_last|jump|misfit_exponential_minus_power": (-INF, INF),
}
SHAPES = st.tuples(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 4), st.integers(5, 14))


def outside(rows):
    """The rows with an interval that leaves its range, from pairs of a name and an estimate."""
    found = []
    for name, (value, low, high) in rows:
        lowest, highest = next(limits for pattern, limits in RANGES.items() if re.fullmatch(pattern, name))
        assert low != high, name
        if low == low and not min(lowest, value) <= low <= high <= max(highest, value):
            found.append((name, value, low, high))
    return found


class Cell:
    """Runs [draws, runs of each] that differ in noise by factors from draw to draw, on a few examples."""

    def __init__(self, seed, draws, runs, examples):
        rng = self.rng = np.random.default_rng(seed)
        self.labels = np.arange(examples) % 2
        noise = np.exp(2 * rng.standard_normal((draws, 1, 1, 1)))
        shape = (draws, runs, examples, 2)
        logits = 2 * rng.random() * np.eye(2)[self.labels] + rng.normal(size=(draws, 1, examples, 2))
        self.logits = (logits + noise * rng.normal(size=shape)).astype(np.float32).reshape(-1, examples, 2)
        weights = rng.normal(size=(draws, 1, 5)) + noise[..., 0] * rng.normal(size=(draws, runs, 5))
        self.weights = weights.astype(np.float32).reshape(-1, 5)
        self.together = group_by_draw([{"init": run // runs, "impl": run % runs} for run in range(draws * runs)])
        self.groups = {"some": np.arange(examples) < 3}

    def rows(self):
        predicted, chosen = predictions(self.logits), self.together.groups
        given = self.labels, 2, self.groups
        rows = over_draws(
            [
                stability(predicted[some], *given, weight_distances(self.weights[some]), 7, scores=self.logits[some])
                for some in chosen
            ]
        )
        rows += of_all_draws(predicted, self.labels, 2, self.groups, chosen, rows)
        rows += variance_components.component_rows(predicted, self.labels, self.together.table, self.together.crossed)
        yield from ((metric, estimate) for metric, _, estimate in rows)

    def ensembles(self):
        sizes = [by_size(self.logits[some], self.labels, len(some) // 2) for some in self.together.groups]
        yield from ((metric, estimate) for _, (metric, _, estimate), _ in over_sizes(sizes))

    def other_files(self):
        logits, labels, weights, rng = self.logits, self.labels, self.weights, self.rng
        yield from ((metric, estimate) for metric, _, estimate in remedies.measure_runs(logits, labels).rows())
        texts = rng.integers(0, 2, (len(logits), 3, 4))
        rows = language_rows(logits, labels, 1, texts)
        yield from ((metric, estimate) for metric, _, estimate in rows)
        grams = np.einsum("snc,smc->snm", logits, logits)[:, np.newaxis]
        yield from ((metric, estimate) for _, metric, estimate in layer_rows(["dense"], grams))
        rows = cross_tooling(logits, logits[::-1], labels, weights, weights[::-1], self.together.groups)
        yield from ((metric, estimate) for metric, _, estimate in rows)
        every = np.ones(5, bool)
        rows = program_measures.stability_of_numbers(
            program_measures.Losses(), np.abs(weights), {"all": every}, weight_distances(weights)
        ) + program_measures.of_metrics({"unknown": weights[:, 0]}, weight_distances(weights))
        yield from ((metric, estimate) for metric, _, estimate in rows)

    def growth(self):
        steps = np.array([0, 1, 2, 4])
        for count in (2, 3):
            names = (*growth.DISTANCES, growth.CHURN)
            far = [{name: 2 * self.rng.random(4) ** 3 for name in names} for _ in range(count)]
            courses = [growth.Course(steps, apart | {"churn": np.round(apart["churn"] / 2, 1)}) for apart in far]
            yield from ((name, estimate) for _, name, estimate, _ in growth.levels_by_step(courses, 10))


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("file", ["rows", "ensembles", "other_files", "growth"])
@given(shape=SHAPES)
@settings(max_examples=25, deadline=None)
def test_no_interval_leaves_the_range_of_what_it_is_of(file, shape):
    assert outside(getattr(Cell(*shape), file)()) == []


@given(shape=SHAPES)
@settings(max_examples=50, deadline=None)
def test_a_churn_at_the_end_of_its_range_is_there_after_rounding_too(shape):
    cell = Cell(*shape)
    predicted = predictions(cell.logits)
    found = normalised_churn(pairwise_churn(predicted), 1 - np.mean(predicted == cell.labels, axis=1))
    assert not (found < 0).any()
    assert not (found > 1).any()


def test_every_row_of_a_cell_is_declared_and_nothing_else_is():
    cell = Cell(1, 4, 3, 40)
    found, everyone = [*cell.rows()], {"all": np.ones(40, bool)}
    for how, numbers in (
        (program_measures.Errors(cell.labels), cell.logits[:, :, 0]),
        (program_measures.Losses(), np.abs(cell.logits[:, :, 0])),
    ):
        of_draws = [
            program_measures.stability_of_numbers(how, numbers[some], everyone, weight_distances(cell.weights[some]))
            for some in cell.together.groups
        ]
        found += [(metric, estimate) for metric, _, estimate in over_draws(of_draws)]
    assert {metric for metric, _ in found} | {"n_draws"} == METRICS.keys()
    for metric, estimate in found:
        np.testing.assert_equal(estimate.within(*METRICS[metric].range), estimate, metric)


def test_an_estimate_beyond_the_range_is_the_end_of_its_interval():
    # Two runs of which one is always right: the sample SD is the root of a half.
    value = np.sqrt(0.5)
    assert Estimate(value, 0.3, 22.6).within(0, 0.5) == (value, 0.3, value)
    assert Estimate(-0.1, -0.2, 0.3).within(0, 1) == (-0.1, -0.1, 0.3)


@pytest.mark.parametrize(
    ("claim", "limits"),
    [
        ({"measure": "accuracy_sd", "test": "level"}, (0, 50)),
        ({"measure": "accuracy_mean", "test": "difference", "over": {}}, (-100, 100)),
        ({"measure": "accuracy_mean", "test": "level"}, (0, 100)),
        ({"measure": "cross_entropy_mean", "test": "difference", "over": {}}, (-INF, INF)),
        ({"measure": "churn", "test": "level"}, (0, 100)),
        ({"measure": "l2_unit", "test": "level"}, (0, 2)),
        ({"measure": "churn", "test": "trend"}, (-INF, INF)),
        ({"measure": "kernel_ratio", "test": "level"}, (-INF, INF)),
    ],
)
def test_an_effect_of_a_claim_stays_in_the_range_of_its_measure_in_the_unit_in_which_it_is_told(claim, limits):
    assert scale_of(claim, STUDY).limits == limits


# Draws: what is independent for every combination of variants, and how a measure of one draw becomes one of all


def spec_of(varying, noise, **more):
    hardware = {"name": "cpu", "engine": "tensorflow", "impl_noise": noise}
    parts = {"model": {"name": "m"}, "recipe": {}, "hardware": hardware, "variant": {"name": "v", "varying": varying}}
    return Spec.read({"study_seed": 0, "seed": 0, **parts, **more})


def drawn(variant, seeds, noise="reduction-order", **more):
    """The draws of runs of a variant, as a dump has them."""
    found = noise_sources.draws_of_runs(spec_of(VARIANTS[variant], noise, **more), seeds)
    return [{source: numbers and numbers[run] for source, numbers in found.items()} for run in range(len(seeds))]


FREE = ("algo", "algo_impl")  # variants that fix no algorithmic source


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations_with_replacement(VARIANTS, 2)))
def test_units_of_two_variants_are_their_common_algorithmic_draws(one, other):
    seeds = [1, 2, 3, 4, 5]
    a, b = draws.units_of_arms(drawn(one, seeds), drawn(other, seeds))
    both_free = one in FREE and other in FREE
    if both_free:
        np.testing.assert_array_equal(a, b)  # paired: run s of one belongs to run s of the other
    for units, name, beside in ((a, one, other), (b, other, one)):
        # One draw, unless every algorithmic source varies and the other does not tie the runs together.
        tied = beside in noise_sources.ALGORITHMIC
        assert len(set(units)) == (5 if name in FREE and not tied else 1), (name, beside)


def test_data_has_a_draw_only_where_it_may_vary_and_then_one_of_its_own_in_every_run():
    assert "data" not in drawn("algo_impl", [1])[0]
    assert [run["data"] for run in drawn("data", [1, 2])] == [1, 2]
    # Run 1 of two draws trains on two samples, as its seed says, so draws stay units.
    several = drawn("data", [10001, 10002, 20001], draw=1)
    assert [run["data"] for run in several] == [10001, 10002, 20001]
    assert draws.units_of_arms(several)[0].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("a", "b", "way", "compared", "shared"),
    [
        ([0, 1, 2], [0, 1, 2], "paired", ([0, 1, 2], [0, 1, 2]), 3),
        ([0, 1, 2, 3], [1, 1, 2, 4], "partly paired", ([1, 2, 0, 3], [1, 2, 4]), 2),
        ([0, 1], [2, 3, 3], "two draws", ([0, 1], [2, 3]), 0),
        ([0, 1, 2], [3, 4, 5], "independent", ([0, 1, 2], [3, 4, 5]), 0),
        ([0, 1, 2], [2, 3, 4], "partly paired", ([2, 0, 1], [2, 3, 4]), 1),
        ([0, 1, 2], [3, 3], "one draw", ([0, 1, 2], [3]), 0),
        ([0, 0], [0], "one draw", ([0], [0]), 1),
    ],
)
def test_the_design_follows_from_the_units_of_both_arms(a, b, way, compared, shared):
    found = designs.design(np.array(a), np.array(b))
    assert (found.way, found.shared) == (way, shared)
    assert (found.units_a.tolist(), found.units_b.tolist()) == compared


def test_a_source_that_a_training_does_not_use_ties_no_runs_together():
    spec = spec_of(["init", "shuffle"], "native")

    def units(unused):
        found = noise_sources.draws_of_runs(spec, [1, 2, 3], unused)
        return draws.units_of_arms(
            [{source: numbers and numbers[run] for source, numbers in found.items()} for run in range(3)]
        )[0].tolist()

    # The recipe of the authors' code has neither augmentation nor dropout, which their ALGO would fix.
    assert units(["augment", "dropout"]) == [0, 1, 2]
    assert units(["augment"]) == [0, 0, 0]


def test_noise_has_its_interval_over_draws_on_a_logarithmic_scale():
    found = over_draws_of("churn", METRICS, *(Estimate(value) for value in (0.005, 0.0, 0.015, 0.006)))
    assert found == pytest.approx((0.0065, 0.0011, 0.0383), abs=1e-4)
    variances = over_draws_of("accuracy_sd", METRICS, *(Estimate(value) for value in (0.005, 0.0, 0.015, 0.006)))
    assert variances.value == pytest.approx(np.sqrt((0.005**2 + 0.015**2 + 0.006**2) / 4))
    assert 0 < variances.low < variances.value / 2
    assert variances.high > variances.value * 2
    # Where only the mean level differs between draws, it is Student's.
    accuracies = np.array([0.95, 0.96, 0.94])
    assert over_draws_of("accuracy_mean", METRICS, *(Estimate(value) for value in accuracies)) == mean_t(accuracies)


@pytest.mark.parametrize("metric", ["churn", "accuracy_sd", "cka"])
def test_two_draws_have_no_interval(metric):
    assert_equal(over_draws_of(metric, METRICS, Estimate(0.1, 0, 1), Estimate(0.2, 0, 1))[1:], (np.nan, np.nan))


def test_the_ratio_of_sds_is_that_of_the_reported_sds():
    logits = np.random.default_rng(3).normal(size=(12, 60, 3)).astype(np.float32)
    labels, groups = np.arange(60) % 3, {"some": np.arange(60) < 20}
    # In one draw all runs are right on class 1: the mean of the ratios' logarithms over draws is undefined.
    logits[:4, labels == 1] += 99 * np.eye(3, dtype=np.float32)[1]
    drawn = group_by_draw([{"init": run // 4} for run in range(12)])
    weights = weight_distances(np.ones((4, 3)))
    predicted = predictions(logits)
    rows = over_draws([stability(predicted[some], labels, 3, groups, weights, 1) for some in drawn.groups])
    rows += of_all_draws(predicted, labels, 3, groups, drawn.groups, rows)
    found = {(metric, group): estimate for metric, group, estimate in rows}
    for group in ("0", "1", "2", "some"):
        ratio = found["accuracy_sd_ratio", group].value
        assert ratio == pytest.approx(found["accuracy_sd", group].value / found["accuracy_sd", "all"].value)
