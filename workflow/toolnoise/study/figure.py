"""A figure of a study."""

from typing import NamedTuple

from toolnoise.study.cells import Cell, Dataset, Network, Pair, Task


class Figure(NamedTuple):
    """One notebook executed for some toolings and tasks; `excluded` are cells of these that it does not show."""

    name: str
    notebook: str
    hardware: tuple[str, ...]
    tasks: tuple[tuple[str, str], ...]
    excluded: tuple[Cell, ...] = ()

    def shows(self, place: Cell | Network | Pair | Task | Dataset) -> bool:
        """Whether the figure shows a cell, a network, a pair of toolings, a task or a data set."""
        if isinstance(place, Dataset):
            return any(place.dataset == dataset for _, dataset in self.tasks)
        if isinstance(place, Task):
            return tuple(place) in self.tasks
        toolings = {place.hardware, getattr(place, "other_hardware", place.hardware)}
        cells = place.cells if isinstance(place, Pair) else (place,)
        return place.task in self.tasks and toolings <= set(self.hardware) and set(cells).isdisjoint(self.excluded)
