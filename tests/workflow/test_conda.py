"""`--sdm conda`: a job runs in the environment of environment.yml, which a stand-in for conda makes."""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from toolnoise.base.program import ROOT

CELL = "smallcnn/digits/cpu/control"
STUDY = {
    "study": "small",
    "grid": [
        {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "quick", "variants": ["control"], "seeds": 1}
        | {"hardware": ["cpu", "cpu-jax"]}
    ],
    "recipes": {"quick": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
    "figures": ["table1"],
}
# What Snakemake asks of conda. An environment has the packages here, but for this program; its Python notes each call.
CONDA = """\
#!/bin/bash
set -eu
case "$*" in
  "info --json") echo '{{"conda_prefix": "{base}", "platform": "linux-64"}}' ;;
  "--version") echo "conda 24.7.1" ;;
  "config --get channel_priority --json") echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
  "env create"*)
    while [ "$1" != --prefix ]; do [ "$1" = --file ] && cp "$2" {base}/made-from.yml; shift; done
    {python} -m venv --without-pip "$2"
    echo {packages} >"$(echo "$2"/lib/python*/site-packages)/packages.pth"
    mv "$2/bin/python" "$2/bin/real-python"
    printf '#!/bin/bash\\necho "$@" >>{base}/calls\\nexec "$(dirname "$0")/real-python" "$@"\\n' >"$2/bin/python"
    chmod +x "$2/bin/python" ;;
  "clean "*) ;;
  *) echo "not expected of conda: $*" >&2; exit 1 ;;
esac
"""
ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'


@pytest.fixture
def with_conda(snakemake, tmp_path):
    """Run a study with --sdm conda; returns how it ended, and the words of each call of the environment's Python."""
    base = tmp_path / "conda"
    (base / "bin").mkdir(parents=True)
    filled = CONDA.format(base=base, python=sys.executable, packages=Path(yaml.__file__).parents[1])
    (base / "bin/conda").write_text(filled)
    (base / "bin/conda").chmod(0o755)
    (base / "bin/activate").write_text(ACTIVATE)

    def start(folder, *arguments):
        env = {"PATH": f"{base / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        done = snakemake(folder, *arguments, "--sdm", "conda", env=env)
        calls = (base / "calls").read_text().splitlines() if (base / "calls").exists() else []
        return done, calls, base

    return start


def test_a_job_runs_in_the_environment_of_its_rule_and_from_the_same_package(
    with_conda, write_study, snakemake, skip_without, tmp_path
):
    skip_without("tensorflow")
    skip_without("jax")
    folder = tmp_path / "study"
    folder.mkdir()
    write_study(folder, STUDY)
    runs = [f"results/small/runs/smallcnn/digits/{hardware}/control/1/run.json" for hardware in ("cpu", "cpu-jax")]
    done, calls, base = with_conda(folder, *runs, "table1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (base / "made-from.yml").read_text() == (ROOT / "environment.yml").read_text()
    verbs = [call.split("-m toolnoise.cli ")[1].split()[0] for call in calls if "-m toolnoise.cli " in call]
    # JAX is not among what environment.yml has: its training ran where Snakemake runs.
    assert sorted(verbs) == ["count", "prepare", "render", "train"]
    (training,) = [call for call in calls if " train " in call]
    assert "--tooling name=cpu " in training
    stated = json.loads((folder / f"results/small/statements/runs/{CELL}/1/weights.npz.intoto.json").read_text())
    dependencies = stated["predicate"]["buildDefinition"]["resolvedDependencies"]
    named = {one["name"] for one in dependencies}
    assert {"workflow/toolnoise/study/runs.py", "requirements/cpu.txt"} <= named
    again, _, _ = with_conda(folder, *runs, "table1", "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
    # Snakemake makes again what another environment made.
    without = snakemake(folder, runs[0], "--dry-run")
    assert "Software environment definition has changed" in without.stdout + without.stderr


def test_the_package_is_found_by_a_python_that_has_nothing_else_of_ours(run, tmp_path):
    program = "import toolnoise, sys; from toolnoise.base import program; print(toolnoise.__version__, program.PACKAGE)"
    env = {"PYTHONPATH": str(ROOT / "workflow/for-conda")}
    done = run(tmp_path, sys.executable, "-P", "-c", program, env=env)
    assert done.stdout.split() == ["0.1.0", str(ROOT / "workflow/toolnoise")]
