"""How often tests of ratios over draws reject, where nothing differs and where something does.

    python bench/contrasts.py [--studies 4000]

Each row is a design with its true ratio, and the share of simulated studies that reject equality at the levels .05 and
.005.
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np

from toolnoise.stats.contrasts import Contrast, contrast
from toolnoise.stats.quantities import PAIRS, SD, Arm, of_runs, together

LEVELS = (0.05, 0.005)
Study = Callable[[np.random.Generator], Contrast]


def pvalue(found: Contrast) -> float:
    """The two-sided p-value of equality."""
    return 2 * min(found.above(0), found.below(0))


def paired_sds(runs: int, correlation: float, ratio: float) -> Study:
    """SDs of two arms whose run s has the same draw."""

    def study(draws: np.random.Generator) -> Contrast:
        one, other = draws.standard_normal((2, runs))
        other = ratio * (correlation * one + np.sqrt(1 - correlation**2) * other)
        return contrast([(1, of_runs(other, range(runs), SD)), (-1, of_runs(one, range(runs), SD))])

    return study


def noise(draws: np.random.Generator, count: int, spread: float, first: int) -> Arm:
    """Churn within draws that differ in their sensitivity (log-normal with this SD and mean 1), two runs of each."""
    each = np.exp(spread * draws.standard_normal(count) - spread**2 / 2)
    return of_runs(np.repeat(each, 2), np.repeat(range(first, first + count), 2).tolist(), PAIRS)


def churn_ratio(counts: tuple[int, int], spreads: tuple[float, float], ratio: float) -> Study:
    """Churn over other draws, of two arms without a common draw."""

    def study(draws: np.random.Generator) -> Contrast:
        arms = [noise(draws, counts[0], spreads[0], 0), noise(draws, counts[1], spreads[1], counts[0])]
        arms[0] = arms[0]._replace(value=ratio * arms[0].value)
        return contrast([(1, arms[0]), (-1, arms[1])])

    return study


def churn_sum(counts: tuple[int, int, int], spread: float, ratio: float) -> Study:
    """Churn of one arm over the sum of two others, of which one has few draws."""

    def study(draws: np.random.Generator) -> Contrast:
        starts = np.cumsum([0, *counts])
        whole, one, other = (
            noise(draws, count, spread, start) for count, start in zip(counts, starts[:3], strict=True)
        )
        whole = whole._replace(value=2 * ratio * whole.value)
        return contrast([(1, whole), (-1, together([one, other], 1))])

    return study


def designs() -> Iterator[tuple[str, float, Study]]:
    """Every row: what it is of, its true ratio, a study."""
    for runs in (5, 10):
        for correlation in (0.0, 0.5, 0.95):
            for ratio in (1.0, 2.0):
                name = f"SDs, {runs} paired runs, correlation {correlation}"
                yield name, ratio, paired_sds(runs, correlation, ratio)
    for counts, spreads in (((4, 10), (0.3, 0.1)), ((4, 10), (0.7, 0.1)), ((4, 4), (0.7, 0.1)), ((10, 10), (0.7, 0.7))):
        for ratio in (1.0, 2.0):
            name = f"churn, {counts[0]} and {counts[1]} draws, sensitivity {spreads[0]} and {spreads[1]}"
            yield name, ratio, churn_ratio(counts, spreads, ratio)
    for ratio in (1.0, 0.5):
        yield "churn over a sum, 10 over 10 and 4 draws, sensitivity 0.3", ratio, churn_sum((10, 10, 4), 0.3, ratio)


def main() -> None:
    """Print every design."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--studies", type=int, default=4000, help="simulated studies of each row (4000)")
    studies = options.parse_args().studies
    print(f"{'design':70}{'ratio':>6}" + "".join(f"{level:>15}" for level in LEVELS), flush=True)
    for name, ratio, study in designs():
        draws = np.random.Generator(np.random.Philox(7))
        pvalues = np.array([pvalue(study(draws)) for _ in range(studies)])
        shares = [np.mean(pvalues < level) for level in LEVELS]
        print(f"{name:70}{ratio:6.1f}" + "".join(f"{100 * share:13.1f} %" for share in shares), flush=True)


if __name__ == "__main__":
    main()
