"""Environments: what is recorded of one, which there are for toolings, what is refused; and `toolnoise doctor`."""

import importlib.util
import os
import re
import sys
import tomllib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from toolnoise import cli
from toolnoise.base import environment, program
from toolnoise.base.errors import BadInput
from toolnoise.engines import FRAMEWORKS, accelerators, serving
from toolnoise.engines.accelerators import Gpu
from toolnoise.study import config, environments
from toolnoise.study.cells import Cell


@pytest.fixture
def imposed():
    """What `impose` leaves of variables that a shell had; this process's own are put back afterwards."""

    def impose(shell, settings=None):
        os.environ.update(shell)
        told = environment.impose(settings or {})
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


@pytest.fixture
def cpu(monkeypatch):
    """Give this machine a CPU with these flags."""

    def pretend(flags):
        monkeypatch.setattr(environment, "_cpuinfo", {"flags": flags, "model name": "Some CPU"}.get)

    return pretend


TOOLING = {"engine": "tensorflow", "name": "mine", "kernels": "onednn", "precision": "float32"}
FLAGS = {"sse41": "fpu sse4_1", "avx2": "fpu sse4_1 avx avx2", "avx512": "fpu sse4_1 avx avx2 avx512f"}


def serves(isa):
    try:
        environment.require_cpu(TOOLING | {"isa": isa})
    except BadInput:
        return False
    return True


@pytest.mark.parametrize("isa", FLAGS)
def test_a_cpu_serves_its_own_instruction_set_and_older_ones_and_refuses_others_in_one_line(isa, cpu, refused):
    cpu(FLAGS[isa])
    able = list(FLAGS)[: list(FLAGS).index(isa) + 1]
    assert [name for name in FLAGS if serves(name)] == able
    for lacking in [name for name in FLAGS if name not in able]:
        line = refused(environment.require_cpu, TOOLING | {"isa": lacking})
        has = f"it has: {', '.join(able)}"
        assert line == f"hardware mine: isa: {lacking} is not available on this CPU (Some CPU); {has}"
    assert list(environment.FLAGS) == config.schema()["$defs"]["tooling"]["properties"]["isa"]["enum"]
    cpu("fpu avx avx2_like xavx2")
    assert not any(map(serves, FLAGS))


def test_half_precision_that_no_entry_can_pin_is_one_line(cpu, refused):
    cpu(FLAGS["avx2"])
    precision = "mixed_bfloat16"
    line = refused(environment.require_cpu, TOOLING | {"isa": "avx2", "precision": precision})
    assert line.startswith(f"hardware mine: precision: {precision} with kernels onednn")
    environment.require_cpu(TOOLING | {"isa": "avx2", "precision": precision, "kernels": "eigen"})


MACOS = {
    "machdep.cpu.brand_string": "Intel(R) Core(TM) i7",
    "machdep.cpu.features": "FPU SSE4.1 SSE4.2 AVX1.0",
    "machdep.cpu.leaf7_features": "AVX2 BMI2",
}


