"""Continuations: the text that each run of a cell writes after the same beginnings, always the likeliest next token.

A beginning is the first half of a test segment. The continuation has the length of the other half, so no network sees
more tokens than in training.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from toolnoise import streams
from toolnoise.base import arrays, files
from toolnoise.base.job import Input, Output, Timings, TrainedRuns
from toolnoise.base.spec import Spec
from toolnoise.datasets.prepared import Split
from toolnoise.dumps import prediction_dump
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.study import runs

BEGINNINGS = 100
NOTHING = -1  # in place of the tokens of a diverged run


def dump(spec: Spec, data: Input, records: TrainedRuns, *, texts: Output, index: Output) -> dict[str, Any]:
    """Let every network of a cell continue some test segments; `spec` is that of any of its runs.

    Return the observed machine.
    """
    timings = Timings()
    cell = [runs.read_run(record) for record in records]
    network = prediction_dump.build(spec, data, timings)
    begun = segments_to_continue(network.dataset.test, spec.study_seed, spec.dataset.name)
    stack = np.full((len(cell), len(begun), begun.units - begun.units // 2), NOTHING, np.int64)
    with timings.measure("writing"):
        for place, run in enumerate(cell):
            if not run.diverged:
                network.take(run.weights(), run)
                stack[place] = continue_segments(network.engine, begun)
    arrays.write_npy(texts, stack)
    about = prediction_dump.index_of_dump(spec, cell, stack.shape, network.observed, timings)
    files.write_json(index, about | {"outcome": "classes"})
    return network.observed


def segments_to_continue(test: Split, study_seed: int, dataset: str) -> Split:
    """The test segments to continue, in their order; drawn once per data set, so that all cells can be compared."""
    order = streams.permutation(
        streams.stream_key(study_seed, streams.ANALYSIS, 0, "continuations", dataset), len(test)
    )
    return test.chosen(np.sort(order[:BEGINNINGS]))


def continue_segments(engine: KerasEngine, begun: Split) -> np.ndarray:
    """The tokens that a network puts in place of the second half of each segment."""
    half, tokens = begun.units // 2, begun.pixels.copy()
    tokens[:, half:] = 0  # no network looks ahead
    for place in range(half, begun.units):
        for units, scores in engine.scores(replace(begun, pixels=tokens)):
            here = slice(units.start // begun.units, units.stop // begun.units)
            tokens[here, place] = scores[place - 1 :: begun.units].argmax(axis=-1)
    return tokens[:, half:]
