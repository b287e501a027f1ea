"""Find where two observed runs diverge: calls with equal inputs and different results.

Such a call is a root of the difference: the difference arises in it. If a call draws from a global generator, the
generator's state is one of its inputs. If this state differs from the start of a process, nothing has seeded the
generator.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from toolnoise.checking.outcome import Outcome

# The number of first turns of a place that are always recorded, as in injected/recording.py.
ALWAYS = 32
# Calls that read the command line.
READS_ARGUMENTS = re.compile(r"parse_(known_|intermixed_)?args|^(click|typer|fire|absl)\.")
# Prefixes of classes whose objects take a seed or a generator when they are made, and draw later.
SEEDABLE = ("sklearn.", "torch.utils.data.", "random.SystemRandom")
Kind = Literal["result", "generator", "order", "turns"]
# Kinds of calls, by patterns for the called name; the first match counts.
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
# Kinds of calls that differ between any two runs, and hardly ever matter.
USUAL = ("clock", "name", "process")


def kind_of(name: str) -> str:
    """The kind of cause of a call, by the called name."""
    return next((kind for kind, pattern in NAMES if pattern.search(name)), "operation")


class Event(NamedTuple):
    """One call: its place, the times of its end and its start, and digests of its inputs and its result.

    `drawn` has a digest, before and after, of each global generator's state that the call changed; `before` has those
    of the others. `owner_id` distinguishes the objects of a process with threads. `shown` is a short text of the
    result. `texts` are short texts and file names among the owner and the arguments. `marks` say that the arguments
    have the run's own folder or a temporary name (both count as equal), a set, or a keyword named like a seed.
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
        """The key of this call and of the same call in another run."""
        return self.process, self.place, self.turn

    @property
    def after(self) -> dict[str, int]:
        """The states after the call of the global generators that it changed."""
        return {name: state for name, (_, state) in sorted(self.drawn.items())}

    def state(self, generator: str) -> int | None:
        """The state of a global generator before the call."""
        return self.drawn[generator][0] if generator in self.drawn else self.before.get(generator)


def file_and_line(place: str) -> tuple[str, int]:
    """The file and the line of a place."""
    file, line, *_ = place.split(":")
    return file, int(line)


class Observed(NamedTuple):
    """One observed run: its outcome, its calls in the order of time, the number of turns by process and place,
    and a digest of each process's command line.
    """

    outcome: Outcome
    events: list[Event]
    turns: dict[tuple[str, str], int]
    arguments: dict[str, int]

    def is_apart(self, event: Event) -> bool:
        """Whether a call is in a thread or a process that the program has started."""
        return event.process != self.events[0].process or event.thread not in ("", "MainThread")

    def grouped(self, key: Callable[[Event], Any]) -> dict[Any, list[Event]]:
        """The run's calls, grouped by a key."""
        groups: dict[Any, list[Event]] = defaultdict(list)
        for event in self.events:
            groups[key(event)].append(event)
        return groups


def read_records(folder: Path, outcome: Outcome) -> Observed:
    """Read the records of all processes of a run; a killed process lacks its last line, or left half of it."""
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
    """A place at which two runs diverge, with the kind of difference, and the call in the first and the other run.

    `generator` is the global generator that nothing has seeded. `apart` is whether the place is in a thread or process
    that the program has started, where turns may differ between runs. `made` is the place that made the drawing object,
    if that place could have given it a seed.
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
        """The kind of cause, by the called name."""
        return kind_of(self.event.name)

    @property
    def is_usual(self) -> bool:
        """Whether such a call differs between any two runs, and hardly ever matters."""
        return self.cause in USUAL and not self.generator

    def encloses(self, other: "Root") -> bool:
        """Whether another root's call ended while this call ran."""
        return self.kind == "result" and self.event.began < other.event.time < self.event.time


def differing_roots(one: Observed, other: Observed) -> list[Root]:
    """All places at which two runs diverge by themselves, in the order of time, each once."""
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
    """Calls with equal inputs and different results."""
    others = other.grouped(_inputs)
    for key, events in one.grouped(_inputs).items():
        for event, partner in zip(events, others.get(key, ()), strict=False):
            drawn = {*event.drawn, *partner.drawn}
            if READS_ARGUMENTS.search(event.name) and one.arguments.get(key[0]) != other.arguments.get(key[0]):
                # This process was started with other arguments.
                continue
            if any(event.state(name) != partner.state(name) for name in drawn):
                # This call is no root: it draws from a generator whose state already differed.
                continue
            after = [[each.after.get(name) for name in drawn] for each in (event, partner)]
            if event.out != partner.out or after[0] != after[1]:
                made = _made(event, one.events) if "SystemRandom" in event.name else ""
                yield Root("result", event, partner, apart=one.is_apart(event), made=made)
                break


