"""Networks: the registry's parameters as published, logits at the end, no random number of their own.

The formulas of networks for language are computed here in float64, position by position. Activations, layers and scans
stand beside Keras's.
"""

import itertools
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from toolnoise.base import files
from toolnoise.models.initial import Parameter, initial_weights
from toolnoise.study import config

# Published parameter counts, those of batch normalisation's running statistics among them.
# Keras: the table of keras.io's "Keras Applications" while it gave whole numbers (keras-io,
# templates/api/applications/index.md, 2022), for 1,000 classes.
KERAS = {
    "resnet50": 25_636_712,
    "resnet152": 60_419_944,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "mobilenet": 4_253_864,
    "efficientnet-b0": 5_330_571,
    "densenet121": 8_062_504,
    "densenet201": 20_242_984,
    "inception-v3": 23_851_784,
    "xception": 22_910_480,
}
# Zhuang et al., appendix C: 16 to 512 filters with biases, four numbers a filter of batch normalisation, 1,000 classes.
FILTERS = (16, 32, 64, 128, 256, 512)
MEDIUMCNN = {
    f"mediumcnn-k{side}": sum(side**2 * a * b + b for a, b in zip((3, *FILTERS), FILTERS, strict=False))
    + 4 * sum(FILTERS)
    + (512 + 1) * 1000
    for side in (1, 3, 5, 7)
}


# torchvision's documentation: parameters that are trained, of networks without biases in convolutions.
TORCHVISION = {"resnet18-imagenet": (11_689_512, 4_800), "resnet50-v15": (25_557_032, 26_560)}


@pytest.fixture(scope="module")
def found(workshop):
    here = workshop({"epochs": 1, "batch_size": 32, "learning_rate": 0.1}, hardware=("cpu",))
    return here.drive("networks", "count_models", out="models.json", read=files.read_json)


def test_strides_and_pooling_are_those_of_the_authors(found):
    # The 3x3 convolution of version 1.5 strides.
    assert found["striding"] == {"stage2_block1_2_conv": [2, 2], "stage2_block1_shortcut_conv": [2, 2]}
    # ResNet-18 of larger images may keep the windows of the authors' pooling.
    small, large = found["pooled"]
    assert large["parameters"] - small["parameters"] == (16 - 1) * 512 * 2


def test_phams_wide_resnet_has_kerass_padding_their_epsilon_and_their_last_layer(found):
    # Their wideresnet_original.py.
    (one,) = found["wrn-28-10"]
    assert one["padding"] == {"stage2_block1_1_conv": "same", "stage3_block1_1_conv": "same"}
    assert one["epsilons"] == [1.1e-5]
    assert one["initializers"]["logits/kernel"][0] == "HeNormal"
    assert one["initializers"]["logits/bias"][0] == "Zeros"


def test_the_model_gardens_resnet50_pads_with_kerass_same_after_its_first_convolution(found):
    # The fork's resnet_model.py; torchvision's ResNet-18 pads both sides everywhere.
    (garden,), (torchvisions,) = found["resnet50-v15"], found["resnet18-imagenet"]
    strided = {f"stage{stage}_block1_2_conv": "same" for stage in (2, 3, 4)}
    assert garden["padding"] == {"stem_conv": "valid", "stem_pool": "same"} | strided
    assert set(torchvisions["padding"].values()) == {"valid"}


def he_convolutions(width, stages, blocks=2):
    """Weights of the 3x3 convolutions of a ResNet without biases, each stage twice as wide as the one before."""
    wide = [width * 2**stage for stage in range(stages)]
    into = [3 * wide[0], *(a * b for a, b in itertools.pairwise(wide))]
    return 9 * (sum(into) + sum(filters**2 for filters in wide) * 2 * blocks - sum(f**2 for f in wide[1:])), wide


# Summers and Dinneen publish no counts: by hand, from their resnet_cifar.py. Each convolution is normalised, with two
# numbers a filter; so is each shortcut that halves, which has the channels of the stage before and nothing else.
PADDED = {"resnet6": (16, 1), "resnet10": (16, 2), "resnet14": (16, 3), "resnet18-padded": (64, 4)}
PADDED |= {f"resnet14-x{times}": (width, 3) for times, width in (("0125", 2), ("025", 4), ("050", 8))}
PADDED |= {f"resnet14-x{times}": (16 * times, 3) for times in (2, 4, 8)}
PADDED["resnet14-snapshots"] = PADDED["resnet14"]


