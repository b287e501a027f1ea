"""JAX's primitives as they are computed one by one: JAX_DISABLE_JIT is set in a recorded run."""

import functools
import importlib
from types import ModuleType
from typing import Any

from toolnoise_recorder import places
from toolnoise_recorder.digests import of_array, plain, short
from toolnoise_recorder.origins import Origins


def hook(jax: ModuleType, log: Any) -> None:
    """Record each primitive that is computed on values."""
    core = importlib.import_module("jax._src.core")
    computed, tracer, array = core.EvalTrace.process_primitive, core.Tracer, jax.Array
    origins = Origins()

    def digest(value: Any) -> str:
        if isinstance(value, array):
            # A key of random numbers holds an array.
            value = getattr(value, "_base_array", value)
            return of_array(log.numpy.asarray(value), log.numpy)
        if isinstance(value, log.numpy.ndarray):
            return of_array(value, log.numpy)
        return plain(value) or type(value).__name__

    def record(primitive: Any, args: Any, params: Any, outputs: Any) -> None:
        place, index = places.here(), log.count
        given = [[digest(each), origins.of(each), False] for each in args] if log.in_detail else None
        numbers = [short(text) for value in params.values() if (text := plain(value)) is not None] if given else []
        more = {"inputs": given, "numbers": numbers}
        log.event("jax", primitive.name, " ".join(map(digest, outputs)), place, lambda: more)
        for each in outputs:
            if isinstance(each, array):
                origins.note(each, [index, primitive.name, *place])

    @functools.wraps(computed)
    def process(self: Any, primitive: Any, args: Any, params: Any) -> Any:
        result = computed(self, primitive, args, params)
        outputs = result if isinstance(result, (list, tuple)) else [result]
        if log.here() and not any(isinstance(each, tracer) for each in (*args, *outputs)):
            try:
                record(primitive, args, params, outputs)
            except Exception as error:
                log.failed(primitive.name, error)
        return result

    core.EvalTrace.process_primitive = process
