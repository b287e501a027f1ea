"""Draws by the functions of numpy.random and by the generators that default_rng makes, and their seeds."""

import functools
import zlib
from types import ModuleType
from typing import Any

from toolnoise_recorder import places
from toolnoise_recorder.digests import of_array, plain
from toolnoise_recorder.of_random import drawing, seeding

NO_DRAWS = ("seed", "get_state", "set_state", "get_bit_generator", "set_bit_generator")


def hook(numpy: ModuleType, log: Any) -> None:
    """Record the draws of this process."""

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
        text = (
            f"nothing (state #{zlib.crc32(repr(rng.bit_generator.state).encode()):08x})"
            if seed is None
            else plain(seed)
        )
        log.value(recorded.recorded_as, text or type(seed).__name__, place, is_seed=True)
        return recorded

    numpy.random.default_rng = default_rng


def _recorded(generator: type, log: Any, digest: Any) -> type:
    """A class of generators whose draws are recorded; pickled, it is an ordinary one."""

    def method(name: str) -> Any:
        original = getattr(generator, name)

        @functools.wraps(original)
        def drawn(self: Any, *args: Any, **options: Any) -> Any:
            bound = functools.partial(original, self)
            made = getattr(self, "recorded_as", "a generator")
            return drawing(functools.wraps(original)(bound), f"Generator.{name}", made, log, digest)(*args, **options)

        return drawn

    names = [
        name
        for name in dir(generator)
        if name[0] != "_" and name not in ("bit_generator", "spawn") and callable(getattr(generator, name))
    ]
    return type("Generator", (generator,), {name: method(name) for name in names})
