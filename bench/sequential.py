"""How often a sequential comparison decides falsely, how often it finds a gain, and how many runs it saves.

Runs are normal. A study has two arms of at most 10, 20 or 40 runs each, paired or independent, and a look after each
run (from the second on) or five looks. Rules: Lan and DeMets' spending with bounds on the p-value of Student's test of
pairs or Welch's test, as `compare --peek` has them; the same with the normal test's bounds; and a t-test e-process
(normal prior on the effect, its SD the planned effect; Gönen et al. 2005, Pérez-Ortiz et al. 2024), which may be looked
at at any time. First without a difference, also with one SD four times the other; then with the gain for which the plan
promises 80 % power. `fixed` is the number of runs of each arm of the fixed design with the power found, and `saved`
what the mean study saves of it. `covered` is the share of studies whose interval at their end has the true difference.
With futility, studies stop that have less than 10 % conditional power. A line is marked if more than 5.5 % decide
falsely.

    python bench/sequential.py         40,000 studies a line: two minutes of one core
    python bench/sequential.py 10000   of fewer
"""

import sys
import time
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from toolnoise.comparison.sequential import bounds, planning
from toolnoise.stats.two_means import SMALL_ARMS

STUDIES, LEVEL, POWER, MOST_FALSE = 40_000, 0.05, 0.8, 0.055
MOST = 10, 20, 40
E_PROCESS = "e-process"
FUTILITY = "futility"
NORMAL, MANY = "normal", 10_000  # with so many times the runs, t is normal
RULES = (*(f"{kind}{way}" for kind in bounds.SPENDING for way in ("", f", {FUTILITY}", f", {NORMAL}")), E_PROCESS)
TINY = 1e-12


class Looked(NamedTuple):
    """Studies at each of their looks: estimates, standard errors, degrees of freedom, [studies, looks]."""

    effects: np.ndarray
    errors: np.ndarray
    freedom: np.ndarray


class Ended(NamedTuple):
    """Whether each study decides, its last look, and whether its interval then has the true difference."""

    decides: np.ndarray
    at: np.ndarray
    covers: np.ndarray


