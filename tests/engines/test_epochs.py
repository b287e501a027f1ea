"""What an epoch computes: from the streams' weights, as a plain loop would."""

import numpy as np
import pytest

from toolnoise import streams
from toolnoise.models.initial import Parameter, initial_weights

RATE = 0.4
DRAWN = {"conv/kernel": "GlorotUniform", "bn/gamma": "Ones", "logits/kernel": "GlorotUniform", "logits/bias": "Zeros"}


@pytest.fixture(scope="module")
def beside_keras(own_workshop):
    """A network with batch normalisation; with crops, flips and a warm-up; with an incomplete batch that is kept."""
    smooth = own_workshop("smooth", batch_size=8, epochs=3, schedule="cosine", warmup_epochs=0.5, crop=2, flip=True)
    kept = own_workshop("smooth", batch_size=24, epochs=3, crop=2, flip=True, last_batch="kept")
    return smooth.drive("training", "against_keras", kept.folder / "study.yaml")


def paths(found, who, case="sgd"):
    start = f"{case}/{who}/"
    return {name.removeprefix(start): array for name, array in found.items() if name.startswith(start)}


def test_the_engine_starts_from_exactly_the_weights_of_the_streams(beside_keras):
    held = paths(beside_keras, "held")
    parameters = [Parameter(path, held[path].shape, True, kind, {}) for path, kind in DRAWN.items()]
    for path, drawn in initial_weights(parameters, 0, 0, "smooth").items():
        assert held[path].tobytes() == drawn.tobytes()


@pytest.mark.parametrize("case", ["sgd", "regularised", "by kind", "by name, without momentum", "adam by kind", "kept"])
def test_six_steps_and_an_incomplete_batch_that_is_kept_are_close_to_those_of_plain_keras(beside_keras, case):
    ours, theirs = paths(beside_keras, "engine", case), paths(beside_keras, "keras", case)
    assert len(ours) == 9
    for path, tensor in ours.items():
        np.testing.assert_allclose(tensor, theirs[path], rtol=0, atol=3e-6, err_msg=path)
        assert not np.array_equal(tensor, paths(beside_keras, "held", case)[path])
    np.testing.assert_allclose(*beside_keras[f"{case}/loss"], rtol=1e-5)
    assert len(set(beside_keras[f"{case}/accuracy"])) == 1


@pytest.fixture(scope="module")
def dropping(own_workshop):
    """A workshop whose runs keep what dropout left in the second of two steps of all 64 examples each."""
    return own_workshop("dropped", {"batch": 64, "rate": RATE}, batch_size=64, epochs=2)


@pytest.fixture(scope="module")
def dropping_whole(own_workshop):
    return own_workshop("dropped", {"batch": 64, "rate": RATE, "whole": True}, batch_size=64, epochs=1)


@pytest.fixture(scope="module")
def trained(dropping, dropping_whole, train_together):
    """Runs that drop elements, by variant, and one that drops whole examples."""
    control, whole = train_together((dropping, "control", 1), (dropping_whole, "control", 1))
    return {"control": control, "impl": dropping.train("impl")}, whole


@pytest.fixture(scope="module")
def dropped(trained):
    return trained[0]


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


def test_a_layer_may_drop_whole_examples(dropping_whole, trained):
    _, whole = trained
    seen = whole.weights["second/seen"]
    assert {len(set(example.tolist())) for example in seen} == {1}
    kept = seen[:, 0] != 0
    np.testing.assert_allclose(seen[kept], 1 / (1 - RATE), rtol=1e-6)
    plan = dropping_whole.last_step(whole)
    counters = (np.array([1], np.uint32), np.array([1], np.uint32), plan.slots)
    assert np.array_equal(kept, streams.keep_mask(np, plan.dropout, counters, RATE))
    assert 0 < kept.sum() < 64
