"""A training that is killed at any operation, or whose disk fills up at any, ends with the same bits.

A full disk is told in one line, and the audit finds nothing.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import bits, run_folder

KILLS = 40
MIB = 16
# A small disk fills up at every tenth operation.
EACH = 10
WITHOUT_ROOM = "no space is left on the disk"


@pytest.fixture(scope="module")
def place(tmp_path_factory, prepared):
    """The study, with its data prepared."""
    return shutil.copytree(prepared, tmp_path_factory.mktemp("kills"), dirs_exist_ok=True)


@pytest.fixture(scope="module")
def driver(place, drive):
    return drive(place)


@pytest.fixture(scope="module")
def undisturbed(driver, planned):
    """The operations of two trainings to which nothing happens."""
    ended = [driver.do(planned["train", str(seed)]) for seed in (1, 2)]
    assert [one.code for one in ended] == [0, 0], ended
    return [one.done for one in ended]


def test_each_rename_and_each_new_folder_is_synced(undisturbed):
    for done in undisturbed:
        # The file before it is renamed, and its folder afterwards; the folder that a new folder lies in.
        assert done.count("s") == 2 * done.count("r") + done.count("m")
        assert not re.search(r"[^s]r|r[^s]|m[^s]", done)


def test_a_training_that_is_killed_anywhere_ends_with_the_same_bits(
    undisturbed, place, planned, driver, drawn, findings, record_property
):
    """Each is killed and made again, two at a time."""
    cases = list(enumerate(drawn(len(undisturbed[1]), KILLS), 3))
    for start in range(0, len(cases), 2):
        pair = [(planned["train", str(seed)], number) for seed, number in cases[start : start + 2]]
        killed = driver.perform(*((argv, {"fault": "kill", "at": number}) for argv, number in pair))
        assert {one.code for one in killed} == {-signal.SIGKILL}, pair
        again = driver.perform(*((argv, {}) for argv, _ in pair))
        assert {one.code for one in again} == {0}, again
    for seed, number in cases:
        assert bits(place, seed) == bits(place, 1), number
    assert findings(place, complete=False) == []
    record_property("kills survived, bit-equal", len(cases))


@pytest.mark.usefixtures("undisturbed")
def test_two_verbs_on_one_output_make_it_once(planned, driver, place):
    argv = planned["train", "90"]
    ended = driver.perform((argv, {}), (argv, {}))
    assert sorted(one.code for one in ended) in ([0, 0], [0, 2])
    for one in ended:
        assert one.code == 0 or "another process is making it" in one.said
    assert bits(place, 90) == bits(place, 1)


@pytest.mark.parametrize(("what", "make"), [("a folder", Path.mkdir), ("a pipe or a device", os.mkfifo)])
def test_what_is_in_the_way_is_found_before_a_training_starts(what, make, planned, driver, place):
    record = run_folder(place, 91) / "run.json"
    record.parent.mkdir(parents=True)
    make(record)
    ended = driver.do(planned["train", "91"])
    in_the_way = f"toolnoise: {record.relative_to(place)}: {what} is in the way; a file, or nothing\n"
    assert (ended.code, ended.said) == (2, in_the_way)
    assert [path.name for path in record.parent.iterdir()] == ["run.json"]
    shutil.rmtree(record.parent)


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A small disk of its own."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MIB}m", "tmpfs", folder]
    mounted = subprocess.run(mount, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted without root ({mounted.stderr.strip()})")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def full(disk, prepared, driver, planned):
    """Train in the study on that disk, which fills up at one of the operations and then has room again."""
    shutil.copytree(prepared, disk, dirs_exist_ok=True)

    def train(seed, at):
        filler = disk / "filler"
        ended = driver.do(planned["train", str(seed)], folder=str(disk), fault="fill", at=at, filler=str(filler))
        filler.unlink()
        return ended

    return train


def test_a_training_on_a_disk_that_fills_up_says_so_and_ends_with_the_same_bits(
    undisturbed, full, disk, place, planned, driver, findings
):
    refused, at = 0, range(1, len(undisturbed[1]), EACH)
    for seed, number in enumerate(at, 3):
        ended = full(seed, number)
        # The log lies on the same disk: its line may be lost with it.
        assert ended.code in (0, 2), (number, ended)
        assert "Traceback" not in ended.said
        told = [line for line in ended.said.splitlines() if line.startswith("toolnoise: ")]
        assert all(WITHOUT_ROOM in line for line in told if ": no checkpoint (" not in line), ended.said
        refused += ended.code == 2
        again = driver.do(planned["train", str(seed)], folder=str(disk))
        assert again.code == 0, again.said
        assert bits(disk, seed) == bits(place, 1), number
    assert refused >= len(at) / 2
    assert findings(disk, complete=False) == []


def test_a_full_disk_is_found_before_a_training_starts(full, disk):
    ended = full(90, 1)
    assert ended.code == 2
    assert "epoch" not in ended.said
    assert not list(run_folder(disk, 90).glob("*"))


def test_a_full_disk_does_not_kill_who_fills_a_mapped_array(disk):
    program = """
import sys
from toolnoise.base import arrays
from toolnoise.base.errors import errors_in_one_line
with errors_in_one_line(), arrays.filling_npy(sys.argv[1], (64, 2**20)) as array:
    array[:] = 1
"""
    done = subprocess.run([sys.executable, "-c", program, disk / "large.npy"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"toolnoise: {disk / 'large.npy'}: {WITHOUT_ROOM}\n")
    assert not list(disk.glob("*.npy"))


@pytest.mark.usefixtures("undisturbed")
def test_a_full_disk_under_its_log_does_not_end_a_job(place, planned):
    with Path("/dev/full").open("w") as full:
        script = Path(sys.executable).with_name("toolnoise")
        done = subprocess.run([script, *planned["train", "92"]], cwd=place, stdout=full, stderr=full)
    assert done.returncode == 0
    assert bits(place, 92) == bits(place, 1)
