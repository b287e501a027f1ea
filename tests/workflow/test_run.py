"""`snakemake` and `toolnoise run` as people type them, from a folder that is not the clone: results, and bad input.

Bad input is one line with exit code 2, and results stay as they were.
tests/system/faults/test_ended_runs.py sends it signals.
"""

import json
import shlex
import shutil

import pytest


def test_a_finished_study_is_summed_up_and_the_command_can_be_pasted(copied, toolnoise, run):
    done = toolnoise(copied, "run", "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert "the page: results/small/index.html" in done.stdout
    assert "bit-equal" in done.stdout
    command = next(line for line in done.stderr.splitlines() if "--configfile study.yaml" in line)
    again = run(copied, *shlex.split(command))
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr


def test_a_dry_run_shows_what_is_planned_and_no_summary(copied, toolnoise):
    (copied / "results/small/index.html").unlink()
    done = toolnoise(copied, "run", "-n")
    assert done.returncode == 0, done.stderr
    assert "write_page" in done.stderr + done.stdout
    assert "the page:" not in done.stdout


def everything(folder):
    return {path: path.read_bytes() for path in (folder / "results").rglob("*") if path.is_file()}


# tests/study/test_config.py has the other keys.
def test_a_wrong_study_file_is_one_line_and_nothing_runs(copied, change_study, snakemake, toolnoise, refusal):
    before = everything(copied)
    change_study(copied, lambda study: study["grid"][0].update(models=["smalcnn"]))
    for done in (snakemake(copied), toolnoise(copied, "run")):
        line = refusal(done)
        for word in ("study.yaml", "grid[0].models", "'smallcnn'?"):
            assert word in line
    assert everything(copied) == before


TINY = """study: tiny
grid:
- {models: [linear], datasets: [digits], recipe: digits, hardware: [cpu], variants: [control], seeds: 2}
"""
# What Snakemake's own loader cannot read, or reads as something else.
UNREADABLE = {
    "UTF-16": (TINY.encode("utf-16"), "cannot be read ('utf-8' codec can't decode byte 0xff"),
    "no date": (f"{TINY}seed: !!timestamp 2020-99-99\n", "line 4: found the tag tag:yaml.org,2002:timestamp"),
    "tab": (f"{TINY}\tseed: 1\n", "line 4: found character '\\t'"),
    "unknown alias": (f"{TINY}seed: *seed\n", "line 4: found undefined alias 'seed'"),
    "two documents": (f"{TINY}---\n{TINY}", "line 4: but found another document"),
    "deep": (f"{TINY}seed: {'[' * 3000}\n", "maximum recursion depth exceeded"),
    "octal": (TINY.replace("seeds: 2", "seeds: 010"), "line 3: found 010; allowed: "),
    "sexagesimal": (f"{TINY}seed: 1:20\n", "line 4: found 1:20; allowed: "),
}


@pytest.mark.parametrize(("content", "says"), UNREADABLE.values(), ids=list(UNREADABLE))
def test_a_file_that_snakemake_reads_differently_is_refused_before_snakemake_starts(
    content, says, here, refused_by_verb
):
    (here / "study.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert f"study.yaml: {says}" in refused_by_verb("run", "study.yaml", "-n")
    assert [path.name for path in here.iterdir()] == ["study.yaml"]


def test_what_snakemake_would_read_differently_is_refused_without_the_verb_too(tmp_path, snakemake, refusal):
    (tmp_path / "study.yaml").write_text(UNREADABLE["octal"][0])
    done = snakemake(tmp_path, "-n")
    assert f"study.yaml: {UNREADABLE['octal'][1]}" in refusal(done)
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]


def test_what_is_planned_is_what_is_written_in_files_and_in_values(tmp_path, snakemake, refusal):
    (tmp_path / "study.yaml").write_text(f"{TINY}prices: {{cpu: 1e-3}}\n")
    done = snakemake(tmp_path, "-n", "--quiet", "all", "--config", "recipes={digits: {learning_rate: 2e-3, epochs: 3}}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--config seed: found 1_0; allowed" in refusal(snakemake(tmp_path, "-n", "--config", "seed=1_0"))


# What a person asks before a study is run and while it runs: speed, estimate, and what a machine lacks


def one_cell(*hardware):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "here", "hardware": list(hardware)}
    return {
        "study": "one",
        "grid": [block | {"variants": ["control"], "seeds": 2}],
        "recipes": {"here": {"epochs": 50, "batch_size": 64, "learning_rate": 0.01}},
    }


@pytest.mark.long
def test_an_estimate_before_anything_was_measured_runs_nothing_and_says_unknown(write_study, toolnoise, tmp_path):
    folder = write_study(tmp_path, one_cell("cpu"))
    done = toolnoise(folder, "estimate", "--study", "study.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cpu: 2 runs left, core-hours and cost unknown" in done.stdout
    assert [path.name for path in folder.iterdir()] == ["study.yaml"]


@pytest.mark.long
def test_the_measured_speed_of_a_training_is_the_estimate_of_its_runs(other_study, change_study, toolnoise, tmp_path):
    folder = shutil.copytree(other_study, tmp_path / "copy")
    shutil.rmtree(folder / "results/other/runs")
    change_study(folder, lambda study: study.update(prices={"cpu": 2.5}))
    done = toolnoise(folder, "estimate", "--study", "study.yaml", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    seconds = json.loads((folder / "results/other/speed/smallcnn/mine/cpu/control.json").read_text())["seconds"]
    tasks = [task for task in found["tasks"] if task["measured"].startswith("steps timed: ")]
    a_run = seconds["start_up"] + seconds["compile"]
    a_run += 2 * (seconds["training"] + seconds["evaluation"] + seconds["digests"])
    assert any(task["seconds_a_run"] == pytest.approx(a_run) for task in tasks)
    (priced,) = (one for one in found["hardware"] if one["cost"] is not None)
    assert priced["cost"] == pytest.approx(2.5 * priced["hours"])


@pytest.mark.long
def test_measuring_by_hand_prepares_the_data_and_times_what_this_machine_serves(write_study, toolnoise, tmp_path):
    folder = write_study(tmp_path, one_cell("cpu", "tpu-v2-8"))
    done = toolnoise(folder, "estimate", "--study", "study.yaml", "--measure")
    assert done.returncode == 0, done.stderr
    assert "measure_speed" in done.stderr
    assert "not timed: smallcnn/digits/tpu-v2-8/control: device: no TPU is visible on this machine" in done.stderr
    assert "tpu-v2-8: 2 runs left, TPU-hours and cost unknown" in done.stdout
    assert "steps timed: " in done.stdout


@pytest.mark.long
def test_a_run_on_a_machine_without_its_device_fails_and_its_log_says_why(write_study, snakemake, tmp_path):
    folder = write_study(tmp_path, one_cell("v100"))
    run = "smallcnn/digits/v100/control/1"
    done = snakemake(folder, f"results/one/runs/{run}/run.json", env={"CUDA_VISIBLE_DEVICES": "-1"})
    assert done.returncode == 1
    wanted = "toolnoise: hardware v100: device: no GPU is visible on this machine; wanted: V100; "
    assert (folder / f"logs/one/train/{run}.log").read_text().startswith(wanted)
