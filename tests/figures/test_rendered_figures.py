"""Notebooks on metric files that a test wrote: what they show, as SVG.

Their code runs here, in this process; papermill runs them in the tests of whole studies.
"""

import csv
import functools
import html
import itertools
import json
import re
from pathlib import Path
from typing import NamedTuple

import check_titles
import numpy as np
import pytest
from matplotlib.backends.backend_agg import RendererAgg

from toolnoise import streams
from toolnoise.base import metric_files
from toolnoise.base.noise_sources import DRAWN
from toolnoise.base.program import ROOT
from toolnoise.figures import sheets
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.stability import STABILITY, of_all_draws, stability
from toolnoise.formulas.weights import weight_distances
from toolnoise.papers import notebook_values
from toolnoise.papers.identical.metric import IDENTICAL, History, experiment_columns
from toolnoise.papers.identical.metric import measure_identical_runs as of_identical_runs
from toolnoise.study import figure_files, grid
from toolnoise.study.expected import METRICS
from toolnoise.study.figure_kinds import FIGURES, KINDS

RUNS, EXAMPLES = 6, 400
VARIANTS = {"algo_impl": 1.0, "algo": 0.8, "impl": 0.3, "control": 0.0}
# Groups of unequal size, one in ten positive: the positives of the smallest group are a handful.
LABELS = (np.arange(EXAMPLES) % 10 == 0).astype(int)
MALE = np.arange(EXAMPLES) % 7 < 3
OLD = np.arange(EXAMPLES) % 4 == 2
GROUPS = {"Male": MALE, "Female": ~MALE, "Young": ~OLD, "Old": OLD}


def measured(place, labels, classes, groups, noise):
    """Rows of a metric file as the workflow would measure them on runs with that much noise."""
    draws = np.random.Generator(np.random.Philox(len("".join(place))))
    common = draws.normal(size=(len(labels), classes)) + 1.5 * np.eye(classes)[labels]
    logits = common + noise * draws.normal(size=(RUNS, len(labels), classes))
    vectors = draws.normal(size=(1, 50)) + noise * draws.normal(size=(RUNS, 50))
    logits = logits.astype(np.float32)
    predicted = predictions(logits)
    given = labels, classes, groups
    rows = stability(predicted, *given, weight_distances(vectors), streams.stream_key(0, "init", 1), scores=logits)
    rows += of_all_draws(predicted, *given, [np.arange(RUNS)], rows)
    return [(*place, metric, group, *estimate, RUNS, 0) for metric, group, estimate in rows]


def each_runs(rows):
    """The accuracy and churn of each run of the cells of some rows: the mean of the cell, and a little more or less."""
    for *cell, metric, group, value, _, _, runs, _ in rows:
        if metric in ("accuracy_mean", "churn"):
            for seed in range(1, runs + 1):
                draws = ("own" if cell[3] == "impl" else str(seed) for _ in DRAWN)
                own = value * (1 + 0.01 * (seed % 3 - 1))
                yield (*cell, seed, *draws, metric.removesuffix("_mean"), group, own)


@pytest.fixture
def executed(monkeypatch):
    """Run a notebook's code on metric files of a folder; figures are saved in the formats asked for.

    Every figure must fit a column of a paper and be legible there, and on a page, and its title must be short and, if
    a check knows it, true of the files.
    """

    def checked(figure, stem, metrics, width, formats):
        title = figure.get_label().splitlines()[0]
        assert faults(figure) == []
        assert too_much(title) == []
        assert check_titles.fault(metrics, title) in ("", check_titles.UNKNOWN)
        assert figure.get_size_inches()[0] <= width
        for suffix in formats:
            sheets.save_as(figure, f"{stem}.{suffix}")

    def run(kind, parameters, metrics, width, formats):
        monkeypatch.setattr(sheets, "save", functools.partial(checked, metrics=metrics, width=width, formats=formats))
        names = {}
        for cell in json.loads((ROOT / f"notebooks/{kind}.ipynb").read_text())["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{kind}: {cell['id']}", "exec"), names)
                if cell["metadata"].get("tags"):
                    names |= parameters  # as papermill injects them

    def execute(kind, parameters, folder, stem, name, formats=("svg",)):
        metrics = check_titles.Metrics(folder, name)
        if KINDS[kind].category == FIGURES:
            run(kind, parameters | {"width": sheets.PAGE, "stem": f"{stem}-page"}, metrics, sheets.PAGE, ())
        run(kind, parameters | {"stem": str(stem)}, metrics, sheets.COLUMN, formats)
        return stem

    return execute


