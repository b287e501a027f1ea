"""What differs first after a program went on: the first line that it prints, the first checkpoint that it leaves."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.checking import differences, state_paths, tensors

# Of PyTorch, read by the program's own interpreter, which has it.
PICKLED = (".pt", ".pth", ".ckpt", ".bin")
MOST_SECONDS, MOST_SIGNS = 600, 120  # to read two files; of a line
NUMBER = r"[-+]?\d+\.\d*(?:e[-+]?\d+)?|nan"
TIMES = re.compile(r"\d+(:\d\d)+(\.\d+)?|[\d.]+ ?(ms|us|µs|s|it/s|s/it)(/\w+)?\b")
PAIR = re.compile(rf"([A-Za-z_]\w*)['\"]?\s*[:=]\s*(['\"]?)(?:{NUMBER})\2")
# By the name of a file or of the first key in it.
GROUPS = (
    ("random state", r"rng|random|generator|^(torch|numpy|python|cuda)$"),
    ("optimiser", r"optim"),
    ("scheduler", r"sched"),
    ("scaler", r"scaler"),
    ("average of the weights", r"ema$|averag"),
    ("weights", r"state_dict|model|net|weights"),
    ("loops", r"loops|epoch|step|batch"),
)


class Line(NamedTuple):
    """A line of a run that went on, and that of the whole run."""

    resumed: str
    whole: str


class States(NamedTuple):
    """The first checkpoint that differs, and in it the paths of keys that do, by what a person calls them."""

    checkpoint: str
    groups: dict[str, list[str]]


def line(whole: str, resumed: str) -> Line | None:
    """The first line of a run that went on that has other numbers than in the whole run; times do not count.

    Both runs end at the same end, so lines that are alike but for their numbers are paired from the last one on.
    """
    lines = [[text.strip() for text in log.replace("\r", "\n").splitlines()] for log in (whole, resumed)]
    by_shape: dict[str, list[str]] = {}
    for text in lines[0]:
        by_shape.setdefault(_shape(text), []).append(text)
    first = None
    for text in reversed(lines[1]):
        if (alike := by_shape.get(_shape(text))) and _untimed(text) != _untimed(other := alike.pop()):
            first = Line(text, other)
    return first


def _shape(text: str) -> str:
    return re.sub(NUMBER, "#", _untimed(text))


def _untimed(text: str) -> str:
    """A line without what looks like a time."""
    kept = PAIR.sub(lambda match: "" if differences.is_time(match[1]) else match[0], text)
    return TIMES.sub("", kept)


def states(places: Sequence[tuple[Path, Path]], since: float, python: str) -> States | None:
    """The first checkpoint written since then that differs from that of the whole run, as far as it can be read."""
    for name, files in _checkpoints(places, since):
        groups: dict[str, list[str]] = {}
        for file, other in files:
            for path in _unequal(file, other, python):
                groups.setdefault(_group(file, path), []).append(path)
        if groups:
            return States(name, groups)
    return None


def _checkpoints(places: Sequence[tuple[Path, Path]], since: float) -> Iterator[tuple[str, list[tuple[Path, Path]]]]:
    """Files that both runs have, by checkpoint, in the order in which the whole run wrote them."""
    found: dict[str, list[tuple[Path, Path]]] = {}
    for whole, resumed in places:
        files = [whole] if whole.is_file() else [path for path in whole.rglob("*") if path.is_file()]
        for file in sorted(files, key=lambda file: (file.stat().st_mtime_ns, file)):
            within = file.relative_to(whole)
            other = resumed / within
            if other.is_file() and other.stat().st_mtime >= since:
                found.setdefault(str(resumed.name / Path(*within.parts[:1])), []).append((file, other))
    yield from found.items()


def _unequal(file: Path, other: Path, python: str) -> list[str]:
    """The paths of the keys that differ; none if a file cannot be read without running code of it."""
    if file.suffix in tensors.READERS:
        try:
            arrays = [tensors.READERS[file.suffix](each) for each in (file, other)]
        except BadInput:
            return []
        return state_paths.unequal(*arrays)
    if file.suffix not in PICKLED:
        return []
    interpreter = python if "python" in Path(python).name else sys.executable
    # Not by its path: the folder that it lies in is none to import from.
    command = [interpreter, "-W", "ignore", "-c", Path(state_paths.__file__).read_text(), file, other]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS)
        return json.loads(done.stdout) if done.returncode == 0 else []
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []


def _group(file: Path, path: str) -> str:
    # A checkpoint's own name has the number of its epoch or step in it.
    for name in (file.stem if "=" not in file.stem else "", path.partition("/")[0]):
        for group, pattern in GROUPS:
            if re.search(pattern, name.lower()):
                return group
    return "other"


def as_text(first: Line | None, states: States | None) -> list[str]:
    """Both for people."""
    told = []
    if first:
        told += [f"printed first: {first.resumed[:MOST_SIGNS]}", f"in the whole run: {first.whole[:MOST_SIGNS]}"]
    if states:
        told.append(f"first checkpoint that differs: {states.checkpoint}")
        told += [f"  {group}: {len(paths)} values, such as {paths[0]}" for group, paths in states.groups.items()]
    return told
