"""Which of the papers' claims a number of runs would decide, if the effects are as published: for a plan."""

from collections import Counter
from collections.abc import Iterable, Sequence

from toolnoise.analyses.claims import judging, tests
from toolnoise.analyses.claims.arms import Subject, by_the_papers_names
from toolnoise.analyses.claims.claim_parts import Claim, parts
from toolnoise.analyses.claims.effects import examine
from toolnoise.stats.power import LEVEL, POWER
from toolnoise.stats.quantities import Arm
from toolnoise.study import config
from toolnoise.study.cells import Cell


def decidable(cells: Iterable[Cell], runs: int) -> tuple[list[str], list[str]]:
    """The claims on these cells as wholes that so many runs per arm decide with the usual power, and the others.

    Those without a published effect and its spread are in neither. Each is tested at the first step of Holm's.
    """
    known = [{"name": name, **claim} for name, claim in config.registered("claims").items()]
    here = by_the_papers_names({Subject(*cell): Arm(1.0, 0) for cell in cells})
    about = [claim for claim in known if parts(claim, here, {})]
    powers = {claim["name"]: _power(claim, runs, about) for claim in about}
    decided = [name for name, power in powers.items() if power >= POWER]
    return decided, [name for name, power in powers.items() if power < POWER]


def _power(claim: Claim, runs: int, family: Sequence[Claim]) -> float:
    """The power to decide a claim by its published effect, as one of a family; NaN if that has no spread."""
    whole, each, _ = examine(claim, judging.by_publication())
    if whole is None or whole.cannot_fail or whole.finding is None or whole.contrast is None or whole.short_of:
        return float("nan")
    several, all_of_them = judging.tested(claim, whole, each)
    level = LEVEL / Counter(each["paper"] for each in family)[claim["paper"]]
    return tests.power(several, runs, level, all_of_them=all_of_them)
