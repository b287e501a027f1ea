"""Notebooks on metric files that a test wrote: what they show, as SVG.

Their code runs here, in this process; papermill runs them in the tests of whole studies.
"""

import csv
import functools
import html
import json
import re

import check_titles
import legible
import matplotlib.style
import numpy as np
import pytest
from matplotlib.figure import Figure

from toolnoise import streams
from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import DRAWN
from toolnoise.base.program import ROOT
from toolnoise.figures import sheets
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.ensembles import by_size
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import apart
from toolnoise.papers.frameworks import measure as frameworks
from toolnoise.papers.growth import measure as growing
from toolnoise.papers.identical.metric import IDENTICAL, NONE_WEAK, History, Weak, experiment, identical
from toolnoise.papers.language.measure import language
from toolnoise.papers.layers.dump import gram
from toolnoise.papers.layers.measure import layers
from toolnoise.study import figure_kinds, published
from toolnoise.study.expected import METRICS

RUNS, EXAMPLES = 6, 400
VARIANTS = {"algo_impl": 1.0, "algo": 0.8, "impl": 0.3, "control": 0.0}
# Groups of unequal size, one in ten positive: the positives of the smallest group are a handful.
LABELS = (np.arange(EXAMPLES) % 10 == 0).astype(int)
MALE = np.arange(EXAMPLES) % 7 < 3
OLD = np.arange(EXAMPLES) % 4 == 2
GROUPS = {"Male": MALE, "Female": ~MALE, "Young": ~OLD, "Old": OLD}


def measured(place, labels, classes, groups, noise, runs=RUNS):
    """Rows of a metric file as the workflow would measure them on runs with that much noise."""
    draws = np.random.Generator(np.random.Philox(len("".join(place))))
    common = draws.normal(size=(len(labels), classes)) + 1.5 * np.eye(classes)[labels]
    logits = common + noise * draws.normal(size=(runs, len(labels), classes))
    vectors = draws.normal(size=(1, 50)) + noise * draws.normal(size=(runs, 50))
    logits = logits.astype(np.float32)
    rows = stability(logits, labels, groups, apart(vectors), streams.key(0, "init", 1))
    rows += of_all_draws(predictions(logits), labels, classes, groups, [np.arange(runs)], rows)
    return [(*place, metric, group, *estimate, runs, 0) for metric, group, estimate in rows]


def each_runs(rows):
    """The accuracy and churn of each run of the cells of some rows: the mean of the cell, and a little more or less."""
    for *cell, metric, group, value, _, _, runs, _ in rows:
        if metric in ("accuracy_mean", "churn"):
            for seed in range(1, runs + 1):
                draws = ("own" if cell[3] == "impl" else str(seed) for _ in DRAWN)
                own = value * (1 + 0.01 * (seed % 3 - 1))
                yield (*cell, seed, *draws, metric.removesuffix("_mean"), group, own)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write metric files into a folder and run a notebook's code on them; returns the stem of what it wrote.

    Every figure must fit a column of a paper and be legible there, and on a page, and its title must be short and, if
    a check knows it, true of the files.
    """

    def checked(figure, stem, kind, width, formats):
        title = figure.get_label().splitlines()[0]
        assert legible.faults(figure) == []
        assert legible.too_much(title) == []
        assert check_titles.fault(check_titles.Metrics(tmp_path, kind), title) in ("", check_titles.UNKNOWN)
        assert figure.get_size_inches()[0] <= width
        for suffix in formats:
            sheets.save_as(figure, f"{stem}.{suffix}")

    def execute(kind, parameters, width=sheets.COLUMN, formats=()):
        monkeypatch.setattr(sheets, "save", functools.partial(checked, kind=kind, width=width, formats=formats))
        names = {}
        for cell in json.loads((ROOT / f"notebooks/{kind}.ipynb").read_text())["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{kind}: {cell['id']}", "exec"), names)
                if cell["metadata"].get("tags"):
                    names |= parameters  # as papermill injects them

    def render(kind, rows=(), counts=(), runs=None, formats=("svg",), **given):
        metrics = {name: given.pop(name) for name in METRICS if name in given}
        metrics |= {"stability": rows, "counts": counts, "runs": list(each_runs(rows)) if runs is None else runs}
        written = {name: tmp_path / f"{name}.csv" for name, values in metrics.items() if values}
        for name, path in written.items():
            metric_files.write(path, metric_files.columns(METRICS[name].columns), metrics[name])
        parameters = given | {name: [str(path)] for name, path in written.items()}
        if figure_kinds.KINDS[kind].category == figure_kinds.FIGURES:
            execute(kind, parameters | {"width": sheets.PAGE, "stem": str(tmp_path / "page")}, sheets.PAGE)
        execute(kind, parameters | {"stem": str(tmp_path / "figure")}, formats=formats)
        return tmp_path / "figure"

    return render


def faces(runs=RUNS):
    return [
        row
        for variant, noise in VARIANTS.items()
        for row in measured(("smallcnn", "faces", "cpu", variant), LABELS, 2, GROUPS, noise, runs)
    ]


ON_FACES = {"tasks": [["smallcnn", "faces"]]}


@matplotlib.style.context("default")
def test_texts_that_cannot_be_read_are_found():
    """In Matplotlib's own style: whoever drew before in this process may have set another."""
    figure = Figure((3, 2))
    panel = figure.add_subplot()
    panel.set_title("A title that is too long for a figure of three inches")
    for left, text in ((0.5, "here"), (0.55, "there"), (0.1, "away")):
        panel.text(left, 0.5, text)
    panel.text(0.3, 0.3, "small", size=4)
    panel.text(0.9, 0.9, "turned", rotation=90)
    assert legible.faults(figure) == [
        "4 pt: 'small'",
        "cut off: 'turned'",
        "cut off: 'A title that is too long for a figure of three inches'",
        "'here' lies on 'there'",
        "'turned' lies on 'A title that is too long for a figure of three inches'",
    ]


