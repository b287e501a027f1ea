"""Which test examples the runs of a cell answer right: all runs, some or none."""

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output, PlaceNames
from toolnoise.formulas.accuracy import predictions
from toolnoise.measures.reading import counts, predictions_of
from toolnoise.papers.luck.metric import LUCK, luck


def measure(cell: PlaceNames, data: Input, logits: Input, index: Input, *, out: Output) -> None:
    """Write the shares of one cell; diverged runs count as missing."""
    dump, dataset = predictions_of(data, logits, index)
    rows, number = luck(predictions(dump.kept), dataset.test.labels), counts(dump.finished)
    metric_files.write(out, LUCK, [(*cell, *names, *estimate, *number) for *names, estimate in rows])
