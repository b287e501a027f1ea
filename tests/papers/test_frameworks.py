"""Two toolings or frameworks: how far apart their runs are, what is exchanged between them, and what separates them."""

import numpy as np
import pytest

from toolnoise.base import arrays, metric_files
from toolnoise.base.noise_sources import DRAWN
from toolnoise.papers.frameworks import measure as frameworks
from toolnoise.papers.frameworks import pair
from toolnoise.papers.frameworks.measure import (
    EXAMPLES,
    FRAMEWORKS,
    PARTINGS,
    RUNS,
    Predicted,
    inference_changes,
    parting_epochs,
    total_churn,
)
from toolnoise.papers.frameworks.pair import CROSS_TOOLING, cross_tooling
from toolnoise.study import figure_files
from toolnoise.study.cells import Pair
from toolnoise.study.expected import METRICS


def logits(predicted):
    """Logits of so many runs and examples that give these classes."""
    return np.eye(2, dtype=np.float32)[np.array(predicted)]


# Two runs on ten examples: trained apart they differ on the first 5 and on the first 3 ...
A = logits([[0] * 10, [0] * 10])
B = logits([[1] * 5 + [0] * 5, [1] * 3 + [0] * 7])
# ... and predicted on the other framework, the first run of A on one more, the second run of B on two.
A_THERE = logits([[1] + [0] * 9, [0] * 10])
B_THERE = logits([[1] * 5 + [0] * 5, [1] * 5 + [0] * 5])
ONE, OTHER = Predicted(A, A_THERE), Predicted(B, B_THERE)


def test_trainings_part_is_what_is_left_of_the_churn_after_the_mean_of_inference_both_ways():
    found = dict(total_churn(ONE, OTHER, RUNS))
    assert found["churn"].value == pytest.approx(0.4, rel=1e-15)
    # Inference alone may move answers apart that training had together.
    assert dict(total_churn(Predicted(A, A_THERE), Predicted(A, A), RUNS))["churn_training"].value == -0.025
    # Run by run: 0.5 - (0.1 + 0) / 2 and 0.3 - (0 + 0.2) / 2.
    assert found["churn_training"] == pytest.approx((0.325, -1, 1), rel=1e-15)  # of two runs, whose t is 12.7
    assert found["churn"].low == 0


def test_where_replicates_are_bit_equal_intervals_are_over_examples():
    equal = [Predicted(*(np.repeat(part[:1], 5, axis=0) for part in both)) for both in (ONE, OTHER)]
    found = dict(total_churn(*equal, EXAMPLES))
    # Wilson's interval of 5 of 10, from its formula: (5 + z^2 / 2 -+ z sqrt(2.5 + z^2 / 4)) / (10 + z^2).
    assert found["churn"] == pytest.approx((0.5, 0.2365931, 0.7634069), rel=1e-6)
    rest = np.array([0.5] + [1.0] * 4 + [0.0] * 5)
    half = 2.2621572 * rest.std(ddof=1) / np.sqrt(10)  # t at .975 with 9 degrees of freedom
    assert found["churn_training"] == pytest.approx((0.45, 0.45 - half, 0.45 + half), rel=1e-7)
    assert dict(inference_changes(equal[0], EXAMPLES))["churn_inference"].value == 0.1
    assert dict(total_churn(*(Predicted(*(part[:1] for part in both)) for both in equal), EXAMPLES)) == found


