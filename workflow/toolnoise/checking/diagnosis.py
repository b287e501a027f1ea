"""Find why a program is not reproducible, or ignores a seed: observe it, and if possible prove causes by experiments.

Only an experiment proves a cause. Causes that were only seen in observed runs, or in the program's text, are possible.
Signs are patterns in the text for causes that observers may miss: each makes a place possible, and proves nothing.
"""

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.checking import differences, experiments, first_difference, trial_runs
from toolnoise.checking.differences import Difference
from toolnoise.checking.experiments import Experiments, ObservedRuns, Proof, are_equal, call_text
from toolnoise.checking.first_difference import Event, Observed, Root
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_text import MOST_BYTES, SourceFile, code_of
from toolnoise.checking.trial_runs import LeftFiles, TrialRuns

NOT_OBSERVED = "Not observed: no part of it is run by Python, or by one that ignores PYTHONPATH (-I, -E, -S)."
FAILED = "Not observed: the program fails when it is observed:"
ALIKE = "The observed runs end equal: the runs differ only sometimes, or observing hides the difference."
ELSEWHERE = "All calls that were observed agree: what differs is in no call of the program's own Python code."
OBSERVES = "`toolnoise check -- COMMAND` observes the program and finds the cause."
MOST_POSSIBLE, MOST_PLACES = 5, 3
FEW_LEFT = 3
SEEDS = re.compile(rf"\{{({'|'.join(ALGORITHMIC)})\}}")
# Arguments that seed with a literal number.
NUMBER = re.compile(r"\(\s*((random_)?(seed|state)\s*=\s*)?[\d_]+\s*\)")
# Calls that ask for a file, or read it.
READS = re.compile(r"(^|\.)(open|load\w*|read\w*|exists|is_file|is_dir|stat|getmtime|glob|listdir|scandir|iterdir)$")
# Signs of causes in Python source.
SIGNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("memory", r"\b(np|numpy|torch|cp|cupy)\.(empty|empty_like|empty_strided)\(|\.new_empty\("),
        ("database", r"(?i)order\s+by\s+(random|rand|newid)\s*\("),
        ("shell", r"\bshuf\b[\"' ]|\bsort\s+(-R|--random-sort)\b|\"sort\", *\"(-R|--random-sort)\"|/dev/u?random"),
        ("clock", r"\bsignal\.(alarm|setitimer)\(|\bthreading\.Timer\("),
        ("ready", r"\b(as_completed|imap_unordered)\(|\bFIRST_COMPLETED\b"),
    )
)
SHELL = re.compile(r"\b(RANDOM|SRANDOM|EPOCHREALTIME|EPOCHSECONDS)\b|\bshuf\b|\bsort\s+(-R|--random-sort)\b|\$\$|"
                   r"/dev/u?random|\bmktemp\b|\bdate\b|\buuidgen\b|\bwait\s+-n\b")  # fmt: skip
SCRIPTS = (".sh", ".bash", ".zsh")


class Cause(NamedTuple):
    """A kind of cause, in words, and its remedy."""

    says: str
    remedy: str


