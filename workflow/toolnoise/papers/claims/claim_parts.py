"""The parts of a claim: each pair of arms, or each series of them, that it is about; and which claims are one test.

Keys that neither side of a claim names are equal on both sides: `of: {variant: algo}` over `{variant: impl}` compares
the two on each task and tooling. Two equal selectors mean any two subjects, each pair once.

Claims that compare the same arms, or their reciprocal, have one p-value and verdict: papers differ in words where they
agree in substance, and a study may lack what told two claims apart. A hypothesis is one test in Holm's adjustment,
however many claims make it; if several papers do, each has it among its own.
"""

import fnmatch
import itertools
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.metric_files import part_of
from toolnoise.papers.claims.arms import Arms, Subject
from toolnoise.stats.multiplicity import holm
from toolnoise.stats.quantities import NOBODY, Arm

Claim = Mapping[str, Any]
# Selectors of `group` that mean every class, or every sub-group.
PARTS = {"class": "class", "subgroup": "group"}
POSITIVES = "positives"  # a trend along the number of positive training examples of the group
DEFAULTS = {"group": "all", "remedy": ""}
DIGITS = 9  # of weights and bounds: those of a reciprocal are rounded in another way


class ClaimPart(NamedTuple):
    """A weighted sum of logarithms of arms, by its name; `places` are the subjects of each arm."""

    name: str
    terms: tuple[tuple[float, Arm], ...]
    places: tuple[tuple[Subject, ...], ...]

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Every subject, the one that the part is of first."""
        return tuple(subject for places in self.places for subject in places)


def parts(claim: Claim, arms: Arms, sizes: Mapping[tuple[str, str], float]) -> list[ClaimPart]:
    """Every part of a claim; `sizes` are the numbers of positive training examples by data set and group."""
    sides = [claim["of"], *_sides(claim)]
    named = set().union(*sides, claim["where"])
    where = {key: value for key, value in DEFAULTS.items() if key not in named} | claim["where"]
    subjects = [subject for subject in arms if _fits(subject, where, subject)]
    if claim["test"] == "trend":
        return list(_trends(claim, subjects, arms, sizes))
    if "over" not in claim:
        fitting = [subject for subject in subjects if _fits(subject, claim["of"], subject)]
        return [ClaimPart(_name(subject, ()), ((1, arms[subject]),), ((subject,),)) for subject in fitting]
    return list(_pairs(claim, subjects, arms))


def about_groups(claim: Claim) -> bool:
    """Whether a claim names a sub-group."""
    named = [side.get("group", []) for side in (claim["of"], *_sides(claim), claim["where"])]
    groups = {group for one in named for group in ([one] if isinstance(one, str) else one)}
    return bool(groups - {"all", "any", "class", "largest", "smallest"})


def _sides(claim: Claim) -> list[dict[str, Any]]:
    over = claim.get("over", [])
    return over if isinstance(over, list) else [over]


def _pairs(claim: Claim, subjects: list[Subject], arms: Arms) -> Iterator[ClaimPart]:
    sides, seen = _sides(claim), set()
    changed = set(claim["of"]).union(*sides)
    kept = [key for key in Subject._fields if key not in changed]
    alike: dict[tuple[str, ...], list[Subject]] = {}
    for subject in subjects:
        alike.setdefault(tuple(getattr(subject, key) for key in kept), []).append(subject)
    power = 2 if claim["measure"].endswith("_sd") else 1
    for group in alike.values():
        fitting = [[subject for subject in group if _fits(subject, side, subject)] for side in sides]
        for subject, *others in itertools.product(group, *fitting):
            if subject in others or not _fits(subject, claim["of"], others[0]):
                continue
            if not all(_agree(subject, other, claim["of"], side) for other, side in zip(others, sides, strict=True)):
                continue
            both = frozenset((subject, *others)) if claim["of"] == claim.get("over") else (subject, *others)
            if both in seen:
                continue
            seen.add(both)
            if claim["combined"] == "largest":
                others = [max(others, key=lambda other: arms[other].value)]
            terms = (1, arms[subject]), (-1, arms_together([arms[other] for other in others], power))
            yield ClaimPart(_name(subject, tuple(others)), terms, ((subject,), tuple(others)))


def _agree(a: Subject, b: Subject, of: Mapping[str, Any], over: Mapping[str, Any]) -> bool:
    """Whether two subjects are equal in each key that neither side names."""
    return all(getattr(a, key) == getattr(b, key) for key in Subject._fields if key not in of and key not in over)


def _trends(
    claim: Claim, subjects: Iterable[Subject], arms: Arms, sizes: Mapping[tuple[str, str], float]
) -> Iterator[ClaimPart]:
    ((key, pattern),) = claim["along"].items()
    series: dict[Subject, dict[Subject, float]] = {}
    for subject in subjects:
        size = _size(subject, pattern, sizes)
        if size and _fits(subject, claim["of"], subject):
            series.setdefault(subject._replace(**{key: pattern}), {})[subject] = size
    for place, by_size in series.items():
        logs = np.log(list(by_size.values()))
        spread = np.sum((logs - logs.mean()) ** 2)
        if spread > 0:
            weights = (logs - logs.mean()) / spread
            terms = tuple((float(weight), arms[subject]) for weight, subject in zip(weights, by_size, strict=True))
            yield ClaimPart(
                f"{_name(place, ())}: {len(by_size)} sizes", terms, tuple((subject,) for subject in by_size)
            )


def _size(subject: Subject, pattern: str, sizes: Mapping[tuple[str, str], float]) -> float:
    if pattern == POSITIVES:
        return 0 if subject.group == "all" else sizes.get((subject.dataset, subject.group), 0)
    before, after = map(re.escape, pattern.split("{size}"))
    number = re.fullmatch(rf"{before}(\d+){after}", subject.model)
    return float(number[1]) if number else 0


def _fits(subject: Subject, selector: Mapping[str, Any], other: Subject) -> bool:
    return all(_is(key, getattr(subject, key), wanted, other) for key, wanted in selector.items())


def _is(key: str, value: str, wanted: str | list[str], other: Subject) -> bool:
    if isinstance(wanted, list):
        return any(_is(key, value, pattern, other) for pattern in wanted)
    if wanted == "any":
        return True
    if key == "group" and wanted in PARTS:
        return part_of(value) == PARTS[wanted]
    return fnmatch.fnmatchcase(value, wanted.replace("{model}", other.model))


def _name(first: Subject, others: tuple[Subject, ...]) -> str:
    """The place of a part, and how its sides differ."""
    same = [value for key, value in first._asdict().items() if all(getattr(other, key) == value for other in others)]
    place = "/".join(value for value in same if value and value != "all")
    if not others:
        return place
    sides = [_differing(subject, first, others) for subject in (first, *others)]
    return f"{place}: {sides[0]} over {' and '.join(sides[1:])}"


def _differing(subject: Subject, first: Subject, others: tuple[Subject, ...]) -> str:
    keys = [key for key in Subject._fields if any(getattr(other, key) != getattr(first, key) for other in others)]
    return "/".join(getattr(subject, key) or "none" for key in keys)


def contrast_of(claim: Claim, parts: Sequence[ClaimPart]) -> tuple[Hashable, int]:
    """What a claim compares, the same for its reciprocal, and 1 or -1 for which of the two it is."""
    turned = [_turned(claim["measure"], part) for part in parts]
    first = turned[0][1]
    return frozenset((terms, sign * first) for terms, sign in turned), first


def hypothesis(claim: Claim, parts: Sequence[ClaimPart], bounds: Sequence[float]) -> Hashable:
    """What a claim tests; equal for two claims that must have one p-value."""
    compared, sign = contrast_of(claim, parts)
    together = claim["parts"] if len(parts) > 1 else "pooled"
    if "margin" in claim:
        return compared, together, claim["test"], claim["margin"]
    upwards = claim["direction"] in ("above", "rising")
    # The p-values of a pooled contrast are two-sided; which part decides for several depends on the direction.
    direction = 0 if together == "pooled" else sign * (1 if upwards else -1)
    return compared, together, frozenset(round(sign * bound, DIGITS) + 0.0 for bound in bounds), direction


def adjusted(papers: Sequence[str], tested: Sequence[Hashable | None], pvalues: Sequence[float]) -> list[float]:
    """p-values by Holm within each paper, each hypothesis once; one of several papers has its largest. None is NaN."""
    largest: dict[Hashable, float] = {}
    for paper in dict.fromkeys(papers):
        family = {key: pvalue for who, key, pvalue in zip(papers, tested, pvalues, strict=True) if key and who == paper}
        for key, pvalue in zip(family, holm(np.array(list(family.values()))), strict=True):
            largest[key] = max(largest.get(key, 0.0), float(pvalue))
    return [largest[key] if key else np.nan for key in tested]


def _turned(measure: str, part: ClaimPart) -> tuple[Hashable, int]:
    terms: list[tuple[Any, float]] = [
        ((measure, *places), round(weight, DIGITS)) for (weight, _), places in zip(part.terms, part.places, strict=True)
    ]
    terms.sort()
    sign = 1 if terms[0][1] > 0 else -1
    return tuple((place, sign * weight) for place, weight in terms), sign


def arms_together(arms: Sequence[Arm], power: int) -> Arm:
    """Several arms as one: their sum, or with `power` 2 the root of the sum of their squares."""
    if len(arms) == 1:
        return arms[0]
    values = np.array([arm.value for arm in arms])
    whole = float(np.sum(values**power) ** (1 / power))
    shares = values**power / whole**power if whole > 0 else values
    moves: dict[Hashable, float] = {}
    for share, arm in zip(shares.tolist(), arms, strict=True):
        for unit, moved in arm.moves.items():
            moves[unit] = moves.get(unit, 0.0) + share * moved
    return Arm(
        whole,
        min(arm.units for arm in arms),
        moves if all(arm.moves for arm in arms) else NOBODY,
        float(np.sqrt(np.sum((shares * [arm.error for arm in arms]) ** 2))),
        min(arm.freedom for arm in arms),
        fixed=any(arm.fixed for arm in arms),
    )
