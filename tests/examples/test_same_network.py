"""One network, trained by the PyTorch engine and by a program that uses only toolnoise.torch: the same table."""

import shutil

import pytest
import yaml

from toolnoise.base import metric_files
from toolnoise.base.program import ROOT
from toolnoise.formulas.stability import STABILITY

SEEDS = 6
MEASURES = ("accuracy_mean", "accuracy_sd", "churn", "l2_unit")


@pytest.fixture(scope="module")
def table(tmp_path_factory, skip_without, write_study, snakemake):
    """ALGO's rows of workflow/studies/outside-small.yaml with fewer runs, by model and measure."""
    skip_without("torch")
    folder = tmp_path_factory.mktemp("same")
    study = yaml.safe_load((ROOT / "workflow/studies/outside-small.yaml").read_text())
    study["grid"] = [block | {"seeds": SEEDS, "variants": ["algo"]} for block in study["grid"] if block["seeds"] > 2]
    shutil.copytree(ROOT / "examples", folder / "examples")
    write_study(folder, study)
    done = snakemake(folder, "metrics")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = metric_files.read(folder / f"results/{study['study']}/metrics/stability.csv", STABILITY)
    return rows[rows["group"] == "all"].set_index(["model", "metric"])


@pytest.mark.parametrize("measure", MEASURES)
def test_a_program_of_others_has_the_table_of_the_engine(measure, table):
    engine, program = (table.loc[model, measure] for model in ("smallcnn", "smallcnn-program"))
    assert engine["n_runs"] == program["n_runs"] == SEEDS
    # Their draws differ, so their numbers do. Twelve runs bear 95 % intervals that meet.
    assert engine["value"] != program["value"]
    assert engine["ci_low"] < program["ci_high"]
    assert program["ci_low"] < engine["ci_high"]
    assert 0 < engine["ci_low"] < engine["ci_high"]
