"""The page of a cell: its runs, its measures, and where pairs of its runs first differ.

As `toolnoise diff` does, it compares every two runs of a small cell, and the first run with each other run of a large
cell, and shows some examples that they classify differently. If a cell has several draws of its fixed sources, only
runs of the same draw are compared: other pairs differ in more than the variant names. Small pictures are in the page as
PNG in base64; for a token, the text before it is shown.
"""

import base64
import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from toolnoise.base import metric_files
from toolnoise.base.arrays import bit_equal
from toolnoise.base.errors import BadInput
from toolnoise.base.files import write_json, write_text
from toolnoise.base.job import Input, Output, PlaceNames, TimedOutput, WholeRuns
from toolnoise.datasets import prepared
from toolnoise.datasets.prepared import Data, Split
from toolnoise.dumps import stacks
from toolnoise.formulas import accuracy, declared
from toolnoise.formulas.likeliest import keeps_likeliest
from toolnoise.formulas.outcomes import OUTCOMES, TOKENS
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import two_runs
from toolnoise.measures.what_varies import rows_by_cell
from toolnoise.pages.document import fill_template
from toolnoise.study import runs
from toolnoise.study.cells import Cell
from toolnoise.study.entries import is_synthetic
from toolnoise.study.runs import Run

DIGITS = 6  # of a digest: enough to distinguish two runs
ALL_PAIRS = 6  # all pairs are compared in a cell of at most this many runs
LISTED = 5  # tensors and examples listed for a pair; `toolnoise diff` lists all
MOST_DRAWN = 100_000  # characters of all pictures of a cell
# Pixels. Larger pictures would fill the page, and their data sets often may not be redistributed.
LARGEST = 64
CHANNELS = (1, 3)
SIGNS = 300
SHOWN = 30  # tokens before the predicted token
FLIPS = {
    "a_right_b_wrong": "only the first is right",
    "a_wrong_b_right": "only the second is right",
    "both_wrong_differently": "both are wrong, differently",
}


def show(
    cell: PlaceNames,
    data: Input,
    logits: Input,
    index: Input,
    records: WholeRuns,
    metrics: Input,
    values: Input,
    *,
    out: TimedOutput,
    out_examples: Output,
) -> None:
    """Write a cell's page, and two examples that two of its runs answer differently, for the study's page."""
    read = [runs.read_run(record) for record in records]
    spec = read[0].record["spec"]
    pairs = compare_pairs(read, data, logits, index)
    tables = {run.seed: run.history() for run in read}
    (measured,) = rows_by_cell(metric_files.read_metrics(metrics, STABILITY)).values()
    singles = metric_files.read_metrics(values, RUNS)
    singles = singles[singles["group"] == "all"]
    text = fill_template(
        "cell.html",
        cell=Cell(*cell),
        says=what_varies_text(read),
        runs=[_run(run, tables[run.seed], Path(out).parent) for run in read],
        values={name: dict(zip(rows["seed"], rows["value"], strict=True)) for name, rows in singles.groupby("metric")},
        labels=declared.labels_of_measures(),
        of_runs=declared.OF_RUNS,
        measured=measured,
        pairs=pairs,
        kinds=FLIPS,
        dataset=f"{'synthetic ' * is_synthetic(spec['dataset'])}{spec['dataset']['name']}",
        spec=json.dumps({key: value for key, value in spec.items() if key not in ("seed", "draw")}, indent=1),
        home="/".join([".."] * len(cell)) + "/index.html",
    )
    write_text(out, text)
    write_json(out_examples, most_apart(pairs))


