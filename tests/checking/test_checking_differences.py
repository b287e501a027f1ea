"""Outcomes compared bit for bit, what their differences say of causes, and resumed runs held against whole ones."""

import ast
import json
import math
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base.program import ROOT
from toolnoise.base.times import is_time
from toolnoise.checking import (
    causes,
    diagnosis,
    differences,
    ignored_seeds,
    launch,
    program_checkpoints,
    reproducibility,
    resume,
)
from toolnoise.checking.diagnosis import Diagnosis
from toolnoise.checking.differences import Difference
from toolnoise.checking.outcome import EpochTable, Outcome
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.reproducibility import Checked

LABELS = np.array([0, 1, 2, 1])
WHOLE = Outcome(
    Path(),
    np.eye(3, dtype=np.float32)[LABELS],
    None,
    None,
    LABELS,
    {"a": np.zeros(2), "b": np.ones(3)},
    EpochTable(["epoch", "loss", "time"], [["0", "1", "7"], ["1", "0.5", "8"]]),
    {},
)


def between(**changes):
    return differences.between(WHOLE, WHOLE._replace(**changes))


def history(*rows):
    return EpochTable(["epoch", "loss", "time"], [list(row) for row in rows])


def test_equal_outcomes_differ_in_nothing_and_times_do_not_count():
    same = between(history=history("017", "1 9")._replace(rows=[["0", "1", "9"], ["1", "0.5", "9"]]))
    assert (same.files, same.changed, same.examples, same.largest) == ([], 0, 4, 0)
    assert (same.tensors, same.epoch, same.column, same.started_equal, same.reordered) == ([], None, None, True, False)
    assert differences.timed(WHOLE) == ["time of history.csv"]


@pytest.mark.parametrize(
    "column",
    [
        *("seconds", "epoch_time", "samples/s", "duration", "per_second_images", "train time (s)", "ms"),
        *("gpu_hours", "trainTimeMs", "minutes", "fps", "tokens_per_minute", "speedup", "mfu", "days", "usec"),
    ],
)
def test_columns_of_times_are_known_by_their_names(column):
    assert is_time(column)


@pytest.mark.parametrize(
    "column",
    [
        *("loss", "accuracy", "lr", "timestep_loss", "losses", "updates", "beta_2"),
        *("cohen's kappa", "spearman\u2019s rho", "time-series mse", "time_series_mse", "ms-ssim"),
        *("step_avg", "minimum", "daylight_error", "houraccuracy", "timesteps"),
    ],
)
def test_other_columns_are_compared(column):
    assert not is_time(column)


def test_one_bit_is_a_difference():
    logits = WHOLE.logits.copy()
    logits[0, 1] = -0.0
    found = between(logits=logits)
    assert (found.files, found.changed, found.largest) == (["logits.npy"], 0, 0)
    assert between(weights={"a": np.zeros(2), "b": np.ones(3) + 1e-16 * 3}).tensors == ["b"]
    assert between(weights={"a": np.zeros(2, np.float32), "b": np.ones(3)}).tensors == ["a"]


def test_differences_are_counted():
    logits = WHOLE.logits.copy()
    logits[0] = [0, 0, 3]
    found = between(logits=logits, weights={"a": np.zeros(2), "c": np.ones(3)}, groups={"odd": LABELS > 1})
    assert found.files == ["logits.npy", "weights", "groups.npz"]
    assert (found.changed, found.examples, found.largest) == (1, 4, 3)
    assert (found.tensors, found.n_tensors) == (["b", "c"], 3)


def test_the_first_epoch_and_column_are_found():
    assert between(history=history(["0", "2", "7"]))[8:11] == (0, "loss", False)
    assert between(history=history(["0", "1", "7"], ["1", "0.4", "8"]))[8:11] == (1, "loss", True)
    assert between(history=history(["0", "1", "7"]))[8:11] == (1, "epoch", True)
    assert between(history=None)[8:11] == (None, "epoch", None)
    assert between(history=EpochTable(["epoch", "mine"], []))[8:10] == (None, "loss")


def test_the_same_examples_in_another_order_are_known():
    order = [3, 0, 1, 2]
    assert between(logits=WHOLE.logits[order], labels=LABELS[order]).reordered
    assert not between(logits=WHOLE.logits[order] + 1, labels=LABELS[order]).reordered
    assert not between(logits=WHOLE.logits[order]).reordered


