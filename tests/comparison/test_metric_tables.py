"""Tables of metrics as people and loggers write them: which runs are read, what is said, and what is refused.

`metric_tables.tar.xz` has files of the loggers themselves: mlflow.csv by MLflow 3.17.2 (`mlflow.search_runs().to_csv`,
of runs that finished, failed, were running, or logged no accuracy or NaN), lightning/ by PyTorch Lightning 2.6.6
(`CSVLogger`, a folder a run), tensorboard/ by TensorBoard 2.21.0 (its server's
`/data/plugin/scalars/scalars?...&format=csv`, which the page's download links to). Pages write the others in a browser:
W&B's and MLflow's are written here as they do.
"""

import csv
import io
import itertools
import json
import random
import re
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scripts import loaded

from toolnoise import cli
from toolnoise.base.program import ROOT
from toolnoise.comparison.tables import directions, listed_metrics, reading, run_names
from toolnoise.comparison.tables.arguments import Asked

ARCHIVE = Path(__file__).with_name("metric_tables.tar.xz")
with tarfile.open(ARCHIVE) as archive:
    MLFLOW = archive.extractfile("mlflow.csv").read().decode()
SCORES = {"base": [0.911, 0.925, 0.904, 0.918], "wide": [0.921, 0.929, 0.917, 0.926]}


@pytest.fixture(scope="module")
def logged(unpacked_archive):
    """The folder of the loggers' files."""
    return unpacked_archive


@pytest.fixture
def table(here):
    """Write a table of text into a folder of its own, which is the current one."""

    def write(text, name="t.csv"):
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    return write


def read(*files, metric="accuracy", **asked):
    metrics = (metric,) if isinstance(metric, str) else metric
    return reading.read([[file] if isinstance(file, str) else list(file) for file in files], Asked(metrics, **asked))


def numbers(runs, metric="accuracy"):
    """Numbers of each arm by seed, or in order."""
    found = {}
    for arm in runs.arms:
        found[arm] = {run.seed or place: run.metrics[metric] for place, run in enumerate(runs.of(arm, metric))}
    return found


def by_seed(scores=SCORES):
    return {arm: {str(seed): value for seed, value in enumerate(values, 1)} for arm, values in scores.items()}


def long(scores=SCORES, heading="model,seed,accuracy"):
    lines = [f"{arm},{seed},{value}" for arm, values in scores.items() for seed, value in enumerate(values, 1)]
    return "\n".join([heading, *lines]) + "\n"


