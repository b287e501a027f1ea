"""Predictions from any source, in files: predicted classes, scores, or right and wrong, of one run or several; labels.

A file is `.npy`, `.npz` or CSV, recognised by its first bytes; nothing is ever unpickled. `readings` says what it has;
here it is brought into the order of the labels, and what cannot be true of them is refused. Scores that are never
negative and sum to 1 are probabilities, others logits; what is neither has no cross-entropy. An `.npz` has one array or
one with a name of `STACKS`, or else an array for each run; those named as labels are labels.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import escaped
from toolnoise.comparison import array_files, csv_columns, label_files, readings, table_rows
from toolnoise.comparison.label_files import Labels
from toolnoise.comparison.readings import Reading
from toolnoise.comparison.table_rows import by_number, numbers_of, role_of
from toolnoise.dumps import stacks
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.entropy import cross_entropies
from toolnoise.formulas.equal_runs import digests
from toolnoise.formulas.outcomes import CLASSIFYING, LABEL, LOGITS
from toolnoise.formulas.probabilities import Kind, kind
from toolnoise.stats.draws import Drawn

# An array of an .npz with one of these names has all runs; the others are then not read.
STACKS = ("logits", "probabilities", "predictions", "scores", "correct")


class Answers(NamedTuple):
    """Predicted classes of each run, [S, N]; with scores, also cross-entropies, [S], and the number of classes.

    `drawn` has the draws of each run if they are known, `bits` a digest of the scores of each run if there are scores.
    `rights` says that the classes are 1 for right and 0 for wrong answers. `ids` identify the examples, `numbers` the
    runs, and `names` the classes, if the file does; `scores` are those of the file. Of examples with several `units`,
    N counts these.
    """

    file: str
    predicted: np.ndarray
    entropies: np.ndarray | None
    classes: int | None
    missing: int = 0
    drawn: Sequence[Drawn] | None = None
    bits: Sequence[str] | None = None
    notes: Sequence[str] = ()
    rights: bool = False
    ids: np.ndarray | None = None
    numbers: Sequence[int] | None = None
    scores: np.ndarray | None = None
    units: int = 1
    outcome: str = LABEL
    names: list[str] | None = None

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.predicted)


def labels_of(path: str) -> Labels:
    """The labels that a file of predictions has itself, or that the study of a dump has; none for right and wrong."""
    if is_dump(Path(path)):
        data = data_of(path)
        _require_classes(path)
        return label_files.read(data)
    if array_files.zipped(path):
        if any(role_of(name) == "label" for name in arrays.npz_names(path)):
            return label_files.read(path)
    elif not array_files.is_array(path):
        table = csv_columns.read(path, None)
        if any(role_of(name) == "label" for name in table.names):
            return label_files.of_table(path, table)
    reading = _reading(path, Labels("", None, None))
    if reading.what != "rights":
        what = f"{path} has no labels, and is no dump of a study"
        raise BadInput("command line", "--labels", what, "a file with the labels")
    return Labels(path, None, reading.values.shape[1], reading.ids, alone=False)


def data_of(path: str) -> str:
    """The data set of a study's dump."""
    if is_dump(Path(path)):
        _, dataset, _, _, study = [*Path(path).resolve().parents, *[Path("/")] * 5][:5]
        data = study / "data" / f"{dataset.name}.npz"
        if data.is_file():
            return str(data)
    raise BadInput("command line", "--labels", f"{path} is not a dump of a study", "a file with the labels")


def read(path: str, labels: Labels) -> Answers:
    """The predictions in a file for the examples with these labels."""
    if is_dump(Path(path)):
        return _answers(path, *_dumped(path, labels), labels)
    return _answers(path, _reading(path, labels), 0, None, labels)


def of_array(path: str, values: np.ndarray, labels: Labels) -> Answers:
    """The predictions in an array, which is an argument's by this name."""
    if labels.shape:
        reading = readings.of_units(path, "", [values], labels)
    elif values.dtype.kind == "U":  # of classes that are texts
        reading = Reading(np.atleast_2d(values), "classes", f"{values.size} texts as predicted classes")
    else:
        array_files.require_array(path, values, 3)
        reading = readings.of_array(readings.known_of(path, path, labels), values)
        # An array of one run has one reading.
        reading = reading._replace(how="") if values.ndim == 1 else reading
    return _answers(path, reading, 0, None, labels)


def _answers(path: str, reading: Reading, missing: int, drawn: Sequence[Drawn] | None, labels: Labels) -> Answers:
    """What was read, in the order of the labels."""
    values, given, ids = reading.values, reading.labels, reading.ids
    if ids is not None and labels.ids is not None:
        order = table_rows.matched(path, ids, labels.source, labels.ids)
        values, given, ids = _ordered(values, order), None if given is None else given[order], labels.ids
    about = {"missing": missing, "drawn": drawn, "ids": ids, "numbers": reading.runs}
    about |= {"units": labels.units, "outcome": labels.outcome}
    # A dump says itself what it has.
    said = (f"read {escaped(' '.join(reading.how.split()))}",) if reading.how else ()
    if reading.what == "rights":
        return Answers(path, values.astype(np.int64), None, None, notes=said, rights=True, **about)
    if labels.classes is None:
        allowed = "--labels with a file of them: the first file has right and wrong answers alone"
        raise BadInput(path, "", f"found {reading.what}, and no labels", allowed)
    if given is not None:
        _require_labels_of_its_own(path, given, labels)
    if reading.what == "scores":
        answers = _scored(path, reading.name, values, labels)
        return answers._replace(notes=(*said, *answers.notes), names=reading.classes, **about)
    predicted = _coded(path, values, labels, "class")
    _require_labels_among(path, predicted, labels)
    return Answers(path, predicted, None, None, notes=said, **about)


