"""The differences between two studies' results, file by file and cell by cell, and between the origins of the results.

The time and machine of a job are reported, but do not count as differences of results: records hold seconds and the
observed machine, histories a column of seconds. All other files are compared as bytes. The report is JSON-like values,
or text.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.arrays import arrays_that_differ, first_element, read_npy, read_npz
from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_json, read_text, readable
from toolnoise.base.printing import align_columns, make_printable
from toolnoise.base.progress import progress
from toolnoise.provenance import statements, tree
from toolnoise.provenance.statements import CODE, COMMIT, INPUT, LOCK, PACKAGE, RESOURCE, SOURCE, Statement
from toolnoise.provenance.tree import Tree

PARTS = ("spec", "code", "environment", "data", "lock")
# Reported for two jobs only: for many jobs, the places where they ran would drown the rest.
WHERE = ("host", "slurm")

Differences = dict[str, list[dict[str, Any]] | None]
# Compares the cells of two studies, given the folder and the files of each, and the files that are equal.
StudyFiles = tuple[Path, Iterable[str]]
CompareCells = Callable[[StudyFiles, StudyFiles, set[str]], list[dict[str, Any]]]


def made_from(*runs: tuple[Path, dict[str, Any]]) -> Differences:
    """The differences between the origins of two runs, by part; a run is given as its folder and record.

    A part is None if it is unknown for one of them: a record has fewer parts than a statement.
    """
    known = []
    for folder, record in runs:
        root = tree.study_of(folder) or folder
        stated = root / statements.FOLDER / folder.relative_to(root) / f"weights.npz{statements.SUFFIX}"
        of_record = {"spec": record["spec"], "environment": record.get("observed") or {}}
        known.append(
            _origins(statements.read_statement(stated)) if stated.exists() else dict.fromkeys(PARTS) | of_record
        )
    return _differences(*known)


def merge_differences(pairs: Iterable[Differences]) -> Differences:
    """Merge the differences of many pairs: each is listed once, and the places where the jobs ran are omitted."""
    parts: dict[str, dict[str, Any] | None] = dict.fromkeys(PARTS)
    for differing in pairs:
        for part, rows in differing.items():
            if rows is not None:
                told = [row for row in rows if row["key"].partition(".")[0] not in WHERE]
                parts[part] = (parts[part] or {}) | {json.dumps(row, sort_keys=True): row for row in told}
    return {part: None if rows is None else list(rows.values()) for part, rows in parts.items()}


def compare_results(folder_a: Path, folder_b: Path, compare_cells: CompareCells) -> dict[str, Any]:
    """The differences between the results in two folders, whose studies are paired by name."""
    in_a, in_b = (
        {study.root.name: study for study in tree.load_results(folder).trees} for folder in (folder_a, folder_b)
    )
    for folder, trees in ((folder_a, in_a), (folder_b, in_b)):
        if not any(study.files for study in trees.values()):
            raise BadInput(folder, "", "contains no results", "a study's results, or a folder of them")
    if len(in_a) == len(in_b) == 1:
        # The study may have been renamed.
        in_b = dict(zip(in_a, in_b.values(), strict=True))
    shared = [name for name in in_a if name in in_b]
    if not shared:
        raise BadInput(folder_b, "", f"has no study in common with {folder_a}", "results of at least one study in both")
    studies = [_compare_studies(in_a[name], in_b[name], compare_cells) for name in shared]
    only = {side: sorted(trees.keys() - set(shared)) for side, trees in (("only_a", in_a), ("only_b", in_b))}
    return {"equal": all(study["equal"] for study in studies) and not any(only.values()), "studies": studies, **only}


def _compare_studies(study_a: Tree, study_b: Tree, compare_cells: CompareCells) -> dict[str, Any]:
    timed, in_a, in_b = _timed(study_a) | _timed(study_b), study_a.artifacts, study_b.artifacts
    names = sorted(in_a.keys() & in_b.keys() - timed)
    found = {}
    with progress("comparing files", len(names), "files") as bar:
        for name in names:
            found[name] = compare_files(study_a.root / name, study_b.root / name)
            bar.update()
    same = {name for name, first in found.items() if first in ("", TIMES)}
    apart = {
        "differ": [{"path": name, "first": first} for name, first in found.items() if name not in same],
        "only_a": sorted(in_a.keys() - in_b.keys()),
        "only_b": sorted(in_b.keys() - in_a.keys()),
        "no_plain_files": sorted({*study_a.strange, *study_b.strange}),
    }
    return {
        "name": study_a.name,
        "equal": not any(apart.values()),
        "made_from": _made_from(study_a, study_b),
        "bit_equal": len(same),
        "but_for_times": sum(first == TIMES for first in found.values()),
        "not_compared": sorted(in_a.keys() & in_b.keys() & timed),
        **apart,
        "cells": compare_cells((study_a.root, study_a.files), (study_b.root, study_b.files), same),
    }


def _timed(study: Tree) -> set[str | None]:
    """The files with times in them, and everything made from them.

    The parts of a page have times. The page only links to its parts, so it has none.
    """
    timed: set[str | None] = set()
    before = -1
    while len(timed) > before:
        before = len(timed)
        for statement in study.statements:
            read = timed & {study.inside(needed.name) for needed in statement.inputs}
            follows = any(path and not path.startswith("page/") for path in read)
            timed |= {study.inside(made.name) for made in statement.outputs if made.timed or follows}
    return timed


def _made_from(study_a: Tree, study_b: Tree) -> Differences:
    """The differences in origin between two studies: between their study files, and job by job."""
    pairs = [
        (made[0], study_b.producers[path][0]) for path, made in study_a.producers.items() if path in study_b.producers
    ]
    parts = merge_differences(_differences(*(_origins(made, SOURCE, PACKAGE) for made in pair)) for pair in pairs)
    paths = [study.root / tree.STUDY_FILE for study in (study_a, study_b)]
    if all(path.is_file() for path in paths):
        parts["spec"] = _rows(*map(read_json, paths))
    return parts


def _origins(statement: Statement, *data: str) -> dict[str, Any]:
    """The origins of a job by part, each a nested object; `data` are the kinds of dependency in its data, or all."""
    parameters = statement.parameters

    def digests(*kinds: str) -> dict[str, Any]:
        # Inputs are identified by their roles, because their names contain the study's name.
        by_name: dict[str, list[str]] = {}
        for one in statement.made_of(*kinds):
            by_name.setdefault(one.role if one.kind == INPUT else one.name, []).append(one.sha256)
        return {name: found[0] if len(found) == 1 else found for name, found in by_name.items()}

    return {
        "spec": parameters.get("spec", {key: value for key, value in parameters.items() if key != "keys"}),
        "code": {"commit": digests(COMMIT) | {"changes": statement.changes}, "files": digests(CODE, RESOURCE)},
        "environment": {**statement.observed, "programs": statement.versions},
        "data": digests(*(data or (SOURCE, PACKAGE, INPUT))),
        "lock": digests(LOCK),
    }


def _differences(one: dict[str, Any], other: dict[str, Any]) -> Differences:
    return {part: None if None in (one[part], other[part]) else _rows(one[part], other[part]) for part in PARTS}


def _rows(value_a: Any, value_b: Any) -> list[dict[str, Any]]:
    return [change._asdict() for change in changes_of_values(value_a, value_b)]


# Two files, and two values
# -------------------------

# Keys of records and indexes: the duration, the machine, and the epoch at which an interrupted run resumed.
OCCASION = ("seconds", "observed", "resumed_after")
BLOCK = 1 << 20
TEXT = (".csv", ".html", ".ipynb", ".md", ".svg", ".tex")
LONGEST = 80
TIMES = "in times and machine alone"
NULL_OR_MISSING = "null in one of them, missing in the other"


class Change(NamedTuple):
    """A value that differs between two nested objects, by its dotted key; None if one has no such key.

    Both are None if the key is null in one object and missing in the other.
    """

    key: str
    a: Any
    b: Any

    def told(self, between: str) -> str:
        """The two values on one line, shortened."""
        return (
            NULL_OR_MISSING
            if self.a is None and self.b is None
            else f"{shorten_value(self.a)}{between}{shorten_value(self.b)}"
        )


def compare_files(path_a: Path, path_b: Path) -> str:
    """Where two files first differ: empty if they are equal, `TIMES` if they differ only in times and machine."""
    try:
        place = _first_byte(path_a, path_b)
    except BadInput as error:
        return str(error)
    if place is None:
        return ""
    # For a damaged file, the first byte that differs is reported.
    with suppress(BadInput, RecursionError):
        if path_a.name == "history.csv" or path_a.suffix == ".json":
            change = next(changes_of_values(_without_occasion(path_a), _without_occasion(path_b)), None)
            return f"in {change.key}: {change.told(' and ')}" if change else TIMES
        if path_a.suffix == ".npz":
            apart = arrays_that_differ(read_npz(path_a), read_npz(path_b))
            return next((f"in {name}, {where}" for name, where in apart), "in the packing of the arrays")
        if path_a.suffix == ".npy":
            return first_element(read_npy(path_a), read_npy(path_b))
        if path_a.suffix in TEXT:
            with readable(path_a, "text"):
                pairs = zip_longest(*(read_text(path).split("\n") for path in (path_a, path_b)))
            return next(f"in line {number}" for number, (a, b) in enumerate(pairs, 1) if a != b)
    return f"at byte {place}"


def changes_of_values(value_a: Any, value_b: Any, key: str = "") -> Iterator[Change]:
    """The differences in type or bits between two JSON-like values, in the order of the first one's keys."""
    if isinstance(value_a, dict) and isinstance(value_b, dict):
        for name in dict.fromkeys((*value_a, *value_b)):
            inside = f"{key}.{name}" if key else str(name)
            if name in value_a and name in value_b:
                yield from changes_of_values(value_a[name], value_b[name], inside)
            else:
                yield Change(inside, value_a.get(name), value_b.get(name))
    # Python's == ignores the sign of zeros and, inside lists, the types of numbers.
    elif json.dumps(value_a, sort_keys=True) != json.dumps(value_b, sort_keys=True):
        yield Change(key, value_a, value_b)