def quoted(rows):
    """CSV as W&B's and MLflow's pages write it: every cell in quotes."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue()


# Tables of people


def test_a_line_a_run(table):
    runs = read(table(long()))
    assert numbers(runs) == by_seed()
    assert runs.described[:2] == ["Runs: base 4, wide 4.", "t.csv: arms by model; seeds by seed."]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_quotes_spaces_and_a_byte_order_mark_change_nothing(separator, table):
    text = long().replace(",", f' {separator} "').replace("\n", '"\n').replace('model "', "model")
    text = "\ufeff" + "\n".join(line.replace(' "', "").replace('"', "") for line in text.splitlines())
    assert numbers(read(table(text))) == by_seed()


def test_the_columns_may_be_named_and_have_any_names(table):
    path = table(long(heading="Optimiser,Startwert,Top1 Acc"))
    assert numbers(read(path, metric="Top1 Acc", by="Optimiser", seed="Startwert"), "Top1 Acc") == by_seed()


@pytest.mark.parametrize("order", ["a file an arm", "arms by a column in both", "folders", "patterns"])
def test_files_of_arms(order, table):
    files = [table(long({arm: values}), f"{arm}/{arm}.csv") for arm, values in SCORES.items()]
    if order == "arms by a column in both":
        assert numbers(read(*files, by="model")) == by_seed()
        return
    given = {"folders": ["base", "wide"], "patterns": ["base/*.csv", "w*/*.csv"]}.get(order, files)
    assert numbers(read(*given)) == by_seed()


def test_arms_of_files_have_the_shortest_names_by_which_they_differ():
    of_files = run_names.of_files
    assert of_files([["x/a.csv"], ["x/b.csv"]]) == ["a", "b"]
    assert of_files([["a/metrics.csv"], ["b/metrics.csv"]]) == ["a", "b"]
    assert of_files([["l/a/s1/m.csv", "l/a/s2/m.csv"], ["l/b/s1/m.csv", "l/b/s2/m.csv"]]) == ["a", "b"]
    of_tensorboard = [["run-a-seed1-tag-x.csv", "run-a-seed2-tag-x.csv"], ["run-b-s1.csv", "run-b-s2.csv"]]
    assert of_files(of_tensorboard) == ["run-a", "run-b"]
    assert len(set(of_files([["m.csv"], ["m.csv"]]))) == 2


def test_a_column_of_numbers_is_a_table(table):
    files = [table("\n".join(map(str, values)), f"{arm}.csv") for arm, values in SCORES.items()]
    runs = read(*files)
    assert {arm: list(of.values()) for arm, of in numbers(runs).items()} == SCORES
    assert all(run.seed is None for run in runs.runs)
    assert [run.seed for run in read(*files, paired=True).runs] == [f"run {place}" for place in (1, 2, 3, 4)] * 2


@pytest.mark.parametrize("heads", ["seed1,seed2,seed3,seed4", "1,2,3,4", "Seed 1,Seed 2,Seed 3,Seed 4", "s1,s2,s3,s4"])
def test_seeds_may_be_columns(heads, table):
    lines = [f"{arm},{','.join(map(str, values))}" for arm, values in SCORES.items()]
    path = table("\n".join([f"Net,{heads}", *lines]))
    assert numbers(read(path)) == numbers(read(path, by="Net")) == by_seed()
    path = table("\n".join(["model,run1,run2,run3,run4", *lines]))
    assert {run.seed for run in read(path).runs} == {None}


def test_json_lines_are_a_table_of_all_methods(table, refused_by_verb, capsys):
    rows = [
        {"config": {"model": arm}, "seed": int(seed), "accuracy": value, "steps": [1, 2]}
        for arm, values in by_seed().items()
        for seed, value in values.items()
    ]
    # A run that has not ended yet has a line without a metric, or without a number.
    rows += [{"config": {"model": "base"}, "seed": 5}, {"config": {"model": "wide"}, "seed": 5, "accuracy": None}]
    for name, lines in (("t.jsonl", rows), ("t.csv", [])):
        table("".join(json.dumps(row) + "\n" for row in lines) or long(), name)
    found = read("t.jsonl", by="config.model")
    assert numbers(found) == by_seed()
    assert found.notes[-1] == "Left out: 2 blank in accuracy."
    cli.main(["compare", "t.csv", "--metric", "accuracy", "--json"])
    wanted = json.loads(capsys.readouterr().out)["comparisons"]
    cli.main(["compare", "t.jsonl", "--metric", "accuracy", "--by", "config.model", "--json"])
    assert json.loads(capsys.readouterr().out)["comparisons"] == wanted
    table('{"model": "a", "accuracy": 0.9}\n{"model": "b", "acc', "t.jsonl")
    line = refused_by_verb("compare", "t.jsonl", "--metric", "accuracy")
    assert "t.jsonl: line 2: damaged or truncated (" in line


def test_models_may_be_columns(table):
    rows = [f"{seed},{a},{b}" for seed, (a, b) in enumerate(zip(*SCORES.values(), strict=True), 1)]
    path = table("\n".join(["seed,base,wide", *rows]))
    assert numbers(read(path)) == numbers(read(path, seed="seed")) == by_seed()
    assert numbers(read(table("\n".join(["Start,base,wide", *rows])), seed="Start")) == by_seed()
    unseeded = read(table("\n".join(["base,wide", *(row.partition(",")[2] for row in rows)])))
    assert {arm: list(of.values()) for arm, of in numbers(unseeded).items()} == SCORES
    frame = pd.DataFrame(SCORES)
    assert all(run.seed is None for run in read(table(frame.to_csv())).runs)


def test_columns_of_lines_are_no_models_and_numbers_may_be_models(table):
    for name in ("run", "fold", "Unnamed: 0"):
        wide = read(table(f"{name},base,new\n0,0.9,0.8\n1,0.8,0.7\n"))
        assert numbers(wide) == {"base": {0: 0.9, 1: 0.8}, "new": {0: 0.8, 1: 0.7}}
    widths = {"32": {"0": 0.9, "1": 0.8}, "64": {"0": 0.7, "1": 0.6}}
    path = table("width,seed0,seed1\n32,0.9,0.8\n64,0.7,0.6\n")
    assert numbers(read(path)) == numbers(read(path, by="width")) == widths


def test_a_curve_with_a_column_a_seed_has_no_models(table, refused):
    path = table("step,seed0,seed1\n1,0.9,0.8\n2,0.7,0.6\n")
    assert "found no column accuracy" in refused(lambda: read(path))


def test_a_metric_that_is_misspelt_is_no_name_for_the_cells_of_columns(table, refused):
    path = table("seed,accuracy,f1\n1,0.9,0.8\n2,0.91,0.82\n")
    for wrong in ("acuracy", "F2", "auc"):
        assert f"--metric: found no column {wrong}" in refused(lambda wrong=wrong: read(path, metric=wrong))


def test_seeds_that_pandas_wrote_as_fractions_are_the_same_seeds(table):
    files = [table("seed,accuracy\n1,0.9\n2,0.8\n", "a.csv"), table("seed,accuracy\n1.0,0.9\n2.0,0.7\n,\n", "b.csv")]
    assert [run.seed for run in read(*files).runs] == ["1", "2", "1", "2"]


def test_percent_signs_are_points(table):
    runs = read(table(long({"a": ["91.5%", "92%"], "b": ["93 %", "94%"]})))
    assert numbers(runs)["b"] == {"1": 93.0, "2": 94.0}
    assert [metric.unit for metric in runs.metrics] == ["points"]
    assert [metric.unit for metric in read(table(long())).metrics] == [""]


def test_blank_cells_are_skipped_and_counted_and_what_is_not_finite_is_said(table):
    runs = read(table(long({"a": [0.9, "", "nan", 0.8], "b": [0.7, 0.6, "inf", "None"]})))
    assert numbers(runs) == {"a": {"1": 0.9, "4": 0.8}, "b": {"1": 0.7, "2": 0.6}}
    assert "Left out: 2 blank in accuracy." in runs.notes
    assert "Left out: 1 run of a whose accuracy is not a finite number." in runs.notes
    assert "Left out: 1 run of b whose accuracy is not a finite number." in runs.notes


def test_numbers_of_runs_are_no_seeds_unless_they_are_named_so(table):
    path = table(long(heading="model,run,accuracy"))
    assert {run.seed for run in read(path).runs} == {None}
    assert numbers(read(path, seed="run")) == by_seed()
    path = table(long())
    assert {run.seed for run in read(path, seed="none").runs} == {None}


def test_folds_and_a_grid_within_each_arm_are_named(here):
    rows = [(model, lr, repeat, 0.9 + 0.01 * repeat) for model in "ab" for lr in (0.1, 0.2) for repeat in range(3)]
    for name, said in (("lr", "not used, but varying within an arm: lr"), ("fold", "folds share training data")):
        pd.DataFrame(rows, columns=["model", name, "loss", "accuracy"]).to_csv(here / "t.csv", index=False)
        notes = reading.read([["t.csv"]], Asked(("accuracy",))).notes
        assert sum(said in note for note in notes) == 1
    # Numbers that differ between runs are no grid.
    noisy = pd.DataFrame(rows, columns=["model", "lr", "loss", "accuracy"]).assign(
        loss=[0.1 * run for run in range(12)]
    )
    noisy.drop(columns="lr").to_csv(here / "t.csv", index=False)
    assert not any("not used" in note for note in reading.read([["t.csv"]], Asked(("accuracy",))).notes)


# Which way is better


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        *(("accuracy", False), ("Top1 Acc", False), ("val/accuracy", False), ("acc@1", False), ("f1", False)),
        *(("mIoU", False), ("roc_auc", False), ("balanced_accuracy", False), ("mean_reward", False), ("R2", False)),
        *(("val_loss", True), ("eval/perplexity", True), ("testError", True), ("error_rate", True), ("val.RMSE", True)),
        *(("top1_err", True), ("MSELoss", True), ("logloss", True), ("val_binary_crossentropy", True), ("bpd", True)),
        *(("root_mean_squared_error", True), ("train_time_ms", True), ("loss (final)", True), ("WER", True)),
        *(("neg_mean_squared_error", False), ("negative_log_likelihood", True), ("neg_log_loss", False)),
    ],
)
def test_a_name_on_the_list_has_a_direction_that_is_said_and_can_be_turned(name, lower, table):
    path = table(long(heading=f"model,seed,{name}"))
    (metric,) = read(path, metric=name).metrics
    assert metric.lower is lower
    assert f"{name}: {'lower' if lower else 'higher'} is better (by its name" in metric.better
    (other,) = read(path, metric=name, **{"higher" if lower else "lower": ()}).metrics
    assert other.lower is not lower


@pytest.mark.parametrize(
    "name",
    [
        *("cost", "gpu_hours", "miss_rate", "toxicity", "flops", "params", "score", "learning_rate", "", "42"),
        # Listed words in another sense, or in names that turn them round.
        *("loss_reduction", "weight_loss", "loss_of_time", "accuracy_gap", "accuracy_std", "attack_accuracy"),
        *("error_detection_rate", "errors_found", "error_free_rate", "false_negative_rate", "adversarial_loss"),
        *("policy_entropy", "entropy", "time_alive", "uptime", "overtime", "kl", "bits", "delta_accuracy", "flossy"),
    ],
)
def test_a_name_that_is_not_on_the_list_has_no_direction(name):
    (metric,) = directions.directed(Asked((name,)))
    assert metric.lower is None
    assert "is better (" not in metric.better and "--lower or --higher" in metric.better
    assert [directions.directed(Asked((name,), **{way: ()}))[0].lower for way in ("lower", "higher")] == [True, False]


@pytest.mark.parametrize("name", ["time_to_accuracy", "dice_loss", "accuracy_loss", "f1_loss_of_time"])
def test_a_name_that_says_both_directions_needs_one(name, table, refused):
    path = table(long(heading=f"model,seed,{name}"))
    assert "--lower or --higher" in refused(lambda: read(path, metric=name))
    assert read(path, metric=name, lower=()).metrics[0].lower


def test_the_list_of_names_is_printed_in_the_docs():
    printed = (ROOT / "docs/compare.md").read_text()
    for listed, way in ((listed_metrics.LOWER, "Lower"), (listed_metrics.HIGHER, "Higher")):
        (line,) = re.findall(rf"\* \*\*{way}\*\* is better: (.+?)\.\n", printed, re.DOTALL)
        assert sorted(" ".join(line.split()).replace("`", "").split(", ")) == sorted(listed)
    assert not set(listed_metrics.LOWER) & set(listed_metrics.HIGHER)


def test_the_best_step_needs_a_direction(table, refused):
    path = table(steps(HISTORY, heading="model,seed,epoch,cost"))
    assert (
        "cost" in (line := refused(lambda: read(path, metric="cost", steps="best"))) and "--lower or --higher" in line
    )
    assert numbers(read(path, metric="cost", steps="best", lower=()), "cost")["a"] == {"1": 0.5, "2": 0.4}
    assert numbers(read(path, metric="cost", steps="last"), "cost")["a"] == {"1": 0.8, "2": 0.7}


# Steps


def steps(values, heading="model,seed,epoch,accuracy"):
    lines = [f"{arm},{seed},{step},{value}" for (arm, seed), of in values.items() for step, value in enumerate(of)]
    return "\n".join([heading, *lines]) + "\n"


HISTORY = {("a", 1): [0.5, 0.9, 0.8], ("a", 2): [0.4, 0.6, 0.7], ("b", 1): [0.6, 0.5], ("b", 2): [0.5, 0.9]}


def test_the_step_that_counts_is_chosen_by_the_user(table, refused):
    path = table(steps(HISTORY))
    assert refused(lambda: read(path)) == (
        "t.csv: line 2: accuracy: found 3 steps of seed 1 of a; --last or --best says which of them counts"
    )
    last, best = read(path, steps="last"), read(path, steps="best")
    assert numbers(last) == {"a": {"1": 0.8, "2": 0.7}, "b": {"1": 0.5, "2": 0.9}}
    assert numbers(best) == {"a": {"1": 0.9, "2": 0.7}, "b": {"1": 0.6, "2": 0.9}}
    assert numbers(read(path, steps="best", lower=()))["a"] == {"1": 0.5, "2": 0.4}
    ends = "seed 1 of b ends at 1; seed 2 of b ends at 1"
    assert f"accuracy: the last step of each run counts, steps 1 to 2 ({ends})." in last.notes
    assert any("the best of noisy steps is better than" in note for note in best.notes)


def test_the_order_of_lines_is_not_that_of_steps(table):
    head, *lines = steps(HISTORY).splitlines()
    runs = read(table("\n".join([head, *reversed(lines)])), steps="last")
    assert numbers(runs) == {"b": {"2": 0.9, "1": 0.5}, "a": {"2": 0.7, "1": 0.8}}


def test_one_seed_twice_is_refused_unless_steps_tell_its_lines_apart(table, refused):
    for text, which in ((long() + "base,2,0.9\n", None), (steps(HISTORY) + "a,1,0,0.6\n", "last")):
        table(text)
        assert "stands in t.csv: line " in refused(lambda which=which: read("t.csv", steps=which))
    line = refused(lambda: read(table("run_id,model,seed,accuracy\nx,a,1,0.9\ny,a,1,0.8\nz,b,1,0.7\n")))
    assert line.startswith("t.csv: line 3: a: seed 1 stands in t.csv: line 2, too; each seed once in an arm; ")


def grid(columns, names="model,{},seed,accuracy,top5"):
    """A table of models, values of other columns, and seeds."""
    rows = [
        [arm, *of, seed, 0.9 + 0.013 * number, 0.95 + 0.0017 * number]
        for number, (arm, of, seed) in enumerate(
            itertools.product("AB", itertools.product(*columns.values()), (1, 2, 3))
        )
    ]
    return "\n".join([names.format(",".join(columns)), *(",".join(map(str, row)) for row in rows)])


def test_the_column_that_tells_runs_of_a_seed_apart_is_named(table, refused):
    path = table(grid({"lr": (0.1, 0.01)}))
    line = refused(lambda: read(path))
    assert "line 5: accuracy: seed 1 of A stands in t.csv: line 2, too" in line
    assert "lr (0.1 and 0.01)" in line and "--by lr" in line and "--seed none" not in line and "top5" not in line
    assert "seed 1 of 0.1 stands" in (line := refused(lambda: read(path, by="lr"))) and "--by model" in line
    assert read(table(grid({"lr": (0.1,)}))).arms == ["A", "B"]
    line = refused(lambda: read(table(grid({"lr": (0.1, 0.01), "optimiser": ("adam", "sgd")})), by="model"))
    assert "optimiser (adam and sgd)" in line and "--by optimiser" in line and "lr" not in line
    # Runs with names of their own, whose seeds are the same.
    head, *lines = grid({"lr": (0.1, 0.01)}).splitlines()
    path = table("\n".join([f"run_id,{head}", *(f"r{number},{line}" for number, line in enumerate(lines))]))
    line = refused(lambda: read(path))
    assert "seed 1 stands in t.csv: line 2, too" in line and "--by lr" in line


def test_where_no_column_tells_runs_of_a_seed_apart_none_is_named(table, refused):
    line = refused(lambda: read(table(long() + "base,2,0.9\n")))
    assert "--by" not in line and "each seed once in an arm" in line and "--seed none" in line


@pytest.mark.parametrize("heading", ["epochs", "round", "episode", "timesteps", "iterations", ""])
def test_the_steps_of_files_of_runs_are_no_runs(heading, table):
    files = [
        [table(f"{heading},accuracy\n0,0.1\n1,0.{8 + arm}{run}\n", f"{arm}/r{run}.csv") for run in range(3)]
        for arm in range(2)
    ]
    assert numbers(read(*files, steps="last")) == {
        "0": {0: 0.8, 1: 0.81, 2: 0.82},
        "1": {0: 0.9, 1: 0.91, 2: 0.92},
    }


def test_lines_that_may_be_steps_or_runs_are_refused(table, refused):
    several = [[table("accuracy\n0.1\n0.9\n", f"{arm}{run}.csv") for run in range(2)] for arm in "ab"]
    assert "a0.csv: found 2 lines without seeds or steps" in refused(lambda: read(*several))
    path = table("model,run_id,split,accuracy\nA,1,x,0.9\nA,1,x,0.8\nB,2,x,0.9\nB,3,x,0.7\n")
    assert "line 3: found 1 of A in t.csv: line 2, too, and no steps" in refused(lambda: read(path))
    path = table("model,turn,accuracy\nA,1,0.9\nA,2,0.8\nB,1,0.9\nB,2,0.7\n")
    assert "--last: found no steps; a column of steps" in refused(lambda: read(path, steps="last"))
    blank = steps(HISTORY) + "a,1,,0.95\n"
    assert "line 12: accuracy: found no step of seed 1 of a" in refused(lambda: read(table(blank), steps="last"))


def test_a_table_with_states_may_have_steps(table, refused):
    lines = [f"{arm}-{run},finished,{epoch},0.{epoch}{run}" for arm in "AB" for run in (1, 2) for epoch in (1, 2, 3)]
    path = table("\n".join(["run,state,epoch,accuracy", *lines]))
    assert "found 3 steps of A-1 of A" in refused(lambda: read(path))
    assert numbers(read(path, steps="last")) == {arm: {0: 0.31, 1: 0.32} for arm in "AB"}


# What is no run


SUMS = "seed,accuracy\n0,0.9\n1,0.8\nmean,0.85\nStd. dev,0.07\n"


def test_a_line_that_sums_up_others_is_no_run(table):
    runs = read(table(SUMS, "a.csv"), table(SUMS.replace("seed", ""), "b.csv"))
    assert numbers(runs) == {"a": {"0": 0.9, "1": 0.8}, "b": {0: 0.9, 1: 0.8}}
    assert "Left out: 2 with mean in place of a run." in runs.notes
    wide = read(table("seed,base,new\n0,0.9,0.8\n1,0.8,0.7\nmean,0.85,0.75\nstd,0.07,0.07\n"))
    assert numbers(wide) == {"base": {"0": 0.9, "1": 0.8}, "new": {"0": 0.8, "1": 0.7}}


@pytest.mark.parametrize(("done", "lost"), [("done", "failed"), ("COMPLETE", "PRUNED"), ("TERMINATED", "ERROR")])
def test_the_states_of_other_tools_are_known(done, lost, table):
    head = f"model,seed,status,accuracy\na,1,{done},0.9\na,2,{lost},0.1\na,3,{done},0.8\nb,1,{done},0.7\n"
    assert numbers(read(table(head))) == {"a": {"1": 0.9, "3": 0.8}, "b": {"1": 0.7}}


def test_a_state_that_is_not_known_beside_a_failure_is_refused(table, refused):
    path = table("model,seed,status,accuracy\na,1,fine,0.9\na,2,failed,0.1\nb,1,fine,0.7\n")
    assert "status: found fine, beside failed runs" in refused(lambda: read(path))
    path = table("name,status,accuracy\nx,old,0.9\ny,old,0.8\nz,new,0.7\nu,new,0.8\n")
    assert "--by: missing" in refused(lambda: read(path))


def test_results_on_several_data_sets_are_not_pooled(table, refused):
    lines = ["model,dataset,note,accuracy", "a,hard,x,0.5", "a,easy,y,0.9", "b,hard,x,0.6", "b,easy,x,0.8"]
    line = refused(lambda: read(table("\n".join(lines))))
    assert line.startswith("t.csv: dataset: found easy, hard in one arm; a file for each dataset")
    one = [line.replace("easy", "hard") for line in lines]
    assert "t.csv: not used, but varying within an arm: note; arms by model." in read(table("\n".join(one))).notes


def test_seeds_that_floats_would_round_are_refused(table, refused):
    path = table(f"model,seed,accuracy\na,{2**60},0.9\na,{2**60 + 1},0.8\nb,{2**60 + 2},0.7\nb,3,0.9\n")
    line = refused(lambda: read(path))
    assert line == f"t.csv: line 2: seed: found {2**60}, rounded; a seed below {2**53}, or text"
    seeds = [2**60, 2**60 + 1]
    texts = table("".join(["model,seed,accuracy\n", *(f"a,{seed},0.9\nb,x{seed},0.8\n" for seed in seeds)]))
    assert list(numbers(read(texts))["a"]) == list(map(str, seeds))


def test_a_share_and_percent_are_not_compared(table, refused):
    path = table("model,seed,accuracy\na,1,91.2\na,2,91.4\nb,1,0.92\nb,2,0.925\n")
    assert "accuracy: found 91.2 to 91.4 in a, and 0.92 to 0.925 in b; one scale in all" in refused(lambda: read(path))
    path = table("model,seed,reward\na,1,91.2\na,2,91.4\nb,1,0.92\nb,2,0.925\n")
    assert read(path, metric="reward").arms == ["a", "b"]


# Loggers


def test_mlflows_search_of_runs_leaves_out_what_did_not_finish(logged):
    runs = read(str(logged / "mlflow.csv"))
    table = pd.read_csv(logged / "mlflow.csv")
    table = table[(table["status"] == "FINISHED") & table["metrics.accuracy"].notna()]
    expected = {
        arm: {str(seed): value for seed, value in zip(of["params.seed"], of["metrics.accuracy"], strict=True)}
        for arm, of in table.groupby("params.model", sort=False)
    }
    assert numbers(runs) == expected
    assert {arm: len(of) for arm, of in expected.items()} == {"wide": 5, "base": 4}
    assert "Left out: 1 with status running." in runs.notes
    assert "Left out: 1 with status failed." in runs.notes
    assert "Left out: 2 blank in accuracy." in runs.notes
    assert runs.notes[0].endswith("mlflow.csv: arms by params.model; seeds by params.seed.")


def mlflow_page(rows):
    """The runs that MLflow's page saves: its own columns, then parameters, metrics and tags by their bare names."""
    heads = ["Start Time", "Duration", "Run ID", "Name", "Source Type", "Source Name", "User", "Status"]
    begins = ["2026-01-02 03:04:05", "1.0min"]
    return quoted(
        [[*heads, "model", "seed", "accuracy", "delta"]]
        + [[*begins, f"id{n}", f"run-{n}", "LOCAL", "train.py", "me", *row] for n, row in enumerate(rows)]
    )


