"""Max-pooling in JAX on a CPU: the numbers of XLA's window operation and, bit for bit, its gradients, but for NaN."""

import json
import sys
from pathlib import Path

import pytest

# `make test-jax` tries it, a part of .ci/run.
pytestmark = pytest.mark.long

DRIVER = Path(__file__).parent / "drivers/pooling.py"


@pytest.fixture(scope="module")
def said(run, skip_without, tmp_path_factory):
    """What the driver prints, from a process of its own: JAX has threads, and other tests fork."""
    skip_without("jax")
    done = run(tmp_path_factory.mktemp("pooling"), sys.executable, DRIVER)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_numbers_and_the_bits_of_gradients_are_those_of_xla(said):
    assert said["agreement"] == [[True, True]] * 8


def test_what_is_no_number_stays(said):
    assert said["holes"] == [[[[True], [True]]]]


def test_keras_pools_with_it_and_other_windows_as_before(said):
    assert said["installed once"]
    assert said["pooled"] == [[[[5], [7]], [[13], [15]]]]
    assert said["others"] == [
        [[1, 4, 4, 1], [2, 2], [1, 1], "valid", None],
        [[1, 4, 4, 1], [2, 2], None, "same", None],
        [[1, 4, 4, 1], 2, 2, "valid", "channels_first"],
    ]
