import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from toolnoise import cli
from toolnoise.engines import FRAMEWORKS, accelerators, environment, serving
from toolnoise.engines.accelerators import Gpu
from toolnoise.study import config

V100 = Gpu("Tesla V100-SXM2-16GB", "535.104.05", "16384", "GPU-1")
FLAGS = "fpu sse4_1 avx avx2"


@pytest.fixture
def machine(monkeypatch):
    """Pretend to be a machine with these GPUs, TPUs and CPU flags, with every framework, on GPUs or not."""

    def pretend(gpus=(), tpus=(), flags=FLAGS, cuda=True):
        monkeypatch.setattr(accelerators, "gpus", lambda: list(gpus))
        monkeypatch.setattr(accelerators, "tpu", lambda: list(tpus))
        monkeypatch.setattr(environment, "_cpuinfo", {"flags": flags, "model name": "Some CPU"}.get)
        monkeypatch.setattr(serving, "_computes_on_gpus", lambda _engine: cuda)
        monkeypatch.setattr(serving.importlib.util, "find_spec", lambda _name: True)

    return pretend


def why_not(name):
    return serving.why_not({"name": name, **config.registered("hardware")[name]})


def test_a_machine_with_a_v100_serves_v100_and_no_other_gpu(machine):
    machine([V100])
    registry = config.registered("hardware")
    able = [name for name, entry in registry.items() if entry["accelerator"] == "gpu" and not why_not(name)]
    # A program of one's own takes any GPU.
    able.remove("command-gpu")
    assert able == ["v100"]
    assert why_not("t4") == "device: found Tesla V100-SXM2-16GB; wanted: T4"


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


def test_a_tpu_of_another_version_is_not_served(machine):
    machine(tpus=["TPU v3-8"])
    assert why_not("tpu-v2-8") == "device: found TPU v3-8; wanted: TPU v2"
    machine(tpus=["TPU v2-8"])
    assert why_not("tpu-v2-8") == ""


@pytest.mark.parametrize(
    ("engine", "file", "says", "gpus"),
    [
        ("tensorflow", "python/platform/build_info.py", "build_info = OrderedDict([('is_cuda_build', True)])", True),
        ("tensorflow", "python/platform/build_info.py", "build_info = OrderedDict([('is_rocm_build', True)])", True),
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


@pytest.mark.parametrize(("plugins", "gpus"), [((), False), (("jax_cuda12_plugin",), True), (("jaxtyping",), False)])
def test_jax_computes_on_gpus_by_a_plugin(tmp_path, monkeypatch, plugins, gpus):
    for name in ("jax", *plugins):
        about = tmp_path / f"{name}-1.dist-info/METADATA"
        about.parent.mkdir()
        about.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert serving._computes_on_gpus("jax") is gpus


def test_the_files_that_frameworks_are_judged_by_are_there():
    for engine, (file, _) in serving.BUILDS.items():
        spec = importlib.util.find_spec(engine)
        assert spec is None or (Path(spec.origin).parent / file).exists()


@pytest.mark.parametrize("engine", FRAMEWORKS)
def test_a_framework_without_gpu_kernels_serves_no_gpu_and_what_to_install_is_told(machine, engine):
    machine([V100], cuda=False)
    assert why_not("cpu") == ""
    entry = {"name": "v100", **config.registered("hardware")["v100"], "engine": engine}
    wanted = accelerators.INSTALL[engine]
    assert serving.why_not(entry) == f"engine: the installed {engine} computes only on CPUs; {wanted}"
    project = tomllib.loads((config.ROOT / "pyproject.toml").read_text())["project"]
    assert set(re.findall("`(.*)`", wanted)) <= set(project["optional-dependencies"])


@pytest.fixture
def asked(capsys):
    """Ask the doctor on the command line: its exit code and what it printed."""

    def ask(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main(["doctor", *arguments])
        return ended.value.code, capsys.readouterr().out

    return ask


def study(tmp_path, *hardware):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "r", "hardware": list(hardware), "seeds": 1}
    recipe = {"epochs": 1, "batch_size": 1, "learning_rate": 1}
    written = {"study": "s", "grid": [block | {"variants": ["control"]}], "recipes": {"r": recipe}}
    (tmp_path / "study.yaml").write_text(json.dumps(written))
    return str(tmp_path / "study.yaml")


def test_of_a_study_every_tooling_must_be_served(machine, asked, tmp_path):
    machine([V100])
    code, said = asked("--study", study(tmp_path, "cpu", "v100"))
    assert code == 0
    assert "t4" not in said
    assert asked("--study", study(tmp_path, "v100", "t4"))[0] == 1


def test_of_the_registry_one_is_enough(machine, asked):
    machine()
    assert asked()[0] == 0
    machine(flags="")
    code, said = asked()
    assert code == 1
    assert "yes" not in said


def test_the_machine_is_told_with_its_gpus_and_drivers(machine, asked):
    machine([V100])
    said = asked()[1]
    assert "Some CPU" in said
    assert "Tesla V100-SXM2-16GB (driver 535.104.05)" in said
    assert re.search(r"^packages .*keras 3", said, re.MULTILINE)


def test_programs_get_json(machine, asked):
    machine([V100])
    code, said = asked("--json")
    found = json.loads(said)
    assert code == 0
    assert found["gpus"] == [V100._asdict()]
    assert found["hardware"]["v100"] == ""
    assert found["hardware"]["t4"] == "device: found Tesla V100-SXM2-16GB; wanted: T4"


def test_nothing_is_imported_to_find_out(run, tmp_path):
    program = "import sys; from toolnoise.commands import doctor; from toolnoise.study import config;"
    program += "doctor.examine(config.registered('hardware'));"
    program += "print(*{name.partition('.')[0] for name in sys.modules})"
    done = run(tmp_path, sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    assert {*FRAMEWORKS, "keras"}.isdisjoint(done.stdout.split())