def _inputs(event: Event) -> tuple:
    """The key of calls at one place with equal inputs; each turn has its own key once not all turns are recorded."""
    return event.process, event.place, event.owner, event.inputs, event.turn if event.turn > ALWAYS else 0


def _generators(one: Observed, other: Observed) -> Iterator[Root]:
    """Draws from a global generator whose state has differed between the runs since the process started."""
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
                # The states are those of the start: a block with a seed of its own may have ended.
                settled.discard(key)
            if key in settled:
                continue
            if states[0] == states[1]:
                settled.add(key)
            elif name in event.drawn and event.inputs != partner.inputs:
                # The call may seed the generator with a value that already differed.
                settled.update({key} if kind_of(event.name) == "generator" else ())
            elif name in event.drawn and name in partner.drawn:
                settled.add(key)
                # If both states are equal afterwards, the call seeded the generator and did not draw from it.
                if event.after[name] != partner.after[name]:
                    made = _made(event, one.events)
                    yield Root("generator", event, partner, name, apart=one.is_apart(event), made=made)


def _made(draw: Event, events: Iterable[Event]) -> str:
    """The place that made the drawing object, if its class takes a seed there; else empty."""
    made = (
        event.place
        for event in events
        if event.time < draw.time and event.out == draw.owner and event.name.startswith(SEEDABLE)
    )
    return next(made, "")


def differing_orders(one: Observed, other: Observed) -> list[Root]:
    """Places that threads reach, or that get the same inputs, in a different order in each run."""
    sequences = [each.grouped(lambda event: (event.process, event.place)) for each in (one, other)]
    found = []
    for key, events in sequences[0].items():
        partners = sequences[1].get(key, [])
        inputs = [[event.inputs for event in each] for each in (events, partners)]
        threads = [[event.thread for event in each] for each in (events, partners)]
        is_shared = _is_shared(events) and _is_shared(partners)
        # If each thread does its own work, the order between threads has no effect.
        is_of_one = len({*threads[0], *threads[1]}) == 1
        permuted = is_of_one and inputs[0] != inputs[1] and Counter(inputs[0]) == Counter(inputs[1])
        if permuted or (is_shared and (inputs[0] != inputs[1] or threads[0] != threads[1])):
            pairs = zip(events, partners, strict=False)
            differ = (a for a, b in pairs if (a.inputs, a.thread) != (b.inputs, b.thread))
            found.append(Root("order", next(differ, events[-1]), apart=is_shared))
    # Places that threads share come first: they explain more than a mere change of order.
    return sorted(found, key=lambda root: (not root.apart, root.event.time))


def _is_shared(events: list[Event]) -> bool:
    """Whether several threads came to a place with the same object, or added there to something they may share."""
    threads: dict[int, set[str]] = defaultdict(set)
    for event in events:
        if event.owner_id or event.name == "added":
            threads[event.owner_id].add(event.thread)
    return any(len(names) > 1 for names in threads.values())


def shared_generators(one: Observed, other: Observed) -> list[Root]:
    """The first draw of a started thread from each generator that threads share in a different order in each run."""
    draws, others = _draws(one), _draws(other)
    found = []
    for key, events in draws.items():
        orders = [[(event.thread, event.place) for event in each] for each in (events, others.get(key, ()))]
        if len({event.thread for event in events}) > 1 and orders[0] != orders[1]:
            first = next(event for event in events if event.thread != "MainThread")
            found.append(Root("order", first, apart=True))
    return found


def _draws(observed: Observed) -> dict[tuple[str, str], list[Event]]:
    """The draws in processes with threads, by process and global generator."""
    draws: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in observed.events:
        for name in event.drawn if event.thread else ():
            draws[event.process, name].append(event)
    return draws


def differing_turns(one: Observed, other: Observed) -> list[Root]:
    """Places that return True or False, and that one run reached more often: such a place may end a loop."""
    counts = {place: number for place, number in one.turns.items() if other.turns.get(place, number) != number}
    first = {(event.process, event.place): event for event in reversed(one.events)}
    events = [first[key] for key in counts if key in first and first[key].shown in ("True", "False")]
    return [Root("turns", event) for event in sorted(events, key=lambda each: each.time)]


def fixed_seedings(control: Observed, seeded: Observed) -> list[Event]:
    """Seedings that stay the same with another seed; first the last one before the first draw that stays the same."""
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
