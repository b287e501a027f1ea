"""Existing training programs in a study: their own command, in the grid, from a study file to an audit."""

import csv
import json
import os
import platform
import re
import resource
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.base.program import ROOT

pytestmark = pytest.mark.long

# A softmax regression that needs NumPy alone. It separates init and shuffle, and its weights are rounded differently
# unless it is told to be deterministic: a noise of its own.
PROGRAM = """
import json, os, sys
import numpy as np

from data import images, labels, tested

def main(init, shuffle, out):
    weights = np.random.default_rng(init).normal(size=(20, 3)).astype(np.float32)
    order, rows = np.random.default_rng(shuffle), []
    if "--fixed" not in sys.argv:
        weights += np.float32(1e-3) * np.random.default_rng().normal(size=weights.shape).astype(np.float32)
    for epoch in range(1, 4):
        for one in order.permutation(len(labels)):
            scores = images[one] @ weights
            chances = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
            weights -= np.float32(0.1) * np.outer(images[one], chances - np.eye(3)[labels[one]]).astype(np.float32)
        rows.append(f"{epoch},{(images @ weights).argmax(1).tolist() == labels.tolist()},{float(weights.sum())!r}")
    np.save(f"{out}/logits.npy", (tested @ weights).astype(np.float32))
    np.save(f"{out}/labels.npy", labels[: len(tested)])
    np.savez(f"{out}/weights.npz", dense=weights)
    np.savez(f"{out}/groups.npz", early=np.arange(len(tested)) < 20)
    open(f"{out}/history.csv", "w").write("epoch,all_right,total\\n" + "\\n".join(rows) + "\\n")
    print("trained", json.load(open(os.environ["TOOLNOISE_JOB"]))["variant"])

main(int(sys.argv[1]), int(os.environ["TOOLNOISE_SEED_SHUFFLE"]), sys.argv[2])
"""
DATA = """
import numpy as np

draw = np.random.default_rng(0)
images = draw.normal(size=(120, 20)).astype(np.float32)
labels = (images[:, :3] + draw.normal(size=(120, 3))).argmax(1)
tested = images[:60] + draw.normal(size=(60, 20)).astype(np.float32)
"""
STUDY = {
    "study": "programs",
    "models": {
        "mine": {
            "command": "python programs/train.py {init} {out}",
            "sources": ["init", "shuffle"],
            "deterministic": "--fixed",
        }
    },
    "grid": [
        {
            "models": ["mine"],
            "datasets": ["outcome"],
            "hardware": ["command"],
            "variants": ["control", "impl", "init", "algo", "algo_impl"],
            "seeds": 3,
        }
    ],
    "figures": ["table2"],
}
RUN = "results/programs/runs/mine/outcome/command"


def write(folder, write_study, study=STUDY, program=PROGRAM):
    write_study(folder, study)
    (folder / "programs").mkdir()
    (folder / "programs/train.py").write_text(program)
    (folder / "programs/data.py").write_text(DATA)
    return folder


