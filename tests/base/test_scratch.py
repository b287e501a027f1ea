"""Scratch files belong to who holds them, and files are written whole or not at all."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays, files, scratch
from toolnoise.base.errors import BadInput
from toolnoise.provenance import statements
from toolnoise.study import config

HOLDER = """
import sys; from pathlib import Path; from toolnoise.base import scratch
with scratch.{how}(Path(sys.argv[1])) as made:
    print(made, flush=True); sys.stdin.read()
"""


@pytest.fixture
def held():
    """A process that holds something; once it is killed, what it held is left behind."""
    running = []

    def start(how, path):
        command = [sys.executable, "-c", HOLDER.format(how=how), str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def here(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_next_writer_removes_what_a_killed_one_left_and_nothing_of_a_living_one(held, tmp_path):
    place = tmp_path / "weights.npz"
    (killed, left), (_, kept) = held("file", place), held("file", place)
    (tmp_path / ".weights.npz.backup").write_text("a person's")
    kill(killed)
    files.write_text(place, "whole")
    assert here(tmp_path) == sorted([os.path.basename(kept), ".weights.npz.backup", "weights.npz"])  # noqa: PTH119
    assert left != kept


def test_clean_removes_what_nobody_holds_wherever_it_lies(held, tmp_path):
    deep = tmp_path / "runs/1"
    deep.mkdir(parents=True)
    killed = [held("file", deep / "run.json"), held("claim", deep / "run.json"), held("folder", tmp_path)]
    _, alive = held("file", deep / "run.json")
    (deep / ".hidden").write_text("")
    for process, _ in killed:
        kill(process)
    removed = scratch.clean(tmp_path)
    assert len(removed) == 3
    assert here(tmp_path) == ["runs"]
    assert here(deep) == sorted([".hidden", os.path.basename(alive)])  # noqa: PTH119
    assert scratch.clean(tmp_path) == []


@pytest.mark.parametrize("how", ["file", "folder", "claim"])
def test_what_is_seen_late_is_made_once(how, tmp_path, monkeypatch):
    """On a network file system `stat` may not find a new file yet."""
    stat = Path.stat

    def late(path, **options):
        if scratch.is_scratch(path.name):
            raise FileNotFoundError
        return stat(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", late)
        # One that is tried again without end would fill the disk.
        made = iter(range(3))
        for name in ("mkstemp", "mkdtemp"):
            real = getattr(scratch.tempfile, name)
            patch.setattr(scratch.tempfile, name, lambda real=real, **options: (next(made), real(**options))[1])
        opened = os.open
        patch.setattr(scratch.os, "open", lambda *given, **options: (next(made), opened(*given, **options))[1])
        with getattr(scratch, how)(tmp_path if how == "folder" else tmp_path / "out.csv"):
            assert len(list(tmp_path.iterdir())) == 1


def test_an_output_is_made_by_one_process_at_a_time(held, tmp_path):
    first, _ = held("claim", tmp_path / "out.csv")
    with pytest.raises(BadInput, match=r"out\.csv: another process is making it"), scratch.claim(tmp_path / "out.csv"):
        pass
    with scratch.claim(tmp_path / "other.csv"):
        pass
    kill(first)
    with scratch.claim(tmp_path / "out.csv"):
        assert here(tmp_path) == [".out.csv.lock"]
    assert here(tmp_path) == []


def test_who_waits_comes_after_the_other(tmp_path):
    place, order = tmp_path / "file.bin", []

    def second():
        with scratch.claim(place, wait=True):
            order.append("second")

    with scratch.claim(place):
        other = threading.Thread(target=second)
        other.start()
        other.join(0.2)
        order.append("first")
    other.join()
    assert order == ["first", "second"]
    assert here(tmp_path) == []


@pytest.mark.parametrize("name", ["1.npz", "file", "a.json.intoto.json"])
def test_scratch_is_known_by_its_name(name, tmp_path):
    with scratch.file(tmp_path / name) as one:
        assert scratch.is_scratch(one.name)
        assert scratch.is_held(one)
    assert not scratch.is_scratch(name)
    assert not scratch.is_scratch(f".{name}")
    assert not scratch.is_scratch(f".{name}.x7")


# Files


ARRAYS = {"b/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array(["é"]), "empty": np.zeros((0, 2))}


@pytest.fixture
def place(tmp_path):
    """Where a file is to be written, in a folder that may not be there yet."""
    return tmp_path / "folder" / "file.txt"


@pytest.mark.parametrize("old", ["old", None])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failure_leaves_the_old_file_or_none_and_no_scratch(old, error, place):
    if old:
        files.write_text(place, old)
    with pytest.raises(type(error)), files.replacing(place) as scratch:
        scratch.write_text("half")
        raise error
    assert [path.read_text() for path in place.parent.iterdir()] == ([old] if old else [])


def test_the_new_file_is_invisible_until_it_is_whole(place):
    files.write_text(place, "old\r\nü\n")
    assert place.read_bytes() == "old\r\nü\n".encode()
    files.write_text(place, "old")
    with files.replacing(place) as scratch:
        scratch.write_text("half")
        assert place.read_text() == "old"
        assert scratch.parent == place.parent, "a rename across file systems is not atomic"
        assert scratch.name.startswith(".")


def test_file_and_folder_are_synced_around_the_rename(place, monkeypatch):
    done, replace = [], Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(str(Path(f"/proc/self/fd/{handle}").readlink())))
    monkeypatch.setattr(Path, "replace", lambda scratch, path: (done.append("rename"), replace(scratch, path))[1])
    files.write_text(place, "new")
    # The folder was made for it.
    *made, content, renamed, folder = done
    assert made == [str(place.parent.parent)]
    assert Path(content).parent == place.parent
    assert Path(content).name.startswith(f".{place.name}.")
    assert (renamed, folder) == ("rename", str(place.parent))


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(mask, mode, place):
    before = os.umask(mask)
    try:
        files.write_text(place, "")
        assert os.umask(mask) == mask, "the umask itself is left alone"
    finally:
        os.umask(before)
    assert place.stat().st_mode & 0o777 == mode


def test_json_is_sorted_readable_and_ends_a_line(place):
    files.write_json(place, {"b": 1, "a": [0.1]})
    assert place.read_text() == '{\n "a": [\n  0.1\n ],\n "b": 1\n}\n'
    assert files.read_json(place) == {"a": [0.1], "b": 1}
    # What cannot be read elsewhere is never written.
    with pytest.raises(ValueError, match="JSON"):
        files.write_json(place.with_name("other.json"), {"loss": float("nan")})
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_canonical_digest_ignores_the_order_of_keys_and_nothing_else():
    assert files.canonical_sha256({"a": 1, "b": [1, 2]}) == files.canonical_sha256({"b": [1, 2], "a": 1})
    values = [{"a": 1}, {"a": 1.0}, {"a": True}, {"a": "1"}, {"a": None}, {"a": [1]}, {"b": 1}, [1, 2], [2, 1]]
    assert len(set(map(files.canonical_sha256, values))) == len(values)


def test_equal_arrays_are_equal_bytes_whenever_they_are_written(tmp_path, monkeypatch):
    arrays.write_npz(tmp_path / "one.npz", ARRAYS)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    arrays.write_npz(tmp_path / "other.npz", ARRAYS)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()


# How each kind of file is written, and read.
KINDS = {
    "npz": (lambda path: arrays.write_npz(path, ARRAYS), arrays.read_npz),
    "compressed.npz": (lambda path: np.savez_compressed(path, **ARRAYS), arrays.read_npz),
    "npy": (lambda path: arrays.write_npy(path, ARRAYS["b/kernel"]), arrays.read_npy),
    "json": (lambda path: files.write_json(path, {"seeds": [1, 2]}), files.read_json),
}


@pytest.fixture(params=KINDS)
def kind(request, tmp_path):
    """A whole file of some kind, and its reader."""
    path = tmp_path / f"file.{request.param}"
    write, read = KINDS[request.param]
    write(path)
    return path, read


@pytest.mark.parametrize("kept", [0, 0.1, 0.95])
def test_a_truncated_or_missing_file_is_one_line(kept, kind, refused):
    path, read = kind
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    assert refused(read, path).startswith(f"{path}: damaged or truncated (")
    path.unlink()
    assert refused(read, path).startswith(f"{path}: no such file; expected a")


def test_a_damaged_byte_anywhere_is_one_line_or_harms_nothing(kind):
    path, read = kind
    whole = path.read_bytes()
    refusals = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :])
        try:
            read(path)
        except BadInput:
            refusals += 1
    assert refusals > len(whole) / 4


def test_nothing_is_pickled_and_a_pickle_is_refused_unread(tmp_path, refused):
    objects = np.array([{}, None], object)
    for write, value in ((arrays.write_npz, {"a": objects}), (arrays.write_npy, objects)):
        with pytest.raises(ValueError, match="allow_pickle"):
            write(tmp_path / "file", value)
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "file.npz", a=objects)
    assert "allow_pickle" in refused(arrays.read_npz, tmp_path / "file.npz")
    np.save(tmp_path / "file.npy", objects)
    assert "Python objects" in refused(arrays.read_npy, tmp_path / "file.npy")


AMBIGUOUS = {
    '{"a": {"b": 1, "c": 2, "b": 3}}': "key 'b' is repeated",
    '{"a": NaN}': "NaN is not a finite number",
    "[-Infinity]": "-Infinity is not a finite number",
    "1e999": "1e999 is not a finite number",
}


@pytest.mark.parametrize("read", [files.read_json, config.read_yaml])
@pytest.mark.parametrize(("text", "found"), AMBIGUOUS.items())
def test_json_that_two_readers_could_understand_differently_is_one_line(text, found, read, tmp_path, refused):
    (tmp_path / "study.json").write_text(text)
    assert found in refused(read, tmp_path / "study.json")


@pytest.mark.parametrize(
    "read",
    [
        files.read_json,
        files.sha256,
        arrays.read_npz,
        arrays.read_npy,
        config.read_yaml,
        statements.read,
        arrays.npz_names,
    ],
)
def test_a_pipe_or_a_device_where_a_file_belongs_is_refused_at_once(read, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path / "pipe.yaml", Path("/dev/zero")):
        with pytest.raises(BadInput, match="a pipe or a device"):
            read(path)


@pytest.mark.parametrize("read", [files.read_json, files.read_bytes, config.read_yaml])
def test_a_text_that_would_fill_the_memory_is_refused_with_the_limit(read, tmp_path):
    with (tmp_path / "study.json").open("wb") as file:
        file.truncate(3 * 10**9)
    with pytest.raises(BadInput, match=f"has 3000000000 bytes; at most {files.LARGEST_TEXT}"):
        read(tmp_path / "study.json")
