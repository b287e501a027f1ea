"""Which GPU a run takes, with a TensorFlow that shows the GPUs of other machines."""

from types import SimpleNamespace

import pytest

from toolnoise.engines import accelerators, tensorflow
from toolnoise.engines.accelerators import Gpu

SHOWN = [
    {"device_name": "Tesla T4", "compute_capability": (7, 5)},
    {"device_name": "Tesla V100-SXM2-16GB", "compute_capability": (7, 0)},
    {"device_name": "Tesla V100-SXM2-16GB", "compute_capability": (7, 0)},
]


@pytest.fixture
def claim(monkeypatch):
    """Claim a GPU for a tooling; returns what is recorded and what TensorFlow was told."""

    def attempt(device, shown, present=()):
        monkeypatch.setattr(accelerators, "gpus", lambda: list(present))
        told = []
        experimental = SimpleNamespace(
            get_device_details=lambda place: shown[place],
            set_memory_growth=lambda place, on: told.append(("grow", place, on)),
        )
        config = SimpleNamespace(
            list_physical_devices=lambda kind: list(range(len(shown))) if kind == "GPU" else [],
            set_visible_devices=lambda place, kind: told.append(("show", place, kind)),
            experimental=experimental,
        )
        engine = tensorflow.Engine()
        engine.tf = SimpleNamespace(config=config)
        engine.tooling = {"name": "mine", "accelerator": "gpu", "device": device}
        return engine._claim_gpu(), told

    return attempt


def test_a_run_takes_the_first_gpu_that_its_tooling_means_and_hides_the_others(claim):
    _, told = claim("V100", SHOWN)
    assert told == [("show", 1, "GPU"), ("grow", 1, True)]


def test_a_run_records_the_device_its_capability_and_its_driver(claim):
    present = [Gpu("Tesla T4", "470.1", "15360"), Gpu("Tesla V100-SXM2-16GB", "535.104.05", "16384")]
    found, _ = claim("V100", SHOWN, present)
    assert found.pop("libraries") is not None
    assert found == {
        "device": "Tesla V100-SXM2-16GB",
        "compute_capability": "7.0",
        "driver": "535.104.05",
        "device_memory_mib": "16384",
    }


def test_a_wrong_gpu_is_one_line(claim, refused):
    assert refused(claim, "V100", SHOWN[:1]) == "hardware mine: device: found Tesla T4; wanted: V100"


def test_a_gpu_that_tensorflow_cannot_use_is_one_line_that_says_what_to_install(claim, refused):
    line = refused(claim, "V100", [], [Gpu("Tesla V100-SXM2-16GB", "535.104.05")])
    found = "tensorflow cannot use the Tesla V100-SXM2-16GB of this machine"
    assert line == f"hardware mine: device: {found}; install the extra `cuda`"
