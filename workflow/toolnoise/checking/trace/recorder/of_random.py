"""Draws by the functions of the module random, and its seed."""

import functools
import random
from collections.abc import Callable
from typing import Any

from toolnoise_recorder import places
from toolnoise_recorder.digests import plain, short

DRAWS = (
    *(
        "random",
        "uniform",
        "randint",
        "randrange",
        "getrandbits",
        "randbytes",
        "choice",
        "choices",
        "sample",
        "shuffle",
    ),
    *("gauss", "normalvariate", "lognormvariate", "expovariate", "betavariate", "gammavariate", "triangular"),
    *("paretovariate", "vonmisesvariate", "weibullvariate"),
)


def hook(log: Any) -> None:
    """Record the draws of this process."""
    for name in DRAWS:
        if hasattr(random, name):
            setattr(random, name, drawing(getattr(random, name), f"random.{name}", "random", log, plain))
    random.seed = seeding(random.seed, "random", log)


def drawing(draw: Callable, name: str, generator: str, log: Any, digest: Callable[[Any], str | None]) -> Callable:
    """A function that draws, and is recorded with what it drew, or with what it has shuffled."""

    @functools.wraps(draw)
    def drawn(*args: Any, **options: Any) -> Any:
        place = places.here() if log.here() else places.NOWHERE
        if place == places.NOWHERE:
            # As of a package at its import, or of what starts the program.
            return draw(*args, **options)
        # What it draws by other functions is its own.
        log.leave_out()
        try:
            result = draw(*args, **options)
        finally:
            log.leave_out(False)
        if log.is_on:
            came = args[0] if result is None and args else result
            log.event("draw", name, short(digest(came) or type(came).__name__), place, lambda: more)
        return result

    more = {"generator": generator}
    return drawn


def seeding(seed: Callable, generator: str, log: Any) -> Callable:
    """A function that seeds a generator, and is recorded with the seed."""

    @functools.wraps(seed)
    def seeded(*args: Any, **options: Any) -> Any:
        result = seed(*args, **options)
        # Without a seed, it comes from the system.
        if log.here() and (args or options) and (text := plain([*args, *options.values()])):
            log.value(generator, text, places.here(), is_seed=True)
        return result

    return seeded
