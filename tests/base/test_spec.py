"""Specs, variants and values as text: read as they were written, nothing in them changes, and what is refused."""

import copy
import itertools
import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_equal

from toolnoise.base import noise_sources
from toolnoise.base.errors import BadInput
from toolnoise.base.job import values_as_text, values_in_text
from toolnoise.base.spec import Spec
from toolnoise.comparison import designs
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import apart
from toolnoise.measures.by_draw import grouped, over_draws
from toolnoise.stats import draws
from toolnoise.stats.estimates import Estimate, mean_t
from toolnoise.study.variants import VARIANTS, variant

RUN = {
    "study_seed": 7,
    "model": {"name": "mine", "command": "python train.py", "outcome": "values", "sources": ["init"]},
    "dataset": {"name": "tables", "reader": "outcome"},
    "recipe": {"name": "program"},
    "hardware": {"name": "cpu", "engine": "command", "impl_noise": "native", "threads": 1},
    "variant": {"name": "init+bit", "varying": ["init", "bit"], "bit_after": 2},
    "seed": 20003,
    "draw": 2,
}


def as_bytes(value):
    return json.dumps(value, sort_keys=True, indent=1).encode()


def test_its_json_is_what_it_was_read_from_also_with_keys_of_another_version():
    value = copy.deepcopy(RUN) | {"later": [1, {"a": None}]}
    value["model"]["earlier"] = {"deep": True}
    before = as_bytes(value)
    assert as_bytes(Spec.read(value).as_json()) == before
    assert Spec.read(json.loads(before)) == Spec.read(value)


NO_VARIANTS = "+ weather all impl+shuffle shuffle+shuffle shuffle+ +impl algo+bit control+impl shuffle+weather"
NO_VARIANTS += " bit_0 bit_01 bit_ bit_-1 bit_1.5 bit_\u0661 bit_1+bit impl_3 bit+init"


def test_anything_else_is_no_variant():
    assert [name for name in ("", *NO_VARIANTS.split()) if variant(name) is not None] == []


# Values as text on command lines: what is read is what was written


KEYS = st.text(min_size=1).filter(lambda key: "=" not in key and not any(map(str.isspace, key)))
# Texts that look like other things are likelier than chance has them.
LIKE_OTHERS = st.text(alphabet='aZ_./1-" {}[]\\=\n\t,', max_size=8) | st.sampled_from(["true", "null", "NaN", "1"])
TEXTS = st.text() | LIKE_OTHERS
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.dictionaries(KEYS, JSON, max_size=5))
@example({"a": "", "b": "1", "c": 1, "d": 1.0, "e": "true", "f": True, "g": "x y", "h": 'say "{}"\n', "i": "größer"})
@example({"learning_rate": 0.1 + 0.2, "path": "./a/b.npz", "url": "https://a.b/c?d=e", "options": {"width": 4}})
def test_values_are_read_as_they_were_written(values):
    line = values_as_text(values)
    assert "\n" not in line
    # As JSON, 1 and 1.0 differ, and NaN equals itself.
    assert json.dumps(values_in_text(line, "--x"), sort_keys=True) == json.dumps(values, sort_keys=True)


@pytest.mark.parametrize(
    "line",
    ["a", "=1", "a=", "a=1 a=2", "a=1  b=2", " a=1", "a=01", "a={", "a='b'", 'a="b"c=1', "a=b\tc=1", "a=b c", "a=1b"],
)
def test_what_is_no_such_text_is_refused_in_one_line(line):
    with pytest.raises(BadInput, match=r"^command line: --x: found ") as refused:
        values_in_text(line, "--x")
    assert "\n" not in str(refused.value)


# Draws: what is independent for every combination of variants, and how a measure of one draw becomes one of all


def spec_of(varying, noise, **more):
    hardware = {"name": "cpu", "engine": "tensorflow", "impl_noise": noise}
    parts = {"model": {"name": "m"}, "recipe": {}, "hardware": hardware, "variant": {"name": "v", "varying": varying}}
    return Spec.read({"study_seed": 0, "seed": 0, **parts, **more})


def drawn(variant, seeds, noise="reduction-order", **more):
    """The draws of runs of a variant, as a dump has them."""
    found = noise_sources.draws(spec_of(VARIANTS[variant], noise, **more), seeds)
    return [{source: numbers and numbers[run] for source, numbers in found.items()} for run in range(len(seeds))]


FREE = ("algo", "algo_impl")  # variants that fix no algorithmic source


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations_with_replacement(VARIANTS, 2)))
def test_units_of_two_variants_are_their_common_algorithmic_draws(one, other):
    seeds = [1, 2, 3, 4, 5]
    a, b = draws.units(drawn(one, seeds), drawn(other, seeds))
    both_free = one in FREE and other in FREE
    if both_free:
        np.testing.assert_array_equal(a, b)  # paired: run s of one belongs to run s of the other
    for units, name, beside in ((a, one, other), (b, other, one)):
        # One draw, unless every algorithmic source varies and the other does not tie the runs together.
        tied = beside in noise_sources.ALGORITHMIC
        assert len(set(units)) == (5 if name in FREE and not tied else 1), (name, beside)


