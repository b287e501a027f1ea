"""Perform one job from a file that says what it was told, in the folder that this process was started in.

Run as a program by `rebuild`, on whatever version of the package is first on the path: it imports nothing else of it.
"""

import argparse
import json
import sys
from pathlib import Path

from toolnoise.base.errors import told_in_one_line
from toolnoise.jobs import JOBS


def main() -> None:
    """Perform the job in the file argv[1]; write what was observed, or null, to argv[2]."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    with told_in_one_line():
        observed = JOBS[job["verb"]].perform(job["parameters"], argparse.Namespace(**job["given"]))
    Path(sys.argv[2]).write_text(json.dumps(observed), "utf-8")


if __name__ == "__main__":
    main()
