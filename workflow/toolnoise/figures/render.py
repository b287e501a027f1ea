"""Figures and tables: a notebook executed by papermill on metric files.

This code reads no runs, so restyling a figure never retrains anything. Executed notebooks keep their output and lose
their clock times, so that rendering twice gives the same bytes.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import nbformat

from toolnoise.base.errors import BadInput
from toolnoise.base.files import replacing
from toolnoise.base.job import Implied, Inputs, Output, Outputs
from toolnoise.base.program import ROOT

NOTEBOOKS = ROOT / "notebooks"


def render(
    figure: str,
    notebook: str,
    metrics: Inputs,
    by_kind: Implied,
    *,
    out: Outputs,
    executed: Output,
    **shown: Any,
) -> None:
    """Execute the notebook of a figure on metric files, which `by_kind` has by their kinds; keep the executed copy.

    `shown` are further parameters of the notebook: the toolings and tasks to show, and the toolings that emulate noise.
    """
    del figure, metrics  # the name is in the paths, and the files are in `by_kind`
    stem = os.path.splitext(out[0])[0]  # noqa: PTH122 (Path would tidy what the command line said)
    # In a fixed order, independent of the order in a statement.
    parameters = {**by_kind, **dict(sorted(shown.items())), "stem": stem}
    Path(stem).parent.mkdir(parents=True, exist_ok=True)
    with replacing(executed) as scratch:
        source = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4)
        try:
            executed_copy = execute(source, parameters)
        except BadInput as error:
            raise BadInput(f"{notebook}.ipynb", "", str(error)) from None
        _forget_the_occasion(executed_copy)
        nbformat.write(executed_copy, scratch)


def execute(notebook: nbformat.NotebookNode, parameters: dict[str, Any]) -> nbformat.NotebookNode:
    """Execute a notebook in this process; returns the executed copy.

    papermill gets no path, because it would replace braces in the path, such as in the name of a folder.
    """
    with warnings.catch_warnings():
        # papermill 2.7 still imports a name that its own dependencies have deprecated.
        warnings.simplefilter("ignore")
        # Imported first, so that Matplotlib's warnings about a user's matplotlibrc are not in the notebook's output.
        import matplotlib  # noqa: F401
        import papermill
        from papermill.engines import papermill_engines
        from papermill.translators import papermill_translators

        from toolnoise.figures.execution import AsWritten, InProcess

    papermill_engines.register("in-process", InProcess)
    papermill_translators.register("python", AsWritten)
    return papermill.execute_notebook(
        notebook,
        None,
        parameters,
        engine_name="in-process",
        progress_bar=False,
        request_save_on_cell_execute=False,
    )


def _forget_the_occasion(notebook: nbformat.NotebookNode) -> None:
    kept = ("parameters", "environment_variables")
    about = notebook.metadata.get("papermill", {})
    notebook.metadata["papermill"] = {key: value for key, value in about.items() if key in kept}
    for cell in notebook.cells:
        for when in ("papermill", "execution"):
            cell.metadata.pop(when, None)
        # papermill gives the cell with the parameters a random id.
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
