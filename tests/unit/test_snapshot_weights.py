"""Cycles: which weights are kept, under which names, and what a run that diverges in the middle of one has left."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays, files
from toolnoise.base.spec import Spec
from toolnoise.datasets.prepared import Data, Split
from toolnoise.engines import EpochResult, State
from toolnoise.models.initial import Parameter
from toolnoise.training import loop, runs, snapshots

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

    def logits(self, split):
        return np.zeros((len(split.labels), 2), np.float32)

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
        places = [tmp_path / "run" / name for name in ("weights.npz", "history.csv", "run.json", "checkpoint.npz")]
        loop.train(spec, "data.npz", *places)
        return runs.read(places[2])

    return call


def after(kept):
    """The epochs that weights are of, by what they have grown."""
    return [int(weights["conv/bias"][0]) for weights in kept]


@pytest.mark.parametrize(("count", "epochs"), [(1, [6]), (2, [3, 6]), (3, [2, 4, 6]), (6, [1, 2, 3, 4, 5, 6])])
def test_the_weights_are_kept_at_the_end_of_every_cycle_the_final_ones_last(count, epochs, train):
    run = train(count)
    assert after(run.snapshots()) == epochs
    assert [list(weights) for weights in run.snapshots()] == [[one.path for one in PARAMETERS]] * count
    for epoch, weights in zip(epochs, run.snapshots(), strict=True):
        assert runs.weight_digests(weights)[0] == run.history()[epoch - 1]["weights_sha256"]
        assert {path: tensor.shape for path, tensor in weights.items()} == {one.path: one.shape for one in PARAMETERS}


@pytest.mark.parametrize("count", [1, 3])
def test_the_weights_of_a_run_are_the_final_ones_alone(count, train):
    run = train(count)
    final = run.snapshots()[-1]
    assert list(run.weights()) == list(final) == [one.path for one in PARAMETERS]
    assert all(run.weights()[path].tobytes() == tensor.tobytes() for path, tensor in final.items())
    assert run.trained_vector().size == 9


@pytest.mark.parametrize(
    ("diverges", "epochs"), [(1, [1]), (2, [2]), (3, [2, 3]), (4, [2, 4]), (5, [2, 4, 5]), (6, [2, 4, 6])]
)
def test_a_run_that_diverges_has_the_snapshots_of_the_cycles_it_ended_before(diverges, epochs, train):
    run = train(3, diverges)
    assert (run.diverged, len(run.history())) == (True, diverges)
    assert after(run.snapshots()) == epochs
    assert after([run.weights()]) == epochs[-1:]


def test_snapshots_stay_in_the_file(train):
    for weights in train(3).snapshots():
        for tensor in weights.values():
            assert not tensor.flags.owndata
            assert not tensor.flags.writeable


def test_the_file_of_an_ordinary_run_has_its_tensors_alone_and_snapshots_are_beside_them(train):
    paths = [one.path for one in PARAMETERS]
    assert arrays.npz_names(train(1).folder / "weights.npz") == paths
    assert arrays.npz_names(train(2).folder / "weights.npz") == [*paths, *(f"{path}/" for path in paths)]


def test_what_is_packed_is_unpacked_and_nothing_is_nothing(tmp_path):
    kept = [{"a/b": np.full((2, 3), epoch, np.float32), "c": np.array(epoch, np.int32)} for epoch in range(3)]
    arrays.write_npz(tmp_path / "kept.npz", snapshots.packed(kept))
    found = snapshots.unpacked(arrays.read_npz(tmp_path / "kept.npz"))
    assert [{name: array.tolist() for name, array in one.items()} for one in found] == [
        {name: array.tolist() for name, array in one.items()} for one in kept
    ]
    assert found[1]["c"].dtype == np.int32
    assert snapshots.packed([]) == {}
    assert snapshots.unpacked({}) == []


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


def test_snapshots_that_no_recipe_keeps_are_one_line(make_run, refused):
    run = runs.read(make_run(1, lambda parts: parts["final"].update({"a/bias/": np.zeros((1, 3), np.float32)})))
    assert list(run.weights()) == ["a/kernel", "a/bias"]
    assert "a/bias/: found (1, 3); run.json's recipe keeps nothing" in refused(run.snapshots)


def test_compressed_snapshots_are_one_line(train, refused):
    run = train(2)
    path = run.folder / "weights.npz"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert "conv/kernel is compressed" in refused(run.snapshots)


def test_a_recipe_from_before_there_were_cycles_has_one(make_run):
    record = Path(make_run(1, lambda parts: parts["record"].update(epochs=3)))
    value = files.read_json(record)
    del value["spec"]["recipe"]["cycles"]
    files.write_json(record, value)
    assert len(runs.read(record).snapshots()) == 1
