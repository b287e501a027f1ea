"""Where a seed is lost that changes nothing: two observed runs, one of them with another seed of the source."""

from collections.abc import Sequence

from toolnoise.checking import causes, diagnosis
from toolnoise.checking.causes import Place
from toolnoise.checking.experiments import called
from toolnoise.checking.observed_runs import Event, Observed, ObservedRuns
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.trial_runs import TrialRuns

MOST_PLACES = 3


def places(runs: TrialRuns, sources: Sequence[str], text: Sequence[SourceFile]) -> dict[str, list[Place]]:
    """For each source, seedings that are the same whatever its seed."""
    if not sources:
        return {}
    runs.say_what_follows(1 + len(sources))
    observed = ObservedRuns(runs)
    control = observed.run()
    found = {}
    for source in sources if control else ():
        seeded = observed.run(source)
        events = fixed_seedings(control, seeded) if seeded else []
        found[source] = [_place(event, source, text) for event in events[:MOST_PLACES]]
    return found


def _place(event: Event, source: str, text: Sequence[SourceFile]) -> Place:
    file, line, *_ = event.place.split(":")
    says = f"Seen: {called(event.name)} is the same whatever {{{source}}} is."
    return causes.place("fixed", file, int(line), diagnosis.code_of(file, int(line), text), says)


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


def _what(event: Event) -> tuple:
    """What goes in and what comes out, the states of global generators among it."""
    return event.inputs, event.out, {name: after for name, (_, after) in event.drawn.items()}
