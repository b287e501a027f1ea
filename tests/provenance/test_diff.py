"""`toolnoise diff`: how far two results are apart, and what made them differ."""

import csv
import json
import re
import shutil
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from forging import said

from toolnoise.base import arrays, files
from toolnoise.measures import two_runs
from toolnoise.provenance import diff as differences
from toolnoise.provenance.statements import Artifact, Statement
from toolnoise.verbs.trust import compared

NOON = datetime(2026, 11, 22, 12)


@pytest.fixture
def differ(make_run, tmp_path):
    """Compare a run with one that `change` edits; both of one seed, in cells of their own."""

    def call(change=None, first=None):
        folders = []
        for name, edit in (("one", first), ("other", change)):
            made = Path(make_run(1, edit)).parent
            folders.append(tmp_path / name / "1")
            shutil.rmtree(folders[-1], ignore_errors=True)
            shutil.copytree(made, folders[-1])
        found = compared(*folders)
        json.dumps(found, allow_nan=False)
        return found

    return call


def in_epoch(epoch, tensor):
    def change(parts):
        for weights in parts["epochs"][epoch - 1 :]:
            weights[tensor] = weights[tensor] + np.float32(1e-3)
        parts["final"] = dict(parts["epochs"][-1])

    return change


def recorded(**about):
    return lambda parts: parts["record"].update(about)


def test_runs_with_equal_bits_are_bit_equal(differ):
    found = differ()
    assert found["equal"]
    assert found["parting"]["weights_differ_from_epoch"] is None
    last = differences.as_text(found).splitlines()[-1]
    why = "dumps of predictions were not compared: the run lies in no study's results"
    assert last == f"bit-equal: weights and other arrays, history except times ({why})"
    assert found["made_from"]["code"] is None
    assert "code         not known for both: a statement is missing" in differences.as_text(found)


