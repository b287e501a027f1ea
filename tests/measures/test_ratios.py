"""Ratios of noise, against plain recomputation from predictions, and what `measure-ratios` reads and writes."""

import itertools

import numpy as np
import pytest
from scipy import stats

from toolnoise.base import metric_files
from toolnoise.base.noise_sources import ALGORITHMIC, DRAWN
from toolnoise.checks import parameters
from toolnoise.formulas.churn import normalised_churn, pairwise_churn
from toolnoise.formulas.per_run import RUNS
from toolnoise.measures.by_draw import churns_by_draw, group_by_draw
from toolnoise.measures.ratios import RATIOS, CellRuns, measure, ratios
from toolnoise.study import figure_files
from toolnoise.study.cells import Cell, Variants
from toolnoise.study.published import comparisons_of_cells

EXAMPLES = 300
LABELS = np.arange(EXAMPLES) % 4


def drawn(draw, run):
    return dict.fromkeys(ALGORITHMIC, draw) | {"impl": run}


ALGO = [drawn(seed, 0) for seed in (1, 2, 3, 4, 5)]
IMPL = [drawn(draw, run) for draw in (1, 2, 3, 4) for run in (1, 2, 3)]


def predictions(runs, seed):
    """Predictions that depend on the draw, and a little on the run."""
    changes = np.random.Generator(np.random.Philox(seed))
    of_draw = {draw: np.where(changes.random(EXAMPLES) < 0.8, LABELS, (LABELS + 1) % 4) for draw in range(1, 6)}
    found = []
    for one in runs:
        moved = changes.random(EXAMPLES) < 0.01 * changes.integers(3, 9)
        found.append(np.where(moved, changes.integers(0, 4, EXAMPLES), of_draw[one["init"]]))
    return np.array(found)


def runs_of(drawn_runs, predicted):
    accuracies = (predicted == LABELS).mean(axis=1)
    values = {metric: found for metric, _, found in churns_by_draw(group_by_draw(drawn_runs), predicted, LABELS, {})}
    return CellRuns(drawn_runs, values | {"accuracy": accuracies, "cross_entropy": 1 - accuracies**2})


def of_pairs(distance):
    def noise(predicted):
        return np.mean([distance(*both) for both in itertools.combinations(predicted, 2)])

    return noise


def churn(a, b):
    return np.mean(a != b)


def normalised(a, b):
    return normalised_churn(pairwise_churn(np.array([a, b])), np.array([churn(a, LABELS), churn(b, LABELS)]))[0, 1]


def sd(predicted):
    return np.std((predicted == LABELS).mean(axis=1), ddof=1)


PLAIN = {"churn": of_pairs(churn), "churn_normalised": of_pairs(normalised), "accuracy_sd": sd}


def of_draws(runs, predicted, noise, metric):
    """The noise within the runs of each draw, averaged: SDs as variances."""
    draws = np.array([one["init"] for one in runs])
    found = np.array([noise(predicted[draws == draw]) for draw in np.unique(draws)])
    return np.sqrt(np.mean(found**2)) if metric.endswith("sd") else found.mean()


def interval(ratio, error, freedom, metric):
    """That of the logarithm; of SDs, none whose ends are more than a factor of 20 apart."""
    low, high = ratio * np.exp(stats.t.ppf([0.025, 0.975], freedom) * error)
    return [ratio, *([np.nan, np.nan] if metric.endswith("sd") and high > 20 * low else [low, high])]


@pytest.mark.parametrize("metric", PLAIN)
def test_paired_runs_are_left_out_of_both(metric):
    one, other = predictions(ALGO, 1), predictions(ALGO, 2)
    found = ratios(runs_of(ALGO, one), runs_of(ALGO, other))
    assert found[1:] == (5, 5, "paired")
    noise = PLAIN[metric]
    logarithms = np.log([noise(np.delete(one, run, 0)) / noise(np.delete(other, run, 0)) for run in range(5)])
    error = np.sqrt(4 / 5 * np.sum((logarithms - logarithms.mean()) ** 2))
    wanted = interval(noise(one) / noise(other), error, 4, metric)
    np.testing.assert_allclose(found.estimates[metric], wanted, rtol=1e-9)


