from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_equal
from scipy import stats

from toolnoise.stats.estimates import UNDEFINED, Estimate
from toolnoise.stats.jackknife import (
    FEW,
    MANY,
    Pairs,
    pairs_standard_error,
    pairwise_jackknife,
    pairwise_mean,
    some_pairs,
    standard_error,
    within_blocks,
)

NAN = np.nan


def symmetric(values):
    upper = np.triu(values, 1)
    return upper + upper.T


DISTANCES = (
    st.integers(3, 9)
    .flatmap(
        lambda count: arrays(np.float64, (count, count), elements=st.integers(0, 100).map(lambda part: part / 100))
    )
    .map(symmetric)
)


def definition(matrix):
    def mean(runs):
        return np.mean([matrix[i, j] for i, j in combinations(runs, 2)])

    count = len(matrix)
    without = [mean([run for run in range(count) if run != left]) for left in range(count)]
    error = np.sqrt((count - 1) / count * sum((value - np.mean(without)) ** 2 for value in without))
    pairs = [matrix[i, j] for i, j in combinations(range(count), 2)]
    error = max(error, np.sqrt(2 * np.var(pairs, ddof=1) / (count * (count - 1))))
    value = mean(range(count))
    factor = np.exp(stats.t.ppf(0.975, count - 1) * error / value) if value else 1
    return value, value / factor, value * factor


def test_mean_over_pairs_and_its_interval_by_hand():
    matrix = symmetric(np.array([[0, 1, 2], [0, 0, 6], [0, 0, 0]], float))
    # Without each run: 6, 2, 1, with mean 3 and variance 2/3 * (9 + 1 + 4); t with 2 degrees of freedom.
    half = 4.3026527 * np.sqrt(28 / 3)
    assert pairwise_mean(Pairs.of(matrix)) == pytest.approx((3, 3 - half, 3 + half), rel=1e-7)
    factor = np.exp(half / 3)
    assert pairwise_jackknife(Pairs.of(matrix)) == pytest.approx((3, 3 / factor, 3 * factor), rel=1e-6)


@given(DISTANCES)
def test_jackknife_equals_its_definition(matrix):
    assert pairwise_jackknife(Pairs.of(matrix)) == pytest.approx(definition(matrix), rel=1e-9, abs=1e-12)


@given(DISTANCES, st.randoms(use_true_random=False))
def test_jackknife_does_not_depend_on_the_order_of_runs(matrix, random):
    order = random.sample(range(len(matrix)), len(matrix))
    shuffled = pairwise_jackknife(Pairs.of(matrix[np.ix_(order, order)]))
    assert shuffled == pytest.approx(pairwise_jackknife(Pairs.of(matrix)), rel=1e-9, abs=1e-12)


@given(DISTANCES)
def test_lower_bound_is_never_negative(matrix):
    assert pairwise_jackknife(Pairs.of(matrix)).low >= 0


def test_distances_are_covered_where_runs_differ_in_noise():
    drawn = np.random.Generator(np.random.Philox(2))

    def distances(runs):
        places = np.exp(0.7 * drawn.normal(size=(runs, 1))) * drawn.normal(size=(runs, 60))
        return Pairs.of(np.sqrt(np.mean((places[:, np.newaxis] - places) ** 2, axis=-1)))

    truth = np.mean([pairwise_mean(distances(60)).value for _ in range(300)])
    studies = [distances(5) for _ in range(1500)]
    held = [[low < truth < high for _, low, high in (pairwise_jackknife(one), pairwise_mean(one))] for one in studies]
    logarithmic, linear = np.mean(held, axis=0)
    assert logarithmic > linear + 0.02
    assert logarithmic > 0.88


def test_runs_that_split_into_equal_halves_have_an_interval():
    kind = np.array([0, 0, 1, 1])
    found = pairwise_jackknife(Pairs.of(0.002 * (kind != kind[:, np.newaxis])))
    # Each run is as far from the others as any: the means without each run are equal. Of the six pairs, four differ.
    half = 3.1824463 * np.sqrt(2 * 0.002**2 * (6 * 2 / 3 * 1 / 3 / 5) / (4 * 3))
    factor = np.exp(half / (0.004 / 3))
    assert found == pytest.approx((0.004 / 3, 0.004 / 3 / factor, 0.004 / 3 * factor), rel=1e-6)
    assert found.high > 0.002


