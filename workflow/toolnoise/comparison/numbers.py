"""Numbers of each run, in files: values that a regression predicts, or losses, each token's negative log-likelihood.

Values have the shape of the true ones, N or N x column; losses N x token, NaN where a segment is padded, or token
alone, which is one segment. An axis of runs may stand in front; an .npz may have an array for each run. A dump of a
study knows what it has. Losses are no predictions, so no label belongs to them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.comparison import array_files, label_files, read_arms, table_rows
from toolnoise.comparison.label_files import Values
from toolnoise.comparison.prediction_files import is_dump
from toolnoise.comparison.table_rows import by_number, numbers_of, role_of
from toolnoise.dumps import stacks
from toolnoise.formulas import outcome_files
from toolnoise.formulas.equal_runs import digests
from toolnoise.formulas.losses import lengths, require_losses
from toolnoise.formulas.outcomes import LOSSES, NUMBERS, VALUES
from toolnoise.stats.draws import Drawn

# The array of an .npz with this name has all runs; the others are then no runs.
STACKS = {VALUES: "predictions", LOSSES: "losses"}
OF_LOSSES = "segment x token or token of one run, run x segment x token, or an array for each run in an .npz"


class Numbers(NamedTuple):
    """Numbers of each run, [S, U], of examples that have so many units each, [N]; and, of values, the true ones.

    `ids` identify the examples, and `numbers` the runs, if the file does.
    """

    file: str
    kind: str
    values: np.ndarray
    lengths: np.ndarray
    truth: np.ndarray | None
    missing: int = 0
    drawn: Sequence[Drawn] | None = None
    notes: Sequence[str] = ()
    numbers: Sequence[int] | None = None
    ids: np.ndarray | None = None

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.values)

    @property
    def bits(self) -> list[str]:
        """A digest of each run, by which equal runs are known."""
        return digests(self.values)


def kind_asked(*, values: bool, losses: bool) -> str | None:
    """The kind of numbers that options name; None for predictions."""
    if values and losses:
        raise BadInput("command line", "--values", "found --losses, too", "one of them")
    return VALUES if values else LOSSES if losses else None


def require_no_losses(path: str, asked: str | None) -> None:
    """Refuse to take for predictions what a program left as losses."""
    if Path(path).name in outcome_files.LOSSES and asked != LOSSES:
        what = "found losses by its name, which are no predictions"
        raise BadInput(path, "", what, "--losses: each token's negative log-likelihood; or another name")


def read_arm(given: Sequence[str], kind: str, truth: Values | None) -> Numbers:
    """The runs of an arm, from what was given for it; values are held against the true ones."""
    paths = [path for pattern in given for path in read_arms.files_of(pattern)]
    name = paths[0] if len(paths) == 1 else f"{paths[0]} ... {paths[-1]}"
    return joined(name, [read(path, kind, truth) for path in paths], read_arms.numbered(paths))


def require_alike(arms: Sequence[Numbers]) -> None:
    """Refuse arms of other examples."""
    for arm in arms:
        _require_same(arms[0], arm)


def joined(name: str, found: Sequence[Numbers], of_files: Sequence[int] | None = None) -> Numbers:
    """The runs of an arm that are one file, or each of several files with these numbers, or arrays."""
    for each in found:
        if len(found) > 1 and each.runs != 1:
            raise BadInput(each.file, "", f"found {each.runs} runs", f"one run in each of {len(found)} files")
        _require_same(found[0], each)
    found = [found[place] for place in read_arms.in_order(of_files, len(found))]
    drawn = [run for each in found for run in each.drawn or ()]
    return found[0]._replace(
        file=name,
        values=np.concatenate([each.values for each in found]),
        missing=sum(each.missing for each in found),
        drawn=drawn if all(each.drawn for each in found) else None,
        numbers=sorted(of_files) if of_files else found[0].numbers if len(found) == 1 else None,
    )


def read(path: str, kind: str, truth: Values | None) -> Numbers:
    """The runs in one file."""
    if is_dump(Path(path)):
        return _dumped(path, kind, truth)
    named = _arrays(path, kind)
    if kind == VALUES and not named:
        return of_values(label_files.numbers(path), truth)
    runs = _runs(path, kind, named)
    each = list(runs.values())
    if kind == LOSSES:
        found = of_losses(path, each, named)
    else:
        found = of_values(Values(path, np.stack(each) if len(each) > 1 else each[0]), truth, named)
    numbers = numbers_of(list(runs)) if len(runs) > 1 else None
    return found._replace(numbers=numbers and sorted(numbers))


def of_losses(path: str, runs: Sequence[np.ndarray], beside: Mapping[str, np.ndarray] | None = None) -> Numbers:
    """The losses of each run, which are a file's or an argument's; arrays beside them may identify segments."""
    if len(runs) == 1 and runs[0].ndim == 3:
        runs = list(runs[0])
    if not runs or len({run.shape for run in runs}) > 1 or runs[0].ndim not in (1, 2):
        raise BadInput(path, "", f"found shape {runs[0].shape if runs else (0,)}", OF_LOSSES)
    gaps = np.isnan(runs[0])
    for place, run in enumerate(runs):
        require_losses(path, run)
        if not np.array_equal(np.isnan(run), gaps):
            what = f"found padding in other places in run {place} than in run 0"
            raise BadInput(path, "", what, "the same tokens in each run")
    values = np.stack([run[~gaps] for run in runs]).astype(np.float64)
    order, ids = table_rows.in_order(path, beside or {}, len(runs[0]))
    if (order != np.arange(len(order))).any():
        what = "segments" if runs[0].ndim == 2 else "tokens"
        raise BadInput(path, "", f"found {what} in another order than their ids", "the order of their ids")
    return Numbers(path, LOSSES, values, lengths(runs[0]), None, ids=ids)


def of_values(given: Values, truth: Values, beside: Mapping[str, np.ndarray] | None = None) -> Numbers:
    """The values of one run, or of several along a first axis, in the order of the true ones.

    Arrays beside them may identify the examples.
    """
    path, stack, shape = given.source, given.values, truth.values.shape
    array_files.require_array(path, stack, 3)
    if stack.shape == shape or (len(shape) == 1 and stack.shape == (*shape, 1)):
        stack = stack.reshape(1, *shape)
    if stack.shape[1:] != shape:
        size = " x ".join(map(str, shape))
        raise BadInput(path, "", f"found shape {stack.shape}", f"{size} or run x {size}, as the true values are")
    order, ids = table_rows.in_order(path, beside or {}, shape[0])
    ids = given.ids if ids is None else ids
    if ids is not None and truth.ids is not None:
        order, ids = order[table_rows.matched(path, ids, truth.source, truth.ids)], truth.ids
    values = stack[:, order]
    columns, wanted = (table_rows.distinct_words(each.columns) for each in (given, truth))
    if len(wanted) > 1 and sorted(columns) == sorted(wanted):
        values = values[..., [columns.index(name) for name in wanted]]
    values = values.reshape(len(values), -1).astype(np.float64)
    return Numbers(path, VALUES, values, *_units(truth), ids=ids)


def _units(truth: Values) -> tuple[np.ndarray, np.ndarray]:
    """How many numbers each example has, [N], and the true ones, [U]."""
    return np.full(len(truth.values), truth.values[0].size), truth.values.ravel().astype(np.float64)


def losses_of_a_run(path: str) -> tuple[np.ndarray, Numbers]:
    """The losses of the one run in a file, with their padding and without."""
    named = _arrays(path, LOSSES)
    runs = list(_runs(path, LOSSES, named).values())
    if len(runs) == 1 and runs[0].ndim == 3:
        runs = list(runs[0])
    if len(runs) != 1:
        raise BadInput(path, "", f"found {len(runs)} runs", "one run in a file")
    return runs[0], of_losses(path, runs, named)


def _arrays(path: str, kind: str) -> dict[str, np.ndarray]:
    """The array of an .npy, or those of an .npz; none of another file."""
    if array_files.zipped(path):
        return arrays.read_npz(path)
    return {STACKS[kind]: arrays.read_npy(path)} if array_files.is_array(path) else {}


def _runs(path: str, kind: str, named: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The array that has all runs, or one of each, of equal shapes, in the order of the numbers in their names."""
    if STACKS[kind] in named:
        return {STACKS[kind]: named[STACKS[kind]]}
    if kind == LOSSES and not named:
        raise BadInput(path, "", "found no array", ".npy or .npz with the losses of tokens")
    names = [name for name in named if role_of(name) != "label" and not table_rows.identifies(name)]
    if len({named[name].shape for name in names}) != 1:
        wanted = OF_LOSSES if kind == LOSSES else "an array of one shape for each run"
        raise BadInput(path, "", f"found {array_files.shapes_of(named)}", wanted)
    return {names[place]: named[names[place]] for place in by_number(names)}


