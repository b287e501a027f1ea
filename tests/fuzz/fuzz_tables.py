"""Tables of metrics at random: each is read as it was meant, or refused, and never read as something else.

    tests/fuzz/fuzz_tables.py --cases 1000 --seed 1

The generator draws runs first: arms, seeds, a number for each, steps, failures. Then it writes them as people and
loggers do: names of columns are drawn among those that are known and some that are not, further columns are added, and
columns and lines are shuffled. So it knows the truth without reading anything. A table that has two meanings must be
refused; so must one whose arms or seeds no name says, unless options name them.
"""

import argparse
import collections
import contextlib
import csv
import io
import json
import random
import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.comparison.metric_layouts import Asked
from toolnoise.comparison.metric_runs import read_runs

# Names that say what a column is, as people write them, and names that say nothing.
ARMS = ["model", "Model", "method", "arm", "variant", "algorithm", "algo", "system", "approach", "model_name", "group"]
ARMS += ["condition", "setting", "config", "architecture", "arch", "network", "net", "model_type", "params.model"]
ARMS += ["config.method", "config/model", "params_model"]
UNKNOWN_ARMS = ["Optimiser", "flavour"]
SEEDS = ["seed", "Seed", "random_seed", "rng_seed", "random_state", "global_seed", "params.seed", "config/seed"]
SEEDS += ["params_seed"]
UNKNOWN_SEEDS = ["Startwert", "init", "k"]
STEPS = ["step", "global_step", "iteration", "iter", "epoch", "Epoch", "epochs", "round", "episode", "timesteps"]
HIGHER = ["accuracy", "Top1 Acc", "val/accuracy", "test_f1", "mIoU", "metrics.accuracy", "auc", "mean_reward"]
LOWER = ["val_loss", "loss", "eval/perplexity", "testError", "rmse", "metrics.val_loss"]
OTHER = ["score", "toxicity", "glue"]
STATES = {"status": ("finished", "FAILED"), "State": ("finished", "crashed"), "state": ("COMPLETE", "FAIL")}
STATES |= {"Status": ("TERMINATED", "ERROR")}
CONSTANT = {"dataset": "cifar10", "split": "test", "lr": 0.1, "batch_size": 128, "user": "me"}
CONSTANT |= {"project": "exp7", "commit": "abc123f", "gpu": "H100", "tags": ""}
# What tells lines of two meanings apart.
MIXED = {"dataset": ("easy", "hard"), "task": ("rte", "sst2"), "learning_rate": (0.1, 0.01), "dropout": (0, 0.5)}
MIXED |= {"one seed twice": ()}
NAMES = [["base", "wide"], ["resnet18", "vit_b16"], ["A", "B", "C"], ["adam lr=0.1", "sgd lr=0.1"], ["x-1", "x-2"]]


class Written(NamedTuple):
    """Files, how they are given, which options name columns, and whether a name or an option says the seeds.

    `mixed` says what the table has two meanings by, so that it must be refused.
    """

    files: dict[str, str]
    given: list[list[str]]
    options: dict[str, str]
    seeded: bool
    mixed: str = ""


class Case(NamedTuple):
    """What is written and asked, and the truth: of each arm its numbers by seed, and whether lower is better."""

    layout: str
    written: Written
    asked: Asked
    truth: dict[str, dict[str, float]]
    lower: bool | None


class Run(NamedTuple):
    """A run as it was: its arm, its seed, its place among its arm's, its number at each step, and whether it failed."""

    arm: str
    seed: int
    place: int
    values: list[float]
    failed: bool


def case(number: int, seed: int) -> Case:
    """A table by its number."""
    draw = random.Random(f"{seed}/{number}")
    layout = draw.choice([*["tidy"] * 5, *["JSON lines"] * 2, *["a file an arm"] * 2, *WRITERS])
    of_lines = layout not in WRITERS
    has_steps = layout in OF_STEPS or (of_lines and draw.random() < 0.3)
    steps = draw.choice(["last", "best"]) if has_steps else None
    metric, lower = draw.choice([(draw.choice(HIGHER), False), (draw.choice(LOWER), True), (draw.choice(OTHER), None)])
    percent = of_lines and not lower and draw.random() < 0.1
    runs = _runs(draw, 3 if has_steps else 1, 100 if percent else 10000)
    written = _lines(draw, runs, metric, layout, "%" * percent) if of_lines else WRITERS[layout](draw, runs, metric)
    said = {}
    if lower is None and (has_steps or draw.random() < 0.3):
        lower = draw.random() < 0.5
        said = {"lower": ()} if lower else {"higher": ()}
    truth: dict[str, dict[str, float]] = {}
    for run in runs:
        if not (run.failed and of_lines):
            values = run.values if steps == "best" else run.values[-1:]
            truth.setdefault(run.arm, {})[str(run.seed)] = (min if lower else max)(values)
    return Case(layout, written, Asked((metric,), steps=steps, **written.options, **said), truth, lower)


