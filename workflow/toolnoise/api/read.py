"""`tn.read_results`: the results of a study."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from toolnoise.api.results import Result
from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.provenance import archive
from toolnoise.study import grid, layout
from toolnoise.study.cells import Cell

if TYPE_CHECKING:
    import pandas as pd

WANTED = "a study's results folder, its study.json, or an archive of it"


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


def read_results(path: str | Path) -> StudyResults:
    """Read a study's results folder, its study.json or its archive.

    `tn.read_results("results/demo").metrics("stability")` is a table of pandas.
    """
    with archive.opened(Path(path)) as (folder,):
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
        return StudyResults(text, values, values["cells"], name=study.name, cells=cells, tables=tables)


def _table(file: Path) -> "pd.DataFrame":
    import pandas as pd

    columns, rows = metric_files.table(file)
    return pd.DataFrame(rows, columns=list(columns))
