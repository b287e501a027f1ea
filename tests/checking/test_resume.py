"""What a checkpoint lacks changes the end and is named first, with its line; one that lacks nothing passes."""

import html
import json
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base.program import ROOT
from toolnoise.checking import launch, resume
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.trial_runs import TrialRuns, parse_wanted

# Each program keeps all that it needs. A line that ends with "# made" is the one to name once a state is forgotten.
METHODS = """
import os

import numpy as np


class Trainer:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.rng = rng  # made
        self.weights = np.zeros(6)
        self.epoch = 0

    def state(self):
        return {"weights": self.weights, "epoch": self.epoch, "rng": self.rng.bit_generator.state}

    def restore(self, path):
        last = np.load(path, allow_pickle=True)["state"].item()
        self.weights, self.epoch = last["weights"], last["epoch"]
        self.rng.bit_generator.state = last["rng"]

    def fit(self, x, y, epochs):
        while self.epoch < epochs:
            for rows in np.array_split(self.rng.permutation(len(x)), 10):
                self.weights += 0.1 * x[rows].T @ (y[rows] - x[rows] @ self.weights) / len(rows)
            self.epoch += 1
            np.savez("last.npz", state=np.array(self.state(), dtype=object))


if __name__ == "__main__":
    data = np.random.default_rng(7)
    x, y = data.normal(size=(100, 6)), data.normal(size=100)
    trainer = Trainer(1)
    if os.path.exists("last.npz"):
        trainer.restore("last.npz")
    trainer.fit(x, y, 5)
    np.save("preds.npy", x @ trainer.weights)
"""
FUNCTIONS = """
import os
import pickle

import numpy as np


def gradient(weights, x, y):
    error = x @ weights["kernel"] + weights["bias"] - y
    return {"kernel": x.T @ error / len(y), "bias": error.mean()}


def load(weights, velocity, shadow):
    if not os.path.exists("last.npz"):
        return 0, -1, 0.1
    with open("last.npz", "rb") as file:
        last = pickle.load(file)
    weights.update(last["weights"])
    velocity.update(last["velocity"])
    shadow.update(last["shadow"])
    return last["epoch"], last["batch"], last["rate"]


def main():
    data = np.random.default_rng(7)
    x, y = data.normal(size=(96, 6)), data.normal(size=96)
    weights = {"kernel": np.zeros(6), "bias": 0.0}
    velocity = {name: 0 * value for name, value in weights.items()}  # made: velocity
    shadow = {name: value + 0 for name, value in weights.items()}  # made: shadow
    first, done, rate = load(weights, velocity, shadow)  # made: rate
    for epoch in range(first, 5):
        order = np.random.default_rng(epoch).permutation(len(x))
        for batch, rows in enumerate(np.array_split(order, 8)):  # made: batch
            if epoch == first and batch <= done:
                continue
            for name, slope in gradient(weights, x[rows], y[rows]).items():
                velocity[name] = 0.9 * velocity[name] + slope
                weights[name] = weights[name] - rate * velocity[name]
                shadow[name] = 0.99 * shadow[name] + 0.01 * weights[name]
            rate *= 0.98
            if batch == 4:
                last = {"weights": weights, "velocity": velocity, "shadow": shadow, "rate": rate}
                with open("last.new", "wb") as file:
                    pickle.dump(last | {"epoch": epoch, "batch": batch}, file)
                os.replace("last.new", "last.npz")
    np.save("preds.npy", x @ shadow["kernel"] + shadow["bias"])


main()
"""
TORCH = """
import os

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(3)
x = torch.randn(64, 5)
y = x.sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.3), nn.Linear(8, 1))
adam = torch.optim.Adam(net.parameters(), 0.01)  # made: adam
schedule = torch.optim.lr_scheduler.StepLR(adam, 2)  # made: schedule
average = torch.optim.swa_utils.AveragedModel(net)  # made: average
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)  # made: scaler
first = 0
if os.path.exists("last.npz"):
    last = torch.load("last.npz", weights_only=False)
    for part, state in zip((net, adam, schedule, average, scaler), last["states"]):
        part.load_state_dict(state)
    torch.set_rng_state(last["generator"])
    first = last["epoch"] + 1
for epoch in range(first, 6):
    for a, b in zip(x.split(16), y.split(16)):
        adam.zero_grad()
        scaler.scale(nn.functional.mse_loss(net(a), b)).backward()  # made: dropout
        scaler.step(adam)
        scaler.update()
    average.update_parameters(net)
    schedule.step()
    states = [part.state_dict() for part in (net, adam, schedule, average, scaler)]
    torch.save({"states": states, "generator": torch.get_rng_state(), "epoch": epoch}, "last.npz")
torch.save(average.state_dict(), "preds.npy")
"""
KERAS = """
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
from sklearn.datasets import load_digits

keras.utils.set_random_seed(1)
images, labels = load_digits(return_X_y=True)
images, labels = (images[:320] / 16).astype("float32"), labels[:320]
net = keras.Sequential(
    [keras.Input((64,)), keras.layers.Dense(32, "relu"), keras.layers.Dropout(0), keras.layers.Dense(10)]
)
net.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
net.fit(images, labels, 32, 8, verbose=2, callbacks=[keras.callbacks.BackupAndRestore("kept")])
np.save("preds.npy", net.predict(images, verbose=0))
"""
# What is left out of each program, what is then named first, and the mark of the line.
PLANTED = {
    "generator of NumPy": (
        METHODS,
        ('        self.rng.bit_generator.state = last["rng"]\n', ""),
        "the state of the generator trainer.rng",
        "made",
    ),
    "hand-written momentum": (FUNCTIONS, ('    velocity.update(last["velocity"])\n', ""), "velocity", "made: velocity"),
    "hand-written average": (FUNCTIONS, ('    shadow.update(last["shadow"])\n', ""), "shadow", "made: shadow"),
    "learning rate": (FUNCTIONS, ('last["batch"], last["rate"]', 'last["batch"], 0.1'), "rate", "made: rate"),
    "place in the epoch": (
        FUNCTIONS,
        ('last["epoch"], last["batch"]', 'last["epoch"], -1'),
        "the position of batch",
        "made: batch",
    ),
}


