"""The tables of identical runs in the form of Pham et al.: how far apart they end and how long they take; and tests.

The tests between sets of runs are those of their analysis (their 4_4_analyze_stat_test.py). Levene's test asks whether
two sets spread equally, Mann and Whitney's whether one lies above the other. They compare fixed-seed with default runs,
networks, criteria of convergence, and frameworks (here any two toolings). Two differences from theirs: their SciPy gave
half of the two-sided p-value of Mann and Whitney's test, on the side that the data suggest; and they compare only the
configuration with the largest variance, while ours are compared one by one.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from toolnoise.base.errors import BadInput
from toolnoise.figures import selection, style
from toolnoise.figures.tables import Entry
from toolnoise.formulas.declared import METRICS
from toolnoise.papers.identical.metric import COUNTED
from toolnoise.stats.estimates import sd_interval
from toolnoise.study import published

Row = Mapping[str, Any]
ABOUT = ("Tooling", "Task", "Variant", "Runs")
FEW = "n/a: undefined, by too few runs."


def select_rows(
    data: pd.DataFrame, paths: str | Sequence[str], hardware: Sequence[str], tasks: Sequence[Sequence[str]]
) -> pd.DataFrame:
    """The rows of these toolings and tasks, by every criterion of convergence."""
    data = selection.of_tasks(data.assign(model=data["network"]), tasks)
    data = data[data["hardware"].isin(hardware)]
    if data.empty:
        raise BadInput(
            selection.file_names(paths), "hardware", f"no runs on {', '.join(hardware)}", "a tooling of the study"
        )
    return data


def by_first_criterion(data: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first criterion of convergence."""
    return data[data["stopping_type"] == data["stopping_type"].iloc[0]]


def description_of_row(row: Row, emulated: Sequence[str], synthetic: Sequence[str]) -> list[str | Entry]:
    """The subject of a row: tooling and framework, task, variant and their `random_seed`, and its runs."""
    tooling = f"{style.tooling_name(row['hardware'], emulated)}, "
    tooling += style.framework_name(row["backend"], row["backend_version"])
    source = f"{style.variant_name(row['variant'])} (seed {row['random_seed']})"
    others = {"weak": row["n_weak"], "missing": row["n_missing"]}
    runs = Entry(str(row["no_try"]), ", ".join(f"{count} {what}" for what, count in others.items() if count))
    return [tooling, style.task_name(row["network"], row["dataset"], synthetic), source, runs]


def spread_of_accuracy(row: Row) -> list[Entry]:
    """Range and SD of accuracy, over all examples and in the class with the largest."""
    few = row["no_try"] < 2
    difference = row["max_accuracy_diff"]
    spread = Entry(f"{100 * difference:.2f}" if difference else "0", _span(row, "accuracy", 100))
    if few:
        spread = Entry("n/a", "one run" if row["no_try"] else "no run")
    return [spread, Entry("n/a") if few else _sd(row), _label(row, widest=True), _label(row, widest=False)]


def convergence_times(row: Row) -> list[Entry]:
    """Epochs and time to convergence, and the time of training."""
    if row["n_converged"]:
        few = f"{row['n_converged']} runs: " if row["n_converged"] < row["no_try"] else ""
        epochs = Entry(f"{row['mean_convergent_epoch']:.1f}", few + _span(row, "convergent", epoch="_epoch"))
        range_and_gap = f"{few}{_span(row, 'convergent')}, {_gap(row, 'convergent')}"
        converged = Entry(f"{row['mean_convergent']:.3g}", range_and_gap)
    else:
        epochs = converged = Entry("none")
    trained = Entry(f"{row['mean_training']:.3g}", f"{_span(row, 'training')}, {_gap(row, 'training')}")
    return [epochs, converged, trained if row["no_try"] else Entry("n/a")]


def _span(row: Row, name: str, scale: float = 1.0, epoch: str = "") -> str:
    digits = "0f" if epoch else "3g" if scale == 1 else "2f"
    return " to ".join(f"{scale * row[f'{end}_{name}{epoch}']:.{digits}}" for end in ("min", "max"))


def _gap(row: Row, name: str) -> str:
    return f"{100 * row[f'max_{name}_diff'] / row[f'mean_{name}']:.0f} %"


