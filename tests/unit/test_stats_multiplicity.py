"""Adjusted p-values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_equal

from toolnoise.stats.multiplicity import holm

PVALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)
NAN = np.nan


@given(PVALUES)
def test_holm_rejects_what_his_steps_reject(pvalues):
    for level in (0.01, 0.05, 0.5):
        rejected, left = set(), len(pvalues)
        for place in np.argsort(pvalues, kind="stable"):
            if pvalues[place] * left > level:
                break
            rejected.add(int(place))
            left -= 1
        assert set(np.flatnonzero(holm(pvalues) <= level)) == rejected


@given(PVALUES)
def test_adjusting_never_helps_a_test_nor_changes_their_order(pvalues):
    adjusted = holm(pvalues)
    assert np.all((adjusted >= pvalues * (1 - 1e-12)) & (adjusted <= 1))
    order = np.argsort(pvalues, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)


def test_an_undefined_pvalue_is_no_test():
    assert_equal(holm(np.array([NAN, 0.01, NAN, 0.02])), np.insert(holm(np.array([0.01, 0.02])), [0, 1], NAN))
    assert_equal(holm(np.array([NAN])), [NAN])
    assert holm(np.array([])).shape == (0,)


def test_holm_by_hand():
    assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
