"""bench/gpu.py: packed here, run in pieces where there is little but a framework, brought back with statements."""

import importlib.util
import json
import os
import re
import shutil
import sys
import tarfile

import pytest
import yaml
from scripts import loaded

from toolnoise.record import archive, statements
from toolnoise.study import grid as studies
from toolnoise.verify.share import sharing

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed"),
]

STUDY = {
    "study": "gpu-tiny",
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["digits"],
            "recipe": "quick",
            # No machine of these tests has an H100: it is told and left out.
            "hardware": ["cpu-jax", "h100-jax"],
            "variants": ["control"],
            "seeds": 2,
        }
    ],
    "recipes": {"quick": {"epochs": 1, "batch_size": 128, "learning_rate": 0.01}},
}
RESULTS = "results/gpu-tiny"
TASK = "smallcnn/digits/cpu-jax"
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
def script(tmp_path_factory, run):
    """Run a verb of a tree's script, where everything that the machine lacks is blocked."""
    blocked = tmp_path_factory.mktemp("blocked")
    (blocked / "sitecustomize.py").write_text(BLOCKER)

    def start(tree, verb, *arguments, here=False, slow=""):
        study = "workflow/studies/gpu-tiny.yaml"
        env = {"PYTHONPATH": os.environ.get("PYTHONPATH", "") if here else str(blocked), "SLOW": slow}
        return run(tree, sys.executable, "bench/gpu.py", verb, "--study", study, *arguments, env=env)

    return start