NOTHING = [], "at the first step after the save, everything that its variables lead to is equal"


@pytest.fixture
def forgotten(tmp_path, monkeypatch):
    """What is forgotten by a program whose checkpoint is last.npz."""
    monkeypatch.chdir(tmp_path)

    def observe(text, checkpoint="last.npz", stop_at=None):
        Path("train.py").write_text(text)
        words = [sys.executable, "-W", "ignore", "train.py"]
        asked = parse_wanted(["preds.npy"], [], [checkpoint])
        runs = TrialRuns(words, 600, asked, tmp_path / f"runs-{len(list(tmp_path.iterdir()))}")
        try:
            return resume.forgotten_objects(runs, words, stop_at)
        finally:
            asked.forget()

    return observe


def planted(name):
    """The text of a program that forgets, what is named, and its line."""
    text, (before, after), named, mark = PLANTED[name]
    assert text.count(before) == 1
    text = text.replace(before, after)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if re.search(rf"# {mark}$", line)]
    assert len(lines) == 1
    return text, named, lines[0]


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_forgotten_is_named_first_with_its_line(name, forgotten):
    text, named, line = planted(name)
    omissions, _ = forgotten(text)
    assert named in omissions[0].what
    assert (omissions[0].file, omissions[0].line) == ("train.py", line)


@pytest.mark.parametrize("text", [METHODS, FUNCTIONS], ids=["methods", "functions"])
def test_nothing_is_named_in_a_program_that_keeps_all(text, forgotten):
    assert forgotten(text) == NOTHING


