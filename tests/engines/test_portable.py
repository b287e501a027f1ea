"""A portable tooling has the same bits on every maker's x86 processor: this one, and those that QEMU emulates.

Emulated processors have other makers, caches and instruction sets. What a maker's instruction only estimates, QEMU
computes to the nearest number. On each framework a tooling that is not portable shows that a difference is found.
"""

import itertools
from pathlib import Path

import emulated
import pytest

from toolnoise.base import arrays

pytestmark = pytest.mark.long

RECIPE = {"epochs": 1, "batch_size": 32, "learning_rate": 0.008, "crop": 1}
PROCESSORS = ("", *emulated.PROCESSORS)
STEPS = Path(__file__).parent / "drivers/training.py"


@pytest.fixture(scope="module", params=[("tensorflow", "avx2"), ("tensorflow", "sse41"), ("torch", "avx2")])
def states(workshop, toolings, request, skip_without):
    """Of a portable tooling and of another, the state after some steps of the demo's network, on each processor."""
    if not emulated.is_here():
        pytest.skip("needs QEMU's user mode (Debian's package qemu-user)")
    framework, isa = request.param
    skip_without(framework)
    found = {}
    for portable in (True, False):
        tooling = toolings[framework] | {"isa": isa} | ({"portable": True} if portable else {})
        here = workshop(RECIPE, "smallcnn-bn", hardware=("cpu",), own_hardware={"cpu": tooling})
        found[portable] = [steps(here, processor) for processor in PROCESSORS]
    return found


def steps(here, processor):
    out = f"{processor or 'here'}.npz"
    command = *emulated.python(processor), STEPS, "some_steps", "study.yaml", here.data, out
    done = here.run(here.folder, *command, env=emulated.variables())
    assert done.returncode == 0, done.stderr
    return arrays.read_npz(here.folder / out)


def test_a_portable_tooling_has_the_same_bits_on_every_makers_processor(states):
    for one, other in itertools.pairwise(states[True]):
        assert list(one) == list(other)
        assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    assert any(
        one[name].tobytes() != other[name].tobytes() for one, other in itertools.pairwise(states[False]) for name in one
    )
