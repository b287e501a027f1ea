"""How near training is to what this machine allows: the roofline (Williams et al., 2009), by network and framework.

A step of training is its convolutions and matrix products, forward, for the gradient of weights and for that of
inputs; pooling; batch normalisation; and the optimiser. Each takes at least its multiply-adds at the speed of a matrix
product (1024 x 1024, in the same process or in that of a framework before; or a convolution of single pixels,
whichever is the fastest) and at least its bytes at the speed of a copy: the longer time is its bound, and the sum of
bounds is the least time of a step. Bytes are those of inputs, outputs and weights, each once; what acts on single
elements counts as fused, so a framework that fuses less has a smaller share. A copy is measured at several sizes,
because caches are faster than memory.

Small networks have more steps in an epoch than large ones, as in use: otherwise what it takes to begin an epoch would
count for more than its steps.

    taskset --cpu-list 0 python bench/roofline.py [tensorflow] [jax] [torch]
    taskset --cpu-list 0 python bench/roofline.py tensorflow --operators smallcnn   # where a step's time goes
    taskset --cpu-list 0 python bench/roofline.py jax --tooling cpu-jax-products --networks mediumcnn-k3 shufflenet-x05
    taskset --cpu-list 0 python bench/roofline.py torch --evaluation smallcnn  # examples/s by the batch of evaluation

One thread; CPU seconds; product and training in turn, so that other work on the machine slows both; shares are medians.
Each framework has a process of its own, with the newest instruction set that a registry entry can pin here, or with a
tooling of the registry.
"""

import argparse
import importlib
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import engine_vs_fit
import numpy as np

from toolnoise import engines, streams
from toolnoise.datasets.prepared import Split
from toolnoise.engines import State, keras_engine
from toolnoise.epoch_plan import plan_epoch
from toolnoise.formulas.outcomes import LABEL, TOKENS
from toolnoise.models.initial import initial_weights
from toolnoise.study import config

SIDE, PRODUCTS = 1024, 30
# Registered networks, with the shape of an input, the number of classes and the batch size.
NETWORKS: dict[str, tuple[tuple[int, ...], int, int]] = {
    "hidden": ((8, 8, 1), 10, 64),
    "smallcnn": ((32, 32, 3), 10, 128),
    "smallcnn-bn": ((32, 32, 3), 10, 128),
    "lenet5-glorot": ((28, 28, 1), 10, 128),
    "mediumcnn-k3": ((64, 64, 3), 10, 16),
    "resnet14": ((32, 32, 3), 10, 128),
    "resnet18": ((32, 32, 3), 10, 32),
    "shufflenet-x05": ((32, 32, 3), 10, 128),
    "lstm": ((64,), 64, 32),
    "transformer": ((64,), 64, 32),
}
STEPS, ROUNDS = 4, 7
# As many as an epoch of digits has; LeNet-5 has 468 with MNIST, which would take long.
MORE_STEPS = {"hidden": 22, "lenet5-glorot": 32}
EVALUATED, BATCHES = 1024, (32, 64, 128, 256, 512, 1024)
FLOAT, PAGE = 4, 4096  # bytes
COPIED = tuple(2**power for power in range(19, 29))  # bytes read and written; below that Python takes the time
ADAM = 7  # times that a weight's bytes are read or written: weight, gradient and two moments; all but the gradient
HEADINGS = (
    ("network", "batch", "MFLOP an", "FLOP", "bound by", "limit,", "reached,", "share of"),
    ("", "", "example", "a byte", "bytes, %", "examples/s", "examples/s", "the limit"),
)
LEAST = 0.01  # the share of a step from which an operator has its own line


class Work(NamedTuple):
    """What a layer does for one example, forward: its multiply-adds, its elements and its weights."""

    layer: str
    multiply_adds: float
    read: float
    written: float
    weights: float = 0
    passes: float = 1  # how often its input is read
    first: bool = False  # no gradient of its input is needed


class Part(NamedTuple):
    """A part of a step: its multiply-adds and its bytes."""

    multiply_adds: float
    moved: float


