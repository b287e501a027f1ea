import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from toolnoise.formulas.weights import BLOCK, paired_l2, pairwise_l2, unit

VECTORS = arrays(
    np.float32,
    array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.floats(-1000, 1000, width=32),
)


def test_distance_is_the_root_of_the_summed_squared_differences():
    assert pairwise_l2(np.array([[0, 0], [3, 4], [0, 4]])).tolist() == [[0, 5, 4], [5, 0, 3], [4, 3, 0]]


def test_paired_distance_compares_run_s_with_run_s():
    assert paired_l2(np.array([[0, 0], [1, 1]]), np.array([[3, 4], [1, 1]])).tolist() == [5, 0]


def test_paired_distance_refuses_unequal_numbers_of_runs():
    with pytest.raises(AssertionError, match=r"\(1, 4\) against \(2, 4\)"):
        paired_l2(np.zeros((1, 4)), np.zeros((2, 4)))


def test_unit_vectors_have_norm_one_and_zero_stays_zero():
    assert unit(np.array([[3, 4], [0, 0]], np.float32)).tolist() == [[0.6, 0.8], [0, 0]]


def test_scale_does_not_change_the_distance_of_unit_vectors():
    vectors = np.random.Generator(np.random.Philox(1)).normal(size=(2, 1000))
    scaled = vectors * [[1.0], [7.3]]
    np.testing.assert_allclose(pairwise_l2(unit(scaled)), pairwise_l2(unit(vectors)), rtol=1e-12)


@given(VECTORS)
def test_equal_weights_are_exactly_zero_apart(vectors):
    same = np.repeat(vectors[:1], 3, axis=0)
    assert not pairwise_l2(same).any()
    assert not pairwise_l2(unit(same)).any()
    assert not paired_l2(vectors, vectors).any()


@given(VECTORS)
def test_distance_equals_its_definition(vectors):
    exact = vectors.astype(np.float64)
    wanted = [[np.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True))) for b in exact] for a in exact]
    np.testing.assert_allclose(pairwise_l2(vectors), wanted, rtol=1e-12, atol=0)
    np.testing.assert_allclose(paired_l2(vectors, vectors[::-1]), np.diag(np.fliplr(wanted)), rtol=1e-12, atol=0)


@given(VECTORS)
def test_distance_is_symmetric(vectors):
    distances = pairwise_l2(vectors)
    np.testing.assert_array_equal(distances, distances.T)


def test_distances_go_on_over_the_blocks_to_the_last_weight():
    vectors = np.zeros((2, 2 * BLOCK + 3), np.float32)
    vectors[0, [0, BLOCK - 1, BLOCK, 2 * BLOCK + 2]] = 2, 4, 5, 6
    assert pairwise_l2(vectors)[0, 1] == paired_l2(vectors[:1], vectors[1:])[0] == 9
    assert np.linalg.norm(unit(vectors)[0]) == pytest.approx(1, rel=1e-15)


def test_one_flipped_bit_is_not_lost_to_cancellation():
    vectors = np.ones((2, 100_000), np.float32)
    vectors[1, 5] = np.nextafter(np.float32(1), np.float32(2))
    assert pairwise_l2(vectors)[0, 1] == 2.0**-23


def test_runs_far_from_the_first_keep_the_digits_of_their_distance():
    vectors = np.zeros((4, 1000), np.float32)
    vectors[1:] = 1000
    vectors[2, 7] = np.nextafter(np.float32(1000), np.float32(2000))
    found = pairwise_l2(vectors)
    assert found[1, 2] == found[2, 3] == 2.0**-14
    assert found[1, 3] == 0
    assert found[0, 1] == pytest.approx(1000 * np.sqrt(1000), rel=1e-15)


def test_distances_of_float32_weights_need_little_memory_beside_them():
    vectors = np.ones((5, 1_000_000), np.float32)
    tracemalloc.start()
    pairwise_l2(vectors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < vectors.nbytes / 8


def test_no_runs_have_no_distances():
    none = np.zeros((0, 4), np.float32)
    assert pairwise_l2(unit(none)).shape == (0, 0)
    assert paired_l2(none, none).shape == (0,)
