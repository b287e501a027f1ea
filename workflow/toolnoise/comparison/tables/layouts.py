"""Tables of every layout as one: a line a run or a step, with columns of names and of metrics.

W&B exports a chart with a column a run, TensorBoard a file a run, MLflow's page a line a value; people write a model a
line with a column a seed, or a column a model. What is a metric in these is said by the user: `--metric`.
"""

import difflib
import re

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison.tables.directions import LOWER, words_of
from toolnoise.comparison.tables.frame import Frame, has, is_numeric, listed, plain, texts

TENSORBOARD = ["Wall time", "Step", "Value"]
TAG = re.compile(r"[-_]tag[-_](.+)\.csv$")
EXTREMES = re.compile(r"__(MIN|MAX)$")
GROUPED = re.compile(r"(Group|Name|[\w.]+): ")
# Names of what is no model: of metrics, and of what loggers write beside them.
METRICS = LOWER | {"accuracy", "acc", "f", "auc", "auroc", "ap", "map", "bleu", "rouge", "precision", "recall", "score"}
METRICS |= {"reward", "return", "success", "iou", "miou", "dice", "psnr", "ssim", "top", "mcc", "correlation", "em"}
ASIDE = {"step", "epoch", "iteration", "lr", "rate", "runtime", "timestamp", "duration", "memory", "params", "size"}
NUMBERED = re.compile(r"(?:seed|run|rep|replicate|replica|trial|s|r)?[\s_\-]*(\d+)", re.IGNORECASE | re.ASCII)
A_LINE_A_VALUE = "a line a value"
MODEL, SEED, RUN, STEP = "model", "seed", "run", "step"


def as_long(frame: Frame, metrics: tuple[str, ...], by: str | None, seed: str | None) -> tuple[Frame, list[str]]:
    """A table with a line a run or a step, and what was read how."""
    if frame.names == TENSORBOARD:
        return _tensorboard(frame, metrics)
    if all(has(frame, metric) for metric in metrics):
        return frame, []
    if runs := [name for name in frame.names if " - " in name]:
        return _chart(frame, metrics, runs)
    if {"metric", "value"} <= set(map(plain, frame.names)):
        return _a_line_a_value(frame, metrics)
    if len(metrics) == 1 and not any(has(frame, name) for name in (by, seed) if name not in (None, "none")):
        return wide(frame, metrics[0]) or (frame, [])
    return frame, []


def _tensorboard(frame: Frame, metrics: tuple[str, ...]) -> tuple[Frame, list[str]]:
    """The scalars of one run, as TensorBoard's page saves them: one metric, named by the file if at all."""
    tag = TAG.search(frame.path)
    if len(metrics) > 1 or (tag and not set(words_of(metrics[0])) & {*words_of(tag[1]), "value"}):
        what = f"found the scalars of {tag[1]}" if tag else "found the scalars of one metric"
        raise BadInput(frame.path, "--metric", f"{what}, asked for {', '.join(metrics)}", "this one")
    return Frame(frame.path, [STEP, metrics[0]], frame.columns[1:], turned=True), [
        f"Value is {metrics[0]} (TensorBoard)"
    ]


def _chart(frame: Frame, metrics: tuple[str, ...], runs: list[str]) -> tuple[Frame, list[str]]:
    """A chart that W&B exported: columns "run - metric", and their extremes, which are left."""
    curves = {metric: [name for name in runs if name.endswith(f" - {metric}")] for metric in metrics}
    for metric, columns in curves.items():
        if not columns:
            known = {name.rpartition(" - ")[2] for name in runs if not EXTREMES.search(name)}
            raise BadInput(frame.path, "--metric", f"found no column of {metric}", f"it has {listed(sorted(known))}")
    names = list(dict.fromkeys(name.removesuffix(f" - {metric}") for metric in metrics for name in curves[metric]))
    if any(GROUPED.match(name) for name in names) and all(":" in name for name in names):
        what = f"found curves of groups, such as {names[0]}, which are means of runs"
        raise BadInput(frame.path, "", what, "a chart exported without grouping, with a curve a run")
    steps = frame.columns[0]
    columns = [np.repeat(np.array(names), len(steps)), np.tile(steps, len(names))]
    blank = np.full(len(steps), "")
    for metric in metrics:
        held = {name.removesuffix(f" - {metric}"): frame.column(name) for name in curves[metric]}
        columns.append(np.concatenate([held.get(name, blank).astype(str) for name in names]))
    averaged = _averaged(frame, [name for columns in curves.values() for name in columns])
    notes = [f"a curve a run (W&B's chart), {len(names)} runs"]
    if averaged:
        notes.append(f"{averaged} values are means of several steps, since their __MIN and __MAX differ")
    return Frame(frame.path, [RUN, STEP, *metrics], columns, turned=True), notes


