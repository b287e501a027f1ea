"""What docs/ten-minutes.md and the notebook in examples/ show is what runs; digits may differ between processors."""

import importlib.util
import re

import nbformat
import pytest
from nbclient import NotebookClient

from toolnoise.base.program import ROOT

PAGE = (ROOT / "docs/ten-minutes.md").read_text()
# A number, and the signs and spaces that align a table or lead to it.
NUMBERS = re.compile(r"[-+]?\d[\d,.]*(e[-+]?\d+)?%?")
SPACES = re.compile(r"[ -]{2,}")


@pytest.fixture(scope="module")
def transcripts():
    spec = importlib.util.spec_from_file_location("transcripts", ROOT / "docs/site/transcripts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(line):
    """A line without its digits, and without what depends on their width."""
    return SPACES.sub(" ", NUMBERS.sub("#", line)).strip()


@pytest.mark.long
def test_each_line_of_a_transcript_is_printed(transcripts, tmp_path):
    folder = tmp_path / "ten"
    folder.mkdir()
    shown = list(transcripts.transcripts(PAGE, folder))
    assert len(shown) == 5
    for transcript in shown:
        printed = [words(line) for line in transcript.printed.splitlines()]
        expected = [words(line) for line in transcript.block.splitlines() if transcripts.CUT not in line]
        assert [line for line in expected if line not in printed] == []


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
    assert "churn" in noise["text/plain"]
    assert "accuracy %" in compared["text/plain"]
    assert plot["image/png"]
    assert "accuracy_difference" in table["text/plain"]
    assert "a gain of 0.5 points" in planned["text/plain"]
