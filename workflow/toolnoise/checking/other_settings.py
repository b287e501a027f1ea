"""Run a program in ways that should not matter: more threads, other workers, another number of processes.

Each way is run once and compared bit by bit with the unchanged program. If bits differ, the way is run again, and both
are run with higher precision, if the program can. Then a difference by rounding alone shrinks by orders of magnitude,
but not one by another program. Rounding changes no shape, and with higher precision hardly an integer. With another
number of processes, masks and orders may rightly differ. Then the program must be the same up to rounding without its
draws, and with them it may differ by at most twice (MOST_OF_A_SEED) the effect of another seed.
"""

import functools
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base import command_words
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import align_columns
from toolnoise.base.times import is_time
from toolnoise.checking import differences, program_text
from toolnoise.checking.differences import Difference
from toolnoise.checking.outcome import READERS, Outcome
from toolnoise.checking.trial_runs import TrialRuns

EQUAL, ROUNDING, DRAWS, OTHER, UNDECIDED = "equal", "rounding", "other draws", "another program", "undecided"
# The share of a single-precision difference that remains in double precision: at most SHRUNK by rounding, at least KEPT
# by another program. The ratio of the two precisions is 2e-9; training amplifies both differences alike.
SHRUNK, KEPT = 1e-3, 1e-1
# The largest difference by other draws, as a multiple of the difference by another seed of these draws.
MOST_OF_A_SEED = 2.0
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# Options for the batch size.
BATCHES = (
    *("--batch-size", "--batch", "--train-batch-size", "--micro-batch-size", "--per-device-batch-size"),
    "--per-device-train-batch-size",
)


class Way(NamedTuple):
    """A way to run a program: its name, the whole command, and environment variables.

    `instead` is the same way for a program whose batch-size option counts the examples of one process, not of the whole
    batch.
    """

    name: str
    words: list[str]
    variables: dict[str, str]
    instead: "Way | None" = None


class Asked(NamedTuple):
    """The ways to try, words that raise the precision, and words that switch draws off."""

    ways: Sequence[Way] = ()
    higher: Sequence[str] = ()
    without_draws: Sequence[str] = ()


def ways_asked_for(
    words: Sequence[str], varied: Sequence[str], worlds: Sequence[str], higher: str, without_draws: str
) -> Asked:
    """The ways in a command line: each `NAME: [VARIABLE=VALUE ...] [WORD ...]`, and further numbers of processes."""
    start = torchrun_command(words, worlds[0]) if worlds else list(words)
    found = [_varied(start, text) for text in varied]
    found += [_of_world(words, worlds[0], number) for number in worlds[1:]]
    names = [way.name for way in found]
    for name in names:
        if names.count(name) > 1:
            raise BadArgument("vary", f"found {name!r} twice", "each name once")
    return Asked(
        found,
        command_words.split_command(higher, "--higher") if higher else [],
        command_words.split_command(without_draws, "--without-draws") if without_draws else [],
    )


