"""Read the output folder of an existing training program, by the contract in docs/outside.md.

An outcome is read strictly: a file that breaks the contract is refused with a one-line error. Optional files may be
missing. Files of arrays may be damaged or hostile: nothing is unpickled, and a size stated in a file is used only after
it is checked against the file.
"""

import csv
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.base.files import parse_json, readable
from toolnoise.formulas import outcomes
from toolnoise.formulas.outcome_files import (
    GROUPS,
    HISTORY,
    LABELS,
    LOGITS,
    LOSSES,
    METRIC,
    PREDICTIONS,
    RESULTS,
    WEIGHTS,
)
from toolnoise.formulas.outcomes import LEFT, OUTCOMES, SCORED, unit_scores
from toolnoise.formulas.outputs import require_losses

# A metric's name becomes an array's name in an archive: no control characters and no surrogates.
METRIC_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")
MOST_TEXT = 1 << 26  # bytes
MOST_EXACT = 2**53  # from here on, not every integer has an equal float
EPOCH = "epoch"
MOST_NAMED = 5  # files
PASSED_OVER = ("__pycache__", "site-packages", "node_modules")
MOST_HEADER = 1 << 24  # bytes
MOST_COPIED = 1 << 33  # bytes of an .npz, which may be compressed a thousandfold
# NumPy lacks BF16, which becomes float32 with the same values.
_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "BOOL": "|b1",
    **{f"{kind}{bits}": f"<{kind.lower()}{bits // 8}" for kind in "IU" for bits in (8, 16, 32, 64)},
}


class EpochTable(NamedTuple):
    """The training history, a row of texts per epoch; the first column is the epoch, 0 before training."""

    columns: list[str]
    rows: list[list[str]]


class Outcome(NamedTuple):
    """The outcome of one run: one of logits, predictions, a metric and losses; everything else is optional."""

    folder: Path
    logits: np.ndarray | None = None
    predictions: np.ndarray | None = None
    metric: dict[str, float] | None = None
    labels: np.ndarray | None = None
    weights: dict[str, np.ndarray] | None = None
    history: EpochTable | None = None
    groups: dict[str, np.ndarray] = {}  # noqa: RUF012 (nothing changes it)
    # For a program that need not follow the contract: copies of its files, and the numbers that it printed.
    files: dict[str, Path] = {}  # noqa: RUF012 (nothing changes it)
    printed: dict[str, float] = {}  # noqa: RUF012 (nothing changes it)
    losses: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """The kind of outcome, by its name in studies."""
        if self.logits is not None and self.labels is not None:
            return next((name for name in SCORED if _of_axes(name, self.logits, self.labels)), outcomes.LOGITS)
        if self.predictions is not None:
            return outcomes.VALUES if self.predictions.dtype.kind == "f" else outcomes.CLASSES
        return outcomes.METRIC if self.losses is None else outcomes.LOSSES

    @property
    def answers(self) -> np.ndarray | None:
        """Each unit's predicted class, value or loss, if known.

        Without such a result, the program's only .npy file counts; rows of several numbers are scores.
        """
        if self.losses is not None:
            return self.losses[~np.isnan(self.losses)]
        if self.logits is not None and self.labels is not None:
            return unit_scores(LEFT[self.kind].of, self.logits).argmax(axis=1)
        if self.predictions is not None:
            return self.predictions.ravel()
        values = self.logits
        paths = [path for name, path in self.files.items() if name.endswith(".npy")]
        if values is None and len(paths) == 1:
            with suppress(BadInput):
                values = read_npy(paths[0])
        if values is None or values.ndim not in (1, 2) or not values.size:
            return None
        rows = values.reshape(len(values), -1)
        return rows.argmax(axis=1) if rows.shape[1] > 1 else rows.ravel()

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays of the contract, by the names of their files, and weights and groups as `file/name`."""
        losses = next((name for name in LOSSES if (self.folder / name).is_file()), LOSSES[0])
        single = {LOGITS: self.logits, PREDICTIONS: self.predictions, losses: self.losses, LABELS: self.labels}
        arrays = {name: values for name, values in single.items() if values is not None}
        arrays |= {f"weights/{name}": values for name, values in (self.weights or {}).items()}
        return arrays | {f"{GROUPS}/{name}": values for name, values in self.groups.items()}

    @property
    def numbers(self) -> dict[str, float]:
        """All metrics, and the numbers that the program printed."""
        return {**(self.metric or {}), **self.printed}


def read_outcome(folder: str | Path) -> Outcome:
    """Read the outcome in a program's output folder."""
    folder = Path(folder)
    result = result_of(folder)
    if result is None:
        raise BadInput(folder, "", "the program left no result", f"one of {', '.join(RESULTS)}")
    values = None if result.name == METRIC else read_npy(result)
    labels = read_npy(folder / LABELS) if (folder / LABELS).is_file() else None
    of_losses = result.name in LOSSES
    if of_losses:
        require_losses(result, values)
    if labels is None and values is not None and not of_losses:
        raise BadInput(folder / LABELS, "", "no such file", f"the labels of the examples of {result.name}")
    if result.name == LOGITS:
        _require_scores(result, values, labels)
        _require(values.dtype == np.float32, result, values, "float32")
    if result.name == PREDICTIONS:
        _require(values.dtype.kind in "iuf", result, values, "integers (classes) or floats (regression)")
        allowed = "one number per example, or a row of numbers in a regression"
        _require(values.ndim == 1 or (values.ndim == 2 and values.dtype.kind == "f"), result, values, allowed)
    if values is not None and not of_losses:
        _require_finite(result, values)
        _require(values.size > 0, result, values, "at least one example")
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
        READERS[weights.suffix](weights) if weights else None,
        _history(folder / HISTORY) if (folder / HISTORY).is_file() else None,
        _groups(groups, labels) if groups.is_file() else {},
        losses=values if of_losses else None,
    )


