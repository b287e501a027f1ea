"""What is read of runs, and their checkpoints: as they were written, or refused in one line."""

from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays, files
from toolnoise.engines import State
from toolnoise.study import runs
from toolnoise.training import checkpoints
from toolnoise.training.checkpoints import NAMES, Checkpoints, Progress


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


# Checkpoints: read as they were written, or not at all


IDENTITY = {
    "engine": "tensorflow",
    "spec": "a",
    "data": "b",
    "code": "c",
    "device": "cpu",
    "versions": {"tensorflow": "1"},
}
STATE = State(
    {"conv/kernel": np.arange(12, dtype=np.float32).reshape(3, 4) / 7, "bn/moving_mean": np.zeros(3, np.float32)},
    {"m": {"conv/kernel": np.full((3, 4), 0.1, np.float32)}, "loss_scale": {"left_out": np.array(3, np.int32)}},
    42,
)
BLANK = State(
    {path: np.zeros_like(tensor) for path, tensor in STATE.weights.items()},
    {slot: {path: np.zeros_like(one) for path, one in tensors.items()} for slot, tensors in STATE.slots.items()},
    0,
)
SNAPSHOTS = [{path: tensor + epoch for path, tensor in STATE.weights.items()} for epoch in (1, 2)]
RECORDED = [STATE.weights | {"logits": np.full((5, 2), step, np.float32)} for step in (0, 1, 2)]
ROW = {
    "epoch": 1,
    "train_loss": 0.1 + 0.2,
    "train_accuracy": 0.5,
    "test_loss": 1.5,
    "test_accuracy": 0,
    "learning_rate": 1e-3,
    "seconds": 0.25,
    "weights_sha256": "ff",
    "tensors_sha256": "f f",
    "draws_sha256": "aa",
}
PROGRESS = Progress(
    STATE,
    [ROW],
    {"training": 1 / 3},
    [1],
    SNAPSHOTS,
    RECORDED,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoints" / "1.npz"


def read(path, identity=IDENTITY):
    return Checkpoints(path, identity).read()


def write(path, progress=PROGRESS):
    kept = Checkpoints(path, IDENTITY)
    kept.last -= checkpoints.SECONDS_BETWEEN
    kept.write(lambda: progress)
    return path


@pytest.fixture
def written(path):
    """A checkpoint that lies there."""
    return write(path)


def tensors(state, snapshots=()):
    groups = {"weights": state.weights, **state.slots, **dict(enumerate(snapshots))}
    return {
        (group, name): (array.dtype, array.shape, array.tobytes())
        for group, named in groups.items()
        for name, array in named.items()
    }


def test_what_is_read_is_what_was_written_bit_for_bit(written):
    found = read(written)
    assert found[1:4] == PROGRESS[1:4]
    assert found.state.step == 42
    assert list(found.state.weights) == list(STATE.weights)
    assert tensors(found.state, found.snapshots) == tensors(STATE, SNAPSHOTS)
    assert tensors(BLANK, found.recorded) == tensors(BLANK, RECORDED)


def test_nothing_is_written_before_its_time(path, capsys):
    Checkpoints(path, IDENTITY).write(lambda: pytest.fail("a short run pays nothing"))
    assert not path.exists()
    # A run without a checkpoint starts fresh and says nothing.
    assert read(path) is None
    assert capsys.readouterr().err == ""


def starts_anew(path, capsys, identity=IDENTITY):
    assert read(path, identity) is None
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"toolnoise: {path}: ")
    assert said.endswith("; training starts over\n")
    return said


@pytest.mark.parametrize("key", IDENTITY)
def test_a_checkpoint_of_something_else_is_never_used(key, written, capsys):
    told = f"found {IDENTITY[key]!r}, from another run; expected 'another'" if key in NAMES else "from another run"
    assert f": {key}: {told}" in starts_anew(written, capsys, IDENTITY | {key: "another"})


def test_a_truncated_checkpoint_and_a_flipped_bit_anywhere_are_noticed(written, capsys):
    content = written.read_bytes()
    for share in (0, 0.1, 0.5, 0.9, 0.999):
        written.write_bytes(content[: int(len(content) * share)])
        assert "training starts over" in starts_anew(written, capsys), share
    # Every byte of the header, and some of each part.
    places = [*range(100), *range(100, len(content), 7)]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        written.write_bytes(bytes(damaged))
        assert read(written) is None, place
    assert capsys.readouterr().err.count("training starts over") == len(places)


def test_a_full_disk_is_reported_and_does_not_end_the_run(path, monkeypatch, capsys):
    def refuse(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.arrays, "pack", refuse)
    write(path)
    assert list(path.parent.iterdir()) == []
    assert "no checkpoint (no space is left on the disk)" in capsys.readouterr().err
