"""TensorFlow's operations, run one by one, and the names of Keras's layers around them."""

import functools
import importlib
from types import ModuleType
from typing import Any

from toolnoise_recorder import places
from toolnoise_recorder.digests import of_array, plain, short
from toolnoise_recorder.origins import Origins

# Of these types, nothing is compared.
NO_VALUES = ("resource", "variant", "string")


def hook(tensorflow: ModuleType, log: Any) -> None:
    """Record each operation that runs; functions run as Python."""
    tensorflow.config.run_functions_eagerly(True)
    callbacks = importlib.import_module("tensorflow.python.framework.op_callbacks")
    eager = importlib.import_module("tensorflow.python.framework.ops").EagerTensor

    def digest(tensor: Any) -> str:
        if not isinstance(tensor, eager) or tensor.dtype.name in NO_VALUES:
            return ""
        return of_array(tensor.numpy(), log.numpy)

    origins = Origins()

    def called(kind: str, inputs: Any, attributes: Any, outputs: Any, *rest: Any, **about: Any) -> None:
        graph = about.get("graph", rest[1] if len(rest) > 1 else None)
        if graph is None and log.here():
            try:
                record(kind, inputs, attributes, outputs)
            except Exception as error:
                log.failed(str(kind), error)

    def record(kind: str, inputs: Any, attributes: Any, outputs: Any) -> None:
        name = kind.decode() if isinstance(kind, bytes) else str(kind)
        pairs = zip(attributes or (), (attributes or ())[1:], strict=False)
        numbers = [short(text) for key, value in pairs if key != "seed" and (text := plain(value))]
        given = [[digest(each), origins.of(each), False] for each in inputs] if log.in_detail else None
        more = {"inputs": given, "numbers": numbers, "draw": "Random" in name and "Stateless" not in name}
        place, index = places.here(), log.count
        log.event("tensorflow", name, " ".join(map(digest, outputs)), place, lambda: more)
        for each in outputs:
            origins.note(each, [index, name, *place])

    callbacks.add_op_callback(called)
    seed = tensorflow.random.set_seed

    @functools.wraps(seed)
    def seeded(value: Any) -> Any:
        log.value("tensorflow", plain(value) or "", places.here(), is_seed=True)
        return seed(value)

    tensorflow.random.set_seed = seeded


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
