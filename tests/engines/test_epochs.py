"""What an epoch computes: from the streams' weights, as a plain loop would, by one framework alone."""

import json
import sys

import numpy as np
import pytest

from toolnoise import streams
from toolnoise.base import files, metric_files
from toolnoise.engines import FRAMEWORKS, formulas
from toolnoise.engines.formulas import COUNTS, DOUBLINGS, LEFT_OUT
from toolnoise.papers.overhead.measure import PROFILE
from toolnoise.study import grid
from toolnoise.study.cells import Profile

RATE = 0.4


@pytest.fixture(scope="module")
def beside_keras(own_workshop):
    """A network with batch normalisation; with crops, flips and a warm-up; with an incomplete batch that is kept."""
    smooth = own_workshop("smooth", batch_size=8, epochs=3, schedule="cosine", warmup_epochs=0.5, crop=2, flip=True)
    kept = own_workshop("smooth", batch_size=24, epochs=3, crop=2, flip=True, last_batch="kept")
    return smooth.drive("training", "against_keras", kept.folder / "study.yaml")


def paths(found, who, case="sgd"):
    start = f"{case}/{who}/"
    return {name.removeprefix(start): array for name, array in found.items() if name.startswith(start)}


@pytest.mark.parametrize("case", ["sgd", "regularised", "by kind", "by name, without momentum", "adam by kind", "kept"])
def test_six_steps_and_an_incomplete_batch_that_is_kept_are_close_to_those_of_plain_keras(beside_keras, case):
    ours, theirs = paths(beside_keras, "engine", case), paths(beside_keras, "keras", case)
    assert len(ours) == 9
    for path, tensor in ours.items():
        np.testing.assert_allclose(tensor, theirs[path], rtol=0, atol=3e-6, err_msg=path)
        assert not np.array_equal(tensor, paths(beside_keras, "held", case)[path])
    np.testing.assert_allclose(*beside_keras[f"{case}/loss"], rtol=1e-5)
    assert len(set(beside_keras[f"{case}/accuracy"])) == 1


OTHERS = [pytest.param(name, marks=pytest.mark.long) for name in ("jax", "torch")]


@pytest.fixture(scope="module", params=["tensorflow", *OTHERS])
def tooling(request, toolings, skip_without):
    skip_without(request.param)
    return toolings[request.param]


@pytest.fixture(scope="module")
def dropping(own_workshop, tooling):
    """A workshop whose runs keep what dropout left in the second of two steps of all 64 examples each."""
    return own_workshop("dropped", {"batch": 64, "rate": RATE}, tooling=tooling, batch_size=64, epochs=2)


@pytest.fixture(scope="module")
def dropping_whole(own_workshop, tooling):
    whole = {"batch": 64, "rate": RATE, "whole": True}
    return own_workshop("dropped", whole, tooling=tooling, batch_size=64, epochs=1)


@pytest.fixture(scope="module")
def trained(dropping, dropping_whole, train_together):
    """Runs that drop elements, by variant, and one that drops whole examples."""
    control, whole = train_together((dropping, "control", 1), (dropping_whole, "control", 1))
    return {"control": control, "impl": dropping.train("impl")}, whole


@pytest.fixture(scope="module")
def dropped(trained):
    return trained[0]


def test_dropout_keeps_exactly_the_elements_that_the_streams_say(dropping, dropped):
    plan = dropping.last_step(dropped["impl"])
    images = dropping.dataset().train.images[plan.order]
    for number, (layer, values) in enumerate({"first": images, "second": np.ones((64, 16), np.float32)}.items()):
        size = values[0].size
        elements = plan.slots[:, None] * np.uint32(size) + np.arange(size, dtype=np.uint32)
        counters = (np.array([2], np.uint32), np.array([number], np.uint32), elements)
        kept = streams.keep_mask(np, plan.dropout, counters, RATE).reshape(values.shape)
        seen = dropped["impl"].weights[f"{layer}/seen"]
        assert np.array_equal(seen != 0, kept & (values != 0))
        # How a kept element is divided is the engine's own rounding.
        np.testing.assert_allclose(seen, np.where(kept, values / (1 - RATE), 0), rtol=1e-6)


