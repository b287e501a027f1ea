"""`fused_batch_norm: true`: what Keras's batch normalisation computes but for rounding, and equal runs."""

import numpy as np
import pytest

HALF_A_UNIT = 2.0**-24  # of rounding in float32


@pytest.fixture(scope="module", params=["tensorflow", "torch"])
def found(request, own_workshop, skip_without):
    """By the framework's kernels, by Keras's composition, by the former on one pixel; the first in another process."""
    skip_without(request.param)
    kept = {"batch_size": 24, "last_batch": "kept"}
    tooling = {"engine": request.param, "fused_batch_norm": True}
    fused = own_workshop("normalised", tooling=tooling, **kept)
    composed = own_workshop("normalised", tooling=tooling | {"fused_batch_norm": False}, **kept)
    alone = own_workshop("normalised", {"pixels": 1}, tooling=tooling, batch_size=1)
    others = [here.folder / "study.yaml" for here in (composed, alone)]
    all_three = fused.drive("training", "normalised", *others)
    another = fused.drive("training", "normalised", out="another.npz")
    return *(part(all_three, number) for number in range(3)), part(another, 0)


def part(found, number):
    return {name.removeprefix(f"{number}/"): values for name, values in found.items() if name.startswith(f"{number}/")}


def test_its_numbers_and_gradients_are_kerass_but_for_rounding(found):
    fused, composed, *_ = found
    moved = {name for name in composed if name.startswith("after/")}
    assert {name.rpartition("/")[2] for name in moved} >= {"moving_mean", "moving_variance", "gamma", "beta"}
    for name in moved | {name for name in composed if name.startswith("gradient/")} | {"loss"}:
        largest = max(np.abs(composed[name]).max(), 0.01)
        assert np.abs(fused[name] - composed[name]).max() < 256 * HALF_A_UNIT * largest, name


def test_it_repeats_bit_for_bit_and_differs_from_kerass(found):
    one, composed, _, another = ({name: tensor.tobytes() for name, tensor in each.items()} for each in found)
    assert set(composed) == set(one) == set(another)
    for name, values in one.items():
        assert values == another[name], name
        assert values == composed[name] or not name.startswith("initial/"), name
    assert any(values != composed[name] for name, values in one.items() if name.startswith("epoch/"))


def test_a_batch_of_one_pixel_has_no_variance(found):
    weights = {name: tensor for name, tensor in found[2].items() if name.startswith("epoch/")}
    assert all(np.isfinite(tensor).all() for tensor in weights.values())
    # It starts at 1, and each of 64 steps takes a hundredth of it.
    np.testing.assert_allclose(weights["epoch/plain/moving_variance"], 0.99**64, rtol=1e-4)