def main() -> None:
    """Print a table for each framework, or where the time of a step goes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="tensorflow, jax or torch (all)")
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=NETWORKS, metavar="NETWORK")
    parser.add_argument(
        "--product", type=float, default=0, metavar="SPEED", help="what a product here reaches at least"
    )
    parser.add_argument("--operators", choices=NETWORKS, metavar="NETWORK", help="the operators of a step instead")
    parser.add_argument("--evaluation", choices=NETWORKS, metavar="NETWORK", help="evaluation by its batch instead")
    parser.add_argument("--tooling", default="", metavar="ENTRY", help="of the registry, of one framework")
    options = parser.parse_args()
    names = options.frameworks or [name for name in engines.FRAMEWORKS if importlib.util.find_spec(name)]
    if len(names) != 1 and (options.tooling or options.evaluation or options.operators):
        parser.error(f"found {len(names)} frameworks; one with --tooling, --operators and --evaluation")
    if options.operators:
        show_operators(names[0], options.operators, options.tooling)
    elif options.evaluation:
        show_evaluation(names[0], options.evaluation, options.tooling)
    elif len(names) == 1:
        show(names[0], options.networks, options.product, options.tooling)
    else:
        fastest = options.product
        for name in names:
            command = [sys.executable, __file__, name, "--product", str(fastest), "--networks", *options.networks]
            said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            print(said, flush=True)
            fastest = max(fastest, float(said.rsplit(maxsplit=1)[-1]))


def show(framework: str, networks: list[str], product: float, entry: str) -> None:
    """Print the table of a framework; another one's product may reach a higher speed on this machine."""
    engine = started(framework, entry)
    products, speeds = matrix_products(engine), copies()
    print(f"{framework}: tooling {engine.tooling['name']}, {engine.tooling['isa']}, one thread")
    listed = ", ".join(f"{size / 2**20:g} MiB {speed / 1e9:.1f}" for size, speed in speeds.items())
    print(f"a copy's speed, GB/s read and written, by the bytes of both: {listed}")
    for line in HEADINGS:
        print(("{:<16}" + "{:>11}" * (len(line) - 1)).format(*line))
    for name in networks:
        plan, examples = ready(engine, framework, name)
        batch = NETWORKS[name][2]
        parts = list(step_of(engine, batch))
        rounds, owns, others = [], [], []
        for _ in range(ROUNDS):
            own, other = (
                PRODUCTS * SIDE**3 / seconds(lambda product=product: product(PRODUCTS)) for product in products
            )
            owns.append(own)
            others.append(other)
            rounds.append((max(own, other, product), examples / seconds(lambda plan=plan: engine.epoch(plan))))
        limits = [batch / sum(least(part, peak, speeds) for part in parts) for peak, _ in rounds]
        peak, reached = (statistics.median(values) for values in zip(*rounds, strict=True))
        share = statistics.median(ours / limit for limit, (_, ours) in zip(limits, rounds, strict=True))
        whole = sum(least(part, peak, speeds) for part in parts)
        by_bytes = sum(least(part, peak, speeds) for part in parts if part.multiply_adds / peak < time_of(part, speeds))
        flops, moved = 2 * sum(part.multiply_adds for part in parts), sum(part.moved for part in parts)
        print(
            f"{name:<16}{batch:>11}{flops / batch / 1e6:>11.2f}{flops / moved:>11.1f}{100 * by_bytes / whole:>11.0f}"
            f"{statistics.median(limits):>11.0f}{reached:>11.0f}{share:>11.2f}",
            flush=True,
        )
    own, other = (statistics.median(speeds) for speeds in (owns, others))
    print(
        f"multiply-adds a CPU second: {own:.3g} as a product, {other:.3g} as a convolution; the limit is by {peak:.4g}"
    )


def started(framework: str, entry: str) -> Any:
    """The engine of a framework, which has claimed its tooling, or with the same instruction set a registry entry."""
    engine = engines.load(framework)
    tooling = engine_vs_fit._spec(framework, augment=False).hardware.json
    if entry:
        registry = config.registered("hardware")
        suited = [name for name, one in registry.items() if (one["engine"], one["accelerator"]) == (framework, "cpu")]
        if entry not in suited:
            raise SystemExit(f"--tooling: found {entry}; allowed: {', '.join(suited)}")
        tooling = registry[entry] | {"name": entry, "isa": tooling["isa"]}
    engine.start(tooling, deterministic=False)
    return engine