def _dumped(path: str, labels: Labels) -> tuple[Reading, int, list[Drawn]]:
    """The finished runs of a study's dump, how many diverged, and the draws of the others."""
    _require_classes(path)
    dump = stacks.read_predictions(path, Path(path).with_suffix(".json"))
    values = dump.kept
    array_files.require_array(path, values, 3)
    readings.known_of(path, "", labels).require_examples(values.shape[1], f"shape {values.shape}")
    reading = Reading(values, "scores" if values.ndim == 3 else "classes", "", name="logits")
    return reading, sum(dump.diverged), dump.kept_draws


def _reading(path: str, labels: Labels) -> Reading:
    """How a file is read."""
    zipped = array_files.zipped(path)
    if not zipped and not array_files.is_array(path):
        if labels.shape:
            what = f"found no array, and labels of shape {labels.shape} in {labels.source}"
            raise BadInput(path, "", what, ".npy or .npz where examples have several labels")
        table = csv_columns.read(path, labels.examples)
        return readings.of_table(readings.known_of(path, "", labels), table)
    named = arrays.read_npz(path) if zipped else {}
    runs = _runs_of(path, named, most=4 if labels.shape else 2) if zipped else {"": arrays.read_npy(path)}
    first, *others = runs
    name = "" if others else first
    if labels.shape:
        reading = readings.of_units(path, name, list(runs.values()), labels)
        examples = labels.shape[0]
    else:
        for array in runs.values():
            array_files.require_array(path, array, 3)
        known = readings.known_of(path, first, labels)
        reading = readings.of_arrays(known, runs) if others else readings.of_array(known, runs[name])
        examples = reading.values.shape[1]
        beside = [array for name, array in named.items() if role_of(name) == "label" and array.ndim == 1]
        reading = reading._replace(labels=next((array for array in beside if array.dtype.kind in "biuf"), None))
    order, ids = table_rows.in_order(path, named, examples)
    if (given := reading.labels) is not None:
        if len(given) != examples:
            raise BadInput(path, "", f"found {len(given)} labels for {examples} examples", "one label per example")
        given = given[order]
    numbers = numbers_of(list(runs)) if others else None
    values = _ordered(reading.values, order)
    return reading._replace(values=values, ids=ids, labels=given, runs=numbers and sorted(numbers), name=name)


