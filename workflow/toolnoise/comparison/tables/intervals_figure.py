"""The figure of `toolnoise compare --metric`: each difference with its 95 % interval, a panel for each metric."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from toolnoise.base.errors import BadInput
from toolnoise.comparison.comparison_text import LEVEL
from toolnoise.comparison.tables.differences import MetricComparison
from toolnoise.comparison.tables.text import over, shortened, tests
from toolnoise.figures import sheets, style

MOST_LINES = 60
WIDEST = 28  # letters of a name


def require_format(path: str) -> None:
    """Refuse a name that says no format."""
    if Path(path).suffix[1:] not in sheets.FORMATS:
        raise BadInput("command line", "--figure", f"found {path}", f"a name ending in .{', .'.join(sheets.FORMATS)}")


def draw(found: Sequence[MetricComparison], path: str) -> None:
    """Write the figure; the suffix is the format."""
    require_format(path)
    metrics = list(dict.fromkeys(each.metric for each in found))
    lines = max(sum(each.metric == metric for each in found) for metric in metrics)
    if lines > MOST_LINES:
        raise BadInput("command line", "--figure", f"found {lines} pairs of arms", f"at most {MOST_LINES}")
    figure, axes = sheets.grid(1, [sheets.PAGE] * len(metrics), height=1.1 + 0.3 * lines)
    for panel, metric in zip(axes[0], metrics, strict=True):
        _panel(panel, [each for each in found if each.metric == metric])
    adjusted = f" (Holm, {tests(found)} tests)" if tests(found) > 1 else ""
    grey = "Grey: the arm that is subtracted is better."
    notes = [f"Lines: 95 % intervals over runs. Filled: p < {LEVEL:g}{adjusted}. {grey}"]
    sheets.frame(figure, "Differences between arms", notes)
    sheets.save_as(figure, path)


def _panel(panel: Axes, found: Sequence[MetricComparison]) -> None:
    first = found[0]
    places = np.arange(len(found))[::-1]
    for place, each in zip(places, found, strict=True):
        value, low, high = each.difference
        sure = each.pvalue_holm < LEVEL
        if np.isfinite(low):
            panel.plot([low, high], [place] * 2, color=style.CYCLE[0], linewidth=1.6, solid_capstyle="butt")
        face = style.CYCLE[0] if sure else "white"
        panel.plot([value], [place], "o", color=style.CYCLE[0], markerfacecolor=face, markersize=5, zorder=3)
    panel.set_ylim(-0.6, len(found) - 0.4)
    panel.set_yticks(places, [_label(each) for each in found])
    panel.grid(visible=False, axis="y")
    low, high = panel.get_xlim()
    reach = max(-low, high, 0)
    left, right = (-reach, reach) if low < 0 < high else (min(low, -0.08 * reach), max(high, 0.08 * reach))
    # The side on which the first arm is better.
    panel.axvspan(*((0, right) if first.lower_is_better else (left, 0)), color=style.GREY, alpha=0.25, linewidth=0)
    panel.axvline(0, color=style.SOFT, linewidth=0.9)
    panel.set_xlim(left, right)
    unit = f", {first.unit}" if first.unit else ""
    panel.set_xlabel(f"difference in {first.metric}{unit} ({'lower' if first.lower_is_better else 'higher'} is better)")


def _label(each: MetricComparison) -> str:
    a, b = (shortened(arm.name, WIDEST) for arm in (each.a, each.b))
    runs = over(each) if each.way == "paired" else f"{each.a.n_runs} and {each.b.n_runs} runs"
    return f"{b} - {a}\n{runs}"
