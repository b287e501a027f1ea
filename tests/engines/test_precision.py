"""Half precision on a CPU: what is computed in it and what is not, loss scaling, and that it repeats bit for bit."""

import numpy as np
import pytest

pytestmark = pytest.mark.long

# What layers compute in, and how near eight steps of two right loops, one compiled and one not, come.
PRECISIONS = {"mixed_float16": ("float16", 1e-5), "mixed_bfloat16": ("bfloat16", 2e-3)}


@pytest.fixture(scope="module", params=PRECISIONS)
def precision(request):
    return request.param


@pytest.fixture(scope="module")
def here(precision, own_workshop):
    tooling = {"precision": precision, "kernels": "eigen", "tf32": True}
    return own_workshop("smooth", tooling=tooling, batch_size=8, epochs=2)


@pytest.fixture(scope="module")
def beside_keras(here):
    return here.drive("half_precision", "training_beside_keras")


def test_layers_compute_in_half_precision_and_logits_in_float32(precision, beside_keras):
    *inner, last = beside_keras["computes_in"].tolist()
    # The first is the input, which is handed on as it is.
    assert set(inner[1:]) == {PRECISIONS[precision][0]}
    assert last == "float32"
    logits = beside_keras["logits"]
    assert logits.dtype == np.float32
    assert not np.array_equal(logits, logits.astype(np.float16).astype(np.float32))


def test_weights_are_float32_and_near_those_of_plain_keras(precision, beside_keras):
    ours = {name: array for name, array in beside_keras.items() if name.startswith("ours/")}
    assert len(ours) == 9
    for name, array in ours.items():
        assert array.dtype == np.float32
        theirs = beside_keras[name.replace("ours", "keras")]
        np.testing.assert_allclose(array, theirs, rtol=0, atol=PRECISIONS[precision][1], err_msg=name)
    np.testing.assert_allclose(*beside_keras["loss"], rtol=1e-4)


def test_a_step_that_overflows_is_left_out_as_keras_leaves_it_out(precision, beside_keras):
    if precision == "mixed_bfloat16":
        assert "updates" not in beside_keras, "bfloat16 has float32's range and needs no loss scale"
        return
    assert beside_keras["ours scale"].tolist() == beside_keras["keras scale"].tolist()
    ours, theirs = beside_keras["updates"]
    assert 0 < ours == theirs < 8


@pytest.fixture(scope="module")
def moved(own_workshop):
    return own_workshop("smooth").drive("half_precision", "scale_beside_keras")


def test_a_loss_scale_moves_exactly_as_keras_s_does(moved):
    assert moved["ours"].tolist() == moved["keras"].tolist()
    assert len(set(moved["ours"])) > 5
    assert moved["values"].tobytes() == moved["keras values"].tobytes()
    # Gradients are applied at their true size, to the bit; a scale and its inverse are always numbers.
    made = moved["sent"].any(axis=1)
    assert moved["undone"][made].tobytes() == moved["sent"][made].tobytes()
    assert moved["lowest"].tolist() == [2.0**-126, 2.0**126]
    assert moved["highest"].tolist() == [2.0**126, 2.0**-126]


@pytest.fixture(scope="module")
def control(here):
    return here.train("control", 1)


def test_control_repeats_bit_for_bit_in_half_precision(here, control):
    again = here.train("control", 2)
    assert again.digests == control.digests
    assert again.weight_bytes == control.weight_bytes


@pytest.fixture(scope="module")
def full(own_workshop):
    return own_workshop("smooth", batch_size=8, epochs=2).train()


def test_half_precision_is_another_tooling_and_recorded(precision, full, control):
    assert (full.record["observed"]["precision"], full.record["observed"]["tf32"]) == ("float32", False)
    observed = control.record["observed"]
    assert (observed["precision"], observed["tf32"], observed["xla"]) == (precision, True, "off")
    assert full.weight_bytes != control.weight_bytes
    for path, tensor in full.weights.items():
        np.testing.assert_allclose(tensor, control.weights[path], rtol=0, atol=0.1)


def test_dropout_works_in_half_precision(precision, own_workshop):
    tooling = {"precision": precision, "kernels": "eigen"}
    trained = own_workshop("dropped", {"batch": 64, "rate": 0.4}, tooling=tooling, batch_size=64).train()
    assert trained.record["status"] == "completed"
    assert 0.4 < (trained.weights["first/seen"] == 0).mean() < 0.6
