"""Data that stays on disk, and images that are larger than what the network sees: the same bits as any other."""

import csv
import sys

import numpy as np
import pytest
from scipy import stats

from toolnoise import streams
from toolnoise.base import arrays, files
from toolnoise.datasets import preparation
from toolnoise.datasets.readers import originals

pytestmark = pytest.mark.long

IMAGE = 6 * 8 * 2 * 4  # bytes of a float32 image
# Its recorded steps cut the parts of streamed data once more.
RECIPE = {"record_steps": True, "batch_size": 8, "epochs": 2, "normalise": "per-image", "crop": 2, "flip": True}


@pytest.fixture(scope="module")
def here(own_workshop, framework, toolings):
    return own_workshop("smooth", tooling=toolings[framework], **RECIPE)


@pytest.fixture(scope="module")
def in_memory(here):
    return here.train("impl", 1)


def history(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


# A step at a time; three steps at a time, which eight steps are no multiple of; all at once.
PARTS = (1, 3 * 8 * IMAGE, 1 << 20)


@pytest.fixture(scope="module")
def streamed(here):
    """The same run on streamed data, in parts of each size."""
    entry = here.spec().dataset.json
    path = here.folder / "streamed.npz"
    preparation.prepare("pictures", {**entry, "path": here.folder / entry["path"], "streamed": True}, out=path)
    here.drive("training", "stream", path, *PARTS, out=f"{PARTS[-1]}.npz")


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("part_bytes", PARTS)
def test_streamed_training_gives_the_bits_of_training_in_memory(part_bytes, here, in_memory):
    assert list(arrays.read_npz(here.folder / f"{part_bytes}.npz")) == list(in_memory.weights)
    assert (here.folder / f"{part_bytes}.npz").read_bytes() == in_memory.weight_bytes
    with (here.folder / f"{part_bytes}.csv").open(newline="") as file:
        assert history(csv.DictReader(file)) == history(in_memory.history)
    assert files.read_json(here.folder / f"{part_bytes}.json")["data_sha256"] == in_memory.record["data_sha256"]


def with_margin(here, margin):
    """Lay a border of other pixels around every image of the workshop's data."""
    found = arrays.read_npz(here.folder / here.data)
    generator = np.random.default_rng(2)
    for part in ("train", "test"):
        inner = found[f"{part}_images"]
        count, height, width, channels = inner.shape
        whole = generator.integers(0, 256, (count, height + margin, width + margin, channels), np.uint8)
        start = margin // 2
        whole[:, start : start + height, start : start + width] = inner
        found[f"{part}_images"] = whole
    arrays.write_npz(here.folder / here.data, found | {"margin": np.array(margin)})


@pytest.mark.parametrize(("margin", "crop"), [(3, 0), (3, 2)])
def test_a_batch_is_exactly_the_planned_windows_of_larger_images(margin, crop, own_workshop, reference_batch):
    here = own_workshop("recorder", {"batch": 32}, epochs=2, crop=crop, flip=True)
    with_margin(here, margin)
    trained = here.train()
    plan = here.last_step(trained)
    assert plan.offsets.min() == 0
    assert plan.offsets.max() == margin + 2 * crop
    seen = trained.weights["recorder/seen"]
    assert seen.tobytes() == reference_batch(here.dataset().train.images, plan, crop, margin).tobytes()


# ImageNet's originals in training: boxes and resizing are TensorFlow's, and the same bits on every framework


LAW = {"area": [0.05, 1], "aspect": [0.75, 1.33], "covered": 0.1}
BOXED = {"batch_size": 12, "epochs": 2, "normalise": "imagenet", "resized_crop": LAW, "flip": True}


@pytest.fixture(scope="module")
def garden(tmp_path_factory, run, skip_without):
    """What TensorFlow draws and resizes."""
    skip_without("tensorflow")
    folder = tmp_path_factory.mktemp("garden")
    pixels = np.random.default_rng(1).integers(0, 256, (375, 500, 3), np.uint8)
    given = {
        "pixels": pixels,
        "boxes": np.array([[0, 0, 375, 500], [31, 77, 260, 301], [31, 77, 260, -301], [300, 2, 60, 55], [9, 9, 1, 2]]),
        "side": np.array(224),
        "sizes": np.array([[375, 500], [60, 51], [90, 300]]),
        "count": np.array(4000),
    }
    np.savez(folder / "given.npz", **given)
    script = f"{__file__.rpartition('/')[0]}/drivers/frameworks.py"
    done = run(folder, sys.executable, script, "model_garden", "given.npz", "found.npz")
    assert done.returncode == 0, done.stderr
    return given, arrays.read_npz(folder / "found.npz")


def test_boxes_have_the_law_of_tensorflow(garden):
    """Two samples for each size: top, left, height, width, area and aspect, by the test of Kolmogorov and Smirnov."""
    given, found = garden
    count = int(given["count"])
    for size, theirs in zip(given["sizes"], found["drawn"], strict=True):
        sizes = np.tile(size, (count, 1))
        mine = originals.drawn_boxes(LAW, sizes, lambda attempt: streams.key(0, "augment", 0, "box", attempt))
        for column in range(4):
            assert stats.ks_2samp(mine[:, column], theirs[:, column]).pvalue > 0.001, (size, column)
            assert (mine[:, column].min() == 0) == (theirs[:, column].min() == 0)
        for of in (lambda box: box[:, 2] * box[:, 3], lambda box: box[:, 3] / box[:, 2]):
            assert stats.ks_2samp(of(mine), of(theirs)).pvalue > 0.001, size


def test_boxes_are_resized_as_tensorflow_resizes_them(garden):
    """TensorFlow rounds three times to float32, of numbers up to 255; ours is the exact value, rounded once."""
    given, found = garden
    for box, theirs in zip(given["boxes"], found["pictures"], strict=True):
        mine = originals.resized(given["pixels"], box, int(given["side"]))
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=2e-2 if abs(box[3]) > 400 else 1e-2)


def test_every_framework_draws_the_same_and_repeats_bit_for_bit(own_workshop, tmp_path, photographs, toolings):
    pictures, draws = photographs(tmp_path, train=18, test=8), set()
    parts = {part: {"path": str(pictures / part)} for part in ("train", "test")}
    entry = {"reader": "imagenet", "files": parts, "image_size": 16, "stored_size": "original", "streamed": True}
    for tooling in toolings.values():
        here = own_workshop("smooth", tooling=tooling, data=entry, **BOXED)
        control, again = here.train("control", 1), here.train("control", 2)
        assert again.weight_bytes == control.weight_bytes
        assert control.record["observed"]["versions"]["pillow"]
        draws.add(tuple(row["draws_sha256"] for row in control.history))
    assert len(draws) == 1
