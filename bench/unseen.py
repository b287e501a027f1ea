"""How often `toolnoise check` is right about programs whose causes are known: the packs of examples/unseen.

    nice -n 5 python bench/unseen.py examples/unseen/known.tar.xz [--only NAME ...] [--keep FOLDER]

Each program is a folder with `program.json` and `cause.json`, which check does not see. A verdict is right if check
passes a program without a planted fault or fails one with a fault. A cause is right if the first place that check names
is the cause or an accepted place; for a forgotten generator, the line that draws first is also right. `mended` replaces
the line of the cause, and the program must then pass. `check` adds options, such as those for several processes; check
then names no place, and only the `verdicts` count. All errors of format are printed before any program runs.
"""

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.printing import align_columns

PROGRAM = ("libraries", "output", "command", "style", "planted")
CAUSE = ("kind", "file", "line", "why")
# Optional keys and their defaults; a program without a planted fault, or with `check`, has no cause.json.
OPTIONAL = {"checkpoint": None, "stop_at": None, "mended": None, "accepted": (), "check": (), "verdicts": ()}
MODULES = {"scikit-learn": "sklearn", "pytorch": "torch", "tensorflow-cpu": "tensorflow"}
RIGHT, WRONG = "right", "WRONG"
NO_PLACE = "-"  # for a program with `check` options


class Packed(NamedTuple):
    """A program of a pack: its folder, its program.json and its cause.json."""

    folder: Path
    program: dict[str, Any]
    cause: dict[str, Any]

    @property
    def places(self) -> list[tuple[str, int]]:
        """The place of the cause, and the other places that are accepted."""
        accepted = [place if isinstance(place, dict) else {"line": place} for place in self.cause["accepted"] or []]
        return [(place.get("file", self.cause["file"]), place["line"]) for place in (self.cause, *accepted)]


class Score(NamedTuple):
    """How right check was about a program, as words: the verdict, the first place, and the mended program."""

    name: str
    style: str
    verdict: str
    first: str
    proven: str
    mended: str
    said: str


def unpacked(archive: Path, folder: Path) -> list[Packed]:
    """Extracts the programs of an archive into a folder; refuses archives that would write outside it."""
    with tarfile.open(archive) as tar:
        if sum(member.size for member in tar.getmembers()) > 1 << 26:
            sys.exit(f"{archive}: more than 64 MiB")
        tar.extractall(folder, filter="data")
    programs, errors = [], []
    for file in sorted(folder.rglob("program.json")):
        parts = []
        for name, keys in (("program.json", PROGRAM), ("cause.json", CAUSE)):
            path = file.with_name(name)
            values = json.loads(path.read_text()) if path.exists() else {}
            has_cause = bool(parts) and parts[0]["planted"] and not parts[0]["check"]
            needed = keys if name == "program.json" or has_cause else ()
            errors += [f"{file.parent.name}/{name}: no {key}" for key in needed if key not in values]
            parts.append(dict.fromkeys(keys) | OPTIONAL | values)
        programs.append(Packed(file.parent, *parts))
    for packed in programs if not errors else ():
        errors += [f"{packed.folder.name}/{error}" for error in _errors(packed)]
    if errors or not programs:
        sys.exit("\n".join(errors or [f"{archive}: no program.json"]))
    return programs


def _errors(packed: Packed) -> list[str]:
    """The errors in a program's descriptions."""
    program, cause = packed.program, packed.cause
    accepted = cause["accepted"] or []
    is_listed = all(isinstance(place, int) or {*place} >= {"line"} for place in accepted)
    checks = {
        "program.json: planted: no boolean": isinstance(program["planted"], bool),
        "program.json: command: neither a text nor a list": isinstance(program["command"], str | list),
        "program.json: libraries: neither a text nor a list": isinstance(program["libraries"], str | list),
        "cause.json: mended: neither a text nor null": isinstance(cause["mended"], str | None),
        "cause.json: accepted: neither lines nor objects with a line": is_listed,
        "program.json: check without verdicts": bool(program["check"]) == bool(program["verdicts"]),
        "cause.json: file: no such file": cause["file"] is None or (packed.folder / str(cause["file"])).is_file(),
    }
    return [error for error, holds in checks.items() if not holds]


