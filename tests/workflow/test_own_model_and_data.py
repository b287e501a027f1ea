"""The docs' example of a model and data of one's own, made twice in two folders: equal byte for byte."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from toolnoise.base import metric_files
from toolnoise.base.program import ROOT
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.identical.metric import CONVERGENCE, IDENTICAL

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples/own-model"
# Of metric files only those of identical runs have what the clock says.
TIMES = ("training", "convergent", "per_epoch", "first_epoch")
NUMBERS = ("convergent_epoch", "_diff_epoch")  # of epochs to convergence


@pytest.mark.parametrize("name", ["my_model.py", "my-study.yaml"])
def test_the_docs_show_the_files_of_the_example(name):
    assert f"\n{(EXAMPLE / name).read_text()}```\n" in (ROOT / "docs/own-study.md").read_text()


def start(folder, run, write_study):
    """The example as the docs have it, but for fewer runs and figures."""
    study = yaml.safe_load((EXAMPLE / "my-study.yaml").read_text())
    study["grid"][0] |= {"variants": ["dropout"], "seeds": 2}
    write_study(folder, study | {"figures": ["table2", "noise_by_source"]})
    for name in ("my_model.py", "make_data.py"):
        shutil.copyfile(EXAMPLE / name, folder / name)
    made = run(folder, sys.executable, "make_data.py")
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def first(tmp_path_factory, run, write_study, snakemake):
    folder = start(tmp_path_factory.mktemp("first"), run, write_study)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def second(tmp_path_factory, run, write_study, snakemake):
    # Another number of jobs at once and other surroundings.
    folder = start(tmp_path_factory.mktemp("second") / "deeper", run, write_study)
    done = snakemake(folder, cores=3, env={"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "3"})
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_users_own_model_and_data_run_to_metrics_and_page(first):
    rows = metric_files.read(first / "results/mine/metrics/stability.csv", STABILITY)
    assert set(zip(rows["model"], rows["dataset"], strict=True)) == {("my-model", "my-data")}
    overall = rows[rows["group"] == "all"].set_index(["metric", "variant"])["value"]
    assert overall["accuracy_mean"].min() > 0.8
    assert overall["l2_raw", "dropout"] > 0
    assert (first / "results/mine/index.html").exists()


@pytest.fixture
def copy(first, tmp_path):
    return shutil.copytree(first, tmp_path / "copy")


def test_a_change_to_a_users_own_model_plans_its_check_and_its_runs_again(copy, planned):
    path = copy / "my_model.py"
    path.write_text(path.read_text().replace("0.2", "0.5"))
    jobs = planned(copy)
    assert (jobs["check_model"], jobs["train_run"]) == (1, 2)


def test_one_changed_bit_of_a_users_own_data_plans_everything_again(copy, planned):
    with np.load(copy / "my-data.npz") as raw:
        arrays = dict(raw)
    arrays["train_images"][5, 3, 2, 0] ^= 1
    np.savez(copy / "my-data.npz", **arrays)
    jobs = planned(copy)
    assert (jobs["prepare_data"], jobs["train_run"]) == (1, 2)


def test_a_check_that_has_gone_or_a_further_variant_is_no_reason_to_train_again(copy, change_study, planned):
    check = copy / "results/mine/models/my-model/my-data/cpu.json"
    found = json.loads(check.read_text())
    assert (found["input_shape"], found["classes"]) == ([8, 8, 1], 10)
    assert found["tensors"]["logits/kernel"][1] == 10
    check.rename(copy / "kept.json")
    assert planned(copy) == {}
    (copy / "kept.json").rename(check)
    change_study(copy, lambda study: study["grid"][0]["variants"].insert(0, "algo"))
    jobs = planned(copy)
    assert jobs["train_run"] == 2
    assert "check_model" not in jobs


def without_times(folder, name):
    """A file of results as it is, but for what the clock says."""
    if name.endswith("history.csv"):
        return [row | {"seconds": None} for row in csv.DictReader((folder / name).read_text().splitlines())]
    if name.endswith(".json"):
        record = json.loads((folder / name).read_text())
        record.pop("seconds", None)
        return record
    for kind, columns in (("identical", IDENTICAL), ("convergence", CONVERGENCE)):
        if f"/metrics/{kind}" in name:
            timed = [one for one in columns if any(part in one for part in TIMES) and not one.endswith(NUMBERS)]
            return metric_files.read(folder / name, columns).drop(columns=timed).to_csv()
    return (folder / name).read_bytes()


def test_a_second_run_in_another_folder_gives_the_same_bytes_but_for_times(first, second):
    # Statements have the digests of records, and so of their times, and so has the page.
    names = [
        {path.relative_to(folder).as_posix() for path in (folder / "results").rglob("*") if path.is_file()}
        for folder in (first, second)
    ]
    assert names[0] == names[1]
    compared = [name for name in names[0] if not re.search("/statements/|/page/|/index.html$", name)]
    assert {Path(name).suffix for name in compared} > {".npz", ".npy", ".csv", ".json", ".svg", ".pdf", ".md", ".ipynb"}
    assert [name for name in compared if without_times(first, name) != without_times(second, name)] == []


def test_runs_and_data_of_ones_own_are_made_again_from_their_statements(second, toolnoise):
    run = "results/mine/runs/my-model/my-data/cpu/dropout/2"
    done = toolnoise(second, "rebuild", run, "results/mine/data/my-data.npz")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "2 reproduced"


def test_a_model_without_logits_is_refused_before_its_first_run(copy, change_study, snakemake):
    model = (copy / "my_model.py").read_text()
    (copy / "soft.py").write_text(model.replace('name="logits"', 'name="logits", activation="softmax"'))

    def add(study):
        study["models"]["soft"] = {"builder": "soft:build"}
        study["grid"][0]["models"].append("soft")

    change_study(copy, add)
    shutil.rmtree(copy / "results")
    done = snakemake(copy, "--logger", "toolnoise")
    assert "toolnoise: model soft: builder: soft:build ends in a softmax" in done.stdout + done.stderr
    assert done.returncode != 0
    assert not (copy / "results/mine/runs/soft").exists()
