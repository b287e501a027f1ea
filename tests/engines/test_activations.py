"""What layers give of test images: which layers, in what order, and the numbers beside Keras's own."""

import numpy as np
import pytest

pytestmark = pytest.mark.long

MODELS = ("smallcnn", "smallcnn-bn", "resnet14", "shufflenet-x05", "efficientnet-b0")


@pytest.fixture(scope="module")
def nested(own_workshop):
    return own_workshop("nested").drive("networks", "watch_layers", *MODELS)


@pytest.fixture(scope="module")
def smooth(own_workshop, framework, toolings):
    return own_workshop("smooth", tooling=toolings[framework]).drive("networks", "watch_layers")


def test_layers_in_layers_and_calls_count_in_the_order_in_which_they_compute(nested):
    assert dict(zip(nested["layers"].tolist(), nested["sizes"].tolist(), strict=True)) == {
        "block/one": 7,
        "block/two": 5,
        "doubled/inner": 5,
        "doubled/inner#2": 5,
        "doubled": 5,
        "shared": 5,
        "shared#2": 5,
        "logits": 4,
    }


@pytest.mark.parametrize("name", MODELS)
def test_every_layer_of_a_registered_model_that_has_weights_is_there_once(name, nested):
    found, theirs = nested[f"registry/{name}"].tolist(), nested[f"keras/{name}"].tolist()
    assert sorted(found) == sorted(theirs)
    assert found[-1] == theirs[-1]


def test_a_normalisation_follows_what_it_normalises(nested):
    assert nested["registry/smallcnn-bn"].tolist() == [
        *("conv1", "bn1", "conv2", "bn2", "conv3", "bn3", "dense", "logits")
    ]
    found = nested["registry/resnet14"].tolist()
    for name in found:
        if name.endswith("_conv"):
            assert found.index(name) < found.index(f"{name.removesuffix('_conv')}_bn")


def test_a_layer_gives_what_keras_says_it_gives(smooth):
    theirs = {key.removeprefix("theirs/"): value for key, value in smooth.items() if key.startswith("theirs/")}
    assert list(theirs) == smooth["layers"].tolist() == ["conv", "bn", "dense", "logits"]
    for name, values in theirs.items():
        found = smooth[f"whole/{name}"]
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, values, rtol=1e-4, atol=1e-5)


def test_a_layer_used_twice_gives_each_time_what_it_makes_of_what_it_got(nested):
    first, second = nested["whole/shared"], nested["whole/shared#2"]
    assert (np.abs(first) < 1).all()
    assert not np.array_equal(first, second)
    np.testing.assert_allclose(nested["whole/doubled"], nested["whole/doubled/inner#2"], rtol=1e-6)


def test_the_same_is_given_again_bit_for_bit_and_the_logits_last(smooth, nested):
    near = {"rtol": 1e-4, "atol": 1e-5}
    for found in (smooth, nested):
        for name in found["layers"]:
            assert np.array_equal(found[f"whole/{name}"], found[f"again/{name}"]), name
            np.testing.assert_allclose(found[f"alone/{name}"], found[f"whole/{name}"], **near)
        np.testing.assert_allclose(found[f"whole/{found['layers'][-1]}"], found["logits"], **near)