@pytest.fixture
def written(tmp_path, executed):
    """Write metric files into a folder and run a notebook's code on them; returns the stem of what it wrote."""

    def render(kind, rows=(), counts=(), runs=None, **given):
        metrics = {name: given.pop(name) for name in METRICS if name in given}
        metrics |= {"stability": rows, "counts": counts, "runs": list(each_runs(rows)) if runs is None else runs}
        written = {name: tmp_path / f"{name}.csv" for name, values in metrics.items() if values}
        for name, path in written.items():
            metric_files.write_metrics(path, metric_files.columns_at(METRICS[name].columns), metrics[name])
        parameters = given | {name: [str(path)] for name, path in written.items()}
        return executed(kind, parameters, tmp_path, tmp_path / "figure", kind)

    return render


# The texts of a figure as they are printed: which are too small, cut off, or lie on one another; long titles


SMALLEST = 5.0  # points
WORDS, NUMBERS = 12, 1  # of a title
TOUCHING = 0.75  # points by which boxes may overlap: they are a little larger than the glyphs


class Box(NamedTuple):
    """A text as it is drawn: its size, and its box in points from the upper left corner."""

    text: str
    size: float
    left: float
    top: float
    right: float
    bottom: float


def texts_drawn(figure):
    """Every text of a figure that is drawn."""
    found = []

    # The tick labels of an axis, for instance, are not all drawn that there are.
    class Noting(RendererAgg):
        def draw_text(self, _gc, x, y, s, prop, angle, ismath=False, **_):
            wide, high, below = self.get_text_width_height_descent(s, prop, ismath)
            box = (x, y - high + below, x + wide, y + below)
            if angle == 90:
                box = (x - high + below, y - wide, x + below, y)
            if s.strip():
                found.append(Box(s, prop.get_size_in_points(), *(72 / self.dpi * side for side in box)))

    figure.draw_without_rendering()
    wide, high = figure.get_size_inches() * figure.dpi
    figure.draw(Noting(wide, high, figure.dpi))
    return found


def too_much(title):
    """What a title has too much of, in words; a per cent sign is no word, and the name of a model no number."""
    words = [word for word in title.split() if word != "%"]
    numbers = re.findall(r"(?<![\w-])[+-]?\d[\d.,]*(?![\w-])", title)
    found = [f"{len(words)} words: {title}"] if len(words) > WORDS else []
    return found + ([f"{len(numbers)} numbers: {title}"] if len(numbers) > NUMBERS else [])


def faults(figure):
    """What is wrong with the texts of a figure at its own size, in words."""
    boxes, (wide, high) = texts_drawn(figure), 72 * figure.get_size_inches()
    found = [f"{box.size:g} pt: {box.text!r}" for box in boxes if box.size < SMALLEST]
    for box in boxes:
        if min(box.left, box.top) < -TOUCHING or box.right > wide + TOUCHING or box.bottom > high + TOUCHING:
            found.append(f"cut off: {box.text!r}")
    for one, other in itertools.combinations(boxes, 2):
        across = min(one.right, other.right) - max(one.left, other.left)
        along = min(one.bottom, other.bottom) - max(one.top, other.top)
        if min(across, along) > TOUCHING:
            found.append(f"{one.text!r} lies on {other.text!r}")
    return found


