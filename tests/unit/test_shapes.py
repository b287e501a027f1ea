"""Shapes of JSON: what fits is read as it is; all else is one line with the file, the key, what was found."""

import json

import pytest

from toolnoise.base import shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.shapes import AMOUNT, COUNT, FLAG, INTEGER, TEXT

SHAPE = {"name": TEXT, "seeds": [COUNT], "about?": {"on": FLAG, "*": AMOUNT}, "spec": {"seed": INTEGER}}
WHOLE = {"name": "x", "seeds": [1, 2], "about": {"on": True, "a": 0.5, "b": 3}, "spec": {"seed": 2**40}, "more": None}


def refusal(tmp_path, value):
    (tmp_path / "f.json").write_text(json.dumps(value))
    with pytest.raises(BadInput) as caught:
        shapes.read(tmp_path / "f.json", SHAPE, "the record that a test wrote")
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_what_fits_is_read_as_it_is(tmp_path):
    for value in (WHOLE, {key: WHOLE[key] for key in WHOLE if key != "about"}):
        (tmp_path / "f.json").write_text(json.dumps(value))
        assert shapes.read(tmp_path / "f.json", SHAPE, "") == value


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"name": None}, "f.json: name: found null; expected a text"),
        ({"seeds": 3}, "f.json: seeds: found 3; expected a list, as in the record that a test wrote"),
        ({"seeds": [1, -1]}, "f.json: seeds[1]: found -1; expected an integer from 0 to 2147483647"),
        ({"seeds": [True]}, "f.json: seeds[0]: found true; expected an integer from 0 to 2147483647"),
        ({"seeds": [2**31]}, "f.json: seeds[0]: found 2147483648; expected an integer from 0 to 2147483647"),
        ({"about": {"on": 1}}, "f.json: about.on: found 1; expected true or false"),
        ({"about": {"on": True, "a": -1}}, "f.json: about.a: found -1; expected a number from 0 up"),
        (
            {"about": {"on": True, "a": float("inf")}},
            "f.json: damaged or truncated (Infinity is not a finite number); expected a JSON file",
        ),
        ({"about": {"on": True, "a": 10**400}}, f"f.json: about.a: found 1{'0' * 56}...; expected a number from 0 up"),
        ({"spec": {}}, "f.json: spec.seed: no such key; the record that a test wrote"),
        ({"spec": [1]}, "f.json: spec: found [1]; a mapping"),
        ({"spec": {"seed": -1}}, "f.json: spec.seed: found -1; expected an integer from 0 to 2^63 - 1"),
    ],
)
def test_what_does_not_fit_is_one_line(change, line, tmp_path):
    assert refusal(tmp_path, WHOLE | change) == line


@pytest.mark.parametrize("value", [None, [], 1, "x", True])
def test_a_file_that_is_no_object_is_one_line(value, tmp_path):
    said = f"f.json: found {json.dumps(value)}; expected the record that a test wrote"
    assert refusal(tmp_path, value) == said