def words(stem):
    """The text of a figure: its title and notes, and what its SVG holds as comments beside the glyphs."""
    drawing = stem.with_suffix(".svg").read_text()
    described = html.unescape(re.search("<dc:description>([^<]*)", drawing)[1])
    return " ".join([*described.splitlines(), *re.findall(r"<!-- (.*?) -->", drawing)])


def test_sub_groups_are_shown_with_their_ratio_by_size_and_what_has_no_ratio_is_named(written):
    said = words(written("subgroups", faces(), **ON_FACES))
    for part in ("Male", "Female", "Young", "Old", "SD of the false negative rate", "Runs: 6 each", "by size alone"):
        assert part in said
    assert "Control: every SD is exactly 0" in said


def test_what_is_zero_everywhere_is_a_sentence_and_no_panels(written):
    still = [row for row in faces() if row[3] == "control"]
    said = words(written("noise_by_source", still, **ON_FACES))
    assert "With every source fixed, runs give the same answers" in said
    assert "Not drawn, 0 or undefined everywhere: SD of test accuracy, Churn" in said
    assert "percentage points" not in said
    equal = [(*row[:-1], 0.5) for row in each_runs(still)]
    said = words(written("per_class", still, runs=equal, class_names={"faces": []}, hardware=["cpu"], **ON_FACES))
    assert "No class varies from run to run" in said


@pytest.mark.parametrize(
    ("names", "given", "shown"),
    [
        (("hens", "eggs"), ["cats", "dogs"], ("cats", "dogs")),  # of the study's entry: they come first
        (("$\\frac$", "e\x1bggs"), [], ("$\\frac$", "e\\x1bggs")),  # neither formulas nor what no file may have
    ],
)
def test_classes_have_their_names(written, names, given, shown):
    labels = [("faces", label, name) for label, name in enumerate(names)]
    labels += [("others", 0, "never")] if names else []
    stem = written("per_class", faces(), labels=labels, class_names={"faces": given}, hardware=["cpu"], **ON_FACES)
    said = set(words(stem).split())
    assert set(shown) <= said
    assert {"hens", "cats", "never"} & said == {shown[0]} & {"hens", "cats"}


def test_sub_groups_of_one_run_are_na_and_not_an_error(written):
    said = words(written("subgroups", faces(1), **ON_FACES))
    assert "Is a sub-group noisier than its size explains?" in said
    assert "SD of the false negative rate: no ratio." in said


def test_table_5_has_the_sds_of_the_metric_file_and_stars_what_size_does_not_explain(written):
    rows = faces()
    stem = written("table5", rows, **ON_FACES)
    full = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    assert len(full) == 4 * 3 * 5
    files = {(*row[:4], row[4], row[5]): row[6] for row in rows}
    for line in full:
        cell = tuple(line[name] for name in ("model", "dataset", "hardware", "variant"))
        for metric, column, scale in (
            ("mean", "mean_percent", 100),
            ("sd", "sd_points", 100),
            ("sd_ratio", "sd_ratio", 1),
            ("sd_ratio_null", "sd_ratio_null", 1),
        ):
            if line[column]:
                value = files[*cell, f"{line['rate']}_{metric}", line["group"]]
                assert float(line[column]) == pytest.approx(scale * value, rel=1e-5)
    text = stem.with_suffix(".md").read_text()
    beyond = [
        line for line in full
        if line["sd_ratio"]
        and not float(line["sd_ratio_null_low"]) <= float(line["sd_ratio"]) <= float(line["sd_ratio_null_high"])
    ]  # fmt: skip
    assert len(re.findall(r"ratio [0-9.]+\*", text)) == len(beyond)
    assert "| False negative rate | All |" in text


def order(*sizes):
    return [
        row
        for size in sizes
        for row in measured((f"cnn-b{size}", "digits", "cpu", "shuffle"), np.arange(50) % 10, 10, {}, 20 / size)
    ]


OF_DIGITS = [("digits", "train", "all", "all", 1297), ("digits", "test", "all", "all", 500)]


def test_batch_sizes_are_in_their_order_and_the_full_set_is_told_from_the_others(written):
    sizes = (54, 1297)
    names = {f"cnn-b{size}": size for size in sizes}
    tasks = [[model, "digits"] for model in reversed(names)]
    said = words(written("order", order(*sizes), OF_DIGITS, tasks=tasks, batch_sizes=names, emulated=["cpu"]))
    assert said.index("cnn-b54 to") >= 0
    assert "(all)" in said
    assert "here at most 1 of 1,297 examples" in said, "1,297 = 24 x 54 + 1"
    assert "emulated" not in said  # the order alone varies


GROUPED = [
    ("faces", split, group, label, count)
    for split, factor in (("train", 10), ("test", 1))
    for group, label, count in [("all", "all", 400), ("all", "0", 360), ("all", "1", 40), ("Male", "1", 3)]
    for count in [count * factor]
]


@pytest.mark.parametrize("kind", ["noise_by_source", "per_class", "table2"])
def test_drawn_faces_are_synthetic_wherever_a_figure_or_a_table_names_them(written, kind):
    names = {"class_names": {"faces": []}, "hardware": ["cpu"]} if kind == "per_class" else {}
    stem = written(kind, faces(), GROUPED, synthetic=["faces"], **ON_FACES, **names)
    if stem.with_suffix(".svg").exists():
        text = words(stem)
        (title,) = re.findall("<dc:description>(.*)", stem.with_suffix(".svg").read_text())
        assert title.endswith(" (synthetic)"), "its headline stands alone on the page"
    else:
        text = stem.with_suffix(".md").read_text()
    assert "synthetic faces" in text
    assert not re.search(r"(?<!synthetic )faces", text)


