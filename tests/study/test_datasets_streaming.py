"""Prepared data that stays in its file: read a part at a time, ahead, in the planned order, each image checked."""

import threading

import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.datasets import preparation, prepared, streaming
from toolnoise.datasets.prefetch import ahead
from toolnoise.epoch_plan import plan_epoch

EXAMPLES, SHAPE = 60, (9, 7, 3)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """The same data prepared for memory and to be streamed."""
    folder = tmp_path_factory.mktemp("streaming")
    generator = np.random.default_rng(8)
    raw = {}
    for part, count in (("train", EXAMPLES), ("test", 20)):
        raw[f"{part}_images"] = generator.integers(0, 256, (count, *SHAPE), np.uint8)
        raw[f"{part}_labels"] = np.arange(count) % 4
    np.savez(folder / "raw.npz", **raw)
    found = []
    for streamed in (False, True):
        found.append(folder / f"{streamed}.npz")
        entry = {"reader": "npz", "path": str(folder / "raw.npz"), "streamed": streamed}
        preparation.prepare("made", entry, out=found[-1])
    return found


@pytest.fixture(params=["unit", "per-image"])
def both(request, paths):
    return [prepared.load(path, request.param) for path in paths]


def test_streamed_data_is_the_same_data(both):
    one, other = both
    assert (one.train.streamed, other.train.streamed) == (False, True)
    assert one.sha256 == other.sha256
    assert one.classes == other.classes
    for part in ("train", "test"):
        mine, theirs = getattr(one, part), getattr(other, part)
        assert mine.labels.tolist() == theirs.labels.tolist()
        assert mine.shape == theirs.shape == SHAPE
        assert mine.images.tobytes() == theirs.images.tobytes()
    assert isinstance(other.train.pixels.base, np.memmap), "only the images asked for are read"


# Sums over an image must not depend on how many images are summed at once.
@pytest.mark.parametrize("count", [1, 2, 7, 20])
@pytest.mark.parametrize("side", [4, 32, 57])
def test_an_image_is_normalised_to_the_same_bits_in_whatever_company(count, side):
    pixels = np.random.default_rng(side).integers(0, 256, (300, side, side, 3), np.uint8)
    split = prepared.Split(pixels, np.zeros(300, np.int32), normalise="per-image")
    for start in range(0, 300 - count, 37):
        alone = prepared.Split(pixels[start : start + count], split.labels[:count], normalise="per-image")
        assert alone.images.tobytes() == split.images[start : start + count].tobytes()


@pytest.mark.parametrize("steps_a_part", [1, 2, 4, 7, 100])
def test_parts_of_an_epoch_are_the_whole_epoch_in_its_order(steps_a_part, both, make_spec, monkeypatch):
    spec = make_spec("algo_impl", 1)
    plan = plan_epoch(spec, EXAMPLES, 1)
    batch = plan.order.shape[1]
    monkeypatch.setattr(streaming, "PART_BYTES", steps_a_part * batch * 4 * int(np.prod(SHAPE)))
    one, other = both
    found = list(streaming.parts(other.train, plan))
    assert [len(part.order) for *_, part in found[:-1]] == [min(steps_a_part, len(plan.order))] * (len(found) - 1)
    for name in ("offsets", "flips", "slots", "rates"):
        assert np.array_equal(np.concatenate([getattr(part, name) for *_, part in found]), getattr(plan, name))
    gathered = [values[part.order].reshape(-1, *values.shape[1:]) for values, _, part in found]
    assert np.concatenate(gathered).tobytes() == one.train.images[plan.order.ravel()].tobytes()
    labels = [values[part.order].ravel() for _, values, part in found]
    assert np.array_equal(np.concatenate(labels), one.train.labels[plan.order.ravel()])
    assert all(np.array_equal(part.dropout, plan.dropout) for *_, part in found)


def test_a_damaged_image_is_one_line_when_it_is_read_and_not_before(paths, tmp_path, refused):
    content = bytearray(paths[1].read_bytes())
    raw = arrays.read_npz(paths[1])["train_images"]
    content[content.index(raw[17].tobytes()) + 5] ^= 1
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(content)
    split = prepared.load(damaged).train
    split.take(np.array([0, 16, 18]))
    line = refused(split.take, np.array([3, 17]))
    assert line == f"{damaged}: an image is damaged; remove the file to have it prepared again"


@pytest.mark.parametrize("length", [0, 100, 5000, -200, -1])
def test_a_truncated_file_and_one_without_its_checks_are_one_line_at_once(length, paths, tmp_path, refused):
    truncated = tmp_path / "truncated.npz"
    truncated.write_bytes(paths[1].read_bytes()[:length])
    assert refused(prepared.load, truncated).startswith(f"{truncated}: damaged or truncated (")
    found = arrays.read_npz(paths[1])
    del found["test_checks"]
    arrays.write_npz(tmp_path / "bare.npz", found)
    assert refused(prepared.load, tmp_path / "bare.npz").startswith(f"{tmp_path / 'bare.npz'}: test_checks: missing")


@pytest.mark.parametrize("margin", [0, 1, 2, 5])
def test_the_middle_of_an_image_leaves_a_margin_on_all_sides(margin):
    pixels = np.arange(2 * 12 * 9, dtype=np.uint8).reshape(2, 12, 9, 1)
    split = prepared.Split(pixels, np.zeros(2, np.int32), maximum=1, margin=margin)
    assert split.shape == (12 - margin, 9 - margin, 1)
    inner = split.middle(slice(None))
    assert inner.shape[1:] == split.shape
    top, bottom = margin // 2, margin - margin // 2
    assert np.array_equal(inner, pixels[:, top : 12 - bottom, top : 9 - bottom])


@pytest.mark.parametrize("count", [1, 13, 20, 50])
def test_the_first_examples_of_a_part_are_those_alone(count, both):
    for data in both:
        some = data.test.first(count)
        assert some.streamed == data.test.streamed
        assert some.labels.tolist() == data.test.labels[:count].tolist()
        assert some.images.tobytes() == data.test.images[:count].tobytes()


# Read ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_results_come_in_order(threads, count):
    assert list(ahead(lambda item: item * item, range(count), threads)) == [item * item for item in range(count)]


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_than_one_result_a_thread_is_made_ahead(threads):
    started = []
    results = ahead(lambda item: started.append(item) or item, range(100), threads)
    for used in range(50):
        assert next(results) == used
        assert len(started) <= used + 1 + threads


def test_an_error_is_raised_where_its_result_would_be():
    def divided(item):
        return 6 // item

    results = ahead(divided, [1, 2, 0, 3], 2)
    assert [next(results), next(results)] == [6, 3]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_what_nobody_asks_for_any_more_is_not_made():
    started, threads = [], threading.active_count()
    results = ahead(started.append, range(1000), 2)
    next(results)
    results.close()
    assert len(started) <= 3
    assert threading.active_count() == threads


def test_a_thread_of_the_pool_may_be_the_one_that_ends_it():
    ended, left = threading.Event(), threading.Event()

    def made(item):
        # As the garbage collector may, whichever thread it happens to run in.
        if item == 1 and left.wait(30):
            results.close()
            ended.set()
        return item

    results = ahead(made, range(1000))
    assert next(results) == 0
    left.set()
    assert ended.wait(30)
    assert list(results) == []
