"""No end of an interval is outside the range of what is measured, in any metric file, but for an estimate beyond it."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolnoise.formulas import variance_components
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.churn import normalised_churn, pairwise_churn
from toolnoise.formulas.ensembles import by_size
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import apart
from toolnoise.measures.by_draw import grouped, over_draws, over_sizes
from toolnoise.papers import growth
from toolnoise.papers.claims.effects import STUDY, scale_of
from toolnoise.papers.frameworks.pair import cross_tooling
from toolnoise.papers.language.measure import language
from toolnoise.papers.layers.measure import layers
from toolnoise.papers.remedies import measure as remedies
from toolnoise.programs import program_measures
from toolnoise.stats.estimates import Estimate

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
        self.together = grouped([{"init": run // runs, "impl": run % runs} for run in range(draws * runs)])
        self.groups = {"some": np.arange(examples) < 3}

    def rows(self):
        given = self.labels, self.groups
        chosen = self.together.groups
        rows = over_draws([stability(self.logits[some], *given, apart(self.weights[some]), 7) for some in chosen])
        predicted = predictions(self.logits)
        rows += of_all_draws(predicted, self.labels, 2, self.groups, chosen, rows)
        rows += variance_components.rows(predicted, self.labels, self.together.table, self.together.crossed)
        yield from ((metric, estimate) for metric, _, estimate in rows)

    def ensembles(self):
        sizes = [by_size(self.logits[some], self.labels, len(some) // 2) for some in self.together.groups]
        yield from ((metric, estimate) for _, (metric, _, estimate), _ in over_sizes(sizes))

    def other_files(self):
        logits, labels, weights, rng = self.logits, self.labels, self.weights, self.rng
        yield from ((metric, estimate) for metric, _, estimate in remedies.measure_runs(logits, labels).rows())
        texts = rng.integers(0, 2, (len(logits), 3, 4))
        rows = language(logits, labels, 1, texts)
        yield from ((metric, estimate) for metric, _, estimate in rows)
        grams = np.einsum("snc,smc->snm", logits, logits)[:, np.newaxis]
        yield from ((metric, estimate) for _, metric, estimate in layers(["dense"], grams))
        rows = cross_tooling(logits, logits[::-1], labels, weights, weights[::-1], self.together.groups)
        yield from ((metric, estimate) for metric, _, estimate in rows)
        every = np.ones(5, bool)
        rows = program_measures.stability(
            program_measures.Losses(), np.abs(weights), {"all": every}, apart(weights)
        ) + program_measures.of_metrics({"unknown": weights[:, 0]}, apart(weights))
        yield from ((metric, estimate) for metric, _, estimate in rows)

    def growth(self):
        steps = np.array([0, 1, 2, 4])
        for count in (2, 3):
            names = (*growth.DISTANCES, growth.CHURN)
            far = [{name: 2 * self.rng.random(4) ** 3 for name in names} for _ in range(count)]
            courses = [growth.Course(steps, apart | {"churn": np.round(apart["churn"] / 2, 1)}) for apart in far]
            yield from ((name, estimate) for _, name, estimate, _ in growth.levels(courses, 10))


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
