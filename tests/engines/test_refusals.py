"""What cannot be trained is refused in one line and leaves nothing."""

from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.base.environment import FLAGS

QUICK = {"epochs": 3, "batch_size": 128, "learning_rate": 0.01}


def lacking():
    """An instruction set that this machine's CPU does not have."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text().split() if cpuinfo.exists() else []
    return next((isa for isa, flag in FLAGS.items() if flag not in flags), None)


@pytest.fixture(scope="module")
def unserved(workshop):
    entry = {"accelerator": "cpu", "isa": lacking() or "avx512"}
    own = {
        "unable": entry,
        "gpu": {"accelerator": "gpu", "device": "V100"},
        "tpu": {"accelerator": "tpu", "device": "TPU v2"},
    }
    return workshop(QUICK, hardware=tuple(own), own_hardware=own)


# Without a TPU this is all of its code that a test can reach.
@pytest.mark.parametrize(
    ("hardware", "env", "words"),
    [
        pytest.param(
            *("unable", {}, ["hardware unable: isa", str(lacking())]),
            marks=pytest.mark.skipif(lacking() is None, reason="this CPU has every instruction set of a tooling"),
        ),
        ("gpu", {"CUDA_VISIBLE_DEVICES": "-1"}, ["hardware gpu: device", "no GPU", "V100"]),
        ("tpu", {"TPU_ACCELERATOR_TYPE": "v3-8"}, ["hardware tpu: device", "found TPU v3-8", "wanted: TPU v2"]),
        ("tpu", {"TPU_ACCELERATOR_TYPE": "v2-8"}, ["hardware tpu: device", "cannot connect to the TPU v2-8"]),
    ],
)
def test_a_device_or_an_instruction_set_that_is_not_there_is_refused_in_one_line(
    hardware, env, words, unserved, refusal
):
    line = refusal(unserved.attempt(out="refused", hardware=hardware, env=env))
    assert [word for word in words if word not in line] == []
    assert not list((unserved.folder / "refused").glob("*"))


# What is wrong with builders of drivers/own_models.py, in the words of their refusals.
FAULTS = {
    "softmax": "ends in a softmax; expected logits",
    "activated": "ends in a softmax; expected logits",
    "seven": "gives outputs of shape 7; expected one output of 4 logits",
    "unbuilt": "without weights; expected a model that begins with keras.Input(input_shape)",
    "nothing": "returns a NoneType; expected a function of (input_shape, classes) that returns a keras.Model",
    "mistaken": "has no attribute 'Dens' (own_models.py, line ",
}


@pytest.fixture(scope="module")
def lines(workshop, own_workshop, attempts, refusal):
    """The line in which each of several trainings is refused, of which nothing is left; one process tries them all."""
    mine = {"mine": {"builder": "no_such_module:build"}}
    tried = {
        "batch": workshop(QUICK | {"batch_size": 1298}),
        "crop": workshop(QUICK | {"crop": 9}),
        "numbers": own_workshop("kerases"),
        "module": workshop(QUICK, model="mine", models=mine),
        "option": workshop(QUICK, models={"smallcnn": {"options": {"batchnorm": True}}}),
        "images": workshop(QUICK, model="mobilenet"),
        "network": workshop(QUICK, model="vgg16", models={"vgg16": {"options": {"architecture": "VGG17"}}}),
        "initialiser": own_workshop("unknown"),
        **{builder: own_workshop(builder) for builder in FAULTS},
    }
    ended = attempts(*((here.folder, here.command(out="refused")) for here in tried.values()))
    assert not [here.folder for here in tried.values() if list((here.folder / "refused").glob("*"))]
    return {name: refusal(done) for name, done in zip(tried, ended, strict=True)}


@pytest.mark.parametrize(
    ("name", "words"),
    {
        "batch": ("recipe here: batch_size", "1298", "at most the 1297 training examples"),
        "crop": ("recipe here: crop: found 9; at most the 8 pixels of an image's side",),
        "numbers": ("theirs", "toolnoise.models.dropout.Dropout"),
        "module": ("model mine: builder", "no_such_module"),
        "option": ("model smallcnn: options", "'batchnorm'", "toolnoise.models.smallcnn:build"),
        "images": ("model mobilenet: builder", "8 x 8 x 1", "at least 32x32"),
        "network": ("model vgg16: builder", "keras.applications has no network 'VGG17'"),
        "initialiser": ("dense/kernel", "allowed: those of keras.initializers"),
    }.items(),
)
def test_a_training_that_cannot_be_is_refused_in_one_line(lines, name, words):
    assert [word for word in words if word not in lines[name]] == []


@pytest.mark.parametrize("builder", FAULTS)
def test_a_builder_whose_network_cannot_be_trained_is_refused_in_one_line(lines, builder):
    assert f"model mine: builder: own_models:{builder} " in lines[builder]
    assert FAULTS[builder] in lines[builder]


# A run that starts from the weights of another: what is frozen stays, adapters are drawn, and misfits are one line


SIZE = {"width": 8, "heads": 2, "layers": 1}
TEXT = {"reader": "text", "embedded": "as-you-like-it", "tokens": "bytes", "length": 32, "test_share": 0.1}
BASE = {"model": "plain", "dataset": "play", "hardware": "cpu", "variant": "control", "seed": 1}
OF_BASE = "base/weights.npz"


@pytest.fixture(scope="module")
def here(tmp_path_factory, write_study, workshop_in, framework, toolings):
    block = {"datasets": ["play"], "recipe": "short", "hardware": ["cpu"], "seeds": 2}
    builder = "toolnoise.models.transformer:build"
    written = {
        "study": "workshop",
        "grid": [
            block | {"models": ["adapted"], "variants": ["control", "init"]},
            block | {"models": ["plain"], "variants": ["control"]},
        ],
        "hardware": {"cpu": toolings[framework]},
        "models": {
            "plain": {"builder": builder, "options": SIZE},
            "adapted": {"builder": builder, "options": {**SIZE, "dropout": 0.1, "rank": 2}, "base": BASE},
        },
        "datasets": {"play": TEXT},
        "recipes": {"short": {"epochs": 1, "batch_size": 512, "learning_rate": 0.01}},
    }
    return workshop_in(write_study(tmp_path_factory.mktemp("workshop"), written))


@pytest.fixture(scope="module")
def trained(here, attempts):
    """The base, two runs of Control and one of init that start from it, by name."""
    (plain,) = (cell for cell in here.study.cells if cell.model == "plain")
    files = ["--weights", OF_BASE, "--history", "base/history.csv", "--record", "base/run.json"]
    files += ["--checkpoint", "base.npz", "--data", here.data]
    base = ["train", *here.options_of(here.study.spec(plain, 1)), *files]
    runs = {f"{variant} {seed}": (variant, seed) for variant, seed in (("control", 1), ("control", 2), ("init", 1))}
    commands = [[*here.command(*run, out=here.named(*run)), "--base", OF_BASE] for run in runs.values()]
    done = attempts(*((here.folder, command) for command in (base, *commands)))
    assert [one.returncode for one in done] == [0] * 4, [one.stdout for one in done]
    return {"base": here.read("base")} | {name: here.read(here.named(*run)) for name, run in runs.items()}


def test_all_that_the_base_has_is_frozen_and_adapters_alone_are_trained(trained):
    base, tuned = trained["base"].weights, trained["control 1"].weights
    adapters = tuned.keys() - base.keys()
    assert {path.rpartition("/")[0].rpartition("_")[2] for path in adapters} == {"down", "up"}
    assert set(trained["control 1"].record["trainable"]) == adapters
    assert base.keys() <= tuned.keys()
    for path, tensor in base.items():
        np.testing.assert_array_equal(tuned[path], tensor)
    # What leads up again starts at zero.
    assert all(np.abs(tuned[path]).max() > 0 for path in adapters)


def test_its_control_runs_are_bit_equal_and_init_draws_other_adapters(trained):
    assert trained["control 1"].weight_bytes == trained["control 2"].weight_bytes
    starts = {name: run.record["initial_sha256"] for name, run in trained.items()}
    assert starts["control 1"] == starts["control 2"] != starts["init 1"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda weights: weights.pop("positions/vectors"), "positions/vectors: no such tensor"),
        (
            lambda weights: weights.update({"logits/kernel": weights["logits/kernel"][:4]}),
            "logits/kernel: found shape (4, 256)",
        ),
    ],
    ids=["lacks a frozen tensor", "another shape"],
)
def test_a_base_that_does_not_fit_is_one_line(change, said, here, trained, attempts):
    weights = dict(trained["base"].weights)
    change(weights)
    arrays.write_npz(here.folder / "other.npz", weights)
    (done,) = attempts((here.folder, [*here.command(out="other"), "--base", "other.npz"]))
    assert done.returncode == 2
    assert f"other.npz: {said}" in done.stdout
