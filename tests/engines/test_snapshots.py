"""What a training keeps on its way, snapshots and recorded steps, is what a training that ends there ends with."""

import pytest

from toolnoise.base.spec import Spec
from toolnoise.models.initial import Parameter
from toolnoise.study import runs
from toolnoise.training import bitflip

# With SGD's momentum, which goes on too.
CYCLES = {
    "epochs": 4,
    "batch_size": 128,
    "optimizer": "sgd",
    "learning_rate": 0.05,
    "schedule": "cosine",
    "warmup_epochs": 1,
    "flip": True,
}


@pytest.fixture(scope="module")
def trained(workshop, train_together):
    """A run of two cycles, and what one of a single cycle left."""
    here = workshop(CYCLES | {"cycles": 2}, hardware=("cpu",), variants=("bit_2",))
    alone = workshop(CYCLES | {"epochs": 2}, hardware=("cpu",))
    _, one_cycle = train_together((here, "bit_2", 1), (alone, "control", 1))
    return runs.read(here.folder / here.named("bit_2", 1) / "run.json"), one_cycle


@pytest.fixture(scope="module")
def cycled(trained):
    return trained[0]


def test_snapshots_are_the_weights_that_the_history_has_before_a_bit_is_moved(cycled):
    snapshots, rows = cycled.snapshots(), cycled.history()
    digests = [runs.weight_digests(weights)[0] for weights in snapshots]
    assert digests == [rows[1]["weights_sha256"], rows[3]["weights_sha256"]]
    assert [float(row["learning_rate"]) for row in rows[:2]] == [float(row["learning_rate"]) for row in rows[2:]]


def test_the_first_snapshot_is_what_a_training_of_one_cycle_ends_with(trained):
    cycled, alone = trained
    first = cycled.snapshots()[0]
    assert list(first) == list(alone.weights)
    assert all(first[path].tobytes() == tensor.tobytes() for path, tensor in alone.weights.items())


def test_the_moved_bit_follows_from_the_tensors_in_the_file(cycled):
    record, spec = cycled.record, Spec.read(cycled.record["spec"])
    tensors = cycled.weights().items()
    parameters = [Parameter(path, tensor.shape, path in record["trainable"], "", {}) for path, tensor in tensors]
    assert bitflip.recorded(bitflip.of_run(parameters, spec), spec, record["epochs"]) == record["moved_bit"]


# Seven steps an epoch: an epoch ends between two recorded steps, and another within a power of two.
RECIPE = {"batch_size": 9, "epochs": 3, "schedule": "cosine", "normalise": "per-image", "crop": 2, "flip": True}
STEPS = [0, 1, 2, 4, 8, 16, 21]
DROPOUT = {"batch": 9, "rate": 0.4}


@pytest.fixture(scope="module")
def both(own_workshop, framework, toolings, train_together):
    """The same run without and with recorded steps."""
    made = {"builder": "dropped", "options": DROPOUT, "tooling": toolings[framework]}
    places = [own_workshop(**made, **RECIPE, **key) for key in ({}, {"record_steps": True})]
    return list(zip(places, train_together(*((here, "impl", 1) for here in places)), strict=True))


def test_no_bit_of_a_run_changes_while_it_records_its_steps(both):
    (_, plain), (_, recording) = both
    assert list(recording.weights)[: len(plain.weights)] == list(plain.weights)
    assert all(recording.weights[path].tobytes() == tensor.tobytes() for path, tensor in plain.weights.items())
    assert plain.untimed == recording.untimed
    # One that records none says and keeps nothing of them.
    assert set(recording.record) - set(plain.record) == {"steps_per_epoch", "recorded_steps"}
    assert recording.record["recorded_steps"] == STEPS
    assert not [name for name in plain.weights if name.endswith("/")]


def test_the_last_recorded_step_is_the_end_and_the_first_the_start(both):
    here, trained = both[1]
    recorded = runs.read(here.folder / "cpu-impl-1/run.json").recorded()
    assert list(recorded) == STEPS
    digests = [
        runs.weight_digests({path: tensor for path, tensor in one.items() if path != "logits"})[0]
        for one in recorded.values()
    ]
    assert digests[0] == trained.record["initial_sha256"]
    assert digests[-1] == trained.history[-1]["weights_sha256"]
    assert len(set(digests)) == len(STEPS)
    assert {one["logits"].shape for one in recorded.values()} == {(64, 4)}
    right = (recorded[STEPS[-1]]["logits"].argmax(axis=1) == here.dataset().test.labels).mean()
    assert float(trained.history[-1]["test_accuracy"]) == right
