import numpy as np
from numpy.testing import assert_equal

from toolnoise.formulas.equal_runs import bit_equal, rate_step, value_step, with_width
from toolnoise.stats.estimates import Estimate


def test_runs_are_bit_equal_or_they_are_not():
    logits = np.repeat(np.array([[[0.1, np.nan]]], np.float32), 3, axis=0)
    assert bit_equal(logits)
    logits[2, 0, 0] = np.nextafter(np.float32(0.1), np.float32(1))
    assert not bit_equal(logits)
    assert not bit_equal(np.array([[0.0], [-0.0]]))
    assert bit_equal(logits[:, :, ::-1][:2])  # not contiguous
    assert bit_equal(logits[:1])
    assert bit_equal(np.empty((0, 0)))


def test_only_the_rates_of_runs_that_differ_have_a_step():
    assert (rate_step(50, equal=False), rate_step(50, equal=True), value_step(equal=True)) == (0.02, 0, 0)
    assert np.isnan([rate_step(0, equal=False), value_step(equal=False)]).all()


def test_an_interval_without_width_belongs_to_bit_equal_runs_alone():
    rows = [("churn", "all", Estimate(0.1, 0.1, 0.1)), ("cka", "all", Estimate(0.9, 0.8, 1.0))]
    assert with_width(rows, equal=True) == rows
    assert_equal(with_width(rows, equal=False), [("churn", "all", Estimate(0.1, np.nan, np.nan)), rows[1]])