def _of_world(words: Sequence[str], first: str, number: str) -> Way:
    """A way with another number of processes; if the program has a batch-size option, `instead` sets it per process."""
    way = Way(f"world {number}", torchrun_command(words, number), {})
    # The program's own spelling, with hyphens or underscores.
    options = program_text.options_of(program_text.program_files(words, Path()))
    option = next((own for own in options if program_text.canonical_option(own) in BATCHES), "")
    size = _value(option, words) or options.get(option, "")
    if not size.isdigit() or int(size) * int(first) % int(number):
        return way
    more = [option, str(int(size) * int(first) // int(number))]
    return way._replace(instead=way._replace(name=f"{way.name} ({' '.join(more)})", words=[*way.words, *more]))


def _value(option: str, words: Sequence[str]) -> str:
    """The last value of an option among words; empty if it has none there."""
    joined = [word.partition("=")[2] for word in words if option and word.startswith(f"{option}=")]
    return ["", *joined, *(value for word, value in pairwise(words) if word == option)][-1]


def _varied(words: Sequence[str], text: str) -> Way:
    name, separator, rest = text.partition(":")
    parts = shlex.split(rest)
    if not (name.strip() and separator and parts):
        raise BadArgument("vary", f"found {text!r}", "NAME: VARIABLE=VALUE, or NAME: --option value")
    count = next((place for place, part in enumerate(parts) if not VARIABLE.match(part)), len(parts))
    variables = dict(part.split("=", 1) for part in parts[:count])
    more = command_words.require_words(parts[count:]) if parts[count:] else []
    return Way(name.strip(), [*words, *more], variables)


def numbers_of_processes(text: str | None) -> list[str]:
    """Numbers of processes; the unchanged program runs with the first."""
    found = (text or "").split(",") if text else []
    for number in found:
        if not re.fullmatch("[1-9][0-9]?", number):
            raise BadArgument("world", f"found {number!r}", "numbers of processes, such as 1,2,4")
    return found


def torchrun_command(words: Sequence[str], number: str) -> list[str]:
    """A command that starts a Python program as several processes on this machine."""
    if not Path(words[0]).name.startswith("python"):
        raise BadArgument("world", f"found the program {words[0]!r}", "python SCRIPT ...")
    return [words[0], "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", number, *words[1:]]


class Gap(NamedTuple):
    """How far two outcomes are apart: the largest difference of floats, if both have any, and other differences.

    `integers` counts the different elements of integer arrays, by name; `reshaped` arrays differ in shape or type;
    `unread` are different files whose numbers are not read, and arrays that only one outcome has.
    """

    largest: float | None
    integers: dict[str, int]
    reshaped: list[str]
    unread: list[str]


class Break(NamedTuple):
    """The result of a way: the verdict, the differences, and the largest difference in each precision, if known.

    `again` is whether a second run of this way has the same bits; None without a second run.
    """

    name: str
    verdict: str
    difference: Difference
    single: float | None = None
    double: float | None = None
    again: bool | None = None
    why: str = ""

    @property
    def passed(self) -> bool:
        """Whether the program is the same up to rounding or draws; an undecided way passes if it changes no answer."""
        if self.verdict == UNDECIDED:
            return self.difference.changed == 0
        return self.verdict != OTHER


# Returns the outcome of the unchanged program with further words; each such program is run once.
Reference = Callable[[tuple[str, ...]], Outcome]


def check(runs: TrialRuns, asked: Asked, control: Outcome, seeded: Mapping[str, float | None]) -> list[Break]:
    """Run each way, and again if its bits differ; `seeded` is the largest difference by another seed of each source."""

    @functools.cache
    def reference(more: tuple[str, ...]) -> Outcome:
        return runs.run(_file("unchanged", *more), words=[*runs.words, *more]) if more else control

    drawn = [size for source, size in seeded.items() if source != "init" and size is not None]
    most = MOST_OF_A_SEED * max(drawn) if drawn else None
    found = []
    for way in asked.ways:
        one = _tried(runs, way, asked, reference, most)
        if not one.passed and way.instead:
            other = _tried(runs, way.instead, asked, reference, most)
            one = other if other.passed else one
        found.append(one)
    return found


def _tried(runs: TrialRuns, way: Way, asked: Asked, reference: Reference, most: float | None) -> Break:
    def run(*more: str, name: str = "") -> Outcome:
        return runs.run(_file(way.name, name, *more), words=[*way.words, *more], more=way.variables)

    higher, off = tuple(asked.higher), tuple(asked.without_draws)
    control, outcome = reference(()), run()
    difference = differences.find_differences(control, outcome)
    if not difference.files:
        return Break(way.name, EQUAL, difference)
    again = not differences.find_differences(outcome, run(name="again")).files
    apart = gap_between(control, outcome)
    found = Break(way.name, verdict_on_precision(apart, None), difference, apart.largest, again=again)
    if apart.reshaped:
        return found._replace(why=f"another shape or type: {', '.join(apart.reshaped)}")
    if higher:
        more = gap_between(reference(higher), run(*higher))
        found = found._replace(verdict=verdict_on_precision(apart, more), double=more.largest, why=_left(more, higher))
    if not off or found.verdict == ROUNDING:
        return found
    plain, without = reference(off), run(*off)
    if differences.find_differences(plain, without).files:
        exact = gap_between(reference((*off, *higher)), run(*off, *higher)) if higher else None
        left = verdict_on_precision(gap_between(plain, without), exact)
        if left != ROUNDING:
            why = f"without its draws ({' '.join(off)}) it differs, too"
            return found._replace(verdict=OTHER if left == OTHER else found.verdict, why=why)
    if most is None:
        return found._replace(verdict=DRAWS, why="no seed of its draws is named: how far one goes is not known")
    if found.single is None or found.single > most:
        return found._replace(
            verdict=OTHER, why=f"its draws go further than {most:.3g}, twice as far as another seed's"
        )
    return found._replace(verdict=DRAWS, why="")


def _file(*words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", " ".join(words)).strip("-")


def verdict_on_precision(single: Gap, double: Gap | None) -> str:
    """The verdict on a difference in single precision, from the difference that remains in double precision."""
    if single.reshaped or (double and double.reshaped):
        return OTHER
    if double is None:
        return UNDECIDED
    found = {_shrunk(sum(single.integers.values()), sum(double.integers.values()))}
    found.add(_shrunk(single.largest, double.largest) if single.largest and double.largest is not None else UNDECIDED)
    if double.integers or double.unread:
        found.add(UNDECIDED)
    return next(each for each in (OTHER, UNDECIDED, ROUNDING) if each in found)


def _shrunk(single: float, double: float) -> str:
    if double <= SHRUNK * single:
        return ROUNDING
    return OTHER if double >= KEPT * single else UNDECIDED


def _left(double: Gap, higher: Sequence[str]) -> str:
    """A note on integer arrays and unread files that still differ in double precision; empty if none do."""
    names = [*double.integers, *double.unread]
    return f"with {' '.join(higher)}, these differ, too: {', '.join(names)}" if names else ""


def gap_between(outcome: Outcome, other: Outcome) -> Gap:
    """How far two outcomes are apart; times do not count, and NaNs are equal."""
    arrays, others = dict(_arrays(outcome)), dict(_arrays(other))
    pairs = {name: (a, others[name]) for name, a in arrays.items() if name in others}
    reshaped = [name for name, (a, b) in pairs.items() if (a.shape, a.dtype) != (b.shape, b.dtype)]
    floats, integers = [], {}
    for name, (a, b) in pairs.items():
        if name in reshaped:
            continue
        if a.dtype.kind == "f":
            differs = differences.where_unequal(a, b)
            floats.append(np.abs(a[differs].astype(np.float64) - b[differs]).max(initial=0))
        elif changed := int(np.count_nonzero(a != b)):
            integers[name] = changed
    unread = [
        name
        for name, file in outcome.files.items()
        if not any(each == name or each.startswith(f"{name}/") for each in arrays)
        if differences.change_of_file(name, file, other.files[name])
    ]
    unread += [name for name in {**arrays, **others} if name not in pairs]
    return Gap(float(np.max(floats)) if floats else None, integers, reshaped, unread)


def _arrays(outcome: Outcome) -> Iterator[tuple[str, np.ndarray]]:
    """All numbers of an outcome except times, by name."""
    yield from outcome.arrays.items()
    for name, path in outcome.files.items():
        # Only numbers that can be read without running code from the file.
        with suppress(KeyError, BadInput):
            read = READERS[Path(name).suffix](path)
            parts = read.items() if isinstance(read, dict) else [("", read)]
            yield from ((f"{name}/{part}".removesuffix("/"), values) for part, values in parts)
    yield from ((name, np.array(value)) for name, value in outcome.numbers.items() if not is_time(name))


def as_text(breaks: Sequence[Break], noise: int | None, without_draws: Sequence[str]) -> list[str]:
    """A table with a row for each way, and the details of ways that do not pass."""
    heads = ("another way", "verdict", "answers changed", "of a new seed's", "largest", "more precise", "run again")
    rows = [heads]
    for each in breaks:
        cells = ("",) * 5
        if each.difference.files:
            sizes = map(differences.number_text, (each.single, each.double))
            again = {True: "equal", False: "differs", None: ""}[each.again]
            cells = (
                differences.share_of_predictions(each.difference),
                differences.of_noise(each.difference, noise),
                *sizes,
                again,
            )
        rows.append((each.name, each.verdict, *cells))
    lines = align_columns(rows)
    for each in breaks:
        if not each.passed:
            makes = "makes" if each.verdict == OTHER else "may make"
            lines += [
                f"{each.name} {makes} another program:",
                *(f"  {part}" for part in differences.parts_text(each.difference)),
            ]
        if each.why:
            lines.append(f"{each.name}: {each.why}.")
    verdicts = {each.verdict for each in breaks}
    if UNDECIDED in verdicts:
        lines.append(
            "Undecided: unless all of it runs in higher precision (--higher), a difference may be rounding or not."
        )
    if OTHER in verdicts and not without_draws:
        lines.append("If only masks or orders differ, it may be right: --without-draws='--dropout 0' tests it.")
    return lines
