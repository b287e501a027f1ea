"""Remedies: their sets, Summers & Dinneen's score against their own table, and the metric file of a cell."""

import itertools

import numpy as np
import pytest
from scipy import stats

from toolnoise.base import arrays, metric_files
from toolnoise.datasets.prepared import Split
from toolnoise.papers import remedies as measures_remedies
from toolnoise.papers.remedies import MEASURES, REMEDIES, measure_runs, noise_reduction, variability_reduction
from toolnoise.papers.remedy_dump import each_view
from toolnoise.study import published
from toolnoise.study.cells import Cell
from toolnoise.study.remedies import SETS

# The score that Summers & Dinneen report without a formula, against their own table


NUMBERS = published.read_published(published.REMEDIES)


def table(item):
    """The measures of each remedy of a table, and the reductions that were published for it."""
    found = {}
    for one in NUMBERS:
        table, _, remedy = one.item.partition("/")
        if table == item:
            found.setdefault(remedy, {})[one.metric] = one.amount
    return found


def test_the_score_gives_all_eight_published_values():
    remedies = table("remedies")
    single = remedies.pop("single")
    found = [round(100 * variability_reduction(single, remedied)) for remedied in remedies.values()]
    assert found == [48, 21, 16, 21, 33, 37, 58, 61]
    assert found == [round(100 * remedied["variability_reduction"]) for remedied in remedies.values()]


# Our own runs.

LABELS = np.arange(150) % 3
DRAWS = np.random.Generator(np.random.Philox(5))
COMMON = DRAWS.normal(size=(150, 3)) + 1.2 * np.eye(3)[LABELS]


def runs(count, noise):
    return (COMMON + noise * DRAWS.normal(size=(count, 150, 3))).astype(np.float32)


SINGLE, REMEDIED = runs(7, 1.0), runs(7, 0.5)


def plainly(logits):
    """The five measures by loops over runs and pairs."""
    logits = logits.astype(float)
    right = [run.argmax(axis=1) == LABELS for run in logits]
    losses = [-np.log(np.exp(run) / np.exp(run).sum(axis=1, keepdims=True))[np.arange(150), LABELS] for run in logits]
    pairs = list(itertools.combinations(range(len(logits)), 2))
    gains = []
    for i, j in pairs:
        together = (logits[i] + logits[j]).argmax(axis=1) == LABELS
        gains.append(together.mean() - (right[i].mean() + right[j].mean()) / 2)
    return {
        "accuracy_sd": np.std([one.mean() for one in right], ddof=1),
        "cross_entropy_sd": np.std([one.mean() for one in losses], ddof=1),
        "churn": np.mean([np.mean(logits[i].argmax(axis=1) != logits[j].argmax(axis=1)) for i, j in pairs]),
        "correlation": np.mean([stats.spearmanr(logits[i].ravel(), logits[j].ravel()).statistic for i, j in pairs]),
        "ensemble_accuracy_change": np.mean(gains),
    }


@pytest.mark.parametrize("logits", [SINGLE, REMEDIED[:2]], ids=["seven", "two"])
def test_the_five_measures_are_those_of_loops_over_runs_and_pairs(logits):
    found, wanted = measure_runs(logits, LABELS).measures, plainly(logits)
    assert set(found) == set(MEASURES)
    for name in MEASURES:
        assert found[name] == pytest.approx(wanted[name], rel=1e-6), name


def by_dropping(pairs):
    """The standard error by the jackknife, from the stacks of single and remedied runs that are left."""
    values = np.array([variability_reduction(*map(plainly, pair)) for pair in pairs])
    return np.sqrt((len(values) - 1) * np.mean((values - values.mean()) ** 2))


def test_a_remedy_of_the_same_runs_loses_a_run_together_with_them():
    found = noise_reduction(measure_runs(SINGLE, LABELS), measure_runs(REMEDIED, LABELS), same_runs=True)
    assert found.value == pytest.approx(variability_reduction(plainly(SINGLE), plainly(REMEDIED)), rel=1e-6)
    assert 0.2 < found.value < 0.9
    error = by_dropping([(np.delete(SINGLE, run, 0), np.delete(REMEDIED, run, 0)) for run in range(7)])
    assert found.value - found.low == pytest.approx(stats.t.ppf(0.975, 6) * error, rel=1e-5)
    assert found.high <= 1


