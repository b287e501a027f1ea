"""Verdicts of `check`: which runs decide them, in what words, and on other ways to run that should not matter."""

import sys
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base.program import ROOT
from toolnoise.checking import diagnosis, other_settings, reproducibility, trial_runs
from toolnoise.checking.diagnosis import Diagnosis
from toolnoise.checking.differences import Difference
from toolnoise.checking.other_settings import DRAWS, EQUAL, OTHER, ROUNDING, UNDECIDED
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.reproducibility import Checked

# The sum of parts in the order of WAY, and a draw. With WAY=other one part is lost, with WAY=far the draw is larger.
PROGRAM = """
import os, sys, time
import numpy as np
kind = np.float64 if "--double" in sys.argv else np.float32
parts = np.random.default_rng(1).normal(size=(6, 999)).astype(kind)
way = os.environ.get("WAY", "as it is")
if way == "order":
    parts = parts[:, ::-1]
if way == "other":
    parts = parts[:, :-1]
total = np.zeros(6, kind)
for column in parts.T:
    total += column * kind(1.1)
if way == "mirrored":
    total = -total
if way == "clock":
    total += kind(time.time_ns() % 1000) / 1000
if "--no-draws" not in sys.argv:
    drawn = np.random.default_rng([int(os.environ["TOOLNOISE_SEED_DROPOUT"]), way in ("drawn", "far")])
    total += drawn.normal(size=6).astype(kind) * (9 if way == "far" else 1)
np.save("preds.npy", np.outer(total, [1, 2, 3]).astype(kind))
print("seconds", 1000 * time.time())
"""
WORDS = [sys.executable, "train.py"]


@pytest.fixture(autouse=True)
def at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial_runs, "PAUSE", 0)


@pytest.fixture
def checked(tmp_path):
    """Check a program in other ways, which are given by their texts or as they are."""

    def start(*varied, text=PROGRAM, higher="--double", without_draws="", seeds="", metrics=(), asked=None):
        (tmp_path / "train.py").write_text(text)
        command = reproducibility.parse_command(WORDS, seeds, "", None, trial_runs.parse_wanted(["preds.npy"], metrics))
        asked = asked or other_settings.ways_asked_for(WORDS, varied, [], higher, without_draws)
        return reproducibility.check(command._replace(asked=asked), tmp_path / "runs")

    return start


def test_a_way_is_equal_rounding_or_another_program(checked):
    found = checked("none: WAY=none", "order: WAY=order", "other: WAY=other")
    assert [(each.name, each.verdict) for each in found.breaks] == [
        ("none", EQUAL),
        ("order", ROUNDING),
        ("other", OTHER),
    ]
    assert found.breaks[1].double < 1e-6 * found.breaks[1].single
    assert found.breaks[2].difference.examples == 6
    assert not found.passed
    text = reproducibility.as_text(found)
    assert "other makes another program:\n" in text
    assert "order makes" not in text
    assert [each.again for each in found.breaks] == [None, True, True]
    assert "run again" in text
    assert [each["verdict"] for each in reproducibility.as_json(found)["other_ways"]] == [EQUAL, ROUNDING, OTHER]