def test_a_block_of_theirs_starts_as_the_identity(found):
    for name in PADDED:
        for path, (kind, _) in found[name][0]["initializers"].items():
            if path.endswith("/gamma"):
                assert kind == ("Zeros" if path.endswith("_2_bn/gamma") else "Ones"), path
    # A stride sees the pixels that their shortcut keeps. With Keras's "same" the middle of a 3x3 window would be on 7,
    # 9, 11, ... A shuffle takes channels from either half in turn.
    assert found["pixels"]["stride"] == [0, 2, 4, 12, 14, 16, 24, 26, 28]
    assert found["pixels"]["dealt"] == [0, 3, 1, 4, 2, 5]


# Trained parameters for small images. VGG-11: table 7 of Sun et al., "NeuralFuse" (2023). ShuffleNetV2 x0.5: the same
# layers as torchvision's, whose count for 10 classes model zoos give. WRN-28-10 for 100 classes: osmr's imgclsmob. The
# 1,199,882 are those of PyTorch's MNIST example, which Summers and Dinneen's code takes over without its dropout.
PUBLISHED = {"vgg11": 9_231_114, "shufflenet-x05": 352_042, "wrn-28-10": 36_536_884, "mnist-cnn": 1_199_882}


# By hand, on MNIST and, of the first three, on CIFAR-10: (inputs + 1) x outputs for each dense layer, (window + 1) x
# filters for each convolution.
SHALLOW = {
    "linear": (785 * 10, 3073 * 10),
    "hidden": (785 * 512 + 513 * 10, 3073 * 512 + 513 * 10),
    "hidden-conv": (26 * 64 + (14 * 14 * 64 + 1) * 10, 76 * 64 + (16 * 16 * 64 + 1) * 10),
    "lenet1": (26 * 4 + (25 * 4 + 1) * 12 + (7 * 7 * 12 + 1) * 10,),
    "lenet4": (26 * 6 + 151 * 16 + (7 * 7 * 16 + 1) * 84 + 85 * 10,),
    "lenet5": (26 * 6 + 151 * 16 + (7 * 7 * 16 + 1) * 120 + 121 * 84 + 85 * 10,),
}


SHALLOW["lenet5-glorot"] = SHALLOW["lenet5"]


# By hand, at 64 positions and 256 tokens. Embedding; four parts of an LSTM, each (inputs + units + 1) x units; dense.
# Three parts of a quasi-recurrent layer, each (window x inputs + 1) x units. A block's two
# normalisations, the four matrices of its attention, and its MLP.
LANGUAGE = {
    "lstm": 256 * 64 + 4 * (64 + 128 + 1) * 128 + 129 * 256,
    "transformer": (256 + 64 + 2) * 64 + 2 * (4 * 64 + 65 * 4 * 64 + 65 * 4 * 64 + 257 * 64) + 65 * 256,
    "qrnn": 256 * 64 + 3 * (2 * 64 + 1) * 128 + 3 * (128 + 1) * 128 + 129 * 256,
}


# REFERENCE: 15,722 follow from the authors' smallcnn.py, which pools globally (31,082 with Flatten); normalisation has
# four numbers a filter.
SMALL = {"smallcnn": 15_722, "smallcnn-dropout": 15_722}
SMALL |= {"smallcnn-bn": 15_722 + 4 * (16 + 32 + 32), "smallcnn-bn-nobias": 15_722 + 3 * (16 + 32 + 32)}
# kuangliu/pytorch-cifar: 11,173,962 for 10 classes. Like the authors' Keras code it has no bias in a convolution; Keras
# counts the running mean and variance of 4,800 normalised channels too. torchvision trains 5,288,548 of EfficientNet's:
# the rest are running statistics and the seven numbers of Keras's normalisation of pixels. Summaries of Keras's example
# of thin ResNets: 861,770 for 56 layers, 665,994 for 44 and 470,218 for 32. Six layers more are always the same number
# more; nobody seems to have published 38.
RESNET18 = 11_173_962
ONE_TASK = {"resnet34": 21_282_122, "resnet56": 857_706, "efficientnet-b0": 5_288_548} | PUBLISHED | LANGUAGE
ONE_TASK |= {name: trained for name, (trained, _) in TORCHVISION.items()}
TRAINED = {name: (count,) for name, count in ONE_TASK.items()} | SHALLOW
TRAINED["resnet18"] = (RESNET18, RESNET18 + 90 * 513)
WHOLE = KERAS | MEDIUMCNN | SMALL | LANGUAGE | {"resnet18": RESNET18 + 2 * 4_800}
WHOLE |= {"resnet56": 861_770, "resnet38": (470_218 + 665_994) / 2}
WHOLE |= {name: trained + 2 * channels for name, (trained, channels) in TORCHVISION.items()}
for name, about in PADDED.items():
    convolutions, wide = he_convolutions(*about)
    normalised = wide[0] + 4 * sum(wide) + sum(wide[:-1])
    TRAINED[name] = (convolutions + 2 * normalised + (wide[-1] + 1) * 10,)
    WHOLE[name] = TRAINED[name][0] + 2 * normalised


