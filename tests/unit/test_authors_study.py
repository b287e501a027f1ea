"""The study of the authors' code: the paper's cells, by the recipes and with the sources of the code."""

import pytest

from toolnoise.analyses.published import paper_items, papers_recipe
from toolnoise.base.program import ROOT
from toolnoise.study import grid, published


@pytest.fixture(scope="module")
def authors():
    return grid.load(ROOT / "workflow/studies/authors.yaml")


@pytest.fixture(scope="module")
def paper():
    return grid.load(ROOT / "workflow/studies/paper.yaml")


def test_every_published_number_of_a_training_is_held_against_a_cell_with_as_many_runs(authors):
    for number in published.read():
        if number.model and number.dataset:
            cells = [cell for cell in authors.cells if cell[:3] == number[1:4] and cell.variant in number.variants]
            assert {len(authors.seeds[cell]) for cell in cells} == {int(number.n_runs)}, number


def test_no_recipe_differs_from_that_of_the_code(authors):
    recipes = {task: authors.config["recipes"][name] for task, name in authors.recipe_of.items()}
    assert {task for task, recipe in recipes.items() if papers_recipe.differences(*task, recipe)} == set()
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
