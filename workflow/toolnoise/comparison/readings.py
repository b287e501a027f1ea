"""How an array or a table is read: as predicted classes, scores, right and wrong answers, values, or losses.

Names decide first, then values, then the shape, for N examples (docs/tables/compare.txt has the table). An array or a
table with two possible readings is refused, and the message names both. Whole numbers are scores only if a name says
so. Columns `run` and `example` name the run and the example of a line (`layout` in `table_files`); a column `label` has
labels. Notes list the columns that are not read. An array of an .npz has its role by its name, like a column; an array
without a name has the role of its file's name (`a_correct.npy`).

If each example has several labels, their shape decides: N x K, N x L or N x H x W. An array of that shape has each
unit's predicted class. For labels of 0 and 1, it may instead have each label's log-odds or probability. A further last
axis means scores of classes, a further first axis means runs. Values have the shape of the true values. Losses are
N x token, with NaN as padding, or token alone for one segment.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import counted
from toolnoise.comparison import table_files
from toolnoise.comparison.known_names import NUMBERED_RUNS, WORDS
from toolnoise.comparison.label_files import Truth
from toolnoise.comparison.naming import by_number, distinct_words, numbers_of, parts_of, role_of, role_of_words
from toolnoise.comparison.table_files import has_names
from toolnoise.formulas.outcomes import LABELS, LOSSES, VALUES, unit_scores
from toolnoise.formulas.outputs import require_losses, segment_lengths

if TYPE_CHECKING:
    import pandas as pd

LEFT = ("number", "other")
NAMES = "predictions in a column pred, or a column a run (seed0, ...) or a class (score_0, ...)"

# The most dimensions: runs, three of labels, and classes.
MOST_AXES = 5

OF_LOSSES = "segment x token or token of one run, run x segment x token, or an array for each run in an .npz"
What = Literal["classes", "scores", "rights", "values", "losses"]


class Reading(NamedTuple):
    """The runs in a file: classes or rights, [S, N], scores, [S, N, C], or numbers; `how` describes this in words.

    `ids` identify the examples, and `labels` are the file's own, both [N]. `runs` has the numbers of the runs, `name`
    the name of the only array in an .npz, and `classes` the names of the classes if they are not numbered. `lengths`
    is the number of tokens in each segment of losses.
    """

    array: np.ndarray
    what: What
    how: str = ""
    ids: np.ndarray | None = None
    labels: np.ndarray | None = None
    runs: list[int] | None = None
    name: str = ""
    classes: list[str] | None = None
    lengths: np.ndarray | None = None


class Known(NamedTuple):
    """Facts known before values are read: the file, its role by name, and the labels if there are any."""

    path: str
    role: str
    labels: np.ndarray | None
    examples: int | None
    source: str

    @property
    def classes(self) -> int:
        """The number of distinct labels; 0 without labels."""
        return 0 if self.labels is None else len(np.unique(self.labels))

    def refuse(self, what: str, allowed: str) -> NoReturn:
        """Refuse the file."""
        raise BadInput(self.path, "", what, allowed)

    def require_examples(self, examples: int, what: str) -> None:
        """Refuse a number of examples that differs from the number of labels."""
        n = self.examples
        if n not in (None, examples):
            allowed = f"{n} or run x {n} classes, or {n} x class or run x {n} x class scores"
            self.refuse(f"found {what} for the {n} labels of {self.source}", allowed)


def known_of(path: str, name: str, labels: Truth) -> Known:
    """The known facts about a named array, or about a file whose array has no name."""
    role = role_of_words(parts_of(name or Path(path).stem))
    return Known(path, role, labels.answers, labels.examples, labels.source)


def read_class_array(known: Known, values: np.ndarray, called: str = "") -> Reading:
    """The reading of an array of one to three dimensions; `called` is its name for messages."""
    shape, examples = values.shape, known.examples
    called = called or (counted(shape[0], "value") if len(shape) == 1 else f"{' x '.join(map(str, shape))} values")
    if values.ndim == 3:
        known.require_examples(shape[1], f"shape {shape}")
        return _scores(known, values, called)
    if values.ndim == 1 or 1 in shape:
        known.require_examples(values.size, f"shape {shape}")
        return _answers(known, values.reshape(1, -1), called)
    lines, columns = shape
    if examples is not None and examples not in shape:
        known.require_examples(-1, f"shape {shape}")
    of_classes = known.role == "score" or (known.role != "correct" and not is_whole(values))
    if of_classes and examples in (None, lines):
        return _scores(known, values[np.newaxis], called)
    if examples is None and known.role != "correct" and values.dtype.kind != "b":
        return _answers(known, values, called)
    if examples is None or lines == columns:
        known.refuse(
            f"found {lines} x {columns} whole numbers or booleans: a run in each line, or in each column",
            "names in a first line of CSV (seed0, ...), or an .npz with an array for each run",
        )
    if columns == examples:
        return _answers(known, values, called)
    if not known.role:
        _require_no_scores(known, values)
    if known.labels is not None and lines > known.labels.max() + 1 and any(map(table_files.are_places, values.T)):
        allowed = f"names (id), and {NAMES}"
        known.refuse(f"found {columns} columns without names, one of which counts the lines", allowed)
    return _answers(known, values.T, called)


def read_array_a_run(known: Known, runs: Mapping[str, np.ndarray]) -> Reading:
    """The reading of one array per run, of equal shapes in one or two dimensions."""
    values, called = np.stack(list(runs.values())), _listed("array", list(runs))
    known.require_examples(values.shape[1], f"shape {values.shape[1:]}")
    return _scores(known, values, called) if values.ndim == 3 else _answers(known, values, called)


def _scores(known: Known, values: np.ndarray, called: str) -> Reading:
    """Scores of each run, [S, N, C]."""
    runs, examples, classes = values.shape
    if known.role == "correct" or values.dtype.kind not in "iuf":
        what = f"found {counted(classes, 'value')} of {values.dtype} for each example and run"
        known.refuse(what, "a class, or right or wrong; or scores, which are numbers")
    return Reading(values, "scores", f"{called} as {counted(runs, 'run')} of {examples} x {classes} scores")


def _answers(known: Known, values: np.ndarray, called: str) -> Reading:
    """Each run's answer to each example, [S, N]: a class, or right or wrong."""
    runs, examples = values.shape
    how = f"{called} as {counted(runs, 'run')} of {examples}"
    if _are_rights(known, values):
        return Reading(values, "rights", f"{how} right or wrong answers (churn counts changes between right and wrong)")
    return Reading(values, "classes", f"{how} predicted classes")


