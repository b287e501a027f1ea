"""Find the place that makes two runs differ, by runs in which places get the results that they had in another run.

The observer (checking/injected) runs in each Python process that the program starts. Observing costs time, so no
observed run decides whether a program is reproducible.

If a run with the values that one place had in a kept run ends like that run, the difference arises at that place. One
place is tried alone before several together. If values cannot be kept, other experiments follow: one value at every
turn, a fixed hash seed, threads one after another. A run that ends like another one by chance proves nothing: if
unchanged runs have been equal by chance before, an experiment is repeated.
"""

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.checking import differences, first_difference
from toolnoise.checking.first_difference import Observed, Root, read_records
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.trial_runs import UNCOMPILED, TrialRuns

# The name in a plan for the states of global generators at the start of each process.
START = "start"
PATIENCE, LONGER = 60.0, 5  # the limit of an observed run: seconds, plus a multiple of the longest run so far
# The values that are fixed in an observed run, and how they are fixed.
PLAN = {"keep": (), "force": (), "generators": (), "constant": False, "by_turn": False, "in_turn": False}
HASH_SEED = "PYTHONHASHSEED"
MOST_RUNS = 12  # of the program, including the first two
REPEATS = 2


class ObservedRuns:
    """Observed runs of one command, numbered in their order."""

    def __init__(self, runs: TrialRuns) -> None:
        self.runs, self._count = runs, 0
        # The error of the last run that failed.
        self.failure = ""
        self._folder = runs.folder / "observed"
        (self._folder / "values").mkdir(parents=True)

    def run(self, *varying: str, variables: Mapping[str, str] = UNCOMPILED, **plan: Any) -> Observed | None:
        """Observe one run, with some variables; None if the program fails, as it may with values of another run.

        The results of places in `keep` are kept for later runs. Places in `force` get these results again: if the
        inputs are the same, or, with `by_turn`, the turn. `generators` get their kept states again at the start.
        With `constant`, a place always gets its first result. With `in_turn`, threads run one after another. Each
        source in `varying` has another seed.
        """
        self._count += 1
        # Names of one length, so that values that the program computes from its folders count as equal.
        name = f"observed-{self._count:02d}"
        folder = self._folder / name
        folder.mkdir()
        task = {"observer": "rewriting", "folder": str(folder.resolve()), **PLAN, **plan}
        limit = self.runs.limit
        # With a value of another run, a loop may never end.
        self.runs.limit = min(limit, PATIENCE + LONGER * max(self.runs.seconds, default=limit))
        try:
            outcome = self.runs.run(name, *varying, more=variables, task=task)
        except BadInput as error:
            self.failure = str(error)
            return None
        finally:
            self.runs.limit = limit
        return read_records(folder, outcome)


class Proof(NamedTuple):
    """The result of experiments: the roots that suffice to make runs equal, and the evidence as a sentence."""

    roots: list[Root]
    evidence: str


