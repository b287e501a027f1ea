"""Which figures a study has, and which of them the paper's names mean."""

import functools
from types import SimpleNamespace

import pytest

from toolnoise.base import errors
from toolnoise.base.program import ROOT
from toolnoise.pages import study_page
from toolnoise.papers import paper_items
from toolnoise.study import config, figure_files, figure_kinds, grid
from toolnoise.study.cells import Cell
from toolnoise.study.expected import METRICS
from toolnoise.study.figure_kinds import FIGURES, Grid
from toolnoise.study.study import Figure, Study

PAPER = ROOT / "workflow/studies/paper.yaml"
RECIPES = {"plain": {"batch_size": 32, "epochs": 2}, "large": {"batch_size": 1297, "epochs": 2}}
HARDWARE = {
    "cpu": {"accelerator": "cpu", "impl_noise": "native"},
    "noisy": {"accelerator": "cpu", "impl_noise": "reduction-order"},
    **{name: {"accelerator": "gpu", "impl_noise": "native"} for name in ("p100", "v100", "t4")},
}
OVERHEAD = {"batch_size": 64, "image_size": 224}
DATASETS = {
    "cifar10": {"reader": "cifar"},
    "digits": {"reader": "digits"},
    "faces": {"reader": "faces"},
    "celeba": {"reader": "celeba", "groups": {"Old": "not Young"}},
    "celeba-alone": {"reader": "celeba"},
    "poem": {"reader": "text"},
    "novel": {"reader": "text", "tokens": "words", "frequency": [10, 100]},
}


def cells(models=("smallcnn",), datasets=("digits",), hardware=("cpu",), variants=("algo_impl", "control")):
    return [Cell(*cell) for cell in _product(models, datasets, hardware, variants)]


def _product(*axes):
    return [()] if not axes else [(value, *rest) for value in axes[0] for rest in _product(*axes[1:])]


def found(some, pairs=(), recipe_of=None, networks=(), runs=2):
    """The names of the figures of each kind; models are of one builder unless they end in -bn or -classes."""
    models = {cell.model: {"builder": "a:b", "options": {"batch_norm": cell.model.endswith("-bn")}} for cell in some}
    models |= {name: {"command": "train", "outcome": "classes"} for name in models if name.endswith("-classes")}
    recipe_of = recipe_of or {cell[:2]: "plain" for cell in some}
    resolved = {"models": models, "datasets": DATASETS, "recipes": RECIPES, "hardware": HARDWARE, "overhead": OVERHEAD}
    seeds = dict.fromkeys(some, range(1, runs + 1))
    study = study_of(resolved, seeds, pairs=pairs, recipe_of=recipe_of, networks=networks)
    return grid.possible_figures(Grid(study, seeds))


def study_of(config, seeds, **parts):
    """What a grid takes of a study."""
    none = {"pairs": (), "recipe_of": {}, "networks": (), "frameworks": (), "views": {}, "layers": {}}
    whole = {"cells": (), "draws": {}, "growing": dict} | none | parts
    study = SimpleNamespace(config=config, seeds=seeds, **whole)
    study.without_remedy = functools.partial(Study.without_remedy, study)
    return study


def names(some, **more):
    return {kind: [figure.name for figure in mine] for kind, mine in found(some, **more).items() if mine}


def test_any_study_has_the_figures_that_need_nothing_special():
    assert names(cells(hardware=("cpu", "noisy"))) == {
        "table2": ["table2"],
        "noise_by_source": ["noise_by_source-cpu", "noise_by_source-noisy"],
        "per_class": ["per_class-cpu-smallcnn-digits", "per_class-noisy-smallcnn-digits"],
        "table1": ["table1"],
        "table4": ["table4"],
        "ratios": ["ratios"],
        "identical_runs": ["identical_runs"],
        "identical_tests": ["identical_tests"],
        "claims": ["claims"],
    }


