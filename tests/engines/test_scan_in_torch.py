"""Scans in PyTorch: the bits of Keras's own, and of its gradients."""

import json
import sys
from pathlib import Path

DRIVER = Path(__file__).parent / "drivers/scans.py"


def test_a_scan_gives_the_bits_of_kerass_and_of_its_gradients(run, skip_without, tmp_path):
    skip_without("torch")
    done = run(tmp_path, sys.executable, DRIVER, env={"KERAS_BACKEND": "torch"})
    assert done.returncode == 0, done.stderr
    ours = {"one": True, "several": True, "nothing made": True, "back": False, "some": False}
    assert json.loads(done.stdout) == {way: [True, is_ours] for way, is_ours in ours.items()}