class Experiments:
    """Runs of a program with some values fixed, until MOST_RUNS runs are made in all."""

    def __init__(self, observed: ObservedRuns, outcomes: Sequence[Outcome]) -> None:
        self._observed, self._runs = observed, observed.runs
        # Outcomes of unchanged runs: some of them may be equal by chance.
        self._free = list(outcomes)
        self._kept: Observed | None = None
        self._are_by_turn = False

    def proof(self, one: Observed, other: Observed) -> Proof | None:
        """The places that make runs differ, if an experiment shows them."""
        roots = first_difference.differing_roots(one, other)
        # In the order of time, but usual causes later, and calls that enclose other roots last.
        outer = [root for root in roots if any(map(root.encloses, roots))]
        inner = sorted((root for root in roots if root not in outer), key=lambda root: (root.is_usual, root.event.time))
        roots = [*inner, *sorted(outer, key=lambda root: (root.is_usual, root.event.time))]
        apart = [root for root in inner if root.apart and not root.is_usual]
        return (
            (self._keep(roots) and (self._nearer(self._by_values(inner), inner) or self._by_one_value(apart)))
            or (bool(outer) and self._by_values(roots))
            or self._by_turns(first_difference.differing_turns(one, other)[:2])
            or self._by_hash_seed(roots)
            or self._by_threads_in_turn(one, other, roots)
            or None
        )

    def _has_room_for(self, runs: int) -> bool:
        return self._runs.started + runs <= MOST_RUNS

    def _keep(self, roots: Sequence[Root]) -> bool:
        """Run the program once more, and keep the values of some places; return whether that succeeded."""
        if not roots or not self._has_room_for(2):
            return False
        self._kept = self._observed.run(keep=[START, *(root.event.place for root in roots)])
        if self._kept is not None:
            self._free.append(self._kept.outcome)
        return self._kept is not None

    def _by_values(self, roots: Sequence[Root]) -> Proof | None:
        if not roots:
            return None
        if self._suffices(roots[:1]):
            return _proved(roots[:1])
        if len(roots) == 1 or not self._suffices(roots):
            return None
        # Find how many of the first places suffice at least; the last of these is needed.
        low, high = 1, len(roots)
        while high - low > 1 and self._has_room_for(2):
            middle = (low + high) // 2
            low, high = (low, middle) if self._suffices(roots[:middle]) else (middle, high)
        if self._suffices(roots[high - 1 : high]):
            return _proved(roots[high - 1 : high])
        needed = list(roots[:high])
        for root in roots[: high - 1]:
            fewer = [each for each in needed if each is not root]
            if len(fewer) > 1 and self._suffices(fewer):
                needed = fewer
        return _proved(needed)

    def _nearer(self, found: Proof | None, roots: Sequence[Root]) -> Proof | None:
        """Prefer an earlier place in a started process or thread if it suffices: the found place only passes it on."""
        if found is None or len(found.roots) != 1 or found.roots[0].apart:
            return found
        earlier = [root for root in roots if root.apart and root.event.time < found.roots[0].event.time]
        return next((_proved([root]) for root in earlier[:2] if self._suffices([root])), found)

    def _by_turns(self, roots: Sequence[Root]) -> Proof | None:
        """Test places that may end a loop: their values are kept by turn, since their inputs change during a run."""
        self._are_by_turn = True
        found = self._by_values(roots) if self._keep(roots) else None
        self._are_by_turn = False
        return found

    def _suffices(self, roots: Sequence[Root]) -> bool:
        """Whether runs end like the kept run if some places get the values that they had in it."""

        def is_like_kept() -> bool:
            if self._kept is None or not self._has_room_for(1):
                return False
            again = self._observed.run(**_fixed(roots), by_turn=self._are_by_turn)
            return again is not None and are_equal(self._kept.outcome, again.outcome)

        return is_like_kept() and (not self._are_some_equal() or all(is_like_kept() for _ in range(REPEATS)))

    def _are_some_equal(self) -> bool:
        """Whether some unchanged runs are equal: then a changed run may also be equal by chance."""
        return any(are_equal(*pair) for pair in combinations(self._free, 2))

    def _are_all_equal(self, **how: Any) -> bool:
        """Whether all observed runs with one change are equal."""
        count = 2 + self._are_some_equal()
        changed = [self._observed.run(**how) for _ in range(count)] if self._has_room_for(count) else [None]
        return all(each is not None and are_equal(changed[0].outcome, each.outcome) for each in changed)

    def _by_one_value(self, roots: Sequence[Root]) -> Proof | None:
        """Give each turn the same value, since processes and threads may take other pieces of work in each run."""
        if not roots or self._kept is None or not self._are_all_equal(**_fixed(roots), constant=True):
            return None
        says = f"By experiment: if {_names(roots)} always has one and the same value, runs are equal."
        return Proof(list(roots), says)

    def _by_hash_seed(self, roots: Sequence[Root]) -> Proof | None:
        is_free = os.environ.get(HASH_SEED, "random") == "random"
        if not is_free or not self._are_all_equal(variables={**UNCOMPILED, HASH_SEED: "0"}):
            return None
        hashed = [root for root in roots if root.event.name == "iterate" or root.cause == "hash"]
        return Proof(hashed[:1], f"By experiment: with {HASH_SEED}=0 runs are equal.")

    def _by_threads_in_turn(self, one: Observed, other: Observed, roots: Sequence[Root]) -> Proof | None:
        places = [root for root in first_difference.differing_orders(one, other) if root.apart]
        ready = [root for root in roots if root.cause == "ready"]
        places += sorted(ready, key=lambda root: root.event.time)
        if not places or not self._are_all_equal(in_turn=True):
            return None
        return Proof(places[:1], "By experiment: if its threads run one after another, runs are equal.")


def _fixed(roots: Sequence[Root]) -> dict[str, Any]:
    return {
        "force": [START, *(root.event.place for root in roots if not root.generator)],
        "generators": sorted({root.generator for root in roots} - {""}),
    }


def are_equal(outcome: Outcome, other: Outcome) -> bool:
    """Whether two outcomes are equal except for times."""
    return not differences.find_differences(outcome, other).files


def _names(roots: Sequence[Root]) -> str:
    return " and ".join(dict.fromkeys(call_text(root.event.name) for root in roots))


def call_text(name: str) -> str:
    """The name of a called function, for messages."""
    own = {
        "iterate": "the order of the set",
        "awaited": "`await`",
        "builtins.next": "the loop",
        "builtins.iter": "the loop",
    }
    parts = [part for part in name.removeprefix("builtins.").split(".") if not part.startswith("_")]
    return own.get(name, f"`{'.'.join(parts)}`")


def _proved(roots: Sequence[Root]) -> Proof:
    if len(roots) == 1 and roots[0].generator:
        says = (
            f"By experiment: if the generator of {roots[0].generator} has the same state at the start, runs are equal."
        )
    elif len(roots) == 1:
        says = f"By experiment: with the value that {_names(roots)} had here in one run, another run ends like it."
    else:
        says = f"By experiment: with the values that {len(roots)} places had in one run, another run ends like it."
    return Proof(list(roots), says)
