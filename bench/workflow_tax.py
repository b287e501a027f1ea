"""The cost of the workflow on top of training: wall time of a small study over its pure training time per core.

Runs take a minute or more, on artificial images (training speed does not depend on their content), with one run per
core at a time. Wall time covers everything from nothing to the metric files: preparation, process starts, compilation,
evaluation after every epoch, dumps, measures and Snakemake itself. Only the seconds inside training steps are not tax.

    python bench/workflow_tax.py

"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from toolnoise import streams
from toolnoise.base import arrays

ROOT = Path(__file__).parents[1]
EXAMPLES, EPOCHS, SEEDS = 16_384, 15, 8

STUDY = {
    "study": "tax",
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["made"],
            "recipe": "tax",
            "hardware": ["cpu"],
            "variants": ["algo_impl", "impl"],
            "seeds": SEEDS,
        }
    ],
    "datasets": {"made": {"reader": "npz", "path": "made.npz"}},
    "recipes": {"tax": {"epochs": EPOCHS, "batch_size": 128, "learning_rate": 4e-4, "crop": 4, "flip": True}},
}


def main() -> None:
    """Make the data, run the study and print the ratio."""
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        arrays.write_npz(folder / "made.npz", {**_pictures("train", EXAMPLES), **_pictures("test", 500)})
        (folder / "study.json").write_text(json.dumps(STUDY))
        started = time.perf_counter()
        command = [sys.executable, "-m", "snakemake", "metrics", "--snakefile", ROOT / "Snakefile"]
        command += ["--directory", folder, "--configfile", folder / "study.json", "--cores", str(cores)]
        subprocess.run([*command, "--scheduler", "greedy", "--logger", "toolnoise"], check=True)
        wall = time.perf_counter() - started
        records = [json.loads(path.read_text())["seconds"] for path in folder.glob("results/tax/runs/**/run.json")]
    parts = {part: sum(record[part] for record in records) / len(records) for part in records[0]}
    ideal = sum(record["training"] for record in records) / cores
    print(f"workflow_tax: {len(records)} runs on {cores} cores, wall {wall:.0f} s, training per core {ideal:.0f} s")
    print("  of a run, seconds: " + ", ".join(f"{part} {value:.1f}" for part, value in parts.items()))
    print(f"ratio workflow_tax {wall / ideal:.3f}")


def _pictures(part: str, count: int) -> dict[str, np.ndarray]:
    images = streams.integers(1, (count, 32, 32, 3), 256).astype(np.uint8)
    return {f"{part}_images": images, f"{part}_labels": np.arange(count) % 10}


if __name__ == "__main__":
    main()
