"""A training step under the profiler, for real: every operator once, in both modes, on both libraries of kernels."""

import pytest

from toolnoise.base import files, metric_files
from toolnoise.papers.overhead.measure import PROFILE
from toolnoise.study import grid
from toolnoise.study.cells import Profile

STEPS = 4
SIZES = {"batch_size": 8, "image_size": 16, "classes": 10, "warmup": 2, "steps": STEPS, "repeats": 1}
STUDY = {
    "study": "cost",
    "grid": [],
    "overhead": {"models": ["smallcnn"], "hardware": ["cpu", "cpu-eigen"], **SIZES},
}
# What a step of the network computes: three convolutions (no gradient goes on to the images) and ten tensors to update.
CALLS = {"Conv2DBackpropFilter": 3, "Conv2DBackpropInput": 2, "ResourceApplyAdam": 10}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_study, skip_without):
    skip_without("tensorflow")
    return write_study(tmp_path_factory.mktemp("cost"), STUDY)


@pytest.fixture(scope="module")
def profile(folder, toolnoise, options_of):
    study = grid.load(folder / "study.yaml")

    def start(hardware, mode, **options):
        spec = study.profile_spec(Profile("smallcnn", hardware, mode, 1))
        out = f"{hardware}-{mode}"
        outputs = ["--out", f"{out}/1.csv", "--record", f"{out}/1.json"]
        return toolnoise(folder, "profile", *options_of(spec), *outputs, **options), folder / out

    return start


@pytest.fixture(scope="module", params=[("cpu", "default"), ("cpu", "deterministic"), ("cpu-eigen", "default")])
def measured(request, profile):
    """Tooling, mode, kernels and record of a measurement."""
    done, out = profile(*request.param)
    assert done.returncode == 0, done.stderr
    kernels = metric_files.read(out / "1.csv", PROFILE).set_index("kernel")
    return *request.param, kernels, files.read_json(out / "1.json")


def test_every_operator_of_every_step_is_counted_once(measured):
    _, mode, kernels, _ = measured
    for part, calls in CALLS.items():
        assert kernels["calls"][kernels.index.str.contains(part)].sum() == STEPS * calls, part
    # Forward, fused with bias and activation or not, by whatever library.
    assert kernels["calls"][kernels.index.str.endswith("Conv2D")].sum() == STEPS * 3
    # Determinism does without the fused loss.
    fused = kernels.index == "SparseSoftmaxCrossEntropyWithLogits"
    assert kernels["calls"][fused].sum() == (STEPS if mode == "default" else 0)


def test_the_table_sums_to_what_the_record_says_and_it_says_what_was_measured(measured):
    hardware, mode, kernels, record = measured
    assert kernels["total_us"].is_monotonic_decreasing
    assert kernels["share"].sum() == pytest.approx(1)
    assert kernels["total_us"].sum() / STEPS / 1e6 == pytest.approx(record["kernel_seconds_per_step"])
    # Operators of one thread take no longer than the time that passed.
    assert kernels["total_us"].sum() / 1e6 < record["seconds"]["profile"]
    assert record["wall_seconds_per_step"] * STEPS == pytest.approx(record["seconds"]["steps"])
    assert record["observed"]["deterministic"] is (mode == "deterministic")
    assert record["spec"]["variant"]["name"] == mode
    assert kernels.index.str.contains("Mkl").any() == (hardware == "cpu"), "the library behind convolutions"