# Causes by the name of the unseeded global generator.
GENERATORS = {
    "random": Cause(
        "it draws from the global generator of Python's random, which nothing has seeded",
        "call random.seed(seed) first, or use one random.Random(seed)",
    ),
    "numpy.random": Cause(
        "it draws from NumPy's global generator, which nothing has seeded",
        "call numpy.random.seed(seed) first, use one numpy.random.default_rng(seed), or pass random_state=seed",
    ),
    "keras": Cause(
        "Keras draws the seed of a layer from Python's random, which nothing has seeded",
        "call keras.utils.set_random_seed(seed) first",
    ),
    "torch": Cause(
        "it draws from PyTorch's global generator, which nothing has seeded",
        "call torch.manual_seed(seed) before the model is built, or give it generator=",
    ),
}
CAUSES = {
    "generator": Cause("a generator is made or seeded without a seed", "give it a seed"),
    "entropy": Cause(
        "a value comes from the system's source of randomness, which has no seed",
        "draw it from a generator with a seed",
    ),
    "clock": Cause(
        "a value comes from the clock",
        "keep it out of what is trained on and compared, and end the training after a number of steps",
    ),
    "process": Cause(
        "a value is the number of a process or a thread", "take it from the command line, or from TOOLNOISE_SEED_*"
    ),
    "address": Cause("a value is the address of an object in memory", "use a number of its own for each object"),
    "hash": Cause("hash() of a text differs between processes", "use zlib.crc32(text.encode()) or hashlib"),
    "set": Cause(
        "a set has another order in each process (hash seed, or addresses of objects)",
        "iterate over sorted(...), or over a list",
    ),
    "files": Cause("a folder lists its files in no certain order", "iterate over sorted(...)"),
    "name": Cause("a temporary name is random", "keep it out of what is trained on, or name the file yourself"),
    "folder": Cause(
        "a value comes from the name of the run's own folder", "take it from the command line or TOOLNOISE_SEED_*"
    ),
    "read": Cause("a file that is read has another content in each run", "look at what writes it"),
    "memory": Cause(
        "an array begins with what was in memory before", "use zeros, or fill all of it before it is read"
    ),
    "machine": Cause(
        "a value is the state of the machine, such as its free memory or load", "take it from an option"
    ),
    "ready": Cause(
        "results of parallel work come in the order in which they are ready", "use map, or put the results in order"
    ),
    "program": Cause(
        "another program gives another output, and no seed of this one counts there",
        "give it a seed of its own, or draw here",
    ),
    "database": Cause(
        "a query gives its rows in no certain order, or draws them", "order the rows by a key, and draw here"
    ),
    "shared": Cause(
        "threads, or coroutines, come to one object in another order in each run",
        "give each piece of work its own object and seed, and put the parts together in a fixed order",
    ),
    "order": Cause("it gets the same things in another order in each run", "put them in a fixed order first"),
    "left": Cause(
        "a run reads what an earlier run left",
        "remove it first, or keep a checkpoint in TOOLNOISE_CHECKPOINT, with the state of every generator",
    ),
    "turns": Cause(
        "a loop ends when something outside of it says so", "end it after a number of steps"
    ),
    "fixed": Cause("a generator has a seed that nothing changes", "give it the seed of the source"),
    "shell": Cause("the shell, or one of its commands, draws without a seed", "give it a seed, or draw elsewhere"),
    "draw": Cause(
        "a framework draws from its own generator, which nothing has seeded",
        "call keras.utils.set_random_seed(seed) or tensorflow.random.set_seed(seed) first",
    ),
    "operation": Cause(
        "it gives another result for equal inputs",
        "use one thread, or the deterministic way of this operation if it has one",
    ),
}  # fmt: skip


class Place(NamedTuple):
    """A place in a program: file, line and its text, what is wrong there, the remedy, and the evidence.

    `evidence` is a sentence about an experiment or an observation; it is empty if only the text shows the place.
    """

    cause: str
    file: str
    line: int
    code: str
    says: str
    remedy: str
    evidence: str = ""


def place_of_kind(kind: str, file: str, line: int, code: str, evidence: str = "", generator: str = "") -> Place:
    """A place with the explanation and the remedy of its kind of cause."""
    cause = GENERATORS[generator] if generator else CAUSES[kind]
    return Place(kind, file, line, code, cause.says, cause.remedy, evidence)


class Diagnosis(NamedTuple):
    """Places that an experiment proves, places that are only possible, and notes on what was not observed or proven."""

    proven: list[Place]
    possible: list[Place]
    notes: list[str]


