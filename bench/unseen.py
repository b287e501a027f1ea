"""How often `toolnoise check` is right about packed programs whose causes are known: examples/unseen has two packs.

    nice -n 5 python bench/unseen.py examples/unseen/known.tar.xz [--only NAME ...] [--keep FOLDER]

Each program is a folder with `program.json` and `cause.json`, which check does not get to see. A verdict is right if
check passes what has no planted fault, and nothing else. A cause is right if the place that is named first is the cause
or an accepted one; of a forgotten generator, also if the line that draws first is. Where `mended` gives the line in
place of the cause's, the program with it has to pass.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.printing import aligned

MODULES = {"scikit-learn": "sklearn", "pytorch": "torch", "tensorflow-cpu": "tensorflow"}
RIGHT, WRONG = "right", "WRONG"


class Packed(NamedTuple):
    """A program of a pack: its folder, how it is started, and its cause."""

    folder: Path
    program: dict[str, Any]
    cause: dict[str, Any]

    @property
    def places(self) -> list[tuple[str, int]]:
        """The cause, and what may be named in place of it."""
        return [(each["file"], each["line"]) for each in (self.cause, *(self.cause["accepted"] or []))]


class Score(NamedTuple):
    """What check said of a program, as words: its verdict, the first place, and the mended program."""

    name: str
    style: str
    verdict: str
    first: str
    proven: str
    mended: str
    said: str


def unpacked(archive: Path, folder: Path) -> list[Packed]:
    """The programs of an archive, in a folder; whatever would be written outside it is refused."""
    with tarfile.open(archive) as tar:
        if sum(member.size for member in tar.getmembers()) > 1 << 26:
            sys.exit(f"{archive}: more than 64 MiB")
        tar.extractall(folder, filter="data")
    return [
        Packed(file.parent, json.loads(file.read_text()), json.loads(file.with_name("cause.json").read_text()))
        for file in sorted(folder.rglob("program.json"))
    ]


def checked(packed: Packed) -> dict[str, Any]:
    """What check says of a program, as a user would call it, in a copy of its folder without the cause."""
    program = packed.program
    words = [program["command"]] if isinstance(program["command"], str) else program["command"]
    options = ["--json", "--limit", "20"]
    outputs = program["output"] if isinstance(program["output"], list) else [program["output"]]
    for output in filter(None, outputs):
        within = "{out}" in " ".join(words) and "{out}" not in output
        options += ["--output", f"{{out}}/{output}" if within else output]
    if program["checkpoint"]:
        options += ["--resume", "--checkpoint", program["checkpoint"]]
    if program["stop_at"]:
        options += ["--stop-at", program["stop_at"]]
    binaries = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made, "program")
        shutil.copytree(packed.folder, copy, ignore=shutil.ignore_patterns("program.json", "cause.json"))
        check = [binaries / "toolnoise", "check", *options, "--", *words]
        done = subprocess.run(check, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout)


def named(said: dict[str, Any]) -> list[dict[str, Any]]:
    """The places that check names, the first one first."""
    if said["reproducible"]:
        omissions = (said.get("resumed") or {}).get("omissions", [])
        return [*omissions, *(place for row in said["ignored"] for place in row["places"])]
    return [place for part in ("proven", "likely", "possible") for place in said.get(part) or []]


def scored(packed: Packed, said: dict[str, Any]) -> Score:
    """Whether check was right."""
    name, style = packed.folder.name, str(packed.program["style"])
    if "error" in said:
        return Score(name, style, WRONG, WRONG, "", "", said["error"])
    places, verdict = named(said), RIGHT if said["passed"] != packed.program["planted"] else WRONG
    if not packed.program["planted"]:
        return Score(name, style, verdict, "", "", "", " ".join(f"{each['file']}:{each['line']}" for each in places))
    first = f"{places[0]['file']}:{places[0]['line']}" if places else "nothing"
    told = [first, *places[0].get("drawn", "").split(": ")[:1]] if places else []
    is_right = any(f"{file}:{line}" in told for file, line in packed.places)
    proven, mended = "yes" if said.get("proven") else "", ""
    if is_right and packed.cause["mended"] is not None:
        mended = RIGHT if _passes_mended(packed) else WRONG
    first += f" {places[0].get('what', '')}" if places else ""
    first += "" if is_right else f"; the cause: {packed.places[0]}, {packed.cause['why']}"
    return Score(name, style, verdict, RIGHT if is_right else WRONG, proven, mended, first)


def _passes_mended(packed: Packed) -> bool:
    """Whether check passes the program with another text in place of the cause's line."""
    file, at = packed.folder / packed.cause["file"], packed.cause["line"] - 1
    lines = file.read_text().splitlines()
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at] = "\n".join(indent + line for line in packed.cause["mended"].strip("\n").lstrip().splitlines())
    file.write_text("\n".join(lines) + "\n")
    return bool(checked(packed).get("passed"))


def summary(scores: Sequence[Score]) -> list[str]:
    """The table, and the score."""
    planted = [each for each in scores if each.first]
    counts = {
        "verdicts right": [each.verdict for each in scores],
        "causes named first": [each.first for each in planted],
        "proven causes right": [each.first for each in planted if each.proven],
        "programs reproducible once that line is mended": [each.mended for each in planted if each.mended],
        "clean programs without a false alarm": [each.verdict for each in scores if not each.first],
    }
    table = aligned([("program", "style", "verdict", "first", "proven", "mended", "named first"), *scores])
    return [*table, "", *(f"{each.count(RIGHT)} of {len(each)} {what}" for what, each in counts.items())]


def main() -> None:
    """Check the programs of an archive, and print how often check was right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these programs alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what check says there, as JSON")
    options = parser.parse_args()
    scores = []
    with tempfile.TemporaryDirectory() as made:
        for packed in unpacked(options.archive, Path(made)):
            name = packed.folder.name
            needs = [MODULES.get(library, library.replace("-", "_")) for library in packed.program["libraries"]]
            absent = [module for module in needs if importlib.util.find_spec(module) is None]
            if absent or (options.only and name not in options.only):
                print(f"{name}: not run {', '.join(absent)}", file=sys.stderr)
                continue
            said = checked(packed)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{name}.json").write_text(json.dumps(said, indent=1))
            scores.append(scored(packed, said))
            print(" ".join(scores[-1]), file=sys.stderr, flush=True)
    print("\n".join(summary(scores)))


if __name__ == "__main__":
    main()
