"""The same program another way that should not matter: more threads, other workers, another number of processes.

Each way is run once and compared with the unchanged program bit by bit. Where bits differ, both are run once more with
higher precision, if the program can: a difference that only rounding makes shrinks with it by orders of magnitude, one
of another program does not.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import command_words
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import aligned
from toolnoise.checking import differences, program_text, reasons
from toolnoise.checking.differences import Difference
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.trial_runs import Runs

EQUAL, ROUNDING, OTHER, UNDECIDED = "equal", "rounding", "another program", "undecided"
# Of a difference in single precision, what rounding leaves in double precision, and what another program leaves. The
# ratio of the two precisions is 2e-9; training makes the smaller difference grow as much as the larger one.
SHRUNK, KEPT = 1e-3, 1e-1
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# What `--matrix` tries of every program, and what it tries if the program has one of these options.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ALWAYS = (
    *(f"threads {number}: {' '.join(f'{name}={number}' for name in THREADS)}" for number in (1, 2, 4)),
    *(f"hash seed {number}: PYTHONHASHSEED={number}" for number in (0, 1)),
)
OPTIONS = {
    "workers": (("--num-workers", "--workers", "--num_workers"), ("0", "2")),
    "evaluation batch": (("--eval-batch-size", "--eval-batch", "--test-batch-size", "--eval_batch_size"), ("7", "64")),
}


class Way(NamedTuple):
    """A way to run a program: its name, the whole command, and variables."""

    name: str
    words: list[str]
    variables: dict[str, str]


class Break(NamedTuple):
    """How a way ends: the verdict, what differs, and the largest difference in both precisions, if they are known."""

    name: str
    verdict: str
    difference: Difference
    single: float | None = None
    double: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the program is the same, up to rounding; what is undecided passes if it changes no answer."""
        return self.verdict in (EQUAL, ROUNDING) or (self.verdict == UNDECIDED and self.difference.changed == 0)


