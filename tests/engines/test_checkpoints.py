import json
import os
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.engines import State
from toolnoise.training import checkpoints
from toolnoise.training.checkpoints import NAMES, Checkpoints, Progress

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
EPOCHS = 3
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


def digest(weights):
    return "ff" if weights["conv/kernel"].any() else "00"


def read(path, identity=IDENTITY):
    return Checkpoints(path, identity, EPOCHS).read(lambda: BLANK, digest)


def write(path, progress=PROGRESS):
    kept = Checkpoints(path, IDENTITY, EPOCHS)
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
    Checkpoints(path, IDENTITY, EPOCHS).write(lambda: pytest.fail("a short run pays nothing"))
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


def without(tensors, name):
    return {path: tensor for path, tensor in tensors.items() if path != name}


@pytest.mark.parametrize(
    ("group", "state"),
    [
        ("weights", STATE._replace(weights=without(STATE.weights, "bn/moving_mean"))),
        ("weights", STATE._replace(weights=STATE.weights | {"conv/kernel": np.ones((3, 5), np.float32)})),
        ("weights", STATE._replace(weights=STATE.weights | {"conv/kernel": np.ones((3, 4), np.float64)})),
        ("m", STATE._replace(slots=without(STATE.slots, "m"))),
        ("loss_scale", STATE._replace(slots=STATE.slots | {"loss_scale": {"other": np.array(3, np.int32)}})),
        ("v", STATE._replace(slots=STATE.slots | {"v": STATE.slots["m"]})),
    ],
)
def test_a_checkpoint_without_just_the_tensors_and_slots_of_the_engine_is_never_used(group, state, path, capsys):
    assert f": {group}: not the tensors" in starts_anew(write(path, PROGRESS._replace(state=state)), capsys)


def test_a_checkpoint_whose_snapshots_or_recorded_steps_lack_a_tensor_is_never_used(path, capsys):
    snapshots = [without(snapshot, "bn/moving_mean") for snapshot in SNAPSHOTS]
    assert "snapshot 1: not the tensors" in starts_anew(write(path, PROGRESS._replace(snapshots=snapshots)), capsys)
    recorded = [without(one, "conv/kernel") for one in RECORDED]
    assert "snapshot 3: not the tensors" in starts_anew(write(path, PROGRESS._replace(recorded=recorded)), capsys)
    # Nor one whose weights are not those of its own last epoch.
    planted = STATE._replace(weights=BLANK.weights)
    assert "weights: not those" in starts_anew(write(path, PROGRESS._replace(state=planted)), capsys)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_in_a_checkpoint_s_place_is_refused(make, path):
    path.parent.mkdir()
    make(path)
    with pytest.raises(BadInput, match="not a file; remove it: a checkpoint belongs there"):
        read(path)


def seal(path, tensors):
    """Write a file whose digest is right, whatever is in it."""
    with files.replacing(path) as scratch, scratch.open("wb+") as file:
        file.write(checkpoints._header("0" * 64))
        arrays.pack(file, tensors)
        whole = checkpoints._digest(file)
        file.seek(0)
        file.write(checkpoints._header(whole))


def test_a_file_that_train_did_not_write_is_never_used(path, capsys):
    for about in (b"", b"{", b"[" * 100_000):
        seal(path, {"about": np.frombuffer(about, np.uint8)})
        assert "damaged" in starts_anew(path, capsys)
    seal(path, {"other": np.zeros(2)})
    assert "damaged" in starts_anew(path, capsys)
    # Without a digest.
    np.savez(path, about=np.frombuffer(b"{}", np.uint8))
    assert "damaged" in starts_anew(path, capsys)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda _: None, "found null"),
        (lambda about: about | {"identity": 3}, "identity: found 3"),
        (lambda about: without(about, "rows"), "rows: no such key"),
        (lambda about: about | {"rows": [ROW | {"train_loss": "x"}]}, 'rows[0].train_loss: found "x"'),
        (lambda about: about | {"rows": [ROW, ROW]}, "rows: found 2; one for each"),
        (lambda about: about | {"rows": [ROW | {"epoch": n} for n in (1, 2, 3)]}, "rows: found 3; one for each"),
    ],
)
def test_a_description_of_another_shape_is_never_used(change, told, written, capsys):
    with written.open("rb") as file:
        file.seek(len(checkpoints._header("0" * 64)))
        kept = arrays.unpack(file)
    about = json.dumps(change(json.loads(kept["about"].tobytes())))
    seal(written, kept | {"about": np.frombuffer(about.encode(), np.uint8)})
    assert told in starts_anew(written, capsys)


def test_the_end_of_a_run_removes_its_checkpoint_and_what_a_killed_write_left_but_no_other_run_s(written):
    debris = written.with_name(".1.npz.13gkcno8.npz")
    others = [written.with_name(name) for name in ("11.npz", ".11.npz.13gkcno8.npz")]
    for path in (debris, *others):
        path.write_bytes(b"")
    files.discard(written)
    assert sorted(written.parent.iterdir()) == sorted(others)


def test_a_full_disk_is_reported_and_does_not_end_the_run(path, monkeypatch, capsys):
    def refuse(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.arrays, "pack", refuse)
    write(path)
    assert list(path.parent.iterdir()) == []
    assert "no checkpoint (no space is left on the disk)" in capsys.readouterr().err