def _sd(row: Row) -> Entry:
    sd, low, high = sd_interval(row["std_dev_accuracy"], row["no_try"]).within(*METRICS["accuracy_sd"].range)
    return Entry(f"{100 * sd:.2f}", f"{100 * low:.2f} to {100 * high:.2f}") if sd else Entry("0")


def _label(row: Row, widest: bool) -> Entry:
    """The class with the largest difference or SD, if any class differs."""
    name, value, examples = (
        ("max_diff_label", "max_per_label_acc_diff", "no_samples_max_diff")
        if widest
        else ("max_std_label", "max_per_label_acc_std", "no_samples_max_std")
    )
    if row["no_try"] < 2:
        return Entry("n/a")
    if row[value] == 0:
        return Entry("0")
    bounds = f": {100 * row['min_label_accuracy']:.0f} to {100 * row['max_label_accuracy']:.0f}" if widest else ""
    return Entry(f"{100 * row[value]:.1f}", f"{row[name]} of {row[examples]}{bounds}")


def comparison_lines(shown: pd.DataFrame, metrics: Sequence[str]) -> Iterator[list[str | Entry]]:
    """For each published variant, a line of published headlines, then one of the largest values of this study."""
    headlines = {(number.variant, number.metric): number for number in published.read_published(published.IDENTICAL)}
    for variant in dict.fromkeys(variant for variant, _ in headlines):
        source = f"{style.variant_name(variant)} (seed {1 if variant == 'impl' else -1})"
        if not any((variant, metric) in headlines for metric in metrics):
            continue
        theirs = [_headline(headlines.get((variant, metric))) if metric else Entry("") for metric in metrics]
        yield ["Pham et al.", "largest published", source, Entry(""), *theirs]
        mine = shown[(shown["variant"] == variant) & (shown["no_try"] > 1)]
        if not mine.empty:
            ours = [_largest(mine, metric) if metric else Entry("") for metric in metrics]
            yield ["this study", "largest", source, Entry(""), *ours]


def _headline(number: published.Number | None) -> Entry:
    return Entry(number.value + (" %" if number.unit == "percent" else "")) if number else Entry("—")


def _largest(rows: pd.DataFrame, metric: str) -> Entry:
    if rows[metric].isna().all():
        return Entry("n/a")
    row = rows.loc[rows[metric].idxmax()]
    unit = " %" if metric == "training_relative_diff" else ""
    return Entry(f"{100 * row[metric]:.1f}{unit}", f"{row['network']}, {row['no_try']} runs")


def notes_on_rows(shown: pd.DataFrame, rows: Sequence[Sequence[str | Entry]], emulated: Sequence[str]) -> list[str]:
    """Notes on weak runs, seeds, published numbers, and the terms that occur."""
    headlines = published.read_published(published.IDENTICAL)
    sources: dict[str, list[str]] = {number.source: [] for number in headlines}
    for number in headlines:
        sources[number.source].append(_headline(number).text)
    quoted = "; ".join(f"{', '.join(values)} ({source})" for source, values in sources.items())
    weak, any_weak = shown["weak_rule"].iloc[0], bool(shown["n_weak"].any())
    possible = {
        f"Weak, and left out: {weak}.": any_weak,
        f"No run was too weak to count; left out would be: {weak}.": not any_weak,
        "Seed: their random_seed, 1 if at most the implementation varies, else -1.": True,
        f"Published, of TensorFlow, CNTK and Theano: {quoted}; of 16 runs in their code. By which rule weak ones were "
        "left out, and whether the time is that to convergence, is in nothing that could be read. Ranges of time are "
        "in per cent of the mean, as in the figures of their code.": True,
        FEW: any("n/a" in str(value) for row in rows for value in row),
        f"{style.EMULATED}.": bool(set(emulated) & set(shown["hardware"])),
    }
    return [note for note, occurs in possible.items() if occurs]


def growth_note(shown: pd.DataFrame) -> str:
    """A note on how much a range grows with its number of runs."""
    sizes = sorted(set(shown["no_try"]) - {0, 1})
    grows = ", ".join(f"{range_in_sds(size):.2f} SDs of {size} runs" for size in sizes)
    note = (
        "A range grows with the number of runs and compares only with one of as many: of normal values it is on average"
    )
    return f"{note} {grows}." if sizes else ""