def diagnose(
    runs: TrialRuns,
    outcomes: Sequence[Outcome],
    text: Sequence[SourceFile],
    left: LeftFiles,
) -> Diagnosis:
    """Observe two runs, and make experiments that may prove why they differ.

    `outcomes` are those of the unchanged runs so far, and `left` are the files that the first run left.
    """
    runs.say_what_follows(experiments.MOST_RUNS - runs.started)
    from_text = signs_of_noise(text, runs.words)
    observed = ObservedRuns(runs)
    one = observed.run()
    other = observed.run() if one else None
    if one is None or other is None:
        return Diagnosis([], from_text[:MOST_POSSIBLE], [f"{FAILED} {observed.failure}"])
    free = [*outcomes, one.outcome, other.outcome]
    if are_equal(one.outcome, other.outcome):
        if first := _left(runs, outcomes[0], one, left):
            return Diagnosis([first], [], [])
        # Two runs may be equal by chance.
        other = observed.run() or other
        free.append(other.outcome)
    # Without recorded calls, no process ran Python, or Python ignored PYTHONPATH.
    if not one.events or not other.events:
        return Diagnosis(
            [],
            from_text[:MOST_POSSIBLE],
            [f"Not observed: {runs.observer_failure}." if runs.observer_failure else NOT_OBSERVED],
        )
    seen = first_difference.shared_generators(one, other)
    seen += [*first_difference.differing_roots(one, other), *first_difference.differing_orders(one, other)]

    def places(roots: Sequence[Root], evidence: str = "") -> list[Place]:
        return [_place(root, text, left, evidence or _seen(root)) for root in roots]

    if are_equal(one.outcome, other.outcome):
        likely = [root for root in seen if root.cause not in first_difference.USUAL]
        return Diagnosis([], _first([*from_text, *places(likely)]), [ALIKE])
    proof = Experiments(observed, free).proof(one, other)
    if proof and proof.roots:
        proven = places(*_nearest(proof, seen))
        # The file or the output may come from a script that Python does not run.
        is_others = proven[0].cause in ("read", "program")
        return Diagnosis(proven, from_text[:MOST_POSSIBLE] if is_others else [], [])
    if proof:
        return Diagnosis([], _first([*places(seen), *from_text]), [proof.evidence])
    # Usual causes, such as the clock, come last; a different order is never usual.
    usual = [root for root in seen if root.kind == "result" and root.is_usual]
    likely = [root for root in seen if root not in usual]
    return Diagnosis([], _first([*places(likely), *from_text, *places(usual)]), [] if seen else [ELSEWHERE])


def _nearest(proof: Proof, seen: Sequence[Root]) -> tuple[list[Root], str]:
    """The places to report for the proven roots, and their evidence."""
    roots, evidence = proof.roots, proof.evidence
    if len(roots) != 1:
        return roots, evidence
    (root,) = roots
    file, line = root.at
    elsewhere = evidence.replace(" here ", f" in {file}:{line} ")
    # If a future's result is the proven root, the cause is the loop that takes futures in the order they are ready.
    loops = [each for each in seen if each.cause == "ready" and each.event.time < root.event.time]
    if root.event.name.endswith("Future.result") and loops:
        return loops[:1], f"{elsewhere} They are ready in another order here."
    # A root within the proven call is nearer to the cause: first different orders, then the earliest root.
    inner = [each for each in seen if root.encloses(each) and not each.is_usual]
    if inner:
        nearest = min(inner, key=lambda each: (each.kind != "order", each.event.time))
        return [nearest], f"{elsewhere} Within that call, {_seen(nearest).removeprefix('Seen: ')}"
    return roots, evidence


def diagnose_unobserved(text: Sequence[SourceFile], words: Sequence[str]) -> Diagnosis:
    """The diagnosis of a program that was not observed, by the signs in its text."""
    return Diagnosis([], signs_of_noise(text, words)[:MOST_POSSIBLE], [OBSERVES])


def _left(runs: TrialRuns, first: Outcome, one: Observed, left: LeftFiles) -> Place | None:
    """The place that reads a file left by an earlier run, if a run without the file ends like the first run."""

    def suffices(files: LeftFiles) -> bool:
        again = files.run_without(runs)
        return again is not None and are_equal(first, again)

    if not left.names or not suffices(left):
        return None
    # Try a few files one by one, the last written first: it may be made from the others.
    few = sorted(left.names, key=_written, reverse=True) if 1 < len(left.names) <= FEW_LEFT else []
    left = next((single for name in few if suffices(single := LeftFiles([name]))), left)
    named = [event for event in one.events if any(left.has(text) for text in event.texts)]
    event = next((each for each in named if READS.search(each.name)), next(iter(named), None))
    says = (
        f"By experiment: without {trial_runs.few_of(left.names)}, which an earlier run left, a run ends like the first."
    )
    file, line = event.at if event else (left.names[0], 0)
    return place_of_kind("left", file, line, code_of(file, line), says)


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
    # The call names a file and may return its content; a file's time or folder has a kind of its own.
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
    return place_of_kind(kind, file, line, code_of(file, line, text), evidence, generator)


