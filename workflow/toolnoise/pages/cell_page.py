"""A cell's part of a study's page: its runs, their curves and values, and where its runs part.

It is a file of its own that the page loads when somebody asks for the cell, so that the page of a large study opens at
once. Curves are thinned to `points` epochs, evenly, with the first and the last; numbers have a few digits. The answer
of `toolnoise diff` is there for every two runs of a small cell, and for the first run and each other one of a large
cell, with pictures of some examples that they classify differently. Where a cell has several draws of what it fixes,
only runs of one draw are compared: others differ in more than the variant names.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.arrays import bit_equal
from toolnoise.base.errors import BadInput
from toolnoise.base.files import write_text
from toolnoise.base.job import Input, PlaceNames, TimedOutput, WholeRuns
from toolnoise.datasets import prepared
from toolnoise.datasets.prepared import Data
from toolnoise.dumps import stacks
from toolnoise.formulas import accuracy, churn
from toolnoise.formulas.likeliest import keeps_likeliest
from toolnoise.formulas.outcomes import OUTCOMES
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import two_runs
from toolnoise.measures.what_varies import rows_by_cell
from toolnoise.pages import pictures
from toolnoise.pages.document import part
from toolnoise.pages.page_tables import estimate, is_number, number
from toolnoise.study import runs
from toolnoise.study.runs import Run

CURVES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")
NOT_DRAWN = ("epoch", "weights_sha256", "tensors_sha256")
# Of a curve; on a logarithmic axis, as losses are drawn, fewer can be seen.
DRAWN = {"train_loss": 3, "test_loss": 3}
OTHERS = 4
# Digits of a digest of weights: enough to tell two runs apart.
DIGEST = 6
# Every two runs of a cell of at most so many are compared.
ALL_PAIRS = 6
# Tensors and examples that an answer lists; `toolnoise diff` has all.
LISTED = 5
# The examples that flip most often.
OFTEN = 20
# Characters of the pictures of a cell whose curves have the most points.
MOST_DRAWN, MOST_POINTS = 100_000, 200
FLIPS = ("a_right_b_wrong", "a_wrong_b_right", "both_wrong_differently")


def show(
    cell: PlaceNames,
    points: int,
    data: Input,
    logits: Input,
    index: Input,
    records: WholeRuns,
    metrics: Input,
    values: Input,
    *,
    out: TimedOutput,
) -> None:
    """Write a cell's part of the page."""
    read = [runs.read(record) for record in records]
    block = about(read, points, metrics, values) | compared(read, points, data, logits, index)
    write_text(out, part(name(cell), block))


def compared(
    cell_runs: Sequence[Run], points: int, data: str | Path, logits: str | Path, index: str | Path
) -> dict[str, Any]:
    """Where runs part, some of the examples that flip, and pictures of those."""
    left = layers(logits, index)
    scores = {seed: layer for seed, layer in left.items() if layer.ndim > 1 or keeps_likeliest(layer)}
    known = _known(data, logits, scores) if scores else None
    parted, examples = [], []
    for place, (run_a, run_b) in enumerate(pairs(cell_runs)):
        flips: dict[str, Any] = {}
        if known and run_a.seed in scores and run_b.seed in scores:
            flips = two_runs.flips(scores[run_a.seed], scores[run_b.seed], known.test.labels)
            examples += [[place, *row] for row in flipped(flips, known, scores[run_a.seed], scores[run_b.seed])]
        elif run_a.seed in left and run_b.seed in left:
            flips = {"logits_bit_equal": bit_equal(left[run_a.seed], left[run_b.seed])}
        parted.append({"seeds": [run_a.seed, run_b.seed], **parting(run_a, run_b, flips)})
    often = list(flipping(cell_runs, scores, known)) if known else []
    named = [*(example for example, *_ in often), *(example for _, _, example, *_ in examples)]
    return {
        "partings": parted,
        "examples": examples,
        "flipping": often,
        "unit": OUTCOMES[known.test.outcome].unit if known else "",
        "pictures": pictures.drawn(known.test, named, most_drawn(points)) if known else {},
        "texts": pictures.contexts(known, named, most_drawn(points)) if known else {},
    }


