"""What recorded steps cost: whole trainings of two networks on digits, with and without them, on each framework.

CPU seconds of a training, after the framework's start and its compilation, so other processes hardly matter. The ratio
is the median over pairs.

    nice python bench/record_steps.py

"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from toolnoise.datasets import preparation, prepared
from toolnoise.engines import FRAMEWORKS
from toolnoise.epoch_plan import plan_epoch
from toolnoise.study import config, grid
from toolnoise.training.kept_weights import Recording
from toolnoise.training.network import build_model, initial_state, start_engine

PAIRS = 9
MODELS = ("smallcnn", "smallcnn-bn")
TOOLINGS = dict(zip(FRAMEWORKS, ("cpu", "cpu-jax", "cpu-torch"), strict=True))


def main() -> None:
    """Print the ratio of each network on each framework; with two arguments, time that one."""
    if len(sys.argv) == 3:
        _time(*sys.argv[1:])
        return
    print(f"{'':24}without, s   with, s   with / without: median (all {PAIRS} pairs)")
    for framework, hardware in TOOLINGS.items():
        if importlib.util.find_spec(framework):
            for model in MODELS:
                # A framework serves one model a process.
                subprocess.run([sys.executable, __file__, model, hardware], check=True)


def _time(model: str, hardware: str) -> None:
    block = {"models": [model], "datasets": ["digits"], "recipe": "digits", "hardware": [hardware]}
    written = {"study": "bench", "grid": [block | {"variants": ["control"], "seeds": 1}]}
    study = grid.build(config.resolve(written, "bench"), "bench")
    spec = study.spec(study.cells[0], 1)
    with tempfile.TemporaryDirectory() as folder:
        preparation.prepare("digits", study.config["datasets"]["digits"], Path(folder) / "digits.npz")
        dataset = prepared.load(Path(folder) / "digits.npz", spec.recipe["normalise"])
    engine, _ = start_engine(spec)
    parameters = build_model(engine, spec, dataset)
    engine.compile(spec.recipe, dataset.train)
    recipes = spec.recipe, spec.recipe | {"record_steps": True}
    plans = [plan_epoch(spec, len(dataset.train.labels), epoch) for epoch in range(spec.recipe["epochs"])]

    def seconds(recipe: dict) -> float:
        engine.restore(initial_state(parameters, spec))
        recording = Recording(engine, recipe, dataset)
        began = time.process_time()
        for epoch, plan in enumerate(plans):
            recording.epoch(plan, epoch)
            # As after every epoch of a run.
            engine.logits(dataset.test)
        return time.process_time() - began

    for recipe in recipes:
        seconds(recipe)
    pairs = [[seconds(recipe) for recipe in recipes] for _ in range(PAIRS)]
    without, recorded = (median(one) for one in zip(*pairs, strict=True))
    ratios = sorted(recorded / without for without, recorded in pairs)
    every = " ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"{model:12}{hardware:12}{without:10.2f}{recorded:10.2f}   {median(ratios):.3f} ({every})", flush=True)


if __name__ == "__main__":
    main()
