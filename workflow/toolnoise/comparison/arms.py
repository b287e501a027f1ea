"""The runs of one method on examples, from any source: predicted classes, right and wrong answers, values, or losses.

A file is `.npy`, `.npz` or CSV, recognised by its first bytes; nothing is ever unpickled. `readings` interprets its
content. This module puts examples into the order of the labels, refuses runs that do not fit the labels, and joins
files of one run each. Scores that are never negative and sum to 1 are probabilities. Scores that are neither these nor
logits (`outputs.kind_of_scores`) have no cross-entropy. An `.npz` has one array or one with a name of `STACKS`, or else
an array for each run, and may have labels by name. For a dump of a study, the index has the kind.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import make_printable
from toolnoise.comparison import label_files, naming, readings, table_files
from toolnoise.comparison.label_files import Truth
from toolnoise.comparison.naming import by_number, numbers_of, role_of
from toolnoise.comparison.readings import Reading
from toolnoise.comparison.table_files import read_csv
from toolnoise.dumps import stacks
from toolnoise.formulas import outcome_files
from toolnoise.formulas.accuracy import cross_entropies, predictions
from toolnoise.formulas.equal_runs import digests_of_runs
from toolnoise.formulas.outcomes import CLASSES, CLASSIFYING, LABEL, LOGITS, LOSSES, NUMBERS, VALUES
from toolnoise.formulas.outputs import Kind, kind_of_scores
from toolnoise.stats.draws import Drawn

PREDICTIONS, RIGHTS = "predictions", "rights"
# By what is asked for: an array of an .npz with such a name has all runs, and other arrays are not read.
STACKS = {
    PREDICTIONS: ("logits", "probabilities", "predictions", "scores", "correct"),
    VALUES: ("predictions",),
    LOSSES: ("losses",),
}


class Arm(NamedTuple):
    """The answers of each run, [S, U]: predicted classes, 1 or 0 for right or wrong, values, or losses (`kind`).

    `truth` has the class or value of each unit, `lengths` the number of units of each example, [N]. Runs with scores
    also have cross-entropies, [S], and the number of classes, with their `names` if the file has them. `bits` has a
    digest of each run's scores or numbers, `drawn` the draws of each run if known. `ids` identify the examples and
    `numbers` the runs, if the file has them.
    """

    file: str
    answers: np.ndarray
    truth: np.ndarray | None
    lengths: np.ndarray
    kind: str = CLASSES
    outcome: str = LABEL
    entropies: np.ndarray | None = None
    classes: int | None = None
    names: list[str] | None = None
    missing: int = 0
    drawn: Sequence[Drawn] | None = None
    bits: Sequence[str] | None = None
    notes: Sequence[str] = ()
    ids: np.ndarray | None = None
    numbers: Sequence[int] | None = None
    scores: np.ndarray | None = None

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.answers)


def kind_asked(*, values: bool, losses: bool) -> str | None:
    """The kind of numbers that the options choose; None for predictions."""
    if values and losses:
        raise BadArgument("values", "found losses, too", "one of them")
    return VALUES if values else LOSSES if losses else None


def require_no_losses(path: str, asked: str | None) -> None:
    """Refuse a file that has the name of a file of losses, unless losses are asked for."""
    if Path(path).name in outcome_files.LOSSES and asked != LOSSES:
        what = "found losses by its name, which are no predictions"
        raise BadInput(path, "", what, "losses, if it is each token's negative log-likelihood; or another name")


def labels_of(given: Sequence[str]) -> Truth:
    """The labels in an arm's first file, or in the study of a dump; none for right and wrong answers."""
    path = naming.files_of(given[0])[0]
    if about := index_of(path):
        _require_outcome(path, about, PREDICTIONS)
        return label_files.read_labels(data_of(given))
    zipped = table_files.is_zipped(path)
    names = [] if zipped or table_files.is_array(path) else read_csv(path)
    if any(role_of(name) == "label" for name in (arrays.npz_names(path) if zipped else names)):
        return label_files.read_labels(path)
    allowed = "a file with the labels; or metric, if these are metrics of runs"
    try:
        reading = _reading(path, PREDICTIONS, Truth("", None, None))
    except BadInput as error:
        what = f"{path} has no labels, nor right and wrong answers alone ({error})"
        raise BadArgument("labels", what, allowed) from None
    if reading.what != RIGHTS:
        raise BadArgument("labels", f"{path} has no labels, and is no dump of a study", allowed)
    return Truth(path, None, reading.array.shape[1], reading.ids, alone=False)


