"""What cannot be trained is refused in one line and leaves nothing; what diverges is a result."""

from pathlib import Path

import pytest

from toolnoise.engines.environment import FLAGS

QUICK = {"epochs": 3, "batch_size": 128, "learning_rate": 0.01}


def lacking():
    """An instruction set that this machine's CPU does not have."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text().split() if cpuinfo.exists() else []
    return next((isa for isa, flag in FLAGS.items() if flag not in flags), None)


@pytest.fixture(scope="module")
def toolings(workshop):
    entry = {"accelerator": "cpu", "isa": lacking() or "avx512"}
    own = {"unable": entry, "gpu": {"accelerator": "gpu", "device": "V100"}}
    return workshop(QUICK, hardware=("unable", "gpu"), own_hardware=own)


def refuses(refusal, here, *words, **options):
    line = refusal(here.attempt(out="refused", **options))
    assert not (here.folder / "refused").exists()
    for word in words:
        assert word in line


@pytest.mark.skipif(lacking() is None, reason="this CPU has every instruction set that a tooling can ask for")
def test_an_instruction_set_that_the_cpu_lacks_is_refused_in_one_line(toolings, refusal):
    refuses(refusal, toolings, "hardware unable: isa", lacking(), hardware="unable")


def test_a_gpu_that_is_not_there_is_refused_in_one_line(toolings, refusal):
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"}
    refuses(refusal, toolings, "hardware gpu: device", "no GPU", "V100", hardware="gpu", env=hidden)


def test_a_batch_larger_than_the_data_is_refused_in_one_line(workshop, refusal):
    here = workshop(QUICK | {"batch_size": 1298})
    refuses(refusal, here, "recipe here: batch_size", "1298", "at most the 1297 training examples")


def test_a_model_that_draws_numbers_of_its_own_is_refused_in_one_line(own_workshop, refusal):
    refuses(refusal, own_workshop("kerases"), "theirs", "toolnoise.models.dropout.Dropout")


def test_a_builder_whose_module_does_not_exist_is_refused_in_one_line(workshop, refusal):
    here = workshop(QUICK, model="mine", models={"mine": {"builder": "no_such_module:build"}})
    refuses(refusal, here, "model mine: builder", "no_such_module")


def test_an_option_that_a_builder_does_not_take_is_refused_in_one_line(workshop, refusal):
    here = workshop(QUICK, models={"smallcnn": {"options": {"batchnorm": True}}})
    refuses(refusal, here, "model smallcnn: options", "'batchnorm'", "toolnoise.models.smallcnn:build")


def test_images_that_are_too_small_for_a_network_are_refused_in_one_line(workshop, refusal):
    refuses(refusal, workshop(QUICK, model="mobilenet"), "model mobilenet: builder", "8 x 8 x 1", "at least 32x32")


def test_a_network_that_keras_does_not_have_is_refused_in_one_line(workshop, refusal):
    here = workshop(QUICK, model="vgg16", models={"vgg16": {"options": {"architecture": "VGG17"}}})
    refuses(refusal, here, "model vgg16: builder", "keras.applications has no network 'VGG17'")


def test_an_initialiser_of_no_known_kind_is_refused_in_one_line(own_workshop, refusal):
    refuses(refusal, own_workshop("unknown"), "dense/kernel", "allowed: those of keras.initializers")


def test_a_run_that_diverges_is_recorded_with_the_epochs_it_lasted(workshop):
    trained = workshop(QUICK | {"optimizer": "sgd", "learning_rate": 1e9}).train()
    assert trained.record["status"] == "diverged"
    assert trained.record["epochs"] == len(trained.history) < 3