def _averaged(frame: Frame, curves: list[str]) -> int:
    """The cells of which the minimum and the maximum beside them differ."""
    pairs = [(f"{name}__MIN", f"{name}__MAX") for name in curves]
    both = [pair for pair in pairs if set(pair) <= set(frame.names)]
    return sum(int(np.count_nonzero(_differ(frame.column(low), frame.column(high)))) for low, high in both)


def _differ(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return (low != high) & ~((low != low) & (high != high))


def _a_line_a_value(frame: Frame, metrics: tuple[str, ...]) -> tuple[Frame, list[str]]:
    """A line a value, with its metric's name: the history that MLflow's page saves."""
    places = {plain(name): place for place, name in enumerate(frame.names)}
    if "group" in places and "run" not in places:
        raise BadInput(frame.path, "Group", "found curves of groups, which are means of runs", "a curve a run")
    named, values = texts(frame.columns[places["metric"]]), frame.columns[places["value"]].astype(str)
    for metric in metrics:
        if metric not in named:
            what = f"found no value of {metric}"
            raise BadInput(frame.path, "--metric", what, f"it has {listed(sorted(set(named)))}")
    kept = np.isin(named, metrics)
    others = [place for name, place in places.items() if name not in ("metric", "value")]
    columns = [frame.columns[place][kept] for place in others]
    columns += [np.where(np.array(named)[kept] == metric, values[kept], "") for metric in metrics]
    return Frame(frame.path, [*(frame.names[place] for place in others), *metrics], columns, turned=True), [
        A_LINE_A_VALUE
    ]


def wide(frame: Frame, metric: str) -> tuple[Frame, list[str]] | None:
    """One number a cell: a line a model with a column a seed, or a line a seed with a column a model."""
    if frame.names == [""]:
        return Frame(frame.path, [metric], frame.columns), [f"its numbers are {metric}"]
    cells = [place for place, column in enumerate(frame.columns) if is_numeric(column)]
    others = [place for place in range(len(frame.names)) if place not in cells]
    numbered = [place for place in cells if frame.names[place] and NUMBERED.fullmatch(frame.names[place])]
    if len(others) == 1 and numbered and len(numbered) == len(cells):
        names, models = [frame.names[place] for place in numbered], texts(frame.columns[others[0]])
        values = np.concatenate([frame.columns[place].astype(str) for place in numbered])
        seeds = np.repeat([NUMBERED.fullmatch(name)[1] for name in names], len(models))
        columns = [np.tile(np.array(models), len(names)), seeds, values]
        return Frame(frame.path, [MODEL, SEED, metric], columns, turned=True), [f"seeds are columns: {listed(names)}"]
    seeds = [place for place in cells if plain(frame.names[place]) in ("seed", "") and not _number(frame.names[place])]
    models = [place for place in cells if place not in seeds]
    names = [frame.names[place] for place in models]
    if others or len(seeds) > 1 or len(models) < 2 or any(map(_no_model, names)):
        return None
    if difflib.get_close_matches(metric, names, 1):
        return None
    long = [
        np.repeat(np.array(names), frame.lines),
        *([np.tile(frame.columns[seeds[0]], len(models))] if seeds else []),
    ]
    values = np.concatenate([frame.columns[place].astype(str) for place in models])
    index = seeds and frame.names[seeds[0]] == ""
    of_lines = [RUN if index else SEED] if seeds else []
    return Frame(frame.path, [MODEL, *of_lines, metric], [*long, values], turned=True), [
        f"models are columns: {listed(names)}"
    ]


def _number(name: str) -> bool:
    return bool(re.search(r"\d", name))


def _no_model(name: str) -> bool:
    """Whether a column is a metric, or something else that is counted."""
    return not name or not {*METRICS, *ASIDE}.isdisjoint(words_of(name))
