"""Draws by the module random, by numpy.random and by the generators that default_rng makes, and their seeds."""

import functools
import random
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from toolnoise_recorder import places
from toolnoise_recorder.digests import of_array, plain, short

DRAWS = (
    *("random", "uniform", "randint", "randrange", "getrandbits", "randbytes", "choice", "choices", "sample"),
    *("shuffle", "gauss", "normalvariate", "lognormvariate", "expovariate", "betavariate", "gammavariate"),
    *("triangular", "paretovariate", "vonmisesvariate", "weibullvariate"),
)
# Functions of numpy.random, and attributes of its generators, that draw nothing.
NO_DRAWS = ("seed", "get_state", "set_state", "get_bit_generator", "set_bit_generator", "bit_generator", "spawn")


def hook(log: Any) -> None:
    """Record what this process draws by the module random."""
    for name in DRAWS:
        if hasattr(random, name):
            setattr(random, name, drawing(getattr(random, name), f"random.{name}", "random", log, plain))
    random.seed = seeding(random.seed, "random", log)


def hook_numpy(numpy: ModuleType, log: Any) -> None:
    """Record what this process draws by NumPy."""

    def digest(value: Any) -> str | None:
        return of_array(value, numpy) if isinstance(value, numpy.ndarray) else plain(value)

    legacy, kind = numpy.random, type(numpy.random.mtrand._rand)
    for name in dir(legacy):
        function = getattr(legacy, name)
        if isinstance(getattr(function, "__self__", None), kind) and name not in NO_DRAWS:
            setattr(legacy, name, drawing(function, f"numpy.random.{name}", "numpy.random", log, digest))
    legacy.seed = seeding(legacy.seed, "numpy.random", log)
    own = _recorded(numpy.random.Generator, log, digest)
    made = numpy.random.default_rng

    @functools.wraps(made)
    def default_rng(seed: Any = None) -> Any:
        rng = made(seed)
        if isinstance(seed, numpy.random.Generator) or not log.here() or places.here() == places.NOWHERE:
            return rng
        place, recorded = places.here(), own(rng.bit_generator)
        recorded.recorded_as = f"a generator of {place[0]}:{place[1]}"
        text = plain(seed) or type(seed).__name__
        if seed is None:
            text = f"nothing (state #{zlib.crc32(repr(rng.bit_generator.state).encode()):08x})"
        log.value(recorded.recorded_as, text, place, is_seed=True)
        return recorded

    numpy.random.default_rng = default_rng


def _recorded(generator: type, log: Any, digest: Any) -> type:
    """A class of generators whose draws are recorded; pickled, it is an ordinary one."""

    def method(name: str) -> Any:
        original = getattr(generator, name)

        @functools.wraps(original)
        def drawn(self: Any, *args: Any, **options: Any) -> Any:
            made, draw = getattr(self, "recorded_as", "a generator"), functools.partial(original, self)
            return drawing(draw, f"Generator.{name}", made, log, digest)(*args, **options)

        return drawn

    public = (name for name in dir(generator) if name[0] != "_" and name not in NO_DRAWS)
    names = [name for name in public if callable(getattr(generator, name))]
    return type("Generator", (generator,), {name: method(name) for name in names})


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


def seeding_with(seed: Callable, framework: str, log: Any) -> Callable:
    """The same of a framework, whose function takes the seed alone."""

    @functools.wraps(seed)
    def seeded(value: Any) -> Any:
        if log.here():
            log.value(framework, plain(value) or type(value).__name__, places.here(), is_seed=True)
        return seed(value)

    return seeded