def test_table_1_has_what_each_source_is_in_the_study_and_where_it_varies(written):
    sources = [
        ["init", [["the weights of every network", []]], ["algo_impl", "init+shuffle"]],
        [
            "augment",
            [["mirroring", ["faces", "smallcnn/digits"]], ["crops after 1 pixel of padding", []]],
            ["algo_impl"],
        ],
        ["dropout", [], ["algo_impl"]],
        ["impl", [["none", []]], []],
    ]
    stem = written("table1", counts=[*GROUPED, *OF_DIGITS], tasks=[["smallcnn", "faces"]], sources=sources)
    text = stem.with_suffix(".md").read_text()
    varies = "the weights of every network | ALGO+IMPL, init+shuffle |"
    assert f"| Random initialisation | initial weights of each layer, by its initialiser | {varies}" in text
    assert "| mirroring (faces, smallcnn/digits); crops after 1 pixel of padding | ALGO+IMPL |" in text
    assert "| Stochastic layers | dropout masks of each step and layer | no network's options name a rate |" in text
    assert "| none | no variant |" in text
    assert "* Training examples: faces 4,000." in text
    rows = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    assert rows[0]["varies_in"] == "ALGO+IMPL, init+shuffle"


def test_table_3_has_counts_and_shares_of_the_training_set(written):
    text = written("table3", counts=GROUPED, **ON_FACES).with_suffix(".md").read_text()
    assert "| faces | 1 | 30 (0.8 %) | 400 (10.0 %) |" in text
    assert "| faces | All | — | 4,000 (100.0 %) |" in text


def test_published_items_of_which_nothing_was_run_are_in_the_csv_alone(written):
    place = ("smallcnn", "cifar10", "a100", "algo_impl")
    rows = [(*place, "accuracy_sd", "all", 0.0090, 0.006, 0.016, 10, 0)]
    given = {"tasks": [["smallcnn", "cifar10"]], "hardware": ["a100"], "accelerators": {"a100": "gpu"}}
    stem = written("paper_vs_ours", rows, OF_DIGITS, **given, differences={"smallcnn/cifar10": ["epochs (8)"]})
    text = stem.with_suffix(".md").read_text()
    numbers = published.read()
    shown = [number for number in numbers if number.item in ("table2", "fig2", "fig3")]
    assert text.count("\n| ") == 2 + len(shown)
    assert "Nothing was run, and not shown: Table 3, Table 4, Table 5, Figure 5, Figure 9a, Figure 9b." in text
    assert f"5 of {len(numbers)} published numbers" in text  # three GPUs of table 2, figures 2 and 3
    full = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    assert len(full) == len(numbers)
    assert {row["differs_by"] for row in full} == {"", "device (a100), epochs (8)"}
    assert re.search(
        r"\| Table 2 \| p100 .*\| 0.83 points \(inferred: ddof\) \| 0.90 .*\| device \(a100\), epochs \(8\)", text
    )


def test_published_numbers_of_cells_that_were_run_stand_beside_ours(written):
    place = ("smallcnn", "cifar10", "v100", "algo_impl")
    rows = [
        (*place, "accuracy_mean", "all", 0.6210, 0.61, 0.63, 10, 0),
        (*place, "accuracy_sd", "all", 0.0030, 0.002, 0.006, 10, 0),
    ]
    counts = [("cifar10", "train", "all", "all", 50000)]
    times = [("vgg19", "p100", "gpu", 64, 224, 100, "kernel_ratio", 2.2, 2.15, 2.25, 5, 0)]
    given = {"tasks": [["smallcnn", "cifar10"]], "hardware": ["v100"], "overhead": times}
    given |= {"accelerators": {"v100": "gpu", "p100": "gpu"}, "differences": {"smallcnn/cifar10": []}}
    stem = written("paper_vs_ours", rows, counts, **given)
    text = stem.with_suffix(".md").read_text()
    place = r"\| Table 2 \| v100 \| smallcnn / cifar10 \| ALGO\+IMPL"
    assert re.search(rf"{place} \| accuracy \| 62.03 % \| 62.10 .*\| yes \|", text)
    # 0.91 against 0.30: a ratio of three, of ten runs each.
    assert re.search(
        rf"{place} \| SD of accuracy \| 0.91 points \(inferred: ddof\) \| 0.30 \(n = 10\) \| 0.15 to 0.60 \| no \|",
        text,
    )
    assert re.search(r"\| Figure 3 .*\| 0.86 points \(0.91 by n - 1, inferred\) \| 0.30 .*\| no \|", text)
    assert re.search(
        r"\| Figure 9a \| p100 \| vgg19 .*\| 211 % \(inferred: model\) \| 220 \(n = 5\) \| 215 to 225 \| no \|", text
    )
    assert re.search(r"\| Table 4 .*\| examples, train \| 50000 \| 50000 \| 50000 to 50000 \| yes \|", text)


STEP = (64, 224, 100)
ON_V100 = {"hardware": ["v100"], "tasks": [["vgg19", ""]]}


def kernels(model="vgg19", hardware="v100", accelerator="gpu"):
    """The top 20 and the rest of both modes; determinism makes the longest kernel longer."""
    about = (model, hardware, accelerator, *STEP)
    for mode, longest in (("default", 1.0), ("deterministic", 3.0)):
        seconds = [longest, *(0.5 ** (rank + 1) for rank in range(19)), 0.5]
        for place, value in enumerate(seconds, 1):
            rank = str(place) if place <= 20 else "rest"
            yield (*about, mode, rank, f"kernel {place}", 2.0, value, 0.9 * value, 1.1 * value, 5, 0)


def ratios(models, hardware=("p100", "v100"), accelerator="gpu", **values):
    for model in models:
        for name in hardware:
            for metric in ("kernel_ratio", "wall_ratio"):
                value = values.get(metric, 1.25)
                yield (model, name, accelerator, *STEP, metric, value, 0.9 * value, 1.1 * value, 5, 0)


