"""What an index says of the draws of a cell's runs."""

from types import SimpleNamespace

import pytest

from toolnoise.base.timings import Timings
from toolnoise.dumps.prediction_dump import Predictor, about


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
