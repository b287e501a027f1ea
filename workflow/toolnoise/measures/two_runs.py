"""Where two trainings first differ: in the digests of their histories, their final weights and their predictions."""

from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base.arrays import bit_equal
from toolnoise.base.errors import BadInput
from toolnoise.base.times import is_time
from toolnoise.formulas import accuracy
from toolnoise.formulas.churn import paired_churn
from toolnoise.formulas.weights import paired_l2, unit
from toolnoise.study.runs import DIGESTS, Run, read

DRAWS = "draws_sha256"


def parting(one: Run, other: Run) -> dict[str, Any]:
    """The differences between two runs: the first epochs that differ, and the distances at the end."""
    runs = one, other
    weights = tuple(run.weights() for run in runs)
    histories = tuple(run.history() for run in runs)
    epoch = _first(*histories, "weights_sha256")
    found = {
        "initial_equal": _initial(one, other),
        "emulated_noise": [run.record.get("emulated_noise") for run in runs],
        "moved_bit": [run.record.get("moved_bit") for run in runs],
        "draws_differ_from_epoch": _first(*histories, DRAWS),
        "weights_differ_from_epoch": epoch,
        "tensors_that_differ_then": _tensors(runs, weights, histories, epoch) if epoch else [],
        "history_differs_from_epoch": _first(*histories, *_outcome(*histories)),
        "epochs": [len(history) for history in histories],
        "status": [run.record["status"] for run in runs],
        "weights_bit_equal": list(weights[0]) == list(weights[1])
        and all(bit_equal(weights[0][name], weights[1][name]) for name in weights[0]),
        "test_accuracy": _ends(histories, "test_accuracy"),
        "test_loss": _ends(histories, "test_loss"),
        "train_loss": _ends(histories, "train_loss"),
    }
    found["history_equal"] = found["history_differs_from_epoch"] is None and len(set(found["epochs"])) == 1
    return found | _distances(runs, weights)


def where_parted(record: Path, other_record: Path) -> str:
    """Where a training that came out otherwise departed from the first one, by the records of both."""
    try:
        parted = parting(read(record), read(other_record))
    except BadInput as error:
        return f"the histories cannot be compared: {error}"
    initial = {True: "equal", False: "different", None: "unknown"}[parted["initial_equal"]]
    epoch, tensors = parted["weights_differ_from_epoch"], parted["tensors_that_differ_then"]
    where = f"they differ from epoch {epoch} on, first in {tensors[0]}" if epoch else "no epoch's digests differ"
    return f"from {initial} initial weights {where}"


def flips(first: np.ndarray, second: np.ndarray, labels: np.ndarray | None) -> dict[str, Any]:
    """Churn between two runs' logits (example x class) or classes, and the examples that they classify differently."""
    a, b = (_classes(answers) for answers in (first, second))
    differences = {
        "examples": a.shape[1],
        "logits_bit_equal": bit_equal(first, second),
        "churn": float(paired_churn(a, b)[0]),
        "differ": np.flatnonzero(a[0] != b[0]).tolist(),
    }
    if labels is not None:
        right = [predicted[0] == labels for predicted in (a, b)]
        differences["accuracy"] = [float(accuracy.accuracies(predicted, labels)[0]) for predicted in (a, b)]
        differences["a_right_b_wrong"] = np.flatnonzero(right[0] & ~right[1]).tolist()
        differences["a_wrong_b_right"] = np.flatnonzero(~right[0] & right[1]).tolist()
        differences["both_wrong_differently"] = np.flatnonzero(~right[0] & ~right[1] & (a[0] != b[0])).tolist()
    return differences


def _classes(answers: np.ndarray) -> np.ndarray:
    """The predicted classes of a run, [1, N]; a training program may leave no more than these."""
    return answers[np.newaxis] if answers.dtype.kind == "i" else accuracy.predictions(answers[np.newaxis])


def apart(first: np.ndarray, second: np.ndarray) -> dict[str, Any]:
    """The differences of the numbers that two runs left, [U]: the values of a regression, or the losses of tokens."""
    differences = np.abs(second - first)
    return {
        "numbers": len(differences),
        "logits_bit_equal": bit_equal(first, second),
        "mean_absolute_difference": float(differences.mean()),
        "largest_difference": float(differences.max()),
        "differ": int(np.count_nonzero(differences)),
    }


