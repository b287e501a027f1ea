"""How a resumed run is held against a whole one: where checkpoints lie, when they were written, what differs first."""

import ast
import os
import sys

import numpy as np
import pytest

from toolnoise.checking import first_difference, omissions, resume, saves, state_paths
from toolnoise.checking.differences import Difference
from toolnoise.checking.program_text import SourceFile

LIGHTNING = "import pytorch_lightning as pl\nfrom pytorch_lightning.callbacks import ModelCheckpoint\n"
PLACES = {
    LIGHTNING + "pl.Trainer(callbacks=[ModelCheckpoint(dirpath='kept')])": ["kept"],
    LIGHTNING + "pl.Trainer(callbacks=[ModelCheckpoint(save_last=True)])": ["lightning_logs"],
    LIGHTNING + "pl.Trainer(default_root_dir='out', logger=False)": ["out/checkpoints"],
    "from transformers import TrainingArguments\nOUT = 'out'\nTrainingArguments(OUT)": ["out"],
    "import keras\nkeras.callbacks.BackupAndRestore(backup_dir='kept')": ["kept"],
    "import keras\nkeras.callbacks.ModelCheckpoint('kept/{epoch}.keras')": ["kept"],
    "import os\nimport orbax.checkpoint as ocp\nocp.CheckpointManager(os.path.abspath('kept'))": ["kept"],
    # Nothing is guessed from a part of a name.
    "import keras\nkeras.callbacks.BackupAndRestore(os.environ['ROOT'] + '/kept')": [],
    "import keras\nkeras.callbacks.BackupAndRestore(os.path.join(root, 'kept'))": [],
    "import sklearn\nTrainer()": [],
}


def source(text):
    return SourceFile("train.py", text.splitlines(), ast.parse(text))


@pytest.mark.parametrize("text", PLACES)
def test_the_place_of_checkpoints_is_read_from_the_text(text):
    assert saves.places([source(text)]) == PLACES[text]


def test_a_save_is_over_when_two_looks_see_the_same(tmp_path):
    kept = saves.Saves([tmp_path / "kept", tmp_path / "one.pt"])
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


LINES = {
    "equal": ("epoch 1 loss 0.5\nepoch 2 loss 0.4", "epoch 2 loss 0.4", None),
    "first of two": (
        "epoch 1 loss 0.5\nepoch 2 loss 0.4\nepoch 3 loss 0.3",
        "epoch 2 loss 0.41\nepoch 3 loss 0.31",
        ("epoch 2 loss 0.41", "epoch 2 loss 0.4"),
    ),
    # Keras's lines are alike but for their numbers.
    "from the end": (
        "10/10 - 1s - 66ms/step - loss: 2.0\n10/10 - 0s - 2ms/step - loss: 1.0\n10/10 - 0s - 2ms/step - loss: 0.5",
        "10/10 - 2s - 98ms/step - loss: 1.0\n10/10 - 1s - 3ms/step - loss: 0.6",
        ("10/10 - 1s - 3ms/step - loss: 0.6", "10/10 - 0s - 2ms/step - loss: 0.5"),
    ),
    "times": (
        "{'loss': '0.5', 'epoch': '1'}\n{'train_runtime': '0.51', 'train_loss': '0.5'}",
        "{'train_runtime': '0.62', 'train_loss': '0.5'}",
        None,
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_the_first_printed_line_that_differs(case):
    whole, resumed, first = LINES[case]
    found = first_difference.line(whole, resumed)
    assert (found and tuple(found)) == first


def test_keys_that_differ_are_paths():
    state = {"net": {"a": np.zeros(2), "b": np.float32(1)}, "steps": [1, {"n": 2.0}], "gone": None}
    other = {"net": {"a": np.array([0.0, -0.0]), "b": np.float32(1)}, "steps": [1, {"n": 3.0}], "new": 1}
    assert state_paths.unequal(state, state) == []
    assert state_paths.unequal(state, other) == ["net/a", "steps/1/n", "new"]


def test_the_first_checkpoint_that_differs_is_told_by_groups(tmp_path, skip_without):
    skip_without("torch")
    import torch

    for place, moment in (("whole", 1.0), ("resumed", 2.0)):
        for step in (10, 20, 30):
            folder = tmp_path / place / f"checkpoint-{step}"
            folder.mkdir(parents=True)
            np.savez(folder / "model.npz", a=np.array(step))
            changed = moment if step > 10 else 0.0
            torch.save({"state": {0: {"exp_avg": torch.tensor([changed])}}}, folder / "optimizer.pt")
            torch.save(
                {"numpy": np.random.default_rng(step).random(3), "cpu": torch.zeros(3)}, folder / "rng_state.pth"
            )
            for file in folder.iterdir():
                os.utime(file, (step, step))
    pairs = [(tmp_path / "whole", tmp_path / "resumed")]
    assert first_difference.states(pairs, 0, sys.executable) == (
        "resumed/checkpoint-20",
        {"optimiser": ["state/0/exp_avg"]},
    )
    # What was there before the program went on is not its own.
    assert first_difference.states(pairs, 25, sys.executable).checkpoint == "resumed/checkpoint-30"


def test_no_code_of_a_checkpoint_runs(tmp_path, skip_without):
    skip_without("torch")
    import torch

    class Hostile:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    for name in ("a.pt", "b.pt"):
        torch.save({"net": torch.tensor([ord(name[0])]), "more": Hostile()}, tmp_path / name)
    assert first_difference.states([(tmp_path / "a.pt", tmp_path / "b.pt")], 0, sys.executable) is None
    assert not (tmp_path / "ran").exists()


def test_what_a_framework_saves_is_not_missed_and_what_it_leaves_out_is():
    text = (
        "import torch\nfrom torch.utils.data import DataLoader\nimport pytorch_lightning as pl\n"
        "class Net(pl.LightningModule):\n    def configure_optimizers(self):\n"
        "        optimiser = torch.optim.Adam(self.parameters())\n        return optimiser\n"
        "loader = DataLoader(data, sampler=sampler, num_workers=2)\npl.Trainer().fit(Net(), loader)\n"
    )
    assert [lost.what for lost in omissions.omissions([source(text)])] == ["the sampler's epoch"]
    assert omissions.omissions([source(text.replace("num_workers=2", "num_workers=0"))]) == []
    text = (
        "import torch\nfrom transformers import Trainer, TrainingArguments\nlayer = torch.nn.Dropout(0.1)\n"
        "Trainer(net, TrainingArguments('out', save_only_model=True))\n"
    )
    lost = [lost.what for lost in omissions.omissions([source(text)])]
    assert lost == ["the optimiser, the scheduler and the states of the generators"]
    assert omissions.omissions([source(text.replace("True", "False"))]) == []
    text = "import keras\nkeras.layers.Dropout(0.2)\nkeras.callbacks.BackupAndRestore('kept')\n"
    lost = [lost.what for lost in omissions.omissions([source(text)])]
    assert lost == ["the state of the generator that dropout draws from"]
    assert omissions.omissions([source(text.replace("0.2", "0"))]) == []


def test_a_stop_after_which_nothing_is_saved_tests_nothing():
    equal = Difference([], 0, 4, 0.0, *[None] * (len(Difference._fields) - 4))
    stop = resume.Interruption("SIGKILL", "its second save", equal, 1.0, kept=True)
    late = stop._replace(late=True)
    assert resume.Resumed([stop, late], []).passed
    assert not resume.Resumed([late, late], []).passed
    said = "\n".join(resume.as_text(resume.Resumed([late], []), None))
    assert "it was stopped too late to tell" in said
