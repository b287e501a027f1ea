"""Verdicts on claims: on the numbers that the papers published, and on a study.

A claim is supported if its interval lies wholly on its side, and refuted if it lies wholly on the other, after Holm's
adjustment within its paper: its two-sided p-value, adjusted, is below 5 %. Otherwise it cannot be told, and the number
of units per arm that would tell it is given: for 80 % power at the observed effect and the level of Holm's first step.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.metric_files import Columns
from toolnoise.claims import tests
from toolnoise.claims.arms import Arms, Subject, Tables, of_published, of_study, sizes_by_null
from toolnoise.claims.parts import Claim, Part, parts
from toolnoise.claims.tests import Finding
from toolnoise.datasets.counting import COUNTS
from toolnoise.metrics.overhead import OVERHEAD
from toolnoise.metrics.per_run import RUNS
from toolnoise.metrics.remedies import REMEDIES
from toolnoise.metrics.stability import STABILITY
from toolnoise.stats.contrasts import Contrast, contrast
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.multiplicity import holm
from toolnoise.stats.power import LEVEL, runs_needed
from toolnoise.stats.quantities import Arm
from toolnoise.study import published

# A row is of a claim as a whole (`part` is all), or of a part. `pvalue` is for the claim, `against` is against it; the
# smaller one is adjusted by Holm: that of a claim within its paper, that of a part within its claim. By the claim, the
# value is between `claimed_low` and `claimed_high`; by a claim of a difference, it is not.
CLAIMS: Columns = {
    **dict.fromkeys(("paper", "claim", "says", "source", "test", "side", "part", "verdict"), str),
    **dict.fromkeys(("value", "ci_low", "ci_high", "claimed_low", "claimed_high"), float),
    **dict.fromkeys(("pvalue", "against", "adjusted"), float),
    "n_units": int,
    "n_needed": float,
    **dict.fromkeys(("hardware", "note"), str),
}
PUBLISHED, STUDY = "published", "study"
SUPPORTED, REFUTED, OPEN = "supported", "refuted", "cannot be told"
ABSENT = {PUBLISHED: "not published", STUDY: "not run"}
WHOLE = "all"
MANY = 1e6  # degrees of freedom of a t distribution that is normal
# The metric files that claims are judged on, by kind.
READ = {"stability": STABILITY, "runs": RUNS, "overhead": OVERHEAD, "remedies": REMEDIES, "counts": COUNTS}
NUMBERS = (published.FILE, published.SOURCES, published.REMEDIES)

Sizes = dict[tuple[str, str], float]
Bounds = Callable[[Subject], float]


class Side(NamedTuple):
    """What claims are judged on: the arms of a claim, the sizes of groups, and the bound by size alone of a part."""

    name: str
    arms: Callable[[Claim], Arms]
    sizes: Sizes
    null: Callable[[Claim], Bounds]


class Shown(NamedTuple):
    """A claim or one of its parts: its effect, and the evidence unless there is too little for any."""

    name: str
    effect: Estimate
    claimed: tuple[float, float]
    finding: Finding | None
    error: float
    freedom: float
    units: int
    fixed: bool
    toolings: tuple[str, ...]


def read(path: str | Path) -> pd.DataFrame:
    """The verdicts in a file: each once, and each claim as a whole on both sides."""
    found = metric_files.read(path, CLAIMS)
    keys = found[["claim", "part", "side"]]
    if keys.duplicated().any():
        raise BadInput(path, "claim", f"found {'/'.join(keys[keys.duplicated()].iloc[0])} twice", "each verdict once")
    whole = found[found["part"] == WHOLE]
    here, published = (set(whole[whole["side"] == side]["claim"]) for side in (STUDY, PUBLISHED))
    if lone := sorted(here ^ published):
        raise BadInput(path, "side", f"found one side of {lone[0]}", f"{PUBLISHED} and {STUDY} of each claim")
    return found


def judge(
    claims: list[dict[str, Any]],
    stability: list[str],
    runs: list[str],
    overhead: list[str],
    remedies: list[str],
    counts: list[str],
    out: str,
) -> None:
    """Write the verdicts on claims, by the published numbers and by a study's metric files; a kind may have no file."""
    found = {"stability": stability, "runs": runs, "overhead": overhead, "remedies": remedies, "counts": counts}
    tables = {kind: metric_files.read(paths, READ[kind]) for kind, paths in found.items() if paths}
    sides = (by_publication(), by_study(tables))
    metric_files.write(out, CLAIMS, [row for side in sides for row in verdicts(claims, side)])


