"""What `measure-ratios` reads and writes."""

import numpy as np
import pytest

from toolnoise import steps
from toolnoise.base import metric_files
from toolnoise.base.noise_sources import SOURCES
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.ratios import RATIOS
from toolnoise.measures import noise_ratios
from toolnoise.steps import STEPS
from toolnoise.study.cells import Cell, Variants
from toolnoise.study.comparisons import comparisons

PLACE = Variants("smallcnn", "digits", "cpu")


@pytest.fixture
def write(tmp_path):
    """Write single runs of a cell, of seeds 1, 2, ...; a churn that is not a number is that of a diverged run."""

    def written(model, variant, churns):
        rows = []
        for seed, churn in enumerate(churns, 1):
            names = model, "digits", "cpu", variant, seed, *(["own"] * len(SOURCES))
            rows.append((*names, "accuracy", "all", np.nan if np.isnan(churn) else 0.9 + seed**2 / 1000))
            if not np.isnan(churn):
                values = {"cross_entropy": 0.2 + seed / 10, "churn": churn, "churn_normalised": churn / 2}
                rows += [(*names, metric, "all", value) for metric, value in values.items()]
                rows.append((*names, "accuracy", "0", 0.5))
        path = tmp_path / f"{model}-{variant}.csv"
        metric_files.write(path, RUNS, rows)
        return str(path)

    return written


def test_each_variant_is_over_algo_impl_and_algo_and_batch_norm_over_none(write, tmp_path):
    some = [0.10, 0.12, 0.14]
    paths = [write("smallcnn", name, some) for name in ("algo_impl", "algo", "impl")]
    paths.append(write("smallcnn-bn", "algo", [0.05, 0.06, np.nan, 0.07]))
    noise_ratios.measure(*PLACE, paths, tmp_path / "out.csv")
    found = metric_files.read(tmp_path / "out.csv", RATIOS)
    names = found[["model", "variant", "over_model", "over_variant"]].drop_duplicates()
    assert list(names.itertuples(index=False, name=None)) == [
        ("smallcnn", "algo", "smallcnn", "algo_impl"),
        ("smallcnn", "impl", "smallcnn", "algo_impl"),
        ("smallcnn", "algo_impl", "smallcnn", "algo"),
        ("smallcnn", "impl", "smallcnn", "algo"),
    ]
    assert list(found["metric"].unique()) == ["churn", "churn_normalised", "accuracy_sd", "cross_entropy_sd"]
    noise_ratios.measure("smallcnn-bn", *PLACE[1:], paths, tmp_path / "bn.csv")
    normed = metric_files.read(tmp_path / "bn.csv", RATIOS)
    assert set(normed[["variant", "over_model", "over_variant"]].itertuples(index=False, name=None)) == {
        ("algo", "smallcnn", "algo")
    }
    assert normed["value"].iloc[:2].tolist() == pytest.approx([0.5, 0.5], rel=1e-12)
    counts = ["n_runs", "n_missing", "over_n_runs", "over_n_missing", "n_draws", "over_n_draws"]
    assert set(normed[counts].itertuples(index=False, name=None)) == {(3, 1, 3, 0, 3, 3)}


def test_a_cell_of_which_every_run_diverged_has_no_ratio(write, tmp_path):
    paths = [write("smallcnn", "algo_impl", [np.nan, np.nan]), write("smallcnn", "algo", [0.1, 0.1, 0.1])]
    noise_ratios.measure(*PLACE, paths, tmp_path / "out.csv")
    found = metric_files.read(tmp_path / "out.csv", RATIOS)
    assert found["value"].isna().all()
    assert set(found["n_missing"] + found["over_n_missing"]) == {2}


def test_single_runs_without_their_accuracy_are_one_line(write, refused, tmp_path):
    path = write("smallcnn", "algo", [0.1, 0.1])
    table = metric_files.read(path, RUNS)
    metric_files.write(path, RUNS, table[table["metric"] != "accuracy"].itertuples(index=False, name=None))
    assert "no accuracy of smallcnn/digits/cpu/algo" in refused(
        noise_ratios.measure, *PLACE, [path], tmp_path / "out.csv"
    )


def test_runs_of_another_task_are_one_line(write, refused, tmp_path):
    paths = [write("smallcnn", "algo_impl", [0.1, 0.1]), write("smallcnn", "algo", [0.1, 0.1])]
    line = refused(noise_ratios.measure, "other", "digits", "cpu", paths, tmp_path / "out.csv")
    assert line == f"{paths[0]}: variant: nothing to compare for other/digits/cpu; runs of two of its cells"


def test_the_authors_own_algo_is_a_denominator_where_there_is_no_other():
    of, over = (Cell(*PLACE, variant) for variant in ("impl", "init+shuffle+impl"))
    assert list(comparisons(PLACE, [of, over])) == [(of, over)]
    both = Cell(*PLACE, "algo_impl")
    assert list(comparisons(PLACE, [of, over, both])) == [(of, both), (over, both)]


def test_a_study_has_ratios_for_each_task_on_a_tooling_with_something_to_compare(written, built):
    block = written["grid"][0] | {"hardware": ["cpu"]}
    written["grid"] = [
        block | {"models": ["smallcnn", "smallcnn-bn"], "variants": ["impl", "control"]},
        block | {"models": ["resnet18"], "variants": ["impl", "algo"]},
        block | {"models": ["lenet5"], "variants": ["impl", "control"]},
    ]
    tiny = built(written)
    # The model with batch normalisation has the ratios to the one without.
    assert [place.model for place in tiny.compared] == ["smallcnn-bn", "resnet18"]
    step = STEPS["measure-ratios"]
    stem = "results/tiny/metrics/runs"
    assert step.given(tiny, tiny.compared[0])["runs"] == [
        f"{stem}/{model}/digits/cpu/{variant}.csv"
        for variant in ("impl", "control")
        for model in ("smallcnn-bn", "smallcnn")
    ]
    assert steps.collected(tiny)["ratios"] == "results/tiny/metrics/ratios.csv"