def test_masks_follow_the_examples_when_a_batch_is_permuted(dropping, dropped):
    orders = {variant: dropping.last_step(run).order for variant, run in dropped.items()}
    assert not np.array_equal(orders["control"], orders["impl"])
    for layer in ("first", "second"):
        by_example = [run.weights[f"{layer}/seen"][np.argsort(orders[variant])] for variant, run in dropped.items()]
        assert by_example[0].tobytes() == by_example[1].tobytes()
    losses = [float(run.history[0]["train_loss"]) for run in dropped.values()]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert dropped["control"].weight_bytes != dropped["impl"].weight_bytes


def test_a_layer_may_drop_whole_examples(dropping_whole, trained):
    _, whole = trained
    seen = whole.weights["second/seen"]
    assert {len(set(example.tolist())) for example in seen} == {1}
    kept = seen[:, 0] != 0
    np.testing.assert_allclose(seen[kept], 1 / (1 - RATE), rtol=1e-6)
    plan = dropping_whole.last_step(whole)
    counters = (np.array([1], np.uint32), np.array([1], np.uint32), plan.slots)
    assert np.array_equal(kept, streams.keep_mask(np, plan.dropout, counters, RATE))
    assert 0 < kept.sum() < 64


# Half precision on a CPU: what is computed in it and what is not, loss scaling, and that it repeats bit for bit


# What layers compute in, and how near eight steps of two right loops, one compiled and one not, come.
PRECISIONS = {"mixed_float16": ("float16", 5e-4), "mixed_bfloat16": ("bfloat16", 2e-3)}


@pytest.fixture(scope="module", params=PRECISIONS)
def precision(request):
    return request.param


@pytest.fixture(scope="module")
def halved(precision, own_workshop):
    tooling = {"precision": precision, "kernels": "eigen", "tf32": True}
    return own_workshop("smooth", tooling=tooling, batch_size=8, epochs=2).drive("training", "training_beside_keras")


@pytest.mark.long
def test_layers_compute_in_half_precision_and_logits_in_float32(precision, halved):
    *inner, last = halved["computes_in"].tolist()
    # The first is the input, which is handed on as it is.
    assert set(inner[1:]) == {PRECISIONS[precision][0]}
    assert last == "float32"
    logits = halved["logits"]
    assert logits.dtype == np.float32
    assert not np.array_equal(logits, logits.astype(np.float16).astype(np.float32))


@pytest.mark.long
def test_weights_are_float32_and_near_those_of_plain_keras(precision, halved):
    ours = {name: array for name, array in halved.items() if name.startswith("ours/")}
    assert len(ours) == 9
    for name, array in ours.items():
        assert array.dtype == np.float32
        theirs = halved[name.replace("ours", "keras")]
        np.testing.assert_allclose(array, theirs, rtol=0, atol=PRECISIONS[precision][1], err_msg=name)
    np.testing.assert_allclose(*halved["loss"], rtol=1e-4)


@pytest.mark.long
def test_a_step_that_overflows_is_left_out_and_the_loss_scale_moves_as_keras_s(precision, halved):
    if precision == "mixed_bfloat16":
        assert "updates" not in halved, "bfloat16 has float32's range and needs no loss scale"
        return
    assert halved["ours scale"].tolist() == halved["keras scale"].tolist()
    ours, theirs = halved["updates"]
    assert 0 < ours == theirs < 8
    # It was doubled, too: it ended higher than the steps that were left out have halved it.
    assert halved["ours scale"][0] > 2.0 ** (15 + 5 - (8 - ours))


# The loss scale of float16 by its counts; tests above hold it beside Keras's in training


