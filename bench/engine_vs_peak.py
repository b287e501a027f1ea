"""How near the engine is to the machine: its multiply-adds a second over those of a single-threaded matrix product.

`smallcnn` trains on 32 x 32 images in batches of 128, with crops and flips, on one thread of one core. The matrix
product (1024 x 1024, float32) is TensorFlow's own, in the same process, so both have the same library and the same
instruction set. Both are timed in CPU seconds and in turn, so that other work on the machine slows both; the ratio is
the median.

The table says where the time of a step goes: for each kind of operator its share of the step, and the share that its
multiply-adds would take at the speed of the matrix product. Operators of a microsecond or two are not traced.

    taskset --cpu-list 0 python bench/engine_vs_peak.py [avx512|avx2|sse41]

"""

import statistics
import sys
import time
from collections.abc import Callable

import engine_vs_fit
from engine_vs_fit import BATCH, CHANNELS, CLASSES, SIZE

from toolnoise import engines
from toolnoise.analyses.overhead.profilers import profile
from toolnoise.analyses.overhead.xplane import Kernel
from toolnoise.base.spec import Spec
from toolnoise.datasets.prepared import Split
from toolnoise.engines import State
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.epoch_plan import Plan, plan_epoch
from toolnoise.models.initial import initial_weights

STEPS, ROUNDS = 20, 15
SIDE, PRODUCTS = 1024, 30
# The share of a step from which an operator has its own line.
LEAST = 0.01
# Multiply-adds for one image: of each convolution and dense layer, forward, for its weights' and its input's gradient.
# The first convolution computes no gradient of its input.
CONVOLUTIONS = [
    (SIZE // shrunk) ** 2 * 9 * given * made for shrunk, given, made in ((1, CHANNELS, 16), (2, 16, 32), (4, 32, 32))
]
DENSE = [32 * 32, 32 * CLASSES]
MULTIPLY_ADDS = {
    "Conv2D": sum(CONVOLUTIONS),
    "Conv2DBackpropFilter": sum(CONVOLUTIONS),
    "Conv2DBackpropInput": sum(CONVOLUTIONS[1:]),
    "MatMul": 3 * sum(DENSE),
}


def main(isa: str | None) -> None:
    """Print the ratio and the table."""
    spec = engine_vs_fit._spec("tensorflow", augment=True, **({"isa": isa} if isa else {}))
    engine, plan = _ready(spec)
    product = _product(engine)
    step = BATCH * sum(MULTIPLY_ADDS.values())
    rounds = [
        (PRODUCTS * SIDE**3 / _seconds(lambda: product(PRODUCTS)), STEPS * step / _seconds(lambda: engine.epoch(plan)))
        for _ in range(ROUNDS)
    ]
    peak, ours = (statistics.median(speeds) for speeds in zip(*rounds, strict=True))
    print(f"tooling: {spec.hardware.name}, {spec.hardware.json['isa']}, one thread")
    print(f"matrix product {peak / 1e9:.1f}, engine {ours / 1e9:.1f} thousand million multiply-adds per CPU second")
    ratio = statistics.median(ours / peak for peak, ours in rounds)
    print(f"ratio engine_vs_peak {ratio:.3f}", flush=True)
    _show(profile(engine, plan), ratio)


def _ready(spec: Spec) -> tuple[KerasEngine, Plan]:
    """An engine that has trained one epoch, and a plan of STEPS steps."""
    engine = engines.load("tensorflow")
    engine.start(spec.hardware.json, deterministic=False)
    from toolnoise.models.smallcnn import build

    images, labels = engine_vs_fit._data(STEPS * BATCH)
    parameters = engine.build(build, {}, images.shape[1:], CLASSES)
    engine.compile(spec.recipe, Split(images, labels))
    engine.restore(State(initial_weights(parameters, 0, 1, "smallcnn"), {}, 0))
    plan = plan_epoch(spec, len(labels), 0)
    engine.epoch(plan)
    return engine, plan


def _product(engine: KerasEngine) -> Callable[[int], None]:
    """A function that multiplies two matrices so many times."""
    tf = engine.library
    one = other = tf.ones((SIDE, SIDE))

    def multiply(times: int) -> None:
        for _ in range(times):
            tf.linalg.matmul(one, other)

    multiply(PRODUCTS)
    return multiply


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _show(kernels: tuple[Kernel, ...], ratio: float) -> None:
    """Print each operator's share of a step, and the share that its multiply-adds need at the matrix product's speed.

    Shares of the step are of the clock's time, as the profiler has it; the others add up to the ratio.
    """
    whole, step, rest = sum(kernel.microseconds for kernel in kernels), sum(MULTIPLY_ADDS.values()), 1.0
    print(f"{'operator':<40}{'calls a step':>14}{'% of step':>12}{'% at peak':>12}")
    for kernel in kernels:
        share = kernel.microseconds / whole
        if share >= LEAST:
            rest -= share
            needed = _multiply_adds(kernel.name) / step * ratio
            at_peak = f"{100 * needed:12.1f}" if needed else ""
            print(f"{kernel.name:<40}{kernel.calls // STEPS:>14}{100 * share:>12.1f}{at_peak}")
    print(f"{'all others':<54}{100 * rest:>12.1f}")


def _multiply_adds(operator: str) -> int:
    """Those for one image of an operator by the name of its type, which has the names of what is fused with it."""
    kinds = [kind for kind in MULTIPLY_ADDS if kind in operator.replace("Fused", "")]
    return MULTIPLY_ADDS[max(kinds, key=len)] if kinds else 0


if __name__ == "__main__":
    main(*sys.argv[1:2] or [None])