@pytest.fixture(scope="module")
def pieces(tmp_path_factory, as_repository, script):
    """A repository, two machines to which it was packed one after the other, and what was said on each occasion."""
    checkout = tmp_path_factory.mktemp("packing") / "tree"
    as_repository(checkout, {"workflow/studies/gpu-tiny.yaml": yaml.safe_dump(STUDY)})
    folder, said = tmp_path_factory.mktemp("machines"), {}

    def at(tree, *arguments, **options):
        done = script(tree, *arguments, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    for machine, parts in (("first", ["control"]), ("second", ["control", "noise"])):
        at(checkout, "pack", here=True)
        with tarfile.open(checkout / "build/gpu.tar.gz") as packed:
            packed.extractall(folder / machine, filter="data")
        if machine == "first":
            piece = ["run", "--minutes", "0.15", "--parts", "control"]
            said["cut off"] = at(folder / machine, *piece, slow="prepare")
        said[machine] = at(folder / machine, "run", "--jobs", "2", "--frameworks", "jax", "--parts", *parts)
        brought = sorted((folder / machine / "brought").iterdir())
        said[f"{machine}, here"] = at(checkout, "unpack", *brought, here=True)
    return checkout, folder, said


def jobs(said):
    """The verbs that a piece began, in order."""
    return re.findall(r"^ *[0-9.]+ (?:s|min) (\S+)", said, re.MULTILINE)


def test_a_piece_ends_when_its_time_is_over_and_the_next_one_goes_on(pieces):
    _, _, said = pieces
    assert "the time is over" in said["cut off"]
    assert "check-control: 0 of 1 done" in said["cut off"]
    assert jobs(said["cut off"]) == ["prepare"]
    assert jobs(said["first"]) == ["prepare", "train", "train", "predict", "check-control"]


def test_a_machine_that_was_given_back_is_taken_up_on_another_one(pieces):
    _, _, said = pieces
    assert jobs(said["second"]) == ["measure"]
    assert said["second, here"] == said["second"][said["second"].index("check-control: ") :]


def test_toolings_that_the_machine_lacks_are_left_out(pieces):
    _, folder, said = pieces
    assert said["first"].startswith("gpu-tiny: cpu-jax\n")
    assert json.loads((folder / "first" / RESULTS / "study.json").read_text())["only"] == ["cpu-jax"]


def test_jobs_run_at_the_same_time_if_asked(pieces):
    _, folder, _ = pieces
    stated = [statements.read(path) for path in (folder / "first" / RESULTS / "statements/runs").rglob("*.json")]
    (one, other) = [(statement.started, statement.finished) for statement in stated]
    assert max(one[0], other[0]) < min(one[1], other[1])


def test_it_says_what_is_done(pieces):
    _, _, said = pieces
    assert "check-control: 1 of 1 done\nmeasure: 0 of 1 done\n" in said["first, here"]
    assert "check-control: 1 of 1 done\nmeasure: 1 of 1 done\n" in said["second, here"]


def test_what_came_back_is_stated_by_the_commit_that_was_packed(pieces, run):
    checkout, _, _ = pieces
    sha = run(checkout, "git", "rev-parse", "HEAD").stdout.strip()
    stated = [statements.read(path) for path in (checkout / RESULTS / "statements").rglob("*.json")]
    assert {statement.verb for statement in stated} >= {"configure", "prepare", "train", "check-control", "measure"}
    for statement in stated:
        assert [one.sha256 for one in statement.dependencies if one.kind == statements.COMMIT] == [sha]
        assert statement.changes is None


def test_the_audit_finds_only_what_was_not_made(pieces, run):
    checkout, _, _ = pieces
    env = {"PYTHONPATH": str(checkout / "workflow")}
    done = run(checkout, sys.executable, "-m", "toolnoise.cli", "audit", RESULTS, "--json", env=env)
    found = json.loads(done.stdout)["findings"]
    assert {(one["rule"], one["what"]) for one in found} == {("study-is-complete", "is missing")}, found


def test_a_changed_tree_says_so_in_its_statements(pieces, script, tmp_path):
    _, folder, _ = pieces
    shutil.copytree(folder / "second", tmp_path / "tree")
    (tmp_path / "tree/README.md").write_text("changed")
    measured = f"metrics/cells/{TASK}/control.csv"
    (tmp_path / "tree" / RESULTS / measured).unlink()
    done = script(tmp_path / "tree", "run", "--parts", "noise")
    assert done.returncode == 0, done.stdout + done.stderr
    made = statements.read(tmp_path / "tree" / RESULTS / f"statements/{measured}.intoto.json")
    assert made.changes is not None


def test_a_control_that_is_not_bit_equal_is_told_and_not_tried_again(pieces, script, tmp_path):
    _, folder, _ = pieces
    tree = shutil.copytree(folder / "second", tmp_path / "tree")
    history = tree / RESULTS / f"runs/{TASK}/control/2/history.csv"
    header, row = history.read_text().splitlines()
    values = dict(zip(header.split(","), row.split(","), strict=True))
    tensors = " ".join(["0" * 12, *values["tensors_sha256"].split()[1:]])
    row = row.replace(values["weights_sha256"], "0" * 64).replace(values["tensors_sha256"], tensors)
    history.write_text(f"{header}\n{row}\n")
    for began in (["check-control"], []):
        done = script(tree, "run", "--parts", "control")
        assert done.returncode == 0, done.stdout + done.stderr
        assert jobs(done.stdout) == began
        assert "they part in epoch 1, first in conv1/" in done.stdout.partition("failed: check-control")[2]


def test_runs_whose_weights_stayed_behind_are_trained_again_only_for_what_needs_them(pieces, tmp_path, monkeypatch):
    _, folder, _ = pieces
    tree = shutil.copytree(folder / "second", tmp_path / "tree")
    monkeypatch.chdir(tree)
    monkeypatch.setattr(sys, "path", sys.path[:])
    gpu = loaded(tree / "bench/gpu.py")
    study = studies.load(f"{RESULTS}/study.json")

    def first():
        work = gpu.Work(study)
        (measure,) = work.targets("noise")
        return next((job.verb for job in work.ready(measure)), "")

    for path in (tree / RESULTS).rglob("weights.npz"):
        path.unlink()
    assert first() == ""
    (tree / RESULTS / f"metrics/cells/{TASK}/control.csv").unlink()
    assert first() == "train"
    monkeypatch.setattr(gpu.code_digest, "sources", lambda *_, **__: {"other": "code"})
    assert first() == "prepare"
    monkeypatch.undo()
    monkeypatch.chdir(tree)
    # Where they end with other bits, what was made of those that are lost is made again too.
    for path in (tree / RESULTS).rglob("run.json"):
        path.with_name("weights.npz").write_bytes(b"others")
    assert first() == "predict"


def test_changes_that_no_commit_has_are_not_packed(pieces, script, refusal, tmp_path):
    checkout, _, _ = pieces
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
    (tree / "README.md").write_text("changed")
    assert "has changes that are not committed" in refusal(script(tree, "pack", here=True))


@pytest.mark.parametrize("name", ["results/gpu-tiny/../../x", "results/gpu/../x", "results/other/x", "results/x", "x"])
def test_archives_of_anything_else_are_refused(name, pieces, script, refusal, tmp_path):
    checkout, _, _ = pieces
    sharing.pack(tmp_path / "x.tar", [archive.Member(name, 1, iter([b"x"]))])
    assert "is not among the study's results" in refusal(script(checkout, "unpack", tmp_path / "x.tar", here=True))


def test_a_machine_that_can_run_no_tooling_of_the_study_is_refused(pieces, script, refusal, tmp_path):
    _, folder, _ = pieces
    tree = shutil.copytree(folder / "first", tmp_path / "tree")
    elsewhere = STUDY | {"grid": [STUDY["grid"][0] | {"hardware": ["h100-jax"]}]}
    (tree / "workflow/studies/gpu-tiny.yaml").write_text(yaml.safe_dump(elsewhere))
    assert "this machine can run none" in refusal(script(tree, "run"))


def test_the_queue_has_what_no_archive_of_evidence_shows(pieces, script, tmp_path):
    _, folder, _ = pieces
    tree = shutil.copytree(folder / "first", tmp_path / "tree")

    def queued():
        return [line.split()[2] for line in script(tree, "queue").stdout.splitlines()]

    before = queued()
    assert before
    assert all(studies.load(tree / name).config["hardware"] for name in before)
    (tree / "evidence").mkdir(exist_ok=True)
    (tree / "evidence/gpu-jax-h100.tar.xz").touch()
    assert queued() == [name for name in before if name != "workflow/studies/gpu-jax.yaml"]
