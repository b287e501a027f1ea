"""Studies that are shipped, and the papers' recipes that they take: REFERENCE's facts, and how others differ."""

import numpy as np
import pytest

from toolnoise import epoch_plan
from toolnoise.base.program import ROOT
from toolnoise.papers import paper_items
from toolnoise.papers.notebook_values import recipe_differences
from toolnoise.study import config, grid, published
from toolnoise.study.cells import Cell

# The study of the whole paper: every run behind its tables and figures, under the paper's names


@pytest.fixture(scope="module")
def paper():
    return grid.load(ROOT / "workflow/studies/paper.yaml")


GPUS = ("p100", "rtx5000", "v100")
CIFAR = (("smallcnn", "cifar10"), ("resnet18", "cifar10"), ("resnet18", "cifar100"))
PAPERS = ("algo_impl", "algo", "impl")
ITEMS = {  # each item's tasks by tooling, as in the paper
    "table2": dict.fromkeys(GPUS, CIFAR) | {"v100": (*CIFAR, ("resnet50-v15", "imagenet"))},
    "table5": {"v100": [("resnet18", "celeba")]},
    "fig2": {"v100": (*CIFAR, ("resnet50-v15", "imagenet"))},
    "fig3": {"v100": [("smallcnn", "cifar10"), ("smallcnn-bn", "cifar10")]},
    "fig4": {"v100": [("resnet18", "celeba")]},
    "fig5": {"v100": CIFAR[1:]},
    "fig6": dict.fromkeys((*GPUS, "rtx5000-tc"), CIFAR[2:]),
    "fig11": {"p100": CIFAR},
    "fig13": {"rtx5000": CIFAR},
}


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_shows_exactly_the_papers_cells_and_control(paper, item):
    figures = paper_items.by_target(paper.figures)[item]
    shown = {cell for cell in paper.cells for figure in figures if figure.shows(cell)}
    expected = {
        Cell(*task, hardware, variant)
        for hardware, tasks in ITEMS[item].items()
        for task in tasks
        for variant in (*PAPERS, "control")
    }
    if item == "fig6":
        expected |= {Cell("resnet18", "cifar100", "tpu-v2-8", variant) for variant in ("algo_impl", "control")}
    assert shown == expected


@pytest.mark.parametrize("name", ["paper", "authors"])
def test_every_published_number_of_a_training_is_held_against_cells_with_as_many_runs(name, request):
    study = request.getfixturevalue(name)
    numbers = [number for number in published.read() if number.model and number.dataset]
    assert {number.model for number in numbers} == {"smallcnn", "smallcnn-bn", "resnet18", "resnet50-v15"}
    for number in numbers:
        cells = [cell for cell in study.cells if cell[:3] == number[1:4] and cell.variant in number.variants]
        assert len(cells) == (1 if number.variant else len(PAPERS)), number
        assert {len(study.seeds[cell]) for cell in cells} == {int(number.n_runs)}, number


def test_every_item_of_the_paper_is_there_by_its_own_figures(paper):
    found = paper_items.by_target(paper.figures)
    assert {target: tuple(figure.name for figure in mine) for target, mine in found.items()} == paper_items.TARGETS


@pytest.fixture(scope="module")
def modern():
    return grid.load(ROOT / "workflow/studies/paper-modern.yaml")


def test_todays_hardware_has_the_papers_tasks_recipes_and_runs_in_three_frameworks(paper, modern):
    def trained(study):
        names = {(*cell.task, cell.variant): len(seeds) for cell, seeds in study.seeds.items()}
        recipes = {task: study.config["recipes"][name] for task, name in study.recipe_of.items()}
        return names, recipes

    assert trained(modern) == trained(paper)
    assert modern.config["overhead"] | {"hardware": []} == paper.config["overhead"] | {"hardware": []}
    engines = {(name.partition("-")[0], entry["engine"]) for name, entry in modern.config["hardware"].items()}
    machines, frameworks = ("a100", "h100", "h200", "cpu"), ("tensorflow", "jax", "torch")
    assert engines == {(machine, framework) for machine in machines for framework in frameworks}


# The study of the authors' code: the paper's cells, by the recipes and with the sources of the code


@pytest.fixture(scope="module")
def authors():
    return grid.load(ROOT / "workflow/studies/authors.yaml")


def test_augmentation_varies_in_no_variant(authors):
    varying = {tuple(authors.spec(cell, 1).variant.varying) for cell in authors.cells}
    assert varying == {("init", "shuffle", "impl"), ("init", "shuffle"), ("impl",), ()}


# The papers' recipes: REFERENCE's facts, reached through the families `paper` and `authors`


KNOWN = config.registered("recipes")


def recipe(family, model, dataset):
    return KNOWN[config.recipe_for(family, model, dataset, KNOWN)]


def rate(entry, epoch):
    """The rate of the last step of an epoch of four steps."""
    return float(epoch_plan.learning_rates(entry, 4, epoch)[-1])