def test_metrics_and_values_are_compared():
    metric = WHOLE._replace(logits=None, labels=None, metric={"loss": 1.0, "f1": 0.5})
    found = differences.between(metric, metric._replace(metric={"loss": 2.0}))
    assert found.files == ["metric.json"]
    assert (found.metrics, found.examples) == ({"loss": (1.0, 2.0), "f1": (0.5, None)}, None)
    values = WHOLE._replace(logits=None, predictions=np.array([1.0, 2, 3, 4]))
    found = differences.between(values, values._replace(predictions=np.array([1.0, 2, 3, 6])))
    assert (found.files, found.changed, found.largest) == (["predictions.npy"], 1, 2)


def test_metrics_are_compared_to_the_last_bit():
    def files(value, other):
        bare = WHOLE._replace(printed={"gap": value})
        return differences.between(bare, bare._replace(printed={"gap": other})).files

    assert files(0.0, -0.0) == files(2**55, 2**55 + 1) == files(0.1, 0.1 + 2e-17) == ["gap"]
    assert files(math.nan, float("nan")) == files(12.0, 12.0) == []
    assert differences.both(2**55, 2**55 + 1) == "36028797018963968 and 36028797018963969"


def test_an_answer_that_is_no_number_twice_has_not_changed(tmp_path):
    np.save(tmp_path / "a.npy", np.array([np.nan, 1, 2]))
    np.save(tmp_path / "b.npy", np.array([np.nan, 1, 3]))
    one, other = (Outcome(tmp_path, files={"a.npy": tmp_path / name}) for name in ("a.npy", "b.npy"))
    found = differences.between(one, other)
    assert (found.changed, found.outputs) == (1, {"a.npy": "1 of 3 rows"})


@pytest.mark.parametrize(
    ("changes", "phase"),
    [
        ({"history": history(["0", "2", "7"])}, "start"),
        ({"history": history(["0", "1", "7"], ["1", "2", "8"])}, "training"),
        ({"logits": WHOLE.logits + 1}, "evaluation"),
        ({"logits": WHOLE.logits[::-1], "labels": LABELS[::-1]}, "order of examples"),
        ({"weights": None, "history": None, "logits": WHOLE.logits + 1}, None),
    ],
)
def test_the_outcome_shows_when_runs_parted(changes, phase):
    before = WHOLE._replace(weights=None, history=None) if phase is None else WHOLE
    assert diagnosis.phase(differences.between(before, WHOLE._replace(**changes))) == phase


def test_times_among_metrics_are_named_and_do_not_count():
    metric = WHOLE._replace(logits=None, labels=None, metric={"loss": 1.0, "train_runtime": 12.5})
    changed = differences.between(metric, metric._replace(metric={"loss": 1.0, "train_runtime": 12.75}))
    assert (changed.files, changed.metrics, changed.times) == ([], {}, {"train_runtime": (12.5, 12.75)})
    assert differences.timed(metric) == ["time of history.csv", "train_runtime of metric.json"]


def test_numbers_that_are_printed_are_named_alone():
    bare = WHOLE._replace(logits=None, labels=None, printed={"accuracy": 0.5})
    assert differences.between(bare, bare._replace(printed={"accuracy": 0.75})).files == ["accuracy"]


NO_DIFFERENCE = Difference([], 0, 4, 0.0, {}, {}, [], 0, None, None, None, False)
CHANGED = NO_DIFFERENCE._replace(
    files=["metric.json"], changed=None, examples=None, largest=None, metrics={"loss": (1, 2.5)}
)


def result(difference, seeds=(), why=None, left=("metric.json",)):
    ignored = [reproducibility.Ignored(source, "it has none", []) for source, changed in seeds if not changed.files]
    return Checked(["train"], list(left), [], [1.0, 1.0], difference, why, dict(seeds), ignored)


WHY = Diagnosis(
    None,
    [causes.place("entropy", "train.py", 3, "seed = uuid.uuid4()", "By experiment: it is so.")],
    [],
    [],
)


