"""The numbers of the figure `rarity`: a group's noise against its share of the training set, with two nulls.

The null of size takes all test examples as equally noisy, the null of difficulty knows how often the group's examples
err (`stats.sd_ratio`). For the SD of a rate both scale the SD over all examples of the same runs. Churn is a mean over
examples, so size leaves it as it is over all examples; the null of difficulty puts it at the same place, as over all
examples, of the range that the errors of two runs allow.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from toolnoise.base.metric_files import CELL, NUMBERS, part_of
from toolnoise.figures import selection, style
from toolnoise.figures.panels import interval
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.sd_ratio import Null

SIZE, DIFFICULTY = "size", "difficulty"
COLUMNS = (*CELL, "group", "share", "quantity", *NUMBERS, "n_runs", "n_missing", "n_draws")


def against_share(
    stability: pd.DataFrame, counts: pd.DataFrame, hardware: Sequence[str], tasks: Sequence
) -> pd.DataFrame:
    """The rows of the figure, by share: `rate`, `sd` and `churn` of the group and of all, and the nulls of the two."""
    mine = selection.of_tasks(stability, tasks)
    mine = mine[mine["hardware"].isin(hardware)]
    rows = []
    for cell, found in mine.groupby(list(CELL), sort=False):
        values = {(row.metric, row.group): Estimate(row.value, row.ci_low, row.ci_high) for row in found.itertuples()}
        draws = values["n_draws", "all"].value
        about = found["n_runs"].iloc[0], found["n_missing"].iloc[0], draws
        for group in selection.unique(found["group"]):
            if part_of(group) == "group":
                share = train_share(counts, cell[1], group)
                shown = _quantities(values, counts, cell[1], group, selection.freedom(*about[::2]))
                rows += [(*cell, group, share, name, *estimate, *about) for name, estimate in shown.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("share", kind="stable")


def train_share(counts: pd.DataFrame, dataset: str, group: str) -> float:
    """The group's share of the training set."""
    return _count(counts, dataset, "train", group) / _count(counts, dataset, "train", "all")


def _count(counts: pd.DataFrame, dataset: str, split: str, group: str, label: str = "all") -> int:
    columns = ("dataset", "split", "group", "label")
    wanted = zip(columns, (dataset, split, group, label), strict=True)
    return int(counts[np.logical_and.reduce([counts[column] == value for column, value in wanted])]["count"].iloc[0])


def _quantities(
    values: dict[tuple[str, str], Estimate], counts: pd.DataFrame, dataset: str, group: str, freedom: int
) -> dict[str, Estimate]:
    rate, label = ("fnr", "1") if ("fnr_mean", group) in values else ("accuracy", "all")
    mine, everyone = (_count(counts, dataset, "test", name, label) for name in (group, "all"))
    found = {
        f"{name}{suffix}": values[metric, part]
        for name, metric in (("rate", f"{rate}_mean"), ("sd", f"{rate}_sd"), ("churn", "churn"))
        for suffix, part in (("", group), (" of all", "all"))
    }
    expected = values[f"{rate}_sd_ratio_null", group].value, values[f"{rate}_sd_ratio_difficulty_null", group].value
    for null, ratio in zip((SIZE, DIFFICULTY), expected, strict=True):
        bounds = Null(ratio, (ratio * mine / everyone) ** 2).range(freedom)
        found[f"sd by {null}"] = Estimate(*(found["sd of all"].value * np.array(bounds)).tolist())
    found[f"churn by {SIZE}"] = values["churn", "all"]
    found[f"churn by {DIFFICULTY}"] = _churn_by_errors(
        found["churn"].value,
        values["churn_normalised", group].value,
        found["rate"].value,
        values["churn_normalised", "all"],
    )
    return found


def _churn_by_errors(churn: float, place: float, rate: float, wanted: Estimate) -> Estimate:
    """The churn at another place of the range between the least and the most that errors allow."""
    most = 2 * min(rate, 1 - rate)
    if not (place < 1 and most > 0):
        return Estimate(np.nan, np.nan, np.nan)
    least = (churn - place * most) / (1 - place)
    return Estimate(*(least + np.array(wanted) * (most - least)).tolist())


