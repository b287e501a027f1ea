"""The parts of a claim: each pair of arms, or each series of them, that it is about.

Keys that neither side of a claim names are equal on both sides: `of: {variant: algo}` over `{variant: impl}` compares
the two on each task and tooling. Two equal selectors mean any two subjects, each pair once.
"""

import fnmatch
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.metric_files import part_of
from toolnoise.papers.claims.arms import Arms, Subject
from toolnoise.stats.quantities import Arm

Claim = Mapping[str, Any]
# Selectors of `group` that mean every class, or every sub-group.
PARTS = {"class": "class", "subgroup": "group"}
POSITIVES = "positives"  # a trend along the number of positive training examples of the group
DEFAULTS = {"group": "all", "remedy": ""}


class ClaimPart(NamedTuple):
    """A weighted sum of logarithms of arms, by its name; `subjects` are those of the arms."""

    name: str
    terms: tuple[tuple[float, Arm], ...]
    subjects: tuple[Subject, ...]


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
        return [ClaimPart(_name(subject, ()), ((1, arms[subject]),), (subject,)) for subject in fitting]
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
            largest = max(others, key=lambda other: arms[other].value)
            terms = (1, arms[subject]), (-1, arms[largest])
            yield ClaimPart(_name(subject, (largest,)), terms, (subject, largest))


def _agree(a: Subject, b: Subject, of: Mapping[str, Any], over: Mapping[str, Any]) -> bool:
    """Whether two subjects are equal in each key that neither side names."""
    return all(getattr(a, key) == getattr(b, key) for key in Subject._fields if key not in of and key not in over)


def _trends(
    claim: Claim, subjects: Iterable[Subject], arms: Arms, sizes: Mapping[tuple[str, str], float]
) -> Iterator[ClaimPart]:
    ((key, along),) = claim["along"].items()
    series: dict[Subject, dict[Subject, float]] = {}
    for subject in subjects:
        size = _size(subject, key, along, sizes)
        if size and _fits(subject, claim["of"], subject):
            place = subject._replace(**{key: along if isinstance(along, str) else "size"})
            series.setdefault(place, {})[subject] = size
    for place, by_size in series.items():
        logs = np.log(list(by_size.values()))
        spread = np.sum((logs - logs.mean()) ** 2)
        if spread > 0:
            weights = (logs - logs.mean()) / spread
            terms = tuple((float(weight), arms[subject]) for weight, subject in zip(weights, by_size, strict=True))
            yield ClaimPart(f"{_name(place, ())}: {len(by_size)} sizes", terms, tuple(by_size))


def _size(
    subject: Subject, key: str, along: str | Mapping[str, float], sizes: Mapping[tuple[str, str], float]
) -> float:
    """What a trend follows: a stated size by name, the positives of a group, or the number in a model's name."""
    if not isinstance(along, str):
        return along.get(getattr(subject, key), 0)
    if along == POSITIVES:
        return 0 if subject.group == "all" else sizes.get((subject.dataset, subject.group), 0)
    before, after = map(re.escape, along.split("{size}"))
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
