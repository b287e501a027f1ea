"""Notebooks as they lie in the repository."""

import importlib
import json
import re
from pathlib import Path

import pytest

from toolnoise.base.program import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stripped_and_has_one_cell_of_parameters(path: Path):
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert sum("parameters" in cell["metadata"].get("tags", []) for cell in code) == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asks_of_modules_only_what_they_have(path: Path):
    cells = json.loads(path.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    imported = ", ".join(re.findall(r"^from toolnoise\.figures import ([\w, ]+)$", code, re.MULTILINE)).split(", ")
    names = {name.partition(" as ")[0]: name.rpartition(" as ")[2] for name in imported}
    asked = [(name, one) for name, alias in names.items() for one in re.findall(rf"(?<![\w.]){alias}\.(\w+)", code)]
    assert asked
    assert [one for one in asked if not hasattr(importlib.import_module(f"toolnoise.figures.{one[0]}"), one[1])] == []
