"""Three frameworks, one training: what is the same to the bit, and how near the rest is to exact arithmetic."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.engines import formulas

pytestmark = pytest.mark.long

# Of the largest value: what sums of some hundred products of float32 are off by (24 at most where it was tried).
# TensorFlow's batch normalisation takes an approximate reciprocal square root, which is 5.7e-6 off on an AMD EPYC.
ROUNDING = 64 * np.finfo(np.float32).eps
# Without oneDNN, which asks the processor whether it computes in half precision.
HALF = {
    framework: {"precision": "mixed_float16", "kernels": kernels}
    for framework, kernels in {"tensorflow": "eigen", "jax": "xla", "torch": "native"}.items()
}


@pytest.fixture(scope="module")
def on_each(own_workshop, toolings):
    """Workshops on a builder, one for each framework that is installed; `more` is of each tooling, by framework."""

    def make(builder, options=None, more=None, **recipe):
        return {
            framework: own_workshop(builder, options, tooling=tooling | (more or {}).get(framework, {}), **recipe)
            for framework, tooling in toolings.items()
        }

    return make


@pytest.fixture(scope="module")
def smooth(on_each):
    return on_each("smooth", batch_size=8, epochs=2)


@pytest.fixture(scope="module")
def control(smooth):
    return {framework: here.train("control", 1) for framework, here in smooth.items()}


@pytest.fixture(scope="module")
def steps(smooth, control):
    """The first step on each framework, and there the logits of what each has trained."""
    weights = [smooth[framework].folder / "cpu-control-1/weights.npz" for framework in control]
    return {framework: here.drive("training", "first_step", *weights) for framework, here in smooth.items()}


def same(values):
    values = list(values)
    return all(value == values[0] for value in values)


def error(found, exact):
    """The largest error, as a share of the largest value."""
    return np.abs(found - exact).max() / np.abs(exact).max()


def test_initial_weights_and_draws_are_the_same_bits_on_every_framework(control):
    assert same(trained.record["initial_sha256"] for trained in control.values())
    assert same([row["draws_sha256"] for row in trained.history] for trained in control.values())
    for framework, trained in control.items():
        assert set(trained.record["observed"]["versions"]) == {framework, "keras", "numpy"}


def with_margin(here, margin):
    """Lay a border of other pixels around every image of the workshop's data."""
    found = arrays.read_npz(here.folder / here.data)
    generator = np.random.default_rng(2)
    for part in ("train", "test"):
        inner = found[f"{part}_images"]
        count, height, width, channels = inner.shape
        whole = generator.integers(0, 256, (count, height + margin, width + margin, channels), np.uint8)
        start = margin // 2
        whole[:, start : start + height, start : start + width] = inner
        found[f"{part}_images"] = whole
    arrays.write_npz(here.folder / here.data, found | {"margin": np.array(margin)})


@pytest.mark.parametrize(
    ("padding", "margin", "crop"), [("zeros", 0, 2), ("black", 0, 2), ("zeros", 3, 0), ("zeros", 3, 2)]
)
def test_an_augmented_batch_is_the_planned_one_on_every_framework(padding, margin, crop, on_each):
    """Windows of padded images, or of images that are larger than what the network sees."""
    recipe = {"crop": crop, "flip": True, "normalise": "cifar10"}
    recipe |= {"padding": "black"} if padding == "black" else {}
    for here in on_each("recorder", {"batch": 32}, size=(6, 8, 3), epochs=2, **recipe).values():
        if margin:
            with_margin(here, margin)
        trained, train = here.train("control", 1), here.dataset().train
        plan = here.last_step(trained)
        assert plan.flips.any()
        assert not plan.flips.all()
        assert (plan.offsets.min(), plan.offsets.max()) == (0, margin + 2 * crop)
        # Black before normalisation, cut out after it; or zeros after it.
        beyond = ((0, 0), (crop, crop), (crop, crop), (0, 0))
        black = replace(train, pixels=np.pad(train.pixels, beyond), margin=0).images
        padded = black if padding == "black" else np.pad(train.images, beyond)
        batch = []
        for index, (row, column), flip in zip(plan.order, plan.offsets, plan.flips, strict=True):
            window = padded[index, row : row + 6, column : column + 8]
            batch.append(window[:, ::-1] if flip else window)
        assert trained.weights["recorder/seen"].tobytes() == np.stack(batch).tobytes()
        if padding == "black":
            np.testing.assert_allclose(black[0, 0, 0], np.divide([-0.4914, -0.4822, -0.4465], [0.2023, 0.1994, 0.2010]))


