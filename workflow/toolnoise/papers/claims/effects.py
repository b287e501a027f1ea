"""The effect of a claim on one side, as a whole and by part: its value, its intervals, and the evidence.

Quantities are compared by their ratio, and means, such as an accuracy, by their difference. A finding has the one-sided
p-values for a claim and against it, by a function for each kind of test.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from toolnoise.formulas.declared import METRICS
from toolnoise.papers.claims.arms import Arms, Claim, ClaimPart, Subject, Toolings, is_emulated, parts_of_claim
from toolnoise.stats.contrasts import Arm, Contrast, contrast
from toolnoise.stats.estimates import UNDEFINED, Estimate

WHOLE = "all"
INJECTED = "the noise is emulated, so it is there by construction"
PUBLISHED, STUDY = "published", "study"
KNOWN = Arm(1.0, 0, error=0.0, squares=10**9)  # an SD that is known
# Prefixes of the measures that are shown in per cent.
PERCENT = ("accuracy", "ensemble_accuracy", "fpr", "fnr", "churn", "max_", "training_relative", "variability")
Sizes = dict[tuple[str, str], float]


POWER = 0.8
# Numbers of units computed from an uncertain effect are rounded up to one of these, or are more than the last.
STEPS = (10, 20, 50, 100, 200, 500, 1000)


class Finding(NamedTuple):
    """The one-sided p-values for a claim and against it."""

    supports: float
    refutes: float

    @property
    def pvalues(self) -> tuple[float, float]:
        """Both as two-sided p-values: for the claim, and against it."""
        return min(1.0, 2 * self.supports), min(1.0, 2 * self.refutes)

    @property
    def agrees(self) -> bool:
        """Whether the effect is on the claim's side."""
        return self.supports < self.refutes

    @property
    def reversed(self) -> "Finding":
        """The finding on the opposite claim."""
        return Finding(self.refutes, self.supports)


def above_bound(effect: Contrast, bound: float) -> Finding:
    """The effect is above a bound."""
    return Finding(effect.above(bound), effect.below(bound))


def within_margin(effect: Contrast, margin: float) -> Finding:
    """The effect is within a margin, by two one-sided tests; against this, it is beyond the margin on one side."""
    inside = float(np.maximum(effect.below(margin), effect.above(-margin)))
    outside = float(np.minimum(effect.above(margin), effect.below(-margin)))
    return Finding(inside, outside)


def combine_findings(findings: list[Finding], every: bool) -> tuple[Finding, int, int]:
    """The finding of several parts, the place of the part that decides, and the number of parts it was chosen from.

    If every part must agree, the weakest decides for the claim, and the worst, corrected as one of several, against it.
    If one must agree, the best, so corrected, decides for the claim, and the most doubtful against it.
    """
    if not every:
        finding, place, looks = combine_findings([part.reversed for part in findings], every=True)
        return finding.reversed, place, looks
    weakest = int(np.argmax([part.supports for part in findings]))
    worst = int(np.argmin([part.refutes for part in findings]))
    finding = Finding(findings[weakest].supports, min(1.0, len(findings) * findings[worst].refutes))
    return (finding, weakest, 1) if finding.supports < finding.refutes else (finding, worst, len(findings))


def units_needed(effect: Contrast, distance: float, level: float) -> float:
    """About how many units per arm resolve a distance at a two-sided level, if the effect is as observed.

    The variance falls as 1 / units; that of the logarithm of an SD over few units falls faster. NaN if it is not known.
    """
    if min(effect.units, default=0) < 2 or not effect.error > 0:
        return math.nan
    # The units of equal arms that would have this error: the harmonic mean.
    present = len(effect.units) / sum(1 / units for units in effect.units)
    threshold = scipy.special.ndtri(1 - level / 2) + scipy.special.ndtri(POWER)

    def variance(units: float) -> float:
        return scipy.special.polygamma(1, (units - 1) / 2) if effect.of_sds else 1 / units

    resolved = (distance / threshold / effect.error) ** 2 * variance(present)
    return next((float(step) for step in STEPS if step > present and variance(step) <= resolved), math.inf)


class Side(NamedTuple):
    """The numbers that claims are judged on: arms of a claim, sizes of groups, bounds by size alone, and toolings.

    `synthetic` has the names of synthetic data sets.
    """

    name: str
    arms: Callable[[Claim], Arms]
    sizes: Sizes
    null: Callable[[Claim, Subject], float]
    toolings: Toolings
    synthetic: tuple[str, ...] = ()


class Scale(NamedTuple):
    """The unit of an effect, how to get it from a contrast, and whether it is `linear`, as for a difference of means.

    No interval leaves the `limits` of the effect.
    """

    name: str
    read: Callable[[float], float]
    linear: bool = False
    limits: tuple[float, float] = (-math.inf, math.inf)


