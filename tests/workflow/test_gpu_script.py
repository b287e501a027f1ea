"""bench/gpu.py: packed here, run in pieces where there is little but a framework, brought back with statements."""

import importlib.util
import json
import re
import shutil
import sys
import tarfile
import time
from pathlib import Path

import pytest
import yaml
from scripts import loaded

from toolnoise.base.program import ROOT
from toolnoise.provenance import statements
from toolnoise.study import config
from toolnoise.study import grid as studies
from toolnoise.study.entries import of_text

pytestmark = pytest.mark.long
JAX = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
FILE = "workflow/studies/gpu-tiny.yaml"
STUDY = {
    "study": "gpu-tiny",
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["digits"],
            "recipe": "quick",
            # No machine of these tests has an H100.
            "hardware": ["cpu-jax", "h100-jax"],
            "variants": ["control"],
            "seeds": 2,
        }
    ],
    "recipes": {"quick": {"epochs": 1, "batch_size": 128, "learning_rate": 0.01}},
}
ASKED = ("--only", "cpu-jax", "--until", "check_control", "measure_cell")
RESULTS = "results/gpu-tiny-cpu"
RUNS = f"{RESULTS}/runs/smallcnn/digits/cpu-jax/control"
# No other framework, no Snakemake, no network: whatever tries says so.
BLOCKER = """
import os, socket, sys, time

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tensorflow", "torch", "snakemake", "papermill"):
            raise ImportError(f"{name} is blocked")

def refuse(*_):
    raise OSError("the network is blocked")

sys.meta_path.insert(0, Blocker())
socket.socket.connect = socket.getaddrinfo = refuse
if os.environ.get("SLOW") in sys.orig_argv:
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def here(run):
    """Run a verb of a tree's script in that tree."""

    def start(tree, *arguments):
        env = {"PYTHONPATH": str(tree / "workflow")}
        return run(tree, sys.executable, "bench/gpu.py", *arguments, env=env)

    return start


@pytest.fixture(scope="module")
def pieces(tmp_path_factory, as_repository, here, run):
    """A repository, a machine to which it was packed, which lacks everything that is blocked, and what was said."""
    blocked = tmp_path_factory.mktemp("blocked")
    (blocked / "sitecustomize.py").write_text(BLOCKER)

    def there(tree, *arguments, slow=""):
        env = {"PYTHONPATH": str(blocked), "SLOW": slow}
        return run(tree, sys.executable, "bench/gpu.py", "run", *arguments, env=env)

    checkout = tmp_path_factory.mktemp("packing") / "tree"
    as_repository(checkout, {FILE: yaml.safe_dump(STUDY)})
    machine, said = tmp_path_factory.mktemp("machine") / "tree", {}

    def succeeds(done):
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said["packed"] = succeeds(here(checkout, "pack", "--study", FILE, "--name", "gpu-tiny-cpu", *ASKED))
    with tarfile.open(checkout / "build/gpu.tar.gz") as packed:
        packed.extractall(machine, filter="data")
    said["cut off"] = succeeds(there(machine, "--minutes", "0.15", slow="train"))
    said["whole"] = succeeds(there(machine, "--jobs", "2"))
    said["again"] = succeeds(there(machine))
    said["unpacked"] = succeeds(here(checkout, "unpack", *sorted((machine / "brought").iterdir())))
    return checkout, said


def began(said):
    """The rules whose jobs a piece began, in order."""
    return re.findall(r"^ *[0-9.]+ (?:s|min) (\S+)", said, re.MULTILINE)


@JAX
def test_a_piece_ends_when_its_time_is_over_and_the_next_ones_do_what_is_left(pieces):
    _, said = pieces
    assert "the time is over" in said["cut off"]
    assert began(said["cut off"]) == ["train_run"]
    assert said["cut off"].endswith("0 of 5 jobs done\n")
    assert began(said["whole"])[:3] == ["train_run", "train_run", "dump_predictions"]
    assert sorted(began(said["whole"])[3:]) == ["check_control", "measure_cell"]
    assert said["whole"].endswith("5 of 5 jobs done\n")
    assert (began(said["again"]), said["again"]) == ([], "5 of 5 jobs done\n")


@JAX
def test_what_came_back_is_stated_by_the_commit_that_was_packed_and_snakemake_has_nothing_to_do(pieces, run):
    checkout, _ = pieces
    sha = run(checkout, "git", "rev-parse", "HEAD").stdout.strip()
    stated = [statements.read_statement(path) for path in (checkout / RESULTS / "statements").rglob("*.json")]
    assert {statement.verb for statement in stated} >= {"configure", "prepare", "train", "check-control", "measure"}
    for statement in stated:
        assert [one.sha256 for one in statement.dependencies if one.kind == statements.COMMIT] == [sha]
        assert statement.changes is None
    command = [sys.executable, "-m", "snakemake", "--configfile", f"{RESULTS}/study.json", "--dry-run", *ASKED[2:]]
    done = run(checkout, *command, env={"PYTHONPATH": str(checkout / "workflow")})
    assert re.search("^total +0$", done.stdout + done.stderr, re.MULTILINE), done.stdout + done.stderr


