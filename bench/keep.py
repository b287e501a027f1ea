"""Compares rules for keeping changes in a loop of many changes: false keeps and gain per 100 runs, by simulation.

    python bench/keep.py [--runs FILE] >docs/tables/keep.txt      some seconds

There are 1,000 loops of 100 changes. The effect of a change is drawn, in SDs of a run, and adds to the kept changes. A
keep is false if the change has no gain. Intervals (95 %) are for ratios of means over loops. `--runs` takes a CSV with
columns track, code, final_step, val_loss and blob, such as the runs of modded-nanogpt: a further table then draws the
noise from residuals within groups of runs with equal track, code and final_step.
"""

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from toolnoise.comparison.keep import RULE, STRICT, Noise, Rule, Simulated, simulate

LOOPS, CHANGES, RERUNS, LEVEL = 1000, 100, 10, 0.05
FEWEST = 5  # runs of a group that gives residuals
Simulation = Callable[[np.random.Generator, np.ndarray, Noise], Simulated]
# Maps each effect to the share of changes that have it; all other changes have no effect.
WORLDS: dict[str, dict[float, float]] = {
    "10 % of changes gain 1 SD": {1: 0.1},
    "10 % of changes gain 0.5 SD": {0.5: 0.1},
    "10 % of changes gain 2 SD": {2: 0.1},
    "10 % of changes gain 1 SD, 45 % lose 0.5 SD": {1: 0.1, -0.5: 0.45},
    "no change has an effect": {},
}


