"""What figures and tables promise; table 1 of a study: its sources of noise, and where they may vary."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from toolnoise.base.errors import BadInput
from toolnoise.base.program import ROOT
from toolnoise.figures import dots, selection, sheets, style, tables
from toolnoise.papers import notebook_values
from toolnoise.stats.estimates import Estimate
from toolnoise.study import grid

COLUMNS = ["hardware", "variant", "metric", "group", "value", "ci_low", "ci_high", "n_runs", "n_missing"]


def table(*rows):
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.assign(model="smallcnn", dataset="digits", place="smallcnn\ndigits")


def three_bars():
    return table(
        ("cpu", "algo", "churn", "all", 0.1, 0.08, 0.12, 5, 0),
        ("cpu", "impl", "churn", "all", np.nan, np.nan, np.nan, 1, 4),
        ("cpu", "control", "churn", "all", 0.0, 0.0, 0.0, 2, 0),
    )


def drawn(rows, emulated=(), **beside):
    at = dots.heights_of_lines(rows)
    figure, axes = dots.page_of_panels(at, 1)
    dots.draw_measure(axes[0], rows, at, **beside)
    sheets.finish_sheet(figure, "Title", rows, emulated, sheets.HOW, marks=dots.draw_legend(figure))
    return figure


def words(figure):
    texts = [*figure.texts, *(text for panel in figure.axes for text in panel.texts)]
    return [*figure.get_label().splitlines(), *(" ".join(text.get_text().split()) for text in texts)]


def written(stem):
    return {suffix: Path(f"{stem}.{suffix}").read_bytes() for suffix in sheets.FORMATS}


def test_the_draws_that_a_variant_fixes_are_counted():
    rows = pd.concat([three_bars(), three_bars().assign(dataset="faces")])
    rows = rows[rows["variant"] != "control"].assign(n_draws=[5, 1, 5, 4])
    note = "IMPL: means over 4 choices of the seeds that stay fixed (one choice for smallcnn / digits)."
    assert sheets.draws_note(rows) == note


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a figure in all formats, saved twice: they are equal."""
    folder, figure = tmp_path_factory.mktemp("saved"), drawn(three_bars())
    sheets.save(figure, f"{folder}/once")
    sheets.save(figure, f"{folder}/again")
    assert written(f"{folder}/once") == written(f"{folder}/again")
    return written(f"{folder}/once")


def test_another_process_on_another_day_gives_the_same_bytes(tmp_path, saved):
    script = "import sys; import test_style as t; t.sheets.save(t.drawn(t.three_bars()), sys.argv[1])"
    path = os.pathsep.join([str(Path(__file__).parent), str(ROOT / "workflow")])
    elsewhere = {"PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "86400", "PYTHONPATH": path}
    command = [sys.executable, "-c", script, f"{tmp_path}/there"]
    subprocess.run(command, check=True, env=os.environ | elsewhere)
    assert written(f"{tmp_path}/there") == saved


def test_a_persons_own_style_does_not_change_the_bytes(tmp_path, saved):
    import matplotlib

    matplotlib.rcParams.update({"font.size": 20, "axes.facecolor": "red", "savefig.facecolor": "red"})
    sheets.save(drawn(three_bars()), f"{tmp_path}/own")
    assert written(f"{tmp_path}/own") == saved


def test_zero_and_undefined_are_marked_and_explained():
    texts = words(drawn(three_bars()))
    assert texts.count("0") == 1
    assert texts.count("n/a") == 1
    assert any("0: exactly zero. n/a: undefined" in text for text in texts)


def of(figure, mark):
    """The lines of the first panel with that mark."""
    return [line for line in figure.axes[0].lines if line.get_label() == mark]


def test_values_are_in_the_unit_of_their_axis_and_an_exact_zero_has_a_mark_of_its_own():
    figure = drawn(three_bars())
    assert figure.axes[0].get_xlabel() == "% of test examples"
    assert [line.get_xdata()[0] for line in of(figure, "estimate")] == pytest.approx([10])
    assert [line.get_xdata()[0] for line in of(figure, "zero")] == [0]


def test_each_run_is_a_dot_and_what_occurs_is_in_the_legend():
    rows, key = three_bars(), ("smallcnn\ndigits", "algo")
    figure = drawn(rows, runs={key: [0.08, 0.3, np.nan]}, chance={key: 0.05}, alone={key: 0.09})
    (runs,) = of(figure, "run")
    assert list(runs.get_xdata()) == pytest.approx([8, 30])
    assert figure.axes[0].get_xlim()[1] > 30, "every run is on the axis, and the interval ends at 12"
    assert [line.get_xdata()[0] for line in of(figure, "chance")] == pytest.approx([5])
    assert [line.get_xdata()[0] for line in of(figure, "alone")] == pytest.approx([9])
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"a run", "exactly 0", "independent errors", "SD, infinite test set"} <= set(said)
    assert not drawn(rows.iloc[:1]).legends[0].get_texts()[1:]


