"""One bit: what a run that moves one ends with, beside one that does not."""

import numpy as np
import pytest

# So small that no weight follows its gradient: what a run starts from is what it ends with, but for what was moved.
STILL = {"epochs": 2, "batch_size": 128, "optimizer": "sgd", "momentum": 0.0, "learning_rate": 1e-30}


@pytest.fixture(scope="module")
def still(workshop):
    here = workshop(STILL, hardware=("cpu",), variants=("bit", "bit_1"))
    return {variant: here.train(variant, seed=2) for variant in ("control", "bit", "bit_1")}


def differing(one, other):
    return [
        (path, *map(int, index))
        for path in one.weights
        for index in np.argwhere(one.weights[path] != other.weights[path])
    ]


@pytest.mark.parametrize("variant", ["bit", "bit_1"])
def test_exactly_one_weight_of_one_tensor_is_one_ulp_away_as_recorded(variant, still):
    moved, control = still[variant], still["control"]
    record = moved.record["moved_bit"]
    assert differing(control, moved) == [(record["tensor"], *record["index"])]
    old, new = (run.weights[record["tensor"]][tuple(record["index"])] for run in (control, moved))
    assert new == np.nextafter(old, np.float32(np.inf if record["up"] else -np.inf))
    assert moved.record["initial_sha256"] == control.record["initial_sha256"]
    assert control.record["moved_bit"] is None


def test_a_later_bit_is_the_same_bit_and_moves_after_its_epoch(still):
    assert still["bit"].record["moved_bit"] == still["bit_1"].record["moved_bit"] | {"after_epoch": 0}
    assert still["bit_1"].record["moved_bit"]["after_epoch"] == 1
    digests = {variant: run.digests for variant, run in still.items()}
    assert digests["bit_1"][0] == digests["control"][0] != digests["bit"][0]
    assert digests["bit_1"][1] == digests["bit"][1] != digests["control"][1]


def test_a_run_that_diverges_before_its_bit_has_moved_none(workshop):
    diverging = {"epochs": 4, "batch_size": 128, "optimizer": "sgd", "learning_rate": 1e9}
    record = workshop(diverging, hardware=("cpu",), variants=("bit_3",)).train("bit_3").record
    assert record["status"] == "diverged"
    assert record["epochs"] <= 3
    assert record["moved_bit"] is None


# That it is the same one each time is seen in test_interruption.py.
def test_in_training_one_bit_becomes_another_network(workshop):
    here = workshop({"epochs": 2, "batch_size": 32, "learning_rate": 0.01}, hardware=("cpu",), variants=("bit",))
    control, one = (here.train(variant) for variant in ("control", "bit"))
    assert len(differing(control, one)) > 1000
