"""The noise of a group's rates if the group had fewer test examples, by cell."""

from collections.abc import Sequence
from pathlib import Path

from toolnoise.analyses.rarity.metric import PART_SIZES, sd_by_size
from toolnoise.base import metric_files
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.groups import examples_of
from toolnoise.measures import by_draw
from toolnoise.measures.reading import counts, predictions_of


def measure(cell: Sequence[str], data: str | Path, logits: str | Path, index: str | Path, out: str | Path) -> None:
    """Write the SD of each rate of each group by the number of test examples."""
    dump, dataset = predictions_of(data, logits, index)
    finished, labels = dump.finished, dataset.test.labels
    wrong = predictions(dump.kept) != labels
    drawn = by_draw.grouped(dump.kept_draws)
    rows = [
        (*cell, f"{rate}_{what}", group, examples, *estimate, *counts(finished))
        for group, member in dataset.members(dataset.test).items()
        for rate, among in examples_of(labels, len(dataset.classes), member).items()
        for what, examples, estimate in sd_by_size(wrong[:, among], drawn.groups)
    ]
    metric_files.write(out, PART_SIZES, rows)