def _dumped(path: str, kind: str, truth: Values | None) -> Numbers:
    """The finished runs of a study's dump."""
    index = Path(path).with_suffix(".json")
    about, dump = files.read_json(index), stacks.read_predictions(path, index)
    left = about.get("outcome")
    if left != kind:
        raise BadInput(path, "", f"found an outcome of kind {left}", f"{kind}, as in other arms")
    lengths, flat = (np.array(about.get("lengths", []), int), None) if truth is None else _units(truth)
    values = np.array(dump.kept)
    if lengths.sum() != values.shape[1]:
        raise BadInput(path, "", f"found {values.shape[1]} numbers of a run", f"{lengths.sum()}, as of other arms")
    return Numbers(path, kind, values, lengths, flat, sum(dump.diverged), dump.kept_draws)


def _require_same(arm: Numbers, other: Numbers) -> None:
    """Refuse numbers of other examples, as far as these can be told apart."""
    if not np.array_equal(arm.lengths, other.lengths):
        words = NUMBERS[arm.kind]
        sizes = [f"{each.lengths.sum()} {words.unit}s of {len(each.lengths)} {words.example}s" for each in (other, arm)]
        raise BadInput(other.file, "", f"found {sizes[0]}", f"{sizes[1]}, of {arm.file}, with the same padding")
    if arm.ids is not None and other.ids is not None:
        order = table_rows.matching(other.ids, arm.ids)
        if order is None or (order != np.arange(len(order))).any():
            what = f"found other examples than in {arm.file}, or in another order"
            raise BadInput(other.file, "", what, "the same ids in the same order")
