"""The source as a whole: CONTRIBUTING.md's map and checks, and no module that imports itself."""

import graphlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest
import yaml

from toolnoise.base.program import PACKAGE, ROOT
from toolnoise.datasets.readers import READERS
from toolnoise.study import config

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


@pytest.mark.parametrize("named", [(), ("slurm", "lint")])
def test_the_checks_run_all_parts_or_those_that_are_named(named, tmp_path):
    script = tmp_path / ".ci/run"
    script.parent.mkdir()
    # Without doing what the parts do.
    parts = "".join(f"{part}() {{ :; }}\n" for part in PARTS)
    script.write_text(SCRIPT.replace("\nparts=(", f"\n{parts}\nparts=(", 1))
    done = subprocess.run(["bash", script, *named], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"^(\w+) took", done.stdout, re.MULTILINE) == list(named or PARTS)


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


def test_hadolint_has_nothing_to_say():
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is not installed")
    said = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "")


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
