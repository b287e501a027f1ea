"""`fused_batch_norm: true`: what Keras's batch normalisation computes but for rounding, and equal runs."""

import numpy as np
import pytest

HALF_A_UNIT = 2.0**-24  # of rounding in float32


@pytest.fixture(scope="module", params=["tensorflow", "torch"])
def both(request, own_workshop, skip_without):
    """Workshops of a framework, on Keras's composition and on the framework's kernels."""
    skip_without(request.param)
    return {
        fused: own_workshop(
            "normalised", tooling={"engine": request.param, "fused_batch_norm": fused}, batch_size=24, last_batch="kept"
        )
        for fused in (False, True)
    }


def test_its_numbers_and_gradients_are_kerass_but_for_rounding(both):
    composed, fused = (here.drive("training", "first_step") for here in both.values())
    moved = {name for name in composed if name.startswith("after/")}
    assert {name.rpartition("/")[2] for name in moved} >= {"moving_mean", "moving_variance", "gamma", "beta"}
    for name in moved | {name for name in composed if name.startswith("gradient/")} | {"loss"}:
        largest = max(np.abs(composed[name]).max(), 0.01)
        assert np.abs(fused[name] - composed[name]).max() < 256 * HALF_A_UNIT * largest, name


def test_runs_with_it_repeat_bit_for_bit_and_differ_from_kerass(both):
    composed, one, another = both[False].train(), both[True].train("control", 1), both[True].train("control", 2)
    assert one.weight_bytes == another.weight_bytes
    assert one.weight_bytes != composed.weight_bytes
    assert one.record["initial_sha256"] == composed.record["initial_sha256"]


def test_a_batch_of_one_pixel_has_no_variance(own_workshop, both):
    engine = both[True].spec().hardware.engine
    tooling = {"engine": engine, "fused_batch_norm": True}
    alone = own_workshop("normalised", {"pixels": 1}, tooling=tooling, batch_size=1).train()
    assert all(np.isfinite(tensor).all() for tensor in alone.weights.values())
    # It starts at 1, and each of 64 steps takes a hundredth of it.
    np.testing.assert_allclose(alone.weights["plain/moving_variance"], 0.99**64, rtol=1e-4)
