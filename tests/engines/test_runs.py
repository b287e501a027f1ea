"""What is read and kept of runs: records, cycles' snapshots, and the folder of a training program."""

from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays, files
from toolnoise.base.spec import Spec
from toolnoise.datasets.prepared import Data, Split
from toolnoise.engines import EpochResult, State
from toolnoise.models.initial import Parameter
from toolnoise.study import runs
from toolnoise.training import loop


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
    # The vector has the trainable tensors only, and files are found beside the record, wherever it was moved.
    weights = arrays.read_npz(record.parent / "weights.npz")
    arrays.write_npz(record.parent / "weights.npz", {"bn/moving_mean": np.ones(5, np.float32), **weights})
    moved = record.parent.rename(record.parents[1] / "moved") / record.name
    assert runs.read(moved).trained_vector().size == 9
    assert files.read_json(moved) == runs.read(moved).record


def trained(dtype):
    return lambda parts: parts["final"].update({"a/bias": np.zeros(3, dtype)})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (trained("<U3"), "a/bias: found <U3; numbers, as train has"),
        (trained(">f4"), "a/bias: found >f4; numbers, as train has"),
        (trained(int), "a/bias: found int64 of shape (3,); floats, since it was trained"),
        (lambda parts: parts["final"].pop("a/bias"), "a/bias: no such tensor; every tensor of run.json"),
        (None, "damaged or truncated ("),
    ],
    ids=["texts", "another byte order", "integers", "missing", "truncated"],
)
def test_weights_that_train_cannot_have_written_are_one_line(change, says, make_run, refused):
    record = Path(make_run(1, change))
    if not change:
        cut(record.with_name("weights.npz"), -10)
    line = refused(runs.read(record).trained_vector)
    assert line.startswith(f"{record.with_name('weights.npz')}: {says}")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        *(({key: ...}, f"{key}: no such key; the record that train wrote") for key in ("spec", "status", "trainable")),
        ({"spec": None}, "spec: found null; a mapping"),
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
        changed = parts["record"] | change
        parts["record"] = {key: value for key, value in changed.items() if value is not ...}

    record = make_run(1, edit)
    assert refused(runs.read, record).startswith(f"{record}: {says}")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("0.5,", "0x1,", "line 2, train_loss: found '0x1'; a number, or nan"),
        ("0.5,", "-1e300,", "line 2, train_loss: found '-1e300'; a number, or nan"),
        (",0.5", "", "found fields more or fewer"),
        ("train_loss", "epoch", "line 1: found a column twice; the history that train wrote"),
        ("\n2,", "\ninf,", "line 3, epoch: found 'inf'; a whole number"),
    ],
)
def test_a_history_with_a_wrong_field_is_one_line(old, new, says, make_run, refused):
    record = Path(make_run(1, lambda parts: parts["record"]["spec"]["recipe"].update(epochs=3)))
    history = record.with_name("history.csv")
    history.write_text(history.read_text().replace(old, new, 1))
    assert says in refused(runs.read(record).history)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_text("x" * 200_000 + path.read_text()),
        lambda path: cut(path, 20),
        lambda path: cut(path, -1),
        lambda path: cut(path, path.read_text().rstrip("\n").rindex("\n") + 1),
    ],
    ids=["missing", "long field", "part of the names", "without its last line end", "short"],
)
def test_a_damaged_history_is_one_line(damage, record, refused):
    path = record.parent / "history.csv"
    damage(path)
    assert refused(runs.read(record).history).startswith(f"{path}: ")


PARAMETERS = (
    Parameter("conv/kernel", (2, 3), True, "GlorotUniform", {}),
    Parameter("conv/bias", (3,), True, "Zeros", {}),
    Parameter("seen/count", (), False, "Zeros", {}),
)


class Counting:
    """An engine whose weights grow by one an epoch; its loss is no number after epoch `diverges`."""

    def __init__(self, diverges):
        self.diverges, self.epochs = diverges, 0

    def compile(self, _recipe, _train):
        pass

    def restore(self, state):
        self.held, self.step = {path: tensor.copy() for path, tensor in state.weights.items()}, state.step

    def epoch(self, _plan):
        self.epochs += 1
        # In place, as a framework's variables change.
        for tensor in self.held.values():
            tensor += 1
        return EpochResult(np.nan if self.epochs == self.diverges else 1.0, 0.5)

    def scores(self, split):
        yield slice(len(split.labels)), np.zeros((len(split.labels), 2), np.float32)

    def weights(self):
        return {path: tensor.copy() for path, tensor in self.held.items()}

    def state(self):
        return State(self.weights(), {}, self.step)


