"""What determinism costs, from a study file to figures; and what is measured for which figure."""

import json

import pytest

from toolnoise.base import metric_files
from toolnoise.papers.overhead.metric import OVERHEAD
from toolnoise.record import statements

pytestmark = pytest.mark.long

TINY = "toolnoise.models.smallcnn:build"
STUDY = {
    "study": "cost",
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["digits"],
            "recipe": "digits",
            "hardware": ["cpu"],
            "variants": ["algo_impl"],
            "seeds": 1,
        }
    ],
    "models": {"tiny-k1": {"builder": TINY}, "tiny-k3": {"builder": TINY}},
    "overhead": {
        "models": ["smallcnn", "tiny-k1", "tiny-k3"],
        "hardware": ["cpu", "v100"],
        "batch_size": 4,
        "image_size": 8,
        "classes": 10,
        "warmup": 1,
        "steps": 2,
        "repeats": 2,
    },
}


FIGURES = ["kernels", "overhead"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory, write_study, snakemake):
    """The times of one network on one tooling, and one run, to its page."""
    here = STUDY | {"overhead": STUDY["overhead"] | {"models": ["smallcnn"], "hardware": ["cpu"]}, "figures": FIGURES}
    folder = write_study(tmp_path_factory.mktemp("cost"), here)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_figures_metric_files_and_page_come_from_real_measurements(measured, toolnoise):
    results = measured / "results/cost"
    rows = metric_files.read(results / "metrics/overhead.csv", OVERHEAD)
    assert set(rows["n_runs"]) == {2}
    assert (rows["value"] > 0).all()
    for figure in ("kernels-cpu", "overhead-networks"):
        assert "4 images of 8 x 8 pixels" in (results / f"figures/{figure}.svg").read_text()
    assert (results / "index.html").stat().st_size > 0
    for verb in ("summary", "estimate"):
        done = toolnoise(measured, verb, "--study", "results/cost/study.json")
        assert done.returncode == 0, done.stderr


def test_steps_are_timed_before_anything_is_trained_beside_them(measured):
    started = {}
    for path in (measured / "results/cost/statements").rglob("*.json"):
        one = statements.read(path)
        started.setdefault(one.verb, []).append(one.started)
    assert len(started["profile"]) == 4
    assert max(started["profile"]) <= min(started["train"])


def test_each_measurement_is_of_a_process_of_its_own_that_says_what_it_ran_on(measured):
    records = [json.loads(path.read_text()) for path in (measured / "results/cost/overhead").rglob("*.json")]
    assert sorted((record["spec"]["variant"]["name"], record["spec"]["seed"]) for record in records) == [
        ("default", 1),
        ("default", 2),
        ("deterministic", 1),
        ("deterministic", 2),
    ]
    for record in records:
        assert record["observed"]["deterministic"] is (record["spec"]["variant"]["name"] == "deterministic")


def test_what_is_measured_is_not_measured_again_and_a_further_repeat_adds_only_itself(measured, planned, change_study):
    assert planned(measured) == {}
    study = (measured / "study.yaml").read_text()
    change_study(measured, lambda study: study["overhead"].update(repeats=3))
    assert planned(measured, "fig8")["profile_step"] == 2
    change_study(measured, lambda study: study["overhead"].update(repeats=2, steps=3))
    assert planned(measured, "fig8")["profile_step"] == 4
    (measured / "study.yaml").write_text(study)


# Three networks, two toolings, two modes, two repeats; figure 8 is of the V100, as in the paper.
@pytest.mark.parametrize(("target", "measurements"), [("fig8", 3 * 1 * 2 * 2), ("fig9a", 8), ("fig9b", 16)])
def test_a_figure_measures_what_it_shows_and_trains_nothing(tmp_path, write_study, planned, target, measurements):
    jobs = planned(write_study(tmp_path, STUDY), target)
    assert jobs["profile_step"] == measurements
    assert "train_run" not in jobs
