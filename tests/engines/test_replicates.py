"""Runs beside each other: what must be bit-equal, what must differ, what one moved bit does, and what a run says."""

import itertools
import os
import shutil
import signal
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from toolnoise import streams
from toolnoise.base import arrays
from toolnoise.datasets import preparation
from toolnoise.datasets.readers import originals
from toolnoise.study import runs

DRIVERS = Path(__file__).parent / "drivers"

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


def test_implementation_noise_tells_seeds_apart(here, train_together, control):
    impl, other = train_together((here, "impl", 1), (here, "impl", 2))
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
DIVERGING = {"epochs": 4, "batch_size": 128, "optimizer": "sgd", "learning_rate": 1e9}


@pytest.fixture(scope="module")
def still(workshop, train_together):
    """Runs without and with a moved bit, and one that diverges before its bit is moved."""
    here = workshop(STILL, hardware=("cpu",), variants=("bit", "bit_1"))
    runs = {variant: (here, variant, 2) for variant in ("control", "bit", "bit_1")}
    runs["diverging"] = (workshop(DIVERGING, hardware=("cpu",), variants=("bit_3",)), "bit_3", 1)
    return dict(zip(runs, train_together(*runs.values()), strict=True))


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


def test_a_run_that_diverges_is_recorded_with_the_epochs_it_lasted_and_has_moved_no_bit_after_them(still):
    record = still["diverging"].record
    assert record["status"] == "diverged"
    assert record["epochs"] == len(still["diverging"].history) <= 3
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
    return runs.read_run(here.folder / here.named("bit_2", 1) / "run.json"), one_cycle


def test_snapshots_are_the_weights_that_the_history_has_before_a_bit_is_moved(trained):
    snapshots, rows = trained[0].snapshots(), trained[0].history()
    digests = [runs.weight_digests(weights)[0] for weights in snapshots]
    assert digests == [rows[1]["weights_sha256"], rows[3]["weights_sha256"]]
    assert [float(row["learning_rate"]) for row in rows[:2]] == [float(row["learning_rate"]) for row in rows[2:]]


def test_the_first_snapshot_is_what_a_training_of_one_cycle_ends_with(trained):
    first, alone = trained[0].snapshots()[0], trained[1].weights
    assert list(first) == list(alone)
    assert all(first[path].tobytes() == tensor.tobytes() for path, tensor in alone.items())


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
    recorded = runs.read_run(here.folder / "cpu-impl-1/run.json").recorded()
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


# Ended by Slurm; before and after its snapshot, with a loss scale; where its bit is moved.
@pytest.mark.long
@pytest.mark.parametrize(
    ("ending", "named", "kills"),
    [
        (signal.SIGTERM, ("control", 1, "cpu"), (3,)),
        (signal.SIGKILL, ("impl", 1, "half"), (3, 6)),
        (signal.SIGKILL, ("bit_3", 1, "cpu"), (3,)),
    ],
)
def test_a_training_that_is_ended_goes_on_bit_for_bit(ending, named, kills, workplace):
    out = f"{named[0]}-ended"
    for epoch in kills:
        workplace.kill_after(epoch, ending, *named, out)
        # The lock of the output is no result: nobody holds it any more, and the next process takes it.
        assert [path.name for path in (workplace.folder / out).iterdir()] in ([], [".weights.npz.lock"])
    said = workplace.finish(*named, out)
    assert "goes on after epoch " in said
    assert "epoch 1 of 8" not in said
    assert went_on(workplace, out, *kills)
    whole = workplace.train(*named)
    assert whole.record["resumed_after"] == []
    assert outcome(workplace.read(out)) == outcome(whole)


