"""Recorded steps: which they are, what a run keeps of them, and when nothing is kept."""

import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.training import recorded_steps, runs, snapshots
from toolnoise.training.recorded_steps import schedule

STEPS = [0, 1, 2, 4, 6]


@pytest.mark.parametrize(
    ("last", "steps"), [(1, [0, 1]), (2, [0, 1, 2]), (6, STEPS), (8, [0, 1, 2, 4, 8]), (9, [0, 1, 2, 4, 8, 9])]
)
def test_powers_of_two_and_the_start_and_the_end_are_recorded_each_once(last, steps):
    assert schedule(last) == steps


def record(epochs, **recipe):
    return {"spec": {"recipe": {"epochs": 3} | recipe}, "steps_per_epoch": 2, "epochs": epochs}


@pytest.mark.parametrize(("epochs", "steps"), [(3, STEPS), (2, [0, 1, 2, 4]), (1, [0, 1, 2])])
def test_a_run_that_diverges_has_recorded_the_steps_before(epochs, steps):
    assert recorded_steps.expected(record(epochs, record_steps=True)) == steps


def test_a_run_whose_recipe_does_not_ask_for_it_has_recorded_nothing():
    assert recorded_steps.expected(record(3)) == []


@pytest.fixture
def recording(make_run):
    """A run of three epochs of two steps that has recorded them; `change` edits what its file has."""

    def make(change=lambda _: None):
        def edit(parts):
            parts["record"]["spec"]["recipe"] |= {"epochs": 3, "record_steps": True}
            parts["record"] |= {"steps_per_epoch": 2, "recorded_steps": STEPS}
            kept = [parts["final"] | {"logits": np.full((4, 2), step, np.float32)} for step in STEPS]
            packs = dict(snapshots.packed(kept, recorded_steps.MARK))
            change(packs)
            parts["final"] |= packs

        return runs.read(make_run(1, edit))

    return make


def test_what_was_recorded_is_read_by_step_and_stays_in_the_file(recording):
    run = recording()
    recorded = run.recorded()
    assert {step: int(one["logits"][0, 0]) for step, one in recorded.items()} == {step: step for step in STEPS}
    assert list(recorded[0]) == ["a/kernel", "a/bias", "logits"]
    assert not any(tensor.flags.owndata for one in recorded.values() for tensor in one.values())


def test_the_weights_of_such_a_run_are_the_final_ones_and_it_has_no_snapshots(recording):
    run = recording()
    assert list(run.weights()) == ["a/kernel", "a/bias"]
    assert len(run.snapshots()) == 1
    assert "logits//" in arrays.npz_names(run.folder / "weights.npz")


DAMAGES = {
    "a tensor is missing": (lambda packs: packs.pop("a/bias//"), "a/bias//: found nothing; run.json's recipe keeps"),
    "logits are missing": (lambda packs: packs.pop("logits//"), "logits//: found nothing"),
    "a step too few": (
        lambda packs: packs.update({"a/bias//": np.zeros((4, 3), np.float32)}),
        "a/bias//: found (4, 3)",
    ),
    "of no tensor": (
        lambda packs: packs.update({"b//": np.zeros(5)}),
        "b//: found (5,); run.json's recipe keeps nothing",
    ),
}


@pytest.mark.parametrize(("change", "says"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_recorded_steps_are_one_line(change, says, recording, refused):
    assert says in refused(recording(change).recorded)


def test_a_record_without_the_number_of_steps_is_one_line(recording, refused):
    run = recording()
    del run.record["steps_per_epoch"]
    assert "run.json: steps_per_epoch: no such key" in refused(run.recorded)
