"""A spec: everything that may influence a run or a measurement, except data and code, which have their own digests.

It keeps its JSON whole, read-only, so it is written as it was read; what code asks of it has a name. It may be a
stranger's: for a key that it lacks, or a part of another kind, `read` raises what Python raises.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType
from typing import Any, Self

# What reads data that keeps originals, and nothing else; the entry of such data has this `stored_size`.
ORIGINALS, ORIGINAL = "toolnoise.datasets.readers.originals", "original"


@dataclass(frozen=True, slots=True)
class _Read:
    json: Mapping[str, Any]

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Self:
        """From JSON; a field with a default may lack there."""
        asked = (one.name for one in fields(cls)[1:] if one.default is MISSING or one.name in value)
        found = {key: _field(key, value[key]) for key in asked}
        return cls(MappingProxyType(value), **found)


@dataclass(frozen=True, slots=True)
class NamedPart(_Read):
    """What the study has a name for."""

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
    outcome: str | None = None  # the kind of what a program leaves


@dataclass(frozen=True, slots=True)
class Hardware(NamedPart):
    """A tooling."""

    engine: str
    impl_noise: str


@dataclass(frozen=True, slots=True)
class VariantPart(NamedPart):
    """What varies between the runs of a cell."""

    varying: tuple[str, ...]
    bit_after: int | None = None  # the epochs after which a bit is moved
    bit_tensor: str | None = None  # the tensor that it is moved in; without it, any kernel


@dataclass(frozen=True, slots=True)
class Spec(_Read):
    """Of one run; or of a measurement of cost, which has images and steps instead of a data set."""

    study_seed: int
    model: Model
    hardware: Hardware
    recipe: Mapping[str, Any]
    variant: VariantPart
    seed: int
    draw: int | None = None  # of what is fixed, in a cell that has several
    dataset: DataPart | None = None
    images: Mapping[str, int] | None = None
    steps: Mapping[str, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """What `read` reads."""
        return dict(self.json)

    def varies(self, source: str) -> bool:
        """Whether a source of noise may vary between the runs of its cell."""
        return source in self.variant.varying


PARTS = {"model": Model, "hardware": Hardware, "variant": VariantPart, "dataset": DataPart}


def _field(key: str, value: Any) -> Any:
    if key in PARTS:
        return PARTS[key].read(value)
    return MappingProxyType(value) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else value
