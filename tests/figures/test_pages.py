"""The page of a study, its pictures and what is packed into it; notebooks as they lie here, and as executed."""

import base64
import hashlib
import io
import math
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from PIL import Image

from toolnoise.datasets import preparation
from toolnoise.datasets.prepared import PARTS, Split
from toolnoise.figures import render
from toolnoise.measures.what_varies import Row
from toolnoise.pages import cell_page, study_page
from toolnoise.pages.document import fill_template
from toolnoise.pages.document import interval_text as pages_interval
from toolnoise.pages.document import number_text as pages_number
from toolnoise.study import runs
from toolnoise.study.cells import Cell

ALGO, IMPL, CONTROL = (Cell("cnn", "digits", "cpu", variant) for variant in ("algo", "impl", "control"))
NAN = math.nan
ZERO = (0, NAN, NAN, 2, 0)


CONTROL_GATE = {CONTROL: True}


def measured(found, gates=(), emulated=(), seeds=(), synthetic=()):
    """What the first screen is drawn from, with the chart of it."""
    study = study_page.Measured(found, dict(gates), dict(seeds), emulated, synthetic)
    return study, study_page.first_chart(study)


def churn(*row):
    return {"churn": Row(*row), "accuracy_sd": Row(0.004, 0.002, 0.02, 5, 0)}


def test_the_first_sentence_and_the_chart_have_what_each_source_changes():
    bn = ALGO._replace(model="bn", variant="shuffle")
    found = {ALGO: churn(0.047, 0.03, 0.06, 5), IMPL: churn(0.01, 0.005, 0.02, 6), CONTROL: churn(*ZERO)}
    seeds = {IMPL: [10_001, 10_002, 10_003, 20_001, 20_002, 20_003]}
    study, chart = measured(found | {bn: churn(0.02, NAN, NAN, 2)}, CONTROL_GATE, seeds=seeds)
    assert study_page.first_sentence(study, chart) == (
        "4.70 % of the answers of cnn on digits change with a new seed (ALGO); nothing changes with everything fixed."
    )
    assert (chart.measure, chart.task) == ("churn", "cnn on digits")
    assert [(one.called, one.says, one.runs, one.task) for one in chart.sources] == [
        ("a new seed (ALGO)", "4.70 % (3.00 to 6.00)", "5 runs", ""),
        ("the implementation alone (IMPL)", "1.00 % (0.500 to 2.00)", "6 runs of 2 seeds", ""),
        ("everything fixed (Control)", "nothing: bit-equal", "2 runs", ""),
        ("the order of the data (shuffle)", "2.00 %", "2 runs", "bn on digits"),
    ]
    # Places are proportional to the values, and ticks stand at theirs.
    at = {value: place for one in chart.sources for value, place in [(one.value, one.marks[0])]}
    scale = (at[0.047] - at[0]) / 0.047
    assert at[0.01] - at[0] == pytest.approx(0.01 * scale, abs=0.02)
    assert [(float(text), round((place - at[0]) / scale * 100, 2)) for place, text in chart.ticks][1:] == [
        (value, pytest.approx(value, abs=0.03)) for value in (2, 4, 6)
    ]


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (False, "; runs differ even with everything fixed."),
        (None, "."),
    ],
)
def test_control_has_the_gates_verdict(verdict, says):
    study, chart = measured({ALGO: churn(0.1, NAN, NAN, 2), CONTROL: churn(*ZERO)}, {CONTROL: verdict})
    assert (
        study_page.first_sentence(study, chart)
        == f"10.0 % of the answers of cnn on digits change with a new seed (ALGO){says}"
    )


def test_emulated_noise_and_drawn_pictures_are_named_as_such():
    free = ALGO._replace(variant="algo_impl")
    found = {free: churn(0.1, NAN, NAN, 2), IMPL: churn(0.01, NAN, NAN, 2)}
    study, chart = measured(found, emulated=["cpu"], synthetic=["digits"])
    assert [one.called for one in chart.sources] == [
        "a new seed and the implementation (emulated)",
        "the implementation alone (IMPL, emulated)",
    ]
    assert chart.task == "cnn on synthetic digits" in study_page.first_sentence(study, chart)


HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>&lt;\u202e\0é{{ style }}{script}"


def page_of(**changes):
    """A study's page without anything in it, but for what changes."""
    empty = {name: {} for name in ("cells", "pages", "measured", "labels", "gates", "claims")}
    empty |= {name: [] for name in ("figures", "tables", "emulated", "metrics")}
    chart = study_page.Chart("churn", "", [], [])
    text = {"study": "s", "sentence": "", "ran": "", "examples": None}
    return fill_template("study.html", **empty | text | {"chart": chart} | changes)


def test_no_text_of_a_study_becomes_code():
    claims = {HOSTILE: [{"says": HOSTILE, "verdict": "refuted", "here": HOSTILE, "published": HOSTILE}]}
    page = page_of(study=HOSTILE, sentence=HOSTILE, claims=claims)
    assert len(re.findall("<script", page)) == page.count("</script>") == 1
    assert "<img" not in page
    assert not set("\u202e\0") & set(page)
    assert page.count("{{ style }}") == page_of(study=HOSTILE, sentence=HOSTILE, claims=claims).count("{script}") > 3


def test_the_policy_allows_the_pages_own_script_and_style_and_no_address():
    page = page_of()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    policy = policy.replace("&#39;", "'")
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)

    def digest(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "script-src": digest(script),
        "style-src": digest(style),
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert not re.findall(r"@import|url\(|fetch\(|XMLHttp|WebSocket|innerHTML| style=| on\w+=", page)


@pytest.mark.parametrize(
    ("row", "number", "interval"),
    [
        ((0.9376, 0.924, 0.951), "93.8", "92.4 to 95.1"),
        ((0.93761234, 0.9371, 0.9382), "93.761", "93.710 to 93.820"),
        ((0.0, NAN, NAN), "0", ""),
    ],
)
def test_a_number_has_the_digits_that_its_interval_leaves(row, number, interval):
    assert pages_number(*row, 100, 2) == number
    assert pages_interval(*row[1:], 100) == interval


def test_a_figure_is_called_by_what_it_found_and_a_damaged_one_is_one_line(tmp_path, refused):
    (tmp_path / "a.svg").write_text("<svg><dc:description>Churn is 5 %: 1 &lt; 2\nMore</dc:description></svg>")
    assert study_page.describe_figure(tmp_path / "a.svg") == ["Churn is 5 %: 1 < 2", "More"]
    (tmp_path / "a.svg").write_bytes(bytes([255] * 20))
    line = refused(study_page.describe_figure, tmp_path / "a.svg")
    assert line.startswith(f"{tmp_path}/a.svg: damaged or truncated (") and line.endswith("a figure that render wrote")


def test_partings_of_runs_without_scores_need_no_labels(make_run, make_dump, tmp_path):
    found = [runs.read_run(make_run(seed)) for seed in (1, 2)]
    paths = make_dump(np.zeros((2, 4), np.float64), outcome="values")
    (pair,) = cell_page.compare_pairs(found, tmp_path / "no-data.npz", *paths)
    assert (pair["seeds"], pair["examples"]) == ((1, 2), [])
    assert cell_page.most_apart([pair]) is None


def test_a_dump_for_other_data_is_not_compared(make_run, make_dump, tmp_path, refused):
    made = {"images": np.zeros((4, 2, 2), np.uint8), "labels": np.arange(4) % 3}
    np.savez(tmp_path / "mine.npz", **{f"{part}_{name}": made[name] for part in PARTS for name in made})
    data = tmp_path / "prepared.npz"
    preparation.prepare("mine", {"reader": "npz", "path": str(tmp_path / "mine.npz")}, out=data)
    found = [runs.read_run(make_run(seed)) for seed in (1, 2)]
    logits, index = make_dump(np.zeros((2, 5, 3), np.float32))
    line = refused(cell_page.compare_pairs, found, data, logits, index)
    assert line == f"{logits}: found logits of shape (5, 3) for each run; (4, 3), the test set of {data}"


def with_draws(make_run, seeds):
    def change(parts):
        parts["record"]["spec"]["draw"] = parts["record"]["spec"]["seed"] // 10_000

    return [runs.read_run(make_run(seed, change)) for seed in seeds]


def test_runs_are_compared_within_their_draw_alone(make_run):
    few = with_draws(make_run, (10_001, 10_002, 20_001, 20_002))
    assert [(a.seed, b.seed) for a, b in cell_page.two_of(few)] == [(10_001, 10_002), (20_001, 20_002)]
    many = with_draws(make_run, [draw * 10_000 + run for draw in (1, 2) for run in (1, 2, 3, 4)])
    assert [(a.seed, b.seed) for a, b in cell_page.two_of(many)] == [
        (draw * 10_000 + 1, draw * 10_000 + run) for draw in (1, 2) for run in (2, 3, 4)
    ]
    of_one = [runs.read_run(make_run(seed)) for seed in range(1, 9)]
    assert [(a.seed, b.seed) for a, b in cell_page.two_of(of_one)] == [(1, seed) for seed in range(2, 9)]


def test_a_cell_says_what_varies_between_its_runs_and_each_machine_that_computed_them(make_run):
    def on(**machine):
        return lambda parts: parts["record"].update(observed=machine)

    found = [runs.read_run(make_run(seed, on(device="cpu", cpu="B"))) for seed in (1, 2)]
    found += [runs.read_run(make_run(3, on(device="Tesla T4", cpu="A"))), runs.read_run(make_run(4, on()))]
    assert (
        cell_page.what_varies_text(found)
        == "4 runs; only what the variant names varies between them. Ran on B, Tesla T4."
    )
    assert cell_page.what_varies_text(found[3:]) == "1 run; only what the variant names varies between them."
    noisy = runs.read_run(make_run(5, lambda parts: parts["record"].update(emulated_noise="reduction-order")))
    assert "Implementation noise is emulated" in cell_page.what_varies_text([noisy])
    says = cell_page.what_varies_text(with_draws(make_run, (10_001, 10_002, 20_001, 20_002)))
    assert says.startswith("4 runs of 2 draws of the algorithm. Only runs of one draw are compared")


NO_PICTURES = {"kernels", "overhead", "language", "table_language", "paper_vs_ours"}  # of times, texts and the papers


@pytest.mark.parametrize("path", sorted(render.NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_that_shows_data_sets_knows_which_are_synthetic(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    (parameters,) = (cell.source for cell in cells if "parameters" in cell.metadata.get("tags", []))
    assert ("synthetic = []" in parameters) == (path.stem not in NO_PICTURES)
    code = "".join(cell.source for cell in cells if cell.source != parameters)
    assert ("synthetic)" in code) == (path.stem not in NO_PICTURES)


# Pictures


def split(size=8, channels=1, **changes):
    shape = (4, size, size, channels)
    pixels = (np.arange(np.prod(shape)) % 17).astype(np.uint8).reshape(shape)
    return replace(Split(pixels, np.zeros(4, np.int32), maximum=16), **changes)


def decoded(text):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def test_a_picture_has_the_pixels_without_the_margin_from_black_to_white():
    given = split(channels=3, margin=2)
    found = decoded(cell_page.encoded_pictures(given, [2], 10_000)["2"])
    assert found.shape == (6, 6, 3)
    assert np.array_equal(found, given.pixels[2, 1:7, 1:7].astype(int) * 255 // 16)


# A formatter that changes every text.
LOUD = SimpleNamespace(FileMode=lambda **_: None, format_str=lambda text, **_: f"# formatted\n{text}")


@pytest.mark.parametrize("black", [None, LOUD], ids=["without black", "with another black"])
def test_parameters_are_written_alike_whatever_formats(black, monkeypatch):
    monkeypatch.setitem(sys.modules, "black", black)
    cells = [nbformat.v4.new_code_cell("tasks = []", metadata={"tags": ["parameters"]})]
    cells.append(nbformat.v4.new_code_cell("tasks, width"))
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    copy = render.execute(notebook, {"tasks": [["smallcnn", 'a "quoted" word']], "width": None})
    assert copy.cells[1].source.splitlines() == [
        "# Parameters",
        'tasks = [["smallcnn", "a \\"quoted\\" word"]]',
        "width = None",
    ]
    assert copy.cells[2].outputs[0].data["text/plain"] == "([['smallcnn', 'a \"quoted\" word']], None)"
