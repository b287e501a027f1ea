"""Studies that are shipped: the whole paper's, that of the authors' code, and the one for one GPU."""

from collections import Counter
from pathlib import Path

import pytest

from toolnoise.analyses.published import paper_items
from toolnoise.analyses.published.study import recipe_differences
from toolnoise.base.program import ROOT
from toolnoise.study import config, grid, published
from toolnoise.study import grid as studies
from toolnoise.study.cells import Cell

# The study of the whole paper: every run behind its tables and figures, under the paper's names


@pytest.fixture(scope="module")
def paper():
    return grid.load(ROOT / "workflow/studies/paper.yaml")


def runs(paper, **names):
    """How many runs of each task there are."""
    counted = Counter()
    for cell, seeds in paper.seeds.items():
        if all(getattr(cell, key) == name for key, name in names.items()):
            counted["/".join(cell[:2])] += len(seeds)
    return dict(counted)


# Three variants of ten runs each, and two runs of Control.
FOUR_VARIANTS = 3 * 10 + 2


def test_v100_has_the_five_tasks_and_batch_norm_in_ten_runs_of_three_variants_and_two_of_control(paper):
    tasks = ("smallcnn/cifar10", "smallcnn-bn/cifar10", "resnet18/cifar10", "resnet18/cifar100", "resnet18/celeba")
    expected = dict.fromkeys(tasks, FOUR_VARIANTS) | {"resnet50/imagenet": 3 * 5 + 2}
    assert runs(paper, hardware="v100") == expected


@pytest.mark.parametrize("hardware", ["p100", "rtx5000"])
def test_the_other_gpus_have_three_tasks(paper, hardware):
    tasks = ("smallcnn/cifar10", "resnet18/cifar10", "resnet18/cifar100")
    assert runs(paper, hardware=hardware) == dict.fromkeys(tasks, FOUR_VARIANTS)


def test_tensor_cores_and_a_tpu_train_both_tasks_of_section_3_3(paper):
    tasks = ("resnet18/cifar10", "resnet18/cifar100")
    assert runs(paper, hardware="rtx5000-tc") == dict.fromkeys(tasks, FOUR_VARIANTS)
    assert runs(paper, hardware="tpu-v2-8", model="resnet18") == dict.fromkeys(tasks, 10 + 2)
    # The paper has ALGO+IMPL alone of the TPU, and emulated nothing.
    assert {cell.variant for cell in paper.cells if cell[::2] == ("resnet18", "tpu-v2-8")} == {"algo_impl", "control"}
    assert paper.emulated() == ()


