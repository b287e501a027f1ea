"""Remedies for noise, by name: what a run's prediction of an image is averaged over.

A remedy is a set of views of the image, moved, mirrored or both; or `snapshots`, the weights at the end of each of the
run's cosine cycles; or both, as in `snapshots+flip`. The image as it is belongs to every set. The sets are Summers &
Dinneen's: for CIFAR-10 those of 25 and 81 crops, for MNIST that of 9. Nothing heavy is imported: the Snakefile reads
this module.
"""

from collections.abc import Iterable
from typing import NamedTuple


class View(NamedTuple):
    """The window this many pixels further down and to the right than the middle, and whether it is mirrored."""

    down: int
    right: int
    mirrored: bool


PLAIN = View(0, 0, mirrored=False)


def _crops(padding: int, stride: int) -> tuple[View, ...]:
    steps = range(-padding, padding + 1, stride)
    return tuple(PLAIN._replace(down=down, right=right) for down in steps for right in steps)


def _and_mirrored(views: tuple[View, ...]) -> tuple[View, ...]:
    return (*views, *(view._replace(mirrored=True) for view in views))


_CROPS = {"crops9": _crops(1, 1), "crops25": _crops(4, 2), "crops81": _crops(4, 1)}
SETS = {
    "flip": _and_mirrored((PLAIN,)),
    **_CROPS,
    **{f"flip+{name}": _and_mirrored(views) for name, views in _CROPS.items()},
}
SNAPSHOTS = "snapshots"  # and how a model is named that is trained for them: M-snapshots


class Remedy(NamedTuple):
    """What is averaged: these views, of all of a run's snapshots or of the last one alone."""

    all_snapshots: bool
    views: tuple[View, ...]


def remedies(sets: Iterable[str], cycles: int) -> tuple[str, ...]:
    """The remedies for runs of so many cosine cycles, if these sets of views are asked for."""
    sets = tuple(sets)
    return (*sets, SNAPSHOTS, *(f"{SNAPSHOTS}+{name}" for name in sets)) if cycles > 1 else sets


def remedy(name: str) -> Remedy:
    """What a remedy of that name averages."""
    alone = name.removeprefix(SNAPSHOTS).removeprefix("+")
    return Remedy(name != alone, SETS[alone] if alone else (PLAIN,))


def passes(names: Iterable[str], cycles: int) -> int:
    """How often these remedies have a network go over the test set, for a run of so many cycles."""
    wanted = [remedy(name) for name in names]
    every = set().union(*(one.views for one in wanted if one.all_snapshots))
    return (cycles - 1) * len(every) + len(every.union(*(one.views for one in wanted)))
