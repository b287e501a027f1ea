"""What a person asks before a study is run and while it runs: doctor, speed, estimate, and a second start."""

import json
import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

CELL = "smallcnn/digits/cpu/control"


def one_cell(hardware="cpu"):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "here", "hardware": [hardware]}
    return {
        "study": "one",
        "grid": [block | {"variants": ["control"], "seeds": 2}],
        "recipes": {"here": {"epochs": 50, "batch_size": 64, "learning_rate": 0.01}},
        "prices": {hardware: 2.5},
    }


@pytest.fixture(scope="module")
def timed(write_study, snakemake, tmp_path_factory):
    """A study's folder in which its speed was measured and nothing was trained."""
    folder = write_study(tmp_path_factory.mktemp("timed"), one_cell())
    done = snakemake(folder, "speed", "--logger", "toolnoise")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_an_estimate_before_anything_was_measured_runs_nothing_and_says_unknown(write_study, snakemake, tmp_path):
    folder = write_study(tmp_path, one_cell())
    done = snakemake(folder, "estimate", "--logger", "toolnoise")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cpu: 2 runs left, core-hours and cost unknown" in done.stdout + done.stderr
    written = {path.relative_to(folder / "results/one").as_posix() for path in folder.glob("results/one/**/*.json")}
    assert written == {"study.json", "statements/study.json.intoto.json"}


def test_a_measured_speed_gives_an_estimate_of_hours_cost_and_disk(timed, toolnoise):
    (measured,) = timed.glob("results/one/speed/**/*.json")
    about = json.loads(measured.read_text())
    assert about["weight_bytes"] == 4 * 15_434  # smallcnn on one channel: 288 fewer weights than on three
    assert not list(timed.glob("results/one/runs"))
    done = toolnoise(timed, "estimate", "--study", "study.yaml", "--json")
    found = json.loads(done.stdout)
    (task,) = found["tasks"]
    assert task["measured"].startswith("steps timed: ")
    seconds = about["seconds"]
    a_run = seconds["start_up"] + seconds["compile"]
    a_run += 50 * (seconds["training"] + seconds["evaluation"] + seconds["digests"])
    assert task["seconds_a_run"] == pytest.approx(a_run)
    (hardware,) = found["hardware"]
    assert hardware["unknown"] == 0
    assert hardware["cost"] == pytest.approx(2.5 * hardware["hours"])
    assert found["disk_bytes"]["weights"] == 2 * about["weight_bytes"]
    assert found["disk_bytes"]["predictions"] == 2 * 500 * 10 * 4
    assert found["disk_bytes"]["unknown"] == []


def test_measuring_by_hand_prepares_the_data_and_times_what_this_machine_serves(write_study, toolnoise, tmp_path):
    study = one_cell()
    study["grid"][0]["hardware"] = ["cpu", "tpu-v2-8"]
    folder = write_study(tmp_path, study)
    done = toolnoise(folder, "estimate", "--study", "study.yaml", "--measure")
    assert done.returncode == 0, done.stderr
    assert "timing smallcnn/digits/cpu/control" in done.stderr
    assert "not timed: smallcnn/digits/tpu-v2-8/control: device: no TPU is visible on this machine" in done.stderr
    assert "tpu-v2-8: 2 runs left, TPU-hours and cost unknown" in done.stdout
    assert "steps timed: " in done.stdout


