"""Tables of metrics as people and loggers write them: what is said of them, and what is refused.

test_every_table.py has the list of what is read. `metric_tables.tar.xz` has files of the loggers themselves: mlflow.csv
by MLflow 3.17.2 (`mlflow.search_runs().to_csv`, of runs that finished, failed, were running, or logged no accuracy or
NaN), lightning/ by PyTorch Lightning 2.6.6 (`CSVLogger`, a folder a run), tensorboard/ by TensorBoard 2.21.0 (its
server's `/data/plugin/scalars/scalars?...&format=csv`, which the page's download links to).
"""

import collections
import itertools
import math
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from scripts import loaded
from test_every_table import (
    BY_SEED,
    logger_files,
    of_steps,
    quoted,
    tidy,
    wandb_chart,
    wandb_runs,
)

from toolnoise.base.program import ROOT
from toolnoise.comparison import known_names, naming, table_files
from toolnoise.comparison.metric_layouts import Asked
from toolnoise.comparison.metric_runs import read_runs

ARCHIVE = Path(__file__).with_name("metric_tables.tar.xz")
MLFLOW = logger_files("mlflow.csv")["mlflow.csv"]


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
    return read_runs([[file] if isinstance(file, str) else list(file) for file in files], Asked(metrics, **asked))


def numbers(runs):
    """Numbers of each arm by seed, or in order."""
    found = {}
    for arm in runs.arms:
        found[arm] = {run.seed or place: run.value for place, run in enumerate(runs.of(arm, "accuracy").itertuples())}
    return found


# Tables of people


def test_arms_of_files_have_the_shortest_names_by_which_they_differ():
    of_files = naming.names_of_arms
    assert of_files([["x/a.csv"], ["x/b.csv"]]) == ["a", "b"]
    assert of_files([["a/metrics.csv"], ["b/metrics.csv"]]) == ["a", "b"]
    assert of_files([["l/a/s1/m.csv", "l/a/s2/m.csv"], ["l/b/s1/m.csv", "l/b/s2/m.csv"]]) == ["a", "b"]
    of_tensorboard = [["run-a-seed1-tag-x.csv", "run-a-seed2-tag-x.csv"], ["run-b-s1.csv", "run-b-s2.csv"]]
    assert of_files(of_tensorboard) == ["run-a", "run-b"]
    assert len(set(of_files([["m.csv"], ["m.csv"]]))) == 2


@pytest.mark.parametrize("index", [False, True])
def test_parquet_is_read_as_csv_is(index, here):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rows = [(arm, int(seed), value) for arm, of in BY_SEED.items() for seed, value in of.items()]
    frame = pd.DataFrame([*rows, ("base", 9, None)], columns=["model", "seed", "accuracy"])
    (frame.set_index(["model", "seed"]) if index else frame).to_parquet(here / "t.parquet")
    assert numbers(found := read("t.parquet")) == BY_SEED
    assert "Left out: 1 blank in accuracy." in found.notes


@pytest.mark.usefixtures("here")
def test_parquet_says_what_it_needs(table, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    assert refused(lambda: read(table("PAR1", "t.parquet"))) == "t.parquet: is Parquet; pip install pyarrow; or CSV"


def test_folds_and_a_grid_within_each_arm_are_named(here):
    rows = [(model, lr, repeat, 0.9 + 0.01 * repeat) for model in "ab" for lr in (0.1, 0.2) for repeat in range(3)]
    for name, said in (("lr", "not used, but varying within an arm: lr"), ("fold", "folds share training data")):
        pd.DataFrame(rows, columns=["model", name, "loss", "accuracy"]).to_csv(here / "t.csv", index=False)
        notes = read_runs([["t.csv"]], Asked(("accuracy",))).notes
        assert sum(said in note for note in notes) == 1
    # Numbers that differ between runs are no grid.
    noisy = pd.DataFrame(rows, columns=["model", "lr", "loss", "accuracy"]).assign(
        loss=[0.1 * run for run in range(12)]
    )
    noisy.drop(columns="lr").to_csv(here / "t.csv", index=False)
    assert not any("not used" in note for note in read_runs([["t.csv"]], Asked(("accuracy",))).notes)


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
    path = table(tidy(names=("model", "seed", name)))
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
        *("time_to_accuracy", "dice_loss", "accuracy_loss", "f1_loss_of_time"),  # both
    ],
)
def test_a_name_that_is_not_on_the_list_has_no_direction(name):
    (metric,) = naming.with_directions((name,))
    assert metric.lower is None
    assert "is better (" not in metric.better and "lower or higher" in metric.better
    assert [naming.with_directions((name,), **{way: ()})[0].lower for way in ("lower", "higher")] == [True, False]


