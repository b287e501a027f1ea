"""A run from before the study: its outcome is taken as it is. How it was made is not known here."""

from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.base.spec import Spec
from toolnoise.base.timings import Timings
from toolnoise.checking import outcome, run_program
from toolnoise.engines import environment
from toolnoise.study import outcome_files

UNKNOWN = "adopted: how it was made is not known here"


def folder_of(spec: Spec) -> Path:
    """Where the outcome of a run is."""
    return Path(spec.model.adopted) / str(spec.seed)


def files_of(parameters: dict[str, Any], _out: str) -> list[dict[str, Any]]:
    """The files of an outcome, each with its digest and its size."""
    paths = [folder_of(Spec.read(parameters["spec"])) / name for name in outcome_files.FILES]
    return [
        {"path": str(path), "sha256": sha256(path), "bytes": path.stat().st_size} for path in paths if path.is_file()
    ]


def adopt(spec: Spec, weights: str, history: str, record: str) -> dict[str, Any]:
    """Write the files of a run from what somebody left; the machine is the one that adopted it."""
    folder = folder_of(spec)
    if not folder.is_dir():
        raise BadInput(folder, "", "no such folder", "what `toolnoise adopt` wrote beside the study")
    left = outcome.read(folder)
    run_program.require_kind(left, spec.model.outcome)
    observed = {**environment.machine(), "origin": UNKNOWN}
    run_program.write(left, spec, weights, history, record, observed, Timings())
    return observed