def test_inference_alone_is_measured_on_the_very_same_networks():
    here = np.array([[[3.0, 4.0], [0.0, 2.0]], [[3.0, 4.0], [0.0, 2.0]]], np.float32)
    there = here.copy()
    there[0, 0] += (0.03, 0.04)  # a hundredth of its length
    there[1, 1, 1] -= 0.5  # of 2
    found = dict(inference_changes(Predicted(here, there), RUNS))
    # Equal by luck, since the logits differ.
    assert found["churn_inference"].value == 0 < found["churn_inference"].high
    assert found["logits_max_difference"].value == pytest.approx(0.5, rel=1e-6)
    assert found["logits_relative_difference"].value == pytest.approx((0.0099501 / 2 + 0.2828427 / 2) / 2, rel=1e-5)
    one = dict(inference_changes(Predicted(here[:1], there[:1]), EXAMPLES))
    assert one["logits_max_difference"].value == pytest.approx(0.04, rel=1e-5)
    assert np.isnan(one["logits_max_difference"][1:]).all()
    assert one["logits_relative_difference"].value == pytest.approx(0.0099501 / 2, rel=1e-5)
    assert one["logits_relative_difference"].high > 0.01


def test_of_runs_that_part_the_first_epochs_are_averaged_and_the_others_counted():
    (_, share, runs), (_, epoch, parted) = parting_epochs(np.array([2.0, np.nan, 4.0]))
    assert (share.value, runs, epoch.value, parted) == (2 / 3, 3, 3, 2)
    assert (share.low, share.high) == pytest.approx((0.2076596, 0.9385081), rel=1e-6)
    assert epoch.low == 1
    (_, never, _), (_, none, parted) = parting_epochs(np.full(3, np.nan))
    assert never.value == parted == 0
    assert np.isnan(none).all()


PAIR = Pair("smallcnn", "digits", "cpu", "other", "control")
N_EXAMPLES = 6


@pytest.fixture
def three(written, built):
    """A study of two toolings of one framework and one of another."""
    written["hardware"] = {"noisy": {"accelerator": "cpu"}, "cpu-other": {"engine": "torch", "accelerator": "cpu"}}
    written["grid"][0] |= {"hardware": ["cpu", "noisy", "cpu-other"], "variants": ["impl", "algo", "control"]}
    return built(written)


def test_toolings_of_two_engines_are_exchanged_both_ways_where_they_share_all_draws(three):
    found = [(pair.hardware, pair.other_hardware, pair.variant) for pair in three.frameworks]
    assert found == [(one, "cpu-other", variant) for one in ("cpu", "noisy") for variant in ("algo", "control")]
    assert len(three.pairs) == 6
    ways = {(pair.hardware, pair.other_hardware, pair.variant) for pair in three.exchanged}
    assert ways == {*found, *((other, one, variant) for one, other, variant in found)}
    assert {"frameworks", "partings"} <= set(figure_files.collected_files(three))
    assert figure_files.collected_files(three)["partings"] == "results/tiny/metrics/partings.csv"
    (shown,) = (figure for figure in three.figures if figure.notebook == "framework_parts")
    assert (shown.name, shown.hardware) == ("framework_parts-smallcnn-digits", ("cpu", "noisy", "cpu-other"))
    assert figure_files.metric_files(three, shown)["frameworks"] == [
        three.path(METRICS["frameworks"].pattern, of) for of in three.frameworks
    ]


LOGITS = np.arange(N_EXAMPLES * 4, dtype=np.float32).reshape(1, N_EXAMPLES, 4) % 5


@pytest.fixture
def measured(tmp_path, make_run, make_dump):
    """Measure two toolings of two runs each; `change` edits the other's runs, `dumps` replace the indices of dumps."""

    def dump(name, logits, **index):
        return str(make_dump(np.repeat(logits, 2, axis=0), name, draws=dict.fromkeys(DRAWN), **index)[0])

    def measure(change=None, pair=PAIR, **dumps):
        moved = LOGITS.copy()
        moved[:, 0] = moved[:, 0, ::-1]
        given = {"one": LOGITS, "other": moved, "one_there": LOGITS, "other_there": moved}
        paths = [dump(name, logits, **dumps.get(name, {})) for name, logits in given.items()]
        here = [make_run(seed) for seed in (1, 2)]
        there = [make_run(10 + seed, elsewhere(seed, change)) for seed in (1, 2)]
        out = tmp_path / "frameworks.csv", tmp_path / "partings.csv"
        one, other, one_there, other_there = paths
        frameworks.measure(pair, one, one_there, here, other, other_there, there, out=out[0], out_partings=out[1])
        return metric_files.read_metrics(out[0], FRAMEWORKS), metric_files.read_metrics(out[1], PARTINGS)

    return measure


