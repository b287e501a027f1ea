"""The numbers that the papers print, and the cells and networks of a study that they can be compared with.

resources/published.csv has each number as it was printed, its unit, its runs and its divisor (ddof 1 is n - 1; empty if
unknown), the evidence for it ([P]aper's text, authors' [C]ode, [R]eplication, public [W]eb page, [D]erived), the
columns that are inferred rather than printed, and its source. Pure and light: the Snakefile reads this module.
"""

import csv
import functools
import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.program import path_of
from toolnoise.study.cells import Cell, Variants

FILE = path_of("resources/published.csv")
SOURCES = FILE.with_name("published-sources.csv")  # Summers & Dinneen and their replication: each source alone
SOURCES_MODEL = "resnet14"  # the model of most numbers of single sources
IDENTICAL = FILE.with_name("published-identical.csv")  # Pham et al.: the main numbers of identical runs
REMEDIES = FILE.with_name("published-remedies.csv")  # Summers & Dinneen: the noise that remains with a remedy
SCALES = {"percent": 100, "points": 100, "ratio": 1, "examples": 1, "classes": 1, "nats": 1}
LARGEST, SMALLEST = "largest", "smallest"  # values of the column `group`: over all classes, or over all networks
ACCELERATOR = "gpu"  # the kind of accelerator of all numbers of Zhuang et al.
# The variants of a study that a variant of Zhuang et al. can be compared with, in order of preference. Their code
# fixes augmentation in every variant and their networks have no dropout: their ALGO varies init and shuffle.
VARIANTS = {"algo_impl": ("algo_impl", "init+shuffle+impl"), "algo": ("algo", "init+shuffle"), "impl": ("impl",)}
# The variants that are denominators of ratios.
DENOMINATORS = (VARIANTS["algo_impl"], VARIANTS["algo"])
OVERHEAD_AT = {"batch_size": 64, "image_size": 224}  # the settings of figures 8 and 9


class Number(NamedTuple):
    """One published number; `value` as printed. Names that do not apply are empty."""

    item: str
    model: str
    dataset: str
    hardware: str
    variant: str
    split: str
    group: str
    label: str
    metric: str
    value: str
    unit: str
    n_runs: str
    ddof: str
    evidence: str
    inferred: str
    source: str

    @property
    def amount(self) -> float:
        """The value in the unit of metric files; SDs are converted to the divisor n - 1."""
        amount = float(self.value) / SCALES[self.unit]
        runs = int(self.n_runs or 0)
        return amount * math.sqrt(runs / (runs - 1)) if self.ddof == "0" else amount

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of a study that it can be compared with; all of them if the number states no variant."""
        return VARIANTS[self.variant] if self.variant else tuple(name for names in VARIANTS.values() for name in names)


def read_published(path: Path = FILE) -> list[Number]:
    """Every published number of a file of resources/."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Number(**row) for row in csv.DictReader(file)]


@functools.cache
def published_trainings() -> frozenset[tuple[str, str, str]]:
    """The models, data sets and variants of trainings with a number of Zhuang et al."""
    numbers = (number for number in read_published() if number.model and number.dataset)
    return frozenset((number.model, number.dataset, name) for number in numbers for name in number.variants)


@functools.cache
def published_timings() -> frozenset[str]:
    """The networks whose cost of determinism has a number of Zhuang et al."""
    return frozenset(number.model for number in read_published() if number.metric == "kernel_ratio" and number.model)


def remedy_of_number(number: Number) -> str:
    """The remedy of a number from `REMEDIES`, by its name in metric files."""
    return number.item.partition("/")[2].replace("snapshot5", "snapshots").replace("_", "+").replace("crop", "crops")


def with_batch_norm(cell: Cell) -> Cell:
    """The cell of the same model with batch normalisation: M-bn for a model M."""
    return cell._replace(model=f"{cell.model}-bn")


def comparisons_of_cells(place: Variants, cells: Collection[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """The ratios of a task on a tooling: each numerator, which is a cell of this place, with its denominator.

    Each variant is compared with ALGO+IMPL and with ALGO (or the authors' versions), and M-bn with M. Both cells share
    data set and tooling, and mostly seeds, so most runs share their draws. The ratios of M need no run of M-bn.
    """
    beside = [cell for cell in cells if cell[:3] == place]
    for variants in DENOMINATORS:
        whole = next((cell for cell in (Cell(*place, variant) for variant in variants) if cell in beside), None)
        if whole:
            yield from ((cell, whole) for cell in beside if cell != whole)
    yield from ((with_batch_norm(cell), cell) for cell in cells if with_batch_norm(cell) in beside)