# Every kind, on the metric files of a whole study


ARCHIVE = Path(__file__).with_name("metric_files.tar.xz")  # and the file of the study that made them
ON_GPUS = {"paper_vs_ours"}


@pytest.fixture
def shown(unpacked_archive, executed, tmp_path):
    """Render the first two figures of a kind of the study; returns the stems of what was written."""
    study, folder = grid.load_study(unpacked_archive / "study.yaml"), unpacked_archive / "metrics"
    collected = figure_files.collected_files(study) | {"claims": "claims.csv"}

    def render(kind):
        read = [name for name in (*KINDS[kind].reads, *KINDS[kind].also) if name in collected]
        given = {name: [str(folder / Path(collected[name]).name)] for name in read}
        figures = [figure for figure in study.figures if figure.notebook == kind][:2]
        return [
            executed(
                kind,
                given | notebook_values.notebook_values(study, figure),
                folder,
                tmp_path / figure.name,
                figure.name,
            )
            for figure in figures
        ]

    return render


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - ON_GPUS))
def test_every_kind_is_drawn_from_metric_files_alone_and_says_what_is_synthetic(kind, shown):
    stems = shown(kind)
    assert stems
    for stem in stems:
        figure = KINDS[kind].category == FIGURES
        text = words(stem) if figure else stem.with_suffix(".md").read_text()
        assert not re.search(r"\bnan\b", text)
        assert not re.search(r"(?<!synthetic )\bfaces\b", text)
        assert figure or all(stem.with_suffix(f".{suffix}").exists() for suffix in KINDS[kind].suffixes)


def test_the_table_of_language_models_has_the_numbers_of_the_metric_files(shown, unpacked_archive):
    (stem,) = shown("table_language")
    tables = [
        metric_files.read_metrics(unpacked_archive / f"metrics/{kind}.csv", STABILITY)
        for kind in ("stability", "language")
    ]
    files = {row[:6]: row.value for table in tables for row in table.itertuples(index=False)}
    full = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    assert [row["variant"] for row in full] == ["algo_impl", "control"]
    for row in full:
        cell = tuple(row[name] for name in ("model", "dataset", "hardware", "variant"))
        for column, metric in (
            ("perplexity", "perplexity_mean"),
            ("perplexity_sd", "perplexity_sd"),
            ("token_churn", "churn"),
            ("divergence", "divergence"),
            ("correlation_spearman", "correlation_spearman"),
            ("normalised_churn", "churn_normalised"),
        ):
            assert float(row[column]) == pytest.approx(files[*cell, metric, "all"], rel=1e-5)
        # Two runs of cross-entropy 1.1 whose pair has 1.0 have perplexities of e^1.1, and their pair e^1.0.
        change = files[*cell, "ensemble_cross_entropy_change", "all"]
        assert float(row["pair_perplexity_change"]) == pytest.approx(np.e**change - 1, rel=1e-5)
    assert stem.with_suffix(".md").read_text().count("(bit-equal)") == 1


# What a test's own metric files bring about


def faces():
    return [
        row
        for variant, noise in VARIANTS.items()
        for row in measured(("smallcnn", "faces", "cpu", variant), LABELS, 2, GROUPS, noise)
    ]


ON_FACES = {"tasks": [["smallcnn", "faces"]]}


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


def test_classes_have_the_names_of_the_metric_file_which_are_no_formulas(written):
    labels = [("faces", label, name) for label, name in enumerate(("$\\frac$", "e\x1bggs"))]
    labels.append(("others", 0, "never"))
    stem = written("per_class", faces(), labels=labels, class_names={"faces": []}, hardware=["cpu"], **ON_FACES)
    said = set(words(stem).split())
    assert {"$\\frac$", "e\\x1bggs"} <= said
    assert "never" not in said


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