GPUS = ("p100", "rtx5000", "v100")
CIFAR = (("smallcnn", "cifar10"), ("resnet18", "cifar10"), ("resnet18", "cifar100"))
PAPERS = ("algo_impl", "algo", "impl")
ITEMS = {  # each item's tasks by tooling, as in the paper
    "table2": dict.fromkeys(GPUS, CIFAR) | {"v100": (*CIFAR, ("resnet50", "imagenet"))},
    "table5": {"v100": [("resnet18", "celeba")]},
    "fig2": {"v100": (*CIFAR, ("resnet50", "imagenet"))},
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


@pytest.mark.parametrize("item", ["fig2", "fig3", "fig11", "fig13"])
def test_the_ratios_in_the_title_of_an_item_need_no_runs_but_its_own(paper, item):
    for figure in paper_items.by_target(paper.figures)[item]:
        compared = [both for place in paper.compared if figure.shows(place) for both in paper.comparisons(place)]
        assert compared
        assert all(figure.shows(cell) for both in compared for cell in both)


@pytest.mark.parametrize(("item", "papers", "all_of_it"), [("table2", 285, 305), ("fig2", 105, 113)])
def test_an_item_plans_the_papers_runs_and_those_of_control(paper, item, papers, all_of_it):
    (figure,) = paper_items.by_target(paper.figures)[item]
    seeds = {cell: len(mine) for cell, mine in paper.seeds.items() if figure.shows(cell)}
    assert sum(seeds.values()) == all_of_it
    assert sum(count for cell, count in seeds.items() if cell.variant != "control") == papers


def test_every_cell_with_a_published_number_is_there(paper):
    numbers = [number for number in published.read() if number.model and number.dataset]
    cells = {cell for cell in paper.cells if cell.variant != "control"}
    assert {number.model for number in numbers} == {"smallcnn", "smallcnn-bn", "resnet18", "resnet50"}
    for number in numbers:
        named = [(number.model, number.dataset, number.hardware, variant) for variant in figures_variants(number)]
        assert set(named) <= cells, number
        for cell in named:
            assert len(paper.seeds[Cell(*cell)]) == int(number.n_runs)


def figures_variants(number):
    return [number.variant] if number.variant else PAPERS


def test_every_item_of_the_paper_is_there_by_its_own_figures(paper):
    found = paper_items.by_target(paper.figures)
    assert {target: tuple(figure.name for figure in mine) for target, mine in found.items()} == paper_items.TARGETS


def test_figure_7_differs_from_the_papers_recipe_in_its_batch_size_alone_up_to_the_full_set(paper):
    (order,) = paper_items.by_target(paper.figures)["fig7"]
    sizes = [paper.batch_size(*task) for task in order.tasks]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 50_000
    # No epoch leaves an example out: the order is all there is.
    assert all(50_000 % size == 0 for size in sizes)
    recipes = [paper.config["recipes"][paper.recipe_of[task]] for task in order.tasks]
    usual = paper.config["recipes"][paper.recipe_of["smallcnn", "cifar10"]]
    for recipe, size in zip(recipes, sizes, strict=True):
        assert recipe == usual | {"batch_size": size}
    models = [paper.config["models"][model] for model, _ in order.tasks]
    assert all(model == paper.config["models"]["smallcnn"] for model in models)


def test_the_paper_study_resolves_to_itself(paper):
    assert grid.build(config.resolve(paper.config, "kept.json"), "kept.json") == paper


# The study of the authors' code: the paper's cells, by the recipes and with the sources of the code


@pytest.fixture(scope="module")
def authors():
    return grid.load(ROOT / "workflow/studies/authors.yaml")


def test_every_published_number_of_a_training_is_held_against_a_cell_with_as_many_runs(authors):
    for number in published.read():
        if number.model and number.dataset:
            cells = [cell for cell in authors.cells if cell[:3] == number[1:4] and cell.variant in number.variants]
            assert {len(authors.seeds[cell]) for cell in cells} == {int(number.n_runs)}, number


def test_no_recipe_differs_from_that_of_the_code(authors):
    recipes = {task: authors.config["recipes"][name] for task, name in authors.recipe_of.items()}
    assert {task for task, recipe in recipes.items() if recipe_differences(*task, recipe)} == set()
    assert all(name.startswith("authors-") for name in authors.recipe_of.values())


def test_augmentation_varies_in_no_variant(authors):
    varying = {tuple(authors.spec(cell, 1).variant.varying) for cell in authors.cells}
    assert varying == {("init", "shuffle", "impl"), ("init", "shuffle"), ("impl",), ()}


@pytest.mark.parametrize("item", ["table2", "table5", "fig2", "fig3", "fig4", "fig5", "fig11", "fig13"])
def test_its_items_have_the_papers_tasks_and_toolings(authors, paper, item):
    def shown(study):
        figures = paper_items.by_target(study.figures)[item]
        return {cell[:3] for cell in study.cells for figure in figures if figure.shows(cell)}

    assert shown(authors) == shown(paper)


# The study for one GPU has what is asked of it: frameworks, precisions, networks and the cost of determinism


STUDIES = Path(__file__).parents[2] / "workflow/studies"
NETWORKS = ["smallcnn", "smallcnn-bn", "resnet18"]


@pytest.fixture(scope="module", params=["h100", "h200"])
def on_gpu(request):
    """The study where there is one kind of GPU."""
    file = STUDIES / "gpu.yaml"
    names = [name for name in studies.load(file).config["hardware"] if name.startswith(request.param)]
    return studies.build(config.resolve(config.read_yaml(file) | {"only": names}, file), file)


def test_each_framework_is_under_control_in_each_precision(on_gpu):
    controls = [(cell.model, *_about(on_gpu, cell.hardware)) for cell in on_gpu.controls]
    engines = [(engine, *precision) for precision in PRECISIONS for engine in ("jax", "torch")]
    assert controls == [(model, *engine) for model in NETWORKS for engine in engines]
    assert all(len(on_gpu.seeds[cell]) > 1 for cell in on_gpu.controls)


def test_native_noise_is_measured_in_float32_by_source(on_gpu):
    noisy = {(cell.model, *_about(on_gpu, cell.hardware), cell.variant) for cell in on_gpu.cells}
    noisy = {about for about in noisy if about[-1] != "control"}
    engines = [("jax", "float32", False), ("torch", "float32", False)]
    assert noisy == {
        (model, *engine, variant)
        for model in NETWORKS
        for engine in engines
        for variant in ("impl", "algo", "algo_impl")
    }
    assert on_gpu.emulated() == ()


def test_the_cost_of_determinism_is_that_of_the_papers_networks(on_gpu):
    paper = studies.load(STUDIES / "paper.yaml").config["overhead"]
    block = on_gpu.config["overhead"]
    assert sorted(block["models"]) == sorted([*paper["models"]])
    assert [block[key] for key in ("batch_size", "image_size", "steps")] == [64, 224, 100]


def test_a_gpu_trains_what_two_cpu_cores_did(on_gpu):
    pictures = studies.load(STUDIES / "cifar10-pictures.yaml")
    assert on_gpu.config["recipes"] == pictures.config["recipes"]
    assert on_gpu.config["datasets"] == pictures.config["datasets"]


PRECISIONS = [("float32", False), ("float32", True), ("mixed_bfloat16", False)]


def _about(study, hardware):
    tooling = study.tooling(hardware)
    return tooling["engine"], tooling["precision"], tooling["tf32"]
