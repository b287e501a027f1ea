"""Say how a job of Grid Engine stands: running (or waiting), success or failed.

A job that has ended is in the accounting, some seconds later. One that is in neither for two minutes has failed.
"""

import re
import subprocess
import sys
import time

from toolnoise_grid_engine.submit import LOGS

SECONDS = 120


def main() -> None:
    """Print the one word that Snakemake expects."""
    print(state(sys.argv[1]))


def state(number: str) -> str:
    """The state of a job, from the scheduler, else from its accounting."""
    asked = _asked("qstat", number)
    if asked.returncode == 0:
        # One that cannot start at all waits for ever, in the state Eqw.
        return "failed" if re.search(r"^error reason", asked.stdout, re.MULTILINE) else "running"
    if "do not exist" not in asked.stdout + asked.stderr:
        return "running"  # The scheduler does not answer now.
    ended = dict(re.findall(r"^(failed|exit_status) +(\d+)", _asked("qacct", number).stdout, re.MULTILINE))
    if ended:
        return "success" if set(ended.values()) == {"0"} else "failed"
    mark = LOGS / f"{number}.gone"
    if not mark.exists():
        mark.touch()
    return "running" if time.time() - mark.stat().st_mtime < SECONDS else "failed"


def _asked(program: str, number: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, "-j", number], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