class ShownEffect(NamedTuple):
    """A claim or one of its parts. `contrast` is missing if presence is tested, `finding` if nothing is known.

    `distance` is that of the effect from the nearest bound of the claim. The effect is that of `parts`, the best of
    `looks`; `everything` has all parts that the claim rests on. `short_of` is the reason why a claim cannot be
    supported.
    """

    name: str
    scale: Scale
    effect: Estimate
    claimed: tuple[float, float]
    contrast: Contrast | None
    finding: Finding | None
    parts: tuple[ClaimPart, ...]
    distance: float = math.nan
    everything: tuple[ClaimPart, ...] = ()
    looks: int = 1
    cannot_fail: str = ""
    short_of: str = ""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Everything that the claim rests on."""
        return tuple(subject for part in self.everything or self.parts for subject in part.subjects)

    @property
    def units(self) -> tuple[int, ...]:
        """The units of each side, the smallest of several arms; one number if they are equal."""
        if self.contrast:
            return self.contrast.units
        return tuple(arm.units for part in self.parts for _, arm in part.terms)

    def interval(self, level: float) -> Estimate:
        """The interval of the values that a two-sided test of this level does not reject, corrected for `looks`."""
        if self.contrast is None or self.finding is None or math.isnan(self.effect.low):
            return UNDEFINED
        bounds = self.contrast.interval(min(level, 1.0) / self.looks / 2)
        if math.isnan(bounds.low):
            return UNDEFINED
        return Estimate(*map(self.scale.read, bounds)).within(*self.scale.limits)


def examine_claim(claim: Claim, side: Side) -> tuple[ShownEffect | None, list[ShownEffect]]:
    """A claim on one side, as a whole and by its parts; None as a whole if there is no part."""
    all_parts = parts_of_claim(claim, side.arms(claim), side.sizes)
    if not all_parts:
        return None, []
    scale = scale_of(claim, side.name)
    bounds = [bound_of(claim, part, side) for part in all_parts]
    if claim["test"] == "presence":
        effects = [_seen(claim, scale, part, side) for part in all_parts]
    else:
        named = zip(all_parts, bounds, strict=True)
        effects = [_estimated(claim, scale, part.name, [part], bound) for part, bound in named]
        if claim["parts"] == "pooled":
            return _estimated(claim, scale, WHOLE, all_parts, float(np.mean(bounds))), effects
    judged = [shown for shown in effects if not shown.cannot_fail]
    if judged:
        return _combined(claim, judged), effects
    largest = max(effects, key=lambda shown: np.nan_to_num(shown.effect.value, nan=-math.inf))
    return largest._replace(name=WHOLE, everything=tuple(all_parts)), effects


def _combined(claim: Claim, effects: Sequence[ShownEffect]) -> ShownEffect:
    """The claim that every part agrees, or any of them."""
    everything, every = tuple(part for shown in effects for part in shown.parts), claim["parts"] == "every"
    tested = [shown for shown in effects if shown.finding]
    if not tested or (every and len(tested) < len(effects)):
        # The part that would decide: the lowest if effects must be above, the highest if they must be below.
        decides = min if claim.get("direction") in ("above", "rising") else max
        missing = [shown for shown in effects if not shown.finding]
        shown = decides(missing, key=lambda shown: np.nan_to_num(shown.effect.value, nan=0.0))
        return shown._replace(name=WHOLE, everything=everything)
    finding, place, looks = combine_findings([shown.finding for shown in tested], every)
    if claim["test"] == "presence":
        place = (np.argmin if every else np.argmax)([shown.effect.value for shown in tested])
    short_of = _one_only(claim, everything) if every else ""
    if short_of:
        finding = finding._replace(supports=1.0)
    return tested[place]._replace(name=WHOLE, everything=everything, finding=finding, looks=looks, short_of=short_of)


def _one_only(claim: Claim, parts: Sequence[ClaimPart]) -> str:
    """Why parts cannot show that a claim holds in every case: there is one case only. Empty if there are more."""
    if "over" in claim:
        return "one comparison only" if len(parts) == 1 else ""
    key, thing = ("hardware", "tooling") if "hardware" in claim["of"] else ("model", "network")
    return (
        f"one {thing} only" if len({getattr(subject, key) for part in parts for subject in part.subjects}) == 1 else ""
    )


def _estimated(claim: Claim, scale: Scale, name: str, parts: Sequence[ClaimPart], bound: float) -> ShownEffect:
    terms = _pooled(parts)
    if scale.linear:
        terms = [(weight, linear_arm(arm)) for weight, arm in terms]
    elif len(terms) == 1 and terms[0][1].squares:
        terms.append((-1, KNOWN._replace(units=terms[0][1].units)))  # a chi-squared test is an F test
    pooled = contrast(terms)
    effect = Estimate(*map(scale.read, pooled.estimate)).within(*scale.limits)
    finding = None if np.isnan([pooled.error, bound]).any() else finding_of(claim, pooled, bound)
    low, high = _claimed(claim, bound)
    claimed, distance = (scale.read(low), scale.read(high)), min(abs(pooled.value - low), abs(pooled.value - high))
    reason = claim["cannot_fail"]
    return ShownEffect(name, scale, effect, claimed, pooled, finding, tuple(parts), distance, cannot_fail=reason)


def _seen(claim: Claim, scale: Scale, part: ClaimPart, side: Side) -> ShownEffect:
    """Presence is seen, not estimated: a quantity is 0 if no two runs differ."""
    ((_, arm),) = part.terms
    absent = float(arm.value == 0)
    finding = None if np.isnan(arm.value) else Finding(absent, 1 - absent)
    reason = claim["cannot_fail"] or (INJECTED if is_emulated(part.subjects[0], side.toolings) else "")
    effect = Estimate(scale.read(math.log(arm.value)) if arm.value > 0 else arm.value)
    return ShownEffect(part.name, scale, effect, (0.0, math.inf), None, finding, (part,), cannot_fail=reason)


def finding_of(claim: Claim, effect: Contrast, bound: float) -> Finding:
    """The evidence of a contrast for a claim, by its test."""
    if claim["test"] == "equivalence":
        return within_margin(effect, _margin(claim))
    finding = above_bound(effect, bound)
    return finding if claim["direction"] in ("above", "rising") else finding.reversed


def scale_of(claim: Claim, side: str) -> Scale:
    """The scale on which the effect of a claim is shown."""
    measure = claim["measure"]
    if side == PUBLISHED:
        measure = claim.get("published", {}).get("measure", measure)
    percent = measure.startswith(PERCENT) and not measure.endswith("_ratio")
    factor = 100.0 if percent else 1.0
    lowest, highest = (factor * end for end in METRICS[measure].range) if measure in METRICS else (-math.inf, math.inf)
    if claim["test"] == "trend":
        return Scale("exponent", float)
    if measure.endswith("_mean"):
        unit = "points" if percent else "nats"
        if "over" in claim:
            limits = lowest - highest, highest - lowest
            return Scale(f"{unit} apart", lambda value: factor * value, linear=True, limits=limits)
        return Scale(unit, lambda value: factor * value, linear=True, limits=(lowest, highest))
    if "over" in claim:
        return Scale("ratio", _exp)
    unit = "points" if measure.endswith("_sd") or measure.startswith("max_") else "%"
    plain = "ratio" if measure.endswith("_ratio") else "value"
    return Scale(unit if percent else plain, lambda value: factor * _exp(value), limits=(lowest, highest))


def linear_arm(arm: Arm) -> Arm:
    """An arm whose logarithm is the quantity itself, so that a contrast of such arms is a difference."""
    moves = {unit: arm.value * moved for unit, moved in arm.moves.items()}
    return arm._replace(value=math.exp(arm.value), moves=moves, error=arm.error * arm.value)


def bound_of(claim: Claim, part: ClaimPart, side: Side) -> float:
    """The bound that an effect is compared with, on the scale of the contrast; 0 for a trend."""
    reference = claim.get("reference")
    if reference is None or claim["test"] == "trend":
        return 0.0
    if claim["measure"].endswith("_mean"):
        return reference / 100 if claim["measure"].startswith(PERCENT) else float(reference)
    return float(np.log(side.null(claim, part.subjects[0]) if reference == "size" else reference))


def _margin(claim: Claim) -> float:
    if not claim["measure"].endswith("_mean"):
        return math.log(claim["margin"])
    return claim["margin"] / 100 if claim["measure"].startswith(PERCENT) else claim["margin"]


def _claimed(claim: Claim, bound: float) -> tuple[float, float]:
    """The bounds that a claim sets for its effect, on the scale of the contrast."""
    if "margin" in claim:
        return -_margin(claim), _margin(claim)
    return (bound, math.inf) if claim["direction"] in ("above", "rising") else (-math.inf, bound)


def _pooled(parts: Sequence[ClaimPart]) -> list[tuple[float, Arm]]:
    """The mean of the parts; an arm that several parts have is one arm."""
    weights: dict[int, float] = {}
    arms = {id(arm): arm for part in parts for _, arm in part.terms}
    for part in parts:
        for weight, arm in part.terms:
            weights[id(arm)] = weights.get(id(arm), 0) + weight / len(parts)
    return [(weights[key], arm) for key, arm in arms.items()]


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        return float(np.exp(value))
