"""What every function of the API returns: a small frozen object that prints, tabulates, draws and exports itself."""

import html
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolnoise.base.errors import BadArgument, BadInput

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from toolnoise.stats.estimates import Estimate

POINTS = 100  # in a share
DRAWING = ("matplotlib", "seaborn")
FORMATS = (".pdf", ".svg", ".png")
MOST_LINES, WIDEST = 200, 60  # values in a picture, and letters of a name


@dataclass(frozen=True, repr=False)
class Result:
    """A finding. Its text is what the command line prints, its dictionary what `--json` prints.

    `rows` are those of its table. `drawn` are the values of its picture, below what they are, and in which unit.
    `printed` are the tables of the text: lines of cells, the heading first.
    """

    text: str
    values: Mapping[str, Any] = field(hash=False)
    rows: Sequence[Mapping[str, Any]] = field(compare=False)
    drawn: tuple[str, Sequence[Mapping[str, Any]]] | None = field(default=None, compare=False)
    printed: Sequence[Sequence[Sequence[str]]] = field(default=(), compare=False)

    def __getitem__(self, name: str) -> Any:
        """A value by its name."""
        return self.to_dict()[name]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The values as plain dictionaries, lists, numbers and None: those of `--json`."""
        import copy

        return copy.deepcopy(dict(self.values))

    def to_frame(self) -> "pd.DataFrame":
        """The values as a table of pandas, a line each."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the finding with its intervals, into these axes if there are any; return Matplotlib's axes."""
        if self.drawn is None:
            raise BadInput("plot", "", "found nothing to draw", "a comparison")
        with _with_matplotlib():
            return draw_intervals(*self.drawn, axes)

    def write_figure(self, path: str) -> None:
        """Draw the finding in a file, .pdf, .svg or .png: equal findings give equal bytes."""
        if Path(path).suffix not in FORMATS:
            raise BadArgument("figure", f"found {path}", f"a name ending in {', '.join(FORMATS)}")
        with _with_matplotlib():
            from matplotlib import pyplot

            from toolnoise.figures import sheets

            figure: Any = self.plot().get_figure()
            sheets.save_as(figure, path)
            pyplot.close(figure)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """What a check or a gate found, and whether it passed."""

    passed: bool = False


@contextmanager
def _with_matplotlib() -> Iterator[None]:
    """Say in one line what a figure needs that the package does not bring."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in DRAWING:
            raise
        raise BadInput(name, "", "not installed", f"pip install {' '.join(DRAWING)}") from None


def rows_of(values: Mapping[str, Any], at: str = "") -> list[dict[str, Any]]:
    """The numbers in nested values, a line each: those with an interval have its ends."""
    rows: list[dict[str, Any]] = []
    for name, value in values.items():
        place = f"{at}.{name}".lstrip(".")
        if isinstance(value, Mapping) and "value" in value:
            low, high = value.get("ci_low", value.get("low")), value.get("ci_high", value.get("high"))
            rows.append({"quantity": place, "value": value["value"], "low": low, "high": high})
        elif isinstance(value, Mapping):
            rows += rows_of(value, place)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            rows.append({"quantity": place, "value": value, "low": None, "high": None})
    return rows


def draw_intervals(label: str, rows: Sequence[Mapping[str, Any]], axes: "Axes | None") -> "Axes":
    """A dot for each value, with a line for its interval if it has one, below one another, with the first on top."""
    from matplotlib import pyplot  # slow to import

    from toolnoise.comparison.compared_metrics import shortened

    shown = [row for row in rows if row["value"] is not None]
    if not shown:
        raise BadInput("plot", "", "found no value", "one or more: the text says why")
    if len(shown) > MOST_LINES:
        raise BadInput("plot", "", f"found {len(shown)} values", f"at most {MOST_LINES}")
    if axes is None:
        _, axes = pyplot.subplots(figsize=(6, 0.9 + 0.3 * len(shown)), layout="constrained")
    for place, row in enumerate(shown):
        if None not in (row["low"], row["high"]):
            axes.plot([row["low"], row["high"]], [place, place], color="tab:blue", linewidth=2)
        axes.plot(row["value"], place, "o", color="tab:blue")
    # Names are anybody's: they may be long, and are no formulas.
    names = [shortened(" ".join(row["quantity"].split()), WIDEST) for row in shown]
    axes.set_yticks(range(len(shown)), names, parse_math=False)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel(f"{label} (lines: 95 % intervals)", parse_math=False)
    return axes


def plain(estimate: "Estimate") -> dict[str, float | None]:
    """An estimate as a dictionary; None where it is undefined."""
    return {name: None if np.isnan(end) else float(end) for name, end in estimate._asdict().items()}


def row_of(metric: str, group: str, estimate: "Estimate") -> Mapping[str, Any]:
    """A line of a table."""
    return {"quantity": metric, "group": group, **plain(estimate)}


def in_percent(estimate: "Estimate", unit: str = " %") -> str:
    """A share with its interval, for people."""
    value, low, high = (POINTS * number for number in estimate)
    return f"{value:.2f}{unit}" + ("" if np.isnan(low) else f" ({low:.2f} to {high:.2f})")
