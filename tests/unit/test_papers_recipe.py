"""How a recipe differs from the paper's: from that of its code, unless it is that of its text."""

import pytest

from toolnoise.analyses.published.study import recipe_differences
from toolnoise.study import config

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
