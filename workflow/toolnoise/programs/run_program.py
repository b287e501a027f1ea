"""A run of a study by an existing training program: it gets the run's seeds, and its outcome becomes the run's files.

The program's folders are beside the run's checkpoint: the folder of the outcome is new in each attempt, its own
checkpoints survive. Arrays that it leaves besides weights are in `weights.npz`, too, each under its name and ":". An
outcome from before the study is taken unchanged.
"""

import csv
import hashlib
import io
import json
import os
import re
import shutil
import signal
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import arrays, command_words, environment, files, scratch
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Aside, Inputs, Output, Timings, outside, unrepeatable
from toolnoise.base.spec import Spec
from toolnoise.checking import launch, outcome
from toolnoise.checking.launch import Redaction
from toolnoise.checking.outcome import EPOCH, Outcome
from toolnoise.engines import accelerators
from toolnoise.formulas import outcome_files
from toolnoise.study.programs import interpreter_variables, thread_variables
from toolnoise.study.runs import OUTCOME, TENSOR_DIGITS, weight_digests

# A program does not say which of its tensors it trains. These are the names of statistics, in PyTorch and in Keras.
STATISTICS = ("running_mean", "running_var", "moving_mean", "moving_variance")
FRAMEWORKS = "torch|tensorflow|keras|jax|jaxlib|flax|numpy|scikit-learn|lightning|pytorch-lightning|transformers|timm"
# The content of a program's folder: its outcome, its own checkpoints, its job, its output.
OUT, KEPT, JOB, LOG = "out", "checkpoint", "job.json", "program.log"
OWN = {OUT, KEPT, JOB, LOG}
UNKNOWN = "adopted: how it was made is not known here"
_PACKAGES = """
import importlib.metadata as m, json, sys
found = {(d.metadata["Name"] or "").lower().replace("_", "-"): d.version for d in m.distributions()}
print(json.dumps([sys.version.split()[0], sorted(found.items())]))
"""


def train(
    spec: Spec,
    study: str,
    gate: Inputs = (),  # noqa: ARG001 (only the order of jobs follows from it)
    *,
    weights: Output,
    history: Output,
    record: Output,
    checkpoint: Aside,
) -> dict[str, Any]:
    """Run the program that `spec` names; write what it left as a run's files; return what was observed.

    If the study has Control, its `gate` is passed before anything may vary.
    """
    timings, model = Timings(), spec.model.json
    folder = folder_of(checkpoint)
    out, kept, job_file = folder / OUT, folder / KEPT, folder / JOB
    shutil.rmtree(out, ignore_errors=True)
    for needed in (out, kept):
        needed.mkdir(parents=True, exist_ok=True)
    job = launch.job_of(spec, study, out, kept)
    files.write_json(job_file, job)
    observed = _observed(spec)
    variables = launch.variables_of(job, job_file) | observed["variables"] | interpreter_variables(spec.hardware.json)
    words = command_words.split_command(model["command"])
    if job["deterministic"] and "deterministic" in model:
        words += command_words.split_command(model["deterministic"])
    secret = command_words.variables_of(words, f"models.{model['name']}.command")
    limit = model["limit"] * 60 if "limit" in model else None
    environment.forget_numerical()
    with timings.measure("training"):
        _launch(
            command_words.fill_placeholders(words, launch.placeholders_of(job) | secret),
            variables,
            folder,
            limit,
            secret,
        )
    for text in (out / outcome_files.HISTORY, out / outcome_files.METRIC):
        # Checked before it is read: an error would quote it.
        if text.is_file() and text.stat().st_size <= outcome.MOST_TEXT:
            Redaction(secret).require_absent(text, text.read_bytes())
    left = outcome.read_outcome(out)
    Redaction(secret).require_absent(out, "\n".join([*(left.weights or {}), *left.groups]).encode())
    require_kind(left, model["outcome"])
    write_run(left, spec, weights, history, record, observed, timings)
    shutil.rmtree(out)
    return observed


def folder_of(checkpoint: str) -> Path:
    """The folder that a program has beside its run's checkpoint: it is emptied, so nothing else may be in it."""
    path = Path(checkpoint)
    if path.suffix != ".npz":
        raise BadInput("command line", "--checkpoint", f"found {checkpoint!r}", "a file whose name ends in .npz")
    if path.is_dir():
        # The checkpoint is removed at the run's end, when the outputs are in place: a folder would fail only then.
        raise BadInput(path, "", "a folder is in the way", "a file, or nothing")
    folder = path.with_suffix("")
    left = {file.name for file in folder.iterdir() if not scratch.is_scratch(file.name)} if folder.is_dir() else set()
    if not left <= OWN:
        raise BadInput(folder, "", "has other files than a training program's", "another --checkpoint, or remove it")
    return folder


def _launch(
    words: list[str], variables: dict[str, str], folder: Path, limit: float | None, secret: dict[str, str]
) -> None:
    """Run the program; its output goes where the output of this process goes."""
    output = os.fstat(1)
    log = Path("/proc/self/fd/1")
    if stat.S_ISREG(output.st_mode) and log.exists():
        # Snakemake's log: it can be read while the program runs.
        launch.run_command(words, variables, log.readlink(), limit=limit, hidden=secret)
        return
    log = folder / LOG
    log.unlink(missing_ok=True)
    try:
        launch.run_command(words, variables, log, limit=limit, hidden=secret)
    finally:
        if log.exists():
            print(log.read_text(errors="replace"), end="", flush=True)


