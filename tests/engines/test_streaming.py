"""Data that stays on disk, and images that are larger than what the network sees: the same bits as any other."""

import csv

import numpy as np
import pytest

from toolnoise.base import arrays, files
from toolnoise.datasets import preparation

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


def test_a_damaged_image_ends_a_streamed_run_in_one_line(here, refusal):
    entry = here.spec().dataset.json
    path = here.folder / "damaged.npz"
    preparation.prepare("pictures", {**entry, "path": here.folder / entry["path"], "streamed": True}, out=path)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 4] ^= 1  # among the training images
    path.write_bytes(damaged)
    files_of_it = ["--data", path, "--weights", "w.npz", "--history", "h.csv", "--record", "r.json"]
    command = ["train", *here.options_of(here.spec()), *files_of_it, "--checkpoint", "c.npz"]
    line = refusal(here.toolnoise(here.folder, *command))
    assert line == f"toolnoise: {path}: an image is damaged; remove the file to have it prepared again"
    assert not list(here.folder.glob("[chrw].*"))


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


def test_a_network_is_tested_on_the_middle_of_larger_images(own_workshop):
    plain, larger = (own_workshop("recorder", {"batch": 32}, epochs=1) for _ in range(2))
    with_margin(larger, 3)
    record = plain.train().record
    for here in (plain, larger):
        # The same network for both.
        files.write_json(here.folder / "out/run.json", record)
        (here.folder / "out/weights.npz").write_bytes((plain.folder / "cpu-control-1/weights.npz").read_bytes())
        outputs = ["--logits", "l.npy", "--index", "l.json", "--records", "out/run.json"]
        command = ["predict", *here.options_of(here.spec()), "--data", here.data, *outputs]
        done = here.toolnoise(here.folder, *command)
        assert done.returncode == 0, done.stderr
    one, other = (arrays.read_npy(here.folder / "l.npy") for here in (plain, larger))
    assert one.tobytes() == other.tobytes()