def test_archives_of_anything_else_are_refused(refusal, here, tmp_path):
    for name in ("results/gpu/../../x", "results/x", "x", "/etc/x"):
        with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
            archive.addfile(tarfile.TarInfo(name))
        assert "is no file of a study's results" in refusal(here(ROOT, "unpack", tmp_path / "x.tar.gz"))


def test_the_queue_has_what_no_archive_of_evidence_shows(here, checkout, tmp_path):
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)

    def queued():
        return [line.split() for line in here(tree, "queue").stdout.splitlines()]

    before = queued()
    assert before
    for words in (line for line in before if line[0] == "pack"):
        hardware = studies.load_study(tree / words[2]).config["hardware"]
        assert set(words[words.index("--only") + 1 : words.index("--until")]) <= set(hardware)
    (tree / "evidence").mkdir(exist_ok=True)
    (tree / f"evidence/{before[0][4]}.tar.xz").touch()
    assert queued() == before[1:]


# Each study that waits for a GPU runs small on CPUs to its end


GPU_SCRIPT = ROOT / "bench/gpu.py"
# What makes a study long, and how much of it a trial has at most. Networks that read text are small, and keep it.
FEW = {"seeds": 2, "draws": 2, "control_seeds": 2}
SMALL_NETWORK = {"width": 16, "heads": 2, "layers": 1}
TIMED = {"batch_size": 8, "image_size": 64, "warmup": 1, "steps": 3, "repeats": 2}


@pytest.fixture(scope="module")
def gpu():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        return loaded(GPU_SCRIPT)


def small_version(whole):
    """The content of a trial's study file: every block and variant of a study, in few runs of embedded data."""
    recipes, hardware = (config.registry_entries(name) | whole.get(name, {}) for name in ("recipes", "hardware"))
    texts = {name for name, entry in config.registry_entries("datasets").items() if of_text(entry)}

    def on_cpu(tooling):
        return f"cpu-{hardware[tooling]['engine']}"

    made = whole | {"study": f"{whole['study']}-trial", "datasets": {}, "grid": []}
    for block in whole["grid"]:
        few = {key: min(block[key], most) for key, most in FEW.items() if key in block}
        embedded = {} if texts.issuperset(block["datasets"]) else {"datasets": ["digits"]}
        made["grid"].append(block | few | embedded | {"hardware": sorted(set(map(on_cpu, block["hardware"])))})
    for model in made.get("models", {}).values():
        model["options"] |= SMALL_NETWORK
        if "base" in model:
            model["base"]["hardware"] = on_cpu(model["base"]["hardware"])
    made["recipes"] = {name: recipes[name] | {"epochs": 2} for name in whole.get("recipes", {})}
    if overhead := whole.get("overhead"):
        toolings = sorted(set(map(on_cpu, overhead["hardware"])))
        made["overhead"] = overhead | TIMED | {"models": overhead["models"][:2], "hardware": toolings}
    return made


@pytest.mark.parametrize("number", range(5))
def test_a_study_that_waits_for_a_gpu_runs_small_on_cpus_to_its_end(number, gpu, skip_without, tmp_path, monkeypatch):
    name, study, packed, _ = gpu.ITEMS[number]
    words = packed.split()
    until = words[words.index("--until") + 1 :]
    frameworks = [tooling.split("-")[1] for tooling in words[1 : words.index("--until")]]
    for framework in frameworks:
        skip_without(framework)
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(
        yaml.safe_dump(small_version(config.read_yaml(ROOT / f"workflow/studies/{study}.yaml")))
    )
    on_cpu = [f"cpu-{framework}" for framework in frameworks]
    _, jobs = gpu.planned(Path("small.yaml"), f"{name}-trial", on_cpu, until)
    assert {job["rule"] for job in jobs} >= set(until)
    assert gpu.executed(list(jobs), 2, time.monotonic() + 1800) is None
    assert all(map(gpu.is_made, jobs))


def test_a_fixed_split_has_the_same_bits_in_every_batch(skip_without, tmp_path, monkeypatch, capsys):
    skip_without("torch")
    options = ["--width", "256", "--rows", "64", "--repeats", "1", "--out", str(tmp_path / "x.json")]
    monkeypatch.setattr(sys, "argv", ["batch_invariance", *options])
    loaded(ROOT / "bench/batch_invariance.py").main()
    lines = json.loads((tmp_path / "x.json").read_text())["lines"]
    assert [line["batch"] for line in lines] == 2 * [1, 2, 4, 8, 16, 32]
    assert not any(line["fixed_split_rows_that_differ"] for line in lines)
    assert len(capsys.readouterr().out.splitlines()) == len(lines)
