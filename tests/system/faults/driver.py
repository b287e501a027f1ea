"""Performs verbs in forked children, each with a fault at one of its operations on files.

Started with the shim preloaded. Each line of its input is a list of cases that run at once; each line of its output
says how they ended: the exit code, or minus the signal, and the operations as letters.
"""

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import NoReturn

from toolnoise import engines
from toolnoise.provenance import recorder
from toolnoise.study import job_code
from toolnoise.training import checkpoints
from toolnoise.warm import template

shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
shim.faults_done.restype = ctypes.c_char_p
ACTIONS = {"": 0, "kill": 1, "fill": 2}


def main() -> None:
    """Import what all cases need, then perform them."""
    # A checkpoint after each epoch.
    checkpoints.SECONDS_BETWEEN = 0
    imports = json.loads(sys.argv[1])
    engines.load(imports["tooling"]["engine"]).import_ahead(**imports)
    for verb in ("train", "predict", "measure", "render"):
        job_code.function_of(verb)
    # Each child would look these up again.
    recorder.look_up()
    assert len(list(template.TASKS.iterdir())) == 1, "children of a process with threads may hang"
    print("ready", flush=True)
    for line in sys.stdin:
        children = [_started(case) for case in json.loads(line)]
        print(json.dumps([_ended(*child) for child in children]), flush=True)


def _started(case: dict) -> tuple[int, int]:
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        _become(case, writing)
    os.close(writing)
    return process, reading


def _become(case: dict, writing: int) -> NoReturn:
    os.chdir(case["folder"])
    log = os.open(case["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    below = Path(case["folder"], "results")
    places = [str(below), case.get("filler", ""), case.get("journal", "")]
    shim.faults_arm(*(place.encode() for place in places), case.get("at", 0), ACTIONS[case["fault"]])
    code = template.perform_command_line(case["argv"])
    os.write(writing, shim.faults_done())
    template.end_process(code)


def _ended(process: int, reading: int) -> tuple[int, str]:
    with os.fdopen(reading) as said:
        operations = said.read()
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), operations


if __name__ == "__main__":
    main()
