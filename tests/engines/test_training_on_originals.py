"""ImageNet's originals in training: boxes and resizing are TensorFlow's, and the same bits on every framework."""

import io
import signal
import sys

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from toolnoise import streams
from toolnoise.base import arrays, files
from toolnoise.datasets.readers import originals

pytestmark = pytest.mark.long

LAW = {"area": [0.05, 1], "aspect": [0.75, 1.33], "covered": 0.1}
SIDE, BATCH, TRAIN, TEST = 16, 12, 18, 8
# So many epochs that a run is still training when it is killed.
RECIPE = {
    "record_steps": True,
    "batch_size": BATCH,
    "epochs": 60,
    "normalise": "imagenet",
    "resized_crop": LAW,
    "flip": True,
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, photographs):
    return photographs(tmp_path_factory.mktemp("imagenet"), train=TRAIN, test=TEST)


@pytest.fixture(scope="module")
def opened(own_workshop, pictures):
    """Open a workshop on the photographs, read as ImageNet is."""
    parts = {part: {"path": str(pictures / part)} for part in ("train", "test")}
    entry = {"reader": "imagenet", "files": parts, "image_size": SIDE, "stored_size": "original", "streamed": True}

    def make(builder, tooling, options=None):
        return own_workshop(builder, options, tooling=tooling, data=entry, **RECIPE)

    return make


@pytest.fixture(scope="module")
def here(opened, framework, toolings):
    return opened("smooth", toolings[framework])


@pytest.fixture(scope="module")
def control(here):
    return here.train("control", 1)


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
    script = f"{__file__.rpartition('/')[0]}/drivers/model_garden.py"
    done = run(folder, sys.executable, script, "given.npz", "found.npz")
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


def test_a_batch_is_exactly_the_planned_boxes(opened, framework, toolings, pictures):
    here = opened("recorder", toolings[framework], {"batch": BATCH})
    trained = here.train("control", 1)
    plan = here.last_step(trained)
    assert 0 < (plan.boxes[:, 3] < 0).sum() < BATCH
    contents = [file.read_bytes() for file in sorted((pictures / "train").glob("*/*"))]
    expected = []
    for example, (top, left, height, width) in zip(plan.order, plan.boxes.tolist(), strict=True):
        pixels = np.array(Image.open(io.BytesIO(contents[example])).convert("RGB"), np.float64)
        part = pixels[top : top + height, left : left + abs(width)][:, :: -1 if width < 0 else 1]
        expected.append(in_float64(part))
    exact = (np.stack(expected) / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    seen = trained.weights["recorder/seen"]
    np.testing.assert_allclose(seen, exact, rtol=0, atol=2e-6)
    # The bits are those of the data, on every framework.
    assert seen.tobytes() == here.dataset().train.take(plan.order, plan.boxes).tobytes()
    assert trained.record["observed"]["versions"]["pillow"]


def in_float64(part):
    """Bilinear interpolation from the first pixel on, in float64."""
    height, width, _ = part.shape
    rows, columns = np.arange(SIDE) * (height / SIDE), np.arange(SIDE) * (width / SIDE)
    row, column = (np.floor(at + 1e-9).astype(int) for at in (rows, columns))
    down, right = (rows - row)[:, None, None], (columns - column)[None, :, None]
    below, after = np.minimum(row + 1, height - 1), np.minimum(column + 1, width - 1)
    upper = part[row][:, column] * (1 - right) + part[row][:, after] * right
    lower = part[below][:, column] * (1 - right) + part[below][:, after] * right
    return upper * (1 - down) + lower * down


def test_control_repeats_bit_for_bit_and_other_draws_do_not(here, control):
    again = here.train("control", 2)
    assert again.weight_bytes == control.weight_bytes
    assert again.untimed == control.untimed
    other = here.train("algo", 2)
    draws = [{row["draws_sha256"] for row in run.history} for run in (control, other)]
    assert not draws[0] & draws[1]


def test_parts_of_any_size_give_the_same_bits(here, control):
    path = here.folder / here.data
    here.drive("training", "stream", path, 1, 1 << 20, out="1.npz")
    one, other = ((here.folder / f"{size}.npz").read_bytes() for size in (1, 1 << 20))
    assert one == other
    assert files.read_json(here.folder / "1.json")["data_sha256"] == control.record["data_sha256"]


def test_a_run_that_is_killed_goes_on_bit_for_bit(here, control):
    here.kill_after(3, signal.SIGTERM, "control", 1, "cpu", "ended")
    assert "goes on after epoch " in here.finish("control", 1, "cpu", "ended")
    ended = here.read("ended")
    assert ended.weight_bytes == control.weight_bytes
    assert ended.untimed == control.untimed


def test_every_framework_draws_the_same(opened, toolings):
    draws = {
        tuple(row["draws_sha256"] for row in opened("smooth", tooling).train("control", 1).history)
        for tooling in toolings.values()
    }
    assert len(draws) == 1


def test_a_damaged_original_ends_a_run_in_one_line(opened, toolings, refusal):
    here = opened("smooth", next(iter(toolings.values())))
    path = here.folder / here.data
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 4] ^= 1  # among the training images
    path.write_bytes(bytes(damaged))
    line = refusal(here.attempt())
    assert line == f"toolnoise: {here.data}: an image is damaged; remove the file to have it prepared again"
