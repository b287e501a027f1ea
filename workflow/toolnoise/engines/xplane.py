"""From a profiler's trace to kernel times, for engines whose framework writes an XSpace (TensorFlow and JAX do).

A trace is planes of lines of events: a line is a stream of a GPU or a thread of the host. What counts as a kernel:

* On a GPU, an event of a stream for which the driver told launch details. Copies between memories have none, and what a
  viewer would derive from kernels (a line of operators, of name scopes, of steps) is not there or has none either.
* On a CPU, which launches nothing, an event of an operator, counted as its operator's type: the thread that runs it
  spends this time there, and threads that help it are not added. An operator inside of another is taken out of the
  outer one. One that TensorFlow has found to take a microsecond or two is not traced, and is missing in the sum.

So no time is counted twice, and the sum is what the profiler saw in kernels and nothing else.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from toolnoise.engines import Kernel

# TensorFlow calls an operator's event "name:Type"; its Python and runtime events have another form.
OPERATOR = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*:([A-Z_][A-Za-z0-9_]*)")
LAUNCH = "kernel_details"


def gpu_kernels(space: Any) -> tuple[Kernel, ...]:
    """Kernels by name on the GPUs of a trace."""
    return _summed(
        (plane.event_metadata[event.metadata_id].name, event.duration_ps)
        for plane in space.planes
        if plane.name.startswith("/device:GPU:")
        for line in plane.lines
        for event in line.events
        if any(plane.stat_metadata[stat.metadata_id].name == LAUNCH for stat in event.stats)
    )


def cpu_operators(space: Any) -> tuple[Kernel, ...]:
    """Operators by type on the host of a trace, each without those inside of it."""
    return _summed(
        operator
        for plane in space.planes
        if plane.name == "/host:CPU"
        for line in plane.lines
        for operator in _own_times(_operators(plane, line))
    )


def lacks(space: Any) -> str:
    """Why a trace is not whole, in the profiler's own words; empty if it is."""
    return " ".join([*space.errors, *(warning for warning in space.warnings if "dropped" in warning)])


def _operators(plane: Any, line: Any) -> list[tuple[int, int, str]]:
    types = {number: OPERATOR.fullmatch(about.name) for number, about in plane.event_metadata.items()}
    return [
        (event.offset_ps, event.offset_ps + event.duration_ps, match[1])
        for event in line.events
        if (match := types[event.metadata_id])
    ]


def _own_times(events: list[tuple[int, int, str]]) -> Iterator[tuple[str, int]]:
    """Each event's name and its time outside of the events within it."""
    open_events: list[list[Any]] = []
    # An event comes after the one that it lies in, which starts no later and ends no earlier.
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
