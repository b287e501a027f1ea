"""The papers' recipes: REFERENCE's facts, reached through the families `paper` and `authors`, and how others differ."""

import numpy as np
import pytest

from toolnoise import epoch_plan
from toolnoise.analyses.published.study import recipe_differences
from toolnoise.study import config

# The papers' recipes: REFERENCE's facts, reached through the families `paper` and `authors`


KNOWN = config.registered("recipes")


def recipe(family, model, dataset):
    return KNOWN[config.recipe_for(family, model, dataset, KNOWN)]


def rate(entry, epoch):
    """The rate of the last step of an epoch of four steps."""
    return float(epoch_plan.learning_rates(entry, 4, epoch)[-1])


@pytest.mark.parametrize("dataset", ["cifar10", "cifar100"])
@pytest.mark.parametrize("model", ["smallcnn", "smallcnn-bn", "resnet18"])
def test_the_text_trains_cifar_200_epochs_with_a_step_every_50(model, dataset):
    entry = recipe("paper", model, dataset)
    assert (entry["epochs"], entry["batch_size"], entry["optimizer"]) == (200, 128, "adam")
    assert (entry["crop"], entry["flip"]) == (4, True)
    rates = [rate(entry, epoch) for epoch in (0, 49, 50, 99, 100, 149, 150, 199)]
    assert rates == pytest.approx([4e-4, 4e-4, 4e-5, 4e-5, 4e-6, 4e-6, 4e-7, 4e-7])


def test_the_text_trains_celeba_20_epochs_with_a_step_every_5_and_no_augmentation():
    entry = recipe("paper", "resnet18", "celeba")
    assert (entry["epochs"], entry["batch_size"], entry["crop"], entry["flip"]) == (20, 128, 0, False)
    assert [rate(entry, epoch) for epoch in (0, 4, 5, 19)] == pytest.approx([1e-3, 1e-3, 1e-4, 1e-6])


def test_the_text_trains_imagenet_90_epochs_with_one_of_warm_up_and_a_cosine():
    entry = recipe("paper", "resnet50", "imagenet")
    assert (entry["epochs"], entry["batch_size"], entry["optimizer"], entry["momentum"]) == (90, 256, "sgd", 0.9)
    assert rate(entry, 0) == pytest.approx(0.1, rel=1e-3)
    assert float(epoch_plan.learning_rates(entry, 4, 0)[0]) == pytest.approx(0.025, rel=1e-3)
    assert rate(entry, 45) == pytest.approx(0.05, rel=0.03)
    assert rate(entry, 89) < 1e-4
    assert entry["flip"]


@pytest.mark.parametrize("model", ["smallcnn", "smallcnn-bn"])
def test_the_code_steps_smallcnn_twice_only_and_does_not_augment_it(model):
    entry = recipe("authors", model, "cifar10")
    assert [rate(entry, epoch) for epoch in (49, 50, 100, 199)] == pytest.approx([4e-4, 4e-5, 4e-6, 4e-6])
    assert (entry["normalise"], entry["crop"], entry["flip"]) == ("unit", 0, False)


def test_the_code_standardises_each_image_for_resnet18():
    for dataset in ("cifar10", "cifar100"):
        assert recipe("authors", "resnet18", dataset) == recipe("paper", "resnet18", dataset) | {
            "normalise": "per-image"
        }


def test_the_code_trains_celeba_10_epochs_on_pixels_as_they_are():
    changes = {"epochs": 10, "normalise": "none"}
    assert recipe("authors", "resnet18", "celeba") == recipe("paper", "resnet18", "celeba") | changes


def test_the_code_trains_imagenet_in_steps_with_label_smoothing_and_weight_decay():
    entry = recipe("authors", "resnet50", "imagenet")
    rates = [rate(entry, epoch) for epoch in (4, 5, 29, 30, 59, 60, 79, 80, 89)]
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.01, 0.01, 1e-3, 1e-3, 1e-4, 1e-4])
    assert np.diff([rate(entry, epoch) for epoch in range(5)]) == pytest.approx([0.02] * 4)
    assert (entry["label_smoothing"], entry["normalise"]) == (0.1, "imagenet")
    # Keras's l2(1e-4) is 1e-4 of the sum of squares: its gradient is twice that times the weight.
    assert entry["weight_decay"] == 2e-4


def test_no_other_task_of_the_paper_is_left_without_a_recipe():
    tasks = [("smallcnn", "cifar10"), ("smallcnn-bn", "cifar10"), ("resnet18", "cifar10"), ("resnet18", "cifar100")]
    tasks += [("resnet18", "celeba"), ("resnet50", "imagenet")]
    for family in ("paper", "authors"):
        assert all(config.recipe_for(family, *task, KNOWN) for task in tasks)
    assert config.recipe_for("authors", "mobilenet", "cifar10", KNOWN) is None


