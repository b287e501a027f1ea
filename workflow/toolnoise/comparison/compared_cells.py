"""The verdicts of `toolnoise compare` on a study's cells, for all pairs that make sense.

Two cells make sense as A and B if they answer the same test set and differ in one thing: the variant, the model or the
tooling. B is the later one in the study, whose order is that of its file.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import write_text
from toolnoise.comparison import comparison, comparison_text, prediction_files
from toolnoise.comparison.label_files import Labels
from toolnoise.comparison.prediction_files import Answers
from toolnoise.datasets import prepared
from toolnoise.pages.document import part
from toolnoise.study.cells import Cell

# A page with more would be large, and take long to make; for the others it has the command.
MOST = 500
# Pairs that differ in the first of these come first.
DIFFERENCES = ("variant", "model", "hardware")


def show(
    cells: Sequence[Sequence[str]], datasets: Sequence[str], logits: Sequence[str], data: Sequence[str], out: str
) -> None:
    """Write the verdicts on a study's cells as a data file of its page; files are in the order of cells and data."""
    for argument, files, needed in (("--logits", logits, cells), ("--data", data, datasets)):
        if len(files) != len(needed):
            raise BadInput("command line", argument, f"found {len(files)} files", f"{len(needed)} expected")
    known = [Cell(*names) for names in cells]
    dumps, sets = dict(zip(known, logits, strict=True)), dict(zip(datasets, data, strict=True))
    write_text(out, part("compared", list(compared(known, dumps, sets))))


def pairs(cells: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """The pairs that make sense, and of a large study the first of them."""
    chosen: dict[str, list[tuple[Cell, Cell]]] = {name: [] for name in DIFFERENCES}
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        for name in DIFFERENCES:
            groups.setdefault((name, *cell._replace(**{name: ""})), []).append(cell)
    for (name, *_), alike in groups.items():
        chosen[name] += itertools.combinations(alike, 2)
    return list(itertools.chain(*chosen.values()))[:MOST]


def compared(cells: Sequence[Cell], logits: Mapping[Cell, str], data: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """The verdict on each pair, from the cells' dumps and the files of their data sets; none on what cannot be read."""
    chosen = pairs(cells)
    labels = {dataset: read for dataset, path in data.items() if (read := _labels(path)) is not None}
    answers = {
        cell: _answers(logits[cell], labels[cell.dataset], data[cell.dataset])
        for cell in dict.fromkeys(itertools.chain(*chosen))
        if cell in logits and cell.dataset in labels
    }
    for first, other in chosen:
        if answers.get(first) and answers.get(other):
            verdict = comparison.compare_all([answers[first], answers[other]], labels[first.dataset])
            yield {"a": list(first), "b": list(other), "text": comparison_text.as_text(verdict)}


def _labels(path: str) -> np.ndarray | None:
    """The labels of a data set; None where a training program predicts no classes."""
    try:
        return prepared.load(path).test.labels
    except BadInput:
        return None


def _answers(path: str, labels: np.ndarray, source: str) -> Answers | None:
    """A cell's predictions; None if every run diverged."""
    try:
        return prediction_files.read(path, Labels(source, labels, len(labels)))
    except BadInput:
        return None
