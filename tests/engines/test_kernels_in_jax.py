"""What JAX computes on a CPU by functions of this program: the numbers of XLA's operations, and equal runs."""

import json
import sys
from pathlib import Path

import pytest

# `make test-jax` tries it, a part of .ci/run.
pytestmark = pytest.mark.long

DRIVER = Path(__file__).parent / "drivers/kernels_in_jax.py"
HALF_A_UNIT = 2.0**-24  # of rounding in float32


@pytest.fixture(scope="module")
def said(run, skip_without, tmp_path_factory):
    """What the driver prints, from a process of its own: JAX has threads, and other tests fork."""
    skip_without("jax")
    variables = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    done = run(tmp_path_factory.mktemp("kernels"), sys.executable, DRIVER, env=variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def convolved(said):
    """By `kernels: products`."""
    return said["convolved"]


@pytest.fixture
def pooled(said):
    return said["pooled"]


def test_keras_computes_with_it_what_xla_computes_pixel_by_pixel_and_nothing_else(convolved):
    assert convolved["installed once"]
    assert convolved["shapes"][0] == convolved["shapes"][1]
    assert convolved["is XLA's"] == [[True] * len(convolved["wanted"]), convolved["wanted"]]


def test_its_numbers_and_gradients_are_xlas_but_for_rounding(convolved):
    for apart, is_theirs in zip(convolved["apart"], convolved["wanted"], strict=True):
        assert apart == 0 if is_theirs else apart < 32 * HALF_A_UNIT


def test_runs_with_it_repeat_bit_for_bit_and_differ_from_xlas(own_workshop, skip_without):
    skip_without("jax")
    digests = []
    for kernels in ("products", "products", "xla"):
        tooling = {"engine": "jax", "kernels": kernels}
        digests.append(own_workshop("by_channel", tooling=tooling, batch_size=8, epochs=2).train().digests)
    assert digests[0] == digests[1]
    assert digests[0][-1] != digests[2][-1]


def test_numbers_and_the_bits_of_gradients_are_those_of_xla(pooled):
    assert pooled["agreement"] == [[True, True]] * 8


def test_what_is_no_number_stays(pooled):
    assert pooled["holes"] == [[[[True], [True]]]]


def test_keras_pools_with_it_and_other_windows_as_before(pooled):
    assert pooled["installed once"]
    assert pooled["by it"] == [[[[5], [7]], [[13], [15]]]]
    assert pooled["others"] == [
        [[1, 4, 4, 1], [2, 2], [1, 1], "valid", None],
        [[1, 4, 4, 1], [2, 2], None, "same", None],
        [[1, 4, 4, 1], 2, 2, "valid", "channels_first"],
    ]
