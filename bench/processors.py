"""Which operations of TensorFlow give other bits on another processor, although a tooling pins all it can.

Each operation is computed on this processor, and by the same Python on processors that QEMU emulates. What differs
uses an instruction whose last bits the processor's maker chooses, such as `rsqrtps`: QEMU gives the nearest number.
Emulation takes two minutes for each processor. It needs QEMU 7.2 or later (Debian's package qemu-user).

    .venv/bin/python bench/processors.py [PROCESSOR ...]
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig

from toolnoise.engines import tensorflow
from toolnoise.study import config

TOOLING = config.registered("hardware")["cpu"] | {"name": "cpu"}
EMULATED = ("Haswell", "EPYC")
CHILD = "--digests"


def main(processors: list[str]) -> None:
    """Print each operation with the processors on which it has the bits of this one."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        raise SystemExit("needs QEMU's user mode: qemu-x86_64")
    here = _digests([])
    found = {name: _digests([emulator, "-cpu", name]) for name in processors}
    print(f"{'operation':42}" + "".join(f"  {name:10}" for name in found).rstrip())
    for operation, digest in here.items():
        said = ("the same" if other[operation] == digest else "other bits" for other in found.values())
        print(f"{operation:42}" + "".join(f"  {one:10}" for one in said).rstrip())
    alike = len({json.dumps(one) for one in found.values()}) == 1
    print("emulated processors agree on every bit" if alike else "emulated processors differ, too")


def _digests(emulator: list[str]) -> dict[str, str]:
    variables = tensorflow.Engine().variables(TOOLING, deterministic=True)
    # The emulator runs the interpreter itself, which then does not know its virtual environment.
    variables["PYTHONPATH"] = os.pathsep.join([sysconfig.get_path("purelib"), *filter(None, sys.path)])
    interpreter = os.path.realpath(sys.executable)
    command = [*emulator, interpreter, __file__, CHILD]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def _computed() -> dict[str, str]:
    """The digest of what each operation makes of drawn numbers, in the shapes of the demo's networks."""
    import numpy as np
    import tensorflow as tf

    tf.config.experimental.enable_op_determinism()
    draws, raw = np.random.Generator(np.random.Philox(1)), tf.raw_ops

    def drawn(*shape: int) -> tf.Tensor:
        return tf.constant(draws.standard_normal(shape, np.float32))

    images, filters, dense = drawn(32, 8, 8, 16), drawn(3, 3, 16, 32), drawn(128, 10)
    above, rows, logits = drawn(32, 8, 8, 32), drawn(32, 128), drawn(32, 10)
    positive, labels = tf.abs(drawn(4096)) + 1e-3, tf.constant(np.arange(32) % 10)
    same = {"strides": [1, 1, 1, 1], "padding": "SAME"}

    def adam() -> tf.Tensor:
        weight, first, second = (tf.Variable(positive) for _ in range(3))
        moments = {"m": first.handle, "v": second.handle}
        powers = {"beta1_power": 0.9, "beta2_power": 0.999, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7}
        raw.ResourceApplyAdam(var=weight.handle, lr=0.01, grad=drawn(4096), **moments, **powers)
        return weight

    def normalised() -> tf.Tensor:
        mean, variance = tf.nn.moments(images, [0, 1, 2])
        return tf.nn.batch_normalization(images, mean, variance, None, None, 1e-3)

    found = {
        "convolution": raw.Conv2D(input=images, filter=filters, **same),
        "convolution, gradient of its weights": raw.Conv2DBackpropFilter(
            input=images, filter_sizes=filters.shape, out_backprop=above, **same
        ),
        "convolution, gradient of its input": raw.Conv2DBackpropInput(
            input_sizes=images.shape, filter=filters, out_backprop=above, **same
        ),
        "matrix product": rows @ dense,
        "max-pooling": tf.nn.max_pool2d(images, 2, 2, "VALID"),
        "gradient of a bias": raw.BiasAddGrad(out_backprop=images),
        "mean over batch, height and width": tf.reduce_mean(images, [0, 1, 2]),
        "cross-entropy": tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits),
        "exponential": tf.exp(logits),
        "logarithm": tf.math.log(positive),
        "division": 1 / positive,
        "square root": tf.sqrt(positive),
        "reciprocal square root": tf.math.rsqrt(positive),
        "batch normalisation": normalised(),
        "Adam's update": adam(),
    }
    return {name: hashlib.sha256(value.numpy().tobytes()).hexdigest() for name, value in found.items()}


if __name__ == "__main__":
    if sys.argv[1:] == [CHILD]:
        print(json.dumps(_computed()))
    else:
        main(sys.argv[1:] or list(EMULATED))
