"""An engine of papermill that executes a notebook in this process, and a translator that writes its parameters.

A kernel would be a second process that imports pandas, Matplotlib and seaborn again: starting and using it would take a
third of a figure's CPU time. The notebooks of this repository are plain Python. The value of a cell's last expression
is shown as a kernel would show it, and the executed copies have the same bytes. An exception ends the notebook and
keeps its type.
"""

import ast
import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from IPython.core.formatters import DisplayFormatter
from nbformat import NotebookNode, v4
from papermill.engines import Engine, NotebookExecutionManager
from papermill.translators import PythonTranslator


class InProcess(Engine):
    """Executes the cells of a notebook in order, in one new namespace."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: NotebookExecutionManager, kernel_name: str, **_: Any) -> None:  # noqa: ARG003
        """Execute every code cell and keep its outputs."""
        names: dict[str, Any] = {"__name__": "__main__"}
        code = [cell for cell in nb_man.nb.cells if cell.cell_type == "code" and cell.source.strip()]
        for number, cell in enumerate(code, start=1):
            cell.execution_count = number
            cell.outputs = _executed(cell.source, f"cell {cell.id}", names, number)


class AsWritten(PythonTranslator):
    """Writes the cell of parameters without black. papermill itself uses black if it is installed."""

    @classmethod
    def codify(cls, parameters: dict[str, Any], comment: str = "Parameters") -> str:
        """Write one assignment per line."""
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
