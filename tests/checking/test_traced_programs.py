"""`toolnoise check --trace`: the first operation that differs is found, with the line of the planted cause."""

import json
import sys
from pathlib import Path

import pytest
import traced_programs

from toolnoise.base import files
from toolnoise.checking import injection, launch, unmodified
from toolnoise.checking.trace import explanation, traced_runs, traces
from toolnoise.checking.trial_runs import TrialRuns

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
LIMIT = 600
# The recorder uses private parts of these.
VERSIONS = sorted(path.stem for path in (ROOT / "requirements/versions").glob("torch*.txt"))
# More operations than are recorded singly; the runs part late.
LATE = """
import os
import numpy as np
import torch
x = torch.ones(4)
for step in range(30000):
    x = x * 0.9999
    if step == 25000:
        x = x + os.urandom(1)[0] + os.urandom(1)[0] / 256
np.save('preds.npy', x.numpy())
"""
HIDDEN = """
import os, sys
import numpy as np
x = np.ones(4)
if 'toolnoise_recorder' not in sys.modules:
    x = x + os.urandom(1)[0] + os.urandom(1)[0] / 256
np.save('preds.npy', x)
"""


@pytest.fixture
def located(tmp_path, monkeypatch, skip_without):
    def start(planted, command=(sys.executable, "train.py")):
        skip_without(planted.framework)
        traced_programs.prepare(planted, tmp_path)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
        wanted = unmodified.wanted(["preds.npy"], [])
        return traced_runs.locate(TrialRuns(command, LIMIT, wanted, tmp_path / "runs"))

    return start


@pytest.mark.parametrize("name", ["unseeded weights", "clock by a helper", "listing", "branch", "race"])
def test_the_planted_line_is_found(name, located):
    planted = traced_programs.PLANTED[name]
    found = located(planted)
    assert (found.name, found.file, found.line) == (planted.operation, "train.py", planted.line), found
    assert not found.notes


@pytest.mark.parametrize("name", ["torch", "torch: empty"])
def test_clean_programs_are_equal(name, located):
    found = located(traced_programs.CLEAN[name])
    assert found.index is None and found.equal_results, traced_runs.as_text(found)
    assert found.says == f"all {found.count:,} recorded operations are equal"
    assert found.count


def test_a_long_run_is_searched_in_two_more(located, tmp_path):
    found = located(traced_programs.Planted("torch", "aten.add.Tensor", LATE))
    assert (found.name, found.file, found.line) == ("aten.add.Tensor", "train.py", 9)
    singly = traces.read(tmp_path / "runs/recorder/trace-3.jsonl")
    assert found.index in singly.events
    assert not (tmp_path / "runs/recorder/trace-5.jsonl").exists()


def test_a_backward_pass_names_the_forward_line(located, tmp_path):
    text = """
import os
import numpy as np
import torch
class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()
    @staticmethod
    def backward(context, gradient):
        return gradient * (os.urandom(1)[0] + os.urandom(1)[0] / 256)
torch.manual_seed(1)
net = torch.nn.Linear(4, 2)
x = Noisy.apply(net(torch.ones(3, 4)))
x.sum().backward()
np.save('preds.npy', net.weight.grad)
"""
    found = located(traced_programs.Planted("torch", "aten.mul.Tensor", text))
    assert (found.name, found.line) == ("aten.mul.Tensor", 11)
    events = traces.read(tmp_path / "runs/recorder/trace-1.jsonl").events.values()
    (product,) = (event for event in events if event.name == "aten.mm")
    assert (product.line, product.about["forward"]) == (15, ["train.py", 14])


def test_it_says_that_recording_hides_the_difference(toolnoise, tmp_path):
    (tmp_path / "train.py").write_text(HIDDEN)
    words = ["--sources", "", "--output", "preds.npy", "--", sys.executable, "train.py"]
    done = toolnoise(tmp_path, "check", "--trace", *words)
    assert done.returncode == 1, done.stderr
    assert "recorded operations are equal." in done.stdout
    assert "The recorded runs end equal: recording hides the difference" in done.stdout


@pytest.mark.parametrize(
    ("written", "written_b", "says"),
    [
        (
            [1, "aten.add", "train.py", 3],
            [4, "aten.mul", "train.py", 6],
            "is another tensor: last written by operation 2 (aten.add) in one run and 5 (aten.mul) in the other",
        ),
        ([1, "aten.add", "train.py", 3],) * 2 + ("or something else changed it since, such as NumPy or a thread",),
        (None, [4, "aten.mul", "train.py", 6], "in one run no recorded operation has made it"),
        ([4, "aten.mul", "train.py", 6], None, "in one run no recorded operation has made it"),
        (None, None, "differs, and no recorded operation has made it"),
    ],
)
def test_an_input_that_differs_is_told_by_who_wrote_it_in_each_run(written, written_b, says):
    a, b = (
        traces.TracedEvent(7, "torch", "aten.mul", "train.py", 9, digest, {"inputs": [[digest, by, False]]})
        for digest, by in (("x", written), ("y", written_b))
    )
    said = explanation.explain(a, b)
    assert says in said
    assert ("something else" in said) == (written is not None and written == written_b)


def test_equal_recorded_runs_may_be_chance():
    parting = traced_runs.Parting("all 9 recorded operations are equal", 9, equal_results=True)
    assert "or the runs differ only sometimes" in traced_runs.as_text(parting)[-1]


def test_the_verdict_has_it_as_json(toolnoise, tmp_path, skip_without):
    skip_without("torch")
    (tmp_path / "train.py").write_text(traced_programs.PLANTED["unseeded weights"].text)
    words = ["--sources", "", "--output", "preds.npy", "--json", "--", sys.executable, "train.py"]
    done = toolnoise(tmp_path, "check", "--trace", *words)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["parting"]["name"] == "aten.uniform_"


def test_it_says_that_nothing_was_recorded(located):
    found = located(traced_programs.PLANTED["unseeded weights"], (sys.executable, "-I", "train.py"))
    assert found.says.startswith("nothing was recorded")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_recorder_knows_the_private_parts_of_each_version(version, tmp_path):
    python = ROOT / ".environments" / version / "bin/python"
    if not python.exists():
        pytest.skip(f"{version} is not installed: make .environments/{version}")
    planted = traced_programs.CLEAN["torch"]
    traced_programs.prepare(planted, tmp_path)
    injection.inject(traced_runs.RECORDER, traced_runs.INJECTED, tmp_path / "recorder")
    record = tmp_path / "trace.jsonl"
    launch.run([python, "train.py"], traced_runs.variables(tmp_path / "recorder", record), tmp_path / "log", tmp_path)
    trace = traces.read(record)
    assert not trace.notes, files.read_text(tmp_path / "log")
    assert {event.kind for event in trace.events.values()} >= {planted.framework}


def test_what_starts_the_program_is_not_recorded_in_its_place(located, tmp_path):
    planted = traced_programs.PLANTED["unseeded weights"]
    text = "import random, subprocess, sys\nname = 'train.py'\nsubprocess.run([sys.executable, name], check=True)\n"
    (tmp_path / "launch.py").write_text(text)
    found = located(planted, (sys.executable, "launch.py"))
    assert (found.name, found.file, found.line) == ("aten.uniform_", "train.py", planted.line)