def by_publication() -> Side:
    """The side of the published numbers."""
    numbers = [number for path in NUMBERS for number in published.read(path)]

    def arms(claim: Claim) -> Arms:
        items = claim.get("published", {}).get("items", ())
        return of_published(claim["measure"], [number for number in numbers if _item(number) in items])

    counts = [number for number in numbers if (number.metric, number.split, number.label) == ("count", "train", "1")]
    sizes = {(number.dataset, number.group): number.amount for number in counts}
    return Side(PUBLISHED, arms, sizes, lambda claim: lambda _: claim["published"].get("reference", math.nan))


def by_study(tables: Tables) -> Side:
    """The side of a study, from its metric files by kind."""
    sizes: Sizes = {}
    if "counts" in tables:
        counts = tables["counts"]
        mine = counts[(counts["split"] == "train") & (counts["label"] == "1")]
        sizes = {(row.dataset, row.group): row.n for row in mine.rename(columns={"count": "n"}).itertuples()}
    arms = functools.cache(lambda measure: of_study(measure, tables))
    return Side(STUDY, lambda claim: arms(claim["measure"]), sizes, lambda claim: _by_size(claim, tables))


def verdicts(claims: Sequence[Claim], side: Side) -> Iterator[tuple[Any, ...]]:
    """The rows of all claims on one side: each claim, then its parts."""
    examined = [examine(claim, side) for claim in claims]
    tested: dict[str, list[int]] = {}
    for place, (whole, _) in enumerate(examined):
        if whole and whole.finding and not _is_observed(claims[place]):
            tested.setdefault(claims[place]["paper"], []).append(place)
    adjusted = np.full(len(claims), np.nan)
    for places in tested.values():
        adjusted[places] = holm(np.array([min(examined[place][0].finding.pvalues) for place in places]))
    for claim, (whole, each), pvalue in zip(claims, examined, adjusted, strict=True):
        if whole is None:
            about = claim["paper"], claim["name"], claim["says"], claim["source"], claim["test"]
            yield (*about, side.name, WHOLE, ABSENT[side.name], *[np.nan] * 8, 0, np.nan, "", claim["note"])
            continue
        family = len(tested.get(claim["paper"], ())) or 1
        # One of several parts must pass the strictest of their levels.
        looks = len(each) if claim["parts"] == "any" else 1
        yield _row(claim, side, whole, pvalue, LEVEL / family / looks, each)
        within = holm(np.array([min(one.finding.pvalues) if one.finding else np.nan for one in each]))
        for one, its in zip(each, within, strict=True):
            yield _row(claim, side, one, its, LEVEL / len(each))


def examine(claim: Claim, side: Side) -> tuple[Shown | None, list[Shown]]:
    """A claim as a whole and its parts; nothing if there is no part."""
    found = parts(claim, side.arms(claim), side.sizes)
    if not found:
        return None, []
    bounds = [_bound(claim, part, side) for part in found]
    if _is_observed(claim):
        return _observed(claim, found)
    contrasts = [contrast(part.terms) for part in found]
    each = [
        _shown(claim, part.name, one, bound, part.toolings)
        for part, one, bound in zip(found, contrasts, bounds, strict=True)
    ]
    toolings = tuple(dict.fromkeys(tooling for part in found for tooling in part.toolings))
    if claim["parts"] == "pooled":
        return _shown(claim, WHOLE, contrast(_pooled(found)), float(np.mean(bounds)), toolings), each
    told = [one for one in each if one.finding]
    if not told or (claim["parts"] == "every" and len(told) < len(each)):
        return each[0]._replace(name=WHOLE, finding=None, toolings=toolings), each
    finding, place = (tests.every if claim["parts"] == "every" else tests.some)([one.finding for one in told])
    return told[place]._replace(name=WHOLE, finding=finding, toolings=toolings), each


def _shown(claim: Claim, name: str, found: Contrast, bound: float, toolings: tuple[str, ...]) -> Shown:
    effect = found.estimate
    if claim["test"] != "trend":
        with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
            effect = Estimate(*np.exp(effect).tolist())
    told = not np.isnan([found.error, bound]).any()
    finding = _finding(claim, found, bound) if told else None
    return Shown(
        name,
        effect,
        _claimed(claim, bound),
        finding,
        found.error,
        found.freedom,
        min(found.units, default=0),
        found.fixed,
        toolings,
    )


def _finding(claim: Claim, found: Contrast, bound: float) -> Finding:
    margin = math.log(claim.get("margin", 1))
    match claim["test"], claim.get("direction"):
        case "equivalence", _:
            return tests.equal(found, margin)
        case "difference", _:
            return tests.different(found, margin)
        case _, "above" | "rising":
            return tests.above(found, bound)
        case _:
            return tests.below(found, bound)