def _are_rights(known: Known, values: np.ndarray) -> bool:
    boolean = values.dtype.kind == "b"
    binary = boolean or (values.dtype.kind != "U" and bool(((values == 0) | (values == 1)).all()))
    if known.role == "correct":
        if not binary:
            known.refuse("found more than right and wrong in what is named correct", "0 and 1, or True and False")
        return True
    if boolean and known.labels is None:
        return known.role != "pred"
    named = known.role == "pred"
    both = binary and values.any() and not values.all()
    if (boolean and not (named and known.classes < 3)) or (both and not named and known.classes > 2):
        what = "True and False" if boolean else "0 and 1"
        known.refuse(
            f"found only {what}, with labels of {counted(known.classes, 'class', 'es')}: right and wrong, or classes",
            "name it correct (correct_0, ...; a_correct.npy), or pred if it has predicted classes",
        )
    return False


def _require_no_scores(known: Known, values: np.ndarray) -> None:
    """Refuse whole numbers, N x k, that may be scores: one-hot, percent, votes, rounded logits."""
    if values.dtype.kind in "bU":
        return
    columns, sums = values.shape[1], values.sum(axis=1, dtype=np.float64)
    never_agree = bool((values.min(axis=1) != values.max(axis=1)).all())
    classes = 0 if known.labels is None else known.labels.max() + 1
    if (never_agree and np.ptp(sums) == 0) or values.min() < 0 or columns == classes <= values.max():
        _refuse_runs_or_classes(known, f"{columns} columns")


def _refuse_runs_or_classes(known: Known, called: str) -> NoReturn:
    known.refuse(
        f"found {called} of whole numbers: predicted classes, a run in each, or scores, a class in each",
        "names in a first line of CSV (seed0, ... or score_0, ...), or an .npz with an array predictions or scores",
    )


def is_whole(values: np.ndarray) -> bool:
    """Whether no value has a fraction."""
    # Scores usually have a fraction in their first lines.
    return values.dtype.kind != "f" or not (np.mod(values[:8], 1).any() or np.mod(values, 1).any())


def read_class_table(known: Known, table: "pd.DataFrame") -> Reading:
    """The reading of a table."""
    every = list(table)
    if not has_names(table):
        values = table_files.stack_columns(known.path, table, range(len(every)))
        return read_class_array(known, values, counted(len(every), "column"))
    roles = [role_of(name) for name in every]
    role, places = _content(known, every, roles)
    names, values = [every[place] for place in places], table_files.stack_columns(known.path, table, places)
    kind = role.split(" ")[0]
    known = known._replace(role=kind if kind in WORDS else known.role)
    rest = [
        name
        for place, (name, of) in enumerate(zip(every, roles, strict=True))
        if place not in places and of not in ("run", "example", "index", "label")
    ]
    reading = _of_columns(known, role, names, values, table)
    known.require_examples(reading.array.shape[1], counted(reading.array.shape[1], "example"))
    return reading._replace(how=reading.how + (f"; not read: {_short(rest)}" if rest else ""))


