"""Figures and tables: a notebook executed by papermill on metric files, and the page around them.

Nothing here knows a run: restyling a figure never retrains anything. Executed notebooks keep their output and lose
their clock times, so that rendering twice gives the same bytes.
"""

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat

from toolnoise.base.errors import BadInput
from toolnoise.base.files import replacing

ROOT = Path(__file__).parents[3]
NOTEBOOKS = ROOT / "notebooks"


def render(notebook: str, parameters: dict[str, Any], executed: str | Path) -> None:
    """Execute the notebook of that name with `parameters` and keep the executed copy."""
    with warnings.catch_warnings():
        # papermill 2.7 still imports a name that its own dependencies have deprecated.
        warnings.simplefilter("ignore")
        import papermill

    Path(parameters["stem"]).parent.mkdir(parents=True, exist_ok=True)
    with replacing(executed) as scratch:
        try:
            papermill.execute_notebook(
                NOTEBOOKS / f"{notebook}.ipynb",
                scratch,
                parameters,
                kernel_name="python3",
                progress_bar=False,
                log_output=False,
            )
        except papermill.PapermillExecutionError as error:
            if error.ename == BadInput.__name__:
                raise BadInput(f"{notebook}.ipynb", "", error.evalue) from None
            raise
        executed_copy = nbformat.read(scratch, as_version=4)
        _forget_the_occasion(executed_copy)
        nbformat.write(executed_copy, scratch)


def write_report(study: str | Path, out: str | Path) -> None:
    """Write the study's page: Snakemake's own report over its figures, tables and metric files."""
    with replacing(out) as scratch:
        command = [sys.executable, "-m", "snakemake", "figures", "--snakefile", str(ROOT / "Snakefile")]
        options = ["--configfile", str(study), "--nolock", "--quiet", "--report", str(scratch)]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)


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