def rewrite(run, edit):
    """Edit the rows of a history, each a dictionary."""
    rows = list(csv.DictReader((run / "history.csv").read_text().splitlines()))
    rows = edit(rows) or rows
    with (run / "history.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def in_rows(column, values):
    return lambda rows: [row.update({column: value}) for row, value in zip(rows, values, strict=True)] and None


def test_times_and_hosts_are_no_difference_of_results(differ, tmp_path):
    differ(recorded(seconds={"training": 9}, observed={"host": "b", "device": "cpu"}, resumed_after=[1]))
    rewrite(tmp_path / "other/1", in_rows("seconds", "777"))
    found = compared(tmp_path / "one/1", tmp_path / "other/1/run.json")
    assert found["equal"]
    assert {"key": "host", "a": None, "b": "b"} in found["made_from"]["environment"]


@pytest.mark.parametrize(("epoch", "tensor"), [(1, "a/kernel"), (3, "a/bias")])
def test_the_first_epoch_and_tensor_that_differ_are_those_of_the_histories(epoch, tensor, differ):
    found = differ(in_epoch(epoch, tensor))
    assert not found["equal"]
    assert found["parting"]["weights_differ_from_epoch"] == epoch
    assert found["parting"]["tensors_that_differ_then"] == [tensor]
    told = re.sub(" +", " ", differences.as_text(found))
    assert f"weights differ from epoch {epoch}\ntensors that differ then 1: {tensor}\n" in told


@pytest.mark.parametrize(
    ("column", "values", "parting"),
    [
        ("draws_sha256", ("x", "y", "x"), ("draws_differ_from_epoch", 2)),
        ("val_f1", "103", ("history_differs_from_epoch", 2)),
        ("val_f1", "123", ("history_differs_from_epoch", None)),
        ("epoch_time", "456", ("history_differs_from_epoch", None)),
    ],
)
def test_columns_are_compared_except_times(column, values, parting, differ, tmp_path):
    differ()
    rewrite(tmp_path / "one/1", in_rows(column, ("x", "x", "x") if column == "draws_sha256" else "123"))
    rewrite(tmp_path / "other/1", in_rows(column, values))
    found = compared(tmp_path / "one/1", tmp_path / "other/1")
    assert found["parting"][parting[0]] == parting[1]
    assert found["parting"]["weights_differ_from_epoch"] is None
    if column != "draws_sha256":
        assert found["equal"] == (parting[1] is None)


def left(**metrics):
    return lambda parts: parts["final"].update(
        {f"metric/{name}:": np.float64(value) for name, value in metrics.items()}
    )


def test_what_programs_leave_besides_weights_is_compared(differ):
    found = differ(left(acc=0.93), left(acc=0.91))
    assert not found["equal"]
    assert "\nmetric/acc  at (): 0.91 and 0.93 (1 of 1 differ)\n" in differences.as_text(found)
    assert differ(left(acc=0.93))["other_arrays"]["differ"] == [
        {"array": "metric/acc", "first": "missing in one of them"}
    ]


def test_layers_are_sorted_by_distance_relative_to_the_first_run(differ):
    def change(parts):
        parts["final"] = {"a/kernel": parts["final"]["a/kernel"] * 2, "a/bias": np.full(3, 4, np.float32)}

    parted = differ(change, lambda parts: parts["final"].update({"a/bias": np.ones(3, np.float32)}))["parting"]
    assert [row["tensor"] for row in parted["tensors"]] == ["a/bias", "a/kernel"]
    assert [row["relative_l2"] for row in parted["tensors"]] == pytest.approx([3, 1])
    assert parted["l2_raw"] == pytest.approx(np.sqrt(6 * 9 + 3 * 9))
    (row, *_) = differ(in_epoch(3, "a/bias"))["parting"]["tensors"]
    assert (row["tensor"], row["relative_l2"]) == ("a/bias", None), "a layer that leaves zero is the farthest"


@pytest.mark.parametrize("change", [lambda bias: bias + 1, lambda bias: -bias], ids=["a number", "the sign of a zero"])
def test_final_weights_that_the_history_does_not_know_are_a_difference(change, differ):
    found = differ(lambda parts: parts["final"].update({"a/bias": change(parts["final"]["a/bias"])}))
    assert not found["equal"]
    assert found["parting"]["weights_differ_from_epoch"] is None


def test_diverged_runs_compare_by_their_bits(differ):
    def diverge(parts):
        parts["record"]["status"] = "diverged"
        for weights in parts["epochs"]:
            weights["a/bias"] = np.full(3, np.nan, np.float32)
        parts["final"] = dict(parts["epochs"][-1])

    assert differ(diverge, diverge)["equal"]
    found = differ(diverge)
    assert found["parting"]["status"] == ["completed", "diverged"]
    assert not found["equal"]


def test_what_differs_in_the_spec_and_the_machine_is_told_by_its_key(differ):
    def change(parts):
        parts["record"]["spec"]["recipe"]["batch_size"] = 16
        parts["record"]["spec"]["variant"] = {"name": "impl", "varying": ["impl"]}
        parts["record"]["observed"] = {"cpu_flags": ["fma", "avx512f"]}

    found = differ(change, recorded(observed={"cpu_flags": ["fma", "avx2"]}))
    assert {"key": "recipe.batch_size", "a": 8, "b": 16} in found["made_from"]["spec"]
    told = differences.as_text(found)
    for line in ("recipe.batch_size: 8 -> 16", "variant.varying: +impl", "cpu_flags: -avx2 +avx512f"):
        assert line in told


def test_flips_are_sorted_by_who_is_right():
    labels = np.array([0, 0, 0, 0, 1])
    one, other = np.eye(3, dtype=np.float32)[[0, 1, 1, 0, 1]], np.eye(3, dtype=np.float32)[[0, 0, 2, 1, 1]]
    found = two_runs.flips(one, other, labels)
    assert found["a_right_b_wrong"] == [3]
    assert found["a_wrong_b_right"] == [1]
    assert found["both_wrong_differently"] == [2]
    assert (found["differ"], found["churn"], found["accuracy"]) == ([1, 2, 3], 0.6, [0.6, 0.6])
    assert "accuracy" not in two_runs.flips(one, other, None)


def test_cells_are_compared_over_the_seeds_that_both_have(make_run, tmp_path):
    for seed in (1, 2, 3):
        make_run(seed)
    shutil.copytree(tmp_path / "runs", tmp_path / "others")
    make_run(3, in_epoch(2, "a/bias"))
    shutil.rmtree(tmp_path / "others/1")
    found = compared(tmp_path / "runs", tmp_path / "others")
    assert found["kind"] == "cell"
    assert found["seeds"] == {"shared": [2, 3], "only_a": [1], "only_b": []}
    assert [run["equal"] for run in found["runs"]] == [True, False]
    assert (found["summary"]["bit_equal"], found["summary"]["first_epoch_that_differs"]) == (1, 2)
    assert not found["equal"]
    told = re.sub(" +", " ", differences.as_text(found))
    assert "\n2 yes " in told
    assert "\n3 no 2 " in told
    assert "\nonly in A 1: 1\n" in told


@pytest.fixture
def results(tmp_path, make_run):
    """Write a folder of results: one run, a metric file and a page; returns it."""

    def make(name):
        study = tmp_path / name / "results" / "tiny"
        shutil.copytree(Path(make_run(1)).parent, study / "runs/smallcnn/digits/cpu/control/1")
        files.write_text(study / "metrics/stability.csv", "metric,value\nchurn,0\n")
        return study

    return make


def test_trees_are_compared_file_by_file_and_cell_by_cell(results):
    one, other = results("a"), results("b")
    assert compared(one, other)["equal"]
    assert compared(one.parent, other.parent)["equal"]
    files.write_text(other / "metrics/stability.csv", "metric,value\nchurn,1\n")
    files.write_text(one / "figures/table2.md", "x\n")
    weights = other / "runs/smallcnn/digits/cpu/control/1/weights.npz"
    tensors = arrays.read_npz(weights)
    tensors["a/bias"][1] = 1
    arrays.write_npz(weights, tensors)
    found = compared(one, other)
    (study,) = found["studies"]
    assert [row["path"] for row in study["differ"]] == [
        "metrics/stability.csv",
        "runs/smallcnn/digits/cpu/control/1/weights.npz",
    ]
    assert study["only_a"] == ["figures/table2.md"]
    assert [(cell["cell"], cell["equal"]) for cell in study["cells"]] == [("smallcnn/digits/cpu/control", False)]
    told = differences.as_text(found)
    assert "in a/bias, at (1,): 0.0 and 1.0" in told
    assert told.endswith("they differ")


def test_times_in_trees_with_statements_are_no_difference(results):
    studies, made = [results(name) for name in "ab"], "results/tiny/speed/cpu.json"
    for name, study in zip("ab", studies, strict=True):
        files.write_text(study / "speed/cpu.json", name)
        stated = Statement("time", (Artifact(made, "0" * 64, 1, timed=True),), (), {}, {}, NOON, NOON, {}).as_json()
        files.write_json(study / "statements/speed/cpu.json.intoto.json", stated)
    assert compared(*studies)["equal"]


def test_a_damaged_run_in_a_tree_is_a_difference_and_no_end(results):
    one, other = results("a"), results("b")
    record = other / "runs/smallcnn/digits/cpu/control/1/run.json"
    record.write_text("{")
    found = compared(one, other)
    assert not found["equal"]
    assert re.search(r"cannot be compared +1: smallcnn/digits/cpu/control: .*run.json: ", differences.as_text(found))


def test_a_link_in_a_tree_is_named_and_never_followed(results):
    one, other = results("a"), results("b")
    (other / "metrics/link.csv").symlink_to(one / "metrics/stability.csv")
    found = compared(one, other)
    assert not found["equal"]
    assert found["studies"][0]["no_plain_files"] == ["metrics/link.csv"]


def test_what_cannot_be_compared_is_one_line(results, make_run, tmp_path, refused):
    run, study = Path(make_run(1)).parent, results("a")
    assert "a results, and" in refused(compared, run, study)
    assert "no such folder" in refused(compared, run, tmp_path / "nothing")
    (tmp_path / "empty/x").mkdir(parents=True)
    assert "contains no results" in refused(compared, study, tmp_path / "empty")
    history = run / "history.csv"
    history.write_text(history.read_text()[:-5])
    assert "history.csv" in refused(compared, run, run)
    files.write_json(run / "run.json", files.read_json(run / "run.json") | {"spec": 3})
    assert "spec: found 3; a mapping" in refused(compared, run, run)


@pytest.mark.parametrize(("change", "code"), [(None, 0), (in_epoch(2, "a/bias"), 1)])
def test_the_exit_code_says_whether_they_differ(change, code, differ, tmp_path):
    differ(change)
    done = said("diff", tmp_path / "one/1", tmp_path / "other/1", "--json")
    assert (done.code, json.loads(done.out)["equal"]) == (code, code == 0)


# What differs between two results of one kind


@pytest.fixture
def where_apart(tmp_path):
    """Compare two files of one name, given as text, bytes or a function that writes one."""

    def call(name, one, other):
        paths = [tmp_path / side / name for side in "ab"]
        for path, content in zip(paths, (one, other), strict=True):
            path.parent.mkdir(exist_ok=True)
            if callable(content):
                content(path)
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return differences.compare_files(*paths)

    return call


def record(**parts):
    return json.dumps({"spec": {"seed": 1}, "seconds": 2.0, "observed": {"host": "a"}, "resumed_after": []} | parts)


def npz(**tensors):
    return lambda path: arrays.write_npz(path, tensors)


def npy(array):
    return lambda path: arrays.write_npy(path, array)


def test_records_and_histories_are_the_same_but_for_times_and_machine(where_apart):
    other = record(seconds=3.0, observed={"host": "b"}, resumed_after=[1])
    assert where_apart("run.json", record(), other) == differences.TIMES
    one, other = (f"epoch,seconds,weights_sha256\n1,{seconds},ab\n" for seconds in (1, 2))
    assert where_apart("history.csv", one, other) == differences.TIMES
    assert where_apart("metrics.csv", one, other) == "in line 2"


ONES = np.ones((2, 3), np.float32)
LATER = ONES.copy()
LATER[1, 0] = 2
DIFFERENCES = {
    "a key": ("run.json", record(), record(spec={"seed": 2}), "in spec.seed: 1 and 2"),
    "a type": ("run.json", record(epochs=1), record(epochs=True), "in epochs: 1 and true"),
    "the sign of a zero in a record": ("run.json", record(loss=0.0), record(loss=-0.0), "in loss: 0.0 and -0.0"),
    "a type in a list": ("run.json", record(shape=[1]), record(shape=[1.0]), "in shape: [1] and [1.0]"),
    "a key without a value": ("run.json", record(bit=None), record(), "in bit: null in one of them, missing in the"),
    "a row of a history": (
        "history.csv",
        "epoch,loss\n1,2\n2,3\n",
        "epoch,loss\n1,2\n2,4\n",
        "in line 3.loss: 3 and 4",
    ),
    "a repeated column": ("history.csv", "epoch,loss,loss\n1,2,3\n", "epoch,loss,loss\n1,4,3\n", "at byte 18"),
    "a tensor": ("weights.npz", npz(a=ONES, b=ONES), npz(a=ONES, b=LATER), "in b, at (1, 0): 1.0 and 2.0 (1 of 6"),
    "the sign of a zero": ("weights.npz", npz(a=0 * ONES), npz(a=-0.0 * ONES), "in a, at (0, 0): 0.0 and -0.0"),
    "a logit": ("control.npy", npy(ONES), npy(LATER), "at (1, 0): 1.0 and 2.0"),
    "a line": ("table2.md", "a\nb\n", "a\nc\n", "in line 2"),
    "a pixel": ("figure.png", b"0123", b"0193", "at byte 2"),
    "a damaged file": ("weights.npz", npz(a=ONES), b"PK", "at byte 2"),
    "a deep file": ("run.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "[]", "at byte 0"),
}


@pytest.mark.parametrize(("name", "one", "other", "first"), DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_where_two_files_first_differ(name, one, other, first, where_apart):
    assert where_apart(name, one, other).startswith(first)
