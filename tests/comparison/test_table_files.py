"""Tables in CSV, JSON lines and Parquet as one frame: names, numbers and lines as the file has them."""

import math

import pytest

from toolnoise.comparison import table_files

MIXED = {"arm": ["a", "b"], "seed": [1.0, 2.0], "right": [True, False], "loss": [0.1, 1e-300]}
NO_NUMBERS = ["1_0", "0x10", "1,5", ""]


def columns_of(frame):
    return {name: frame[name].tolist() for name in frame}


@pytest.mark.parametrize(
    "text",
    [
        "arm,seed,right,loss\na,1,True,0.1\nb,2,False,1e-300\n",
        "\ufeffarm;seed;right;loss\r\na;1;true;0.1\r\n\r\nb;2;FALSE;1e-300\r\n",
        "# arm\tseed\tright\tloss\n a \t1.0\tTrue\t.1\nb\t2\tFalse\t1e-300",
        '{"arm": "a", "seed": 1, "right": true, "loss": 0.1}\n'
        '{"arm": "b", "seed": 2, "right": false, "loss": 1e-300}\n',
    ],
)
def test_one_table_is_one_frame_however_it_is_written(tmp_path, text):
    (tmp_path / "t").write_text(text, newline="")
    assert columns_of(table_files.read_table(str(tmp_path / "t"))) == MIXED


def test_numbers_are_those_of_python_and_texts_stay_as_they_are(tmp_path):
    numbers = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, math.pi * 1e-30, 2.0**60 + 2.0**10]
    for sign in ("", "x"):  # a column of texts beside it has numbers read in another way
        lines = [f"{number!r},{sign or 1}\n" for number in numbers]
        (tmp_path / "t.csv").write_text("".join(["loss,b\n", *lines]))
        assert table_files.read_table(str(tmp_path / "t.csv")).iloc[:, 0].tolist() == numbers
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f'"{text}",x\n' for text in NO_NUMBERS))
    assert table_files.read_table(str(tmp_path / "t.csv"))["a"].tolist() == NO_NUMBERS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\nx,1\ny\n", "row 3: found 1 fields"),
        ("a,b\nx,1\ny,2,3\n", "line 3, saw 3"),
        ("a,b\nx,1,\n", "row 1: found 2 fields"),
        ('a,b\nx,"1\n', "damaged or truncated"),
        ("a,b\nx,0.9\0\0\0\0", "damaged"),
        ("a,a\nx,1\n", "column a: found 2 of this name"),
        ("a,b\n", "found only names"),
        ('{"a": 1}\n[1]\n', "line 2: found list"),
    ],
)
def test_what_no_reader_would_read_alike_is_refused_in_one_line(tmp_path, refused, text, says):
    (tmp_path / "t.csv").write_text(text)
    assert says in refused(table_files.read_table, str(tmp_path / "t.csv"))
