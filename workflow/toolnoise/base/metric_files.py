"""Metric files: the contract between measuring and everything that is drawn from the measures.

A file is CSV below one comment with the version. Numbers are the shortest text that reads back as the same
float, an undefined number is an empty field, and the same rows give the same bytes. A file is read whole
and as promised, or refused in one line.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from toolnoise.base import files
from toolnoise.base.errors import BadInput

VERSION = "# toolnoise metrics 1"
NUMBERS = ("value", "ci_low", "ci_high")
COUNTS = ("n_runs", "n_missing", "count")
_MEASURE = ("metric", "group", *NUMBERS, "n_runs", "n_missing")
STABILITY = ("model", "dataset", "hardware", "variant", *_MEASURE)
DATA = ("dataset", "split", "group", "label", "count")
CROSS_TOOLING = ("model", "dataset", "hardware", "other_hardware", "variant", *_MEASURE)
# Of runs of two frameworks or, in what inference alone changes, of what is trained on `hardware` and predicted on
# `other_hardware`; of so many test examples, with an interval over `runs` or over `examples`.
FRAMEWORKS = ("model", "dataset", "hardware", "other_hardware", "variant", "examples", "interval", *_MEASURE)
# Of such runs in a tensor, or in what their histories tell: after an epoch, or within so many.
PARTINGS = ("model", "dataset", "hardware", "other_hardware", "variant", "what", "epoch", *_MEASURE)
# Of so many examples, which have to do with how large CKA is.
LAYERS = ("model", "dataset", "hardware", "variant", "examples", "layer", *_MEASURE)
# What a step takes: of one run, kernel by kernel; of a mode, its longest kernels; of a network on a tooling.
PROFILE = ("kernel", "calls", "total_us", "share")
CONDITIONS = ("batch_size", "image_size", "steps")
_NETWORK = ("model", "hardware", "accelerator", *CONDITIONS)
KERNELS = (*_NETWORK, "mode", "rank", "kernel", "calls_per_step", *NUMBERS, "n_runs", "n_missing")
OVERHEAD = (*_NETWORK, "metric", *NUMBERS, "n_runs", "n_missing")
# Ensembles of so many members each; n_runs is how many ensembles there are.
ENSEMBLES = ("model", "dataset", "hardware", "variant", "members", *_MEASURE)


# Of a remedy for noise, or of `single` runs, which have none.
REMEDIES = ("model", "dataset", "hardware", "variant", "remedy", *_MEASURE)


def _spread(name: str, epoch: str = "") -> tuple[str, ...]:
    extremes = (f"max_{name}{epoch}", f"min_{name}{epoch}")
    return (f"max_{name}_diff{epoch}", *extremes, f"std_dev_{name}{epoch}", f"mean_{name}{epoch}")


# Of identical runs: first the columns of the table published with Pham et al. (2020), in their order, then ours.
_WIDEST = ("max_per_label_acc_diff", "max_label_accuracy", "min_label_accuracy")
_TIMES = (*_spread("convergent"), *_spread("convergent", "_epoch"), *_spread("training"), "training_relative_diff")
_EXPERIMENT = ("backend", "backend_version", "cuda_version", "cudnn_version", "network", "random_seed")
IDENTICAL = (
    *_EXPERIMENT,
    *("stopping_type", "no_try"),
    *_spread("accuracy"),
    *("max_diff_label", *_WIDEST, "no_samples_max_diff"),
    *("max_std_label", "max_per_label_acc_std", "no_samples_max_std"),
    *_TIMES,
    *("weak_rule", "n_weak", "n_converged", "n_missing"),
    *("dataset", "hardware", "variant"),
)
_FLOATS = {*NUMBERS, "total_us", "share", "calls_per_step"}
_FLOATS |= {*_spread("accuracy"), *_WIDEST, "max_per_label_acc_std", *_TIMES}
_INTEGERS = {*COUNTS, *CONDITIONS, "calls", "examples", "members", "epoch"}
_INTEGERS |= {"no_try", "no_samples_max_diff", "no_samples_max_std", "n_weak", "n_converged"}

_NUMBER = re.compile(r"-?(\d+(\.\d+)?(e[-+]?\d+)?|inf)", re.ASCII)
_COUNT = re.compile(r"\d+", re.ASCII)

Cell = str | int | float


def write(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Write rows in the order of `columns`, such as `(*cell, metric, group, *estimate, runs, missing)`."""
    text = io.StringIO()
    print(VERSION, file=text)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_text(column, cell) for column, cell in zip(columns, row, strict=True)])
    files.write_text(path, text.getvalue())


