"""`tn.read_results`: the results of a study, and dumps of predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolnoise.api.results import POINTS, Result, of_intervals, plain
from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.comparison import arms
from toolnoise.dumps import stacks
from toolnoise.provenance import archive
from toolnoise.stats.estimates import Estimate
from toolnoise.study import grid, layout
from toolnoise.study.cells import Cell

if TYPE_CHECKING:
    import pandas as pd

WANTED = "a study's results folder, its study.json, an archive of it, or a dump of predictions (.npy)"


@dataclass(frozen=True, repr=False)
class StudyResults(Result):
    """The results of a study: its findings as a text, and its metric files as tables."""

    name: str = ""
    cells: tuple[Cell, ...] = ()
    tables: Mapping[str, "pd.DataFrame"] = field(default_factory=dict, compare=False)

    def metrics(self, kind: str = "stability") -> "pd.DataFrame":
        """A metric file of the whole study, by its name: stability, runs, and others in `tables`."""
        if kind not in self.tables:
            raise BadInput(self.name, kind, "no such metric file", f"one of {', '.join(self.tables)}")
        return self.tables[kind].copy()


@dataclass(frozen=True, repr=False)
class Dump(Result):
    """The predictions of a cell's runs, memory-mapped, run x example x class, and the labels of the examples."""

    predictions: np.ndarray = field(default_factory=lambda: np.empty(0), compare=False)
    labels: np.ndarray | None = field(default=None, compare=False)
    seeds: tuple[int, ...] = ()


def read_results(path: str | Path) -> StudyResults | Dump:
    """Read a study's results folder, its study.json or archive, or the dump of one of its cells.

    `tn.read_results("results/demo").metrics("stability")` is a table of pandas; the `predictions` of a dump go to
    `tn.noise`.
    """
    place = Path(path)
    if arms.is_dump(place):
        return _dump(place)
    with archive.opened(place) as (folder,):
        kept = folder / Path(layout.STUDY).name if folder.is_dir() else folder
        if kept.name != Path(layout.STUDY).name or not kept.is_file():
            raise BadInput(path, "", "found no results of a study", WANTED)
        study = grid.load(kept).lying_at(kept.parent)
        files = sorted((kept.parent / "metrics").glob("*.csv"))
        tables = {file.stem: _table(file) for file in files}
        # Imported here: the verdicts on claims need more packages than a dump.
        from toolnoise.commands import summary

        values = summary.as_json(study)
        text, cells = summary.as_text(study), tuple(study.cells)
        picture = of_intervals("answers that change between two runs, %", _churns(tables.get("stability")))
        return StudyResults(
            text, values, partial(getitem, values, "cells"), picture, name=study.name, cells=cells, tables=tables
        )


def _table(file: Path) -> "pd.DataFrame":
    import pandas as pd

    columns, rows = metric_files.table(file)
    return pd.DataFrame(rows, columns=list(columns))


def _churns(table: "pd.DataFrame | None") -> list[dict[str, Any]]:
    """The churn of each cell."""
    if table is None:
        return []
    whole = table[(table["metric"] == "churn") & (table["group"] == "all")]
    ends = ("value", "ci_low", "ci_high")
    return [
        {"quantity": "/".join(row[: len(Cell._fields)])}
        | plain(Estimate(*(float(getattr(row, end)) for end in ends)), POINTS)
        for row in whole.itertuples(index=False)
    ]


def _rows(seeds: Sequence[int]) -> Sequence[Mapping[str, Any]]:
    return [{"seed": seed} for seed in seeds]


def _dump(path: Path) -> Dump:
    dump = stacks.read_predictions(path, path.with_suffix(".json"))
    kept, seeds = dump.kept, tuple(compress(dump.seeds, dump.finished))
    try:
        labels = arms.labels_of([str(path)]).answers
    except BadInput:  # values, or data that an archive lacks
        labels = None
    values: dict[str, Any] = {"file": str(path), "runs": len(seeds), "shape": list(kept.shape), "seeds": list(seeds)}
    text = f"{path.name}: {len(seeds)} runs, {' x '.join(map(str, kept.shape))} {kept.dtype}"
    return Dump(text, values, partial(_rows, seeds), predictions=kept, labels=labels, seeds=seeds)
