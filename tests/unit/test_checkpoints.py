import numpy as np
import pytest

from toolnoise import checkpoints
from toolnoise.checkpoints import NAMES, Checkpoints, Progress
from toolnoise.engines import State

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
SNAPSHOTS = [{path: tensor + epoch for path, tensor in STATE.weights.items()} for epoch in (1, 2)]
PROGRESS = Progress(
    STATE, [{"epoch": 1, "train_loss": 0.1 + 0.2, "weights_sha256": "ff"}], {"training": 1 / 3}, [1], SNAPSHOTS
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoints" / "1.npz"


@pytest.fixture
def written(path, monkeypatch):
    """A checkpoint that lies there."""
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0)
    Checkpoints(path, IDENTITY).write(lambda: PROGRESS)
    return path


def tensors(state, snapshots=()):
    groups = {"weights": state.weights, **state.slots, **dict(enumerate(snapshots))}
    return {
        (group, name): (array.dtype, array.shape, array.tobytes())
        for group, named in groups.items()
        for name, array in named.items()
    }


def test_what_is_read_is_what_was_written_bit_for_bit(written):
    found = Checkpoints(written, IDENTITY).read()
    assert found[1:4] == PROGRESS[1:4]
    assert found.state.step == 42
    assert list(found.state.weights) == list(STATE.weights)
    assert tensors(found.state, found.snapshots) == tensors(STATE, SNAPSHOTS)


def test_before_the_first_cycle_ends_there_are_no_snapshots(path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0)
    Checkpoints(path, IDENTITY).write(lambda: PROGRESS._replace(snapshots=[]))
    assert Checkpoints(path, IDENTITY).read().snapshots == []


def test_nothing_is_written_before_its_time(path):
    Checkpoints(path, IDENTITY).write(lambda: pytest.fail("a short run pays nothing"))
    assert not path.exists()


def test_a_run_without_a_checkpoint_starts_fresh_and_says_nothing(path, capsys):
    assert Checkpoints(path, IDENTITY).read() is None
    assert capsys.readouterr().err == ""


def starts_anew(path, capsys, identity=IDENTITY):
    assert Checkpoints(path, identity).read() is None
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"toolnoise: {path}: ")
    assert said.endswith("; training starts anew\n")
    return said


@pytest.mark.parametrize("key", IDENTITY)
def test_a_checkpoint_of_something_else_is_never_used(key, written, capsys):
    told = f"found {IDENTITY[key]!r}, another run's; expected 'another'" if key in NAMES else "of another run"
    assert f": {key}: {told}" in starts_anew(written, capsys, IDENTITY | {key: "another"})


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_checkpoint_is_never_used(share, written, capsys):
    content = written.read_bytes()
    written.write_bytes(content[: int(len(content) * share)])
    assert "training starts anew" in starts_anew(written, capsys)


def test_a_flipped_bit_in_any_tensor_is_noticed(written, capsys):
    content = written.read_bytes()
    for array in (STATE.weights["conv/kernel"], STATE.slots["m"]["conv/kernel"], SNAPSHOTS[1]["conv/kernel"]):
        place = content.index(array.tobytes()) + 5
        damaged = bytearray(content)
        damaged[place] ^= 1
        written.write_bytes(bytes(damaged))
        assert "training starts anew" in starts_anew(written, capsys)


@pytest.mark.parametrize("about", [b"", b"{", b"[]", b"null", b'{"identity": 3}', b'{"identity": {}, "step": 1}'])
def test_a_file_that_train_did_not_write_is_never_used(about, path, capsys):
    path.parent.mkdir()
    np.savez(path, about=np.frombuffer(about, np.uint8))
    assert "damaged" in starts_anew(path, capsys)


def test_an_archive_without_a_description_is_never_used(path, capsys):
    path.parent.mkdir()
    np.savez(path, other=np.zeros(2))
    assert "damaged" in starts_anew(path, capsys)


def test_the_end_of_a_run_removes_its_checkpoint_and_what_a_killed_write_left_but_no_other_run_s(written):
    debris = written.with_name(".1.npz.k3jd.npz")
    others = [written.with_name(name) for name in ("11.npz", ".11.npz.k3jd.npz")]
    for path in (debris, *others):
        path.write_bytes(b"")
    Checkpoints(written, IDENTITY).discard()
    assert sorted(written.parent.iterdir()) == sorted(others)


def test_a_full_disk_is_told_and_does_not_end_the_run(path, monkeypatch, capsys):
    def refuse(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0)
    monkeypatch.setattr(checkpoints.arrays, "write_npz", refuse)
    Checkpoints(path, IDENTITY).write(lambda: PROGRESS)
    assert "no checkpoint ([Errno 28] No space left on device)" in capsys.readouterr().err