def test_mlflows_page_writes_parameters_by_their_names_and_a_quote_before_a_minus(table):
    rows = [("FINISHED", "a", 1, 0.9, "'-0.1"), ("FINISHED", "b", 1, 0.8, 0.2), ("KILLED", "b", 2, 0.1, 0.1)]
    path = table(mlflow_page(rows))
    assert numbers(read(path)) == {"a": {"1": 0.9}, "b": {"1": 0.8}}
    assert numbers(read(path, metric="delta"), "delta")["a"] == {"1": -0.1}


def test_mlflows_page_writes_a_history_with_a_line_a_value(table, refused):
    rows = [["Run", "Run ID", "metric", "step", "timestamp", "value"]]
    for metric, shift in (("accuracy", 0), ("f1", 0.1)):
        for (arm, seed), values in HISTORY.items():
            name = f"{arm}-seed{seed}"
            rows += [[name, f"0a{seed}b{arm}1", metric, step, 17, value - shift] for step, value in enumerate(values)]
    path = table(quoted(rows))
    runs = read(path, metric=("accuracy", "f1"), steps="last")
    assert numbers(runs) == {"a": {"1": 0.8, "2": 0.7}, "b": {"1": 0.5, "2": 0.9}}
    assert numbers(runs, "f1")["a"] == pytest.approx({"1": 0.7, "2": 0.6})
    assert not any("blank" in note for note in runs.notes)
    assert "found no value of auc; it has accuracy, f1" in refused(lambda: read(path, metric="auc"))