def _claimed(claim: Claim, bound: float) -> tuple[float, float]:
    """The bounds of what a claim says of its effect; those of a difference are of what it denies."""
    low, high = -math.inf, math.inf
    if "margin" in claim:
        low, high = -math.log(claim["margin"]), math.log(claim["margin"])
    elif claim["direction"] in ("above", "rising"):
        low = bound
    else:
        high = bound
    return (low, high) if claim["test"] == "trend" else (math.exp(low), math.exp(high))


def _pooled(found: Sequence[Part]) -> list[tuple[float, Arm]]:
    """The mean of the parts; an arm that several parts have is one arm."""
    weights: dict[int, float] = {}
    arms = {id(arm): arm for part in found for _, arm in part.terms}
    for part in found:
        for weight, arm in part.terms:
            weights[id(arm)] = weights.get(id(arm), 0) + weight / len(found)
    return [(weights[key], arm) for key, arm in arms.items()]


def _observed(claim: Claim, found: Sequence[Part]) -> tuple[Shown, list[Shown]]:
    """Presence is seen, not estimated: a quantity that is 0 if no two runs differ."""
    each = []
    for part in found:
        ((_, arm),) = part.terms
        seen = None if np.isnan(arm.value) else Finding(float(arm.value == 0), float(arm.value > 0), np.nan)
        effect = Estimate(arm.value, np.nan, np.nan)
        each.append(
            Shown(part.name, effect, (0.0, math.inf), seen, np.nan, np.nan, arm.units, arm.fixed, part.toolings)
        )
    told = [one for one in each if one.finding]
    toolings = tuple(dict.fromkeys(tooling for part in found for tooling in part.toolings))
    if not told:
        return each[0]._replace(name=WHOLE, toolings=toolings), each
    # Of every part, the one of the smallest value decides; of any, that of the largest.
    choose = min if claim["parts"] == "every" else max
    return choose(told, key=lambda one: one.effect.value)._replace(name=WHOLE, toolings=toolings), each


def _is_observed(claim: Claim) -> bool:
    return claim["test"] == "presence"


def _row(
    claim: Claim, side: Side, one: Shown, adjusted: float, level: float, each: Sequence[Shown] = ()
) -> tuple[Any, ...]:
    """The row of a claim, which has parts, or of a part."""
    finding, verdict = one.finding, OPEN
    pvalues = finding.pvalues if finding and not _is_observed(claim) else (np.nan, np.nan)
    if finding and (_is_observed(claim) or adjusted < LEVEL):
        verdict = SUPPORTED if finding.supports < finding.refutes else REFUTED
    needed = _needed(one, level) if verdict == OPEN and finding else np.nan
    about = ("", "") if one.name != WHOLE else (claim["says"], claim["source"])
    hardware = ", ".join(name for name in one.toolings if name)
    return (
        *(claim["paper"], claim["name"], *about, claim["test"], side.name, one.name, verdict),
        *(*one.effect, *one.claimed, *pvalues, adjusted, one.units, needed, hardware, _note(claim, side, one, each)),
    )


def _needed(one: Shown, level: float) -> float:
    """The units per arm for 80 % power at the observed effect; its standard error shrinks with their root."""

    def power(units: int) -> float:
        more = (units - 1) / (one.units - 1)
        freedom, shift = min(one.freedom * more, MANY), one.finding.distance / one.error * more**0.5
        return float(special.stdtr(freedom, shift - special.stdtrit(freedom, 1 - level / 2)))

    if one.units < 2 or one.error == 0:
        return math.nan
    units = runs_needed(power)
    return math.inf if units is None else float(max(units, one.units + 1))


def _note(claim: Claim, side: Side, one: Shown, each: Sequence[Shown]) -> str:
    notes = []
    if one.finding is None:
        notes.append("no spread is published" if side.name == PUBLISHED else "too few runs, or a value of 0")
    if one.fixed:
        fixed = sum(part.fixed for part in each)
        some = f"in {fixed} of {len(each)} parts, " if claim["parts"] == "pooled" and fixed < len(each) else ""
        notes.append(f"{some}for one draw of what the runs share")
    if one.name == WHOLE and claim["note"]:
        notes.append(claim["note"])
    return "; ".join(notes)


def _bound(claim: Claim, part: Part, side: Side) -> float:
    """The logarithm of the number that an effect is compared with; a trend is compared with none."""
    if claim["test"] == "trend":
        return 0.0
    reference = claim["reference"]
    return float(np.log(side.null(claim)(part.subject) if reference == "size" else reference))


def _by_size(claim: Claim, tables: Mapping[str, Any]) -> Bounds:
    found = sizes_by_null(claim["measure"], tables.get("stability"))
    return lambda subject: found.get(subject, math.nan)


def _item(number: published.Number) -> str:
    return number.item.partition("/")[0]
