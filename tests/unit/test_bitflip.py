"""One weight, one ulp: which one is drawn, and nothing else changes."""

import numpy as np
import pytest

from toolnoise.models.initial import Parameter, initial_weights
from toolnoise.training import bitflip

PARAMETERS = [
    Parameter("conv/kernel", (3, 3, 1, 4), True, "GlorotUniform", {}),
    Parameter("conv/bias", (4,), True, "Zeros", {}),
    Parameter("bn/gamma", (4,), True, "Ones", {}),
    Parameter("seen/values", (50, 50), False, "Zeros", {}),
    Parameter("logits/kernel", (16, 4), True, "GlorotUniform", {}),
]
KERNELS = {"conv/kernel": 36, "logits/kernel": 64}
MOVES = [bitflip.drawn(PARAMETERS, 0, replicate, "m") for replicate in range(1, 2001)]


def as_integers(values):
    return values.view(np.int32).astype(np.int64)


@pytest.mark.parametrize("move", MOVES[:20], ids=str)
def test_exactly_one_weight_moves_by_one_ulp(move):
    weights = initial_weights(PARAMETERS, 0, 1, "m")
    before = {path: tensor.copy() for path, tensor in weights.items()}
    moved = move.made(weights)
    assert list(moved) == list(weights)
    changed = {path: np.argwhere(moved[path] != before[path]).tolist() for path in weights}
    assert changed == {path: [] for path in weights} | {move.tensor: [list(move.index)]}
    old, new = before[move.tensor][move.index], moved[move.tensor][move.index]
    assert abs(as_integers(new) - as_integers(old)) == 1
    assert (new > old) == move.up
    assert all(weights[path].tobytes() == before[path].tobytes() for path in weights)
    assert moved[move.tensor].dtype == np.float32


def test_only_trained_kernels_are_moved_each_weight_as_likely_as_any_other():
    counts = {path: np.zeros(size, int) for path, size in KERNELS.items()}
    shapes = {parameter.path: parameter.shape for parameter in PARAMETERS}
    for move in MOVES:
        counts[move.tensor][np.ravel_multi_index(move.index, shapes[move.tensor])] += 1
    drawn = np.concatenate(list(counts.values()))
    # Chi-square with 99 degrees of freedom: five standard deviations.
    assert np.square(drawn - 20).sum() / 20 < 99 + 5 * np.sqrt(2 * 99)
    assert abs(np.mean([move.up for move in MOVES]) - 0.5) < 5 * np.sqrt(0.25 / len(MOVES))


def test_a_replicate_always_moves_the_same_weight():
    assert bitflip.drawn(PARAMETERS, 0, 7, "m") == MOVES[6]
    # These follow from the stream alone, for ever.
    assert [tuple(move) for move in MOVES[:2]] == [("logits/kernel", (9, 0), True), ("logits/kernel", (13, 0), False)]


def test_a_model_without_kernels_is_one_line(refused):
    line = refused(bitflip.drawn, PARAMETERS[1:4], 0, 1, "mine")
    assert line.startswith("model mine: no trained tensor of two axes or more")
