"""Environments: what is recorded of one, which there are for toolings, what is refused; and `toolnoise doctor`."""

import os
import re
import sys
import tomllib
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from toolnoise import cli
from toolnoise.base import environment, program
from toolnoise.base.errors import BadInput
from toolnoise.engines import FRAMEWORKS, accelerators, serving, tensorflow
from toolnoise.engines.accelerators import Gpu
from toolnoise.study import config, environments
from toolnoise.study.cells import Cell


@pytest.fixture
def imposed():
    """What `impose_variables` leaves of variables that a shell had; this process's own are put back afterwards."""

    def impose(shell, settings=None):
        os.environ.update(shell)
        told = environment.impose_variables(settings or {})
        return told, {name: os.environ[name] for name in (*shell, *(settings or {})) if name in os.environ}

    with patch.dict(os.environ):
        for name in environment.VISIBLE:
            os.environ.pop(name, None)
        yield impose


LEFTOVERS = """
TF_ENABLE_ONEDNN_OPTS TF_DETERMINISTIC_OPS TF_CUDNN_DETERMINISTIC TF_XLA_FLAGS TF2_BEHAVIOR XLA_FLAGS KERAS_BACKEND
KERAS_HOME OMP_NUM_THREADS OMP_DYNAMIC GOMP_CPU_AFFINITY KMP_AFFINITY ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA
MKL_NUM_THREADS OPENBLAS_NUM_THREADS CUBLAS_WORKSPACE_CONFIG CUBLASLT_WORKSPACE_SIZE CUDA_LAUNCH_BLOCKING
NVIDIA_TF32_OVERRIDE NCCL_ALGO JAX_ENABLE_X64 TORCH_ALLOW_TF32_CUBLAS_OVERRIDE PYTORCH_CUDA_ALLOC_CONF
"""


def test_a_variable_left_over_in_a_shell_never_reaches_a_framework_and_any_other_stays(imposed):
    others = dict.fromkeys(["PATH", "HOME", "PYTHONPATH", "SLURM_JOB_ID", "LD_LIBRARY_PATH", "MY_TF_MODELS"], "1")
    assert imposed(dict.fromkeys(LEFTOVERS.split(), "1") | others) == ({}, others)


