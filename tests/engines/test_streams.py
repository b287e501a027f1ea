"""What a training draws, plans and leaves, without a framework: streams, epochs, initial weights, runs, checkpoints."""

import hashlib
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from toolnoise import streams
from toolnoise.base import arrays, files
from toolnoise.base.noise_sources import ALGORITHMIC, SOURCES, replicate_of
from toolnoise.base.spec import Spec
from toolnoise.engines import State
from toolnoise.epoch_plan import learning_rates, plan_epoch, trained_on
from toolnoise.models.initial import CUT_OFF_SPREAD, Parameter, initial_weights
from toolnoise.study import runs
from toolnoise.study.builders import require_builders
from toolnoise.study.variants import VARIANTS
from toolnoise.training import bitflip, checkpoints
from toolnoise.training.checkpoints import NAMES, Checkpoints, Progress

EXAMPLES = 50
PARAMETERS = [
    Parameter("conv1/kernel", (3, 3, 4, 4), True, "GlorotUniform", {}),
    Parameter("conv2/kernel", (3, 3, 4, 4), True, "GlorotUniform", {}),
    Parameter("conv2/bias", (4,), True, "Zeros", {}),
]
SEEDS = (1, 2, 3)

# SHA-256 of the little-endian bytes of draws from the key of (seed 7, init, replicate 3, "conv1/kernel").
# They hold on every platform, for every release of NumPy, for ever.
PINNED = {
    "key": "a41440ae495e5eb60c34d987a4b4f2f534ec58e1d2383a0e3e28658b4fa26091",
    "uniform": "2e3e89a4d050cd83c5855ddbef8a7f07928950bf82b0b58677d722f6c4903360",
    "truncated_normal": "77453179505d0f127be9f2e9888ce10cde3964b0eea223a56ff30548a5c99321",
    "integers": "e6f0ecd344f5943ebe3e1a40b9d8d00fa9244aca6e939c7022f66d5020c7a493",
    "permutation": "0389273866582cb7a3f51521f6eb3a431621b1d7316b37d4afebc58274a6842b",
    "keep_mask": "4ca8ea346a8e1048925d006e04793bc8926ee9cec5fc6bf9f0ab16b19d523498",
}


def keep_mask(words, counters, rate):
    return streams.keep_mask(np, words, [np.atleast_1d(counter).astype(np.uint32) for counter in counters], rate)


def digest(array):
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def test_draws_are_the_bytes_they_have_always_been():
    stream = streams.stream_key(7, "init", 3, "conv1/kernel")
    drawn = {
        "key": streams.key_as_words(stream),
        "uniform": streams.uniform(stream, (10, 100)),
        "truncated_normal": streams.truncated_normal(stream, (10, 100)),
        "integers": streams.integers(stream, (1000,), 10),
        "permutation": streams.permutation(stream, 1000),
        "keep_mask": keep_mask(streams.key_as_words(stream), (5, 1, np.arange(1000)), 0.3),
    }
    assert {name: digest(array) for name, array in drawn.items()} == PINNED


def test_no_two_sources_replicates_layers_or_epochs_ever_share_a_stream():
    names = list(
        itertools.product(
            (0, 1, 12),
            (*SOURCES, streams.ANALYSIS),
            (0, 1, 11, 12),
            # 1 and "1", and parts that would be equal when joined, are different streams.
            ((), (1,), ("1",), (1, 1), (11,), ("conv1/kernel",), ("conv2/kernel",), ("conv1", "kernel"), (0, "crop")),
        )
    )
    keys = [streams.stream_key(seed, source, run, *what) for seed, source, run, what in names]
    assert len(set(keys)) == len(names)
    assert len({streams.raw_integers(key, 2).tobytes() for key in keys}) == len(names)
    assert len({streams.key_as_words(key).tobytes() for key in keys}) == len(names)