def _seen(root: Root) -> str:
    """A sentence on what two observed runs showed at a place."""
    name = call_text(root.event.name)
    if root.kind == "order":
        by = "threads come to" if root.apart else "the inputs come to"
        return f"Seen: {by} {name} in another order in each run."
    if root.kind == "generator":
        return f"Seen: the state of the generator of {root.generator} differed from the start, before {name} drew."
    shown = (root.event.shown, root.partner.shown) if root.partner else ("", "")
    if shown[0] != shown[1]:
        return f"Seen: for equal inputs {name} gave {shown[0]} and {shown[1]}."
    return f"Seen: for equal inputs {name} gave different results."


def lost_seeds(runs: TrialRuns, sources: Sequence[str], text: Sequence[SourceFile]) -> dict[str, list[Place]]:
    """For each source whose seed has no effect, the places of seedings that stay the same with another seed."""
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
            # Literal numbers come last: they are often intended, such as a seed for the data.
            events.sort(key=lambda event: bool(NUMBER.search(code_of(*event.at))))
        found[source] = [_fixed_place(event, source, text) for event in events[:MOST_PLACES]]
    return found


def _fixed_place(event: Event, source: str, text: Sequence[SourceFile]) -> Place:
    says = f"Seen: {call_text(event.name)} is the same whatever {{{source}}} is."
    return place_of_kind("fixed", *event.at, code_of(*event.at, text), says)


def signs_of_noise(program: Sequence[SourceFile], words: Sequence[str]) -> list[Place]:
    """Places whose text shows that they may make runs differ, in the order of the program's files."""
    return [*_of_python(program), *_of_shell(words)]


def _of_python(program: Sequence[SourceFile]) -> Iterator[Place]:
    for source in program:
        for number, line in enumerate(_without_comments(source.lines), 1):
            for kind, pattern in SIGNS:
                if pattern.search(line):
                    yield place_of_kind(kind, source.file, number, source.lines[number - 1].strip())


def _without_comments(lines: Sequence[str]) -> list[str]:
    """The lines of Python source, without comments and strings that stand alone, such as docstrings."""
    kept = list(lines)
    try:
        before = tokenize.NEWLINE
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            first, last = token.start[0] - 1, token.end[0] - 1
            if token.type == tokenize.COMMENT:
                kept[first] = kept[first][: token.start[1]]
            elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                kept[first : last + 1] = [""] * (last + 1 - first)
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                before = token.type
    except (tokenize.TokenError, SyntaxError, IndexError):
        return list(lines)
    return kept


def _of_shell(words: Sequence[str]) -> Iterator[Place]:
    for number, word in enumerate(words):
        is_text = number and words[number - 1] == "-c" and Path(words[number - 2]).name in ("sh", "bash", "zsh", "dash")
        path = Path(word)
        if is_text:
            lines, name = word.splitlines(), "-c"
        elif word.endswith(SCRIPTS) and path.is_file() and path.stat().st_size <= MOST_BYTES:
            lines, name = path.read_text("utf-8", errors="replace").splitlines(), word
        else:
            continue
        for at, line in enumerate(lines, 1):
            if SHELL.search(line.partition(" #")[0]) and not line.lstrip().startswith("#"):
                yield place_of_kind("shell", name, at, line.strip())


def explain_difference(difference: Difference, why: Diagnosis) -> list[str]:
    """The report on two runs that should be equal: the differences and their causes."""
    lines = [f"Not reproducible: two runs with equal seeds differ in {', '.join(difference.files)}."]
    lines += [f"  {part}" for part in differences.parts_text(difference)]
    if why.proven:
        lines += ["", "Proven:" if len(why.proven) == 1 else "Proven, all of them together:"]
        lines += as_lines(why.proven)
    lines += ["", *why.notes] if why.notes else []
    lines += ["", "Possible:", *as_lines(why.possible)] if why.possible else []
    return lines


def as_lines(places: list[Place]) -> list[str]:
    """Places as lines of text."""
    lines = []
    for each in places:
        where = f"{each.file}:{each.line}: {each.code}" if each.line else f"{each.file}"
        lines.append(f"  {where}")
        if each.evidence:
            lines.append(f"    {each.evidence}")
        lines.append(f"    {each.says[0].upper()}{each.says[1:]}: {each.remedy}.")
    return lines
