"""A study of remedies, from its file to its table."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays, metric_files
from toolnoise.papers.remedies.metric import REMEDIES

pytestmark = pytest.mark.long

BUILDER = "toolnoise.models.smallcnn:build"
RECIPE = {"epochs": 2, "batch_size": 64, "learning_rate": 0.01, "schedule": "cosine", "crop": 1}
BLOCK = {"models": ["smallcnn", "smallcnn-snapshots"], "datasets": ["digits"], "recipe": "short", "hardware": ["cpu"]}
STUDY = {
    "study": "cured",
    "grid": [BLOCK | {"variants": ["algo_impl"], "seeds": 2, "remedies": ["crops9", "flip"]}],
    "models": {"smallcnn-snapshots": {"builder": BUILDER}},
    "recipes": {"short": RECIPE, "short-smallcnn-snapshots-digits": RECIPE | {"cycles": 2}},
    "figures": ["remedies"],
}
SNAPSHOTS = ["crops9", "flip", "snapshots", "snapshots+crops9", "snapshots+flip"]
CELL = "digits/cpu/algo_impl"


@pytest.fixture(scope="module")
def cured(tmp_path_factory, write_study, snakemake):
    """The study, run to its page; read-only."""
    folder = write_study(tmp_path_factory.mktemp("cured"), STUDY)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def results(cured):
    return cured / "results/cured"


def test_each_cell_has_its_remedies(results):
    for model, wanted in (("smallcnn", ["crops9", "flip"]), ("smallcnn-snapshots", SNAPSHOTS)):
        index = json.loads((results / f"remedies/{model}/{CELL}.json").read_text())
        assert index["remedies"] == wanted
        assert np.load(results / f"remedies/{model}/{CELL}.npy").shape == (len(wanted), 2, 500, 10)


def test_the_dump_is_what_plain_loops_over_snapshots_and_views_give_bit_for_bit(cured, results, run, tmp_path):
    driver = Path(__file__).parent / "drivers/remedied_by_hand.py"
    record = results / f"runs/smallcnn-snapshots/{CELL}/2/run.json"
    done = run(cured, sys.executable, driver, record, results / "data/digits.npz", tmp_path / "out.npz")
    assert done.returncode == 0, done.stderr
    by_hand = arrays.read_npz(tmp_path / "out.npz")
    stack = np.load(results / f"remedies/smallcnn-snapshots/{CELL}.npy")
    for name, layer in zip(SNAPSHOTS, stack[:, 1], strict=True):
        assert np.array_equal(layer, by_hand[name]), name
    assert np.array_equal(np.load(results / f"predictions/smallcnn-snapshots/{CELL}.npy")[1], by_hand["single"])
    assert not np.array_equal(by_hand["snapshots"], by_hand["single"])


def test_all_is_held_against_the_single_runs_of_the_model_without_snapshots(results):
    rows = metric_files.read(results / "metrics/remedies.csv", REMEDIES)
    held = rows[rows["metric"] == "variability_reduction"]
    assert held.groupby("model")["remedy"].apply(list).to_dict() == {
        "smallcnn": ["crops9", "flip"],
        "smallcnn-snapshots": ["single", *SNAPSHOTS],
    }
    assert set(rows["n_runs"]) == {2}
    dumps = [one["name"] for one in inputs(results, f"metrics/remedies/smallcnn-snapshots/{CELL}.csv")]
    assert f"results/cured/predictions/smallcnn/{CELL}.npy" in dumps


def inputs(results, artifact):
    statement = json.loads((results / f"statements/{artifact}.intoto.json").read_text())
    return statement["predicate"]["buildDefinition"]["resolvedDependencies"]


def test_the_table_says_whose_each_number_is(results):
    lines = (results / "figures/remedies-cpu-smallcnn-digits.md").read_text().splitlines()
    assert any(line.startswith("| 9 crops | ours | smallcnn / digits | ALGO+IMPL | 2 |") for line in lines)
    assert any(line.startswith("| Snapshots | Summers & Dinneen | resnet14 / cifar10 |") for line in lines)
    assert (results / "index.html").exists()


def test_a_log_has_no_bars(cured):
    log = cured / f"logs/cured/remedy/smallcnn-snapshots/{CELL}.log"
    assert "\r" not in log.read_text()
    assert "%" not in log.read_text()


def test_a_finished_study_plans_nothing_is_clean_and_its_dumps_and_measures_can_be_made_again(
    cured, planned, toolnoise
):
    assert planned(cured) == {}
    done = toolnoise(cured, "audit")
    assert done.returncode == 0, done.stdout
    # The cell without other runs to be held against, whose statement names no file for that.
    again = [f"results/cured/remedies/smallcnn/{CELL}.npy", f"results/cured/metrics/remedies/smallcnn/{CELL}.csv"]
    done = toolnoise(cured, "rebuild", *again)
    assert done.stdout.splitlines()[-1] == "2 reproduced", done.stdout


def test_another_remedy_makes_its_dumps_anew_and_trains_nothing(cured, planned, change_study):
    written = (cured / "study.yaml").read_text()
    change_study(cured, lambda study: study["grid"][0].update(remedies=["crops9"]))
    jobs = planned(cured)
    (cured / "study.yaml").write_text(written)
    assert (jobs["dump_remedies"], jobs["measure_remedies"], jobs["render_remedies"]) == (2, 2, 1)
    assert not {"train_run", "dump_predictions", "measure_cell"} & set(jobs)


def test_a_remedy_that_there_is_not_is_one_line(tmp_path, write_study, snakemake, refusal):
    block = STUDY["grid"][0] | {"remedies": ["rotate"]}
    line = refusal(snakemake(write_study(tmp_path, STUDY | {"grid": [block]}), "--dry-run"))
    assert 'grid[0].remedies[0]: found "rotate"; allowed: crops25, crops81, crops9, flip, ' in line
