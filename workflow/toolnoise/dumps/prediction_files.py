"""Predictions from any source, in files: predicted classes or scores of one run or several, and labels.

A file is `.npy`, `.npz` or CSV, recognised by its first bytes; nothing is ever unpickled. With N labels its shape
determines its content: N or run x N are predicted classes, N x class or run x N x class are scores. Scores that are
never negative and sum to 1 are probabilities, others logits; what is neither has no cross-entropy. An `.npz` has one
array or one with a name of `STACKS`, which is read as an `.npy` is, or else an array for each run. A CSV may begin with
column names; with a column `run`, each line is one example of that run, which a column `example` may identify.
"""

import csv
import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.dumps import stacks
from toolnoise.metrics.accuracy import predictions
from toolnoise.metrics.entropy import cross_entropies
from toolnoise.metrics.probabilities import Kind, kind
from toolnoise.stats.draws import Drawn
from toolnoise.study import programs

MOST_CLASSES = 2**31
# An array of an .npz with one of these names has all runs; the others are then not read.
STACKS = ("logits", "probabilities", "predictions", "scores")


class Answers(NamedTuple):
    """Predicted classes of each run, [S, N]; with scores, also cross-entropies, [S], and the number of classes.

    `drawn` has the draws of each run if they are known, `bits` a digest of the scores of each run if there are scores.
    """

    file: str
    predicted: np.ndarray
    entropies: np.ndarray | None
    classes: int | None
    missing: int = 0
    drawn: Sequence[Drawn] | None = None
    bits: Sequence[str] | None = None
    notes: Sequence[str] = ()


def read_labels(path: str) -> np.ndarray:
    """The labels, [N], in a file of one column or row, or those of the test set in a study's data."""
    if zipped(path) and "test_labels" in arrays.npz_names(path):
        from toolnoise.datasets import prepared

        return prepared.load(path).test.labels
    found, _ = _read(path, 2, ("labels",))
    if not found.size or max(found.shape) != found.size:
        raise BadInput(path, "", f"found shape {found.shape}", "one label per example")
    return _classes(path, found.ravel(), "label")


def numbers(path: str, most: int) -> np.ndarray:
    """The numbers in a file, finite, in at most this many dimensions."""
    found, _ = _read(path, most, STACKS)
    _require_numbers(path, found)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def labels_of(dump: str) -> str:
    """The data file, which has the labels, of the study that a dump belongs to."""
    _, dataset, _, _, study = [*Path(dump).resolve().parents, *[Path("/")] * 5][:5]
    data = study / "data" / f"{dataset.name}.npz"
    if not (_is_dump(Path(dump)) and data.is_file()):
        raise BadInput("command line", "--labels", f"{dump} is not a dump of a study", "a file with the labels")
    _require_classes(dump)
    return str(data)


def read(path: str, labels: np.ndarray, source: str) -> Answers:
    """The predictions in a file for the examples with these labels, which were read from `source`."""
    missing, drawn = 0, None
    if _is_dump(Path(path)):
        _require_classes(path)
        dump = stacks.read_predictions(path, Path(path).with_suffix(".json"))
        missing, kept = sum(dump.diverged), dump.finished
        values, name = dump.logits[kept] if missing else dump.logits, "logits"
        drawn = [run for run, finished in zip(dump.drawn, kept, strict=True) if finished]
    else:
        values, name = _read(path, 3, STACKS)
    examples, shape = len(labels), values.shape
    if 0 in shape:
        raise BadInput(path, "", f"found shape {shape}", "at least one run and one example")
    _require_numbers(path, values)
    if values.ndim == 2 and (shape[1] != examples or (shape[0] == examples and not _whole(values))):
        values = values[:, 0] if shape[1] == 1 else values[np.newaxis]
    if values.shape[0 if values.ndim == 1 else 1] != examples:
        found = f"found shape {shape} for the {examples} labels of {source}"
        allowed = f"{examples} or run x {examples} classes, or {examples} x class or run x {examples} x class scores"
        raise BadInput(path, "", found, allowed)
    if values.ndim < 3:
        return Answers(path, _classes(path, np.atleast_2d(values), "class"), None, None, missing, drawn)
    classes = values.shape[2]
    _require_labels(source, labels, classes, path)
    entropies, notes = _entropies(values, labels, _kind(path, name, values))
    bits = [hashlib.sha256(np.ascontiguousarray(run)).hexdigest() for run in values]
    return Answers(path, predictions(values), entropies, classes, missing, drawn, bits, notes)