def files_below(place: Path) -> Iterator[Path]:
    """All files below a folder, without hidden folders and folders of packages."""
    for folder, inner, names in os.walk(place):
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in PASSED_OVER)
        yield from (Path(folder, name) for name in sorted(names))


def written_since(moment: float, out: Path) -> list[str]:
    """The last files written since a moment below the current folder and the output folder, the newest first."""
    files = []
    for place, prefix in ((Path(), ""), (out, "{out}/")):
        for path in files_below(place):
            with suppress(OSError):
                if path.is_file() and (written := path.stat().st_mtime) >= moment:
                    files.append((written, prefix + path.relative_to(place).as_posix()))
    return [name for _, name in sorted(files, reverse=True)[:MOST_NAMED]]


def result_of(folder: Path) -> Path | None:
    """The file with a program's result, if it has left one."""
    return _one_of(folder, RESULTS)


def _one_of(folder: Path, names: tuple[str, ...]) -> Path | None:
    present = [name for name in names if (folder / name).is_file()]
    if len(present) > 1:
        raise BadInput(folder, "", f"found {' and '.join(present)}", f"only one of {', '.join(names)}")
    return folder / present[0] if present else None


def _of_axes(name: str, logits: np.ndarray, labels: np.ndarray) -> bool:
    """Whether logits and labels have the numbers of axes of a kind of outcome."""
    return logits.ndim in LEFT[name].axes and labels.ndim == OUTCOMES[LEFT[name].of].axes


def _require_scores(path: Path, logits: np.ndarray, labels: np.ndarray) -> None:
    """Refuse scores whose axes do not fit their labels, or that have only one class."""
    forms = {
        2: "examples x labels, or segments x tokens x classes, as its labels are",
        3: "pictures x height x width x classes, as its labels are",
    }
    one = logits.ndim > labels.ndim and logits.shape[-1] < 2
    fits = any(_of_axes(name, logits, labels) for name in SCORED) and not one
    _require(fits, path, logits, forms.get(labels.ndim, "examples x classes, two classes or more"))


def _check_labels(path: Path, labels: np.ndarray, result: Path, values: np.ndarray | None) -> None:
    """Refuse labels that do not fit the units of a result."""
    if values is None:
        _require(labels.ndim == 1 and len(labels) > 0, path, labels, "one label per example")
        _require_finite(path, labels)
        return
    classes = 0
    of_classes = result.name != PREDICTIONS or values.dtype.kind != "f"
    wanted = values.shape
    if result.name == LOGITS:
        of_many = values.ndim == labels.ndim
        wanted, classes = (wanted, 2) if of_many else (wanted[:-1], values.shape[-1])
    _require_finite(path, labels)
    if labels.ndim == len(wanted) == 1 and len(labels) != len(values):
        raise BadInput(path, "", f"found {len(labels)} labels", f"{len(values)}, the examples of {result.name}")
    allowed = "one label per example" if len(wanted) == 1 else f"shape {wanted}, as {result.name} has labels"
    _require(labels.shape == wanted, path, labels, allowed)
    if not of_classes:
        _require(labels.dtype.kind in "iuf", path, labels, "numbers")
        return
    _require(labels.dtype.kind in "iu", path, labels, "integers from 0: the classes")
    if result.name in LOSSES:
        # The padding of a segment, such as -100, is no label.
        labels = labels[~np.isnan(values)]
    allowed = f"0 to {classes - 1}, the classes of {result.name}" if classes else "0 or more"
    if labels.min() < 0 or (classes and labels.max() >= classes):
        raise BadInput(path, "", f"found labels from {labels.min()} to {labels.max()}", allowed)