def elsewhere(seed, change):
    """The same change, of a run with this seed."""

    def edit(parts):
        parts["record"]["spec"] |= {"seed": seed}
        if change:
            change(parts)

    return edit


def parted(parts):
    """Of the runs of the other tooling the bias differs from epoch 2 on, and the test loss in epoch 3."""
    parts["epochs"][1]["a/bias"] = np.ones(3, np.float32)
    parts["epochs"][2]["a/bias"] = np.ones(3, np.float32)
    parts["final"] = dict(parts["epochs"][-1])
    parts["final"]["a/kernel"] = parts["final"]["a/kernel"] * np.float32(1.5)


def test_both_ways_are_written_with_what_the_interval_is_over(measured):
    rows, _ = measured()
    assert set(rows["interval"]) == {"examples"}
    assert set(rows["examples"]) == {N_EXAMPLES}
    # Two replicates of equal bits are one run.
    assert set(rows["n_runs"]) == {1}
    of = rows.set_index(["hardware", "metric"])["value"]
    assert of["cpu", "churn"] == 1 / N_EXAMPLES == pytest.approx(of["cpu", "churn_training"], rel=1e-12)
    assert of["cpu", "churn_inference"] == of["other", "churn_inference"] == 0
    assert ("other", "churn") not in of
    drawn, _ = measured(pair=PAIR._replace(variant="algo"))
    assert set(drawn["interval"]) == {"runs"}
    assert set(drawn["n_runs"]) == {2}


def test_partings_are_told_by_tensor_in_the_order_of_the_layers_and_of_the_losses_epoch_by_epoch(measured):
    _, rows = measured(parted)
    assert list(dict.fromkeys(rows["what"])) == ["any", "a/kernel", "a/bias", *frameworks.COURSE]
    of = rows.set_index(["what", "metric", "epoch"])["value"]
    assert of["any", "first_epoch", 3] == of["a/bias", "first_epoch", 3] == 2
    assert of["a/kernel", "parted", 3] == 0
    assert np.isnan(of["a/kernel", "first_epoch", 3])
    assert of["a/kernel", "relative_l2", 3] == pytest.approx(0.5 / np.sqrt((1 + 1.5**2) / 2), rel=1e-12)
    assert of["a/bias", "relative_l2", 3] == pytest.approx(np.sqrt(2), rel=1e-12), "it is zero on the first"
    course = rows[(rows["what"] == "test_loss") & (rows["metric"] == "relative_l2")]
    assert list(course["epoch"]) == [1, 2, 3]
    assert set(course["value"]) == {0}


def test_diverged_runs_are_left_out_and_counted(measured):
    one = {"diverged": [False, True]}
    rows, parts = measured(one=one, one_there=one)
    assert set(zip(rows["n_runs"], rows["n_missing"], strict=True)) == {(1, 1)}
    assert set(parts["n_missing"]) == {1}
    none = {"diverged": [True, True]}
    rows, parts = measured(one=none, one_there=none)
    assert set(rows["n_runs"]) == {0}
    assert rows["value"].isna().all()
    assert set(parts["what"]) == {"any"}


def other_tensors(parts):
    parts["final"]["a/bias"] = np.zeros(4, np.float32)


def fewer_digests(parts):
    parts["epochs"][1].pop("a/bias")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (other_tensors, "11/weights.npz: a/bias: found another shape, or none; the tensors of "),
        (fewer_digests, "11/history.csv: tensors_sha256: epoch 2 has 1 digests; 2, as weights.npz has"),
    ],
)
def test_runs_that_cannot_be_compared_are_one_line(change, line, measured, refused, tmp_path):
    assert refused(measured, change).startswith(f"{tmp_path}/runs/{line}")