@pytest.mark.parametrize("rate", [0, 0.1, 0.5, 0.9])
def test_dropout_keeps_one_minus_its_rate(rate):
    kept = keep_mask(streams.key_as_words(streams.stream_key(0, "dropout", 1)), (1, 0, np.arange(100_000)), rate)
    assert abs(kept.mean() - (1 - rate)) <= 5 * np.sqrt(rate * (1 - rate) / kept.size)


def in_slots(plan, values):
    """What was planned for each place in its batch, wherever the example was moved."""
    planned = np.empty_like(values)
    for row, slots, moved in zip(planned, plan.slots, values, strict=True):
        row[slots] = moved
    return planned


def draws(spec, epoch=1):
    """Every draw of a run by its source, as bytes: what each example meets, whatever place in the batch it has."""
    first = replicate_of("init", spec)
    weights = initial_weights(PARAMETERS, spec.study_seed, first, "m")
    plan = plan_epoch(spec, EXAMPLES, epoch)
    order = in_slots(plan, plan.order)
    pictures = np.full((EXAMPLES, 3), -1)
    pictures[plan.order.ravel()] = np.concatenate([plan.offsets, plan.flips[..., np.newaxis]], axis=2).reshape(-1, 3)
    return {
        "init": b"".join(tensor.tobytes() for tensor in weights.values()),
        "shuffle": order.tobytes(),
        "augment": pictures,
        "dropout": plan.dropout.tobytes(),
        "impl": plan.slots.tobytes(),
        # Of so many weights that no two runs move the same one by chance.
        "bit": bitflip.of_run([Parameter("wide/kernel", (10_000, 10_000), True, "GlorotUniform", {})], spec),
    }


def differing(one, other):
    """The sources in which two runs differ; pictures are compared for the examples that both runs see."""
    seen = (one["augment"] >= 0).all(1) & (other["augment"] >= 0).all(1)
    assert seen.sum() > EXAMPLES / 2
    unequal = {source for source in one if source != "augment" and one[source] != other[source]}
    return unequal | ({"augment"} if (one["augment"][seen] != other["augment"][seen]).any() else set())


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "data"])
def test_a_variant_varies_exactly_its_sources_from_seed_to_seed(variant, make_spec):
    for one, other in itertools.combinations([draws(make_spec(variant, seed)) for seed in SEEDS], 2):
        assert differing(one, other) == set(VARIANTS[variant])


def test_data_varies_the_examples_trained_on_and_no_other_source(make_spec):
    still = [plan_epoch(make_spec("control", 2), EXAMPLES, epoch) for epoch in (0, 1)]
    samples = [trained_on(make_spec("data", seed), EXAMPLES) for seed in SEEDS]
    for seed, sample in zip(SEEDS, samples, strict=True):
        # A bootstrap sample has 1 - 1/e of the examples, here within five standard errors.
        assert abs(len(set(sample.tolist())) / EXAMPLES - (1 - np.exp(-1))) < 5 * 0.31 / np.sqrt(EXAMPLES)
        varied = [plan_epoch(make_spec("data", seed), EXAMPLES, epoch) for epoch in (0, 1)]
        for plan, other in zip(varied, still, strict=True):
            assert (plan.order == sample[other.order]).all()
            assert (plan.order.dtype, plan.dropout.tobytes()) == (other.order.dtype, other.dropout.tobytes())
            # An example is cropped and mirrored as in any other run, each of its copies alike.
            pictures, seen = (
                {tuple(row) for row in np.c_[of.order.ravel(), of.offsets.reshape(-1, 2), of.flips.ravel()]}
                for of in (other, plan)
            )
            in_both = {row[0] for row in pictures} & {row[0] for row in seen}
            assert {row for row in seen if row[0] in in_both} == {row for row in pictures if row[0] in in_both}
    assert len({sample.tobytes() for sample in samples}) == len(SEEDS)
    assert (trained_on(make_spec("algo_impl", 3), EXAMPLES) == np.arange(EXAMPLES)).all()
    together = make_spec("+".join(SOURCES), 3)
    assert (trained_on(together, EXAMPLES) == samples[list(SEEDS).index(3)]).all()
    initial = [draws(make_spec(variant, 3))["init"] for variant in ("data", "control")]
    assert initial[0] == initial[1]