def _groups(path: Path, labels: np.ndarray | None) -> dict[str, np.ndarray]:
    groups = read_npz(path)
    if labels is None:
        raise BadInput(path, "", f"groups of examples without {LABELS}", "both, or neither")
    for name, members in groups.items():
        allowed = f"a boolean for each of the {len(labels)} examples"
        _require(members.dtype == bool and members.shape == labels.shape[:1], path, members, allowed, name)
    return groups


def _metric(path: Path) -> dict[str, float]:
    with readable(path, "a JSON file"):
        values = json.loads(_text(path), parse_int=number_in_text)
    if not isinstance(values, dict) or not values:
        raise BadInput(path, "", "found no object with names", 'such as {"accuracy": 0.93}')
    for name, value in values.items():
        if not METRIC_NAME.fullmatch(name):
            raise BadInput(path, "", f"found the name {name[:60]!r}", "1 to 200 signs that can be printed")
        if type(value) not in (int, float) or not math.isfinite(value):
            raise BadInput(path, name, f"found {value!r}", "a finite number")
    return values


def number_in_text(text: str) -> float:
    """The number in a text: a float, or an integer if a float may be inexact; infinite beyond all floats."""
    value = float(text)
    try:
        return int(text) if MOST_EXACT <= abs(value) < math.inf else value
    except ValueError:
        return value


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


# Arrays in files that another program wrote: .npy, .npz and .safetensors


def read_npy(path: Path) -> np.ndarray:
    """The array of an .npy file."""
    return _numbers(path, "", arrays.read_npy(path))


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name."""
    with readable(path, "a whole .npz file"), zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > MOST_COPIED:
            raise BadInput(path, "", f"found {size} bytes of arrays", f"at most {MOST_COPIED}; or .safetensors")
        return {name: _numbers(path, name, values) for name, values in arrays.read_npz(path).items()}


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a .safetensors file by name, in the order in which they lie in the file."""
    with readable(path, "a whole .safetensors file"):
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(_exactly(file, 8), "little")
            if length > min(MOST_HEADER, size - 8):
                raise ValueError(f"a header of {length} bytes")
            header = parse_json(_exactly(file, length).decode())
        if not isinstance(header, dict):
            raise ValueError("the header is no object")
        header.pop("__metadata__", None)
        entries = sorted(((name, _entry(name, item)) for name, item in header.items()), key=lambda item: item[1][2:])
        data = np.memmap(path, np.uint8, "r", 8 + length) if size > 8 + length else np.zeros(0, np.uint8)
        tensors, at = {}, 0
        for name, (kind, shape, begin, end) in entries:
            dtype = np.dtype(_TYPES[kind])
            # Tensors lie one after the other: each byte belongs to exactly one tensor.
            if begin != at or end > len(data) or end - begin != math.prod(shape) * dtype.itemsize:
                raise ValueError(f"tensor {name} of {kind} {shape} lies at bytes {begin} to {end}")
            # A copy is aligned; a slice of the file need not be.
            values = np.frombuffer(data[begin:end].tobytes(), dtype).reshape(shape)
            tensors[name] = (values.astype("<u4") << 16).view("<f4") if kind == "BF16" else values
            at = end
        if at != len(data):
            raise ValueError(f"{len(data) - at} bytes belong to no tensor")
        return tensors


READERS: Mapping[str, Any] = {".npy": read_npy, ".npz": read_npz, ".safetensors": read_safetensors}


def _numbers(path: Path, name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "biuf":
        raise BadInput(path, name, f"found {values.dtype}", "booleans, integers or floats")
    return values


def _entry(name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """A tensor's type, its shape, and the bytes at which it begins and ends."""
    if not isinstance(entry, dict):
        raise ValueError(f"tensor {name} is no object")
    kind, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not (isinstance(shape, list) and isinstance(place, list)):
        raise ValueError(f"tensor {name} has no lists of numbers")
    if kind not in _TYPES:
        raise ValueError(f"tensor {name} is of type {kind!r}, expected one of {', '.join(_TYPES)}")
    numbers = [*shape, *place]
    if len(place) != 2 or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"tensor {name} has the shape {shape} at {place}")
    return kind, tuple(shape), *place


def _exactly(file: IO[bytes], count: int) -> bytes:
    """Read exactly `count` bytes of a file; callers bound the count, since Python allocates that much memory."""
    content = file.read(count)
    if len(content) != count:
        raise EOFError(f"{count} bytes expected, {len(content)} found")
    return content