@pytest.fixture
def train(make_spec, tmp_path, monkeypatch):
    """Train six epochs in cycles with an engine that counts; returns the run."""

    def call(count, diverges=None):
        split = Split(np.zeros((8, 2, 2, 1), np.uint8), np.zeros(8, np.int32))
        data = Data(split, split, ("0", "1"), groups=(), sha256="")
        monkeypatch.setattr(loop.prepared, "load", lambda *_: data)
        observed = {"device": "cpu", "versions": {}}
        monkeypatch.setattr(loop, "start_engine", lambda _: (Counting(diverges), observed))
        monkeypatch.setattr(loop, "build_model", lambda *_: PARAMETERS)
        spec = make_spec("control", 1)
        recipe = spec.recipe | {"epochs": 6, "schedule": "cosine", "cycles": count}
        spec = Spec.read(spec.json | {"recipe": recipe})
        names = ("weights.npz", "history.csv", "run.json", "checkpoint.npz")
        weights, history, record, kept = (tmp_path / "run" / name for name in names)
        loop.train(spec, "data.npz", weights=weights, history=history, record=record, checkpoint=kept)
        return runs.read(record)

    return call


def after(kept):
    """The epochs that weights are of, by what they have grown."""
    return [int(weights["conv/bias"][0]) for weights in kept]


@pytest.mark.parametrize(("count", "epochs"), [(1, [6]), (3, [2, 4, 6])])
def test_the_weights_are_kept_at_the_end_of_every_cycle_the_final_ones_last(count, epochs, train):
    run = train(count)
    assert after(run.snapshots()) == epochs
    assert [list(weights) for weights in run.snapshots()] == [[one.path for one in PARAMETERS]] * count
    # They stay in the file.
    stored = [tensor.flags for weights in run.snapshots() for tensor in weights.values()]
    assert not any(flags.owndata or flags.writeable for flags in stored)
    for epoch, weights in zip(epochs, run.snapshots(), strict=True):
        assert runs.weight_digests(weights)[0] == run.history()[epoch - 1]["weights_sha256"]
        assert {path: tensor.shape for path, tensor in weights.items()} == {one.path: one.shape for one in PARAMETERS}


@pytest.mark.parametrize(("diverges", "epochs"), [(1, [1]), (2, [2]), (5, [2, 4, 5]), (6, [2, 4, 6])])
def test_a_run_that_diverges_has_the_snapshots_of_the_cycles_it_ended_before(diverges, epochs, train):
    run = train(3, diverges)
    assert (run.diverged, len(run.history())) == (True, diverges)
    assert after(run.snapshots()) == epochs
    assert after([run.weights()]) == epochs[-1:]


def test_the_file_of_an_ordinary_run_has_its_tensors_alone_and_snapshots_are_beside_them(train):
    paths = [one.path for one in PARAMETERS]
    assert arrays.npz_names(train(1).folder / "weights.npz") == paths
    assert arrays.npz_names(train(2).folder / "weights.npz") == [*paths, *(f"{path}/" for path in paths)]


def change(run, edit):
    path = run.folder / "weights.npz"
    tensors = arrays.read_npz(path)
    edit(tensors)
    arrays.write_npz(path, tensors)
    return path


DAMAGES = {
    "one is missing": (lambda of: of.pop("conv/bias/"), "conv/bias/: found nothing; run.json's recipe keeps (2, 3)"),
    "one too few": (lambda of: of.update({"conv/bias/": of["conv/bias/"][1:]}), "conv/bias/: found (1, 3)"),
    "another shape": (lambda of: of.update({"conv/kernel/": np.ones((2, 6))}), "conv/kernel/: found (2, 6)"),
    "of no tensor": (lambda of: of.update({"more/": np.ones(2)}), "more/: found (2,); run.json's recipe keeps nothing"),
    "a final one": (lambda of: of.pop("conv/bias"), "conv/bias: no such tensor"),
}


@pytest.mark.parametrize(("edit", "says"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_snapshots_are_one_line(edit, says, train, refused):
    run = train(3)
    path = change(run, edit)
    assert refused(run.snapshots).startswith(f"{path}: {says}")


def test_cycles_divide_the_epochs_and_a_recipe_from_before_there_were_any_has_one(make_run, refused):
    record = Path(make_run(1, lambda parts: parts["record"].update(epochs=3)))
    value = files.read_json(record)
    cycles = value["spec"]["recipe"] | {"epochs": 3, "cycles": 2}
    files.write_json(record, value | {"spec": value["spec"] | {"recipe": cycles}})
    assert "spec.recipe.cycles: found 2; a divisor of its 3 epochs" in refused(runs.read, record)
    without = {key: part for key, part in value["spec"]["recipe"].items() if key != "epochs"}
    files.write_json(record, value | {"spec": value["spec"] | {"recipe": without}})
    assert "run.json: spec.recipe.epochs: no such key" in refused(runs.read(record).snapshots)
    del value["spec"]["recipe"]["cycles"]
    files.write_json(record, value)
    assert len(runs.read(record).snapshots()) == 1
