"""The parameters in an executed notebook: the same bytes whichever tools are installed beside."""

import sys
from types import SimpleNamespace

import nbformat
import pytest

from toolnoise.figures import render

PARAMETERS = {
    "stability": [f"results/demo/metrics/cells/smallcnn/digits/cpu/variant-{number}.csv" for number in range(4)],
    "tasks": [["smallcnn", "digits"]],
    "differences": {"smallcnn/digits": ['a "quoted" word']},
    "width": None,
    "emulated": [],
}


@pytest.fixture
def executed():
    """Execute a notebook with parameters; returns the text of its copy, without the occasion."""

    def execute():
        cells = [nbformat.v4.new_code_cell("tasks = []", metadata={"tags": ["parameters"]})]
        cells.append(nbformat.v4.new_code_cell("stability, tasks, differences, width, emulated"))
        kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        copy = render.execute(notebook, PARAMETERS)
        return [(cell.source, [output.data for output in cell.outputs]) for cell in copy.cells]

    return execute


# A formatter that changes every text.
LOUD = SimpleNamespace(FileMode=lambda **_: None, format_str=lambda text, **_: f"# formatted\n{text}")


def test_parameters_are_written_alike_with_and_without_black(executed, monkeypatch):
    # `make test` installs black.
    here = executed()
    monkeypatch.setitem(sys.modules, "black", None)
    assert executed() == here
    monkeypatch.setitem(sys.modules, "black", LOUD)
    assert executed() == here
    assert here[1][0].splitlines()[0] == "# Parameters"
    assert 'tasks = [["smallcnn", "digits"]]' in here[1][0].splitlines()
    assert here[2][1][0]["text/plain"].startswith("(['results/demo/metrics/cells")
