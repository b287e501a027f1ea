"""Code that runs in a program's own interpreter: it needs only Python, and imports nothing from toolnoise.

`recording` records inputs and results of each call in the user's code. `state` records all values that a program's
variables lead to, at a save and after resuming. `operations` records PyTorch's operations. checking/trial_runs.py
injects this package as toolnoise_injected.
"""

import importlib
import json
import os

TASK = "TOOLNOISE_INJECTED"  # the environment variable that names the JSON file with the observer's task
FAILED = ".failed"  # what follows that file's name in the name of a file with an observer's error
# Kinds of values in a program's state.
GENERATOR, OPTIMISER, SCHEDULER, SCALER, AVERAGES = "generator", "optimiser", "scheduler", "scaler", "average"
SAMPLER, POSITION, WEIGHTS, ARRAY = "sampler", "position", "weights", "array"
NUMBER, ITEMS, OTHER = "number", "items", "other"
MOST_VALUES = 100_000


def start() -> None:
    """Observe this process if the environment asks for it; the task's `observer` names the module that observes."""
    path = os.environ.get(TASK, "")
    if path:
        with open(path, encoding="utf-8") as file:
            task = json.load(file)
        # Observers are imported late, so that other processes do not load the modules that observers need.
        try:
            importlib.import_module(f"toolnoise_injected.{task['observer']}").start(task)
        except Exception as error:
            # Python reports an error in sitecustomize in the program's log, and goes on.
            with open(path + FAILED, "w", encoding="utf-8") as file:
                file.write(f"{type(error).__name__}: {error}")
            raise
