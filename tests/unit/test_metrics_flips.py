import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from toolnoise.comparison.flips import bad_flips, cross_churn, good_flips
from toolnoise.metrics.churn import normalised_churn, pairwise_churn

ANSWERS = st.integers(1, 9).flatmap(
    lambda examples: st.tuples(
        *(
            st.integers(1, 4).flatmap(lambda runs: arrays(np.int64, (runs, examples), elements=st.integers(0, 3)))
            for _ in range(2)
        ),
        arrays(np.int64, (examples,), elements=st.integers(0, 3)),
    )
)


def by_definition(a, b, counts):
    return [[sum(counts(x, y, n) for n, (x, y) in enumerate(zip(p, q, strict=True))) / len(p) for q in b] for p in a]


@given(ANSWERS)
def test_flips_and_churn_equal_their_definitions_exactly(answers):
    a, b, labels = answers
    right = a == labels, b == labels
    wanted = by_definition(a, b, lambda x, y, n: x != labels[n] and y == labels[n])
    assert good_flips(*right).tolist() == wanted
    wanted = by_definition(a, b, lambda x, y, n: x == labels[n] and y != labels[n])
    assert bad_flips(*right).tolist() == wanted
    assert cross_churn(a, b).tolist() == by_definition(a, b, lambda x, y, _: x != y)


@given(ANSWERS)
def test_good_less_bad_flips_are_the_difference_of_the_accuracies(answers):
    a, b, labels = answers
    right = a == labels, b == labels
    accuracies = [part.mean(axis=1) for part in right]
    np.testing.assert_allclose(
        good_flips(*right) - bad_flips(*right), accuracies[1] - accuracies[0][:, np.newaxis], atol=1e-12
    )
    assert (cross_churn(a, b) >= good_flips(*right) + bad_flips(*right) - 1e-12).all()


@given(ANSWERS)
def test_churn_lies_in_its_possible_range(answers):
    a, _, labels = answers
    errors = (a != labels).mean(axis=1)
    found = normalised_churn(pairwise_churn(a), errors)
    known = ~np.isnan(found)
    assert (found[known] >= -1e-12).all()
    assert (found[known] <= 1 + 1e-12).all()


def test_the_range_of_churn_is_from_the_difference_of_the_errors_to_their_sum():
    errors = np.array([0.1, 0.3])
    churn = np.array([[0, 0.2], [0.2, 0]])
    np.testing.assert_allclose(normalised_churn(churn, errors)[0, 1], 0, atol=1e-15)
    np.testing.assert_allclose(normalised_churn(1.5 * churn, errors)[0, 1], 0.5)
    np.testing.assert_allclose(normalised_churn(2 * churn, errors)[0, 1], 1)
    # Runs that err on most examples disagree on no more than all.
    np.testing.assert_allclose(normalised_churn(3 * churn, np.array([0.8, 0.6]))[0, 1], (0.6 - 0.2) / 0.8)


def test_a_range_of_one_value_has_no_place_in_it():
    assert np.isnan(normalised_churn(np.array([[0, 0.2], [0.2, 0]]), np.array([0, 0.2]))[0, 1])
