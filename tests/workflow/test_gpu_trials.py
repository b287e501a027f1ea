"""bench/gpu.py: each study that waits for a GPU runs small on CPUs to its end."""

import json
import sys
import time
from pathlib import Path

import pytest
import yaml
from scripts import loaded

from toolnoise.study import config
from toolnoise.study.entries import of_text

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bench/gpu.py"
# What makes a study long, and how much of it a trial has at most.
FEW = {"seeds": 2, "draws": 2, "control_seeds": 2}
SMALL_NETWORK = {"width": 16, "heads": 2, "layers": 1}
TIMED = {"batch_size": 8, "image_size": 64, "warmup": 1, "steps": 3, "repeats": 2}


@pytest.fixture(scope="module")
def gpu():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        return loaded(SCRIPT)


def small_version(whole):
    """The content of a trial's study file: every block and variant of a study, in few runs of embedded data.

    Networks that read text are small, and keep their texts.
    """
    recipes, hardware = (config.registered(name) | {**whole.get(name, {})} for name in ("recipes", "hardware"))

    def few(block, most):
        on_cpu = sorted({f"cpu-{hardware[name]['engine']}" for name in block["hardware"]})
        return {**block, **{key: min(block[key], most[key]) for key in most.keys() & block.keys()}, "hardware": on_cpu}

    made = {**whole, "study": f"{whole['study']}-trial", "datasets": {}}
    texts = {name for name, entry in config.registered("datasets").items() if of_text(entry)}
    made["grid"] = [
        few(block, FEW) | ({} if texts.issuperset(block["datasets"]) else {"datasets": ["digits"]})
        for block in whole["grid"]
    ]
    for model in made.get("models", {}).values():
        model["options"] |= SMALL_NETWORK
        if "base" in model:
            model["base"]["hardware"] = f"cpu-{hardware[model['base']['hardware']]['engine']}"
    made["recipes"] = {name: {**recipes[name], "epochs": 2} for name in whole.get("recipes", {})}
    if "overhead" in whole:
        made["overhead"] = few(whole["overhead"], {}) | TIMED | {"models": whole["overhead"]["models"][:2]}
    return made


@pytest.mark.parametrize("number", range(5))
def test_a_study_that_waits_for_a_gpu_runs_small_on_cpus_to_its_end(number, gpu, skip_without, tmp_path, monkeypatch):
    name, study, packed, _ = gpu.ITEMS[number]
    words = packed.split()
    toolings, until = words[1 : words.index("--until")], words[words.index("--until") + 1 :]
    frameworks = [tooling.split("-")[1] for tooling in toolings]
    for framework in frameworks:
        skip_without(framework)
    monkeypatch.chdir(tmp_path)
    small = small_version(config.read_yaml(ROOT / f"workflow/studies/{study}.yaml"))
    Path("small.yaml").write_text(yaml.safe_dump(small))
    on_cpu = [f"cpu-{framework}" for framework in frameworks]
    said, jobs = gpu.planned(Path("small.yaml"), f"{name}-trial", on_cpu, until)
    assert said == f"{name}-trial"
    assert {job["rule"] for job in jobs} >= set(until)
    assert gpu.executed(list(jobs), 2, time.monotonic() + 1800) is None
    assert all(map(gpu.is_made, jobs))


def test_without_time_nothing_runs(gpu, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = {"rule": "one", "input": [], "output": ["made"], "log": [], "command": "sleep 60; touch made"}
    assert gpu.executed([job], 1, time.monotonic()) is None
    assert not gpu.is_made(job)


def test_a_job_waits_for_what_it_reads_and_one_that_lacks_a_file_is_a_failure(gpu, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def job(command, *reads, makes):
        return {"rule": makes, "input": list(reads), "output": [f"out/{makes}"], "log": [], "command": command}

    first = job("sleep 1; echo 1 >out/first", makes="first")
    second = job("cat out/first >out/second", "out/first", makes="second")
    lacking = job("true", "out/second", makes="lacking")
    assert gpu.executed([second, first, lacking], 3, time.monotonic() + 60) == lacking
    assert Path("out/second").read_text() == "1\n"


def test_a_fixed_split_has_the_same_bits_in_every_batch(skip_without, tmp_path, monkeypatch, capsys):
    skip_without("torch")
    options = ["--width", "256", "--rows", "64", "--repeats", "1", "--out", str(tmp_path / "x.json")]
    monkeypatch.setattr(sys, "argv", ["batch_invariance", *options])
    loaded(SCRIPT.with_name("batch_invariance.py")).main()
    lines = json.loads((tmp_path / "x.json").read_text())["lines"]
    assert [line["batch"] for line in lines] == 2 * [1, 2, 4, 8, 16, 32]
    assert not any(line["fixed_split_rows_that_differ"] for line in lines)
    assert len(capsys.readouterr().out.splitlines()) == len(lines)
