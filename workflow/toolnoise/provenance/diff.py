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
from toolnoise.provenance.statements import CODE, COMMIT, INPUT, LOCK, PACKAGE, RESOURCE, SOURCE, Statement
from toolnoise.provenance.tree import Tree

PARTS = ("spec", "code", "environment", "data", "lock")
# Reported for two jobs only: for many jobs, the places where they ran would drown the rest.
WHERE = ("host", "slurm")

Differences = dict[str, list[dict[str, Any]] | None]
# The differences between the cells of two studies, from the folder and the files of each, and the files that are equal.
StudyFiles = tuple[Path, Iterable[str]]
CompareCells = Callable[[StudyFiles, StudyFiles, set[str]], list[dict[str, Any]]]


def made_from(*runs: tuple[Path, dict[str, Any]]) -> Differences:
    """The differences by part between what two runs were made from, by their folders and records.

    A part is None if it is unknown for one of them: a record does not cover what a statement does.
    """
    known = []
    for folder, record in runs:
        root = tree.study_of(folder) or folder
        stated = root / statements.FOLDER / folder.relative_to(root) / f"weights.npz{statements.SUFFIX}"
        of_record = {"spec": record["spec"], "environment": record.get("observed") or {}}
        known.append(_origins(statements.read(stated)) if stated.exists() else dict.fromkeys(PARTS) | of_record)
    return _differences(*known)


def merged(pairs: Iterable[Differences]) -> Differences:
    """The differences of many pairs as those of one: each is listed once, without the places where the jobs ran."""
    parts: dict[str, dict[str, Any] | None] = dict.fromkeys(PARTS)
    for differing in pairs:
        for part, rows in differing.items():
            if rows is not None:
                told = [row for row in rows if row["key"].partition(".")[0] not in WHERE]
                parts[part] = (parts[part] or {}) | {json.dumps(row, sort_keys=True): row for row in told}
    return {part: None if rows is None else list(rows.values()) for part, rows in parts.items()}


def compare_results(folder_a: Path, folder_b: Path, compare_cells: CompareCells) -> dict[str, Any]:
    """The differences between the results in two folders, whose studies are paired by name."""
    in_a, in_b = ({study.root.name: study for study in tree.load(folder).trees} for folder in (folder_a, folder_b))
    for folder, trees in ((folder_a, in_a), (folder_b, in_b)):
        if not any(study.files for study in trees.values()):
            raise BadInput(folder, "", "contains no results", "a study's results, or a folder of them")
    if len(in_a) == len(in_b) == 1:
        # They may have been renamed.
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
            found[name] = differences.compare(study_a.root / name, study_b.root / name)
            bar.update()
    same = {name for name, first in found.items() if first in ("", differences.TIMES)}
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
        "but_for_times": sum(first == differences.TIMES for first in found.values()),
        "not_compared": sorted(in_a.keys() & in_b.keys() & timed),
        **apart,
        "cells": compare_cells((study_a.root, study_a.files), (study_b.root, study_b.files), same),
    }


def _timed(study: Tree) -> set[str | None]:
    """The files with times in them, and everything made from them.

    A page links to its parts, which have times, and does not repeat them.
    """
    timed: set[str | None] = set()
    before = -1
    while len(timed) > before:
        before = len(timed)
        for _, statement, *_ in study.statements:
            read = timed & {study.inside(needed.name) for needed in statement.inputs}
            follows = any(path and not path.startswith("page/") for path in read)
            timed |= {study.inside(made.name) for made in statement.outputs if made.timed or follows}
    return timed


def _made_from(study_a: Tree, study_b: Tree) -> Differences:
    """The differences in origin between two studies: the studies themselves, and everything else job by job."""
    pairs = [
        (made[0], study_b.producers[path][0]) for path, made in study_a.producers.items() if path in study_b.producers
    ]
    parts = merged(_differences(*(_origins(made.statement, SOURCE, PACKAGE) for made in pair)) for pair in pairs)
    paths = [study.root / tree.STUDY_FILE for study in (study_a, study_b)]
    if all(path.is_file() for path in paths):
        parts["spec"] = _rows(*map(files.read_json, paths))
    return parts


def _origins(statement: Statement, *data: str) -> dict[str, Any]:
    """The origins of a job by part, each a nested object; `data` are the kinds of what counts as its data, or all."""
    parameters = statement.parameters

    def digests(*kinds: str) -> dict[str, Any]:
        # Inputs are told by their roles: their names contain the study's name.
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
    return [change._asdict() for change in differences.changes(value_a, value_b)]
