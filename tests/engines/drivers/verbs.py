"""`toolnoise` as tests change it: `verbs.py FUNCTION ARGUMENT...`."""

import contextlib
import io
import itertools
import json
import os
import sys

from toolnoise import cli
from toolnoise.training import checkpoints, loop


def always_keeping(*arguments):
    """`toolnoise` that keeps a checkpoint after every epoch."""
    checkpoints.SECONDS_BETWEEN = 0
    cli.main(list(arguments))


def several(*arguments):
    """Train in one folder after the other: `several FOLDER ARGUMENT... [-- FOLDER ARGUMENT...]`.

    Prints a line of JSON for each, with the exit code and what was said. Their tooling has to be the same one.
    """
    start, started = loop.start_engine, []

    def start_once(spec):
        """An engine starts once in a process."""
        settings = spec.hardware.json, spec.varies("impl")
        if not started:
            started.append((settings, start(spec)))
        assert settings == started[0][0]
        return started[0][1]

    loop.start_engine = start_once
    for alone, words in itertools.groupby(arguments, "--".__eq__):
        if not alone:
            folder, *command = words
            os.chdir(folder)
            said, code = io.StringIO(), 0
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                try:
                    cli.main(command)
                except SystemExit as end:
                    code = end.code
            print(json.dumps({"code": code, "said": said.getvalue()}))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