def test_ensembles_are_shown_of_each_task_with_runs_enough_for_three_sizes():
    both = cells(datasets=("digits", "faces"), hardware=("cpu", "noisy"))
    assert "ensembles" not in names(both, runs=8)
    assert names(both, runs=9)["ensembles"] == ["ensembles-smallcnn-digits", "ensembles-smallcnn-faces"]
    # Runs of several draws are averaged within a draw.
    resolved = {"models": {"smallcnn": {}}, "datasets": DATASETS, "recipes": RECIPES, "hardware": HARDWARE}
    seeds = {cell: [10_000 * draw + run for draw in (1, 2, 3) for run in (1, 2, 3)] for cell in both}
    assert not Grid(study_of(resolved, seeds), seeds).with_ensembles()


def test_classes_without_scores_are_in_no_figure_of_scores():
    variants = ("init", "shuffle")
    of_scores = {"ensembles", "sources"}
    assert of_scores <= set(names(cells(models=("mine",), variants=variants), runs=9))
    assert not of_scores & set(names(cells(models=("mine-classes",), variants=variants), runs=9))
    both = found(cells(models=("mine", "mine-classes"), variants=variants), runs=9)
    assert [figure.tasks for kind in of_scores for figure in both[kind]] == [(("mine", "digits"),)] * 2


def test_batch_norm_needs_a_model_with_and_without_it_on_the_same_data_and_tooling():
    both = found([*cells(("smallcnn", "smallcnn-bn", "resnet18")), *cells(("smallcnn",), hardware=("noisy",))])
    assert [figure.name for figure in both["batch_norm"]] == ["batch_norm-cpu"]
    assert both["batch_norm"][0].tasks == (("smallcnn", "digits"), ("smallcnn-bn", "digits"))
    assert "batch_norm" not in names([*cells(("smallcnn",)), *cells(("smallcnn-bn",), hardware=("noisy",))])


def test_figures_of_sub_groups_show_the_data_sets_that_have_some():
    mine = found(cells(datasets=DATASETS, hardware=("cpu", "noisy")))
    for kind in ("subgroups", "table3", "table5"):
        assert {dataset for figure in mine[kind] for _, dataset in figure.tasks} == {"faces", "celeba"}
    assert [figure.name for figure in mine["subgroups"]] == ["subgroups-cpu", "subgroups-noisy"]
    assert [dataset for _, dataset in mine["table2"][0].tasks] == list(DATASETS)


ORDER = cells(("small-b32", "small-b1297"), variants=("shuffle",))
SIZES = {("small-b32", "digits"): "plain", ("small-b1297", "digits"): "large"}


def test_models_that_differ_in_their_batch_size_alone_are_the_figure_of_the_order_and_in_no_other():
    usual = cells()
    mine = found([*usual, *ORDER], recipe_of={**SIZES, ("smallcnn", "digits"): "plain"})
    (figure,) = mine["order"]
    assert figure.name == "order-cpu-small-b32-digits"
    assert figure.tasks == tuple(SIZES)
    others = {task for kind, all_of_it in mine.items() if kind != "order" for one in all_of_it for task in one.tasks}
    assert others == {("smallcnn", "digits")}


@pytest.mark.parametrize("kind", ["batch_norm", "table5"])
def test_a_figure_that_the_grid_cannot_feed_is_refused_if_asked_for_and_left_out_else(kind, written, built, refused):
    written["grid"][0] |= {"hardware": ["cpu"], "variants": ["algo_impl", "control"]}
    assert kind not in built(written).figure_kinds
    written["figures"] = [kind]
    line = refused(built, written)
    needs = figure_kinds.KINDS[kind].needs
    assert line == f"tiny.yaml: figures: the grid has no data for '{kind}'; it needs {needs}"


def test_figures_asked_for_are_the_ones_there_are(written, built):
    written["figures"] = ["table2"]
    tasks = (("smallcnn", "digits"),)
    assert built(written).figures == (Figure("table2", "table2", ("cpu", "noisy"), tasks),)


