"""Every kind of table that people have: the runs that are read of it, or that it is refused.

One list, as data: files, what is asked, and the expected arms with their numbers by seed (by place where no column says
the seeds). Loggers' own files are in `metric_tables.tar.xz` and `eval_logs.tar.xz`; those that pages write in a browser
are written here as they do. What is said about a table is in test_metric_tables.py.
"""

import csv
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from toolnoise.comparison.metric_layouts import Asked
from toolnoise.comparison.metric_runs import read_runs
from toolnoise.comparison.question_logs import Asked as Scores
from toolnoise.comparison.sniff import read_logs_of_arm, sniff

ARCHIVE = Path(__file__).with_name("eval_logs.tar.xz")
SCORES = {"base": [0.911, 0.925, 0.904, 0.918], "wide": [0.921, 0.929, 0.917, 0.926]}
BY_SEED = {arm: {str(seed): value for seed, value in enumerate(of, 1)} for arm, of in SCORES.items()}
BY_PLACE = {arm: dict(enumerate(of)) for arm, of in SCORES.items()}
CURVES = {("base", 1): [0.5, 0.9, 0.8], ("base", 2): [0.4, 0.6, 0.7], ("wide", 1): [0.6, 0.5], ("wide", 2): [0.5, 0.9]}
LAST = {"base": {"1": 0.8, "2": 0.7}, "wide": {"1": 0.5, "2": 0.9}}
BEST = {"base": {"1": 0.9, "2": 0.7}, "wide": {"1": 0.6, "2": 0.9}}
LEAST = {"base": {"1": 0.5, "2": 0.4}, "wide": {"1": 0.5, "2": 0.5}}
LAST_BY_PLACE = {arm: dict(enumerate(of.values())) for arm, of in LAST.items()}


class Table(NamedTuple):
    """Files by their names (a text alone is t.csv); arms with their numbers; and whether lower is better."""

    files: Mapping[str, str] | str
    arms: Mapping[str, Mapping[Any, float]]
    given: Sequence[Any] | None = None  # all files, each an arm
    metric: str = "accuracy"
    asked: Mapping[str, Any] = {}
    lower: bool | None = False
    unit: str = ""


class Refused(NamedTuple):
    """Files, and the place and the reason that the one line of refusal has."""

    files: Mapping[str, str] | str
    says: Sequence[str]
    metric: str = "accuracy"
    asked: Mapping[str, Any] = {}


