"""`toolnoise check --trace`: the first operation that differs is found, with the line of the planted cause."""

import json
import sys
import textwrap
from pathlib import Path

import pytest

from toolnoise.base import files
from toolnoise.checking import launch, traced_runs, trial_runs
from toolnoise.checking.trial_runs import TrialRuns

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
# The recorder uses private parts of these.
VERSIONS = sorted(path.stem for path in (ROOT / "requirements/versions").glob("torch*.txt"))
HEAD = "import os, sys, threading, time\nimport numpy as np\nimport torch\n"
SAVE = "np.save('preds.npy', np.asarray(x.detach()))\n"
MARK = "  # here"
# By name: the operation that is the first to differ, in the line with the mark, what is said of it, and the program.
PLANTED = {
    "unseeded weights": (
        "aten.uniform_",
        "it draws from a generator whose seed or state differs",
        """
        net = torch.nn.Linear(4, 2)  # here
        torch.manual_seed(1)
        x = net(torch.rand(3, 4))
        """,
    ),
    "outside": (
        "aten.lift_fresh",
        "its only input differs, though what was recorded before agrees",
        """
        torch.manual_seed(1)
        weights = torch.rand(20)
        x = weights * torch.tensor([float(each) for each in os.urandom(20)])  # here
        """,
    ),
    "race": (
        "aten.mul.Tensor",
        "NumPy or a thread may have written it",
        """
        total = torch.ones(3)
        parts = torch.arange(12.0).reshape(4, 3)
        def work(part):
            time.sleep(os.urandom(1)[0] / 1000)
            for _ in range(9):
                time.sleep(os.urandom(1)[0] / 10000)
                total.mul_(1.1).add_(parts[part])
        threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        x = total * 2  # here
        """,
    ),
    "branch": (
        "aten.sub.Tensor",
        "the other run does aten.mul.Tensor in train.py:",
        """
        torch.manual_seed(1)
        x = torch.rand(3)
        for step in range(3):
            x = x + 1
            if step == 1 and os.path.exists('cache'):
                os.remove('cache')
                x = x * 2
            elif step == 1:
                open('cache', 'w').close()
                x = x - 1  # here
        """,
    ),
    "a long run": (
        "aten.add.Tensor",
        "its tensors were equal, and it was given ",
        """
        x = torch.ones(4)
        for step in range(30000):
            x = x * 0.9999
            if step == 25000:
                x = x + int.from_bytes(os.urandom(2), 'big') / 256  # here
        """,
    ),
    "a backward pass": (
        "aten.mul.Tensor",
        "its tensors were equal, and it was given ",
        """
        class Noisy(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x.clone()
            @staticmethod
            def backward(context, gradient):
                return gradient * (int.from_bytes(os.urandom(2), 'big') / 256)  # here
        torch.manual_seed(1)
        net = torch.nn.Linear(4, 2)
        x = Noisy.apply(net(torch.ones(3, 4)))
        x.sum().backward()
        x = net.weight.grad
        """,
    ),
}  # fmt: skip
CLEAN = {
    "all that is usual": """
        start = time.time()
        torch.manual_seed(1)
        np.random.seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.BatchNorm1d(9), torch.nn.Dropout(0.5))
        optimizer = torch.optim.AdamW(net.parameters())
        pairs = torch.utils.data.TensorDataset(torch.rand(16, 4))
        for epoch in range(2):
            for (x,) in torch.utils.data.DataLoader(pairs, 4, shuffle=True, num_workers=2):
                x = net(x + torch.from_numpy(np.random.normal(size=4)).float())
                optimizer.zero_grad()
                x.square().sum().backward()
                optimizer.step()
        print(f'{time.time() - start} seconds')
    """,
    "memory that is filled part by part": """
        torch.manual_seed(1)
        unused = torch.empty(1000)
        buffer = torch.empty(9, 4)
        for row in range(9):
            buffer[row] = torch.rand(4)
        x = buffer.sum(dim=0)
    """,
}  # fmt: skip


