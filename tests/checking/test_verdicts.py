"""Verdicts of `check`: which runs decide them, how they are put in words, and when a stop tests that a run resumes."""

import signal
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base.program import ROOT
from toolnoise.checking import diagnosis, launch, reproducibility, resume
from toolnoise.checking.diagnosis import Diagnosis
from toolnoise.checking.differences import Difference
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.reproducibility import Checked

EQUAL = Difference([], 0, 4, 0.0, {}, {}, [], 0, None, None)
CHANGED = EQUAL._replace(files=["metric.json"], changed=None, examples=None, largest=None, metrics={"loss": (1, 2.5)})
PLACE = diagnosis.place("entropy", "train.py", 3, "seed = uuid.uuid4()", "By experiment: it is so.")


def result(difference, seeds=(), why=None):
    ignored = [reproducibility.Ignored(source, "it has none", []) for source, changed in seeds if not changed.files]
    return Checked(["train"], ["metric.json"], [], [1.0, 1.0], difference, why, dict(seeds), ignored)


def test_a_small_change_may_not_show_in_a_metric():
    found = result(EQUAL, [("init", CHANGED), ("shuffle", EQUAL)])
    lines = reproducibility.as_text(found).splitlines()
    assert [line.split("  ")[0] for line in lines[5:7]] == ["init", "shuffle"]
    assert "loss 1 and 2.5" in lines[5]
    assert lines[-2].startswith("shuffle is ignored: it has none. Leave it out of --sources")
    assert lines[-1] == "Without logits.npy or weights, a small change may not show."
    assert not found.passed
    assert reproducibility.as_json(found)["seeds"]["shuffle"]["counts"] is False


class Scripted:
    """Runs with given metrics by name, and the names of those that were asked for."""

    def __init__(self, losses):
        self.losses, self.names, self.seconds, self.started = losses, [], [], 0

    def run(self, name, *_varying):
        self.names.append(name)
        return Outcome(Path(), metric={"loss": float(self.losses[name])})

    def names_of_outputs(self, _name):
        return []


@pytest.fixture
def checked_by(tmp_path, monkeypatch):
    """Check a program whose runs have these losses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(diagnosis, "diagnose", lambda *_: Diagnosis([PLACE], [], []))
    monkeypatch.setattr(diagnosis, "lost_seeds", lambda *_: {"init": [PLACE]})

    def start(*losses, words=("--seed", "{init}")):
        (tmp_path / "train.py").write_text("")
        runs = Scripted(dict(zip(("control-1", "control-2", "control-3", "init"), losses, strict=False)))
        monkeypatch.setattr(reproducibility, "TrialRuns", lambda *_: runs)
        asked = reproducibility.command(["python", "train.py", *words], "init", "", None)
        return reproducibility.check(asked, tmp_path), runs.names

    return start


def test_two_runs_that_are_equal_by_luck_are_told_by_a_third(checked_by):
    found, names = checked_by(1, 1, 3)
    assert names == ["control-1", "control-2", "control-3"]
    assert (found.reproducible, found.seeds, found.ignored, found.passed) == (False, {}, [], False)
    assert found.diagnosis.proven == [PLACE]
    found, names = checked_by(1, 1, 1, 2)
    assert found.passed and found.seeds["init"].files
    found, names = checked_by(1, 1, 1, 1, words=["{init}"])
    assert [(row.why, row.places) for row in found.ignored] == [("another {init} changes nothing", [PLACE])]
    assert "  train.py:3: seed = uuid.uuid4()" in reproducibility.as_text(found).splitlines()


@pytest.mark.parametrize(
    ("words", "sources"),
    [
        (["train", "{shuffle}", "{init}"], ("init", "shuffle")),
        (["train {dropout} {out}"], ("dropout",)),
        (["train", "{out}"], ("init", "shuffle", "augment", "dropout")),
        (["python", str(ROOT / "examples/smallcnn_digits.py")], ("init", "shuffle", "augment")),
    ],
)
def test_declared_sources_are_those_of_the_command(words, sources):
    assert reproducibility.command(words, None, "", None).sources == sources
    assert reproducibility.command(words, "augment", "--exact yes", 2)[1:4] == (("augment",), 120, True)
    assert reproducibility.command(words, None, "--exact yes", None).words[-2:] == ["--exact", "yes"]


# A run that is stopped and goes on


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
