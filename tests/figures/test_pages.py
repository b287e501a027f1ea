"""The page of a study, its pictures and what is packed into it; notebooks as they lie here, and as executed."""

import base64
import hashlib
import io
import json
import math
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from PIL import Image

from toolnoise import streams
from toolnoise.base import files, metric_files
from toolnoise.base.errors import BadInput
from toolnoise.datasets import preparation
from toolnoise.datasets.prepared import Split
from toolnoise.datasets.raw import PARTS
from toolnoise.figures import render
from toolnoise.formulas import declared
from toolnoise.formulas.stability import STABILITY, stability
from toolnoise.formulas.weights import apart
from toolnoise.measures.what_varies import Row
from toolnoise.pages import cell_page, first_screen, page_tables, pictures, study_page
from toolnoise.pages.document import document, part
from toolnoise.pages.short_json import packed
from toolnoise.study import runs
from toolnoise.study.cells import Cell

ALGO, IMPL, CONTROL = (Cell("cnn", "digits", "cpu", variant) for variant in ("algo", "impl", "control"))
NAN = math.nan
ZERO = (0, NAN, NAN, 2, 0)


def of_cell(churn, sd=(0.004, 0.002, 0.02, 5, 0)):
    return {"churn": Row(*churn), "accuracy_sd": Row(*sd)}


def first(found, bit_equal=(), emulated=(), seeds=()):
    """The sentences and the first figure of a page."""
    study = first_screen.Measured(found, dict(bit_equal), dict(seeds), emulated)
    hero = first_screen.hero(study)
    return list(first_screen.sentences(study, hero)), hero


def test_three_sentences_say_what_was_trained_what_changed_and_how_sure_that_is():
    found = {ALGO: of_cell((0.047, 0.03, 0.06, 5, 1)), IMPL: of_cell((0.01, 0.005, 0.02, 6, 0)), CONTROL: of_cell(ZERO)}
    seeds = {IMPL: [10_001, 10_002, 10_003, 20_001, 20_002, 20_003]}
    (trained, changed, sure), _ = first(found, [(CONTROL, True)], seeds=seeds)
    assert trained == "What was trained: 13 networks (cnn) on digits, in 3 cells; 1 more diverged."
    assert changed == (
        "What changed: runs of cnn on digits (cpu) differ in these shares of answers: 4.70 % (3.00 to 6.00; 5 runs) "
        "with a new seed (ALGO), 1.00 % (0.500 to 2.00; 6 runs of 2 seeds) with the implementation alone (IMPL)."
    )
    assert sure == (
        "How sure: in brackets are 95 % intervals over runs (over seeds, where each has several runs) for these "
        "test examples; with everything fixed (Control), nothing changes: bit-equal."
    )


def test_the_first_figure_has_a_row_for_each_source_in_the_words_of_summary():
    other = ALGO._replace(model="bn")
    found = {ALGO: of_cell((0.047, NAN, NAN, 5, 0)), other: of_cell((0.02, 0.01, 0.03, 5, 0)), CONTROL: of_cell(ZERO)}
    _, hero = first(found, [(CONTROL, True)])
    algo, control = hero["rows"]
    assert (hero["measure"], hero["where"]) == ("churn", "cnn on digits (cpu)")
    assert (algo["called"], algo["says"], algo["over"]) == ("a new seed (ALGO)", "4.70 %", "2.00 to 4.70 % in 2 tasks")
    assert (algo["value"], algo["runs"], algo["cell"]) == ([4.7, None, None], "5 runs", list(ALGO))
    assert (control["called"], control["says"], control["value"]) == (
        "everything fixed (Control)",
        "nothing: bit-equal",
        [0, None, None],
    )


def test_a_source_that_the_first_task_lacks_has_the_name_of_its_own():
    other = ALGO._replace(model="bn", variant="shuffle")
    _, hero = first({ALGO: of_cell((0.1, NAN, NAN, 2, 0)), IMPL: of_cell(ZERO), other: of_cell((0.2, NAN, NAN, 2, 0))})
    assert [(row["cell"][3], row.get("where", "")) for row in hero["rows"]] == [
        ("algo", ""),
        ("impl", ""),
        ("shuffle", "another task: bn on digits (cpu)"),
    ]


