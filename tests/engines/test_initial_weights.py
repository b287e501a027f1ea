"""Models: a user's builders, and initial weights, one of them moved by one ulp."""

import numpy as np
import pytest
from scipy import stats

from toolnoise.base.errors import BadInput
from toolnoise.models.initial import CUT_OFF_SPREAD, Parameter, initial_weights
from toolnoise.study import config
from toolnoise.study.builders import require_builders
from toolnoise.training import bitflip

MODULE = "own_builder_of_this_test"
GOOD = "def build(input_shape, classes, width=32, *, depth):\n    pass\n"


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A study's models: one of this source in the folder that the study runs in."""
    monkeypatch.chdir(tmp_path)

    def write(source, options):
        (tmp_path / f"{MODULE}.py").write_text(source)
        return {"mine": {"builder": f"{MODULE}:build", "options": options}}

    return write


def refusal(models):
    """The line that refuses a model, or nothing."""
    try:
        require_builders(models, "study.yaml")
    except BadInput as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (GOOD, {"width": 8, "depth": 2}),
        ("def wrapped(of):\n    return of\n@wrapped\ndef build():\n    pass\n", {"anything": 1}),
        (f"import keras, sys\nfrom . import other\nfrom {MODULE} import build\n", {}),
        ("try:\n    import elsewhere\nexcept ImportError:\n    pass\n" + GOOD, {}),
        ("raise SystemExit('nothing is imported')\ndef build(input_shape, classes):\n    pass\n", {}),
    ],
)
def test_a_builder_that_may_be_right_is_planned(models, source, options):
    assert refusal(models(source, options)) == ""


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("def build(:\n", {}, [f"{MODULE}.py, line 1: "]),
        ("def built(input_shape, classes):\n    pass\n", {}, ["has no function build", "allowed: built"]),
        (f"import numpy, elsewhere.models\n{GOOD}", {}, [f"{MODULE}.py, line 1: no module elsewhere", "elsewhere.py"]),
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


def test_every_builder_of_the_registry_is_planned():
    registered = {name: {"options": {}, **model} for name, model in config.registered("models").items()}
    assert len(registered) > 20
    assert refusal(registered) == ""


def draw(initializer, shape=(3, 3, 16, 32), **options):
    parameter = Parameter("layer/kernel", shape, True, initializer, options)
    (tensor,) = initial_weights([parameter], 0, 1, "mine").values()
    assert tensor.dtype == np.float32
    assert tensor.shape == shape
    return tensor


@pytest.mark.parametrize(
    ("initializer", "options", "low", "high"),
    [
        # Nine places of the kernel: 144 inputs and 288 outputs, 216 in the mean.
        ("GlorotUniform", {}, -np.sqrt(3 / 216), np.sqrt(3 / 216)),
        (
            "VarianceScaling",
            {"scale": 0.5, "mode": "fan_out", "distribution": "uniform"},
            -np.sqrt(1.5 / 288),
            np.sqrt(1.5 / 288),
        ),
        ("RandomUniform", {"minval": -0.25, "maxval": 0.75}, -0.25, 0.75),
    ],
)
def test_uniforms_fill_their_limits_and_stay_within(initializer, options, low, high):
    tensor = draw(initializer, **options)
    rounding = (high - low) * 1e-6
    assert low - rounding <= tensor.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < tensor.max() <= high + rounding
    assert tensor.mean() == pytest.approx((low + high) / 2, abs=(high - low) / 100)


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


PARAMETERS = [
    Parameter("conv/kernel", (3, 3, 1, 4), True, "GlorotUniform", {}),
    Parameter("conv/bias", (4,), True, "Zeros", {}),
    Parameter("bn/gamma", (4,), True, "Ones", {}),
    Parameter("seen/values", (50, 50), False, "Zeros", {}),
    Parameter("logits/kernel", (16, 4), True, "GlorotUniform", {}),
]
KERNELS = {"conv/kernel": 36, "logits/kernel": 64}
MOVES = [bitflip.drawn(PARAMETERS, 0, replicate, "m") for replicate in range(1, 2001)]


def as_integers(values):
    return values.view(np.int32).astype(np.int64)


@pytest.mark.parametrize("move", MOVES[:20], ids=str)
def test_exactly_one_weight_moves_by_one_ulp(move):
    weights = initial_weights(PARAMETERS, 0, 1, "m")
    before = {path: tensor.copy() for path, tensor in weights.items()}
    moved = move.made(weights)
    assert list(moved) == list(weights)
    changed = {path: np.argwhere(moved[path] != before[path]).tolist() for path in weights}
    assert changed == {path: [] for path in weights} | {move.tensor: [list(move.index)]}
    old, new = before[move.tensor][move.index], moved[move.tensor][move.index]
    assert abs(as_integers(new) - as_integers(old)) == 1
    assert (new > old) == move.up
    assert all(weights[path].tobytes() == before[path].tobytes() for path in weights)
    assert moved[move.tensor].dtype == np.float32


def test_a_replicate_always_moves_the_same_weight_and_a_model_without_kernels_is_one_line(refused):
    assert bitflip.drawn(PARAMETERS, 0, 7, "m") == MOVES[6]
    # These follow from the stream alone, for ever.
    assert [tuple(move) for move in MOVES[:2]] == [("logits/kernel", (9, 0), True), ("logits/kernel", (13, 0), False)]
    line = refused(bitflip.drawn, PARAMETERS[1:4], 0, 1, "mine")
    assert line.startswith("model mine: no trained tensor of two axes or more")


def test_only_trained_kernels_are_moved_each_weight_as_likely_as_any_other():
    counts = {path: np.zeros(size, int) for path, size in KERNELS.items()}
    shapes = {parameter.path: parameter.shape for parameter in PARAMETERS}
    for move in MOVES:
        counts[move.tensor][np.ravel_multi_index(move.index, shapes[move.tensor])] += 1
    drawn = np.concatenate(list(counts.values()))
    # Chi-square with 99 degrees of freedom: five standard deviations.
    assert np.square(drawn - 20).sum() / 20 < 99 + 5 * np.sqrt(2 * 99)
    assert abs(np.mean([move.up for move in MOVES]) - 0.5) < 5 * np.sqrt(0.25 / len(MOVES))
