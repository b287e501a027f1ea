"""An analysis is a folder and its notebooks: without them everything else is planned as before."""

import json
import shutil
import subprocess
import sys

import pytest

from toolnoise import cli
from toolnoise.base import program
from toolnoise.steps import STEPS, table
from toolnoise.study import analyses, catalogue

# The job that judges claims and the summary know claims.
NEEDED = {"claims"}
ALL = sorted(path.name for path in (program.PACKAGE / "papers").iterdir() if (path / "__init__.py").exists())
# Rooms beside the kernel that add jobs, too.
ROOMS = sorted(path.parent.name for path in program.PACKAGE.glob("*/rows.py"))

PLAN = """
import importlib, json, sys
from toolnoise.steps import jobs
from toolnoise.study import catalogue, grid
for module in ("cli", "pages.study_page", "commands.summary", "verify.audit.examine", "verify.diff.two_results"):
    importlib.import_module(f"toolnoise.{module}")
study = grid.load(sys.argv[1])
names = [[job.verb, *map(str, job.place)] for job in jobs(study)]
print(json.dumps({"jobs": names, "kinds": list(catalogue.KINDS)}))
"""


@pytest.fixture
def program_without(tmp_path):
    """A copy of the program without some analyses; its plan of a study."""

    def make(*names):
        for folder in ("workflow", "notebooks", "resources", "requirements"):
            shutil.copytree(program.ROOT / folder, tmp_path / folder)
        shutil.copyfile(program.ROOT / "config.yaml", tmp_path / "config.yaml")
        for name in names:
            for kind in own("study", "KINDS", name):
                (tmp_path / catalogue.notebook_of(kind)).unlink()
            shutil.rmtree(tmp_path / program.NAME / (name if name in ROOMS else f"papers/{name}"))
        environment = {"PYTHONPATH": str(tmp_path / "workflow"), "PATH": ""}
        command = [sys.executable, "-P", "-c", PLAN, str(tmp_path / "config.yaml")]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return make


def own(part, table, *names):
    """The names in the tables of some analyses."""
    mine = (module for module in analyses.modules(part) if module.__name__.split(".")[-2] in names)
    return [key for module in mine for key in getattr(module, table, ())]


@pytest.fixture(scope="module")
def whole():
    """The jobs of the demo with all analyses."""
    command = [sys.executable, "-P", "-c", PLAN, str(program.ROOT / "config.yaml")]
    done = subprocess.run(command, cwd=program.ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# Half of them at a time: `make lint` holds that none imports another.
@pytest.mark.parametrize("first", [0, 1])
def test_all_other_jobs_and_figures_are_planned_without(first, whole, program_without):
    names = [name for name in (*ALL, *ROOMS) if name not in NEEDED][first::2]
    rows, kinds = own("rows", "ROWS", *names), own("study", "KINDS", *names)
    # The kernel has a row for a job that writes less without the analysis.
    verbs = [verb for verb in rows if verb not in table.ROWS]
    found = program_without(*names)
    assert found["kinds"] == [kind for kind in whole["kinds"] if kind not in kinds]
    metrics = made(STEPS, rows) - made(STEPS, STEPS.keys() - set(rows)) - made(table.ROWS, table.ROWS)

    def stays(job):
        verb, place, *_ = *job, ""
        if verb == "render":
            return place.partition("-")[0] not in kinds
        return verb not in verbs and not (verb == "collect" and place in metrics)

    kept = [job for job in whole["jobs"] if stays(job)]
    assert found["jobs"] == kept


def made(steps, verbs):
    """The kinds of metric files that jobs of these verbs make."""
    return {write.metric for verb in verbs for write in steps[verb].writes.values()} - {""}


def test_each_folder_adds_jobs_or_figures_or_verbs_or_findings():
    called = {module.split(".")[2] for module in cli.VERBS.values() if module.startswith("toolnoise.papers.")}
    assert "estimate" in called
    finding = {module.__name__.split(".")[-2] for module in analyses.modules("findings") if hasattr(module, "lines")}
    for name in (*ALL, *ROOMS):
        assert own("rows", "ROWS", name) or own("study", "KINDS", name) or name in called or name in finding, name
