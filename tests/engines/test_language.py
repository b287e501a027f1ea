"""Networks for language models: the papers' formulas, nothing from the future, finite gradients, the same bits twice.

The formulas are computed here in float64, position by position.
"""

import math

import numpy as np
import pytest

from toolnoise import streams

NAMES = ("lstm", "qrnn", "transformer")
WITH_DROPOUT = [f"{name}-dropout" for name in NAMES]
STEPS = 3
QUICK = {"epochs": 1, "batch_size": 32, "learning_rate": 0.1}


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def lstm(weights, values, name):
    """Every h_t of one sequence."""
    units = weights[f"{name}/recurrent"].shape[0]
    hidden, cell, given = np.zeros(units), np.zeros(units), []
    for value in values:
        parts = value @ weights[f"{name}/kernel"] + hidden @ weights[f"{name}/recurrent"] + weights[f"{name}/bias"]
        i, f, g, o = (parts[start : start + units] for start in range(0, 4 * units, units))
        cell = sigmoid(f + 1) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        given.append(hidden)
    return np.array(given)


def of_lstm(weights, values):
    for name in ("lstm1", "lstm2"):
        values = lstm(weights, values, name)
    return values


def of_qrnn(weights, values):
    for number, width in ((1, 3), (2, 1)):
        kernel, bias = weights[f"convolution{number}/kernel"], weights[f"convolution{number}/bias"]
        # The matrices of the position itself, of the one before it, and so on.
        matrices, units = kernel.reshape(width, -1, kernel.shape[1]), kernel.shape[1] // 3
        cell, given = np.zeros(units), []
        for position in range(len(values)):
            terms = [values[position - back] @ matrices[back] for back in range(min(width, position + 1))]
            z, f, o = np.split(sum(terms) + bias, 3)
            cell = sigmoid(f) * cell + (1 - sigmoid(f)) * np.tanh(z)
            given.append(sigmoid(o) * cell)
        values = np.array(given)
    return values


def normalised(weights, values, name):
    centred = values - values.mean(-1, keepdims=True)
    scaled = centred / np.sqrt(values.var(-1, keepdims=True) + 1e-5)
    return scaled * weights[f"{name}/gamma"] + weights[f"{name}/beta"]


def attended(mixed, heads):
    """Attention of each position to itself and to those before it, head by head."""
    width = mixed.shape[1] // 3
    given = np.zeros((len(mixed), width))
    for part in np.split(np.arange(width), heads):
        queries, keys, values = (mixed[:, part + start] for start in (0, width, 2 * width))
        for position, query in enumerate(queries):
            shares = np.exp(keys[: position + 1] @ query / math.sqrt(len(part)))
            given[position, part] = shares @ values[: position + 1] / shares.sum()
    return given


def gelu(values):
    return values * (1 + np.vectorize(math.erf)(values / math.sqrt(2))) / 2


def of_transformer(weights, values):
    values = values + weights["positions/vectors"]
    for block in ("block1", "block2"):
        mixed = dense(weights, normalised(weights, values, f"{block}_attention_norm"), f"{block}_heads")
        values = values + dense(weights, attended(mixed, 2), f"{block}_mixed")
        wide = gelu(dense(weights, normalised(weights, values, f"{block}_mlp_norm"), f"{block}_wide"))
        values = values + dense(weights, wide, f"{block}_narrow")
    return normalised(weights, values, "last_norm")


HIDDEN = {"lstm": of_lstm, "qrnn": of_qrnn, "transformer": of_transformer}


def dense(weights, values, name):
    return values @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


# JAX compiles longest: `make test-jax` tries it, a part of .ci/run.
@pytest.fixture(scope="module", params=["tensorflow", "torch", pytest.param("jax", marks=pytest.mark.long)])
def framework(request, skip_without):
    skip_without(request.param)
    return request.param


@pytest.fixture(scope="module")
def once(framework, toolings, workshop):
    """What the networks give on a framework, and what those without dropout give again in another process."""
    here = workshop(QUICK, own_hardware={"cpu": toolings[framework]}, hardware=("cpu",))
    tries = {"once.npz": (*NAMES, *WITH_DROPOUT), "again.npz": NAMES}
    return [here.drive("language", "train", STEPS, *ways, out=out) for out, ways in tries.items()]


@pytest.fixture(scope="module")
def found(once):
    return once[0]


def part(found, start):
    return {key.removeprefix(start): values for key, values in found.items() if key.startswith(start)}


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_those_of_the_papers_formulas(name, found):
    weights = {path: values.astype(np.float64) for path, values in part(found, f"{name}/weights/").items()}
    rows = weights["embedding/embeddings"][found[f"{name}/tokens"]]
    exact = np.array([dense(weights, HIDDEN[name](weights, values), "logits") for values in rows])
    # Of the largest logit.
    np.testing.assert_allclose(found[f"{name}/logits"], exact, rtol=0, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("name", NAMES)
def test_a_token_changes_nothing_before_it_and_something_at_every_position_from_it_on(name, found):
    before, after = found[f"{name}/logits"], found[f"{name}/changed"]
    same = (before == after).all((0, 2))
    assert same.tolist() == [position < found["changed_at"] for position in range(len(same))]


@pytest.mark.parametrize("name", [*NAMES, *WITH_DROPOUT])
def test_every_weight_has_a_finite_gradient_and_the_loss_falls(name, found):
    weights = part(found, f"{name}/weights/")
    for step in range(STEPS):
        gradients = part(found, f"{name}/gradient/{step}/")
        assert set(gradients) == set(weights)
        for path, gradient in gradients.items():
            assert gradient.shape == weights[path].shape
            assert np.isfinite(gradient).all(), path
            assert np.any(gradient), path
    losses = [found[f"{name}/loss/{step}"] for step in range(STEPS)]
    assert name.endswith("-dropout") or losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("name", NAMES)
def test_dropout_of_sequences_is_the_streams(name, found):
    masks = part(found, f"{name}-dropout/mask/")
    assert masks
    for number, mask in enumerate(masks.values()):
        size = mask[0].size
        elements = found["slots"][:, None] * np.uint32(size) + np.arange(size, dtype=np.uint32)
        counters = (np.array([STEPS], np.uint32), np.array([number], np.uint32), elements)
        kept = streams.keep_mask(np, found["words"][:, None], counters, 0.5)
        np.testing.assert_array_equal(mask, np.where(kept, 2, 0).reshape(mask.shape))
    assert np.any(found[f"{name}-dropout/loss/0"] != found[f"{name}/loss/0"])


def test_another_process_gives_the_same_bits(once):
    first, second = once
    assert set(second) == {key for key in first if not key.startswith(tuple(WITH_DROPOUT))}
    for key, values in second.items():
        assert values.tobytes() == first[key].tobytes(), key


def test_what_is_no_network_for_language_is_refused_in_one_line(found):
    *lines, right = found["refusals"].tolist()
    assert right == ""
    expected = "expected one output of 12 x 11 logits, one for each position and class"
    assert all(line.startswith("model mine: builder: own:build ") for line in lines)
    assert [line.partition("own:build ")[2] for line in lines] == [
        f"gives outputs of shape 11; {expected}",
        f"gives outputs of shape 11 x 11; {expected}",
        "ends in a softmax; expected logits: a last layer without an activation",
    ]