def test_the_names_that_are_known_are_printed_in_the_docs():
    """Each line of the table has the names of one constant; the longer lists of words are in the module alone."""
    printed = (ROOT / "docs/tables/names.txt").read_text()
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (`.+`) \|$", printed, re.MULTILINE))
    wanted = {
        "arm": known_names.ARMS,
        "seed": known_names.SEEDS,
        "run": known_names.RUNS,
        "step": known_names.STEPS,
        "state": known_names.STATES,
        "finished": known_names.FINISHED,
        "not finished": known_names.UNFINISHED - {""},
        "task": known_names.TASKS,
        "fold": known_names.FOLDS,
        "session": known_names.SESSIONS,
        "no run": known_names.SUMMARIES,
        "lower is better": known_names.LOWER,
        "higher is better": known_names.HIGHER,
        "beside these": known_names.NEUTRAL,
        **{f"{role} of an example": names - {""} for role, names in known_names.OF_EXAMPLES.items()},
        "score of a question": known_names.QUESTION_SCORES,
        "sample of a question": known_names.QUESTION_SAMPLES,
        "answer to a question": known_names.QUESTION_ANSWERS,
    }
    # A model_name and a model_type are arms as a model is.
    wanted["arm"] = {name for name in wanted["arm"] if not name.endswith(("_name", "_type"))}
    assert {row: sorted(names.replace("`", "").split(", ")) for row, names in rows.items()} == {
        row: sorted(names) for row, names in wanted.items()
    }
    assert not set(known_names.LOWER) & set(known_names.HIGHER)


# Steps


def test_the_step_that_counts_is_chosen_by_the_user(table, refused):
    path = table(of_steps())
    assert refused(lambda: read(path)) == (
        "t.csv: line 2: accuracy: found 3 steps of seed 1 of base; last or best says which of them counts"
    )
    last, best = read(path, steps="last"), read(path, steps="best")
    ends = "seed 1 of wide ends at 1; seed 2 of wide ends at 1"
    assert f"accuracy: the last step of each run counts, steps 1 to 2 ({ends})." in last.notes
    assert any("the best of noisy steps is better than" in note for note in best.notes)


def grid(columns):
    """A table of models, values of other columns, and seeds."""
    rows = [
        [arm, *of, seed, 0.9 + 0.013 * number, 0.95 + 0.0017 * number]
        for number, (arm, of, seed) in enumerate(
            itertools.product("AB", itertools.product(*columns.values()), (1, 2, 3))
        )
    ]
    return "\n".join([f"model,{','.join(columns)},seed,accuracy,top5", *(",".join(map(str, row)) for row in rows)])


