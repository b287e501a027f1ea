"""What the readers of files of models share: how they refuse one, and what they make of it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Refused(Exception):  # noqa: N818 (it names the input, not the program's error)
    """A model that is not run: what was found and what is allowed."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(found, allowed)
        self.found, self.allowed = found, allowed


class NoFloat64(Exception):  # noqa: N818 (nothing failed)
    """A model that cannot be run in float64."""


class Input(NamedTuple):
    """An input of a model; a size that is free is None."""

    name: str
    shape: tuple[int | None, ...]
    dtype: np.dtype


class LoadedModel(NamedTuple):
    """A model that can be run: `run` takes an array for each input, and returns the first output.

    `least` and `most` are the sizes of batches that it was made for.
    """

    framework: str
    inputs: list[Input]
    run: Callable[[Sequence[np.ndarray]], np.ndarray]
    least: int = 1
    most: float = float("inf")
