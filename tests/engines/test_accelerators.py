"""Accelerators: what a machine has, and which GPU a run takes."""

import subprocess
from types import SimpleNamespace

import pytest

from toolnoise.engines import accelerators, tensorflow
from toolnoise.engines.accelerators import Gpu
from toolnoise.study import config

# As drivers name them.
NAMES = {
    "p100": "Tesla P100-PCIE-16GB",
    "v100": "Tesla V100-SXM2-16GB",
    "rtx5000": "Quadro RTX 5000",
    "t4": "Tesla T4",
    "a100": "NVIDIA A100-SXM4-40GB",
    "h100": "NVIDIA H100 80GB HBM3",
    "h200": "NVIDIA H200",
}
OTHERS = [
    "NVIDIA GH200 480GB",
    "NVIDIA T400",
    "NVIDIA RTX 5000 Ada Generation",
    "NVIDIA A100X",
    "NVIDIA A10",
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    "NVIDIA H100 MIG 1g.10gb",
    "",
]


@pytest.mark.parametrize("entry", NAMES)
def test_a_registry_entry_accepts_its_own_device_and_no_other(entry):
    wanted = config.registered("hardware")[entry]["device"]
    every = [*NAMES.values(), *OTHERS]
    assert [name for name in every if accelerators.is_called(wanted, name)] == [NAMES[entry]]


def test_a_device_is_called_by_whole_words_in_their_order():
    for wanted, name in (("TPU v2", "TPU v2-8"), ("A100 MIG 1g.5gb", "NVIDIA A100 MIG 1g.5gb"), ("", "anything")):
        assert accelerators.is_called(wanted, name)
    for wanted, name in (("TPU v2", "TPU v3-8"), ("5000 RTX", "Quadro RTX 5000")):
        assert not accelerators.is_called(wanted, name)


V100 = {"name": "mine", "accelerator": "gpu", "device": "V100"}


def test_the_first_device_that_the_tooling_means_is_chosen():
    assert accelerators.choose(V100, ["Tesla T4", "Tesla V100-PCIE", "Tesla V100-SXM2"]) == 1
    assert accelerators.choose(V100 | {"device": ""}, ["Tesla T4", "Tesla V100-PCIE"]) == 0


@pytest.mark.parametrize(
    ("accelerator", "device", "there", "says"),
    [
        ("gpu", "V100", ["Tesla T4", "Tesla T4", "NVIDIA H200"], "found Tesla T4, NVIDIA H200; wanted: V100"),
        ("gpu", "", [], "no GPU is visible on this machine; wanted: any GPU"),
        ("tpu", "TPU v2", [], "no TPU is visible on this machine; wanted: TPU v2"),
    ],
)
def test_a_wrong_device_or_none_is_one_line_with_what_was_found_and_wanted(accelerator, device, there, says, refused):
    line = refused(accelerators.choose, {"name": "mine", "accelerator": accelerator, "device": device}, there)
    assert line == f"hardware mine: device: {says}"


