"""Snapshots of real trainings: a cycle is a training of its own, which goes on from where the one before ended."""

import pytest

from toolnoise.base.spec import Spec
from toolnoise.models.initial import Parameter
from toolnoise.training import bitflip, runs

# With SGD's momentum, which goes on too.
RECIPE = {
    "epochs": 4,
    "batch_size": 128,
    "optimizer": "sgd",
    "learning_rate": 0.05,
    "schedule": "cosine",
    "warmup_epochs": 1,
    "flip": True,
}


@pytest.fixture(scope="module")
def cycled(workshop):
    here = workshop(RECIPE | {"cycles": 2}, hardware=("cpu",), variants=("bit_2",))
    assert here.attempt("bit_2", 1, "cpu", out="cycled").returncode == 0
    return runs.read(here.folder / "cycled/run.json")


def test_snapshots_are_the_weights_that_the_history_has_before_a_bit_is_moved(cycled):
    snapshots, rows = cycled.snapshots(), cycled.history()
    digests = [runs.weight_digests(weights)[0] for weights in snapshots]
    assert digests == [rows[1]["weights_sha256"], rows[3]["weights_sha256"]]
    assert [float(row["learning_rate"]) for row in rows[:2]] == [float(row["learning_rate"]) for row in rows[2:]]


def test_the_first_snapshot_is_what_a_training_of_one_cycle_ends_with(cycled, workshop):
    alone = workshop(RECIPE | {"epochs": 2}, hardware=("cpu",)).train("control", 1, "cpu")
    first = cycled.snapshots()[0]
    assert list(first) == list(alone.weights)
    assert all(first[path].tobytes() == tensor.tobytes() for path, tensor in alone.weights.items())


def test_the_moved_bit_follows_from_the_tensors_in_the_file(cycled):
    record, spec = cycled.record, Spec.read(cycled.record["spec"])
    tensors = cycled.weights().items()
    parameters = [Parameter(path, tensor.shape, path in record["trainable"], "", {}) for path, tensor in tensors]
    assert bitflip.recorded(bitflip.of_run(parameters, spec), spec, record["epochs"]) == record["moved_bit"]
