"""How far apart many toolings are from equal draws, and which part of a tooling explains it."""

import numpy as np
import pytest

from toolnoise.analyses.atlas import metric as atlas
from toolnoise.analyses.atlas.metric import ANY, DIFFERENT, SEED, Part
from toolnoise.formulas.churn import pairwise_churn

# The second is the first with another instruction set, the third another version, the last another framework.
PARTS = [
    Part("tensorflow", "2.21", "onednn", "avx2", "1"),
    Part("tensorflow", "2.21", "onednn", "avx512", "1"),
    Part("tensorflow", "2.16", "onednn", "avx2", "1"),
    Part("jax", "0.10", "xla", "avx2", "1"),
]
GENERATOR = np.random.default_rng(3)
# [tooling, draw, example]
PREDICTED = GENERATOR.integers(0, 3, (4, 3, 40))
PREDICTED[1] = PREDICTED[0]
CHURN = atlas.distances(pairwise_churn, PREDICTED, 1)
ALIKE = atlas.equal(np.array([["a", "b", "c"], ["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]]))


def rows():
    return {(factor, metric): (pairs, found) for factor, metric, pairs, found in found_factors()}


def found_factors():
    return atlas.factors(PARTS, {"churn": CHURN}, ALIKE)


def by_hand(one, other):
    return [(PREDICTED[one, draw] != PREDICTED[other, draw]).mean() for draw in range(3)]


def test_toolings_that_differ_only_in_a_factor_are_those_and_no_others():
    def pairs(factor):
        return set(zip(*np.nonzero(np.triu(atlas.differs_only(PARTS, factor))), strict=True))

    assert {factor: pairs(factor) for factor in atlas.FACTORS} == {
        # A framework's version and kernels are its own.
        "framework": {(0, 3), (2, 3)},
        "version": {(0, 2)},
        "kernels": set(),
        "isa": {(0, 1)},
        "threads": set(),
    }


def test_a_factors_distance_is_the_mean_over_draws_of_the_mean_over_its_pairs():
    found = rows()
    pairs, version = found["version", "churn"]
    assert pairs == 1
    assert version.value == pytest.approx(np.mean(by_hand(0, 2)))
    assert found["framework", "churn"][1].value == pytest.approx(np.mean(by_hand(0, 3) + by_hand(2, 3)))
    assert found[ANY, "churn"][0] == 6
    # The pair of equal bits is no pair of them.
    assert found[DIFFERENT, "churn"][0] == 5
    assert found[DIFFERENT, "churn"][1].value == pytest.approx(6 / 5 * found[ANY, "churn"][1].value)
    assert ("kernels", "churn") not in found


def test_toolings_of_equal_bits_are_exactly_zero_apart_and_without_doubt():
    found = rows()
    assert found["isa", "churn"][1] == (0, 0, 0)
    assert found["isa", "churn_to_seeds"][1].value == 0
    assert found["isa", "bit_equal"][1] == (1, 1, 1)
    assert found["version", "bit_equal"][1] == (0, 0, 0)


def test_a_ratio_is_to_two_draws_on_one_tooling():
    seeds = [np.mean([(own[a] != own[b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]) for own in PREDICTED]
    found = rows()
    assert found[SEED, "churn"][1].value == pytest.approx(np.mean(seeds))
    ratio = found["version", "churn_to_seeds"][1]
    assert ratio.value == pytest.approx(np.mean(by_hand(0, 2)) / np.mean(seeds))
    assert ratio.low < ratio.value < ratio.high


def test_factors_explain_all_where_each_tooling_has_parts_of_its_own():
    shares = atlas.explained(PARTS, CHURN.toolings)
    assert sum(shares[factor][0] for factor in shares) == pytest.approx([1, 1, 1])
    assert {factor: chance for factor, (_, chance) in shares.items()} == pytest.approx(
        {"framework": 1 / 3, "version": 1 / 3, "isa": 1 / 3}
    )
    # It makes no difference.
    assert shares["isa"][0] == pytest.approx([0, 0, 0])


def test_a_factor_explains_what_an_analysis_of_variance_says():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    squares = (values[:, np.newaxis] - values)[np.newaxis] ** 2
    total = ((values - values.mean()) ** 2).sum()
    within = ((values[:3] - values[:3].mean()) ** 2).sum()
    assert atlas.explained(PARTS, squares)["framework"][0] == pytest.approx([1 - within / total])


def test_toolings_that_agree_in_all_have_nothing_to_explain():
    assert not any(shares.any() for shares, _ in atlas.explained(PARTS, np.zeros((2, 4, 4))).values())


def test_logits_are_compared_relative_to_their_lengths():
    logits = np.array([[[3.0, 4.0], [0.0, 0.0]], [[4.0, 3.0], [0.0, 0.0]]], np.float32)
    assert atlas.relative(logits)[0, 1] == pytest.approx(np.sqrt(2) / 5 / 2)
    assert np.diag(atlas.relative(logits)).tolist() == [0, 0]


def test_the_first_epoch_that_parts_is_of_each_draw():
    histories = np.array([[["a", "b"], ["c", "d"]], [["a", "x"], ["c", "d"]]])
    first = atlas.partings(histories)
    assert first[0, 0, 1] == first[0, 1, 0] == 2
    assert np.isnan(first[1, 0, 1])


def test_a_pairs_rows_have_their_distances_their_bits_and_their_parting():
    first = np.full((3, 4, 4), np.nan)
    first[:2, 0, 2] = 1, 3
    rows = atlas.pair({"churn": CHURN}, ALIKE, first, 0, 2)
    found = {metric: (estimate, count) for (metric, _, estimate), count in rows}
    assert found["churn"][0].value == pytest.approx(np.mean(by_hand(0, 2)))
    assert found["churn"][1] == 3
    assert found["bit_equal"][0].value == 0
    assert (found["first_epoch"][0].value, found["first_epoch"][1]) == (2, 2)
