"""What the workflow's tests share: copies of a finished study, and plans of what would run."""

import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pytest
import yaml
from scripts import loaded

from toolnoise import cli, streams
from toolnoise.base import arrays, files
from toolnoise.base.program import ROOT
from toolnoise.record import recorder
from toolnoise.record.statements import Artifact, Statement
from toolnoise.verify import left_out, tree

EVERY_TARGET = ("all", "paper", "speed", "results/fuzz/report.html")


@pytest.fixture
def copied(small_study, tmp_path):
    """A finished study of one's own, to change."""
    return shutil.copytree(small_study, tmp_path / "copy")


@pytest.fixture
def printed_by_verb(capsys):
    """Call a verb in this process and return what it prints, which no warning accompanies."""

    def call(*words):
        capsys.readouterr()
        cli.main(list(map(str, words)))
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    return call


@pytest.fixture(scope="session")
def slimmed():
    """Make a slim copy of results: without what it may lack, and with a stated list of that, which names the root."""

    def copy(results, out):
        study = tree.load_study(results)
        stated = {output.name: output for one in study.statements for output in one.statement.outputs}
        lacking = {path: stated[study.named(path)].sha256 for path in study.files if left_out.kind(path)}
        shutil.copytree(results, out)
        for path in lacking:
            (out / path).unlink()
        files.write_json(out / left_out.FILE, lacking)
        size = (out / left_out.FILE).stat().st_size
        listed = Artifact(study.named(left_out.FILE), files.sha256(out / left_out.FILE), size, "list")
        now = datetime.now(UTC).replace(tzinfo=None)
        statement = Statement(left_out.VERB, (listed,), (), {}, {}, now, now, recorder.programs(), chain=study.chain)
        files.write_json(out / left_out.STATEMENT, statement.as_json())

    return copy


@pytest.fixture(scope="session")
def change_study():
    """Change the study file in a folder."""

    def change(folder, edit):
        path = folder / "study.yaml"
        study = yaml.safe_load(path.read_text())
        edit(study)
        path.write_text(yaml.safe_dump(study, sort_keys=False))

    return change


@pytest.fixture(scope="session")
def planned(snakemake):
    """How many jobs of each rule a dry run plans."""

    def plan(folder, *targets, **options):
        done = snakemake(folder, *targets, "--dry-run", **options)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        if "Nothing to be done" in said:
            return {}
        table = re.search(r"^job +count\n[- ]+\n(.*?)^total ", said, re.MULTILINE | re.DOTALL)
        return {rule: int(count) for rule, count in (line.split() for line in table[1].splitlines())}

    return plan


@pytest.fixture(scope="session")
def wheel(once, checkout):
    """The wheel of this source tree, built in a copy of it."""

    def make(folder):
        shutil.copytree(checkout, folder / "tree", symlinks=True)
        program = "from setuptools import build_meta; build_meta.build_wheel('..')"
        subprocess.run([sys.executable, "-c", program], cwd=folder / "tree", check=True, capture_output=True)
        shutil.rmtree(folder / "tree")

    (found,) = once("wheel", make).glob("*.whl")
    return found


