"""The figures of `toolnoise plan`, power against runs, and of `toolnoise compare --metric`, differences with intervals.

Matplotlib is slow to import: this module is imported when a figure is drawn.
"""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

from toolnoise.base.errors import BadArgument
from toolnoise.comparison.compared_metrics import MetricComparison, over, shortened, tests
from toolnoise.comparison.comparison_text import LEVEL
from toolnoise.comparison.sample_size import Claim, SampleSize
from toolnoise.figures import sheets, style

TITLES = {"gain": "A gain", "ratio": "SDs that differ", "margin": "SDs that are equal"}
# Drawn without a claim: gains in SDs, and factors.
USUAL_GAINS, USUAL_FACTORS = (0.5, 1, 2), (1.25, 1.5, 2, 3)
TICKS = tuple(digit * 10**power for power in range(7) for digit in (1, 2, 5))
MOST_LINES = 60  # in a panel of differences
WIDEST = 28  # letters of a name


def _require_format(path: str) -> None:
    """Refuse a name that says no format."""
    if Path(path).suffix[1:] not in sheets.FORMATS:
        raise BadArgument("figure", f"found {path}", f"a name ending in .{', .'.join(sheets.FORMATS)}")


def write_power(plan: SampleSize, path: str) -> None:
    """Write the curves of a plan, a panel for each kind of claim; the suffix is the format."""
    _require_format(path)
    claims = plan.claims or _usual(plan)
    kinds = list(dict.fromkeys(claim.kind for claim in claims))
    figure, axes = sheets.grid(1, [4.2] * len(kinds), height=3.1)
    for panel, kind in zip(axes[0], kinds, strict=True):
        _curves(panel, plan, [claim for claim in claims if claim.kind == kind])
    notes = [
        f"Two arms of equally many runs, normal; tests at {plan.level:g}, two-sided (equality: two one-sided tests).",
        f"Dashed: power {plan.power:g}, and the runs at which each curve reaches it.",
    ]
    if plan.spread:
        known = plan.spread.runs
        band = f" Bands: from one end of its 95 % interval to the other ({known} runs)." if known else ""
        sd = plan.spread.with_unit(f"{plan.spread.sd.value:.3g}")
        notes.append(f"SD of {plan.spread.quantity}, {plan.spread.source}: {sd}.{band}")
        if plan.spread.shared:
            notes[1] += " Dotted: both arms share their seeds."
    sheets.frame(figure, "Statistical power against runs per arm", notes)
    sheets.save_as(figure, path)


def draw_power(plan: SampleSize, axes: Axes | None) -> Axes:
    """Draw the curves of the first kind of claim, into these axes or new ones."""
    claims = plan.claims or _usual(plan)
    panel = pyplot.subplots(layout="constrained")[1] if axes is None else axes
    _curves(panel, plan, [claim for claim in claims if claim.kind == claims[0].kind])
    return panel


def _usual(plan: SampleSize) -> list[Claim]:
    sd = plan.spread.sd.value if plan.spread else None
    unit = plan.spread.unit if plan.spread else ""
    gains = [Claim("gain", float(f"{times * sd:.2g}"), unit) for times in USUAL_GAINS] if sd else []
    return gains + [Claim(kind, factor) for kind in ("ratio", "margin") for factor in USUAL_FACTORS]


