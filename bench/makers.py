"""Runs of a study from another machine, trained again here: which have the same bits, and how many answers change.

    .venv/bin/python bench/makers.py evidence/atlas-small.tar.xz [--toolings cpu ...] [--processors Haswell ...]

For each network and tooling that this machine can serve, the first runs of the variant are rebuilt from their
statements, here and on processors that QEMU emulates (five minutes for each run). Each is compared with the study by
the digests of its weights. A slim copy has no predictions: then an emulated processor with the study's bits stands for
its machine, and without one the share of changed answers is at least the difference in accuracy. Shares of a new seed
are of the churn between two seeds on that tooling in the study.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import emulated
import numpy as np

from toolnoise.base.errors import errors_in_one_line
from toolnoise.base.printing import aligned
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines import State, environment, serving
from toolnoise.record import unpacked
from toolnoise.training import network
from toolnoise.training.runs import Run, read
from toolnoise.verify.rebuild import rebuilding, sampling

CHILD = "--answers"
TOOLINGS = ("cpu", "cpu-eigen", "cpu-sse41", "cpu-avx512", "cpu-2threads", "cpu-jax", "cpu-torch", "cpu-torch-native")
HEADS = ("network", "tooling", "processor", "bit-equal", "from epoch", "answers changed", "of a new seed's")


class Again(NamedTuple):
    """A run's history and its classes of the test examples, [N], made again on some processor."""

    history: list[dict[str, str]]
    answers: np.ndarray


def main() -> None:
    """Print a line for each network, tooling and processor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="a study's folder or archive")
    parser.add_argument("--networks", nargs="+")
    parser.add_argument("--toolings", nargs="+", default=TOOLINGS)
    parser.add_argument("--variant", default="algo")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--processors", nargs="+", default=[])
    options = parser.parse_args()
    with errors_in_one_line(), unpacked.opened(options.study) as (folder,):
        print(f"trained there on: {', '.join(sorted(makers(folder)))}; here: {environment.machine()['cpu']}")
        print("\n".join(aligned([HEADS, *rows(folder, options)])))


def makers(folder: Path) -> set[str]:
    """The processors of a study's runs."""
    return {read(record).record["observed"]["cpu"] for record in folder.glob("runs/**/run.json")}


def rows(folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """The lines of the table."""
    for cell in sorted(folder.glob(f"runs/*/*/*/{options.variant}")):
        model, dataset, tooling, _ = cell.relative_to(folder / "runs").parts
        if tooling not in options.toolings or (options.networks and model not in options.networks):
            continue
        there = [read(cell / str(seed) / "run.json") for seed in range(1, options.runs + 1)]
        if serving.why_not(there[0].spec.hardware.json):
            continue
        made = {name: [again(run.folder, name) for run in there] for name in ("", *options.processors)}
        seeds = of_seeds(folder, model, dataset, tooling, options.variant)
        for processor, runs in made.items():
            equal, epochs = compared(there, runs)
            changed, least = answers_changed(folder, cell, there, made, processor)
            share = f"{'at least ' if least else ''}{changed:.2%}"
            beside = f"{changed / seeds:.2f}" if seeds else ""
            verdict = f"{equal} of {len(runs)}"
            yield model, tooling, processor or "here", verdict, epochs, share, "" if least else beside


def again(run: Path, processor: str) -> Again:
    """Train a run again from its statement, on a processor."""
    own = sys.executable
    with tempfile.TemporaryDirectory() as scratch:
        if processor:
            # The rebuild starts the training by the name of this Python.
            wrapper = Path(scratch, "python")
            wrapper.write_text(f'#!/bin/sh\nexec {" ".join(emulated.python(processor))} "$@"\n')
            wrapper.chmod(0o755)
            sys.executable = str(wrapper)
            os.environ.update(emulated.variables())
        try:
            (outcome,) = rebuilding.rebuild(sampling.of([run]), keep=True)
        finally:
            sys.executable = own
    assert outcome.folder, outcome.lines
    record = next(outcome.folder.glob("work/**/runs/**/run.json"))
    data = next(outcome.folder.glob("work/**/data/*.npz"))
    command = [*emulated.python(processor), __file__, CHILD, str(record), str(data)]
    done = subprocess.run(command, env=os.environ | emulated.variables(), capture_output=True, text=True, check=True)
    made = Again(read(record).history(), np.array(json.loads(done.stdout)))
    shutil.rmtree(outcome.folder)
    return made


def compared(there: list[Run], runs: list[Again]) -> tuple[int, str]:
    """How many runs have the bits of the study after every epoch, and the first epochs after which others differ."""
    first = []
    for run, made in zip(there, runs, strict=True):
        pairs = zip(run.history(), made.history, strict=True)
        differing = [number for number, (a, b) in enumerate(pairs, 1) if a["weights_sha256"] != b["weights_sha256"]]
        first += differing[:1]
    return len(there) - len(first), ", ".join(map(str, sorted(set(first))))


def answers_changed(
    folder: Path, cell: Path, there: list[Run], made: dict[str, list[Again]], processor: str
) -> tuple[float, bool]:
    """The mean share of answers that differ from the study's, and whether it is only the least that it can be."""
    kept = folder / "predictions" / cell.relative_to(folder / "runs").with_suffix(".npy")
    runs = made[processor]
    stands_for_it = next((others for others in made.values() if compared(there, others)[0] == len(there)), None)
    if kept.exists():
        theirs = list(np.load(kept).argmax(-1)[: len(there)])
    elif stands_for_it:
        theirs = [other.answers for other in stands_for_it]
    else:
        ends = [
            [float(run[-1]["test_accuracy"]) for run in (a.history(), b.history)]
            for a, b in zip(there, runs, strict=True)
        ]
        return float(np.mean([abs(a - b) for a, b in ends])), True
    return float(np.mean([np.mean(a != b.answers) for a, b in zip(theirs, runs, strict=True)])), False


def of_seeds(folder: Path, *cell: str) -> float:
    """The churn between two seeds of a cell in the study."""
    with (folder / "metrics/stability.csv").open(newline="") as file:
        found = csv.DictReader(line for line in file if not line.startswith("#"))
        wanted = [*cell, "churn", "all"]
        keys = ("model", "dataset", "hardware", "variant", "metric", "group")
        return next(float(row["value"]) for row in found if [row[key] for key in keys] == wanted)


def answers(record: str, data: str) -> list[int]:
    """The classes that a run's network gives to the test examples."""
    run = read(Path(record))
    spec = Spec.read(run.record["spec"])
    dataset = prepared.load(data, spec.recipe["normalise"])
    engine, _ = network.start_engine(spec)
    network.build_model(engine, spec, dataset)
    engine.compile(spec.recipe, dataset.train)
    engine.restore(State(run.weights(), {}, 0))
    return engine.logits(dataset.test).argmax(-1).tolist()


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        print(json.dumps(answers(*sys.argv[2:])))
    else:
        main()
