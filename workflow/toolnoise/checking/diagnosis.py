"""Why a program is not reproducible, or ignores a seed: observed, proven by an experiment where one can be made.

An experiment gives what is proven. What was only seen in two observed runs, or what the text shows, is possible.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.checking import causes, differences, experiments, first_difference, program_text, trial_runs
from toolnoise.checking.causes import Place
from toolnoise.checking.differences import Difference
from toolnoise.checking.experiments import Experiments, called
from toolnoise.checking.first_difference import Root
from toolnoise.checking.observed_runs import Event, Observed, ObservedRuns
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.trial_runs import LeftFiles, TrialRuns

NOT_OBSERVED = "Not observed: no part of it is run by Python, or by one that ignores PYTHONPATH (-I, -E, -S)."
FAILED = "Not observed: the program fails when it is observed:"
ALIKE = "The observed runs end equal: the runs differ only sometimes, or observing hides the difference."
ELSEWHERE = "All calls that were observed agree: what differs is in no call of the program's own Python code."
OBSERVES = "`toolnoise check -- COMMAND` observes the program and finds the cause."
MOST_POSSIBLE, MOST_PLACES = 5, 3
FEW_LEFT = 3
SEEDS = re.compile(rf"\{{({'|'.join(ALGORITHMIC)})\}}")
# Calls that ask for a file, or read it.
READS = re.compile(r"(^|\.)(open|load\w*|read\w*|exists|is_file|is_dir|stat|getmtime|glob|listdir|scandir|iterdir)$")


class Diagnosis(NamedTuple):
    """What an experiment proves, what is only possible, and what was not observed."""

    proven: list[Place]
    possible: list[Place]
    notes: list[str]


def diagnose(
    runs: TrialRuns,
    outcomes: Sequence[Outcome],
    text: Sequence[SourceFile],
    left: LeftFiles,
) -> Diagnosis:
    """Observe two runs, and make the experiments that may prove what makes them differ.

    `outcomes` are those of the unchanged runs so far, `left` the files that the first one has left.
    """
    runs.say_what_follows(experiments.MOST_RUNS - runs.started)
    signs = program_text.signs(text, runs.words)
    observed = ObservedRuns(runs)
    one = observed.run()
    other = observed.run() if one else None
    if one is None or other is None:
        return Diagnosis([], signs[:MOST_POSSIBLE], [f"{FAILED} {observed.failure}"])
    if first := _left(runs, outcomes, one, other, left):
        return Diagnosis([first], [], [])
    if one.is_empty or other.is_empty:
        return Diagnosis([], signs[:MOST_POSSIBLE], [NOT_OBSERVED])
    seen = first_difference.shared_generators(one, other)
    seen += [*first_difference.roots(one, other), *first_difference.orders(one, other)]
    if not differences.between(one.outcome, other.outcome).files:
        likely = [root for root in seen if causes.kind_of(root.name) not in causes.USUAL]
        return Diagnosis([], _first([*signs, *_places(likely, text, left)]), [ALIKE])
    proof = Experiments(observed, [*outcomes, one.outcome, other.outcome]).proof(one, other)
    if proof:
        evidence, (file, line) = proof.evidence, proof.roots[0].at if proof.roots else ("", 0)
        loop = _behind(proof.roots, seen)
        inner = _within(proof.roots, seen)
        elsewhere = evidence.replace(" here ", f" in {file}:{line} ")
        if loop:
            evidence = f"{elsewhere} They are ready in another order here."
        elif inner:
            evidence = f"{elsewhere} Within that call, {_seen(inner[0]).removeprefix('Seen: ')}"
        proven = _places(loop or inner or proof.roots, text, left, evidence)
        if proven:
            # Another program, or what it has left, may be the work of a script that Python does not run.
            is_others = proven[0].cause in ("read", "program")
            return Diagnosis(proven, signs[:MOST_POSSIBLE] if is_others else [], [])
        return Diagnosis([], _first([*_places(seen, text, left), *signs]), [proof.evidence])
    # An order says more than what is only the clock.
    usual = [root for root in seen if root.kind == "result" and causes.kind_of(root.name) in causes.USUAL]
    places = _places([root for root in seen if root not in usual], text, left)
    return Diagnosis([], _first([*places, *signs, *_places(usual, text, left)]), [] if seen else [ELSEWHERE])


def _behind(roots: Sequence[Root], seen: Sequence[Root]) -> list[Root]:
    """The loop that hands on futures as they are ready, where the result of one is at fault: that is its order."""
    if len(roots) != 1 or not roots[0].name.endswith("Future.result"):
        return []
    return [root for root in seen if causes.kind_of(root.name) == "ready" and root.time < roots[0].time][:1]


def _within(roots: Sequence[Root], seen: Sequence[Root]) -> list[Root]:
    """The first place that differs by itself while a call that is at fault runs: it is nearer. Orders come first."""
    if len(roots) != 1:
        return []
    inner = [root for root in seen if roots[0].encloses(root) and not experiments.is_usual(root)]
    return sorted(inner, key=lambda root: (root.kind != "order", root.time))[:1]


def unobserved(text: Sequence[SourceFile], words: Sequence[str]) -> Diagnosis:
    """What the text shows of a program that nobody observed."""
    return Diagnosis([], program_text.signs(text, words)[:MOST_POSSIBLE], [OBSERVES])


def _left(
    runs: TrialRuns, outcomes: Sequence[Outcome], one: Observed, other: Observed, left: LeftFiles
) -> Place | None:
    """The place that reads what an earlier run has left, if a run without it ends like the first one."""
    if not left.names or differences.between(one.outcome, other.outcome).files:
        return None
    again = left.run_without(runs)
    if again is None or differences.between(outcomes[0], again).files:
        return None
    # Which of a few it is: what was written last may come from the others.
    for name in sorted(left.names, key=_written, reverse=True) if 1 < len(left.names) <= FEW_LEFT else ():
        single = LeftFiles([name])
        again = single.run_without(runs)
        if again is not None and not differences.between(outcomes[0], again).files:
            left = single
            break
    named = [event for event in one.events if any(left.has(text) for text in event.texts)]
    event = next((each for each in named if READS.search(each.name)), next(iter(named), None))
    says = (
        f"By experiment: without {trial_runs.few_of(left.names)}, which an earlier run left, a run ends like the first."
    )
    if event is None:
        return causes.place("left", left.names[0], 0, "", says)
    file, line, *_ = event.place.split(":")
    return causes.place("left", file, int(line), code_of(file, int(line)), says)


def _written(name: str) -> float:
    path = Path(name)
    return path.stat().st_mtime if path.exists() else 0


def _first(places: Sequence[Place]) -> list[Place]:
    unique = {(place.file, place.line): place for place in reversed(places)}
    return [place for place in dict.fromkeys(places) if unique[place.file, place.line] == place][:MOST_POSSIBLE]


def _places(roots: Sequence[Root], text: Sequence[SourceFile], left: LeftFiles, evidence: str = "") -> list[Place]:
    return [_place(root, text, left, evidence or _seen(root)) for root in roots]


def _place(root: Root, text: Sequence[SourceFile], left: LeftFiles, evidence: str) -> Place:
    file, line = root.at
    generator = root.generator
    if generator:
        kind = "unseeded"
        generator = "keras" if generator == "random" and root.name.startswith("keras.") else generator
    elif _reads_a_file(root):
        kind = "left" if any(map(left.has, root.texts)) else "read"
    elif "folder" in root.marks:
        kind = "folder"
    elif root.kind == "order":
        kind = "shared" if root.apart else "order"
    else:
        kind = "set" if root.name == "iterate" or "set" in root.marks else causes.kind_of(root.name)
        if kind == "operation" and "temporary" in root.marks:
            kind = "name"
        elif kind == "operation":
            kind = "turns" if root.kind == "turns" else "left" if any(map(left.has, root.texts)) else kind
    return causes.place(kind, file, line, code_of(file, line, text), evidence, generator)


def _reads_a_file(root: Root) -> bool:
    """Whether a call gives the content of a file that it names; its time and place have kinds of their own."""
    is_plain = root.kind == "result" and causes.kind_of(root.name) == "operation"
    return is_plain and any(Path(text).is_file() for text in root.texts)


def _seen(root: Root) -> str:
    """What two observed runs have shown of a place."""
    name = called(root.name)
    if root.kind == "order":
        by = "threads come to" if root.apart else "the inputs come to"
        return f"Seen: {by} {name} in another order in each run."
    if root.kind == "generator":
        return f"Seen: the state of the generator of {root.generator} differed from the start, before {name} drew."
    if root.values != ("", ""):
        return f"Seen: for equal inputs {name} gave {root.values[0]} and {root.values[1]}."
    return f"Seen: for equal inputs {name} gave different results."


def code_of(file: str, line: int, text: Sequence[SourceFile] = ()) -> str:
    """The text of a line, from the files of the program."""
    lines = next((source.lines for source in text if source.file == file), None)
    if lines is None:
        try:
            lines = Path(file).read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return ""
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def lost_seeds(runs: TrialRuns, sources: Sequence[str], text: Sequence[SourceFile]) -> dict[str, list[Place]]:
    """Where a seed is lost that changes nothing: for each source, seedings that are the same whatever its seed."""
    if not sources:
        return {}
    runs.say_what_follows(1 + len(sources))
    observed = ObservedRuns(runs)
    control = observed.run()
    found = {}
    for source in sources if control else ():
        seeded = observed.run(source)
        events = fixed_seedings(control, seeded) if seeded else []
        if len(SEEDS.findall(" ".join(runs.words))) == 1:
            # A number in the text is often meant, such as that of the data.
            events.sort(key=_has_number)
        found[source] = [_fixed_place(event, source, text) for event in events[:MOST_PLACES]]
    return found


def _fixed_place(event: Event, source: str, text: Sequence[SourceFile]) -> Place:
    file, line, *_ = event.place.split(":")
    says = f"Seen: {called(event.name)} is the same whatever {{{source}}} is."
    return causes.place("fixed", file, int(line), code_of(file, int(line), text), says)


def fixed_seedings(control: Observed, seeded: Observed) -> list[Event]:
    """Seedings that another seed does not reach: first the last one before the first draw that is the same."""
    others = {(event.process, event.place, event.turn): event for event in seeded.events}
    seedings: list[Event] = []
    before = 0
    for event in control.events:
        other = others.get((event.process, event.place, event.turn))
        if other is None or _what(event) != _what(other):
            continue
        if causes.kind_of(event.name) == "generator" or "seed" in event.marks:
            seedings.append(event)
        elif seedings and not before and (event.drawn or event.owner == seedings[-1].out):
            before = len(seedings)
    last = max(0, (before or len(seedings)) - 1)
    first: dict[str, Event] = {}
    for event in seedings:
        first.setdefault(event.place, event)
    return sorted(first.values(), key=lambda event: event.place != seedings[last].place)


def _has_number(event: Event) -> bool:
    """Whether a seeding has a plain number in the text."""
    file, line, *_ = event.place.split(":")
    return bool(re.search(r"\(\s*((random_)?(seed|state)\s*=\s*)?[\d_]+\s*\)", code_of(file, int(line))))


def _what(event: Event) -> tuple:
    """What goes in and what comes out, the states of global generators among it."""
    return event.inputs, event.out, {name: after for name, (_, after) in event.drawn.items()}


def different(difference: Difference, why: Diagnosis) -> list[str]:
    """What differs between two runs that should be equal, and why."""
    lines = [f"Not reproducible: two runs with equal seeds differ in {', '.join(difference.files)}."]
    lines += [f"  {part}" for part in differences.parts(difference)]
    if why.proven:
        lines += ["", "Proven:" if len(why.proven) == 1 else "Proven, all of them together:"]
        lines += causes.as_lines(why.proven)
    lines += ["", *why.notes] if why.notes else []
    lines += ["", "Possible:", *causes.as_lines(why.possible)] if why.possible else []
    return lines
