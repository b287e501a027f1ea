"""The registry's models: as many parameters as published, logits at the end, no random number of their own."""

import numpy as np
import pytest

from toolnoise import config, files
from toolnoise.models.initial import Parameter, initial_weights

# Published parameter counts, those of batch normalisation's running statistics among them.
# Keras: the table of keras.io's "Keras Applications" while it gave whole numbers (keras-io,
# templates/api/applications/index.md, 2022), for 1,000 classes.
KERAS = {
    "resnet50": 25_636_712,
    "resnet152": 60_419_944,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "mobilenet": 4_253_864,
    "efficientnet-b0": 5_330_571,
    "densenet121": 8_062_504,
    "densenet201": 20_242_984,
    "inception-v3": 23_851_784,
    "xception": 22_910_480,
}
# Zhuang et al., appendix C: 16 to 512 filters with biases, four numbers a filter of batch normalisation, 1,000 classes.
FILTERS = (16, 32, 64, 128, 256, 512)
MEDIUMCNN = {
    f"mediumcnn-k{side}": sum(side**2 * a * b + b for a, b in zip((3, *FILTERS), FILTERS, strict=False))
    + 4 * sum(FILTERS)
    + (512 + 1) * 1000
    for side in (1, 3, 5, 7)
}


@pytest.fixture(scope="module")
def found(workshop):
    here = workshop({"epochs": 1, "batch_size": 32, "learning_rate": 0.1}, hardware=("cpu",))
    return here.drive("count_models.py", out="models.json", read=files.read_json)


@pytest.mark.parametrize(("name", "count"), (KERAS | MEDIUMCNN).items())
def test_a_network_for_imagenet_has_the_parameters_that_were_published(name, count, found):
    (one,) = found[name]
    assert one["parameters"] == count


def test_the_papers_small_network_has_its_parameters_and_batch_normalisation_adds_four_a_filter(found):
    # REFERENCE: 15,722 follow from the authors' smallcnn.py, which pools globally (31,082 with Flatten).
    assert found["smallcnn"][0]["parameters"] == 15_722
    assert found["smallcnn-bn"][0]["parameters"] == 15_722 + 4 * (16 + 32 + 32)


def test_resnet18_trains_as_many_parameters_as_the_common_form_for_cifar(found):
    # kuangliu/pytorch-cifar: 11,173,962 for 10 classes. Like the authors' Keras code it has no bias in a convolution;
    # Keras counts the running mean and variance of 4,800 normalised channels too.
    ten, hundred = found["resnet18"]
    assert ten["trained"] == 11_173_962
    assert ten["parameters"] == 11_173_962 + 2 * 4_800
    assert hundred["trained"] == 11_173_962 + 90 * 513


def test_resnet18_of_larger_images_may_keep_the_windows_of_the_authors_pooling(found):
    small, large = found["pooled"]
    assert large["parameters"] - small["parameters"] == (16 - 1) * 512 * 2


def test_efficientnet_trains_as_many_parameters_as_torchvisions(found):
    # The rest are running statistics and the seven numbers of Keras's normalisation of pixels.
    assert found["efficientnet-b0"][0]["trained"] == 5_288_548


def test_every_model_of_the_registry_is_counted_here(found):
    counted = {*KERAS, *MEDIUMCNN, "smallcnn", "smallcnn-bn", "resnet18"}
    assert set(config._registry("models")) == counted == set(found) - {"again", "pooled"}


@pytest.mark.parametrize("name", config._registry("models"))
def test_a_model_gives_logits_and_draws_nothing_itself(name, found):
    for one in found[name]:
        assert one["output"] == [None, one["task"][1]]
        assert one["ends_in"] == "linear"
        assert one["own_random_numbers"] == []


@pytest.mark.parametrize("name", config._registry("models"))
def test_every_initialiser_of_a_model_can_be_drawn(name, found):
    for one in found[name]:
        kinds = {(kind, str(options)): options for kind, options in one["initializers"].values()}
        parameters = [Parameter(kind, (3, 3, 4, 5), True, kind, options) for (kind, _), options in kinds.items()]
        assert len(initial_weights(parameters, 0, 1, name)) >= 2


def test_dropout_is_the_streams_and_drop_connect_drops_whole_examples(found):
    assert found["mobilenet"][0]["dropouts"] == {"dropout": [1e-3, False]}
    dropouts = found["efficientnet-b0"][0]["dropouts"]
    assert dropouts.pop("top_dropout") == [0.2, False]
    # A block that adds to what came in is dropped with a rate that grows with its depth: block b of 16, 0.2 b / 16.
    assert len(dropouts) == 9
    assert all(whole for _, whole in dropouts.values())
    assert dropouts["block6d_drop"][0] == pytest.approx(0.2 * 14 / 16)


def test_scaling_pixels_is_left_to_the_recipe(found):
    assert all("Rescaling" not in one["layers"] for described in found.values() for one in described)


def test_a_network_built_second_in_a_process_has_the_names_of_one_built_first(found):
    # Names are the keys of initial weights; Keras counts layers over the process.
    assert list(found["again"][0]["initializers"]) == list(found["inception-v3"][0]["initializers"])
    assert "conv2d_0/kernel" in found["again"][0]["initializers"]


@pytest.fixture(scope="module")
def trained(own_workshop):
    """A network of keras.applications, trained with every draw fixed and with dropout free."""
    here = own_workshop(
        "build", {"architecture": "MobileNet"}, module="toolnoise.models.applications", size=(32, 32, 3)
    )
    return {variant: here.train(variant) for variant in ("control", "dropout")}


def test_a_network_of_keras_trains_from_the_weights_of_the_streams(trained):
    weights, record = trained["control"].weights, trained["control"].record
    assert record["status"] == "completed"
    assert len(weights) == 137
    assert all(np.isfinite(tensor).all() for tensor in weights.values())


def test_dropout_in_a_network_of_keras_follows_the_variant(trained):
    one, other = (trained[variant].digests[0][0] for variant in ("control", "dropout"))
    assert one != other
