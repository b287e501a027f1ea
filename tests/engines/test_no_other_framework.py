"""No engine imports another's framework, though it is installed, nor lets its own import it."""

import sys

import numpy as np
import pytest

from toolnoise.base import files

PACKAGES = {"tensorflow": ("tensorflow",), "jax": ("jax", "jaxlib"), "torch": ("torch",)}
TOOLINGS = {"tensorflow": "cpu", "jax": "cpu-jax", "torch": "cpu-torch"}
OTHERS = {name: [one for other in PACKAGES.keys() - {name} for one in PACKAGES[other]] for name in PACKAGES}
QUICK = {"epochs": 1, "batch_size": 256, "learning_rate": 0.01}


@pytest.mark.parametrize("package", [one for packages in PACKAGES.values() for one in packages])
def test_a_blocked_package_cannot_be_imported(package, run, blocking, tmp_path, skip_without):
    skip_without(package)
    program = f"try:\n    import {package}\nexcept ImportError:\n    pass"
    done = run(tmp_path, sys.executable, "-c", program, env=blocking(package))
    assert done.returncode == 1
    assert done.stderr.endswith(f"RuntimeError: {package} is blocked, and was imported\n")


# JAX does so in a whole study, in tests/workflow/test_one_framework.py: `make test-jax`.
@pytest.mark.parametrize("engine", ["tensorflow", "torch"])
def test_an_engine_trains_and_predicts_without_the_other_frameworks(engine, workshop, blocking, skip_without):
    skip_without(engine)
    here = workshop(QUICK, hardware=[TOOLINGS[engine]])
    alone = blocking(*OTHERS[engine])
    trained = here.train("algo", env=alone)
    assert trained.record["status"] == "completed"
    assert trained.record["observed"]["variables"]["KERAS_BACKEND"] == engine
    assert set(trained.record["observed"]["versions"]).isdisjoint(OTHERS[engine])
    files_of_it = ["--logits", "algo.npy", "--index", "algo.json", "--records", f"{TOOLINGS[engine]}-algo-1/run.json"]
    command = ["predict", *here.options_of(here.spec("algo")), "--data", here.data, *files_of_it]
    done = here.toolnoise(here.folder, *command, env=alone)
    assert done.returncode == 0, done.stderr
    assert files.read_json(here.folder / "algo.json")["seeds"] == [1]
    assert np.isfinite(np.load(here.folder / "algo.npy")).all()
