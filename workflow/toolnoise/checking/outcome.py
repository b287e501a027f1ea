"""The contract's second half: what an existing training program leaves in its folder. docs/outside.md explains it.

An outcome is read strictly: a file that breaks the contract is refused in one line. What may be left out is None.
"""

import csv
import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.checking import tensors
from toolnoise.study.outcome_files import GROUPS, HISTORY, LABELS, LOGITS, METRIC, PREDICTIONS, RESULTS, WEIGHTS

# It becomes the name of an array in an archive: neither signs of control nor halves of a pair.
METRIC_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")
MOST_TEXT = 1 << 26  # bytes
EPOCH = "epoch"


class EpochTable(NamedTuple):
    """The table of a training's epochs, as text; the first column is the epoch, 0 before training."""

    columns: list[str]
    rows: list[list[str]]


class Outcome(NamedTuple):
    """What one run left: one of logits, [N, C], predictions, [N], and a metric; the rest may be missing."""

    folder: Path
    logits: np.ndarray | None
    predictions: np.ndarray | None
    metric: dict[str, float] | None
    labels: np.ndarray | None
    weights: dict[str, np.ndarray] | None
    history: EpochTable | None
    groups: dict[str, np.ndarray]
    # Of a program that does not keep the contract: copies of what it wrote, and numbers that it printed.
    files: dict[str, Path] = {}  # noqa: RUF012 (nothing changes it)
    printed: dict[str, float] = {}  # noqa: RUF012 (nothing changes it)

    @property
    def answers(self) -> np.ndarray | None:
        """Each example's predicted class or value. A program's only .npy file counts: a row of several is scores."""
        arrays = [array for array in (self.logits, self.predictions) if array is not None]
        paths = [path for name, path in self.files.items() if name.endswith(".npy")]
        if not arrays and len(paths) == 1:
            arrays = [tensors.read_npy(paths[0])]
        if not arrays or arrays[0].ndim not in (1, 2):
            return None
        rows = arrays[0].reshape(len(arrays[0]), -1)
        return rows.argmax(axis=1) if rows.shape[1] > 1 else rows.ravel()


def read(folder: str | Path) -> Outcome:
    """What a program left in its folder."""
    folder = Path(folder)
    result = result_of(folder)
    if result is None:
        raise BadInput(folder, "", "the program left no result", f"one of {', '.join(RESULTS)}")
    values = None if result.name == METRIC else tensors.read_npy(result)
    labels = tensors.read_npy(folder / LABELS) if (folder / LABELS).is_file() else None
    if labels is None and values is not None:
        raise BadInput(folder / LABELS, "", "no such file", f"the labels of the examples of {result.name}")
    if result.name == LOGITS:
        _require(values.ndim == 2 and values.shape[1] > 1, result, values, "examples x classes, two classes or more")
        _require(values.dtype == np.float32, result, values, "float32")
    if result.name == PREDICTIONS:
        _require(values.ndim == 1, result, values, "one number per example")
        _require(values.dtype.kind in "iuf", result, values, "integers (classes) or floats (regression)")
    if values is not None:
        _require_finite(result, values)
        _require(len(values) > 0, result, values, "at least one example")
    if labels is not None:
        _check_labels(folder / LABELS, labels, result, values)
    weights = _one_of(folder, WEIGHTS)
    groups = folder / GROUPS
    return Outcome(
        folder,
        values if result.name == LOGITS else None,
        values if result.name == PREDICTIONS else None,
        _metric(result) if result.name == METRIC else None,
        labels,
        tensors.READERS[weights.suffix](weights) if weights else None,
        _history(folder / HISTORY) if (folder / HISTORY).is_file() else None,
        _groups(groups, labels) if groups.is_file() else {},
    )


def result_of(folder: Path) -> Path | None:
    """The file with a program's result, if it has left one."""
    return _one_of(folder, RESULTS)


