"""Which toolings are of two frameworks, what is exchanged between them, and what is written of what separates them."""

import numpy as np
import pytest

from toolnoise import steps
from toolnoise.analyses.frameworks import measure as frameworks
from toolnoise.analyses.frameworks.metric import FRAMEWORKS, PARTINGS
from toolnoise.base import arrays, files, metric_files
from toolnoise.steps import STEPS
from toolnoise.study import layout
from toolnoise.study.cells import Cell, Pair

STEP = STEPS["predict-elsewhere"]
PAIR = Pair("smallcnn", "digits", "cpu", "other", "control")
EXAMPLES = 6


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
    assert {"frameworks", "partings"} <= set(steps.collected(three))
    assert steps.collected(three)["partings"] == "results/tiny/metrics/partings.csv"
    (shown,) = (figure for figure in three.figures if figure.notebook == "frameworks")
    assert (shown.name, shown.hardware) == ("frameworks-smallcnn-digits", ("cpu", "noisy", "cpu-other"))
    assert steps.metric_files(three, shown)["frameworks"] == [
        three.path(STEPS["measure-frameworks"].writes["out"].pattern, of) for of in three.frameworks
    ]


def test_a_study_of_one_framework_exchanges_nothing(written, built):
    tiny = built(written)
    assert tiny.pairs
    assert tiny.frameworks == tiny.exchanged == ()
    assert not {"frameworks", "partings"} & set(steps.collected(tiny))
    assert not {"frameworks", "partings"} & set(tiny.figure_kinds)


def test_what_is_exchanged_is_computed_as_runs_on_the_other_tooling_are_and_says_where_they_were_trained(three):
    way = Pair("smallcnn", "digits", "cpu-other", "cpu", "algo")
    asked = STEP.parameters(three, way)
    assert asked["trained_on"] == "cpu-other"
    assert asked["spec"] == three.spec(Cell("smallcnn", "digits", "cpu", "algo"), 1).as_json()
    assert STEP.modules(asked) == (
        "toolnoise.dumps.prediction_dump",
        "toolnoise.engines.tensorflow",
        "toolnoise.models.smallcnn",
    )
    back = STEP.parameters(three, way.reversed)
    assert "toolnoise.engines.torch" in STEP.modules(back)
    assert three.path(layout.EXCHANGED, way) == "results/tiny/exchanged/smallcnn/digits/cpu-other/algo/cpu.npy"


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (
            {"other_hardware": "noisy"},
            "grid: no predict-elsewhere of smallcnn/digits/cpu/noisy/control; "
            "allowed: two toolings of different engines",
        ),
        ({"other_hardware": "elsewhere"}, "grid: no predict-elsewhere of smallcnn/digits/cpu/elsewhere/control"),
        ({"variant": "impl"}, "grid: no predict-elsewhere of smallcnn/digits/cpu/cpu-other/impl"),
        ({"model": "resnet18"}, "grid: no predict-elsewhere of resnet18/digits/cpu/cpu-other/control"),
    ],
    ids=str,
)
def test_what_is_no_exchange_of_two_frameworks_is_one_line(changed, line, three, refused):
    asked = {**PAIR._asdict(), "other_hardware": "cpu-other"} | changed
    assert refused(steps.asked, "predict-elsewhere", three, "study.json", asked).startswith(f"study.json: {line}")


LOGITS = np.arange(EXAMPLES * 4, dtype=np.float32).reshape(1, EXAMPLES, 4) % 5


@pytest.fixture
def measured(tmp_path, make_run):
    """Measure two toolings of two runs each; `change` edits the other's runs, `dumps` replace the indices of dumps."""

    def dump(name, logits, **index):
        logits = np.repeat(logits, 2, axis=0)
        arrays.write_npy(tmp_path / f"{name}.npy", logits)
        told = {
            "spec": {"study_seed": 0},
            "draws": {},
            "seeds": [1, 2],
            "diverged": [False, False],
            "shape": list(logits.shape),
        }
        files.write_json(tmp_path / f"{name}.json", told | index)
        return str(tmp_path / f"{name}.npy")

    def measure(change=None, pair=PAIR, **dumps):
        moved = LOGITS.copy()
        moved[:, 0] = moved[:, 0, ::-1]
        given = {"one": LOGITS, "other": moved, "one_there": LOGITS, "other_there": moved}
        paths = [dump(name, logits, **dumps.get(name, {})) for name, logits in given.items()]
        here = [make_run(seed) for seed in (1, 2)]
        there = [make_run(10 + seed, elsewhere(seed, change)) for seed in (1, 2)]
        out = tmp_path / "frameworks.csv", tmp_path / "partings.csv"
        one, other, one_there, other_there = paths
        frameworks.measure(pair, one, one_there, here, other, other_there, there, *out)
        return metric_files.read(out[0], FRAMEWORKS), metric_files.read(out[1], PARTINGS)

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
    assert set(rows["examples"]) == {EXAMPLES}
    # Two replicates of equal bits are one run.
    assert set(rows["n_runs"]) == {1}
    of = rows.set_index(["hardware", "metric"])["value"]
    assert of["cpu", "churn"] == 1 / EXAMPLES == pytest.approx(of["cpu", "churn_training"], rel=1e-12)
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


def test_a_dump_of_other_runs_than_were_exchanged_is_one_line(measured, refused, tmp_path):
    line = refused(lambda: measured(one_there={"seeds": [1, 3]}))
    assert line.startswith(
        f"{tmp_path}/one_there.npy: found the seeds [1, 3] and logits of shape (2, 6, 4); [1, 2] and"
    )


def other_tensors(parts):
    parts["final"]["a/bias"] = np.zeros(4, np.float32)


def another_order(parts):
    parts["final"] = dict(reversed(parts["final"].items()))


def fewer_digests(parts):
    parts["epochs"][1].pop("a/bias")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (other_tensors, "11/weights.npz: a/bias: found another shape, or none; the tensors of "),
        (another_order, "11/weights.npz: found them in another order; the tensors of "),
        (fewer_digests, "11/history.csv: tensors_sha256: epoch 2 has 1 digests; 2, as weights.npz has"),
    ],
)
def test_runs_that_cannot_be_compared_are_one_line(change, line, measured, refused, tmp_path):
    assert refused(measured, change).startswith(f"{tmp_path}/runs/{line}")


def test_an_index_says_where_its_runs_were_trained_and_the_audit_holds_it_to_that(three):
    from types import SimpleNamespace

    from toolnoise.verify.audit.rules import specs

    asked = STEP.parameters(three, Pair("smallcnn", "digits", "cpu", "cpu-other", "control"))
    output = SimpleNamespace(role="index", name="index.json")
    about = {
        "verb": "predict-elsewhere",
        "parameters": asked,
        "outputs": [output],
        "observed": {"device": "cpu"},
        "name": "index.json",
    }
    index = {
        "spec": {key: value for key, value in asked["spec"].items() if key != "seed"},
        "observed": {"device": "cpu"},
    }

    def judged(index):
        stated = SimpleNamespace(statement=SimpleNamespace(**about))
        tree = SimpleNamespace(statements=[stated])
        return list(specs.records_agree(SimpleNamespace(tree=tree, record=lambda _: index, job=lambda _: None)))

    assert judged(index | {"trained_on": "cpu"}) == []
    ((name, found),) = judged(index | {"trained_on": "noisy"})
    assert (name, found) == ("index.json", "differs from its statement in trained_on: all")
    assert len(judged(index)) == 1
