"""The observer, which runs in the program's own interpreter: it needs Python alone, and imports nothing of toolnoise.

Each call in the user's own code goes through recording.py, which writes down whether its inputs and its result are
those of another run. checking/observed_runs.py injects it as toolnoise_observer.
"""

import json
import os
import sys

FOLDER, PLAN = "TOOLNOISE_OBSERVED", "TOOLNOISE_OBSERVED_PLAN"


def start() -> None:
    """Observe this process, and all that it starts, if the environment asks for it."""
    folder = os.environ.get(FOLDER, "")
    if not folder:
        return
    # These import modules of Python's library: a process that is not observed does without.
    from toolnoise_observer import in_turn, recording, rewriting

    plan = json.loads(os.environ.get(PLAN) or "{}")
    log = recording.start(folder, plan)
    if plan.get("in_turn"):
        in_turn.install()
    rewriting.install(sys.argv, log)
