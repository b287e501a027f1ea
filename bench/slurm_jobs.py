"""What a job costs on a real Slurm: a thousand trainings of a program that does next to nothing, alone and in groups.

It starts the Slurm of the tests on this machine and runs a study of a training program that writes 40 numbers, by the
profile `slurm`: first with a job of Slurm for each training, then with ten in each (docs/cluster.md, "Jobs of
seconds"). For each way it prints the wall time a training, the seconds that Slurm ran jobs, the seconds in which the
verbs themselves worked, and the CPU seconds of Snakemake's main process. All scale with the machine: their ratios tell
more.

    sudo .venv/bin/python bench/slurm_jobs.py [--trainings 1000] [--jobs 100]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from toolnoise.base.program import ROOT

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/slurm")]
import real_slurm  # noqa: E402

PROGRAM = """
import os
import numpy as np
out = os.environ["TOOLNOISE_OUT"]
np.save(f"{out}/logits.npy", np.random.default_rng(int(os.environ["TOOLNOISE_SEED_INIT"])).random((4, 10), np.float32))
np.save(f"{out}/labels.npy", np.arange(4))
"""


class Way(NamedTuple):
    """How a way of running went: its jobs of Slurm, and seconds of wall time, of jobs, of verbs and of Snakemake."""

    trainings: int
    jobs: int
    wall: float
    in_jobs: float
    in_verbs: float
    snakemake: float


def main() -> None:
    """Run the study in both ways and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trainings", type=int, default=1000, metavar="N")
    parser.add_argument("--jobs", type=int, default=100, metavar="N", help="jobs of Slurm in the queue (100)")
    options = parser.parse_args()
    with real_slurm.running() as cluster:
        for name, groups in (("alone", []), ("in groups of ten", ["--groups", "run_program=runs-{hardware}"])):
            way = run(cluster, options.trainings, options.jobs, groups)
            each = [seconds / way.trainings for seconds in way[2:]]
            print(
                f"{name}: {way.trainings} trainings in {way.jobs} jobs of Slurm; a training takes {each[0]:.2f} s of "
                f"wall time, {each[1]:.2f} s in a job, {each[2]:.2f} s in its verb, {each[3]:.3f} CPU s of Snakemake's "
                f"main process; ratio slurm_job_vs_verb {each[1] / each[2]:.1f}",
                flush=True,
            )


def run(cluster: Any, trainings: int, jobs: int, groups: list[str]) -> Way:
    """Train all of the study's runs through Slurm."""
    with tempfile.TemporaryDirectory(prefix="slurm-jobs-") as scratch:
        clone = Path(scratch) / "clone"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", clone], check=True)
        (clone / "little.py").write_text(PROGRAM)
        (clone / "study.yaml").write_text(yaml.safe_dump(study(trainings), sort_keys=False))
        before = {*cluster.finished()} if (cluster.folder / "jobcomp.txt").exists() else set()
        command = [sys.executable, "-m", "snakemake", "--profile", "slurm", "--configfile", "study.yaml"]
        command += [
            "--config",
            "only=[command]",
            "--jobs",
            str(jobs),
            "--quiet",
            "all",
            *groups,
            "--until",
            "run_program",
        ]
        env = os.environ | cluster.env | {"PYTHONPATH": str(clone / "workflow")}
        started, used = time.monotonic(), os.times().children_user + os.times().children_system
        done = subprocess.run(command, cwd=clone, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(done.stdout[-5000:])
        wall, main = time.monotonic() - started, os.times().children_user + os.times().children_system - used
        ended = [job for number, job in cluster.finished().items() if number not in before]
        statements = [json.loads(path.read_text()) for path in clone.glob("results/*/statements/runs/**/*.json")]
        verbs = sum(map(worked, statements))
        if len(statements) != trainings:
            sys.exit(f"{len(statements)} of {trainings} trainings are there")
        return Way(trainings, len(ended), wall, sum(map(lasted, ended)), verbs, main)


def study(trainings: int) -> dict[str, Any]:
    """A study of so many runs of the program."""
    return {
        "study": "many",
        "models": {"little": {"command": f"{sys.executable} little.py"}},
        "grid": [
            {"models": ["little"], "datasets": ["outcome"], "hardware": ["command"]}
            | {"variants": ["algo_impl"], "seeds": trainings}
        ],
        "figures": [],
    }


def worked(statement: dict[str, Any]) -> float:
    """The seconds from the start to the end of the verb that a statement is of."""
    about = statement["predicate"]["runDetails"]["metadata"]
    started, ended = (datetime.fromisoformat(about[name]) for name in ("startedOn", "finishedOn"))
    return (ended - started).total_seconds()


def lasted(job: dict[str, str]) -> float:
    """The seconds that Slurm ran a job."""
    started, ended = (datetime.fromisoformat(job[name]) for name in ("StartTime", "EndTime"))
    return (ended - started).total_seconds()


if __name__ == "__main__":
    main()