LOGITS = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
LABELS = np.array([0, 1, 1])
ONE = Outcome(Path(), LOGITS, labels=LABELS, weights={"w": LOGITS})
# What the other run has in single precision and in double precision.
VERDICTS = {
    "floats": ({"logits": LOGITS + 1e-4}, {"logits": LOGITS.astype(float) + 1e-12}, ROUNDING),
    "float that stays": ({"logits": LOGITS + 1e-4}, {"logits": LOGITS.astype(float) + 1e-4}, OTHER),
    "integers of one run": ({"logits": LOGITS + 1e-4, "labels": LABELS[::-1]}, {}, ROUNDING),
    "integers that stay": ({"logits": LOGITS + 1e-4, "labels": LABELS[::-1]}, {"labels": LABELS[::-1]}, OTHER),
    "shape": ({"logits": LOGITS + 1e-4, "weights": {"w": LOGITS[:2]}}, {}, OTHER),
    "shape, more precise": ({"logits": LOGITS + 1e-4}, {"weights": {"w": LOGITS[:2]}}, OTHER),
    "type": ({"logits": LOGITS + 1e-4, "weights": {"w": LOGITS.astype(float)}}, {}, OTHER),
    "name": ({"logits": LOGITS + 1e-4}, {"weights": {"module.w": LOGITS}}, UNDECIDED),
    "NaNs in one": ({"logits": LOGITS + 1e-4, "weights": {"w": LOGITS * np.nan}}, {}, UNDECIDED),
    "only integers": ({"labels": LABELS[::-1]}, {"labels": LABELS[::-1]}, OTHER),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_rounding_changes_floats_alone_and_shrinks(case):
    changed, precise, verdict = VERDICTS[case]
    exact = ONE._replace(logits=LOGITS.astype(float))
    single = other_settings.gap_between(ONE, ONE._replace(**changed))
    assert (
        other_settings.verdict_on_precision(single, other_settings.gap_between(exact, exact._replace(**precise)))
        == verdict
    )
    assert other_settings.verdict_on_precision(single, None) == (OTHER if single.reshaped else UNDECIDED)


def test_files_whose_numbers_are_not_read_are_no_rounding(tmp_path):
    for place, change in (("a", 0), ("b", 1e-4)):
        (tmp_path / place).mkdir()
        np.save(tmp_path / place / "words.npy", np.array(["cat", "dog"]))
        np.save(tmp_path / place / "objects.npy", np.array([{"loss": 1}]), allow_pickle=True)
        np.savez(tmp_path / place / "values.npz", x=LOGITS + np.float32(change))
        (tmp_path / place / "a.csv").write_text(f"1,{change}")
    names = ("words.npy", "objects.npy", "values.npz", "a.csv")
    one, other = (Outcome(tmp_path, files={f"out/{name}": tmp_path / at / name for name in names}) for at in "ab")
    assert other_settings.gap_between(one, one) == (0, {}, [], [])
    gap = other_settings.gap_between(one, other)
    assert gap.unread == ["out/a.csv"]
    assert gap.largest == pytest.approx(1e-4, rel=1e-3)
    assert other_settings.verdict_on_precision(gap, gap._replace(largest=1e-12)) == UNDECIDED
    assert other_settings._left(gap, ["--double"]) == "with --double, these differ, too: out/a.csv"


# Results are gathered worker by worker, and with three workers only those of the first are written.
GATHERED = """
import sys
import numpy as np
kind = "f8" if "--double" in sys.argv else "f4"
workers = int(sys.argv[sys.argv.index("--workers") + 1]) if "--workers" in sys.argv else 1
x = np.random.default_rng(1).normal(size=(600, 5)).astype(kind)
parts = [x[worker::workers] for worker in range(workers)]
if workers == 3:
    parts = parts[:1]
np.save("preds.npy", np.concatenate(parts).argmax(1))
print("loss", repr(float(sum(part.sum(dtype=kind) for part in [x[worker::workers] for worker in range(workers)]))))
"""


def test_results_in_another_order_or_only_some_of_them_are_another_program(checked):
    found = checked("two: --workers 2", "three: --workers 3", text=GATHERED, metrics=["loss ([-0-9.e]+)"])
    assert [each.verdict for each in found.breaks] == [OTHER, OTHER]
    assert found.breaks[0].double < 1e-6 * found.breaks[0].single
    text = reproducibility.as_text(found)
    assert "two: with --double, these differ, too: preds.npy." in text
    assert "three: another shape or type: preds.npy." in text


def test_a_time_that_differs_makes_no_other_program(checked):
    found = checked("order: WAY=order", metrics=["seconds ([0-9.]+)"])
    assert [each.verdict for each in found.breaks] == [ROUNDING]
    assert found.difference.times.keys() == {"seconds"}


def test_without_higher_precision_a_difference_is_undecided_and_passes_if_it_changes_no_answer(checked):
    found = checked("order: WAY=order", higher="")
    assert [(each.verdict, each.difference.changed) for each in found.breaks] == [(UNDECIDED, 0)]
    assert found.passed
    assert reproducibility.as_text(found).endswith("a difference may be rounding or not.")


def test_an_undecided_difference_that_changes_answers_fails(checked):
    found = checked("mirrored: WAY=mirrored", higher="")
    assert [(each.verdict, each.passed) for each in found.breaks] == [(UNDECIDED, False)]
    assert "mirrored may make another program:\n  preds.npy: 6 of 6 rows" in reproducibility.as_text(found)


def test_ways_are_variables_first_and_words_after_them():
    (way,) = other_settings.ways_asked_for(
        ["python", "a.py"], ["many threads: A=1 B='2 3' --workers 4 C=5"], [], "", ""
    ).ways
    assert way == ("many threads", ["python", "a.py", "--workers", "4", "C=5"], {"A": "1", "B": "2 3"}, None)


def test_numbers_of_processes_start_the_program_by_torchrun():
    start = ["python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    (way,) = other_settings.ways_asked_for(
        ["python", "a.py", "-v"], [], other_settings.numbers_of_processes("1,4"), "", ""
    ).ways
    assert way == ("world 4", [*start, "4", "a.py", "-v"], {}, None)
    assert other_settings.torchrun_command(["python", "a.py"], "1") == [*start, "1", "a.py"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: other_settings.numbers_of_processes("1,two"), "found 'two'; numbers of processes, such as 1,2,4"),
        (lambda: other_settings.torchrun_command(["sh", "a"], "2"), "found the program 'sh'; python SCRIPT ..."),
        (
            lambda: other_settings.ways_asked_for(["a"], ["threads"], [], "", ""),
            "NAME: VARIABLE=VALUE, or NAME: --option",
        ),
        (lambda: other_settings.ways_asked_for(["a"], ["t: A=1", "t: A=2"], [], "", ""), "found 't' twice"),
    ],
)
def test_ways_are_read_strictly(call, said, refused):
    assert said in refused(call)


