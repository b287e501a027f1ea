"""The programs of examples/: equal seeds give equal bits, others do not, and one has the table of the engine."""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from toolnoise.base import metric_files
from toolnoise.base.program import ROOT
from toolnoise.formulas.stability import STABILITY

DRIVER = Path(__file__).parent / "drivers/forks.py"
# timm is in a folder of its own, with a torchvision that not every build of PyTorch can load (Makefile).
APART = ROOT / ".environments/timm"
BESIDE = {"PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parent / "without_cuda", APART)))}
# The package that an example needs, what takes long to import, and the sources that it separates.
EXAMPLES = {
    "smallcnn_digits": ("torch", ("torch", "sklearn.datasets"), ("init", "shuffle", "augment")),
    "torch_digits": ("torch", ("torch", "sklearn.datasets"), ("init", "shuffle", "augment", "dropout")),
    "lightning_digits": ("pytorch_lightning", ("pytorch_lightning",), ("init", "shuffle", "dropout")),
    "timm_digits": ("timm", ("timm", "sklearn.datasets"), ("init", "shuffle", "augment", "dropout")),
    "transformers_digits": ("transformers", ("transformers.trainer",), ("init", "shuffle", "dropout")),
}


# What heeds no seeds of ours, and where it is tested.
ELSEWHERE = {"forgets_its_order": "tests/checking/test_resume.py"}


def test_every_program_is_tested():
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == {*EXAMPLES, *ELSEWHERE}
    assert all(f"examples/{program}.py" in (ROOT / test).read_text() for program, test in ELSEWHERE.items())


@pytest.fixture(scope="module", params=EXAMPLES)
def outcomes(request, tmp_path_factory, skip_without, run):
    """An example's folders: run alone, run again, and run with each seed changed."""
    package, modules, sources = EXAMPLES[request.param]
    beside = BESIDE if package == "timm" and APART.is_dir() else {}
    if not beside:
        skip_without(package)
    program, folder = ROOT / f"examples/{request.param}.py", tmp_path_factory.mktemp(request.param)
    control = {"TOOLNOISE_DETERMINISTIC": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""} | beside
    changed = {source: control | {f"TOOLNOISE_SEED_{source.upper()}": "4294967295"} for source in sources}
    runs = {"again": control | {"TOOLNOISE_OUT": "elsewhere"}, **changed}
    for name in ("alone", *runs):
        (folder / name).mkdir()
    alone = run(folder / "alone", sys.executable, program, env=control)
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout.splitlines()[-1].startswith("test accuracy 0.")
    within = {str(folder / name): variables for name, variables in runs.items()}
    done = run(folder, sys.executable, DRIVER, program, json.dumps(modules), json.dumps(within), env=beside)
    assert done.returncode == 0, done.stderr
    return folder, sources


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_example_learns_repeats_itself_bit_by_bit_and_heeds_every_seed(outcomes):
    folder, sources = outcomes
    alone = contents(folder / "alone/outcome")
    assert set(alone) == {"logits.npy", "labels.npy", "weights.npz", "history.csv"}
    logits, labels = (np.load(folder / f"alone/outcome/{name}.npy") for name in ("logits", "labels"))
    assert (logits.argmax(1) == labels).mean() > 0.5
    assert contents(folder / "again/elsewhere") == alone
    logits = {(folder / name / "outcome/logits.npy").read_bytes() for name in sources}
    assert len(logits | {alone["logits.npy"]}) == 1 + len(sources)


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
    rows = metric_files.read_metrics(folder / f"results/{study['study']}/metrics/stability.csv", STABILITY)
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
