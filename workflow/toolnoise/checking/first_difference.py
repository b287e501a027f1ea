"""Where two observed runs part: places whose inputs were equal, and whose results were not.

A call that got equal inputs and gave another result is a root of the difference: whatever it is, what differs arises
in it. What draws from a global generator has the generator's state among its inputs: a state that differs from the
start of a process means that nothing has seeded the generator.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from toolnoise.checking import causes
from toolnoise.checking.observed_runs import Event, Observed

# The turns of a place that are always recorded, as observer/recording.py has it.
ALWAYS = 32
# Calls that read the command line.
READS_ARGUMENTS = re.compile(r"parse_(known_|intermixed_)?args|^(click|typer|fire|absl)\.")
# What takes a seed or a generator when it is made, and draws later.
SEEDABLE = ("sklearn.", "torch.utils.data.", "random.SystemRandom")
Kind = Literal["result", "generator", "order", "turns"]


class Root(NamedTuple):
    """A place at which two runs part: where, what is called, when in the first run, and in what way.

    `generator` is the global generator that nothing has seeded, `values` what the runs had, if it can be shown. `apart`
    is whether it is in a thread or a process that the program has started, where turns may be other ones in each run.
    `began` is when the call began, if it has an end of its own. `marks` and `texts` are those of the call. `made` is
    where the object was made that draws, if it could have been given a seed there.
    """

    kind: Kind
    place: str
    name: str
    time: float
    generator: str = ""
    values: tuple[str, str] = ("", "")
    apart: bool = False
    began: float = 0.0
    marks: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    made: str = ""

    @property
    def at(self) -> tuple[str, int]:
        """File and line."""
        file, line, *_ = (self.made or self.place).split(":")
        return file, int(line)

    def encloses(self, other: "Root") -> bool:
        """Whether another one came about while this call was made."""
        return 0 < self.began < other.time < self.time


def roots(one: Observed, other: Observed) -> list[Root]:
    """All places at which two runs part by themselves, the first one first, each once."""
    # A process that another one has forked has the name of that one in its own.
    every = [*_results(one, other), *_generators(one, other)]
    first: dict[tuple[str, str], Root] = {}
    for root in sorted(every, key=lambda root: root.time):
        key = ("generator", root.generator) if root.generator else ("place", root.place)
        if key not in first:
            first[key] = root
        elif root.apart:
            first[key] = first[key]._replace(apart=True)
    return list(first.values())


def _is_apart(event: Event, main: str) -> bool:
    return event.process != main or event.thread not in ("", "MainThread")


def _main(observed: Observed) -> str:
    return observed.events[0].process if observed.events else ""


def _results(one: Observed, other: Observed) -> Iterator[Root]:
    """Calls with equal inputs and other results."""
    main = _main(one)
    others = _by_inputs(other.events)
    for key, events in _by_inputs(one.events).items():
        for event, partner in zip(events, others.get(key, ()), strict=False):
            drawn = {*event.drawn, *partner.drawn}
            if READS_ARGUMENTS.search(event.name) and one.arguments.get(key[0]) != other.arguments.get(key[0]):
                # Whoever started this process gave it other arguments.
                continue
            if any(event.state(name) != partner.state(name) for name in drawn):
                # Not by itself: it draws from a generator that had another state.
                continue
            after = [[each.drawn.get(name, (0, 0))[1] for name in sorted(drawn)] for each in (event, partner)]
            if event.out != partner.out or after[0] != after[1]:
                shown = (event.shown, partner.shown)
                values = shown if shown[0] != shown[1] else ("", "")
                yield Root(
                    "result",
                    event.place,
                    event.name,
                    event.time,
                    values=values,
                    apart=_is_apart(event, main),
                    began=event.began,
                    marks=tuple(event.marks),
                    texts=tuple(event.texts),
                    made=_made(event, one.events) if "SystemRandom" in event.name else "",
                )
                break


def _by_inputs(events: Iterable[Event]) -> dict[tuple, list[Event]]:
    """Calls that got the same at the same place, in their order; of turns of which some are recorded, each alone."""
    grouped: dict[tuple, list[Event]] = defaultdict(list)
    for event in events:
        turn = event.turn if event.turn > ALWAYS else 0
        grouped[event.process, event.place, event.owner, event.inputs, turn].append(event)
    return grouped


def _generators(one: Observed, other: Observed) -> Iterator[Root]:
    """Draws from a global generator whose state has been another one in each run since the process started."""
    main = _main(one)
    partners = {(event.process, event.place, event.turn): event for event in other.events}
    settled: set[tuple[str, str]] = set()
    started: dict[tuple[str, str], tuple[int | None, int | None]] = {}
    for event in one.events:
        partner = partners.get((event.process, event.place, event.turn))
        if partner is None:
            continue
        for name in {*event.before, *event.drawn}:
            states = event.state(name), partner.state(name)
            if states[1] is None:
                continue
            if started.setdefault((event.process, name), states) == states:
                # It is what it was at the start: a block with a seed of its own may have ended.
                settled.discard((event.process, name))
            if (event.process, name) in settled:
                continue
            if states[0] == states[1]:
                settled.add((event.process, name))
            elif name in event.drawn and event.inputs != partner.inputs:
                # It may be seeded with what has differed before.
                settled.update({(event.process, name)} if causes.kind_of(event.name) == "generator" else ())
            elif name in event.drawn and name in partner.drawn:
                settled.add((event.process, name))
                # Both have the same state afterwards: it was seeded, not drawn from.
                if event.drawn[name][1] != partner.drawn[name][1]:
                    yield Root(
                        "generator",
                        event.place,
                        event.name,
                        event.time,
                        name,
                        apart=_is_apart(event, main),
                        made=_made(event, one.events),
                    )


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
    sequences = [_sequences(each) for each in (one, other)]
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
            time = next(
                (
                    event.time
                    for event, partner in zip(events, partners, strict=False)
                    if (event.inputs, event.thread) != (partner.inputs, partner.thread)
                ),
                events[-1].time,
            )
            found.append(Root("order", key[1], events[0].name, time, apart=is_shared))
    # What threads share says more than what only comes in another order.
    return sorted(found, key=lambda root: (not root.apart, root.time))


def shared_generators(one: Observed, other: Observed) -> list[Root]:
    """The first draw of a started thread from each global generator that threads share in another order in each run."""
    draws, others = _draws(one), _draws(other)
    found = []
    for key, events in draws.items():
        orders = [[(event.thread, event.place) for event in each] for each in (events, others.get(key, ()))]
        if len({event.thread for event in events}) > 1 and orders[0] != orders[1]:
            first = next(event for event in events if event.thread != "MainThread")
            found.append(Root("order", first.place, first.name, first.time, apart=True))
    return found


def _draws(observed: Observed) -> dict[tuple[str, str], list[Event]]:
    """The draws from each global generator of each process with threads."""
    draws: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in observed.events:
        for name in event.drawn if event.thread else ():
            draws[event.process, name].append(event)
    return draws


def _sequences(observed: Observed) -> dict[tuple[str, str], list[Event]]:
    sequences: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in observed.events:
        sequences[event.process, event.place].append(event)
    return sequences


def _is_shared(events: list[Event]) -> bool:
    """Whether several threads came to a place with one object, or add to what they may share."""
    threads: dict[int, set[str]] = defaultdict(set)
    for event in events:
        if event.owner_id or event.name == "added":
            threads[event.owner_id].add(event.thread)
    return any(len(names) > 1 for names in threads.values())


def turns(one: Observed, other: Observed) -> list[Root]:
    """Places that say yes or no, and that the runs came to more or less often: one of them ends a loop."""
    counts = {place: number for place, number in one.turns.items() if other.turns.get(place, number) != number}
    first = {(event.process, event.place): event for event in reversed(one.events)}
    events = [first[key] for key in counts if key in first and first[key].shown in ("True", "False")]
    return [Root("turns", event.place, event.name, event.time) for event in sorted(events, key=lambda each: each.time)]