def test_a_cell_is_excluded_alone_though_its_tooling_and_its_task_are_shown(written, built):
    (block,) = written["grid"]
    without = block | {"variants": ["control"], "excluded_from": ["table2", "across_toolings"]}
    written["grid"] = [block | {"variants": ["algo"]}, without]
    study = built(written)
    assert {cell.variant for cell in study.cells if study.figure("table2").shows(cell)} == {"algo"}
    assert figure_files.gate_files(study, study.figure("table2")) == []
    assert len(figure_files.gate_files(study, study.figure("noise_by_source-cpu"))) == 1
    across = study.figure("across_toolings-smallcnn-digits")
    assert {pair.variant for pair in study.pairs} == {"algo", "control"}
    assert {pair.variant for pair in study.pairs if across.shows(pair)} == {"algo"}


def test_the_demo_draws_at_most_ten_figures():
    demo = grid.load_study(ROOT / "config.yaml")
    assert len([one for one in demo.figures if figure_kinds.KINDS[one.notebook].category == FIGURES]) <= 10


def test_the_demo_and_the_small_studies_show_every_kind():
    demo = grid.load_study(ROOT / "config.yaml")
    studies = ROOT / "workflow/studies"
    small = [grid.load_study(path) for path in studies.glob("*-small.yaml")]
    of_gpus = {"paper_vs_ours"}  # published numbers are of GPUs
    assert {kind for one in (demo, *small) for kind in one.figure_kinds} == set(figure_kinds.KINDS) - of_gpus
    assert all(figures for target, figures in paper_items.by_target(demo.figures).items() if target != "paper_vs_ours")


def test_figures_of_language_show_the_models_of_text_and_no_others():
    both = found(cells(models=("lstm", "cnn"), datasets=("digits", "poem"), hardware=("cpu", "noisy")))
    assert [figure.name for figure in both["language"]] == ["language-cpu", "language-noisy"]
    assert [figure.name for figure in both["table_language"]] == ["table_language"]
    shown = {dataset for kind in ("language", "table_language") for figure in both[kind] for _, dataset in figure.tasks}
    assert shown == {"poem"}
    assert not {"language", "table_language"} & set(names(cells()))


def test_every_kind_has_a_notebook_a_caption_and_something_to_read_and_none_is_of_no_kind():
    assert {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} == set(figure_kinds.KINDS)
    for kind, about in figure_kinds.KINDS.items():
        assert (ROOT / f"notebooks/{kind}.ipynb").exists()
        caption = figure_kinds.caption_in(kind, "a-study")
        assert study_page.plain_caption(caption).endswith(".") and "a-study" in caption and caption.count("\n") < 3
        assert set(about.reads) <= {*METRICS, "claims"}


def test_a_figures_name_begins_with_its_kind_and_kinds_are_not_mistaken_for_one_another():
    many = cells(("smallcnn", "smallcnn-bn"), ("digits", "faces"), ("cpu", "noisy"), ("init", "shuffle", "control"))
    shown = found(many, runs=6)
    assert {kind for kind, figures in shown.items() if figures} >= {"per_class", "batch_norm", "sources", "subgroups"}
    for kind, figures in shown.items():
        assert "-" not in kind
        assert all(figure.name == kind or figure.name.startswith(f"{kind}-") for figure in figures)
        assert {figure.notebook for figure in figures} <= {kind}


def test_remedies_are_shown_by_tooling_and_by_the_task_that_they_are_held_against():
    mine = {cell: cell for cell in cells(("m", "lone-snapshots"), hardware=("cpu", "noisy"), variants=("algo",))}
    mine |= {cell._replace(model="m-snapshots"): cell for cell in mine if cell.model == "m"}
    some = dict.fromkeys(mine, (1, 2))
    config = {"models": {cell.model: {"builder": "a:b"} for cell in some}, "datasets": DATASETS, "recipes": RECIPES}
    shown = grid.possible_figures(Grid(study_of(config, some, views=mine), some))["remedies"]
    assert {figure.name: [model for model, _ in figure.tasks] for figure in shown} == {
        f"remedies-{tooling}-{name}-digits": models
        for tooling in ("cpu", "noisy")
        for name, models in (("m", ["m", "m-snapshots"]), ("lone-snapshots", ["lone-snapshots"]))
    }