def test_a_way_is_run_again_where_its_bits_are_other_ones(checked):
    found = checked("clock: WAY=clock", higher="")
    assert [(each.verdict, each.again) for each in found.breaks] == [(UNDECIDED, False)]
    assert reproducibility.as_json(found)["other_ways"][0]["again"] is False


def test_other_draws_are_no_other_program_if_they_go_no_further_than_another_seed(checked):
    varied = ("drawn: WAY=drawn", "far: WAY=far", "other: WAY=other")
    found = checked(*varied, seeds="dropout", without_draws="--no-draws")
    assert [(each.name, each.verdict, each.passed) for each in found.breaks] == [
        ("drawn", DRAWS, True),
        ("far", OTHER, False),
        ("other", OTHER, False),
    ]
    text = reproducibility.as_text(found)
    assert "far: its draws go further than " in text
    assert "other: without its draws (--no-draws) it differs, too." in text
    assert "--without-draws=" not in text


def test_without_a_switch_for_draws_other_draws_are_another_program_and_the_switch_is_named(checked):
    found = checked("drawn: WAY=drawn")
    assert [each.verdict for each in found.breaks] == [OTHER]
    assert "--without-draws='--dropout 0'" in reproducibility.as_text(found)


def test_of_draws_whose_seed_nobody_names_it_is_said_that_their_size_is_unknown(checked):
    found = checked("drawn: WAY=drawn", without_draws="--no-draws")
    assert [(each.verdict, each.passed) for each in found.breaks] == [(DRAWS, True)]
    assert "no seed of its draws is named" in reproducibility.as_text(found)


def test_a_way_may_be_tried_with_a_batch_for_each_process(checked):
    other, instead = (other_settings.Way(name, WORDS, {"WAY": name}) for name in ("other", "none"))
    found = checked(asked=other_settings.Asked([other._replace(instead=instead)], ["--double"]))
    assert [(each.name, each.verdict) for each in found.breaks] == [("none", EQUAL)]
    assert found.passed


def test_the_whole_batch_stays_as_it_is_in_the_other_reading(tmp_path):
    def instead(words, worlds):
        found = other_settings.ways_asked_for(["python", "train.py", *words], [], worlds, "", "").ways
        return [way.instead and way.instead.words[-2:] for way in found]

    (tmp_path / "train.py").write_text("parser.add_argument('--batch_size', default=24)\n")
    assert instead([], ["1", "2", "4", "5"]) == [["--batch_size", "12"], ["--batch_size", "6"], None]
    assert instead([], ["2", "4"]) == [["--batch_size", "12"]]
    assert instead(["--batch_size=8"], ["1", "4"]) == [["--batch_size", "2"]]


# Which runs decide whether a program is reproducible, and whether its seeds count

SAME = Difference([], 0, 4, 0.0, {}, {}, [], 0, None, None)
CHANGED = SAME._replace(files=["metric.json"], changed=None, examples=None, largest=None, metrics={"loss": (1, 2.5)})
PLACE = diagnosis.place_of_kind("entropy", "train.py", 3, "seed = uuid.uuid4()", "By experiment: it is so.")


def test_a_small_change_may_not_show_in_a_metric():
    ignored = [reproducibility.Ignored("shuffle", "it has none", [])]
    seeds = {"init": CHANGED, "shuffle": SAME}
    found = Checked(["train"], ["metric.json"], [], [1.0, 1.0], SAME, None, seeds, ignored)
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
    monkeypatch.setattr(diagnosis, "diagnose", lambda *_: Diagnosis([PLACE], [], []))
    monkeypatch.setattr(diagnosis, "lost_seeds", lambda *_: {"init": [PLACE]})

    def start(*losses, words=("--seed", "{init}")):
        (tmp_path / "train.py").write_text("")
        runs = Scripted(dict(zip(("control-1", "control-2", "control-3", "init"), losses, strict=False)))
        monkeypatch.setattr(reproducibility, "TrialRuns", lambda *_: runs)
        asked = reproducibility.parse_command(["python", "train.py", *words], "init", "", None)
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
    assert reproducibility.parse_command(words, None, "", None).sources == sources
    assert reproducibility.parse_command(words, "augment", "--exact yes", 2)[1:4] == (("augment",), 120, True)
    assert reproducibility.parse_command(words, None, "--exact yes", None).words[-2:] == ["--exact", "yes"]