def test_each_state_of_pytorch_that_is_forgotten_is_named_by_its_kind(forgotten, skip_without):
    skip_without("torch")
    # Until its first step, a scaler has no state to compare.
    unscaled = TORCH.replace("scaler.scale(", "(").replace("scaler.step(adam)", "adam.step()")
    assert forgotten(unscaled.replace("scaler.update()", "None")) == NOTHING
    text = TORCH.replace("zip((net, adam, schedule, average, scaler), ", "zip((net,), ")
    text = text.replace('    torch.set_rng_state(last["generator"])\n', "")
    omissions, _ = forgotten(text)
    lines = {line.partition("# made: ")[2]: number for number, line in enumerate(text.splitlines(), 1)}
    assert [(lost.what.partition(" (")[0], lost.line) for lost in omissions] == [
        ("the state of the generator of PyTorch", lines["dropout"]),
        ("the optimiser adam", lines["adam"]),
        ("the scheduler of the learning rate schedule", lines["schedule"]),
        ("the scaler of the loss scaler", lines["scaler"]),
        ("the average of the weights average", lines["average"]),
    ]


def test_keras_forgets_the_generators_of_its_dropout_layers(forgotten, skip_without):
    skip_without("keras")
    omissions, _ = forgotten(KERAS.replace("Dropout(0)", "Dropout(0.2)"), "kept")
    assert [lost.what for lost in omissions] == ["the state of the generator net.dropout.seed_generator"]
    assert omissions[0].code == "net = keras.Sequential("
    assert forgotten(KERAS, "kept") == NOTHING


# `check --resume`


@pytest.mark.long
def test_a_program_that_keeps_all_goes_on_to_the_same_bits(toolnoise, tmp_path):
    text = FUNCTIONS.replace('"last.npz"', 'os.environ["TOOLNOISE_CHECKPOINT"] + "/last.npz"')
    text = text.replace("            rate *= 0.98\n", "            rate *= 0.98\n            time.sleep(0.05)\n")
    text = text.replace(
        "    for epoch in range(first, 5):", "    for epoch in range(first, 5):\n        print('epoch', epoch)"
    )
    (tmp_path / "train.py").write_text(f"import time\n{text}")
    options = ["--sources", "", "--output", "preds.npy", "--resume", "--stop-at", "epoch 2", "--json"]
    done = toolnoise(tmp_path, "check", *options, "--", sys.executable, "-u", "train.py")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)["resumed"]
    assert found["omissions"] == []
    assert [each["signal"] for each in found["interruptions"]] == ["SIGTERM", "SIGKILL"]
    assert [each["difference"]["files"] for each in found["interruptions"]] == [[], []]
    assert all(each["kept"] and not each["anew"] for each in found["interruptions"])


@pytest.mark.long
def test_a_clean_trainer_goes_on_to_the_same_bits_and_a_faulty_one_does_not(toolnoise, tmp_path, skip_without):
    skip_without("pytorch_lightning")
    text = (Path(__file__).parent / "drivers/lightning_loop.py").read_text()
    assert text.count("num_workers=0") == 1

    def resumed(text):
        (tmp_path / "train.py").write_text(text)
        options = ["--sources", "", "--output", "preds.npy", "--resume", "--checkpoint", "kept", "--json"]
        done = toolnoise(tmp_path, "check", *options, "--", sys.executable, "-W", "ignore", "train.py")
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)["resumed"]["interruptions"]

    code, found = resumed(text)
    assert code == 0
    assert [each["difference"]["files"] for each in found] == [[], []]
    assert all(each["kept"] for each in found)
    code, found = resumed(text.replace("num_workers=0", "num_workers=1"))
    assert code == 1
    assert any(each["difference"]["files"] for each in found)


@pytest.mark.long
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


# When a stop tests that a run goes on


def test_a_save_is_over_when_two_looks_see_the_same(tmp_path):
    kept = launch.Saves([tmp_path / "kept", tmp_path / "one.pt"])
    assert kept.times() == []
    (tmp_path / "kept/1").mkdir(parents=True)
    (tmp_path / "kept/1/model").write_text("half")
    assert kept.times() == []
    (tmp_path / "kept/1/model").write_text("the whole")
    assert kept.times() == []
    assert len(kept.times()) == len(kept.times()) == 1
    # One that goes is none that comes.
    (tmp_path / "kept/1/model").unlink()
    assert len([kept.times(), kept.times()][-1]) == 1
    (tmp_path / "one.pt").write_text("another")
    assert len([kept.times(), kept.times()][-1]) == 2