def test_an_interval_too_long_for_the_axis_ends_in_an_arrow_that_is_explained():
    rows = table(
        ("cpu", "algo", "accuracy_sd", "all", 0.01, 0.004, 0.32, 2, 0),
        ("cpu", "impl", "accuracy_sd", "all", 0.01, 0.004, np.inf, 2, 0),
    )
    figure = drawn(rows)
    assert figure.axes[0].get_xlim()[1] == pytest.approx(1.04 * dots.REACH)
    assert any("Arrow" in text for text in words(figure))


def test_emulated_noise_is_labelled_where_it_is_shown_and_only_there():
    assert any(style.EMULATED in text for text in words(drawn(three_bars(), ["cpu"])))
    assert not any("emulated" in text for text in words(drawn(three_bars(), ["gpu"])))
    assert style.tooling_name("cpu", ["cpu"]) == "cpu†"


def test_the_note_counts_runs_and_missing_runs():
    assert sheets.runs_note(three_bars()) == "Runs: 5 (ALGO), 1 (IMPL), 2 (Control); 4 of 12 missing."
    assert sheets.runs_note(three_bars().iloc[:1]) == "Runs: 5 each; none of 5 missing."
    # Each cell counts once, however many metrics it has.
    rows = three_bars()
    assert sheets.runs_note(pd.concat([rows, rows.assign(metric="l2_unit")])) == sheets.runs_note(rows)


TASKS = [["smallcnn", "digits"]]


