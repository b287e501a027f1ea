"""The part of a study that fits into a time: how many runs a cell may have, and how precise they are.

Every cell gets equally many runs, at most as many as planned, and a cell with draws as many for each of them; what no
source varies keeps its runs. If two runs do not fit, the slowest groups of cells are left out first. Only training is
counted: measuring takes minutes.
"""

import re
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from toolnoise.analyses.estimate import run_time
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import aligned, span
from toolnoise.stats.estimates import TAIL
from toolnoise.stats.spread import sd_interval
from toolnoise.study import analyses
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study

FEWEST = 2  # runs that have an SD
POWER = 0.8
UNITS = {"m": 60, "h": 3600, "d": 86_400}


class Group(NamedTuple):
    """Cells whose runs take the same time, with the seconds of a run, or None if nobody measured one.

    Each cell has a number of draws, and of runs `planned` for each draw.
    """

    cells: tuple[Cell, ...]
    draws: tuple[int, ...]
    planned: tuple[int, ...]
    seconds: float | None

    def runs(self, most: int) -> int:
        """The runs of all its cells with at most so many for each draw; Control keeps its own."""
        return sum(
            draws * (planned if cell.variant == "control" else min(most, planned))
            for cell, draws, planned in zip(self.cells, self.draws, self.planned, strict=True)
        )


class Fitting(NamedTuple):
    """The groups that fit with so many runs for each draw, those left out, and those whose time is unknown."""

    runs: int
    groups: tuple[Group, ...]
    left_out: tuple[Group, ...]
    unknown: tuple[Group, ...]

    @property
    def seconds(self) -> float:
        """The seconds of all runs, one after the other."""
        return sum(group.runs(self.runs) * group.seconds for group in self.groups)


def seconds_of(text: str) -> float:
    """A time such as 90m, 8h or 2d in seconds."""
    number = re.fullmatch(r"(\d+(?:\.\d+)?)([mhd])", text)
    if not number or float(number[1]) == 0:
        raise BadInput("command line", "--within", f"found {text!r}", "a number and m, h or d, such as 8h")
    return float(number[1]) * UNITS[number[2]]


def groups_of(study: Study) -> list[Group]:
    """The cells of a study by the time that a run takes, as measured so far."""
    groups = []
    for cells in study.alike:
        spec = study.spec(cells[0], study.seeds[cells[0]][0])
        pace = run_time.find(spec)
        seconds = pace.run(spec.recipe) if pace else None
        draws = tuple(study.draws.get(cell, 1) for cell in cells)
        planned = tuple(len(study.seeds[cell]) // each for cell, each in zip(cells, draws, strict=True))
        groups.append(Group(cells, draws, planned, seconds))
    return groups


def fitting(groups: list[Group], seconds: float, devices: int) -> Fitting:
    """The part that fits into these seconds on so many devices at once."""
    if devices < 1:
        raise BadInput("command line", "--gpus", f"found {devices}", "1 or more")
    unknown = tuple(group for group in groups if group.seconds is None)
    known = [group for group in groups if group.seconds is not None]
    known.sort(key=lambda group: group.runs(FEWEST) * group.seconds)
    left_out: list[Group] = []

    def taken(runs: int) -> float:
        return sum(group.runs(runs) * group.seconds for group in known)

    while known and taken(FEWEST) > seconds * devices:
        left_out.append(known.pop())
    most = max((max(group.planned) for group in known), default=FEWEST)
    runs = next((runs for runs in range(most, FEWEST, -1) if taken(runs) <= seconds * devices), FEWEST)
    kept = tuple(group for group in groups if group in known)
    return Fitting(runs, kept, tuple(left_out), unknown)


def smallest_ratio(runs: int) -> float:
    """The ratio of two SDs of so many runs each that an F test finds, at 5 %, in 80 % of studies."""
    f = stats.f(runs - 1, runs - 1)
    return float(np.sqrt(f.ppf(1 - TAIL) * f.ppf(POWER)))


def decided(found: Fitting) -> tuple[list[str], list[str]]:
    """The papers' claims that the part which fits would decide, if the effects are as published, and the others."""
    cells = [cell for group in found.groups for cell in group.cells]
    told = [decidable(cells, found.runs) for decidable in analyses.adding("decidable", "decidable")]
    return [name for first, _ in told for name in first], [name for _, rest in told for name in rest]


def as_json(found: Fitting) -> dict[str, Any]:
    """What fits, as plain values; an unknown time is null."""
    groups = {name: [group._asdict() for group in getattr(found, name)] for name in ("groups", "left_out", "unknown")}
    claims = dict(zip(("decides", "leaves_open"), decided(found), strict=True))
    return {"runs": found.runs, "seconds": found.seconds, **groups, **claims}


def as_text(found: Fitting, seconds: float, devices: int) -> str:
    """What fits, for a person."""
    heading = ("hardware", "model", "data set", "variants", "planned", "fit", "a run", "all")
    rows = [_row(group, found.runs) for group in found.groups]
    rows += [_row(group, 0) for group in (*found.left_out, *found.unknown)]
    total = found.seconds / devices
    whole = sum(group.runs(max(group.planned)) for group in (*found.groups, *found.left_out, *found.unknown))
    fit = sum(group.runs(found.runs) for group in found.groups)
    lines = [*aligned([heading, *rows]), ""]
    if not found.groups:
        why = "the time of no run is known" if found.unknown else f"{FEWEST} runs of no cell fit"
        lines.append(f"nothing fits into {span(seconds)}: {why}")
    else:
        at_once = "one run at a time" if devices == 1 else f"{devices} runs at once"
        lines.append(f"{fit} of {whole} runs fit into {span(seconds)}, {at_once}: they take {span(total)}")
        planned = max(max(group.planned) for group in found.groups)
        lines += [_precision(runs) for runs in dict.fromkeys((found.runs, planned))]
        lines += _claims(found)
        lines.append(f"in the study's blocks: seeds: {found.runs}")
    if found.unknown:
        lines.append(
            "a time that nobody measured fits nowhere: --measure times it, or `snakemake speed` on its tooling"
        )
    return "\n".join(lines)


def _claims(found: Fitting) -> list[str]:
    decides, leaves_open = decided(found)
    if not decides and not leaves_open:
        return []
    line = f"claims that {found.runs} runs decide in {POWER:.0%} of studies, if the effects are as published: "
    return [f"{line}{len(decides)} of {len(decides) + len(leaves_open)}{': ' * bool(decides)}{', '.join(decides)}"]


def _row(group: Group, runs: int) -> tuple[str, ...]:
    fit = group.runs(runs) if runs else 0
    times = (
        ("unknown", "-") if group.seconds is None else (span(group.seconds), span(fit * group.seconds) if fit else "-")
    )
    first = group.cells[0]
    variants = ", ".join(cell.variant for cell in group.cells)
    planned = str(group.runs(max(group.planned)))
    return first.hardware, first.model, first.dataset, variants, planned, str(fit), *times


def _precision(runs: int) -> str:
    _, low, high = sd_interval(1.0, runs)
    apart = smallest_ratio(runs)
    return (
        f"{runs} runs of a draw: the 95 % interval of an SD reaches from {low:.2f} to {high:.2f} times the SD; "
        f"two SDs are told apart in {POWER:.0%} of studies if one is {apart:.1f} times the other"
    )