def data_of(given: Sequence[str]) -> str:
    """The path of the prepared data of the study whose dump is the arm's first file."""
    path = naming.files_of(given[0])[0]
    if index_of(path):
        _, dataset, _, _, study = [*Path(path).resolve().parents, *[Path("/")] * 5][:5]
        data = study / "data" / f"{dataset.name}.npz"
        if data.is_file():
            return str(data)
    raise BadArgument("labels", f"{path} is not a dump of a study", "a file with the labels")


def read_arm(given: Sequence[str], of: str, truth: Truth | None) -> Arm:
    """Read an arm's files as runs: predictions, values or losses."""
    paths = [path for pattern in given for path in naming.files_of(pattern)]
    for path in paths if truth and of == PREDICTIONS and truth.alone else ():
        if Path(path).exists() and Path(truth.source).exists() and Path(path).samefile(truth.source):
            raise BadInput(path, "", "found the labels among the runs", "files of predictions")
    # Scores are dropped file by file: together they may not fit into memory.
    found = [read_file(path, of, truth)._replace(scores=None) for path in paths]
    name = given[0] if len(given) == 1 else f"{given[0]} ... {given[-1]}"
    return join_runs(name, found, naming.run_numbers(paths))


def read_file(path: str, of: str, truth: Truth | None) -> Arm:
    """The runs in one file."""
    if about := index_of(path):
        return _dumped(path, about, of, truth)
    return _arm(path, _reading(path, of, truth), truth)


def read_arrays(name: str, values: Sequence[np.ndarray], of: str, truth: Truth | None) -> Arm:
    """The runs in one array, or in one array per run; `name` is the argument's name for messages."""
    if of == LOSSES:
        return _arm(name, _of_runs(name, dict(enumerate(values)), of, None), None)
    return join_runs(name, [_arm(name, _of_argument(name, array, of, truth), truth) for array in values])


def _of_argument(name: str, array: np.ndarray, of: str, truth: Truth) -> Reading:
    if array.dtype.kind == "U" and of == PREDICTIONS and not truth.shape:  # classes as texts
        return Reading(np.atleast_2d(array), CLASSES, f"{array.size} texts as predicted classes")
    reading = _of_runs(name, {"": array}, of, truth)
    # An array of one run needs no note: it can be read in one way only.
    return reading._replace(how="") if array.ndim == 1 else reading


def join_runs(name: str, arms: Sequence[Arm], of_files: Sequence[int] | None = None) -> Arm:
    """One arm from the runs of several files or arrays, in the order of their numbers."""
    first = arms[0]
    if len(arms) == 1:
        return first
    for arm in arms:
        if arm.runs != 1:
            raise BadInput(arm.file, "", f"found {arm.runs} runs", f"one run in each of {len(arms)} files")
        if arm.kind != first.kind:
            what = "found classes beside right and wrong answers"
            raise BadInput(arm.file, "", what, "one of them in all files of an arm")
        _require_same_examples(first, arm)
    within = [number for arm in arms for number in arm.numbers or ()]
    numbers = within if len(set(within)) == len(arms) else of_files
    if numbers is not None:
        arms = [arms[place] for place in np.argsort(numbers)]
    entropies, scores, drawn, bits = (_of_all(arms, part) for part in ("entropies", "scores", "drawn", "bits"))
    return first._replace(
        file=name,
        answers=np.concatenate([arm.answers for arm in arms]),
        entropies=None if entropies is None else np.array(entropies),
        scores=None if scores is None else np.array(scores),
        classes=next((arm.classes for arm in arms if arm.classes), None),
        missing=sum(arm.missing for arm in arms),
        drawn=drawn,
        bits=bits,
        notes=list(dict.fromkeys(note for arm in arms for note in arm.notes)),
        ids=next((arm.ids for arm in arms if arm.ids is not None), None),
        numbers=numbers and sorted(numbers),
        names=next((arm.names for arm in arms if arm.names), None),
    )


