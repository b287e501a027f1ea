"""Learn the ratio of the SD over seeds to the spread of one run's late checkpoints, and test it on tasks left out.

Runs are those of evidence/*.tar.xz in which all algorithmic sources vary. A run that ends after the last epoch of a
stretch with one learning rate is a run of its own, so each stretch of four epochs or more is a tail. A setting is a
task, a network, a recipe and a stretch; its SD over seeds is the root of the mean variance of its cells at the end of
the stretch. For each setting, the mean log ratio over its runs is fitted by a line in the logarithm of the rate's fall
(the share of the largest rate). The interval for one run of a new setting adds the variance between settings, that of
a run's own spread, and the line's own uncertainty.

`covered` leaves a task out, learns from the others, and counts the runs whose interval has the SD over seeds of their
setting. deer-25 to deer-2500 are one task. Runs that `toolnoise floor` refuses are left out here, too. Nothing is
learnt from settings in which most runs are refused, because they still change, or whose mean accuracy is less than half
of the best setting's of the task; their coverage is printed apart.

    python bench/floor.py           print
    python bench/floor.py --write   and write resources/learnt/floor.yaml
"""

import csv
import io
import itertools
import json
import math
import re
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
import yaml

from toolnoise.base.program import ROOT
from toolnoise.comparison.floor import FEWEST, LEARNT, Cannot, Learnt, Tail, interval, of_checkpoints, tail

VARIANTS = {"algo", "algo_impl", "init+shuffle", "init+shuffle+impl", "init+shuffle+augment+dropout+bit"}
METRICS = {"accuracy": "test_accuracy", "loss": "test_loss"}
COLUMNS = (*METRICS.values(), "learning_rate")
FEWEST_RUNS = 4  # of a cell: the SD of fewer says too little
# Tasks by the names of data sets: the rest are tasks of their own.
ONE_TASK = re.compile("deer-[0-9]+")
IMAGES = {"digits", "faces", "cifar10-pictures", "deer"}


class Run(NamedTuple):
    """A finished run: its setting but the stretch, its cell, and its history by column."""

    setting: tuple[str, ...]
    cell: tuple[str, ...]
    history: dict[str, np.ndarray]


class Setting(NamedTuple):
    """A task, network, recipe and stretch: accuracy, the SD over seeds, and the tails of its runs that have one."""

    task: str
    name: str
    accuracy: float
    sd: float
    runs: int
    refused: int
    tails: list[Tail]

    @property
    def rate(self) -> float:
        """The share of the largest rate."""
        return self.tails[0].rate

    @property
    def ratios(self) -> np.ndarray:
        """The log ratio of each run."""
        return np.log(self.sd / np.array([tail.spread for tail in self.tails]))


def main(*words: str) -> None:
    """Learn and print; write the resource if asked."""
    runs = [run for path in sorted((ROOT / "evidence").glob("*.tar.xz")) for run in runs_of(path)]
    learnt = {}
    for metric, column in METRICS.items():
        every = [setting for setting in settings_of(runs, column) if setting.task in IMAGES]
        settings = sound(every)
        print(f"{metric}: {len(settings)} settings\n{'':62} rate  SD over seeds  ratio  refused")
        for setting in every:
            print(
                f"{' ' if setting in settings else '-'} {setting.name:60} {setting.rate:5.2g} {setting.sd:14.4f} "
                f"{np.exp(setting.ratios.mean()):6.2f} {setting.refused:4} of {setting.runs}"
            )
        found = fitted(settings)
        print(f"  ratio {np.exp(found.intercept):.2f} at the largest rate, times {np.exp(-found.slope):.2f} at a tenth")
        print(f"  log SD {found.between:.2f} between settings, {found.own:.2f} of a run's own spread")
        covered = {}
        for task in sorted({setting.task for setting in settings}):
            others = fitted([setting for setting in settings if setting.task != task])
            shares = [held(others, setting) for setting in settings if setting.task == task]
            covered[task] = np.mean(shares)
            print(f"  covered, {task} left out: {100 * covered[task]:.1f} % of the runs of {len(shares)} settings")
        aside = [held(found, setting) for setting in every if setting not in settings]
        print(f"  covered, not learnt from: {100 * np.mean(aside):.1f} % of the runs of {len(aside)} settings")
        mean = float(np.mean(list(covered.values())))
        reach = interval(found, 0.1).high / interval(found, 0.1).value
        print(f"  mean over tasks left out {100 * mean:.1f} %; the interval reaches to times and over {reach:.1f}")
        learnt[metric] = found._replace(covered=round(mean, 3))._asdict() | {"tasks": sorted(covered)}
    print("last four epochs of a cosine, which are refused: median of the SD over seeds / spread")
    families = of_settings(run for run in runs if "cosine" in run.setting[2])
    for (_, dataset, model, _), members in families.items():
        print(f"  {dataset} {model:24}", *(f"{metric} {falling(members, METRICS[metric]):.0f}  " for metric in METRICS))
    if "--write" in words:
        write(learnt)


