"""Another way to run a program is equal, rounding or another program; what is undecided says so."""

import sys

import pytest

from toolnoise.checking import invariances, reproducibility, reproducibility_text, unmodified
from toolnoise.checking.invariances import EQUAL, OTHER, ROUNDING, UNDECIDED

# The sum of parts in the order of WAY; with WAY=other, one part is lost.
PROGRAM = """
import os, sys
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
np.save("preds.npy", np.outer(total, [1, 2, 3]).astype(kind))
"""


@pytest.fixture
def checked(tmp_path, monkeypatch):
    def start(*varied, higher=("--double",)):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "train.py").write_text(PROGRAM)
        words = [sys.executable, "train.py"]
        command = reproducibility.command(words, "", "", None, unmodified.wanted(["preds.npy"], []))
        asked = invariances.ways(words, varied, [], matrix=False)
        return reproducibility.check(command._replace(ways=asked, higher=higher), tmp_path / "runs")

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
    text = reproducibility_text.as_text(found)
    assert "other makes another program:\n" in text
    assert "order makes" not in text
    assert [each["verdict"] for each in reproducibility_text.as_json(found)["other_ways"]] == [EQUAL, ROUNDING, OTHER]


def test_without_higher_precision_a_difference_is_undecided_and_passes_if_it_changes_no_answer(checked):
    found = checked("order: WAY=order", higher=())
    assert [(each.verdict, each.difference.changed) for each in found.breaks] == [(UNDECIDED, 0)]
    assert found.passed
    assert reproducibility_text.as_text(found).endswith("a difference may be rounding or not.")


def test_ways_are_variables_first_and_words_after_them():
    (way,) = invariances.ways(["python", "a.py"], ["many threads: A=1 B='2 3' --workers 4 C=5"], [], matrix=False)
    assert way == ("many threads", ["python", "a.py", "--workers", "4", "C=5"], {"A": "1", "B": "2 3"})


def test_numbers_of_processes_start_the_program_by_torchrun():
    start = ["python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    (way,) = invariances.ways(["python", "a.py", "-v"], [], invariances.worlds("1,4"), matrix=False)
    assert way == ("world 4", [*start, "4", "a.py", "-v"], {})
    assert invariances.torchrun(["python", "a.py"], "1") == [*start, "1", "a.py"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: invariances.worlds("1,two"), "found 'two'; numbers of processes, such as 1,2,4"),
        (lambda: invariances.torchrun(["sh", "a"], "2"), "found the program 'sh'; python SCRIPT ..."),
        (lambda: invariances.ways(["a"], ["threads"], [], matrix=False), "NAME: VARIABLE=VALUE, or NAME: --option"),
        (lambda: invariances.ways(["a"], ["t: A=1", "t: A=2"], [], matrix=False), "found 't' twice"),
    ],
)
def test_ways_are_read_strictly(call, said, refused):
    assert said in refused(call)


def test_the_matrix_has_what_every_program_has_and_the_options_of_this_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("parser.add_argument('--num-workers')\n")
    names = [way.name for way in invariances.ways(["python", "train.py"], [], [], matrix=True)]
    assert names == ["threads 1", "threads 2", "threads 4", "hash seed 0", "hash seed 1", "workers 0", "workers 2"]