def _runs(draw: random.Random, steps: int, scale: int) -> list[Run]:
    """Runs of two arms or three, with the same seeds, with some of them, or with others; no number is there twice."""
    arms, count = draw.choice(NAMES), draw.randint(2, 4)
    shift = draw.choice([0, 0, 1, count])
    start = draw.choice([0, 1, 42])
    values = iter(draw.sample(range(1001, 9999), 200))
    return [
        Run(arm, start + shift * at + n, n, [next(values) / scale for _ in range(steps)], n > 0 and draw.random() < 0.1)
        for at, arm in enumerate(arms)
        for n in range(count)
    ]


def _lines(draw: random.Random, runs: list[Run], metric: str, layout: str, sign: str) -> Written:
    """A line a run or a step."""
    has_steps = len(runs[0].values) > 1
    arm, seed, step = draw.choice([*ARMS, *UNKNOWN_ARMS]), draw.choice([*SEEDS, *UNKNOWN_SEEDS]), draw.choice(STEPS)
    # Steps without seeds would need a name of the run.
    has_seeds = seed in SEEDS or has_steps or draw.random() < 0.7
    by_option = has_seeds and (has_steps or draw.random() < 0.5) if seed in UNKNOWN_SEEDS else draw.random() < 0.2
    seeded = has_seeds and (seed in SEEDS or by_option)
    options = {"seed": seed} if by_option else {}
    if layout != "a file an arm" and draw.random() < 0.3:
        options["by"] = arm
    status = draw.choice([*STATES, None, None])
    rows = []
    for run in runs:
        for at, value in enumerate(run.values):
            row = {} if layout == "a file an arm" else {arm: run.arm}
            row |= {seed: run.seed} if has_seeds else {}
            row |= {step: 10 * at} if has_steps else {}
            row |= {status: STATES[status][run.failed]} if status else {}
            # A run without a state that has failed has no number.
            rows.append((run, row | {metric: "" if run.failed and not status else f"{value}%" if sign else value}))
    known_arm = layout == "a file an arm" or arm in ARMS or "by" in options
    further = _further(draw, [run for run, _ in rows], known_arm=known_arm, has_steps=has_steps)
    if seeded and seed in SEEDS:
        further["random_state"] = [0] * len(rows)  # of several columns of seeds, one has no other seeds
    added = [name for name in further if name not in {arm, seed, step, metric, status}]
    for name in draw.sample(added, draw.randint(0, 6)):
        for line, (_, row) in enumerate(rows):
            row[name] = further[name][line]
    # Such a name says the seed: base-s1.
    seeded |= "name" in rows[0][1]
    # Without seeds, other settings are other runs; other data sets are not.
    meanings = [*MIXED] if seeded and has_seeds else ["dataset", "task"]
    mixed = draw.choice(meanings) if not (has_steps or sign) and draw.random() < 0.2 else ""
    if mixed:
        rows = _with_another_meaning(rows, mixed, metric)
    elif has_seeds and not (has_steps or sign) and draw.random() < 0.15:
        rows += _sums(rows, arm, seed, metric)
    rows = draw.sample(rows, len(rows)) if draw.random() < 0.5 else rows
    heads = draw.sample([*rows[0][1]], len(rows[0][1]))
    if layout == "a file an arm":
        arms = dict.fromkeys(run.arm for run in runs)
        of_arms = {f"{_file(arm)}.csv": [row for run, row in rows if run.arm == arm] for arm in arms}
        files = {name: _table(draw, heads, of) for name, of in of_arms.items()}
        return Written(files, [[name] for name in files], options, seeded, mixed)
    if layout == "JSON lines":
        text = "".join(json.dumps({name: row[name] for name in heads}) + "\n" for _, row in rows)
        return Written({"t.jsonl": text}, [["t.jsonl"]], options, seeded, mixed)
    return _one_file(_table(draw, heads, [row for _, row in rows]), options, seeded=seeded, mixed=mixed)


