"""A tooling with an environment of its own, from its runs to the comparison of toolings, the audit and a rebuild."""

import json
import subprocess
import sys
import sysconfig

import pytest

from toolnoise.base.program import ROOT
from toolnoise.provenance import statements

pytestmark = pytest.mark.long

NAME = "tensorflow-2.16"
CELL = "smallcnn/digits/elsewhere/control"
STUDY = {
    "study": "apart",
    "grid": [
        {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "hardware": ["cpu", "elsewhere"]}
        | {"variants": ["control"], "seeds": 2}
    ],
    "hardware": {"elsewhere": {"accelerator": "cpu", "environment": NAME}},
    "recipes": {"short": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
    "figures": [],
}
# What `make` installs last; it leaves a line for each job that it performs.
SCRIPT = """#!{python}
import sys
from pathlib import Path
with Path("performed").open("a") as file:
    print(sys.argv[1], sys.prefix, file=file)
from toolnoise.warm.client import main
main()
"""


def borrowed(folder):
    """An environment with the packages of this one, which no network is needed for; its lock file is another one's."""
    place = folder / ".environments" / NAME
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    packages = place / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    paths = [str(ROOT / "workflow"), *(path for path in sys.path if path.endswith("-packages"))]
    (packages / "borrowed.pth").write_text("\n".join(paths) + "\n")
    (place / "bin" / "toolnoise").write_text(SCRIPT.format(python=place / "bin" / "python"))
    (place / "bin" / "toolnoise").chmod(0o755)
    return place


@pytest.fixture(scope="module")
def apart(tmp_path_factory, write_study, snakemake):
    """A finished study with a tooling of an environment, and that environment."""
    folder = write_study(tmp_path_factory.mktemp("apart"), STUDY)
    place = borrowed(folder)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, place


def test_a_statement_has_the_environment_and_says_why_the_job_started_cold(apart):
    folder, _ = apart
    run = folder / "results/apart/statements/runs/smallcnn/digits"
    found, other = (statements.read(run / f"{name}/control/2/weights.npz.intoto.json") for name in ("elsewhere", "cpu"))
    assert found.parameters["spec"]["hardware"]["environment"] == NAME
    assert found.process == "cold: its tooling has no template, or its command line is too long"
    assert "environment" not in other.parameters["spec"]["hardware"]


def test_equal_packages_give_equal_bits_in_two_environments(apart):
    folder, _ = apart
    runs = folder / "results/apart/runs/smallcnn/digits"
    weights = [(runs / f"{name}/control/1/weights.npz").read_bytes() for name in ("cpu", "elsewhere")]
    assert weights[0] == weights[1]
    rows = (folder / "results/apart/metrics/cross_tooling.csv").read_text()
    assert "smallcnn,digits,cpu,elsewhere,control,churn,all,0.0," in rows


def test_the_audit_finds_that_the_packages_are_not_those_of_the_environments_lock(apart, toolnoise):
    folder, _ = apart
    found = json.loads(toolnoise(folder, "audit", "results/apart", "--json").stdout)
    wrong = [one for one in found["findings"] if one["rule"] == "record"]
    runs = [f"results/apart/runs/{CELL}/{seed}/weights.npz" for seed in (1, 2)]
    predicted = f"results/apart/predictions/{CELL}.npy"
    assert {one["artifact"] for one in wrong} == {*runs, predicted}
    assert all(f"declared: {NAME}" in str(one) for one in wrong)


def test_a_run_is_rebuilt_in_its_environment(apart, toolnoise):
    folder, _ = apart
    done = toolnoise(folder, "rebuild", f"results/apart/runs/{CELL}/1/weights.npz")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bit-equal" in done.stdout