LABELS = np.array([0, 1, 0, 1])
COMPARED = ["churn", "l2_unit", "l2_raw", "accuracy_difference"]


ON_ONE = logits([[0, 1, 0, 1], [0, 1, 0, 0]])
ON_OTHER = logits([[0, 1, 0, 0], [1, 0, 0, 0]])
WEIGHTS_A = np.array([[3, 4], [1, 0]], np.float32)
WEIGHTS_B = np.array([[6, 8], [0, 1]], np.float32)


def compared(*arguments):
    rows = cross_tooling(*arguments, [np.array([run]) for run in range(len(arguments[0]))])
    assert [(metric, group) for metric, group, _ in rows] == [(metric, "all") for metric in COMPARED]
    return {metric: estimate for metric, _, estimate in rows}


def test_each_run_is_compared_with_the_run_of_its_seed():
    found = compared(ON_ONE, ON_OTHER, LABELS, WEIGHTS_A, WEIGHTS_B)
    assert found["churn"].value == (1 / 4 + 2 / 4) / 2
    assert found["l2_raw"].value == pytest.approx((5 + np.sqrt(2)) / 2, rel=1e-15)
    assert found["l2_unit"].value == pytest.approx(np.sqrt(2) / 2, rel=1e-15)
    assert found["accuracy_difference"].value == ((3 / 4 - 1) + (1 / 4 - 3 / 4)) / 2


def test_intervals_within_the_range_are_students():
    a = logits(np.zeros((4, 100), int))
    predicted = np.zeros((4, 100), int)
    for run, different in enumerate([50, 51, 52, 53]):
        predicted[run, :different] = 1
    weights = np.eye(4)
    churn = compared(a, logits(predicted), np.zeros(100, int), weights, weights)["churn"]
    half = 3.1824463 * np.sqrt(5 / 3) / 100 / 2  # t at .975 with 3 degrees of freedom, from a printed table
    assert churn == pytest.approx((0.515, 0.515 - half, 0.515 + half), rel=1e-7)


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
            paths = make_dump(logits, name, diverged=diverged, draws=dict.fromkeys(DRAWN, draws))
            sides += [*paths, [make_run(seed) for seed in range(1, len(predicted) + 1)]]
        pair.measure(NAMES, tmp_path / "d.npz", *sides, out=tmp_path / "out.csv")
        return metric_files.read_metrics(tmp_path / "out.csv", CROSS_TOOLING).set_index("metric")

    return measure


def predictions_of(*counts):
    """So many of eight examples are predicted as the second class, by each run."""
    return np.array([[place < count for place in range(8)] for count in counts], int)


def test_copies_are_one_pair_without_an_interval(measured_pair):
    found = measured_pair(predictions_of(4, 4, 4), predictions_of(6, 6, 6), [0, 0, 0], [False] * 3)
    assert set(found["n_runs"]) == {1}
    assert set(found["n_missing"]) == {0}
    assert found.loc["churn", "value"] == 0.25
    assert found["ci_low"].isna().all()


def test_pairs_of_other_draws_are_independent_unless_their_bits_are_equal(measured_pair):
    found = measured_pair(predictions_of(4, 5, 6, 4), predictions_of(6, 6, 6, 6), [1, 2, 3, 4], [False] * 4)
    assert set(found["n_runs"]) == {3}
    assert found.loc["churn", "value"] == pytest.approx((2 + 1 + 0) / 8 / 3, rel=1e-15)
    assert found.loc["churn", "ci_high"] > found.loc["churn", "value"]


def test_a_diverged_run_is_missing_and_no_unit(measured_pair):
    found = measured_pair(predictions_of(4, 5, 6), predictions_of(6, 6, 6), [1, 2, 3], [False, True, False])
    assert set(found["n_runs"]) == {2}
    assert set(found["n_missing"]) == {1}
