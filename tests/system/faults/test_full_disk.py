"""A disk that is full at any moment costs no result: one line, and the same bits once there is room again."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import bits, run_folder

MIB = 16
# A small disk fills up at every tenth operation.
EACH = 10
WITHOUT_ROOM = "no space is left on the disk"


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A small disk of its own."""
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MIB}m", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted without root ({mounted.stderr.strip()})")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def place(disk, prepared):
    return shutil.copytree(prepared, disk, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def driver(place, drive):
    return drive(place)


def lines(said):
    """What a verb said of its failure."""
    assert "Traceback" not in said
    return [line for line in said.splitlines() if line.startswith("toolnoise: ") and ": no checkpoint (" not in line]


def test_a_training_on_a_disk_that_fills_up_says_so_and_ends_with_the_same_bits(place, planned, driver, findings):
    undisturbed = [driver.do(planned["train", str(seed)]) for seed in (1, 2)]
    assert [one.code for one in undisturbed] == [0, 0], undisturbed
    at = range(1, len(undisturbed[1].done), EACH)
    refused = 0
    for seed, number in enumerate(at, 3):
        argv, filler = planned["train", str(seed)], place / "filler"
        full = driver.do(argv, fault="fill", at=number, filler=str(filler))
        # The log lies on the same disk: its line may be lost with it.
        assert full.code in (0, 2), (number, full)
        assert all(WITHOUT_ROOM in line for line in lines(full.said)), full.said
        refused += full.code == 2
        filler.unlink()
        again = driver.do(argv)
        assert again.code == 0, again.said
        assert bits(place, seed) == bits(place, 1), number
    assert refused >= len(at) / 2
    assert findings(place, complete=False) == []


def test_a_full_disk_is_found_before_a_training_starts(place, planned, driver):
    (place / "filler").write_bytes(b"")
    argv = planned["train", "19"]
    full = driver.do(argv, fault="fill", at=1, filler=str(place / "filler"))
    (place / "filler").unlink()
    assert full.code == 2
    assert "epoch" not in full.said
    assert not list(run_folder(place, 19).glob("*"))


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


def test_a_full_disk_under_its_log_does_not_end_a_job(place, planned):
    argv = planned["train", "20"]
    with Path("/dev/full").open("w") as full:
        script = Path(sys.executable).with_name("toolnoise")
        done = subprocess.run([script, *argv], cwd=place, stdout=full, stderr=full)
    assert done.returncode == 0
    assert bits(place, 20) == bits(place, 1)