def _observed(spec: Spec) -> dict[str, Any]:
    """The machine, the packages of the program's interpreter, and the variables set for its libraries."""
    tooling = spec.hardware.json
    python, packages = _packages(tooling, command_words.split_command(spec.model.command)[0])
    device, variables = _device(tooling)
    listed = "".join(f"{name}=={version}\n" for name, version in packages)
    return {
        **environment.describe_machine(),
        **({"python": python} if python else {}),
        **device,
        "variables": variables,
        "versions": {name: version for name, version in packages if re.fullmatch(FRAMEWORKS, name)},
        "packages_sha256": hashlib.sha256(listed.encode()).hexdigest() if packages else "",
    }


def _device(tooling: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The device that the tooling names, as it is recorded, and the variables that keep the program on it."""
    if tooling["accelerator"] == "cpu":
        return {"device": "cpu"}, thread_variables(tooling)
    present = accelerators.gpus()
    chosen = present[accelerators.choose(tooling, [gpu.name for gpu in present])]
    named = [gpu.uuid for gpu in present if accelerators.is_called(tooling["device"], gpu.name)]
    # Without identifiers, which an old driver may not report, nothing is hidden.
    hides_others = all(named) and len(named) < len(present)
    variables = {"CUDA_VISIBLE_DEVICES": ",".join(named)} if hides_others else {}
    return {"device": chosen.name, "driver": chosen.driver}, variables


def _packages(tooling: Mapping[str, Any], program: str) -> tuple[str, list[tuple[str, str]]]:
    """The version and the packages of the interpreter that the program is for, if it is Python."""
    variables = {**os.environ, **interpreter_variables(tooling)}
    python = program if Path(program).name.startswith("python") else "python"
    interpreter = shutil.which(python, path=variables["PATH"])
    if not interpreter:
        return "", []
    try:
        done = subprocess.run([interpreter, "-c", _PACKAGES], env=variables, capture_output=True, text=True)
        if done.returncode < 0:
            killed = f"was killed by {signal.Signals(-done.returncode).name} while it listed its packages"
            raise BadInput(interpreter, "", killed, "type the same command again")
        version, packages = json.loads(done.stdout)
    except (OSError, ValueError):
        return "", []
    return version, [(name, number) for name, number in packages]


def require_kind(left: Outcome, wanted: str) -> None:
    """Refuse an outcome of another kind than the study declares."""
    if left.kind != wanted:
        raise BadInput(left.folder, "outcome", f"the program left {left.kind}", f"{wanted}, as models.*.outcome says")


def write_run(
    left: Outcome, spec: Spec, weights: str, history: str, record: str, observed: dict[str, Any], timings: Timings
) -> None:
    """Write what a program left as the files of a run."""
    tensors = dict(left.weights or {})
    for name in tensors:
        if name.endswith(("/", OUTCOME)):
            raise BadInput(left.folder, name, "a tensor's name ends with / or :", "another name")
    whole, digests = weight_digests(tensors)
    rows = _rows(left, whole, digests)
    arrays.write_npz(weights, {**tensors, **_besides(left)})
    files.write_text(history, rows)
    trained = [name for name, values in tensors.items() if values.dtype.kind == "f" and not name.endswith(STATISTICS)]
    about = {"spec": spec.as_json(), "status": "completed", "epochs": rows.count("\n") - 1, "trainable": trained}
    files.write_json(record, about | {"observed": observed, "seconds": dict(timings)})


def _besides(left: Outcome) -> dict[str, np.ndarray]:
    """The arrays that a program left besides its weights."""
    named = {name: getattr(left, name) for name in ("logits", "predictions", "losses", "labels")}
    named |= {f"group/{name}": members for name, members in left.groups.items()}
    named |= {f"metric/{name}": np.float64(value) for name, value in (left.metric or {}).items()}
    return {name + OUTCOME: np.asarray(values) for name, values in named.items() if values is not None}


def _rows(left: Outcome, whole: str, digests: list[str]) -> str:
    """The program's history, with the digests of the weights at its end; a single row if it left none."""
    columns, rows = left.history or ([EPOCH], [])
    *earlier, last = rows or [["1", *[""] * (len(columns) - 1)]]
    marks = [whole, " ".join(digest[:TENSOR_DIGITS] for digest in digests)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, "weights_sha256", "tensors_sha256"])
    writer.writerows([*row, "", ""] for row in earlier)
    writer.writerow([*last, *marks])
    return out.getvalue()


def _adopted(spec: Spec) -> Path:
    """The folder with the outcome of a run from before the study."""
    return Path(spec.model.adopted) / str(spec.seed)


def files_of_adopted(parameters: dict[str, Any], _out: str) -> list[dict[str, Any]]:
    """The files of an outcome, each with its digest and its size."""
    paths = [_adopted(Spec.read(parameters["spec"])) / name for name in outcome_files.FILES]
    return [
        {"path": str(path), "sha256": files.sha256(path), "bytes": path.stat().st_size}
        for path in paths
        if path.is_file()
    ]


@unrepeatable("how it was made is not known here")
@outside(files_of_adopted)
def adopt(spec: Spec, *, weights: Output, history: Output, record: Output) -> dict[str, Any]:
    """Write the files of a run from what somebody left; the machine is the one that adopted it."""
    folder = _adopted(spec)
    if not folder.is_dir():
        raise BadInput(folder, "", "no such folder", "what `toolnoise adopt` wrote beside the study")
    left = outcome.read_outcome(folder)
    require_kind(left, spec.model.outcome)
    observed = {**environment.describe_machine(), "origin": UNKNOWN}
    write_run(left, spec, weights, history, record, observed, Timings())
    return observed
