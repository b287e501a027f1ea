"""The demo's run time by activity, from its own and Snakemake's records of the last run of every job.

make demo && python bench/demo_time.py
"""

import base64
import json
from collections import Counter
from pathlib import Path

RULES = {
    "prepare_data": "preparing data",
    "count_data": "measuring",
    "collect_counts": "measuring",
    "dump_predictions": "predicting",
    "check_control": "measuring",
    "measure_cell": "measuring",
    "measure_pair": "measuring",
    "profile_step": "profiling",
    "measure_overhead": "measuring",
    "collect_overhead": "measuring",
    "collect_kernels": "measuring",
    "collect_stability": "measuring",
    "collect_cross_tooling": "measuring",
    "write_report": "writing the page",
}


def main() -> None:
    """Print the seconds of all processes together, by activity."""
    runs = [json.loads(path.read_text())["seconds"] for path in Path("results/demo/runs").glob("**/run.json")]
    if not runs:
        raise SystemExit("results/demo has no runs: run `make demo`")
    seconds = Counter()
    for run in runs:
        seconds["importing and starting the framework"] += run["start_up"]
        seconds["compiling"] += run["compile"]
        seconds["training"] += run["training"]
        seconds["evaluating and digesting weights"] += run["evaluation"] + run["digests"]
    for rule, spent in _job_seconds().items():
        if rule == "train_run":
            inside = sum(sum(run.values()) for run in runs)
            seconds["starting Python or waiting for an import, writing runs"] += max(0.0, spent - inside)
        else:
            seconds[RULES.get(rule, "rendering")] += spent
    stamps = [float(stamp.read_text()) for stamp in Path(".venv").glob("cpu") if stamp.is_file()]
    print(f"demo: {len(runs)} runs; seconds of all processes together")
    for what, spent in [*(("installing", stamp) for stamp in stamps), *seconds.most_common()]:
        print(f"  {spent:7.1f}  {what}")


def _job_seconds() -> Counter:
    """The seconds of each rule's jobs, counting one output file per job."""
    jobs = {}
    for path in Path(".snakemake/metadata").iterdir():
        output = base64.b64decode(path.name).decode()
        record = json.loads(path.read_text())
        if output.startswith("results/demo/") and record["endtime"]:
            jobs[record["rule"], *record["log"]] = record["endtime"] - record["starttime"]
    seconds = Counter()
    for (rule, *_), spent in jobs.items():
        seconds[rule] += spent
    return seconds


if __name__ == "__main__":
    main()
