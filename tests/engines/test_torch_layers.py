"""Layers called by themselves in PyTorch, and its scans, give the bits of Keras's, which stay where they are needed."""

import json
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parent / "drivers/torch_layers.py"


@pytest.fixture(scope="module")
def said(run, skip_without, tmp_path_factory):
    skip_without("torch")
    done = run(tmp_path_factory.mktemp("layers"), sys.executable, DRIVER, env={"KERAS_BACKEND": "torch"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_layers_by_themselves_give_the_bits_that_they_give_through_keras(said):
    bare = {name for name, (is_bare, _) in said["layers"].items() if is_bare}
    assert bare == {"usual", "embedded"}
    assert dict.fromkeys(said["layers"], True) == {name: is_equal for name, (_, is_equal) in said["layers"].items()}


def test_a_scan_gives_the_bits_of_kerass_and_of_its_gradients(said):
    ours = {"one": True, "several": True, "nothing made": True, "back": False, "some": False}
    assert said["scans"] == {way: [True, is_ours] for way, is_ours in ours.items()}
