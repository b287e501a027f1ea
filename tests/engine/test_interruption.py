"""A training that is killed between epochs and started again ends with the bits that it would have had."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parent / "drivers" / "always_keeping.py"
# Two cosines with warm-ups, crops and flips: what an epoch does hangs on its number. A snapshot after four epochs.
RECIPE = {
    "epochs": 8,
    "batch_size": 64,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "warmup_epochs": 2,
    "cycles": 2,
    "crop": 1,
    "flip": True,
}
HALF = {"accelerator": "cpu", "precision": "mixed_float16", "kernels": "eigen", "impl_noise": "reduction-order"}


@pytest.fixture(scope="module")
def here(workshop):
    return workshop(
        RECIPE, model="smallcnn-bn", hardware=("cpu", "half"), own_hardware={"half": HALF}, variants=["bit_3"]
    )


def start(here, *named):
    command = [sys.executable, DRIVER, *map(str, here.command(*named))]
    return subprocess.Popen(command, cwd=here.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def kill_after(here, epoch, ending, *named):
    """Start a training and end it as soon as it says that an epoch is over; return what it had said."""
    process, said = start(here, *named), []
    for line in process.stdout:
        said.append(line)
        if line.startswith(f"epoch {epoch} of "):
            process.send_signal(ending)
            break
    process.stdout.close()
    assert process.wait() == -ending, said
    return said


def finish(here, *named):
    process = start(here, *named)
    said = process.communicate()[0]
    assert process.returncode == 0, said
    return said


def without_times(history):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in history]


@pytest.fixture(scope="module")
def control(here):
    return here.train("control", 1, "cpu")


def is_whole_again(here, out, whole, *kills):
    """Whether a run that was resumed after each kill is the run that nobody disturbed."""
    broken = here.read(out)
    assert broken.weight_bytes == whole.weight_bytes
    assert len(broken.weights["conv1/kernel/"]) == 1
    assert without_times(broken.history) == without_times(whole.history)
    assert whole.record["resumed_after"] == []
    # When an epoch's end is told, the checkpoint of the next has perhaps not been written.
    assert len(broken.record["resumed_after"]) == len(kills)
    assert all(kill - 1 <= epoch <= kill for epoch, kill in zip(broken.record["resumed_after"], kills, strict=True))
    assert not list(here.folder.glob(f"checkpoints/*{out}*"))


def test_a_training_that_slurm_ends_goes_on_bit_for_bit(here, control):
    named = ("control", 1, "cpu", "ended")
    kill_after(here, 3, signal.SIGTERM, *named)
    assert not (here.folder / "ended").exists()
    said = finish(here, *named)
    assert "goes on after epoch " in said
    assert "epoch 1 of 8" not in said
    is_whole_again(here, "ended", control, 3)


def test_a_training_that_is_killed_before_and_after_its_snapshot_goes_on_with_it_and_its_loss_scale(here):
    named = ("impl", 1, "half", "killed")
    kill_after(here, 3, signal.SIGKILL, *named)
    kill_after(here, 6, signal.SIGKILL, *named)
    finish(here, *named)
    is_whole_again(here, "killed", here.train("impl", 1, "half"), 3, 6)


def test_a_training_that_is_killed_where_its_bit_is_moved_moves_it_once(here):
    named = ("bit_3", 1, "cpu", "moved")
    kill_after(here, 3, signal.SIGKILL, *named)
    finish(here, *named)
    is_whole_again(here, "moved", here.train("bit_3", 1, "cpu"), 3)


def test_another_run_s_checkpoint_is_told_and_training_starts_anew(here):
    kill_after(here, 3, signal.SIGKILL, "control", 1, "cpu", "mine")
    (kept,) = here.folder.glob("checkpoints/mine.npz")
    kept.rename(kept.with_name("other.npz"))
    said = finish(here, "control", 2, "cpu", "other")
    assert "checkpoints/other.npz: spec: of another run" in said
    assert "epoch 1 of 8" in said
    assert here.read("other").record["resumed_after"] == []


def test_a_damaged_checkpoint_is_told_and_training_starts_anew_and_ends_the_same(here, control):
    kill_after(here, 3, signal.SIGKILL, "control", 1, "cpu", "hurt")
    path = here.folder / "checkpoints/hurt.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    said = finish(here, "control", 1, "cpu", "hurt")
    assert "checkpoints/hurt.npz: damaged" in said
    is_whole_again(here, "hurt", control)
