"""The places of a study at which there is a job of a kind, for each kind: plain questions to a study."""

from collections.abc import Iterable, Iterator

from toolnoise.datasets import sources
from toolnoise.formulas.outcomes import SCORED
from toolnoise.study import programs
from toolnoise.study.builders import is_own
from toolnoise.study.cells import Cell, Control, Dataset, Training, Variants, Whole
from toolnoise.study.entries import of_text
from toolnoise.study.figure_kinds import KINDS
from toolnoise.study.study import Study


def whole(_study: Study) -> list[Whole]:
    """The study as a whole."""
    return [Whole()]


def from_files(study: Study) -> list[Dataset]:
    """Data sets that are made of files."""
    return [Dataset(name) for name in study.datasets if sources.sources(study.config["datasets"][name])]


def prepared(study: Study) -> list[Dataset]:
    """Data sets that a reader prepares."""
    return [place for place in map(Dataset, study.datasets) if not _is_left(study, place)]


def left_by_programs(study: Study) -> list[Dataset]:
    """Data sets that come with what training programs leave."""
    return [place for place in map(Dataset, study.datasets) if _is_left(study, place)]


def _is_left(study: Study, place: Dataset) -> bool:
    return study.config["datasets"][place.dataset]["reader"] == programs.READER


def with_named_classes(study: Study) -> list[Dataset]:
    """Data sets whose classes are shown by name, where only their files may have the names."""
    by_class = (figure for figure in study.figures if "labels" in KINDS[figure.notebook].also)
    shown = {dataset for figure in by_class for _, dataset in figure.tasks}
    unnamed = {name for name in shown if "classes" not in study.config["datasets"][name]}
    return [place for place in from_files(study) if place.dataset in unnamed]


def built(study: Study) -> list[Cell]:
    """Cells of networks that are built here."""
    return [cell for cell in study.cells if not study.is_program(cell)]


def own_models(study: Study) -> list[Variants]:
    """Tasks on toolings whose network a builder of the study's own builds."""
    tasks = dict.fromkeys(Variants(*cell[:3]) for cell in built(study))
    return [place for place in tasks if is_own(study.config["models"][place.model])]


def trained(study: Study) -> Iterator[Training]:
    """Runs of networks that are built here."""
    return _runs(study, built(study))


def run_programs(study: Study) -> Iterator[Training]:
    """Runs of training programs."""
    return _runs(study, [cell for cell in of_programs(study) if not _is_adopted(study, cell)])


def adopted(study: Study) -> Iterator[Training]:
    """Runs that were there before the study."""
    return _runs(study, [cell for cell in of_programs(study) if _is_adopted(study, cell)])


def _is_adopted(study: Study, cell: Cell) -> bool:
    return "adopted" in study.config["models"][cell.model]


def _runs(study: Study, cells: Iterable[Cell]) -> Iterator[Training]:
    return (Training(*cell, seed) for cell in cells for seed in study.seeds[cell])


def of_programs(study: Study) -> list[Cell]:
    """Cells of training programs."""
    return [cell for cell in study.cells if study.is_program(cell)]


def of_scoring_programs(study: Study) -> list[Cell]:
    """Cells of training programs whose runs leave scores of classes."""
    return [cell for cell in of_programs(study) if programs.outcome(study.config, cell.model) in SCORED]


def of_other_programs(study: Study) -> list[Cell]:
    """Cells of training programs whose runs leave something else."""
    return [cell for cell in of_programs(study) if programs.outcome(study.config, cell.model) not in SCORED]


def controls(study: Study) -> list[Control]:
    """Control cells of networks that are built here."""
    return [Control(*cell[:3]) for cell in study.controls if not study.is_program(cell)]


def controls_of_programs(study: Study) -> list[Control]:
    """Control cells of training programs."""
    return [Control(*cell[:3]) for cell in study.controls if study.is_program(cell)]


def remedied(study: Study) -> list[Cell]:
    """Cells with a dump under remedies."""
    return [cell for cell in study.views if study.remedies_of(cell)]


def of_language(study: Study) -> list[Cell]:
    """Cells of language models that are built here."""
    return [cell for cell in built(study) if of_text(study.config["datasets"][cell.dataset])]


def with_growth(study: Study) -> list[Variants]:
    """Tasks, each on its reference tooling, whose runs are compared step by step."""
    return list(study.growing())