@pytest.mark.parametrize(
    ("metric", "hardware", "part", "message"),
    [
        ("churn", "v100", "all", "m.csv: hardware: no 'v100'; it has cpu"),
        ("churn", "cpu", "class", "m.csv: metric: no 'churn' by class on cpu; it has nothing"),
    ],
)
def test_a_file_without_what_a_figure_needs_is_refused_in_one_line(metric, hardware, part, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        selection.select_rows(three_bars(), "m.csv", metric, [hardware], TASKS, part)
    with pytest.raises(BadInput, match=f"^{re.escape(message.replace('m.csv', 'm.csv and 1 more'))}$"):
        selection.select_rows(three_bars(), ["m.csv", "b.csv"], metric, [hardware], TASKS, part)


@pytest.mark.parametrize(("part", "groups"), [("all", {"all"}), ("class", {"3", "10"}), ("group", {"Old", "B2"})])
def test_classes_and_sub_groups_are_kept_apart_from_all_examples_and_each_other(part, groups):
    rows = pd.concat([three_bars().assign(group=name) for name in ("all", "3", "10", "Old", "B2")])
    assert set(selection.select_rows(rows, "m.csv", "churn", ["cpu"], TASKS, part)["group"]) == groups


def test_a_ratio_that_cannot_be_told_from_one_is_hollow_and_one_outside_its_null_has_a_ring():
    rows = table(
        ("cpu", "algo", "wall_ratio", "all", 1.2, 0.9, 1.3, 5, 0),
        ("cpu", "impl", "wall_ratio", "all", 1.5, 1.4, 1.6, 5, 0),
        ("cpu", "control", "wall_ratio", "all", np.nan, np.nan, np.nan, 1, 0),
    )
    at = dots.heights_of_lines(rows)
    figure, axes = dots.page_of_panels(at, 1)
    assert dots.undecided_places(rows) == {("smallcnn\ndigits", "algo")}
    dots.draw_measure(axes[0], rows, at, hollow=dots.undecided_places(rows), ringed={("smallcnn\ndigits", "impl")})
    assert [line.get_xdata()[0] for line in of(figure, "untold")] == [1.2]
    assert [line.get_xdata()[0] for line in of(figure, "estimate")] == [1.5]
    assert [line.get_xdata()[0] for line in of(figure, "ring")] == [1.5]
    assert "n/a" in words(figure)
    assert axes[0].get_xscale() == "log"


@pytest.mark.parametrize("limits", [(0.99, 1.01), (0.7, 1.4), (0.02, 60)])
def test_an_axis_of_ratios_has_three_ticks_or_more(limits):
    figure, axes = sheets.empty_sheet(1, 2, 1, sheets.COLUMN)
    axes[0].set_xscale("log")
    axes[0].set_xlim(*limits)
    sheets.ratio_ticks(axes[0])
    assert len(axes[0].get_xticks()) >= 3
    assert figure.get_figwidth() == sheets.COLUMN


def test_a_png_shows_its_title_and_every_file_has_it_with_the_notes(tmp_path):
    figure, _ = sheets.empty_sheet(1, 2, 1)
    sheets.frame_panels(figure, "A title", ["How.", "Runs: 5 each; none of 5 missing."], subtitle="Of what")
    high = figure.get_figheight()
    shown = sheets.save(figure, str(tmp_path / "figure"))
    assert shown.filename == f"{tmp_path}/figure.png"
    said = "A title\nOf what\nHow.\nRuns: 5 each; none of 5 missing."
    image = Image.open(tmp_path / "figure.png")
    assert image.text["Description"] == said
    assert image.height > 200 * high, "the title stands above the figure"
    drawing = (tmp_path / "figure.svg").read_text()
    assert said in drawing
    drawn = re.findall("<!-- (.*?) -->", drawing)
    assert "Runs: 5 each; none of 5 missing." in drawn
    assert not {"A title", "Of what", "How."} & set(drawn)


def test_the_measures_that_are_zero_everywhere_are_named_and_not_drawn():
    rows = pd.concat([three_bars().assign(metric="churn"), three_bars().assign(metric="l2_unit", value=0.0)])
    assert dots.varying_measures(rows, ("churn", "l2_unit")) == ["churn"]
    assert dots.still_note(["churn"], ("churn", "l2_unit")).endswith("everywhere: L2 of unit-norm weights.")
    assert dots.still_note(["churn"], ("churn",)) == ""


# Tables


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


def saved_table(folder, *cells):
    rows = [["cpu_1†", "a|b", *cells]]
    tables.save_table(f"{folder}/t", "Accuracy", ["Tooling", "Task", *("ALGO" for _ in cells)], rows, ["100 % & <b>"])
    return {suffix: Path(f"{folder}/t.{suffix}").read_text("utf-8") for suffix in ("md", "tex", "html")}


def test_every_form_of_a_table_has_the_number_and_its_runs(tmp_path):
    texts = saved_table(
        tmp_path, tables.mean_and_sd(0.9612, 0.0031, 4, 1, 4), tables.mean_and_sd(0.962, np.nan, 1, 0, 1)
    )
    assert r"| cpu_1† | a\|b | 96.12 ± 0.31 (n = 4 of 5) | 96.20 (one run) |" in texts["md"]
    assert r"96.12 $\pm$ 0.31 {\scriptsize (n = 4 of 5)} & 96.20 {\scriptsize (one run)} \\" in texts["tex"]
    assert '<td class="number">96.12 ± 0.31<small>n = 4 of 5</small></td>' in texts["html"]


def test_names_and_notes_cannot_break_a_table(tmp_path):
    texts = saved_table(tmp_path, tables.Entry("—"))
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


def sources_of(study, cells=None):
    found = notebook_values.sources_of(study.config, study.recipe_of, cells or study.cells)
    return {one.name: (one.uses, one.varies) for one in found}


@pytest.fixture(scope="module")
def demo():
    return grid.load_study(ROOT / "config.yaml")


def test_a_source_varies_in_the_variants_that_let_it(demo):
    assert {name: varies for name, (_, varies) in sources_of(demo).items()} == {
        "init": ["algo_impl", "algo"],
        "augment": ["algo_impl", "algo"],
        "shuffle": ["algo_impl", "algo", "shuffle"],
        "dropout": ["algo_impl", "algo"],
        "impl": ["algo_impl", "impl"],
    }


def test_recipes_say_how_examples_are_augmented_and_put_into_batches(demo):
    cells = [cell for cell in demo.cells if cell.dataset == "faces" or cell.variant != "shuffle"]
    found = sources_of(demo, cells)
    assert found["augment"][0] == [("crops after 1 pixel of padding", ["digits"]), ("mirroring", ["faces"])]
    assert found["shuffle"][0] == [("batches of 32", ["digits"]), ("batches of 64", ["faces"])]
    on_digits = sources_of(demo, [cell for cell in cells if cell.dataset == "digits"])
    assert on_digits["augment"][0] == [("crops after 1 pixel of padding", [])]


def test_stored_images_that_are_larger_are_cropped(written, built):
    data = {"reader": "image-folder", "path": "pictures", "image_size": 24, "stored_size": 32}
    written["datasets"] = {"mine": data}
    written["grid"][0] |= {"datasets": ["mine"]}
    written["recipes"]["digits"] |= {"crop": 0, "flip": False}
    assert sources_of(built(written))["augment"][0] == [("crops of 24 out of 32 pixels", [])]
    data |= {"stored_size": "original", "streamed": True}
    assert sources_of(built(written))["augment"][0] == []
    written["recipes"]["digits"] |= {"resized_crop": {"area": [0.05, 1], "aspect": [0.75, 1.33]}}
    said = "boxes of 5 to 100 % of a picture's area, resized to 24 pixels"
    assert sources_of(built(written))["augment"][0] == [(said, [])]


def test_toolings_say_whether_the_noise_of_the_implementation_is_their_own(written, built):
    study = built(written)
    found = sources_of(study)["impl"][0]
    own, emulated = notebook_values.NOISE["native"], notebook_values.NOISE["reduction-order"]
    assert found == [(emulated, ["cpu"]), (own, ["noisy"])]
    assert sources_of(study, [cell for cell in study.cells if cell.hardware == "noisy"])["impl"][0] == [(own, [])]
