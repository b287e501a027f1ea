"""Accelerators: the devices of a machine, as its drivers name them, and the choice of the one that a tooling names.

Nothing here needs a framework, so `doctor` works where none is installed. An engine gets the device names from its
framework and chooses among them by the same rule.
"""

import csv
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput

# What to install if an engine cannot compute on GPUs.
INSTALL = {
    "tensorflow": "install the extra `cuda`",
    "jax": "install the extra `jax-cuda`",
    "torch": "install a build of torch for CUDA",
}
NVIDIA = Path("/proc/driver/nvidia")
TPU = Path("/dev/accel0")


class Gpu(NamedTuple):
    """One GPU as its driver reports it; unknown fields are empty."""

    name: str
    driver: str
    memory_mib: str = ""
    uuid: str = ""


def is_called(wanted: str, name: str) -> bool:
    """Whether a device's name contains the wanted one, as whole words: a GH200 is not an H200.

    A slice of a GPU (MIG) has fewer cores than the GPU and matches only a tooling that names MIG.
    """
    words, sought = (re.findall(r"[A-Z0-9]+", text.upper()) for text in (name, wanted))
    places = range(len(words) - len(sought) + 1)
    if sought and "MIG" in words and "MIG" not in sought:
        return False
    return any(words[place : place + len(sought)] == sought for place in places)


def choose(tooling: dict[str, Any], names: Sequence[str]) -> int:
    """The index of the first device that matches a tooling, among the devices that a run sees."""
    for place, name in enumerate(names):
        if is_called(tooling["device"], name):
            return place
    kind = tooling["accelerator"].upper()
    visible = f"found {', '.join(dict.fromkeys(names))}" if names else f"no {kind} is visible on this machine"
    raise BadInput(f"hardware {tooling['name']}", "device", visible, f"wanted: {tooling['device'] or f'any {kind}'}")


def gpus() -> list[Gpu]:
    """The GPUs of this machine that a scheduler or a user left visible."""
    present = _from_nvidia_smi() or _from_driver_files()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return present
    # CUDA's rule: numbers or identifiers up to the first that names no device.
    chosen = []
    for device in visible.split(","):
        name = device.strip()
        by_name = [gpu for gpu in present if len(name) > len("GPU-") and gpu.uuid.startswith(name)]
        match = [present[int(name)]] if name.isdecimal() and int(name) < len(present) else by_name
        if len(match) != 1:
            break
        chosen += match
    return chosen


def tpu() -> list[str]:
    """The name of this machine's TPU, as a list of one or none.

    Cloud hosts set its type in TPU_ACCELERATOR_TYPE; a device of unknown type is `TPU`.
    """
    kind = os.environ.get("TPU_ACCELERATOR_TYPE", "")
    return [f"TPU {kind}".strip()] if kind or TPU.exists() else []


def _from_nvidia_smi() -> list[Gpu]:
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,uuid", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = csv.reader(answer.stdout.splitlines(), skipinitialspace=True)
    return [Gpu(*row) for row in rows if len(row) == len(Gpu._fields)]


def _from_driver_files() -> list[Gpu]:
    """The GPUs from the kernel driver's files, for containers without nvidia-smi."""
    version = NVIDIA / "version"
    match = re.search(r"\s(\d+\.\d+(\.\d+)?)\s", version.read_text()) if version.exists() else None
    driver = match[1] if match else ""
    abouts = [path.read_text() for path in sorted(NVIDIA.glob("gpus/*/information"))]
    models = [re.search(r"^Model:\s*(.+?)\s*$", about, re.MULTILINE) for about in abouts]
    uuids = [re.search(r"^GPU UUID:\s*(\S+)", about, re.MULTILINE) for about in abouts]
    return [
        Gpu(model[1], driver, uuid=uuid[1] if uuid else "") for model, uuid in zip(models, uuids, strict=True) if model
    ]