def require_same_classes(one: Answers, other: Answers) -> None:
    """Refuse two files whose classes do not match."""
    for known, asked in ((one, other), (other, one)):
        if known.classes and asked.classes not in (None, known.classes):
            raise BadInput(asked.file, "", f"found {asked.classes} classes", f"the {known.classes} of {known.file}")
        if known.classes and asked.predicted.max() >= known.classes:
            raise BadInput(
                asked.file, "", f"found class {asked.predicted.max()}", f"the {known.classes} of {known.file}"
            )


def zipped(path: str) -> bool:
    """Whether a file is a zip archive, like a study's data."""
    return _begins(path, b"PK\x03\x04")


def _begins(path: str | Path, mark: bytes) -> bool:
    with readable(path, "a .npy or CSV file"), Path(path).open("rb") as file:
        return file.read(len(mark)) == mark


def _is_dump(path: Path) -> bool:
    """Whether it is a dump that predict wrote, judged by the index next to it."""
    index = path.with_suffix(".json")
    about = files.read_json(index) if path.suffix == ".npy" and index.is_file() else None
    return isinstance(about, dict) and {"spec", "seeds", "diverged", "shape"} <= about.keys()


def _require_classes(dump: str) -> None:
    """Refuse what a training program has left if it is neither classes nor scores."""
    left = files.read_json(Path(dump).with_suffix(".json")).get("outcome", programs.LOGITS)
    if left not in programs.CLASSIFYING:
        allowed = "classes or scores; means and SDs of other outcomes are in metrics/stability.csv"
        raise BadInput(dump, "", f"found an outcome of kind {left}", allowed)


def _read(path: str, most: int, named: Sequence[str]) -> tuple[np.ndarray, str]:
    """The array in a file, and its name if it has one of these names in an .npz."""
    name = ""
    if _begins(path, b"\x93NUMPY"):
        found = arrays.read_npy(path)
    elif zipped(path):
        found, name = _read_npz(path, named)
    elif Path(path).suffix in (".npy", ".npz"):
        raise BadInput(path, "", "not a NumPy array", "a .npy file that numpy.save wrote, or CSV")
    else:
        found = _read_csv(path)
    if found.dtype.kind not in "biuf" or found.ndim not in range(1, most + 1):
        raise BadInput(path, "", f"found {found.dtype} of shape {found.shape}", f"numbers in 1 to {most} dimensions")
    return found, name


def _read_npz(path: str, named: Sequence[str]) -> tuple[np.ndarray, str]:
    found = arrays.read_npz(path)
    known = [name for name in named if name in found]
    if len(known) == 1 or len(found) == 1:
        name = (known or list(found))[0]
        return found[name], name
    shapes = {array.shape for array in found.values()}
    if known or len(shapes) != 1 or len(shapes.pop()) not in (1, 2):
        arrays_found = ", ".join(f"{name} of shape {array.shape}" for name, array in found.items())
        wanted = f"one array named {' or '.join(named)}, or an array of one shape for each run"
        raise BadInput(path, "", f"found {arrays_found or 'no array'}", wanted)
    return np.stack(list(found.values())), ""