def _known(data: str | Path, logits: str | Path, scores: Mapping[int, np.ndarray]) -> Data:
    """The data set that a cell's runs were tested on."""
    known, shape = prepared.load(data), next(iter(scores.values())).shape
    if shape != (wanted := (len(known.test.labels), len(known.classes))[: len(shape)]):
        raise BadInput(logits, "", f"found logits of shape {shape} for each run", f"{wanted}, the test set of {data}")
    return known


def most_drawn(points: int) -> int:
    """How many characters of pictures a cell has: a page of fewer points has more cells, and room for fewer."""
    return MOST_DRAWN * points**2 // MOST_POINTS**2


def pairs(cell_runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The pairs of runs that are compared beforehand, each of one draw of what the cell fixes."""
    of_draws = draws(cell_runs).values()
    if len(cell_runs) <= ALL_PAIRS:
        return [pair for runs in of_draws for pair in itertools.combinations(runs, 2)]
    return [(runs[0], other) for runs in of_draws for other in runs[1:]]


def draws(cell_runs: Sequence[Run]) -> dict[int | None, list[Run]]:
    """The runs by their draw of what the cell fixes; None where it has one."""
    by_draw: dict[int | None, list[Run]] = {}
    for run in cell_runs:
        by_draw.setdefault(run.spec.draw, []).append(run)
    return by_draw


def says(cell_runs: Sequence[Run]) -> str:
    """What varies between a cell's runs."""
    runs, by_draw = f"{len(cell_runs)} run{'' if len(cell_runs) == 1 else 's'}", draws(cell_runs)
    if None in by_draw:
        return f"{runs}; only what the variant names varies between them."
    sizes = sorted({len(of_draw) for of_draw in by_draw.values()})
    each = " or ".join(map(str, sizes))
    of_draws = f"in {len(by_draw)} draws of the algorithm, {each} each" if len(by_draw) > 1 else "of one draw"
    return (
        f"{runs} {of_draws}. Between runs of one draw, only what the variant names varies; "
        "runs of different draws differ in all that the algorithm draws. Churn is between runs of one draw."
    )


def ran_on(cell_runs: Sequence[Run]) -> str:
    """What computed a cell's runs; nothing where the records of adopted runs do not have it."""
    observed = [run.record.get("observed", {}) for run in cell_runs]
    devices = {of.get("cpu", "") if of.get("device") in (None, "cpu") else of["device"] for of in observed}
    return f" Ran on {', '.join(sorted(devices - {''}))}." if devices - {""} else ""


def layers(logits: str | Path, index: str | Path) -> dict[int, np.ndarray]:
    """The logits of a cell's runs by seed, or what a program left instead, without those of diverged runs."""
    dump = stacks.read_predictions(logits, index)
    return {seed: layer for seed, layer, lost in zip(dump.seeds, dump.logits, dump.diverged, strict=True) if not lost}


def name(cell: Sequence[str]) -> str:
    """The name of a cell's part."""
    return "/".join(("cells", *cell))


def about(cell_runs: Sequence[Run], points: int, metrics: str | Path, values: str | Path) -> dict[str, Any]:
    """Everything but the partings of runs."""
    tables = [run.history() for run in cell_runs]
    at = thinned(max(map(len, tables), default=0), points)
    (measured,) = rows_by_cell(metric_files.read(metrics, STABILITY)).values()
    of_runs = metric_files.read(values, RUNS)
    single = of_runs[of_runs["group"] == "all"]
    spec = cell_runs[0].record["spec"]
    return {
        "says": says(cell_runs) + ran_on(cell_runs),
        "spec": {key: value for key, value in spec.items() if key not in ("seed", "draw")},
        "epochs": at,
        "runs": [_run(run, rows, at) for run, rows in zip(cell_runs, tables, strict=True)],
        "curves": {
            curve: [
                [number(rows[epoch - 1][curve], DRAWN.get(curve, OTHERS)) for epoch in at if epoch <= len(rows)]
                for rows in tables
            ]
            for curve in curves(tables)
        },
        "values": {
            metric: {str(row.seed): number(row.value) for row in rows.itertuples()}
            for metric, rows in single.groupby("metric", sort=False)
        },
        "measures": {name: estimate(row) for name, row in measured.items()},
    }


def curves(tables: Sequence[Sequence[Mapping[str, str]]]) -> list[str]:
    """The columns of the histories that are drawn; an existing training program has what it left."""
    columns = [column for column in tables[0][0] if column not in NOT_DRAWN]
    drawn = [
        column
        for column in columns
        if all(row.get(column) and is_number(row[column]) for rows in tables for row in rows)
    ]
    return [curve for curve in CURVES if curve in drawn] or drawn


def thinned(epochs: int, points: int) -> list[int]:
    """At most `points` of so many epochs, the first and the last among them."""
    return sorted({round(float(epoch)) for epoch in np.linspace(1, epochs, min(points, epochs))}) if epochs else []


def _run(run: Run, rows: Sequence[Mapping[str, str]], at: Sequence[int]) -> dict[str, Any]:
    record = run.record
    return {
        "seed": run.seed,
        "draw": run.spec.draw,
        "status": record["status"],
        "epochs": len(rows),
        "seconds": number(sum(record.get("seconds", {}).values())),
        "resumed": list(record.get("resumed_after", [])),
        "moved_bit": record.get("moved_bit"),
        "emulated": record.get("emulated_noise"),
        "initial": record.get("initial_sha256", "")[:DIGEST],
        "weights": "".join(rows[epoch - 1]["weights_sha256"][:DIGEST] for epoch in at if epoch <= len(rows)),
    }


def flipped(flips: Mapping[str, Any], data: Data, *logits: np.ndarray) -> Iterator[list[Any]]:
    """The first examples of each kind of flip: kind, number, label, and the classes that the two runs predict."""
    said = [accuracy.predictions(of_run[np.newaxis])[0] for of_run in logits]
    for kind in FLIPS:
        for example in flips[kind][:LISTED]:
            classes = (data.test.labels[example], *(of_run[example] for of_run in said))
            yield [kind, example, *(data.classes[each] for each in classes)]


def flipping(cell_runs: Sequence[Run], scores: Mapping[int, np.ndarray], data: Data) -> Iterator[list[Any]]:
    """The examples on which most pairs of runs of one draw differ: number, label, what runs answer, such pairs, all."""
    said = [
        np.stack([accuracy.predictions(scores[run.seed][np.newaxis])[0] for run in of_draw if run.seed in scores])
        for of_draw in draws(cell_runs).values()
        if any(run.seed in scores for run in of_draw)
    ]
    if not said:
        return
    differ = sum(map(churn.pairs_that_differ, said))
    pairs, everyone = sum(len(runs) * (len(runs) - 1) // 2 for runs in said), np.concatenate(said)
    for example in np.argsort(-differ, kind="stable")[:OFTEN]:
        if differ[example]:
            answers = Counter(data.classes[each] for each in everyone[:, example]).most_common(LISTED)
            told = ", ".join(f"{name} in {times} run{'s'[: times > 1]}" for name, times in answers)
            yield [int(example), data.classes[data.test.labels[example]], told, int(differ[example]), pairs]


def parting(run_a: Run, run_b: Run, flips: Mapping[str, Any]) -> dict[str, Any]:
    """What the page says of two runs, in the words' order of `toolnoise diff`."""
    try:
        parted = two_runs.parting(run_a, run_b)
    except BadInput as error:
        return {"not_compared": str(error)}
    tensors = parted["tensors_that_differ_then"]
    return {
        "initial_equal": parted["initial_equal"],
        "draws_from": parted["draws_differ_from_epoch"],
        "weights_from": parted["weights_differ_from_epoch"],
        "tensors": tensors[:LISTED],
        "n_tensors": len(tensors),
        "equal": parted["weights_bit_equal"] and parted["history_equal"] and flips.get("logits_bit_equal", True),
        "answers_equal": flips.get("logits_bit_equal"),
        "l2_unit": None if parted["l2_unit"] is None else number(parted["l2_unit"]),
        "churn": number(flips["churn"]) if "churn" in flips else None,
        "flips": {kind: len(flips[kind]) for kind in FLIPS if kind in flips},
    }