def test_emulated_noise_is_marked_wherever_it_is_named():
    free = ALGO._replace(variant="algo_impl")
    said, hero = first({free: of_cell((0.1, NAN, NAN, 2, 0)), IMPL: of_cell((0.01, NAN, NAN, 2, 0))}, emulated=["cpu"])
    assert [row["called"] for row in hero["rows"]] == [
        "a new seed and the implementation (ALGO+IMPL, emulated)",
        "the implementation alone (IMPL, emulated)",
    ]
    assert said[2].endswith("IMPL is emulated on cpu: each batch is added up in another order.")
    assert "emulated" not in "".join(first({ALGO: of_cell((0.1, NAN, NAN, 2, 0))}, emulated=["cpu"])[0][1])


def test_drawn_pictures_are_synthetic_wherever_the_page_names_their_data_set(tmp_path):
    drawn, other = ALGO._replace(dataset="faces"), ALGO._replace(variant="impl", dataset="other-faces")
    rows = [(*cell, "churn", "all", 0.1, 0.05, 0.2, 4, 0) for cell in (drawn, other)]
    metric_files.write(tmp_path / "stability.csv", STABILITY, rows)
    files = {study_page.STABILITY: tmp_path / "stability.csv"}
    page = study_page.Page("s", [[*drawn, [1]], [*other, [1]]], [], [], [], files, synthetic=["faces"])
    first_view = study_page.first(page)
    assert first_view["synthetic"] == ["faces"]
    assert " on synthetic faces and other-faces, " in first_view["sentences"][0]
    assert first_view["hero"]["where"] == "cnn on synthetic faces (cpu)"
    assert "runs of cnn on synthetic faces (cpu) differ" in first_view["sentences"][1]
    table = page_tables.measured(files[study_page.STABILITY], "stability", page.synthetic)
    assert [row[1] for row in table["rows"]] == ["synthetic faces", "other-faces"]


NO_PICTURES = {"kernels", "overhead", "language", "table_language", "paper_vs_ours"}  # of times, texts and the papers


