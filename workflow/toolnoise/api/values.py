"""The arguments of the API (paths, arrays of any library, tables of metrics), and the results that it returns.

A result is a small frozen object that can print, tabulate, plot and export itself.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import counted
from toolnoise.comparison.naming import NAMES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from toolnoise.comparison.metric_layouts import Asked, Frame
    from toolnoise.stats.estimates import Estimate

# The metrics that have a direction: True for all, or their names.
Directed = bool | str | Sequence[str]
WANTED = "an array, or something that NumPy makes one of: a tensor, a DataFrame, a list of numbers"


def is_path(given: object) -> TypeGuard[str | Path]:
    """Whether the argument is a path."""
    return isinstance(given, str | os.PathLike)


def paths_of_arm(given: object) -> list[str] | None:
    """The paths of an arm given as one path or a list of paths; None for anything else."""
    several = [given] if is_path(given) else given
    if isinstance(several, list | tuple) and several and all(map(is_path, several)):
        return [os.fspath(one) for one in several]
    return None


def name_of_arm(place: int) -> str:
    """The name of an arm in memory, by its place: arm A, arm B."""
    return f"arm {NAMES[place % len(NAMES)]}"


def arrays_of_arm(name: str, given: object) -> list[np.ndarray]:
    """The arrays of an arm: one of all its runs, or one per run from a list of arrays."""
    listed = list(given) if isinstance(given, list | tuple) else []
    # A list of numbers, or of lists of them, is one array.
    parts = listed if listed and not isinstance(listed[0], int | float | str | list | tuple) else [given]
    return [as_array(name, part) for part in parts]


def as_array(name: str, given: Any) -> np.ndarray:
    """A value of any library as a NumPy array; a tensor on a device is copied to the host."""
    # PyTorch: NumPy does not accept tensors with a gradient or on a GPU, and has no bfloat16.
    if hasattr(given, "detach") and hasattr(given, "cpu"):
        given = given.detach().cpu()
        given = given.float() if str(given.dtype).endswith("bfloat16") else given
    if hasattr(given, "to_numpy"):  # pandas and polars
        given = given.to_numpy()
    if np.ma.is_masked(given):
        what = f"found {counted(int(np.count_nonzero(given.mask)), 'masked value')}"
        raise BadInput(name, "", what, "an array without a mask; losses have NaN as padding")
    try:
        found = np.asarray(given)
        if found.dtype.kind == "U" and isinstance(given, list | tuple):
            found = np.asarray(given, dtype=object)  # NumPy would turn numbers beside texts into texts
        if found.dtype == object and hasattr(given, "__dlpack__"):
            found = np.from_dlpack(given)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise BadInput(name, "", f"found {type(given).__name__}: {error}", WANTED) from None
    if found.dtype == object:
        kinds = {type(value) for value in found.flat}
        if all(issubclass(kind, str) for kind in kinds):
            return found.astype(str)
        of = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise BadInput(name, "", f"found {type(given).__name__} of {of}", WANTED)
    # bfloat16 and similar types of ml_dtypes, from JAX and TensorFlow.
    return found.astype(np.float32) if found.dtype.kind == "V" and found.dtype.names is None else found


def metric_tables(arms: Sequence[Any]) -> "list[list[str | Frame]]":
    """The paths of each arm, or its table in memory."""
    if not 1 <= len(arms) <= len(NAMES):
        raise BadArgument("ARMS", f"found {len(arms)}", f"a table, or one for each arm, at most {len(NAMES)}")
    tables: list[list[str | Frame]] = []
    for place, arm in enumerate(arms):
        files = paths_of_arm(arm)
        tables.append([*files] if files else [_table(name_of_arm(place), arm)])
    return tables


def name_for_messages(arm: "Sequence[str | Frame]") -> str:
    """The paths of an arm, or the name of its table, for messages."""
    return ", ".join(one if isinstance(one, str) else one.path for one in arm)


def _table(name: str, given: Any) -> "Frame":
    """The table in a DataFrame of pandas or polars, a Series with a named index, or an array of one number per run."""
    import pandas as pd

    from toolnoise.comparison.metric_layouts import Frame
    from toolnoise.comparison.table_files import of_frame

    given = as_pandas(given)
    if isinstance(given, pd.Series) and any(index is not None for index in given.index.names):
        given = given.to_frame()
    if not isinstance(given, pd.DataFrame):
        numbers = as_array(name, given)
        if numbers.ndim != 1 or numbers.dtype.kind not in "fiu":
            what = f"found {numbers.dtype} of shape {numbers.shape}"
            raise BadInput(name, "", what, "with a metric: a path, a DataFrame, or one number a run")
        given = pd.DataFrame({0: numbers})
    if not len(given):
        raise BadInput(name, "", "found nothing", "a line or a number for each run")
    table = of_frame(given)
    if all(isinstance(name, Number) for name in given):  # numbers are not names of columns
        table = table.set_axis([""] * table.shape[1], axis=1)
    return Frame(name, table)


def as_pandas(given: Any) -> Any:
    """A polars DataFrame as a pandas DataFrame; anything else unchanged."""
    import pandas as pd

    return pd.DataFrame(given.to_dict(as_series=False)) if hasattr(given, "write_csv") else given


def as_texts(given: str | Sequence[str] | None) -> list[str]:
    """One text or several as a list."""
    return [given] if isinstance(given, str) else list(given or ())


def asked_of_tables(
    metric: str | Sequence[str],
    *,
    by: str | None = None,
    seed: str | None = None,
    session: str | None = None,
    last: bool = False,
    best: bool = False,
    lower: Directed = False,
    higher: Directed = False,
    paired: bool = False,
) -> "Asked":
    """The options for tables; contradictory ones are refused."""
    from toolnoise.comparison.metric_layouts import NONE, Asked

    if last and best:
        raise BadArgument("last", "found best, too", "one of them")
    if paired and session not in (None, NONE):
        raise BadArgument("paired", "found session, too", "one of them: sessions in both arms are pairs")
    metrics = tuple(dict.fromkeys(as_texts(metric)))
    # An empty tuple means all metrics.
    ways = {"lower": lower, "higher": higher}
    named = {way: () if of is True else tuple(as_texts(of)) if of else None for way, of in ways.items()}
    for way, names in named.items():
        for name in names or ():
            if name not in metrics:
                raise BadArgument(way, f"found {name}", f"of the metrics {', '.join(metrics)}")
    steps = "last" if last else "best" if best else None
    return Asked(metrics, by, seed, steps, named["lower"], named["higher"], paired, session)


POINTS = 100  # in a share
MOST_LINES, WIDEST = 200, 60  # values in a plot, and letters of a name


@dataclass(frozen=True, repr=False)
class Result:
    """A result. The command line prints its `text`, and its dictionary with `--json`.

    `rows` are the rows of its table. `drawn` has the label of its plot, with the unit, and the values to plot.
    `printed` has the tables of the text: rows of cells, the heading first.
    """

    text: str
    values: Mapping[str, Any] = field(hash=False)
    rows: Sequence[Mapping[str, Any]] = field(compare=False)
    drawn: tuple[str, Sequence[Mapping[str, Any]]] | None = field(default=None, compare=False)
    printed: Sequence[Sequence[Sequence[str]]] = field(default=(), compare=False)

    def __getitem__(self, name: str) -> Any:
        """A value by its name."""
        return self.to_dict()[name]

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
        try:
            return draw_intervals(*self.drawn, axes)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "matplotlib":
                raise
            raise BadInput("matplotlib", "", "not installed", "pip install matplotlib seaborn") from None


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """The result of a check or a gate, and whether it passed."""

    passed: bool = False


def rows_of(values: Mapping[str, Any], at: str = "") -> list[dict[str, Any]]:
    """The numbers in nested values, one row each, with the ends of their intervals if they have any."""
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
    """Plot a row for each value, the first on top: a dot, and a line for its interval if it has one."""
    from matplotlib import pyplot  # slow to import

    from toolnoise.comparison.compared_metrics import shorten_name

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
    # Names come from users: they may be long, and are not formulas.
    names = [shorten_name(" ".join(row["quantity"].split()), WIDEST) for row in shown]
    axes.set_yticks(range(len(shown)), names, parse_math=False)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel(f"{label} (lines: 95 % intervals)", parse_math=False)
    return axes


def estimate_as_dict(estimate: "Estimate") -> dict[str, float | None]:
    """An estimate as a dictionary; None where it is undefined."""
    return {name: None if np.isnan(end) else float(end) for name, end in estimate._asdict().items()}


def row_of(metric: str, group: str, estimate: "Estimate") -> Mapping[str, Any]:
    """A row of a table."""
    return {"quantity": metric, "group": group, **estimate_as_dict(estimate)}


def in_percent(estimate: "Estimate", unit: str = " %") -> str:
    """A share and its interval in percent, as text."""
    value, low, high = (POINTS * number for number in estimate)
    return f"{value:.2f}{unit}" + ("" if np.isnan(low) else f" ({low:.2f} to {high:.2f})")
