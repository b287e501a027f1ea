"""No engine imports another's framework, though it is installed, nor lets its own import it."""

import json
import sys

import numpy as np
import pytest

from toolnoise.base import files
from toolnoise.engines import FRAMEWORKS

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


# JAX does so in a whole study, below: `make test-jax`.
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


# A study of one framework, from its file to the audit, where no other framework can be imported


# `.ci/run` has JAX's by `make test-jax`. TensorFlow's is what every other study here is trained by.
IN_STUDIES = {"jax": "cpu-jax", "torch": "cpu-torch"}


def study(hardware):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "hardware": [hardware], "seeds": 2}
    return {
        "study": "alone",
        "grid": [block | {"variants": ["control"]}],
        "recipes": {"short": {"epochs": 1, "batch_size": 128, "learning_rate": 0.01, "crop": 1}},
        "figures": ["table2"],
    }


@pytest.mark.long
@pytest.mark.parametrize("engine", IN_STUDIES)
def test_a_study_of_one_framework_runs_to_a_clean_audit(
    engine, tmp_path, write_study, snakemake, toolnoise, blocking, skip_without
):
    skip_without(engine)
    alone = blocking(*(name for name in FRAMEWORKS if name != engine))
    write_study(tmp_path, study(IN_STUDIES[engine]))
    done = snakemake(tmp_path, env=alone)
    assert done.returncode == 0, done.stdout + done.stderr
    results = tmp_path / "results/alone"
    record = json.loads((results / f"runs/smallcnn/digits/{IN_STUDIES[engine]}/control/2/run.json").read_text())
    assert record["status"] == "completed"
    assert set(record["observed"]["versions"]) & set(FRAMEWORKS) == {engine}
    assert record["observed"]["variables"]["KERAS_BACKEND"] == engine
    verdict = json.loads((results / f"control/smallcnn/digits/{IN_STUDIES[engine]}.json").read_text())
    assert verdict["bit_equal"] is True, verdict
    assert (results / "index.html").exists()
    found = toolnoise(tmp_path, "audit", results, env=alone)
    assert found.returncode == 0, found.stdout + found.stderr
