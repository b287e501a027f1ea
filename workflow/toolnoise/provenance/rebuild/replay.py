"""Perform one job from a file with its parameters and files, in the current folder.

`rebuild` runs this as a program, with whatever version of the package is first on the path. So it imports little of
the package.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Perform the job in the file argv[1]; write what was observed, or null, to argv[2]."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    try:
        observed = _performed(**job)
    except Exception as error:
        # Of whichever version: its module has moved.
        if type(error).__name__ != "BadInput":
            raise
        print(f"toolnoise: {error}", file=sys.stderr)
        sys.exit(2)
    Path(sys.argv[2]).write_text(json.dumps(observed), "utf-8")


def _performed(verb: str, parameters: dict[str, Any], files: dict[str, Any]) -> dict[str, Any] | None:
    try:
        from toolnoise import steps
    except ImportError:
        # Versions before toolnoise.steps.
        from toolnoise.jobs import JOBS

        given = argparse.Namespace(**{option.replace("-", "_"): paths for option, paths in files.items()})
        return JOBS[verb].perform(parameters, given)
    return steps.perform(verb, parameters, files)


if __name__ == "__main__":
    main()