def read(paths: str | Path | Sequence[str | Path], columns: Sequence[str]) -> pd.DataFrame:
    """Read a metric file, or several as one: text as text (groups too), numbers as floats, counts as integers."""
    paths = [paths] if isinstance(paths, (str, Path)) else paths
    return pd.DataFrame([row for path in paths for row in _rows(path, columns)], columns=list(columns))


def concatenate(paths: Iterable[str | Path], columns: Sequence[str], out: str | Path) -> None:
    """Write the rows of several files, in the order given, as one; each is checked as in `read`."""
    write(out, columns, [row for path in paths for row in _rows(path, columns)])


def part_of(group: str) -> str:
    """What a row is of, by its group: `all` examples, a `class`, whose index it is, or a `group`, whose name it is."""
    if group == "all":
        return "all"
    return "class" if group.isascii() and group.isdigit() else "group"


def _text(column: str, cell: Cell) -> str:
    if column in _FLOATS:
        return "" if np.isnan(cell) else repr(float(cell))
    return str(cell)


def _rows(path: str | Path, columns: Sequence[str]) -> list[list[Cell]]:
    version, _, body = _whole(path).partition("\n")
    if version != VERSION:
        raise BadInput(path, "line 1", f"found {version[:60]!r}", f"expected {VERSION!r}")
    reader = csv.reader(io.StringIO(body), strict=True)
    rows = []
    try:
        _check_header(path, next(reader, []), columns)
        for fields in reader:
            where = f"line {reader.line_num + 1}"
            if len(fields) != len(columns):
                raise BadInput(path, where, f"{len(fields)} fields", f"expected {len(columns)}")
            pairs = zip(columns, fields, strict=True)
            rows.append([_cell(path, f"{where}, {column}", column, text) for column, text in pairs])
    except csv.Error as error:
        raise BadInput(path, f"line {reader.line_num + 1}", f"damaged ({error})", "expected CSV") from None
    if not rows:
        raise BadInput(path, "", "no rows", "expected at least one below the column names")
    return rows


def _whole(path: str | Path) -> str:
    try:
        return Path(path).read_bytes().decode()
    except FileNotFoundError:
        raise BadInput(path, "", "no such file", "expected a metric file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(path, "", f"unreadable ({error})", "expected a metric file") from None


def _check_header(path: str | Path, found: Sequence[str], columns: Sequence[str]) -> None:
    allowed = f"the columns are {', '.join(columns)}"
    for column in columns:
        if column not in found:
            raise BadInput(path, column, "column missing", allowed)
    for column in found:
        if column not in columns:
            raise BadInput(path, column, "unexpected column", allowed)
    if tuple(found) != tuple(columns):
        raise BadInput(path, "columns", f"found {', '.join(found)}", allowed)


def _cell(path: str | Path, where: str, column: str, text: str) -> Cell:
    if column in _FLOATS:
        if text == "":
            return np.nan
        if not _NUMBER.fullmatch(text):
            raise BadInput(path, where, f"found {text!r}", "expected a number, or nothing where undefined")
        return float(text)
    if column in _INTEGERS:
        if not _COUNT.fullmatch(text):
            raise BadInput(path, where, f"found {text!r}", "expected a count: 0, 1, ...")
        return int(text)
    return text
