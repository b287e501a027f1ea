"""Two toolings and atlases of many: how far apart they are, which part explains it, and what is written of it."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise import steps
from toolnoise.analyses.atlas import measure as measures_atlas
from toolnoise.analyses.atlas import metric as atlas
from toolnoise.analyses.atlas import rows
from toolnoise.analyses.atlas.metric import ANY, ATLAS, ATLAS_FACTORS, ATLAS_TOOLINGS, DIFFERENT, SEED, ToolingPart
from toolnoise.analyses.frameworks import pair
from toolnoise.analyses.frameworks.cross_tooling import CROSS_TOOLING, cross_tooling
from toolnoise.base import arrays, metric_files
from toolnoise.base.noise_sources import SOURCES
from toolnoise.formulas.churn import pairwise_churn
from toolnoise.stats.estimates import Estimate
from toolnoise.study.cells import Task

LABELS = np.array([0, 1, 0, 1])
METRICS = ["churn", "l2_unit", "l2_raw", "accuracy_difference"]


def logits(predicted):
    return np.eye(2, dtype=np.float32)[np.array(predicted)]


A = logits([[0, 1, 0, 1], [0, 1, 0, 0]])
B = logits([[0, 1, 0, 0], [1, 0, 0, 0]])
WEIGHTS_A = np.array([[3, 4], [1, 0]], np.float32)
WEIGHTS_B = np.array([[6, 8], [0, 1]], np.float32)


def measured(*arguments, units=None):
    units = [[run] for run in range(len(arguments[0]))] if units is None else units
    rows = cross_tooling(*arguments, [np.array(runs) for runs in units])
    assert [(metric, group) for metric, group, _ in rows] == [(metric, "all") for metric in METRICS]
    return {metric: estimate for metric, _, estimate in rows}


def test_each_run_is_compared_with_the_run_of_its_seed():
    found = measured(A, B, LABELS, WEIGHTS_A, WEIGHTS_B)
    assert found["churn"].value == (1 / 4 + 2 / 4) / 2
    assert found["l2_raw"].value == pytest.approx((5 + np.sqrt(2)) / 2, rel=1e-15)
    assert found["l2_unit"].value == pytest.approx(np.sqrt(2) / 2, rel=1e-15)
    assert found["accuracy_difference"].value == ((3 / 4 - 1) + (1 / 4 - 3 / 4)) / 2


def test_accuracy_difference_is_the_other_way_round_from_the_other_side():
    there, back = (
        measured(*order, WEIGHTS_A, WEIGHTS_B)["accuracy_difference"] for order in [(A, B, LABELS), (B, A, LABELS)]
    )
    assert back == (-there.value, -there.high, -there.low)


def test_bounds_stay_within_the_range_of_each_metric():
    found = measured(A, B, LABELS, WEIGHTS_A, WEIGHTS_B)  # two runs: t is 12.7, all raw intervals are too wide
    assert found["churn"][1:] == (0, 1)
    assert found["l2_unit"].low == found["l2_raw"].low == 0
    assert found["accuracy_difference"][1:] == (-1, 1)


def test_intervals_within_the_range_are_students():
    a = logits(np.zeros((4, 100), int))
    predicted = np.zeros((4, 100), int)
    for run, different in enumerate([50, 51, 52, 53]):
        predicted[run, :different] = 1
    weights = np.eye(4)
    churn = measured(a, logits(predicted), np.zeros(100, int), weights, weights)["churn"]
    half = 3.1824463 * np.sqrt(5 / 3) / 100 / 2  # t at .975 with 3 degrees of freedom, from a printed table
    assert churn == pytest.approx((0.515, 0.515 - half, 0.515 + half), rel=1e-7)


def test_toolings_under_control_are_compared_once_and_without_interval():
    a, b = np.repeat(A[:1], 5, axis=0), np.repeat(B[:1], 5, axis=0)
    weights = np.repeat(WEIGHTS_A[1:], 5, axis=0), np.repeat(WEIGHTS_B[1:], 5, axis=0)
    found = measured(a, b, LABELS, *weights, units=[range(5)])
    assert found["churn"].value == 0.25
    for value, low, high in found.values():
        assert value != 0
        assert np.isnan([low, high]).all()


def test_pairs_of_one_unit_count_as_their_mean():
    found = measured(
        A[[0, 1, 1]], B[[0, 1, 1]], LABELS, WEIGHTS_A[[0, 1, 1]], WEIGHTS_B[[0, 1, 1]], units=[[0], [1, 2]]
    )
    assert found == measured(A, B, LABELS, WEIGHTS_A, WEIGHTS_B)


def test_a_tooling_against_itself_is_exactly_zero_without_intervals():
    for estimate in measured(A, A, LABELS, WEIGHTS_A, WEIGHTS_A).values():
        assert_equal(estimate, Estimate(0.0))


def test_one_run_has_values_without_intervals():
    for value, low, high in measured(A[:1], B[:1], LABELS, WEIGHTS_A[:1], WEIGHTS_B[:1]).values():
        assert np.isfinite(value)
        assert np.isnan(low)
        assert np.isnan(high)


def test_without_runs_everything_is_undefined():
    assert np.isnan(list(measured(A[:0], B[:0], LABELS, WEIGHTS_A[:0], WEIGHTS_B[:0]).values())).all()


# How many independent pairs of runs two toolings have


NAMES = ("smallcnn", "digits", "cpu", "noisy", "control")


@pytest.fixture
def measured_pair(tmp_path, make_run, make_dump):
    """Measure a pair of toolings whose runs predict so; returns the rows of the file."""
    labels = np.arange(8) % 2
    splits = [
        {f"{part}_images": np.zeros((8, 2, 2, 1), np.uint8), f"{part}_labels": labels} for part in ("train", "test")
    ]
    arrays.write_npz(
        tmp_path / "d.npz", splits[0] | splits[1] | {"maximum": np.array(255), "classes": np.array(["a", "b"])}
    )

    def measure(one, other, draws, diverged):
        sides = []
        for name, predicted in (("one", one), ("other", other)):
            logits = 4 * np.eye(2, dtype=np.float32)[predicted] - 2
            logits[diverged] = np.nan
            paths = make_dump(logits, name, diverged=diverged, draws=dict.fromkeys(SOURCES, draws))
            sides += [*paths, [make_run(seed) for seed in range(1, len(predicted) + 1)]]
        pair.measure(NAMES, tmp_path / "d.npz", *sides, tmp_path / "out.csv")
        return metric_files.read(tmp_path / "out.csv", CROSS_TOOLING).set_index("metric")

    return measure


def predicted(*counts):
    """So many of eight examples are predicted as the second class, by each run."""
    return np.array([[place < count for place in range(8)] for count in counts], int)


def test_copies_are_one_pair_without_an_interval(measured_pair):
    found = measured_pair(predicted(4, 4, 4), predicted(6, 6, 6), [0, 0, 0], [False] * 3)
    assert set(found["n_runs"]) == {1}
    assert set(found["n_missing"]) == {0}
    assert found.loc["churn", "value"] == 0.25
    assert found["ci_low"].isna().all()


def test_pairs_of_other_draws_are_independent_unless_their_bits_are_equal(measured_pair):
    found = measured_pair(predicted(4, 5, 6, 4), predicted(6, 6, 6, 6), [1, 2, 3, 4], [False] * 4)
    assert set(found["n_runs"]) == {3}
    assert found.loc["churn", "value"] == pytest.approx((2 + 1 + 0) / 8 / 3, rel=1e-15)
    assert found.loc["churn", "ci_high"] > found.loc["churn", "value"]


def test_a_diverged_run_is_missing_and_no_unit(measured_pair):
    found = measured_pair(predicted(4, 5, 6), predicted(6, 6, 6), [1, 2, 3], [False, True, False])
    assert set(found["n_runs"]) == {2}
    assert set(found["n_missing"]) == {1}


# The second is the first with another instruction set, the third another version, the last another framework.
PARTS = [
    ToolingPart("tensorflow", "2.21", "onednn", "avx2", "1"),
    ToolingPart("tensorflow", "2.21", "onednn", "avx512", "1"),
    ToolingPart("tensorflow", "2.16", "onednn", "avx2", "1"),
    ToolingPart("jax", "0.10", "xla", "avx2", "1"),
]
GENERATOR = np.random.default_rng(3)
# [tooling, draw, example]
PREDICTED = GENERATOR.integers(0, 3, (4, 3, 40))
PREDICTED[1] = PREDICTED[0]
CHURN = atlas.distances(pairwise_churn, PREDICTED, 1)
ALIKE = atlas.equal(np.array([["a", "b", "c"], ["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]]))


def factor_rows():
    return {(factor, metric): (pairs, found) for factor, metric, pairs, found in found_factors()}


def found_factors():
    return atlas.factors(PARTS, {"churn": CHURN}, ALIKE)


def by_hand(one, other):
    return [(PREDICTED[one, draw] != PREDICTED[other, draw]).mean() for draw in range(3)]


def test_toolings_that_differ_only_in_a_factor_are_those_and_no_others():
    def pairs(factor):
        return set(zip(*np.nonzero(np.triu(atlas.differs_only(PARTS, factor))), strict=True))

    assert {factor: pairs(factor) for factor in atlas.FACTORS} == {
        # A framework's version and kernels are its own.
        "framework": {(0, 3), (2, 3)},
        "version": {(0, 2)},
        "kernels": set(),
        "isa": {(0, 1)},
        "threads": set(),
    }


def test_a_factors_distance_is_the_mean_over_draws_of_the_mean_over_its_pairs():
    found = factor_rows()
    pairs, version = found["version", "churn"]
    assert pairs == 1
    assert version.value == pytest.approx(np.mean(by_hand(0, 2)))
    assert found["framework", "churn"][1].value == pytest.approx(np.mean(by_hand(0, 3) + by_hand(2, 3)))
    assert found[ANY, "churn"][0] == 6
    # The pair of equal bits is no pair of them.
    assert found[DIFFERENT, "churn"][0] == 5
    assert found[DIFFERENT, "churn"][1].value == pytest.approx(6 / 5 * found[ANY, "churn"][1].value)
    assert ("kernels", "churn") not in found


def test_toolings_of_equal_bits_are_exactly_zero_apart_without_an_interval():
    found = factor_rows()
    assert_equal(found["isa", "churn"][1], Estimate(0.0))
    assert found["isa", "churn_to_seeds"][1].value == 0
    assert_equal(found["isa", "bit_equal"][1], Estimate(1.0))
    assert_equal(found["version", "bit_equal"][1], Estimate(0.0))


def test_a_ratio_is_to_two_draws_on_one_tooling():
    seeds = [np.mean([(own[a] != own[b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]) for own in PREDICTED]
    found = factor_rows()
    assert found[SEED, "churn"][1].value == pytest.approx(np.mean(seeds))
    ratio = found["version", "churn_to_seeds"][1]
    assert ratio.value == pytest.approx(np.mean(by_hand(0, 2)) / np.mean(seeds))
    assert ratio.low < ratio.value < ratio.high


def test_factors_explain_all_where_each_tooling_has_parts_of_its_own():
    shares = atlas.explained(PARTS, CHURN.toolings)
    assert sum(shares[factor][0] for factor in shares) == pytest.approx([1, 1, 1])
    assert {factor: chance for factor, (_, chance) in shares.items()} == pytest.approx(
        {"framework": 1 / 3, "version": 1 / 3, "isa": 1 / 3}
    )
    # It makes no difference.
    assert shares["isa"][0] == pytest.approx([0, 0, 0])


def test_a_factor_explains_what_an_analysis_of_variance_says():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    squares = (values[:, np.newaxis] - values)[np.newaxis] ** 2
    total = ((values - values.mean()) ** 2).sum()
    within = ((values[:3] - values[:3].mean()) ** 2).sum()
    assert atlas.explained(PARTS, squares)["framework"][0] == pytest.approx([1 - within / total])


def test_toolings_that_agree_in_all_have_nothing_to_explain():
    assert not any(shares.any() for shares, _ in atlas.explained(PARTS, np.zeros((2, 4, 4))).values())


def test_logits_are_compared_relative_to_their_lengths():
    logits = np.array([[[3.0, 4.0], [0.0, 0.0]], [[4.0, 3.0], [0.0, 0.0]]], np.float32)
    assert atlas.relative(logits)[0, 1] == pytest.approx(np.sqrt(2) / 5 / 2)
    assert np.diag(atlas.relative(logits)).tolist() == [0, 0]


def test_the_first_epoch_that_parts_is_of_each_draw():
    histories = np.array([[["a", "b"], ["c", "d"]], [["a", "x"], ["c", "d"]]])
    first = atlas.partings(histories)
    assert first[0, 0, 1] == first[0, 1, 0] == 2
    assert np.isnan(first[1, 0, 1])


def test_a_pairs_rows_have_their_distances_their_bits_and_their_parting():
    first = np.full((3, 4, 4), np.nan)
    first[:2, 0, 2] = 1, 3
    rows = atlas.pair({"churn": CHURN}, ALIKE, first, 0, 2)
    found = {metric: (estimate, count) for (metric, _, estimate), count in rows}
    assert found["churn"][0].value == pytest.approx(np.mean(by_hand(0, 2)))
    assert found["churn"][1] == 3
    assert found["bit_equal"][0].value == 0
    assert (found["first_epoch"][0].value, found["first_epoch"][1]) == (2, 2)


TOOLINGS = {"cpu": "2.21.0", "cpu-eigen": "2.21.0", "cpu-old": "2.16.2"}
LOGITS = np.random.default_rng(0).normal(size=(2, 8, 3)).astype(np.float32)


@pytest.fixture
def mapped(written, built):
    """A study whose toolings are compared all at once."""
    written["hardware"] = {"cpu-old": {"accelerator": "cpu", "environment": "tensorflow-2.16"}}
    written["grid"] = [
        {**written["grid"][0], "hardware": ["cpu", "cpu-eigen", "cpu-old"], "variants": ["algo", "control"], "seeds": 2}
        | {"atlas": True}
    ]
    return built(written)


def test_a_block_with_atlas_has_one_job_for_a_task_and_none_for_pairs(mapped):
    assert mapped.pairs == ()
    assert rows.tasks(mapped) == [Task("smallcnn", "digits")]
    (job,) = (job for job in steps.jobs(mapped) if job.verb == "measure-atlas")
    assert job.parameters["cells"] == [[name, variant] for name in TOOLINGS for variant in ("algo", "control")]
    assert ("results/tiny/predictions/smallcnn/digits/cpu-old/algo.json", "beside logits") in job.inputs
    assert sum(role == "records" for _, role in job.inputs) == 12
    assert [figure.name for figure in mapped.figures if figure.notebook == "atlas"] == ["atlas-smallcnn-digits"]
    (shown,) = (figure for figure in mapped.figures if figure.notebook == "atlas")
    assert steps.metric_files(mapped, shown)["atlas"] == ["results/tiny/metrics/atlas/smallcnn/digits.csv"]


def test_a_variant_with_noise_of_the_tooling_is_no_part_of_an_atlas(written, built):
    written["grid"][0] |= {"atlas": True, "variants": ["impl", "algo"]}
    study = built(written)
    assert {cell.variant for cell in rows.mapped(study, Task("smallcnn", "digits"))} == {"algo"}


@pytest.fixture
def measured_atlas(tmp_path, make_run, make_dump):
    """Measure three toolings of two draws each, the first two bit-equal; `diverged` names a tooling's first run."""

    def measure(diverged=""):
        cells, dumps, records = [], [], []
        for place, (name, version) in enumerate(TOOLINGS.items()):
            logits = LOGITS.copy()
            if name == "cpu-old":
                logits[:, 0] = logits[:, 0, ::-1]
            path, _ = make_dump(logits, name, draws=dict.fromkeys(SOURCES), diverged=[name == diverged, False])
            cells.append([name, "algo"])
            dumps.append(str(path))

            def change(parts, name=name, version=version, place=place):
                tooling = {"name": name, "kernels": "eigen" if place == 1 else "onednn"}
                parts["record"]["spec"]["hardware"] |= tooling
                parts["record"]["observed"] = {"versions": {"tensorflow": version}}
                if name == "cpu-old":
                    parts["final"]["a/bias"] = parts["epochs"][-1]["a/bias"] = np.ones(3, np.float32)

            records += [make_run(10 * place + seed, change) for seed in (1, 2)]
        outs = [str(tmp_path / f"{name}.csv") for name in ("pairs", "factors", "toolings")]
        measures_atlas.measure("smallcnn", "digits", cells, dumps, records, *outs)
        kinds = zip(outs, (ATLAS, ATLAS_FACTORS, ATLAS_TOOLINGS), strict=True)
        return [metric_files.read(path, columns) for path, columns in kinds]

    return measure


