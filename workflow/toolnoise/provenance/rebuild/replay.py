"""Perform one job from a file that gives its parameters and files, in the folder that this process was started in.

Run as a program by `rebuild`, on whatever version of the package is first on the path: it imports little else of it.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Perform the job in the file argv[1]; write what was observed, or null, to argv[2]."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    Path(sys.argv[2]).write_text(json.dumps(_performed(**job)), "utf-8")


def _performed(verb: str, parameters: dict[str, Any], files: dict[str, Any]) -> dict[str, Any] | None:
    try:
        from toolnoise import steps
        from toolnoise.base.errors import errors_in_one_line
    except ImportError:
        # Before there were steps.
        from toolnoise.errors import errors_in_one_line
        from toolnoise.jobs import JOBS

        given = argparse.Namespace(**{option.replace("-", "_"): paths for option, paths in files.items()})
        with errors_in_one_line():
            return JOBS[verb].perform(parameters, given)
    with errors_in_one_line():
        return steps.perform(verb, parameters, files)


if __name__ == "__main__":
    main()