def wandb_runs(state="finished"):
    heads = ["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "lr", "model_type", "seed"]
    aside = ["finished", "-", "", "", "2025-11-13T09:48:11.000Z", 99, "", 0.1]
    rows = [
        [f"{arm}_{1763027298 + seed}", *aside, arm, seed, 9, value]
        for arm, values in SCORES.items()
        for seed, value in enumerate(values, 1)
    ]
    rows.append([*rows[0][:1], state, *rows[0][2:-2], "", ""])
    return quoted([[*heads, "epoch", "val/accuracy"], *rows])


def test_wandbs_table_of_runs(table):
    runs = read(table(wandb_runs("crashed")), metric="val/accuracy")
    assert numbers(runs, "val/accuracy") == by_seed()
    assert runs.notes == [
        "t.csv: arms by model_type; seeds by seed.",
        "Left out: 1 with State crashed.",
        "Left out: 1 blank in val/accuracy.",
    ]


def wandb_chart(names, metric="val/accuracy", spread=0.0):
    curves = {name: HISTORY[arm, int(seed)] for name, (arm, seed) in names.items()}
    heads = [f"{name} - {metric}{end}" for name in curves for end in ("", "__MIN", "__MAX")]
    rows = []
    for step in range(3):
        cells = []
        for values in curves.values():
            value = values[step] if step < len(values) else ""
            cells += [value, value and value - spread, value and value + spread]
        rows.append([10 * step, *cells])
    return quoted([["Step", *heads], *rows])


NAMES = {f"{arm} net-seed{seed}": (arm, seed) for arm, seed in HISTORY}


def test_wandbs_chart_has_a_curve_a_run(table, refused):
    path = table(wandb_chart(NAMES))
    runs = read(path, metric="val/accuracy", steps="last")
    assert numbers(runs, "val/accuracy") == {"a net": {"1": 0.8, "2": 0.7}, "b net": {"1": 0.5, "2": 0.9}}
    assert runs.notes[0] == (
        "t.csv: a curve a run (W&B's chart), 4 runs; arms by the names of runs, before their numbers; seeds by the "
        "names of runs."
    )
    assert "Left out: 2 blank in val/accuracy." in runs.notes
    assert "--last or --best" in refused(lambda: read(path, metric="val/accuracy"))
    assert "it has val/accuracy" in refused(lambda: read(path, metric="accuracy"))


def test_wandbs_own_names_have_no_seeds_and_each_file_may_be_an_arm(table):
    text = {arm: wandb_chart({f"glad-dew-{n}": (arm, n) for n in (1, 2)}) for arm in "ab"}
    runs = read(*(table(of, f"{arm}.csv") for arm, of in text.items()), metric="val/accuracy", steps="last")
    found = {arm: sorted(of.values()) for arm, of in numbers(runs, "val/accuracy").items()}
    assert found == {"a": [0.7, 0.8], "b": [0.5, 0.9]}
    assert all(run.seed is None for run in runs.runs)


def test_curves_of_groups_are_means_of_runs_and_refused_and_binned_steps_are_said(table, refused):
    groups = {f"Group: {name}": key for name, key in NAMES.items()}
    line = refused(lambda: read(table(wandb_chart(groups)), metric="val/accuracy", steps="last"))
    assert "which are means of runs; a chart exported without grouping" in line
    runs = read(table(wandb_chart(NAMES, spread=0.01)), metric="val/accuracy", steps="last")
    assert "10 values are means of several steps, since their __MIN and __MAX differ" in runs.notes[0]


def of_arms(logged, pattern):
    return [[str(path) for path in sorted(logged.glob(pattern.format(arm)))] for arm in ("base", "wide")]


def test_lightnings_files_have_blank_cells_and_a_number_of_a_run_needs_no_choice(logged):
    runs = read(*of_arms(logged, "lightning/{}/*/metrics.csv"), metric="test_acc")
    found = numbers(runs, "test_acc")
    assert {arm: len(of) for arm, of in found.items()} == {"base": 4, "wide": 4}
    for arm, of in found.items():
        column = pd.read_csv(logged / f"lightning/{arm}/seed3/metrics.csv")["test_acc"]
        assert of["3"] == column.dropna().item()
    assert "8 files: seeds by the names of files." in runs.notes
    assert "Left out: 32 blank in test_acc." in runs.notes


def test_lightnings_last_and_best_step(logged, refused):
    given = of_arms(logged, "lightning/{}/*/metrics.csv")
    last, best = (read(*given, metric="val_acc", steps=which) for which in ("last", "best"))
    for arm in ("base", "wide"):
        for seed in range(1, 5):
            column = pd.read_csv(logged / f"lightning/{arm}/seed{seed}/metrics.csv")["val_acc"].dropna()
            assert numbers(last, "val_acc")[arm][str(seed)] == column.iloc[-1]
            assert numbers(best, "val_acc")[arm][str(seed)] == column.max()
    assert "found 2 steps of seed 1 of base" in refused(lambda: read(*given, metric="val_acc"))


def test_tensorboards_files_have_one_metric_each(logged, refused):
    given = of_arms(logged, "tensorboard/run-{}-*.csv")
    runs = read(*given, metric="val/accuracy", steps="last")
    path = logged / "tensorboard/run-wide-seed2-tag-val_accuracy.csv"
    assert numbers(runs, "val/accuracy")["run-wide"]["2"] == np.loadtxt(path, delimiter=",", skiprows=1)[-1, 2]
    assert runs.notes[0] == "8 files: Value is val/accuracy (TensorBoard); seeds by the names of files."
    for other in ("loss", "val_loss", "test/accuracy"):
        line = refused(lambda other=other: read(*given, metric=other))
        assert line.endswith(f"found the scalars of val_accuracy, asked for {other}; this one")


# What is refused, in one line


TWO_ARMS = "model,method,accuracy\na,x,0.9\na,y,0.8\nb,x,0.7\nb,y,0.6\n"
TWO_SEEDS = "model,seed,random_seed,accuracy\na,1,2,0.9\nb,2,3,0.8\n"


@pytest.mark.parametrize(
    ("text", "asked", "says"),
    [
        ("model,seed,accuracy\n", {}, "t.csv: found only names; metrics below them"),
        ("", {}, "t.csv: found nothing; metrics in CSV"),
        (long(), {"metric": "auc"}, "--metric: found no column auc; it has model, seed, accuracy"),
        (long(), {"by": "net"}, "--by: found no column net; it has model, seed, accuracy"),
        (long(), {"seed": "sede"}, "--seed: found no column sede; did you mean seed?"),
        (long().replace("0.925", "good"), {}, "t.csv: line 3: accuracy: found 'good'; a number, or a blank cell"),
        (long().replace("0.925", "92.5%"), {}, "accuracy: found some numbers with % and some without; one of the two"),
        (long().replace("base,2,", "base,,"), {}, "line 3: seed: found no seed; one in each line, or --seed none"),
        ("model,seed,accuracy,\na,1,0.9,\n", {}, "column 4: no name"),
        ("seed,accuracy\n1,0.9\n2,0.8\n", {}, "--by: missing, and no column is named like an arm; a file for each arm"),
        ("model;accuracy\na;0,9\nb;0,8\n", {}, "line 2: accuracy: found '0,9'; a number with a decimal point, or"),
        ("0\n0.9\n0.8\n", {}, "t.csv: line 1: found 0, which may be a run, or the name that pandas gives a column"),
        (TWO_ARMS, {}, "--by: missing; the column that names a run's arm: model, method"),
        (TWO_SEEDS, {}, "--seed: missing; the column of seeds: seed, random_seed"),
        ("params.acc,metrics.acc,model\n1,0.9,a\n2,0.8,b\n", {"metric": "acc"}, "found acc in params.acc, metrics.acc"),
        (long(heading="model,accuracy,accuracy"), {}, "accuracy: found 2 columns of this name; one"),
        ("model,accuracy\na,True\nb,False\n", {}, "accuracy: found True and False; a number for each run"),
    ],
)
def test_what_makes_no_sense_is_one_line(text, asked, says, table, refused):
    path = table(text)
    assert says in refused(lambda: read(path, **asked))


def test_a_column_may_be_arms_though_it_is_named_seed(table):
    found = read(table("seed,accuracy\n1,0.9\n1,0.8\n2,0.7\n2,0.75\n"), by="seed")
    assert numbers(found) == {"1": {0: 0.9, 1: 0.8}, "2": {0: 0.7, 1: 0.75}}


def test_a_first_line_of_0_is_a_run_beside_whole_numbers(table):
    found = read(table("0\n1\n0.8\n", "a.csv"), table("0.5\n0\n", "b.csv"))
    assert numbers(found) == {"a": {0: 0.0, 1: 1.0, 2: 0.8}, "b": {0: 0.5, 1: 0.0}}


def test_files_in_percent_and_others_are_not_compared(table, refused):
    files = [table("accuracy\n91%\n92%\n", "a.csv"), table("accuracy\n0.9\n0.8\n", "b.csv")]
    line = refused(lambda: read(*files))
    assert "a.csv: accuracy: found numbers with %, and without in " in line
    assert line.endswith("b.csv; one of the two in all files")
    blank = table("accuracy,loss\n,1\n,2\n", "c.csv")
    assert read(files[0], blank).metrics[0].unit == "points"


def test_assumed_pairs_need_equal_numbers_and_unknown_seeds(table, refused):
    files = [table("accuracy\n0.9\n0.8\n", "a.csv"), table("accuracy\n0.9\n", "b.csv")]
    assert "--paired: found 2 of a, 1 of b; equal numbers of runs" in refused(lambda: read(*files, paired=True))
    path = table(long())
    assert "the seeds of the runs are known" in refused(lambda: read(path, paired=True))


def test_a_file_of_one_arm_has_no_two(table, refused):
    for text, name in ((long(), "one.csv"), ("model,s1,s2\na,0.9,0.8\nb,0.7,0.6\n", "wide.csv")):
        files = [table(text, name), table("accuracy\n0.9\n", "other.csv")]
        line = refused(lambda files=files: read(*files, seed="none"))
        assert "in model, in the file of one arm; a file for each arm, or --by model" in line


# Damaged tables


@pytest.fixture(scope="module")
def mutations():
    return loaded(ROOT / "tests/fuzz/fuzz_mutations.py")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("long.csv", ["accuracy", "--figure", "f.svg"]),
        ("wide.csv", ["accuracy", "--all-pairs", "--json"]),
        ("chart.csv", ["val/accuracy", "--last"]),
        ("page.csv", ["accuracy", "delta"]),
        ("mlflow.csv", ["accuracy", "train_loss"]),
    ],
)
def test_a_damaged_table_is_read_or_refused_in_one_line(name, asked, mutations, table, tmp_path, capsys):
    """As tests/fuzz/fuzz.py does with every verb, for hours; these are the first of each layout."""
    rows = [("FINISHED", arm, seed, 0.1 * seed, "'-0.1") for arm in "ab" for seed in (1, 2)]
    texts = {"long.csv": long(), "wide.csv": "model,seed1,seed2\na,0.9,0.8\nb,0.7,0.6\n"}
    texts |= {"chart.csv": wandb_chart(NAMES), "page.csv": mlflow_page(rows), "mlflow.csv": MLFLOW}
    (tmp_path / "empty").mkdir()
    read_anyway = 0
    for seed in range(60):
        table(texts[name], name)
        changed = mutations.of_file(Path(name), random.Random(seed))
        try:
            cli.main(["compare", name, "--metric", *asked])
            read_anyway += 1
        except SystemExit as ended:
            said = capsys.readouterr().err
            assert (ended.code, len(said.splitlines()), said.startswith("toolnoise: ")) == (2, 1, True), changed
        finally:
            shutil.rmtree(name) if Path(name).is_dir() and not Path(name).is_symlink() else Path(name).unlink(True)
    assert read_anyway < 60