GROUPED = [
    ("faces", split, group, label, count)
    for split, factor in (("train", 10), ("test", 1))
    for group, label, count in [("all", "all", 400), ("all", "0", 360), ("all", "1", 40), ("Male", "1", 3)]
    for count in [count * factor]
]


def test_table_3_has_counts_and_shares_of_the_training_set(written):
    text = written("table3", counts=GROUPED, **ON_FACES).with_suffix(".md").read_text()
    assert "| faces | 1 | 30 (0.8 %) | 400 (10.0 %) |" in text
    assert "| faces | All | — | 4,000 (100.0 %) |" in text


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


def ratios(models):
    for model in models:
        for name in ("p100", "v100"):
            for metric in ("kernel_ratio", "wall_ratio"):
                yield (model, name, "gpu", *STEP, metric, 1.25, 1.125, 1.375, 5, 0)


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


def under_remedies(model, *names):
    """Rows of a cell's remedies, each with numbers of its own; one of seven runs is missing."""
    place = (model, "digits", "cpu", "algo_impl")
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
            yield (*place, name, metric, "all", value, value - 0.0001, value + 0.0001, 6, 1)


def test_every_number_of_a_remedy_is_the_files_or_the_published_one(written):
    sets = ("single", "crops9", "flip+crops25")
    rows = [*under_remedies("cnn", *sets)]
    rows += under_remedies("cnn-snapshots", *sets, "snapshots", *(f"snapshots+{name}" for name in sets[1:]))
    stem = written("remedies", remedies=rows, tasks=[["cnn", "digits"], ["cnn-snapshots", "digits"]])
    text = stem.with_suffix(".md").read_text()
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


DIGITS = np.arange(200) % 10
ON_DIGITS = {"tasks": [["smallcnn", "digits"]]}


def noisy_logits(variant):
    draws = np.random.Generator(np.random.Philox(len(variant)))
    common = draws.normal(size=(200, 10)) + 2 * np.eye(10)[DIGITS]
    return (common + VARIANTS[variant] * draws.normal(size=(RUNS, 200, 10))).astype(np.float32)


def identical_rows():
    """Rows as the workflow would measure them; training takes 3 seconds in the first run, and 1 more in each next."""
    for variant in VARIANTS:
        predicted = noisy_logits(variant).argmax(axis=2)
        accuracy = np.array([0.5, 0.895, 0.9])
        histories = [History(accuracy, 1 - accuracy, accuracy, np.full(3, 1 + run / 3)) for run in range(RUNS)]
        spec = {
            "study_seed": 0,
            "seed": 1,
            "recipe": {},
            "hardware": {"name": "cpu", "engine": "tensorflow", "impl_noise": "native"},
            "model": {"name": "smallcnn"},
            "variant": {"name": variant, "varying": {"impl": ["impl"], "control": []}.get(variant, ["init", "impl"])},
        }
        about = experiment_columns({"spec": spec, "observed": {"versions": {"tensorflow": "2.21.0"}}})
        about |= {"dataset": "digits", "hardware": "cpu", "variant": variant, "n_missing": 1}
        for criterion in ("near-best", "patience"):
            row = about | of_identical_runs(predicted, DIGITS, 10, histories, criterion)[0]
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


def each_run():
    draws = np.random.Generator(np.random.Philox(8))
    for variant, sd in (("algo_impl", 0.1), ("impl", 0.01)):
        accuracies = draws.normal(0.9, sd, 5)
        for criterion in ("best-accuracy", "lowest-loss"):
            for seed, accuracy in enumerate(accuracies, 1):
                about = ("tensorflow", "2.21.0", "", "", "smallcnn", "1", criterion, seed, accuracy, 5.0 + seed)
                yield (*about, 3.0, 1.0, 2.0, "3", accuracy / 2, "counted", "digits", "cpu", variant)


def test_identical_runs_are_tested_as_pham_et_al_do_and_once_more_for_the_number_of_tests(written):
    stem = written("identical_tests", convergence=list(each_run()), emulated=["cpu"])
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