@pytest.mark.parametrize("variant", ["algo_impl", *ALGORITHMIC])
def test_run_3_of_a_variant_draws_each_source_that_it_varies_as_run_3_of_algo_does(variant, make_spec):
    different = {"impl"} if variant == "algo_impl" else {*ALGORITHMIC} - {variant}
    assert differing(draws(make_spec("algo", 3)), draws(make_spec(variant, 3))) == different


def test_reduction_order_moves_examples_in_every_batch(make_spec):
    plan = plan_epoch(make_spec("impl", 2), EXAMPLES, 0)
    assert (plan.slots != np.arange(plan.slots.shape[1])).any(axis=1).all()


def shares(stream, count):
    """The 53-bit uniforms between -1 and 1 that a stream's normals are the quantiles of."""
    return ((streams.raw_integers(stream, count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-52 - 1


def test_a_cut_off_normal_is_its_quantile_to_the_rounding_of_float32():
    stream = 1
    found = streams.truncated_normal(stream, (50_000,))
    exact = np.sqrt(2) * special.erfinv(shares(stream, 50_000) * special.erf(np.sqrt(2)))
    # Half a unit in the last place, and what the fit adds.
    assert (np.abs(found - exact) <= np.abs(exact) * (2.0**-24 + 1.6e-9)).all()


# The plan of an epoch: learning rates, batches, crops and flips


@pytest.fixture
def spec(make_spec):
    """Of a run in which everything varies, in batches of 8, with crops by up to 2 pixels and flips."""
    return make_spec("algo_impl", 1)


def with_recipe(spec, **changes):
    return Spec.read(spec.json | {"recipe": spec.recipe | changes})


def test_a_plain_warm_up_begins_at_zero_and_the_schedule_after_it():
    recipe = {"epochs": 4, "learning_rate": 0.8, "schedule": "cosine", "warmup": "plain", "warmup_epochs": 1.5}
    rates = np.concatenate([learning_rates(recipe, 4, epoch) for epoch in (0, 1)])
    assert rates.dtype == np.float32
    # At 1.5 epochs the line ends; then half the cosine of the whole way.
    expected = [0.0, 0.8 / 6, 0.8 / 3, 0.4, 0.8 / 1.5, 0.8 * 1.25 / 1.5, 0.8, 0.4 * (1 + np.cos(np.pi * 1.75 / 4))]
    assert rates.tolist() == pytest.approx(expected, rel=1e-6)


def test_an_incomplete_batch_that_is_kept_trains_the_examples_that_would_be_left_out(spec):
    left, kept = (plan_epoch(with_recipe(spec, **keys), EXAMPLES, 1) for keys in ({}, {"last_batch": "kept"}))
    # Each epoch leaves out others.
    assert {*left.order.ravel()} != {*plan_epoch(spec, EXAMPLES, 0).order.ravel()}
    assert left.rates.shape == (6,)
    assert (left.rest, [part.order.shape for part in kept.parts()]) == (None, [(6, 8), (1, 2)])
    for name in ("order", "offsets", "flips", "slots"):
        assert (getattr(left, name) == getattr(kept, name)).all()
        assert getattr(kept.rest, name).shape[:2] == (1, 2)
    assert {*left.order.ravel(), *kept.rest.order.ravel()} == set(range(EXAMPLES))
    assert sorted(kept.rest.slots.ravel()) == [0, 1]
    # The rates are those of seven steps.
    seven = learning_rates(with_recipe(spec).recipe, 7, 1)
    assert [*kept.rates, *kept.rest.rates] == [*seven]
    assert kept.digest() != left.digest()
    assert kept.steps(0, 6).rest is None


def as_planned(plans):
    """Every example with its crop and its flip, in the order before the noise permutes batches."""
    for part in (part for plan in plans for part in plan.parts()):
        for order, offsets, flips, slots in zip(part.order, part.offsets, part.flips, part.slots, strict=True):
            for place in np.argsort(slots):
                yield int(order[place]), *offsets[place].tolist(), bool(flips[place])


def test_repeated_data_fill_the_last_batch_with_the_next_pass_which_goes_on_from_there(spec):
    """As the code of Zhuang et al. repeats before it takes batches: no example is left out or comes early."""
    kept, repeated = (with_recipe(spec, last_batch=way) for way in ("kept", "repeated"))
    passes = [plan_epoch(kept, EXAMPLES, number) for number in range(4)]
    epochs = [plan_epoch(repeated, EXAMPLES, epoch) for epoch in range(3)]
    assert {(plan.order.shape, plan.rest) for plan in epochs} == {((7, 8), None)}
    assert [*as_planned(epochs)] == [*as_planned(passes)][: 3 * 7 * 8]
    assert [*epochs[1].rates] == [*learning_rates(repeated.recipe, 7, 1)]


# Models: a user's builders, and initial weights, one of them moved by one ulp


MODULE = "own_builder_of_this_test"
GOOD = "def build(input_shape, classes, width=32, *, depth):\n    pass\n"


@pytest.fixture
def models(here):
    """A study's models: one of this source in the folder that the study runs in."""

    def write(source, options):
        (here / f"{MODULE}.py").write_text(source)
        return {"mine": {"builder": f"{MODULE}:build", "options": options}}

    return write


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (GOOD, {"width": 8, "depth": 2}),
        ("def wrapped(of):\n    return of\n@wrapped\ndef build():\n    pass\n", {"anything": 1}),
        (f"import keras, sys\nfrom . import other\nfrom {MODULE} import build\n", {}),
        ("raise SystemExit('nothing is imported')\ndef build(input_shape, classes):\n    pass\n", {}),
    ],
)
def test_a_builder_that_may_be_right_is_planned(models, source, options):
    assert require_builders(models(source, options), "study.yaml") is None


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("def build(:\n", {}, [f"{MODULE}.py, line 1: "]),
        ("def built(input_shape, classes):\n    pass\n", {}, ["has no function build", "allowed: built"]),
        (GOOD, {"widht": 8}, ["no option widht", "allowed: width, depth"]),
    ],
)
def test_a_builder_that_cannot_be_right_is_refused_in_one_line(models, refused, source, options, words):
    line = refused(require_builders, models(source, options), "study.yaml")
    for word in ("study.yaml: models.mine", f"{MODULE}:build", *words):
        assert word in line
    nowhere = {"mine": {"builder": "no_such_module.models:build", "options": {}}}
    line = refused(require_builders, nowhere, "study.yaml")
    assert "no module no_such_module" in line and "no_such_module.py" in line


