import itertools
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from toolnoise.base.program import ROOT
from toolnoise.provenance import repository

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
# Each is of another version of one framework.
VERSIONS = sorted((ROOT / "requirements/versions").glob("*.txt"))
# Each is of programs for checks, or of the resolver.
TOOLS = sorted((ROOT / "requirements/tools").glob("*.txt"))

# Which extras each is of, as requirements/lock.sh asks for them.
EXTRAS = {
    name: re.findall(r"--extra ([a-z-]+)", extras)
    for extras, name in re.findall(
        r"^lock (.*) >requirements/(.*)\.txt$", (ROOT / "requirements/lock.sh").read_text(), re.MULTILINE
    )
}


def pins(path):
    """The version of each package of a lock file."""
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", path.read_text(), re.MULTILINE))


def locked(name):
    """What a lock file installs on Linux."""
    path = ROOT / "requirements" / f"{name}.txt"
    elsewhere = re.findall(r"^(\S+)==\S+ ; sys_platform == '(?:darwin|win32)'", path.read_text(), re.MULTILINE)
    return {package: version for package, version in pins(path).items() if package not in elsewhere}


def wanted(*extras):
    """What pyproject.toml asks for on Linux."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, lines = asked["project"], list(asked["dependency-groups"]["build"])
    lines += [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
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
    assert wanted(*EXTRAS["cpu"]) <= set(conda_pins())


@pytest.mark.parametrize("name", EXTRAS)
def test_a_lock_file_has_all_that_the_project_asks_for(name):
    assert wanted(*EXTRAS[name]) <= set(pins(ROOT / "requirements" / f"{name}.txt"))


def test_every_lock_file_is_for_some_extras():
    assert {path.stem for path in LOCKS} == set(EXTRAS)


def test_the_project_asks_for_nothing_twice():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for lines in (project["dependencies"], *project["optional-dependencies"].values()):
        assert len(lines) == len(set(lines))
    conda = (ROOT / "environment.yml").read_text().splitlines()
    assert len([line for line in conda if "==" in line]) == len(conda_pins())


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(LOCKS, 2)], ids=lambda path: path.stem)
def test_lock_files_agree(one, other):
    one, other = pins(one), pins(other)
    assert {name: one[name] for name in one.keys() & other.keys()} == {
        name: other[name] for name in one.keys() & other.keys()
    }


@pytest.mark.parametrize(
    ("part", "wholes"),
    [
        ("cpu", ["frameworks", "dev"]),
        ("jax", ["frameworks", "dev", "jax-dev", "jax-cuda"]),
        ("torch", ["frameworks"]),
    ],
)
def test_a_lock_file_with_more_extras_has_all_that_one_with_fewer_has(part, wholes):
    assert [whole for whole in wholes if not locked(part).items() <= locked(whole).items()] == []


@pytest.mark.parametrize("name", ["jax", "jax-dev", "jax-cuda", "torch"])
def test_another_framework_is_no_reason_to_install_tensorflow(name):
    assert not [package for package in locked(name) if package.startswith("tensorflow")]


def test_pytorch_for_cpus_is_pinned_by_its_hash_in_the_locked_version():
    (version,) = re.findall(
        r"^TORCH_CPU = torch==(\S+)\+cpu --hash=sha256:[0-9a-f]{64}$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert version == locked("frameworks")["torch"]


@pytest.mark.parametrize("name", ["cuda", "jax-cuda"])
def test_the_locked_cudnn_has_kernels_for_the_papers_p100_and_v100(name):
    # From 9.11 on its builds for CUDA 12 begin with compute capability 7.5; these have 6.0 and 7.0.
    version = locked(name)["nvidia-cudnn-cu12"]
    assert tuple(map(int, version.split(".")[:2])) < (9, 11)


@pytest.fixture
def stated(monkeypatch):
    """The lock file that a job of an engine states where these versions are installed."""

    def state(versions, engine=""):
        def of(*names):
            return {name: versions[name] for name in names if name in versions}

        monkeypatch.setattr(repository, "versions", of)
        return repository.lock.__wrapped__(engine)

    return state


@pytest.mark.parametrize(
    ("installed", "of_engines"),
    [
        ("cpu", {"": "cpu", "tensorflow": "cpu", "command": "cpu"}),
        ("cuda", {"": "cuda", "tensorflow": "cuda"}),
        ("jax", {"": "jax", "jax": "jax"}),
        ("jax-cuda", {"": "jax-cuda", "jax": "jax-cuda"}),
        ("torch", {"": "torch", "torch": "torch"}),
        (
            "frameworks",
            {"": "torch", "tensorflow": "frameworks", "jax": "frameworks", "torch": "torch", "command": "frameworks"},
        ),
        ("jax-dev", {"": "jax", "jax": "jax"}),
        ("machines/gpu", dict.fromkeys(("", "jax", "torch"), "machines/gpu")),
        # What `make test` installs into the environment of `make demo`: JAX, and the developers' tools.
        # An existing program may import all of it.
        ("dev", {"": "cpu", "tensorflow": "cpu", "jax": "jax", "command": "dev"}),
    ],
)
def test_a_job_states_the_lock_file_of_its_environment(stated, installed, of_engines):
    found = {engine: stated(locked(installed), engine) for engine in of_engines}
    assert found == {engine: f"requirements/{name}.txt" for engine, name in of_engines.items()}


def test_pytorch_for_cpus_is_the_pytorch_that_is_locked_and_further_for_other_jobs(stated):
    without_cuda = {name: version for name, version in locked("frameworks").items() if not name.startswith("nvidia")}
    without_cuda["torch"] += "+cpu"
    for tools in ({}, locked("dev")):
        found = [stated(tools | without_cuda, engine) for engine in ("", "tensorflow", "jax", "torch")]
        assert found == [f"requirements/{name}.txt" for name in ("cpu", "cpu", "jax", "torch")]


@pytest.mark.parametrize(
    ("installed", "engine", "change"),
    [
        ("frameworks", "torch", {"torch": "2.12.1+cpu"}),
        ("jax", "jax", {"jax": "0.9.2"}),
        ("jax", "jax", {"jax-cuda13-plugin": "0.10.2"}),
        ("cpu", "torch", {"torch": "1.13.1"}),
        ("cuda", "jax", {"jax": "0.10.2"}),
        ("torch", "torch", {"nvidia-cudnn-cu13": "9.1"}),
        ("cpu", "command", {"torch": "1.13.1"}),
        ("cpu", "tensorflow", {"numpy": "2.0.0"}),
        ("cpu", "", {"pandas": "2.0.0"}),
        # The build for GPUs without their libraries.
        ("cpu", "tensorflow", {"tensorflow": "2.21.0"}),
    ],
)
def test_an_environment_that_is_as_no_lock_file_states_none(stated, installed, engine, change):
    assert stated(locked(installed) | change, engine) is None


@pytest.mark.parametrize("path", [*LOCKS, *VERSIONS, *TOOLS], ids=lambda path: path.stem)
def test_every_package_is_one_version_with_its_hashes(path):
    entries = re.split(r"\n(?=\S)", path.read_text().strip())
    assert len(entries) > (50 if path in LOCKS else 10 if path in VERSIONS else 0)
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==[^\s;]+( ; [^\\]+)? \\\n", entry), entry.splitlines()[0]
        assert re.search(r"\n    --hash=sha256:[0-9a-f]{64}", entry), entry.splitlines()[0]
    assert len(pins(path)) == len({entry.split("==")[0] for entry in entries})


def test_no_lock_file_names_an_index():
    texts = {path.name: path.read_text() for path in (*LOCKS, *VERSIONS, *TOOLS)}
    addresses = ("://", "index-url", "find-links", "trusted-host", "@")
    assert [(name, address) for name, text in texts.items() for address in addresses if address in text] == []


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_an_environment_has_one_framework_in_the_version_of_its_name_and_the_keras_of_all(path):
    framework, version = path.stem.split("-")
    found = pins(path)
    assert found["keras"] == locked("cpu")["keras"]
    packages = {"tensorflow": "tensorflow-cpu", "jax": "jax", "torch": "torch"}
    assert {name for name, package in packages.items() if package in found} == {framework}
    assert found[packages[framework]].startswith(f"{version}.")


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_a_job_states_the_lock_file_of_the_environment_of_its_tooling(path, stated):
    assert stated(pins(path), path.stem.partition("-")[0]) == f"requirements/versions/{path.name}"


def test_the_conda_environment_is_for_the_python_of_the_lock_files():
    assert 'requires-python = ">=3.11,<3.12"' in (ROOT / "requirements/lock.sh").read_text()
    assert "python=3.11" in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]


def test_what_the_snakefile_imports_is_light():
    text = "\n".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    imports = re.findall(r"^(?:from|import) toolnoise\b.*", text, re.MULTILINE)
    assert len(imports) > 3
    program = "\n".join([*imports, "import sys", "print(*{name.partition('.')[0] for name in sys.modules})"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint(
        {
            "numpy",
            "pandas",
            "matplotlib",
            "scipy",
            "sklearn",
            "seaborn",
            "papermill",
            "tensorflow",
            "keras",
            "jax",
            "torch",
        }
    )
