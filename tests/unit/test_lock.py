import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from toolnoise.config import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def pins(path):
    """The version of each package of a lock file."""
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", path.read_text(), re.MULTILINE))


def wanted(*extras):
    """What pyproject.toml asks for on Linux."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return {re.match(r"[\w-]+", line)[0] for line in lines if "== 'darwin'" not in line}


def conda_pins():
    """The version of each package of environment.yml, but for Python and pip."""
    lines = []
    for entry in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]:
        lines += entry["pip"] if isinstance(entry, dict) else [entry]
    found = [re.fullmatch(r"([A-Za-z0-9._-]+)(?:={1,2}([^=\s]+))?", line) for line in lines]
    assert all(found), lines
    return {name: version for name, version in (match.groups() for match in found) if name not in ("python", "pip")}


def test_the_conda_environment_pins_what_the_lock_file_pins():
    lock = pins(ROOT / "requirements" / "cpu.txt")
    assert conda_pins() == {name: lock.get(name) for name in conda_pins()}


def test_the_conda_environment_has_all_that_the_project_asks_for():
    assert wanted("cpu") <= set(conda_pins())


@pytest.mark.parametrize(("name", "extras"), [("cpu", ["cpu"]), ("dev", ["cpu", "dev"]), ("cuda", ["cuda"])])
def test_a_lock_file_has_all_that_the_project_asks_for(name, extras):
    assert wanted(*extras) <= set(pins(ROOT / "requirements" / f"{name}.txt"))


def test_lock_files_agree():
    cpu, dev, cuda = (pins(ROOT / "requirements" / f"{name}.txt") for name in ("cpu", "dev", "cuda"))
    assert cpu.items() <= dev.items()
    assert {name: cpu[name] for name in cpu.keys() & cuda.keys()} == {
        name: cuda[name] for name in cpu.keys() & cuda.keys()
    }


def test_the_locked_cudnn_has_kernels_for_the_papers_p100_and_v100():
    # From 9.11 on its builds for CUDA 12 begin with compute capability 7.5; these have 6.0 and 7.0.
    version = pins(ROOT / "requirements" / "cuda.txt")["nvidia-cudnn-cu12"]
    assert tuple(map(int, version.split(".")[:2])) < (9, 11)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_every_package_is_one_version_with_its_hashes(path):
    entries = re.split(r"\n(?=\S)", path.read_text().strip())
    assert len(entries) > 50
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==[^\s;]+( ; [^\\]+)? \\\n", entry), entry.splitlines()[0]
        assert re.search(r"\n    --hash=sha256:[0-9a-f]{64}", entry), entry.splitlines()[0]
    assert len(pins(path)) == len({entry.split("==")[0] for entry in entries})


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("address", ["http", "index-url", "find-links", "trusted-host", "@"])
def test_a_lock_file_names_no_index(path, address):
    assert address not in path.read_text()


def test_the_conda_environment_is_for_the_python_that_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.12"
    assert "python=3.11" in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]


def test_what_the_snakefile_imports_is_light():
    text = "\n".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    imports = re.findall(r"^(?:from|import) toolnoise\b.*", text, re.MULTILINE)
    assert len(imports) > 3
    program = "\n".join([*imports, "import sys", "print(*{name.partition('.')[0] for name in sys.modules})"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint(
        {"numpy", "pandas", "matplotlib", "scipy", "sklearn", "seaborn", "papermill", "tensorflow", "keras", "jax"}
    )
