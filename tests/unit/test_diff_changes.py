import json

import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.measures.two_runs import bit_equal
from toolnoise.verify.diff import changes


@pytest.fixture
def compared(tmp_path):
    """Compare two files of one name, given as text, bytes or a function that writes one."""

    def call(name, one, other):
        paths = [tmp_path / side / name for side in "ab"]
        for path, content in zip(paths, (one, other), strict=True):
            path.parent.mkdir(exist_ok=True)
            if callable(content):
                content(path)
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return changes.compare(*paths)

    return call


def record(**parts):
    return json.dumps({"spec": {"seed": 1}, "seconds": 2.0, "observed": {"host": "a"}, "resumed_after": []} | parts)


def npz(**tensors):
    return lambda path: arrays.write_npz(path, tensors)


def npy(array):
    return lambda path: arrays.write_npy(path, array)


def test_equal_bytes_are_the_same(compared):
    assert compared("x.png", b"12", b"12") == (True, "", "")


def test_records_are_the_same_but_for_times_and_machine(compared):
    other = record(seconds=3.0, observed={"host": "b"}, resumed_after=[1])
    assert compared("run.json", record(), other) == (True, "times and machine", "")


def test_histories_are_the_same_but_for_their_seconds(compared):
    one, other = (f"epoch,seconds,weights_sha256\n1,{seconds},ab\n" for seconds in (1, 2))
    assert compared("history.csv", one, other) == (True, "times", "")
    assert not compared("metrics.csv", one, other).same


ONES = np.ones((2, 3), np.float32)
LATER = ONES.copy()
LATER[1, 0] = 2
DIFFERENCES = {
    "a key": ("run.json", record(), record(spec={"seed": 2}), "in spec.seed: 1 and 2"),
    "a type": ("run.json", record(epochs=1), record(epochs=True), "in epochs: 1 and true"),
    "a row of a history": (
        "history.csv",
        "epoch,loss\n1,2\n2,3\n",
        "epoch,loss\n1,2\n2,4\n",
        "in line 3.loss: 3 and 4",
    ),
    "a repeated column": ("history.csv", "epoch,loss,loss\n1,2,3\n", "epoch,loss,loss\n1,4,3\n", "at byte 18"),
    "a missing row": ("history.csv", "epoch\n1\n2\n", "epoch\n1\n", 'in line 3: {"epoch": "2"} and -'),
    "a tensor": ("weights.npz", npz(a=ONES, b=ONES), npz(a=ONES, b=LATER), "in b, at (1, 0): 1.0 and 2.0 (1 of 6"),
    "a missing tensor": ("weights.npz", npz(a=ONES, b=ONES), npz(a=ONES), "in b, missing in one of them"),
    "the sign of a zero": ("weights.npz", npz(a=0 * ONES), npz(a=-0.0 * ONES), "in a, at (0, 0): 0.0 and -0.0"),
    "a logit": ("control.npy", npy(ONES), npy(LATER), "at (1, 0): 1.0 and 2.0"),
    "a shape": ("control.npy", npy(ONES), npy(ONES.T.copy()), "float32 of shape (2, 3) and float32 of shape (3, 2)"),
    "a line": ("table2.md", "a\nb\n", "a\nc\n", "in line 2"),
    "a cut": ("table2.md", "a\nb\n", "a\n", "in line 2"),
    "a pixel": ("figure.png", b"0123", b"0193", "at byte 2"),
    "an end": ("figure.png", b"0123", b"01", "at byte 2"),
    "a damaged file": ("weights.npz", npz(a=ONES), b"PK", "at byte 2"),
    "a deep file": ("run.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "[]", "at byte 0"),
}


@pytest.mark.parametrize(("name", "one", "other", "first"), DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_where_two_files_first_differ(name, one, other, first, compared):
    found = compared(name, one, other)
    assert not found.same
    assert found.first.startswith(first)


def test_arrays_that_are_no_numbers_can_have_the_same_bits():
    assert bit_equal(np.array([np.nan]), np.array([np.nan]))
    assert not bit_equal(np.array([0.0]), np.array([-0.0]))


def test_a_missing_file_is_one_line(tmp_path, refused):
    assert "no such file" in refused(changes.compare, tmp_path / "a", tmp_path / "b")
