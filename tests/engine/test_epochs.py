"""What an epoch computes: from the streams' weights, as a plain loop would; whole or in parts."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from toolnoise import streams
from toolnoise.models.initial import Parameter, initial_weights

RATE = 0.4
DRAWN = {"conv/kernel": "GlorotUniform", "bn/gamma": "Ones", "logits/kernel": "GlorotUniform", "logits/bias": "Zeros"}


@pytest.fixture(scope="module")
def smooth(own_workshop):
    """A network with batch normalisation, and crops, flips and a warm-up."""
    return own_workshop("smooth", batch_size=8, epochs=3, schedule="cosine", warmup_epochs=0.5, crop=2, flip=True)


@pytest.fixture(scope="module")
def beside_keras(smooth):
    return smooth.drive("training", "against_keras")


def paths(found, who, case="adam"):
    start = f"{case}/{who}/"
    return {name.removeprefix(start): array for name, array in found.items() if name.startswith(start)}


def test_the_engine_starts_from_exactly_the_weights_of_the_streams(beside_keras):
    held = paths(beside_keras, "held")
    parameters = [Parameter(path, held[path].shape, True, kind, {}) for path, kind in DRAWN.items()]
    for path, drawn in initial_weights(parameters, 0, 0, "smooth").items():
        assert held[path].tobytes() == drawn.tobytes()


@pytest.mark.parametrize(
    "case", ["adam", "sgd", "without momentum", "regularised", "by kind", "by name", "adam by kind"]
)
def test_six_steps_are_close_to_six_steps_of_plain_keras(beside_keras, case):
    ours, theirs = paths(beside_keras, "engine", case), paths(beside_keras, "keras", case)
    assert len(ours) == 9
    for path, tensor in ours.items():
        np.testing.assert_allclose(tensor, theirs[path], rtol=0, atol=3e-6, err_msg=path)
        assert not np.array_equal(tensor, paths(beside_keras, "held", case)[path])
    np.testing.assert_allclose(*beside_keras[f"{case}/loss"], rtol=1e-5)
    assert len(set(beside_keras[f"{case}/accuracy"])) == 1


@pytest.mark.parametrize("path", ["conv/kernel", "bn/gamma", "dense/bias"])
def test_weight_decay_and_label_smoothing_leave_no_tensor_where_it_would_be(beside_keras, path):
    plain, regularised = (paths(beside_keras, "engine", case)[path] for case in ("sgd", "regularised"))
    assert np.abs(plain - regularised).max() > 1e-5


@pytest.mark.parametrize("path", ["bn/gamma", "bn/beta", "dense/bias"])
def test_a_rate_by_kind_leaves_no_tensor_of_that_kind_where_it_would_be(beside_keras, path):
    plain, by_kind = (paths(beside_keras, "engine", case)[path] for case in ("adam", "adam by kind"))
    assert np.abs(plain - by_kind).max() > 1e-4


def test_the_incomplete_batch_that_is_kept_is_one_more_step_of_plain_keras(own_workshop):
    here = own_workshop("smooth", batch_size=24, epochs=3, crop=2, flip=True, last_batch="kept")
    found = here.drive("training", "against_keras")
    ours, theirs = paths(found, "engine", "sgd"), paths(found, "keras", "sgd")
    for path, tensor in ours.items():
        np.testing.assert_allclose(tensor, theirs[path], rtol=0, atol=3e-6, err_msg=path)
    np.testing.assert_allclose(*found["sgd/loss"], rtol=1e-5)
    assert len(set(found["sgd/accuracy"])) == 1


@pytest.fixture(scope="module")
def dropping(own_workshop):
    """A workshop whose runs keep what dropout left in the second of two steps of all 64 examples each."""
    return own_workshop("dropped", {"batch": 64, "rate": RATE}, batch_size=64, epochs=2)


@pytest.fixture(scope="module")
def dropped(dropping):
    return {variant: dropping.train(variant) for variant in ("control", "impl")}


def test_dropout_keeps_exactly_the_elements_that_the_streams_say(dropping, dropped):
    plan = dropping.last_step(dropped["impl"])
    images = dropping.dataset().train.images[plan.order]
    for number, (layer, values) in enumerate({"first": images, "second": np.ones((64, 16), np.float32)}.items()):
        size = values[0].size
        elements = plan.slots[:, None] * np.uint32(size) + np.arange(size, dtype=np.uint32)
        counters = (np.array([2], np.uint32), np.array([number], np.uint32), elements)
        kept = streams.keep_mask(np, plan.dropout, counters, RATE).reshape(values.shape)
        seen = dropped["impl"].weights[f"{layer}/seen"]
        assert np.array_equal(seen != 0, kept & (values != 0))
        # How a kept element is divided is the engine's own rounding.
        np.testing.assert_allclose(seen, np.where(kept, values / (1 - RATE), 0), rtol=1e-6)


def test_masks_follow_the_examples_when_a_batch_is_permuted(dropping, dropped):
    orders = {variant: dropping.last_step(run).order for variant, run in dropped.items()}
    assert not np.array_equal(orders["control"], orders["impl"])
    for layer in ("first", "second"):
        by_example = [run.weights[f"{layer}/seen"][np.argsort(orders[variant])] for variant, run in dropped.items()]
        assert by_example[0].tobytes() == by_example[1].tobytes()
    losses = [float(run.history[0]["train_loss"]) for run in dropped.values()]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert dropped["control"].weight_bytes != dropped["impl"].weight_bytes


def test_a_layer_may_drop_whole_examples(own_workshop):
    here = own_workshop("dropped", {"batch": 64, "rate": RATE, "whole": True}, batch_size=64, epochs=1)
    trained = here.train()
    seen = trained.weights["second/seen"]
    assert {len(set(example.tolist())) for example in seen} == {1}
    kept = seen[:, 0] != 0
    np.testing.assert_allclose(seen[kept], 1 / (1 - RATE), rtol=1e-6)
    plan = here.last_step(trained)
    counters = (np.array([1], np.uint32), np.array([1], np.uint32), plan.slots)
    assert np.array_equal(kept, streams.keep_mask(np, plan.dropout, counters, RATE))
    assert 0 < kept.sum() < 64


# The gradient of a batch as a sum over its parts: the same draws and the same bits each time, other roundings


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
