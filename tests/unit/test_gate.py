import subprocess
import sys

import numpy as np
import pytest

from toolnoise.base import files
from toolnoise.measures import control_gate

CELL = "smallcnn/digits/cpu/control"


@pytest.fixture
def check(make_run, make_dump, tmp_path):
    """Check three control runs, of which `change` edits the third, and their logits; returns the verdict."""

    def call(change=None, logits=None, runs=3, **index):
        records = [make_run(seed, change if seed == 3 else None) for seed in range(1, runs + 1)]
        dump = make_dump(np.ones((runs, 4, 2), np.float32) if logits is None else logits, **index)
        control_gate.check(CELL.split("/"), records, *dump, tmp_path / "gate.json")
        return files.read_json(tmp_path / "gate.json")

    return call


def test_bit_equal_runs_pass(check):
    verdict = check()
    assert (verdict["cell"], verdict["seeds"], verdict["bit_equal"]) == (CELL, [1, 2, 3], True)
    assert len(verdict["weights_sha256"]) == 64


def test_one_run_is_no_verdict(check):
    assert check(runs=1)["bit_equal"] is None


def in_epoch(epoch, tensor, amount=1e-7):
    def change(parts):
        for weights in parts["epochs"][epoch - 1 :]:
            weights[tensor] = weights[tensor] + np.float32(amount)
        parts["final"] = dict(parts["epochs"][-1])

    return change


def both(*changes):
    return lambda parts: [change(parts) for change in changes]


def negative_zero(parts):
    parts["final"]["a/bias"] = -parts["final"]["a/bias"]


DIFFERENCES = {
    "late, in a later layer": (in_epoch(2, "a/bias"), "they part in epoch 2, first in a/bias"),
    "in the first layer that differs": (
        both(in_epoch(2, "a/bias"), in_epoch(2, "a/kernel", 1)),
        "they part in epoch 2, first in a/kernel",
    ),
    "in the first epoch that differs": (
        both(in_epoch(3, "a/kernel", 1), in_epoch(1, "a/bias")),
        "they part in epoch 1, first in a/bias",
    ),
    "a stopped run": (lambda parts: (parts["epochs"].pop(), parts["record"].update(epochs=2)), "3 and 2 epochs"),
    "the sign of a zero": (negative_zero, "their final weights are not, first in a/bias"),
    "another tensor": (lambda parts: parts["final"].update(b=np.ones(1)), "the runs have different tensors"),
}


@pytest.mark.parametrize(("change", "found"), DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_runs_that_differ_are_one_line_naming_seeds_epoch_and_layer(change, found, check, tmp_path, refused):
    line = refused(check, change)
    assert line.startswith(f"{CELL}: seeds 1 and 3: ")
    assert found in line
    assert line.endswith("; replicates must be bit-equal")
    assert not (tmp_path / "gate.json").exists(), "no verdict may be left behind"


def test_equal_weights_with_different_logits_are_one_line(check, refused):
    logits = np.ones((3, 4, 2), np.float32)
    logits[2, 3, 1] = np.nextafter(np.float32(1), np.float32(2))
    line = refused(check, None, logits)
    assert line == f"{CELL}: seeds 1 and 3: equal weights give different logits; replicates must be bit-equal"


def test_runs_that_diverged_alike_are_bit_equal(check):
    assert check(logits=np.full((3, 4, 2), np.nan, np.float32), diverged=[True] * 3)["bit_equal"] is True


@pytest.mark.parametrize("text", ["null", "{}", '{"bit_equal": false}', '{"bit_equal": 1}'])
def test_a_verdict_that_the_gate_cannot_have_written_is_one_line(text, tmp_path, refused):
    (tmp_path / "cpu.json").write_text(text)
    assert refused(control_gate.verdict, tmp_path / "cpu.json").startswith(f"{tmp_path / 'cpu.json'}: ")


def test_what_compares_runs_imports_no_framework():
    program = (
        "import sys, toolnoise.measures.control_gate, toolnoise.training.loop\n"
        "print({'tensorflow', 'keras'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
