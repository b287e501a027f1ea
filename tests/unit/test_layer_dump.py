"""What is kept of layers: which examples are drawn, how much is held at a time, and dumps read whole or refused."""

import numpy as np
import pytest

from toolnoise.analyses.layers import dump as layer_dump
from toolnoise.analyses.layers import measure as layers
from toolnoise.analyses.layers.dump import drawn, gram, in_groups
from toolnoise.analyses.layers.metric import LAYERS
from toolnoise.base import arrays, files, metric_files
from toolnoise.study.cells import Cell


def test_examples_are_drawn_once_for_a_data_set_and_stand_in_their_order():
    found = drawn(7, "digits", 40, 300)
    assert len(set(found)) == 40
    assert (np.diff(found) > 0).all()
    assert (found == drawn(7, "digits", 40, 300)).all()
    assert found.max() > 200 > 100 > found.min()
    for other in (drawn(8, "digits", 40, 300), drawn(7, "faces", 40, 300)):
        assert (found != other).any()


def test_all_examples_may_be_looked_at_and_more_are_refused(refused):
    assert drawn(0, "digits", 30, 30).tolist() == list(range(30))
    line = refused(drawn, 0, "digits", 31, 30)
    assert line == "study: layers: found 31; from 4 to the 30 test examples of digits"


def test_layers_come_in_order_as_many_at_a_time_as_fit_and_a_larger_one_alone():
    sizes = {"a": 3, "b": 4, "c": 9, "d": 1, "e": 2, "f": 5}
    assert list(in_groups(sizes, 7)) == [["a", "b"], ["c"], ["d", "e"], ["f"]]
    assert list(in_groups(sizes, 100)) == [list(sizes)]
    assert list(in_groups(sizes, 0)) == [[name] for name in sizes]
    assert list(in_groups({}, 7)) == []


def test_a_gram_matrix_is_of_centred_columns_however_many_are_summed_at_a_time(monkeypatch):
    values = (100 + np.random.Generator(np.random.Philox(1)).normal(size=(7, 50))).astype(np.float32)
    centred = values.astype(np.float64) - values.mean(axis=0, dtype=np.float64)
    for block in (layer_dump.BLOCK, 7 * 3):
        monkeypatch.setattr(layer_dump, "BLOCK", block)
        found = gram(values)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, centred @ centred.T, rtol=1e-5, atol=1e-5)
        assert (found == found.T).all()


CELL = Cell("m", "d", "h", "algo")


@pytest.fixture
def dumped(tmp_path):
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
        files.write_json(index, {key: value for key, value in (told | about).items() if value is not None})
        return grams, index

    return make


def test_a_diverged_run_is_left_out_and_counted_as_missing(dumped, tmp_path):
    layers.measure(CELL, *dumped(), tmp_path / "out.csv")
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
        ({"layers": None}, "layers: no such key"),
        ({"layers": ["a"]}, "layers: found 1"),
        ({"seeds": [1, 2, 3]}, "seeds: found 3"),
        ({"diverged": [False]}, "diverged: found 1"),
        ({"shape": [4, 2, 6, 5]}, "found float32 of shape (4, 2, 6, 6)"),
    ],
)
def test_a_dump_that_its_index_does_not_fit_is_refused(about, found, dumped, tmp_path, refused):
    assert found in refused(layers.measure, CELL, *dumped(**about), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_truncated_dump_is_refused(dumped, tmp_path, refused):
    grams, index = dumped()
    grams.write_bytes(grams.read_bytes()[:-8])
    assert "algo.npy" in refused(layers.measure, CELL, grams, index, tmp_path / "out.csv")


def test_an_array_is_written_row_by_row_as_whole(tmp_path):
    whole = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    arrays.write_npy(tmp_path / "whole.npy", whole)
    arrays.write_npy(tmp_path / "rows.npy", arrays.Rows(whole.shape, whole.dtype, iter(whole)))
    assert (tmp_path / "rows.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