def test_files_that_are_numbered_are_paired_by_their_numbers_if_asked(table, refused):
    given = [[table(f"accuracy\n0.{n}\n", f"{arm}/run{n}.csv") for n in (10, 2, 3)] for arm in "ab"]
    assert [run.seed for run in read(*given, paired=True).runs] == ["run 10", "run 2", "run 3"] * 2
    runs = read(*given)
    assert all(run.seed is None for run in runs.runs)
    assert any(note.startswith("Runs are not paired: no column says their seeds") for note in runs.notes)
    line = refused(lambda: read(given[0], given[1][:2], paired=True))
    assert line.endswith("--paired: found a: run 10, run 2, run 3; b: run 10, run 2; the same runs in each arm")


def test_names_of_runs_say_arms_if_no_column_does(table, refused):
    rows = [(f"{arm}-seed{seed}", "finished", 0.1 * seed, data) for arm in "ab" for seed, data in ((1, "x"), (2, "y"))]
    path = table(quoted([["Name", "State", "accuracy"], *(row[:3] for row in rows)]))
    assert {arm: list(of) for arm, of in numbers(read(path)).items()} == {"a": ["1", "2"], "b": ["1", "2"]}
    path = table(quoted([["Name", "State", "accuracy", "data set"], *rows]))
    assert "--by: missing; the column that names a run's arm: data set, Name" in refused(lambda: read(path))