def test_kernels_are_shown_by_rank_with_the_time_of_all_steps_and_the_change_of_all(written):
    """Figure 8: the longest on the left, cumulative time on a logarithmic axis."""
    times = list(ratios(["vgg19"], ["v100"], kernel_ratio=1.8))
    said = words(written("kernels", kernels=list(kernels()), overhead=times, **ON_V100))
    for part in (
        "vgg19 (all: 250,000 → 450,000 ms)",
        "ms in 100 steps",
        "Determinism makes kernels 80 % slower",
        "64 synthetic images of 224",
    ):
        assert part in said
    assert "On a CPU" not in said


def test_a_network_without_kernels_is_told_in_one_line(written):
    with pytest.raises(BadInput, match=r"kernels\.csv: model: no kernels of vgg16 on v100; "):
        written("kernels", kernels=list(kernels()), hardware=["v100"], tasks=[["vgg16", ""]])


def test_networks_are_named_and_networks_of_one_family_are_called_by_their_kernels_the_smallest_first(written):
    on = {"hardware": ["p100", "v100"]}
    named = written(
        "overhead", overhead=list(ratios(["vgg19", "medium-k3"])), tasks=[["vgg19", ""], ["medium-k3", ""]], **on
    )
    assert "medium-k3" in words(named)
    sizes = [["medium-k11", ""], ["medium-k1", ""], ["medium-k3", ""]]
    said = words(written("overhead", overhead=list(ratios([model for model, _ in sizes])), tasks=sizes, **on))
    assert "by kernel size of medium" in said
    assert said.index("1x1") < said.index("3x3") < said.index("11x11")
    for part in ("p100", "v100", "deterministic / default", "Time in kernels", "Time by the clock", "Runs: 5 each"):
        assert part in said


def test_a_ratio_that_is_not_in_the_file_is_told_in_one_line(written):
    with pytest.raises(BadInput, match=r"overhead\.csv: metric: no 'kernel_ratio' of vgg19 on t4; "):
        written("overhead", overhead=list(ratios(["vgg19"])), hardware=["p100", "t4"], tasks=[["vgg19", ""]])


def over_algo_impl(dataset="digits", draws=4, **values):
    """Ratios of a model's variants over ALGO+IMPL, each of every measure."""
    for variant, value in values.items():
        single = variant == "impl" and draws == 1
        ends = (np.nan, np.nan) if single or value == 0 else (0.5 * value, 2 * value)
        counts = (8, 0, 5, 0, draws if variant == "impl" else 5, 5, "one draw" if single else "paired")
        for metric in ("churn", "churn_normalised", "accuracy_sd", "cross_entropy_sd"):
            yield ("vgg19", dataset, "cpu", variant, "vgg19", "algo_impl", metric, "all", value, *ends, *counts)


def test_ratios_are_listed_with_their_draws_and_what_has_no_interval(written):
    found = [*over_algo_impl(algo=0.9, control=0.0), *over_algo_impl("faces", draws=1, impl=0.256)]
    for row in over_algo_impl(init=0.4):
        found.append((*row[:9], np.nan, np.nan, *row[11:]) if row[6] == "accuracy_sd" else row)
    stem = written("ratios", ratios=found, tasks=[["vgg19", "digits"], ["vgg19", "faces"]])
    text = stem.with_suffix(".md").read_text()
    assert "| cpu | vgg19 / digits | all | ALGO / ALGO+IMPL | 0.9 (0.45 to 1.8) |" in text
    assert "| Control / ALGO+IMPL | 0 | 0 | 0 | 0 | 5 over 5 (paired) |" in text
    assert "| 0.4 (0.2 to 0.8) | 0.4 (too few runs to tell) | 0.4 (0.2 to 0.8) | 5 over 5 (paired) |" in text
    assert "| IMPL / ALGO+IMPL | 0.256 | 0.256 | 0.256 | 0.256 | 1 over 5 (one draw) |" in text
    assert "the ratio holds for that draw" in text
    assert len(stem.with_suffix(".csv").read_text().splitlines()) == 1 + len(found)


def test_components_of_noise_are_shown_with_their_draws_and_intervals(written):
    found = {
        "n_draws": (4, np.nan, np.nan),
        "accuracy_variance_algo": (4e-4, 1e-4, 9e-4),
        "accuracy_variance_impl": (1e-4, 4e-6, 2.25e-4),
        "accuracy_variance_interaction": (-1e-5, -1e-4, 1e-4),
        "correctness_variance_algo": (0.04, 0.01, 0.09),
        "correctness_variance_impl": (0.01, 0.0025, 0.0225),
        "correctness_variance_interaction": (0.01, 0.0025, 0.0225),
        "churn_same_draw": (0.02, 0.01, 0.03),
        "churn_other_draw": (0.08, 0.06, 0.1),
        "churn_impl_share": (0.25, 0.125, 0.5),
    }
    rows = [("vgg19", "digits", "cpu", "impl", metric, "all", *values, 20, 0) for metric, values in found.items()]
    rows += measured(("vgg19", "digits", "cpu", "algo"), DIGITS, 10, {}, 0.8)
    stem = written("components", rows, tasks=[["vgg19", "digits"]])
    (line,) = [line for line in stem.with_suffix(".md").read_text().splitlines() if line.startswith("| cpu")]
    accuracy = "2.00 (1.00 to 3.00) | 1.00 (0.20 to 1.50) | 0 (0 to 1.00)"
    correctness = "20.00 (10.00 to 30.00) | 10.00 (5.00 to 15.00) | 10.00 (5.00 to 15.00)"
    churn = "2.00 (1.00 to 3.00) | 8.00 (6.00 to 10.00) | 25 (12 to 50)"
    assert line == f"| cpu | vgg19 / digits | IMPL | 4 (20 runs) | {accuracy} | {correctness} | {churn} |"
    assert len(stem.with_suffix(".csv").read_text().splitlines()) == len(found)