@pytest.fixture(scope="module")
def programs(once, write_study, snakemake):
    def make(folder):
        done = snakemake(write(folder / "here", write_study).resolve())
        (folder / "here/said.txt").write_text(done.stdout + done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr

    return once("programs", make) / "here"


def table(path):
    """The rows of a CSV file; a metric file has a line before its columns."""
    return list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


def outcome(folder, cell, seed):
    return arrays.read_npz(folder / RUN / cell / str(seed) / "weights.npz")


def test_what_may_not_vary_is_equal_bit_by_bit_and_what_may_is_not(programs):
    def logits(cell):
        return [outcome(programs, cell, run.name)["logits:"].tobytes() for run in (programs / RUN / cell).iterdir()]

    found = {cell: logits(cell) for cell in STUDY["grid"][0]["variants"]}
    assert {cell: (len(runs), len(set(runs))) for cell, runs in found.items()} == {
        "control": (2, 1),
        "impl": (3, 3),
        "init": (3, 3),
        "algo": (3, 3),
        "algo_impl": (3, 3),
    }


def test_metrics_follow_from_the_logits_as_numpy_alone_computes_them(programs):
    of_groups = {
        (row["group"], row["variant"], row["metric"]): float(row["value"] or "nan")
        for row in table(programs / "results/programs/metrics/stability.csv")
    }
    rows = {(variant, metric): value for (group, variant, metric), value in of_groups.items() if group == "all"}
    labels = outcome(programs, "algo", 1)["labels:"]
    predicted = np.array([outcome(programs, "algo", seed)["logits:"].argmax(1) for seed in (1, 2, 3)])
    accuracies = (predicted == labels).mean(axis=1)
    pairs = [(predicted[a] != predicted[b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]
    weights = [outcome(programs, "algo", seed)["dense"].ravel() for seed in (1, 2, 3)]
    units = [one / np.linalg.norm(one) for one in weights]
    distances = [np.linalg.norm(units[a] - units[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert rows["algo", "accuracy_mean"] == pytest.approx(accuracies.mean(), abs=1e-12)
    assert rows["algo", "accuracy_sd"] == pytest.approx(accuracies.std(ddof=1), abs=1e-12)
    assert rows["algo", "churn"] == pytest.approx(np.mean(pairs), abs=1e-12)
    assert rows["algo", "l2_unit"] == pytest.approx(np.mean(distances), abs=1e-6)
    assert rows["control", "churn"] == 0
    early = (predicted == labels)[:, :20].mean(axis=1)
    assert of_groups["early", "algo", "accuracy_sd"] == pytest.approx(early.std(ddof=1), abs=1e-12)


def test_the_record_says_what_ran_and_the_history_is_the_programs(programs):
    record = json.loads((programs / RUN / "algo/2/run.json").read_text())
    assert record["spec"]["model"]["command"] == STUDY["models"]["mine"]["command"]
    assert record["spec"]["recipe"] == {"name": "program"}
    assert record["observed"]["variables"]["OMP_NUM_THREADS"] == "1"
    assert record["observed"]["versions"]["numpy"] == np.__version__
    assert len(record["observed"]["packages_sha256"]) == 64
    assert (record["epochs"], record["trainable"]) == (3, ["dense"])
    rows = table(programs / RUN / "algo/2/history.csv")
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert rows[0]["weights_sha256"] == ""
    assert len(rows[2]["weights_sha256"]) == 64
    log = (programs / "logs/programs/run-program/mine/outcome/command/algo/2.log").read_text()
    assert log == "trained algo\n"
    assert not any(path.is_file() for path in (programs / "results/programs/checkpoints").rglob("*"))


def test_its_audit_is_clean_and_its_script_and_what_that_imports_are_in_the_statement(programs, toolnoise):
    done = toolnoise(programs, "audit", "results/programs")
    assert done.returncode == 0, done.stdout
    statement = (programs / f"results/programs/statements/{RUN.removeprefix('results/programs/')}").rglob("*.json")
    made_of = json.loads(next(statement).read_text())["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert {"programs/train.py", "programs/data.py"} <= {one["name"] for one in made_of}


UNSEEDED = PROGRAM.replace("np.random.default_rng(shuffle)", "np.random.default_rng()")


def test_a_program_that_is_not_reproducible_stops_at_the_gate_and_is_told_why(write_study, snakemake, tmp_path):
    folder = write(tmp_path / "unseeded", write_study, program=UNSEEDED)
    done = snakemake(folder)
    assert done.returncode != 0
    log = (folder / "logs/programs/check-program/mine/outcome/command.log").read_text()
    assert "Not reproducible: two runs with equal seeds differ in logits.npy, weights, history.csv." in log
    assert "`toolnoise check -- COMMAND` observes the program and finds the cause." in log
    assert "1 of 1 tensors, the first is dense" in log
    # Nothing varies before the gate is passed.
    assert not (folder / RUN / "algo").exists()


# Its state after each epoch is in its checkpoint folder, where it counts its starts, too. The first run is killed
# once.
RESUMED = """
import json, os, signal, sys
import numpy as np

from data import images, labels, tested

job = json.load(open(os.environ["TOOLNOISE_JOB"]))
kept = os.environ["TOOLNOISE_CHECKPOINT"]
with open(f"{kept}/starts", "a") as starts:
    starts.write("x")
weights, done = np.random.default_rng(int(sys.argv[1])).normal(size=(20, 3)), 0
if os.path.exists(f"{kept}/state.npz"):
    state = np.load(f"{kept}/state.npz")
    weights, done = state["weights"], int(state["done"])
    print(f"goes on after epoch {done}")
for epoch in range(done + 1, 4):
    for one in np.random.default_rng([int(os.environ["TOOLNOISE_SEED_SHUFFLE"]), epoch]).permutation(len(labels)):
        scores = images[one] @ weights
        chances = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        weights = weights - 0.1 * np.outer(images[one], chances - np.eye(3)[labels[one]])
    np.savez(f"{kept}/new.npz", weights=weights, done=epoch)
    os.replace(f"{kept}/new.npz", f"{kept}/state.npz")
    if job["seed"] == 1 and not done:
        os.kill(os.getpid(), signal.SIGKILL)
print("starts:", os.path.getsize(f"{kept}/starts"))
np.save(f"{job['out']}/logits.npy", (tested @ weights).astype(np.float32))
np.save(f"{job['out']}/labels.npy", labels[: len(tested)])
np.savez(f"{job['out']}/weights.npz", dense=weights)
"""
RESUMING = STUDY | {
    "models": {"mine": {"command": "python programs/train.py {init}", "sources": ["init", "shuffle"]}},
    "grid": [STUDY["grid"][0] | {"variants": ["control"], "seeds": 2}],
}


def test_a_killed_program_finds_its_checkpoint_when_it_is_tried_again_and_ends_with_the_same_bits(
    write_study, snakemake, tmp_path
):
    folder = write(tmp_path / "killed", write_study, RESUMING, RESUMED)
    done = snakemake(folder, "--retries", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    logs = folder / "logs/programs/run-program/mine/outcome/command/control"
    assert (logs / "1.log").read_text() == "goes on after epoch 1\nstarts: 2\n"
    assert (logs / "2.log").read_text() == "starts: 1\n"
    killed, whole = (outcome(folder, "control", seed) for seed in (1, 2))
    assert {name: values.tobytes() for name, values in killed.items()} == {
        name: values.tobytes() for name, values in whole.items()
    }
    assert not list((folder / "results/programs/checkpoints").rglob("state.npz"))


def test_a_program_runs_in_the_environment_of_its_tooling_which_is_recorded(run, write_study, snakemake, tmp_path):
    leaves = 'import json, os, sys; json.dump({"loss": 1.5}, open(os.environ["TOOLNOISE_OUT"] + "/metric.json", "w"))'
    tooling = {"engine": "command", "accelerator": "cpu", "python": "own"}
    block = STUDY["grid"][0] | {"hardware": ["owned"], "variants": ["algo"], "seeds": 1}
    models = {"mine": {"command": "python programs/train.py", "outcome": "metric"}}
    study = {"study": "programs", "models": models, "grid": [block], "hardware": {"owned": tooling}}
    folder = write(tmp_path / "owned", write_study, study, f"{leaves}; print(sys.prefix)")
    assert run(folder, sys.executable, "-m", "venv", "--without-pip", "own").returncode == 0
    place = "mine/outcome/owned/algo/1"
    done = snakemake(folder, f"results/programs/runs/{place}/run.json")
    assert done.returncode == 0, done.stdout + done.stderr
    log = (folder / f"logs/programs/run-program/{place}.log").read_text()
    assert log == f"{folder / 'own'}\n"
    observed = json.loads((folder / f"results/programs/runs/{place}/run.json").read_text())["observed"]
    assert observed["python"] == platform.python_version()
    # It has no packages: neither this environment's frameworks nor others.
    assert (observed["versions"], observed["packages_sha256"]) == ({}, "")


@pytest.fixture
def seconds():
    """The processor's seconds of all child processes so far."""

    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    return spent


def test_init_and_run_on_the_example_for_pytorch_end_in_a_page_and_a_clean_audit_in_five_minutes_on_two_cores(
    toolnoise, skip_without, seconds, tmp_path
):
    skip_without("torch")
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(ROOT / "examples/torch_digits.py", folder / "train.py")
    # The program's interpreter is the one that PATH names, as in an activated environment.
    env = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    before = seconds()
    for words in (["init"], ["run", "--cores", "2"]):
        done = toolnoise(folder, *words, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
    # Other tests may run beside it, so the clock says nothing.
    assert seconds() - before < 2 * 300
    histories = {
        cell: {path.read_text() for path in folder.glob(f"results/mine/runs/mine/outcome/command/{cell}/*/history.csv")}
        for cell in ("control", "impl", "algo", "algo_impl")
    }
    # A program on one thread of a CPU has no noise of its own.
    assert {cell: len(texts) for cell, texts in histories.items()} == {
        "control": 1,
        "impl": 1,
        "algo": 5,
        "algo_impl": 5,
    }
    assert "the page: results/mine/index.html" in done.stdout
    page = folder / "results/mine/index.html"
    linked = set(re.findall(r'href="(page/[^"#]+\.html)"', page.read_text()))
    assert linked and all((page.parent / cell).is_file() for cell in linked)
    audit = toolnoise(folder, "audit", "results/mine", "--strict")
    assert audit.returncode == 0, audit.stdout
