"""The source as a whole: CONTRIBUTING.md's map and checks, and no module that imports itself."""

import graphlib
import re
import subprocess
import sys
import tomllib

import grimp
import pytest
import yaml
from scripts import loaded

from toolnoise import cli
from toolnoise.base.program import PACKAGE, ROOT
from toolnoise.datasets.readers import READERS
from toolnoise.provenance import repository
from toolnoise.study import config

# The map in CONTRIBUTING.md is the tree


@pytest.fixture(scope="module")
def entries():
    """The map as {path: description}; one line may name several paths."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Where things are")[1]
    found, described = [], ""
    for line in re.findall("^ {4}(.+)$", text, re.MULTILINE):
        if line.startswith(" "):
            described.append(line.strip())
        else:
            paths, _, first = line.partition("  ")
            described = [first.strip()]
            found.append((paths.split(", "), described))
    return {path: " ".join(described) for paths, described in found for path in paths}


@pytest.fixture(scope="module")
def tracked():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True)
    return [path.split("/") for path in listed.stdout.splitlines()]


def words(text):
    return set(re.findall(r"[\w-]+", text))


def test_the_map_has_every_folder_of_the_tree_and_no_path_that_is_not_there(entries, tracked):
    assert [path for path in entries if not (ROOT / path).exists()] == []
    top = {parts[0] for parts in tracked if len(parts) > 1 and not parts[0].startswith(".")}
    below = {f"workflow/{parts[1]}" for parts in tracked if parts[0] == "workflow" and len(parts) > 2}
    assert (top - {"workflow"}) | below <= {path.rstrip("/") for path in entries}


def test_every_room_of_the_package_and_every_file_of_rules_is_on_the_map_and_no_other(entries):
    package = ROOT / "workflow/toolnoise"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    described = entries["workflow/toolnoise/"]
    assert rooms | modules <= words(described)
    kernel, _, others = re.sub(r"\(.*?\)", "", described.partition("rooms:")[2]).partition(".")
    _, _, beside = others.partition(":")
    assert set(re.findall(r"\w+", kernel + beside.partition(";")[0])) == rooms
    files = {path.stem for path in (ROOT / "workflow/rules").glob("*.smk")}
    assert words(entries["workflow/rules/"].partition(":")[2]) == files


def test_every_folder_of_tests_is_in_the_table():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = {
        name for row in re.findall(r"^\| (`tests/.*?`) \|", text, re.MULTILINE) for name in re.findall("`(.*?)`", row)
    }
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    assert named == {path.relative_to(ROOT).as_posix() for path in folders}


# The package has rooms, and no module imports itself, at whatever distance


@pytest.fixture(scope="module")
def imports():
    graph = grimp.build_graph(PACKAGE.name, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_module_imports_itself_through_others(imports):
    assert len(list(graphlib.TopologicalSorter(imports).static_order())) == len(imports)


def test_the_kernel_imports_no_network_and_no_reader(imports):
    """Both are found by the names that entries give: none needs to be known to change anything else."""
    registered = {entry["builder"].partition(":")[0] for entry in config.registry_entries("models").values()}
    networks = {name for name in registered if name.startswith("toolnoise.models.")}
    readers = {function.partition(":")[0] for function in READERS.values()}
    assert len(networks) > 10
    assert len(readers) > 5
    of_their_own = ("models", "datasets.readers", "papers")
    kernel = {name for name in imports if not name.startswith(tuple(f"toolnoise.{room}." for room in of_their_own))}
    assert not {(module, name) for module in kernel for name in (networks | readers) & set(imports[module])}


# What other tools are told of the checks is what .ci/run and the Makefile say


SCRIPT = (ROOT / ".ci/run").read_text()
PARTS = re.search(r"^parts=\((.*)\)$", SCRIPT, re.MULTILINE)[1].split()
MAKEFILE = (ROOT / "Makefile").read_text()


def test_every_part_of_the_checks_is_run_by_default_and_on_github():
    assert set(re.findall(r"^(\w+)\(\) {", SCRIPT, re.MULTILINE)) == {*PARTS, "need"}
    for script in (ROOT / ".ci").iterdir():
        assert subprocess.run(["bash", "-n", script]).returncode == 0
    (job,) = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text())["jobs"].values()
    assert ["tools", *job["strategy"]["matrix"]["part"]] == PARTS
    assert job["steps"][-1] == {"run": ".ci/run tools ${{ matrix.part }}"}


def test_every_folder_of_tests_is_run_by_the_checks_or_by_hand(tracked):
    folders = {
        re.match("tests/(system/)?[a-z]+", name)[0]
        for name in map("/".join, tracked)
        if name.count("/") > 1 and name.startswith("tests/")
    }
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    by_hand = re.search(r"^test-long: (.*?) ##", MAKEFILE, re.MULTILINE)[1].split()
    recipes = "".join(re.search(rf"^{name}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1] for name in by_hand)
    run = {*settings["testpaths"], *re.findall(r"tests/(?:system/)?\w+", SCRIPT + recipes)}
    # An import blocker, which tests put first on the path.
    assert folders - run == {"tests/blocking"}


def test_github_runs_actions_of_known_commits_without_rights():
    text = (ROOT / ".github/workflows/checks.yml").read_text()
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert (workflow["permissions"], "permissions" in job) == ({"contents": "read"}, False)
    pinned = re.findall(r"uses: ([\w-]+/[\w-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+$", text, re.MULTILINE)
    assert pinned == [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]
    (checkout,) = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["persist-credentials"] is False


def test_whatever_pip_installs_for_a_check_has_hashes():
    texts = [MAKEFILE.replace("\\\n", ""), SCRIPT, (ROOT / "requirements/lock.sh").read_text()]
    lines = [line for text in texts for line in text.splitlines() if re.search(r"/pip\"? .*\binstall\b", line)]
    assert len(lines) > 5
    assert [line for line in lines if "--require-hashes" not in line and "--no-deps --no-build" not in line] == []


def test_each_tool_of_make_lint_is_a_hook_of_pre_commit():
    recipe = re.search(r"^lint: .*\n((?:\t@.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    entries = [re.sub(r"^bash -c '(.*)'$", r"\1", hook["entry"]) for hook in local["hooks"]]
    assert entries == re.findall(r"\t@(.*)\n", recipe)
    assert all(hook["language"] == "system" and not hook["pass_filenames"] for hook in local["hooks"])


def test_the_image_is_of_a_known_digest_and_made_by_steps_of_the_makefile():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert any(re.fullmatch(r"FROM python:3\.11-\S+@sha256:[0-9a-f]{64}", line) for line in lines)
    as_user = lines[lines.index("USER $UID") :]
    locked = re.search(r"^LOCKED = (.*)", MAKEFILE, re.MULTILINE)[1].split()
    assert {line for line in as_user if line.startswith("RUN")} <= {f"RUN make {name}" for name in locked}


def test_every_file_and_function_of_the_table_exists():
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| where is | file |")[2]
    cells = "".join(re.findall(r"\| ([^|]+) \|$", table, re.MULTILINE))
    places = re.findall(r"((?:`\w+`(?: and )?)*)(?: in )?`([\w/.*-]*[/.][\w/.*-]*)`", cells)
    assert len(places) > 40
    for names, path in places:
        files = [*(ROOT if path.startswith(("workflow/", "notebooks/")) else ROOT / "workflow/toolnoise").glob(path)]
        assert files, path
        for name in re.findall(r"\w+", names.replace(" and ", " ")):
            pattern = rf"^ *(def|class) {name}\b"
            assert re.search(pattern, files[0].read_text(), re.MULTILINE), (name, path)


# Lock files: of all that the project asks for, agreeing with each other, with hashes


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


def test_the_conda_environment_has_the_pins_of_the_lock_file_for_all_that_the_project_asks_for():
    lock, conda = pins(ROOT / "requirements" / "cpu.txt"), conda_pins()
    assert conda == {name: lock.get(name) for name in conda}
    assert wanted(*EXTRAS["cpu"]) <= set(conda)


def test_lock_files_have_all_that_the_project_asks_for_and_agree():
    for name, extras in EXTRAS.items():
        assert wanted(*extras) <= set(pins(ROOT / "requirements" / f"{name}.txt")), name
    versions = {}
    for lock in LOCKS:
        for package, version in pins(lock).items():
            versions.setdefault(package, set()).add(version)
    assert {package: found for package, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("part", "wholes"),
    [("cpu", ["frameworks", "dev"]), ("jax", ["frameworks", "dev", "jax-cuda"]), ("torch", ["frameworks"])],
)
def test_a_lock_file_with_more_extras_has_all_that_one_with_fewer_has(part, wholes):
    assert [whole for whole in wholes if not locked(part).items() <= locked(whole).items()] == []


def test_frameworks_are_locked_as_their_users_need_them():
    for name in ("jax", "jax-cuda", "torch"):
        assert not [package for package in locked(name) if package.startswith("tensorflow")]
    (version,) = re.findall(r"^TORCH_CPU = torch==(\S+)\+cpu --hash=sha256:[0-9a-f]{64}$", MAKEFILE, re.MULTILINE)
    assert version == locked("frameworks")["torch"]
    for name in ("cuda", "jax-cuda"):
        # From 9.11 on its builds for CUDA 12 begin with compute capability 7.5; the paper's P100 and V100 have less.
        assert tuple(map(int, locked(name)["nvidia-cudnn-cu12"].split(".")[:2])) < (9, 11)


@pytest.fixture
def stated(monkeypatch):
    """The lock file that a job of an engine states where these versions are installed."""

    def state(versions, engine=""):
        def of(*names):
            return {name: versions[name] for name in names if name in versions}

        monkeypatch.setattr(repository, "package_versions", of)
        return repository.lock_file.__wrapped__(engine)

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
        ("machines/gpu", dict.fromkeys(("", "jax", "torch"), "machines/gpu")),
        # What `make test` installs into the environment of `make demo`: JAX, and the developers' tools.
        # An existing program may import all of it.
        ("dev", {"": "cpu", "tensorflow": "cpu", "jax": "jax", "command": "dev"}),
    ],
)
def test_a_job_states_the_lock_file_of_its_environment(stated, installed, of_engines):
    found = {engine: stated(locked(installed), engine) for engine in of_engines}
    assert found == {engine: f"requirements/{name}.txt" for engine, name in of_engines.items()}


@pytest.mark.parametrize(
    ("installed", "engine", "change"),
    [
        ("frameworks", "torch", {"torch": "2.12.1+cpu"}),
        ("jax", "jax", {"jax-cuda13-plugin": "0.10.2"}),
        ("cpu", "torch", {"torch": "1.13.1"}),
        ("cpu", "tensorflow", {"numpy": "2.0.0"}),
        # The build for GPUs without their libraries.
        ("cpu", "tensorflow", {"tensorflow": "2.21.0"}),
    ],
)
def test_an_environment_that_is_as_no_lock_file_states_none(stated, installed, engine, change):
    assert stated(locked(installed) | change, engine) is None


@pytest.mark.parametrize("path", [*LOCKS, *VERSIONS, *TOOLS], ids=lambda path: path.stem)
def test_every_package_is_one_version_with_its_hashes_and_no_index(path):
    text = path.read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) > (50 if path in LOCKS else 10 if path in VERSIONS else 0)
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==[^\s;]+( ; [^\\]+)? \\\n", entry), entry.splitlines()[0]
        assert re.search(r"\n    --hash=sha256:[0-9a-f]{64}", entry), entry.splitlines()[0]
    assert len(pins(path)) == len({entry.split("==")[0] for entry in entries})
    assert not [word for word in ("://", "index-url", "find-links", "trusted-host", "@") if word in text]


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_an_environment_has_one_framework_in_the_version_of_its_name_and_is_stated_by_its_jobs(path, stated):
    framework, version = path.stem.split("-")
    found = pins(path)
    assert found["keras"] == locked("cpu")["keras"]
    packages = {"tensorflow": "tensorflow-cpu", "jax": "jax", "torch": "torch"}
    assert {name for name, package in packages.items() if package in found} == {framework}
    assert found[packages[framework]].startswith(f"{version}.")
    assert stated(found, framework) == f"requirements/versions/{path.name}"


def test_what_the_snakefile_imports_is_light():
    text = "\n".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    imports = re.findall(r"^(?:from|import) toolnoise\b.*", text, re.MULTILINE)
    assert len(imports) > 3
    program = "\n".join([*imports, "import sys", "print(*{name.partition('.')[0] for name in sys.modules})"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = ("numpy", "pandas", "matplotlib", "scipy", "sklearn", "seaborn", "papermill", "tensorflow", "keras", "jax")
    assert set(done.stdout.split()).isdisjoint({*heavy, "torch"})


# The fuzzers: every verb has command lines, and every key of a study is changed


# Keys that do not go together with the others; a base is a run of the grid, which is changed.
NOT_TRIED = {"margin", "along", "record_steps", "padding", "python", "base", "dataset", "hardware", "model", "remedy"}


@pytest.fixture(scope="module")
def fuzzer():
    """Import a fuzzer by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tests/fuzz")
        yield lambda name: loaded(ROOT / f"tests/fuzz/{name}.py")


def test_every_verb_is_fuzzed(fuzzer):
    # The study that it changes has a job of every kind: tests/workflow/test_plans.py.
    assert fuzzer("fuzz").BY_HAND.keys() == cli.VERBS.keys()


def test_the_studies_that_are_changed_have_the_keys_of_the_schema_and_are_accepted(fuzzer, tmp_path):
    fuzz, used = fuzzer("fuzz_studies"), set()
    for name, study in (("plain", fuzz.PLAIN), ("own", fuzz.OWN)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(fuzz.written(study))
        assert yaml.safe_load(path.read_text()) == study
        assert fuzz.outcome(str(path))[0] == ""
        used |= {part for at, _ in fuzz.rules_of(study, config.study_schema()) for part in at}
    known = {name for part in config.study_schema()["$defs"].values() for name in part.get("properties", {})}
    assert (known | config.study_schema()["properties"].keys()) - used <= NOT_TRIED
