"""The map in CONTRIBUTING.md is the tree: its paths exist, and each folder, room and file of rules is on it."""

import re
import subprocess

import pytest

from toolnoise.base.program import ROOT


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
    named = re.sub(r"\(.*?\)", "", described.partition("rooms:")[2].partition(";")[0])
    others = {"and", "four", "that", "import", "it", "does", "not", "need"}
    assert set(re.findall(r"\w+", named)) - others == rooms


def test_every_file_of_rules_is_on_the_map_and_no_other(entries):
    files = {path.stem for path in (ROOT / "workflow/rules").glob("*.smk")}
    assert words(entries["workflow/rules/"].partition(":")[2]) == files


def test_every_folder_of_tests_is_in_the_table():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"^\| `(tests/\w+)` \|", text, re.MULTILINE))
    assert named == {f"tests/{path.parent.name}" for path in (ROOT / "tests").glob("*/test_*.py")}


def test_every_file_and_function_of_the_table_exists():
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| where is | file |")[2]
    cells = "".join(re.findall(r"\| ([^|]+) \|$", table, re.MULTILINE))
    places = re.findall(r"((?:`\w+`(?: and )?)*)(?: in )?`([\w/.*-]*[/.][\w/.*-]*)`", cells)
    assert len(places) > 40
    for names, path in places:
        files = [*(ROOT if path.startswith(("workflow/", "notebooks/")) else ROOT / "workflow/toolnoise").glob(path)]
        assert files or path == "rows.py", path
        for name in re.findall(r"\w+", names.replace(" and ", " ")):
            pattern = rf"^ *(def|class) {name}\b"
            assert re.search(pattern, files[0].read_text(), re.MULTILINE), (name, path)