def main(studies: int = STUDIES) -> None:
    """Simulate and print, one line per shape and rule."""
    started = time.process_time()
    print(f"{studies:,} studies a line; numbers of runs are those of each arm")
    print(f"{'':47}falsely decided, %")
    print(
        f"{'arms':12} {'most':>4} {'looks':>5}  {'rule':24}"
        "equal SDs  1 and 4   covered, %   gain, SDs  found, %  runs  fixed  saved  covered, %"
    )
    rng = np.random.Generator(np.random.Philox(20))
    for paired in (True, False):
        for most in MOST:
            for looks, runs in (("each", np.arange(2, most + 1)), ("5", np.arange(1, 6) * most // 5)):
                for rule in RULES:
                    print(f"{'paired' if paired else 'independent':12} {most:4} {looks:>5}  {rule:22}", end="")
                    print(line(rng, studies, paired, runs, rule), flush=True)
    print(f"sequential: {time.process_time() - started:.0f} s of processor time")


def line(rng: np.random.Generator, studies: int, paired: bool, runs: np.ndarray, rule: str) -> str:
    """One shape under one rule."""
    most = int(runs[-1])
    gain = planned_gain(runs, paired, rule)
    null = ended(draw(rng, studies, paired, runs, 0.0, 1), runs, paired, rule, 0.0, gain)
    false = null.decides.mean()
    unequal = np.nan
    if not paired:
        unequal = ended(draw(rng, studies, paired, runs, 0.0, 4), runs, paired, rule, 0.0, gain).decides.mean()
    looked = draw(rng, studies, paired, runs, gain, 1)
    found = ended(looked, runs, paired, rule, gain, gain)
    right = float((found.decides & (looked.effects[np.arange(studies), found.at] > 0)).mean())
    mean = runs[found.at].mean()
    fixed = optimize.brentq(lambda count: planning.fixed_power(count, gain, paired, LEVEL) - right, 2, 4 * most)
    mark = "*" if np.nanmax([false, unequal]) > MOST_FALSE else " "
    other = f"{100 * unequal:9.2f}" if not paired else f"{'':9}"
    return (
        f"{100 * false:9.2f}{other} {mark} {100 * null.covers.mean():12.1f} {gain:11.2f} {100 * right:9.1f}"
        f" {mean:5.1f} {fixed:6.1f} {100 * (1 - mean / fixed):5.0f}% {100 * found.covers.mean():10.1f}"
    )


def planned_gain(runs: np.ndarray, paired: bool, rule: str) -> float:
    """The gain, in SDs, for which a plan of this most promises the power; the e-process takes O'Brien and Fleming's."""
    kind, _, way = rule.partition(", ")
    how = {"paired": paired, "level": LEVEL, "futility": way == FUTILITY}
    how["spending"] = "obrien-fleming" if rule == E_PROCESS else kind
    return optimize.brentq(lambda gain: bounds.power(runs.tolist(), gain, **how) - POWER, 0.1, 10, xtol=1e-3)


def draw(rng: np.random.Generator, studies: int, paired: bool, runs: np.ndarray, gain: float, factor: float) -> Looked:
    """Studies, seen at each look; pairs have differences of SD 1, independent arms SDs 1 and `factor`."""
    shape = (studies, runs[-1])
    if paired:
        mean, variance = moments(rng.standard_normal(shape) + gain, runs)
        return Looked(mean, np.sqrt(variance / runs), np.broadcast_to(runs - 1.0, mean.shape))
    mean_a, variance_a = moments(rng.standard_normal(shape), runs)
    mean_b, variance_b = moments(factor * rng.standard_normal(shape) + gain, runs)
    freedom = (runs - 1) * (variance_a + variance_b) ** 2 / (variance_a**2 + variance_b**2)
    freedom = np.where(runs == 2, np.minimum(freedom, SMALL_ARMS[2]), freedom)
    return Looked(mean_b - mean_a, np.sqrt((variance_a + variance_b) / runs), freedom)


def moments(values: np.ndarray, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the variance of the first runs, at each look."""
    sums, squares = (np.cumsum(of, axis=1)[:, runs - 1] for of in (values, values**2))
    return sums / runs, (squares - sums**2 / runs) / (runs - 1)


def ended(looked: Looked, runs: np.ndarray, paired: bool, rule: str, true: float, gain: float) -> Ended:
    """Where each study ends under a rule, and how."""
    each = np.arange(len(looked.effects))
    statistic, fractions = looked.effects / looked.errors, runs / runs[-1]
    if rule == E_PROCESS:
        inside = e_values((looked.effects - true) / looked.errors, runs, paired, gain) < 1 / LEVEL
        crossing = e_values(statistic, runs, paired, gain) >= 1 / LEVEL
    else:
        kind, _, way = rule.partition(", ")
        times = MANY if way == NORMAL else 1
        decides = np.array(bounds.decisive((times * runs).tolist(), times * int(runs[-1]), LEVEL, kind))
        # A look that may not decide has the p-value 0.
        critical = np.where(decides < TINY, np.inf, stats.t.isf(np.maximum(decides, TINY) / 2, looked.freedom))
        crossing = np.abs(statistic) >= critical
        inside = np.abs(looked.effects - true) <= critical * looked.errors
    stopping = crossing.copy()
    if FUTILITY in rule:
        early = np.array([bounds.is_late(fraction) for fraction in fractions])
        chance = bounds.conditional_power(
            statistic[:, early], fractions[early], gain / looked.errors[:, early], decides[-1]
        )
        stopping[:, early] |= chance < bounds.FUTILE
    stopping[:, -1] = True
    at = stopping.argmax(axis=1)
    return Ended(crossing[each, at], at, inside[each, at])


def e_values(statistic: np.ndarray, runs: np.ndarray, paired: bool, effect: float) -> np.ndarray:
    """The Bayes factor of a t statistic, with a normal prior on the effect, against no effect."""
    size, freedom = (runs, runs - 1) if paired else (runs / 2, 2 * runs - 2)
    wider = 1 + size * effect**2
    ratio = (1 + statistic**2 / freedom) / (1 + statistic**2 / (freedom * wider))
    return ratio ** ((freedom + 1) / 2) / np.sqrt(wider)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