def test_of_other_runs_the_variances_add():
    few = REMEDIED[:5]
    found = noise_reduction(measure_runs(SINGLE, LABELS), measure_runs(few, LABELS), same_runs=False)
    one = by_dropping([(np.delete(SINGLE, run, 0), few) for run in range(7)])
    other = by_dropping([(SINGLE, np.delete(few, run, 0)) for run in range(5)])
    assert found.value - found.low == pytest.approx(stats.t.ppf(0.975, 4) * np.hypot(one, other), rel=1e-5)


def test_there_is_a_reduction_of_runs_with_pairs_that_are_not_equal_and_an_interval_of_three():
    single, remedied = measure_runs(SINGLE, LABELS), measure_runs(REMEDIED, LABELS)
    for few in (0, 1):
        none = measure_runs(SINGLE[:few], LABELS)
        assert np.isnan(noise_reduction(none, none, same_runs=True)).all()
    two = noise_reduction(measure_runs(SINGLE[:2], LABELS), measure_runs(REMEDIED[:2], LABELS), same_runs=True)
    assert np.isfinite(two.value) and np.isnan([two.low, two.high]).all()
    equal = measure_runs(np.repeat(SINGLE[:1], 7, axis=0), LABELS)
    assert np.isnan(noise_reduction(equal, remedied, same_runs=True)).all()
    assert noise_reduction(single, equal, same_runs=False).value == 1


# Sets of remedies


def test_imagenets_nine_crops_are_the_corners_and_middles_of_256_pixels():
    """Their crop_imagenet: rows and columns that begin at 0, 16 and 32 of 256, with nothing from beyond the edge."""
    assert (
        {view.down + 16 for view in SETS["crops9-16"]} == {view.right + 16 for view in SETS["crops9-16"]} == {0, 16, 32}
    )
    pixels = np.arange(256 * 256, dtype=np.float32).reshape(1, 256, 256, 1)
    for view, found in each_view(pixels, 32, SETS["flip+crops9-16"], beyond=np.nan):
        row, column = view.down + 16, view.right + 16
        whole = pixels[:, row : row + 224, column : column + 224]
        assert np.array_equal(found, whole[:, :, ::-1] if view.mirrored else whole)


def by_pixel(image, margin, view, beyond=0):
    """One view of one image, a pixel at a time."""
    height, width = image.shape[0] - margin, image.shape[1] - margin
    found = np.full((height, width, image.shape[2]), beyond, np.float32)
    for row in range(height):
        for column in range(width):
            across = width - 1 - column if view.mirrored else column
            place = row + margin // 2 + view.down, across + margin // 2 + view.right
            if all(0 <= at < side for at, side in zip(place, image.shape, strict=False)):
                found[row, column] = image[place]
    return found


@pytest.mark.parametrize(("name", "margin"), [("flip+crops25", 0), ("flip+crops25", 3), ("crops9", 1)])
def test_a_view_is_the_moved_window_with_zeros_beyond_the_stored_image(name, margin):
    images = np.random.Generator(np.random.Philox(1)).normal(size=(3, 7, 6, 2)).astype(np.float32)
    shown = list(each_view(images, margin, SETS[name]))
    assert [view for view, _ in shown] == list(SETS[name])
    for view, found in shown:
        assert np.array_equal(found, np.stack([by_pixel(image, margin, view) for image in images]))


def test_a_view_of_a_recipe_with_black_padding_shows_black_beyond_the_image():
    pixels = np.random.Generator(np.random.Philox(1)).integers(0, 256, (3, 7, 6, 3), np.uint8)
    split = Split(pixels, np.zeros(3, np.int32), normalise="cifar10")
    black = split.beyond({"padding": "black"})
    np.testing.assert_allclose(black, np.divide([-0.4914, -0.4822, -0.4465], [0.2023, 0.1994, 0.2010]), rtol=1e-6)
    for view, found in each_view(split.images, 0, SETS["crops9"], black):
        assert np.array_equal(found, np.stack([by_pixel(image, 0, view, black) for image in split.images]))
    assert not split.beyond({}).any()


