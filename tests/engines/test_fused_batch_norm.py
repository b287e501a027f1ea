"""`fused_batch_norm: true`: what Keras's batch normalisation computes but for rounding, and equal runs."""

import numpy as np
import pytest

HALF_A_UNIT = 2.0**-24  # of rounding in float32


@pytest.fixture(scope="module", params=["tensorflow", "torch"])
def found(request, own_workshop, skip_without):
    """An epoch by Keras's composition, by the framework's kernels, and by these in another process and on one pixel."""
    skip_without(request.param)
    kept = {"batch_size": 24, "last_batch": "kept"}
    composed, fused = (
        own_workshop("normalised", tooling={"engine": request.param, "fused_batch_norm": fused}, **kept)
        for fused in (False, True)
    )
    alone = own_workshop("normalised", {"pixels": 1}, batch_size=1)
    again = fused.drive("training", "normalised", alone.folder / "study.yaml", out="again.npz")
    return *(here.drive("training", "normalised") for here in (composed, fused)), again


def test_its_numbers_and_gradients_are_kerass_but_for_rounding(found):
    composed, fused, _ = found
    moved = {name for name in composed if name.startswith("after/")}
    assert {name.rpartition("/")[2] for name in moved} >= {"moving_mean", "moving_variance", "gamma", "beta"}
    for name in moved | {name for name in composed if name.startswith("gradient/")} | {"loss"}:
        largest = max(np.abs(composed[name]).max(), 0.01)
        assert np.abs(fused[name] - composed[name]).max() < 256 * HALF_A_UNIT * largest, name


def test_it_repeats_bit_for_bit_and_differs_from_kerass(found):
    composed, one, another = ({name: tensor.tobytes() for name, tensor in each.items()} for each in found)
    assert set(composed) == set(one)
    for name, values in one.items():
        assert values == another[name], name
        assert values == composed[name] or not name.startswith("initial/"), name
    assert any(values != composed[name] for name, values in one.items() if name.startswith("epoch/"))


def test_a_batch_of_one_pixel_has_no_variance(found):
    weights = {name: tensor for name, tensor in found[-1].items() if name.startswith("pixel/")}
    assert all(np.isfinite(tensor).all() for tensor in weights.values())
    # It starts at 1, and each of 64 steps takes a hundredth of it.
    np.testing.assert_allclose(weights["pixel/plain/moving_variance"], 0.99**64, rtol=1e-4)
