"""Runs beside each other: what must be bit-equal, what must differ, what one moved bit does, and what a run says."""

import os

import numpy as np
import pytest

JUNK = {
    "OMP_NUM_THREADS": "2",
    "TF_NUM_INTRAOP_THREADS": "2",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TF_DETERMINISTIC_OPS": "0",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "KERAS_BACKEND": "jax",
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=true",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
    "PYTHONHASHSEED": "7",
    "TZ": "Asia/Kathmandu",
}
KERAS_JSON = '{"floatx": "float16", "epsilon": 0.1, "image_data_format": "channels_first", "backend": "jax"}'


@pytest.fixture(scope="module")
def here(workshop):
    return workshop()


@pytest.fixture(scope="module")
def control(here):
    return here.train("control", 1)


@pytest.fixture(scope="module")
def noisy(here, train_together):
    return train_together((here, "impl", 1), (here, "impl", 2))


def bind_to_one_core():
    # Not every system can.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def test_neither_the_environment_nor_the_number_of_cores_leaks_into_a_run(here, control, tmp_path):
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras" / "keras.json").write_text(KERAS_JSON)
    homes = {"HOME": str(tmp_path), "KERAS_HOME": str(tmp_path / ".keras")}
    other = here.train("control", 2, env=JUNK | homes, preexec_fn=bind_to_one_core)
    assert other.record["observed"]["cores"] == 1 or not hasattr(os, "sched_setaffinity")
    assert other.weight_bytes == control.weight_bytes
    assert other.digests == control.digests


def test_implementation_noise_tells_seeds_apart(noisy, control):
    impl, other = noisy
    assert len({impl.weight_bytes, other.weight_bytes, control.weight_bytes}) == 3
    assert impl.record["emulated_noise"] == "reduction-order"
    assert control.record["emulated_noise"] is None


# That two toolings differ under Control and share their draws is seen in tests/workflow/test_small_study.py.
def test_runs_say_what_draws_they_share(control, noisy, deterministic):
    impl, algo = noisy[0], deterministic["algo"]

    def drawn(run):
        return [row["draws_sha256"] for row in run.history]

    assert control.record["initial_sha256"] == impl.record["initial_sha256"] != algo.record["initial_sha256"]
    for one, other in ((control, impl), (control, algo)):
        assert all(mine != theirs for mine, theirs in zip(drawn(one), drawn(other), strict=True))


def test_a_run_says_what_it_ran_on_and_has_a_row_for_every_epoch(control):
    observed = control.record["observed"]
    assert observed["device"] == "cpu"
    assert observed["deterministic"] is True
    assert set(observed["versions"]) == {"tensorflow", "keras", "numpy"}
    assert observed["variables"]["OMP_NUM_THREADS"] == "1"
    assert {"host", "cpu", "cpu_flags", "cores", "slurm"} <= set(observed)
    assert "avx2" in observed["cpu_flags"]
    # Its history has a row for every epoch and ends at the weights.
    assert [row["epoch"] for row in control.history] == ["1", "2"]
    assert (control.record["epochs"], control.record["status"]) == (2, "completed")
    assert len(control.history[-1]["tensors_sha256"].split()) == len(control.weights)


# So small that no weight follows its gradient: what a run starts from is what it ends with, but for what was moved.
STILL = {"epochs": 2, "batch_size": 128, "optimizer": "sgd", "momentum": 0.0, "learning_rate": 1e-30}


MOVING = {"epochs": 2, "batch_size": 32, "learning_rate": 0.01}
DIVERGING = {"epochs": 4, "batch_size": 128, "optimizer": "sgd", "learning_rate": 1e9}


@pytest.fixture(scope="module")
def deterministic(here, workshop, train_together):
    """Further runs of one tooling, by what they are."""
    still = workshop(STILL, hardware=("cpu",), variants=("bit", "bit_1"))
    moving = workshop(MOVING, hardware=("cpu",), variants=("bit",))
    runs = {
        "algo": (here, "algo", 1),
        "control": (still, "control", 2),
        "bit": (still, "bit", 2),
        "bit_1": (still, "bit_1", 2),
        "moving": (moving, "control", 1),
        "moving bit": (moving, "bit", 1),
        "diverging": (workshop(DIVERGING, hardware=("cpu",), variants=("bit_3",)), "bit_3", 1),
    }
    return dict(zip(runs, train_together(*runs.values()), strict=True))


@pytest.fixture(scope="module")
def still(deterministic):
    return {variant: deterministic[variant] for variant in ("control", "bit", "bit_1")}


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


def test_a_run_that_diverges_is_recorded_with_the_epochs_it_lasted_and_has_moved_no_bit_after_them(deterministic):
    record = deterministic["diverging"].record
    assert record["status"] == "diverged"
    assert record["epochs"] == len(deterministic["diverging"].history) <= 3
    assert record["moved_bit"] is None


# That it is the same one each time is seen in test_interruption.py.
def test_in_training_one_bit_becomes_another_network(deterministic):
    assert len(differing(deterministic["moving"], deterministic["moving bit"])) > 1000