SMI = """\
Tesla V100-SXM2-16GB, 535.104.05, 16384, GPU-aaaa1111
Tesla T4, 535.104.05, 15360, GPU-bbbb2222
"""
FOUND = [
    Gpu("Tesla V100-SXM2-16GB", "535.104.05", "16384", "GPU-aaaa1111"),
    Gpu("Tesla T4", "535.104.05", "15360", "GPU-bbbb2222"),
]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose nvidia-smi prints this and whose kernel tells these things; None is a machine without."""

    def make(printed, told=None):
        folder = tmp_path / "bin"
        folder.mkdir()
        if printed is not None:
            (folder / "nvidia-smi").write_text(f"#!/bin/sh\ncat <<'END'\n{printed}END\n")
            (folder / "nvidia-smi").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin" if printed is not None else str(folder))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        kernel = tmp_path / "nvidia"
        monkeypatch.setattr(accelerators, "NVIDIA", kernel)
        for name, text in (told or {}).items():
            (kernel / name).parent.mkdir(parents=True, exist_ok=True)
            (kernel / name).write_text(text)

    return make


@pytest.mark.parametrize(
    ("visible", "places"),
    [
        (None, [0, 1]),
        ("0,1", [0, 1]),
        ("1,0", [1, 0]),
        ("GPU-bbbb", [1]),
        ("", []),
        ("-1", []),
        ("0,7,1", [0]),
        ("NoDevFiles", []),
    ],
)
def test_gpus_are_those_that_nvidia_smi_lists_and_that_are_visible(visible, places, machine, monkeypatch):
    machine(SMI)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert accelerators.gpus() == [FOUND[place] for place in places]


INFORMATION = "Model: \t\t Quadro RTX 5000\nIRQ:   \t\t 33\nGPU UUID: \t GPU-cccc3333\n"
VERSIONS = [
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021\nGCC version: 9.3.0\n",
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  470.82.01  Release Build  (somebody)\n",
]


@pytest.mark.parametrize("version", VERSIONS)
def test_without_nvidia_smi_the_kernel_tells(version, machine):
    machine(None, {"version": version, "gpus/0000:01:00.0/information": INFORMATION})
    assert accelerators.gpus() == [Gpu("Quadro RTX 5000", "470.82.01", "", "GPU-cccc3333")]


@pytest.mark.parametrize("printed", [None, "", "No devices were found\n", "hangs"])
def test_a_machine_without_gpus_or_whose_nvidia_smi_hangs_has_none(printed, machine, monkeypatch):
    machine(SMI if printed == "hangs" else printed)

    def hang(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    if printed == "hangs":
        monkeypatch.setattr(subprocess, "run", hang)
    assert accelerators.gpus() == []


def test_a_tpu_is_called_as_its_host_says(monkeypatch, tmp_path):
    monkeypatch.setattr(accelerators, "TPU", tmp_path / "accel0")
    monkeypatch.delenv("TPU_ACCELERATOR_TYPE", raising=False)
    assert accelerators.tpu() == []
    (tmp_path / "accel0").touch()
    assert accelerators.tpu() == ["TPU"]
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v2-8")
    assert accelerators.tpu() == ["TPU v2-8"]


# Which GPU a run takes, with a TensorFlow that shows the GPUs of other machines


SHOWN = [
    {"device_name": "Tesla T4", "compute_capability": (7, 5)},
    {"device_name": "Tesla V100-SXM2-16GB", "compute_capability": (7, 0)},
    {"device_name": "Tesla V100-SXM2-16GB", "compute_capability": (7, 0)},
]


@pytest.fixture
def claim(monkeypatch):
    """Claim a GPU for a tooling; returns what is recorded and what TensorFlow was told."""

    def attempt(device, shown, present=()):
        monkeypatch.setattr(accelerators, "gpus", lambda: list(present))
        told = []
        experimental = SimpleNamespace(
            get_device_details=lambda place: shown[place],
            set_memory_growth=lambda place, on: told.append(("grow", place, on)),
        )
        config = SimpleNamespace(
            list_physical_devices=lambda kind: list(range(len(shown))) if kind == "GPU" else [],
            set_visible_devices=lambda place, kind: told.append(("show", place, kind)),
            experimental=experimental,
        )
        engine = tensorflow.Engine()
        engine.tf = SimpleNamespace(config=config)
        engine.tooling = {"name": "mine", "accelerator": "gpu", "device": device}
        return engine._claim_gpu(), told

    return attempt


def test_a_run_takes_the_first_gpu_that_its_tooling_means_hides_the_others_and_records_it(claim):
    present = [Gpu("Tesla T4", "470.1", "15360"), Gpu("Tesla V100-SXM2-16GB", "535.104.05", "16384")]
    found, told = claim("V100", SHOWN, present)
    assert told == [("show", 1, "GPU"), ("grow", 1, True)]
    assert found.pop("libraries") is not None
    assert found == {
        "device": "Tesla V100-SXM2-16GB",
        "compute_capability": "7.0",
        "driver": "535.104.05",
        "device_memory_mib": "16384",
    }


def test_a_gpu_that_tensorflow_cannot_use_is_one_line_that_says_what_to_install(claim, refused):
    line = refused(claim, "V100", [], [Gpu("Tesla V100-SXM2-16GB", "535.104.05")])
    found = "tensorflow cannot use the Tesla V100-SXM2-16GB of this machine"
    assert line == f"hardware mine: device: {found}; install the extra `cuda`"