def what_varies_text(cell_runs: Sequence[Run]) -> str:
    """Sentences on the number of a cell's runs, their differences, and the processors that they ran on."""
    count, by_draw = f"{len(cell_runs)} run{'' if len(cell_runs) == 1 else 's'}", runs_by_draw(cell_runs)
    observed = [run.record.get("observed", {}) for run in cell_runs]
    devices = {of.get("cpu", "") if of.get("device") in (None, "cpu") else of["device"] for of in observed} - {""}
    ran_on = f" Ran on {', '.join(sorted(devices))}." if devices else ""
    if any(run.record.get("emulated_noise") for run in cell_runs):
        ran_on += " Implementation noise is emulated: each batch is added up in another order."
    if None in by_draw:
        return f"{count}; only what the variant names varies between them.{ran_on}"
    return (
        f"{count} of {len(by_draw)} draw{'s'[: len(by_draw) > 1]} of the algorithm. "
        f"Only runs of one draw are compared: between them, only what the variant names varies.{ran_on}"
    )


def runs_by_draw(cell_runs: Sequence[Run]) -> dict[int | None, list[Run]]:
    """The runs by their draw of the cell's fixed sources; the key is None if the cell has one draw."""
    by_draw: dict[int | None, list[Run]] = {}
    for run in cell_runs:
        by_draw.setdefault(run.spec.draw, []).append(run)
    return by_draw


