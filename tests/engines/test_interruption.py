"""A training that is killed between epochs and started again ends with the bits that it would have had."""

import signal

import pytest

pytestmark = pytest.mark.long

# Two cosines with warm-ups, crops and flips: what an epoch does hangs on its number. A snapshot after four epochs, and
# what is recorded after steps 1, 2, 4, ...
RECIPE = {
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
def here(workshop):
    return workshop(
        RECIPE, model="smallcnn-bn", hardware=("cpu", "half"), own_hardware={"half": HALF}, variants=["bit_3"]
    )


@pytest.fixture(scope="module")
def control(here):
    return here.train("control", 1, "cpu")


@pytest.fixture(scope="module")
def cut_off(here):
    """The checkpoint of a control run that Slurm ended after its third epoch; it lies there for the run `ended`."""
    here.kill_after(3, signal.SIGTERM, "control", 1, "cpu", "ended")
    # The lock of the output is no result: nobody holds it any more, and the next process takes it.
    assert [path.name for path in (here.folder / "ended").iterdir()] in ([], [".weights.npz.lock"])
    return (here.folder / "checkpoints/ended.npz").read_bytes()


def outcome(run):
    """What a run has in common with the same run that was killed and went on."""
    return run.weight_bytes, len(run.weights["conv1/kernel/"]), run.untimed


def went_on(here, out, *kills):
    """Whether a run went on after each kill and left no checkpoint."""
    after = here.read(out).record["resumed_after"]
    left = list(here.folder.glob(f"checkpoints/*{out}*"))
    # When an epoch's end is told, the checkpoint of the next has perhaps not been written.
    near = [epoch in (kill - 1, kill) for epoch, kill in zip(after, kills, strict=True)]
    return all(near) and not left


@pytest.mark.usefixtures("cut_off")
def test_a_training_that_slurm_ends_goes_on_bit_for_bit(here, control):
    said = here.finish("control", 1, "cpu", "ended")
    assert "goes on after epoch " in said
    assert "epoch 1 of 8" not in said
    assert went_on(here, "ended", 3)
    assert control.record["resumed_after"] == []
    assert outcome(here.read("ended")) == outcome(control)


def test_a_training_that_is_killed_before_and_after_its_snapshot_goes_on_with_it_and_its_loss_scale(here):
    named = ("impl", 1, "half", "killed")
    here.kill_after(3, signal.SIGKILL, *named)
    here.kill_after(6, signal.SIGKILL, *named)
    here.finish(*named)
    assert went_on(here, "killed", 3, 6)
    assert outcome(here.read("killed")) == outcome(here.train("impl", 1, "half"))


def test_a_training_that_is_killed_where_its_bit_is_moved_moves_it_once(here):
    named = ("bit_3", 1, "cpu", "moved")
    here.kill_after(3, signal.SIGKILL, *named)
    here.finish(*named)
    assert went_on(here, "moved", 3)
    assert outcome(here.read("moved")) == outcome(here.train("bit_3", 1, "cpu"))


def test_a_damaged_checkpoint_is_told_and_training_starts_anew_and_ends_the_same(here, control, cut_off):
    content = bytearray(cut_off)
    content[len(content) // 2] ^= 0xFF
    (here.folder / "checkpoints/hurt.npz").write_bytes(bytes(content))
    said = here.finish("control", 1, "cpu", "hurt")
    assert "checkpoints/hurt.npz: damaged" in said
    assert went_on(here, "hurt")
    assert outcome(here.read("hurt")) == outcome(control)