def test_every_two_toolings_have_their_rows(measured_atlas):
    pairs, factors, toolings = measured_atlas()
    found = pairs.set_index(["hardware", "other_hardware", "metric"])["value"]
    assert found["cpu", "cpu-eigen", "churn"] == found["cpu", "cpu-eigen", "l2_unit"] == 0
    assert found["cpu", "cpu-eigen", "bit_equal"] == 1
    assert np.isnan(found["cpu", "cpu-eigen", "first_epoch"])
    assert found["cpu", "cpu-old", "churn"] == found["cpu-eigen", "cpu-old", "churn"] > 0
    assert found["cpu", "cpu-old", "bit_equal"] == 0
    assert found["cpu", "cpu-old", "first_epoch"] == 3
    assert set(pairs["n_runs"]) == {0, 2}
    assert set(factors["n_missing"]) == {0}
    by_factor = factors.set_index(["factor", "metric"])
    assert by_factor.loc[("kernels", "bit_equal"), "value"] == 1
    assert by_factor.loc[("version", "churn"), "value"] == found["cpu", "cpu-old", "churn"]
    assert toolings["version"].tolist() == list(TOOLINGS.values())


def test_a_draw_that_a_tooling_lacks_is_left_out_on_all(measured_atlas):
    pairs, _, _ = measured_atlas(diverged="cpu-old")
    churn = pairs[pairs["metric"] == "churn"]
    assert (set(churn["n_runs"]), set(churn["n_missing"])) == ({1}, {1})
