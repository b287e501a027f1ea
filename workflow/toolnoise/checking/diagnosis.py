"""Why a program is not reproducible: suspicions from its text, weighed by what its runs showed.

A difference at the start does not come from the order of examples, nor one that arises in training from the initial
weights; equal weights with other predictions leave only the evaluation. An experiment counts for more than any text.
"""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from toolnoise.checking import differences
from toolnoise.checking.causes import CAUSES, LIKELY, POSSIBLE, SURE, UNLIKELY, Suspect, places, ranked
from toolnoise.checking.differences import Difference

Phase = Literal["start", "training", "evaluation", "order of examples"]

# What makes runs equal: a fixed hash seed; a run before them, which leaves what they read; no fixed hash seed; chance,
# perhaps; it was not tried, or showed nothing.
Experiment = Literal["hash seed", "first run", "no", "rare"] | None

PROVEN = SURE + 2
HASHED, LEFT = ("set", "hash"), ("checkpoint",)
PROVED = {"hash seed": HASHED, "first run": LEFT}
# By the phase in which the difference arises: causes that it speaks for, and causes that it speaks against.
EVIDENCE: dict[Phase, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "start": (("torch", "tensorflow"), ("loader", "dropout", "workers", "evaluation", "kernels")),
    "training": (("loader", "dropout", "workers"), ("torch", "tensorflow", "evaluation")),
    "evaluation": (("evaluation", "files", "parallel"), ("torch", "tensorflow", "workers")),
    "order of examples": (("set", "files", "parallel"), ("torch", "tensorflow", "dropout", "evaluation", "kernels")),
}
# What a person is told of both.
PHASES = {
    "start": "The runs differ before training (row 0 of history.csv): in the initial weights, or in the data.",
    "training": "The runs start alike: they part in training.",
    "evaluation": "The weights are equal: the runs part in the evaluation.",
    "order of examples": "Both runs have the same examples with the same results, in another order.",
}
EXPERIMENTS = {
    "hash seed": "By experiment: with PYTHONHASHSEED=0 two runs are equal, with other hash seeds they differ.",
    "no": "By experiment: with PYTHONHASHSEED=0 two runs differ, too. So there is a cause besides the hash seed "
    "(perhaps the addresses of objects, which it does not fix).",
    "first run": "By experiment: only the first run differs. It seems to leave what others read (checkpoint or cache).",
    "rare": "By experiment: only the first run differs. The cause may be rare, or that run leaves what others read.",
}


class Diagnosis(NamedTuple):
    """Likely places, possible places, and causes that the program's text does not show."""

    phase: Phase | None
    experiment: Experiment
    likely: list[Suspect]
    possible: list[Suspect]
    unseen: list[str]


def phase(difference: Difference) -> Phase | None:
    """When two runs parted, if their outcomes show it."""
    if difference.reordered:
        return "order of examples"
    if difference.epoch == 0:
        return "start"
    if difference.n_tensors and not difference.tensors and not difference.column:
        return "evaluation"
    if difference.started_equal or (difference.epoch or 0) > 1:
        return "training"
    return None


def worth_an_experiment(suspects: Sequence[Suspect]) -> bool:
    """Whether two more runs, with a fixed hash seed, may settle what the text alone does not."""
    return any(each.cause in HASHED for each in suspects) or not any(each.weight >= SURE for each in suspects)


def only_hashed(suspects: Sequence[Suspect]) -> bool:
    """Whether the text shows orders and hashes that follow the hash seed, and no other likely cause."""
    likely = [suspect.cause for suspect in suspects if suspect.weight >= LIKELY]
    return bool(likely) and all(cause in HASHED for cause in likely)


def diagnose(
    suspects: Sequence[Suspect], difference: Difference, experiment: Experiment, imported: Collection[str] = ()
) -> Diagnosis:
    """Weigh suspicions by when the runs parted, and by an experiment; `imported` are its modules, if known."""
    when, proved = phase(difference), PROVED.get(experiment, ())
    weighed = ranked([suspect._replace(weight=_weight(suspect, when, experiment)) for suspect in suspects])
    seen = {suspect.cause for suspect in weighed}
    return Diagnosis(
        when,
        experiment,
        [suspect for suspect in weighed if suspect.weight >= LIKELY],
        [suspect for suspect in weighed if suspect.weight == POSSIBLE],
        [
            cause
            for cause, about in CAUSES.items()
            if cause not in seen and (not proved or cause in proved)
            if not (imported and about.modules) or {*about.modules} & {*imported}
        ],
    )


def _weight(suspect: Suspect, when: Phase | None, experiment: Experiment) -> int:
    if experiment in PROVED:
        # Draws that nothing seeds would not be equal.
        return PROVEN if suspect.cause in PROVED[experiment] else UNLIKELY
    if suspect.weight == UNLIKELY:
        return UNLIKELY
    if suspect.cause == "hash" and experiment == "no":
        # A set may be one of objects, in the order of their addresses.
        return POSSIBLE
    for_it, against = EVIDENCE[when] if when else ((), ())
    if suspect.cause in against:
        return POSSIBLE
    return suspect.weight + (suspect.cause in for_it)


def different(difference: Difference, why: Diagnosis) -> list[str]:
    """What differs between two runs that should be equal, and what was probably forgotten."""
    lines = [f"Not reproducible: two runs with equal seeds differ in {', '.join(difference.files)}."]
    lines += [f"  {part}" for part in differences.parts(difference)]
    lines += [PHASES[why.phase]] if why.phase else []
    lines += [EXPERIMENTS[why.experiment]] if why.experiment else []
    lines += ["", "Likely:", *places(why.likely)] if why.likely else []
    lines += ["", "Possible:", *places(why.possible)] if why.possible else []
    return [*lines, *_unseen(why)]


def _unseen(why: Diagnosis) -> list[str]:
    """Causes that the text does not show: a checklist where it shows nothing likely."""
    if why.likely or not why.unseen:
        return []
    return ["", "The text of the program shows no likely cause. Often forgotten:"] + [
        f"  {CAUSES[cause].says}{' without a seed' if CAUSES[cause].draws else ''}: {CAUSES[cause].remedy}"
        for cause in why.unseen
    ]