def checked(packed: Packed) -> dict[str, Any]:
    """The JSON report of check, called as a user would call it, in a copy of the program's folder without the cause."""
    program = packed.program
    words = [program["command"]] if isinstance(program["command"], str) else program["command"]
    options = ["--json", "--limit", "20", *program["check"]]
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


def named(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The places that check names, in its order."""
    if report["reproducible"]:
        omissions = (report.get("resumed") or {}).get("omissions", [])
        return [*omissions, *(place for row in report["ignored"] for place in row["places"])]
    return [place for part in ("proven", "likely", "possible") for place in report.get(part) or []]


def scored(packed: Packed, report: dict[str, Any]) -> Score:
    """Whether check was right."""
    name, style = packed.folder.name, str(packed.program["style"])
    if "error" in report:
        return Score(name, style, WRONG, WRONG, "", "", report["error"])
    if packed.program["check"]:
        verdicts = {way["name"]: way["verdict"] for way in report["other_ways"]}
        is_right = report["reproducible"] and {*packed.program["verdicts"]} >= {*verdicts.values()}
        return Score(name, style, RIGHT if is_right else WRONG, NO_PLACE, "", "", str(verdicts))
    places, verdict = named(report), RIGHT if report["passed"] != packed.program["planted"] else WRONG
    if not packed.program["planted"]:
        return Score(name, style, verdict, "", "", "", " ".join(f"{place['file']}:{place['line']}" for place in places))
    first = f"{places[0]['file']}:{places[0]['line']}" if places else "nothing"
    lines = [first, *places[0].get("drawn", "").split(": ")[:1]] if places else []
    is_right = any(f"{file}:{line}" in lines for file, line in packed.places)
    proven, mended = "yes" if report.get("proven") else "", ""
    if is_right and packed.cause["mended"] is not None:
        mended = RIGHT if _passes_mended(packed) else WRONG
    first += f" {places[0].get('what', '')}" if places else ""
    first += "" if is_right else f"; the cause: {packed.places[0]}, {packed.cause['why']}"
    return Score(name, style, verdict, RIGHT if is_right else WRONG, proven, mended, first)


def _passes_mended(packed: Packed) -> bool:
    """Whether check passes the program with the mended text in place of the cause's line."""
    file, at = packed.folder / packed.cause["file"], packed.cause["line"] - 1
    lines = file.read_text().splitlines()
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at] = "\n".join(indent + line for line in packed.cause["mended"].strip("\n").lstrip().splitlines())
    file.write_text("\n".join(lines) + "\n")
    return bool(checked(packed).get("passed"))


def summary(scores: Sequence[Score]) -> list[str]:
    """The lines of the table and of the score."""
    table = align_columns([("program", "style", "verdict", "first", "proven", "mended", "named first"), *scores])
    clean = [score for score in scores if not score.first]
    planted = [score for score in scores if score.first in (RIGHT, WRONG)]
    proven = [score for score in planted if score.proven]
    mended = [score for score in planted if score.mended]
    counts = (
        (sum(score.verdict == RIGHT for score in scores), len(scores), "verdicts right"),
        (sum(score.first == RIGHT for score in planted), len(planted), "causes named first"),
        (sum(score.first == RIGHT for score in proven), len(proven), "proven causes right"),
        (sum(score.mended == RIGHT for score in mended), len(mended), "programs reproducible once that line is mended"),
        (sum(score.verdict == WRONG for score in clean), len(clean), "false alarms"),
    )
    return [*table, "", *(f"{count} of {most} {what}" for count, most, what in counts if most)]


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
            # `libraries` is a list of names, or a text such as "keras (jax backend)".
            libraries = re.findall(r"[\w-]+", str(packed.program["libraries"]))
            needs = [MODULES.get(library, library.replace("-", "_")) for library in libraries if library != "backend"]
            absent = [module for module in needs if importlib.util.find_spec(module) is None]
            if absent or (options.only and name not in options.only):
                print(f"{name}: not run {', '.join(absent)}", file=sys.stderr)
                continue
            report = checked(packed)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{name}.json").write_text(json.dumps(report, indent=1))
            scores.append(scored(packed, report))
            print(" ".join(scores[-1]), file=sys.stderr, flush=True)
    print("\n".join(summary(scores)))


if __name__ == "__main__":
    main()
