"""Operations of JAX and of TensorFlow, run one by one, and the names of Keras's layers around them.

Their values never change: what an operation is given is still what another one has made.
"""

import functools
import importlib
import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from toolnoise_recorder import places
from toolnoise_recorder.digests import numbers, of_array, plain
from toolnoise_recorder.of_random import seeding_with

MOST = 100_000  # values whose makers are known
# Of these types of TensorFlow, nothing is compared.
NO_VALUES = ("resource", "variant", "string")


class _Operations:
    """The operations of one framework, and by value the one that made it, as long as the value lives."""

    def __init__(self, framework: str, kind: type, digest: Callable[[Any], str], log: Any) -> None:
        self._framework, self._kind, self._digest, self._log = framework, kind, digest, log
        self._made: dict[int, tuple[Any, list[Any]]] = {}

    def record(
        self, name: str, inputs: Sequence[Any], given: Iterable[Any], outputs: Iterable[Any], is_draw: bool = False
    ) -> None:
        """Record an operation by its inputs, what else it was given, and what came out of it."""
        try:
            place, index = places.here(), self._log.count
            about: dict[str, Any] = {"inputs": None, "numbers": [], "draw": is_draw}
            if self._log.in_detail:
                about["inputs"] = [[self._digest(each), self._maker(each), False] for each in inputs]
                about["numbers"] = numbers(given)
            self._log.event(self._framework, name, " ".join(map(self._digest, outputs)), place, lambda: about)
            for each in outputs:
                if isinstance(each, self._kind):
                    self._note(each, [index, name, *place])
        except Exception as error:
            self._log.failed(name, error)

    def _note(self, value: Any, operation: list[Any]) -> None:
        if len(self._made) >= MOST:
            self._made = {key: pair for key, pair in self._made.items() if pair[0]() is not None}
            if len(self._made) > MOST / 2:
                self._made = {}
        self._made[id(value)] = weakref.ref(value), operation

    def _maker(self, value: Any) -> list[Any] | None:
        weak, operation = self._made.get(id(value), (None, None))
        return operation if weak is not None and weak() is value else None


def hook_jax(jax: ModuleType, log: Any) -> None:
    """Record each primitive that is computed on values: JAX_DISABLE_JIT is set in a recorded run."""
    core = importlib.import_module("jax._src.core")
    computed, tracer = core.EvalTrace.process_primitive, core.Tracer

    def digest(value: Any) -> str:
        if isinstance(value, jax.Array):
            # A key of random numbers holds an array.
            value = log.numpy.asarray(getattr(value, "_base_array", value))
        if isinstance(value, log.numpy.ndarray):
            return of_array(value, log.numpy)
        return plain(value) or type(value).__name__

    operations = _Operations("jax", jax.Array, digest, log)

    @functools.wraps(computed)
    def process(self: Any, primitive: Any, args: Any, params: Any) -> Any:
        result = computed(self, primitive, args, params)
        outputs = result if isinstance(result, (list, tuple)) else [result]
        if log.here() and not any(isinstance(each, tracer) for each in (*args, *outputs)):
            operations.record(primitive.name, args, params.values(), outputs)
        return result

    core.EvalTrace.process_primitive = process


def hook_tensorflow(tensorflow: ModuleType, log: Any) -> None:
    """Record each operation that runs; functions run as Python."""
    tensorflow.config.run_functions_eagerly(True)
    callbacks = importlib.import_module("tensorflow.python.framework.op_callbacks")
    eager = importlib.import_module("tensorflow.python.framework.ops").EagerTensor

    def digest(tensor: Any) -> str:
        if not isinstance(tensor, eager) or tensor.dtype.name in NO_VALUES:
            return ""
        return of_array(tensor.numpy(), log.numpy)

    operations = _Operations("tensorflow", eager, digest, log)

    def called(kind: Any, inputs: Any, attributes: Any, outputs: Any, *rest: Any, **about: Any) -> None:
        graph = about.get("graph", rest[1] if len(rest) > 1 else None)
        if graph is None and log.here():
            name = kind.decode() if isinstance(kind, bytes) else str(kind)
            values = (value for key, value in itertools.pairwise(attributes or ()) if key != "seed")
            operations.record(name, inputs, values, outputs, "Random" in name and "Stateless" not in name)

    callbacks.add_op_callback(called)
    tensorflow.random.set_seed = seeding_with(tensorflow.random.set_seed, "tensorflow", log)


def hook_keras(keras: ModuleType, log: Any) -> None:
    """Keep the name of the layer that is being called."""
    called = keras.layers.Layer.__call__

    @functools.wraps(called)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        before, log.layer = log.layer, self.name
        try:
            return called(self, *args, **options)
        finally:
            log.layer = before

    keras.layers.Layer.__call__ = call