def draw(initializer, shape=(3, 3, 16, 32), **options):
    parameter = Parameter("layer/kernel", shape, True, initializer, options)
    (tensor,) = initial_weights([parameter], 0, 1, "mine").values()
    assert tensor.dtype == np.float32
    assert tensor.shape == shape
    return tensor


@pytest.mark.parametrize(
    ("initializer", "options", "mean", "spread"),
    [
        # The spread is that of what is left within two standard deviations, as Keras has it; TruncatedNormal's is not.
        ("HeNormal", {}, 0, np.sqrt(2 / 144)),
        (
            "VarianceScaling",
            {"scale": 2.0, "mode": "fan_out", "distribution": "truncated_normal"},
            0,
            np.sqrt(2 / 288),
        ),
        ("TruncatedNormal", {"mean": 0.5, "stddev": 0.02}, 0.5, 0.02 * CUT_OFF_SPREAD),
    ],
)
def test_normals_are_cut_off_at_two_standard_deviations(initializer, options, mean, spread):
    assert stats.truncnorm(-2, 2).std() == pytest.approx(CUT_OFF_SPREAD, abs=1e-12)
    tensor = draw(initializer, **options).astype(np.float64)
    assert tensor.mean() == pytest.approx(mean, abs=5 * spread / np.sqrt(tensor.size))
    # The variance of a sample's variance follows from the kurtosis, 2.37 here.
    assert tensor.std() == pytest.approx(spread, rel=5 * np.sqrt((2.37 - 1) / 4 / tensor.size))
    limit = 2 * spread / CUT_OFF_SPREAD
    assert 0.95 * limit < np.abs(tensor - mean).max() <= limit * (1 + 1e-6)


