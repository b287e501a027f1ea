"""The dump of remedied predictions, with a network of one layer in place of a framework's."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from toolnoise.analyses.remedies import dump as remedy_dump
from toolnoise.analyses.remedies import stack
from toolnoise.analyses.remedies.plan import SETS, remedies
from toolnoise.base import files
from toolnoise.datasets.prepared import Data, Split
from toolnoise.dumps import prediction_dump
from toolnoise.training import runs

EXAMPLES, CLASSES, SNAPSHOTS, MARGIN = 23, 3, 3, 2
DRAWS = np.random.Generator(np.random.Philox(3))
PIXELS = DRAWS.integers(0, 256, (EXAMPLES, 8, 7, 2), np.uint8)
TEST = Split(PIXELS, np.arange(EXAMPLES) % CLASSES, normalise="per-image", margin=MARGIN)
NAMES = list(remedies(SETS, SNAPSHOTS))


class Dense:
    """An engine whose network is one dense layer."""

    def restore(self, state):
        self.kernel = state.weights["kernel"]

    def logits(self, split):
        images = split.middle(slice(None))
        return np.einsum("nhwc,hwck->nk", images, self.kernel).astype(np.float32)


class Run(SimpleNamespace):
    """A run that left three snapshots, or diverged."""

    def snapshots(self):
        draws = np.random.Generator(np.random.Philox(self.seed))
        shape = (*TEST.shape, CLASSES)
        return [{"kernel": draws.normal(size=shape).astype(np.float32)} for _ in range(SNAPSHOTS)]


CELL = {"1": Run(seed=1, diverged=False), "2": Run(seed=2, diverged=True), "5": Run(seed=5, diverged=False)}


@pytest.fixture
def dumped(tmp_path, monkeypatch, make_spec):
    """Dump three runs, of which the second diverged; return the two files."""
    data = Data(TEST, TEST, tuple("abc"), (), "")
    network = prediction_dump.Predictor(Dense(), (), data, {"device": "none"})
    monkeypatch.setattr(prediction_dump, "build", lambda *_: network)
    monkeypatch.setattr(runs, "read", CELL.get)
    monkeypatch.setattr(remedy_dump, "PART", 8)  # three parts

    def dump(names=NAMES):
        paths = tmp_path / "cell.npy", tmp_path / "cell.json"
        remedy_dump.dump(make_spec("impl", 1, "noisy"), list(names), "", list(CELL), *paths)
        return paths

    return dump


def plainly(run, name):
    """The logits of a run under a remedy: a loop over snapshots and views, one mean."""
    snapshots, sets = run.snapshots(), name.removeprefix("snapshots").removeprefix("+")
    members = SETS[sets] if sets else [(0, 0, False)]
    engine, found = Dense(), []
    for weights in snapshots if name.startswith("snapshots") else snapshots[-1:]:
        engine.kernel = weights["kernel"]
        for down, right, mirrored in members:
            padded = np.pad(TEST.images, ((0, 0), (4, 4), (4, 4), (0, 0)))
            top, left = 4 + MARGIN // 2 + down, 4 + MARGIN // 2 + right
            window = padded[:, top : top + 6, left : left + 5]
            images = window[:, :, ::-1] if mirrored else window
            # In the parts that the dump was made in: einsum may add in another order for another number of images.
            parts = [TEST.showing(images).chosen(slice(start, start + 8)) for start in range(0, EXAMPLES, 8)]
            found.append(np.concatenate([engine.logits(part) for part in parts]))
    return np.mean(np.array(found, np.float64), axis=0).astype(np.float32)


def test_every_remedy_is_a_plain_mean_over_its_snapshots_and_views_bit_for_bit(dumped):
    found = stack.read(*dumped())
    assert found.remedies == NAMES
    assert found.logits.shape == (len(NAMES), 3, EXAMPLES, CLASSES)
    for name, layers in zip(NAMES, found.logits, strict=True):
        for run, layer in zip(CELL.values(), layers, strict=True):
            if not run.diverged:
                assert np.array_equal(layer, plainly(run, name)), name


def test_a_diverged_run_is_there_as_nothing(dumped):
    found = stack.read(*dumped(["flip"]))
    assert (found.seeds, found.diverged) == ([1, 2, 5], [False, True, False])
    assert np.isnan(found.logits[:, 1]).all()
    assert np.isfinite(found.logits[:, [0, 2]]).all()


def test_a_view_is_computed_once_for_all_the_remedies_that_have_it(dumped, monkeypatch):
    calls, logits = [], Dense.logits
    monkeypatch.setattr(Dense, "logits", lambda self, split: calls.append(1) or logits(self, split))
    dumped(["crops25", "crops81", "flip+crops81", "snapshots+crops9"])
    parts, finished = 3, 2
    assert len(calls) == parts * finished * (162 + (SNAPSHOTS - 1) * 9)


def test_the_dump_lies_in_its_file_and_its_index_names_the_remedies(dumped):
    paths = dumped(["flip"])
    assert isinstance(stack.read(*paths).logits, np.memmap)
    about = files.read_json(paths[1])
    assert (about["remedies"], about["seeds"], about["shape"]) == (["flip"], [1, 2, 5], [1, 3, EXAMPLES, CLASSES])
    assert "seed" not in about["spec"]
    assert not list(Path(paths[0]).parent.glob(".*"))


@pytest.mark.parametrize("key", ["remedies", "seeds", "diverged", "shape"])
def test_an_index_that_lacks_a_key_or_counts_otherwise_is_one_line(key, dumped, refused):
    paths = dumped(["flip"])
    about = files.read_json(paths[1])
    whole = about.pop(key)
    files.write_json(paths[1], about)
    assert refused(stack.read, *paths) == f"{paths[1]}: {key}: no such key; the index that remedy wrote"
    files.write_json(paths[1], about | {key: [*whole, 7]})
    assert refused(stack.read, *paths).startswith(str(paths[0 if key == "shape" else 1]))
