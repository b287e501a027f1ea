"""`kernels: products` in JAX: the numbers and gradients of XLA's convolutions but for rounding, and equal runs."""

import json
import sys
from pathlib import Path

import pytest

# `make test-jax` tries it, a part of .ci/run.
pytestmark = pytest.mark.long

DRIVER = Path(__file__).parent / "drivers/convolutions.py"
HALF_A_UNIT = 2.0**-24  # of rounding in float32


@pytest.fixture(scope="module")
def said(run, skip_without, tmp_path_factory):
    """What the driver prints, from a process of its own: JAX has threads, and other tests fork."""
    skip_without("jax")
    variables = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    done = run(tmp_path_factory.mktemp("convolutions"), sys.executable, DRIVER, env=variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_keras_computes_with_it_what_xla_computes_pixel_by_pixel_and_nothing_else(said):
    assert said["installed once"]
    assert said["shapes"][0] == said["shapes"][1]
    assert said["is XLA's"] == [[True] * len(said["wanted"]), said["wanted"]]


def test_its_numbers_and_gradients_are_xlas_but_for_rounding(said):
    for apart, is_theirs in zip(said["apart"], said["wanted"], strict=True):
        assert apart == 0 if is_theirs else apart < 32 * HALF_A_UNIT


def test_runs_with_it_repeat_bit_for_bit_and_differ_from_xlas(own_workshop, skip_without):
    skip_without("jax")
    digests = []
    for kernels in ("products", "products", "xla"):
        tooling = {"engine": "jax", "kernels": kernels}
        digests.append(own_workshop("by_channel", tooling=tooling, batch_size=8, epochs=2).train().digests)
    assert digests[0] == digests[1]
    assert digests[0][-1] != digests[2][-1]