@pytest.mark.parametrize(
    ("initializer", "shape", "options", "limit"),
    [
        # 3x3, 16 channels, one output each: Keras counts 9 x 16 inputs and 9 x 1 outputs.
        (
            "VarianceScaling",
            (3, 3, 16, 1),
            {"scale": 1.0, "mode": "fan_out", "distribution": "uniform"},
            np.sqrt(3 / 9),
        ),
        # A layer may say which axes are inputs and outputs, as EinsumDense does for attention's projections.
        ("GlorotUniform", (20, 5, 30), {"input_axes": [0], "output_axes": [1, 2]}, np.sqrt(3 / 85)),
        ("GlorotUniform", (50,), {}, np.sqrt(3 / 50)),
    ],
)
def test_fans_are_kerass(initializer, shape, options, limit):
    tensor = draw(initializer, shape, **options)
    assert (np.abs(tensor) <= limit * (1 + 1e-6)).all()
    assert tensor.size < 50 or np.abs(tensor).max() > 0.9 * limit


@pytest.mark.parametrize(
    ("initializer", "options"),
    [
        ("RandomNormal", {"mean": 0.0, "stddev": 0.05}),
        ("Orthogonal", {}),
        ("VarianceScaling", {"scale": 1.0, "mode": "fan_in", "distribution": "untruncated_normal"}),
    ],
)
def test_an_initialiser_that_needs_a_maths_library_is_refused_in_one_line(initializer, options, refused):
    line = refused(lambda: draw(initializer, **options))
    assert line.startswith("model mine: layer/kernel: ")
    assert initializer in line
    assert "allowed: Constant, GlorotNormal, GlorotUniform, " in line


# One weight, one ulp: which one is drawn, and nothing else changes


MOVED_PARAMETERS = [
    Parameter("conv/kernel", (3, 3, 1, 4), True, "GlorotUniform", {}),
    Parameter("conv/bias", (4,), True, "Zeros", {}),
    Parameter("bn/gamma", (4,), True, "Ones", {}),
    Parameter("seen/values", (50, 50), False, "Zeros", {}),
    Parameter("logits/kernel", (16, 4), True, "GlorotUniform", {}),
]
KERNELS = {"conv/kernel": 36, "logits/kernel": 64}
MOVES = [bitflip.draw_move(MOVED_PARAMETERS, 0, replicate, "m") for replicate in range(1, 2001)]


def test_a_replicate_always_moves_the_same_weight_and_a_model_without_kernels_is_one_line(refused):
    assert bitflip.draw_move(MOVED_PARAMETERS, 0, 7, "m") == MOVES[6]
    # These follow from the stream alone, for ever.
    assert [tuple(move) for move in MOVES[:2]] == [("logits/kernel", (9, 0), True), ("logits/kernel", (13, 0), False)]
    line = refused(bitflip.draw_move, MOVED_PARAMETERS[1:4], 0, 1, "mine")
    assert line.startswith("model mine: no trained tensor of two axes or more")


