"""Accelerators: what a machine has, as its drivers name it, and which of it a tooling means.

Nothing here needs a framework, so that `doctor` answers where none is installed. An engine asks its framework for the
names that it sees and chooses among them by the same rule.
"""

import csv
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput

# What to install where an engine cannot compute on GPUs.
INSTALL = {
    "tensorflow": "install the extra `cuda`",
    "jax": "install the extra `jax-cuda`",
    "torch": "install a build of torch for CUDA",
}
NVIDIA = Path("/proc/driver/nvidia")
TPU = Path("/dev/accel0")


class Gpu(NamedTuple):
    """One GPU as its driver tells it; what the driver does not tell is empty."""

    name: str
    driver: str
    memory_mib: str = ""
    uuid: str = ""


def is_called(wanted: str, name: str) -> bool:
    """Whether a device's name has the wanted one in it, as whole words: a GH200 is no H200.

    A slice of a GPU (MIG) has fewer cores than the GPU and is meant only by a tooling that says so.
    """
    found, sought = (re.findall(r"[A-Z0-9]+", text.upper()) for text in (name, wanted))
    places = range(len(found) - len(sought) + 1)
    if sought and "MIG" in found and "MIG" not in sought:
        return False
    return any(found[place : place + len(sought)] == sought for place in places)


def choose(tooling: dict[str, Any], names: Sequence[str]) -> int:
    """The place of the first device that a tooling means among the devices that a run sees."""
    for place, name in enumerate(names):
        if is_called(tooling["device"], name):
            return place
    kind = tooling["accelerator"].upper()
    found = f"found {', '.join(dict.fromkeys(names))}" if names else f"no {kind} is visible on this machine"
    raise BadInput(f"hardware {tooling['name']}", "device", found, f"wanted: {tooling['device'] or f'any {kind}'}")


def gpus() -> list[Gpu]:
    """The GPUs of this machine that a scheduler or a user left visible."""
    present = _from_nvidia_smi() or _from_driver_files()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return present
    # As CUDA reads it: numbers or identifiers up to the first that names no device.
    chosen = []
    for device in visible.split(","):
        by_number = device.strip().isdecimal() and int(device) < len(present)
        match = [present[int(device)]] if by_number else [gpu for gpu in present if _identifies(device.strip(), gpu)]
        if len(match) != 1:
            break
        chosen += match
    return chosen


def tpu() -> list[str]:
    """The name of this machine's TPU, as a list of one or none.

    Cloud hosts tell its type in TPU_ACCELERATOR_TYPE; where a device is there and its type is not told, it is `TPU`.
    """
    kind = os.environ.get("TPU_ACCELERATOR_TYPE", "")
    return [f"TPU {kind}".strip()] if kind or TPU.exists() else []


def _from_nvidia_smi() -> list[Gpu]:
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,uuid", "--format=csv,noheader,nounits"]
    try:
        asked = subprocess.run(query, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = csv.reader(asked.stdout.splitlines(), skipinitialspace=True)
    return [Gpu(*row) for row in rows if len(row) == len(Gpu._fields)]


def _from_driver_files() -> list[Gpu]:
    """Where nvidia-smi is not to be had, as in many containers, the kernel still tells the models."""
    version = NVIDIA / "version"
    match = re.search(r"\s(\d+\.\d+(\.\d+)?)\s", version.read_text()) if version.exists() else None
    driver = match[1] if match else ""
    abouts = [path.read_text() for path in sorted(NVIDIA.glob("gpus/*/information"))]
    models = [re.search(r"^Model:\s*(.+?)\s*$", about, re.MULTILINE) for about in abouts]
    uuids = [re.search(r"^GPU UUID:\s*(\S+)", about, re.MULTILINE) for about in abouts]
    return [
        Gpu(model[1], driver, uuid=uuid[1] if uuid else "") for model, uuid in zip(models, uuids, strict=True) if model
    ]


def _identifies(identifier: str, gpu: Gpu) -> bool:
    return len(identifier) > len("GPU-") and gpu.uuid.startswith(identifier)
