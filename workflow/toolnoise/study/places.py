"""The places of a study that have jobs of some kind: simple queries that several modules use."""

from collections.abc import Iterable, Iterator

from toolnoise.datasets import sources
from toolnoise.formulas.outcomes import SCORED
from toolnoise.study import programs
from toolnoise.study.builders import is_own
from toolnoise.study.cells import Cell, Dataset, Training, Variants
from toolnoise.study.entries import of_text
from toolnoise.study.figure_kinds import KINDS
from toolnoise.study.study import Study


def from_files(study: Study) -> list[Dataset]:
    """Data sets that are read from files."""
    return [Dataset(name) for name in study.datasets if sources.sources_of(study.config["datasets"][name])]


def prepared_places(study: Study) -> list[Dataset]:
    """Data sets that a reader prepares; the others come from the outputs of training programs."""
    left = left_by_programs(study)
    return [place for place in map(Dataset, study.datasets) if place not in left]


def left_by_programs(study: Study) -> list[Dataset]:
    """Data sets that come from the outputs of training programs."""
    readers = {name: study.config["datasets"][name]["reader"] for name in study.datasets}
    return [Dataset(name) for name, reader in readers.items() if reader == programs.READER]


def with_named_classes(study: Study) -> list[Dataset]:
    """Data sets whose classes are shown by name, if only their files may contain the names."""
    by_class = (figure for figure in study.figures if "labels" in KINDS[figure.notebook].also)
    shown = {dataset for figure in by_class for _, dataset in figure.tasks}
    unnamed = {name for name in shown if "classes" not in study.config["datasets"][name]}
    return [place for place in from_files(study) if place.dataset in unnamed]


def built_places(study: Study) -> list[Cell]:
    """Cells of networks that are built here."""
    return [cell for cell in study.cells if not study.is_program(cell)]


def of_programs(study: Study) -> list[Cell]:
    """Cells of training programs."""
    return [cell for cell in study.cells if study.is_program(cell)]


def scored_by_programs(study: Study, scored: bool = True) -> list[Cell]:
    """Cells of training programs whose runs output class scores; with `scored=False`, the other cells of programs."""
    return [
        cell for cell in of_programs(study) if (programs.outcome_of_model(study.config, cell.model) in SCORED) == scored
    ]


def of_language(study: Study) -> list[Cell]:
    """Cells of language models that are built here."""
    return [cell for cell in built_places(study) if of_text(study.config["datasets"][cell.dataset])]


def own_models(study: Study) -> list[Variants]:
    """Tasks on toolings whose network is built by the user's own code."""
    tasks = dict.fromkeys(Variants(*cell[:3]) for cell in built_places(study))
    return [place for place in tasks if is_own(study.config["models"][place.model])]


def runs_of(study: Study, cells: Iterable[Cell]) -> Iterator[Training]:
    """The runs of some cells."""
    return (Training(*cell, seed) for cell in cells for seed in study.seeds[cell])


def runs_of_programs(study: Study, adopted: bool = False) -> Iterator[Training]:
    """Runs of training programs that the study starts; with `adopted`, runs that existed before the study."""
    cells = of_programs(study)
    return runs_of(study, [cell for cell in cells if ("adopted" in study.config["models"][cell.model]) == adopted])