def range_in_sds(runs: int) -> float:
    """The expected range (largest minus smallest) of `runs` normal values, in SDs; it grows without bound."""
    places = np.linspace(-10, 10, 4001)
    below, above = stats.norm.cdf(places), stats.norm.sf(places)
    return float(np.trapezoid(1 - below**runs - above**runs, places))


FIXED, DEFAULT = "impl", "algo_impl"
LOWEST_LOSS, BEST_ACCURACY = "lowest-loss", "best-accuracy"


class RunSet(NamedTuple):
    """The properties that a set of runs has in common."""

    network: str
    dataset: str
    hardware: str
    variant: str
    stopping_type: str


class TestedSets(NamedTuple):
    """Two sets of runs compared in one quantity; `mann_whitney` is NaN if their analysis has Levene's test alone."""

    comparison: str
    quantity: str
    a: RunSet
    b: RunSet
    n_a: int
    n_b: int
    levene: float
    mann_whitney: float


def levene_pvalue(a: np.ndarray, b: np.ndarray) -> float:
    """The p-value of Levene's test around medians, as SciPy has it by default and as they use it.

    With few runs it rejects too rarely. Without the zeros that the median leaves it would keep its level (Hines and
    Hines 2000).
    """
    distances = [np.abs(arm - np.median(arm)) for arm in (a, b) if len(arm) > 1]
    if len(distances) < 2 or all(np.ptp(arm) == 0 for arm in distances):
        return np.nan
    return float(stats.levene(a, b, center="median").pvalue)


def mann_whitney(a: np.ndarray, b: np.ndarray) -> float:
    """The two-sided p-value of Mann and Whitney's test; undefined, as with them, where all runs are equal."""
    if not (len(a) and len(b)) or np.ptp(np.concatenate([a, b])) == 0:
        return np.nan
    return float(stats.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic").pvalue)


def comparisons_of_analysis(rows: Iterable[Mapping[str, Any]]) -> list[TestedSets]:
    """Every comparison of their analysis that these rows of `CONVERGENCE` have the runs for."""
    arms: dict[RunSet, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["status"] == COUNTED and row["variant"] in (FIXED, DEFAULT):
            arms.setdefault(RunSet(*(row[name] for name in RunSet._fields)), []).append(row)
    return list(_tests(arms))


def _tests(arms: Mapping[RunSet, Sequence[Mapping[str, Any]]]) -> Iterator[TestedSets]:
    criteria = list(dict.fromkeys(arm.stopping_type for arm in arms))
    accuracies, convergence = ("accuracy", "class_accuracy"), ("convergent", "convergent_epoch")
    # Accuracies at the end of training are the same by every criterion; theirs are those at the lowest loss.
    once = [arm for arm in arms if arm.stopping_type == (LOWEST_LOSS if LOWEST_LOSS in criteria else criteria[0])]
    fixed = [arm for arm in once if arm.variant == FIXED]
    for arm in fixed:
        if (other := arm._replace(variant=DEFAULT)) in arms:
            yield from _compared("seeds", arms, arm, other, accuracies, ranks=False)
    for arm, other in itertools.combinations(fixed, 2):
        if arm.hardware == other.hardware:
            yield from _compared("networks", arms, arm, other, accuracies, ranks=False)
    for arm in arms:
        if arm.stopping_type == LOWEST_LOSS and (other := arm._replace(stopping_type=BEST_ACCURACY)) in arms:
            yield from _compared("criteria", arms, arm, other, convergence)
    for arm, other in itertools.combinations(fixed, 2):
        if arm._replace(hardware=other.hardware) == other:
            yield from _compared("toolings", arms, arm, other, ("accuracy", "convergent_epoch"))


def _compared(
    comparison: str,
    arms: Mapping[RunSet, Sequence[Mapping[str, Any]]],
    first: RunSet,
    other: RunSet,
    quantities: Sequence[str],
    ranks: bool = True,
) -> Iterator[TestedSets]:
    for quantity in quantities:
        values = (np.array([row[quantity] for row in arms[arm]], float) for arm in (first, other))
        a, b = (arm[~np.isnan(arm)] for arm in values)
        whole = mann_whitney(a, b) if ranks else np.nan
        yield TestedSets(comparison, quantity, first, other, len(a), len(b), levene_pvalue(a, b), whole)
