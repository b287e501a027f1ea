"""Scratch files belong to who holds them, and to nobody once that process has ended."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from toolnoise.base import files, scratch
from toolnoise.base.errors import BadInput

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


@pytest.mark.parametrize("name", ["weights.npz", "1.npz", "table.md", "file", "a.json.intoto.json"])
def test_scratch_is_known_by_its_name(name, tmp_path):
    with scratch.file(tmp_path / name) as one:
        assert scratch.is_scratch(one.name)
        assert scratch.is_held(one)
    assert not scratch.is_scratch(name)
    assert not scratch.is_scratch(f".{name}")
    assert not scratch.is_scratch(f".{name}.x7")
