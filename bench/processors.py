"""Which operations give other bits on another processor, although a tooling pins all it can.

Each operation is computed on this processor, and by the same Python on processors that QEMU emulates. An operation that
differs here from all emulated ones uses an instruction whose last bits the maker chooses, such as `rsqrtps`; one that
differs among the emulated ones chooses its code or its blocks by the maker or the caches. Emulation takes one to five
minutes for each tooling and processor.

    .venv/bin/python bench/processors.py [--toolings cpu cpu-torch ...] [--processors EPYC Haswell ...]
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import emulated

from toolnoise import engines
from toolnoise.base.printing import aligned
from toolnoise.study import config

TOOLINGS = ("cpu", "cpu-eigen", "cpu-jax", "cpu-torch", "cpu-torch-native")
CHILD = "--digests"
# Of the demo's networks: the side of the pictures, and the channels below and above.
CONVOLUTIONS = ((8, 1, 16), (4, 16, 32), (2, 32, 32))
BATCHES = (32, 128, 512)
RECIPE = {"optimizer": "adam", "weight_decay": 0, "decay_normalisation": False, "bias_rate": 1, "scale_rate": 1}


def main() -> None:
    """Print for each tooling the operations that differ, with the groups of processors that agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolings", nargs="+", default=TOOLINGS)
    parser.add_argument("--processors", nargs="+", default=emulated.PROCESSORS)
    options = parser.parse_args()
    if not emulated.is_here():
        raise SystemExit(f"needs QEMU's user mode: {emulated.EMULATOR}")
    names = ["", *options.processors]
    for tooling in options.toolings:
        found = [digests(tooling, processor) for processor in names]
        rows = [(operation, *letters([one[operation] for one in found])) for operation in found[0]]
        differing = [row for row in rows if len({*row[1:]}) > 1]
        print(f"{tooling}: {len(rows) - len(differing)} of {len(rows)} operations have the same bits everywhere")
        if differing:
            print("\n".join(f"  {line}" for line in aligned([("differs", "here", *names[1:]), *differing])), flush=True)


def letters(values: list[str]) -> list[str]:
    """A letter for each value: equal values have equal letters, and the first has an A."""
    return ["ABCDEFGH"[list(dict.fromkeys(values)).index(value)] for value in values]


def digests(tooling: str, processor: str) -> dict[str, str]:
    """The digest of each operation on a processor, by a process of its own."""
    command = [*emulated.python(processor), __file__, CHILD, tooling]
    done = subprocess.run(command, env=os.environ | emulated.variables(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def computed(name: str) -> dict[str, str]:
    """The digest of what each operation makes of drawn numbers on a tooling."""
    tooling = config.registered("hardware")[name] | {"name": name}
    engine = engines.load(tooling["engine"])
    engine.start(tooling, True)
    import numpy as np

    ops, draws, found = engine.keras.ops, np.random.Generator(np.random.Philox(1)), {}

    def drawn(*shape: int) -> np.ndarray:
        return draws.standard_normal(shape, np.float32)

    def put(operation: str, function: Callable[..., Any], *values: np.ndarray) -> None:
        made = np.asarray(compiled(engine, function)(*map(ops.convert_to_tensor, values)))
        found[operation] = hashlib.sha256(made.tobytes()).hexdigest()

    def put_gradients(operation: str, function: Callable[..., Any], above: np.ndarray, *values: np.ndarray) -> None:
        for place, what in enumerate(("input", "weights")):
            put(f"{operation}, gradient of its {what}", gradient(engine, function, place), above, *values)

    for batch in BATCHES:
        for side, below, above in CONVOLUTIONS:
            called = f"convolution {side}x{side}x{below} to {above}, batch {batch}"
            values = drawn(batch, side, side, below), drawn(3, 3, below, above)
            convolution = lambda images, filters: ops.conv(images, filters, padding="same")  # noqa: E731
            put(called, convolution, *values)
            put_gradients(called, convolution, drawn(batch, side, side, above), *values)
        called, values = f"matrix product, batch {batch}", (drawn(batch, 32), drawn(32, 10))
        put(called, ops.matmul, *values)
        put_gradients(called, ops.matmul, drawn(batch, 10), *values)
        put(f"sum over batch, height and width, batch {batch}", lambda x: ops.sum(x, (0, 1, 2)), drawn(batch, 8, 8, 16))
    images, positive = drawn(32, 8, 8, 16), np.abs(drawn(4096)) + np.float32(1e-3)
    put("max-pooling", lambda x: ops.max_pool(x, 2, 2), images)
    put("logarithm of softmax", ops.log_softmax, drawn(32, 10))
    put("division", lambda x: 1 / x, positive)
    put("square root", ops.sqrt, positive)
    put("reciprocal square root", ops.rsqrt, positive)
    for function in ("exp", "log", "tanh", "sigmoid", "erf"):
        put(function, getattr(ops, function), positive)
    put("batch normalisation", lambda x: normalised(ops, x), images)
    put("batch normalisation, gradient", gradient(engine, lambda x: normalised(ops, x), 0), drawn(32, 8, 8, 16), images)
    found["Adam's update"] = hashlib.sha256(updated(engine, drawn(4096), positive).tobytes()).hexdigest()
    return found


def normalised(ops: Any, values: Any) -> Any:
    """As a layer of Keras normalises in training."""
    return ops.batch_normalization(values, *ops.moments(values, (0, 1, 2)), axis=-1, epsilon=1e-3)


def compiled(engine: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as the engine compiles it."""
    if engine.framework == "tensorflow":
        return engine.tf.function(function, autograph=False)
    return engine.jax.jit(function) if engine.framework == "jax" else function


def gradient(engine: Any, function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """The gradient of a function at one of its values, from the gradient of its result."""
    if engine.framework == "jax":
        return lambda above, *values: engine.jax.vjp(function, *values)[1](above)[place]
    if engine.framework == "torch":

        def pulled(above: Any, *values: Any) -> Any:
            values[place].requires_grad_()
            return engine.torch.autograd.grad(function(*values), values[place], above)[0]

        return pulled

    def taped(above: Any, *values: Any) -> Any:
        with engine.tf.GradientTape() as tape:
            tape.watch(values[place])
            made = function(*values)
        return tape.gradient(made, values[place], above)

    return taped


def updated(engine: Any, step: Any, positive: Any) -> Any:
    """A tensor after one update of Adam by the engine's own formula."""
    import numpy as np

    tensor, rate, powers = engine.keras.ops.convert_to_tensor, np.float32(0.01), np.array([0.9, 0.999], np.float32)
    engine.recipe, engine.trainable = RECIPE, ["kernel"]
    if engine.framework == "tensorflow":
        tensor = engine.tf.Variable
    engine.tensors = {"kernel": tensor(positive.copy())}
    engine.slots = {slot: {"kernel": tensor(positive.copy())} for slot in ("m", "v")}
    if engine.framework == "tensorflow":
        engine.tf.function(lambda: engine._update([engine.tf.constant(step)], rate, powers), autograph=False)()
    elif engine.framework == "jax":
        given = engine.tensors, engine.slots, {"kernel": tensor(step)}, rate
        engine.tensors = engine.jax.jit(engine._updated)(*given, *powers)[0]
    else:
        with engine.torch.no_grad():
            engine._update(list(engine.tensors.values()), (tensor(step),), rate, powers, 1)
    return np.asarray(engine.tensors["kernel"])


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        print(json.dumps(computed(sys.argv[2])))
    else:
        main()
