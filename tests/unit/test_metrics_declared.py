"""Every measure of a cell is declared, and its declaration alone decides on its range and its rule over draws."""

import numpy as np
import pytest

from toolnoise import streams
from toolnoise.checking import values
from toolnoise.measures.draws import grouped, over_draws
from toolnoise.metrics import components
from toolnoise.metrics.accuracy import predictions
from toolnoise.metrics.declared import ANY, METRICS, SHARE, USUAL, Metric, bounded, labels
from toolnoise.metrics.stability import of_all_draws, stability
from toolnoise.metrics.weights import apart
from toolnoise.stats.estimates import Estimate, mean_t

STREAM = streams.key(0, "init", 1)
DRAWN = [{"init": run // 3, "impl": run % 3} for run in range(12)]
LABELS = np.arange(40) % 2
GROUPS = {"some": np.arange(40) < 25}
LOGITS = np.random.default_rng(1).normal(size=(12, 40, 2)).astype(np.float32)


def test_every_row_of_a_cell_is_declared_and_nothing_else_is():
    together = grouped(DRAWN)
    predicted, vectors = predictions(LOGITS), np.random.default_rng(2).normal(size=(12, 7))
    weights = [apart(vectors[some]) for some in together.groups]
    of_draws = list(zip(together.groups, weights, strict=True))
    found = over_draws([stability(LOGITS[some], LABELS, GROUPS, mine, STREAM) for some, mine in of_draws])
    found += of_all_draws(predicted, LABELS, 2, GROUPS, together.groups, found)
    found += components.rows(predicted, LABELS, together.table, together.crossed)
    everyone = {"all": np.ones(40, bool)}
    found += over_draws(
        [values.stability(LOGITS[some, :, 0], LABELS, everyone, mine, STREAM) for some, mine in of_draws]
    )
    assert {metric for metric, *_ in found} | {"n_draws"} == METRICS.keys()
    for metric, _, (_, low, high) in found:
        lowest, highest = METRICS[metric].range
        assert not (low < lowest or high > highest), metric


def over(metric, declared, *found):
    ((*_, estimate),) = over_draws([[(metric, "all", of_draw)] for of_draw in found], declared)
    return estimate


def test_a_new_share_has_a_bounded_interval_by_its_declaration_whatever_its_name():
    found = [Estimate(value, np.nan, np.nan) for value in (0.0, 0.9, 0.1)]
    for name in ("agreement", "my_sd_share", "share_null_holm"):
        estimate = over(name, {name: Metric(SHARE, mean_t)}, *found)
        assert (estimate.low, estimate.high) == (0, 1)
        assert estimate.value == pytest.approx(1 / 3)
    assert over("depth", {"depth": Metric(ANY, mean_t)}, *found).low < 0


def test_a_measure_that_nobody_declared_is_an_error():
    found = [Estimate(value, np.nan, np.nan) for value in (0.1, 0.2)]
    with pytest.raises(KeyError, match="unheard_of"):
        over("unheard_of", METRICS, *found)
    with pytest.raises(KeyError, match="unheard_of"):
        bounded([("unheard_of", "all", found[0])])


def test_metrics_of_a_training_program_may_have_any_name():
    declared = values.declared_as(["accuracy", "loss_sd_ratio"])
    found = [Estimate(value, np.nan, np.nan) for value in (93.5, 91.0, 92.0)]
    assert over("accuracy_mean", declared, *found) == mean_t(np.array([93.5, 91.0, 92.0]))  # in per cent
    assert over("loss_sd_ratio_mean", declared, *found) == mean_t(np.array([93.5, 91.0, 92.0]))


def test_the_usual_columns_of_the_page_have_labels():
    assert set(USUAL) <= labels().keys()