def _read_csv(path: str) -> np.ndarray:
    with readable(path, "numbers in CSV"):
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            first = next(csv.reader(file), [])
        names = [] if all(_is_number(name) for name in first) else [name.strip() for name in first]
        if not first:
            raise BadInput(path, "", "found nothing", "numbers in CSV")
        if "" in names:
            raise BadInput(path, f"column {names.index('') + 1}", "no name", "a name for each column, and no index")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no data below the names: reported below
            how = {"delimiter": ",", "ndmin": 2, "comments": None, "quotechar": '"', "encoding": "utf-8-sig"}
            found = np.loadtxt(path, skiprows=1 if names else 0, **how)
    if not found.size:
        raise BadInput(path, "", "found only names", "numbers below them")
    if names and len(names) != found.shape[1]:
        raise BadInput(path, "line 2", f"{found.shape[1]} fields", f"expected {len(names)}")
    return _by_run(path, names, found) if "run" in names else found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _by_run(path: str, names: list[str], table: np.ndarray) -> np.ndarray:
    """Lines of one example each as run x example (x class), sorted by run and example."""
    _require_numbers(path, table)
    axes = [names.index(name) for name in ("run", "example") if name in names]
    answers = np.delete(table, axes, axis=1)
    order = np.lexsort(table[:, axes[::-1]].T)
    runs, counts = np.unique(table[:, axes[0]], return_counts=True)
    if len(set(counts)) > 1:
        few, many = counts.argmin(), counts.argmax()
        found = f"{counts[few]} examples in run {runs[few]:g}, {counts[many]} in run {runs[many]:g}"
        raise BadInput(path, "run", found, "the same examples in each run")
    if len(axes) == 2:
        examples = table[order, axes[1]].reshape(len(runs), -1)
        if (examples != examples[0]).any() or len(np.unique(examples[0])) != len(examples[0]):
            raise BadInput(
                path, "example", "differs between runs, or repeats within one", "the same examples in each run"
            )
    stacked = answers[order].reshape(len(runs), counts[0], -1)
    return stacked[..., 0] if stacked.shape[-1] == 1 else stacked


def _require_numbers(path: str, values: np.ndarray) -> None:
    for place, part in enumerate(values):
        if not np.isfinite(part).all():
            where = (place, *np.argwhere(~np.isfinite(part))[0]) if part.ndim else (place,)
            raise BadInput(path, f"[{', '.join(map(str, where))}]", f"found {values[where]}", "finite numbers")


def _whole(values: np.ndarray) -> bool:
    return values.dtype.kind in "biu" or bool((np.mod(values, 1) == 0).all())


def _classes(path: str, values: np.ndarray, what: str) -> np.ndarray:
    """Numbers as classes, if they are valid classes."""
    _require_numbers(path, values)
    wrong = (values < 0) | (values >= MOST_CLASSES)
    if values.dtype.kind == "f":
        wrong |= np.mod(values, 1) != 0
    if wrong.any():
        where = tuple(np.argwhere(wrong)[0])
        place = f"[{', '.join(map(str, where))}]"
        raise BadInput(path, place, f"found {values[where]}", f"expected a {what}: 0, 1, ...")
    return values.astype(np.int64)


def _require_labels(source: str, labels: np.ndarray, classes: int, path: str) -> None:
    if classes < 2:
        raise BadInput(path, "", "found scores of 1 class", "a score of each class, 2 or more")
    if labels.max() >= classes:
        place = int(np.argmax(labels))
        raise BadInput(source, f"[{place}]", f"found {labels[place]}", f"0 to {classes - 1}, the classes of {path}")


def _kind(path: str, name: str, values: np.ndarray) -> Kind:
    """The kind of the scores of all runs, which the name of their array must not contradict."""
    kinds = {kind(run) for run in values}
    found: Kind = kinds.pop() if len(kinds) == 1 else "neither"
    if (name == "logits" and found == "probabilities") or (name == "probabilities" and found != "probabilities"):
        raise BadInput(path, name, f"found {found.replace('neither', 'scores whose sums are not 1')}", name)
    return found


def _entropies(values: np.ndarray, labels: np.ndarray, scores: Kind) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The cross-entropy of each run, and what was done to get it; None where there is none."""
    if scores == "neither":
        return None, ("no cross-entropy, since the scores are neither logits nor probabilities that sum to 1",)
    if scores == "logits":
        return np.concatenate([cross_entropies(run[np.newaxis], labels) for run in values]), ()
    with np.errstate(divide="ignore"):
        found = np.array([cross_entropies(np.log(run[np.newaxis].astype(float)), labels)[0] for run in values])
    if not np.isfinite(found).all():
        return None, ("no cross-entropy, since the probability of a label is exactly 0",)
    return found, ("cross-entropy of probabilities as they are, not of their softmax",)