def test_data_has_a_draw_only_where_it_may_vary_and_then_one_of_its_own_in_every_run():
    assert "data" not in drawn("algo_impl", [1])[0]
    assert [run["data"] for run in drawn("data", [1, 2])] == [1, 2]
    # Run 1 of two draws trains on two samples, as its seed says, so draws stay units.
    several = drawn("data", [10001, 10002, 20001], draw=1)
    assert [run["data"] for run in several] == [10001, 10002, 20001]
    assert draws.units(several)[0].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("a", "b", "way", "compared", "shared"),
    [
        ([0, 1, 2], [0, 1, 2], "paired", ([0, 1, 2], [0, 1, 2]), 3),
        ([0, 1, 2, 3], [1, 1, 2, 4], "partly paired", ([1, 2, 0, 3], [1, 2, 4]), 2),
        ([0, 1], [2, 3, 3], "two draws", ([0, 1], [2, 3]), 0),
        ([0, 1, 2], [3, 4, 5], "independent", ([0, 1, 2], [3, 4, 5]), 0),
        ([0, 1, 2], [2, 3, 4], "partly paired", ([2, 0, 1], [2, 3, 4]), 1),
        ([0, 1, 2], [3, 3], "one draw", ([0, 1, 2], [3]), 0),
        ([0, 0], [0], "one draw", ([0], [0]), 1),
    ],
)
def test_the_design_follows_from_the_units_of_both_arms(a, b, way, compared, shared):
    found = designs.design(np.array(a), np.array(b))
    assert (found.way, found.shared) == (way, shared)
    assert (found.units_a.tolist(), found.units_b.tolist()) == compared


def test_a_source_that_a_training_does_not_use_ties_no_runs_together():
    spec = spec_of(["init", "shuffle"], "native")

    def units(unused):
        found = noise_sources.draws(spec, [1, 2, 3], unused)
        return draws.units(
            [{source: numbers and numbers[run] for source, numbers in found.items()} for run in range(3)]
        )[0].tolist()

    # The recipe of the authors' code has neither augmentation nor dropout, which their ALGO would fix.
    assert units(["augment", "dropout"]) == [0, 1, 2]
    assert units(["augment"]) == [0, 0, 0]


NAN = np.nan


def over(metric, *found):
    """One row over draws that have these estimates."""
    ((name, group, estimate),) = over_draws([[(metric, "all", of_draw)] for of_draw in found])
    assert (name, group) == (metric, "all")
    return estimate


def test_noise_has_its_interval_over_draws_on_a_logarithmic_scale():
    found = over("churn", *(Estimate(value, NAN, NAN) for value in (0.005, 0.0, 0.015, 0.006)))
    assert found == pytest.approx((0.0065, 0.0011, 0.0383), abs=1e-4)
    variances = over("accuracy_sd", *(Estimate(value, NAN, NAN) for value in (0.005, 0.0, 0.015, 0.006)))
    assert variances.value == pytest.approx(np.sqrt((0.005**2 + 0.015**2 + 0.006**2) / 4))
    assert 0 < variances.low < variances.value / 2
    assert variances.high > variances.value * 2
    # Where only the mean level differs between draws, it is Student's.
    accuracies = np.array([0.95, 0.96, 0.94])
    assert over("accuracy_mean", *(Estimate(value, NAN, NAN) for value in accuracies)) == mean_t(accuracies)


@pytest.mark.parametrize("metric", ["churn", "accuracy_sd", "cka"])
def test_two_draws_have_no_interval(metric):
    assert_equal(over(metric, Estimate(0.1, 0, 1), Estimate(0.2, 0, 1))[1:], (NAN, NAN))


def test_the_ratio_of_sds_is_that_of_the_reported_sds():
    logits = np.random.default_rng(3).normal(size=(12, 60, 3)).astype(np.float32)
    labels, groups = np.arange(60) % 3, {"some": np.arange(60) < 20}
    # In one draw all runs are right on class 1: the mean of the ratios' logarithms over draws is undefined.
    logits[:4, labels == 1] += 99 * np.eye(3, dtype=np.float32)[1]
    drawn = grouped([{"init": run // 4} for run in range(12)])
    weights = apart(np.ones((4, 3)))
    predicted = predictions(logits)
    rows = over_draws([stability(predicted[some], labels, 3, groups, weights, 1) for some in drawn.groups])
    rows += of_all_draws(predicted, labels, 3, groups, drawn.groups, rows)
    found = {(metric, group): estimate for metric, group, estimate in rows}
    for group in ("0", "1", "2", "some"):
        ratio = found["accuracy_sd_ratio", group].value
        assert ratio == pytest.approx(found["accuracy_sd", group].value / found["accuracy_sd", "all"].value)