def test_sources_have_the_ratio_of_their_churn_to_all_where_there_is_one(written):
    rows = measured(("vgg19", "digits", "cpu", "init"), DIGITS, 10, {}, 0.5)
    rows += measured(("vgg19", "digits", "cpu", "algo_impl"), DIGITS, 10, {}, 1.0)
    rows += measured(("vgg19", "digits", "cpu", "control"), DIGITS, 10, {}, 0)
    rows.append(("vgg19", "digits", "cpu", "init", "n_draws", "all", 1.0, np.nan, np.nan, RUNS, 0))
    given = {"ratios": list(over_algo_impl(init=0.75)), "tasks": [["vgg19", "digits"]]}
    stem = written("sources", rows, **given)
    full = {line["variant"]: line for line in csv.DictReader(stem.with_suffix(".csv").read_text().splitlines())}
    assert [full["init"][name] for name in ("churn_of_all", "churn_of_all_low")] == ["0.75", "0.375"]
    assert full["algo_impl"]["churn_of_all"] == ""
    text = stem.with_suffix(".md").read_text()
    assert "init: one choice of the seeds that stay fixed." in text
    (control,) = (line for line in text.splitlines() if line.startswith("| Control | ours"))
    assert f"| {RUNS} (bit-equal) |" in control
    assert " to " not in control


def under_remedies(model, *names, dataset="digits", runs=6, missing=0):
    """Rows of a cell's remedies, each with numbers of its own."""
    place = (model, dataset, "cpu", "algo_impl")
    for number, name in enumerate(names, 1):
        values = {"accuracy_mean": 0.9, "accuracy_sd": 0.001 * number, "cross_entropy_mean": 0.3}
        values |= {
            "cross_entropy_sd": 0.002 * number,
            "churn": 0.02 * number,
            "correlation_spearman": 1 - 0.01 * number,
        }
        values |= {
            "correlation_pearson": 0.99,
            "ensemble_accuracy_change": 0.003,
            "ensemble_cross_entropy_change": -0.1,
        }
        if name != "single" or model.endswith("-snapshots"):
            values["variability_reduction"] = 0.4
        for metric, value in values.items():
            yield (*place, name, metric, "all", value, value - 0.0001, value + 0.0001, runs, missing)


def both_models(**more):
    sets = ("crops9", "flip+crops25")
    yield from under_remedies("cnn", "single", *sets, **more)
    yield from under_remedies(
        "cnn-snapshots", "single", *sets, "snapshots", *(f"snapshots+{name}" for name in sets), **more
    )


def cured(written, dataset="digits", **more):
    tasks = [["cnn", dataset], ["cnn-snapshots", dataset]]
    stem = written("remedies", remedies=list(both_models(dataset=dataset, **more)), tasks=tasks)
    return stem.with_suffix(".md").read_text()


def test_every_number_of_a_remedy_is_the_files_or_the_published_one(written):
    text = cured(written, missing=1)
    ours = r"\| 9 crops \| ours \| cnn / digits \| ALGO\+IMPL \| 6 \(1 missing\) \| 90\.00 \(89\.99 to 90\.01\) "
    assert re.search(
        ours + r"\| 0\.20 .* \| 0\.0040 .* \| 4\.00 .* \| 0\.980 .* \| 0\.30 .* \| 40\.0 \(40\.0 to 40\.0\) \|", text
    )
    cifar = r"resnet14 / cifar10 \| ALGO\+IMPL \| 100 \| — "
    numbers = r"\| 0\.19 \| 0\.0044 \| 6\.1 \| 0\.957 \| 0\.63 \| 48 \|"
    assert re.search(rf"\| Snapshots \| Summers & Dinneen \| {cifar}{numbers}", text)
    assert re.search(rf"\| Snapshots \| replicated \| {cifar}.*\| 5\d \(by the formula\) \|", text)
    assert re.search(r"\| Single run \| ours .*\| — \|", text)
    assert re.search(r"\| Single run \| Summers & Dinneen .*\| — \|", text)


def test_the_csv_of_remedies_has_ours_in_full(written):
    rows = list(both_models())
    tasks = [["cnn", "digits"], ["cnn-snapshots", "digits"]]
    stem = written("remedies", remedies=rows, tasks=tasks)
    full = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    assert [(line["model"], line["remedy"]) for line in full] == list(dict.fromkeys((row[0], row[4]) for row in rows))
    files = {(row[0], row[4], row[5]): row[7:10] for row in rows}
    for line in full:
        for (model, remedy, metric), wanted in files.items():
            if (model, remedy) == (line["model"], line["remedy"]):
                found = [float(line[column]) for column in (metric, f"{metric}_low", f"{metric}_high")]
                assert found == pytest.approx(wanted, rel=1e-5)


DIGITS = np.arange(200) % 10
ON_DIGITS = {"tasks": [["smallcnn", "digits"]]}


def noisy_logits(variant, runs):
    draws = np.random.Generator(np.random.Philox(len(variant)))
    common = draws.normal(size=(200, 10)) + 2 * np.eye(10)[DIGITS]
    return (common + VARIANTS[variant] * draws.normal(size=(runs, 200, 10))).astype(np.float32)


def identical_rows(runs=RUNS, weak=NONE_WEAK, criteria=("near-best", "patience"), weakest=None):
    """Rows as the workflow would measure them; training takes 3 seconds in the first run, and 1 more in each next."""
    for variant in VARIANTS:
        predicted = noisy_logits(variant, runs).argmax(axis=2)
        if weakest is not None:
            predicted[weakest] = 0
        accuracy = np.array([0.5, 0.895, 0.9])
        histories = [History(accuracy, 1 - accuracy, accuracy, np.full(3, 1 + run / 3)) for run in range(runs)]
        spec = {
            "study_seed": 0,
            "seed": 1,
            "recipe": {},
            "hardware": {"name": "cpu", "engine": "tensorflow", "impl_noise": "native"},
            "model": {"name": "smallcnn"},
            "variant": {"name": variant, "varying": {"impl": ["impl"], "control": []}.get(variant, ["init", "impl"])},
        }
        about = experiment({"spec": spec, "observed": {"versions": {"tensorflow": "2.21.0"}}})
        about |= {"dataset": "digits", "hardware": "cpu", "variant": variant, "n_missing": 1}
        for criterion in criteria:
            row = about | identical(predicted, DIGITS, 10, histories, criterion, weak)
            yield [row[name] for name in IDENTICAL]