def runs_of(path: PurePosixPath) -> Iterator[Run]:
    """The runs of an archive in which all algorithmic sources vary, with a history of test accuracy."""
    members = {}
    with tarfile.open(path) as archive:
        for member in archive:
            if member.name.endswith(("/history.csv", "/run.json")) and "/runs/" in member.name:
                members[member.name] = archive.extractfile(member).read()
    for name, content in members.items():
        place = PurePosixPath(name)
        study, _, model, dataset, hardware, variant, _ = place.parts[1:-1]
        if place.name != "run.json" or variant not in VARIANTS:
            continue
        recipe = json.loads(content)["spec"].get("recipe")
        rows = list(csv.DictReader(io.StringIO(members[str(place.with_name("history.csv"))].decode())))
        if recipe and {*COLUMNS} <= rows[0].keys():
            history = {name: np.array([float(row[name]) for row in rows]) for name in COLUMNS}
            how = "{optimizer} {learning_rate:g}, batch {batch_size}, {epochs} epochs".format(**recipe)
            yield Run(
                (ONE_TASK.sub("deer", dataset), dataset, model, how), (study, hardware, variant, dataset), history
            )


def settings_of(runs: Sequence[Run], column: str) -> list[Setting]:
    """The settings in which some run has a tail."""
    found = []
    for (task, dataset, model, how), members in of_settings(runs).items():
        for end in ends(members[0].history["learning_rate"]):
            cells, tails, refused = defaultdict(list), [], 0
            for run in members:
                cells[run.cell].append(run.history[column][end - 1])
                try:
                    rates = run.history["learning_rate"][:end]
                    tails.append(tail(run.history[column][:end], rates / rates.max()))
                except Cannot:
                    refused += 1
            variances = [np.var(values, ddof=1) for values in cells.values() if len(values) >= FEWEST_RUNS]
            if tails and variances:
                sd = float(np.sqrt(np.mean(variances)))
                accuracy = float(np.mean([run.history[METRICS["accuracy"]][end - 1] for run in members]))
                name = f"{dataset} {model} {how}, {end}"
                found.append(Setting(task, name, accuracy, sd, len(members), refused, tails))
    return found


def sound(settings: Sequence[Setting]) -> list[Setting]:
    """The settings to learn from: networks that learn, and that no longer change in most runs."""
    best = {task: max(one.accuracy for one in settings if one.task == task) for task in {one.task for one in settings}}
    return [one for one in settings if one.refused <= one.runs / 2 and one.accuracy >= best[one.task] / 2]


def of_settings(runs: Iterable[Run]) -> dict[tuple[str, ...], list[Run]]:
    """The runs of each setting, without regard to stretches."""
    families = defaultdict(list)
    for run in runs:
        families[run.setting].append(run)
    return dict(sorted(families.items()))


def falling(members: Sequence[Run], column: str) -> float:
    """The median over runs of the SD over seeds to the spread of the last four checkpoints, at whatever rates."""
    values = np.array([run.history[column] for run in members])
    spreads = np.array([of_checkpoints(last) for last in values[:, -FEWEST:]])
    with np.errstate(divide="ignore"):
        return float(np.median(values[:, -1].std(ddof=1) / spreads))


def ends(rates: np.ndarray) -> list[int]:
    """The epochs after which a stretch of one rate ends that is long enough."""
    changes = [0, *(np.flatnonzero(~np.isclose(rates[1:], rates[:-1], rtol=1e-3, atol=0)) + 1).tolist(), len(rates)]
    return [end for start, end in itertools.pairwise(changes) if end - start >= FEWEST]


def fitted(settings: Sequence[Setting]) -> Learnt:
    """The line through the mean log ratios, and the variances."""
    falls = np.log10([setting.rate for setting in settings])
    means = np.array([setting.ratios.mean() for setting in settings])
    slope, intercept = np.polyfit(falls, means, 1)
    rest = means - intercept - slope * falls
    own = [setting.ratios.var(ddof=1) for setting in settings if len(setting.tails) > 2]
    return Learnt(
        float(intercept),
        float(slope),
        float(np.sqrt((rest**2).sum() / (len(settings) - 2))),
        float(np.sqrt(np.mean(own))),
        len(settings),
        float(falls.mean()),
        float(((falls - falls.mean()) ** 2).sum()),
        float(10 ** falls.min()),
        math.nan,
        tuple(sorted({setting.task for setting in settings})),
    )


def held(learnt: Learnt, setting: Setting) -> float:
    """The share of a setting's runs whose interval has its SD over seeds."""
    intervals = [(tail.spread, interval(learnt, tail.rate)) for tail in setting.tails]
    return float(np.mean([spread * ratio.low <= setting.sd <= spread * ratio.high for spread, ratio in intervals]))


def write(learnt: dict) -> None:
    """Write resources/learnt/floor.yaml."""
    head = (
        "# Made by `python bench/floor.py --write` from evidence/; see there what each number is. Not to be edited.\n"
    )
    rounded = {
        metric: {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in found.items()}
        for metric, found in learnt.items()
    }
    (ROOT / LEARNT).write_text(head + yaml.safe_dump({"images": rounded}, sort_keys=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