def _ordered(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The values of each run, of one unit or several of each example, with the examples in this order."""
    if np.array_equal(order, np.arange(len(order))):  # no copy
        return values
    return values.reshape(len(values), len(order), -1)[:, order].reshape(values.shape)


def _scored(path: str, name: str, values: np.ndarray, labels: Labels) -> Answers:
    """The answers of scores, [S, N, C]."""
    if labels.codes is not None:
        allowed = f"whole numbers: the places of the classes in {path}"
        raise BadInput(labels.source, "", "found texts as labels", allowed)
    classes = values.shape[2]
    _require_labels(labels.source, labels.classes, classes, path)
    entropies, notes = _entropies(values, labels.classes, _kind(path, name, values))
    return Answers(path, predictions(values), entropies, classes, bits=digests(values), notes=notes, scores=values)


def require_same_classes(answers: Answers, other: Answers) -> None:
    """Refuse two files whose classes do not match."""
    for known, asked in ((answers, other), (other, answers)):
        if known.classes and asked.classes not in (None, known.classes):
            raise BadInput(asked.file, "", f"found {asked.classes} classes", f"the {known.classes} of {known.file}")
        if known.classes and not asked.rights and (last := asked.predicted.max()) >= known.classes:
            raise BadInput(asked.file, "", f"found class {last}", f"the {known.classes} of {known.file}")
    if answers.names and other.names and answers.names != other.names:
        name, wanted = next(pair for pair in zip(other.names, answers.names, strict=True) if len(set(pair)) > 1)
        what = f"found scores of {name} where {answers.file} has {wanted}"
        raise BadInput(other.file, "", what, "the same classes, in the same order")


def is_dump(path: Path) -> bool:
    """Whether it is a dump that predict wrote, judged by the index next to it."""
    index = path.with_suffix(".json")
    about = files.read_json(index) if path.suffix == ".npy" and index.is_file() else None
    return isinstance(about, dict) and {"spec", "seeds", "diverged", "shape"} <= about.keys()


def _require_classes(dump: str) -> None:
    """Refuse what a training program has left if it is neither classes nor scores."""
    left = files.read_json(Path(dump).with_suffix(".json")).get("outcome", LOGITS)
    if left not in CLASSIFYING:
        allowed = "classes or scores; means and SDs of other outcomes are in metrics/stability.csv"
        raise BadInput(dump, "", f"found an outcome of kind {left}", allowed)


def _runs_of(path: str, named: dict[str, np.ndarray], most: int) -> dict[str, np.ndarray]:
    """The one array of an .npz that has predictions, or an array for each run, of so many axes at most."""
    stack = [name for name in named if name in STACKS]
    runs = {
        name: array for name, array in named.items() if role_of(name) != "label" and not table_rows.identifies(name)
    }
    if len(stack) == 1 or len(runs) == 1:
        name = (stack or list(runs))[0]
        return {name: named[name]}
    shapes = {array.shape for array in runs.values()}
    names = list(runs)
    if stack or len(shapes) != 1 or len(shapes.pop()) not in range(1, most + 1):
        wanted = f"one array named {' or '.join(STACKS)}, or an array of one shape for each run"
        raise BadInput(path, "", f"found {array_files.shapes_of(named)}", wanted)
    return {names[place]: runs[names[place]] for place in by_number(names)}


def _coded(path: str, values: np.ndarray, labels: Labels, what: str) -> np.ndarray:
    """Classes as numbers: those of the labels if they are texts."""
    texts = values.dtype.kind == "U"
    if texts != (labels.codes is not None):
        value = repr(table_rows.a_text(values)) if texts else values.flat[0]
        kinds = f"found the {what} {value}, and {'numbers' if texts else 'texts'} as labels in {labels.source}"
        raise BadInput(path, "", kinds, "texts in both, or numbers")
    if not texts:
        return label_files.as_classes(path, values, what)
    names, places = np.unique(values, return_inverse=True)
    codes = [labels.codes.setdefault(str(name), len(labels.codes)) for name in names]
    return np.array(codes, np.int64)[places].reshape(values.shape)


def _require_labels_of_its_own(path: str, given: np.ndarray, labels: Labels) -> None:
    """Refuse a file whose own labels are not those of the examples."""
    codes = _coded(path, given, labels, "label")
    if codes.shape != labels.classes.shape or (codes != labels.classes).any():
        what = f"found other labels in it than in {labels.source}"
        raise BadInput(path, "", what, "the same labels, in the same order")


def _require_labels_among(path: str, predicted: np.ndarray, labels: Labels) -> None:
    """Refuse predicted classes that are counted or named differently from the labels.

    No label is predicted; or all classes lie to one side, and more answers are right if the labels are moved there.
    """
    seen, truth = np.unique(predicted), np.unique(labels.classes)
    step = int(seen[0]) - int(truth[0])
    apart = not np.isin(truth, seen).any()
    moved = labels.codes is None and step * (int(seen[-1]) - int(truth[-1])) > 0
    if moved and not apart:
        moved = np.count_nonzero(predicted == labels.classes + step) > np.count_nonzero(predicted == labels.classes)
    if not (apart or moved):
        return
    if labels.codes is None:
        what = f"found classes {seen[0]} to {seen[-1]} for labels {truth[0]} to {truth[-1]} of {labels.source}"
    else:
        names = {code: name for name, code in labels.codes.items()}
        what = f"found classes such as {names[seen[0]][:40]!r} for labels such as {names[truth[0]][:40]!r}"
    raise BadInput(path, "", what, "classes counted from the same number" if moved else "classes that are labels")


def _require_labels(source: str, labels: np.ndarray, classes: int, path: str) -> None:
    if classes < 2:
        raise BadInput(path, "", "found scores of 1 class", "a score of each class, 2 or more")
    if labels.max() >= classes:
        place = int(np.argmax(labels))
        raise BadInput(source, f"[{place}]", f"found {labels[place]}", f"0 to {classes - 1}, the classes of {path}")


def _kind(path: str, name: str, values: np.ndarray) -> Kind:
    """The kind of the scores of all runs, which the name of their array must not contradict."""
    kinds = {kind(run) for run in values}
    of_all: Kind = kinds.pop() if len(kinds) == 1 else "neither"
    if (name == "logits" and of_all == "probabilities") or (name == "probabilities" and of_all != "probabilities"):
        raise BadInput(path, name, f"found {of_all.replace('neither', 'scores whose sums are not 1')}", name)
    return of_all


def _entropies(values: np.ndarray, labels: np.ndarray, scores: Kind) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The cross-entropy of each run, and what was done to get it; None where there is none."""
    if scores == "neither":
        return None, ("no cross-entropy, since the scores are neither logits nor probabilities that sum to 1",)
    if scores == "logits":
        return np.concatenate([cross_entropies(run[np.newaxis], labels) for run in values]), ()
    with np.errstate(divide="ignore"):
        entropies = np.array([cross_entropies(np.log(run[np.newaxis].astype(float)), labels)[0] for run in values])
    if not np.isfinite(entropies).all():
        return None, ("no cross-entropy, since the probability of a label is exactly 0",)
    return entropies, ("cross-entropy of probabilities as they are, not of their softmax",)
