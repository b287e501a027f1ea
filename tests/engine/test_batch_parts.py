"""The gradient of a batch as a sum over its parts: the same draws and the same bits each time, other roundings."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

# Crops, flips and masks of dropout: a part has those of its examples.
RECIPE = {"epochs": 3, "batch_size": 64, "learning_rate": 0.01, "crop": 1, "flip": True}
TORCH = {"accelerator": "cpu", "engine": "torch", "impl_noise": "reduction-order"}
WAYS = {
    "whole": {},
    "in-turn": {"accumulate": 2},
    "at-once": {"world": 2},
    "both": {"world": 2, "accumulate": 2},
    "in-turn-4": {"accumulate": 4},
    "not-whole": {"world": 3},
}


@pytest.fixture(scope="module")
def here(workshop):
    own = {name: TORCH | way for name, way in WAYS.items()}
    return workshop(RECIPE, model="smallcnn-dropout", hardware=tuple(own), own_hardware=own)


@pytest.fixture(scope="module")
def trained(here):
    return {name: here.train("algo", 1, name) for name in WAYS if name != "not-whole"}


def losses(run):
    return np.array([float(row["train_loss"]) for row in run.history])


def test_the_sum_over_parts_differs_in_roundings_only(trained):
    whole = trained["whole"]
    for run in (run for name, run in trained.items() if name != "whole"):
        assert run.weight_bytes != whole.weight_bytes
        assert [row["draws_sha256"] for row in run.history] == [row["draws_sha256"] for row in whole.history]
        assert [row["train_accuracy"] for row in run.history][:1] == [whole.history[0]["train_accuracy"]]
        np.testing.assert_allclose(losses(run), losses(whole), rtol=1e-4)


def test_two_processes_add_up_as_one_does_in_turn(trained):
    assert trained["at-once"].weight_bytes == trained["in-turn"].weight_bytes
    # Four parts: two sums of two, or one after the other.
    assert trained["both"].weight_bytes != trained["in-turn-4"].weight_bytes


def test_replicates_in_several_processes_are_bit_equal(here, trained):
    here.finish("algo", 1, "at-once", "again")
    assert here.read("again").digests == trained["at-once"].digests


def test_a_run_in_several_processes_goes_on_with_the_same_bits(here, trained):
    here.kill_after(2, signal.SIGKILL, "algo", 1, "both", "ended")
    here.finish("algo", 1, "both", "ended")
    run = here.read("ended")
    assert run.record["resumed_after"] in ([1], [2])
    assert run.weight_bytes == trained["both"].weight_bytes


def test_a_batch_that_has_no_such_parts_is_refused_in_one_line(here, refusal):
    line = refusal(here.attempt("algo", 1, "not-whole"))
    assert "hardware not-whole: world: found 3 parts of a batch; a divisor of the 64 examples of a batch" in line


def _begun(here, out):
    """A run in two processes after its first epoch, and the number of the other process."""
    process = here.begin("algo", 1, "at-once", out)
    assert any(line.startswith("epoch 1 of ") for line in process.stdout)
    (other,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return process, int(other)


def test_a_process_that_ends_early_ends_the_run_in_one_line(here):
    process, other = _begun(here, "lonely")
    os.kill(other, signal.SIGKILL)
    said = process.communicate()[0]
    assert process.returncode == 2
    assert "hardware at-once: world: a process has ended early" in said
    assert "Traceback" not in said


def test_the_others_end_with_the_first(here, until):
    process, other = _begun(here, "killed")
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    until(lambda: not Path(f"/proc/{other}").exists())
