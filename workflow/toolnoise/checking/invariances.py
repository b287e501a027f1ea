"""The same program another way that should not matter: more threads, other workers, another number of processes.

Each way is run once and compared with the unchanged program bit by bit. Where bits differ, it is run again as it is,
and both are run with higher precision, if the program can: a difference that only rounding makes shrinks with it by
orders of magnitude, one of another program does not. Masks and orders may rightly be other ones at another number of
processes: then the program is the same up to rounding with its draws switched off, and with them it differs by no more
than with another seed of theirs.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import aligned
from toolnoise.checking import causes, differences, layouts
from toolnoise.checking.causes import LIKELY, Suspect
from toolnoise.checking.differences import Difference
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.trial_runs import TrialRuns
from toolnoise.checking.ways import Asked, Way

EQUAL, ROUNDING, DRAWS, OTHER, UNDECIDED = "equal", "rounding", "other draws", "another program", "undecided"
PRECISION, NOT_RUN = "other precision", "does not run"
# Of a difference in single precision, what rounding leaves in double precision, and what another program leaves. The
# ratio of the two precisions is 2e-9; training makes the smaller difference grow as much as the larger one.
SHRUNK, KEPT = 1e-3, 1e-1
# Other draws make no larger difference than this, as a multiple of what another seed of theirs makes.
MOST_OF_A_SEED = 2.0


class Break(NamedTuple):
    """How a way ends: the verdict, what differs, and the largest difference in both precisions, if they are known.

    `again` is whether a second run of it has the same bits, if one was made. `places` may be at fault.
    """

    name: str
    verdict: str
    difference: Difference
    single: float | None = None
    double: float | None = None
    again: bool | None = None
    why: str = ""
    places: Sequence[Suspect] = ()

    @property
    def passed(self) -> bool:
        """Whether the program is the same, up to rounding; what is undecided passes if it changes no answer."""
        if self.verdict == UNDECIDED:
            return self.difference.changed == 0
        return self.verdict != OTHER


# The outcome of words more than those of the unchanged program; it is run once.
Reference = Callable[[tuple[str, ...]], Outcome]


def check(
    runs: TrialRuns, asked: Asked, control: Outcome, seeded: Mapping[str, float | None], text: Sequence[SourceFile]
) -> list[Break]:
    """Run each way, and again where its bits are other ones; `seeded` is how far another seed of each source goes."""

    @functools.cache
    def reference(more: tuple[str, ...]) -> Outcome:
        return runs.run(_file("unchanged", *more), words=[*runs.words, *more]) if more else control

    drawn = [size for source, size in seeded.items() if source != "init" and size is not None]
    most = MOST_OF_A_SEED * max(drawn) if drawn else None
    found = []
    for way in asked.ways:
        try:
            one = _tried(runs, way, asked, reference, most)
        except BadInput as error:
            if not way.found:
                raise
            one = Break(way.name, NOT_RUN, differences.between(control, control), why=str(error))
        if not one.passed and way.instead:
            other = _tried(runs, way.instead, asked, reference, most)
            one = other if other.passed else one
        if not one.passed:
            one = one._replace(places=layouts.faults(text, way.knob))
        found.append(one)
    return found


def _tried(runs: TrialRuns, way: Way, asked: Asked, reference: Reference, most: float | None) -> Break:
    def run(*more: str, name: str = "") -> Outcome:
        return runs.run(_file(way.name, name, *more), words=[*way.words, *more], more=way.variables)

    control, outcome = reference(()), run()
    difference = differences.between(control, outcome)
    if not difference.files:
        return Break(way.name, EQUAL, difference)
    again = not differences.between(outcome, run(name="again")).files
    found = Break(way.name, PRECISION, difference, largest(control, outcome), again=again)
    if way.knob == "precision":
        return found
    higher, off = tuple(asked.higher), tuple(asked.without_draws)
    if higher:
        found = found._replace(double=largest(reference(higher), run(*higher)))
    found = found._replace(verdict=verdict(found.single, found.double))
    if not off or found.verdict == ROUNDING:
        return found
    plain, without = reference(off), run(*off)
    if differences.between(plain, without).files:
        exact = largest(reference((*off, *higher)), run(*off, *higher)) if higher else None
        left = verdict(largest(plain, without), exact)
        if left != ROUNDING:
            why = f"without its draws ({' '.join(off)}) it differs, too"
            return found._replace(verdict=OTHER if left == OTHER else found.verdict, why=why)
    if most is None:
        return found._replace(verdict=DRAWS, why="no seed of its draws is named: how far one goes is not known")
    if found.single is None or found.single > most:
        return found._replace(
            verdict=OTHER, why=f"its draws go further than {most:.3g}, twice as far as another seed's"
        )
    return found._replace(verdict=DRAWS)


def _file(*words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", " ".join(words)).strip("-")


def verdict(single: float | None, double: float | None) -> str:
    """What a difference in single precision is, from what is left of it in double precision."""
    if not single or double is None:
        return UNDECIDED
    if double <= SHRUNK * single:
        return ROUNDING
    return OTHER if double >= KEPT * single else UNDECIDED


def largest(outcome: Outcome, other: Outcome) -> float | None:
    """The largest difference of a number, among logits, values, weights, files of numbers, and metrics but times."""
    pairs = [(outcome.logits, other.logits)]
    if outcome.predictions is not None and outcome.predictions.dtype.kind == "f":
        pairs.append((outcome.predictions, other.predictions))
    if outcome.losses is not None:
        pairs.append((outcome.answers, other.answers))
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


def as_text(breaks: Sequence[Break], noise: int | None, without_draws: Sequence[str]) -> list[str]:
    """A row for each way, and what is behind those that are other programs."""
    heads = ("another way", "verdict", "answers changed", "of a new seed's", "largest", "more precise")
    rows = [(*heads, "run again", "likely line")]
    for each in breaks:
        cells = ("",) * 5
        if each.difference.files:
            sizes = map(differences.size, (each.single, each.double))
            again = {True: "equal", False: "differs", None: ""}[each.again]
            cells = (differences.share(each.difference), differences.of_noise(each.difference, noise), *sizes, again)
        place = next((f"{place.file}:{place.line}" for place in each.places if place.weight >= LIKELY), "")
        rows.append((each.name, each.verdict, *cells, place))
    lines = aligned(rows)
    for each in breaks:
        if not each.passed:
            makes = "makes" if each.verdict == OTHER else "may make"
            lines += [
                f"{each.name} {makes} another program:",
                *(f"  {part}" for part in differences.parts(each.difference)),
            ]
            lines += causes.places(each.places)
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


def as_json(breaks: Sequence[Break]) -> list[dict[str, Any]]:
    """The rows for programs."""
    return [
        {
            **each._asdict(),
            "difference": each.difference._asdict(),
            "passed": each.passed,
            "places": list(map(causes.place, each.places)),
        }
        for each in breaks
    ]