def shorten_value(value: Any) -> str:
    """A value on one line, shortened."""
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _without_occasion(path: Path) -> Any:
    """The values of a JSON file, or the rows of a history by their lines."""
    if path.suffix == ".json":
        value = read_json(path)
        return {key: part for key, part in value.items() if key not in OCCASION} if isinstance(value, dict) else value
    with readable(path, "a table"):
        table = csv.DictReader(io.StringIO(read_text(path)))
        if len(columns := table.fieldnames or ()) > len(set(columns)):
            raise ValueError("a column is repeated")
        rows = [{column: value for column, value in row.items() if column != "seconds"} for row in table]
    return {f"line {line}": row for line, row in enumerate(rows, 2)}


def _first_byte(path_a: Path, path_b: Path) -> int | None:
    """The first byte that differs; None if none does."""
    place = 0
    with readable(path_a, "a file"), path_a.open("rb") as in_a, readable(path_b, "a file"), path_b.open("rb") as in_b:
        while (a := in_a.read(BLOCK)) == (b := in_b.read(BLOCK)):
            if not a:
                return None
            place += len(a)
    pairs = enumerate(zip(a, b, strict=False))
    return place + next((index for index, (x, y) in pairs if x != y), min(len(a), len(b)))


# As text, with the names that --json uses