def test_what_is_visible_stays_and_is_recorded_and_what_a_tooling_asks_for_is_set(imposed):
    shell = {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert imposed(shell, {"TF_NUM_INTEROP_THREADS": "1"}) == (
        shell | {"TF_NUM_INTEROP_THREADS": "1"},
        shell | {"TF_NUM_INTEROP_THREADS": "1"},
    )
    assert imposed({"OMP_NUM_THREADS": "8"}, {"OMP_NUM_THREADS": "1"})[1] == {"OMP_NUM_THREADS": "1"}
    # What is set for NumPy's libraries is forgotten, and nothing else.
    os.environ.update({"OPENBLAS_CORETYPE": "Haswell", "TORCH_HOME": "here"})
    environment.forget_numerical()
    assert "OPENBLAS_CORETYPE" not in os.environ and os.environ["TORCH_HOME"] == "here"


TOOLING = {"engine": "tensorflow", "name": "mine", "kernels": "onednn", "precision": "float32"}
FLAGS = {"sse41": "fpu sse4_1", "avx2": "fpu sse4_1 avx avx2", "avx512": "fpu sse4_1 avx avx2 avx512f"}


def serves(isa):
    try:
        environment.require_cpu(TOOLING | {"isa": isa})
    except BadInput:
        return False
    return True


@pytest.mark.parametrize("isa", FLAGS)
def test_a_cpu_serves_its_own_instruction_set_and_older_ones_and_refuses_others_in_one_line(isa, machine, refused):
    machine(flags=FLAGS[isa])
    able = list(FLAGS)[: list(FLAGS).index(isa) + 1]
    assert [name for name in FLAGS if serves(name)] == able
    for lacking in [name for name in FLAGS if name not in able]:
        line = refused(environment.require_cpu, TOOLING | {"isa": lacking})
        has = f"it has: {', '.join(able)}"
        assert line == f"hardware mine: isa: {lacking} is not available on this CPU (Some CPU); {has}"
    assert list(environment.FLAGS) == config.study_schema()["$defs"]["tooling"]["properties"]["isa"]["enum"]
    machine(flags="fpu avx avx2_like xavx2")
    assert not any(map(serves, FLAGS))


MACOS = {
    "machdep.cpu.brand_string": "Intel(R) Core(TM) i7",
    "machdep.cpu.features": "FPU SSE4.1 SSE4.2 AVX1.0",
    "machdep.cpu.leaf7_features": "AVX2 BMI2",
}


def test_a_machine_without_proc_is_asked_as_macos_answers(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(environment, "_sysctl", lambda name: MACOS.get(name, ""))
    assert environment.describe_machine()["cpu"] == "Intel(R) Core(TM) i7"
    environment.require_cpu(TOOLING | {"isa": "avx2"})
    # One that tells nothing has no instruction set, and still a name.
    monkeypatch.setattr(environment, "_sysctl", lambda _name: "")
    assert environment.describe_machine()["cpu"]
    assert environment.describe_machine()["cpu_flags"] == []


def test_the_machine_is_recorded(imposed):
    place = {"SLURM_JOB_ID": "7", "SLURM_JOB_PARTITION": "v100", "SLURMD_NODENAME": "gpu2"}
    imposed(place | {"SLURM_JOB_USER": "somebody"})
    found = environment.describe_machine()
    assert found["slurm"] == place
    assert found["cores"] >= 1
    assert found["memory_mib"] > 100
    assert all(found[name] for name in ("host", "system", "python", "cpu"))
    packages = environment.installed_versions("numpy|num|tensorflow.*")
    assert packages["numpy"] == np.__version__
    assert set(packages) <= {"numpy", "tensorflow", "tensorflow-cpu"}


# Environments of toolings: which there are, where a job computes, and what is refused


OLD = "tensorflow-2.16"


@pytest.fixture
def elsewhere(written, built):
    """A study with a tooling in another environment."""
    written["hardware"] = {"cpu-old": {"accelerator": "cpu", "environment": OLD}}
    written["grid"][0] |= {"hardware": ["cpu-old"], "variants": ["control", "algo"], "seeds": 2}
    return built(written)


def test_a_spec_names_an_environment_only_if_it_is_not_the_workflows(elsewhere, built, written):
    cell = Cell("smallcnn", "digits", "cpu-old", "algo")
    assert elsewhere.spec(cell, 1).hardware.json["environment"] == OLD
    assert environments.environment_of({"spec": elsewhere.spec(cell, 1).as_json()}) == OLD
    del written["hardware"]["cpu-old"]["environment"]
    assert "environment" not in built(written).spec(cell, 1).hardware.json
    assert environments.environment_of({}) == environments.environment_of({"spec": {"images": {}}}) == ""


def test_a_job_goes_on_in_the_environment_of_its_tooling(here, elsewhere, options_of, monkeypatch):
    made = here / ".environments" / OLD / "bin"
    made.mkdir(parents=True)
    (made / "toolnoise").touch()
    spec = options_of(elsewhere.spec(Cell("smallcnn", "digits", "cpu-old", "algo"), 1))
    outs = ["--data", "d", "--weights", "w", "--history", "h", "--record", "r", "--checkpoint", "c"]
    train, called = ["train", *spec, *outs], []
    monkeypatch.setattr(os, "execv", lambda *given: called.append(given) or sys.exit(0))
    with pytest.raises(SystemExit):
        cli.main(train)
    assert called == [(made / "toolnoise", [str(made / "toolnoise"), *train])]


# `toolnoise doctor`


V100 = Gpu("Tesla V100-SXM2-16GB", "535.104.05", "16384", "GPU-1")
SEEN_FLAGS = "fpu sse4_1 avx avx2"


@pytest.fixture
def machine(monkeypatch):
    """Pretend to be a machine with these GPUs, TPUs and CPU flags, with every framework, on GPUs or not."""

    def pretend(gpus=(), tpus=(), flags=SEEN_FLAGS, cuda=True):
        monkeypatch.setattr(accelerators, "gpus", lambda: list(gpus))
        monkeypatch.setattr(accelerators, "tpu", lambda: list(tpus))
        monkeypatch.setattr(environment, "_cpuinfo", {"flags": flags, "model name": "Some CPU"}.get)
        monkeypatch.setattr(serving, "_computes_on_gpus", lambda _engine: cuda)
        monkeypatch.setattr(serving.importlib.util, "find_spec", lambda _name: True)

    return pretend


def why_not(name):
    return serving.why_not({"name": name, **config.registry_entries("hardware")[name]})


def test_a_machine_serves_its_own_accelerator_and_no_other(machine):
    machine([V100])
    registry = config.registry_entries("hardware")
    able = [name for name, entry in registry.items() if entry["accelerator"] == "gpu" and not why_not(name)]
    # A program of one's own takes any GPU.
    able.remove("command-gpu")
    assert able == ["v100"]
    assert why_not("t4") == "device: found Tesla V100-SXM2-16GB; wanted: T4"
    machine(tpus=["TPU v3-8"])
    assert why_not("tpu-v2-8") == "device: found TPU v3-8; wanted: TPU v2"
    machine(tpus=["TPU v2-8"])
    assert why_not("tpu-v2-8") == ""


@pytest.mark.parametrize("engine", FRAMEWORKS)
def test_a_framework_without_gpu_kernels_serves_no_gpu_and_what_to_install_is_told(machine, engine):
    machine([V100], cuda=False)
    assert why_not("cpu") == ""
    entry = {"name": "v100", **config.registry_entries("hardware")["v100"], "engine": engine}
    wanted = accelerators.INSTALL[engine]
    assert serving.why_not(entry) == f"engine: the installed {engine} computes only on CPUs; {wanted}"
    project = tomllib.loads((program.ROOT / "pyproject.toml").read_text())["project"]
    assert set(re.findall("`(.*)`", wanted)) <= set(project["optional-dependencies"])


def test_the_doctor_lists_what_is_here_and_what_can_run_and_imports_no_framework(run, tmp_path):
    program = "import sys; from toolnoise import cli; cli.main(['doctor']); print('imported', *sys.modules)"
    done = run(tmp_path, sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    *lines, modules = done.stdout.splitlines()
    found = dict(line.split(maxsplit=1) for line in lines)
    assert set(found) >= {"machine", "cores", "GPUs", "frameworks", "ssh-keygen", "conda", "sbatch"}
    assert re.search(r"keras 3\.", found["frameworks"])
    able = [name for name, entry in config.registry_entries("hardware").items() if not why_not(name)]
    assert [line.split()[-1] for line in lines if line.startswith("can run")] == [
        name for name in able if config.registry_entries("hardware")[name]["engine"] != "command"
    ]
    assert {*FRAMEWORKS, "keras"}.isdisjoint(modules.split())


# Accelerators: what a machine has, and which GPU a run takes


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
    wanted = config.registry_entries("hardware")[entry]["device"]
    every = [*NAMES.values(), *OTHERS]
    assert [name for name in every if accelerators.is_called(wanted, name)] == [NAMES[entry]]


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
def with_smi(tmp_path, monkeypatch):
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
        ("1,0", [1, 0]),
        ("GPU-bbbb", [1]),
        ("", []),
        ("0,7,1", [0]),
    ],
)
def test_gpus_are_those_that_nvidia_smi_lists_and_that_are_visible(visible, places, with_smi, monkeypatch):
    with_smi(SMI)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert accelerators.gpus() == [FOUND[place] for place in places]


INFORMATION = "Model: \t\t Quadro RTX 5000\nIRQ:   \t\t 33\nGPU UUID: \t GPU-cccc3333\n"
VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  470.82.01  Release Build  (somebody)\n"


def test_without_nvidia_smi_the_kernel_tells(with_smi):
    with_smi(None, {"version": VERSION, "gpus/0000:01:00.0/information": INFORMATION})
    assert accelerators.gpus() == [Gpu("Quadro RTX 5000", "470.82.01", "", "GPU-cccc3333")]


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