def _of_all(arms: Sequence[Arm], part: str) -> list[Any] | None:
    """A property of the runs of all files, joined; None if one file lacks it."""
    of_arms = [getattr(arm, part) for arm in arms]
    return None if any(of_arm is None for of_arm in of_arms) else [of_run for of_arm in of_arms for of_run in of_arm]


def _require_same_examples(arm: Arm, other: Arm) -> None:
    """Refuse runs with different examples, by their numbers or ids, or with different classes."""
    if not np.array_equal(arm.lengths, other.lengths):
        words = NUMBERS[arm.kind]
        sizes = [f"{each.lengths.sum()} {words.unit}s of {len(each.lengths)} {words.example}s" for each in (other, arm)]
        raise BadInput(other.file, "", f"found {sizes[0]}", f"{sizes[1]}, of {arm.file}, with the same padding")
    for known, asked in ((arm, other), (other, arm)):
        if known.classes and asked.classes not in (None, known.classes):
            raise BadInput(asked.file, "", f"found {asked.classes} classes", f"the {known.classes} of {known.file}")
        if known.classes and asked.kind == CLASSES and (last := asked.answers.max()) >= known.classes:
            raise BadInput(asked.file, "", f"found class {last}", f"the {known.classes} of {known.file}")
    if arm.names and other.names and arm.names != other.names:
        name, wanted = next(pair for pair in zip(other.names, arm.names, strict=True) if len(set(pair)) > 1)
        what = f"found scores of {name} where {arm.file} has {wanted}"
        raise BadInput(other.file, "", what, "the same classes, in the same order")
    if arm.ids is not None and other.ids is not None:
        order = table_files.matching_order(other.ids, arm.ids)
        if order is None or (order != np.arange(len(order))).any():
            allowed = "the same order; or ids beside the labels, too, by which examples are put into order"
            raise BadInput(other.file, "", f"found other examples than in {arm.file}, or in another order", allowed)


def require_comparable(arms: Sequence[Arm], *, paired: bool = False) -> None:
    """Refuse arms with different examples, and arms that cannot be paired."""
    for place, arm in enumerate(arms):
        for other in arms[:place]:
            _require_same_examples(other, arm)
    counts = [arm.runs for arm in arms]
    if len(arms) > 2 and max(counts) == 1:
        what = f"found {len(arms)} methods of one run each"
        raise BadArgument("ARMS", what, "quote the pattern: 'a/*.npy', or a list of files an arm")
    recorded = next((arm.file for arm in arms if arm.drawn is not None), None)
    if recorded and paired:
        what = f"the draws of {recorded} are known"
        raise BadArgument("paired", what, "only for files of your own")
    if paired:
        naming.require_pairs(counts, [(arm.numbers, arm.file) for arm in arms if arm.numbers])


def index_of(path: str | Path) -> dict[str, Any] | None:
    """The index beside a dump that `predict` wrote; None for any other file."""
    index = Path(path).with_suffix(".json")
    about = files.read_json(index) if Path(path).suffix == ".npy" and index.is_file() else None
    return about if isinstance(about, dict) and {"spec", "seeds", "diverged", "shape"} <= about.keys() else None


def _require_outcome(dump: str, about: Mapping[str, Any], of: str) -> None:
    """Refuse a dump whose outcome is of another kind."""
    left = about.get("outcome", LOGITS)
    if left not in (CLASSIFYING if of == PREDICTIONS else [of]):
        allowed = f"{of}, as in other arms"
        if of == PREDICTIONS:
            allowed = "classes or scores; means and SDs of other outcomes are in metrics/stability.csv"
        raise BadInput(dump, "", f"found an outcome of kind {left}", allowed)


