"""Faults of the machine: what they are called, that they end a verb in one line, and what they leave whole."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from toolnoise import cli
from toolnoise.base import arrays, faults, files
from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.programs import first_study


def said(error, capsys, job=""):
    with pytest.raises(SystemExit) as end, errors_in_one_line(job):
        raise error
    assert end.value.code == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    return text.removeprefix("toolnoise: ").rstrip("\n")


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (errno.ENOSPC, "no space is left on the disk"),
        (errno.EIO, "the disk reports an input/output error"),
        (errno.EACCES, "no permission"),
        (errno.ENOTDIR, "a file is in the way where a folder belongs"),
    ],
)
def test_a_fault_is_one_line_with_the_output_and_its_name(number, name, tmp_path, capsys):
    place = tmp_path / "out.csv"
    files.write_text(place, "whole")
    with pytest.raises(OSError, match=r"out\.csv") as caught, files.replacing(place) as scratch:
        scratch.write_text("half")
        raise OSError(number, os.strerror(number))
    assert said(caught.value, capsys) == f"{place}: {name}"
    assert [path.read_text() for path in tmp_path.iterdir()] == ["whole"]


def test_a_disk_without_room_for_temporary_files_is_one_line():
    program = """
import resource, sys
from toolnoise import cli
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
cli.main(["check", "--", sys.executable, "-c", "pass"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("toolnoise: temporary files: No usable temporary directory found in [")


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_is_filled_or_left_as_it_was(there, tmp_path):
    place = tmp_path / "page"
    if there:
        place.mkdir()
    with pytest.raises(OSError, match="full") as caught, files.filling(place) as scratch:
        (scratch / "half").write_text("half")
        raise OSError(errno.ENOSPC, "full", "a source", None, str(scratch / "half"))
    assert faults.fault_line(caught.value) == f"{place}: no space is left on the disk"
    assert place.exists() == there
    with files.filling(place) as scratch:
        (scratch / "a").mkdir()
        (scratch / "a/b").write_text("whole")
        assert [path for path in place.iterdir() if not path.name.startswith(".")] == []
    assert [path.name for path in place.iterdir()] == ["a"]
    assert (place / "a/b").read_text() == "whole"


KERAS = "Exception encountered when calling Add.call().\n\n"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 2.50 GiB for an array"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes.\nmore"),
        # Keras puts a line of its own before the framework's.
        RuntimeError(f"{KERAS}CUDA out of memory. Tried to allocate 1 GiB"),
    ],
)
def test_too_little_memory_is_one_line_with_the_job_and_what_was_asked_for(error, capsys):
    line, asked = said(error, capsys, "train smallcnn/1"), str(error).removeprefix(KERAS).splitlines()[0]
    assert line.startswith(f"train smallcnn/1: not enough memory: {asked}")


def test_what_fails_beside_the_output_is_not_called_the_output(monkeypatch, capfd):
    def fails(_):
        raise OSError(errno.EIO, "read")

    monkeypatch.setattr(first_study, "write", fails)
    with pytest.raises(SystemExit):
        cli.main(["init", "command"])
    assert capfd.readouterr().err == "toolnoise: a file: the disk reports an input/output error\n"


@pytest.mark.parametrize("error", [ValueError("a defect"), OSError("unknown"), FileNotFoundError(2, "no", "x")])
def test_a_defect_stays_a_traceback(error):
    with pytest.raises(type(error)), errors_in_one_line():
        raise error
    assert not faults.fault_line(error)


def test_a_line_has_no_sign_that_a_terminal_obeys_wherever_it_is_printed(capsys):
    assert said(BadInput("st\x1b[2Judy.yaml", "grid", "found \a"), capsys) == r"st\x1b[2Judy.yaml: grid: found \x07"


def test_ctrl_c_ends_without_a_word_and_with_130(capsys):
    with pytest.raises(SystemExit) as end, errors_in_one_line():
        raise KeyboardInterrupt
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("make", "what"), [(os.mkdir, "a folder"), (os.mkfifo, "a pipe or a device")])
def test_what_is_no_file_is_never_replaced(make, what, tmp_path):
    make(tmp_path / "out")
    for write in (lambda path: files.write_text(path, ""), files.require_writable):
        with pytest.raises(BadInput, match=f"out: {what} is in the way"):
            write(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_place_is_tried_before_the_work_and_left_as_it_was(tmp_path):
    files.require_writable(tmp_path / "new/out.csv")
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file") as caught:
        files.require_writable(tmp_path / "file/out.csv")
    assert faults.fault_line(caught.value).endswith("a file is in the way where a folder belongs")


def test_a_mapped_array_has_its_place_on_the_disk_before_it_is_filled(tmp_path):
    with arrays.filling_npy(tmp_path / "a.npy", (1000, 1000)) as array:
        (scratch,) = tmp_path.iterdir()
        assert scratch.stat().st_blocks * 512 >= 4_000_000
        array[:] = 1
    assert np.load(tmp_path / "a.npy").sum() == 1e6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_under_what_a_verb_prints_is_one_line():
    verb = ["plan", "--sd", "0.3", "--gain", "0.3"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolnoise.cli", *verb], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "toolnoise: standard output: no space is left on the disk\n"


@pytest.mark.parametrize(
    ("module", "extra"),
    [("sklearn", "run"), ("torch", "torch"), ("numpy", ""), ("toolnoise.nowhere", ""), ("snake", "")],
)
def test_a_missing_package_of_an_extra_is_one_line_with_what_to_install_and_any_other_a_defect(module, extra):
    missing = ModuleNotFoundError(f"No module named {module!r}", name=module)
    assert faults.fault_line(missing) == (f"{module}: not installed; pip install 'toolnoise[{extra}]'" if extra else "")
