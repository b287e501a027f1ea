"""The loss scale of float16 by its counts; test_precision.py holds it beside Keras's in training."""

import numpy as np

from toolnoise.engines import loss_scale
from toolnoise.engines.loss_scale import COUNTS, DOUBLINGS, EXPONENTS, INITIAL_EXPONENT, LEFT_OUT


def after(counts, finite):
    return loss_scale.after(counts, np.int32(finite), np.clip)


def factor(doublings, sign=1):
    return float(np.int32(loss_scale.bits(doublings, sign)).view(np.float32))


def test_an_overflow_halves_the_scale_and_is_left_out_and_steps_in_a_row_double_it(monkeypatch):
    monkeypatch.setattr(loss_scale, "STEPS_TO_GROW", 3)
    counts, found = dict.fromkeys(COUNTS, np.int32(0)), []
    for finite in (0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1):
        counts = after(counts, finite)
        found.append(int(counts[DOUBLINGS]))
    assert found == [-1, -2, -2, -2, -1, -1, -1, -2, -2, -2, -1, -1, -1, 0]
    assert counts[LEFT_OUT] == 3
    assert factor(0) == 2.0**15


def test_a_scale_and_its_inverse_are_numbers_and_exact_as_far_as_they_go():
    low, high = (exponent - INITIAL_EXPONENT for exponent in EXPONENTS)
    for doublings in range(low, high + 1):
        assert factor(doublings) * factor(doublings, -1) == 1
        assert factor(doublings) == 2.0 ** (doublings + INITIAL_EXPONENT)
    for doublings, end in ((-1000, low), (1000, high)):
        assert after(dict.fromkeys(COUNTS, np.int32(0)) | {DOUBLINGS: np.int32(doublings)}, 1)[DOUBLINGS] == end
