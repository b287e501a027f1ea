"""Which claims are one hypothesis: two that compare the same arms, or their reciprocal, have one p-value and verdict.

Papers differ in words where they agree in substance, and a study may lack what told two claims apart. A hypothesis is
one test in Holm's adjustment, however many claims make it; if several papers do, each has it among its own.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from toolnoise.analyses.claims.claim_parts import Claim, ClaimPart
from toolnoise.stats.multiplicity import holm

DIGITS = 9  # of weights and bounds: those of a reciprocal are rounded in another way


def contrast_of(claim: Claim, parts: Sequence[ClaimPart]) -> tuple[Hashable, int]:
    """What a claim compares, the same for its reciprocal, and 1 or -1 for which of the two it is."""
    turned = [_turned(claim["measure"], part) for part in parts]
    first = turned[0][1]
    return frozenset((terms, sign * first) for terms, sign in turned), first


def hypothesis(claim: Claim, parts: Sequence[ClaimPart], bounds: Sequence[float]) -> Hashable:
    """What a claim tests; equal for two claims that must have one p-value."""
    compared, sign = contrast_of(claim, parts)
    together = claim["parts"] if len(parts) > 1 else "pooled"
    if "margin" in claim:
        return compared, together, claim["test"], claim["margin"]
    upwards = claim["direction"] in ("above", "rising")
    # The p-values of a pooled contrast are two-sided; which part decides for several depends on the direction.
    direction = 0 if together == "pooled" else sign * (1 if upwards else -1)
    return compared, together, frozenset(round(sign * bound, DIGITS) + 0.0 for bound in bounds), direction


def adjusted(papers: Sequence[str], tested: Sequence[Hashable | None], pvalues: Sequence[float]) -> list[float]:
    """p-values by Holm within each paper, each hypothesis once; one of several papers has its largest. None is NaN."""
    largest: dict[Hashable, float] = {}
    for paper in dict.fromkeys(papers):
        family = {key: pvalue for who, key, pvalue in zip(papers, tested, pvalues, strict=True) if key and who == paper}
        for key, pvalue in zip(family, holm(np.array(list(family.values()))), strict=True):
            largest[key] = max(largest.get(key, 0.0), float(pvalue))
    return [largest[key] if key else np.nan for key in tested]


def _turned(measure: str, part: ClaimPart) -> tuple[Hashable, int]:
    terms: list[tuple[Any, float]] = [
        ((measure, *places), round(weight, DIGITS)) for (weight, _), places in zip(part.terms, part.places, strict=True)
    ]
    terms.sort()
    sign = 1 if terms[0][1] > 0 else -1
    return tuple((place, sign * weight) for place, weight in terms), sign
