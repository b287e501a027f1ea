"""Remedies for noise, by name: each averages a run's prediction of an image over a set.

The set has views of the image (shifted, mirrored or both); or `snapshots`, the weights at the end of each of the run's
cosine cycles; or both, as in `snapshots+flip`. It always includes the original image. The sets come from Summers &
Dinneen's evaluate.py: 25 and 81 crops for CIFAR-10, 9 for MNIST, and for ImageNet 9 that are 16 pixels apart (corners
and middles of 256 pixels). Imports nothing heavy, because the Snakefile reads this module.
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


def largest_shift(name: str) -> int:
    """The largest shift in a set of views, in pixels."""
    return max(max(abs(view.down), abs(view.right)) for view in SETS[name])


class Remedy(NamedTuple):
    """The average over these views, with all of a run's snapshots or only the last."""

    all_snapshots: bool
    views: tuple[View, ...]


def remedies_of_runs(sets: Iterable[str], cycles: int) -> tuple[str, ...]:
    """The remedies for runs with this number of cosine cycles, if these sets of views are requested."""
    sets = tuple(sets)
    return (*sets, SNAPSHOTS, *(f"{SNAPSHOTS}+{name}" for name in sets)) if cycles > 1 else sets


def remedy_named(name: str) -> Remedy:
    """The remedy of that name."""
    alone = name.removeprefix(SNAPSHOTS).removeprefix("+")
    return Remedy(name != alone, SETS[alone] if alone else (PLAIN,))


def count_passes(names: Iterable[str], cycles: int) -> int:
    """The number of passes over the test set that these remedies need, for a run with this number of cycles."""
    wanted = [remedy_named(name) for name in names]
    every = set().union(*(each.views for each in wanted if each.all_snapshots))
    return (cycles - 1) * len(every) + len(every.union(*(each.views for each in wanted)))