def lines_of(stem):
    """The rows of a table by its first columns, and its notes."""
    text = stem.with_suffix(".md").read_text()
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {tuple(row[:4]): row[4:] for row in rows}, text


def mean(given, variant):
    row = next(row for row in given if row[-1] == variant)
    return f"{100 * row[list(IDENTICAL).index('mean_accuracy')]:.2f}"


def test_identical_runs_are_a_row_a_cell_beside_the_published_headlines(written):
    given = list(identical_rows())
    stem = written("identical_runs", identical=given, emulated=["cpu"], **ON_DIGITS)
    rows, text = lines_of(stem)
    mine = dict(zip(IDENTICAL, given[0], strict=True))
    about = ("cpu†, TensorFlow 2.21.0", "smallcnn / digits")
    found = rows[*about, "ALGO+IMPL (seed -1)", "6 (1 missing)"]
    assert found[0].startswith(f"{100 * mine['max_accuracy_diff']:.2f} (")
    assert found[1].startswith(f"{100 * mine['std_dev_accuracy']:.2f} (")
    assert f"({mine['max_diff_label']} of 20: " in found[2]
    # Converged after 2 of 3 epochs, and times from 3 to 8 seconds.
    assert found[4:] == ["2.0 (2 to 2)", "3.67 (2 to 5.33, 91 %)", "5.5 (3 to 8, 91 %)"]
    same = mean(given, "control")
    assert rows[*about, "Control (seed 1)", "6 (1 missing)"][:4] == [f"0 ({same} to {same})", "0", "0", "0"]
    assert rows["Pham et al.", "largest published", "ALGO+IMPL (seed -1)", ""][0] == "10.8"
    assert rows["Pham et al.", "largest published", "IMPL (seed 1)", ""] == ["2.9", "", "52.4", "", "", "", "145.3 %"]
    assert rows["this study", "largest", "IMPL (seed 1)", ""][-1] == "90.9 % (smallcnn, 6 runs)"
    assert "2.53 SDs of 6 runs" in text
    assert "weak" not in text.replace("weak ones", "").replace("weak models", "").replace("too weak to count", "")


def test_runs_that_are_weak_or_have_not_converged_are_told(written):
    given = list(identical_rows(weak=Weak("chance", 0.1), criteria=("patience",), weakest=2))
    rows, text = lines_of(written("identical_runs", identical=given, **ON_DIGITS))
    found = rows["cpu, TensorFlow 2.21.0", "smallcnn / digits", "IMPL (seed 1)", "5 (1 weak, 1 missing)"]
    assert found[4:6] == ["none", "none"]
    assert "Weak, and left out: accuracy below chance + 0.1." in text
    assert "Some runs have not converged" in text


def test_identical_runs_of_one_run_have_no_range(written):
    rows, text = lines_of(written("identical_runs", identical=list(identical_rows(1)), **ON_DIGITS))
    (impl,) = (found for about, found in rows.items() if about[2] == "IMPL (seed 1)" and "cpu" in about[0])
    assert impl[0] == "n/a (one run)"
    assert "this study" not in text
    assert "n/a: undefined" in text
    assert "nan" not in text