def test_the_column_that_tells_runs_of_a_seed_apart_is_named(table, refused):
    path = table(grid({"lr": (0.1, 0.01)}))
    line = refused(lambda: read(path))
    assert "line 5: accuracy: seed 1 of A stands in t.csv: line 2, too" in line
    assert "lr (0.1 and 0.01)" in line and "by='lr'" in line and "seed='none'" not in line and "top5" not in line
    assert "seed 1 of 0.1 stands" in (line := refused(lambda: read(path, by="lr"))) and "by='model'" in line
    assert read(table(grid({"lr": (0.1,)}))).arms == ["A", "B"]
    line = refused(lambda: read(table(grid({"lr": (0.1, 0.01), "optimiser": ("adam", "sgd")})), by="model"))
    assert "optimiser (adam and sgd)" in line and "by='optimiser'" in line and "lr" not in line
    # Runs with names of their own, whose seeds are the same.
    head, *lines = grid({"lr": (0.1, 0.01)}).splitlines()
    path = table("\n".join([f"run_id,{head}", *(f"r{number},{line}" for number, line in enumerate(lines))]))
    line = refused(lambda: read(path))
    assert "seed 1 stands in t.csv: line 2, too" in line and "by='lr'" in line


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


# Loggers


def test_what_is_taken_of_a_loggers_table_and_left_out_is_said(table):
    assert read(table(wandb_runs()), metric="val/accuracy").notes == [
        "t.csv: arms by model_type; seeds by seed.",
        "Left out: 1 blank in val/accuracy.",
        "Left out: 1 with State crashed.",
    ]
    runs = read(table(wandb_chart("{} net-seed{}")), metric="val/accuracy", steps="last")
    assert runs.notes[0].startswith("t.csv: a curve a run (W&B's chart), 4 runs; arms by the names of runs, before ")


def test_binned_steps_are_said(table):
    text = wandb_chart("{}-seed{}").replace('"0.9","0.9","0.9"', '"0.9","0.8","1.0"')
    runs = read(table(text), metric="val/accuracy", steps="last")
    assert "2 values are means of several steps, since their __MIN and __MAX differ" in runs.notes[0]


# What is refused, in one line


def test_assumed_pairs_need_equal_numbers_and_unknown_seeds(table, refused):
    files = [table("accuracy\n0.9\n0.8\n", "a.csv"), table("accuracy\n0.9\n", "b.csv")]
    assert "paired: found 2 of a, 1 of b; equal numbers of runs" in refused(lambda: read(*files, paired=True))
    path = table(tidy())
    assert "the seeds of the runs are known" in refused(lambda: read(path, paired=True))


def test_files_that_are_numbered_are_paired_by_their_numbers_if_asked(table, refused):
    given = [[table(f"accuracy\n0.{n}\n", f"{arm}/run{n}.csv") for n in (10, 2, 3)] for arm in "ab"]
    assert list(read(*given, paired=True).about["seed"]) == ["run 10", "run 2", "run 3"] * 2
    runs = read(*given)
    assert runs.about["seed"].isna().all()
    assert any(note.startswith("Runs are not paired: no column says their seeds") for note in runs.notes)
    line = refused(lambda: read(given[0], given[1][:2], paired=True))
    assert line.endswith("paired: found a: run 10, run 2, run 3; b: run 10, run 2; the same runs in each arm")


def test_names_of_runs_say_arms_if_no_column_does(table, refused):
    rows = [(f"{arm}-seed{seed}", "finished", 0.1 * seed, data) for arm in "ab" for seed, data in ((1, "x"), (2, "y"))]
    path = table(quoted([["Name", "State", "accuracy"], *(row[:3] for row in rows)]))
    assert {arm: list(of) for arm, of in numbers(read(path)).items()} == {"a": ["1", "2"], "b": ["1", "2"]}
    path = table(quoted([["Name", "State", "accuracy", "data set"], *rows]))
    assert "by: missing; the column that names a run's arm: data set, Name" in refused(lambda: read(path))


# A table without --metric


@pytest.mark.parametrize(
    "files",
    [
        {"t.csv": tidy()},
        {"a.csv": tidy(names=("model", "seed", "glue")), "b.csv": tidy()},
        {"a.csv": "0.9\n0.8\n", "b.csv": "0.9\n0.7\n"},
        {"a.csv": wandb_chart("{}-seed{}"), "b.csv": wandb_chart("{}-seed{}")},
        {"a.csv": MLFLOW, "b.csv": MLFLOW},
    ],
)
def test_tables_without_their_metric_are_refused_with_the_option_that_names_it(files, table, refused_by_verb):
    assert "metric, if " in refused_by_verb("compare", *(table(text, name) for name, text in files.items()))