@pytest.mark.parametrize("name", config.registry_entries("models"))
def test_a_model_has_the_parameters_that_were_published_or_that_its_layers_add_up_to(name, found):
    assert name in TRAINED or name in WHOLE
    if name in TRAINED:
        assert tuple(one["trained"] for one in found[name]) == TRAINED[name]
    if name in WHOLE:
        assert found[name][0]["parameters"] == WHOLE[name]


@pytest.mark.parametrize("name", config.registry_entries("models"))
def test_a_model_gives_logits_and_draws_nothing_itself(name, found):
    for one in found[name]:
        shape, classes = one["task"]
        assert one["output"] == [None, *(shape if name in LANGUAGE else ()), classes]
        assert one["ends_in"] == "linear"
        assert one["own_random_numbers"] == []
        assert "Rescaling" not in one["layers"], "scaling pixels is left to the recipe"
        # Every initialiser can be drawn.
        kinds = {(kind, str(options)): options for kind, options in one["initializers"].values()}
        parameters = [
            Parameter(str(number), (3, 3, 4, 5), True, kind, options)
            for number, ((kind, _), options) in enumerate(kinds.items())
        ]
        assert all(np.isfinite(tensor).all() for tensor in initial_weights(parameters, 0, 1, name).values())


@pytest.mark.parametrize("name", ["lenet1", "lenet4", "lenet5"])
def test_every_tensor_of_phams_lenets_starts_uniform_between_minus_and_plus_a_half(name, found):
    # Their models_utils.py sets every array of every layer, biases too, to np.random.sample(shape) - 0.5.
    (one,) = found[name]
    parameters = [
        Parameter(path, tuple(one["shapes"][path]), True, *initializer)
        for path, initializer in one["initializers"].items()
    ]
    drawn = initial_weights(parameters, 0, 1, name)
    assert {path.rpartition("/")[2] for path in drawn} == {"kernel", "bias"}
    for path, tensor in drawn.items():
        assert np.abs(tensor).max() <= 0.5, path
        assert stats.kstest(tensor.ravel(), stats.uniform(-0.5, 1).cdf).pvalue > 0.01, path
    everything = np.concatenate([tensor.ravel() for tensor in drawn.values()])
    assert np.ptp(everything) > 0.999
    assert stats.kstest(everything, stats.uniform(-0.5, 1).cdf).pvalue > 0.01


def test_dropout_is_the_streams_and_drop_connect_drops_whole_examples(found):
    assert found["smallcnn-dropout"][0]["dropouts"] == {"dropout": [0.2, False]}
    assert found["mobilenet"][0]["dropouts"] == {"dropout": [1e-3, False]}
    dropouts = found["efficientnet-b0"][0]["dropouts"]
    assert dropouts.pop("top_dropout") == [0.2, False]
    # A block that adds to what came in is dropped with a rate that grows with its depth: block b of 16, 0.2 b / 16.
    assert len(dropouts) == 9
    assert all(whole for _, whole in dropouts.values())
    assert dropouts["block6d_drop"][0] == pytest.approx(0.2 * 14 / 16)


# Activations in place of ReLU: their formulas on every framework, and a slope without a jump


BETAS = (0.5, 1, 2)