FACTS = [
    # Of a family's recipe for some models and data sets: keys, and the rates at the end of epochs.
    (
        ("paper", ("smallcnn", "smallcnn-bn", "resnet18"), ("cifar10", "cifar100")),
        {"epochs": 200, "batch_size": 128, "optimizer": "adam", "crop": 4, "flip": True},
        {0: 4e-4, 49: 4e-4, 50: 4e-5, 99: 4e-5, 100: 4e-6, 149: 4e-6, 150: 4e-7, 199: 4e-7},
    ),
    (
        ("paper", ("resnet18",), ("celeba",)),
        {"epochs": 20, "batch_size": 128, "crop": 0, "flip": False},
        {0: 1e-3, 4: 1e-3, 5: 1e-4, 19: 1e-6},
    ),
    (
        ("authors", ("smallcnn", "smallcnn-bn"), ("cifar10",)),
        {"normalise": "unit", "crop": 0, "flip": False},
        {49: 4e-4, 50: 4e-5, 100: 4e-6, 199: 4e-6},
    ),
    (
        ("authors", ("resnet50-v15",), ("imagenet",)),
        # Keras's l2(1e-4) is 1e-4 of the sum of squares: its gradient is twice that times the weight.
        {"label_smoothing": 0.1, "normalise": "imagenet", "weight_decay": 2e-4},
        {0: 0.02, 1: 0.04, 4: 0.1, 5: 0.1, 29: 0.1, 30: 0.01, 59: 0.01, 60: 1e-3, 79: 1e-3, 80: 1e-4, 89: 1e-4},
    ),
    (
        ("pham", ("lenet1", "lenet4", "lenet5"), ("mnist",)),
        {"epochs": 50, "batch_size": 128, "optimizer": "sgd", "momentum": 0},
        {},
    ),
    (
        ("pham", ("resnet38", "resnet56"), ("cifar10",)),
        {},
        {80: 1e-3, 81: 1e-4, 120: 1e-4, 121: 1e-5, 160: 1e-5, 161: 1e-6, 199: 1e-6},
    ),
    # Their lr_schedule: a fifth in each epoch, counted from 0, above 60, 120 and 160.
    (
        ("pham", ("wrn-28-10",), ("cifar100",)),
        {},
        {0: 0.1, 60: 0.1, 61: 0.02, 120: 0.02, 121: 0.004, 160: 0.004, 161: 0.0008, 199: 0.0008},
    ),
]


@pytest.mark.parametrize(("recipes", "keys", "rates"), FACTS, ids=[str(fact[0]) for fact in FACTS])
def test_a_family_trains_each_task_as_the_papers_or_their_code_did(recipes, keys, rates):
    family, models, datasets = recipes
    for entry in (recipe(family, model, dataset) for model in models for dataset in datasets):
        assert {key: entry[key] for key in keys} == keys
        assert {epoch: rate(entry, epoch) for epoch in rates} == pytest.approx(rates)


@pytest.mark.parametrize(
    ("model", "dataset", "cycles"),
    [("resnet14", "cifar10", 1), ("linear", "mnist", 1), ("resnet14-snapshots", "cifar10", 5)],
)
def test_summers_and_dinneen_train_500_epochs_of_cosines_each_with_3_of_warm_up(model, dataset, cycles):
    entry, length = recipe("summers", model, dataset), 500 // cycles
    assert (entry["epochs"], entry["batch_size"], entry["optimizer"]) == (500, 512, "sgd")
    assert (entry["momentum"], entry["weight_decay"], entry["cycles"]) == (0.9, 5e-4, cycles)
    assert (entry["padding"], entry["last_batch"]) == ("black", "kept")
    for start in range(0, 500, length):
        rates = [rate(entry, start + epoch) for epoch in (0, 1, 2, length // 2, length - 1)]
        # Their train.py:185-218, at the same steps: linear, then half the cosine of the whole cycle.
        expected = [0.4 * at / 3 for at in (0.75, 1.75, 2.75)]
        expected += [0.2 * (1 + np.cos(np.pi * at / length)) for at in (length // 2 + 0.75, length - 0.25)]
        assert rates == pytest.approx(expected, rel=1e-6, abs=1e-9)


# How a recipe differs from the paper's: from that of its code, unless it is that of its text


SMALL = ("smallcnn", "cifar10")


@pytest.mark.parametrize(
    ("task", "name", "changed", "words"),
    [
        (SMALL, "authors-smallcnn-cifar10", {}, []),
        (SMALL, "paper-cifar10", {}, ["recipe of the text"]),
        (SMALL, "authors-smallcnn-cifar10", {"epochs": 8, "crop": 4, "flip": True}, ["epochs (8)", "recipe"]),
        (("resnet18", "celeba"), "paper-celeba", {"epochs": 3}, ["epochs (3)", "recipe of the text"]),
        (("mine", "digits"), "digits", {}, []),
    ],
)
def test_a_recipe_differs_from_that_of_the_code_in_its_epochs_and_in_the_rest(task, name, changed, words):
    assert recipe_differences(*task, KNOWN[name] | changed) == words
