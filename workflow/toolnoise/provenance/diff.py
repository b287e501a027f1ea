"""The differences between two studies' results, file by file and cell by cell, and between what results came from.

The time and place at which something was made are reported, but do not count as a difference of results.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.progress import progress
from toolnoise.provenance import differences, statements, tree
from toolnoise.provenance.statements import CODE, COMMIT, INPUT, LOCK, PACKAGE, RESOURCE, SOURCE, Artifact, Statement
from toolnoise.provenance.tree import Tree

PARTS = ("spec", "code", "environment", "data", "lock")
# Reported for two jobs only: for many jobs, the places where they ran would drown the rest.
WHERE = ("host", "slurm")

Differences = dict[str, list[dict[str, Any]] | None]
# The files of each cell, by its name; and the differences between two cells in their folders.
CellsOf = Callable[[Iterable[str]], dict[str, set[str]]]
CompareCells = Callable[[Path, Path], dict[str, Any]]


def made_from(runs: tuple[Path, Path], records: tuple[dict[str, Any], dict[str, Any]]) -> Differences:
    """The differences by part between what two runs were made from; None for a part that is unknown for one.

    A run without a statement has only its record, which does not cover the code.
    """
    origins = []
    for folder, record in zip(runs, records, strict=True):
        stated = _statement_of(folder / "weights.npz")
        known = _origins(stated) if stated else dict.fromkeys(PARTS)
        environment = (known["environment"] or {}) | (record.get("observed") or {})
        data = {"content": record.get("data_sha256"), **(known["data"] or {})}
        origins.append(known | {"spec": record["spec"], "environment": environment, "data": data})
    return _differences(*origins)


def merged(pairs: Iterable[Differences]) -> Differences:
    """The differences of many pairs as those of one: each is listed once, without the places where the jobs ran."""
    parts: dict[str, dict[str, Any] | None] = dict.fromkeys(PARTS)
    for differing in pairs:
        for part, rows in differing.items():
            if rows is not None:
                told = [row for row in rows if row["key"].partition(".")[0] not in WHERE]
                parts[part] = (parts[part] or {}) | {json.dumps(row, sort_keys=True): row for row in told}
    return {part: None if rows is None else list(rows.values()) for part, rows in parts.items()}


def compare_results(folder_a: Path, folder_b: Path, cells_of: CellsOf, compare_cells: CompareCells) -> dict[str, Any]:
    """The differences between the results in two folders, whose studies are paired by name."""
    in_a, in_b = ({study.root.name: study for study in tree.load(folder).trees} for folder in (folder_a, folder_b))
    for folder, trees in ((folder_a, in_a), (folder_b, in_b)):
        if not any(
            study.statements or tree.STUDY_FILE in study.files or cells_of(study.files) for study in trees.values()
        ):
            raise BadInput(folder, "", "contains no results", "a study's results, or a folder of them")
    if len(in_a) == len(in_b) == 1:
        # They may have been renamed.
        in_b = dict(zip(in_a, in_b.values(), strict=True))
    shared = [name for name in in_a if name in in_b]
    if not shared:
        raise BadInput(folder_b, "", f"has no study in common with {folder_a}", "results of at least one study in both")
    studies = [
        {"name": in_a[name].name, **_studies(in_a[name], in_b[name], cells_of, compare_cells)} for name in shared
    ]
    only_a, only_b = (sorted(trees.keys() - set(shared)) for trees in (in_a, in_b))
    equal = all(study["equal"] for study in studies) and not (only_a or only_b)
    return {"equal": equal, "studies": studies, "only_a": only_a, "only_b": only_b}


def _studies(study_a: Tree, study_b: Tree, cells_of: CellsOf, compare_cells: CompareCells) -> dict[str, Any]:
    timed = _timed(study_a) | _timed(study_b)
    names = sorted({*study_a.artifacts, *study_b.artifacts})
    listed: dict[str, list[Any]] = {name: [] for name in ("only_a", "only_b", "not_compared", "differ")}
    same, except_times = set(), 0
    with progress("comparing files", len(names), "files") as bar:
        for name in names:
            if name not in study_b.artifacts or name not in study_a.artifacts:
                listed["only_a" if name in study_a.artifacts else "only_b"].append(name)
            elif name in timed:
                listed["not_compared"].append(name)
            elif (compared := _compared(study_a.root / name, study_b.root / name)).same:
                same.add(name)
                except_times += compared.except_times
            else:
                listed["differ"].append({"path": name, "first": compared.first})
            bar.update()
    strange = sorted({*study_a.strange, *study_b.strange})
    in_a, in_b = cells_of(study_a.files), cells_of(study_b.files)
    cells = []
    for cell in sorted({*in_a, *in_b}):
        if cell not in in_a or cell not in in_b:
            cells.append({"cell": cell, "only": "a" if cell in in_a else "b"})
        elif (in_a[cell] | in_b[cell]) & {*names} <= same:
            cells.append({"cell": cell, "equal": True})
        else:
            cells.append(
                {"cell": cell, **_cell(study_a.root / "runs" / cell, study_b.root / "runs" / cell, compare_cells)}
            )
    return {
        "equal": not (listed["differ"] or listed["only_a"] or listed["only_b"] or strange),
        "made_from": _made_from(study_a, study_b),
        "bit_equal": len(same),
        "but_for_times": except_times,
        **listed,
        "no_plain_files": strange,
        "cells": cells,
    }


def _compared(file_a: Path, file_b: Path) -> differences.FileDifference:
    try:
        return differences.compare(file_a, file_b)
    except BadInput as error:
        return differences.FileDifference(False, first=str(error))


def _cell(cell_a: Path, cell_b: Path, compare_cells: CompareCells) -> dict[str, Any]:
    try:
        compared = compare_cells(cell_a, cell_b)
    except BadInput as error:
        return {"equal": False, "damaged": str(error)}
    return {key: compared[key] for key in ("equal", "seeds", "summary")}


def _timed(study: Tree) -> set[str]:
    """The files with times in them, and everything made from them.

    A page links to its parts, which have times, and does not repeat them.
    """
    timed: set[str] = set()
    before = -1
    while len(timed) != before:
        before = len(timed)
        for stated in study.statements:
            read = {study.inside(needed.name) or "" for needed in stated.statement.inputs}
            follows = any(path in timed and not path.startswith("page/") for path in read)
            held = [study.inside(made.name) for made in stated.statement.outputs if made.timed or follows]
            timed |= {path for path in held if path}
    return timed


def _made_from(study_a: Tree, study_b: Tree) -> Differences:
    """The differences in origin between two studies: the studies themselves, and everything else job by job."""
    of_jobs = []
    for path, (one, *_) in study_a.producers.items():
        if path in study_b.producers:
            pair = one.statement, study_b.producers[path][0].statement
            of_jobs.append(_differences(*(_origins(statement, (SOURCE, PACKAGE)) for statement in pair)))
    parts = merged(of_jobs)
    paths = [study.root / tree.STUDY_FILE for study in (study_a, study_b)]
    if all(path.is_file() for path in paths):
        parts["spec"] = _rows(*map(files.read_json, paths))
    return parts


def _statement_of(path: Path) -> Statement | None:
    """The statement of a file of a study."""
    root = next((folder for folder in path.parents if (folder / statements.FOLDER).is_dir()), None)
    stated = root / statements.FOLDER / f"{path.relative_to(root)}{statements.SUFFIX}" if root else None
    return statements.read(stated) if stated and stated.exists() else None


def _origins(statement: Statement, data: tuple[str, ...] = (SOURCE, PACKAGE, INPUT)) -> dict[str, Any]:
    """The origins of a job by part, each a nested object; `data` are the kinds of what counts as its data."""
    parameters, commit = statement.parameters, statement.made_of(COMMIT)
    return {
        "spec": parameters.get("spec", {key: value for key, value in parameters.items() if key != "keys"}),
        "code": {
            "commit": _digests(commit) | {"changes": statement.changes},
            "files": _digests(statement.made_of(CODE, RESOURCE)),
        },
        "environment": {**statement.observed, "programs": statement.versions},
        "data": _digests(statement.made_of(*data)),
        "lock": _digests(statement.made_of(LOCK)),
    }


def _digests(artifacts: Iterable[Artifact]) -> dict[str, Any]:
    """Digests by name; those of inputs by role, because their names contain the study's name."""
    digests: dict[str, list[str]] = {}
    for one in artifacts:
        digests.setdefault(one.role if one.kind == INPUT else one.name, []).append(one.sha256)
    return {name: found[0] if len(found) == 1 else found for name, found in digests.items()}


def _differences(origins_a: dict[str, Any], origins_b: dict[str, Any]) -> Differences:
    pairs = {part: (origins_a[part], origins_b[part]) for part in PARTS}
    return {part: None if None in pair else _rows(*pair) for part, pair in pairs.items()}


def _rows(value_a: Any, value_b: Any) -> list[dict[str, Any]]:
    """The differences between two values, one row per dotted key."""
    return [
        {"key": change.key, "a": change.value_a, "b": change.value_b}
        for change in differences.changes(value_a, value_b)
    ]
