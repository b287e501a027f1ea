"""Identical training runs: their differences in accuracy, per-class accuracy, and time (Pham et al. 2020).

The measures and column names are those of the table that the paper's authors published, so tables can be compared. They
are the range (largest minus smallest), SD and mean over the runs. A range grows with the number of runs, so it compares
only with a range over the same number. Accuracies are fractions, times are in seconds, and SDs have ddof 1, all as in
the authors' code.

Convergence is a setting: a criterion of `CRITERIA` gives the epoch at which a run has converged. Three of the criteria
are the authors' (best_acc, best_loss and epoch, on a validation set). Accuracies are those at the end of training or,
if a study says so, those after the criterion's epoch, as theirs; accuracies of classes are always those at the end. No
source that could be read defines their "weak model": `Weak` defines which runs are excluded, by their final accuracies.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.metric_files import Columns
from toolnoise.base.spec import Spec
from toolnoise.formulas.accuracy import accuracies, class_accuracies
from toolnoise.stats.estimates import standard_deviation


def _spread(name: str, values: np.ndarray, epoch: str = "") -> dict[str, float]:
    """The five columns of a quantity."""
    numbers = {
        f"max_{name}_diff{epoch}": np.ptp,
        f"max_{name}{epoch}": np.max,
        f"min_{name}{epoch}": np.min,
        f"std_dev_{name}{epoch}": standard_deviation,
        f"mean_{name}{epoch}": np.mean,
    }
    return {column: float(number(values)) if len(values) else np.nan for column, number in numbers.items()}


def _floats(*names: str) -> Columns:
    return dict.fromkeys(names, float)


def _spreads(name: str, epoch: str = "") -> Columns:
    return _floats(*_spread(name, np.empty(0), epoch))


# First the columns of the table published with Pham et al. (2020), in their order, then ours.
_EXPERIMENT = ("backend", "backend_version", "cuda_version", "cudnn_version", "network", "random_seed")
IDENTICAL: Columns = {
    **dict.fromkeys((*_EXPERIMENT, "stopping_type"), str),
    "no_try": int,
    **_spreads("accuracy"),
    "max_diff_label": str,
    **_floats("max_per_label_acc_diff", "max_label_accuracy", "min_label_accuracy"),
    "no_samples_max_diff": int,
    "max_std_label": str,
    "max_per_label_acc_std": float,
    "no_samples_max_std": int,
    **_spreads("convergent"),
    **_spreads("convergent", "_epoch"),
    **_spreads("per_epoch"),
    **_spreads("first_epoch"),
    **_spreads("training"),
    "training_relative_diff": float,
    "weak_rule": str,
    **dict.fromkeys(("n_weak", "n_converged", "n_missing"), int),
    **dict.fromkeys(("dataset", "hardware", "variant"), str),
}
# One row for each run, for tests: the columns of their `analysis_raw.csv`, and the accuracy of one class, then ours.
COUNTED, WEAK, MISSING = "counted", "weak", "missing"
CONVERGENCE: Columns = {
    **dict.fromkeys((*_EXPERIMENT, "stopping_type"), str),
    "try": int,
    **_floats("accuracy", "convergent", "convergent_epoch", "per_epoch_average", "first_epoch_average"),
    "class": str,
    "class_accuracy": float,
    **dict.fromkeys(("status", "dataset", "hardware", "variant"), str),
}


class History(NamedTuple):
    """The metrics of a run after each epoch, [E]; `seconds` is the duration of each epoch."""

    train_loss: np.ndarray
    test_loss: np.ndarray
    test_accuracy: np.ndarray
    seconds: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, str]]) -> "History":
        """Take the columns from the rows of a history.csv."""
        return cls(*(np.array([float(row[name]) for row in rows]) for name in cls._fields))

    @property
    def first_epoch(self) -> float:
        """The duration of the first epoch, in which a framework may still choose its kernels."""
        return float(self.seconds[0])

    @property
    def per_epoch(self) -> float:
        """The mean duration of all other epochs."""
        return float(self.seconds[1:].mean()) if len(self.seconds) > 1 else np.nan


TOLERANCE = 0.01  # of accuracy
PATIENCE = 5  # epochs


def _patience(run: History) -> int | None:
    best = np.minimum.accumulate(run.train_loss)
    stuck = np.flatnonzero(best[PATIENCE:] >= best[:-PATIENCE])
    return int(stuck[0]) + 1 if len(stuck) else None


# The epoch, counted from 1, at which a run has converged, or None if it has not.
CRITERIA: dict[str, Callable[[History], int | None]] = {
    "last": lambda run: len(run.seconds),
    "best-accuracy": lambda run: int(np.argmax(run.test_accuracy)) + 1,
    "lowest-loss": lambda run: int(np.argmin(run.test_loss)) + 1,
    "near-best": lambda run: int(np.argmax(run.test_accuracy >= run.test_accuracy.max() - TOLERANCE)) + 1,
    "patience": _patience,
}
STATED = {
    "last": "every epoch is trained",
    "best-accuracy": "the first epoch of the run's highest test accuracy",
    "lowest-loss": "the first epoch of the run's lowest test loss",
    "near-best": f"the first epoch within {TOLERANCE} of the run's highest test accuracy",
    "patience": f"the first epoch whose lowest training loss so far no epoch of the next {PATIENCE} betters",
}


class Weak(NamedTuple):
    """Runs excluded as weak: those with an accuracy below `reference` + `margin`.

    The reference is 0, chance (always predicting the most common class), or the median or best accuracy of the runs.
    """

    reference: str
    margin: float

    @property
    def stated(self) -> str:
        """The rule in words."""
        what = {"zero": "", "chance": "chance", "median": "the runs' median", "best": "the best run"}[self.reference]
        sign = "" if self.reference == "zero" else f" {'-' if self.margin < 0 else '+'} "
        return f"accuracy below {what}{sign}{abs(self.margin) if what else self.margin:g}"

    def among(self, reached: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Mark the weak runs among those with these accuracies, [S]."""
        if not len(reached):
            return np.zeros(0, bool)
        references = {
            "zero": 0.0,
            "chance": np.bincount(labels).max() / len(labels),
            "median": np.median(reached),
            "best": reached.max(),
        }
        return reached < references[self.reference] + self.margin