@pytest.fixture(scope="session")
def installed(once, wheel):
    """The programs of an environment with the wheel.

    It borrows the packages of this one. None is downloaded, and this checkout's own package is not among them.
    """

    def make(folder):
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        pip = [folder / "env/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([*pip, wheel], check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        (packages,) = folder.glob("env/lib/python*/site-packages")
        borrowed = [path for path in sys.path if path.endswith("-packages")]
        (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
        # pip would write the script of a package that it installs.
        script = folder / "env/bin/snakemake"
        script.write_text(f"#!{folder}/env/bin/python\nfrom snakemake.cli import main\n\nmain()\n")
        script.chmod(0o755)

    return once("installed", make) / "env/bin"


@pytest.fixture(scope="session")
def jobs_of(run):
    """The rules, and all jobs that the study file in a folder has for some targets, finished or not."""

    def plan(folder, *targets):
        program = ROOT / "tests/planned_jobs.py"
        done = run(folder, sys.executable, program, ROOT / "Snakefile", "study.yaml", *targets)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return plan


@pytest.fixture(scope="session")
def every_kind_of_job(once, jobs_of):
    """A study that has a job of every kind, in a folder with its inputs: its rules and its jobs."""

    def make(folder):
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(ROOT / "tests/fuzz")
            importlib.import_module("fuzz_base").write_inputs(folder)
        (folder / "planned.json").write_text(json.dumps(jobs_of(folder, *EVERY_TARGET)))

    folder = once("every-kind-of-job", make)
    return json.loads((folder / "planned.json").read_text()) | {"folder": folder}


@pytest.fixture(scope="session")
def command_for(once, small_study, jobs_of):
    """What the rule calls that makes a file of the small study, with other values for some options."""

    def make(folder):
        shutil.copyfile(small_study / "study.yaml", folder / "study.yaml")
        (folder / "planned.json").write_text(json.dumps(jobs_of(folder, "all")))

    jobs = json.loads((once("commands", make) / "planned.json").read_text())["jobs"]

    def words(output, **changed):
        (found,) = (job["words"] for job in jobs if f"results/small/{output}" in job["outputs"])
        for option, value in changed.items():
            place = found.index(f"--{option}") + 1
            found = [*found[:place], str(value), *found[place + 1 :]]
        return found

    return words


TASK = {"models": ["smallcnn"], "datasets": ["mine"], "recipe": "short", "hardware": ["cpu"]}
OTHER = {
    "study": "other",
    "grid": [
        TASK | {"variants": ["control"], "seeds": 2, "remedies": ["flip"], "layers": 12},
        TASK | {"variants": ["bit"], "seeds": 1},
        TASK | {"variants": ["control"], "seeds": 2, "hardware": ["cpu-jax"]},
    ],
    "recipes": {
        "short": {
            "epochs": 2,
            "batch_size": 16,
            "learning_rate": 0.01,
            "schedule": "cosine",
            "cycles": 2,
            "record_steps": True,
        }
    },
    "overhead": {
        "models": ["smallcnn"],
        "hardware": ["cpu"],
        "batch_size": 4,
        "image_size": 8,
        "classes": 4,
        "warmup": 1,
        "steps": 1,
        "repeats": 1,
    },
    "figures": [
        "overhead",
        "layers",
        "frameworks",
        "framework_parts",
        "partings",
        "growth",
        "identical_runs",
    ],
}


@pytest.fixture(scope="session")
def other_study(once, write_study, snakemake):
    """A study's folder, run to its page and its speed; read-only.

    It has what the small one lacks: files from outside, snapshots, recorded steps, one bit, two frameworks, overhead,
    speed.
    """

    def pictures(part, count):
        images = streams.integers(1, (count, 8, 8, 1), 256).astype(np.uint8)
        return {f"{part}_images": images, f"{part}_labels": np.arange(count) % 4}

    def make(folder):
        arrays.write_npz(folder / "mine.npz", pictures("train", 64) | pictures("test", 16))
        checksum = hashlib.sha256((folder / "mine.npz").read_bytes()).hexdigest()
        data = {"mine": {"reader": "npz", "path": "mine.npz", "checksum": f"sha256:{checksum}"}}
        write_study(folder, OTHER | {"datasets": data})
        # Its speed first: the page does not wait for it, and names the statement of it only if it is there.
        for target in ("speed", "all"):
            done = snakemake(folder, target)
            assert done.returncode == 0, done.stdout + done.stderr

    return once("other", make)


@pytest.fixture(scope="session")
def bench():
    """Import a program of bench/ by its name."""

    return lambda name: loaded(ROOT / f"bench/{name}.py")
