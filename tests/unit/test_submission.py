"""What is submitted to Grid Engine: the queue and the requests of a job, and what is refused before."""

import json
import subprocess
import sys

import pytest

from toolnoise_grid_engine import submit

RESOURCES = {"mem_mb": 16_001, "runtime": 90}


@pytest.fixture
def script(tmp_path):
    """A job script as Snakemake writes it."""

    def write(threads=1, **resources):
        properties = {"rule": "train_run", "resources": RESOURCES | resources, "threads": threads}
        (tmp_path / "job.sh").write_text(f"#!/bin/sh\n# properties = {json.dumps(properties)}\necho\n")
        return tmp_path / "job.sh"

    return write


@pytest.fixture
def refused(script):
    """The line that refuses a job for a GPU of some model."""

    def ask(model, *options):
        command = [sys.executable, "-m", "toolnoise_grid_engine.submit", *options, script(gpu=1, gpu_model=model)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        return line

    return ask


@pytest.mark.parametrize(("resources", "queue"), [({"gpu": 1, "gpu_model": "v100"}, "v100"), ({}, "cpu")])
def test_a_job_goes_to_the_partition_that_slurm_s_profiles_would_choose(script, resources, queue):
    assert submit.queue_of(submit.job_of(script(**resources)), submit.TABLE) == queue


def test_time_is_in_seconds_memory_per_slot_and_a_gpu_per_job(script):
    one, four = (submit.job_of(script(threads, gpu=1)) for threads in (1, 4))
    asked = ["-l", "h_rt=5400", "-l", "room=16001M", "-l", "gpu=1"]
    assert submit.requests(one, "gpu", "room", "smp") == asked
    # Rounded up: four slots of it are enough.
    asked[3] = "room=4001M"
    assert submit.requests(four, "gpu", "room", "smp") == [*asked, "-pe", "smp", "4"]
    assert "room" not in " ".join(submit.requests(one, "gpu", "", "smp"))


def test_a_group_has_a_name_that_grid_engine_takes(tmp_path):
    properties = {"groupid": "cells: 1/2", "resources": {}}
    (tmp_path / "job.sh").write_text(f"# properties = {json.dumps(properties)}\n")
    assert submit.job_of(tmp_path / "job.sh").name == "toolnoise_cells__1_2"


def test_what_no_queue_has_is_refused_in_one_line(refused):
    asked = "gpu 1, gpu_model b300, mem_mb 16001, runtime 90"
    assert refused("b300") == f"{submit.TABLE}: no partition fits toolnoise_train_run, which asks for {asked}"


@pytest.mark.parametrize(
    "text", ["partitions: {v100: {gpus: 4}}", "partitions: [v100]", "v100: {}", "partitions: {v100: 4}", "{"]
)
def test_a_table_with_a_slip_is_refused_in_one_line(refused, tmp_path, text):
    table = tmp_path / "table.yaml"
    table.write_text(text)
    assert refused("v100", "--partitions", table).startswith(f"{table}: no table of partitions: ")