def after(counts, finite):
    return formulas.scale_counts_after(counts, np.int32(finite), np.clip)


def factor(doublings, sign=1):
    return float(np.int32(formulas.scale_bits(doublings, sign)).view(np.float32))


def test_an_overflow_halves_the_scale_and_is_left_out_and_steps_in_a_row_double_it(monkeypatch):
    monkeypatch.setattr(formulas, "STEPS_TO_GROW", 3)
    counts, found = dict.fromkeys(COUNTS, np.int32(0)), []
    for finite in (0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1):
        counts = after(counts, finite)
        found.append(int(counts[DOUBLINGS]))
    assert found == [-1, -2, -2, -2, -1, -1, -1, -2, -2, -2, -1, -1, -1, 0]
    assert counts[LEFT_OUT] == 3
    assert factor(0) == 2.0**15


# A training step under the profiler, for real: every operator once, in both modes, on both libraries of kernels


STEPS = 4
SIZES = {"batch_size": 8, "image_size": 16, "classes": 10, "warmup": 2, "steps": STEPS, "repeats": 1}
COST = {
    "study": "cost",
    "grid": [],
    "overhead": {"models": ["smallcnn"], "hardware": ["cpu", "cpu-eigen"], **SIZES},
}
# What a step of the network computes: three convolutions (no gradient goes on to the images) and ten tensors to update.
CALLS = {"Conv2DBackpropFilter": 3, "Conv2DBackpropInput": 2, "ResourceApplyAdam": 10}


@pytest.fixture(scope="module", params=[("cpu", "default"), ("cpu", "deterministic"), ("cpu-eigen", "default")])
def measured(request, tmp_path_factory, write_study, skip_without, toolnoise, options_of):
    """Tooling, mode, kernels and record of a measurement."""
    skip_without("tensorflow")
    folder = write_study(tmp_path_factory.mktemp("cost"), COST)
    spec = grid.load_study(folder / "study.yaml").profile_spec(Profile("smallcnn", *request.param, 1))
    done = toolnoise(folder, "profile", *options_of(spec), "--out", "1.csv", "--record", "1.json")
    assert done.returncode == 0, done.stderr
    kernels = metric_files.read_metrics(folder / "1.csv", PROFILE).set_index("kernel")
    return *request.param, kernels, files.read_json(folder / "1.json")


def test_every_operator_of_every_step_is_counted_once(measured):
    _, mode, kernels, _ = measured
    for part, calls in CALLS.items():
        assert kernels["calls"][kernels.index.str.contains(part)].sum() == STEPS * calls, part
    # Forward, fused with bias and activation or not, by whatever library.
    assert kernels["calls"][kernels.index.str.endswith("Conv2D")].sum() == STEPS * 3
    # Determinism does without the fused loss.
    fused = kernels.index == "SparseSoftmaxCrossEntropyWithLogits"
    assert kernels["calls"][fused].sum() == (STEPS if mode == "default" else 0)


def test_the_table_sums_to_what_the_record_says_and_it_says_what_was_measured(measured):
    hardware, mode, kernels, record = measured
    assert kernels["total_us"].is_monotonic_decreasing
    assert kernels["share"].sum() == pytest.approx(1)
    assert kernels["total_us"].sum() / STEPS / 1e6 == pytest.approx(record["kernel_seconds_per_step"])
    # Operators of one thread take no longer than the time that passed.
    assert kernels["total_us"].sum() / 1e6 < record["seconds"]["profile"]
    assert record["wall_seconds_per_step"] * STEPS == pytest.approx(record["seconds"]["steps"])
    assert record["observed"]["deterministic"] is (mode == "deterministic")
    assert record["spec"]["variant"]["name"] == mode
    assert kernels.index.str.contains("Mkl").any() == (hardware == "cpu"), "the library behind convolutions"


# No engine imports another's framework, though it is installed, nor lets its own import it


