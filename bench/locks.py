"""Does a lock file still install, and does what it installs train? Prints its line of docs/tables/locks.txt.

    python3.11 bench/locks.py cpu versions/torch-2.9
    python3.11 bench/locks.py --next    # the one whose turn it is, as .ci/run does

It installs the lock file without pip's cache into an environment of its own in a scratch folder, has bench/one_run.py
train there on the CPU, and removes the folder. It needs Python 3.11 and nothing else. With `--next` the number of the
commit chooses, among the lock files without CUDA: the others download up to 3 GB each.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
UNITS = {"kB": 1e-3, "MB": 1.0, "GB": 1e3}


class Tried(NamedTuple):
    """What was installed, in MB, and what was said for each tooling."""

    downloaded: float
    installed: float
    said: dict[str, str]


def names() -> list[str]:
    """All lock files of environments that train."""
    return sorted(
        path.relative_to(FOLDER).with_suffix("").as_posix()
        for place in (FOLDER, FOLDER / "versions")
        for path in place.glob("*.txt")
    )


def file_of(name: str) -> Path:
    """A lock file by its name."""
    return FOLDER / f"{name}.txt"


def in_turn() -> list[str]:
    """The lock files that a check takes in turn: those without CUDA."""
    return [name for name in names() if not re.search(r"^nvidia-", file_of(name).read_text("utf-8"), re.MULTILINE)]


def next_of(commits: int) -> str:
    """The lock file whose turn it is at this number of commits."""
    return in_turn()[commits % len(in_turn())]


def tried(name: str) -> Tried:
    """Install a lock file and train with it; a step that fails ends this program."""
    with tempfile.TemporaryDirectory(prefix="toolnoise-lock-") as scratch:
        environment = Path(scratch) / ".environments" / Path(name).name
        python = environment / "bin/python"
        _say(sys.executable, "-m", "venv", environment)
        pip = (python, "-m", "pip", "install", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar", "off")
        said = _say(*pip, "--require-hashes", "--requirement", file_of(name))
        # Before the package itself, which asks for more than a lock file of another version has.
        _say(python, "-m", "pip", "check")
        _say(*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT)
        found = json.loads(_say(python, ROOT / "bench/one_run.py", environment.name, where=scratch).splitlines()[-1])
        if found["states"] is None:
            sys.exit(f"{name}: statements of this environment would name no lock file")
        return Tried(
            _size_of_packages(said),
            float(_say("du", "-sm", environment).split()[0]),
            found["toolings"],
        )


def _size_of_packages(said: str) -> float:
    """The MB of what pip took: downloads, and files of an index on this machine."""
    sizes = re.findall(r"^ *Downloading \S+ \(([\d.]+) ([kMG]B)\)", said, re.MULTILINE)
    files = re.findall(r"^ *Processing (/\S+\.\w+)", said, re.MULTILINE)
    return sum(float(size) * UNITS[unit] for size, unit in sizes) + sum(Path(one).stat().st_size for one in files) / 1e6


def _say(*words: str | Path, where: str | Path = ROOT) -> str:
    done = subprocess.run(list(map(str, words)), cwd=where, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def row(name: str, found: Tried, on: str) -> str:
    """The line of docs/tables/locks.txt: the MB are those of the download and of the environment."""
    return f"    {name + '.txt':<28} {on} {found.downloaded:>6,.0f} {found.installed:>6,.0f}"


def main() -> None:
    """Try each lock file that is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--next", action="store_true", help="the one whose turn it is at this commit")
    options = parser.parse_args()
    if unknown := set(options.names).difference(names()):
        parser.error(f"no lock file: {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    if options.next:
        options.names.append(next_of(int(_say("git", "rev-list", "--count", "HEAD"))))
    for name in options.names:
        print(f"installing {file_of(name).relative_to(ROOT)}", file=sys.stderr, flush=True)
        found = tried(name)
        print(*(f"{tooling}: {said}" for tooling, said in found.said.items()), sep="\n", file=sys.stderr)
        print(row(name, found, f"{datetime.now(UTC):%Y-%m-%d}"), flush=True)


if __name__ == "__main__":
    main()
