"""The source as a whole: CONTRIBUTING.md's map and checks, and no module that imports itself."""

import graphlib
import http.server
import importlib.util
import itertools
import json
import re
import shutil
import subprocess
import sys
import threading
import tomllib

import grimp
import pytest
import yaml

from toolnoise import cli
from toolnoise.base.program import PACKAGE, ROOT
from toolnoise.datasets.readers import READERS
from toolnoise.provenance import repository
from toolnoise.study import config, strict_yaml

# The map in CONTRIBUTING.md is the tree: its paths exist, and each folder, room and file of rules is on it


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


def test_every_path_on_the_map_exists(entries):
    assert entries
    assert [path for path in entries if not (ROOT / path).exists()] == []


def test_every_folder_of_the_tree_is_on_the_map(entries, tracked):
    top = {parts[0] for parts in tracked if len(parts) > 1 and not parts[0].startswith(".")}
    below = {f"workflow/{parts[1]}" for parts in tracked if parts[0] == "workflow" and len(parts) > 2}
    named = {path.rstrip("/") for path in entries}
    assert (top - {"workflow"}) | below <= named


def test_every_room_of_the_package_is_on_the_map_and_no_other(entries):
    package = ROOT / "workflow/toolnoise"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    described = entries["workflow/toolnoise/"]
    assert rooms | modules <= words(described)
    kernel, _, others = re.sub(r"\(.*?\)", "", described.partition("rooms:")[2]).partition(".")
    _, _, beside = others.partition(":")
    assert set(re.findall(r"\w+", kernel + beside.partition(";")[0])) == rooms


def test_every_file_of_rules_is_on_the_map_and_no_other(entries):
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
    registered = {entry["builder"].partition(":")[0] for entry in config.registered("models").values()}
    networks = {name for name in registered if name.startswith("toolnoise.models.")}
    readers = {function.partition(":")[0] for function in READERS.values()}
    assert len(networks) > 10
    assert len(readers) > 5
    of_their_own = ("models", "datasets.readers", "papers")
    kernel = {name for name in imports if not name.startswith(tuple(f"toolnoise.{room}." for room in of_their_own))}
    assert not {(module, name) for module in kernel for name in (networks | readers) & set(imports[module])}


def test_at_most_eight_modules_lie_outside_of_the_rooms():
    assert len(list(PACKAGE.glob("*.py"))) <= 8


# What other tools are told of the checks is what .ci/run and the Makefile say


SCRIPT = (ROOT / ".ci/run").read_text()
PARTS = re.search(r"^parts=\((.*)\)$", SCRIPT, re.MULTILINE)[1].split()
MAKEFILE = (ROOT / "Makefile").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_every_part_of_the_checks_is_run_by_default():
    functions = set(re.findall(r"^(\w+)\(\) {", SCRIPT, re.MULTILINE))
    assert functions == {*PARTS, "need"}
    for name in ("run", "make-dist", "try-dist", "try-lock"):
        assert subprocess.run(["bash", "-n", ROOT / ".ci" / name]).returncode == 0


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


def test_github_runs_every_part():
    text = (ROOT / ".github/workflows/checks.yml").read_text()
    (job,) = yaml.safe_load(text)["jobs"].values()
    assert ["tools", *job["strategy"]["matrix"]["part"]] == PARTS
    assert job["steps"][-1] == {"run": ".ci/run tools ${{ matrix.part }}"}
    assert "://" not in text


def test_github_runs_actions_of_known_commits_without_rights():
    text = (ROOT / ".github/workflows/checks.yml").read_text()
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in job
    used = [step for step in job["steps"] if "uses" in step]
    pinned = re.findall(r"uses: ([\w-]+/[\w-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+$", text, re.MULTILINE)
    assert pinned == [step["uses"].partition("@")[0] for step in used]
    (checkout,) = [step for step in used if step["uses"].startswith("actions/checkout@")]
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


