"""This Python on a processor that QEMU emulates, with another maker, other caches and other instruction sets.

It needs QEMU 7.2 or later (Debian's package qemu-user). `Haswell` is an Intel with 32 KiB of first-level data cache,
`EPYC` an AMD with 32, and `Haswell,vendor=AuthenticAMD` reports 64 where AMD's processors do. QEMU has no AVX-512, and
gives the nearest number where a maker's instruction gives an estimate (`rsqrtps`).
"""

import os
import shutil
import sys
import sysconfig

PROCESSORS = ("EPYC", "Haswell")
EMULATOR = "qemu-x86_64"


def is_here() -> bool:
    """Whether there is an emulator."""
    return shutil.which(EMULATOR) is not None


def python(processor: str) -> list[str]:
    """The command for this Python on that processor; on this one, if it has no name."""
    # The emulator runs the interpreter itself, which then does not know its virtual environment.
    return [*([EMULATOR, "-cpu", processor] if processor else []), os.path.realpath(sys.executable)]


def variables() -> dict[str, str]:
    """The environment in which that Python finds the packages of this one."""
    return {"PYTHONPATH": os.pathsep.join([sysconfig.get_path("purelib"), *filter(None, sys.path)])}