def _further(draw: random.Random, runs: list[Run], *, known_arm: bool, has_steps: bool) -> dict[str, list]:
    """Columns that change nothing: constants, what follows from the arm, places, ids, times, notes, other metrics."""
    arms, each = list(dict.fromkeys(run.arm for run in runs)), list(dict.fromkeys((run.arm, run.place) for run in runs))
    places = [each.index((run.arm, run.place)) for run in runs]
    of_arms = [arms.index(run.arm) for run in runs]
    lines = range(len(runs))
    columns = {name: [value] * len(runs) for name, value in CONSTANT.items()}
    columns |= {
        "run_id": [f"{place + 40961:x}fe" for place in places],
        "id": [place + 100 for place in places],
        "name": [f"{_file(run.arm)}-s{run.seed}" for run in runs],
        "replicate": [run.place for run in runs],
        "date": [f"2026-01-{1 + place:02}" for place in places],
        "hostname": [f"node{place % 2}" for place in places],
        "notes": [f"tried {place}" for place in places],
        "checkpoint": [f"/data/{_file(run.arm)}/{run.seed}.pt" for run in runs],
        "num_params": [11_000_000 + place for place in of_arms],
        "family": [f"family {place}" for place in of_arms],
        "runtime": [round(100 + 7.3 * line, 1) for line in lines],
        "train_loss": [round(2 - 0.013 * line, 3) for line in lines],
        "f1_macro": [round(0.3 + 0.0117 * line, 4) for line in lines],
        draw.choice(["Unnamed: 0", ""]): list(lines),
    }
    if known_arm:
        columns |= {"warmup": [("cosine", "linear")[place % 2] for place in places]}
        columns |= {draw.choice(["experiment", "condition"]): [f"e{place % 2}" for place in places]}
    if not has_steps:
        columns |= {draw.choice(["epoch", "step"]): [90 - place % 3 for place in places]}
    return columns


def _with_another_meaning(rows: list[tuple[Run, dict]], mixed: str, metric: str) -> list[tuple[Run, dict]]:
    """The lines again with other numbers, of another data set or another setting, or one of them."""
    others = [(run, row | {metric: row[metric] and round(row[metric] + 0.00001, 5)}) for run, row in rows]
    if mixed == "one seed twice":
        return rows + [(run, row) for run, row in others if not run.failed][:1]
    both = zip(MIXED[mixed], (rows, others), strict=True)
    return [(run, row | {mixed: value}) for value, part in both for run, row in part]


def _sums(rows: list[tuple[Run, dict]], arm: str, seed: str, metric: str) -> list[tuple[Run, dict]]:
    """Lines below an arm's runs with their mean and their standard deviation, as spreadsheets have them."""
    of_arms: dict[str, list[tuple[Run, dict]]] = {}
    for run, row in rows:
        of_arms.setdefault(run.arm, []).append((run, row))
    sums = []
    for of in of_arms.values():
        known = [row[metric] for _, row in of if row[metric] != ""]
        for word, value in (("mean", statistics.fmean(known)), ("std", statistics.pstdev(known))):
            run, row = of[0]
            blank = {name: cell if name == arm else "" for name, cell in row.items()}
            sums.append((run, blank | {seed: word, metric: round(value + 0.000001, 6)}))
    return sums


def _seeds_as_columns(draw: random.Random, runs: list[Run], _: str) -> Written:
    """A line a model, a column a seed; a cell is blank where the arm has no such seed."""
    word, name = draw.choice(["seed", "Seed ", "seed_", "s", ""]), draw.choice(["model", "method", "Net", "system"])
    cells = {(run.arm, run.seed): run.values[-1] for run in runs}
    seeds = sorted({seed for _, seed in cells})
    rows = [
        {name: arm} | {f"{word}{seed}": cells.get((arm, seed), "") for seed in seeds}
        for arm in dict.fromkeys(arm for arm, _ in cells)
    ]
    return _one_file(_table(draw, [*rows[0]], rows), {"by": name} if draw.random() < 0.3 else {})


def _models_as_columns(draw: random.Random, runs: list[Run], _: str) -> Written:
    """A line a seed, a column a model."""
    name = draw.choice(["seed", "Seed", "Start", "run", ""])
    cells = {(run.arm, run.seed): run.values[-1] for run in runs}
    arms = dict.fromkeys(arm for arm, _ in cells)
    seeds = sorted({seed for _, seed in cells})
    rows = [{name: seed} | {arm: cells.get((arm, seed), "") for arm in arms} for seed in seeds]
    options = {"seed": name} if name == "Start" else {}
    return _one_file(_table(draw, [name, *arms], rows), options, seeded=name not in ("run", ""))


def _chart(draw: random.Random, runs: list[Run], metric: str) -> Written:
    """W&B's chart: a curve a run, perhaps with its extremes."""
    curves = {f"{run.arm}_seed{run.seed} - {metric}": run.values for run in runs}
    if draw.random() < 0.5:
        curves |= {f"{name}__{end}": values for name, values in curves.items() for end in ("MIN", "MAX")}
    heads = ["Step", *draw.sample([*curves], len(curves))]
    steps = range(len(runs[0].values))
    rows = [{"Step": 10 * step} | {name: values[step] for name, values in curves.items()} for step in steps]
    return _one_file(_table(draw, heads, rows))


