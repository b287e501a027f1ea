"""Tables of every layout as one: a line a run or a step, with columns of names and of metrics.

W&B exports a chart with a column a run, TensorBoard a file a run, MLflow's page a line a value; people write a model a
line with a column a seed, or a column a model. What is a metric in these is said by the user: `--metric`.
"""

import difflib
import re

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison.known_names import ASIDE, METRICS, OF_LINES
from toolnoise.comparison.tables.directions import words_of
from toolnoise.comparison.tables.frame import Frame, has, is_numeric, listed, plain, texts
from toolnoise.comparison.tables.roles import is_index

TENSORBOARD = ["Wall time", "Step", "Value"]
TAG = re.compile(r"[-_]tag[-_](.+)\.csv$")
EXTREMES = re.compile(r"__(MIN|MAX)$")
GROUPED = re.compile(r"(Group|Name|[\w.]+): ")
RUN_WORDS = {"run", "rep", "replicate", "replica", "trial", "r"}
NUMBERED = re.compile(
    r"(?P<word>seed|run|replicate|replica|rep|trial|s|r)?[\s_\-]*(?P<number>\d+)", re.IGNORECASE | re.ASCII
)
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
    if len(metrics) == 1 and frame.names == [""]:
        return Frame(frame.path, list(metrics), frame.columns), [f"the numbers are {metrics[0]}"]
    if len(metrics) == 1:
        found = _seeds_are_columns(frame, metrics[0], by, seed) or _models_are_columns(frame, metrics[0], by, seed)
        return found or (frame, [])
    return frame, []


def _tensorboard(frame: Frame, metrics: tuple[str, ...]) -> tuple[Frame, list[str]]:
    """The scalars of one run, as TensorBoard's page saves them: one metric, named by the file if at all."""
    tag = TAG.search(frame.path)
    if len(metrics) > 1 or (tag and not {*words_of(metrics[0])} <= {*words_of(tag[1]), "value"}):
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


def _seeds_are_columns(frame: Frame, metric: str, by: str | None, seed: str | None) -> tuple[Frame, list[str]] | None:
    """A line a model, with a number for each seed or run; models may be numbers, such as widths."""
    cells = [place for place, column in enumerate(frame.columns) if is_numeric(column)]
    if len(cells) == len(frame.names):
        cells = [place for place in cells if NUMBERED.fullmatch(frame.names[place])]
    others = [place for place in range(len(frame.names)) if place not in cells]
    numbered = [NUMBERED.fullmatch(frame.names[place]) for place in cells]
    if len(others) != 1 or not cells or not all(numbered) or (seed and has(frame, seed)):
        return None
    name, models = frame.names[others[0]], texts(frame.columns[others[0]])
    of_numbers = is_numeric(frame.columns[others[0]]) and (_is_of_lines(name) or _no_model(name))
    if by != name and (by is not None or of_numbers):
        return None
    numbers = np.repeat([match["number"] for match in numbered], len(models))
    columns = [np.tile(np.array(models), len(cells)), numbers, _beside(frame, cells)]
    are = RUN if any((match["word"] or "").lower() in RUN_WORDS for match in numbered) else SEED
    said = f"{are}s are columns: {listed([frame.names[place] for place in cells])}"
    return Frame(frame.path, [by or MODEL, are, metric], columns, turned=True), [said]


def _models_are_columns(frame: Frame, metric: str, by: str | None, seed: str | None) -> tuple[Frame, list[str]] | None:
    """A line a seed or a run, with a number for each model."""
    known = seed is not None and seed in frame.names
    of_lines = [
        place
        for place, name in enumerate(frame.names)
        if name == seed or _is_of_lines(name) or (not known and name.lower() == "seed")
    ]
    models = [place for place in range(len(frame.names)) if place not in of_lines]
    names = [frame.names[place] for place in models]
    whole = all(is_numeric(frame.columns[place]) for place in models)
    if by or not whole or len(models) < 2 or any(map(_no_model, names)):
        return None
    if difflib.get_close_matches(metric, names, 1):
        return None
    columns = [
        np.repeat(np.array(names), frame.lines),
        *(np.tile(frame.columns[place], len(models)) for place in of_lines),
    ]
    heads = [frame.names[place] or RUN for place in of_lines]
    turned = Frame(frame.path, [MODEL, *heads, metric], [*columns, _beside(frame, models)], turned=True)
    return turned, [f"models are columns: {listed(names)}"]


def _beside(frame: Frame, places: list[int]) -> np.ndarray:
    """The cells of columns, one column after the other."""
    return np.concatenate([frame.columns[place].astype(str) for place in places])


def _is_of_lines(name: str) -> bool:
    """Whether a column numbers lines, or tells them apart."""
    return is_index(name) or plain(name) in OF_LINES


def _no_model(name: str) -> bool:
    """Whether a column is a metric, or something else that is counted."""
    numbered = NUMBERED.fullmatch(name)
    of_run = numbered is not None and (numbered["word"] or "").lower() in {"seed", *RUN_WORDS - {"r"}}
    return of_run or not {*METRICS, *ASIDE}.isdisjoint(words_of(name))