def test_the_floor_does_nothing_if_runs_differ_as_wholes():
    values = np.random.Generator(np.random.Philox(3)).random(8)
    pairs = Pairs.of(symmetric(np.add.outer(values, values)))
    assert pairs_standard_error(pairs) == pytest.approx(2 * values.std(ddof=1) / np.sqrt(8))


def test_some_pairs_are_all_of_a_few_runs_and_those_of_neighbours_of_more():
    assert [len(some_pairs(runs)[0]) for runs in (0, 1, 2, FEW)] == [0, 0, 1, FEW * (FEW - 1) // 2]
    for runs in (FEW + 1, 1_000):
        assert np.transpose(some_pairs(runs)).tolist() == [[run, run + 1] for run in range(FEW)]


def test_bit_equal_runs_are_exactly_zero_apart():
    assert pairwise_jackknife(Pairs.of(np.zeros((5, 5)))) == (0, 0, 0)


def test_few_runs_have_no_interval():
    assert_equal(pairwise_jackknife(Pairs.of(np.zeros((0, 0)))), UNDEFINED)
    assert_equal(pairwise_jackknife(Pairs.of(np.zeros((1, 1)))), UNDEFINED)
    assert_equal(pairwise_jackknife(Pairs.of(np.array([[0, 0.3], [0.3, 0]]))), Estimate(0.3, NAN, NAN))


def test_jackknife_of_a_mean_is_its_textbook_standard_error():
    values = np.array([0.1, 0.4, 0.5, 0.9])
    without = np.array([np.delete(values, run).mean() for run in range(4)])
    assert standard_error(without) == pytest.approx(np.std(values, ddof=1) / 2, rel=1e-12)


@given(DISTANCES)
def test_a_mean_over_pairs_may_be_negative(matrix):
    positive, negative = pairwise_mean(Pairs.of(matrix)), pairwise_mean(Pairs.of(-matrix))
    assert negative == Estimate(-positive.value, -positive.high, -positive.low)


def distances(places):
    return Pairs.of(np.abs(places[:, np.newaxis] - places))


def test_all_pairs_of_a_few_runs_are_computed():
    places = np.random.Generator(np.random.Philox(1)).normal(size=MANY)
    (found,) = within_blocks(MANY, lambda runs: [distances(places[runs])])
    assert_equal(found, distances(places))


def test_many_runs_are_compared_within_blocks_that_each_have_enough():
    runs, asked = 5 * MANY + 1, []
    (found,) = within_blocks(runs, lambda some: asked.append(some) or [distances(np.arange(runs)[some] * 1.0)])
    sizes = [some.stop - some.start for some in asked]
    assert (sum(sizes), max(sizes) <= MANY, min(sizes) >= MANY / 2) == (runs, True, True)
    # A sum over the block stands for one over all others.
    assert found.sums[0] == pytest.approx(np.arange(sizes[0]).mean() * sizes[0] / (sizes[0] - 1) * (runs - 1))


def test_the_interval_within_blocks_is_that_of_all_pairs_or_a_little_wider():
    places = np.random.Generator(np.random.Philox(2)).normal(size=4 * MANY)
    every, (blocks,) = distances(places), within_blocks(len(places), lambda runs: [distances(places[runs])])
    assert pairwise_mean(blocks).value == pytest.approx(2 / np.sqrt(np.pi), rel=0.05)
    assert 1 <= pairs_standard_error(blocks) / pairs_standard_error(every) < 1.05


def test_the_interval_within_blocks_is_as_wide_as_the_mean_varies():
    draws, found = np.random.Generator(np.random.Philox(3)), []
    for _ in range(200):
        places = draws.normal(size=2 * MANY)
        found += within_blocks(len(places), lambda runs, places=places: [distances(places[runs])])
    spread = np.std([pairwise_mean(one).value for one in found], ddof=1)
    assert np.mean([pairs_standard_error(one) for one in found]) == pytest.approx(spread, rel=0.15)
