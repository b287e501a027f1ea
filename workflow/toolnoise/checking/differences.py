"""The differences between the outcomes of two runs of a program, bit for bit, and in words.

Nothing is unpickled. Archives, such as PyTorch checkpoints, are compared by the bytes of their members, and gzip files
by their content, so the times in them do not count. The time and the object addresses that Keras writes into a model do
not count either.
"""

import gzip
import itertools
import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from toolnoise.base.arrays import bit_equal
from toolnoise.base.errors import BadInput
from toolnoise.base.files import DAMAGED, LARGEST_TEXT
from toolnoise.base.times import is_time
from toolnoise.checking.outcome import EPOCH, EpochTable, Outcome, read_npy
from toolnoise.formulas.outcome_files import GROUPS, HISTORY, METRIC

CHUNK = 1 << 20
TEXTS = (".csv", ".tsv", ".txt", ".json", ".jsonl")
GZIP = b"\x1f\x8b"
# Patterns of values that differ between any two runs, by member of a .keras file; ids only mark shared objects.
KERAS = {"metadata.json": rb'"date_saved": "[^"]*"', "config.json": rb'"shared_object_id": \d+'}


class Difference(NamedTuple):
    """The files and printed numbers that differ, by name, and how; None for values that cannot be compared.

    `changed` of `examples` predictions differ. `largest` is the largest difference of a logit, value or loss. `tensors`
    are the weights that differ, out of `n_tensors`. `times` are metrics that look like times: they make no file differ.
    `epoch` and `column` are the first that differ in the histories, or None. `outputs` describes how other files of the
    program differ.
    """

    files: list[str]
    changed: int | None
    examples: int | None
    largest: float | None
    metrics: dict[str, tuple[float | None, float | None]]
    times: dict[str, tuple[float | None, float | None]]
    tensors: list[str]
    n_tensors: int
    epoch: int | None
    column: str | None
    outputs: dict[str, str] = {}  # noqa: RUF012 (nothing changes it)


def find_differences(outcome: Outcome, other: Outcome) -> Difference:
    """The differences between two outcomes; `files` is empty if nothing but times differs."""
    unequal_arrays = names_of_unequal(outcome.arrays, other.arrays)
    tensors = [name.removeprefix("weights/") for name in unequal_arrays if name.startswith("weights/")]
    printed = _metrics(outcome.printed, other.printed)
    changed = _metrics(outcome.metric or {}, other.metric or {}) | printed
    metrics = {name: pair for name, pair in changed.items() if not is_time(name)}
    epoch, column = _first(outcome.history, other.history)
    files = [name for name in unequal_arrays if "/" not in name]
    files += [METRIC] if metrics.keys() - printed.keys() else []
    files += [name for name in metrics if name in printed]
    files += ["weights"] if tensors or (outcome.weights is None) != (other.weights is None) else []
    files += [HISTORY] if column else []
    files += [GROUPS] if any(name.startswith(f"{GROUPS}/") for name in unequal_arrays) else []
    found = {name: change_of_file(name, file, other.files[name]) for name, file in outcome.files.items()}
    outputs = {name: said for name, said in found.items() if said}
    files += outputs
    answers = outcome.answers, other.answers
    comparable = answers[0] is not None and answers[1] is not None and len(answers[0]) == len(answers[1])
    return Difference(
        files,
        int(np.count_nonzero(where_unequal(*answers))) if comparable else None,
        len(answers[0]) if comparable else None,
        _largest(outcome, other),
        metrics,
        {name: pair for name, pair in changed.items() if name not in metrics},
        tensors,
        len({**(outcome.weights or {}), **(other.weights or {})}),
        epoch,
        column,
        outputs,
    )


def where_unequal(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """A mask of where two arrays of numbers differ; NaNs count as equal."""
    return (values != others) & ~(np.isnan(values) & np.isnan(others))


def names_of_unequal(arrays: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray]) -> list[str]:
    """The names of all arrays that are not equal bit for bit, or that only one side has."""
    both = arrays.keys() & others.keys()
    return [name for name in {**arrays, **others} if name not in both or not bit_equal(arrays[name], others[name])]


def names_of_times(outcome: Outcome) -> list[str]:
    """The columns and metrics that are not compared, since they look like times."""
    columns = outcome.history.columns if outcome.history else []
    tables = ((HISTORY, columns), (METRIC, outcome.metric or {}), ("the output", outcome.printed))
    return [f"{name} of {file}" for file, names in tables for name in names if is_time(name)]


def _metrics(values: Mapping[str, float], others: Mapping[str, float]) -> dict[str, tuple[float | None, float | None]]:
    pairs = {name: (values.get(name), others.get(name)) for name in {**values, **others}}
    # By repr, since 0.0 and -0.0 differ, and NaNs are equal.
    return {name: pair for name, pair in pairs.items() if repr(pair[0]) != repr(pair[1])}


def _largest(outcome: Outcome, other: Outcome) -> float | None:
    # The answers are the losses without padding, which is NaN.
    losses = [None if each.losses is None else each.answers for each in (outcome, other)]
    for a, b in ((outcome.logits, other.logits), (outcome.predictions, other.predictions), losses):
        if a is not None and b is not None and a.shape == b.shape and a.dtype.kind == "f":
            return float(np.abs(a.astype(np.float64) - b).max())
    return None


def _first(history: EpochTable | None, other: EpochTable | None) -> tuple[int | None, str | None]:
    """The first epoch and the first column in it that differ."""
    if history is None or other is None:
        return None, None if history is other else EPOCH
    if history.columns != other.columns:
        names = (*history.columns, *other.columns)
        of_one = (name for name in names if (name in history.columns) != (name in other.columns))
        return None, next(of_one, history.columns[0])
    for a, b in itertools.zip_longest(history.rows, other.rows):
        if a is None or b is None:
            return int((a or b)[0]), EPOCH
        for column, value, others in zip(history.columns, a, b, strict=True):
            if value != others and not is_time(column):
                return int(a[0]), column
    return None, None


