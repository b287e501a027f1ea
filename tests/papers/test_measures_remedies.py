"""From dumps to the metric file of a cell's remedies."""

import numpy as np
import pytest

from toolnoise.base import arrays, metric_files
from toolnoise.papers.remedies import measure as measures_remedies
from toolnoise.papers.remedies import metric as remedies
from toolnoise.papers.remedies.metric import REMEDIES
from toolnoise.study.cells import Cell

CELL = Cell("mine", "digits", "cpu", "algo_impl")
LABELS = np.arange(60) % 3
DRAWS = np.random.Generator(np.random.Philox(2))
LOGITS = (DRAWS.normal(size=(5, 60, 3)) + 1.5 * np.eye(3)[LABELS]).astype(np.float32)
NAMES = ["flip", "snapshots"]
REMEDIED = np.stack([LOGITS + 0.6 * DRAWS.normal(size=LOGITS.shape) for _ in NAMES]).astype(np.float32)
DIVERGED = [False, False, True, False, False]
KEPT = ~np.array(DIVERGED)
RUNS = {"seeds": [1, 2, 3, 4, 5], "diverged": DIVERGED}


@pytest.fixture
def measured(tmp_path, make_dump):
    """Measure the cell; `single` are the logits of other runs. Returns the rows by remedy and metric."""
    data = {"maximum": np.array(255), "classes": np.array(list("abc"))}
    for part in ("train", "test"):
        data |= {f"{part}_images": np.zeros((60, 2, 2, 1), np.uint8), f"{part}_labels": LABELS}
    arrays.write_npz(tmp_path / "data.npz", data)
    cell = make_dump(np.where(KEPT[:, None, None], LOGITS, np.nan), "single", **RUNS)

    def call(single=None, stack=REMEDIED, **index):
        dumps = [] if stack is None else [make_dump(stack, "remedied", **{"remedies": NAMES, **RUNS, **index})[0]]
        others = [] if single is None else [make_dump(single, "other")[0]]
        read = tmp_path / "data.npz", *cell, dumps, others
        measures_remedies.measure(CELL, 0, *read, out=tmp_path / "out.csv")
        rows = metric_files.read(tmp_path / "out.csv", REMEDIES)
        assert set(rows["group"]) == {"all"}
        assert {tuple(row[:4]) for row in rows.itertuples(index=False)} == {CELL}
        return {(row.remedy, row.metric): row for row in rows.itertuples(index=False)}

    return call


def estimate(row):
    return row.value, row.ci_low, row.ci_high


def test_every_remedy_has_the_measures_of_its_runs_and_its_reduction_against_them(measured):
    rows = measured()
    single = remedies.measure(LOGITS[KEPT], LABELS)
    assert {remedy for remedy, _ in rows} == {"single", *NAMES}
    assert ("single", "variability_reduction") not in rows
    for name, layers in zip(NAMES, REMEDIED, strict=True):
        under = remedies.measure(layers[KEPT], LABELS)
        assert rows[name, "churn"].value == pytest.approx(under.measures["churn"])
        assert rows[name, "accuracy_sd"].value == pytest.approx(under.measures["accuracy_sd"])
        assert estimate(rows[name, "variability_reduction"]) == remedies.reduction(single, under, same_runs=True)


def test_a_diverged_run_is_missing_from_all(measured):
    assert {(row.n_runs, row.n_missing) for row in measured().values()} == {(4, 1)}


def test_other_runs_are_what_all_is_held_against_the_single_ones_too(measured):
    other = (LOGITS + DRAWS.normal(size=LOGITS.shape)).astype(np.float32)
    rows = measured(single=other)
    before = remedies.measure(other, LABELS)
    for name, layers in (("single", LOGITS), ("flip", REMEDIED[0])):
        wanted = remedies.reduction(before, remedies.measure(layers[KEPT], LABELS), same_runs=False)
        assert estimate(rows[name, "variability_reduction"]) == wanted
    assert rows["single", "churn"].value == pytest.approx(remedies.measure(LOGITS[KEPT], LABELS).measures["churn"])


def test_a_cell_without_a_remedy_has_its_single_runs(measured):
    rows = measured(stack=None)
    assert {remedy for remedy, _ in rows} == {"single"}
    assert ("single", "accuracy_mean") in rows


@pytest.mark.parametrize(
    ("stack", "index"),
    [(REMEDIED[:, :4], {"seeds": [1, 2, 3, 4], "diverged": DIVERGED[:4]}), (REMEDIED, {"seeds": [1, 2, 3, 4, 6]})],
    ids=["fewer runs", "another seed"],
)
def test_a_dump_of_other_runs_than_the_cells_is_one_line(stack, index, measured, refused):
    line = refused(lambda: measured(stack=stack, **index))
    assert "remedied.npy: found runs [1, 2, 3, 4" in line
    assert line.endswith("single.npy")