# The paper's items.


def shown(*names):
    return [Figure(name, name.partition("-")[0], (), ()) for name in names]


def test_an_item_that_a_study_cannot_feed_says_in_one_line_what_it_needs(refused):
    some = shown("table2", "noise_by_source-v100")
    assert refused(paper_items.of_target, "fig13", some, "mine.yaml", {}) == (
        "mine.yaml: fig13: the study has no noise_by_source-rtx5000; it has noise_by_source-v100"
    )
    assert refused(paper_items.of_target, "fig4", some, "mine.yaml", {}) == (
        "mine.yaml: fig4: the study has no subgroups; it needs a data set with sub-groups: faces, "
        "celeba with groups, or text with frequency"
    )


def of_paper(only, target):
    """The figures of an item of the paper on some of its toolings."""
    written = config.read_yaml(PAPER) | {"only": only}
    study = grid.build_study(config.resolve(written, PAPER), PAPER)
    return paper_items.of_target(target, study.figures, PAPER, written)


def test_an_item_that_cannot_be_made_on_a_profiles_toolings_names_those_that_it_needs(refused, capsys):
    line = refused(of_paper, ["p100"], "fig2")
    assert line == f"{PAPER}: fig2: cannot be made on p100 alone; a profile or `only` with v100"
    errors.warn_once.cache_clear()
    for _ in "12":
        assert of_paper(["v100"], "table2")
    warned = f"{PAPER}: table2: without p100, rtx5000, which `only` leaves out\n"
    assert capsys.readouterr().err == f"toolnoise: warning: {warned}"


def networks(*models, hardware=("cpu", "v100")):
    return [Cell(model, "", name, "") for model in models for name in hardware]


def test_kernels_are_shown_by_tooling_and_the_cost_of_determinism_by_kernel_size_or_as_networks():
    sized = [f"medium-k{size}" for size in (1, 3, 11)]
    mine = found(cells(), networks=networks("smallcnn", *sized, "other-k3", "plain-kernel"))
    assert [figure.name for figure in mine["kernels"]] == ["kernels-cpu", "kernels-v100"]
    assert {figure.name: [model for model, _ in figure.tasks] for figure in mine["overhead"]} == {
        "overhead-networks": ["smallcnn", "other-k3", "plain-kernel"],
        "overhead-kernel-size": sized,
    }
    assert all(figure.hardware == ("cpu", "v100") for figure in mine["overhead"])


def test_published_numbers_are_shown_where_a_gpu_has_one_to_compare():
    both = cells(("smallcnn", "mine"), ("cifar10", "digits"), ("cpu", "v100"))
    (comparison,) = found(both)["paper_vs_ours"]
    assert comparison[2:4] == (("v100",), (("smallcnn", "cifar10"),))
    assert "paper_vs_ours" not in names([cell for cell in both if cell.hardware == "cpu"])
    assert "paper_vs_ours" not in names([cell for cell in both if cell.variant == "control"])


def test_the_papers_overhead_is_figures_8_9a_and_9b():
    block = config.read_yaml(PAPER)["overhead"]
    possible = found(cells(), networks=networks(*block["models"], hardware=block["hardware"]))
    targets = paper_items.by_target([figure for some in possible.values() for figure in some])
    assert [figure.name for figure in targets["fig8"]] == ["kernels-v100"]
    assert [figure.name for figure in targets["fig9a"]] == ["overhead-networks"]
    assert len(targets["fig9a"][0].tasks) == 10
    assert [model for model, _ in targets["fig9b"][0].tasks] == [f"mediumcnn-k{size}" for size in (1, 3, 5, 7)]