def two_of(cell_runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The pairs of runs that are compared, each of one draw of the cell's fixed sources."""
    of_draws = runs_by_draw(cell_runs).values()
    if len(cell_runs) <= ALL_PAIRS:
        return [pair for runs in of_draws for pair in itertools.combinations(runs, 2)]
    return [(runs[0], other) for runs in of_draws for other in runs[1:]]


def compare_pairs(cell_runs: Sequence[Run], data: str, logits: str, index: str) -> list[dict[str, Any]]:
    """Where pairs of runs first differ, and examples that they answer differently, the first ones with pictures."""
    dump = stacks.read_predictions(logits, index)
    left = {seed: layer for seed, layer, lost in zip(dump.seeds, dump.logits, dump.diverged, strict=True) if not lost}
    scores = {seed: layer for seed, layer in left.items() if layer.ndim > 1 or keeps_likeliest(layer)}
    known = _known(data, logits, scores) if scores else None
    pairs = []
    for run_a, run_b in two_of(cell_runs):
        flips: dict[str, Any] = {}
        examples: list[dict[str, Any]] = []
        if known and {run_a.seed, run_b.seed} <= scores.keys():
            flips = two_runs.flips(scores[run_a.seed], scores[run_b.seed], known.test.labels)
            examples = list(examples_of_flips(flips, known, scores[run_a.seed], scores[run_b.seed]))
        elif {run_a.seed, run_b.seed} <= left.keys():
            flips = {"logits_bit_equal": bit_equal(left[run_a.seed], left[run_b.seed])}
        pairs.append({"seeds": (run_a.seed, run_b.seed), "examples": examples, **parting_text(run_a, run_b, flips)})
    if known:
        named = [example["number"] for pair in pairs for example in pair["examples"]]
        drawn = encoded_pictures(known.test, named, MOST_DRAWN)
        texts = contexts_of_tokens(known, named, MOST_DRAWN)
        for example in (example for pair in pairs for example in pair["examples"]):
            number = str(example["number"])
            example |= {"picture": drawn.get(number, ""), "text": texts.get(number, "")}
            example["unit"] = OUTCOMES[known.test.outcome].unit
    return pairs


def _known(data: str, logits: str, scores: Mapping[int, np.ndarray]) -> Data:
    """The data set that a cell's runs were tested on."""
    known, shape = prepared.load(data), next(iter(scores.values())).shape
    if shape != (wanted := (len(known.test.labels), len(known.classes))[: len(shape)]):
        raise BadInput(logits, "", f"found logits of shape {shape} for each run", f"{wanted}, the test set of {data}")
    return known


def examples_of_flips(flips: Mapping[str, Any], data: Data, *logits: np.ndarray) -> Iterator[dict[str, Any]]:
    """The first examples of each kind of flip: number, label, and the classes that the two runs predict."""
    said = [accuracy.predictions(of_run[np.newaxis])[0] for of_run in logits]
    for kind in FLIPS:
        for example in flips[kind][:LISTED]:
            label, *answers = (
                data.classes[each] for each in (data.test.labels[example], *(one[example] for one in said))
            )
            yield {"kind": kind, "number": int(example), "label": label, "answers": answers}


def parting_text(run_a: Run, run_b: Run, flips: Mapping[str, Any]) -> dict[str, Any]:
    """The facts on two runs that the page shows, as `toolnoise diff` does."""
    try:
        parted = two_runs.where_runs_part(run_a, run_b)
    except BadInput as error:
        return {"not_compared": str(error)}
    tensors = parted["tensors_that_differ_then"]
    return {
        "not_compared": "",
        "initial_equal": parted["initial_equal"],
        "draws_from": parted["draws_differ_from_epoch"],
        "weights_from": parted["weights_differ_from_epoch"],
        "tensors": tensors[:LISTED],
        "n_tensors": len(tensors),
        "equal": parted["weights_bit_equal"] and parted["history_equal"] and flips.get("logits_bit_equal", True),
        "l2_unit": parted["l2_unit"],
        "churn": flips.get("churn"),
        "flips": {kind: len(flips[kind]) for kind in FLIPS if kind in flips},
    }


def most_apart(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The pair whose answers differ most, with two of its examples, of different labels if possible."""
    shown = [pair for pair in pairs if any(each["picture"] or each["text"] for each in pair["examples"])]
    if not shown:
        return None
    pair = max(shown, key=lambda pair: pair["churn"])
    first, *rest = (each for each in pair["examples"] if each["picture"] or each["text"])
    second = next((each for each in rest if each["label"] != first["label"]), rest[0] if rest else None)
    return {"seeds": pair["seeds"], "examples": [first, *([second] if second else [])]}


def _run(run: Run, rows: Sequence[Mapping[str, str]], page: Path) -> dict[str, Any]:
    record = run.record
    return {
        "seed": run.seed,
        "draw": run.spec.draw,
        "status": record["status"] + (", resumed" if record.get("resumed_after") else ""),
        "epochs": len(rows),
        "seconds": sum(record.get("seconds", {}).values()),
        "initial": record.get("initial_sha256", "")[:DIGITS],
        "weights": rows[-1].get("weights_sha256", "")[:DIGITS] if rows else "",
        "folder": os.path.relpath(run.folder, page),
    }


def encoded_pictures(split: Split, examples: Iterable[int], most: int) -> dict[str, str]:
    """The pictures of some units by number: from the first on, as many as fit into `most` characters."""
    if split.outcome == TOKENS:
        return {}
    height, width, channels = split.shape
    small = 1 < height <= LARGEST and 1 < width <= LARGEST and channels in CHANNELS
    if split.streamed or not small or split.pixels.dtype != np.uint8:
        return {}
    return _fitting(examples, lambda unit: _png(split, unit // split.units), most)


def contexts_of_tokens(data: Data, units: Iterable[int], most: int) -> dict[str, str]:
    """The tokens before some units by number, within their segment, as many as fit into `most` characters."""
    split = data.test
    if split.outcome != TOKENS:
        return {}
    # Vocabularies of characters or bytes are not larger; words have a space between them.
    between = "" if len(data.classes) <= SIGNS else " "

    def before(unit: int) -> str:
        segment, place = divmod(unit, split.units)
        seen = split.pixels[segment, max(0, place + 1 - SHOWN) : place + 1]
        return between.join(data.classes[token] for token in seen)

    return _fitting(units, before, most)


def _fitting(units: Iterable[int], text_of: Callable[[int], str], most: int) -> dict[str, str]:
    texts: dict[str, str] = {}
    for unit in dict.fromkeys(units):
        text = text_of(unit)
        if (most := most - len(text)) < 0:
            break
        texts[str(unit)] = text
    return texts


def _png(split: Split, example: int) -> str:
    height, width, channels = split.shape
    start = split.margin // 2
    pixels = split.pixels[example, start : start + height, start : start + width].astype(np.uint16)
    bright = (pixels * 255 // split.maximum).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(bright[:, :, 0] if channels == 1 else bright).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()