def test_strides_of_phams_wide_resnet_see_the_same_pixels_on_every_framework(own_workshop, toolings):
    """Keras pads an even image at its far end only, which no framework but TensorFlow does by itself."""
    if "tensorflow" not in toolings:
        pytest.skip("tensorflow, whose padding it is, is not installed")
    wide = {
        name: own_workshop(
            "build",
            {"depth": 10, "width": 1},
            module="toolnoise.models.wide_resnet",
            tooling=tooling,
            size=(8, 12, 3),
            batch_size=32,
        )
        for name, tooling in toolings.items()
    }
    weights = wide["tensorflow"].folder / "cpu-control-1/weights.npz"
    wide["tensorflow"].train("control", 1)
    first, *others = (here.drive("training", "first_step", weights)["logits/0"] for here in wide.values())
    assert others and np.ptp(first) > 0
    for other in others:
        np.testing.assert_allclose(first, other, rtol=0, atol=1e-4 * np.abs(first).max())


def windows(images):
    return np.lib.stride_tricks.sliding_window_view(images.astype(np.float64), (3, 3), axis=(1, 2))


def forward(weights, images, moments=None):
    """What the layers of `smooth` make of images, in float64; with the batch's own mean and variance unless given."""
    w = {path: tensor.astype(np.float64) for path, tensor in weights.items()}
    convolved = np.einsum("bhwcij,ijcf->bhwf", windows(images), w["conv/kernel"])
    mean, variance = moments or (convolved.mean((0, 1, 2)), convolved.var((0, 1, 2)))
    spread = np.sqrt(variance + 1e-3)
    normal = (convolved - mean) / spread
    bent = np.tanh(w["bn/gamma"] * normal + w["bn/beta"])
    pooled = bent.mean((1, 2))
    dense = np.tanh(pooled @ w["dense/kernel"] + w["dense/bias"])
    return spread, normal, bent, pooled, dense, dense @ w["logits/kernel"] + w["logits/bias"]


def first_step(weights, images, labels):
    """The loss of `smooth` and its gradients, by the chain rule in float64."""
    spread, normal, bent, pooled, dense, logits = forward(weights, images)
    w = {path: tensor.astype(np.float64) for path, tensor in weights.items()}
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    right = np.eye(logits.shape[1])[labels]
    of_logits = (shares - right) / len(labels)
    of_dense = of_logits @ w["logits/kernel"].T * (1 - dense**2)
    of_bent = (of_dense @ w["dense/kernel"].T)[:, None, None] / bent[0, :, :, 0].size * (1 - bent**2)
    of_normal = of_bent * w["bn/gamma"]
    means = (of_normal.mean((0, 1, 2)), (of_normal * normal).mean((0, 1, 2)))
    of_convolved = (of_normal - means[0] - normal * means[1]) / spread
    return -np.log((shares * right).sum(1)).mean(), {
        "conv/kernel": np.einsum("bhwcij,bhwf->ijcf", windows(images), of_convolved),
        "bn/gamma": (of_bent * normal).sum((0, 1, 2)),
        "bn/beta": of_bent.sum((0, 1, 2)),
        "dense/kernel": pooled.T @ of_dense,
        "dense/bias": of_dense.sum(0),
        "logits/kernel": dense.T @ of_logits,
        "logits/bias": of_logits.sum(0),
    }


def test_the_first_step_is_that_of_exact_arithmetic_but_for_rounding(framework, smooth, steps):
    found, train = steps[framework], smooth[framework].dataset().train
    initial = {name.removeprefix("initial/"): array for name, array in found.items() if name.startswith("initial/")}
    loss, gradients = first_step(initial, train.images[found["order"]], train.labels[found["order"]])
    assert error(found["loss"], loss) < ROUNDING
    for path, gradient in gradients.items():
        assert error(found[f"gradient/{path}"], gradient) < ROUNDING, path
    assert sum(name.startswith("gradient/") for name in found) == len(gradients)


