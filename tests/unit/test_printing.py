import pytest

from toolnoise.base.printing import aligned, size, span


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