def draw_share(
    panel: Axes, rows: pd.DataFrame, quantity: str, tint: str, dashes: Mapping[str, tuple[int, tuple[int, int]]]
) -> None:
    """A quantity of a group in per cent against its `share` on a logarithmic axis, with its nulls and that of all.

    Fewer than three shares have no line.
    """
    of_group = rows[rows["quantity"] == quantity]
    line = {"linestyle": "-" if len(of_group) > 2 else "none"}
    highest = rows[rows["quantity"].str.startswith(quantity)]["value"].max()
    top = min(2.5 * highest, max(of_group["ci_high"].max(), highest)) * 100
    panel.set_xscale("log")
    panel.set_ylim(0, max(panel.get_ylim()[1], 1.1 * top))
    for null, dash in dashes.items():
        by_chance = rows[rows["quantity"] == f"{quantity} by {null}"]
        x, (value, low, high) = 100 * by_chance["share"], 100 * by_chance[["value", "ci_low", "ci_high"]].to_numpy().T
        shade = 0.08 if null == SIZE else 0.14
        panel.fill_between(x, low, high, color=style.INK, alpha=shade, linewidth=0, zorder=1)
        panel.plot(x, value, color=style.INK, linewidth=1, linestyle=dash, zorder=2.8)
    whole = rows[rows["quantity"] == f"{quantity} of all"]
    panel.plot(
        100 * whole["share"], 100 * whole["value"], color=style.SOFT, linewidth=0.8, marker=".", zorder=2.7, **line
    )
    dots = {"color": tint, "linewidth": 1, "marker": "o", "markersize": 4, "zorder": 4}
    panel.plot(100 * of_group["share"], 100 * of_group["value"], **dots, **line)
    for row in of_group.itertuples():
        interval(panel, 100 * row.share, 100 * row.ci_low, 100 * row.ci_high, panel.get_ylim()[1])
    panel.set_xticks(100 * of_group["share"], [f"{100 * share:.2g}" for share in of_group["share"]])
    panel.xaxis.set_minor_locator(NullLocator())


def draw_size(panel: Axes, rows: pd.DataFrame, tint: str, label: str) -> None:
    """An SD against the number of test `examples`, both on logarithmic axes, and what size alone would make of it."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    whole = rows.loc[rows["examples"].idxmax()]
    by_size = whole["value"] * np.sqrt(whole["examples"] / rows["examples"])
    panel.plot(rows["examples"], 100 * by_size, color=tint, linewidth=0.7, linestyle=(0, (4, 2)), zorder=2.8)
    panel.plot(rows["examples"], 100 * rows["value"], color=tint, linewidth=1.3, marker="o", markersize=3, label=label)
    panel.set_xticks(rows["examples"], [str(examples) for examples in rows["examples"]], fontsize=7)
    panel.xaxis.set_minor_locator(NullLocator())
    panel.autoscale(axis="y")
    panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("{x:g}")


def of_rarity(rows: pd.DataFrame, nulls: Iterable[str]) -> str:
    """In how many cells the SD of the group lies in the range that each null gives it."""
    cell = ["model", "dataset", "hardware", "variant"]
    sds = rows[rows["quantity"] == "sd"].set_index(cell)["value"].dropna()
    parts = []
    for null in nulls:
        ranges = rows[rows["quantity"] == f"sd by {null}"].set_index(cell)[["ci_low", "ci_high"]].dropna()
        both = ranges.join(sds, how="inner")
        if len(both):
            inside = int(both["value"].between(both["ci_low"], both["ci_high"]).sum())
            parts.append(f"from {null} at {inside} of {len(both)} points")
    return (
        f"The group's SD is in the 95 % range expected {', '.join(parts)}"
        if parts
        else "Is a rare group noisier, or only smaller?"
    )
