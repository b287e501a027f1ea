"""Dumps of predictions: stacks of a cell's runs, and what an index says of their draws."""

from types import SimpleNamespace

import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.base.timings import Timings
from toolnoise.comparison import designs
from toolnoise.dumps import stacks
from toolnoise.dumps.prediction_dump import Predictor, about
from toolnoise.stats import draws

LOGITS = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


def test_a_whole_dump_is_read(make_dump):
    dump = stacks.read_predictions(*make_dump(LOGITS, diverged=[False, True, False]))
    assert (dump.logits == LOGITS).all()
    assert dump.seeds == [1, 2, 3]
    assert dump.finished.tolist() == [True, False, True]


@pytest.mark.parametrize(("study_seed", "way"), [(0, "paired"), (1, "independent")])
def test_runs_of_two_studies_share_draws_if_their_seeds_are_equal(study_seed, way, make_dump):
    one = stacks.read_predictions(*make_dump(LOGITS)).drawn
    other = stacks.read_predictions(*make_dump(LOGITS, spec={"study_seed": study_seed})).drawn
    assert designs.design(*draws.units(one, other)).way == way


def test_logits_of_another_shape_than_the_index_says_are_one_line(make_dump, refused):
    paths = make_dump(LOGITS, shape=[3, 4, 3])
    line = refused(stacks.read_predictions, *paths)
    assert line == (
        f"{paths[0]}: found float32 of shape (3, 4, 2); float32 of shape (3, 4, 3), as {paths[1].name} says"
    )


def test_logits_of_another_type_are_one_line(make_dump, refused):
    assert "found float64" in refused(stacks.read_predictions, *make_dump(LOGITS.astype(np.float64)))


@pytest.mark.parametrize("key", ["seeds", "diverged", "shape"])
def test_an_index_that_lacks_a_key_is_one_line(key, make_dump, refused):
    paths = make_dump(LOGITS, **{key: None})
    assert refused(stacks.read_predictions, *paths) == f"{paths[1]}: {key}: no such key; the index that predict wrote"


@pytest.mark.parametrize("index", [{"seeds": [1, 2]}, {"diverged": [False] * 4}], ids=str)
def test_an_index_of_another_number_of_runs_is_one_line(index, make_dump, refused):
    paths = make_dump(LOGITS, **index)
    line = refused(stacks.read_predictions, *paths)
    assert line.startswith(f"{paths[1]}: {next(iter(index))}: found ")
    assert line.endswith("one for each of the 3 runs")


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ({"shape": -1}, "shape: found -1; expected a list"),
        ({"diverged": 10**30}, "diverged: found 1000000000000000000000000000000; expected a list"),
        ({"seeds": [1, 2, "x"]}, 'seeds[2]: found "x"; expected an integer'),
        ({"draws": {"init": 0.5}}, "draws.init: found 0.5; expected a list of each run's draws, or null"),
        ({"spec": {}}, "spec.study_seed: no such key"),
    ],
)
def test_an_index_of_other_types_is_one_line(index, says, make_dump, refused):
    paths = make_dump(LOGITS, **index)
    assert refused(stacks.read_predictions, *paths).startswith(f"{paths[1]}: {says}")


@pytest.mark.parametrize("text", ["null", "0.5", "true", "[]"])
def test_an_index_that_is_no_object_is_one_line(text, make_dump, refused):
    paths = make_dump(LOGITS)
    paths[1].write_text(text)
    line = refused(stacks.read_predictions, *paths)
    assert line == f"{paths[1]}: found {text}; expected the index that predict wrote"


@pytest.mark.parametrize("which", [0, 1], ids=["logits", "index"])
@pytest.mark.parametrize("kept", [0, 0.5, 0.9])
def test_a_truncated_dump_is_one_line(which, kept, make_dump, refused):
    paths = make_dump(LOGITS)
    whole = paths[which].read_bytes()
    paths[which].write_bytes(whole[: int(kept * len(whole))])
    assert refused(stacks.read_predictions, *paths).startswith(f"{paths[which]}: damaged or truncated (")


def test_a_dump_is_not_copied_into_memory(make_dump):
    assert isinstance(stacks.read_predictions(*make_dump(LOGITS)).logits, np.memmap)
    assert arrays.read_npy(make_dump(LOGITS)[0]).shape == LOGITS.shape


def test_logits_are_finite_but_of_runs_that_diverged(make_dump, refused):
    for number in (np.nan, np.inf, -np.inf):
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


@pytest.mark.parametrize("outcome", ["values", "metric"])
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_values_and_metrics_that_are_not_finite_are_one_line(outcome, number, make_dump, refused):
    values = np.arange(6, dtype=np.float64).reshape(2, 3)
    assert stacks.read_predictions(*make_dump(values, outcome=outcome)).logits[1, 2] == 5
    values[1, 2] = number
    paths = make_dump(values, outcome=outcome)
    line = f"{paths[0]}: found infinite or undefined numbers; finite ones, as dump-outcomes writes them"
    assert refused(stacks.read_predictions, *paths) == line


# What an index says of the draws of a cell's runs


@pytest.mark.parametrize(
    ("recipe", "margin", "dropout", "unused"),
    [
        ({"crop": 0, "flip": False}, 0, False, ["augment", "dropout"]),
        ({"crop": 1, "flip": False}, 0, False, ["dropout"]),
        ({"crop": 0, "flip": True}, 0, True, []),
        ({"crop": 0, "flip": False}, 8, True, []),  # windows of larger images are chosen by the same draws
    ],
)
def test_sources_without_effect_are_unused(recipe, margin, dropout, unused):
    engine = SimpleNamespace(has_dropout=lambda: dropout)
    dataset = SimpleNamespace(train=SimpleNamespace(margin=margin))
    assert Predictor(engine, (), dataset, {}).unused(recipe) == unused


def test_an_unused_source_has_no_draw_in_the_index(make_spec):
    spec = make_spec("init", 1, "noisy")
    cell = [SimpleNamespace(seed=seed, diverged=False) for seed in (1, 2)]
    index = about(spec, cell, (2, 5, 3), {}, Timings(), ["dropout"])
    assert index["unused"] == ["dropout"]
    assert index["draws"]["dropout"] is None
    assert index["draws"]["augment"] == [0, 0]
    assert "unused" not in about(spec, cell, (2, 5, 3), {}, Timings())