# Tables at random


@pytest.fixture(scope="module")
def random_tables():
    return loaded(ROOT / "tests/fuzz/fuzz_tables.py")


def verdicts(random_tables, numbers):
    """Of each layout how often a table of it was read right, refused, and read wrong."""
    found = collections.Counter()
    for number in numbers:
        one = random_tables.case(number, 1)
        verdict, why = random_tables.judged(one)
        found[one.layout, "of two meanings" if one.written.mixed else "of one", verdict] += 1
        assert verdict != "wrong", f"case {number}: {why}"
    return found


@pytest.mark.usefixtures("here")
def test_tables_at_random_are_read_right_or_refused(random_tables):
    """`tests/fuzz/fuzz_tables.py` tries more of them."""
    found = verdicts(random_tables, range(400))
    right = {layout: count for (layout, _, verdict), count in found.items() if verdict == "right"}
    assert right.keys() == {layout for layout, *_ in found}
    assert sum(right.values()) > 280
    assert sum(count for (_, meanings, _), count in found.items() if meanings == "of two meanings") > 20


# Tables in CSV and JSON lines as one frame: names, numbers and lines as the file has them


MIXED = {"arm": ["a", "b"], "seed": [1.0, 2.0], "right": [True, False], "loss": [0.1, 1e-300]}
NO_NUMBERS = ["1_0", "0x10", "1,5", ""]


def columns_of(frame):
    return {name: frame[name].tolist() for name in frame}


@pytest.mark.parametrize(
    "text",
    [
        "arm,seed,right,loss\na,1,True,0.1\nb,2,False,1e-300\n",
        "\ufeffarm;seed;right;loss\r\na;1;true;0.1\r\n\r\nb;2;FALSE;1e-300\r\n",
        "# arm\tseed\tright\tloss\n a \t1.0\tTrue\t.1\nb\t2\tFalse\t1e-300",
        '{"arm": "a", "seed": 1, "right": true, "loss": 0.1}\n'
        '{"arm": "b", "seed": 2, "right": false, "loss": 1e-300}\n',
    ],
)
def test_one_table_is_one_frame_however_it_is_written(tmp_path, text):
    (tmp_path / "t").write_text(text, newline="")
    assert columns_of(table_files.read_table(str(tmp_path / "t"))) == MIXED


def test_numbers_are_those_of_python_and_texts_stay_as_they_are(tmp_path):
    numbers = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, math.pi * 1e-30, 2.0**60 + 2.0**10]
    for sign in ("", "x"):  # a column of texts beside it has numbers read in another way
        lines = [f"{number!r},{sign or 1}\n" for number in numbers]
        (tmp_path / "t.csv").write_text("".join(["loss,b\n", *lines]))
        assert table_files.read_table(str(tmp_path / "t.csv")).iloc[:, 0].tolist() == numbers
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f'"{text}",x\n' for text in NO_NUMBERS))
    assert table_files.read_table(str(tmp_path / "t.csv"))["a"].tolist() == NO_NUMBERS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\nx,1\ny\n", "row 3: found 1 fields"),
        ("a,b\nx,1\ny,2,3\n", "line 3, saw 3"),
        ("a,b\nx,1,\n", "row 1: found 2 fields"),
        ('a,b\nx,"1\n', "damaged or truncated"),
        ("a,b\nx,0.9\0\0\0\0", "damaged"),
        ("a,a\nx,1\n", "column a: found 2 of this name"),
        ("a,b\n", "found only names"),
        ('{"a": 1}\n[1]\n', "line 2: found list"),
    ],
)
def test_what_no_reader_would_read_alike_is_refused_in_one_line(tmp_path, refused, text, says):
    (tmp_path / "t.csv").write_text(text)
    assert says in refused(table_files.read_table, str(tmp_path / "t.csv"))
