"""Values as text on command lines: what is read is what was written."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolnoise.base.errors import BadInput
from toolnoise.base.key_values import values_as_text, values_in_text

KEYS = st.text(min_size=1).filter(lambda key: "=" not in key and not any(map(str.isspace, key)))
# Texts that look like other things are likelier than chance has them.
LIKE_OTHERS = st.text(alphabet='aZ_./1-" {}[]\\=\n\t,', max_size=8) | st.sampled_from(["true", "null", "NaN", "1"])
TEXTS = st.text() | LIKE_OTHERS
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.dictionaries(KEYS, JSON, max_size=5))
@example({"a": "", "b": "1", "c": 1, "d": 1.0, "e": "true", "f": True, "g": "x y", "h": 'say "{}"\n', "i": "größer"})
@example({"learning_rate": 0.1 + 0.2, "path": "./a/b.npz", "url": "https://a.b/c?d=e", "options": {"width": 4}})
def test_values_are_read_as_they_were_written(values):
    line = values_as_text(values)
    assert "\n" not in line
    # As JSON, 1 and 1.0 differ, and NaN equals itself.
    assert json.dumps(values_in_text(line, "--x"), sort_keys=True) == json.dumps(values, sort_keys=True)


def test_people_can_read_them():
    values = {"name": "a-b_c.1", "epochs": 2, "rate": 0.1, "decay": False, "steps": [1, 2], "said": "two words"}
    assert values_as_text(values) == 'name=a-b_c.1 decay=false epochs=2 rate=0.1 said="two words" steps=[1,2]'


@pytest.mark.parametrize(
    "line",
    ["a", "=1", "a=", "a=1 a=2", "a=1  b=2", " a=1", "a=01", "a={", "a='b'", 'a="b"c=1', "a=b\tc=1", "a=b c", "a=1b"],
)
def test_what_is_no_such_text_is_refused_in_one_line(line):
    with pytest.raises(BadInput, match=r"^command line: --x: found ") as refused:
        values_in_text(line, "--x")
    assert "\n" not in str(refused.value)