def ready(engine: Any, framework: str, name: str) -> tuple[Any, int]:
    """Train an epoch of a network; give its plan, and its number of examples."""
    batch = NETWORKS[name][2]
    spec = engine_vs_fit._spec(framework, augment=False, batch=batch)
    model = config.registered("models")[name]
    module, _, function = model["builder"].partition(":")
    builder = getattr(importlib.import_module(module), function)
    parameters = engine.build(builder, model.get("options", {}), *NETWORKS[name][:2])
    examples = MORE_STEPS.get(name, STEPS) * batch
    engine.compile(spec.recipe, split_of(name, examples))
    engine.restore(State(initial_weights(parameters, 0, 1, name), {}, 0))
    plan = plan_epoch(spec, examples, 0)
    engine.epoch(plan)
    return plan, examples


def split_of(name: str, examples: int) -> Split:
    """So many examples for a network."""
    shape, classes, _ = NETWORKS[name]
    text = len(shape) == 1
    pixels = streams.integers(1, (examples, *shape), classes if text else 256).astype("uint16" if text else "uint8")
    targets = streams.integers(2, (examples, *shape) if text else (examples,), classes)
    return Split(pixels, targets, outcome=TOKENS if text else LABEL)


def step_of(engine: Any, batch: int) -> Iterator[Part]:
    """The parts of a step of training."""
    for work in layers_of(engine.model):
        weights = FLOAT * work.weights
        forward = FLOAT * batch * (work.passes * work.read + work.written) + weights
        yield Part(batch * work.multiply_adds, forward)
        # Backward: the gradient of what was written gives, with the input, that of the weights, and with these, that of
        # the input. What has no weights gives the second alone, from its input where that is read twice.
        if work.weights and work.multiply_adds:
            yield Part(batch * work.multiply_adds, FLOAT * batch * (work.read + work.written) + weights)
            if not work.first:
                yield Part(batch * work.multiply_adds, FLOAT * batch * (work.read + work.written) + weights)
        elif work.multiply_adds:
            yield Part(2 * batch * work.multiply_adds, 2 * FLOAT * batch * (work.read + work.written))
        else:
            again = (work.passes - 1) * (work.read + work.written)
            yield Part(0, FLOAT * batch * (work.read + work.written + again))
    trained = sum(int(np.prod(weight.shape)) for weight in engine.model.trainable_weights)
    yield Part(0, ADAM * FLOAT * trained)


def layers_of(model: Any) -> Iterator[Work]:
    """The layers that multiply, pool or normalise a batch, in order; others act on single elements or move nothing."""
    started = False
    for layer in model.layers:
        if type(layer).__name__ in ("InputLayer", "Embedding"):
            started |= type(layer).__name__ == "Embedding"
            continue
        given, made = elements(layer.input), elements(layer.output)
        trained = sum(int(np.prod(weight.shape)) for weight in layer.trainable_weights)
        multiplied = multiply_adds(layer)
        if multiplied:
            yield Work(layer.name, multiplied, given, made, trained, first=not started)
            started = True
        elif "Pool" in type(layer).__name__:
            yield Work(layer.name, 0, given, made)
        elif type(layer).__name__ == "BatchNormalization":
            yield Work(layer.name, 0, given, made, trained, passes=2)


def multiply_adds(layer: Any) -> float:
    """Those of a layer for one example, forward."""
    kind, weights = type(layer).__name__, {weight.name: weight.shape for weight in layer.weights}
    if kind in ("Conv2D", "DepthwiseConv2D"):
        places = int(np.prod(layer.output.shape[1:3]))
        # Each number of the kernel is used once at each place, also where channels are in groups.
        return places * int(np.prod(weights["kernel"]))
    if kind == "Dense":
        return elements(layer.output) * weights["kernel"][0]
    if kind == "LSTM":
        return layer.output.shape[1] * int(np.prod(weights["kernel"]) + np.prod(weights["recurrent"]))
    if kind == "Attention":
        length, width = layer.output.shape[1:]
        return 2 * length * length * width
    if layer.trainable_weights and kind not in ("BatchNormalization", "LayerNormalization", "Positions"):
        raise SystemExit(f"{layer.name}: the multiply-adds of a layer {kind} are not known here")
    return 0


def elements(tensors: Any) -> int:
    """The numbers of one example in a tensor, or in several."""
    several = tensors if isinstance(tensors, list | tuple) else [tensors]
    return sum(int(np.prod(tensor.shape[1:])) for tensor in several)