def _a_line_a_value(draw: random.Random, runs: list[Run], metric: str) -> Written:
    """MLflow's history: a line a value."""
    rows = [
        {"Run": f"{run.arm}-seed{run.seed}", "Run ID": f"{n + 40961:x}fe", "metric": name, "step": step}
        | {"timestamp": 1763027298000 + step, "value": value + shift}
        for name, shift in ((metric, 0), ("grad_norm", 2))
        for n, run in enumerate(runs)
        for step, value in enumerate(run.values)
    ]
    return _one_file(_table(draw, [*rows[0]], draw.sample(rows, len(rows))))


def _a_file_a_run(draw: random.Random, runs: list[Run], metric: str) -> Written:
    """As Keras and Lightning write them; the seed is in the name of the file or the folder."""
    step, name = draw.choice(STEPS), draw.choice(["{}/seed{}.csv", "{}/seed_{}/metrics.csv", "{}-s{}.csv"])
    files: dict[str, str] = {}
    given: dict[str, list[str]] = {}
    for run in runs:
        path = name.format(_file(run.arm), run.seed)
        rows = [{step: at, "grad_norm": 2.5 + at, metric: value} for at, value in enumerate(run.values)]
        files[path] = _table(draw, [*rows[0]], rows)
        given.setdefault(run.arm, []).append(path)
    return Written(files, [*given.values()], {}, seeded=True)


WRITERS = {"seeds as columns": _seeds_as_columns, "models as columns": _models_as_columns, "a chart": _chart}
WRITERS |= {"a line a value": _a_line_a_value, "a file a run": _a_file_a_run}
OF_STEPS = {"a chart", "a line a value", "a file a run"}


def _one_file(text: str, options: dict[str, str] | None = None, *, seeded: bool = True, mixed: str = "") -> Written:
    return Written({"t.csv": text}, [["t.csv"]], options or {}, seeded, mixed)


def _file(arm: str) -> str:
    """An arm as a name of a file."""
    return arm.replace(" ", "_").replace("=", "")


def _table(draw: random.Random, heads: list[str], rows: list[dict]) -> str:
    """CSV, with another separator or with quotes now and then. pandas' index stands first."""
    heads = sorted(heads, key=lambda name: name != "")
    separator = draw.choice([",", ",", ";", "\t"])
    text = io.StringIO()
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    table = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=draw.choice(["\n", "\r\n"]))
    table.writerows([heads, *([row[name] for name in heads] for row in rows)])
    return text.getvalue()


def judged(one: Case) -> tuple[str, str]:
    """Whether a case is "right", "refused" or "wrong", and why. The current folder gets its files."""
    for name, text in one.written.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, newline="")
    try:
        runs = read_runs(one.written.given, one.asked)
    except BadInput as error:
        return "refused", str(error)
    if one.written.mixed:
        return "wrong", f"read, though it has two meanings by {one.written.mixed}"
    (metric,) = one.asked.metrics
    found = {arm: [(run.seed, run.value) for run in runs.of(arm, metric).itertuples()] for arm in runs.arms}
    # Another column may name the arms as well: what counts is which runs are of one.
    parts = {frozenset(value for _, value in of) for of in found.values()}
    if parts != {frozenset(of.values()) for of in one.truth.values()}:
        return "wrong", f"read the arms {found}, for {one.truth}"
    seeds = {value: seed if one.written.seeded else None for of in one.truth.values() for seed, value in of.items()}
    if {value: seed for of in found.values() for seed, value in of} != seeds:
        return "wrong", f"read the seeds {found}, for {one.truth if one.written.seeded else 'none'}"
    if runs.metrics[0].lower is not one.lower:
        return "wrong", f"read that lower is better: {runs.metrics[0].lower}, for {one.lower}"
    return "right", ""


def main() -> None:
    """Try cases; print how many are read right and refused, and each that is read wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--refused", action="store_true", help="print the reasons of refusals, too")
    options = parser.parse_args()
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for number in range(options.cases):
        one = case(number, options.seed)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            verdict, why = judged(one)
        mixed = bool(one.written.mixed)
        counts[one.layout + ", two meanings" * mixed, verdict] += 1
        if verdict == "wrong" or (options.refused and verdict == "refused" and not mixed):
            text = next(iter(one.written.files.values()))
            print(f"case {number}, {one.layout}, {verdict}: {why}\n  {one.asked}\n{text}")
    for (kind, verdict), count in sorted(counts.items()):
        print(f"{count:5} {verdict:8} {kind}")
    raise SystemExit(any(verdict == "wrong" for _, verdict in counts))


if __name__ == "__main__":
    main()
