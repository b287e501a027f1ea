"""The notebook in examples/ runs as it stands, and says what it shows."""

import nbformat
import pytest
from nbclient import NotebookClient

from toolnoise.base.program import ROOT


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    notebook = nbformat.read(ROOT / "examples/noise.ipynb", 4)
    folder = tmp_path_factory.mktemp("notebook")
    return NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()


def shown(cell):
    """What a cell shows, by type."""
    return {kind: text for output in cell.outputs for kind, text in output.get("data", {}).items()}


def test_every_finding_is_shown_and_nothing_is_warned_of(executed):
    cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert not [output for cell in cells for output in cell.outputs if output.output_type in ("stream", "error")]
    _, noise, compared, plot, table, planned = map(shown, cells)
    assert noise["text/plain"].startswith("5 runs of 597 examples")
    assert "churn" in noise["text/html"]
    assert "accuracy %" in compared["text/plain"]
    assert plot["image/png"]
    assert "accuracy_difference" in table["text/plain"]
    assert "a gain of 0.5 points" in planned["text/plain"]
