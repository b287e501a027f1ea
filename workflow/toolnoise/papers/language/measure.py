"""How far the runs of a cell end apart as language models."""

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, Output, PlaceNames
from toolnoise.dumps.stacks import read_stack
from toolnoise.formulas import Row
from toolnoise.measures import by_draw, noise
from toolnoise.measures.reading import counts, predictions_of
from toolnoise.papers.language.metric import DECLARED, LANGUAGE, language


def measure(
    cell: PlaceNames,
    study_seed: int,  # noqa: ARG001 (every measure of a cell is given it)
    data: Input,
    logits: Input,
    index: Input,
    texts: Input,
    texts_index: Input,
    *,
    out: Output,
) -> None:
    """Write the measures of one cell; diverged runs count as missing."""
    dump, dataset = predictions_of(data, logits, index)
    written, about = read_stack(texts, texts_index, {"seeds": 0, "diverged": 0}, "dump-continuations", {})
    if about["seeds"] != dump.seeds or about["diverged"] != dump.diverged:
        raise BadInput(texts_index, "seeds", f"found {about['seeds']}", f"the runs of {index}")
    together, scores = by_draw.grouped(dump.kept_draws), dump.kept
    texts_of = written[dump.finished]

    def of_draw(chosen: np.ndarray) -> list[Row]:
        stack, labels = noise.some_of(scores, chosen), dataset.test.labels
        return language(stack, labels, dataset.test.units, texts_of[chosen])

    rows = by_draw.over_draws([of_draw(chosen) for chosen in together.groups], DECLARED)
    number = counts(dump.finished)
    metric_files.write(out, LANGUAGE, [(*cell, *names, *estimate, *number) for *names, estimate in rows])
