"""Dumps of predictions, of layers and of remedied predictions: what they keep of which draws, read whole or refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from toolnoise.base import arrays, files, metric_files
from toolnoise.base.timings import Timings
from toolnoise.comparison import designs
from toolnoise.datasets.prepared import Data, Split
from toolnoise.dumps import prediction_dump, stacks
from toolnoise.dumps.prediction_dump import Predictor, about
from toolnoise.papers import remedy_dump
from toolnoise.papers.layers import measure as layers
from toolnoise.papers.layers.dump import chosen_examples, gram
from toolnoise.papers.layers.measure import LAYERS
from toolnoise.papers.remedies import read_remedied
from toolnoise.stats import draws
from toolnoise.study import runs
from toolnoise.study.cells import Cell
from toolnoise.study.remedies import SETS, remedies

LOGITS = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


def test_a_whole_dump_is_read(make_dump):
    dump = stacks.read_predictions(*make_dump(LOGITS, diverged=[False, True, False]))
    assert (dump.logits == LOGITS).all()
    assert isinstance(dump.logits, np.memmap), "it is not copied into memory"
    assert dump.seeds == [1, 2, 3]
    assert dump.finished.tolist() == [True, False, True]


@pytest.mark.parametrize(("study_seed", "way"), [(0, "paired"), (1, "independent")])
def test_runs_of_two_studies_share_draws_if_their_seeds_are_equal(study_seed, way, make_dump):
    one = stacks.read_predictions(*make_dump(LOGITS)).drawn
    other = stacks.read_predictions(*make_dump(LOGITS, spec={"study_seed": study_seed})).drawn
    assert designs.design(*draws.units(one, other)).way == way


def test_logits_of_another_shape_or_type_than_the_index_says_are_one_line(make_dump, refused):
    assert "found float64" in refused(stacks.read_predictions, *make_dump(LOGITS.astype(np.float64)))
    paths = make_dump(LOGITS, shape=[3, 4, 3])
    line = refused(stacks.read_predictions, *paths)
    assert line == (
        f"{paths[0]}: found float32 of shape (3, 4, 2); float32 of shape (3, 4, 3), as {paths[1].name} says"
    )


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ({"shape": -1}, "shape: found -1; expected a list"),
        ({"seeds": [1, 2, "x"]}, 'seeds[2]: found "x"; expected an integer'),
        ({"seeds": [1, 2]}, "seeds: found 2; one for each of the 3 runs"),
    ],
)
def test_an_index_of_other_types_or_of_another_number_of_runs_is_one_line(index, says, make_dump, refused):
    paths = make_dump(LOGITS, **index)
    assert refused(stacks.read_predictions, *paths).startswith(f"{paths[1]}: {says}")


@pytest.mark.parametrize("which", [0, 1], ids=["logits", "index"])
def test_a_truncated_dump_is_one_line(which, make_dump, refused):
    paths = make_dump(LOGITS)
    whole = paths[which].read_bytes()
    paths[which].write_bytes(whole[: int(0.9 * len(whole))])
    assert refused(stacks.read_predictions, *paths).startswith(f"{paths[which]}: damaged or truncated (")


def test_logits_are_finite_but_of_runs_that_diverged(make_dump, refused):
    for number in (np.nan, -np.inf):
        logits = LOGITS.copy()
        logits[1, 2, 0] = number
        paths = make_dump(logits, diverged=[False, True, False])
        assert stacks.read_predictions(*paths).logits.shape == LOGITS.shape
        paths = make_dump(logits, diverged=[True, False, False])
        assert refused(stacks.read_predictions, *paths).startswith(f"{paths[0]}: [1]: found infinite or undefined")


def test_a_dump_of_softmax_outputs_is_refused(make_dump, refused):
    softmax = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)
    softmax[0] = np.nan
    paths = make_dump(softmax, diverged=[True, False, False])
    line = refused(stacks.read_predictions, *paths)
    assert line == f"{paths[0]}: found probabilities; logits, so a network without a softmax at its end"
    assert len(stacks.read_predictions(*make_dump(softmax[:1], diverged=[True])).logits) == 1


# What an index says of the draws of a cell's runs


@pytest.mark.parametrize(
    ("recipe", "margin", "dropout", "unused"),
    [
        ({"crop": 0, "flip": False}, 0, False, ["augment", "dropout"]),
        ({"crop": 0, "flip": False, "resized_crop": {}}, 0, True, []),
        ({"crop": 0, "flip": False}, 8, True, []),  # windows of larger images are chosen by the same draws
    ],
)
def test_sources_without_effect_are_unused_and_have_no_draw(recipe, margin, dropout, unused, make_spec):
    engine = SimpleNamespace(dropouts=[SimpleNamespace(rate=0.2 * dropout)])
    dataset = SimpleNamespace(train=SimpleNamespace(margin=margin))
    assert Predictor(engine, (), dataset, {}).unused(recipe) == unused
    # Such a source has no draw in the index.
    cell = [SimpleNamespace(seed=seed, diverged=False) for seed in (1, 2)]
    index = about(make_spec("init", 1, "noisy"), cell, (2, 5, 3), {}, Timings(), unused)
    assert index.get("unused", []) == unused
    assert [source for source in ("augment", "dropout") if index["draws"][source] is None] == unused
    assert index["draws"]["shuffle"] == [0, 0]


def test_examples_are_drawn_once_for_a_data_set_and_stand_in_their_order_and_no_more_than_there_are(refused):
    found = chosen_examples(7, "digits", 40, 300)
    assert len(set(found)) == 40
    assert (np.diff(found) > 0).all()
    assert (found == chosen_examples(7, "digits", 40, 300)).all()
    assert found.max() > 200 > 100 > found.min()
    for other in (chosen_examples(8, "digits", 40, 300), chosen_examples(7, "faces", 40, 300)):
        assert (found != other).any()
    assert chosen_examples(0, "digits", 30, 30).tolist() == list(range(30))
    line = refused(chosen_examples, 0, "digits", 31, 30)
    assert line == "study: layers: found 31; from 4 to the 30 test examples of digits"


CELL = Cell("m", "d", "h", "algo")


@pytest.fixture
def dumped_layers(tmp_path):
    """Write a dump of two layers of some runs, the second of which diverged; returns its two paths."""

    def make(runs=4, **about):
        draws = np.random.Generator(np.random.Philox(3))
        stack = np.stack([[gram(draws.normal(size=(6, columns))) for columns in (4, 9)] for _ in range(runs)])
        stack[1] = np.nan
        grams, index = tmp_path / "algo.npy", tmp_path / "algo.json"
        arrays.write_npy(grams, stack)
        seeds = list(range(1, runs + 1))
        diverged = [seed == 2 for seed in seeds]
        told = {"layers": ["a", "b"], "seeds": seeds, "diverged": diverged, "shape": list(stack.shape)}
        files.write_json(index, told | about)
        return grams, index

    return make


def test_a_diverged_run_is_left_out_and_counted_as_missing(dumped_layers, tmp_path):
    layers.measure(CELL, *dumped_layers(), out=tmp_path / "out.csv")
    rows = metric_files.read(tmp_path / "out.csv", LAYERS)
    assert rows[["layer", "metric"]].to_numpy().tolist() == [
        [layer, metric] for layer in ("a", "b") for metric in ("cka", "cka_debiased")
    ]
    assert set(rows["examples"]) == {6}
    assert set(rows["n_runs"]) == {3}
    assert set(rows["n_missing"]) == {1}
    assert rows[["value", "ci_low", "ci_high"]].notna().all(axis=None)


@pytest.mark.parametrize(
    ("about", "found"),
    [
        ({"layers": ["a"]}, "layers: found 1"),
        ({"shape": [4, 2, 6, 5]}, "found float32 of shape (4, 2, 6, 6)"),
    ],
)
def test_a_dump_that_its_index_does_not_fit_is_refused(about, found, dumped_layers, tmp_path, refused):
    assert found in refused(layers.measure, CELL, *dumped_layers(**about), out=tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


EXAMPLES, CLASSES, SNAPSHOTS, MARGIN = 23, 3, 3, 2
EDGE = 16  # as far as any view is shifted
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


ALL_RUNS = {"1": Run(seed=1, diverged=False), "2": Run(seed=2, diverged=True), "5": Run(seed=5, diverged=False)}


@pytest.fixture
def dumped_remedies(tmp_path, monkeypatch, make_spec):
    """Dump three runs, of which the second diverged; return the two files."""
    data = Data(TEST, TEST, tuple("abc"), (), "")
    network = prediction_dump.Predictor(Dense(), (), data, {"device": "none"})
    monkeypatch.setattr(prediction_dump, "build", lambda *_: network)
    monkeypatch.setattr(runs, "read", ALL_RUNS.get)
    monkeypatch.setattr(remedy_dump, "PART", 8)  # three parts

    def dump(names=NAMES):
        logits, index = tmp_path / "cell.npy", tmp_path / "cell.json"
        remedy_dump.dump(make_spec("impl", 1, "noisy"), list(names), "", list(ALL_RUNS), logits=logits, index=index)
        return logits, index

    return dump


def plainly(run, name):
    """The logits of a run under a remedy: a loop over snapshots and views, one mean."""
    snapshots, sets = run.snapshots(), name.removeprefix("snapshots").removeprefix("+")
    members = SETS[sets] if sets else [(0, 0, False)]
    engine, found = Dense(), []
    for weights in snapshots if name.startswith("snapshots") else snapshots[-1:]:
        engine.kernel = weights["kernel"]
        for down, right, mirrored in members:
            padded = np.pad(TEST.images, ((0, 0), (EDGE, EDGE), (EDGE, EDGE), (0, 0)))
            top, left = EDGE + MARGIN // 2 + down, EDGE + MARGIN // 2 + right
            window = padded[:, top : top + 6, left : left + 5]
            images = window[:, :, ::-1] if mirrored else window
            # In the parts that the dump was made in: einsum may add in another order for another number of images.
            parts = [TEST.showing(images).chosen(slice(start, start + 8)) for start in range(0, EXAMPLES, 8)]
            found.append(np.concatenate([engine.logits(part) for part in parts]))
    return np.mean(np.array(found, np.float64), axis=0).astype(np.float32)


def test_every_remedy_is_a_plain_mean_over_its_snapshots_and_views_bit_for_bit(dumped_remedies):
    found = read_remedied(dumped_remedies()[0])
    assert found.remedies == NAMES
    assert found.logits.shape == (len(NAMES), 3, EXAMPLES, CLASSES)
    assert (found.seeds, found.diverged) == ([1, 2, 5], [False, True, False])
    assert np.isnan(found.logits[:, 1]).all(), "a diverged run is there as nothing"
    for name, remedied in zip(NAMES, found.logits, strict=True):
        for run, layer in zip(ALL_RUNS.values(), remedied, strict=True):
            if not run.diverged:
                assert np.array_equal(layer, plainly(run, name)), name
