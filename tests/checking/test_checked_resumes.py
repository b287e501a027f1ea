"""`toolnoise check --resume`: what a checkpoint lacks is found and named; one that lacks nothing passes."""

import html
import json
import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

# All states are kept. Each epoch takes long enough to be stopped in it.
CLEAN = """
import os
import time

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

LAST = os.environ["TOOLNOISE_CHECKPOINT"] + "/last.pt"
torch.set_num_threads(1)
torch.manual_seed(1)
np.random.seed(1)
images, labels = load_digits(return_X_y=True)
images, labels = torch.tensor(images[:480] / 16, dtype=torch.float32), torch.tensor(labels[:480])
net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10))
optimiser = torch.optim.Adam(net.parameters(), 0.01)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 8)
average = torch.optim.swa_utils.AveragedModel(net)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**118, growth_interval=3)
sampler = DistributedSampler(TensorDataset(images, labels), num_replicas=1, rank=0, seed=1)
loader = DataLoader(TensorDataset(images, labels), 32, sampler=sampler, generator=torch.Generator())
parts = {"net": net, "optimiser": optimiser, "schedule": schedule, "average": average, "scaler": scaler}
first, done = 0, -1
if os.path.exists(LAST):
    last = torch.load(LAST, weights_only=False)
    net.load_state_dict(last["net"])
    optimiser.load_state_dict(last["optimiser"])
    schedule.load_state_dict(last["schedule"])
    average.load_state_dict(last["average"])
    scaler.load_state_dict(last["scaler"])
    torch.set_rng_state(last["torch"])
    np.random.set_state(last["numpy"])
    first, done = last["epoch"], last["batch"]
for epoch in range(first, 8):
    sampler.set_epoch(epoch)
    for batch, (x, y) in enumerate(loader):
        if epoch == first and batch <= done:
            continue
        x = x + torch.tensor(np.random.normal(0, 0.1, x.shape), dtype=torch.float32)
        optimiser.zero_grad()
        scaler.scale(64 * nn.functional.cross_entropy(net(x), y)).backward()
        scaler.step(optimiser)
        scaler.update()
        time.sleep(0.02)
        if batch == 7:
            state = {
                "net": net.state_dict(),
                "optimiser": optimiser.state_dict(),
                "schedule": schedule.state_dict(),
                "average": average.state_dict(),
                "scaler": scaler.state_dict(),
                "torch": torch.get_rng_state(),
                "numpy": np.random.get_state(),
                "epoch": epoch,
            }
            torch.save(state | {"batch": batch}, LAST + ".new")
            os.replace(LAST + ".new", LAST)
    schedule.step()
    average.update_parameters(net)
    print("epoch", epoch, flush=True)
average.eval()
np.save("preds.npy", average(images).detach().numpy())
"""


@pytest.fixture
def resumed(toolnoise, tmp_path, skip_without):
    def start(before="", after=""):
        skip_without("torch")
        assert not before or CLEAN.count(before) == 1
        (tmp_path / "train.py").write_text(CLEAN.replace(before, after) if before else CLEAN)
        options = ["--sources", "", "--output", "preds.npy", "--resume", "--stop-at", "epoch 2", "--json"]
        done = toolnoise(tmp_path, "check", *options, "--", sys.executable, "train.py")
        assert done.stdout, done.stderr
        return done, json.loads(done.stdout)["resumed"]

    return start


def test_a_program_that_keeps_all_goes_on_to_the_same_bits(resumed):
    done, found = resumed()
    assert done.returncode == 0, done.stdout
    assert found["omissions"] == []
    assert [each["signal"] for each in found["interruptions"]] == ["SIGTERM", "SIGKILL"]
    assert [each["difference"]["files"] for each in found["interruptions"]] == [[], []]