# Items listed of a long list, and rows of a long table.
LISTED, LONGEST_TABLE = 10, 20
# Enough digits to distinguish two digests by eye.
DIGITS = 12
# Values that are reported as a pair, A's and B's.
PAIRS = ("emulated_noise", "moved_bit", "epochs", "status", "test_accuracy", "test_loss", "train_loss", "accuracy")
LABELS = {
    "initial_equal": "initial weights equal",
    "only_a": "only in A",
    "only_b": "only in B",
    "but_for_times": "equal except times",
}


def as_text(compared: Mapping[str, Any]) -> str:
    """The differences between A and B, as text."""
    lines = [f"A  {make_printable(compared['a'])}", f"B  {make_printable(compared['b'])}", ""]
    shown = {"run": _of_run, "cell": _of_cell, "results": _of_study}[compared["kind"]]
    for part in compared.get("studies", [compared]):
        lines += [f"study {make_printable(part['name'])}"] if "name" in part else []
        lines += [*_origins_as_text(part["made_from"]), "", *_lines(shown(part)), ""]
    if compared["kind"] == "results":
        lines += _lines({f"only_{side}": compared[f"only_{side}"] for side in "ab"})
        equal = "every file except times"
    else:
        missing = _not_compared(compared.get("runs", [compared]))
        equal = "weights and other arrays, history except times" + (f" ({missing})" if missing else ", predictions")
    lines += ["", f"bit-equal: {equal}" if compared["equal"] else "they differ"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _not_compared(runs: Sequence[Mapping[str, Any]]) -> str:
    """The number of runs whose predictions were not compared, with the reasons; empty if all were compared."""
    why = [run["predictions"]["not_compared"] for run in runs if "not_compared" in run["predictions"]]
    of_runs = f" for {len(why)} of {len(runs)} shared runs" if len(runs) > 1 else ""
    return f"dumps of predictions were not compared{of_runs}: {'; '.join(dict.fromkeys(why))}" if why else ""


def _origins_as_text(parts: Mapping[str, Any]) -> Iterator[str]:
    for part, rows in parts.items():
        told = [f"{make_printable(row['key'])}: {_change(row['a'], row['b'])}" for row in rows or ()]
        told = told or ["the same" if rows is not None else "not known for both: a statement is missing"]
        yield from (f"{'' if number else part:<12} {line}" for number, line in enumerate(told))


def _change(old: Any, new: Any) -> str:
    if old is None and new is None:
        return NULL_OR_MISSING
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(item, str) for item in (*old, *new)):
        signs = [f"-{item}" for item in old if item not in new] + [f"+{item}" for item in new if item not in old]
        if signs:
            return make_printable(" ".join(signs))
    texts = map(shorten_value, (old, new))
    return make_printable(
        " -> ".join(text[:DIGITS] if re.fullmatch(r"[0-9a-f]{40,64}", text) else text for text in texts)
    )