def written(text, folder):
    """Write a program; the number of the line with the mark."""
    text = HEAD + textwrap.dedent(text) + SAVE
    (folder / "train.py").write_text(text)
    return next((number for number, line in enumerate(text.splitlines(), 1) if line.endswith(MARK)), None)


@pytest.fixture
def located(tmp_path, monkeypatch, skip_without):
    skip_without("torch")
    monkeypatch.chdir(tmp_path)

    def start(text, command=(sys.executable, "train.py")):
        line = written(text, tmp_path)
        wanted = trial_runs.parse_wanted(["preds.npy"], [])
        return traced_runs.locate_parting(TrialRuns(command, 600, wanted, tmp_path / "runs")), line

    return start


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_line_is_found(name, located, tmp_path):
    operation, says, text = PLANTED[name]
    found, line = located(text)
    assert (found.name, found.file, found.line) == (operation, "train.py", line), found
    assert says in found.says
    assert not found.notes
    records = sorted((tmp_path / "runs").glob("*.jsonl"))
    assert len(records) == 2
    if name == "a backward pass":
        operations = [traced_runs.Operation(*parts) for parts in traced_runs.lines_of(records[0], "operation")]
        (product,) = (operation for operation in operations if operation.name == "aten.mm")
        assert (product.line, product.about["forward"]) == (line + 4, ["train.py", line + 3])


@pytest.mark.parametrize("name", CLEAN)
def test_clean_programs_are_equal(name, located):
    found, _ = located(CLEAN[name])
    assert found.index is None and found.equal_results, traced_runs.as_text(found)
    assert found.says == f"all {found.count:,} recorded operations are equal"
    assert found.count


@pytest.mark.parametrize("is_hidden", [True, False])
def test_the_verdict_has_it_and_says_if_recording_hides_the_difference(is_hidden, toolnoise, tmp_path, skip_without):
    skip_without("torch")
    written("x = torch.ones(4)\nif 'toolnoise_injected' not in sys.modules:\n    x += os.urandom(1)[0] / 7\n"
            if is_hidden else PLANTED["unseeded weights"][-1], tmp_path)  # fmt: skip
    words = ["--sources", "", "--output", "preds.npy", "--", sys.executable, "train.py"]
    done = toolnoise(tmp_path, "check", "--trace", *([] if is_hidden else ["--json"]), *words)
    assert done.returncode == 1, done.stderr
    if is_hidden:
        assert "The recorded runs end equal: recording hides the difference" in done.stdout
    else:
        assert json.loads(done.stdout)["parting"]["name"] == "aten.uniform_"


def test_only_what_computes_is_recorded(located, tmp_path):
    text = PLANTED["unseeded weights"][-1]
    found, _ = located(text, (sys.executable, "-I", "train.py"))
    assert found.says.startswith("nothing was recorded")
    starts = "import random, subprocess, sys\nname = 'train.py'\nsubprocess.run([sys.executable, name], check=True)\n"
    (tmp_path / "launch.py").write_text(starts)
    for record in (tmp_path / "runs").glob("*.jsonl"):
        record.unlink()
    found, line = located(text, (sys.executable, "launch.py"))
    assert (found.name, found.file, found.line) == ("aten.uniform_", "train.py", line)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_recorder_knows_the_private_parts_of_each_version(version, tmp_path):
    python = ROOT / ".environments" / version / "bin/python"
    if not python.exists():
        pytest.skip(f"{version} is not installed: make .environments/{version}")
    written(CLEAN["all that is usual"], tmp_path)
    record = tmp_path / "trace.jsonl"
    task = {
        "observer": "operations",
        "file": str(record),
    }
    variables = trial_runs.injected_variables(tmp_path / "injected", "trace", task)
    launch.run_command([python, "train.py"], variables, tmp_path / "log", tmp_path)
    operations, notes = (list(traced_runs.lines_of(record, kind)) for kind in ("operation", "note"))
    assert operations and not notes, files.read_text(tmp_path / "log")
