"""What the tables promise."""

from pathlib import Path

import numpy as np
import pytest

from toolnoise.figures import tables
from toolnoise.stats.estimates import Estimate


@pytest.mark.parametrize(
    ("mean", "sd", "runs", "missing", "text"),
    [
        (0.9612, 0.0031, 5, 0, "96.12 ± 0.31 (n = 5)"),
        (0.9612, 0.0031, 4, 1, "96.12 ± 0.31 (n = 4 of 5)"),
        (0.9612, 0.0, 2, 0, "96.12 ± 0 (n = 2)"),
        (0.9612, 0.00001, 5, 0, "96.12 ± 0.00 (n = 5)"),
        (0.962, np.nan, 1, 0, "96.20 (one run)"),
        (0.962, np.nan, 1, 4, "96.20 (one run of 5)"),
        (np.nan, np.nan, 0, 5, "no run (n = 0 of 5)"),
        (0.962, np.nan, 3, 0, "96.20 (SD n/a) (n = 3)"),
    ],
)
def test_a_cell_says_what_its_number_rests_on(mean, sd, runs, missing, text):
    assert str(tables.mean_and_sd(mean, sd, runs, missing)) == text


def saved(folder, *cells):
    rows = [["cpu_1†", "a|b", *cells]]
    tables.save_table(f"{folder}/t", "Accuracy", ["Tooling", "Task", *("ALGO" for _ in cells)], rows, ["100 % & <b>"])
    return {suffix: Path(f"{folder}/t.{suffix}").read_text("utf-8") for suffix in ("md", "tex", "html")}


def test_every_form_of_a_table_has_the_number_and_its_runs(tmp_path):
    texts = saved(tmp_path, tables.mean_and_sd(0.9612, 0.0031, 4, 1), tables.mean_and_sd(0.962, np.nan, 1, 0))
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
