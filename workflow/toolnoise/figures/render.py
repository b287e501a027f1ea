"""Figures and tables: a notebook executed by papermill on metric files.

Nothing here knows a run: restyling a figure never retrains anything. Executed notebooks keep their output and lose
their clock times, so that rendering twice gives the same bytes.
"""

import ast
import io
import os
import platform
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.formatters import DisplayFormatter
from nbformat import NotebookNode, v4
from papermill.engines import Engine, NotebookExecutionManager
from papermill.translators import PythonTranslator

from toolnoise.base.errors import BadInput
from toolnoise.base.files import replacing
from toolnoise.base.job import Implied, Inputs, Output, Outputs
from toolnoise.base.program import ROOT

# What Jupyter's Python kernel says of itself, and an executed notebook therefore has.
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": platform.python_version(),
}


class InProcess(Engine):
    """Executes the cells of a notebook one after the other in a namespace of their own."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: NotebookExecutionManager, kernel_name: str, **_: Any) -> None:  # noqa: ARG003
        """Execute every code cell and keep its outputs."""
        nb_man.nb.metadata["language_info"] = LANGUAGE
        names: dict[str, Any] = {"__name__": "__main__"}
        code = [cell for cell in nb_man.nb.cells if cell.cell_type == "code" and cell.source.strip()]
        for number, cell in enumerate(code, start=1):
            cell.execution_count = number
            cell.outputs = _executed(cell.source, f"cell {cell.id}", names, number)


class AsWritten(PythonTranslator):
    """Writes the cell of parameters. papermill itself formats it with black wherever that happens to be installed."""

    @classmethod
    def codify(cls, parameters: dict[str, Any], comment: str = "Parameters") -> str:
        """One assignment a line."""
        return super(PythonTranslator, cls).codify(parameters, comment)


def _executed(source: str, name: str, names: dict[str, Any], number: int) -> list[NotebookNode]:
    """The outputs of a cell: what it printed, and the value of its last expression."""
    tree, value = ast.parse(source, name), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as warned:
        exec(compile(tree, name, "exec"), names)  # noqa: S102 (a notebook of this repository)
        if last:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)  # noqa: S307
    streams = (("stdout", printed.getvalue()), ("stderr", warned.getvalue()))
    outputs = [v4.new_output("stream", name=stream, text=text) for stream, text in streams if text]
    if value is not None:
        data, metadata = DisplayFormatter().format(value)
        outputs.append(v4.new_output("execute_result", data, metadata=metadata, execution_count=number))
    return outputs


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

    `shown` is what else the notebook is given: the toolings and tasks that it shows, and which of these emulate noise.
    """
    del figure, metrics  # the name is in the paths, and the files are in `by_kind`
    stem = os.path.splitext(out[0])[0]  # noqa: PTH122 (Path would tidy what the command line said)
    # The order of parameters in the executed notebook, whatever their order in a statement.
    order = ("hardware", "tasks", "emulated", "synthetic", "batch_sizes", "accelerators", "label_of", "differences")
    parameters = {
        **by_kind,
        **{key: shown[key] for key in (*order, "class_names", "sources", "width") if key in shown},
        "stem": stem,
    }
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

    papermill is given no path: it would put parameters in place of braces, such as those in the name of a folder.
    """
    with warnings.catch_warnings():
        # papermill 2.7 still imports a name that its own dependencies have deprecated.
        warnings.simplefilter("ignore")
        # Before the notebook, which would have in its output what Matplotlib says of a user's matplotlibrc.
        import matplotlib  # noqa: F401
        import papermill
        from papermill.engines import papermill_engines
        from papermill.translators import papermill_translators

        from toolnoise.figures.render import AsWritten, InProcess

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