def ways(words: Sequence[str], varied: Sequence[str], worlds: Sequence[str], *, matrix: bool) -> list[Way]:
    """The ways of a command line: `NAME: [VARIABLE=VALUE ...] [WORD ...]`, and further numbers of processes."""
    asked = [*(_matrix(words) if matrix else ()), *varied]
    start = torchrun(words, worlds[0]) if worlds else words
    found = [_way(start, text) for text in asked]
    found += [Way(f"world {number}", torchrun(words, number), {}) for number in worlds[1:]]
    names = [way.name for way in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput("command line", "--vary", f"found {name!r} twice", "each name once")
    return found


def _matrix(words: Sequence[str]) -> list[str]:
    """The ways that a program has for certain, and those that its text shows options for."""
    lines = [line for source in program_text.sources(words, Path()) for line in source.lines]
    found = list(ALWAYS)
    for knob, (options, values) in OPTIONS.items():
        quoted = {option: re.compile(f"[\"']{option}[\"']") for option in options}
        known = next((option for option, spelled in quoted.items() if any(map(spelled.search, lines))), "")
        found += [f"{knob} {value}: {known} {value}" for value in values if known]
    return found


def _way(words: Sequence[str], text: str) -> Way:
    name, separator, rest = text.partition(":")
    parts = shlex.split(rest)
    if not (name.strip() and separator and parts):
        raise BadInput("command line", "--vary", f"found {text!r}", "NAME: VARIABLE=VALUE, or NAME: --option value")
    count = next((place for place, part in enumerate(parts) if not VARIABLE.match(part)), len(parts))
    variables = dict(part.split("=", 1) for part in parts[:count])
    more = command_words.required(parts[count:]) if parts[count:] else []
    return Way(name.strip(), [*words, *more], variables)


def worlds(text: str | None) -> list[str]:
    """Numbers of processes; what is unchanged has the first."""
    found = (text or "").split(",") if text else []
    for number in found:
        if not re.fullmatch("[1-9][0-9]?", number):
            raise BadInput("command line", "--world", f"found {number!r}", "numbers of processes, such as 1,2,4")
    return found


def torchrun(words: Sequence[str], number: str) -> list[str]:
    """A command that starts a Python program as several processes on this machine."""
    if not Path(words[0]).name.startswith("python"):
        raise BadInput("command line", "--world", f"found the program {words[0]!r}", "python SCRIPT ...")
    return [words[0], "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", number, *words[1:]]


def check(runs: Runs, asked: Sequence[Way], control: Outcome, higher: Sequence[str]) -> list[Break]:
    """Run each way once, and once more with higher precision where its bits are other ones."""
    found, reference = [], None
    for way in asked:
        outcome = runs.varied(_file(way.name), way.words, way.variables)
        difference = differences.between(control, outcome)
        if not difference.files:
            found.append(Break(way.name, EQUAL, difference))
            continue
        single, double = _largest(control, outcome), None
        if higher:
            reference = reference or runs.varied("higher", [*runs.words, *higher], {})
            again = runs.varied(_file(f"{way.name} higher"), [*way.words, *higher], way.variables)
            double = _largest(reference, again)
        found.append(Break(way.name, verdict(single, double), difference, single, double))
    return found


def _file(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def verdict(single: float | None, double: float | None) -> str:
    """What a difference in single precision is, from what is left of it in double precision."""
    if not single or double is None:
        return UNDECIDED
    if double <= SHRUNK * single:
        return ROUNDING
    return OTHER if double >= KEPT * single else UNDECIDED


def _largest(outcome: Outcome, other: Outcome) -> float | None:
    """The largest difference of a number, among logits, values, weights, files of numbers, and metrics but times."""
    pairs = [(outcome.logits, other.logits)]
    if outcome.predictions is not None and outcome.predictions.dtype.kind == "f":
        pairs.append((outcome.predictions, other.predictions))
    pairs += [(values, (other.weights or {}).get(name)) for name, values in (outcome.weights or {}).items()]
    pairs += [(_numbers(name, outcome.files[name]), _numbers(name, other.files[name])) for name in outcome.files]
    metrics = {**(outcome.metric or {}), **outcome.printed}, {**(other.metric or {}), **other.printed}
    pairs += [
        (np.array(value), np.array(metrics[1].get(name, np.nan)))
        for name, value in metrics[0].items()
        if not differences.is_time(name)
    ]
    sizes = [
        float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max())
        for a, b in pairs
        if a is not None and b is not None and a.shape == b.shape and a.size and a.dtype.kind == "f"
    ]
    return max(sizes, default=None)


def _numbers(name: str, path: Path) -> np.ndarray | None:
    return np.load(path, allow_pickle=False) if name.endswith(".npy") else None


def as_text(breaks: Sequence[Break], noise: int | None) -> list[str]:
    """A row for each way."""
    rows = [("another way", "verdict", "answers changed", "of a new seed's", "largest difference", "higher precision")]
    for each in breaks:
        cells = ("", "", "", "")
        if each.difference.files:
            sizes = ("" if size is None else reasons.number(size) for size in (each.single, each.double))
            cells = (reasons.share(each.difference), reasons.of_noise(each.difference, noise), *sizes)
        rows.append((each.name, each.verdict, *cells))
    lines = aligned(rows)
    for each in breaks:
        if each.verdict == OTHER:
            lines += [f"{each.name} makes another program:", *(f"  {part}" for part in reasons.parts(each.difference))]
    if any(each.verdict == UNDECIDED for each in breaks):
        lines.append("Undecided: without higher precision (--higher) a difference may be rounding or not.")
    return lines


def as_json(breaks: Sequence[Break]) -> list[dict[str, Any]]:
    """The rows for programs."""
    return [{**each._asdict(), "difference": each.difference._asdict(), "passed": each.passed} for each in breaks]