NONE_WEAK = Weak("zero", 0.0)
END = "end"  # when an accuracy is taken; else at the epoch of the criterion


def measure_identical_runs(
    predictions: np.ndarray,
    labels: np.ndarray,
    classes: int,
    histories: Sequence[History],
    criterion: str,
    weak: Weak = NONE_WEAK,
    when: str = END,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The measured columns of `IDENTICAL`, and those of `CONVERGENCE` for each run, from predictions [S, N].

    A run that has not converged by the criterion is excluded from the convergence columns only. The class of the runs
    is the one with the largest SD.
    """
    ends, by_class = accuracies(predictions, labels), class_accuracies(predictions, labels, classes)
    counted = ~weak.among(ends, labels)
    widest = _labels(by_class[counted], labels)
    label = widest["max_std_label"]
    runs = []
    for end, of_classes, run, counts in zip(ends, by_class, histories, counted, strict=True):
        epoch = CRITERIA[criterion](run)
        runs.append(
            {
                "stopping_type": criterion,
                "accuracy": float(run.test_accuracy[epoch - 1] if epoch and when != END else end),
                "convergent": float(run.seconds[:epoch].sum()) if epoch else np.nan,
                "convergent_epoch": float(epoch or np.nan),
                "per_epoch_average": run.per_epoch,
                "first_epoch_average": run.first_epoch,
                "class": label,
                "class_accuracy": float(of_classes[int(label)]) if label else np.nan,
                "status": COUNTED if counts else WEAK,
            }
        )

    def of_counted(column: str) -> np.ndarray:
        return np.array([run[column] for run in runs if run["status"] == COUNTED])

    converged = ~np.isnan(of_counted("convergent_epoch"))
    training = np.array([run.seconds.sum() for run, counts in zip(histories, counted, strict=True) if counts])
    whole = {
        "stopping_type": criterion,
        "no_try": int(counted.sum()),
        **_spread("accuracy", of_counted("accuracy")),
        **widest,
        **_spread("convergent", of_counted("convergent")[converged]),
        **_spread("convergent", of_counted("convergent_epoch")[converged], "_epoch"),
        **_spread("per_epoch", of_counted("per_epoch_average")),
        **_spread("first_epoch", of_counted("first_epoch_average")),
        **_spread("training", training),
        # Over the mean, as in the authors' 4_3_draw_graph_across_libraries.py.
        "training_relative_diff": float(np.ptp(training) / training.mean()) if len(training) else np.nan,
        "weak_rule": weak.stated,
        "n_weak": int((~counted).sum()),
        "n_converged": int(converged.sum()),
    }
    return whole, runs


def _labels(by_class: np.ndarray, labels: np.ndarray) -> dict[str, str | int | float]:
    """The class with the largest accuracy range over runs, [S, C], the class with the largest SD, and their sizes."""
    sizes = np.bincount(labels, minlength=by_class.shape[1])
    # Ties go to the first class. A class without examples has no accuracy and is never chosen.
    present = np.flatnonzero(sizes)
    if not len(by_class):
        nothing = dict.fromkeys(("max_per_label_acc_diff", "max_label_accuracy", "min_label_accuracy"), np.nan)
        return {"max_diff_label": "", **nothing, "no_samples_max_diff": 0} | _largest_sd("", np.nan, 0)
    gaps = by_class[:, present].max(axis=0) - by_class[:, present].min(axis=0)
    widest = present[np.argmax(gaps)]
    measured = {
        "max_diff_label": str(widest),
        "max_per_label_acc_diff": float(gaps.max()),
        "max_label_accuracy": float(by_class[:, widest].max()),
        "min_label_accuracy": float(by_class[:, widest].min()),
        "no_samples_max_diff": int(sizes[widest]),
    }
    if len(by_class) < 2:
        return measured | _largest_sd("", np.nan, 0)
    spreads = standard_deviation(by_class[:, present].T)
    noisiest = present[np.argmax(spreads)]
    return measured | _largest_sd(str(noisiest), float(spreads.max()), int(sizes[noisiest]))


def _largest_sd(label: str, sd: float, examples: int) -> dict[str, str | int | float]:
    return {"max_std_label": label, "max_per_label_acc_std": sd, "no_samples_max_std": examples}


def experiment_columns(record: Mapping[str, Any]) -> dict[str, str]:
    """The columns of `IDENTICAL` that describe the runs, from the run.json of one of them."""
    spec, observed = Spec.read(record["spec"]), record["observed"]
    engine, build = spec.hardware.engine, observed.get("build", {})
    fixed = set(spec.variant.varying) <= {"impl"}
    return {
        "backend": engine,
        "backend_version": observed["versions"][engine],
        "cuda_version": build.get("cuda_version", ""),
        "cudnn_version": build.get("cudnn_version", ""),
        "network": spec.model.name,
        "random_seed": str(1 if spec.draw is None else spec.draw) if fixed else "-1",
    }