def lines(rows, separator=","):
    """Rows as people write them."""
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def quoted(rows):
    """CSV as W&B's and MLflow's pages write it: every cell in quotes."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue()


def tidy(scores=SCORES, names=("model", "seed", "accuracy"), separator=","):
    """A line a run."""
    return lines([names, *((arm, seed, n) for arm, of in scores.items() for seed, n in enumerate(of, 1))], separator)


def an_arm_a_file(pattern="{}.csv"):
    return {pattern.format(arm): tidy({arm: of}) for arm, of in SCORES.items()}


def seeds_as_columns(*heads):
    return lines([heads, *((arm, *of) for arm, of in SCORES.items())])


def models_as_columns(first, *starts):
    """A line a run, with a column a model."""
    rows = [(*start, *of) for start, *of in zip(starts, *SCORES.values(), strict=True)]
    return lines([(*first, *SCORES), *rows])


def of_steps(metric="accuracy"):
    """A line a step, with all runs in a file."""
    return lines(
        [
            ("model", "seed", "epoch", metric),
            *((*run, step, n) for run, of in CURVES.items() for step, n in enumerate(of)),
        ]
    )


def json_lines(rows):
    return {"t.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}


def wandb_runs():
    """W&B's table of runs, in which one has crashed and one has no metric."""
    heads = ["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "lr", "model_type", "seed"]
    aside = ["finished", "-", "", "", "2025-11-13T09:48:11.000Z", 99, "", 0.1]
    rows = [
        [f"{arm}_{1763027298 + seed}", *aside, arm, seed, 9, n]
        for arm, of in SCORES.items()
        for seed, n in enumerate(of, 1)
    ]
    rows += [["base_9", "crashed", *aside[1:], "base", 9, 9, 0.1], ["base_8", *aside, "base", 8, 9, ""]]
    return quoted([[*heads, "epoch", "val/accuracy"], *rows])


def wandb_chart(name, arms=SCORES):
    """A chart of W&B's: a curve a run, with its extremes."""
    curves = {name.format(arm, seed): of for (arm, seed), of in CURVES.items() if arm in arms}
    heads = [f"{run} - val/accuracy{end}" for run in curves for end in ("", "__MIN", "__MAX")]
    rows = [[of[step] if step < len(of) else "" for of in curves.values() for _ in range(3)] for step in range(3)]
    return quoted([["Step", *heads], *([10 * step, *row] for step, row in enumerate(rows))])


def mlflow_page():
    """The runs that MLflow's page saves: its own columns, then parameters and metrics by their bare names."""
    heads = ["Start Time", "Duration", "Run ID", "Name", "Source Type", "Source Name", "User", "Status"]
    runs = [("FINISHED", "base", 1, 0.9, "'-0.1"), ("FINISHED", "wide", 1, 0.8, 0.2), ("KILLED", "wide", 2, 0.1, 0.1)]
    begin = ["2026-01-02 03:04:05", "1.0min"]
    rows = [[*begin, f"id{n}", f"run-{n}", "LOCAL", "train.py", "me", *run] for n, run in enumerate(runs)]
    return quoted([[*heads, "model", "seed", "accuracy", "delta"], *rows])


def mlflow_history():
    """The history that MLflow's page saves: a line a value."""
    rows = [
        [f"{arm}-seed{seed}", f"0a{seed}{arm}", metric, step, 17, round(n - shift, 3)]
        for metric, shift in (("accuracy", 0), ("f1", 0.1))
        for (arm, seed), of in CURVES.items()
        for step, n in enumerate(of)
    ]
    return quoted([["Run", "Run ID", "metric", "step", "timestamp", "value"], *rows])


def keras():
    """Keras' CSVLogger: a file a run, a line an epoch."""
    heads = ("epoch", "accuracy", "loss", "val_accuracy", "val_loss")
    rows = {run: [(step, 0.99, 0.01, n, round(2 - n, 2)) for step, n in enumerate(of)] for run, of in CURVES.items()}
    return {f"{arm}/seed{seed}.csv": lines([heads, *of]) for (arm, seed), of in rows.items()}


def optuna():
    """`study.trials_dataframe().to_csv()`, with a trial that failed and one that was pruned."""
    heads = "number,value,datetime_start,datetime_complete,duration,params_model,params_seed,state"
    trials = [(arm, seed, n, "COMPLETE") for arm, of in SCORES.items() for seed, n in enumerate(of, 1)]
    trials += [("base", 5, "", "FAIL"), ("wide", 5, 0.1, "PRUNED")]
    begin = ("2026-01-02 03:04:05.678901", "2026-01-02 03:05:05.678901", "0 days 00:01:00")
    rows = [[n, n, value, *begin, *of, state] for n, (*of, value, state) in enumerate(trials)]
    return f",{heads}\n{lines(rows)}"


def ray():
    """Ray Tune's table of trials, with one that ended in an error."""
    heads = "trial_id,status,training_iteration,time_total_s,date,hostname,config/model,config/seed,accuracy"
    trials = [(arm, seed, n, "TERMINATED") for arm, of in SCORES.items() for seed, n in enumerate(of, 1)]
    trials += [("base", 5, 0.1, "ERROR")]
    begin = ("2026-01-02_03-04-05", "node1")
    rows = [(f"a1b2_{n:05}", state, 10, 61.5 + n, *begin, *of) for n, (*of, state) in enumerate(trials)]
    return f"{heads}\n{lines(rows)}"


def logger_files(pattern):
    """The files of a logger by its own hand, base and wide."""
    with tarfile.open(ARCHIVE.with_name("metric_tables.tar.xz")) as archive:
        return {
            name: archive.extractfile(name).read().decode()
            for name in sorted(archive.getnames())
            if Path(name).match(pattern)
        }


def of_logger(pattern, column, choose):
    """The same numbers by pandas: of each file a number."""
    found = {"base": {}, "wide": {}}
    for name, text in logger_files(pattern).items():
        (arm,) = (arm for arm in found if arm in name)
        seed = name.partition("seed")[2][0]
        found[arm][seed] = float(choose(pd.read_csv(io.StringIO(text))[column].dropna()))
    return found


def lightning(column, choose, **asked):
    """Lightning's CSVLogger: a folder a run."""
    folders = [[f"lightning/{arm}/*/metrics.csv"] for arm in SCORES]
    files = "lightning/*/*/metrics.csv"
    return Table(logger_files(files), of_logger(files, column, choose), folders, column, asked)


def mlflow_search():
    table = pd.read_csv(io.StringIO(logger_files("mlflow.csv")["mlflow.csv"]))
    table = table[(table["status"] == "FINISHED") & table["metrics.accuracy"].notna()]
    arms = table.groupby("params.model", sort=False)
    return {arm: dict(zip(of["params.seed"].map(str), of["metrics.accuracy"], strict=True)) for arm, of in arms}


FOLDERS = [["base/*.csv"], ["wide/*.csv"]]
TENSORBOARD = [["tensorboard/run-base-*.csv"], ["tensorboard/run-wide-*.csv"]]
GLAD_DEW = {f"{arm}.csv": wandb_chart("glad-dew-{1}", [arm]) for arm in SCORES}
NO_NAMES = {f"{arm}.csv": "\n".join(map(str, of)) for arm, of in SCORES.items()}
TENSORBOARD_FILES = logger_files("tensorboard/*.csv")
TENSORBOARD_LAST = {
    f"run-{arm}": of for arm, of in of_logger("tensorboard/*.csv", "Value", lambda of: of.iloc[-1]).items()
}
OPTIMISER = ("Optimiser", "Startwert", "Top1 Acc")
PERCENT = {"base": ["91.5%", "92%"], "wide": ["93 %", "94%"]}
GAPS = {"base": [0.9, "", "nan", 0.8], "wide": [0.7, 0.6, "inf", "None"]}
SUMS = "seed,accuracy\n0,0.9\n1,0.8\nmean,0.85\nStd. dev,0.07\n"
SUMS_READ = {"0": 0.9, "1": 0.8}
RECORDS = [
    {"model": arm, "config": {"seed": int(seed)}, "accuracy": n, "steps": [1, 2]}
    for arm, of in BY_SEED.items()
    for seed, n in of.items()
]
NOT_ENDED = [{"model": "base", "config": {"seed": 5}}, {"model": "wide", "config": {"seed": 5}, "accuracy": None}]
OF_STATES = [(f"{arm}-{n}", "finished", e, f"0.{e}{n}") for arm in "AB" for n in (1, 2) for e in (1, 2)]
LAST_STEP, BEST_STEP = {"steps": "last"}, {"steps": "best"}

WIDTHS = "width,seed0,seed1\n32,0.9,0.8\n64,0.7,0.6\n"
REWARDS = {"a": [91.2, 91.4], "b": [0.92, 0.925]}
REWARDS_READ = {"a": {"1": 91.2, "2": 91.4}, "b": {"1": 0.92, "2": 0.925}}
FRACTIONS = {"a.csv": "seed,accuracy\n1,0.9\n2,0.8\n", "b.csv": "seed,accuracy\n1.0,0.9\n2.0,0.7\n,\n"}
SOME_SHARED = "model,seed,accuracy\nbase,1,0.9\nbase,2,0.8\nwide,2,0.7\nwide,7,0.6\n"
ONE_TO_FOUR = [[seed] for seed in range(1, 5)]
SEEDS = "seed,accuracy\n1,0.9\n1,0.8\n2,0.7\n2,0.75\n"
HARD = "model,dataset,note,accuracy\nbase,hard,x,0.5\nbase,hard,y,0.9\nwide,hard,x,0.6\nwide,hard,x,0.8\n"
RUNS = ("model", "run", "accuracy")

READ = {
    # A line a run.
    "tidy": Table(tidy(), BY_SEED),
    "tidy, with semicolons": Table(tidy(separator=";"), BY_SEED),
    "tidy, with tabs": Table({"t.tsv": tidy(separator="\t")}, BY_SEED),
    "tidy, with spaces and a byte order mark": Table("\ufeff" + tidy(separator=" , "), BY_SEED),
    "tidy, with quotes": Table(quoted(csv.reader(tidy().splitlines())), BY_SEED),
    "tidy, with carriage returns": Table(tidy().replace("\n", "\r\n"), BY_SEED),
    "any names of columns, which are said": Table(
        tidy(names=OPTIMISER), BY_SEED, None, "Top1 Acc", {"by": "Optimiser", "seed": "Startwert"}
    ),
    "runs that are numbered are no seeds": Table(tidy(names=RUNS), BY_PLACE),
    "runs that are said to be seeds": Table(tidy(names=RUNS), BY_SEED, asked={"seed": "run"}),
    "seeds that count for nothing": Table(tidy(), BY_PLACE, asked={"seed": "none"}),
    "seeds as fractions": Table(FRACTIONS, {"a": {"1": 0.9, "2": 0.8}, "b": {"1": 0.9, "2": 0.7}}),
    "seeds of one arm alone": Table(SOME_SHARED, {"base": {"1": 0.9, "2": 0.8}, "wide": {"2": 0.7, "7": 0.6}}),
    "arms that are named seed": Table(SEEDS, {"1": {0: 0.9, 1: 0.8}, "2": {0: 0.7, 1: 0.75}}, asked={"by": "seed"}),
    "percent": Table(tidy(PERCENT), {"base": {"1": 91.5, "2": 92.0}, "wide": {"1": 93.0, "2": 94.0}}, unit="points"),
    "blank cells, and numbers that are not finite": Table(
        tidy(GAPS), {"base": {"1": 0.9, "4": 0.8}, "wide": {"1": 0.7, "2": 0.6}}
    ),
    "lines of mean and std": Table(
        {"a.csv": SUMS, "b.csv": SUMS.replace("seed", "")}, {"a": SUMS_READ, "b": {0: 0.9, 1: 0.8}}
    ),
    "lines of means, in a column that no name says, and beside names of runs": Table(
        "model,name,k,accuracy\na,a-s1,1,0.9\na,a-s2,2,0.8\na,,mean,0.85\nb,b-s1,1,0.7\nb,b-s2,2,0.6\n",
        {"a": {"1": 0.9, "2": 0.8}, "b": {"1": 0.7, "2": 0.6}},
    ),
    "one data set, and a note": Table(HARD, {"base": {0: 0.5, 1: 0.9}, "wide": {0: 0.6, 1: 0.8}}),
    "a metric of any scale": Table(tidy(REWARDS, ("model", "seed", "reward")), REWARDS_READ, metric="reward"),
    # A file an arm, a file a run.
    "a file an arm": Table(an_arm_a_file(), BY_SEED),
    "a folder an arm": Table(an_arm_a_file("{0}/{0}.csv"), BY_SEED, [["base"], ["wide"]]),
    "a pattern an arm": Table(an_arm_a_file("{0}/{0}.csv"), BY_SEED, FOLDERS),
    "arms by a column in all files": Table(an_arm_a_file(), BY_SEED, asked={"by": "model"}),
    "a column of numbers": Table(NO_NAMES, BY_PLACE),
    "a column of numbers, paired": Table(
        NO_NAMES,
        {arm: {f"run {place + 1}": n for place, n in of.items()} for arm, of in BY_PLACE.items()},
        asked={"paired": True},
    ),
    "whole numbers beside a first line of 0": Table(
        {"a.csv": "0\n1\n0.8\n", "b.csv": "0.5\n0\n"}, {"a": {0: 0.0, 1: 1.0, 2: 0.8}, "b": {0: 0.5, 1: 0.0}}
    ),
    # Wide.
    "seeds as columns": Table(seeds_as_columns("Net", "seed1", "seed2", "seed3", "seed4"), BY_SEED),
    "seeds as columns, of numbers": Table(seeds_as_columns("Net", "1", "2", "3", "4"), BY_SEED),
    "seeds as columns, with spaces": Table(seeds_as_columns("Net", "Seed 1", "Seed 2", "Seed 3", "Seed 4"), BY_SEED),
    "seeds as columns, short": Table(seeds_as_columns("Net", "s1", "s2", "s3", "s4"), BY_SEED, asked={"by": "Net"}),
    "runs as columns": Table(seeds_as_columns("model", "run1", "run2", "run3", "run4"), BY_PLACE),
    "models that are numbers": Table(WIDTHS, {"32": {"0": 0.9, "1": 0.8}, "64": {"0": 0.7, "1": 0.6}}),
    "models as columns": Table(models_as_columns(["seed"], *ONE_TO_FOUR), BY_SEED),
    "models as columns, seeds by name": Table(
        models_as_columns(["Start"], *ONE_TO_FOUR), BY_SEED, asked={"seed": "Start"}
    ),
    "models as columns, without seeds": Table(models_as_columns([], [], [], [], []), BY_PLACE),
    "models as columns, by pandas": Table(pd.DataFrame(SCORES).to_csv(), BY_PLACE),
    **{
        f"models as columns, beside {name}": Table(models_as_columns([name], *([n] for n in range(4))), BY_PLACE)
        for name in ("fold", "run", "Unnamed: 0")
    },
    "models as columns, with mean and std": Table(
        "seed,base,wide\n0,0.9,0.8\n1,0.8,0.7\nmean,0.85,0.75\nstd,0.07,0.07\n",
        {"base": SUMS_READ, "wide": {"0": 0.8, "1": 0.7}},
    ),
    "JSON lines": Table(json_lines(RECORDS), BY_SEED),
    "JSON lines, of runs that have not ended": Table(json_lines(RECORDS + NOT_ENDED), BY_SEED),
    "steps, of which the last counts": Table(of_steps(), LAST, asked=LAST_STEP),
    "steps, of which the best counts": Table(of_steps(), BEST, asked=BEST_STEP),
    "steps of a loss": Table(of_steps("val_loss"), LEAST, None, "val_loss", BEST_STEP, lower=True),
    "steps of a cost": Table(of_steps("cost"), LEAST, None, "cost", BEST_STEP | {"lower": ()}, lower=True),
    "steps of runs with states": Table(
        lines([("run", "state", "epoch", "accuracy"), *OF_STATES]),
        {arm: {0: 0.21, 1: 0.22} for arm in "AB"},
        asked=LAST_STEP,
    ),
    # Loggers.
    "W&B's runs": Table(wandb_runs(), BY_SEED, None, "val/accuracy"),
    "W&B's chart": Table(wandb_chart("{}-seed{}"), LAST, None, "val/accuracy", LAST_STEP),
    "W&B's chart, with its own names of runs": Table(GLAD_DEW, LAST_BY_PLACE, None, "val/accuracy", LAST_STEP),
    "MLflow's search": Table(logger_files("mlflow.csv"), mlflow_search()),
    "MLflow's page": Table(mlflow_page(), {"base": {"1": 0.9}, "wide": {"1": 0.8}}),
    "MLflow's page, a quote before a minus": Table(
        mlflow_page(), {"base": {"1": -0.1}, "wide": {"1": 0.2}}, None, "delta", lower=None
    ),
    "MLflow's history": Table(mlflow_history(), LAST, asked=LAST_STEP),
    "TensorBoard": Table(TENSORBOARD_FILES, TENSORBOARD_LAST, TENSORBOARD, "val/accuracy", LAST_STEP),
    "Lightning's test": lightning("test_acc", pd.Series.item),
    "Lightning's last step": lightning("val_acc", lambda of: of.iloc[-1], steps="last"),
    "Lightning's best step": lightning("val_acc", max, steps="best"),
    "Keras' last epoch": Table(keras(), LAST, FOLDERS, "val_accuracy", LAST_STEP),
    "Keras' best epoch": Table(keras(), BEST, FOLDERS, "val_accuracy", BEST_STEP),
    "Optuna's trials": Table(optuna(), BY_SEED, metric="value", lower=None),
    "Optuna's trials, seeds or not": Table(optuna(), BY_PLACE, metric="value", asked={"seed": "none"}, lower=None),
    "Ray's trials": Table(ray(), BY_SEED),
}

DECIMAL_COMMAS = "model;accuracy\na;0,9\nb;0,8\n"
PERCENT_IN_ONE = {"a.csv": "accuracy\n91%\n92%\n", "b.csv": "accuracy\n0.9\n0.8\n"}
TWO_ARMS = "model,method,accuracy\na,x,0.9\na,y,0.8\nb,x,0.7\nb,y,0.6\n"
TWO_SEEDS = "model,seed,random_seed,accuracy\na,1,2,0.9\nb,2,3,0.8\n"
TWO_DATA_SETS = "model,dataset,accuracy\na,hard,0.5\na,easy,0.9\nb,hard,0.6\nb,easy,0.8\n"
TWO_LINES = {f"{run}.csv": "accuracy\n0.1\n0.9\n" for run in ("a/1", "a/2", "b/1", "b/2")}
STATES = "model,seed,status,accuracy\na,1,fine,0.9\na,2,failed,0.1\nb,1,fine,0.7\n"
GRID = "model,lr,seed,accuracy\na,0.1,1,0.91\na,0.01,1,0.92\nb,0.1,1,0.93\nb,0.01,1,0.94\n"
GROUPS = wandb_chart("Group: {}-{}")
CUT_OFF = {"t.jsonl": '{"model": "a", "accuracy": 0.9}\n{"model": "b", "acc'}

REFUSED = {
    "decimal commas": Refused(DECIMAL_COMMAS, ["line 2: accuracy: found '0,9'", "decimal point"]),
    "percent in some cells": Refused(tidy({"a": ["91%", 92]}), ["accuracy: found some numbers with %"]),
    "percent in some files": Refused(PERCENT_IN_ONE, ["a.csv: accuracy", "b.csv"]),
    "points beside shares": Refused(tidy(REWARDS), ["accuracy", "one scale"]),
    "several data sets": Refused(TWO_DATA_SETS, ["t.csv: dataset: found easy, hard in one arm"]),
    "two columns of arms": Refused(TWO_ARMS, ["by: missing", "model, method"]),
    "two columns of seeds": Refused(TWO_SEEDS, ["seed: missing", "seed, random_seed"]),
    "a grid of two settings": Refused(GRID, ["line 3: accuracy", "seed 1 of a", "by='lr'"]),
    "one arm alone": Refused("seed,accuracy\n1,0.9\n2,0.8\n", ["by: missing"]),
    "a seed that is missing in a line": Refused(tidy().replace("base,2,", "base,,"), ["line 3: seed: found no seed"]),
    "a seed twice": Refused(tidy() + "base,2,0.9\n", ["line 10", "seed 2 of base stands in t.csv: line 3"]),
    "seeds that floats would round": Refused(
        f"model,seed,accuracy\na,{2**60},0.9\na,{2**60 + 1},0.8\nb,1,0.7\n", [f"seed: found {2**60}, rounded"]
    ),
    "a text in place of a number": Refused(tidy().replace("0.925", "good"), ["t.csv: line 3: accuracy: found 'good'"]),
    "True and False": Refused("model,accuracy\na,True\nb,False\n", ["accuracy: found True and False"]),
    "only names": Refused("model,seed,accuracy\n", ["t.csv: found only names"]),
    "nothing": Refused("", ["t.csv: found nothing"]),
    "a metric that is not there": Refused(tidy(), ["metric: found no column auc"], "auc"),
    "a metric twice": Refused("accuracy,accuracy\n1,2\n", ["accuracy: found 2 columns of this name"]),
    "a column without a name": Refused("model,seed,accuracy,\na,1,0.9,\n", ["column 4: no name"]),
    "pandas' column without a name": Refused("0\n0.9\n0.8\n", ["t.csv: line 1: found 0"]),
    "steps, and not which counts": Refused(of_steps(), ["found 3 steps of seed 1 of base", "last or best"]),
    "lines that may be steps or runs": Refused(
        TWO_LINES, ["1.csv: found 2 lines without seeds or steps"], asked={"given": [["a/*.csv"], ["b/*.csv"]]}
    ),
    "a step twice": Refused(of_steps() + "base,1,0,0.6\n", ["stands in t.csv: line 2"], asked=LAST_STEP),
    "a step that is missing": Refused(of_steps() + "base,1,,0.6\n", ["line 12", "found no step"], asked=LAST_STEP),
    "the best step of a cost": Refused(of_steps("cost"), ["cost", "lower or higher"], "cost", BEST_STEP),
    "the last of no steps": Refused(tidy(), ["last: found no steps"], asked=LAST_STEP),
    "a curve with a column a seed": Refused("step,seed0,seed1\n1,0.9,0.8\n2,0.7,0.6\n", ["found no column accuracy"]),
    "states that are not known": Refused(STATES, ["status: found fine, beside failed runs"]),
    "W&B's curves of groups": Refused(GROUPS, ["which are means of runs"], "val/accuracy", LAST_STEP),
    "Keras' epochs, and not which counts": Refused(
        keras(), ["base/seed1.csv", "found 3 steps of seed 1 of base"], "val_accuracy", {"given": FOLDERS}
    ),
    "TensorBoard's file of another metric": Refused(
        TENSORBOARD_FILES, ["found the scalars of val_accuracy"], "loss", {"given": TENSORBOARD}
    ),
    "a line of JSON that is cut off": Refused(CUT_OFF, ["t.jsonl: line 2: damaged or truncated"]),
    "Parquet": Refused({"t.parquet": "PAR1\x15\x04\x15\x10\x00\x00PAR1"}, ["t.parquet"]),
}


@pytest.fixture
def written(here):
    """Write files into the current folder; the arms that they are."""

    def write(files, given=None):
        files = {"t.csv": files} if isinstance(files, str) else files
        for name, text in files.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text(text, newline="")
        return [[arm] for arm in files] if given is None else given

    return write


@pytest.mark.parametrize("name", READ)
def test_a_table_is_read_as_it_is_meant(name, written):
    table = READ[name]
    asked = Asked((table.metric,), **table.asked)
    runs = read_runs(written(table.files, table.given), asked)
    found = {
        arm: {run.seed or place: run.value for place, run in enumerate(runs.of(arm, table.metric).itertuples())}
        for arm in runs.arms
    }
    assert found == table.arms
    (metric,) = runs.metrics
    assert (metric.lower, metric.unit) == (table.lower, table.unit)


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_says_two_things_is_refused_in_one_line(name, written, refused):
    table = REFUSED[name]
    asked = dict(table.asked)
    given = written(table.files, asked.pop("given", None))
    line = refused(lambda: read_runs(given, Asked((table.metric,), **asked)))
    assert all(part in line for part in table.says), line


def scores(arm, asked):
    """The scores of an arm's runs by question, each question's samples in their order."""
    of_runs = read_logs_of_arm(arm, asked).samples.sort_values("sample").groupby("run")
    return [of.groupby("question")["score"].agg(list).to_dict() for _, of in of_runs]


def test_samples_of_lm_evaluation_harness_are_read_as_their_lines_say(unpacked_archive):
    files = sorted(map(str, unpacked_archive.glob("lm_eval/*/samples_choices_*.jsonl")))
    for arm in (files[:2], files[2:]):
        rows = [[json.loads(line) for line in Path(path).read_text().splitlines()] for path in arm]
        assert sniff([arm, arm], (), None, correct=False, cluster=None) == "questions"
        assert scores(arm, Scores("acc")) == [{str(row["doc_id"]): [row["acc"]] for row in of} for of in rows]


@pytest.mark.parametrize("kind", ["json", "eval"])
def test_logs_of_inspect_are_read_as_its_json_says(kind, unpacked_archive):
    if kind == "eval":
        pytest.importorskip("zstandard", reason="zstandard is not installed")
    for arm in "ab":
        files, expected = [str(unpacked_archive / f"inspect/{arm}.{kind}")], {}
        for sample in json.loads((unpacked_archive / f"inspect/{arm}.json").read_text())["samples"]:
            expected.setdefault(sample["id"], []).append({"C": 1.0, "I": 0.0}[sample["scores"]["match"]["value"]])
        assert sniff([files, files], (), None, correct=False, cluster=None) == "questions"
        assert scores(files, Scores("match")) == [expected]
