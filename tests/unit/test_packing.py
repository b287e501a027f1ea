import base64
import json

import pytest

from toolnoise.pages.packing import packed

BASE64 = base64.b64encode(bytes([0] * 20 + [255] * 20 + [1] * 20 + [2] * 4)).decode()


def size(value):
    return len(json.dumps(value, separators=(",", ":")))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (["a", "a", "a", "a"], {"$same": ["a", 4]}),
        ([1, 3, 5, 7, 9, 2], {"$steps": [[1, 2, 5], 2]}),
        (["rising", "falling", *["rising"] * 3], {"$chosen": [["rising", "falling"], [0, 1, 0, 0, 0]]}),
        (
            [*(f"results/a/runs/{seed}/b.csv" for seed in (3, 1, 2)), "x"],
            {"$names": [[0, 15, 15, 0], ["results/a/runs/3/b.csv", "1/b.csv", "2/b.csv", "x"]]},
        ),
        (["00" * 20, "ff" * 20, "01" * 20, "02" * 4], {"$hex": [[40, 40, 40, 8], BASE64]}),
        (
            [0.1234, 0.5123, 0.2511, 0.9, 0.1234, 0.9031, 0.9004, 0.9005, 0.9107, 0.9208, 0.9318, 0.9418],
            {"$fixed": [4, [1234, 5123, 2511, 9000, 1234, 9031, 9004, 9005, 9107, 9208, 9318, 9418]]},
        ),
        (
            [{"seed": seed, "status": "done"} for seed in range(4)],
            {"$rows": [{"$same": [0, 4]}, [[("seed", "status"), [{"$steps": [[0, 1, 4]]}, {"$same": ["done", 4]}]]]]},
        ),
    ],
)
def test_a_long_list_has_a_form_of_its_own(value, wanted):
    assert packed(value) == wanted


@pytest.mark.parametrize(
    "value", [[1, 5, 2, 9], ["a", "b", "c", "d"], [1, True, 1.0, None], [[1], [2], {}], {"a": [1]}]
)
def test_what_has_no_shorter_form_stays_as_it_is(value):
    assert packed(value) == value
    assert json.dumps(packed(value)) == json.dumps(value)


def test_a_key_of_the_data_is_not_taken_for_a_form():
    assert packed({"$same": ["a", 4]}) == {"$pairs": [["$same"], [["a", 4]]]}


def test_a_value_that_nests_deeply_is_packed_in_time():
    value = 1
    for _ in range(40):
        value = [value, [value], 1, 2, 3] if isinstance(value, int) else {"a": value, "b": 1, "c": 2, "d": 3}
    assert size(packed(value)) < 3 * size(value)
