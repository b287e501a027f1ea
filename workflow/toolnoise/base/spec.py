"""A spec: everything that may influence a run or a measurement, except data and code, which have their own digests.

A spec keeps its whole JSON, read-only, so it is written as it was read; the parts that code uses are fields. A spec may
come from a stranger: for a missing key, or a part of another kind, `read` raises Python's own error.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType
from typing import Any, Self

# The module that reads data sets of originals and no others; the entry of such a data set has this `stored_size`.
ORIGINALS, ORIGINAL = "toolnoise.datasets.readers.originals", "original"


@dataclass(frozen=True, slots=True)
class _Read:
    json: Mapping[str, Any]

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Self:
        """Read JSON, in which a field with a default may be missing."""
        names = (field.name for field in fields(cls)[1:] if field.default is MISSING or field.name in value)
        parts = {key: _field(key, value[key]) for key in names}
        return cls(MappingProxyType(value), **parts)


@dataclass(frozen=True, slots=True)
class NamedPart(_Read):
    """A part that has a name in the study."""

    name: str


@dataclass(frozen=True, slots=True)
class DataPart(NamedPart):
    """A data set."""

    stored_size: int | str | None = None


@dataclass(frozen=True, slots=True)
class Model(NamedPart):
    """A network that is built here, an existing training program, or runs that existed before the study."""

    builder: str | None = None  # of a network, as module:function
    command: str | None = None  # of a program
    adopted: str | None = None  # the folder of runs
    outcome: str | None = None  # the kind of outcome that a program leaves


@dataclass(frozen=True, slots=True)
class Hardware(NamedPart):
    """A tooling."""

    engine: str
    impl_noise: str


@dataclass(frozen=True, slots=True)
class VariantPart(NamedPart):
    """A variant: the sources that may vary between the runs of a cell."""

    varying: tuple[str, ...]
    bit_after: int | None = None  # the number of epochs after which a bit is moved
    bit_tensor: str | None = None  # the tensor whose bit is moved; if None, any kernel


@dataclass(frozen=True, slots=True)
class Spec(_Read):
    """The spec of one run, or of a measurement of cost, which has images and steps instead of a data set."""

    study_seed: int
    model: Model
    hardware: Hardware
    recipe: Mapping[str, Any]
    variant: VariantPart
    seed: int
    draw: int | None = None  # the draw of the fixed sources, in a cell with several draws
    dataset: DataPart | None = None
    images: Mapping[str, int] | None = None
    steps: Mapping[str, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON that `read` reads."""
        return dict(self.json)

    def varies(self, source: str) -> bool:
        """Whether a source of noise may vary between the runs of its cell."""
        return source in self.variant.varying


PARTS = {"model": Model, "hardware": Hardware, "variant": VariantPart, "dataset": DataPart}


def _field(key: str, value: Any) -> Any:
    if key in PARTS:
        return PARTS[key].read(value)
    return MappingProxyType(value) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else value