def _initial(first: Run, second: Run) -> bool | None:
    digests = [run.record.get("initial_sha256") for run in (first, second)]
    return None if None in digests else digests[0] == digests[1]


def _outcome(*histories: list[dict[str, str]]) -> list[str]:
    """The columns of histories that are an epoch's outcome, also those that only a training program has."""
    columns = dict.fromkeys(column for history in histories for column in history[0])
    return [column for column in columns if column != DRAWS and not is_time(column)]


def _first(first: list[dict[str, str]], second: list[dict[str, str]], *columns: str) -> int | None:
    """The first epoch, of those in both, in which a column differs."""
    pairs = enumerate(zip(first, second, strict=False), 1)
    return next((epoch for epoch, rows in pairs if any(_differ(rows, column) for column in columns)), None)


def _differ(rows: tuple[dict[str, str], dict[str, str]], column: str) -> bool:
    """Whether a column differs; of a training program, only the last epoch has digests."""
    a, b = (row.get(column) for row in rows)
    return a != b and not (column in DIGESTS and "" in (a, b))


def _tensors(
    runs: tuple[Run, ...],
    weights: tuple[dict[str, np.ndarray], ...],
    histories: tuple[list[dict[str, str]], ...],
    at: int,
) -> list[str]:
    """The tensors whose digests differ after an epoch, in the order of the layers."""
    digests = []
    for run, tensors, history in zip(runs, weights, histories, strict=True):
        listed = history[at - 1]["tensors_sha256"].split()
        if len(listed) != len(tensors):
            what = f"epoch {at} has {len(listed)} digests"
            raise BadInput(run.folder / "history.csv", "tensors_sha256", what, f"{len(tensors)}, as weights.npz has")
        digests.append(dict(zip(tensors, listed, strict=True)))
    names = dict.fromkeys((*digests[0], *digests[1]))
    return [name for name in names if digests[0].get(name) != digests[1].get(name)]


def _ends(histories: tuple[list[dict[str, str]], ...], column: str) -> list[float | None]:
    return [_number(history[-1].get(column)) for history in histories]


def _number(text: str | float | None) -> float | None:
    """A finite number, or None: JSON has no NaN."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if np.isfinite(value) else None


def _distances(runs: tuple[Run, ...], weights: tuple[dict[str, np.ndarray], ...]) -> dict[str, Any]:
    """The distance between all trained weights, and per tensor relative to the norm of the first run's."""
    one, other = weights
    shared = [
        name
        for name in one
        if name in other
        and one[name].shape == other[name].shape
        and one[name].dtype.kind == other[name].dtype.kind == "f"
    ]
    tensors = []
    with np.errstate(over="ignore", invalid="ignore"):
        for name in shared:
            a, b = (tensor[name].reshape(1, -1) for tensor in weights)
            distance, norm = float(paired_l2(a, b)[0]), float(paired_l2(a, np.zeros_like(a))[0])
            relative = 0.0 if distance == 0 else distance / norm if norm else np.inf
            tensors.append((name, relative, distance))
        found: dict[str, Any] = {"l2_unit": None, "l2_raw": None}
        trained = [run.record["trainable"] for run in runs]
        # A training program may keep no weights.
        if trained[0] and trained[0] == trained[1] and set(trained[0]) <= set(shared):
            a, b = (run.trained_vector()[np.newaxis] for run in runs)
            found = {"l2_unit": _number(paired_l2(unit(a), unit(b))[0]), "l2_raw": _number(paired_l2(a, b)[0])}
    # NaN sorts as farther than any number.
    tensors.sort(key=lambda row: -np.nan_to_num(row[1], nan=np.inf, posinf=np.inf))
    found["tensors"] = [
        {"tensor": name, "relative_l2": _number(relative), "l2": _number(distance)}
        for name, relative, distance in tensors
    ]
    found["tensors_not_shared"] = [name for name in dict.fromkeys((*one, *other)) if name not in shared]
    return found
