"""The study for one GPU has what is asked of it: frameworks, precisions, networks and the cost of determinism."""

from pathlib import Path

import pytest

from toolnoise.study import config
from toolnoise.study import grid as studies

STUDIES = Path(__file__).parents[2] / "workflow/studies"
NETWORKS = ["smallcnn", "smallcnn-bn", "resnet18"]


@pytest.fixture(scope="module", params=["h100", "h200"])
def on_gpu(request):
    """The study where there is one kind of GPU."""
    file = STUDIES / "gpu.yaml"
    names = [name for name in studies.load(file).config["hardware"] if name.startswith(request.param)]
    return studies.build(config.resolve(config.read_yaml(file) | {"only": names}, file), file)


def test_each_framework_is_under_control_in_each_precision(on_gpu):
    controls = [(cell.model, *_about(on_gpu, cell.hardware)) for cell in on_gpu.controls]
    engines = [(engine, *precision) for precision in PRECISIONS for engine in ("jax", "torch")]
    assert controls == [(model, *engine) for model in NETWORKS for engine in engines]
    assert all(len(on_gpu.seeds[cell]) > 1 for cell in on_gpu.controls)


def test_native_noise_is_measured_in_float32_by_source(on_gpu):
    noisy = {(cell.model, *_about(on_gpu, cell.hardware), cell.variant) for cell in on_gpu.cells}
    noisy = {about for about in noisy if about[-1] != "control"}
    engines = [("jax", "float32", False), ("torch", "float32", False)]
    assert noisy == {
        (model, *engine, variant)
        for model in NETWORKS
        for engine in engines
        for variant in ("impl", "algo", "algo_impl")
    }
    assert on_gpu.emulated() == ()


def test_the_cost_of_determinism_is_that_of_the_papers_networks(on_gpu):
    paper = studies.load(STUDIES / "paper.yaml").config["overhead"]
    block = on_gpu.config["overhead"]
    assert sorted(block["models"]) == sorted([*paper["models"]])
    assert [block[key] for key in ("batch_size", "image_size", "steps")] == [64, 224, 100]


def test_a_gpu_trains_what_two_cpu_cores_did(on_gpu):
    pictures = studies.load(STUDIES / "cifar10-pictures.yaml")
    assert on_gpu.config["recipes"] == pictures.config["recipes"]
    assert on_gpu.config["datasets"] == pictures.config["datasets"]


PRECISIONS = [("float32", False), ("float32", True), ("mixed_bfloat16", False)]


def _about(study, hardware):
    tooling = study.tooling(hardware)
    return tooling["engine"], tooling["precision"], tooling["tf32"]
