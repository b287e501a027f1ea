"""The runs that a claim needs, by its power with each number of them."""

from collections.abc import Callable

LEVEL, POWER = 0.05, 0.8
MOST_RUNS = 1_000_000


def runs_needed(power_of: Callable[[int], float], power: float = POWER) -> int | None:
    """The smallest number of runs per arm with this power, at least 2; None if a million are too few."""
    if power_of(MOST_RUNS) < power:
        return None
    low, high = 1, 2
    while power_of(high) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high
