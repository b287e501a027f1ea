"""Where two observed runs part: places whose inputs were equal, and whose results were not.

A call that got equal inputs and gave another result is a root of the difference: whatever it is, what differs arises
in it. What draws from a global generator has the generator's state among its inputs: a state that differs from the
start of a process means that nothing has seeded the generator.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from toolnoise.checking.outcome import Outcome

# The turns of a place that are always recorded, as injected/recording.py has it.
ALWAYS = 32
# Calls that read the command line.
READS_ARGUMENTS = re.compile(r"parse_(known_|intermixed_)?args|^(click|typer|fire|absl)\.")
# What takes a seed or a generator when it is made, and draws later.
SEEDABLE = ("sklearn.", "torch.utils.data.", "random.SystemRandom")
Kind = Literal["result", "generator", "order", "turns"]
# The first pattern that is in the name of what is called says what kind it is.
NAMES = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("entropy", r"^uuid\.|urandom|^secrets\.|SystemRandom|getrandom|getentropy|random_bytes"),
        ("generator", r"(default_rng|RandomState|SeedSequence|PCG64|MT19937|Philox|SFC64|random\.Random)$"),
        ("generator", r"(^|\.)(seed|manual_seed|set_seed|PRNGKey|key|SeedGenerator|set_random_seed)$"),
        ("clock", r"^time\.|datetime|perf_counter|monotonic|^timeit\.|Event\.(is_set|wait)|strftime"),
        ("process", r"getpid|getppid|get_ident|get_native_id|current_process|gettid"),
        ("address", r"^builtins\.(id|repr)$"),
        ("hash", r"\bhash\b"),
        ("name", r"tempfile|mkdtemp|mkstemp|gettemp"),
        ("files", r"listdir|scandir|iterdir|r?glob\b|\bos\.walk|Path\.walk"),
        ("memory", r"\bempty(_like|_strided)?$|new_empty"),
        ("ready", r"as_completed|imap_unordered|IMapUnordered|[Qq]ueue.*\.get|\bwait\b|^awaited$|Future|Task"),
        ("program", r"^subprocess\.|Popen|os\.popen|check_output|communicate"),
        ("database", r"sqlite|Cursor|fetch(one|all|many)|read_sql"),
        ("draw", r"^(tensorflow|keras|jax)\..*(random|initializers)"),
        (
            "machine",
            r"sysconf|psutil|getloadavg|cpu_count|disk_usage|gethostname|environ|getenv|mem_get_info|getmtime|\.l?stat$",
        ),
    )
)
# What differs between any two runs, and hardly ever matters.
USUAL = ("clock", "name", "process")


def kind_of(name: str) -> str:
    """The kind of cause that a call is, by what is called."""
    return next((kind for kind, pattern in NAMES if pattern.search(name)), "operation")


class Event(NamedTuple):
    """One call: where it was made, when it ended and began, and digests of what went in and what came out.

    `before` has the digest of each global generator's state, `drawn` those that the call has changed, before and after.
    `owner_id` tells objects of one process apart, if it has threads. `shown` is the result, if it has a short text;
    `texts` are short texts among the arguments, and names of files. `marks` say that the arguments name the run's own
    folder, which counts as equal, or have a set, or a seed by its name.
    """

    process: str
    time: float
    began: float
    place: str
    turn: int
    thread: str
    name: str
    owner: int
    inputs: int
    out: int
    before: dict[str, int]
    drawn: dict[str, tuple[int, int]]
    owner_id: int
    shown: str
    texts: Sequence[str]
    marks: Sequence[str]

    @property
    def at(self) -> tuple[str, int]:
        """File and line."""
        return file_and_line(self.place)

    @property
    def key(self) -> tuple[str, str, int]:
        """What it has in common with the same call in another run."""
        return self.process, self.place, self.turn

    @property
    def after(self) -> dict[str, int]:
        """The states of the global generators that it has changed."""
        return {name: state for name, (_, state) in sorted(self.drawn.items())}

    def state(self, generator: str) -> int | None:
        """The state of a global generator before the call."""
        return self.drawn[generator][0] if generator in self.drawn else self.before.get(generator)


def file_and_line(place: str) -> tuple[str, int]:
    """The first two parts of a place."""
    file, line, *_ = place.split(":")
    return file, int(line)


class Observed(NamedTuple):
    """What one run left: its outcome, its calls in the order of time, how often each process came to each
    place, and a digest of each one's command line.
    """

    outcome: Outcome
    events: list[Event]
    turns: dict[tuple[str, str], int]
    arguments: dict[str, int]

    def is_apart(self, event: Event) -> bool:
        """Whether a call is in a thread or a process that the program has started."""
        return event.process != self.events[0].process or event.thread not in ("", "MainThread")

    def grouped(self, key: Callable[[Event], Any]) -> dict[Any, list[Event]]:
        """Its calls by what they have in common."""
        groups: dict[Any, list[Event]] = defaultdict(list)
        for event in self.events:
            groups[key(event)].append(event)
        return groups


def read_records(folder: Path, outcome: Outcome) -> Observed:
    """The records of all processes of a run; a process that was killed has left no last line, or half of one."""
    observed = Observed(outcome, [], {}, {})
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            try:
                kind, *parts = json.loads(line)
            except ValueError:
                break
            if kind == "event":
                observed.events.append(Event(path.stem, *parts))
            elif kind == "process":
                observed.arguments[path.stem] = parts[0]
            else:
                observed.turns.update({(path.stem, place): turns for place, turns in parts[0].items()})
    observed.events.sort(key=lambda event: event.time)
    return observed


class Root(NamedTuple):
    """A place at which two runs part, in what way, and the call that shows it in the first run, and in the other.

    `generator` is the global generator that nothing has seeded. `apart` is whether it is in a thread or a process that
    the program has started, where turns may be other ones in each run. `made` is where the object was made that draws,
    if it could have been given a seed there.
    """

    kind: Kind
    event: Event
    partner: Event | None = None
    generator: str = ""
    apart: bool = False
    made: str = ""

    @property
    def at(self) -> tuple[str, int]:
        """File and line."""
        return file_and_line(self.made) if self.made else self.event.at

    @property
    def cause(self) -> str:
        """The kind of cause that the call is, by what is called."""
        return kind_of(self.event.name)

    @property
    def is_usual(self) -> bool:
        """Whether it differs between any two runs, and hardly ever matters."""
        return self.cause in USUAL and not self.generator

    def encloses(self, other: "Root") -> bool:
        """Whether another one came about while this call was made."""
        return self.kind == "result" and self.event.began < other.event.time < self.event.time


def roots(one: Observed, other: Observed) -> list[Root]:
    """All places at which two runs part by themselves, the first one first, each once."""
    # A process that another one has forked has the name of that one in its own.
    every = [*_results(one, other), *_generators(one, other)]
    first: dict[tuple[str, str], Root] = {}
    for root in sorted(every, key=lambda root: root.event.time):
        key = ("generator", root.generator) if root.generator else ("place", root.event.place)
        if key not in first:
            first[key] = root
        elif root.apart:
            first[key] = first[key]._replace(apart=True)
    return list(first.values())


def _results(one: Observed, other: Observed) -> Iterator[Root]:
    """Calls with equal inputs and other results."""
    others = other.grouped(_inputs)
    for key, events in one.grouped(_inputs).items():
        for event, partner in zip(events, others.get(key, ()), strict=False):
            drawn = {*event.drawn, *partner.drawn}
            if READS_ARGUMENTS.search(event.name) and one.arguments.get(key[0]) != other.arguments.get(key[0]):
                # Whoever started this process gave it other arguments.
                continue
            if any(event.state(name) != partner.state(name) for name in drawn):
                # Not by itself: it draws from a generator that had another state.
                continue
            after = [[each.after.get(name) for name in drawn] for each in (event, partner)]
            if event.out != partner.out or after[0] != after[1]:
                made = _made(event, one.events) if "SystemRandom" in event.name else ""
                yield Root("result", event, partner, apart=one.is_apart(event), made=made)
                break


def _inputs(event: Event) -> tuple:
    """What calls have in common that got the same at one place; of turns of which some are recorded, each alone."""
    return event.process, event.place, event.owner, event.inputs, event.turn if event.turn > ALWAYS else 0


def _generators(one: Observed, other: Observed) -> Iterator[Root]:
    """Draws from a global generator whose state has been another one in each run since the process started."""
    partners = {event.key: event for event in other.events}
    settled: set[tuple[str, str]] = set()
    started: dict[tuple[str, str], tuple[int | None, int | None]] = {}
    for event in one.events:
        partner = partners.get(event.key)
        if partner is None:
            continue
        for name in {*event.before, *event.drawn}:
            states, key = (event.state(name), partner.state(name)), (event.process, name)
            if states[1] is None:
                continue
            if started.setdefault(key, states) == states:
                # It is what it was at the start: a block with a seed of its own may have ended.
                settled.discard(key)
            if key in settled:
                continue
            if states[0] == states[1]:
                settled.add(key)
            elif name in event.drawn and event.inputs != partner.inputs:
                # It may be seeded with what has differed before.
                settled.update({key} if kind_of(event.name) == "generator" else ())
            elif name in event.drawn and name in partner.drawn:
                settled.add(key)
                # If both have the same state afterwards, it was seeded, not drawn from.
                if event.after[name] != partner.after[name]:
                    made = _made(event, one.events)
                    yield Root("generator", event, partner, name, apart=one.is_apart(event), made=made)


def _made(draw: Event, events: Iterable[Event]) -> str:
    """Where the object was made that draws, if it is of a kind that takes a seed there."""
    made = (
        event.place
        for event in events
        if event.time < draw.time and event.out == draw.owner and event.name.startswith(SEEDABLE)
    )
    return next(made, "")


def orders(one: Observed, other: Observed) -> list[Root]:
    """Places that several threads or coroutines came to, or that got the same inputs, in another order in each run."""
    sequences = [each.grouped(lambda event: (event.process, event.place)) for each in (one, other)]
    found = []
    for key, events in sequences[0].items():
        partners = sequences[1].get(key, [])
        inputs = [[event.inputs for event in each] for each in (events, partners)]
        threads = [[event.thread for event in each] for each in (events, partners)]
        is_shared = _is_shared(events) and _is_shared(partners)
        # Threads that each do work of their own come to its calls in any order, and nothing follows from it.
        is_of_one = len({*threads[0], *threads[1]}) == 1
        permuted = is_of_one and inputs[0] != inputs[1] and Counter(inputs[0]) == Counter(inputs[1])
        if permuted or (is_shared and (inputs[0] != inputs[1] or threads[0] != threads[1])):
            pairs = zip(events, partners, strict=False)
            differ = (a for a, b in pairs if (a.inputs, a.thread) != (b.inputs, b.thread))
            found.append(Root("order", next(differ, events[-1]), apart=is_shared))
    # What threads share says more than what only comes in another order.
    return sorted(found, key=lambda root: (not root.apart, root.event.time))


def _is_shared(events: list[Event]) -> bool:
    """Whether several threads came to a place with one object, or add to what they may share."""
    threads: dict[int, set[str]] = defaultdict(set)
    for event in events:
        if event.owner_id or event.name == "added":
            threads[event.owner_id].add(event.thread)
    return any(len(names) > 1 for names in threads.values())


def shared_generators(one: Observed, other: Observed) -> list[Root]:
    """The first draw of a started thread from each global generator that threads share in another order in each run."""
    draws, others = _draws(one), _draws(other)
    found = []
    for key, events in draws.items():
        orders = [[(event.thread, event.place) for event in each] for each in (events, others.get(key, ()))]
        if len({event.thread for event in events}) > 1 and orders[0] != orders[1]:
            first = next(event for event in events if event.thread != "MainThread")
            found.append(Root("order", first, apart=True))
    return found


def _draws(observed: Observed) -> dict[tuple[str, str], list[Event]]:
    """The draws from each global generator of each process with threads."""
    draws: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in observed.events:
        for name in event.drawn if event.thread else ():
            draws[event.process, name].append(event)
    return draws


def turns(one: Observed, other: Observed) -> list[Root]:
    """Places that say yes or no, and that the runs came to more or less often: one of them ends a loop."""
    counts = {place: number for place, number in one.turns.items() if other.turns.get(place, number) != number}
    first = {(event.process, event.place): event for event in reversed(one.events)}
    events = [first[key] for key in counts if key in first and first[key].shown in ("True", "False")]
    return [Root("turns", event) for event in sorted(events, key=lambda each: each.time)]


def fixed_seedings(control: Observed, seeded: Observed) -> list[Event]:
    """Seedings that another seed does not reach: first the last one before the first draw that is the same."""
    others = {event.key: event for event in seeded.events}
    seedings: list[Event] = []
    before = 0
    for event in control.events:
        other = others.get(event.key)
        if other is None or (event.inputs, event.out, event.after) != (other.inputs, other.out, other.after):
            continue
        if kind_of(event.name) == "generator" or "seed" in event.marks:
            seedings.append(event)
        elif seedings and not before and (event.drawn or event.owner == seedings[-1].out):
            before = len(seedings)
    last = max(0, (before or len(seedings)) - 1)
    first: dict[str, Event] = {}
    for event in seedings:
        first.setdefault(event.place, event)
    return sorted(first.values(), key=lambda event: event.place != seedings[last].place)
