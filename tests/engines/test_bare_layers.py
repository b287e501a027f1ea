"""Layers called by themselves in PyTorch give the bits that they give through Keras, which stays where it is needed."""

import json
import sys
from pathlib import Path

DRIVER = Path(__file__).parent / "drivers/bare_layers.py"


def test_layers_by_themselves_give_the_bits_that_they_give_through_keras(run, skip_without, tmp_path):
    skip_without("torch")
    done = run(tmp_path, sys.executable, DRIVER, env={"KERAS_BACKEND": "torch"})
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    bare = {name for name, (is_bare, _) in said.items() if is_bare}
    assert bare == {"usual", "embedded"}
    assert dict.fromkeys(said, True) == {name: is_equal for name, (_, is_equal) in said.items()}
