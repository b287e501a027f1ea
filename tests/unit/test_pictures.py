import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from toolnoise.datasets.prepared import Split
from toolnoise.pages import cells, pictures


def split(size=8, channels=1, **changes):
    shape = (4, size, size, channels)
    pixels = (np.arange(np.prod(shape)) % 17).astype(np.uint8).reshape(shape)
    return replace(Split(pixels, np.zeros(4, np.int32), maximum=16), **changes)


def decoded(text):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def test_a_picture_has_the_pixels_without_the_margin_from_black_to_white():
    given = split(channels=3, margin=2)
    found = decoded(pictures.drawn(given, [2], 10_000)["2"])
    assert found.shape == (6, 6, 3)
    assert np.array_equal(found, given.pixels[2, 1:7, 1:7].astype(int) * 255 // 16)


def test_the_first_pictures_that_fit_are_drawn_each_once():
    most = sum(map(len, pictures.drawn(split(), [3, 1], 10_000).values()))
    assert list(pictures.drawn(split(), [3, 1, 3, 2], most)) == ["3", "1"]
    assert pictures.drawn(split(), [0], 10) == {}


@pytest.mark.parametrize(
    "given", [split(size=65), split(channels=2), split(size=1), split(checks=np.zeros(4, np.uint32))]
)
def test_large_streamed_and_other_data_have_no_pictures(given):
    assert pictures.drawn(given, [0], 10_000) == {}


def test_a_page_with_fewer_points_has_fewer_pictures():
    assert (cells.most_drawn(200), cells.most_drawn(20)) == (100_000, 1_000)
