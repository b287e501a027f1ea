import sys

import pytest

from toolnoise import cli
from toolnoise.base.printing import aligned, plainly, size, span


def test_columns_stand_below_their_headings():
    assert aligned([("name", "n"), ("a", "100"), ("long name", "1")]) == [
        "name       n",
        "---------  ---",
        "a          100",
        "long name  1",
    ]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (360000, "100.0 h")],
)
def test_a_span_is_told_in_a_person_s_unit(seconds, told):
    assert span(seconds) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (15_722 * 4, "62.9 kB"), (2.5e9, "2.5 GB"), (3.1e12, "3.1 TB")],
)
def test_a_size_is_told_in_a_person_s_unit(count, told):
    assert size(count) == told


def test_nothing_that_a_terminal_obeys_is_printed(capsys):
    with plainly():
        print("\x1b[2Jred\a\r\u202e\udc80\tnext", file=sys.stdout)
        print("\x9b1m café", file=sys.stderr)
    assert capsys.readouterr() == ("\\x1b[2Jred\\x07\\r\\u202e\\udc80\tnext\n", "\\x9b1m café\n")


@pytest.mark.parametrize(
    "words", [["sign", "\x1b[2J", "--key", "k"], ["crate", "\x1b[2J", "--out", "o"], ["diff", "\x1b[2J", "b"]]
)
def test_a_verb_prints_plainly_what_it_was_given(words, capsys):
    with pytest.raises(SystemExit):
        cli.main(words)
    said = "".join(capsys.readouterr())
    assert r"\x1b[2J" in said
    assert "\x1b" not in said