def _dumped(path: str, about: Mapping[str, Any], of: str, truth: Truth | None) -> Arm:
    """The runs of a study's dump that did not diverge, with their draws."""
    _require_outcome(path, about, of)
    dump = stacks.read_predictions(path, Path(path).with_suffix(".json"))
    about_runs = {"missing": sum(dump.diverged), "drawn": dump.kept_draws}
    values = dump.kept
    if of == PREDICTIONS:
        table_files.require_array(path, values, 3)
        readings.known_of(path, "", truth).require_examples(values.shape[1], f"shape {values.shape}")
        reading = Reading(values, "scores" if values.ndim == 3 else CLASSES, name="logits")
        return _arm(path, reading, truth)._replace(**about_runs)
    lengths = np.array(about.get("lengths", []), int) if truth is None else _lengths(truth)
    if lengths.sum() != values.shape[1]:
        raise BadInput(path, "", f"found {values.shape[1]} numbers of a run", f"{lengths.sum()}, as of other arms")
    return _arm(path, Reading(np.array(values), of, lengths=lengths), truth)._replace(**about_runs)


def _of_runs(path: str, runs: Mapping[Any, np.ndarray], of: str, truth: Truth | None) -> Reading:
    """The reading of one array of all runs, or of one array per run, by name."""
    values, (first, *others) = list(runs.values()), runs
    name = "" if others else first
    if of == LOSSES:
        return readings.read_losses(path, readings.losses_of_runs(path, values))
    if of == VALUES:
        return readings.read_values(path, values, truth)
    if truth.shape:
        return readings.read_units(path, name, values, truth)
    for array in values:
        table_files.require_array(path, array, 3)
    known = readings.known_of(path, first, truth)
    reading = readings.read_array_a_run(known, runs) if others else readings.read_class_array(known, values[0])
    return reading._replace(name=name)


def _reading(path: str, of: str, truth: Truth | None) -> Reading:
    """The reading of a file, its examples in the order of their ids."""
    zipped = table_files.is_zipped(path)
    if not zipped and not table_files.is_array(path):
        return _of_table(path, of, truth)
    named = arrays.read_npz(path) if zipped else {}
    runs = _runs_of(path, named, of, 2 if truth and not truth.shape else 4) if zipped else {"": arrays.read_npy(path)}
    reading, (array, *others) = _of_runs(path, runs, of, truth), runs.values()
    if of == LOSSES:
        examples = array.shape[max(array.ndim - 2, 0)]
    else:
        examples = truth.shape[0] if truth.shape else reading.array.shape[1]
    if of == PREDICTIONS and not truth.shape:
        beside = [each for name, each in named.items() if role_of(name) == "label" and each.ndim == 1]
        reading = reading._replace(labels=next((each for each in beside if each.dtype.kind in "biuf"), None))
    order, ids = table_files.in_order(path, named, examples)
    if of == LOSSES and (order != np.arange(len(order))).any():
        what = "tokens" if array.ndim == 1 else "segments"
        raise BadInput(path, "", f"found {what} in another order than their ids", "the order of their ids")
    if (given := reading.labels) is not None:
        if len(given) != examples:
            raise BadInput(path, "", f"found {len(given)} labels for {examples} examples", "one label per example")
        given = given[order]
    numbers = numbers_of(list(runs)) if others else None
    values = reading.array if of == LOSSES else _ordered(reading.array, order)
    return reading._replace(array=values, ids=ids, labels=given, runs=numbers and sorted(numbers))


def _of_table(path: str, of: str, truth: Truth | None) -> Reading:
    """The reading of a CSV file."""
    if of == LOSSES:
        raise BadInput(path, "", "found no array", ".npy or .npz with the losses of tokens")
    if of == VALUES:
        found = label_files.read_numbers(path)
        values = found.answers.reshape(found.shape)
        columns, wanted = (naming.distinct_words(each.asked) for each in (found, truth))
        reading = readings.read_values(path, [values], truth)._replace(ids=found.ids)
        if len(wanted) > 1 and sorted(columns) == sorted(wanted):
            reading = reading._replace(array=reading.array[..., [columns.index(name) for name in wanted]])
        return reading
    if truth.shape:
        what = f"found no array, and labels of shape {truth.shape} in {truth.source}"
        raise BadInput(path, "", what, ".npy or .npz where examples have several labels")
    return readings.read_class_table(readings.known_of(path, "", truth), read_csv(path, examples=truth.examples))