def test_only_trained_kernels_are_moved_each_weight_as_likely_as_any_other():
    counts = {path: np.zeros(size, int) for path, size in KERNELS.items()}
    shapes = {parameter.path: parameter.shape for parameter in MOVED_PARAMETERS}
    for move in MOVES:
        counts[move.tensor][np.ravel_multi_index(move.index, shapes[move.tensor])] += 1
    drawn = np.concatenate(list(counts.values()))
    # Chi-square with 99 degrees of freedom: five standard deviations.
    assert np.square(drawn - 20).sum() / 20 < 99 + 5 * np.sqrt(2 * 99)
    assert abs(np.mean([move.up for move in MOVES]) - 0.5) < 5 * np.sqrt(0.25 / len(MOVES))


# What is read of runs, and their checkpoints: as they were written, or refused in one line


def test_a_whole_run_is_read(make_run):
    record = Path(make_run(2))
    run = runs.read_run(record)
    assert (run.seed, run.diverged) == (2, False)
    assert list(run.weights()) == ["a/kernel", "a/bias"]
    assert run.trained_vector().tolist() == [3.0] * 6 + [0.0] * 3
    assert [row["epoch"] for row in run.history()] == ["1", "2", "3"]
    # The vector has the trainable tensors only, and files are found beside the record, wherever it was moved.
    weights = arrays.read_npz(record.parent / "weights.npz")
    arrays.write_npz(record.parent / "weights.npz", {"bn/moving_mean": np.ones(5, np.float32), **weights})
    moved = record.parent.rename(record.parents[1] / "moved") / record.name
    assert runs.read_run(moved).trained_vector().size == 9
    assert files.read_json(moved) == runs.read_run(moved).record


def trained(dtype):
    return lambda parts: parts["final"].update({"a/bias": np.zeros(3, dtype)})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (trained("<U3"), "a/bias: found <U3; numbers, as train has"),
        (trained(">f4"), "a/bias: found >f4; numbers, as train has"),
        (trained(int), "a/bias: found int64 of shape (3,); floats, since it was trained"),
        (lambda parts: parts["final"].pop("a/bias"), "a/bias: no such tensor; every tensor of run.json"),
        (None, "damaged or truncated ("),
    ],
    ids=["texts", "another byte order", "integers", "missing", "truncated"],
)
def test_weights_that_train_cannot_have_written_are_one_line(change, says, make_run, refused):
    record = Path(make_run(1, change))
    if not change:
        weights = record.with_name("weights.npz")
        weights.write_bytes(weights.read_bytes()[:-10])
    line = refused(runs.read_run(record).trained_vector)
    assert line.startswith(f"{record.with_name('weights.npz')}: {says}")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        *(({key: ...}, f"{key}: no such key; the record that train wrote") for key in ("spec", "status", "trainable")),
        ({"spec": None}, "spec: found null; a mapping"),
        ({"status": "x"}, 'status: found "x"; expected one of completed, diverged'),
        ({"epochs": -1}, "epochs: found -1; expected an integer from 1 to 2147483647"),
        ({"epochs": 4}, "epochs: found 4; at most the 3 of its recipe"),
        ({"seconds": {"training": -1}}, "seconds.training: found -1; expected a number from 0 up"),
        ({"observed": {"versions": -1}}, "observed.versions: found -1; a mapping"),
    ],
)
def test_a_record_of_other_types_is_one_line(change, says, make_run, refused):
    def edit(parts):
        parts["record"]["spec"]["recipe"]["epochs"] = 3
        changed = parts["record"] | change
        parts["record"] = {key: value for key, value in changed.items() if value is not ...}

    record = make_run(1, edit)
    assert refused(runs.read_run, record).startswith(f"{record}: {says}")


# Checkpoints: read as they were written, or not at all