def test_the_image_is_made_by_steps_of_the_checks_and_of_the_makefile():
    lines = [line for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
    assert re.fullmatch(r"FROM python:3\.11-\S+@sha256:[0-9a-f]{64}", lines[0])
    assert {line.split()[0] for line in lines[1:]} <= {"ARG", "WORKDIR", "COPY", "RUN", "USER", "ENV", "CMD"}
    as_root, as_user = DOCKERFILE.split("\nUSER $UID\n")
    runs = [command for line in re.findall(r"^RUN (.*)", as_root, re.MULTILINE) for command in line.split(" && ")]
    assert runs == ['useradd --create-home --uid "$UID" toolnoise', 'chown "$UID" .', ".ci/run tools"]
    assert PARTS[0] == "tools"
    locked = re.search(r"^LOCKED = (.*)", MAKEFILE, re.MULTILINE)[1].split()
    installed = re.findall(r"^RUN make (.*)", as_user, re.MULTILINE)
    assert installed
    assert set(installed) <= set(locked)
    assert as_user.count("RUN") == len(installed)


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


def test_the_conda_environment_pins_what_the_lock_file_pins():
    lock = pins(ROOT / "requirements" / "cpu.txt")
    assert conda_pins() == {name: lock.get(name) for name in conda_pins()}


def test_the_conda_environment_has_all_that_the_project_asks_for():
    assert wanted(*EXTRAS["cpu"]) <= set(conda_pins())


@pytest.mark.parametrize("name", EXTRAS)
def test_a_lock_file_has_all_that_the_project_asks_for(name):
    assert wanted(*EXTRAS[name]) <= set(pins(ROOT / "requirements" / f"{name}.txt"))


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


# What the package stands on: advisories are asked for, and listed in a bill of materials (.environments/supply)


PYTHON = ROOT / ".environments/supply/bin/python"
NEEDS_SUPPLY = pytest.mark.skipif(not PYTHON.exists(), reason="supply is not installed: make .environments/supply")
ADVISORY = {
    "id": "PYSEC-2026-1",
    "summary": "made up",
    "affected": [
        {
            "package": {"name": "numpy", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.1"}]}],
        }
    ],
}


@pytest.fixture
def osv():
    """OSV as pip-audit asks it: its address, what it answers to a package's name, and the packages it was asked for."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append((asked["package"]["name"], asked["version"]))
            self.send_response(503 if asked["package"]["name"] in served.silent else served.status)
            self.end_headers()
            self.wfile.write(json.dumps(served.answers.get(asked["package"]["name"], {})).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as served:
        served.address = f"http://127.0.0.1:{served.server_port}"
        served.status, served.silent, served.answers, served.asked = 200, set(), {}, []
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield served
        served.shutdown()
        thread.join()


@pytest.fixture
def ask(run, tmp_path):
    """Run the script on the lock files of a folder."""

    def start(address, *options, root=ROOT):
        command = [PYTHON, root / ".ci/advisories.py", "--osv-url", address, "--cache-dir", tmp_path / "cache"]
        return run(tmp_path, *command, *options, env={"no_proxy": "127.0.0.1"})

    return start


@pytest.fixture
def one_package(tmp_path):
    """A folder with the script and with one lock file, of NumPy."""
    (tmp_path / ".ci").mkdir()
    shutil.copyfile(ROOT / ".ci/advisories.py", tmp_path / ".ci/advisories.py")
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/cpu.txt").write_text(f"numpy==2.4.6 --hash=sha256:{64 * 'a'}\n")
    return tmp_path


@pytest.mark.long
@NEEDS_SUPPLY
def test_every_locked_package_is_asked_for_and_none_of_an_old_environment(ask, osv):
    done = ask(osv.address)
    assert done.returncode == 0, done.stdout + done.stderr
    folders = ("", "tools")
    locks = [path for folder in folders for path in (ROOT / "requirements" / folder).glob("*.txt")]
    lines = re.findall(r"^(\S+)==([^\s;]+)(.*)", "\n".join(path.read_text() for path in locks), re.MULTILINE)
    assert {(name, version) for name, version, marker in lines if not marker.strip(" \\")} <= set(osv.asked)
    assert set(osv.asked) <= {(name, version) for name, version, _ in lines}
    summary = f"{len(set(osv.asked))} packages of {len(locks)} lock files were asked for."
    assert done.stdout == f"No advisory is known.\n{summary}\n"


@pytest.mark.long
@NEEDS_SUPPLY
def test_what_is_known_before_the_answers_end_fails(ask, osv, one_package):
    (one_package / "requirements/tools").mkdir()
    (one_package / "requirements/tools/other.txt").write_text(f"scipy==1.17.1 --hash=sha256:{64 * 'b'}\n")
    osv.answers["numpy"], osv.silent = {"vulns": [ADVISORY]}, {"scipy"}
    done = ask(osv.address, root=one_package)
    assert done.returncode == 1
    first, counted, unanswered = done.stdout.splitlines()
    assert (first, counted) == (
        "numpy 2.4.6: PYSEC-2026-1, mended in 99.1",
        "1 packages of 1 lock files were asked for.",
    )
    assert unanswered.startswith("The advisories could not be asked for: ")


@pytest.mark.long
@NEEDS_SUPPLY
def test_a_lock_file_without_hashes_fails(ask, osv, one_package):
    (one_package / "requirements/cpu.txt").write_text("numpy==2.4.6\n")
    done = ask(osv.address, root=one_package)
    assert done.returncode == 1
    assert "numpy==2.4.6 does not contain a hash" in done.stderr
    assert osv.asked == []


@pytest.mark.long
@NEEDS_SUPPLY
def test_the_bill_of_materials_is_the_lock_file_with_its_hashes(tmp_path):
    for name in ("Makefile", "pyproject.toml", "README.md", "LICENSE", "requirements/cpu.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / ".environments").symlink_to(ROOT / ".environments")
    made = []
    for _ in range(2):
        subprocess.run(["make", "--silent", "-o", ".environments/supply", "sbom"], cwd=tmp_path, check=True)
        made.append((tmp_path / "dist/toolnoise.cdx.json").read_bytes())
    assert made[0] == made[1]
    bill = json.loads(made[0])
    assert (bill["metadata"]["component"]["name"], bill["metadata"]["component"]["version"]) == ("toolnoise", "0.1.0")
    listed = {
        (part["name"], part["version"]): {known["content"] for known in part["externalReferences"][0]["hashes"]}
        for part in bill["components"]
    }
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements/cpu.txt").read_text())
    assert listed == {
        re.match(r"(\S+)==([^\s;]+)", entry).groups(): set(re.findall(r"sha256:(\w+)", entry)) for entry in entries
    }


# The fuzzers: every verb has command lines, and bad study files are found


# The command lines of tests/fuzz/fuzz.py: every verb has some


def test_every_verb_is_fuzzed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests/fuzz")
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tests/fuzz/fuzz.py")
    monkeypatch.setitem(sys.modules, "fuzz", fuzz := importlib.util.module_from_spec(spec))
    spec.loader.exec_module(fuzz)
    # The study that it changes has a job of every kind: tests/workflow/test_plans.py.
    assert fuzz.BY_HAND.keys() == cli.VERBS.keys()


# The fuzzer of study files: its cases can be repeated, and its oracle finds what a lenient reading accepts


# Keys that do not go together with the others; a base is a run of the grid, which is changed.
NOT_TRIED = {"margin", "along", "record_steps", "padding", "python", "base"}


@pytest.fixture(scope="module")
def fuzz():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tests/fuzz")
        spec = importlib.util.spec_from_file_location("fuzz_studies", ROOT / "tests/fuzz/fuzz_studies.py")
        patch.setitem(sys.modules, "fuzz_studies", module := importlib.util.module_from_spec(spec))
        spec.loader.exec_module(module)
        yield module


def tried(fuzz, numbers, folder):
    """The cases that fail, by kind, with their reasons."""
    failed = []
    for number in numbers:
        one, _ = fuzz.case(number, 1)
        path = folder / f"case{one.suffix}"
        path.write_bytes(one.content)
        reasons, _ = fuzz.judged(one, str(path))
        if reasons:
            failed.append((one.kind, one.said, reasons))
    return failed


def test_the_studies_that_are_changed_have_the_keys_of_the_schema_and_are_accepted(fuzz, tmp_path):
    for name, study in (("plain", fuzz.changes.PLAIN), ("own", fuzz.changes.OWN)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(fuzz.changes.written(study).lstrip())
        assert yaml.safe_load(path.read_text()) == study
        assert fuzz.outcome(str(path))[0] == ""
    known = {name for part in config.schema()["$defs"].values() for name in part.get("properties", {})}
    known |= config.schema()["properties"].keys()
    used = {
        part
        for study in (fuzz.changes.PLAIN, fuzz.changes.OWN)
        for at, _ in fuzz.changes.rules_of(study, config.schema())
        for part in at
    }
    assert known - used <= NOT_TRIED | {"dataset", "hardware", "model", "remedy"}


def test_the_strict_reading_passes_and_a_lenient_one_is_found(fuzz, tmp_path, monkeypatch):
    numbers = range(1, 50)
    assert tried(fuzz, numbers, tmp_path) == []
    monkeypatch.setattr(strict_yaml, "load", yaml.safe_load)
    kinds = {kind for kind, _, _ in tried(fuzz, numbers, tmp_path)}
    assert {"trap", "repeated key", "bad reference"} <= kinds
