"""Submit a job script of Snakemake with qsub, and print its number.

The queue is the partition that Snakemake's executor for Slurm would choose from the same table.
"""

import argparse
import json
import logging
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from snakemake_executor_plugin_slurm.partitions import get_best_partition, read_partition_file
from snakemake_interface_common.exceptions import WorkflowError

# What Snakemake writes into a job script: the job as JSON.
PROPERTIES = "# properties = "
TABLE = Path(__file__).parents[1] / "profiles/partitions.yaml"
LOGS = Path(".snakemake/grid_engine")


def main() -> None:
    """Submit one job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", type=Path, help="the job script")
    parser.add_argument("--partitions", type=Path, default=TABLE, help="the table of partitions: queues")
    parser.add_argument("--gpu", default="gpu", help="the site's resource of GPUs")
    parser.add_argument("--memory", default="mem_free", help="the site's resource of memory; '' asks for none")
    parser.add_argument("--slots", default="smp", help="the site's parallel environment on one host")
    options = parser.parse_args()
    job = job_of(options.script)
    queue = queue_of(job, options.partitions)
    LOGS.mkdir(parents=True, exist_ok=True)
    asked = requests(job, options.gpu, options.memory, options.slots)
    command = ["qsub", "-terse", "-cwd", "-V", "-r", "y", "-S", "/bin/bash", "-j", "y", "-o", str(LOGS)]
    command += ["-N", job.name, "-q", queue, *asked, str(options.script)]
    sys.exit(subprocess.run(command, check=False).returncode)


def job_of(script: Path) -> SimpleNamespace:
    """The job of a script: its name, as Grid Engine takes it, its resources and threads."""
    lines = script.read_text("utf-8").splitlines()
    found = json.loads(next(line for line in lines if line.startswith(PROPERTIES)).removeprefix(PROPERTIES))
    name = found.get("rule") or found.get("groupid") or "group"
    return SimpleNamespace(
        name="toolnoise_" + re.sub(r"[^A-Za-z0-9_.-]", "_", str(name)),
        resources=found["resources"],
        threads=found.get("threads", 1),
    )


def queue_of(job: Any, table: Path) -> str:
    """The queue for a job: the partition of the table that fits it best."""
    # What it logs is of Slurm's submission.
    silent = logging.getLogger(__name__)
    silent.addHandler(logging.NullHandler())
    silent.propagate = False
    try:
        queue = get_best_partition(read_partition_file(table), job, silent)
    except (WorkflowError, AttributeError, KeyError, TypeError, ValueError) as problem:
        _refuse(f"{table}: no table of partitions: {' '.join(str(problem).split())}")
    if queue is None:
        wanted = ", ".join(f"{name} {job.resources[name]}" for name in sorted(job.resources))
        _refuse(f"{table}: no partition fits {job.name}, which asks for {wanted}")
    return queue


def _refuse(problem: str) -> NoReturn:
    print(problem, file=sys.stderr)
    raise SystemExit(2)


def requests(job: Any, gpu: str, memory: str, slots: str) -> Sequence[str]:
    """What a job asks for, as options of qsub: its time, its memory, GPUs, and slots if it has several threads."""
    resources = job.resources
    asked = [f"h_rt={60 * int(resources['runtime'])}"] if "runtime" in resources else []
    # Per slot, as Grid Engine counts what can be consumed.
    if memory and "mem_mb" in resources:
        asked.append(f"{memory}={-(-int(resources['mem_mb']) // job.threads)}M")
    if resources.get("gpu"):
        asked.append(f"{gpu}={resources['gpu']}")
    several = ["-pe", slots, str(job.threads)] if job.threads > 1 else []
    return [*(part for request in asked for part in ("-l", request)), *several]


if __name__ == "__main__":
    main()