@pytest.mark.parametrize("metric", PLAIN)
def test_a_draw_moves_both_cells_and_the_run_without_a_partner_moves_its_own(metric):
    impl, algo = predictions(IMPL, 3), predictions(ALGO, 4)
    found = ratios(runs_of(IMPL, impl), runs_of(ALGO, algo))
    assert found[1:] == (4, 5, "paired")
    noise, draws = PLAIN[metric], np.array([one["init"] for one in IMPL])
    within = np.array([noise(impl[draws == draw]) for draw in (1, 2, 3, 4)])
    among = np.log([noise(np.delete(algo, run, 0)) for run in range(5)])
    moved = np.zeros(5)
    power = 2 if metric.endswith("sd") else 1  # variances are averaged over draws
    moved[:4] = (within**power / np.mean(within**power) - 1) / np.sqrt(4 * 3) / power
    # A cell is noisier without a run that is quieter than the others.
    error = np.sqrt(np.sum((moved + np.sqrt(4 / 5) * (among - among.mean())) ** 2))
    wanted = interval(of_draws(IMPL, impl, noise, metric) / noise(algo), error, 3, metric)
    np.testing.assert_allclose(found.estimates[metric], wanted, rtol=1e-9)


IMPL_OF_ONE = [drawn(1, run) for run in range(4)]
TIED = [drawn(draw, 0) | {"init": 10 + draw // 3} for draw in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("runs", "n_draws", "design"),
    [
        ([drawn(seed, 0) for seed in (11, 12, 13, 14)], 4, "independent"),
        (IMPL_OF_ONE, 1, "one draw"),
        (TIED, 2, "crossed"),  # in one cell, draws belong together that cannot be left out one by one of the other
    ],
)
def test_draws_that_are_not_shared_one_by_one_have_an_interval_only_if_they_are_independent(runs, n_draws, design):
    like = IMPL_OF_ONE if design == "one draw" else ALGO[:4]
    one, other = predictions(ALGO, 1), predictions(like, 2)
    found = ratios(runs_of(ALGO, one), runs_of(runs, other))
    assert found[1:] == (5, n_draws, design)
    value, low, high = found.estimates["churn"]
    assert np.isnan([low, high]).all() == (design != "independent")
    if design != "crossed":
        assert value == pytest.approx(PLAIN["churn"](one) / PLAIN["churn"](other), rel=1e-12)


def test_control_is_exactly_no_noise_and_no_ratio_has_it_below():
    control = runs_of([drawn(0, 0)] * 3, np.repeat(predictions([drawn(1, 0)], 8), 3, axis=0))
    algo = runs_of(ALGO, predictions(ALGO, 7))
    for estimate in ratios(control, algo).estimates.values():
        assert estimate.value == 0
        assert np.isnan(estimate.low)
    assert np.isnan([estimate.value for estimate in ratios(control, control).estimates.values()]).all()


def test_cells_of_the_same_runs_bit_by_bit_are_said_to_be_and_have_no_interval():
    one = runs_of(ALGO, predicted := predictions(ALGO, 1))
    prints = np.arange(5.0)
    same, unlike = (CellRuns(ALGO, one.by_metric | {"fingerprint": marks}) for marks in (prints, prints + 1))
    found = ratios(same, same)
    assert found.design == "bit-equal"
    assert found.estimates["churn"].value == 1
    assert np.isnan(found.estimates["churn"].low)
    assert ratios(same, unlike).design == "paired"
    assert ratios(one, runs_of(ALGO, predicted)).design == "paired"


# What `measure-ratios` reads and writes


PLACE = Variants("smallcnn", "digits", "cpu")


@pytest.fixture
def write(tmp_path):
    """Write single runs of a cell, of seeds 1, 2, ...; a churn that is not a number is that of a diverged run."""

    def written(model, variant, churns):
        rows = []
        for seed, churn in enumerate(churns, 1):
            names = model, "digits", "cpu", variant, seed, *(["own"] * len(DRAWN))
            rows.append((*names, "accuracy", "all", np.nan if np.isnan(churn) else 0.9 + seed**2 / 1000))
            if not np.isnan(churn):
                values = {"cross_entropy": 0.2 + seed / 10, "churn": churn, "churn_normalised": churn / 2}
                rows += [(*names, metric, "all", value) for metric, value in values.items()]
                rows.append((*names, "accuracy", "0", 0.5))
        path = tmp_path / f"{model}-{variant}.csv"
        metric_files.write_metrics(path, RUNS, rows)
        return str(path)

    return written


def test_each_variant_is_over_algo_impl_and_algo_and_batch_norm_over_none(write, tmp_path):
    some = [0.10, 0.12, 0.14]
    paths = [write("smallcnn", name, some) for name in ("algo_impl", "algo", "impl")]
    paths.append(write("smallcnn-bn", "algo", [0.05, 0.06, np.nan, 0.07]))
    measure(*PLACE, paths, out=tmp_path / "out.csv")
    found = metric_files.read_metrics(tmp_path / "out.csv", RATIOS)
    names = found[["model", "variant", "over_model", "over_variant"]].drop_duplicates()
    assert list(names.itertuples(index=False, name=None)) == [
        ("smallcnn", "algo", "smallcnn", "algo_impl"),
        ("smallcnn", "impl", "smallcnn", "algo_impl"),
        ("smallcnn", "algo_impl", "smallcnn", "algo"),
        ("smallcnn", "impl", "smallcnn", "algo"),
    ]
    assert list(found["metric"].unique()) == ["churn", "churn_normalised", "accuracy_sd", "cross_entropy_sd"]
    measure("smallcnn-bn", *PLACE[1:], paths, out=tmp_path / "bn.csv")
    normed = metric_files.read_metrics(tmp_path / "bn.csv", RATIOS)
    assert set(normed[["variant", "over_model", "over_variant"]].itertuples(index=False, name=None)) == {
        ("algo", "smallcnn", "algo")
    }
    assert normed["value"].iloc[:2].tolist() == pytest.approx([0.5, 0.5], rel=1e-12)
    counts = ["n_runs", "n_missing", "over_n_runs", "over_n_missing", "n_draws", "over_n_draws"]
    assert set(normed[counts].itertuples(index=False, name=None)) == {(3, 1, 3, 0, 3, 3)}


def test_single_runs_without_their_accuracy_or_of_another_task_are_one_line(write, refused, tmp_path):
    paths = [write("smallcnn", "algo_impl", [0.1, 0.1]), write("smallcnn", "algo", [0.1, 0.1])]
    line = refused(measure, "other", "digits", "cpu", paths, out=tmp_path / "out.csv")
    assert line == f"{paths[0]}: variant: nothing to compare for other/digits/cpu; runs of two of its cells"
    table = metric_files.read_metrics(paths[1], RUNS)
    metric_files.write_metrics(paths[1], RUNS, table[table["metric"] != "accuracy"].itertuples(index=False, name=None))
    line = refused(measure, *PLACE, paths[1:], out=tmp_path / "out.csv")
    assert "no accuracy of smallcnn/digits/cpu/algo" in line


def test_the_authors_own_algo_is_a_denominator_where_there_is_no_other():
    of, over = (Cell(*PLACE, variant) for variant in ("impl", "init+shuffle+impl"))
    assert list(comparisons_of_cells(PLACE, [of, over])) == [(of, over)]
    both = Cell(*PLACE, "algo_impl")
    assert list(comparisons_of_cells(PLACE, [of, over, both])) == [(of, both), (over, both)]


def test_a_study_has_ratios_for_each_task_on_a_tooling_with_something_to_compare(written, built):
    block = written["grid"][0] | {"hardware": ["cpu"]}
    written["grid"] = [
        block | {"models": ["smallcnn", "smallcnn-bn"], "variants": ["impl", "control"]},
        block | {"models": ["resnet18"], "variants": ["impl", "algo"]},
        block | {"models": ["lenet5"], "variants": ["impl", "control"]},
    ]
    tiny = built(written)
    # The model with batch normalisation has the ratios to the one without.
    assert [place.model for place in tiny.compared] == ["smallcnn-bn", "resnet18"]
    stem = "results/tiny/metrics/runs"
    assert parameters.compared_runs(tiny, tiny.compared[0]) == [
        f"{stem}/{model}/digits/cpu/{variant}.csv"
        for variant in ("impl", "control")
        for model in ("smallcnn-bn", "smallcnn")
    ]
    assert figure_files.collected_files(tiny)["ratios"] == "results/tiny/metrics/ratios.csv"
