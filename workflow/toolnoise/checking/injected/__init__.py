"""What runs in a program's own interpreter: it needs Python alone, and imports nothing of toolnoise.

`recording` writes down what each call of the user's code got and gave; `state` writes down all that a program's
variables lead to, at a save and after resuming; `operations` writes down PyTorch's operations. checking/trial_runs.py
injects this package as toolnoise_injected.
"""

import importlib
import json
import os

TASK = "TOOLNOISE_INJECTED"  # the variable that names a JSON file with what is to be observed
# Kinds of what a program keeps, as its state has them.
GENERATOR, OPTIMISER, SCHEDULER, SCALER, AVERAGES = "generator", "optimiser", "scheduler", "scaler", "average"
SAMPLER, POSITION, WEIGHTS, ARRAY = "sampler", "position", "weights", "array"
NUMBER, ITEMS, OTHER = "number", "items", "other"
MOST_VALUES = 100_000


def start() -> None:
    """Observe this process if the environment asks for it; which module does it is the task's `observer`."""
    path = os.environ.get(TASK, "")
    if path:
        with open(path, encoding="utf-8") as file:
            task = json.load(file)
        # A process that is not observed does without the modules of Python's library that these import.
        importlib.import_module(f"toolnoise_injected.{task['observer']}").start(task)