# A table without --metric


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"t.csv": long()}, "toolnoise compare t.csv --metric accuracy"),
        ({"t.csv": long(heading="model,seed,glue")}, "toolnoise compare t.csv --metric glue"),
        ({"t.csv": "model,seed1,seed2\na,0.9,0.8\nb,0.7,0.6\n"}, "toolnoise compare t.csv --metric NAME"),
        ({"a.csv": "0.9\n0.8\n", "b.csv": "0.9\n0.7\n"}, "toolnoise compare a.csv b.csv --metric NAME"),
        ({"a.csv": "score\n0.9\n0.8\n", "b.csv": "score\n0.9\n0.7\n"}, "toolnoise compare a.csv b.csv --metric score"),
        ({"t.csv": wandb_chart(NAMES)}, "toolnoise compare t.csv --metric val/accuracy"),
        ({"t.csv": wandb_runs()}, "toolnoise compare t.csv --metric val/accuracy"),
        ({"a b.csv": "step,loss\n1,0.5\n", "b.csv": "step,loss\n1,0.25\n"}, "compare 'a b.csv' b.csv --metric loss"),
        ({"t.csv": MLFLOW}, "toolnoise compare t.csv --metric metrics.accuracy"),
    ],
)
def test_a_table_without_its_metric_is_answered_with_the_command(files, says, table, refused_by_verb):
    line = refused_by_verb("compare", *(table(text, name) for name, text in files.items()))
    assert "not predictions" in line
    assert line.endswith(says)