def _of_run(compared: Mapping[str, Any]) -> dict[str, Any]:
    tensors = [row for row in compared["parting"]["tensors"] if row["l2"] != 0]
    arrays, predictions = compared["other_arrays"]["differ"], compared["predictions"]
    return {**compared["parting"], "tensors": tensors, "other_arrays": arrays, "predictions": predictions}


def _of_cell(compared: Mapping[str, Any]) -> dict[str, Any]:
    rows = []
    for run in compared["runs"]:
        parted, predictions = run["parting"], run["predictions"]
        row = {"seed": run["seeds"][0], "equal": run["equal"], "first_epoch": parted["weights_differ_from_epoch"]}
        row |= {name: predictions[name] for name in ("churn", "mean_absolute_difference") if name in predictions}
        rows.append(row | {"l2_unit": parted["l2_unit"], "test_accuracy": _pair(*parted["test_accuracy"])})
    arrays = dict.fromkeys(row["array"] for run in compared["runs"] for row in run["other_arrays"]["differ"])
    means = [{"mean_of": name, **about} for name, about in compared["summary"]["metrics"].items() if about["n_runs"]]
    facts = {**compared["seeds"], "other_arrays_that_differ": [*arrays], **compared["summary"]}
    return facts | {"metrics": means, "by_seed": rows, "not_compared": _not_compared(compared["runs"]) or None}


def _of_study(compared: Mapping[str, Any]) -> dict[str, Any]:
    rows = []
    for cell in compared["cells"]:
        summary = dict(cell.get("summary", {}))
        means = {name: about["value"] for name, about in summary.pop("metrics", {}).items() if about["n_runs"]}
        equal = f"only in {cell['only'].upper()}" if "only" in cell else cell["equal"]
        rows.append({"cell": cell["cell"], "equal": equal, **summary, **means})
    damaged = [f"{cell['cell']}: {cell['damaged']}" for cell in compared["cells"] if "damaged" in cell]
    facts = {name: value for name, value in compared.items() if name not in ("name", "made_from")}
    return facts | {"cannot_be_compared": damaged, "cells": rows}


def _lines(values: Mapping[str, Any]) -> list[str]:
    """A line for each value that is not absent or empty, then the tables and the nested mappings."""
    facts, parts = [], []
    for name, value in values.items():
        if isinstance(value, Mapping):
            parts += ["", _label(name), *_lines(value)]
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            more = [f"... and {len(value) - LONGEST_TABLE} more"] if len(value) > LONGEST_TABLE else []
            parts += ["", *_table(value[:LONGEST_TABLE]), *more]
        elif name in PAIRS and value != [None, None]:
            facts.append(f"{_label(name):<26} {_pair(*value)}")
        elif name not in PAIRS and value is not None and value != []:
            facts.append(f"{_label(name):<26} {_text(value)}")
    return facts + parts


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows as aligned columns, by the names in all of them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_text(row[name]) if name in row else "" for name in names] for row in rows]
    return align_columns([[_label(name) for name in names], *cells])


def _label(name: str) -> str:
    return LABELS.get(name, name.replace("_", " "))


def _pair(a: Any, b: Any) -> str:
    change = f" ({b - a:+.4g})" if isinstance(a, float) and isinstance(b, float) else ""
    return _text(a) if a == b else f"{_text(a)} -> {_text(b)}{change}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        more = ", ..." if len(value) > LISTED else ""
        return make_printable(f"{len(value)}: {', '.join(map(str, value[:LISTED]))}{more}")
    return make_printable(shorten_value(value))