def _content(known: Known, names: Sequence[str], roles: Sequence[str]) -> tuple[str, list[int]]:
    """The role of the columns with predictions, and their places."""
    for role in ("pred", "pred by run", "correct", "correct by run", " by run", "score", "score by run"):
        places = [place for place, each in enumerate(roles) if each == role]
        if not places:
            continue
        shown = _short([names[place] for place in places])
        if role in ("pred", "correct") and len(places) > 1:
            known.refuse(f"found {len(places)} columns of predictions: {shown}", "one of them, or a column a run")
        if role == "score by run":
            allowed = "predicted classes, or a column a class in a file a run"
            known.refuse(f"found one score of each run: {shown}", allowed)
        return role, places
    places = [place for place, each in enumerate(roles) if each in LEFT]
    if not places:
        known.refuse(f"found no predictions among the columns {_short(names)}", NAMES)
    return "number" if all(roles[place] == "number" for place in places) else "other", places


def _of_columns(known: Known, role: str, names: list[str], values: np.ndarray, table: "pd.DataFrame") -> Reading:
    """The reading of the columns with predictions."""
    lines, columns = values.shape
    runs_in = table_files.columns_of_role(table, "run")
    if columns > 1 and role in LEFT and lines != known.examples == columns:
        # Each line is a run: the columns are examples.
        examples = by_number(names) if table_files.are_places(numbers_of(names)) else range(columns)
        return _answers(known, values[:, list(examples)], counted(lines, "line"))
    rows, ids, runs = table_files.layout_of_lines(known.path, table)
    called = _listed("column", names) + (f" by {' and '.join(runs_in)}" if runs_in else "")
    if columns == 1 and role != "score":
        reading = _answers(known, values[rows][..., 0], called)
    elif role == "score" or (role in (*LEFT, "pred by run") and (known.role == "score" or not is_whole(values))):
        reading = _scores(known, values[:, _class_order(known, role, names)][rows], called)
        if not table_files.are_places(numbers_of(names)):
            reading = reading._replace(classes=distinct_words(names))
    elif runs_in:
        what = f"found {_listed('column', names)} of whole numbers beside {runs_in[0]}: scores, or more runs"
        known.refuse(what, "one column pred, or columns score_0, score_1, ...")
    else:
        reading, runs = _a_column_a_run(known, role, names, values[rows[0]], called)
    given = table_files.labels_in(known.path, table, rows)
    how = f"{reading.how}; labels: the column {given[0]}" if given else reading.how
    return reading._replace(how=how, ids=ids, labels=given[1] if given else None, runs=runs)


def _a_column_a_run(
    known: Known, role: str, names: list[str], values: np.ndarray, called: str
) -> tuple[Reading, list[int] | None]:
    """The reading of columns, [N, S], each a run unless their names leave that open, and the runs' numbers."""
    if values.dtype.kind == "f" and not is_whole(values):
        where = names[np.argwhere(np.mod(values, 1))[0][1]]
        allowed = "predicted classes; scores in a file for each run"
        known.refuse(f"found fractions in {where}, a column of a run", allowed)
    if role == "number":
        return read_class_array(known, values, called), None
    if role == "other" and known.role not in ("pred", "correct"):
        _refuse_runs_or_classes(known, called)
    if role == "pred by run" and all(NUMBERED_RUNS.isdisjoint(parts_of(name)) for name in names):
        _require_no_scores(known, values)
    order, numbers = by_number(names), numbers_of(names)
    return _answers(known, values.T[order], called), numbers and sorted(numbers)


def _class_order(known: Known, role: str, names: Sequence[str]) -> list[int]:
    """The columns of scores in the order of their classes, since some programs write prob_10 before prob_2."""
    numbers = numbers_of(names)
    if not table_files.are_places(numbers):
        return list(range(len(names)))
    if role == "score" and 0 not in numbers and known.labels is not None and known.labels.min() > 0:
        allowed = "score_0, ... if class 0 is the first"
        known.refuse(f"found scores {names[0]} to {names[-1]}, of classes from 1", allowed)
    return by_number(names)


