"""Remedies for noise, by name: the set that a run's prediction of an image is averaged over.

A remedy is a set of views of the image (shifted, mirrored or both); or `snapshots`, the weights at the end of each of
the run's cosine cycles; or both, as in `snapshots+flip`. Every set includes the original image. The sets are Summers &
Dinneen's (their evaluate.py): for CIFAR-10 those of 25 and 81 crops, for MNIST 9, for ImageNet 9 that are 16 pixels
apart, the corners and middles of 256. Nothing heavy is imported: the Snakefile reads this module.
"""

from collections.abc import Iterable
from typing import NamedTuple


class View(NamedTuple):
    """A window shifted by this many pixels down and right of the middle, mirrored or not."""

    down: int
    right: int
    mirrored: bool


PLAIN = View(0, 0, mirrored=False)


def _crops(padding: int, stride: int) -> tuple[View, ...]:
    steps = range(-padding, padding + 1, stride)
    return tuple(PLAIN._replace(down=down, right=right) for down in steps for right in steps)


def _and_mirrored(views: tuple[View, ...]) -> tuple[View, ...]:
    return (*views, *(view._replace(mirrored=True) for view in views))


_CROPS = {"crops9": _crops(1, 1), "crops25": _crops(4, 2), "crops81": _crops(4, 1), "crops9-16": _crops(16, 16)}
SETS = {
    "flip": _and_mirrored((PLAIN,)),
    **_CROPS,
    **{f"flip+{name}": _and_mirrored(views) for name, views in _CROPS.items()},
}
SNAPSHOTS = "snapshots"  # also the suffix of a model trained for them: M-snapshots


def reach(name: str) -> int:
    """The most pixels by which a set of views shifts an image."""
    return max(max(abs(view.down), abs(view.right)) for view in SETS[name])


class Remedy(NamedTuple):
    """The average over these views, with all of a run's snapshots or only the last."""

    all_snapshots: bool
    views: tuple[View, ...]


def remedies(sets: Iterable[str], cycles: int) -> tuple[str, ...]:
    """The remedies for runs with this number of cosine cycles, if these sets of views are requested."""
    sets = tuple(sets)
    return (*sets, SNAPSHOTS, *(f"{SNAPSHOTS}+{name}" for name in sets)) if cycles > 1 else sets


def remedy(name: str) -> Remedy:
    """The remedy of that name."""
    alone = name.removeprefix(SNAPSHOTS).removeprefix("+")
    return Remedy(name != alone, SETS[alone] if alone else (PLAIN,))


def passes(names: Iterable[str], cycles: int) -> int:
    """The number of passes over the test set that these remedies need, for a run with this number of cycles."""
    wanted = [remedy(name) for name in names]
    every = set().union(*(each.views for each in wanted if each.all_snapshots))
    return (cycles - 1) * len(every) + len(every.union(*(each.views for each in wanted)))