def change_of_file(name: str, file: Path, other: Path) -> str:
    """How two versions of a file differ, in words; empty if they are equal."""
    with file.open("rb") as a, other.open("rb") as b:
        heads = [each.peek(len(GZIP))[: len(GZIP)] for each in (a, b)]
        place = _first_byte(a, b)
    if place is None:
        return ""
    suffix = Path(name).suffix
    # Files that cannot be read, or that have no array of numbers, are compared as bytes.
    with suppress(BadInput, OSError, *DAMAGED):
        if zipfile.is_zipfile(file) and zipfile.is_zipfile(other):
            return _parts(file, other, KERAS if suffix == ".keras" else {})
        if heads == [GZIP, GZIP]:
            with gzip.open(file) as a, gzip.open(other) as b:
                inside = _first_byte(a, b)
            return "" if inside is None else f"from byte {inside} of its unpacked content on"
        if suffix == ".npy":
            return _rows(read_npy(file), read_npy(other))
    if suffix in TEXTS:
        return _lines(file, other)
    return f"from byte {place} on"


def _first_byte(a: IO[bytes], b: IO[bytes]) -> int | None:
    for start in itertools.count(0, CHUNK):
        parts = a.read(CHUNK), b.read(CHUNK)
        if parts[0] != parts[1]:
            differs = (at for at, pair in enumerate(zip(*parts, strict=False)) if pair[0] != pair[1])
            return start + next(differs, min(map(len, parts)))
        if not parts[0]:
            return None
    return None


def _parts(file: Path, other: Path, varying: Mapping[str, bytes]) -> str:
    """How the members of two archives differ, in words; times and matches of the patterns in `varying` do not count."""
    with zipfile.ZipFile(file) as a, zipfile.ZipFile(other) as b:
        both = set(a.namelist()) & set(b.namelist())
        names = list(dict.fromkeys([*a.namelist(), *b.namelist()]))
        differ = [name for name in names if name not in both or not _equal_members(a, b, name, varying.get(name))]
    return f"{len(differ)} of {len(names)} parts, the first is {differ[0]}" if differ else ""


def _equal_members(a: zipfile.ZipFile, b: zipfile.ZipFile, name: str, varying: bytes | None) -> bool:
    if varying and max(each.getinfo(name).file_size for each in (a, b)) <= LARGEST_TEXT:
        return _numbered(a.read(name), varying) == _numbered(b.read(name), varying)
    with a.open(name) as one, b.open(name) as other:
        return _first_byte(one, other) is None


def _numbered(content: bytes, varying: bytes) -> bytes:
    """Replace each distinct match in a content by a number of its own."""
    numbers: dict[bytes, int] = {}
    return re.sub(varying, lambda match: b"%d" % numbers.setdefault(match[0], len(numbers)), content)


def _lines(file: Path, other: Path) -> str:
    texts = [each.read_text(errors="replace").splitlines() for each in (file, other)]
    differ = [number for number, (a, b) in enumerate(itertools.zip_longest(*texts), 1) if a != b]
    return f"{len(differ)} of {max(map(len, texts))} lines, the first is line {differ[0]}" if differ else "line ends"


def _rows(array: np.ndarray, other: np.ndarray) -> str:
    if (array.dtype, array.shape) != (other.dtype, other.shape) or not array.ndim:
        return f"{array.dtype} of shape {array.shape}, and {other.dtype} of shape {other.shape}"
    differ = where_unequal(array, other).reshape(len(array), -1).any(axis=1)
    return f"{int(differ.sum())} of {len(array)} rows" if differ.any() else "bits of equal numbers"


def parts_text(changed: Difference) -> list[str]:
    """The differences between two runs, as lines of text."""
    lines = []
    # The rows of an .npy file from --output may be weights instead of predictions.
    if changed.examples and not any(name.endswith(".npy") for name in changed.outputs):
        lines.append(f"predictions: {share_of_predictions(changed)}")
    if changed.largest is not None:
        lines.append(f"largest difference of a logit or value: {number_text(changed.largest)}")
    lines += [f"{name}: {both_numbers(*pair)}" for name, pair in changed.metrics.items()]
    if changed.tensors:
        lines.append(
            f"weights: {len(changed.tensors)} of {changed.n_tensors} tensors, the first is {changed.tensors[0]}"
        )
    lines += [f"{name}: {change}" for name, change in changed.outputs.items()]
    if changed.column:
        where = "the columns" if changed.epoch is None else f"epoch {changed.epoch}"
        lines.append(f"history: first in {where}, column {changed.column}")
    return lines


def share_of_predictions(changed: Difference) -> str:
    """The number and the percentage of predictions that differ, as text."""
    if not changed.examples:
        return ""
    return f"{changed.changed} of {changed.examples} ({100 * changed.changed / changed.examples:.3g} %)"


def of_noise(changed: Difference, noise: int | None) -> str:
    """The number of answers that differ, divided by the number that a new seed changes, as text."""
    if not changed.files:
        return ""
    if not noise or changed.changed is None:
        return "unknown"
    return f"{changed.changed / noise:.2g}"


def both_numbers(value: float | None, other: float | None) -> str:
    """Two numbers that differ, as text: with three digits, or with all digits if these are equal."""
    short = tuple("missing" if each is None else number_text(each) for each in (value, other))
    return " and ".join(short if short[0] != short[1] else (repr(value), repr(other)))


def number_text(value: float | None) -> str:
    """A number with three digits; empty for None."""
    return "" if value is None else f"{value:.3g}"