def _listed(noun: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"the {noun} {names[0]}"
    return f"{len(names)} {noun}s {names[0]} to {names[-1]}"


def _short(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 7 else f"{', '.join(names[:5])} ... {names[-1]}"


def read_units(path: str, name: str, values: Sequence[np.ndarray], labels: Truth) -> Reading:
    """The reading of arrays with several units per example: one array of one or more runs, or one array per run."""
    for array in values:
        table_files.require_array(path, array, MOST_AXES)
    shape, stack = labels.shape, values[0] if len(values) == 1 else np.stack(values)
    forms = {
        "classes": stack.shape == shape and len(values) == 1,
        "run x classes": stack.shape[1:] == shape,
        "scores": stack.shape[:-1] == shape and len(values) == 1,
        "run x scores": stack.shape[1:-1] == shape,
    }
    fitting = [form for form, fits in forms.items() if fits]
    if len(fitting) != 1:
        size = " x ".join(map(str, shape))
        allowed = f"{size} or run x {size} as in {labels.source}; or scores, {size} x class or run x {size} x class"
        if fitting:
            allowed = f"{' or '.join(fitting)}: an .npz with an array for each run, or a file for each"
        raise BadInput(path, "", f"found shape {stack.shape}", allowed)
    scored = fitting[0].endswith("scores")
    if not fitting[0].startswith("run"):
        stack = stack[np.newaxis]
    runs, units = len(stack), int(np.prod(shape))
    what = f"{' x '.join(map(str, stack.shape))} values as {counted(runs, 'run')} of {units}"
    if scored:
        return Reading(stack.reshape(runs, units, -1), "scores", f"{what} x {stack.shape[-1]} scores")
    flat = stack.reshape(runs, units)
    called = name or path.rpartition("/")[2].rpartition(".")[0]
    # Numbers for labels of 0 and 1 are classes if they are 0 and 1, and not named as scores.
    are_classes = role_of_words(parts_of(called)) != "score" and bool(((flat == 0) | (flat == 1)).all())
    if labels.outcome == LABELS and not are_classes:
        if flat.min() >= 0 and flat.max() <= 1:
            if role_of_words(parts_of(name)) == "score" and "logit" in name:
                raise BadInput(path, name, "found probabilities", "log-odds")
            return Reading(np.stack([1 - flat, flat], axis=-1), "scores", f"{what} probabilities of yes")
        if flat.min() >= 0 and "logit" not in called:
            what = f"found numbers from {flat.min():g} to {flat.max():g}, none below 0 as log-odds of no are"
            raise BadInput(path, name, what, "probabilities, from 0 to 1; log-odds in a file or array named logits")
        scores = np.stack([unit_scores(LABELS, run) for run in flat])
        return Reading(scores, "scores", f"{what} log-odds of yes against no")
    if flat.dtype.kind == "f" and not is_whole(flat):
        allowed = (
            f"classes, or scores of shape {(*shape, 'class')}; losses, if it is each token's negative log-likelihood"
        )
        raise BadInput(path, "", f"found fractions of shape {stack.shape}", allowed)
    return Reading(flat, "classes", f"{what} predicted classes")


def read_values(path: str, values: Sequence[np.ndarray], truth: Truth) -> Reading:
    """The reading of values of one run, or of several: along the first axis of one array, or in one array per run."""
    stack, shape = values[0] if len(values) == 1 else np.stack(values), truth.shape
    table_files.require_array(path, stack, 3)
    if stack.shape == shape or (len(shape) == 1 and stack.shape == (*shape, 1)):
        stack = stack.reshape(1, *shape)
    if stack.shape[1:] != shape:
        size = " x ".join(map(str, shape))
        raise BadInput(path, "", f"found shape {stack.shape}", f"{size} or run x {size}, as the true values are")
    return Reading(stack, VALUES)


def read_losses(path: str, runs: Sequence[np.ndarray]) -> Reading:
    """The reading of the losses of runs, which must have the same padding."""
    for run in runs:
        require_losses(path, run)
    gaps = np.isnan(runs[0])
    for place, run in enumerate(runs):
        if not np.array_equal(np.isnan(run), gaps):
            what = f"found padding in other places in run {place} than in run 0"
            raise BadInput(path, "", what, "the same tokens in each run")
    return Reading(np.stack([run[~gaps] for run in runs]), LOSSES, lengths=segment_lengths(runs[0]))


def losses_of_runs(path: str, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The losses of each run with their padding, from one array per run or one array of all runs."""
    runs = list(values[0]) if len(values) == 1 and values[0].ndim == 3 else list(values)
    if not runs or len({run.shape for run in runs}) > 1 or runs[0].ndim not in (1, 2):
        raise BadInput(path, "", f"found shape {runs[0].shape if runs else (0,)}", OF_LOSSES)
    return runs