def losses_of_a_run(path: str) -> tuple[np.ndarray, Arm]:
    """The losses of the one run in a file: as an array with padding, and as an arm without."""
    zipped = table_files.is_zipped(path)
    runs = _runs_of(path, arrays.read_npz(path), LOSSES, 4) if zipped else {"": arrays.read_npy(path)}
    runs = readings.losses_of_runs(path, list(runs.values()))
    if len(runs) != 1:
        raise BadInput(path, "", f"found {len(runs)} runs", "one run in a file")
    return runs[0], read_file(path, LOSSES, None)


def _runs_of(path: str, named: Mapping[str, np.ndarray], of: str, most: int) -> dict[str, np.ndarray]:
    """The array of an .npz with all runs, or its arrays of one run each, of at most `most` axes, by their numbers."""
    stack = [name for name in named if name in STACKS[of]]
    runs = [name for name in named if role_of(name) != "label" and not table_files.identifies_examples(name)]
    if len(stack) == 1 or len(runs) == 1:
        name = (stack or runs)[0]
        return {name: named[name]}
    if stack or len({named[name].shape for name in runs}) != 1 or named[runs[0]].ndim not in range(1, most + 1):
        wanted = f"one array named {' or '.join(STACKS[of])}, or an array of one shape for each run"
        raise BadInput(path, "", f"found {table_files.shapes_of(named)}", wanted)
    return {runs[place]: named[runs[place]] for place in by_number(runs)}


