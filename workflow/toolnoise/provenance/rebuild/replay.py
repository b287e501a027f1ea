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
    """Perform the job in the file argv[1]; write the observed machine, or null, to argv[2]."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    Path(sys.argv[2]).write_text(json.dumps(_performed(**job)), "utf-8")


def _performed(verb: str, parameters: dict[str, Any], files: dict[str, Any]) -> dict[str, Any] | None:
    try:
        from toolnoise import steps
        from toolnoise.base.errors import told_in_one_line
    except ImportError:
        # Versions before steps.py.
        from toolnoise.errors import told_in_one_line
        from toolnoise.jobs import JOBS

        given = argparse.Namespace(**{option.replace("-", "_"): paths for option, paths in files.items()})
        with told_in_one_line():
            return JOBS[verb].perform(parameters, given)
    with told_in_one_line():
        return steps.perform(verb, parameters, files)


if __name__ == "__main__":
    main()