def test_a_program_without_a_checkpoint_starts_anew_which_is_no_pass(toolnoise, tmp_path):
    (tmp_path / "train.py").write_text(
        "import time\nimport numpy as np\nprint('epoch 1', flush=True)\ntime.sleep(2)\nnp.save('preds.npy', [1, 2])\n"
    )
    options = ["--sources", "", "--output", "preds.npy", "--stop-at", "epoch 1"]
    done = toolnoise(tmp_path, "check", *options, "--", sys.executable, "train.py")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "equal, but without a checkpoint: it started anew" in done.stdout


def test_what_is_forgotten_changes_the_end_and_is_named(resumed):
    done, found = resumed('    scaler.load_state_dict(last["scaler"])\n', "")
    assert done.returncode == 1, done.stdout + done.stderr
    assert any(each["difference"]["files"] == ["preds.npy"] for each in found["interruptions"])
    first = found["omissions"][0]
    assert first["what"].startswith("the scaler of the loss scaler")
    assert first["code"] == 'scaler = torch.amp.GradScaler("cpu", init_scale=2.0**118, growth_interval=3)'


# Trainers as users write them: where they save is found, and that something is lost is seen


ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "drivers/resumed"
# The package that a program needs, and what its faulty version changes.
FAULTY = {
    "lightning_loop": ("pytorch_lightning", ("num_workers=0", "num_workers=1")),
    "transformers_loop": ("transformers", ("save_only_model=False", "save_only_model=True")),
    "keras_loop": ("keras", ("Dropout(0)", "Dropout(0.2)")),
    "orbax_loop": (
        "orbax",
        (
            "state = manager.restore(last, args=kind(state))",
            'state["net"] = manager.restore(last, args=kind(state))["net"]',
        ),
    ),
}


@pytest.fixture(params=FAULTY)
def resumed_trainer(request, toolnoise, tmp_path, skip_without):
    package, change = FAULTY[request.param]
    skip_without(package)
    text = (PROGRAMS / f"{request.param}.py").read_text()

    def start(*, faulty):
        assert text.count(change[0]) == 1
        (tmp_path / "train.py").write_text(text.replace(*change) if faulty else text)
        options = ["--sources", "", "--output", "preds.npy", "--resume", "--json"]
        done = toolnoise(tmp_path, "check", *options, "--", sys.executable, "-W", "ignore", "train.py")
        assert done.stdout, done.stderr
        assert "its checkpoints, as its text says: kept" in done.stderr
        return done, json.loads(done.stdout)["resumed"]

    return start


def test_a_clean_trainer_goes_on_to_the_same_bits(resumed_trainer):
    done, found = resumed_trainer(faulty=False)
    assert done.returncode == 0, done.stdout
    assert [each["difference"]["files"] for each in found["interruptions"]] == [[], []]
    assert all(each["kept"] for each in found["interruptions"])


def test_a_faulty_trainer_ends_elsewhere_and_the_first_difference_is_named(resumed_trainer):
    done, found = resumed_trainer(faulty=True)
    assert done.returncode == 1, done.stdout
    first = next(each for each in found["interruptions"] if each["difference"]["files"])
    assert first["line"]["resumed"] != first["line"]["whole"]


def test_readmes_picture_shows_what_is_found_in_the_example(toolnoise, tmp_path):
    (tmp_path / "examples").mkdir()
    program = "examples/forgets_its_order.py"
    (tmp_path / program).write_text((ROOT / program).read_text())
    options = ["--resume", "--checkpoint", "last.npz", "--output", "preds.npy"]
    done = toolnoise(tmp_path, "check", *options, "--", sys.executable, program)
    assert done.returncode == 1, done.stdout + done.stderr
    picture = html.unescape((ROOT / "docs/gallery/terminal.svg").read_text())
    shown = re.findall("<text .*?>(.*?)</text>", picture.partition(f"{program}</text>")[2])
    found = " ".join(done.stdout.split())
    assert len(shown) > 5
    assert [line for line in shown if line != "[...]" and " ".join(line.split()) not in found] == []
