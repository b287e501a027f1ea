"""Ask OSV for advisories against the locked packages: one that is known fails, a network that is missing only says so.

Options go to pip-audit: `--ignore-vuln ID` for an advisory that was read and does not apply. The environments in
requirements/versions are left out: they are old on purpose.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
# Lock files of one environment agree on versions, and pip-audit takes no others together.
TOGETHER = [sorted(REQUIREMENTS.glob("*.txt")), *([path] for path in sorted(REQUIREMENTS.glob("tools/*.txt")))]
# How pip-audit ends if OSV does not answer, or does not answer well.
UNANSWERED = re.compile(r"^requests\.exceptions\.|^pip_audit\._service\.interface\.|^ERROR:.*Could not connect ")
SECONDS = 100


class UnansweredError(Exception):
    """OSV did not answer, so nothing is known."""


def main() -> None:
    """Print what is known, also if OSV did not answer to the end, and end with its exit code."""
    until = time.monotonic() + SECONDS
    packages, unanswered, n_locks = [], "", 0
    try:
        for locks in TOGETHER:
            packages += _asked(locks, until - time.monotonic())
            n_locks += len(locks)
    except UnansweredError as why:
        unanswered = f"The advisories could not be asked for: {why}"
    known = {
        f"{package['name']} {package['version']}: {advisory['id']}, mended in "
        + (", ".join(advisory["fix_versions"]) or "no version")
        for package in packages
        for advisory in package["vulns"]
    }
    if packages:
        print(*sorted(known) or ["No advisory is known."], sep="\n")
        n_packages = len({(package["name"], package["version"]) for package in packages})
        print(f"{n_packages} packages of {n_locks} lock files were asked for.")
    if unanswered:
        print(unanswered)
    sys.exit(bool(known))


def _asked(locks: list[Path], seconds: float) -> list[dict]:
    """pip-audit's report on the packages of these lock files."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--strict"]
        command += ["--vulnerability-service", "osv", "--format", "json", "--output", str(report)]
        command += ["--progress-spinner", "off", *sys.argv[1:], *(f"--requirement={path}" for path in locks)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=max(seconds, 0))
        except subprocess.TimeoutExpired:
            raise UnansweredError(f"no answer within {SECONDS} s") from None
        if report.exists():
            return json.loads(report.read_text())["dependencies"]
    for line in reversed(done.stderr.splitlines()):
        if UNANSWERED.search(line):
            raise UnansweredError(line)
    return sys.exit(done.stderr)


if __name__ == "__main__":
    main()
