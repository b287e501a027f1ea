"""What a program writes and prints that knows nothing of the contract is copied, and compared bit for bit."""

import zipfile

import numpy as np
import pytest

from toolnoise.checking import unmodified


@pytest.fixture
def change(tmp_path):
    """How two contents of a file differ, written by a function."""

    def call(name, write, *contents):
        paths = [tmp_path / f"{number}-{name}" for number in range(2)]
        for path, content in zip(paths, contents, strict=True):
            write(path, content)
        return unmodified.change(name, *paths)

    return call


def archive(path, members):
    with zipfile.ZipFile(path, "w") as file:
        for number, (name, content) in enumerate(members.items()):
            file.writestr(zipfile.ZipInfo(name, (2020 + number, 1, 1, 0, 0, 0)), content)


@pytest.mark.parametrize(
    ("name", "write", "contents", "said"),
    [
        ("a.bin", lambda path, content: path.write_bytes(content), (b"ab", b"ab"), ""),
        ("a.bin", lambda path, content: path.write_bytes(content), (b"abc", b"abd"), "from byte 2 on"),
        ("a.bin", lambda path, content: path.write_bytes(content), (b"abc", b"ab"), "from byte 2 on"),
        (
            "a.csv",
            lambda path, content: path.write_text(content),
            ("1\n2\n3\n", "1\n4\n"),
            "2 of 3 lines, the first is line 2",
        ),
        ("a.csv", lambda path, content: path.write_bytes(content), (b"1\n2\n", b"1\r\n2\r\n"), "line ends"),
        ("a.pt", archive, ({"m/0": b"1", "m/1": b"2"}, {"m/0": b"1", "m/1": b"3"}), "1 of 2 parts, the first is m/1"),
        ("a.pt", archive, ({"m/0": b"1", "m/1": b"2"}, {"m/1": b"2", "m/0": b"1"}), ""),
        ("a.npy", np.save, (np.array([1.0, 2, 3]), np.array([1.0, 5, 6])), "2 of 3 rows"),
        ("a.npy", np.save, (np.array([0.0]), np.array([-0.0])), "bits of equal numbers"),
        ("a.npy", np.save, (np.zeros(2), np.zeros(3)), "float64 of shape (2,), and float64 of shape (3,)"),
    ],
)
def test_a_change_is_put_in_words(name, write, contents, said, change):
    assert change(name, write, *contents) == said


def test_a_file_that_a_run_does_not_write_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("1")
    (tmp_path / "log").write_text("")
    wanted = unmodified.wanted(["old.csv"], [])
    before = unmodified.stamps(wanted, {})
    said = refused(unmodified.collect, wanted, before, tmp_path / "log", tmp_path)
    assert said.startswith("old.csv: the program did not write it")
    (tmp_path / "old.csv").write_text("22")
    assert unmodified.collect(wanted, before, tmp_path / "log", tmp_path) == {}
    assert (tmp_path / "files/0").read_text() == "22"


def test_a_number_is_the_last_that_was_printed(tmp_path, refused):
    (tmp_path / "log").write_text("accuracy 0.5\naccuracy 0.75\nloss nothing\n")

    def read(*patterns):
        return unmodified.collect(unmodified.wanted([], patterns), {}, tmp_path / "log", tmp_path)

    assert read("accuracy ([0-9.]+)") == {"accuracy": 0.75}
    assert read("accuracy (?P<top>[0-9.]+)") == {"top": 0.75}
    assert "nothing that the program printed matches" in refused(read, "error ([0-9.]+)")
    assert "found 'nothing'; a number in the group" in refused(read, "loss ([a-z]+)")


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (["accuracy"], "found 'accuracy'; one group, such as 'accuracy ([0-9.]+)'"),
        (["("], "a regular expression with one group"),
        (["a (1)", "a (2)"], "found 'a' twice"),
    ],
)
def test_patterns_are_read_strictly(patterns, said, refused):
    assert said in refused(unmodified.wanted, [], patterns)
