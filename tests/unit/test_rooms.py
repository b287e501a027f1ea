"""The package has rooms, and no module imports itself, at whatever distance."""

import graphlib
import subprocess

import grimp
import pytest

from toolnoise.base.program import PACKAGE, ROOT

ANALYSES = sorted(path.parent.name for path in (PACKAGE / "analyses").glob("*/__init__.py"))


@pytest.fixture(scope="module")
def imports():
    graph = grimp.build_graph(PACKAGE.name, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_module_imports_itself_through_others(imports):
    assert len(list(graphlib.TopologicalSorter(imports).static_order())) == len(imports)


def test_at_most_eight_modules_lie_outside_of_the_rooms():
    assert len(list(PACKAGE.glob("*.py"))) <= 8


def test_every_room_says_what_it_is_for():
    rooms = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    assert rooms
    for room in rooms:
        assert room.read_text().startswith('"""'), room


@pytest.mark.parametrize("analysis", [*ANALYSES, "none"])
def test_make_check_finds_the_unit_tests_of_each_analysis(analysis):
    command = ["make", "--silent", "--old-file", ".venv/dev", "check", f"ANALYSIS={analysis}"]
    # Only the search for tests; they run by themselves.
    done = subprocess.run([*command, "PYTEST=echo"], cwd=ROOT, capture_output=True, text=True)
    if analysis == "none":
        assert done.returncode == 2
        said = f"no unit test imports an analysis none; workflow/toolnoise/analyses has: {' '.join(ANALYSES)}"
        assert done.stderr.splitlines()[0] == said
    else:
        assert done.stdout.startswith("tests/unit/test_"), done.stderr
