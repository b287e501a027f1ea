"""Where a seed is lost that changes nothing: two observed runs, one of them with another seed of the source."""

from collections.abc import Sequence

from toolnoise.checking import causes, diagnosis
from toolnoise.checking.causes import Place
from toolnoise.checking.experiments import called
from toolnoise.checking.observed_runs import Event, Observed, ObservedRuns
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.trial_runs import TrialRuns


def places(runs: TrialRuns, sources: Sequence[str], text: Sequence[SourceFile]) -> dict[str, list[Place]]:
    """For each source, the last seeding that is the same whatever its seed, before the first draw that is the same."""
    if not sources:
        return {}
    runs.say_what_follows(1 + len(sources))
    observed = ObservedRuns(runs)
    control = observed.run()
    found = {}
    for source in sources if control else ():
        seeded = observed.run(source)
        event = seeded and lost(control, seeded)
        if event:
            file, line, *_ = event.place.split(":")
            says = f"Seen: {called(event.name)} is the same whatever {{{source}}} is."
            code = diagnosis.code_of(file, int(line), text)
            found[source] = [causes.place("fixed", file, int(line), code, says)]
    return found


def lost(control: Observed, seeded: Observed) -> Event | None:
    """The seeding at which another seed has no effect; none if no seeding was seen."""
    others = {(event.process, event.place, event.turn): event for event in seeded.events}
    last = None
    for event in control.events:
        other = others.get((event.process, event.place, event.turn))
        if other is None or (event.inputs, event.out, event.drawn) != (other.inputs, other.out, other.drawn):
            continue
        if causes.kind_of(event.name) == "generator":
            last = event
        elif last and (event.drawn or event.owner == last.out):
            break
    return last