def _ordered(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Each run's values with the examples in this order; an example may have several units."""
    if np.array_equal(order, np.arange(len(order))):  # no copy
        return values
    return values.reshape(len(values), len(order), -1)[:, order].reshape(values.shape)


def _lengths(truth: Truth) -> np.ndarray:
    return np.full(truth.examples // truth.units, truth.units)


def _arm(path: str, reading: Reading, truth: Truth | None) -> Arm:
    """The arm of a reading, its examples in the order of the labels."""
    values, given, ids = reading.array, reading.labels, reading.ids
    if ids is not None and truth is not None and truth.ids is not None:
        order = table_files.require_matching_order(path, ids, truth.source, truth.ids)
        values, given, ids = _ordered(values, order), None if given is None else given[order], truth.ids
    lengths = _lengths(truth) if reading.lengths is None else reading.lengths
    outcome = reading.what if truth is None else truth.outcome
    # A reading of a dump has no `how`: its index has the kind.
    notes = (f"read {make_printable(' '.join(reading.how.split()))}",) if reading.how else ()
    arm = Arm(
        path,
        values,
        truth and truth.answers,
        lengths,
        reading.what,
        outcome,
        notes=notes,
        ids=ids,
        numbers=reading.runs,
    )
    if reading.what in NUMBERS:
        flat = values.reshape(len(values), -1).astype(np.float64)
        table_files.require_squares(path, flat)
        return arm._replace(answers=flat, bits=digests_of_runs(flat))
    if reading.what == RIGHTS:
        return arm._replace(answers=values.astype(np.int64), truth=np.ones(values.shape[1], np.int64))
    if truth.answers is None:
        allowed = "labels in a file of their own: the first one has right and wrong answers alone"
        raise BadInput(path, "", f"found {reading.what}, and no labels", allowed)
    if given is not None and not np.array_equal(_coded(path, given, truth, "label"), truth.answers):
        what = f"found other labels in it than in {truth.source}"
        raise BadInput(path, "", what, "the same labels, in the same order")
    if reading.what == "scores":
        return _of_scores(arm._replace(kind=CLASSES, names=reading.classes), reading.name, truth)
    predicted = _coded(path, values, truth, "class")
    _require_labels_among(path, predicted, truth)
    return arm._replace(answers=predicted)


def _of_scores(arm: Arm, name: str, truth: Truth) -> Arm:
    """Predicted classes and cross-entropies from scores, [S, N, C]."""
    path, values, classes = arm.file, arm.answers, arm.answers.shape[2]
    if truth.codes is not None:
        allowed = f"whole numbers: the places of the classes in {path}"
        raise BadInput(truth.source, "", "found texts as labels", allowed)
    if classes < 2:
        raise BadInput(path, "", "found scores of 1 class", "a score of each class, 2 or more")
    if truth.answers.max() >= classes:
        place = int(np.argmax(truth.answers))
        allowed = f"0 to {classes - 1}, the classes of {path}"
        raise BadInput(truth.source, f"[{place}]", f"found {truth.answers[place]}", allowed)
    entropies, said = _entropies(values, truth.answers, _kind(path, name, values))
    if entropies is not None:
        table_files.require_squares(path, entropies)
    notes = (*arm.notes, *said)
    of_scores = {"entropies": entropies, "classes": classes, "bits": digests_of_runs(values), "scores": values}
    return arm._replace(answers=predictions(values), notes=notes, **of_scores)


def _coded(path: str, values: np.ndarray, truth: Truth, what: str) -> np.ndarray:
    """Classes as numbers; classes that are texts get the numbers of the labels."""
    texts = values.dtype.kind == "U"
    if texts != (truth.codes is not None):
        value = repr(table_files.a_text(values)) if texts else values.flat[0]
        kinds = f"found the {what} {value}, and {'numbers' if texts else 'texts'} as labels in {truth.source}"
        raise BadInput(path, "", kinds, "texts in both, or numbers")
    if not texts:
        return label_files.as_classes(path, values, what)
    names, places = np.unique(values, return_inverse=True)
    codes = [truth.codes.setdefault(str(name), len(truth.codes)) for name in names]
    return np.array(codes, np.int64)[places].reshape(values.shape)


def _require_labels_among(path: str, predicted: np.ndarray, truth: Truth) -> None:
    """Refuse predicted classes whose numbering or names differ from the labels'.

    They differ if no label is predicted, or if the range of classes is shifted and shifted labels fit more answers.
    """
    seen, labels = np.unique(predicted), np.unique(truth.answers)
    step = int(seen[0]) - int(labels[0])
    apart = not np.isin(labels, seen).any()
    moved = truth.codes is None and step * (int(seen[-1]) - int(labels[-1])) > 0
    if moved and not apart:
        moved = np.count_nonzero(predicted == truth.answers + step) > np.count_nonzero(predicted == truth.answers)
    if not (apart or moved):
        return
    if truth.codes is None:
        what = f"found classes {seen[0]} to {seen[-1]} for labels {labels[0]} to {labels[-1]} of {truth.source}"
    else:
        names = {code: name for name, code in truth.codes.items()}
        what = f"found classes such as {names[seen[0]][:40]!r} for labels such as {names[labels[0]][:40]!r}"
    raise BadInput(path, "", what, "classes counted from the same number" if moved else "classes that are labels")


def _kind(path: str, name: str, values: np.ndarray) -> Kind:
    """The kind of all runs' scores; an array's name that contradicts it is refused."""
    kinds = {kind_of_scores(run) for run in values}
    of_all: Kind = kinds.pop() if len(kinds) == 1 else "neither"
    if (name == "logits" and of_all == "probabilities") or (name == "probabilities" and of_all != "probabilities"):
        raise BadInput(path, name, f"found {of_all.replace('neither', 'scores whose sums are not 1')}", name)
    return of_all


def _entropies(values: np.ndarray, labels: np.ndarray, scores: Kind) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The cross-entropy of each run, or None where it is undefined, and notes on it."""
    if scores == "neither":
        return None, ("no cross-entropy, since the scores are neither logits nor probabilities that sum to 1",)
    if scores == "logits":
        return np.concatenate([cross_entropies(run[np.newaxis], labels) for run in values]), ()
    with np.errstate(divide="ignore"):
        entropies = np.array([cross_entropies(np.log(run[np.newaxis].astype(float)), labels)[0] for run in values])
    if not np.isfinite(entropies).all():
        return None, ("no cross-entropy, since the probability of a label is exactly 0",)
    return entropies, ("cross-entropy of probabilities as they are, not of their softmax",)
