"""The places of a study: each is the subject of a job, identified by the names in the job's paths and command line."""

from typing import NamedTuple

from toolnoise.base.spec import Spec

# The two modes that the cost of determinism compares; as a variant, a mode lists the sources that may vary.
MODES = {"default": ("impl",), "deterministic": ()}

_TASK = property(lambda place: (place.model, place.dataset), doc="The model and the data set.")


class Dataset(NamedTuple):
    """One data set."""

    dataset: str


class Cell(NamedTuple):
    """One training task on one tooling under one variant."""

    model: str
    dataset: str
    hardware: str
    variant: str
    task = _TASK

    @classmethod
    def of(cls, spec: Spec) -> "Cell":
        """The cell of a run."""
        return cls(spec.model.name, spec.dataset.name, spec.hardware.name, spec.variant.name)


class Training(NamedTuple):
    """One training of a cell, in a process of its own."""

    model: str
    dataset: str
    hardware: str
    variant: str
    seed: int

    @property
    def cell(self) -> Cell:
        """The cell of which this training is a replicate."""
        return Cell(*self[:4])


class Variants(NamedTuple):
    """A task on a tooling, under all its variants."""

    model: str
    dataset: str
    hardware: str
    task = _TASK


class Pair(NamedTuple):
    """Two toolings that train the same task from the same draws."""

    model: str
    dataset: str
    hardware: str
    other_hardware: str
    variant: str
    task = _TASK

    @property
    def reversed(self) -> "Pair":
        """The same pair in the other order."""
        return self._replace(hardware=self.other_hardware, other_hardware=self.hardware)

    @property
    def cells(self) -> tuple[Cell, Cell]:
        """The cells of the two toolings."""
        first, second = (Cell(*self[:2], hardware, self.variant) for hardware in self[2:4])
        return first, second


class Profile(NamedTuple):
    """One measurement of a training step: a network on a tooling in a mode, in a process of its own."""

    model: str
    hardware: str
    mode: str
    repeat: int


class Network(NamedTuple):
    """The subject of profiles: a network on a tooling, with no data set and in both modes."""

    model: str
    hardware: str

    @property
    def task(self) -> tuple[str, str]:
        """The model, with an empty name for the data set."""
        return self.model, ""


class MetricFile(NamedTuple):
    """One kind of metric file of the study as a whole."""

    kind: str


class Shown(NamedTuple):
    """One figure or table, by its name."""

    figure: str


class Whole(NamedTuple):
    """The study as a whole."""


Place = Dataset | Cell | Training | Variants | Pair | Profile | Network | MetricFile | Shown | Whole