PACKAGES = {"tensorflow": ("tensorflow",), "jax": ("jax", "jaxlib"), "torch": ("torch",)}
TOOLINGS = {"tensorflow": "cpu", "jax": "cpu-jax", "torch": "cpu-torch"}
OTHER_PACKAGES = {name: [one for other in PACKAGES.keys() - {name} for one in PACKAGES[other]] for name in PACKAGES}
QUICK = {"epochs": 1, "batch_size": 256, "learning_rate": 0.01}


@pytest.mark.parametrize("package", [one for packages in PACKAGES.values() for one in packages])
def test_a_blocked_package_cannot_be_imported(package, run, blocking, tmp_path, skip_without):
    skip_without(package)
    program = f"try:\n    import {package}\nexcept ImportError:\n    pass"
    done = run(tmp_path, sys.executable, "-c", program, env=blocking(package))
    assert done.returncode == 1
    assert done.stderr.endswith(f"RuntimeError: {package} is blocked, and was imported\n")


# JAX does so in a whole study, below: `make test-jax`.
@pytest.mark.parametrize("engine", ["tensorflow", "torch"])
def test_an_engine_trains_and_predicts_without_the_other_frameworks(engine, workshop, blocking, skip_without):
    skip_without(engine)
    here = workshop(QUICK, hardware=[TOOLINGS[engine]])
    alone = blocking(*OTHER_PACKAGES[engine])
    trained = here.train("algo", env=alone)
    assert trained.record["status"] == "completed"
    assert trained.record["observed"]["variables"]["KERAS_BACKEND"] == engine
    assert set(trained.record["observed"]["versions"]).isdisjoint(OTHER_PACKAGES[engine])
    files_of_it = ["--logits", "algo.npy", "--index", "algo.json", "--records", f"{TOOLINGS[engine]}-algo-1/run.json"]
    command = ["predict", *here.options_of(here.spec("algo")), "--data", here.data, *files_of_it]
    done = here.toolnoise(here.folder, *command, env=alone)
    assert done.returncode == 0, done.stderr
    assert files.read_json(here.folder / "algo.json")["seeds"] == [1]
    assert np.isfinite(np.load(here.folder / "algo.npy")).all()


# A study of one framework, from its file to the audit, where no other framework can be imported


# `.ci/run` has JAX's by `make test-jax`. TensorFlow's is what every other study here is trained by.
IN_STUDIES = {"jax": "cpu-jax", "torch": "cpu-torch"}


def study(hardware):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "hardware": [hardware], "seeds": 2}
    return {
        "study": "alone",
        "grid": [block | {"variants": ["control"]}],
        "recipes": {"short": {"epochs": 1, "batch_size": 128, "learning_rate": 0.01, "crop": 1}},
        "figures": ["table2"],
    }


@pytest.mark.long
@pytest.mark.parametrize("engine", IN_STUDIES)
def test_a_study_of_one_framework_runs_to_a_clean_audit(
    engine, tmp_path, write_study, snakemake, toolnoise, blocking, skip_without
):
    skip_without(engine)
    alone = blocking(*(name for name in FRAMEWORKS if name != engine))
    write_study(tmp_path, study(IN_STUDIES[engine]))
    done = snakemake(tmp_path, env=alone)
    assert done.returncode == 0, done.stdout + done.stderr
    results = tmp_path / "results/alone"
    record = json.loads((results / f"runs/smallcnn/digits/{IN_STUDIES[engine]}/control/2/run.json").read_text())
    assert record["status"] == "completed"
    assert set(record["observed"]["versions"]) & set(FRAMEWORKS) == {engine}
    assert record["observed"]["variables"]["KERAS_BACKEND"] == engine
    verdict = json.loads((results / f"control/smallcnn/digits/{IN_STUDIES[engine]}.json").read_text())
    assert verdict["bit_equal"] is True, verdict
    assert (results / "index.html").exists()
    found = toolnoise(tmp_path, "audit", results, env=alone)
    assert found.returncode == 0, found.stdout + found.stderr