def test_summers_and_dinneen_train_500_epochs_with_3_of_warm_up_and_a_cosine_that_does_not_begin_anew():
    for model, dataset in (("resnet14", "cifar10"), ("vgg11", "cifar10"), ("linear", "mnist")):
        entry = recipe("summers", model, dataset)
        assert (entry["epochs"], entry["batch_size"], entry["optimizer"]) == (500, 512, "sgd")
        assert (entry["momentum"], entry["weight_decay"]) == (0.9, 5e-4)
        rates = [rate(entry, epoch) for epoch in (0, 1, 2, 250, 499)]
        # Their train.py:185-199, at the same steps: linear, then half the cosine of the whole way.
        expected = [0.4 / 3, 0.8 / 3, 0.4, *(0.2 * (1 + np.cos(np.pi * at / 500)) for at in (250.75, 499.75))]
        assert rates == pytest.approx(expected, rel=2e-4)


def test_summers_and_dinneen_have_a_tenth_of_the_rate_for_biases_and_scales_and_one_decay_for_all():
    entry = recipe("summers", "resnet14", "cifar10")
    assert (entry["bias_rate"], entry["scale_rate"], entry["decay_normalisation"]) == (0.1, 0.1, True)
    assert (entry["normalise"], entry["crop"], entry["flip"]) == ("cifar10", 4, True)
    assert recipe("summers", "vgg11", "cifar10") == entry | {"scale_rate": 1}
    assert recipe("summers", "mnist-cnn", "mnist") == entry | {"normalise": "mnist", "crop": 0, "flip": False}


def test_summers_and_dinneens_snapshots_are_five_cosines_of_a_hundred_epochs_with_three_of_warm_up_each():
    entry = recipe("summers", "resnet14-snapshots", "cifar10")
    assert entry == recipe("summers", "resnet14", "cifar10") | {"cycles": 5}
    assert config.registered("models")["resnet14-snapshots"] == config.registered("models")["resnet14"]
    # Their train.py:200-218, at the same steps; the warm-up of a cycle, too, is times its cosine.
    for cycle in range(5):
        rates = [rate(entry, 100 * cycle + epoch) for epoch in (0, 1, 2, 50, 99)]
        expected = [0.4 / 3, 0.8 / 3, 0.4, *(0.2 * (1 + np.cos(np.pi * at / 100)) for at in (50.75, 99.75))]
        assert rates == pytest.approx(expected, rel=2.5e-3)


def test_pham_et_al_have_a_recipe_for_each_network():
    for model in ("lenet1", "lenet4", "lenet5"):
        entry = recipe("pham", model, "mnist")
        assert (entry["epochs"], entry["batch_size"], entry["optimizer"], entry["momentum"]) == (50, 128, "sgd", 0)
    for model in ("resnet38", "resnet56"):
        rates = [rate(recipe("pham", model, "cifar10"), epoch) for epoch in (80, 81, 120, 121, 160, 161, 199)]
        assert rates == pytest.approx([1e-3, 1e-4, 1e-4, 1e-5, 1e-5, 1e-6, 1e-6])
    # Their lr_schedule: a fifth in each epoch, counted from 0, above 60, 120 and 160.
    rates = [rate(recipe("pham", "wrn-28-10", "cifar100"), epoch) for epoch in (0, 60, 61, 120, 121, 160, 161, 199)]
    assert rates == pytest.approx([0.1, 0.1, 0.02, 0.02, 0.004, 0.004, 0.0008, 0.0008])


def test_no_recipe_of_the_papers_changes_what_older_ones_mean():
    for name, entry in KNOWN.items():
        if not name.startswith("summers"):
            assert (entry["bias_rate"], entry["scale_rate"], entry["decay_normalisation"]) == (1, 1, False)


# How a recipe differs from the paper's: from that of its code, unless it is that of its text


RECIPES = config.registered("recipes")
SMALL = ("smallcnn", "cifar10")


@pytest.mark.parametrize("name", ["authors-smallcnn-cifar10", "paper-cifar10"])
def test_the_recipe_of_the_text_differs_from_that_of_the_code(name):
    assert recipe_differences(*SMALL, RECIPES[name]) == (["recipe of the text"] if name == "paper-cifar10" else [])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epochs": 8}, ["epochs (8)"]),
        ({"learning_rate": 0.1}, ["recipe"]),
        ({"epochs": 8, "crop": 4, "flip": True}, ["epochs (8)", "recipe"]),
    ],
)
def test_epochs_and_the_rest_of_a_recipe_are_named_apart(changed, words):
    assert recipe_differences(*SMALL, RECIPES["authors-smallcnn-cifar10"] | changed) == words


def test_either_number_of_epochs_is_the_papers():
    celeba = RECIPES["paper-celeba"]
    assert recipe_differences("resnet18", "celeba", celeba) == ["recipe of the text"]
    assert recipe_differences("resnet18", "celeba", celeba | {"epochs": 3}) == [
        "epochs (3)",
        "recipe of the text",
    ]


def test_a_task_that_the_paper_does_not_have_differs_in_nothing():
    assert recipe_differences("mine", "digits", RECIPES["digits"]) == []