IDENTITY = {
    "engine": "tensorflow",
    "spec": "a",
    "data": "b",
    "code": "c",
    "device": "cpu",
    "versions": {"tensorflow": "1"},
}
STATE = State(
    {"conv/kernel": np.arange(12, dtype=np.float32).reshape(3, 4) / 7, "bn/moving_mean": np.zeros(3, np.float32)},
    {"m": {"conv/kernel": np.full((3, 4), 0.1, np.float32)}, "loss_scale": {"left_out": np.array(3, np.int32)}},
    42,
)
BLANK = State(
    {path: np.zeros_like(tensor) for path, tensor in STATE.weights.items()},
    {slot: {path: np.zeros_like(one) for path, one in tensors.items()} for slot, tensors in STATE.slots.items()},
    0,
)
SNAPSHOTS = [{path: tensor + epoch for path, tensor in STATE.weights.items()} for epoch in (1, 2)]
RECORDED = [STATE.weights | {"logits": np.full((5, 2), step, np.float32)} for step in (0, 1, 2)]
ROW = {
    "epoch": 1,
    "train_loss": 0.1 + 0.2,
    "train_accuracy": 0.5,
    "test_loss": 1.5,
    "test_accuracy": 0,
    "learning_rate": 1e-3,
    "seconds": 0.25,
    "weights_sha256": "ff",
    "tensors_sha256": "f f",
    "draws_sha256": "aa",
}
PROGRESS = Progress(
    STATE,
    [ROW],
    {"training": 1 / 3},
    [1],
    SNAPSHOTS,
    RECORDED,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoints" / "1.npz"


def read(path, identity=IDENTITY):
    return Checkpoints(path, identity).read()


def write(path, progress=PROGRESS):
    kept = Checkpoints(path, IDENTITY)
    kept.last -= checkpoints.SECONDS_BETWEEN
    kept.write(lambda: progress)
    return path


@pytest.fixture
def written(path):
    """A checkpoint that lies there."""
    return write(path)


def tensors(state, snapshots=()):
    groups = {"weights": state.weights, **state.slots, **dict(enumerate(snapshots))}
    return {
        (group, name): (array.dtype, array.shape, array.tobytes())
        for group, named in groups.items()
        for name, array in named.items()
    }


def test_what_is_read_is_what_was_written_bit_for_bit(written):
    found = read(written)
    assert found[1:4] == PROGRESS[1:4]
    assert found.state.step == 42
    assert list(found.state.weights) == list(STATE.weights)
    assert tensors(found.state, found.snapshots) == tensors(STATE, SNAPSHOTS)
    assert tensors(BLANK, found.recorded) == tensors(BLANK, RECORDED)


def test_nothing_is_written_before_its_time(path, capsys):
    Checkpoints(path, IDENTITY).write(lambda: pytest.fail("a short run pays nothing"))
    assert not path.exists()
    # A run without a checkpoint starts fresh and says nothing.
    assert read(path) is None
    assert capsys.readouterr().err == ""


def starts_anew(path, capsys, identity=IDENTITY):
    assert read(path, identity) is None
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"toolnoise: {path}: ")
    assert said.endswith("; training starts over\n")
    return said


@pytest.mark.parametrize("key", IDENTITY)
def test_a_checkpoint_of_something_else_is_never_used(key, written, capsys):
    told = f"found {IDENTITY[key]!r}, from another run; expected 'another'" if key in NAMES else "from another run"
    assert f": {key}: {told}" in starts_anew(written, capsys, IDENTITY | {key: "another"})


def test_a_truncated_checkpoint_and_a_flipped_bit_anywhere_are_noticed(written, capsys):
    content = written.read_bytes()
    for share in (0, 0.1, 0.5, 0.9, 0.999):
        written.write_bytes(content[: int(len(content) * share)])
        assert "training starts over" in starts_anew(written, capsys), share
    # Every byte of the header, and some of each part.
    places = [*range(100), *range(100, len(content), 7)]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        written.write_bytes(bytes(damaged))
        assert read(written) is None, place
    assert capsys.readouterr().err.count("training starts over") == len(places)


def test_a_full_disk_is_reported_and_does_not_end_the_run(path, monkeypatch, capsys):
    def refuse(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.arrays, "pack_npz", refuse)
    write(path)
    assert list(path.parent.iterdir()) == []
    assert "no checkpoint (no space is left on the disk)" in capsys.readouterr().err
