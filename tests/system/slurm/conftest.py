"""A real Slurm for all tests, and Snakemake with a profile in clones that share a folder with its nodes."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import real_slurm
import yaml


@pytest.fixture(scope="session")
def cluster():
    """The cluster, gone when the tests are done."""
    with real_slurm.running() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def start(cluster, checkout, tmp_path_factory):
    """Start Snakemake with a profile, as a person types it in a clone; one clone for each study."""

    at_work = []

    def start(study, profile, *arguments, partitions=None):
        clone = tmp_path_factory.getbasetemp() / study["study"]
        if not clone.exists():
            shutil.copytree(checkout, clone, symlinks=True)
            shutil.copy(Path(__file__).with_name("waiting.py"), clone)
            if partitions:
                table = clone / "workflow/profiles/partitions.yaml"
                known = yaml.safe_load(table.read_text())["partitions"]
                table.write_text(yaml.safe_dump({"partitions": known | partitions}))
        (clone / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
        command = [sys.executable, "-m", "snakemake", *arguments, "--profile", profile, "--configfile", "study.yaml"]
        # The profile first asks Slurm how jobs stand after 40 s: these last 10.
        command += ["--slurm-init-seconds-before-status-checks", "3", "--latency-wait", "10"]
        # This Slurm has no accounting.
        command += ["--slurm-status-command", "squeue"]
        env = os.environ | cluster.env | {"PYTHONPATH": str(clone / "workflow")}
        with (clone / "said.txt").open("a") as said:
            snakemake = subprocess.Popen(command, cwd=clone, env=env, stdout=said, stderr=said)
        at_work.append(snakemake)
        return Started(snakemake, clone)

    yield start
    for snakemake in at_work:
        snakemake.kill()
        snakemake.wait()


class Started:
    """Snakemake at work in a clone."""

    def __init__(self, snakemake, clone):
        self.snakemake, self.clone = snakemake, clone

    def ended(self):
        """Its exit code and all that was said in this clone."""
        code = self.snakemake.wait(1200)
        return code, (self.clone / "said.txt").read_text()

    def wait_for(self, path):
        """Wait until a file is there, and return what it says."""
        deadline = time.monotonic() + 900
        while not ((self.clone / path).exists() and (self.clone / path).read_text()):
            assert self.snakemake.poll() is None, (self.clone / "said.txt").read_text()
            assert time.monotonic() < deadline, (self.clone / "said.txt").read_text()
            time.sleep(0.5)
        return (self.clone / path).read_text()
