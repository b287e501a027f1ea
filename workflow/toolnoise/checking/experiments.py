"""Which place makes two runs differ: found by runs in which the results of places are those of another run.

If a run with the values that one place had in a kept run ends like that run, what differs arises there. One place is
tried alone before several together. Where values cannot be kept, other experiments follow: one value at every turn, a
fixed hash seed, threads one after another. A run that ends like another one by chance would prove nothing: where runs
have been equal by chance before, an experiment is repeated.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.checking import causes, differences, first_difference
from toolnoise.checking.first_difference import Root
from toolnoise.checking.observed_runs import START, Observed, ObservedRuns
from toolnoise.checking.outcome import Outcome

HASH_SEED = "PYTHONHASHSEED"
MOST_RUNS = 12  # of the program, the first two included
REPEATS = 2


class Proof(NamedTuple):
    """What experiments have shown: the roots that suffice, and the sentence that says what was seen."""

    roots: list[Root]
    evidence: str


class Experiments:
    """Runs of a program with some of it fixed, as many as its number of runs leaves."""

    def __init__(self, observed: ObservedRuns, outcomes: Sequence[Outcome]) -> None:
        self._observed, self._runs = observed, observed.runs
        # Runs that nothing was changed in: whether some of them were equal by chance.
        self._free = list(outcomes)
        self._kept: Observed | None = None
        self._are_by_turn = False

    def _has_room_for(self, runs: int) -> bool:
        return self._runs.started + runs <= MOST_RUNS

    def proof(self, one: Observed, other: Observed) -> Proof | None:
        """The places that make runs differ, if an experiment shows them."""
        roots = _in_order_of_trial(first_difference.roots(one, other))
        inner = [root for root in roots if not any(map(root.encloses, roots))]
        apart = [root for root in inner if root.apart and not is_usual(root)]
        return (
            (self._keep(roots) and (self._nearer(self._by_values(inner), inner) or self._by_one_value(apart)))
            or (len(inner) < len(roots) and self._by_values(roots))
            or self._by_turns(first_difference.turns(one, other)[:2])
            or self._by_hash_seed(roots)
            or self._by_threads_in_turn(one, other)
            or None
        )

    def _keep(self, roots: Sequence[Root]) -> bool:
        """Run it once more, and keep the values of some places."""
        if not roots or not self._has_room_for(2):
            return False
        self._kept = self._observed.run(keep=[START, *(root.place for root in roots)])
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
        # The fewest of the first places that suffice; the last of them is needed.
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
        """An earlier place in a process or thread of the program, if it suffices: what was found passes it on."""
        if found is None or len(found.roots) != 1 or found.roots[0].apart:
            return found
        earlier = [root for root in roots if root.apart and root.time < found.roots[0].time]
        return next((_proved([root]) for root in earlier[:2] if self._suffices([root])), found)

    def _by_turns(self, roots: Sequence[Root]) -> Proof | None:
        """What ends a loop changes while the program runs: it is kept by its turn, whatever it got."""
        self._are_by_turn = True
        found = self._by_values(roots) if self._keep(roots) else None
        self._are_by_turn = False
        return found

    def _suffices(self, roots: Sequence[Root]) -> bool:
        """Whether a run with the values that some places had in the kept run ends like it."""
        return self._is_certain(lambda: self._is_like_kept(roots))

    def _is_like_kept(self, roots: Sequence[Root]) -> bool:
        if self._kept is None or not self._has_room_for(1):
            return False
        again = self._observed.run(**_fixed(roots), by_turn=self._are_by_turn)
        return again is not None and _are_equal(self._kept.outcome, again.outcome)

    def _is_certain(self, holds: Callable[[], bool]) -> bool:
        return holds() and (not self._are_some_equal() or all(holds() for _ in range(REPEATS)))

    def _are_some_equal(self) -> bool:
        """Whether some of the runs in which nothing was changed are equal: then an equal run may be so by chance."""
        pairs = [(a, b) for number, a in enumerate(self._free) for b in self._free[:number]]
        return any(_are_equal(a, b) for a, b in pairs)

    def _are_all_equal(self, run: Callable[[str], Outcome | None]) -> bool:
        """Whether runs that are changed in one way are equal."""
        number = 2 + self._are_some_equal()
        outcomes = [run(str(each)) for each in range(1, number + 1)] if self._has_room_for(number) else [None]
        return all(each is not None and _are_equal(outcomes[0], each) for each in outcomes)

    def _by_one_value(self, roots: Sequence[Root]) -> Proof | None:
        """Processes and threads may take other pieces of work in each run: then each turn gets the same value."""

        def run(_number: str) -> Outcome | None:
            again = self._observed.run(**_fixed(roots), constant=True)
            return again and again.outcome

        if not roots or self._kept is None or not self._are_all_equal(run):
            return None
        return Proof(
            list(roots), f"By experiment: if {_names(roots)} always has one and the same value, runs are equal."
        )

    def _by_hash_seed(self, roots: Sequence[Root]) -> Proof | None:
        def run(number: str) -> Outcome | None:
            try:
                return self._runs.run(f"hash-seed-{number}", more={HASH_SEED: "0"})
            except BadInput:
                return None

        if os.environ.get(HASH_SEED, "random") != "random" or not self._are_all_equal(run):
            return None
        hashed = [root for root in roots if root.name == "iterate" or causes.kind_of(root.name) == "hash"]
        return Proof(hashed[:1], f"By experiment: with {HASH_SEED}=0 runs are equal.")

    def _by_threads_in_turn(self, one: Observed, other: Observed) -> Proof | None:
        def run(_number: str) -> Outcome | None:
            again = self._observed.run(in_turn=True)
            return again and again.outcome

        places = [root for root in first_difference.orders(one, other) if root.apart]
        places += [root for root in first_difference.roots(one, other) if causes.kind_of(root.name) == "ready"]
        if not places or not self._are_all_equal(run):
            return None
        return Proof(places[:1], "By experiment: if its threads run one after another, runs are equal.")


def _in_order_of_trial(roots: Sequence[Root]) -> list[Root]:
    """The first one first; later what hardly ever matters, and last the calls within which others were made."""
    return sorted(roots, key=lambda root: (any(map(root.encloses, roots)), is_usual(root), root.time))


def is_usual(root: Root) -> bool:
    """Whether it differs between any two runs, and hardly ever matters."""
    return causes.kind_of(root.name) in causes.USUAL and not root.generator


def _fixed(roots: Sequence[Root]) -> dict[str, Any]:
    return {
        "force": [START, *(root.place for root in roots if not root.generator)],
        "generators": {root.generator for root in roots} - {""},
    }


def _are_equal(outcome: Outcome, other: Outcome) -> bool:
    return not differences.between(outcome, other).files


def _names(roots: Sequence[Root]) -> str:
    return " and ".join(dict.fromkeys(called(root.name) for root in roots))


def called(name: str) -> str:
    """What is called, as a person would write it."""
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