def main() -> None:
    """Print a table for each world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", metavar="FILE", help="real runs, whose residuals are noise, too")
    options = parser.parse_args()
    print(f"python bench/keep.py{' --runs nanogpt-runs.csv' if options.runs else ''} (docs/keep.md)")
    print(f"\n{LOOPS:,} loops of {CHANGES} changes; 95 % intervals. A keep is false if the change has no gain.")
    for world, shares in WORLDS.items():
        table(world, shares, np.random.Generator.standard_normal)
    if options.runs:
        residuals = residuals_of(pd.read_csv(options.runs, dtype={"code": str, "blob": str}))
        world = f"10 % of changes gain 1 SD; noise: residuals of {len(residuals):,} real runs"
        table(world, {1: 0.1}, lambda rng, shape: rng.choice(residuals, shape))


def table(world: str, shares: dict[float, float], noise: Noise) -> None:
    """Print a line for each rule; in a world without gains, the line has false keeps per loop."""
    heads = ["false among kept, %", "gain per 100 runs"] if shares else ["false keeps a loop", ""]
    print(f"\n{world}\n{'':52}{heads[0]:>22}{heads[1]:>24}{'runs a loop':>13}{'kept':>7}")
    for name, rule in RULES.items():
        rng = np.random.Generator(np.random.Philox(52))
        loops = rule(rng, drawn_effects(rng, shares), noise)
        if shares:
            false = interval(ratio(100 * loops.false, loops.kept), 1)
            gain = interval(ratio(100 * loops.gain, loops.runs), 2)
        else:
            false, gain = interval(ratio(loops.false, np.ones(LOOPS)), 2), ""
        means = f"{loops.runs.mean():13,.0f}{loops.kept.mean():7.1f}"
        print(f"  {name:50}{false:>22}{gain:>24}{means}", flush=True)


def drawn_effects(rng: np.random.Generator, shares: dict[float, float]) -> np.ndarray:
    """The effect of each change of each loop."""
    values, chances = [0.0, *shares], [1 - sum(shares.values()), *shares.values()]
    return rng.choice(values, (LOOPS, CHANGES), p=chances)


def ratio(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """The ratio of two sums over loops, and half the width of its 95 % interval."""
    value = above.sum() / below.sum()
    spread = math.sqrt(((above - value * below) ** 2).sum()) / below.sum()
    return float(value), 1.96 * spread


def interval(estimate: tuple[float, float], places: int) -> str:
    """A value with its interval."""
    value, reach = estimate
    return f"{value:.{places}f} ({value - reach:.{places}f} to {value + reach:.{places}f})"


def residuals_of(runs: pd.DataFrame) -> np.ndarray:
    """The residuals of the loss within groups of equal programs, in SDs pooled over the track; copies count once."""
    runs = runs.dropna(subset=["code", "val_loss"]).drop_duplicates(["track", "code", "final_step", "blob"])
    groups = runs.groupby(["track", "code", "final_step"])["val_loss"]
    size = groups.transform("size")
    # The factor gives a residual the variance of a run.
    runs = runs.assign(residual=(runs["val_loss"] - groups.transform("mean")) / np.sqrt(1 - 1 / size))[size >= FEWEST]
    scale = runs.groupby("track")["residual"].transform(lambda values: math.sqrt((values**2).mean()))
    return (runs["residual"] / scale).to_numpy()


# The other rules


def doubling(rule: Rule) -> Simulation:
    """The rule of `toolnoise keep`, with other thresholds."""
    return lambda rng, effects, noise: simulate(rng, effects, rule, noise)


def one_run(margin: float | None) -> Simulation:
    """One run per change, kept if it beats the best value so far by the margin (None: 2 MAD of all values so far)."""

    def simulated(rng: np.random.Generator, effects: np.ndarray, noise: Noise) -> Simulated:
        gain, kept, false = np.zeros(LOOPS), np.zeros(LOOPS, int), np.zeros(LOOPS, int)
        best = noise(rng, (LOOPS,))
        values = best[:, np.newaxis]
        for effect in effects.T:
            value = gain + effect + noise(rng, (LOOPS,))
            values = np.column_stack([values, value])
            keeps = value > best + (two_mads(values) if margin is None else margin)
            kept, false = kept + keeps, false + (keeps & (effect <= 0))
            gain, best = gain + keeps * effect, np.where(keeps, value, best)
        return Simulated(kept, false, gain, np.full(LOOPS, 1 + CHANGES))

    return simulated


def two_mads(values: np.ndarray) -> np.ndarray:
    """Twice the median absolute deviation of all values so far; infinite for fewer than three values."""
    deviations = np.abs(values - np.median(values, axis=1, keepdims=True))
    return 2 * np.median(deviations, axis=1) if values.shape[1] > 2 else np.full(LOOPS, np.inf)


def reruns(rng: np.random.Generator, effects: np.ndarray, noise: Noise) -> Simulated:
    """Ten runs of a change if its first run beats the incumbent's mean; kept by Student's one-sided t test."""
    gain, kept, false = np.zeros(LOOPS), np.zeros(LOOPS, int), np.zeros(LOOPS, int)
    runs, incumbent = np.full(LOOPS, RERUNS), noise(rng, (LOOPS, RERUNS))
    for effect in effects.T:
        values = (gain + effect)[:, np.newaxis] + noise(rng, (LOOPS, RERUNS))
        is_rerun = values[:, 0] > incumbent.mean(axis=1)
        keeps = is_rerun & (stats.ttest_ind(values, incumbent, axis=1, alternative="greater").pvalue < LEVEL)
        kept, false, gain = kept + keeps, false + (keeps & (effect <= 0)), gain + keeps * effect
        runs, incumbent = runs + np.where(is_rerun, RERUNS, 1), np.where(keeps[:, np.newaxis], values, incumbent)
    return Simulated(kept, false, gain, runs)


def as_words(rule: Rule) -> str:
    """The runs and thresholds of a rule, as text."""
    return f"{'-'.join(map(str, rule))}, z > {', '.join(f'{least:g}' for least in rule.values())}"


def with_thresholds(runs: Sequence[int], thresholds: Sequence[float]) -> dict[str, Simulation]:
    """Maps the text of a variation of the rule to its simulation."""
    rule = dict(zip(runs, thresholds, strict=True))
    return {as_words(rule): doubling(rule)}


RULES: dict[str, Simulation] = {
    "keep what beats the best so far, one run each": one_run(0),
    "better by 2 SD (known), one run each": one_run(2),
    "better by 2 MAD, one run each": one_run(None),
    "10 runs if the first is better, t test at .05": reruns,
    "toolnoise keep": doubling(RULE),
    "toolnoise keep --strict": doubling(STRICT),
    **with_thresholds((1, 2, 4, 8, 16), (0, 0.5, 1, 1.5, 2)),
    **with_thresholds((1, 2, 4, 8, 12, 18), (0.4, 0.8, 1.1, 1.4, 1.65, 1.9)),
    **with_thresholds((1, 2, 5, 10, 20), (0.5, 1, 1.25, 1.5, 2)),
}


if __name__ == "__main__":
    main()
