"""Where the demo's time goes, from its own and Snakemake's records of the last run of every job.

The last line, the efficiency, is the share of cores x wall time in which networks were trained and evaluated. It holds
for a demo made from nothing in one go. Wall time begins with Snakemake. All seconds are of the clock: other work on the
machine stretches all of them, so the share depends on it less than they do.

make demo && python bench/demo_time.py
"""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

# The first match counts; all other rules measure.
ACTIVITIES = {
    "prepare_data": "preparing data",
    "dump_predictions": "predicting",
    "profile_step": "profiling",
    "render_": "rendering",
    "show_cell": "writing the page",
    "write_page": "writing the page",
}
# The parts of a run, as run.json names them; the rest of its job is starting and writing.
PARTS = {
    "start_up": "importing and starting the framework",
    "compile": "compiling",
    "training": "training",
    "evaluation": "evaluating",
    "digests": "digesting weights",
}


class Job(NamedTuple):
    """A job of Snakemake."""

    rule: str
    started: float
    ended: float


def main() -> None:
    """Print the seconds of all processes together, by activity, the wall time and the efficiency."""
    runs = [json.loads(path.read_text()) for path in Path("results/demo/runs").glob("**/run.json")]
    if not runs:
        raise SystemExit("results/demo has no runs: run `make demo`")
    seconds, jobs = Counter(), list(_jobs())
    for run in runs:
        for part, activity in PARTS.items():
            seconds[activity] += run["seconds"][part]
    within = seconds.total()
    for job in jobs:
        seconds[_activity(job.rule)] += job.ended - job.started
    seconds[_activity("train_run")] -= within
    wall, cores = max(job.ended for job in jobs) - _began(jobs), runs[0]["observed"]["cores"]
    print(f"demo: {len(runs)} runs in {len(jobs)} jobs; seconds of all processes together")
    stamps = [float(stamp.read_text()) for stamp in Path(".venv").glob("cpu") if stamp.is_file()]
    for activity, spent in [*(("installing", stamp) for stamp in stamps), *seconds.most_common()]:
        print(f"  {spent:7.1f}  {activity}")
    print(f"wall time of the study: {wall / 60:.1f} minutes on {cores} cores")
    print(f"ratio demo_efficiency {(seconds['training'] + seconds['evaluating']) / (cores * wall):.3f}")


def _activity(rule: str) -> str:
    if rule == "train_run":
        return "starting runs and writing them"
    return next((activity for start, activity in ACTIVITIES.items() if rule.startswith(start)), "measuring")


def _jobs() -> Iterator[Job]:
    """The last run of every job."""
    found = {}
    for path in Path(".snakemake/metadata").iterdir():
        output, record = base64.b64decode(path.name).decode(), json.loads(path.read_text())
        if output.startswith("results/demo/") and record["endtime"]:
            # There is a record for each output; a job has one log.
            found[tuple(record["log"])] = Job(record["rule"], record["starttime"], record["endtime"])
    yield from found.values()


def _began(jobs: list[Job]) -> float:
    """When the Snakemake was started that ran the first of these jobs."""
    first = min(job.started for job in jobs)
    names = [path.name.removesuffix(".snakemake.log") for path in Path(".snakemake/log").iterdir()]
    starts = [datetime.strptime(name, "%Y-%m-%dT%H%M%S.%f").timestamp() for name in names]
    return max((start for start in starts if start < first), default=first)


if __name__ == "__main__":
    main()
