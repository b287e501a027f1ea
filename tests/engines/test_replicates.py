"""Runs beside each other: what must be bit-equal, what must differ, what one moved bit does, and what a run says."""

import os
import signal

import numpy as np
import pytest

from toolnoise.study import runs

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


# What a training keeps on its way, snapshots and recorded steps, is what a training that ends there ends with


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


# A training that is killed between epochs and started again ends with the bits that it would have had


# Two cosines with warm-ups, crops and flips: what an epoch does hangs on its number. A snapshot after four epochs, and
# what is recorded after steps 1, 2, 4, ...
CYCLED = {
    "epochs": 8,
    "batch_size": 64,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "warmup_epochs": 2,
    "cycles": 2,
    "record_steps": True,
    "crop": 1,
    "flip": True,
}
HALF = {"accelerator": "cpu", "precision": "mixed_float16", "kernels": "eigen", "impl_noise": "reduction-order"}


@pytest.fixture(scope="module")
def workplace(workshop):
    return workshop(
        CYCLED, model="smallcnn-bn", hardware=("cpu", "half"), own_hardware={"half": HALF}, variants=["bit_3"]
    )


@pytest.fixture(scope="module")
def whole(workplace):
    return workplace.train("control", 1, "cpu")


@pytest.fixture(scope="module")
def cut_off(workplace):
    """The checkpoint of a control run that Slurm ended after its third epoch; it lies there for the run `ended`."""
    workplace.kill_after(3, signal.SIGTERM, "control", 1, "cpu", "ended")
    # The lock of the output is no result: nobody holds it any more, and the next process takes it.
    assert [path.name for path in (workplace.folder / "ended").iterdir()] in ([], [".weights.npz.lock"])
    return (workplace.folder / "checkpoints/ended.npz").read_bytes()


def outcome(run):
    """What a run has in common with the same run that was killed and went on."""
    return run.weight_bytes, len(run.weights["conv1/kernel/"]), run.untimed


def went_on(workplace, out, *kills):
    """Whether a run went on after each kill and left no checkpoint."""
    after = workplace.read(out).record["resumed_after"]
    left = list(workplace.folder.glob(f"checkpoints/*{out}*"))
    # When an epoch's end is told, the checkpoint of the next has perhaps not been written.
    near = [epoch in (kill - 1, kill) for epoch, kill in zip(after, kills, strict=True)]
    return all(near) and not left


@pytest.mark.long
@pytest.mark.usefixtures("cut_off")
def test_a_training_that_slurm_ends_goes_on_bit_for_bit(workplace, whole):
    said = workplace.finish("control", 1, "cpu", "ended")
    assert "goes on after epoch " in said
    assert "epoch 1 of 8" not in said
    assert went_on(workplace, "ended", 3)
    assert whole.record["resumed_after"] == []
    assert outcome(workplace.read("ended")) == outcome(whole)


@pytest.mark.long
def test_a_training_that_is_killed_before_and_after_its_snapshot_goes_on_with_it_and_its_loss_scale(workplace):
    named = ("impl", 1, "half", "killed")
    workplace.kill_after(3, signal.SIGKILL, *named)
    workplace.kill_after(6, signal.SIGKILL, *named)
    workplace.finish(*named)
    assert went_on(workplace, "killed", 3, 6)
    assert outcome(workplace.read("killed")) == outcome(workplace.train("impl", 1, "half"))


@pytest.mark.long
def test_a_training_that_is_killed_where_its_bit_is_moved_moves_it_once(workplace):
    named = ("bit_3", 1, "cpu", "moved")
    workplace.kill_after(3, signal.SIGKILL, *named)
    workplace.finish(*named)
    assert went_on(workplace, "moved", 3)
    assert outcome(workplace.read("moved")) == outcome(workplace.train("bit_3", 1, "cpu"))


@pytest.mark.long
def test_a_damaged_checkpoint_is_told_and_training_starts_anew_and_ends_the_same(workplace, whole, cut_off):
    content = bytearray(cut_off)
    content[len(content) // 2] ^= 0xFF
    (workplace.folder / "checkpoints/hurt.npz").write_bytes(bytes(content))
    said = workplace.finish("control", 1, "cpu", "hurt")
    assert "checkpoints/hurt.npz: damaged" in said
    assert went_on(workplace, "hurt")
    assert outcome(workplace.read("hurt")) == outcome(whole)