def test_a_proven_cause_follows_the_verdict_with_its_line_and_its_remedy():
    found = result(CHANGED, why=WHY)
    assert reproducibility.as_text(found).splitlines()[:7] == [
        "Not reproducible: two runs with equal seeds differ in metric.json.",
        "  loss: 1 and 2.5",
        "",
        "Proven:",
        "  train.py:3: seed = uuid.uuid4()",
        "    By experiment: it is so.",
        "    A value comes from the system's source of randomness, which has no seed: draw it from a generator with a "
        "seed.",
    ]
    values = json.loads(json.dumps(reproducibility.as_json(found)))
    assert values["difference"]["metrics"] == {"loss": [1, 2.5]}
    assert [(place["cause"], place["file"], place["line"]) for place in values["proven"]] == [
        ("entropy", "train.py", 3)
    ]
    assert not values["possible"]


class Scripted:
    """Runs with given metrics by name, and the names of those that were asked for."""

    def __init__(self, losses):
        self.losses, self.names, self.seconds, self.started = losses, [], [], 0

    def run(self, name, *_varying):
        self.names.append(name)
        return WHOLE._replace(metric={"loss": float(self.losses[name])})

    def names_of_outputs(self, _name):
        return []


@pytest.fixture
def checked_by(tmp_path, monkeypatch):
    """Check a program whose runs have these losses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)

    def start(text, words=("--seed", "{init}"), **losses):
        (tmp_path / "train.py").write_text(text)
        runs = Scripted({name.replace("_", "-"): loss for name, loss in losses.items()})
        monkeypatch.setattr(reproducibility, "TrialRuns", lambda *_: runs)
        asked = reproducibility.command(["python", "train.py", *words], "init", "", None)
        return reproducibility.check(asked, tmp_path), runs.names

    return start


def test_two_runs_that_are_equal_by_luck_are_told_by_a_third(checked_by, monkeypatch):
    monkeypatch.setattr(diagnosis, "diagnose", lambda *_: WHY)
    monkeypatch.setattr(ignored_seeds, "places", lambda *_: {"init": WHY.proven})
    found, names = checked_by("", control_1=1, control_2=1, control_3=3)
    assert names == ["control-1", "control-2", "control-3"]
    assert (found.reproducible, found.seeds, found.ignored, found.passed) == (False, {}, [], False)
    assert found.diagnosis is WHY
    found, names = checked_by("", control_1=1, control_2=1, control_3=1, init=2)
    assert found.passed and found.seeds["init"].files
    found, names = checked_by("", ["{init}"], control_1=1, control_2=1, control_3=1, init=1)
    assert [(row.why, row.places) for row in found.ignored] == [("another {init} changes nothing", WHY.proven)]
    assert "  train.py:3: seed = uuid.uuid4()" in reproducibility.as_text(found).splitlines()


def test_a_small_change_may_not_show_in_a_metric():
    found = result(NO_DIFFERENCE, [("init", CHANGED), ("shuffle", NO_DIFFERENCE)])
    lines = reproducibility.as_text(found).splitlines()
    assert [line.split("  ")[0] for line in lines[5:7]] == ["init", "shuffle"]
    assert "loss 1 and 2.5" in lines[5]
    assert lines[-2].startswith("shuffle is ignored: it has none. Leave it out of --sources")
    assert lines[-1] == "Without logits.npy or weights, a small change may not show."
    assert not found.passed
    assert reproducibility.as_json(found)["seeds"]["shuffle"]["counts"] is False


def test_the_python_that_a_command_finds_is_named(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = result(NO_DIFFERENCE)._replace(words=["python", "train.py"])
    assert reproducibility.as_text(found).splitlines()[-1] == f"python is {python}."
    assert reproducibility.as_json(found)["python"] == str(python)
    by_path = found._replace(words=[str(python), "train.py"])
    assert " is /" not in reproducibility.as_text(by_path)
    assert reproducibility.as_json(by_path)["python"] is None


@pytest.mark.parametrize(
    ("words", "sources"),
    [
        (["train", "{shuffle}", "{init}"], ("init", "shuffle")),
        (["train {dropout} {out}"], ("dropout",)),
        (["train", "{out}"], ("init", "shuffle", "augment", "dropout")),
        (["python", str(ROOT / "examples/smallcnn_digits.py")], ("init", "shuffle", "augment")),
        (["python", str(ROOT / "examples/lightning_digits.py")], ("init", "shuffle", "dropout")),
    ],
)
def test_declared_sources_are_those_of_the_command(words, sources):
    assert reproducibility.command(words, None, "", None).sources == sources
    assert reproducibility.command(words, "augment", "--exact yes", 2)[1:4] == (("augment",), 120, True)
    assert reproducibility.command(words, None, "--exact yes", None).words[-2:] == ["--exact", "yes"]


# A resumed run held against a whole one: where checkpoints lie, when they were written, what differs first


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
    assert program_checkpoints.places([source(text)]) == PLACES[text]


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
    found = resume.first_line(whole, resumed)
    assert (found and tuple(found)) == first


def test_a_stop_after_which_nothing_is_saved_tests_nothing():
    equal = Difference([], 0, 4, 0.0, *[None] * (len(Difference._fields) - 4))
    stop = resume.Interruption("SIGKILL", "its second save", equal, 1.0, kept=True)
    late = stop._replace(late=True)
    assert resume.Resumed([stop, late], []).passed
    assert not resume.Resumed([late, late], []).passed
    said = "\n".join(resume.as_text(resume.Resumed([late], []), None))
    assert "it was stopped too late to tell" in said


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
    "only at its ends": (HEAD + END, HEAD, HEAD + END, None),
    "alike lines": ("step 1\n" * 4, "step 1\n" * 2, "step 1\n" * 3, False),
    "bars anew": (BAR.format(1) * 4, BAR.format(2), BAR.format(3) * 4, True),
    "nothing": ("", "", "", None),
}


@pytest.mark.parametrize("case", GOES_ON)
def test_a_run_that_prints_all_again_has_started_anew(case):
    *logs, anew = GOES_ON[case]
    assert resume.printed_again(*logs) is anew


def test_a_run_that_started_anew_is_no_pass_and_is_named():
    equal = Difference([], 0, 4, 0.0, *[None] * (len(Difference._fields) - 4))
    anew = resume.Interruption("SIGKILL", "its second save", equal, 1.0, kept=True, anew=True)
    assert not resume.Resumed([anew, anew], []).passed
    assert resume.Resumed([anew, anew._replace(anew=False)], []).passed
    said = resume.as_text(resume.Resumed([anew, anew._replace(anew=None)], []), None)
    assert "it printed all from the start again: it seems to have started anew" in said[-2]
    assert "equal bit for bit, but nothing printed shows that it went on and did not start anew" in said[-1]


class Logs:
    """Runs of a program: the files of its checkpoint, and its lines, before and after a stop."""

    def __init__(self, place, files, lines):
        self.place, self.files, self.lines, self.seconds, self.log = place, files, lines, [1.0], ""

    def checkpoints(self, _name):
        return [self.place]

    def _launched(self, part):
        for name in self.files[part]:
            (self.place / name).write_text(f"{part}")
        self.log += self.lines[part]

    def stopped(self, _name, _stop):
        self._launched(0)
        return True

    def resumed(self, _name, _words):
        self._launched(1)
        return WHOLE

    def printed(self, name):
        return WHOLE_LOG if name == resume.KEPT else self.log


@pytest.mark.parametrize(
    ("files", "lines", "found"),
    [
        ((["last"], ["last"]), (HEAD + EPOCHS[0], "".join(EPOCHS[1:])), {"kept"}),
        ((["last"], []), (HEAD + "".join(EPOCHS), END), {"kept", "late"}),
        ((["last"], ["last"]), (HEAD + EPOCHS[0], WHOLE_LOG), {"kept", "anew"}),
        # An empty folder is no checkpoint.
        (([], ["last"]), (HEAD, WHOLE_LOG), set()),
    ],
)
def test_a_stop_at_any_moment_is_judged_by_what_is_saved_and_printed_after_it(files, lines, found, tmp_path):
    stop = launch.Stop(15, 0.5)
    one = resume._interrupted(Logs(tmp_path, files, lines), resume.Resume(["train"]), stop, 1.0, WHOLE)
    assert {name for name in ("kept", "late", "anew") if getattr(one, name)} == found
    assert one.counts == (found == {"kept"})