def ensemble_rows(runs=8, **missing):
    for variant in VARIANTS:
        count = missing.get(variant, runs)
        found = by_size(noisy_logits(variant, count), DIGITS, max(1, count // 2))
        for members, (metric, group, estimate), ensembles in found:
            yield ("smallcnn", "digits", "cpu", variant, members, metric, group, *estimate, ensembles, 0)


def test_ensembles_are_drawn_by_their_size_with_how_many_there_are(written):
    said = words(written("ensembles", ensembles=list(ensemble_rows()), emulated=["cpu"], **ON_DIGITS))
    for part in ("smallcnn / digits", "SD of test accuracy", "Mean test accuracy", "(8)", "(4)", "Runs: 8 each"):
        assert part in said
    assert "square root of k" in said
    assert "emulated" in said
    assert "(2)" not in said  # no SD of two ensembles


def of_layers(names, runs=5, **variants):
    """Rows of a metric file of layers that grow apart along the network, by so much in each variant."""
    draws = np.random.Generator(np.random.Philox(5))
    common = draws.normal(size=(1, 30, 8))
    rows = []
    for variant, distance in variants.items():
        stack = [common + distance * place * draws.normal(size=(runs, 30, 8)) for place in range(len(names))]
        if variant == "control":
            stack = [np.repeat(one[:1], runs, axis=0) for one in stack]
        grams = np.stack([np.stack([gram(run) for run in one]) for one in stack], axis=1)
        place = ("resnet14", "digits", "cpu", variant, 30)
        rows += [(*place, name, metric, "all", *found, runs, 1) for name, metric, found in layers(names, grams)]
    return rows


ON_RESNET = {"tasks": [["resnet14", "digits"]]}


def test_layers_are_shown_in_the_order_of_the_network_and_what_is_exactly_1_is_told(written):
    names = ["stem", "a_late_name", "logits"]
    said = words(written("layers", layers=of_layers(names, algo=0.2, control=1), **ON_RESNET))
    places = [said.rindex(name) for name in names]
    assert places == sorted(places)
    for part in ("30 test examples", "Open: exactly 1.", "Runs: 5 each", "2 of 12 missing", "Debiased CKA", "95 %"):
        assert part in said


def test_layers_of_a_run_are_not_drawn(written):
    assert "n/a: undefined" in words(written("layers", layers=of_layers(["stem"], 1, algo=0.2), **ON_RESNET))


ENGINES = {"cpu": ("tensorflow", "2.21.0"), "cpu-jax": ("jax", "0.10.2"), "cpu-torch": ("torch", "2.13.0")}
ON_ENGINES = {"hardware": list(ENGINES), "tasks": [["smallcnn", "digits"]]}
TENSORS = ("conv/kernel", "logits/bias")


def of_frameworks(runs=4, variants=("algo", "control")):
    """Metric files of three frameworks whose runs are a little apart, and two of which predict with other roundings."""
    pairs = [(a, b) for a in ENGINES for b in ENGINES if list(ENGINES).index(a) < list(ENGINES).index(b)]
    rows, across, split, parts = [], [], [], []
    for variant in variants:
        over = frameworks.RUNS if variant == "algo" else frameworks.EXAMPLES
        home = {name: noisy_logits(variant, runs) for name in ENGINES}
        home["cpu-torch"] = home["cpu-torch"][:, ::-1]
        for name in ENGINES:
            rows += [
                (*row[:2], name, *row[3:])
                for row in measured(("smallcnn", "digits", name, variant), DIGITS, 10, {}, VARIANTS[variant], runs)
            ]
        both = {(a, b): frameworks.Predicted(home[a], home[a] * np.float32(1 + 1e-6)) for a in ENGINES for b in ENGINES}
        for one, other in pairs:
            place, counts = ("smallcnn", "digits"), (runs, 0)
            two = both[one, other], both[other, one]
            found = [((one, other), row) for row in frameworks.total(*two, over)]
            for way, predicted in zip(((one, other), (other, one)), two, strict=True):
                found += [(way, row) for row in frameworks.inference(predicted, over)]
            split += [
                (*place, *way, variant, len(DIGITS), over, metric, "all", *numbers, *counts)
                for way, (metric, numbers) in found
            ]
            across.append((*place, one, other, variant, "l2_unit", "all", 0.25, 0.2, 0.3, *counts))
            told = [("any", 3, *one) for one in frameworks.parting(np.full(runs, 2.0))]
            for name, first in (*dict.fromkeys(TENSORS, 2.0).items(), ("train_loss", 3.0), ("test_accuracy", np.nan)):
                told += [(name, 3, *one) for one in frameworks.parting(np.full(runs, first))]
            told += [(name, 3, "relative_l2", (0.125, 0.1, 0.15), runs) for name in TENSORS]
            told += [("test_loss", at, "relative_l2", (10.0 ** (at - 8), 0, 0.1), runs) for at in (1, 2, 3)]
            parts += [
                (*place, one, other, variant, what, epoch, metric, "all", *numbers, count, 0)
                for what, epoch, metric, numbers, count in told
            ]
    about = [dict(zip(IDENTICAL, row, strict=True)) for row in identical_rows(criteria=("last",))]
    versions = [
        list((row | {"backend": ENGINES[name][0], "backend_version": ENGINES[name][1], "hardware": name}).values())
        for name in ENGINES
        for row in about
    ]
    given = {"cross_tooling": across, "frameworks": split, "partings": parts, "identical": versions}
    return {"rows": rows, **given, **ON_ENGINES}


def test_frameworks_are_shown_from_run_to_run_and_two_by_two(written):
    said = words(written("frameworks", **of_frameworks(), emulated=["cpu"]))
    for part in ("TensorFlow 2.21.0, cpu†", "cpu-jax", "PyTorch", "TensorFlow ↔ JAX", "Wilson", "Runs: 4 each"):
        assert part in said
    assert "emulated" in said
    assert "The framework alone changes" in said
    assert "exactly 0" in said, "Control within a framework"


def test_the_difference_between_frameworks_is_split_into_inference_and_training(written):
    said = words(written("framework_parts", **of_frameworks()))
    for part in ("JAX ↔ PyTorch, ALGO", "inference of JAX's", "in all", "training", "Inference moves logits by"):
        assert part in said


def test_partings_name_the_first_layer_and_epoch_and_how_far_tensors_end_apart(written):
    given = of_frameworks()
    stem = written("partings", **given)
    text = stem.with_suffix(".md").read_text()
    lines = {line.split(" | ")[0].strip("| "): line.strip("| ").split(" | ")[1:] for line in text.splitlines()}
    assert lines["Toolings"][:2] == ["cpu ↔ cpu-jax", "cpu ↔ cpu-jax"]
    assert lines["Versions"][-1] == "0.10.2 ↔ 2.13.0"
    assert set(lines["First epoch"]) == {"2 (1.1 to 2.9)"}
    assert set(lines["First layer"]) == {"conv/kernel (and 1 of 1 others)"}
    assert set(lines["Test accuracy: first epoch"]) == {"never"}
    assert set(lines["logits/bias apart in the end, %"]) == {"12.5 (10 to 15)"}
    assert "TensorFlow ↔ PyTorch, ALGO" in text
    assert "nan" not in text
    assert len(stem.with_suffix(".csv").read_text().splitlines()) == 1 + len(given["partings"])


def each_run(variants, criteria=("best-accuracy", "lowest-loss"), runs=5):
    draws = np.random.Generator(np.random.Philox(8))
    for variant in variants:
        accuracies = draws.normal(0.9, 0.01 if variant == "impl" else 0.1, runs)
        for criterion in criteria:
            for seed, accuracy in enumerate(accuracies, 1):
                about = ("tensorflow", "2.21.0", "", "", "smallcnn", "1", criterion, seed, accuracy, 5.0 + seed)
                yield (*about, 3.0, 1.0, 2.0, "3", accuracy / 2, "counted", "digits", "cpu", variant)


def test_identical_runs_are_tested_as_pham_et_al_do_and_once_more_for_the_number_of_tests(written):
    stem = written("identical_tests", convergence=list(each_run(("algo_impl", "impl"))), emulated=["cpu"])
    text = stem.with_suffix(".md").read_text()
    place = r"\| fixed seeds and default \| smallcnn / digits, cpu.* \| accuracy \| IMPL \| ALGO\+IMPL \| 5, 5 \|"
    assert re.search(rf"{place} 0\.0\S+ \(Holm \S+\) \| — \|", text)
    # All runs converge in as many epochs by either criterion: no test can be made of that.
    assert re.search(r"epochs to convergence \| lowest-loss \| best-accuracy \| 5, 5 \| n/a \| n/a \|", text)
    assert "emulated" in text
    full = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    tested = [row for row in full if row["levene"]]
    assert all(float(row["levene_holm"]) >= float(row["levene"]) for row in tested)
    assert {row["comparison"] for row in full} == {"seeds", "criteria"}


ALL_AND_BIT = "init+shuffle+augment+dropout+bit"


def grown(starts, distance):
    """Rows of growth of a tooling that never differs, of emulated noise and of a bit."""
    steps = np.array([0, 1, 2, 4, 8, 10])
    rows = []
    for hardware, variant, times in (("cpu-2threads", "algo", 0), ("cpu", "algo_impl", 1), ("cpu", ALL_AND_BIT, 0.1)):
        names = "smallcnn", "digits", hardware, variant, "cpu", "algo"
        each = distance * times * (1 + np.arange(starts))[:, None] * steps
        courses = [growing.Course(steps, dict.fromkeys((*growing.DISTANCES, "churn"), one)) for one in each]
        rows += [(*names, step, name, "all", *found, n, 0) for step, name, found, n in growing.levels(courses, 500)]
    return rows


def test_growth_is_one_line_a_perturbation_and_exact_zeros_are_told(written):
    on_cpu = {"hardware": ["cpu", "cpu-2threads"], "tasks": [["smallcnn", "digits"]], "emulated": ["cpu"]}
    said = words(written("growth", growth=grown(3, 1e-6), **on_cpu))
    for part in (
        "cpu-2threads",
        "IMPL†",
        "one bit",
        "√2: unrelated",
        "training steps",
        "Churn",
        "Starts: 3 for",
    ):
        assert part in said


def of_text(variants, runs=4, segments=30, units=8, tokens=6):
    """Rows of stability and of language of made-up language models, in which one token in four is rare."""
    labels = np.arange(segments * units) % tokens
    rare = {"up-to-10": labels >= tokens - 1, "over-10": labels < tokens - 1}
    rows, of_language = [], []
    for variant, noise in variants.items():
        cell, draws = ("lstm", "poem", "cpu", variant), np.random.Generator(np.random.Philox(3))
        scores = draws.normal(size=(len(labels), tokens)) + 1.5 * np.eye(tokens)[labels]
        logits = (scores + noise * draws.normal(size=(runs, *scores.shape))).astype(np.float32)
        written = np.where(draws.random((runs, segments, 4)) < noise / 2, draws.integers(tokens, size=(runs, 1, 1)), 0)
        found = stability(logits, labels, rare, apart(logits[:, :50, 0]), streams.key(0, "init", 1), units)
        found += of_all_draws(predictions(logits), labels, tokens, rare, [np.arange(runs)], found, units)
        rows += [(*cell, *names, *estimate, runs, 0) for *names, estimate in found]
        rows.append((*cell, "n_draws", "all", 1.0, np.nan, np.nan, runs, 0))
        of_runs = language(logits, labels, units, written)
        of_language += [(*cell, *names, *estimate, runs, 0) for *names, estimate in of_runs]
    return rows, of_language


def without_scores(rows):
    """Rows as they are of a large vocabulary, of which only the likeliest tokens are kept."""
    return [row for row in rows if not row[4].startswith(("correlation_", "ensemble_", "cka"))]


ON_TEXT = {"tasks": [["lstm", "poem"]], "hardware": ["cpu"], "emulated": ["cpu"]}


def test_language_models_are_drawn_by_source_in_units_of_text(written):
    rows, of_language = of_text(VARIANTS)
    said = words(written("language", rows, language=of_language, **ON_TEXT))
    for part in (
        "Two runs differ in",
        "of next tokens",
        "lstm / poem",
        "SD of perplexity",
        "% of test tokens",
        "bits",
        "Continuation apart",
        "Runs: 4 each",
        "0: exactly zero",
        "emulated",
    ):
        assert part in said
    assert "test examples" not in said
    assert "lower bound" not in said
    assert "lower bound, from the likeliest tokens, for poem." in words(
        written("language", without_scores(rows), language=of_language, **ON_TEXT)
    )


def test_the_table_of_language_models_has_the_numbers_of_the_metric_files(written):
    rows, of_language = of_text(VARIANTS)
    stem = written("table_language", rows, language=of_language, **ON_TEXT)
    files = {row[3:6]: row[6] for row in (*rows, *of_language)}
    full = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    assert [row["variant"] for row in full] == list(VARIANTS)
    for row in full:
        for column, metric, group in (
            ("perplexity", "perplexity_mean", "all"),
            ("perplexity_sd", "perplexity_sd", "all"),
            ("token_churn", "churn", "all"),
            ("divergence", "divergence", "all"),
            ("correlation_spearman", "correlation_spearman", "all"),
            ("normalised_churn", "churn_normalised", "all"),
            ("normalised_churn_rarest", "churn_normalised", "up-to-10"),
        ):
            assert float(row[column]) == pytest.approx(files[row["variant"], metric, group], rel=1e-5)
        # Two runs of cross-entropy 1.1 whose pair has 1.0 have perplexities of e^1.1, and their pair e^1.0.
        change = files[row["variant"], "ensemble_cross_entropy_change", "all"]
        assert float(row["pair_perplexity_change"]) == pytest.approx(np.e**change - 1, rel=1e-5)
    text = stem.with_suffix(".md").read_text()
    control = next(line for line in text.splitlines() if "| Control |" in line)
    assert re.search(r"\| 4 \(bit-equal\) \| [0-9.]+ ± 0 \| 0 \| 0 \| 1 \| 0 \| 0 \| 0 \|$", control)
    assert text.count("(bit-equal)") == 1
    assert "not at hand" in text and "up-to-10 times in training (poem)" in text