@pytest.mark.parametrize("path", sorted(render.NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_that_shows_data_sets_knows_which_are_synthetic(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    (parameters,) = (cell.source for cell in cells if "parameters" in cell.metadata.get("tags", []))
    assert ("synthetic = []" in parameters) == (path.stem not in NO_PICTURES)
    code = "".join(cell.source for cell in cells if cell.source != parameters)
    assert ("synthetic)" in code) == (path.stem not in NO_PICTURES)


def test_too_few_runs_are_no_finding():
    (trained, sure), hero = first({ALGO: of_cell((NAN, NAN, NAN, 1, 0))})
    assert trained.startswith("What was trained: 1 network")
    assert sure.startswith("How sure")
    assert [(row["says"], row["value"]) for row in hero["rows"]] == [("one run: not known", [None] * 3)]
    assert first({})[0] == ["No cell has been measured yet."]


@pytest.mark.parametrize(
    ("verdict", "wanted"),
    [(True, "nothing changes: bit-equal"), (False, "runs differ"), (None, "one run: not checked")],
)
def test_control_has_the_gates_verdict(verdict, wanted):
    (_, *_, sure), _ = first({CONTROL: of_cell(ZERO)}, [(CONTROL, verdict)])
    assert sure.endswith(f"with everything fixed (Control), {wanted}.")


def test_a_figure_that_is_no_text_is_one_line(tmp_path, refused):
    (tmp_path / "a.svg").write_bytes(bytes([255] * 20))
    shown = [
        {"name": "a", "picture": True, "data": [], "notebook": "a.svg", "kind": "table2", "files": [["svg", "a.svg"]]}
    ]
    page = study_page.Page("s", [], [], shown, [], {"a.svg": tmp_path / "a.svg"})
    line = refused(study_page.first, page)
    assert line.startswith(f"{tmp_path}/a.svg: damaged or truncated (") and line.endswith("a figure that render wrote")


def test_a_figure_is_called_by_what_it_found_and_a_table_by_its_title(tmp_path):
    (tmp_path / "a.svg").write_text("<svg><dc:description>Churn is 5 %: 1 &lt; 2\nMore</dc:description></svg>")
    (tmp_path / "b.svg").write_text("<svg></svg>")
    (tmp_path / "c.html").write_text("<table><caption>A &amp; b</caption></table>")
    files = {path.name: path for path in tmp_path.iterdir()}
    kinds = {"a": ["svg", "a.svg"], "b": ["svg", "b.svg"], "c": ["html", "c.html"]}
    shown = [
        {"name": name, "picture": name < "c", "data": [], "notebook": "a.svg", "kind": "table2", "files": [file]}
        for name, file in kinds.items()
    ]
    page = study_page.Page("s", [], [], shown, [], files)
    assert [one["title"] for one in study_page.first(page)["figures"]] == ["Churn is 5 %: 1 < 2", "b", "A & b"]


def test_the_examples_that_flip_most_often_come_first(make_run):
    said = np.array([[0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 1, 0], [0, 1, 2, 0]])
    data = SimpleNamespace(classes=["a", "b", "c"], test=SimpleNamespace(labels=np.array([0, 1, 1, 2])))
    cell_runs = [runs.read(make_run(seed)) for seed in (1, 2, 3, 4)]
    scores = {seed: np.eye(3, dtype=np.float32)[row] for seed, row in zip((1, 2, 3, 4), said, strict=True)}
    found = list(cell_page.flipping(cell_runs, scores, data))
    pairs = [(a, b) for a in range(4) for b in range(a)]
    wanted = [sum(said[a][example] != said[b][example] for a, b in pairs) for example in range(4)]
    assert [(number, differ, all_pairs) for number, *_, differ, all_pairs in found] == [(3, 5, 6), (1, 3, 6), (2, 3, 6)]
    assert {number: differ for number, *_, differ, _ in found} == {
        number: differ for number, differ in enumerate(wanted) if differ
    }
    assert found[0][1:3] == ["c", "a in 2 runs, b in 1 run, c in 1 run"]
    # Runs of different draws are no pair.
    within = list(cell_page.flipping(with_draws(make_run, (10_001, 10_002, 20_001, 20_002)), of_draws(scores), data))
    assert [(number, differ, all_pairs) for number, *_, differ, all_pairs in within] == [
        (1, 1, 2),
        (2, 1, 2),
        (3, 1, 2),
    ]


def of_draws(scores):
    return dict(zip((10_001, 10_002, 20_001, 20_002), scores.values(), strict=True))


def test_curves_are_thinned_evenly_with_both_ends_and_pictures_with_them():
    assert cell_page.thinned(5, 20) == [1, 2, 3, 4, 5]
    assert cell_page.thinned(200, 3) == [1, 100, 200]
    assert cell_page.thinned(0, 3) == []
    assert (cell_page.most_drawn(200), cell_page.most_drawn(20)) == (100_000, 1_000)


def test_a_data_file_is_one_call_with_text():
    value = {"__proto__": "</script>'\\\u2028", "a": [1, None]}
    text = part("cells/a'b", value)
    name, data = re.fullmatch(r"part\('(.*)', '(.*)'\);\n", text).groups()
    assert text.isascii()
    assert not set("<>&") & set(text)
    plain = [one.replace("\\'", "'").replace("\\\\", "\\") for one in (name, data)]
    assert list(map(json.loads, plain)) == ["cells/a'b", value]


HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>&lt;\u2028\ud800\0é{script}{style}{policy}"


def test_no_text_of_a_study_ends_its_element_or_is_filled_in_again():
    page = document({HOSTILE: [HOSTILE]})
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data.isascii()
    assert not set("<>&") & set(data)
    assert json.loads(data) == {HOSTILE: [HOSTILE]}
    assert page.count("</script>") == 2


def test_the_policy_allows_the_pages_own_script_and_style_and_no_address():
    page = document({})
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)

    def digest(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "script-src": f"{digest(script)} 'strict-dynamic'",
        "style-src": digest(style),
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert not re.findall(
        r"\b(?:src|srcset|action|poster)=|@import|url\((?!#)|fetch\(|XMLHttp|WebSocket|innerHTML", page
    )


def test_a_metric_file_keeps_its_estimates_together(tmp_path):
    file = tmp_path / "ratios.csv"
    file.write_text("# toolnoise metrics 1\nmodel,size,value,ci_low,ci_high,n_runs,n_missing\ncnn,3,0.5,,inf,4,1\n")
    found = page_tables.measured(file, "ratios")
    assert [(one["label"], one["kind"]) for one in found["columns"]] == [
        ("model", "name"),
        ("size", "plain"),
        ("n_runs", "plain"),
        ("n_missing", "plain"),
        ("value", "number"),
    ]
    assert found["rows"] == [["cnn", 3, 4, 1, [0.5, None, None]]]


def test_what_several_runs_share_is_what_is_counted_beside_an_interval(tmp_path):
    """Of 18 runs in 6 draws, an interval is over 6; of 3 runs in one draw, it is over 3."""
    metrics = ("accuracy_mean", "accuracy_sd", "churn", "l2_unit")
    rows = [(*IMPL, metric, "all", 0.5, 0.2, 0.8, 18, 0) for metric in metrics]
    rows.append((*IMPL, "n_draws", "all", 6, NAN, NAN, 18, 0))
    one = IMPL._replace(model="one")
    rows += [(*one, "churn", "all", 0.5, 0.2, 0.8, 3, 1), (*one, "n_draws", "all", 1, NAN, NAN, 3, 1)]
    metric_files.write(tmp_path / "stability.csv", STABILITY, rows)
    cells = [[*cell, [1]] for cell in (IMPL, one)]
    page = study_page.Page("s", cells, [], [], [], {study_page.STABILITY: tmp_path / "stability.csv"})
    of_impl, of_one = (entry["values"] for entry in study_page.first(page)["cells"])
    assert [of_impl[name] for name in metrics] == [[0.5, 0.2, 0.8, 18, 0, 6]] * len(metrics)
    assert of_one["churn"] == [0.5, 0.2, 0.8, 3, 1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: found ''; expected '# toolnoise metrics 1'"),
        ("# toolnoise metrics 1\na,a\n1,2\n", "line 2: found a column twice; each column once"),
        ("# toolnoise metrics 1\nvalue,ci_low,ci_high,n_runs,n_missing\nx,,,4,1\n", "line 3, value: found 'x'; "),
    ],
)
def test_a_damaged_metric_file_is_no_table(text, says, tmp_path, refused):
    file = tmp_path / "ratios.csv"
    file.write_text(text)
    assert refused(page_tables.measured, file, "ratios").startswith(f"{file}: {says}")


def test_digits_beyond_what_python_reads_are_no_number(tmp_path):
    file = tmp_path / "ratios.csv"
    file.write_text(f"# toolnoise metrics 1\nsize\n3\n{'9' * 5000}\n")
    assert page_tables.measured(file, "ratios")["rows"] == [[3], [None]]


def test_a_damaged_rendered_table_is_one_line(tmp_path, refused):
    file = tmp_path / "t.html"
    for text in ("<td>1</td>", "<tr><td>1<tr> </table>", "<![x["):
        file.write_text(text)
        assert refused(page_tables.rendered, file) == f"{file}: damaged; a table as HTML"


def test_a_rendered_table_is_read_back(tmp_path):
    from toolnoise.figures.tables import Entry, save_table

    save_table(str(tmp_path / "t"), "A & b", ["Tooling", "ALGO"], [["cpu†", Entry("1 ± 0", "n = 2")]], ["A note."])
    found = page_tables.rendered(tmp_path / "t.html")
    assert (found["title"], found["notes"]) == ("A & b", ["A note."])
    assert found["columns"] == [{"label": "Tooling", "kind": "name"}, {"label": "ALGO", "kind": "entry"}]
    assert found["rows"] == [["cpu†", {"text": "1 ± 0", "detail": "n = 2"}]]


def test_partings_of_runs_without_scores_need_no_labels(make_run, make_dump, tmp_path):
    found = [runs.read(make_run(seed)) for seed in (1, 2)]
    paths = make_dump(np.zeros((2, 4), np.float64), outcome="values")
    block = cell_page.compared(found, 400, tmp_path / "no-data.npz", *paths)
    assert [one["seeds"] for one in block["partings"]] == [[1, 2]]
    assert not block["examples"]
    assert not block["pictures"]


@pytest.mark.parametrize(("examples", "classes"), [(5, 3), (4, 2)])
def test_a_dump_for_other_data_is_not_compared(examples, classes, make_run, make_dump, tmp_path, refused):
    made = {"images": np.zeros((4, 2, 2), np.uint8), "labels": np.arange(4) % 3}
    np.savez(tmp_path / "mine.npz", **{f"{part}_{name}": made[name] for part in PARTS for name in made})
    data = tmp_path / "prepared.npz"
    preparation.prepare("mine", {"reader": "npz", "path": str(tmp_path / "mine.npz")}, out=data)
    found = [runs.read(make_run(seed)) for seed in (1, 2)]
    logits, index = make_dump(np.zeros((2, examples, classes), np.float32))
    line = refused(cell_page.compared, found, 400, data, logits, index)
    assert (
        line == f"{logits}: found logits of shape ({examples}, {classes}) for each run; (4, 3), the test set of {data}"
    )


def with_draws(make_run, seeds):
    def change(parts):
        parts["record"]["spec"]["draw"] = parts["record"]["spec"]["seed"] // 10_000

    return [runs.read(make_run(seed, change)) for seed in seeds]


def test_runs_are_compared_within_their_draw_alone(make_run):
    few = with_draws(make_run, (10_001, 10_002, 20_001, 20_002))
    assert [(a.seed, b.seed) for a, b in cell_page.pairs(few)] == [(10_001, 10_002), (20_001, 20_002)]
    many = with_draws(make_run, [draw * 10_000 + run for draw in (1, 2) for run in (1, 2, 3, 4)])
    assert [(a.seed, b.seed) for a, b in cell_page.pairs(many)] == [
        (draw * 10_000 + 1, draw * 10_000 + run) for draw in (1, 2) for run in (2, 3, 4)
    ]
    of_one = [runs.read(make_run(seed)) for seed in range(1, 9)]
    assert [(a.seed, b.seed) for a, b in cell_page.pairs(of_one)] == [(1, seed) for seed in range(2, 9)]


def test_a_cell_of_several_draws_does_not_say_that_only_its_variant_varies(make_run):
    assert cell_page.says([runs.read(make_run(1))]) == "1 run; only what the variant names varies between them."
    says = cell_page.says(with_draws(make_run, (10_001, 10_002, 20_001, 20_002)))
    assert says.startswith("4 runs in 2 draws of the algorithm, 2 each. Between runs of one draw, only what")


def test_a_cell_names_each_machine_that_computed_its_runs(make_run):
    def on(**machine):
        return lambda parts: parts["record"].update(observed=machine)

    found = [runs.read(make_run(seed, on(device="cpu", cpu="B"))) for seed in (1, 2)]
    found += [runs.read(make_run(3, on(device="Tesla T4", cpu="A"))), runs.read(make_run(4, on()))]
    assert cell_page.ran_on(found) == " Ran on B, Tesla T4."
    assert cell_page.ran_on(found[3:]) == ""


def test_a_page_that_is_refused_leaves_the_old_one_whole(tmp_path, monkeypatch, written, built):
    def refuse(_page):
        raise BadInput("table2.html", "", "has 1073741824 bytes")

    monkeypatch.setattr(study_page, "first", refuse)
    study = tmp_path / "study.json"
    files.write_json(study, built(written | {"figures": []}).config)
    with pytest.raises(BadInput):
        study_page.show(str(study), [], out=tmp_path / "index.html", out_tables=tmp_path / "tables.js")
    assert list(tmp_path.iterdir()) == [study]


def test_labels_call_similarities_and_distances_what_they_are():
    runs = np.repeat(np.random.default_rng(1).normal(size=(1, 60, 3)).astype(np.float32), 4, axis=0)
    rows = stability(runs, np.arange(60) % 3, {}, apart(np.ones((4, 5))), streams.key(0, "init", 1))
    equal = {metric: estimate.value for metric, group, estimate in rows if group == "all"}
    similar = {name for name in declared.labels() if name in equal and equal[name] == 1}
    assert similar == {"correlation_pearson", "cka"}
    for name, label in declared.labels().items():
        assert ("orrelation" in label.name or "CKA" in label.name) == (name in similar), name
        assert "distance" not in label.name.lower() or equal[name] == 0, name


# Pictures


def split(size=8, channels=1, **changes):
    shape = (4, size, size, channels)
    pixels = (np.arange(np.prod(shape)) % 17).astype(np.uint8).reshape(shape)
    return replace(Split(pixels, np.zeros(4, np.int32), maximum=16), **changes)


def decoded(text):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def test_a_picture_has_the_pixels_without_the_margin_from_black_to_white():
    given = split(channels=3, margin=2)
    found = decoded(pictures.drawn(given, [2], 10_000)["2"])
    assert found.shape == (6, 6, 3)
    assert np.array_equal(found, given.pixels[2, 1:7, 1:7].astype(int) * 255 // 16)


def test_the_first_pictures_that_fit_are_drawn_each_once():
    most = sum(map(len, pictures.drawn(split(), [3, 1], 10_000).values()))
    assert list(pictures.drawn(split(), [3, 1, 3, 2], most)) == ["3", "1"]
    assert pictures.drawn(split(), [0], 10) == {}


@pytest.mark.parametrize(
    "given", [split(size=65), split(channels=2), split(size=1), split(checks=np.zeros(4, np.uint32))]
)
def test_large_streamed_and_other_data_have_no_pictures(given):
    assert pictures.drawn(given, [0], 10_000) == {}


# Packed arrays


BASE64 = base64.b64encode(bytes([0] * 20 + [255] * 20 + [1] * 20 + [2] * 4)).decode()


def size(value):
    return len(json.dumps(value, separators=(",", ":")))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (["a", "a", "a", "a"], {"$same": ["a", 4]}),
        ([1, 3, 5, 7, 9, 2], {"$steps": [[1, 2, 5], 2]}),
        (["rising", "falling", *["rising"] * 3], {"$chosen": [["rising", "falling"], [0, 1, 0, 0, 0]]}),
        (
            [*(f"results/a/runs/{seed}/b.csv" for seed in (3, 1, 2)), "x"],
            {"$names": [[0, 15, 15, 0], ["results/a/runs/3/b.csv", "1/b.csv", "2/b.csv", "x"]]},
        ),
        (["00" * 20, "ff" * 20, "01" * 20, "02" * 4], {"$hex": [[40, 40, 40, 8], BASE64]}),
        (
            [0.1234, 0.5123, 0.2511, 0.9, 0.1234, 0.9031, 0.9004, 0.9005, 0.9107, 0.9208, 0.9318, 0.9418],
            {"$fixed": [4, [1234, 5123, 2511, 9000, 1234, 9031, 9004, 9005, 9107, 9208, 9318, 9418]]},
        ),
        (
            [{"seed": seed, "status": "done"} for seed in range(4)],
            {"$rows": [{"$same": [0, 4]}, [[("seed", "status"), [{"$steps": [[0, 1, 4]]}, {"$same": ["done", 4]}]]]]},
        ),
    ],
)
def test_a_long_list_has_a_form_of_its_own(value, wanted):
    assert packed(value) == wanted


@pytest.mark.parametrize(
    "value", [[1, 5, 2, 9], ["a", "b", "c", "d"], [1, True, 1.0, None], [[1], [2], {}], {"a": [1]}]
)
def test_what_has_no_shorter_form_stays_as_it_is(value):
    assert packed(value) == value
    assert json.dumps(packed(value)) == json.dumps(value)


def test_a_key_of_the_data_is_not_taken_for_a_form():
    assert packed({"$same": ["a", 4]}) == {"$pairs": [["$same"], [["a", 4]]]}


def test_a_value_that_nests_deeply_is_packed_in_time():
    value = 1
    for _ in range(40):
        value = [value, [value], 1, 2, 3] if isinstance(value, int) else {"a": value, "b": 1, "c": 2, "d": 3}
    assert size(packed(value)) < 3 * size(value)


PARAMETERS = {
    "stability": [f"results/demo/metrics/cells/smallcnn/digits/cpu/variant-{number}.csv" for number in range(4)],
    "tasks": [["smallcnn", "digits"]],
    "differences": {"smallcnn/digits": ['a "quoted" word']},
    "width": None,
    "emulated": [],
}


@pytest.fixture
def executed():
    """Execute a notebook with parameters; returns the text of its copy, without the occasion."""

    def execute():
        cells = [nbformat.v4.new_code_cell("tasks = []", metadata={"tags": ["parameters"]})]
        cells.append(nbformat.v4.new_code_cell("stability, tasks, differences, width, emulated"))
        kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        copy = render.execute(notebook, PARAMETERS)
        return [(cell.source, [output.data for output in cell.outputs]) for cell in copy.cells]

    return execute


# A formatter that changes every text.
LOUD = SimpleNamespace(FileMode=lambda **_: None, format_str=lambda text, **_: f"# formatted\n{text}")


def test_parameters_are_written_alike_with_and_without_black(executed, monkeypatch):
    # `make test` installs black.
    here = executed()
    monkeypatch.setitem(sys.modules, "black", None)
    assert executed() == here
    monkeypatch.setitem(sys.modules, "black", LOUD)
    assert executed() == here
    assert here[1][0].splitlines()[0] == "# Parameters"
    assert 'tasks = [["smallcnn", "digits"]]' in here[1][0].splitlines()
    assert here[2][1][0]["text/plain"].startswith("(['results/demo/metrics/cells")
