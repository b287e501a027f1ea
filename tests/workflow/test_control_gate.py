"""The control gate: a study whose control runs are not bit-equal fails, and says where they part."""

import shutil

import numpy as np
import pytest

from toolnoise.base import arrays

CELL = "smallcnn/digits/cpu"


@pytest.fixture
def tampered(copied):
    """A study in which one control run holds what a run with implementation noise left, but for its record."""
    runs = copied / "results/small/runs" / CELL
    for name in ("weights.npz", "history.csv"):
        shutil.copyfile(runs / "impl/2" / name, runs / "control/2" / name)
    return copied


def gate(toolnoise, folder, out="gate.json"):
    results = folder / "results/small"
    names = ["--study", results / "study.json", "--model", "smallcnn", "--dataset", "digits", "--hardware", "cpu"]
    dump = results / "predictions" / CELL / "control"
    records = [results / "runs" / CELL / "control" / seed / "run.json" for seed in ("1", "2")]
    inputs = ["--logits", f"{dump}.npy", "--index", f"{dump}.json", "--records", *records]
    return toolnoise(folder, "check-control", *names, *inputs, "--out", out)


def test_the_gate_names_seeds_epoch_and_layer_in_one_line(tampered, toolnoise, refusal):
    line = refusal(gate(toolnoise, tampered))
    for words in (f"{CELL}/control", "seeds 1 and 2", "epoch 1", "conv1/kernel"):
        assert words in line
    assert not (tampered / "gate.json").exists()


def test_the_gate_sees_one_changed_bit_of_the_final_weights(copied, toolnoise, refusal):
    path = copied / "results/small/runs" / CELL / "control/2/weights.npz"
    weights = arrays.read_npz(path)
    weights["dense/bias"].view(np.uint32)[3] ^= 1
    arrays.write_npz(path, weights)
    line = refusal(gate(toolnoise, copied))
    assert "final weights" in line
    assert "dense/bias" in line


def test_an_honest_study_passes_the_gate(copied, toolnoise):
    done = gate(toolnoise, copied)
    assert done.returncode == 0, done.stderr


def test_a_study_whose_gate_fails_fails_and_shows_the_line(tampered, snakemake):
    verdict = f"results/small/control/{CELL}.json"
    (tampered / verdict).unlink()
    done = snakemake(tampered, verdict, "results/small/metrics/stability.csv", "--logger", "toolnoise")
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "failed: check_control" in said
    assert any(line.startswith("  toolnoise: ") and "seeds 1 and 2" in line for line in said.splitlines())
    assert not (tampered / verdict).exists()
