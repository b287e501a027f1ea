"""Other ways to run a program that should not matter: which are tried, how each is judged."""

import sys
from pathlib import Path

import numpy as np
import pytest

from toolnoise.checking import other_settings, reproducibility, trial_runs
from toolnoise.checking.other_settings import DRAWS, EQUAL, OTHER, ROUNDING, UNDECIDED
from toolnoise.checking.outcome import Outcome

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


@pytest.fixture(autouse=True)
def at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial_runs, "PAUSE", 0)


@pytest.fixture
def checked(tmp_path):
    def start(*varied, higher="--double", without_draws="", seeds="", metrics=()):
        (tmp_path / "train.py").write_text(PROGRAM)
        words = [sys.executable, "train.py"]
        command = reproducibility.command(words, seeds, "", None, trial_runs.wanted(["preds.npy"], metrics))
        asked = other_settings.asked(words, varied, [], higher, without_draws)
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
    single = other_settings.gap(ONE, ONE._replace(**changed))
    assert other_settings.verdict(single, other_settings.gap(exact, exact._replace(**precise))) == verdict
    assert other_settings.verdict(single, None) == (OTHER if single.reshaped else UNDECIDED)


def test_files_whose_numbers_are_not_read_are_no_rounding(tmp_path):
    for place, change in (("a", 0), ("b", 1e-4)):
        (tmp_path / place).mkdir()
        np.save(tmp_path / place / "words.npy", np.array(["cat", "dog"]))
        np.save(tmp_path / place / "objects.npy", np.array([{"loss": 1}]), allow_pickle=True)
        np.savez(tmp_path / place / "values.npz", x=LOGITS + np.float32(change))
        (tmp_path / place / "a.csv").write_text(f"1,{change}")
    names = ("words.npy", "objects.npy", "values.npz", "a.csv")
    one, other = (Outcome(tmp_path, files={f"out/{name}": tmp_path / at / name for name in names}) for at in "ab")
    assert other_settings.gap(one, one) == (0, {}, [], [])
    gap = other_settings.gap(one, other)
    assert gap.unread == ["out/a.csv"]
    assert gap.largest == pytest.approx(1e-4, rel=1e-3)
    assert other_settings.verdict(gap, gap._replace(largest=1e-12)) == UNDECIDED
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


def test_results_in_another_order_or_only_some_of_them_are_another_program(tmp_path):
    (tmp_path / "train.py").write_text(GATHERED)
    words = [sys.executable, "train.py"]
    wanted = trial_runs.wanted(["preds.npy"], ["loss ([-0-9.e]+)"])
    varied = ["two: --workers 2", "three: --workers 3"]
    asked = other_settings.asked(words, varied, [], "--double", "")
    command = reproducibility.command(words, "", "", None, wanted)
    found = reproducibility.check(command._replace(asked=asked), tmp_path / "runs")
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
    (way,) = other_settings.asked(["python", "a.py"], ["many threads: A=1 B='2 3' --workers 4 C=5"], [], "", "").ways
    assert way == ("many threads", ["python", "a.py", "--workers", "4", "C=5"], {"A": "1", "B": "2 3"}, None)


def test_numbers_of_processes_start_the_program_by_torchrun():
    start = ["python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    (way,) = other_settings.asked(["python", "a.py", "-v"], [], other_settings.worlds("1,4"), "", "").ways
    assert way == ("world 4", [*start, "4", "a.py", "-v"], {}, None)
    assert other_settings.torchrun(["python", "a.py"], "1") == [*start, "1", "a.py"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: other_settings.worlds("1,two"), "found 'two'; numbers of processes, such as 1,2,4"),
        (lambda: other_settings.torchrun(["sh", "a"], "2"), "found the program 'sh'; python SCRIPT ..."),
        (lambda: other_settings.asked(["a"], ["threads"], [], "", ""), "NAME: VARIABLE=VALUE, or NAME: --option"),
        (lambda: other_settings.asked(["a"], ["t: A=1", "t: A=2"], [], "", ""), "found 't' twice"),
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


def test_a_way_may_be_tried_with_a_batch_for_each_process(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    words = [sys.executable, "train.py"]
    other, instead = (other_settings.Way(name, words, {"WAY": name}) for name in ("other", "none"))
    command = reproducibility.command(words, "", "", None, trial_runs.wanted(["preds.npy"], []))
    asked = other_settings.Asked([other._replace(instead=instead)], ["--double"])
    found = reproducibility.check(command._replace(asked=asked), tmp_path / "runs")
    assert [(each.name, each.verdict) for each in found.breaks] == [("none", EQUAL)]
    assert found.passed


def test_the_whole_batch_stays_as_it_is_in_the_other_reading(tmp_path):
    def instead(words, worlds):
        found = other_settings.asked(["python", "train.py", *words], [], worlds, "", "").ways
        return [way.instead and way.instead.words[-2:] for way in found]

    (tmp_path / "train.py").write_text("parser.add_argument('--batch_size', default=24)\n")
    assert instead([], ["1", "2", "4", "5"]) == [["--batch_size", "12"], ["--batch_size", "6"], None]
    assert instead([], ["2", "4"]) == [["--batch_size", "12"]]
    assert instead(["--batch_size=8"], ["1", "4"]) == [["--batch_size", "2"]]
