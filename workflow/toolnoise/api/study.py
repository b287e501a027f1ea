"""`tn.check`: is a training program reproducible? `tn.read_results`: the results of a study.

Both import other modules only when called, since a check also runs in environments that have only NumPy.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from toolnoise.api.values import Result, Verdict, rows_of
from toolnoise.base.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from toolnoise.study.cells import Cell

WANTED = "a study's results folder, its study.json, or an archive of it"


def check(
    command: str | Sequence[str],
    *,
    sources: str | None = None,
    deterministic: str = "",
    output: Sequence[str] = (),
    metric: Sequence[str] = (),
    vary: Sequence[str] = (),
    world: str | None = None,
    higher: str = "",
    without_draws: str = "",
    trace: bool = False,
    resume: bool = False,
    resume_command: str | None = None,
    checkpoint: Sequence[str] = (),
    stop_at: str | None = None,
    limit: float | None = None,
    keep: bool = False,
) -> Verdict:
    """Run a program as often as its verdict needs; arguments are the options of `toolnoise check`.

    >>> import sys, toolnoise as tn
    >>> found = tn.check([sys.executable, "-c", "print('accuracy 0.5')"], sources="", metric=["accuracy ([0-9.]+)"])
    >>> found.passed
    True
    """
    from toolnoise.checking import other_settings, reproducibility, trial_runs

    words = [command] if isinstance(command, str) else list(command)
    resumes = bool(resume or resume_command or stop_at)
    output, metric, vary = ([one] if isinstance(one, str) else list(one) for one in (output, metric, vary))
    places = [checkpoint] if isinstance(checkpoint, str) else list(checkpoint)
    wanted = trial_runs.parse_wanted(output, metric, places)
    asked = reproducibility.parse_command(words, sources, deterministic, limit, wanted)
    worlds = other_settings.numbers_of_processes(world)
    asked = asked._replace(
        words=other_settings.torchrun_command(asked.words, worlds[0]) if worlds else asked.words,
        asked=other_settings.ways_asked_for(asked.words, vary, worlds, higher, without_draws),
        trace=trace,
    )
    if resumes:
        asked = asked._replace(resume=reproducibility.parse_resuming(asked.words, resume_command, stop_at))
    with _folder(keep=keep) as place:
        try:
            checked = reproducibility.check(asked, place)
        finally:
            wanted.forget()
    values = reproducibility.as_json(checked)
    return Verdict(reproducibility.as_text(checked), values, rows_of(values), passed=checked.passed)


@contextmanager
def _folder(*, keep: bool) -> Iterator[Path]:
    """A folder for the files of the runs; with `keep`, it is not deleted, even if there is no verdict."""
    place = Path(tempfile.mkdtemp(prefix="toolnoise-check-"))
    try:
        yield place
    finally:
        if keep:
            print(f"outcomes and logs are kept in {place}", file=sys.stderr)
        else:
            shutil.rmtree(place, ignore_errors=True)


@dataclass(frozen=True, repr=False)
class StudyResults(Result):
    """The results of a study: its findings as a text, and its metric files as tables."""

    name: str = ""
    cells: "tuple[Cell, ...]" = ()
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
    from toolnoise.commands import summary
    from toolnoise.provenance import archive
    from toolnoise.study import grid, layout

    with archive.opened_results(Path(path)) as (folder,):
        kept = folder / Path(layout.STUDY).name if folder.is_dir() else folder
        if kept.name != Path(layout.STUDY).name or not kept.is_file():
            raise BadInput(path, "", "found no results of a study", WANTED)
        study = grid.load_study(kept).lying_at(kept.parent)
        files = sorted((kept.parent / "metrics").glob("*.csv"))
        tables = {file.stem: _table(file) for file in files}
        values = summary.as_json(study)
        text, cells = summary.as_text(study), tuple(study.cells)
        return StudyResults(text, values, values["cells"], name=study.name, cells=cells, tables=tables)


def _table(file: Path) -> "pd.DataFrame":
    import pandas as pd

    from toolnoise.base import metric_files

    columns, rows = metric_files.columns_and_rows(file)
    return pd.DataFrame(rows, columns=list(columns))
