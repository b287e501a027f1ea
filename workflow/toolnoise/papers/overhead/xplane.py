"""Kernel times from a profiler's trace, for engines whose framework writes an XSpace (TensorFlow and JAX).

A trace has planes with lines of events: a line is a GPU's stream or a thread of the host. Kernels are these events:

* On a GPU, an event of a stream with launch details from the driver. Copies between memories have none; lines that a
  viewer would derive from kernels (operators, name scopes, steps) are absent or have none either.
* On a CPU, which launches nothing, an event of an operator, counted under its operator's type: the time of the thread
  that runs it, without the threads that help. The time of a nested operator is subtracted from the outer one. Operators
  that TensorFlow has found to take a microsecond or two are not traced and missing from the sum. For JAX it is an
  instruction compiled by XLA, which may combine many operators, counted under its kind.

So no time is counted twice, and the sum is exactly the time that the profiler saw in kernels.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from toolnoise.base.metric_files import Columns

# The kernels of one run.
PROFILE: Columns = {"kernel": str, "calls": int, "total_us": float, "share": float}
# TensorFlow calls an operator's event "name:Type"; its Python and runtime events have another form.
OPERATOR = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*:([A-Z_][A-Za-z0-9_]*)")
LAUNCH, INSTRUCTION = "kernel_details", "hlo_op"
HOST, GPU = "/host:CPU", "/device:GPU:"


class Kernel(NamedTuple):
    """The calls and the total time of one kernel."""

    name: str
    calls: int
    microseconds: float


class Event(NamedTuple):
    """An event: start and duration in picoseconds, and the names of its statistics."""

    name: str
    start: int
    duration: int
    stats: frozenset[str]


class Plane(NamedTuple):
    """A device or the host, and the events of each of its lines."""

    name: str
    lines: list[list[Event]]


def of_proto(space: Any) -> list[Plane]:
    """The planes of an XSpace message, which refers to names by number."""

    def event_of(plane: Any, event: Any) -> Event:
        name, stats = plane.event_metadata[event.metadata_id].name, plane.stat_metadata
        return Event(
            name, event.offset_ps, event.duration_ps, frozenset(stats[stat.metadata_id].name for stat in event.stats)
        )

    return _planes(space, event_of)


def of_profile_data(data: Any) -> list[Plane]:
    """The planes of JAX's ProfileData, whose times are in nanoseconds."""

    def event_of(_: Any, event: Any) -> Event:
        start, duration = (round(1000 * nanoseconds) for nanoseconds in (event.start_ns, event.duration_ns))
        return Event(event.name, start, duration, frozenset(name for name, _ in event.stats))

    return _planes(data, event_of)


def _planes(trace: Any, event_of: Callable[[Any, Any], Event]) -> list[Plane]:
    return [
        Plane(plane.name, [[event_of(plane, event) for event in line.events] for line in plane.lines])
        for plane in trace.planes
    ]


def gpu_kernels(planes: Iterable[Plane]) -> tuple[Kernel, ...]:
    """Kernels by name on the GPUs of a trace."""
    return _summed(
        (event.name, event.duration)
        for plane in planes
        if plane.name.startswith(GPU)
        for line in plane.lines
        for event in line
        if LAUNCH in event.stats
    )


def cpu_operators(planes: Iterable[Plane]) -> tuple[Kernel, ...]:
    """TensorFlow's operators by type on the host of a trace, without nested operators."""
    return _on_host(planes, lambda event: (match := OPERATOR.fullmatch(event.name)) and match[1])


def cpu_instructions(planes: Iterable[Plane]) -> tuple[Kernel, ...]:
    """XLA's instructions by kind on the host of a trace, without nested instructions."""
    return _on_host(planes, _kind_of_instruction)


def _kind_of_instruction(event: Event) -> str | None:
    # Names have the form "dot.5"; an "end: dot.5" marks the end of work that was handed on.
    return re.sub(r"\.\d+$", "", event.name) if INSTRUCTION in event.stats else None


def _on_host(planes: Iterable[Plane], kind: Callable[[Event], str | None]) -> tuple[Kernel, ...]:
    lines = (line for plane in planes if plane.name == HOST for line in plane.lines)
    return _summed(
        own
        for line in lines
        for own in _own_times(
            [
                (event.start, event.start + event.duration, name)
                for event, name in zip(line, map(kind, line), strict=True)
                if name
            ]
        )
    )


def why_incomplete(space: Any) -> str:
    """Why a trace is incomplete, in the profiler's own words; empty if complete."""
    return " ".join([*space.errors, *(warning for warning in space.warnings if "dropped" in warning)])


def _own_times(events: list[tuple[int, int, str]]) -> Iterator[tuple[str, int]]:
    """Each event's name and its time without nested events."""
    open_events: list[list[Any]] = []
    # An event follows the one it is nested in, which starts no later and ends no earlier.
    for start, end, name in sorted(events, key=lambda event: (event[0], -event[1])):
        while open_events and open_events[-1][0] <= start:
            yield tuple(open_events.pop()[1:])
        if open_events:
            open_events[-1][2] -= end - start
        open_events.append([end, name, end - start])
    yield from (tuple(event[1:]) for event in open_events)


def _summed(times: Iterable[tuple[str, int]]) -> tuple[Kernel, ...]:
    calls: defaultdict[str, int] = defaultdict(int)
    picoseconds: defaultdict[str, int] = defaultdict(int)
    for name, duration in times:
        calls[name] += 1
        picoseconds[name] += duration
    by_time = sorted(calls, key=lambda name: (-picoseconds[name], name))
    return tuple(Kernel(name, calls[name], picoseconds[name] / 1e6) for name in by_time)
