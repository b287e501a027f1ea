"""A portable tooling has the same bits on every maker's x86 processor: this one, and those that QEMU emulates.

It needs QEMU 7.2 or later (Debian's package qemu-user). Emulated processors have other makers, caches and instruction
sets: `Haswell` is an Intel, `EPYC` an AMD. QEMU has no AVX-512, and computes to the nearest number what a maker's
instruction only estimates (`rsqrtps`). A tooling that is not portable shows that a difference is found.
"""

import itertools
import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from toolnoise.base import arrays

pytestmark = pytest.mark.long

RECIPE = {"epochs": 1, "batch_size": 32, "learning_rate": 0.008, "crop": 1}
EMULATOR = "qemu-x86_64"
PROCESSORS = ("", "EPYC", "Haswell")
STEPS = Path(__file__).parent / "drivers/training.py"


@pytest.fixture(scope="module", params=[("tensorflow", "avx2"), ("tensorflow", "sse41"), ("torch", "avx2")])
def states(workshop, toolings, request, skip_without):
    """Of a portable tooling and of another, the state after some steps of the demo's network, on each processor."""
    if not shutil.which(EMULATOR):
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
    emulator = [EMULATOR, "-cpu", processor] if processor else []
    # The emulator runs the interpreter itself, which then does not know its virtual environment.
    variables = {"PYTHONPATH": os.pathsep.join([sysconfig.get_path("purelib"), *filter(None, sys.path)])}
    command = *emulator, Path(sys.executable).resolve(), STEPS, "some_steps", "study.yaml", here.data, out
    done = here.run(here.folder, *command, env=variables)
    assert done.returncode == 0, done.stderr
    return arrays.read_npz(here.folder / out)


def test_a_portable_tooling_has_the_same_bits_on_every_makers_processor(states):
    for one, other in itertools.pairwise(states[True]):
        assert list(one) == list(other)
        assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    assert any(
        one[name].tobytes() != other[name].tobytes() for one, other in itertools.pairwise(states[False]) for name in one
    )
