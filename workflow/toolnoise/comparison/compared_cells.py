"""The verdicts of `toolnoise compare` on a study's cells, for all pairs that make sense.

Two cells make sense as A and B if they answer the same test set and differ in one thing: the variant, the model or the
tooling. B is the later one in the study, whose order is that of its file.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import write_text
from toolnoise.comparison import (
    compared_numbers,
    comparison,
    comparison_text,
    label_files,
    numbers,
    numbers_text,
    prediction_files,
)
from toolnoise.comparison.label_files import Labels
from toolnoise.comparison.numbers import Numbers
from toolnoise.comparison.prediction_files import Answers
from toolnoise.datasets import prepared
from toolnoise.datasets.outcomes import VALUES
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
    labels = {dataset: _labels(path) for dataset, path in data.items()}
    arms = {
        cell: _arm(logits[cell], labels[cell.dataset], data[cell.dataset])
        for cell in dict.fromkeys(itertools.chain(*chosen))
        if cell in logits and cell.dataset in labels
    }
    for first, other in chosen:
        if arms.get(first) and arms.get(other) and (text := _text([arms[first], arms[other]], labels[first.dataset])):
            yield {"a": list(first), "b": list(other), "text": text}


def _labels(path: str) -> Labels | None:
    """The labels of a data set; None where a training program predicts no classes."""
    try:
        return label_files.of_data(path, prepared.load(path))
    except BadInput:
        return None


def _arm(path: str, labels: Labels | None, source: str) -> Answers | Numbers | None:
    """A cell's predictions, values or losses; None if every run diverged, or there is nothing to compare."""
    try:
        if labels is not None:
            return prediction_files.read(path, labels)
        kind = numbers.kind_of([path], None)
        truth = label_files.numbers(source) if kind == VALUES else None
        return numbers.read(path, kind, truth) if kind else None
    except BadInput:
        return None


def _text(arms: Sequence[Answers | Numbers], labels: Labels | None) -> str:
    """The verdict in words; nothing if the two have other tests."""
    if all(isinstance(arm, Answers) for arm in arms):
        return comparison_text.as_text(comparison.compare_all(arms, labels.classes))
    alike = all(isinstance(arm, Numbers) for arm in arms) and arms[0].kind == arms[1].kind
    if not alike or not np.array_equal(arms[0].lengths, arms[1].lengths):
        return ""
    return numbers_text.as_text(compared_numbers.compare_all(arms))
