"""bench/gpu_matrix.py: on a CPU to its end; what differs is seen, what fails is told, and the rest is written."""

import importlib.util
import io
import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scripts import loaded

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

SCRIPT = Path(__file__).parents[2] / "bench/gpu_matrix.py"
EMPTY = {"date": "", "about": {}, "options": {"device": "cuda", "jobs": 1}, "seconds": 1}
PART = {"jobs": 2, "ended_well": 2, "from_second": 0, "to_second": 1, "failed": {}}
# As PyTorch prints it.
TUNED = """AUTOTUNE addmm(512x1024, 512x1024, 1024x1024)
strides: [0, 1], [1024, 1], [1, 1024]
dtypes: torch.float32, torch.float32, torch.float32
  triton_mm_11 0.0512 ms 100.0% ACC_TYPE='tl.float32', BLOCK_K=16
  addmm 0.0601 ms 85.2% \nSingleProcess AUTOTUNE benchmarking takes 0.3 seconds and 2.1 seconds precompiling
AUTOTUNE mm(1024x512, 512x1024)
  mm 0.0500 ms 100.0% \n"""


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        return loaded(SCRIPT)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Pictures that are brighter from class to class."""
    path, draw = tmp_path_factory.mktemp("pictures") / "pictures.tar.xz", np.random.default_rng(0)
    with tarfile.open(path, "w:xz") as opened:
        for split, each in (("train", 40), ("test", 10)):
            for name in (f"{split}/{of_class}/{number:04}.jpg" for of_class in range(10) for number in range(each)):
                pixels, packed = draw.integers(0, 80, (32, 32, 3)) + 17 * int(name.split("/")[1]), io.BytesIO()
                Image.fromarray(pixels.astype(np.uint8)).save(packed, "JPEG")
                member = tarfile.TarInfo(name)
                member.size = packed.tell()
                packed.seek(0)
                opened.addfile(member, packed)
    return path


@pytest.fixture(scope="module")
def matrix(archive, tmp_path_factory):
    """The files and the output of a small run of all parts."""
    out = tmp_path_factory.mktemp("matrix")
    command = [sys.executable, SCRIPT, "--device", "cpu", "--small", "--pictures", archive, "--out", out]
    command += ["--jobs", "3", "--runs", "2", "--epochs", "1", "--minutes", "15", "--networks", "smallcnn-bn"]
    command += ["--cells", "control", "new seeds", "one-bit"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "matrix.json").read_text()), np.load(out / "answers.npz"), done.stdout


def test_every_part_ends_well(matrix):
    found, _, printed = matrix
    assert {part: (about["jobs"], about["failed"]) for part, about in found["parts"].items()} == {
        "about": (2, {}),
        "batches": (2, {}),
        "attention": (1, {}),
        "compiled": (2, {}),
        "training": (6, {}),
    }
    assert all(about["ended_well"] == about["jobs"] for about in found["parts"].values())
    assert found["about"]["sum"] == 4 and found["about"]["torch"]
    assert found["pictures"]["pictures"] == {"train": 400, "test": 100}
    assert "smallcnn-bn: control runs are bit-equal" in printed


def test_batches_are_compared_with_the_largest_and_with_float64(matrix):
    precisions = matrix[0]["parts"]["batches"]["precisions"]
    assert set(precisions) == {"float32", "bfloat16"}
    for name in ("smallcnn", "resnet18", "transformer"):
        single, half = (precisions[precision][name] for precision in ("float32", "bfloat16"))
        assert single["again"] and list(single["sizes"]) == ["1", "2", "3", "4", "7", "8"]
        # Only rounding lies between the sizes of batches, and between float32 and float64.
        assert all(each["largest"] < 1e-4 * single["spread"] for each in single["sizes"].values())
        assert all((each["rows"] > 0) == (each["largest"] > 0) for each in single["sizes"].values())
        assert 0 < single["error"] < 1e-4 * single["spread"] < half["error"] < single["spread"]
    assert precisions["float32"]["decoding"]["again"]


def test_backends_of_attention_are_compared_or_told_to_be_unsupported(matrix):
    rows = matrix[0]["parts"]["attention"]["rows"]
    assert len(rows) == 3 * 4 * 2
    for row in rows:
        if row["backend"] in ("EFFICIENT_ATTENTION", "CUDNN_ATTENTION"):
            assert "backend" in row["unsupported"]
        else:
            assert row["error"] < (1e-6 if row["precision"] == "float32" else 1e-2)
            assert set(row["distinct_gradients"].values()) == {1}


def test_a_compiled_step_is_near_eager(matrix):
    rows = {row["way"]: row for row in matrix[0]["parts"]["compiled"]["rows"]}
    assert rows["eager"]["equal_to_eager"] == rows["eager"]["processes"] == 1
    assert rows["default"]["repeats_itself"] == 1 and rows["default"]["error"] < 1e-5


def test_control_repeats_and_a_changed_bit_is_seen_at_its_step(matrix):
    found, answers, _ = matrix
    part = found["parts"]["training"]
    rows = {row["cell"]: row for row in part["rows"]}
    assert part["control_is_bit_equal"] == {"smallcnn-bn": True}
    assert rows["control"]["churn"][0] == rows["control"]["share"][0] == 0
    assert rows["control"]["first_step_with_other_weights"] is None
    assert (rows["one-bit"]["distinct_results"], rows["one-bit"]["equal_to_control"]) == (2, 0)
    assert rows["one-bit"]["first_step_with_other_weights"] == 10
    assert rows["new seeds"]["first_step_with_other_gradients"] == 1
    first, second = (answers[f"smallcnn-bn/newseeds/{run}"] for run in (1, 2))
    assert rows["new seeds"]["churn"][0] == np.mean(first != second)


def test_what_fails_or_does_not_begin_is_told(script, tmp_path):
    jobs = [script.Job("batches", name, {"job": "unknown"}, {}) for name in ("a", "b")]
    ended = []
    script.perform(jobs[:1], 1, time.monotonic() + 60, tmp_path, ended.append)
    script.perform(jobs[1:], 1, 0, tmp_path, ended.append)
    assert [each.error for each in ended] == ["exit code 1: KeyError: 'unknown'", "not begun: the time was over"]


def test_what_tuning_chose_is_read(script):
    assert script.choices(TUNED) == [
        "addmm(512x1024, 512x1024, 1024x1024) triton_mm_11 ACC_TYPE='tl.float32', BLOCK_K=16",
        "mm(1024x512, 512x1024) mm",
    ]


def test_control_that_differs_is_told(script):
    runs = []
    for run, weights in enumerate("ab", 1):
        job = script.Job("training", f"smallcnn / control / {run}", {"run": run}, {})
        hashes = {"gradients": ["g", weights], "weights": ["w", weights], "epochs": [weights], "losses": [1.0]}
        found = {**hashes, "answers": [run, 0], "accuracy": 0.5, "steps": 2, "seconds": 1.0}
        runs.append(script.Ended(job, found, "", 1.0, ""))
    part = script.training(runs)
    assert part["control_is_bit_equal"] == {"smallcnn": False}
    (row,) = part["rows"]
    assert (row["distinct_results"], row["first_step_with_other_gradients"], row["churn"].value) == (2, 2, 0.5)
    printed = script.text({**EMPTY, "parts": {"training": {**PART, **script.finite(part)}}})
    assert any("DIFFER" in line for line in printed)