CELL = Cell("mine", "digits", "cpu", "algo_impl")
OF_CELL = np.arange(60) % 3
OF_DUMPS = np.random.Generator(np.random.Philox(2))
LOGITS = (OF_DUMPS.normal(size=(5, 60, 3)) + 1.5 * np.eye(3)[OF_CELL]).astype(np.float32)
REMEDY_NAMES = ["flip", "snapshots"]
DUMPED = np.stack([LOGITS + 0.6 * OF_DUMPS.normal(size=LOGITS.shape) for _ in REMEDY_NAMES]).astype(np.float32)
DIVERGED = [False, False, True, False, False]
KEPT = ~np.array(DIVERGED)
RUNS = {"seeds": [1, 2, 3, 4, 5], "diverged": DIVERGED}


@pytest.fixture
def measured(tmp_path, make_dump):
    """Measure the cell; `single` are the logits of other runs. Returns the rows by remedy and metric."""
    data = {"maximum": np.array(255), "classes": np.array(list("abc"))}
    for part in ("train", "test"):
        data |= {f"{part}_images": np.zeros((60, 2, 2, 1), np.uint8), f"{part}_labels": OF_CELL}
    arrays.write_npz(tmp_path / "data.npz", data)
    cell = make_dump(np.where(KEPT[:, None, None], LOGITS, np.nan), "single", **RUNS)

    def call(single=None, stack=DUMPED, **index):
        dumps = (
            [] if stack is None else [make_dump(stack, "remedied", **{"remedies": REMEDY_NAMES, **RUNS, **index})[0]]
        )
        others = [] if single is None else [make_dump(single, "other")[0]]
        read = tmp_path / "data.npz", *cell, dumps, others
        measures_remedies.measure(CELL, 0, *read, out=tmp_path / "out.csv")
        rows = metric_files.read_metrics(tmp_path / "out.csv", REMEDIES)
        assert set(rows["group"]) == {"all"}
        assert {tuple(row[:4]) for row in rows.itertuples(index=False)} == {CELL}
        return {(row.remedy, row.metric): row for row in rows.itertuples(index=False)}

    return call


def estimate(row):
    return row.value, row.ci_low, row.ci_high


def test_every_remedy_has_the_measures_of_its_runs_and_its_reduction_against_them(measured):
    rows = measured()
    single = measure_runs(LOGITS[KEPT], OF_CELL)
    assert {remedy for remedy, _ in rows} == {"single", *REMEDY_NAMES}
    assert ("single", "variability_reduction") not in rows
    for name, layers in zip(REMEDY_NAMES, DUMPED, strict=True):
        under = measure_runs(layers[KEPT], OF_CELL)
        assert rows[name, "churn"].value == pytest.approx(under.measures["churn"])
        assert rows[name, "accuracy_sd"].value == pytest.approx(under.measures["accuracy_sd"])
        assert estimate(rows[name, "variability_reduction"]) == noise_reduction(single, under, same_runs=True)


def test_a_diverged_run_is_missing_from_all(measured):
    assert {(row.n_runs, row.n_missing) for row in measured().values()} == {(4, 1)}


def test_other_runs_are_what_all_is_held_against_the_single_ones_too(measured):
    other = (LOGITS + OF_DUMPS.normal(size=LOGITS.shape)).astype(np.float32)
    rows = measured(single=other)
    before = measure_runs(other, OF_CELL)
    for name, layers in (("single", LOGITS), ("flip", DUMPED[0])):
        wanted = noise_reduction(before, measure_runs(layers[KEPT], OF_CELL), same_runs=False)
        assert estimate(rows[name, "variability_reduction"]) == wanted
    assert rows["single", "churn"].value == pytest.approx(measure_runs(LOGITS[KEPT], OF_CELL).measures["churn"])


def test_a_dump_of_other_runs_than_the_cells_is_one_line(measured, refused):
    line = refused(lambda: measured(seeds=[1, 2, 3, 4, 6]))
    assert "remedied.npy: found runs [1, 2, 3, 4" in line
    assert line.endswith("single.npy")
