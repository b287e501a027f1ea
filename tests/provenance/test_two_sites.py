"""One study made at two sites: each trains on its own tooling, one sends its runs, the other makes the page."""

import shutil

import pytest

pytestmark = pytest.mark.long

CELL = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "quick", "variants": ["control"], "seeds": 2}
STUDY = {
    "study": "shared",
    "grid": [CELL | {"hardware": ["cpu", "cpu-eigen"]}],
    "recipes": {"quick": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
    "figures": ["across_toolings"],
}
DUMP = "results/shared/predictions/smallcnn/digits/cpu/control.npy"
ANYWHERE = {"measure_cell": 1, "check_control": 1, "measure_pair": 1}


@pytest.fixture(scope="module")
def sites(tmp_path_factory, write_study, snakemake, toolnoise):
    """Two folders: in one `cpu` was trained and exported, in the other `cpu-eigen` was and all was made of that."""
    folder = tmp_path_factory.mktemp("sites")
    for name, tooling, target in (("a", "cpu", DUMP), ("b", "cpu-eigen", "metrics")):
        write_study(folder / name, STUDY)
        done = snakemake(folder / name, "--config", f"only=[{tooling}]", "--", target)
        assert done.returncode == 0, done.stdout + done.stderr
    done = toolnoise(folder / "a", "export", "study.yaml", "--hardware", "cpu", "--out", folder / "a.tar.gz")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("exported 2 runs, 1 dumps of predictions")
    return folder


@pytest.fixture
def site(sites, tmp_path):
    """The second site, to change."""
    return shutil.copytree(sites / "b", tmp_path / "b")


def imported(toolnoise, site, archive):
    done = toolnoise(site, "import", archive, "--study", "study.yaml")
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_figures(jobs):
    return {rule: count for rule, count in jobs.items() if rule in (*ANYWHERE, "train_run", "dump_predictions")}


def test_imported_runs_are_not_trained_again_and_the_study_is_finished(site, sites, toolnoise, snakemake, planned):
    assert planned(site)["train_run"] == 2
    assert imported(toolnoise, site, sites / "a.tar.gz") == "imported 2 runs, 1 dumps of predictions\n"
    assert without_figures(planned(site)) == ANYWHERE
    done = snakemake(site)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (site / "results/shared/index.html").exists()
    assert planned(site) == {}
    audit = toolnoise(site, "audit", "--strict")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert audit.stdout.splitlines()[-1].startswith("clean: ")
    assert imported(toolnoise, site, sites / "a.tar.gz") == "imported nothing; 3 were already here\n"
    assert planned(site) == {}


def test_runs_that_take_the_place_of_earlier_ones_are_not_trained_again_either(
    site, sites, toolnoise, snakemake, planned, change_study
):
    # What Snakemake recorded of the earlier runs would have it train anew.
    change_study(site, lambda study: study["recipes"]["quick"].update(learning_rate=0.02))
    done = snakemake(site, "--", DUMP)
    assert done.returncode == 0, done.stdout + done.stderr
    change_study(site, lambda study: study["recipes"]["quick"].update(learning_rate=0.01))
    refused = toolnoise(site, "import", sites / "a.tar.gz", "--study", "study.yaml")
    assert refused.returncode == 2
    assert "is already here with different bytes" in refused.stderr
    for part in ("runs", "predictions"):
        shutil.rmtree(site / f"results/shared/{part}/smallcnn/digits/cpu", ignore_errors=True)
    imported(toolnoise, site, sites / "a.tar.gz")
    assert without_figures(planned(site)) == ANYWHERE
