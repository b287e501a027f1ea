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
from toolnoise.checking.experiments import Experiments, ObservedRuns, Proof, are_equal, called
from toolnoise.checking.first_difference import Event, Observed, Root
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
# A seeding with a plain number in the text.
NUMBER = re.compile(r"\(\s*((random_)?(seed|state)\s*=\s*)?[\d_]+\s*\)")
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
    free = [*outcomes, one.outcome, other.outcome]
    if are_equal(one.outcome, other.outcome):
        if first := _left(runs, outcomes[0], one, left):
            return Diagnosis([first], [], [])
        # Two may be equal by luck.
        other = observed.run() or other
        free.append(other.outcome)
    # Without calls, no process is run by Python, or by one that ignores PYTHONPATH.
    if not one.events or not other.events:
        return Diagnosis([], signs[:MOST_POSSIBLE], [NOT_OBSERVED])
    seen = first_difference.shared_generators(one, other)
    seen += [*first_difference.roots(one, other), *first_difference.orders(one, other)]

    def places(roots: Sequence[Root], evidence: str = "") -> list[Place]:
        return [_place(root, text, left, evidence or _seen(root)) for root in roots]

    if are_equal(one.outcome, other.outcome):
        likely = [root for root in seen if root.cause not in causes.USUAL]
        return Diagnosis([], _first([*signs, *places(likely)]), [ALIKE])
    proof = Experiments(observed, free).proof(one, other)
    if proof and proof.roots:
        proven = places(*_nearest(proof, seen))
        # Another program, or what it has left, may be the work of a script that Python does not run.
        is_others = proven[0].cause in ("read", "program")
        return Diagnosis(proven, signs[:MOST_POSSIBLE] if is_others else [], [])
    if proof:
        return Diagnosis([], _first([*places(seen), *signs]), [proof.evidence])
    # An order says more than what is only the clock.
    usual = [root for root in seen if root.kind == "result" and root.is_usual]
    likely = [root for root in seen if root not in usual]
    return Diagnosis([], _first([*places(likely), *signs, *places(usual)]), [] if seen else [ELSEWHERE])


def _nearest(proof: Proof, seen: Sequence[Root]) -> tuple[list[Root], str]:
    """The places to name for those that suffice, and how they are known."""
    roots, evidence = proof.roots, proof.evidence
    if len(roots) != 1:
        return roots, evidence
    (root,) = roots
    file, line = root.at
    elsewhere = evidence.replace(" here ", f" in {file}:{line} ")
    # Where the result of a future is at fault, it is the order of the loop that hands on futures as they are ready.
    loops = [each for each in seen if each.cause == "ready" and each.event.time < root.event.time]
    if root.event.name.endswith("Future.result") and loops:
        return loops[:1], f"{elsewhere} They are ready in another order here."
    # The first place that differs by itself while a call that is at fault runs is nearer. Orders come first.
    inner = [each for each in seen if root.encloses(each) and not each.is_usual]
    if inner:
        nearest = min(inner, key=lambda each: (each.kind != "order", each.event.time))
        return [nearest], f"{elsewhere} Within that call, {_seen(nearest).removeprefix('Seen: ')}"
    return roots, evidence


def unobserved(text: Sequence[SourceFile], words: Sequence[str]) -> Diagnosis:
    """What the text shows of a program that nobody observed."""
    return Diagnosis([], program_text.signs(text, words)[:MOST_POSSIBLE], [OBSERVES])


def _left(runs: TrialRuns, first: Outcome, one: Observed, left: LeftFiles) -> Place | None:
    """The place that reads what an earlier run has left, if a run without it ends like the first one."""

    def suffices(files: LeftFiles) -> bool:
        again = files.run_without(runs)
        return again is not None and are_equal(first, again)

    if not left.names or not suffices(left):
        return None
    # Which of a few it is: what was written last may come from the others.
    few = sorted(left.names, key=_written, reverse=True) if 1 < len(left.names) <= FEW_LEFT else []
    left = next((single for name in few if suffices(single := LeftFiles([name]))), left)
    named = [event for event in one.events if any(left.has(text) for text in event.texts)]
    event = next((each for each in named if READS.search(each.name)), next(iter(named), None))
    says = (
        f"By experiment: without {trial_runs.few_of(left.names)}, which an earlier run left, a run ends like the first."
    )
    file, line = event.at if event else (left.names[0], 0)
    return causes.place("left", file, line, code_of(file, line), says)


def _written(name: str) -> float:
    path = Path(name)
    return path.stat().st_mtime if path.exists() else 0


def _first(places: Sequence[Place]) -> list[Place]:
    unique = {(place.file, place.line): place for place in reversed(places)}
    return [place for place in dict.fromkeys(places) if unique[place.file, place.line] == place][:MOST_POSSIBLE]


def _place(root: Root, text: Sequence[SourceFile], left: LeftFiles, evidence: str) -> Place:
    file, line = root.at
    event, generator, has_left = root.event, root.generator, any(map(left.has, root.event.texts))
    kind = root.cause
    if generator:
        kind = "unseeded"
        generator = "keras" if generator == "random" and event.name.startswith("keras.") else generator
    elif root.kind == "order":
        kind = "shared" if root.apart else "order"
    elif root.kind == "turns":
        kind = "turns" if kind == "operation" else kind
    # A file that a call names, and gives the content of; its time and place have kinds of their own.
    elif kind == "operation" and any(Path(each).is_file() for each in event.texts):
        kind = "left" if has_left else "read"
    elif "folder" in event.marks:
        kind = "folder"
    elif event.name == "iterate" or "set" in event.marks:
        kind = "set"
    elif kind == "operation" and "temporary" in event.marks:
        kind = "name"
    elif kind == "operation" and has_left:
        kind = "left"
    return causes.place(kind, file, line, code_of(file, line, text), evidence, generator)


def _seen(root: Root) -> str:
    """What two observed runs have shown of a place."""
    name = called(root.event.name)
    if root.kind == "order":
        by = "threads come to" if root.apart else "the inputs come to"
        return f"Seen: {by} {name} in another order in each run."
    if root.kind == "generator":
        return f"Seen: the state of the generator of {root.generator} differed from the start, before {name} drew."
    shown = (root.event.shown, root.partner.shown) if root.partner else ("", "")
    if shown[0] != shown[1]:
        return f"Seen: for equal inputs {name} gave {shown[0]} and {shown[1]}."
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
        events = first_difference.fixed_seedings(control, seeded) if seeded else []
        if len(SEEDS.findall(" ".join(runs.words))) == 1:
            # A number in the text is often meant, such as that of the data.
            events.sort(key=lambda event: bool(NUMBER.search(code_of(*event.at))))
        found[source] = [_fixed_place(event, source, text) for event in events[:MOST_PLACES]]
    return found


def _fixed_place(event: Event, source: str, text: Sequence[SourceFile]) -> Place:
    says = f"Seen: {called(event.name)} is the same whatever {{{source}}} is."
    return causes.place("fixed", *event.at, code_of(*event.at, text), says)


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
