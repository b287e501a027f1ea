"""What the tables promise; table 1 of a study: its sources of noise, and the variants in which they may vary."""

from pathlib import Path

import numpy as np
import pytest

from toolnoise.base.program import ROOT
from toolnoise.figures import tables
from toolnoise.papers import notebook_values
from toolnoise.stats.estimates import Estimate
from toolnoise.study import grid

# What the tables promise


@pytest.mark.parametrize(
    ("mean", "sd", "runs", "missing", "draws", "text"),
    [
        (0.9612, 0.0031, 5, 0, 5, "96.12 ± 0.31 (n = 5)"),
        (0.9612, 0.0031, 4, 1, 4, "96.12 ± 0.31 (n = 4 of 5)"),
        (0.9612, 0.0, 2, 0, 2, "96.12 ± 0 (n = 2)"),
        (0.962, np.nan, 1, 0, 1, "96.20 (one run)"),
        (np.nan, np.nan, 0, 5, 0, "no run (n = 0 of 5)"),
        (0.9612, 0.0031, 17, 1, 6, "96.12 ± 0.31 (n = 6 draws, 17 of 18 runs)"),
    ],
)
def test_a_cell_says_what_its_number_rests_on(mean, sd, runs, missing, draws, text):
    assert str(tables.mean_and_sd(mean, sd, runs, missing, draws)) == text


def saved(folder, *cells):
    rows = [["cpu_1†", "a|b", *cells]]
    tables.save_table(f"{folder}/t", "Accuracy", ["Tooling", "Task", *("ALGO" for _ in cells)], rows, ["100 % & <b>"])
    return {suffix: Path(f"{folder}/t.{suffix}").read_text("utf-8") for suffix in ("md", "tex", "html")}


def test_every_form_of_a_table_has_the_number_and_its_runs(tmp_path):
    texts = saved(tmp_path, tables.mean_and_sd(0.9612, 0.0031, 4, 1, 4), tables.mean_and_sd(0.962, np.nan, 1, 0, 1))
    assert r"| cpu_1† | a\|b | 96.12 ± 0.31 (n = 4 of 5) | 96.20 (one run) |" in texts["md"]
    assert r"96.12 $\pm$ 0.31 {\scriptsize (n = 4 of 5)} & 96.20 {\scriptsize (one run)} \\" in texts["tex"]
    assert '<td class="number">96.12 ± 0.31<small>n = 4 of 5</small></td>' in texts["html"]


def test_names_and_notes_cannot_break_a_table(tmp_path):
    texts = saved(tmp_path, tables.Entry("—"))
    assert r"cpu\_1$^{\dagger}$" in texts["tex"]
    assert r"100 \% \& <b>" in texts["tex"]
    assert "100 % &amp; &lt;b&gt;" in texts["html"]
    assert "<script" not in texts["html"]


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        ((0.27, 0.254, 0.29), "27.0 (25.4 to 29.0)"),
        ((-0.0001, -0.2, 0.0004), "0.0 (-20.0 to 0.0)"),
        ((0.0, 0.0, 0.0), "0 (0 to 0)"),
        ((0.27, np.nan, np.nan), "27.0"),
        ((np.nan, np.nan, np.nan), "n/a"),
    ],
)
def test_a_number_has_its_interval_if_there_is_one(estimate, text):
    assert str(tables.with_interval(Estimate(*estimate), 100, 1)) == text


def test_markdown_shows_tags_and_keeps_its_rows(tmp_path):
    tables.save_table(
        f"{tmp_path}/t", "<i>T", ["A\nB"], [["<img src=x onerror=alert(1)>\n| x"]], ["<script>, A & B, &lt;"]
    )
    text = (tmp_path / "t.md").read_text()
    assert "* &lt;script>, A & B, &amp;lt;" in text
    assert "<" not in text
    assert "| A B |" in text
    assert r"| &lt;img src=x onerror=alert(1)> \| x |" in text


# Table 1 of a study: what each source of noise is in it, and the variants in which it may vary


def rows(study, cells=None):
    found = notebook_values.sources_of(study.config, study.recipe_of, cells or study.cells)
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


def test_stored_images_that_are_larger_are_cropped(written, built):
    data = {"reader": "image-folder", "path": "pictures", "image_size": 24, "stored_size": 32}
    written["datasets"] = {"mine": data}
    written["grid"][0] |= {"datasets": ["mine"]}
    written["recipes"]["digits"] |= {"crop": 0, "flip": False}
    assert rows(built(written))["augment"][0] == [("crops of 24 out of 32 pixels", [])]
    data |= {"stored_size": "original", "streamed": True}
    assert rows(built(written))["augment"][0] == []
    written["recipes"]["digits"] |= {"resized_crop": {"area": [0.05, 1], "aspect": [0.75, 1.33]}}
    said = "boxes of 5 to 100 % of a picture's area, resized to 24 pixels"
    assert rows(built(written))["augment"][0] == [(said, [])]


def test_toolings_say_whether_the_noise_of_the_implementation_is_their_own(written, built):
    study = built(written)
    found = rows(study)["impl"][0]
    own, emulated = notebook_values.NOISE["native"], notebook_values.NOISE["reduction-order"]
    assert found == [(emulated, ["cpu"]), (own, ["noisy"])]
    assert rows(study, [cell for cell in study.cells if cell.hardware == "noisy"])["impl"][0] == [(own, [])]
