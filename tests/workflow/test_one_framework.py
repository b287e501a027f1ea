"""A study of one framework, from its file to the audit, where no other framework can be imported."""

import json

import pytest

from toolnoise.engines import FRAMEWORKS

# .ci/run has JAX's by `make test-jax`; tests/engines/test_no_other_framework.py trains with the other two alone.
pytestmark = pytest.mark.long
# TensorFlow's is what every other study here is trained by.
TOOLINGS = {"jax": "cpu-jax", "torch": "cpu-torch"}


def study(hardware):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "hardware": [hardware], "seeds": 2}
    return {
        "study": "alone",
        "grid": [block | {"variants": ["control"]}],
        "recipes": {"short": {"epochs": 1, "batch_size": 128, "learning_rate": 0.01, "crop": 1}},
        "figures": ["table2"],
    }


@pytest.mark.parametrize("engine", TOOLINGS)
def test_a_study_of_one_framework_runs_to_a_clean_audit(
    engine, tmp_path, write_study, snakemake, toolnoise, blocking, skip_without
):
    skip_without(engine)
    alone = blocking(*(name for name in FRAMEWORKS if name != engine))
    write_study(tmp_path, study(TOOLINGS[engine]))
    done = snakemake(tmp_path, env=alone)
    assert done.returncode == 0, done.stdout + done.stderr
    results = tmp_path / "results/alone"
    record = json.loads((results / f"runs/smallcnn/digits/{TOOLINGS[engine]}/control/2/run.json").read_text())
    assert record["status"] == "completed"
    assert set(record["observed"]["versions"]) & set(FRAMEWORKS) == {engine}
    assert record["observed"]["variables"]["KERAS_BACKEND"] == engine
    verdict = json.loads((results / f"control/smallcnn/digits/{TOOLINGS[engine]}.json").read_text())
    assert verdict["bit_equal"] is True, verdict
    assert (results / "index.html").exists()
    found = toolnoise(tmp_path, "audit", results, env=alone)
    assert found.returncode == 0, found.stdout + found.stderr
