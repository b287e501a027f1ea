"""Table 1 of a study: what each source of noise is in it, and the variants in which it may vary."""

import pytest

from toolnoise.analyses.published import source_table
from toolnoise.base.program import ROOT
from toolnoise.study import grid
from toolnoise.study.cells import Cell


def rows(study, cells=None):
    found = source_table.sources(study.config, study.recipe_of, cells or study.cells)
    return {one.name: (one.uses, one.varies) for one in found}


@pytest.fixture(scope="module")
def demo():
    return grid.load(ROOT / "config.yaml")


def test_a_source_varies_in_the_variants_that_let_it(demo):
    assert {name: varies for name, (_, varies) in rows(demo).items()} == {
        "init": ["algo_impl", "algo"],
        "augment": ["algo_impl", "algo"],
        "shuffle": ["algo_impl", "algo", "shuffle"],
        "dropout": ["algo_impl", "algo"],
        "impl": ["algo_impl", "impl"],
    }


def test_recipes_say_how_examples_are_augmented_and_put_into_batches(demo):
    cells = [cell for cell in demo.cells if cell.dataset == "faces" or cell.variant != "shuffle"]
    found = rows(demo, cells)
    assert found["augment"][0] == [("crops after 1 pixel of padding", ["digits"]), ("mirroring", ["faces"])]
    assert found["shuffle"][0] == [("batches of 32", ["digits"]), ("batches of 64", ["faces"])]
    on_digits = rows(demo, [cell for cell in cells if cell.dataset == "digits"])
    assert on_digits["augment"][0] == [("crops after 1 pixel of padding", [])]


def test_part_of_the_models_on_a_data_set_are_named(written, built):
    written["grid"][0] |= {"models": ["smallcnn", "smallcnn-dropout"], "datasets": ["digits"]}
    assert rows(built(written))["dropout"][0] == [("dropout with rate 0.2", ["smallcnn-dropout/digits"])]


def test_stored_images_that_are_larger_are_cropped(written, built):
    data = {"reader": "image-folder", "path": "pictures", "image_size": 24, "stored_size": 32}
    written["datasets"] = {"mine": data}
    written["grid"][0] |= {"datasets": ["mine"]}
    written["recipes"]["digits"] |= {"crop": 0, "flip": False}
    assert rows(built(written))["augment"][0] == [("crops of 24 out of 32 pixels", [])]


def test_toolings_say_whether_the_noise_of_the_implementation_is_their_own(written, built):
    study = built(written)
    found = rows(study)["impl"][0]
    own, emulated = source_table.NOISE["native"], source_table.NOISE["reduction-order"]
    assert found == [(emulated, ["cpu"]), (own, ["noisy"])]
    assert rows(study, [cell for cell in study.cells if cell.hardware == "noisy"])["impl"][0] == [(own, [])]


def test_a_bit_is_a_source_where_a_variant_moves_one(written, built):
    written["grid"][0] |= {"variants": ["shuffle", "control"]}
    assert "bit" not in rows(built(written))
    written["grid"][0] |= {"variants": ["bit", "bit_1", "shuffle"]}
    written["recipes"]["digits"] |= {"epochs": 5}
    uses, varies = rows(built(written))["bit"]
    assert uses == [("before the first epoch", []), ("after epoch 1", [])]
    assert varies == ["bit", "bit_1"]


def test_what_varies_in_no_variant_is_there(written, built):
    study = built(written)
    assert rows(study, [Cell("smallcnn", "digits", "cpu", "control")])["init"] == (
        [("the weights of every network", [])],
        [],
    )