def test_a_machine_without_proc_is_asked_as_macos_answers(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(environment, "_sysctl", lambda name: MACOS.get(name, ""))
    assert environment.machine()["cpu"] == "Intel(R) Core(TM) i7"
    environment.require_cpu(TOOLING | {"isa": "avx2"})
    # One that tells nothing has no instruction set, and still a name.
    monkeypatch.setattr(environment, "_sysctl", lambda _name: "")
    assert environment.machine()["cpu"]
    assert environment.machine()["cpu_flags"] == []


def test_the_machine_is_recorded(imposed):
    place = {"SLURM_JOB_ID": "7", "SLURM_JOB_PARTITION": "v100", "SLURMD_NODENAME": "gpu2"}
    imposed(place | {"SLURM_JOB_USER": "somebody"})
    found = environment.machine()
    assert found["slurm"] == place
    assert found["cores"] >= 1
    assert found["memory_mib"] > 100
    assert all(found[name] for name in ("host", "system", "python", "cpu"))
    packages = environment.installed("numpy|num|tensorflow.*")
    assert packages["numpy"] == np.__version__
    assert set(packages) <= {"numpy", "tensorflow", "tensorflow-cpu"}


def test_keras_still_has_the_copy_that_the_engine_for_pytorch_does_without():
    folder = Path(importlib.util.find_spec("keras").origin).parent
    source = (folder / "src/backend/torch/nn.py").read_text()
    assert "def _transpose_spatial_inputs(inputs):" in source
    assert "torch.permute(inputs, (0, 3, 1, 2)).contiguous()" in source


# Environments of toolings: which there are, where a job computes, and what is refused


OLD = "tensorflow-2.16"


@pytest.fixture
def elsewhere(written, built):
    """A study with a tooling in another environment."""
    written["hardware"] = {"cpu-old": {"accelerator": "cpu", "environment": OLD}}
    written["grid"][0] |= {"hardware": ["cpu-old"], "variants": ["control", "algo"], "seeds": 2}
    return built(written)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """An environment in the working folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".environments" / OLD / "bin"
    folder.mkdir(parents=True)
    (folder / "toolnoise").touch()
    return folder


def test_the_registry_names_environments_that_have_a_lock_file():
    named = {tooling["environment"] for tooling in config.registered("hardware").values()} - {""}
    assert named == set(environments.known())
    assert len(named) >= 8


def test_an_unknown_environment_is_one_line(written, built, refused):
    written["hardware"] = {"cpu-old": {"accelerator": "cpu", "environment": "tensorflow-2.61"}}
    line = refused(built, written)
    assert line.startswith('tiny.yaml: hardware.cpu-old.environment: found "tensorflow-2.61"; allowed: jax')
    assert OLD in line


def test_a_spec_names_an_environment_only_if_it_is_not_the_workflows(elsewhere, built, written):
    cell = Cell("smallcnn", "digits", "cpu-old", "algo")
    assert elsewhere.spec(cell, 1).hardware.json["environment"] == OLD
    assert environments.environment_of({"spec": elsewhere.spec(cell, 1).as_json()}) == OLD
    del written["hardware"]["cpu-old"]["environment"]
    assert "environment" not in built(written).spec(cell, 1).hardware.json
    assert environments.environment_of({}) == environments.environment_of({"spec": {"images": {}}}) == ""


@pytest.fixture
def train(elsewhere, options_of):
    spec = options_of(elsewhere.spec(Cell("smallcnn", "digits", "cpu-old", "algo"), 1))
    outs = ["--data", "d", "--weights", "w", "--history", "h", "--record", "r", "--checkpoint", "c"]
    return ["train", *spec, *outs]


def test_a_job_goes_on_in_the_environment_of_its_tooling(made, train, monkeypatch):
    called = []
    monkeypatch.setattr(os, "execv", lambda *given: called.append(given) or sys.exit(0))
    with pytest.raises(SystemExit):
        cli.main(train)
    assert called == [(made / "toolnoise", [str(made / "toolnoise"), *train])]


def test_a_job_without_its_environment_ends_in_one_line(train, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(train)
    assert ended.value.code == 2
    wanted = f"environment: .environments/{OLD} is missing: run `make .environments/{OLD}`"
    assert capsys.readouterr().err == f"toolnoise: hardware cpu-old: {wanted}\n"
    tooling = {"name": "cpu-old", "engine": "tensorflow", "accelerator": "cpu", "environment": OLD}
    assert serving.why_not(tooling) == wanted


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
    return serving.why_not({"name": name, **config.registered("hardware")[name]})


def test_a_machine_serves_its_own_accelerator_and_no_other(machine):
    machine([V100])
    registry = config.registered("hardware")
    able = [name for name, entry in registry.items() if entry["accelerator"] == "gpu" and not why_not(name)]
    # A program of one's own takes any GPU.
    able.remove("command-gpu")
    assert able == ["v100"]
    assert why_not("t4") == "device: found Tesla V100-SXM2-16GB; wanted: T4"
    machine(tpus=["TPU v3-8"])
    assert why_not("tpu-v2-8") == "device: found TPU v3-8; wanted: TPU v2"
    machine(tpus=["TPU v2-8"])
    assert why_not("tpu-v2-8") == ""


def test_a_reason_is_what_a_run_would_be_refused_with(machine, refused):
    machine()
    entry = {"name": "cpu-avx512", **config.registered("hardware")["cpu-avx512"]}
    assert refused(environment.require_cpu, entry) == f"hardware cpu-avx512: {why_not('cpu-avx512')}"
    assert why_not("cpu") == ""


def test_a_machine_without_the_framework_serves_nothing(machine, monkeypatch):
    machine([V100])
    monkeypatch.setattr(serving.importlib.util, "find_spec", lambda _name: None)
    for name, entry in config.registered("hardware").items():
        if not entry["environment"] and entry["engine"] != "command":
            assert why_not(name) == f"engine: {entry['engine']} is not installed"


@pytest.mark.parametrize(
    ("engine", "file", "says", "gpus"),
    [
        ("tensorflow", "python/platform/build_info.py", "build_info = OrderedDict([('is_cuda_build', True)])", True),
        (
            "tensorflow",
            "python/platform/build_info.py",
            "OrderedDict([('is_cuda_build', False), ('is_tensorrt_build', True)])",
            False,
        ),
        ("torch", "version.py", "__version__ = '2'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None", True),
        ("torch", "version.py", "cuda: Optional[str] = None\nhip: Optional[str] = '7.0'", True),
        ("torch", "version.py", "__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip = None", False),
    ],
)
def test_a_framework_s_own_word_counts_on_gpus(tmp_path, monkeypatch, engine, file, says, gpus):
    about = tmp_path / file
    about.parent.mkdir(parents=True, exist_ok=True)
    about.write_text(says)
    spec = type("Spec", (), {"origin": str(tmp_path / "__init__.py")})
    monkeypatch.setattr(serving.importlib.util, "find_spec", lambda _name: spec)
    assert serving._computes_on_gpus(engine) is gpus
    monkeypatch.undo()
    installed = importlib.util.find_spec(engine)
    assert installed is None or (Path(installed.origin).parent / file).exists()


@pytest.mark.parametrize(("plugins", "gpus"), [((), False), (("jax_cuda12_plugin",), True), (("jaxtyping",), False)])
def test_jax_computes_on_gpus_by_a_plugin(tmp_path, monkeypatch, plugins, gpus):
    for name in ("jax", *plugins):
        about = tmp_path / f"{name}-1.dist-info/METADATA"
        about.parent.mkdir()
        about.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert serving._computes_on_gpus("jax") is gpus


@pytest.mark.parametrize("engine", FRAMEWORKS)
def test_a_framework_without_gpu_kernels_serves_no_gpu_and_what_to_install_is_told(machine, engine):
    machine([V100], cuda=False)
    assert why_not("cpu") == ""
    entry = {"name": "v100", **config.registered("hardware")["v100"], "engine": engine}
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
    able = [name for name, entry in config.registered("hardware").items() if not why_not(name)]
    assert [line.split()[-1] for line in lines if line.startswith("can run")] == [
        name for name in able if config.registered("hardware")[name]["engine"] != "command"
    ]
    assert {*FRAMEWORKS, "keras"}.isdisjoint(modules.split())