def test_they_are_their_formulas(own_workshop, framework, toolings):
    bent = own_workshop("smooth", tooling=toolings[framework]).drive("networks", "smooth_activations")
    places = bent["places"].astype(np.float64)
    expected = {"relu 1": np.maximum(places, 0), "swish 1": places / (1 + np.exp(-places))}
    for beta in BETAS:
        parabola = (places + beta) ** 2 / (4 * beta)
        expected[f"smelu {beta:g}"] = np.where(places <= -beta, 0, np.where(places >= beta, places, parabola))
    assert set(expected) | {"places"} == set(bent)
    for name, values in expected.items():
        np.testing.assert_allclose(bent[name], values, rtol=1e-6, atol=1e-6, err_msg=name)


# What layers give of test images: which layers, in what order, and the numbers beside Keras's own


@pytest.fixture(scope="module")
def nested(own_workshop):
    return own_workshop("nested").drive("networks", "watch_layers")


@pytest.fixture(scope="module")
def smooth(own_workshop, framework, toolings):
    return own_workshop("smooth", tooling=toolings[framework]).drive("networks", "watch_layers")


@pytest.mark.long
def test_layers_in_layers_and_calls_count_in_the_order_in_which_they_compute(nested):
    assert dict(zip(nested["layers"].tolist(), nested["sizes"].tolist(), strict=True)) == {
        "block/one": 7,
        "block/two": 5,
        "doubled/inner": 5,
        "doubled/inner#2": 5,
        "doubled": 5,
        "shared": 5,
        "shared#2": 5,
        "logits": 4,
    }


@pytest.mark.long
def test_a_layer_gives_what_keras_says_it_gives(smooth):
    theirs = {key.removeprefix("theirs/"): value for key, value in smooth.items() if key.startswith("theirs/")}
    assert list(theirs) == smooth["layers"].tolist() == ["conv", "bn", "dense", "logits"]
    for name, values in theirs.items():
        found = smooth[f"whole/{name}"]
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, values, rtol=1e-4, atol=1e-5)


@pytest.mark.long
def test_the_same_is_given_again_bit_for_bit_and_the_logits_last(smooth, nested):
    near = {"rtol": 1e-4, "atol": 1e-5}
    for found in (smooth, nested):
        for name in found["layers"]:
            assert np.array_equal(found[f"whole/{name}"], found[f"again/{name}"]), name
            np.testing.assert_allclose(found[f"alone/{name}"], found[f"whole/{name}"], **near)
        np.testing.assert_allclose(found[f"whole/{found['layers'][-1]}"], found["logits"], **near)


# Layers called by themselves in PyTorch, and its scans, give the bits of Keras's, which stay where they are needed


DRIVER = Path(__file__).parent / "drivers/frameworks.py"


def test_layers_by_themselves_and_scans_give_the_bits_that_they_give_through_keras(run, skip_without, tmp_path):
    skip_without("torch")
    done = run(tmp_path, sys.executable, DRIVER, "torch_layers", env={"KERAS_BACKEND": "torch"})
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    # Through Keras go those that need what it does around a call.
    assert {name for name, (is_bare, _) in said["layers"].items() if is_bare} == {"usual"}
    assert all(is_equal for _, is_equal in said["layers"].values())
    # Of results and of gradients.
    assert said["scans"] == {"one": True, "several": True, "back": True}


# Networks for language: the papers' formulas, and nothing from the future


LANGUAGES = ("lstm", "qrnn", "transformer")
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
def language(request, skip_without, toolings, workshop):
    """What the networks for language give on a framework."""
    skip_without(request.param)
    here = workshop(QUICK, own_hardware={"cpu": toolings[request.param]}, hardware=("cpu",))
    return here.drive("networks", "language", *LANGUAGES)


def part(arrays, start):
    return {key.removeprefix(start): values for key, values in arrays.items() if key.startswith(start)}


@pytest.mark.parametrize("name", LANGUAGES)
def test_logits_are_those_of_the_papers_formulas(name, language):
    weights = {path: values.astype(np.float64) for path, values in part(language, f"{name}/weights/").items()}
    rows = weights["embedding/embeddings"][language[f"{name}/tokens"]]
    exact = np.array([dense(weights, HIDDEN[name](weights, values), "logits") for values in rows])
    # Of the largest logit.
    np.testing.assert_allclose(language[f"{name}/logits"], exact, rtol=0, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_token_changes_nothing_before_it_and_something_at_every_position_from_it_on(name, language):
    before, after = language[f"{name}/logits"], language[f"{name}/changed"]
    same = (before == after).all((0, 2))
    assert same.tolist() == [position < language["changed_at"] for position in range(len(same))]