def least(part: Part, peak: float, speeds: dict[int, float]) -> float:
    """The seconds that a part takes at least."""
    return max(part.multiply_adds / peak, time_of(part, speeds))


def time_of(part: Part, speeds: dict[int, float]) -> float:
    """The seconds that its bytes take at the speed of a copy of that size."""
    sizes, measured = np.log([*speeds]), [*speeds.values()]
    return part.moved / float(np.interp(np.log(part.moved), sizes, measured))


def copies() -> dict[int, float]:
    """Bytes read and written a second, by their number; the best of several."""
    speeds = {}
    for size in COPIED:
        source, target = aligned(size // 2), aligned(size // 2)
        times = max(2**28 // size, 4)

        def copy(source: np.ndarray = source, target: np.ndarray = target, times: int = times) -> None:
            for _ in range(times):
                np.copyto(target, source)

        speeds[size] = times * size / min(seconds(copy) for _ in range(5))
    return speeds


def aligned(size: int) -> np.ndarray:
    """Ones from the beginning of a page: a copy to 16 bytes further on in a page takes ten times as long here."""
    memory = np.zeros(size + PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE
    ones = memory[start : start + size].view(np.float32)
    ones[:] = 1
    return ones


def matrix_products(engine: Any) -> tuple[Callable[[int], None], Callable[[int], None]]:
    """Two functions that multiply two matrices so many times: as such, and as a convolution of single pixels.

    Frameworks may do these by different libraries, of which one may be slower on this maker's processors.
    """
    ops = engine.keras.ops
    one, pixels, kernel = ops.ones((SIDE, SIDE)), ops.ones((1, 32, SIDE // 32, SIDE)), ops.ones((1, 1, SIDE, SIDE))

    def repeated(multiply: Callable[[], Any]) -> Callable[[int], None]:
        def work(times: int) -> None:
            for _ in range(times):
                made = multiply()
            ops.convert_to_numpy(made)

        work(PRODUCTS)
        return work

    return repeated(lambda: ops.matmul(one, one)), repeated(lambda: ops.conv(pixels, kernel))


def seconds(work: Callable[[], object]) -> float:
    """The CPU seconds that some work takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def show_evaluation(framework: str, name: str, entry: str) -> None:
    """Print the examples a CPU second that are evaluated in batches of each size, and which have the engine's bits."""
    engine = started(framework, entry)
    ready(engine, framework, name)
    split = split_of(name, EVALUATED)
    usual = keras_engine.EVALUATION_BATCH
    given = engine.logits(split).tobytes()
    speeds: dict[int, list[float]] = {size: [] for size in BATCHES}
    equal = {}
    for number in range(ROUNDS + 1):
        for size in BATCHES:
            keras_engine.EVALUATION_BATCH = size * split.units
            found = []
            speed = EVALUATED / seconds(lambda found=found: found.append(engine.logits(split)))
            # The first compiles for a size.
            speeds[size] += [speed] if number else []
            equal[size] = found[0].tobytes() == given
    print(f"{framework}, {name}: an evaluation batch of {usual} units\n{'examples':>8}{'examples/s':>12}  bits")
    for size, found in speeds.items():
        print(f"{size:>8}{statistics.median(found):>12.0f}  {'equal' if equal[size] else 'others'}")


def show_operators(framework: str, name: str, entry: str) -> None:
    """Print each operator's share of a step, as the framework's profiler has it, of the clock's time."""
    from toolnoise.papers.overhead.profile import kernels_of

    engine = started(framework, entry)
    plan, _ = ready(engine, framework, name)
    timed = kernels_of(engine, plan, nullcontext)
    whole, rest, steps = sum(kernel.microseconds for kernel in timed), 1.0, len(plan.order)
    print(f"{framework}, {name}\n{'operator':<60}{'calls a step':>14}{'% of step':>12}")
    for kernel in timed:
        share = kernel.microseconds / whole
        if share >= LEAST:
            rest -= share
            print(f"{kernel.name[:59]:<60}{kernel.calls / steps:>14.0f}{100 * share:>12.1f}")
    print(f"{'all others':<74}{100 * rest:>12.1f}")


if __name__ == "__main__":
    main()