@pytest.mark.long
def test_a_damaged_checkpoint_is_told_and_training_starts_anew_and_ends_the_same(workplace):
    named = ("control", 2, "cpu")
    workplace.kill_after(3, signal.SIGTERM, *named, "hurt")
    checkpoint = workplace.folder / "checkpoints/hurt.npz"
    content = bytearray(checkpoint.read_bytes())
    content[len(content) // 2] ^= 0xFF
    checkpoint.write_bytes(bytes(content))
    said = workplace.finish(*named, "hurt")
    assert "checkpoints/hurt.npz: damaged" in said
    assert went_on(workplace, "hurt")
    assert outcome(workplace.read("hurt")) == outcome(workplace.train(*named))


# Data that stay on disk give the bits of data in memory: in parts of a step; of three steps, of which eight are no
# multiple; of all


IMAGE = 6 * 8 * 2 * 4  # bytes of a float32 image
PARTS = (1, 3 * 8 * IMAGE, 1 << 20)
# Its recorded steps cut the parts of streamed data once more.
STREAMED = {"record_steps": True, "batch_size": 8, "epochs": 2, "normalise": "per-image", "crop": 2, "flip": True}


@pytest.mark.long
def test_streamed_training_gives_the_bits_of_training_in_memory(own_workshop, framework, toolings):
    here = own_workshop("smooth", tooling=toolings[framework], **STREAMED)
    in_memory, entry = here.train("impl", 1), here.spec().dataset.json
    path = here.folder / "streamed.npz"
    preparation.prepare("pictures", {**entry, "path": here.folder / entry["path"], "streamed": True}, out=path)
    here.drive("training", "stream", path, *PARTS, out=f"{PARTS[-1]}/weights.npz")
    for part_bytes in PARTS:
        streamed = here.read(str(part_bytes))
        assert streamed.weight_bytes == in_memory.weight_bytes
        assert streamed.untimed == in_memory.untimed
        assert streamed.record["data_sha256"] == in_memory.record["data_sha256"]


# ImageNet's originals in training: boxes and resizing are TensorFlow's, and the same bits on every framework


LAW = {"area": [0.05, 1], "aspect": [0.75, 1.33], "covered": 0.1}
BOXED = {"batch_size": 12, "epochs": 2, "normalise": "imagenet", "resized_crop": LAW, "flip": True}


@pytest.fixture(scope="module")
def garden(tmp_path_factory, run, skip_without):
    """What TensorFlow draws and resizes."""
    skip_without("tensorflow")
    folder = tmp_path_factory.mktemp("garden")
    pixels = np.random.default_rng(1).integers(0, 256, (375, 500, 3), np.uint8)
    given = {
        "pixels": pixels,
        "boxes": np.array([[0, 0, 375, 500], [31, 77, 260, 301], [31, 77, 260, -301], [300, 2, 60, 55], [9, 9, 1, 2]]),
        "side": np.array(224),
        "sizes": np.array([[375, 500], [60, 51], [90, 300]]),
        "count": np.array(4000),
    }
    np.savez(folder / "given.npz", **given)
    done = run(folder, sys.executable, DRIVERS / "frameworks.py", "model_garden", "given.npz", "found.npz")
    assert done.returncode == 0, done.stderr
    return given, arrays.read_npz(folder / "found.npz")


@pytest.mark.long
def test_boxes_have_the_law_of_tensorflow(garden):
    """Two samples for each size: top, left, height, width, area and aspect, by the test of Kolmogorov and Smirnov."""
    given, found = garden
    count = int(given["count"])
    for size, theirs in zip(given["sizes"], found["drawn"], strict=True):
        sizes = np.tile(size, (count, 1))
        mine = originals.drawn_boxes(LAW, sizes, lambda attempt: streams.stream_key(0, "augment", 0, "box", attempt))
        for column in range(4):
            assert stats.ks_2samp(mine[:, column], theirs[:, column]).pvalue > 0.001, (size, column)
            assert (mine[:, column].min() == 0) == (theirs[:, column].min() == 0)
        for of in (lambda box: box[:, 2] * box[:, 3], lambda box: box[:, 3] / box[:, 2]):
            assert stats.ks_2samp(of(mine), of(theirs)).pvalue > 0.001, size


@pytest.mark.long
def test_boxes_are_resized_as_tensorflow_resizes_them(garden):
    """TensorFlow rounds three times to float32, of numbers up to 255; ours is the exact value, rounded once."""
    given, found = garden
    for box, theirs in zip(given["boxes"], found["pictures"], strict=True):
        mine = originals.resize_box(given["pixels"], box, int(given["side"]))
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=2e-2 if abs(box[3]) > 400 else 1e-2)


@pytest.mark.long
def test_every_framework_draws_the_same_and_repeats_bit_for_bit(own_workshop, tmp_path, photographs, toolings):
    pictures, draws = photographs(tmp_path, train=18, test=8), set()
    parts = {part: {"path": str(pictures / part)} for part in ("train", "test")}
    entry = {"reader": "imagenet", "files": parts, "image_size": 16, "stored_size": "original", "streamed": True}
    for tooling in toolings.values():
        here = own_workshop("smooth", tooling=tooling, data=entry, **BOXED)
        control, again = here.train("control", 1), here.train("control", 2)
        assert again.weight_bytes == control.weight_bytes
        assert control.record["observed"]["versions"]["pillow"]
        draws.add(tuple(row["draws_sha256"] for row in control.history))
    assert len(draws) == 1


# A portable tooling has the same bits on every maker's x86 processor: this one, and those that QEMU emulates.
#
# It needs QEMU 7.2 or later (Debian's package qemu-user). Emulated processors have other makers, caches and instruction
# sets: `Haswell` is an Intel, `EPYC` an AMD. QEMU has no AVX-512, and computes to the nearest number what a maker's
# instruction only estimates (`rsqrtps`). A tooling that is not portable shows that a difference is found.


SHORT = {"epochs": 1, "batch_size": 32, "learning_rate": 0.008, "crop": 1}
EMULATOR = "qemu-x86_64"
PROCESSORS = ("", "EPYC", "Haswell")


def steps(here, processor):
    out = f"{processor or 'here'}.npz"
    emulator = [EMULATOR, "-cpu", processor] if processor else []
    # The emulator runs the interpreter itself, which then does not know its virtual environment.
    variables = {"PYTHONPATH": os.pathsep.join([sysconfig.get_path("purelib"), *filter(None, sys.path)])}
    command = (
        *emulator,
        Path(sys.executable).resolve(),
        DRIVERS / "training.py",
        "some_steps",
        "study.yaml",
        here.data,
        out,
    )
    done = here.run(here.folder, *command, env=variables)
    assert done.returncode == 0, done.stderr
    return arrays.read_npz(here.folder / out)


@pytest.mark.long
@pytest.mark.parametrize(("framework", "isa"), [("tensorflow", "avx2"), ("tensorflow", "sse41"), ("torch", "avx2")])
def test_a_portable_tooling_has_the_same_bits_on_every_makers_processor(
    framework, isa, workshop, toolings, skip_without
):
    if not shutil.which(EMULATOR):
        pytest.skip("needs QEMU's user mode (Debian's package qemu-user)")
    skip_without(framework)
    # Of a portable tooling and of another, the state after some steps of the demo's network, on each processor.
    states = {}
    for portable in (True, False):
        tooling = toolings[framework] | {"isa": isa} | ({"portable": True} if portable else {})
        here = workshop(SHORT, "smallcnn-bn", hardware=("cpu",), own_hardware={"cpu": tooling})
        states[portable] = [steps(here, processor) for processor in PROCESSORS]
    for one, other in itertools.pairwise(states[True]):
        assert list(one) == list(other)
        assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    assert any(
        one[name].tobytes() != other[name].tobytes() for one, other in itertools.pairwise(states[False]) for name in one
    )