def test_batch_normalisation_keeps_the_running_statistics_of_its_batch(framework, smooth, steps):
    found, images = steps[framework], smooth[framework].dataset().train.images
    convolved = np.einsum(
        "bhwcij,ijcf->bhwf", windows(images[found["order"]]), found["initial/conv/kernel"].astype(np.float64)
    )
    # Keras's momentum, 0.99; the variance is that of the batch, not an estimate of the population's.
    for name, batch in (("mean", convolved.mean((0, 1, 2))), ("variance", convolved.var((0, 1, 2)))):
        before = found[f"initial/bn/moving_{name}"].astype(np.float64)
        assert error(found[f"after/bn/moving_{name}"], 0.99 * before + 0.01 * batch) < ROUNDING, name


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_shipped_formulas_are_others(framework, on_each, updates, tmp_path, skip_without):
    skip_without(framework)
    file = tmp_path / "given.npz"
    arrays.write_npz(file, updates[0])
    here = on_each("smooth", more={framework: {"formulas": "shipped"}}, batch_size=8, epochs=2, **FACTORS)[framework]
    found, path = here.drive("training", "one_update", file), "conv/kernel"
    exact = exact_update(updates[0], path, "adam")
    apart = np.abs(found[f"adam/v/{path}"] - exact["v"]) / np.abs(exact["v"] - updates[0][f"v/{path}"])
    # The float32 nearest to 0.001, in place of 1 minus the one nearest to 0.999.
    assert np.median(apart) == pytest.approx(1.3e-5, rel=0.1)
    # PyTorch keeps the corrections in float64, and adds epsilon after that of the second moment: a smaller one, here.
    powers = (0.9**7, 0.999**7) if framework == "torch" else POWERS
    epsilon = EPSILON * (np.sqrt(1 - powers[1]) if framework == "torch" else 1)
    shipped = exact_update(updates[0], path, "adam", (single(0.1), single(0.001)), powers, epsilon)
    start, weight = updates[0][f"weights/{path}"], found[f"adam/weights/{path}"].astype(np.float64)
    np.testing.assert_allclose(weight - start, shipped["weights"] - start, rtol=2 * UPDATE_ROUNDING)
    assert np.median(np.abs(weight - exact["weights"]) / np.abs(exact["weights"] - start)) > 10 * UPDATE_ROUNDING
    # The first momentum's sign and scale are each framework's own; the weights move alike.
    sgd = exact_update(updates[0], path, "sgd")
    if framework == "jax":
        np.testing.assert_allclose(found[f"sgd/weights/{path}"], sgd["weights"], rtol=1e-5)
    else:
        w, g, momentum = (
            updates[0][f"{name}/{path}"].astype(np.float64) for name in ("weights", "gradient", "momentum")
        )
        moved = w - single(0.008) * (single(0.9) * momentum + g + single(0.01) * w)
        np.testing.assert_allclose(found[f"sgd/weights/{path}"], moved, rtol=1e-5)


# One update: the exact formulas in float64, of the constants that the specification names.
FACTORS = {"weight_decay": 0.01, "decay_normalisation": True, "bias_rate": 0.1, "scale_rate": 0.3}


@pytest.fixture(scope="module")
def updates(on_each, tmp_path_factory, control):
    """What each framework makes of the same weights, slots and gradients, and these.

    Weights and slots are small beside their change: rounding of what is stored then hides no constant.
    """
    tensors = next(iter(control.values())).weights
    draws = np.random.Generator(np.random.Philox(11))
    given = {
        f"{name}/{path}": draws.uniform(0.5, 1.5, tensor.shape).astype(np.float32) * np.float32(scale)
        for path, tensor in tensors.items()
        for name, scale in (("weights", 1e-6), ("gradient", 0.1), ("m", 1e-4), ("v", 1e-8), ("momentum", -1e-4))
    }
    given |= {"labels": np.arange(8, dtype=np.int32) % 4, "logits": draws.normal(size=(8, 4)).astype(np.float32)}
    file = tmp_path_factory.mktemp("given") / "given.npz"
    arrays.write_npz(file, given)
    smoothed = on_each("smooth", batch_size=8, epochs=2, label_smoothing=0.1, **FACTORS)
    return given, {framework: here.drive("training", "one_update", file) for framework, here in smoothed.items()}


def single(number):
    """The float32 nearest to a number, in float64."""
    return np.float64(np.float32(number))


RISES, POWERS = (formulas.RISE_1, formulas.RISE_2), (single(0.9**7), single(0.999**7))
EPSILON = single(formulas.EPSILON)


def exact_update(given, path, optimizer, rises=RISES, powers=POWERS, epsilon=EPSILON):
    """The moved weight and the slots by the specification, in float64 from float32 constants."""
    of_path = {name.partition("/")[0]: array for name, array in given.items() if name.endswith(f"/{path}")}
    w, g, m, v, momentum = (of_path[name].astype(np.float64) for name in ("weights", "gradient", "m", "v", "momentum"))
    factor = {"bias": 0.1, "beta": 0.1, "gamma": 0.3}.get(path.rpartition("/")[2], 1)
    rate = single(0.008) * single(factor)
    g = g + single(0.01) * w
    if optimizer == "sgd":
        momentum = single(0.9) * momentum - rate * g
        return {"weights": w + momentum, "momentum": momentum}
    m, v = m + (g - m) * rises[0], v + (g**2 - v) * rises[1]
    size = rate * np.sqrt(1 - powers[1]) / (1 - powers[0])
    return {"weights": w - m * size / (np.sqrt(v) + epsilon), "m": m, "v": v}


