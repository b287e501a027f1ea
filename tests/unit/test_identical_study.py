"""The study of identical runs: Pham et al.'s networks and numbers of runs, and their headline numbers."""

from toolnoise.analyses.identical.metric import IDENTICAL
from toolnoise.base.program import ROOT
from toolnoise.study import config, grid, published

FILE = ROOT / "workflow/studies/identical-runs.yaml"


def test_it_has_six_networks_of_16_runs_by_default_and_with_fixed_seeds():
    found = grid.load(FILE)
    tasks = {
        *((f"lenet{number}", "mnist") for number in (1, 4, 5)),
        *((f"resnet{depth}", "cifar10") for depth in (38, 56)),
        ("wrn-28-10", "cifar100"),
    }
    assert {cell[:2] for cell in found.cells} == tasks
    assert {len(seeds) for cell, seeds in found.seeds.items() if cell.variant != "control"} == {16}
    assert {len(found.seeds[cell]) for cell in found.controls} == {2}
    assert {cell.variant for cell in found.cells} == {"algo_impl", "impl", "control"}
    assert all(found.tooling(cell.hardware)["accelerator"] == "gpu" for cell in found.cells)
    assert {found.recipe_of[task].partition("-")[0] for task in tasks} == {"pham"}
    assert {"identical_runs", "ensembles"} <= set(found.figure_kinds)
    assert grid.build(config.resolve(found.config, "kept.json"), "kept.json") == found


def test_published_headlines_are_columns_of_the_table():
    numbers = published.read(published.IDENTICAL)
    assert {number.metric for number in numbers} <= set(IDENTICAL)
    told = {(number.variant, number.metric): number.value for number in numbers}
    assert told == {
        ("algo_impl", "max_accuracy_diff"): "10.8",
        ("impl", "max_accuracy_diff"): "2.9",
        ("impl", "max_per_label_acc_diff"): "52.4",
        ("impl", "training_relative_diff"): "145.3",
    }
