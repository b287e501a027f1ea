from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import files
from toolnoise.checking.left import read as read_left
from toolnoise.training import runs


@pytest.fixture
def record(make_run):
    """The run.json of a whole run."""
    return Path(make_run(2))


def cut(path, kept):
    path.write_bytes(path.read_bytes()[:kept])


def test_a_whole_run_is_read(record):
    run = runs.read(record)
    assert (run.seed, run.diverged) == (2, False)
    assert list(run.weights()) == ["a/kernel", "a/bias"]
    assert run.trained_vector().tolist() == [3.0] * 6 + [0.0] * 3
    assert [row["epoch"] for row in run.history()] == ["1", "2", "3"]


def test_a_diverged_run_says_so(make_run):
    assert runs.read(make_run(1, lambda parts: parts["record"].update(status="diverged"))).diverged


def test_the_vector_of_a_run_has_its_trainable_tensors_only(make_run):
    def add_a_moving_mean(parts):
        parts["final"] = {"bn/moving_mean": np.ones(5, np.float32), **parts["final"]}

    assert runs.read(make_run(1, add_a_moving_mean)).trained_vector().size == 9


@pytest.mark.parametrize("kept", [0, 100, -10])
def test_truncated_weights_are_one_line(kept, record, refused):
    path = record.parent / "weights.npz"
    cut(path, kept)
    assert refused(runs.read(record).weights).startswith(f"{path}: damaged or truncated (")


def test_a_missing_tensor_is_one_line(make_run, refused):
    record = make_run(1, lambda parts: parts["final"].pop("a/bias"))
    line = refused(runs.read(record).trained_vector)
    assert line == f"{Path(record).parent / 'weights.npz'}: a/bias: no such tensor; every tensor of run.json"


def test_a_column_that_is_there_twice_is_one_line(record, refused):
    path = record.parent / "history.csv"
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{line},{line.split(',')[0]}\n" for line in lines))
    assert refused(runs.read(record).history) == f"{path}: line 1: found a column twice; the history that train wrote"


@pytest.mark.parametrize(
    ("before", "after"), [('"status": ', '"status": "ok", "status": '), ('"epochs": 3', '"epochs": NaN')]
)
def test_a_record_that_two_readers_could_understand_differently_is_one_line(before, after, record, refused):
    assert before in record.read_text()
    record.write_text(record.read_text().replace(before, after, 1))
    assert refused(runs.read, record).startswith(f"{record}: damaged or truncated (")


@pytest.mark.parametrize("key", ["spec", "status", "epochs", "trainable"])
def test_a_record_that_lacks_a_key_is_one_line(key, make_run, refused):
    record = make_run(1, lambda parts: parts["record"].pop(key))
    assert refused(runs.read, record) == f"{record}: {key}: no such key; the record that train wrote"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spec": None}, "spec: found null; a mapping"),
        ({"trainable": None}, "trainable: found null"),
        ({"status": "x"}, 'status: found "x"; expected one of completed, diverged'),
        ({"epochs": -1}, "epochs: found -1; expected an integer from 1 to 2147483647"),
        ({"epochs": 4}, "epochs: found 4; at most the 3 of its recipe"),
        ({"seconds": {"training": -1}}, "seconds.training: found -1; expected a number from 0 up"),
        ({"observed": {"versions": -1}}, "observed.versions: found -1; a mapping"),
    ],
)
def test_a_record_of_other_types_is_one_line(change, says, make_run, refused):
    def edit(parts):
        parts["record"]["spec"]["recipe"]["epochs"] = 3
        parts["record"].update(change)

    record = make_run(1, edit)
    assert refused(runs.read, record).startswith(f"{record}: {says}")


def test_cycles_that_do_not_divide_the_epochs_are_one_line(make_run, refused):
    record = make_run(1, lambda parts: parts["record"]["spec"]["recipe"].update(epochs=3, cycles=2))
    assert "spec.recipe.cycles: found 2; a divisor of its 3 epochs" in refused(runs.read, record)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("0.5,", "0x1,", "line 2, train_loss: found '0x1'; a number, or nan"),
        ("0.5,", "-1e300,", "line 2, train_loss: found '-1e300'; a number, or nan"),
        (",0.5", "", "found fields more or fewer"),
        ("\n2,", "\ninf,", "line 3, epoch: found 'inf'; a whole number"),
    ],
)
def test_a_history_with_a_wrong_field_is_one_line(old, new, says, make_run, refused):
    record = Path(make_run(1, lambda parts: parts["record"]["spec"]["recipe"].update(epochs=3)))
    history = record.with_name("history.csv")
    history.write_text(history.read_text().replace(old, new, 1))
    assert says in refused(runs.read(record).history)


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_a_record_that_is_none_is_one_line(text, record, refused):
    record.write_text(text)
    assert refused(runs.read, record).startswith(f"{record}: ")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b"\xff"),
        lambda path: path.write_text("x" * 200_000 + path.read_text()),
        lambda path: cut(path, 0),
        lambda path: cut(path, 20),
        lambda path: cut(path, -1),
        lambda path: cut(path, path.read_text().rstrip("\n").rindex("\n") + 1),
    ],
    ids=["missing", "no text", "long field", "empty", "part of the names", "without its last line end", "short"],
)
def test_a_damaged_history_is_one_line(damage, record, refused):
    path = record.parent / "history.csv"
    damage(path)
    assert refused(runs.read(record).history).startswith(f"{path}: ")


def test_files_are_found_beside_the_record_wherever_it_was_moved(record):
    moved = record.parent.rename(record.parents[1] / "moved") / record.name
    assert runs.read(moved).weights()
    assert files.read_json(moved) == runs.read(moved).record


def test_trained_weights_that_are_no_floats_are_one_line(make_run, refused):
    record = make_run(1, lambda parts: parts["final"].update({"a/bias": np.array(["x", "y", "z"])}))
    line = refused(runs.read(record).trained_vector)
    assert line.endswith("weights.npz: a/bias: found <U1 of shape (3,); floats, since it was trained")


@pytest.mark.parametrize(
    ("name", "array"),
    [("metric/score:", np.zeros(1)), ("group/odd:", np.zeros(3)), ("logits:", np.zeros(3)), ("labels:", np.array("x"))],
)
def test_what_a_program_left_has_its_kind(name, array, make_run, refused):
    record = make_run(1, lambda parts: parts["final"].update({name: array}))
    assert f"weights.npz: {name.removesuffix(':')}: found " in refused(read_left, runs.read(record))


def test_what_a_program_left_is_of_the_same_examples(make_run, refused):
    left = {"logits:": np.zeros((4, 3), np.float32), "metric/loss:": np.float64(1), "labels:": np.zeros(5, int)}
    run = runs.read(make_run(1, lambda parts: parts["final"].update(left)))
    assert refused(read_left, run) == f"{run.folder / 'weights.npz'}: labels: found 5 examples; 4, as logits has"


@pytest.mark.parametrize(
    ("outcome", "missing"),
    [("logits", "logits"), ("logits", "labels"), ("classes", "predictions"), ("values", "labels")],
)
def test_what_a_program_left_must_be_there(outcome, missing, make_run, refused):
    left = {"logits": np.zeros((4, 3), np.float32), "predictions": np.zeros(4, int), "labels": np.zeros(4, int)}

    def change(parts):
        parts["record"]["spec"]["model"]["outcome"] = outcome
        parts["final"].update({f"{name}:": array for name, array in left.items() if name != missing})

    run = runs.read(make_run(1, change))
    line = f"{run.folder / 'weights.npz'}: {missing}: no such array; what the training program left"
    assert refused(read_left, run) == line
