"""Studies at the edge: one run of everything, runs that diverge, and a folder whose name has braces."""

import shutil

import pytest

from toolnoise.base import metric_files
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.identical.metric import IDENTICAL

pytestmark = pytest.mark.long


def study(seeds, variants, **recipe):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "here", "hardware": ["cpu"]}
    return {
        "study": "edge",
        "grid": [block | {"variants": variants, "seeds": seeds}],
        "recipes": {"here": {"epochs": 2, "batch_size": 128, "learning_rate": 0.01} | recipe},
    }


@pytest.fixture(scope="module")
def one_run(write_study, snakemake, tmp_path_factory):
    folder = write_study(
        tmp_path_factory.mktemp("one"), study([4], ["algo", "control"]) | {"figures": ["table2", "noise_by_source"]}
    )
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results/edge"


def test_one_run_has_an_accuracy_but_no_spread_and_no_verdict_of_the_gate(one_run):
    text = (one_run / "figures/table2.md").read_text()
    assert "one run" in text
    assert "±" not in text.partition("\n\n")[0]
    rows = metric_files.read(one_run / "metrics/stability.csv", STABILITY)
    rows = rows[rows["group"] == "all"].set_index("metric")["value"]
    assert rows["accuracy_mean"].notna().all()
    assert rows[["accuracy_sd", "churn", "l2_unit"]].isna().all()
    assert '"bit_equal": null' in (one_run / "control/smallcnn/digits/cpu.json").read_text()


def test_a_study_whose_runs_diverge_counts_them_and_renders_its_figures(write_study, snakemake, toolnoise, tmp_path):
    diverging = study(2, ["algo", "control"], optimizer="sgd", learning_rate=1e9)
    # Those that show runs.
    shown = ["table2", "identical_runs", "noise_by_source", "per_class"]
    folder = write_study(tmp_path, diverging | {"figures": shown})
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = metric_files.read(folder / "results/edge/metrics/stability.csv", STABILITY)
    assert set(rows["n_runs"]) == {0}
    assert set(rows["n_missing"]) == {2}
    # What is expected from sizes alone needs no run.
    measured = ~rows["metric"].str.contains("null|n_draws")
    assert rows[measured]["value"].isna().all()
    runs = metric_files.read(folder / "results/edge/metrics/identical.csv", IDENTICAL)
    assert set(runs["no_try"]) == {0}
    assert set(runs["n_missing"]) == {2}
    for name in ("table2.md", "identical_runs.md", "noise_by_source-cpu.svg", "per_class-cpu-smallcnn-digits.svg"):
        assert (folder / "results/edge/figures" / name).stat().st_size > 0
    summary = toolnoise(folder, "summary", "--study", "results/edge/study.json", "--cells")
    assert summary.stdout.count("2 diverged") == 2, summary.stdout


def test_a_study_runs_through_in_a_clone_whose_path_has_braces(checkout, write_study, snakemake, tmp_path):
    # Snakemake and papermill put values in place of braces.
    clone = shutil.copytree(checkout, tmp_path / "a{b}c", symlinks=True)
    linear = study(1, ["control"]) | {"figures": ["table2", "noise_by_source"]}
    linear["grid"][0]["models"] = ["linear"]
    write_study(clone, linear)
    done = snakemake(clone, source=clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (clone / "results/edge/figures/table2.md").stat().st_size > 0