EPOCHS = [
    f"{hour}:00:00,123 epoch {epoch} loss {1 / (1 + epoch)}\n" for hour, epoch in zip("4567", range(4), strict=True)
]
HEAD, END = "seed 1\n----\n", "----\naccuracy 0.5\n"
BAR = "\r 50%|# | 1/2 [00:0{0}<00:01, 9.{0}it/s]\r100%|##| 2/2 [00:0{0}<00:00, 9.{0}it/s]\n"
WHOLE_LOG = HEAD + "".join(EPOCHS) + END
# What was printed before the stop, and after it; whether that began anew.
GOES_ON = {
    "anew": (WHOLE_LOG, HEAD + EPOCHS[0], "no such key\n" + WHOLE_LOG.replace(":00:00", ":00:01"), True),
    "from the second": (WHOLE_LOG, HEAD + "".join(EPOCHS[:2]), HEAD + "".join(EPOCHS[1:]) + END, False),
    "nothing before": (WHOLE_LOG, HEAD, WHOLE_LOG, None),
    "stopped after training": (WHOLE_LOG, HEAD + "".join(EPOCHS), HEAD + END, None),
    "alike lines": ("step 1\n" * 4, "step 1\n" * 2, "step 1\n" * 3, False),
    "bars anew": (BAR.format(1) * 4, BAR.format(2), BAR.format(3) * 4, True),
}


@pytest.mark.parametrize("case", GOES_ON)
def test_a_run_that_prints_all_again_has_started_anew(case):
    *logs, anew = GOES_ON[case]
    assert resume.printed_again(*logs) is anew


class Logs:
    """Runs of a program: the files of its checkpoint, and its lines, before and after a stop."""

    def __init__(self, place, files, lines):
        self.place, self.files, self.lines, self.seconds, self.log = place, files, lines, [1.0], ""

    def checkpoints(self, _name):
        return [self.place]

    def _leaves(self, part):
        for name in self.files[part]:
            (self.place / name).write_text(f"{part}")
        self.log += self.lines[part]

    def execute(self, _name, stop):
        self._leaves(0)
        return stop.signal

    def run(self, _name, words, goes_on):
        assert words and goes_on
        self._leaves(1)
        return Outcome(self.place, np.zeros((2, 2), np.float32), labels=np.zeros(2))

    def printed(self, name):
        return WHOLE_LOG if name == resume.KEPT else self.log


@pytest.mark.parametrize(
    ("files", "lines", "found", "says"),
    [
        ((["last"], ["last"]), (HEAD + EPOCHS[0], "".join(EPOCHS[1:])), {"kept"}, "equal bit for bit"),
        ((["last"], []), (HEAD + "".join(EPOCHS), END), {"kept", "late"}, "equal, but it saved no more"),
        ((["last"], ["last"]), (HEAD + EPOCHS[0], WHOLE_LOG), {"kept", "anew"}, "it seems to have started anew"),
        # An empty folder is no checkpoint.
        (([], ["last"]), (HEAD, WHOLE_LOG), set(), "equal, but without a checkpoint"),
    ],
)
def test_a_stop_at_any_moment_is_judged_by_what_is_saved_and_printed_after_it(files, lines, found, says, tmp_path):
    runs = Logs(tmp_path, files, lines)
    whole = Outcome(tmp_path, np.zeros((2, 2), np.float32), labels=np.zeros(2))
    one = resume._interrupted(runs, resume.Resume(["train"]), launch.Stop(signal.SIGTERM, 0.5), 1.0, whole)
    assert {name for name in ("kept", "late", "anew") if getattr(one, name)} == found
    resumed = resume.Resumed([one], [])
    assert resumed.passed == (found == {"kept"})
    assert says in "\n".join(resume.as_text(resumed, None))