def _one_of(folder: Path, names: tuple[str, ...]) -> Path | None:
    present = [name for name in names if (folder / name).is_file()]
    if len(present) > 1:
        raise BadInput(folder, "", f"found {' and '.join(present)}", f"only one of {', '.join(names)}")
    return folder / present[0] if present else None


def _check_labels(path: Path, labels: np.ndarray, result: Path, values: np.ndarray | None) -> None:
    _require(labels.ndim == 1 and len(labels) > 0, path, labels, "one label per example")
    _require_finite(path, labels)
    if values is None:
        return
    if len(labels) != len(values):
        raise BadInput(path, "", f"found {len(labels)} labels", f"{len(values)}, the examples of {result.name}")
    if values.ndim == 1 and values.dtype.kind == "f":
        _require(labels.dtype.kind in "iuf", path, labels, "numbers")
        return
    _require(labels.dtype.kind in "iu", path, labels, "integers from 0: the classes")
    allowed = f"0 to {values.shape[1] - 1}, the classes of {result.name}" if values.ndim == 2 else "0 or more"
    if labels.min() < 0 or (values.ndim == 2 and labels.max() >= values.shape[1]):
        raise BadInput(path, "", f"found labels from {labels.min()} to {labels.max()}", allowed)


def _groups(path: Path, labels: np.ndarray | None) -> dict[str, np.ndarray]:
    groups = tensors.read_npz(path)
    if labels is None:
        raise BadInput(path, "", f"groups of examples without {LABELS}", "both, or neither")
    for name, members in groups.items():
        allowed = f"a boolean for each of the {len(labels)} examples"
        _require(members.dtype == bool and members.shape == labels.shape, path, members, allowed, name)
    return groups


def _metric(path: Path) -> dict[str, float]:
    with readable(path, "a JSON file"):
        # An integer too large for a float becomes infinite, and is refused as such.
        values = json.loads(_text(path), parse_int=float)
    if not isinstance(values, dict) or not values:
        raise BadInput(path, "", "found no object with names", 'such as {"accuracy": 0.93}')
    for name, value in values.items():
        if not METRIC_NAME.fullmatch(name):
            raise BadInput(path, "", f"found the name {name[:60]!r}", "1 to 200 signs that can be printed")
        if not isinstance(value, float) or not np.isfinite(value):
            raise BadInput(path, name, f"found {value!r}", "a finite number")
    return values


def _history(path: Path) -> EpochTable:
    with readable(path, "a CSV file"):
        columns, *rows = csv.reader(_text(path).splitlines(), strict=True)
    if not columns or columns[0] != EPOCH:
        raise BadInput(path, "", f"found {(columns or ['nothing'])[0]!r} as the first column", f"{EPOCH!r}")
    if len(set(columns)) < len(columns):
        raise BadInput(path, "", "a column stands twice", "a name of its own for each")
    before = -1
    for number, row in enumerate(rows, 2):
        if len(row) != len(columns):
            raise BadInput(path, f"line {number}", f"found {len(row)} fields", f"{len(columns)}, as in the first line")
        if not re.fullmatch("[0-9]{1,18}", row[0]) or int(row[0]) <= before:
            raise BadInput(path, f"line {number}", f"found epoch {row[0]!r}", "whole numbers that rise, one row each")
        before = int(row[0])
    return EpochTable(columns, rows)


def _text(path: Path) -> str:
    size = path.stat().st_size
    if size > MOST_TEXT:
        raise BadInput(path, "", f"found {size} bytes", f"at most {MOST_TEXT}")
    return path.read_text("utf-8")


def _require_finite(path: Path, values: np.ndarray) -> None:
    wrong = values.size - int(np.count_nonzero(np.isfinite(values)))
    if wrong:
        raise BadInput(path, "", f"{wrong} of {values.size} values are not finite", "finite numbers")


def _require(holds: bool, path: Path, values: np.ndarray, allowed: str, key: str = "") -> None:
    if not holds:
        raise BadInput(path, key, f"found {values.dtype} of shape {values.shape}", allowed)
