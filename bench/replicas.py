"""What it saves to train many runs in one process, in turn and at once, against a process for each run; and the bits.

A round trains the same seeds in each way: by `toolnoise train`, some processes at a time as the workflow does, and by
`toolnoise train-replicas`, one process for R runs. A process alone includes its start and compilation, as it does in a
study. CPU seconds are those of all processes; on a GPU the wall seconds count.

    python bench/replicas.py --models smallcnn hidden linear --numbers 1 4 16 64
    python bench/replicas.py --tooling h100-jax --processes 16 --numbers 1 16 64 256
"""

import argparse
import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import jobs
import yaml

from toolnoise.base import program
from toolnoise.base.printing import aligned
from toolnoise.datasets import preparation
from toolnoise.study import config, grid, layout
from toolnoise.study.cells import Cell, Training
from toolnoise.study.study import Study

DATASET, VARIANT, ALONE = "digits", "algo", "alone"
WAYS = {"in turn": {}, "at once": {"at_once": True}}
HEADER = ("network", "way", "runs", "CPU s per run", "wall s per run", "CPU: gain", "wall: gain", "bits")


class Measured(NamedTuple):
    """Seconds per run, and the digest of each run's weights."""

    cpu: float
    wall: float
    digests: dict[int, str]


def main() -> None:
    """Print a table: seconds per run in each way, how many times fewer than alone, and which weights are equal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tooling", default="cpu-jax", help="a tooling of JAX (cpu-jax)")
    parser.add_argument("--models", nargs="+", default=["smallcnn", "hidden", "linear"])
    parser.add_argument("--numbers", nargs="+", type=int, default=[1, 4, 16, 64], metavar="R")
    parser.add_argument("--processes", type=int, default=2, help="processes at a time that train alone (2)")
    parser.add_argument("--alone", type=int, default=4, help="runs that are trained alone (4)")
    given = parser.parse_args()
    rows: list[Sequence[object]] = [HEADER]
    with tempfile.TemporaryDirectory() as folder:
        study = _study(Path(folder), given)
        for model in given.models:
            rows += _rows(study, Path(folder), model, given)
            print("\n".join(aligned([tuple(map(str, row)) for row in rows])), flush=True)


def _study(folder: Path, given: argparse.Namespace) -> Study:
    """A study with a tooling for each way and number of runs, and its data."""
    base = config.registered("hardware")[given.tooling]
    toolings = {ALONE: base}
    for number in given.numbers:
        for way, further in WAYS.items():
            toolings[_named(way, number)] = base | {"replicas": max(2, number)} | further
    block = {"models": given.models, "datasets": [DATASET], "recipe": DATASET, "hardware": list(toolings)}
    seeds = max(*given.numbers, given.alone, 2)
    written = {"study": "bench", "hardware": toolings, "figures": []}
    (folder / "study.yaml").write_text(
        yaml.safe_dump(written | {"grid": [block | {"variants": [VARIANT], "seeds": seeds}]})
    )
    study = grid.load(folder / "study.yaml")
    data = folder / study.path(layout.DATA, dataset=DATASET)
    preparation.prepare(DATASET, study.config["datasets"][DATASET], data)
    return study


def _named(way: str, number: int) -> str:
    return f"{way.replace(' ', '-')}-{number}"


def _rows(study: Study, folder: Path, model: str, given: argparse.Namespace) -> list[tuple[object, ...]]:
    seeds = range(1, given.alone + 1)
    commands = [jobs.words(study, "study.yaml", "train", Training(model, DATASET, ALONE, VARIANT, seed), f"{seed}.npz")
                for seed in seeds]  # fmt: skip
    alone = _measure(study, folder, Cell(model, DATASET, ALONE, VARIANT), commands, given.processes, seeds)
    rows = [(model, f"{given.processes} processes", len(seeds), f"{alone.cpu:.2f}", f"{alone.wall:.2f}", "1", "1", "")]
    for way in WAYS:
        before: dict[int, str] = {}
        for number in given.numbers:
            cell = Cell(model, DATASET, _named(way, number), VARIANT)
            names = [word for name, value in cell._asdict().items() for word in (f"--{name}", value)]
            runs = range(1, number + 1)
            words = ["train-replicas", "--study", "study.yaml", *names, "--seeds", *map(str, runs)]
            found = _measure(study, folder, cell, [words], 1, runs)
            equal = [f"{_equal(found.digests, alone.digests)} alone"]
            equal += [f"{_equal(found.digests, before)} fewer runs"] if before else []
            gains = f"{alone.cpu / found.cpu:.2f}", f"{alone.wall / found.wall:.2f}"
            rows.append((model, way, number, f"{found.cpu:.2f}", f"{found.wall:.2f}", *gains, ", ".join(equal)))
            before = found.digests
    return rows


def _equal(digests: dict[int, str], others: dict[int, str]) -> str:
    """How many of the runs that both have are equal."""
    both = [seed for seed in digests if seed in others]
    return f"{sum(digests[seed] == others[seed] for seed in both)} of {len(both)} as"


def _measure(
    study: Study, folder: Path, cell: Cell, commands: list[list[str]], at_once: int, seeds: Iterable[int]
) -> Measured:
    """Run some commands, several at a time, each of which trains some of the runs."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for start in range(0, len(commands), at_once):
        together = [
            subprocess.Popen([*program.python("toolnoise.cli"), *words], cwd=folder, stdout=subprocess.DEVNULL)
            for words in commands[start : start + at_once]
        ]
        if any(process.wait() for process in together):
            sys.exit(f"{cell.hardware}: a training has failed")
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    files = {seed: folder / study.path(layout.WEIGHTS, cell, seed=seed) for seed in seeds}
    digests = {seed: hashlib.sha256(file.read_bytes()).hexdigest() for seed, file in files.items()}
    return Measured(cpu / len(files), wall / len(files), digests)


if __name__ == "__main__":
    main()