def _curves(panel: Axes, plan: SampleSize, claims: list[Claim]) -> None:
    needed = [plan.needed(claim) for claim in claims]
    most = max([30, *(2 * runs for runs in needed if runs)])
    runs = np.unique(np.geomspace(2, most, 200).round().astype(int))
    for claim, reached, tint in zip(claims, needed, cycle(style.CYCLE), strict=False):
        if claim.kind == "gain" and plan.spread.runs:
            ends = [100 * plan.power_of(claim, runs, sd) for sd in (plan.spread.sd.low, plan.spread.sd.high)]
            panel.fill_between(runs, *ends, color=tint, alpha=0.15, linewidth=0)
        panel.plot(runs, 100 * plan.power_of(claim, runs), color=tint, linewidth=1.6, label=_label_of(claim, reached))
        if claim.kind == "gain" and plan.spread.shared:
            paired = 100 * plan.power_of(claim, runs, paired=True)
            panel.plot(runs, paired, color=tint, linewidth=1.2, linestyle=(0, (1, 1)))
        if reached:
            panel.plot([reached] * 2, [0, 100 * plan.power], color=tint, linewidth=0.9, linestyle=(0, (3, 2)))
    panel.axhline(100 * plan.power, color=style.SOFT, linewidth=0.9, linestyle=(0, (3, 2)))
    panel.set_xscale("log")
    panel.set_xlim(2, most)
    ticks = [tick for tick in TICKS if 2 <= tick <= most]
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.set_xticks([], minor=True)
    panel.set_ylim(0, 100)
    panel.set_xlabel("runs per arm")
    panel.set_ylabel("power, %")
    panel.set_title(TITLES[claims[0].kind])
    panel.legend(loc="upper left", bbox_to_anchor=(0, -0.2), borderaxespad=0, fontsize=7.5)


def _label_of(claim: Claim, reached: int | None) -> str:
    return f"{claim.in_words}: " + (f"{reached:,} runs" if reached else "over a million runs")


def write_differences(found: Sequence[MetricComparison], path: str) -> None:
    """Write the differences of arms in tables, a panel for each metric; the suffix is the format."""
    _require_format(path)
    metrics = list(dict.fromkeys(each.metric for each in found))
    lines = max(sum(each.metric == metric for each in found) for metric in metrics)
    if lines > MOST_LINES:
        raise BadArgument("figure", f"found {lines} pairs of arms", f"at most {MOST_LINES}")
    figure, axes = sheets.grid(1, [sheets.PAGE] * len(metrics), height=1.1 + 0.3 * lines)
    for panel, metric in zip(axes[0], metrics, strict=True):
        _differences(panel, [each for each in found if each.metric == metric])
    adjusted = f" (Holm, {tests(found)} tests)" if tests(found) > 1 else ""
    known = any(each.lower_is_better is not None for each in found)
    grey = " Grey: the arm that is subtracted is better." if known else ""
    units = "runs" if found[0].a.n_sessions is None else "sessions"
    notes = [f"Lines: 95 % intervals over {units}. Filled: p < {LEVEL:g}{adjusted}.{grey}"]
    sheets.frame(figure, "Differences between arms", notes)
    sheets.save_as(figure, path)


def _differences(panel: Axes, found: Sequence[MetricComparison]) -> None:
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
    panel.set_yticks(places, [_pair(each) for each in found])
    panel.grid(visible=False, axis="y")
    low, high = panel.get_xlim()
    reach = max(-low, high, 0)
    left, right = (-reach, reach) if low < 0 < high else (min(low, -0.08 * reach), max(high, 0.08 * reach))
    unit = f", {first.unit}" if first.unit else ""
    panel.set_xlabel(f"difference in {first.metric}{unit}")
    if first.lower_is_better is not None:
        # The side on which the first arm is better.
        panel.axvspan(*((0, right) if first.lower_is_better else (left, 0)), color=style.GREY, alpha=0.25, linewidth=0)
        way = "lower" if first.lower_is_better else "higher"
        panel.set_xlabel(f"{panel.get_xlabel()} ({way} is better)")
    panel.axvline(0, color=style.SOFT, linewidth=0.9)
    panel.set_xlim(left, right)


def _pair(each: MetricComparison) -> str:
    a, b = (shortened(arm.name, WIDEST) for arm in (each.a, each.b))
    runs = over(each) if each.way == "paired" else f"{each.a.n_runs} and {each.b.n_runs} runs"
    return f"{b} - {a}\n{runs}"
