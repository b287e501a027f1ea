"""The audit's run time relative to `sha256sum` for the same files with the same number of processes.

The files are those of a study with valid statements and random weights: some hundred files, from kilobytes to hundreds
of megabytes. `sha256sum` gets them from `xargs -P`, in batches. The audit runs as a process of its own, timed from its
start to its verdict. Both read from memory, in alternation; the medians are compared.

    python bench/audit_vs_sha256sum.py
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise import engines, steps
from toolnoise.base import code_digest, files, program
from toolnoise.base.files import sha256
from toolnoise.record import repository
from toolnoise.record.statements import (
    CODE,
    COMMIT,
    INPUT,
    LOCK,
    RESOURCE,
    SOURCE,
    Artifact,
    Statement,
    path_for,
)
from toolnoise.steps import CONFIGURE, STEPS, Job
from toolnoise.study import config
from toolnoise.study import grid as studies
from toolnoise.study.variants import VARIANTS

BYTES, REPETITIONS, LOT = 2_500_000_000, 3, 16
SOURCE_FILE = Artifact("mine.npz", "0" * 64, 1, kind=SOURCE)
STUDY = {
    "study": "bench",
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["mine"],
            "recipe": "short",
            "hardware": ["cpu"],
            "variants": [variant for variant in VARIANTS if variant not in ("control", "bit")],
            "seeds": 20,
        }
    ],
    "datasets": {"mine": {"reader": "npz", "path": SOURCE_FILE.name}},
    "recipes": {"short": {"epochs": 2, "batch_size": 64, "learning_rate": 0.01}},
    "figures": ["table2"],
}


def main() -> None:
    """Make the study, time both programs in alternation, and print the ratio."""
    processes = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        made = _make()
        listed = b"\0".join(os.fsencode(name) for name in made)
        Path("listed").write_bytes(listed)
        lots = ["xargs", "-0", "-a", "listed", "-n", str(LOT), "-P", str(processes)]
        auditing = [sys.executable, "-m", "toolnoise.cli", "audit", "--processes", str(processes)]
        commands = {"sha256sum": [*lots, "sha256sum"], "audit": auditing}
        if shutil.which("openssl"):
            # The speed of sha256sum if coreutils use OpenSSL, as Python always does.
            commands["openssl"] = [*lots, "openssl", "sha256"]
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        # The first round fills the page cache and does not count.
        for turn in range(REPETITIONS + 1):
            for name, command in commands.items():
                taken = _time(command)
                if turn:
                    seconds[name].append(taken)
    total = sum(made.values())
    size = f"{total / 1e9:.2f} GB, the largest of {max(made.values()) / 1e6:.0f} MB"
    print(f"audit_vs_sha256sum: {len(made)} files, {size}; {processes} processes")
    for name, taken in seconds.items():
        shown = ", ".join(f"{wall:.2f} ({cpu:.2f})" for wall, cpu in taken)
        print(f"  {name}: wall seconds (and CPU seconds) {shown}")
    medians = {name: statistics.median(wall for wall, _ in taken) for name, taken in seconds.items()}
    print(f"ratio audit_vs_sha256sum {medians['audit'] / medians['sha256sum']:.3f}")


def _time(command: list[str]) -> tuple[float, float]:
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _make() -> dict[str, int]:
    """Write the study's results; return every file except statements with its size."""
    study = studies.build(config.resolve(STUDY, "bench"), "bench")
    wanted = [job for job in steps.jobs(study) if job.needed]
    weights = [name for job in wanted for name, role in job.outputs if role == "weights"]
    # File sizes are proportional to 1 / rank.
    share = BYTES / sum(1 / rank for rank in range(1, len(weights) + 1))
    sizes = {name: int(share / rank) for rank, name in enumerate(weights, 1)}
    noise = np.random.Philox(key=1).random_raw(2**20).tobytes()
    made: dict[str, Artifact] = {}
    for job in wanted:
        for name, role in job.outputs:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            if name in sizes:
                repeats, rest = divmod(sizes[name], len(noise))
                with Path(name).open("wb") as file:
                    file.writelines([name.encode(), *[noise] * repeats, noise[:rest]])
            else:
                files.write_text(name, _content(study, job, role))
            made[name] = Artifact(name, sha256(name), Path(name).stat().st_size, role)
        files.write_json(path_for(job.outputs[0][0]), _state(job, made).as_json())
    return {name: one.size for name, one in made.items()}


def _content(study: studies.Study, job: Job, role: str) -> str:
    """The part of a record that the audit compares."""
    asked = job.parameters
    if job.verb == CONFIGURE:
        return json.dumps(study.config)
    if job.verb == "fetch":
        fetched = {"path": SOURCE_FILE.name, "bytes": SOURCE_FILE.size, "sha256": SOURCE_FILE.sha256}
        return json.dumps({"dataset": asked["dataset"], "sources": [fetched]})
    if role == "record":
        initial, data = files.canonical_sha256(asked["keys"]["init"]), "0" * 64
        about = {"status": "completed", "epochs": 1, "trainable": [], "initial_sha256": initial, "data_sha256": data}
        return json.dumps({"spec": asked["spec"], "observed": _observed(job), **about})
    if role == "history":
        drawn = {source: key for source, key in asked["keys"].items() if source not in ("init", "bit")}
        digests = f"{'0' * 64},0,{files.canonical_sha256(drawn)}"
        return f"epoch,weights_sha256,tensors_sha256,draws_sha256\n1,{digests}\n"
    if role == "index":
        spec = {key: value for key, value in asked["spec"].items() if key != "seed"}
        seeds = list(study.seeds[studies.Cell(*_names(spec))])
        return json.dumps({"spec": spec, "seeds": seeds, "observed": _observed(job)})
    return f"{job.verb}\n"


def _names(spec: dict[str, Any]) -> list[str]:
    return [spec[part]["name"] for part in studies.Cell._fields]


def _observed(job: Job) -> dict[str, Any]:
    spec = job.parameters.get("spec")
    if spec is None:
        return {}
    tooling = spec["hardware"]
    switches = {"deterministic": "impl" not in spec["variant"]["varying"], "tf32": tooling["tf32"]}
    observed = {"device": "cpu", "precision": tooling["precision"], "cpu_flags": [tooling["isa"]]}
    variables = engines.load(tooling["engine"]).variables(tooling, switches["deterministic"])
    return {**switches, **observed, "variables": variables}


def _state(job: Job, made: dict[str, Artifact]) -> Statement:
    inputs = [made[name]._replace(role=role, kind=INPUT) for name, role in job.inputs]
    ends = [SOURCE_FILE] if job.verb in ("fetch", "prepare") else []
    step = STEPS[job.verb]
    made_by = code_digest.sources(*step.modules(job.parameters), files=step.work.files(job.parameters))
    ends += [
        Artifact(name, digest, kind=CODE if name.endswith(".py") else RESOURCE) for name, digest in made_by.items()
    ]
    lock, commit = repository.lock(job.parameters) or repository.LOCKS[-1], repository.commit()
    ends.append(Artifact(lock, sha256(program.ROOT / lock), kind=LOCK))
    if commit and commit.sha:
        ends.append(Artifact("repository", commit.sha, kind=COMMIT))
    outputs = tuple(made[name]._replace(role=role) for name, role in job.outputs)
    now = datetime.now(UTC).replace(tzinfo=None)
    changes = commit.changes if commit else None
    return Statement(job.verb, outputs, (*inputs, *ends), job.parameters, _observed(job), now, now, {}, changes)


if __name__ == "__main__":
    main()