def test_a_finished_study_has_nothing_left(small_study, toolnoise):
    done = toolnoise(small_study, "estimate", "--study", "results/small/study.json", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {(task["left"], task["seconds_left"]) for task in found["tasks"]} == {(0, 0)}
    assert all(task["measured"].startswith("finished runs: ") for task in found["tasks"])
    assert found["disk_bytes"]["unknown"] == []


def test_a_run_on_a_machine_without_its_device_fails_and_its_log_says_why(write_study, snakemake, toolnoise, tmp_path):
    folder = write_study(tmp_path, one_cell("v100"))
    assert toolnoise(folder, "doctor", "--study", "study.yaml", env={"CUDA_VISIBLE_DEVICES": "-1"}).returncode == 1
    run = f"{CELL.replace('cpu', 'v100')}/1"
    done = snakemake(folder, f"results/one/runs/{run}/run.json", env={"CUDA_VISIBLE_DEVICES": "-1"})
    assert done.returncode == 1
    wanted = "toolnoise: hardware v100: device: no GPU is visible on this machine; wanted: V100"
    assert wanted in (folder / f"logs/one/train/{run}.log").read_text().splitlines()


def test_a_run_that_is_started_again_finds_its_checkpoint_where_snakemake_leaves_it(copied, snakemake):
    # Of another run: it is told in the log, and must be gone at the end.
    kept = copied / f"results/small/checkpoints/{CELL}/1.npz"
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(copied / f"results/small/runs/{CELL}/1/weights.npz", kept)
    (copied / f"results/small/runs/{CELL}/1/run.json").unlink()
    done = snakemake(copied, f"results/small/runs/{CELL}/1/run.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "training starts over" in (copied / f"logs/small/train/{CELL}/1.log").read_text()
    assert not kept.exists()


def trains(**changes):
    """The command line of the first run, with these arguments changed."""
    run = f"results/small/runs/{CELL}/1"
    names = dict(zip(("model", "dataset", "hardware", "variant"), CELL.split("/"), strict=True))
    paths = {"weights": f"{run}/weights.npz", "history": f"{run}/history.csv", "record": f"{run}/run.json"}
    about = {"study": "results/small/study.json", **names, "seed": 1, "data": "results/small/data/digits.npz", **paths}
    about |= {"checkpoint": f"results/small/checkpoints/{CELL}/1.npz", **changes}
    return ["train", *(str(part) for name, value in about.items() for part in (f"--{name}", value))]


def test_the_checkpoint_stays_until_the_statement_is_written(copied, toolnoise):
    kept = copied / f"results/small/checkpoints/{CELL}/1.npz"
    kept.parent.mkdir(parents=True)
    kept.write_text("of something else")
    statement = copied / f"results/small/statements/runs/{CELL}/1/weights.npz.intoto.json"
    statement.unlink()
    statement.mkdir()
    (statement / "in the way").touch()
    assert toolnoise(copied, *trains()).returncode != 0
    assert kept.exists()
    shutil.rmtree(statement)
    assert toolnoise(copied, *trains()).returncode == 0
    assert not kept.exists()
    assert statement.is_file()


def test_a_run_is_not_trained_by_another_study_than_it_was_planned_for(copied, toolnoise, refusal):
    run = copied / f"results/small/runs/{CELL}/1"
    before = {path: path.read_bytes() for path in run.iterdir()}
    line = refusal(toolnoise(copied, *trains(planned="0" * 64)))
    assert "results/small/study.json: changed since this job was planned" in line
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_a_second_snakemake_with_another_study_of_the_same_name_changes_nothing_of_the_first(copied, snakemake):
    # Snakemake has planned with one file when another of the same name takes the place of study.json.
    (copied / f"results/small/runs/{CELL}/1/run.json").unlink()
    other = json.loads((copied / "results/small/study.json").read_text())
    for recipe in other["recipes"].values():
        recipe["epochs"] += 1
    (copied / "other.json").write_text(json.dumps(other))
    (copied / "Snakefile").write_text(
        f"include: {str(Path(__file__).parents[2] / 'Snakefile')!r}\n"
        "onstart:\n    shell('cp other.json results/small/study.json')\n"
    )
    done = snakemake(copied, f"results/small/runs/{CELL}/1/run.json", "--snakefile", "Snakefile")
    assert done.returncode == 1
    assert "changed since this job was planned" in (copied / f"logs/small/train/{CELL}/1.log").read_text()
    assert not (copied / f"results/small/runs/{CELL}/1/run.json").exists()


def test_what_programs_get_can_be_cut_short_without_a_traceback(small_study, run):
    script = Path(sys.executable).with_name("toolnoise")
    done = run(small_study, "bash", "-c", f"set -o pipefail; {script} doctor --json | true")
    assert "Traceback" not in done.stderr


def test_a_damaged_study_json_is_refused_and_written_anew_by_the_next_snakemake(copied, snakemake, toolnoise, refusal):
    kept = copied / "results/small/study.json"
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    assert "results/small/study.json" in refusal(toolnoise(copied, "summary", "--study", "results/small/study.json"))
    (copied / f"results/small/runs/{CELL}/1/run.json").unlink()
    done = snakemake(copied, f"results/small/runs/{CELL}/1/run.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert kept.read_bytes() == whole