# The share of an update that its seven float32 operations can be off by, at half a unit in the last place each.
UPDATE_ROUNDING = 7 / 2 * np.finfo(np.float32).eps


def test_every_framework_makes_the_specified_update(framework, updates):
    given, found = updates[0], updates[1][framework]
    for optimizer in ("adam", "sgd"):
        paths = [
            name.removeprefix(f"{optimizer}/weights/") for name in found if name.startswith(f"{optimizer}/weights/")
        ]
        assert len(paths) == 7
        for path in paths:
            for name, wanted in exact_update(given, path, optimizer).items():
                values = found[f"{optimizer}/{name}/{path}"].astype(np.float64)
                # The change, not the value: a wrong constant of a slot hides in the slot's size.
                moved = np.abs(wanted - given[f"{name}/{path}"].astype(np.float64))
                stored = np.spacing(np.abs(found[f"{optimizer}/{name}/{path}"])).astype(np.float64) / 2
                np.testing.assert_array_less(
                    np.abs(values - wanted), UPDATE_ROUNDING * moved + 2 * stored, err_msg=f"{optimizer} {name} {path}"
                )


def test_every_framework_has_the_specified_label_smoothing(framework, updates):
    given, found = updates[0], updates[1][framework]
    logits = given["logits"].astype(np.float64)
    shares = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    targets = np.where(np.eye(4)[given["labels"]] == 1, *formulas.smoothed_targets(0.1, 4))
    np.testing.assert_allclose(found["losses"], -(targets * shares).sum(axis=1), rtol=4 * np.finfo(np.float32).eps)


def test_weights_trained_by_one_framework_give_their_logits_in_another_but_for_rounding(
    framework, smooth, control, steps
):
    images = smooth[framework].dataset().test.images
    for number, trained in enumerate(control.values()):
        w, found = trained.weights, steps[framework][f"logits/{number}"]
        moments = w["bn/moving_mean"].astype(np.float64), w["bn/moving_variance"].astype(np.float64)
        assert found.dtype == np.float32
        assert error(found, forward(w, images, moments)[-1]) < ROUNDING


def test_a_state_in_the_middle_goes_on_in_a_fresh_process_with_the_same_bits(framework, toolings, own_workshop):
    # What an epoch does hangs on its number.
    recipe = {"batch_size": 8, "epochs": 3, "schedule": "cosine", "warmup_epochs": 0.5, "crop": 2, "flip": True}
    here = own_workshop("smooth", tooling=toolings[framework], **recipe)
    whole = here.drive("training", "resume", out="whole.npz")
    rest = here.drive("training", "resume", "whole.npz", out="rest.npz")
    last = {name: array for name, array in whole.items() if name.startswith("2/")}
    assert set(rest) >= set(last)
    # Both optimisers: 9 tensors, of which 7 are trained; Adam has two slots for each of these, SGD one.
    assert len(last) >= 2 * (9 + 1) + 3 * 7
    for name, array in last.items():
        assert rest[name].tobytes() == array.tobytes(), name


def test_a_step_that_overflows_is_left_out_on_every_framework(on_each):
    for here in on_each("smooth", more=HALF, batch_size=8).values():
        end = here.drive("training", "overflow")
        left_out = int(end.pop("left_out"))
        assert 0 < left_out < 8
        assert int(end.pop("doublings")) == 9 - left_out
        assert 0 <= int(end.pop("steps_in_a_row")) <= 8 - left_out
        assert all(np.isfinite(tensor).all() for tensor in end.values())


# Max-pooling in JAX on a CPU by a function of this program: the numbers of XLA's. `make test-jax` tries it.

DRIVER = Path(__file__).parent / "drivers/frameworks.py"


def test_max_pooling_has_the_numbers_and_the_bits_of_gradients_of_xla_and_what_is_no_number_stays(
    run, skip_without, tmp_path
):
    """In a process of its own: JAX has threads, and other tests fork."""
    skip_without("jax")
    variables = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    done = run(tmp_path, sys.executable, DRIVER, "jax_pooling", env=variables)
    assert done.returncode == 0, done.stderr
    pooled = json.loads(done.stdout)
    assert pooled["agreement"] == [True] * 8
    assert pooled["holes"] == [[[[True], [True]]]]
    # Keras pools with it, and other windows as before.
    assert pooled["by it"] == [[[[5], [7]], [[13], [15]]]]
    assert pooled["others"] == [True, True]
