"""TensorFlow: a whole epoch is one compiled call; with streamed data, one call per part.

The training set, or the part of it for the next steps, is on the device. A compiled loop over the steps gathers each
batch, crops and mirrors it as planned, and updates the weights with TensorFlow's fused optimiser kernels. All
randomness comes with the plan.
"""

import importlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from toolnoise.engines import accelerators, decay, formulas, rate_factor
from toolnoise.engines.formulas import BETA_1, BETA_2, EPSILON, smoothed_targets
from toolnoise.engines.keras_engine import LOSS_SCALE, SLOTS, Chunk, KerasEngine, Sums

ISA = {"sse41": "SSE41", "avx2": "AVX2", "avx512": "AVX512_CORE"}


class Engine(KerasEngine):
    """Trains one Keras model in this process."""

    framework = "tensorflow"
    unused = ("scipy",)
    forks = True
    # On a TPU whole functions are compiled by XLA; elsewhere TensorFlow's own kernels compute.
    _jit_compile: bool | None = None

    def variables(self, tooling: dict[str, Any], deterministic: bool) -> dict[str, str]:  # noqa: ARG002
        """The environment variables by which a tooling sets TensorFlow, Keras and oneDNN."""
        threads = str(tooling["threads"])
        return {
            "KERAS_BACKEND": "tensorflow",
            "OMP_NUM_THREADS": threads,
            "ONEDNN_MAX_CPU_ISA": ISA[tooling["isa"]],
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "TF_ENABLE_ONEDNN_OPTS": str(int(tooling["kernels"] == "onednn")),
            "TF_NUM_INTEROP_THREADS": "1",
            "TF_NUM_INTRAOP_THREADS": threads,
        }

    def _set_up(self, deterministic: bool) -> None:
        self.tf = tf = self.library
        tf.config.threading.set_intra_op_parallelism_threads(self.tooling["threads"])
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.experimental.enable_tensor_float_32_execution(self.tooling["tf32"])
        if self.tooling["accelerator"] == "cpu":
            tf.config.set_visible_devices([], "GPU")
        if self.tooling.get("portable"):
            # `rsqrt` refines an estimate that differs by processor maker, and a plain division would become an `rsqrt`.
            # The first module is for batch normalisation, the second for Keras.
            math_ops = importlib.import_module("tensorflow.python.ops.math_ops")
            for module in (math_ops, self.keras.src.backend.tensorflow.math):
                module.rsqrt = lambda values: tf.math.divide_no_nan(1.0, tf.sqrt(values))
        if deterministic:
            # If off, TensorFlow's default lets cuDNN time its algorithms and choose anew in every process.
            tf.config.experimental.enable_op_determinism()

    def _allows_tf32(self) -> bool:
        return self.tf.config.experimental.tensor_float_32_execution_enabled()

    def _about(self) -> dict[str, Any]:
        return {"xla": self.tf.config.optimizer.get_jit() or "off", "build": dict(self.tf.sysconfig.get_build_info())}

    def _gpus(self) -> list[tuple[str, str]]:
        seen = self.tf.config.list_physical_devices("GPU")
        details = [self.tf.config.experimental.get_device_details(gpu) for gpu in seen]
        return [
            (detail.get("device_name", ""), ".".join(map(str, detail.get("compute_capability", ()))))
            for detail in details
        ]

    def _use_gpu(self, place: int) -> None:
        config = self.tf.config
        gpu = config.list_physical_devices("GPU")[place]
        config.set_visible_devices(gpu, "GPU")
        config.experimental.set_memory_growth(gpu, True)

    def _claim_tpu(self) -> dict[str, Any]:
        """One core of the TPU, without a distribution strategy: one run, one device. Never tried, for lack of a TPU."""
        names, tf = accelerators.tpu(), self.tf
        place = accelerators.choose(self.tooling, names)
        try:
            address = os.environ.get("TPU_NAME", "local")
            tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu=address)
        except (ValueError, RuntimeError, ImportError, OSError, tf.errors.OpError) as error:
            reason = str(error).partition(".")[0]
            problem = f"TensorFlow cannot connect to the {names[place]} ({reason})"
            raise self._refusal("device", problem, "a TensorFlow built for TPUs") from None
        # Entered for the rest of the process, so everything is created on the TPU.
        tf.device("/TPU:0").__enter__()
        self._jit_compile = True
        return {"device": names[place]}

    def compiled_for_images(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The function, compiled once for batches of any size."""
        signature = [self.tf.TensorSpec((None, *self.shape), self.blank_inputs(()).dtype)]
        return self.tf.function(function, input_signature=signature, autograph=False, jit_compile=self._jit_compile)

    def _on_device(self, images: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
        return self.tf.constant(_Pixels(images)), self.tf.constant(labels)

    def _zeros(self, like: Any) -> Any:
        return self.tf.Variable(self.tf.zeros_like(like))

    def _compile(self) -> None:
        tf, train = self.tf, self.train
        batch = (None, None if self.recipe.get("last_batch") == "kept" else self.recipe["batch_size"])
        signature = [
            tf.TensorSpec((None, *train.pixels.shape[1:]), self.blank_inputs(()).dtype),
            tf.TensorSpec((None, *train.targets.shape[1:]), tf.int32),
            tf.TensorSpec(batch, tf.int32),
            tf.TensorSpec((*batch, 2), tf.int32),
            tf.TensorSpec(batch, tf.bool),
            tf.TensorSpec(batch, tf.uint32),
            tf.TensorSpec((4,), tf.uint32),
            tf.TensorSpec((None,), tf.uint32),
            tf.TensorSpec((None, 3), tf.float32),
            tf.TensorSpec((), tf.float32),
            tf.TensorSpec((), tf.int32),
        ]
        # AutoGraph is off: rewriting the loop from its source would take as long as the rest of the compilation.
        self._epoch = tf.function(self._loop, input_signature=signature, autograph=False, jit_compile=self._jit_compile)
        # An epoch without steps compiles everything and changes nothing.
        self._run(*(np.zeros([n or 0 for n in spec.shape], spec.dtype.as_numpy_dtype) for spec in signature))
        self._forward(tf.constant(self.blank_inputs(train.shape)))

    def _train(self, part: Chunk, sums: Sums) -> Sums:
        return self._run(part.images, part.labels, *part.plan[:5], part.steps, part.rates, *sums)

    def _run(self, *arrays: Any) -> Sums:
        try:
            return Sums(*map(np.asarray, self._epoch(*map(self.tf.constant, arrays))))
        except self.tf.errors.UnimplementedError as error:
            op = error.op.name if error.op is not None else ""
            line = error.message.strip().splitlines()[0]
            raise self._refusal(op, f"no deterministic kernel ({line})") from None

    def _loop(self, pixels, targets, *planned):  # noqa: ANN001, ANN002, ANN202 (symbolic tensors)
        tf = self.tf
        order, offsets, flips, slots, dropout, steps, rates, loss, correct = planned
        trained = [self.tensors[path] for path in self.trainable]
        left_out = tf.identity(self._left_out()) if self.loss_scaled else 0

        def one_step(step, loss_sum, correct):  # noqa: ANN001, ANN202
            # A slice at a tensor is six operations to trace and to optimise, and `gather` is one.
            examples = tf.gather(order, step)
            images = self._augmented(pixels, examples, tf.gather(offsets, step), tf.gather(flips, step))
            labels = tf.gather(targets, examples)
            for number, layer in enumerate(self.dropouts):
                layer.plan(dropout, tf.gather(steps, step), number, tf.gather(slots, step))
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(trained)
                logits = self._logits(images, training=True)
                loss = tf.reduce_mean(self._losses(labels, logits))
                objective = loss * self._loss_scale() if self.loss_scaled else loss
            # A table of embeddings has gradients only for the rows that were read.
            gradients = [tf.convert_to_tensor(gradient) for gradient in tape.gradient(objective, trained)]
            # Adam's powers count the updates made.
            made = step - (self._left_out() - left_out) if self.loss_scaled else step
            update = partial(self._update, rate=tf.gather(rates, step)[0], powers=tf.gather(rates, made)[1:])
            if self.loss_scaled:
                self._update_if_finite(gradients, update)
            else:
                update(gradients)
            right = tf.cast(self._answers(logits, partial(tf.argmax, output_type=tf.int32)) == labels, tf.int32)
            return step + 1, loss_sum + loss, correct + tf.reduce_sum(right)

        last = tf.shape(order)[0]
        return tf.while_loop(lambda step, *_: step < last, one_step, (0, loss, correct), parallel_iterations=1)[1:]

    def _losses(self, labels, logits):  # noqa: ANN001, ANN202
        tf, smoothing = self.tf, self.recipe["label_smoothing"]
        if not self.outcome.scores_each_class:
            return self._losses_of_odds(labels, logits)
        if not smoothing:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        here, elsewhere = smoothed_targets(smoothing, logits.shape[-1])
        targets = tf.one_hot(labels, logits.shape[-1], here, elsewhere, dtype=logits.dtype)
        return tf.nn.softmax_cross_entropy_with_logits(targets, logits)

    def _update(self, gradients, rate, powers):  # noqa: ANN001, ANN202
        tf, adam = self.tf, self.recipe["optimizer"] == "adam"
        # Made once for all tensors: each new constant would be traced and optimised again.
        betas = {"beta1": BETA_1, "beta2": BETA_2, "epsilon": EPSILON}
        numbers = betas if adam else {"momentum": self.recipe["momentum"]}
        shared = {name: tf.constant(float(number)) for name, number in numbers.items()}
        if adam:
            shared |= {"beta1_power": powers[0], "beta2_power": powers[1]}
        for path, gradient in zip(self.trainable, gradients, strict=True):
            # Where a factor is 1 or 0 nothing is computed: other operations would give other bits.
            if times := decay(path, self.recipe):
                gradient += times * self.tensors[path]
            factor = rate_factor(path, self.recipe)
            lr = rate if factor == 1 else rate * factor
            variable = self.tensors[path].handle
            slots = [self.slots[slot][path].handle for slot in SLOTS[self.recipe["optimizer"]]]
            if adam:
                tf.raw_ops.ResourceApplyAdam(var=variable, m=slots[0], v=slots[1], lr=lr, grad=gradient, **shared)
            else:
                tf.raw_ops.ResourceApplyKerasMomentum(var=variable, accum=slots[0], lr=lr, grad=gradient, **shared)

    def _gathered(self, array: Any, places: Any) -> Any:
        return self.tf.gather(array, places)

    def _left_out(self):  # noqa: ANN202
        return self.slots[LOSS_SCALE][formulas.LEFT_OUT]

    def _loss_scale(self, sign=1):  # noqa: ANN001, ANN202
        bits = formulas.scale_bits(self.slots[LOSS_SCALE][formulas.DOUBLINGS], sign)
        return self.tf.bitcast(bits, self.tf.float32)

    def _update_if_finite(self, gradients, update):  # noqa: ANN001, ANN202
        tf, counts = self.tf, self.slots[LOSS_SCALE]
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients])
        undo = self._loss_scale(-1)
        tf.cond(finite, lambda: update([gradient * undo for gradient in gradients]), lambda: None)
        after = formulas.scale_counts_after(counts, tf.cast(finite, tf.int32), tf.clip_by_value)
        for name, count in after.items():
            counts[name].assign(count)

    def _set(self, tensor: Any, values: np.ndarray) -> Any:
        tensor.assign(values.astype(tensor.dtype.as_numpy_dtype))
        return tensor


class _Pixels:
    """An array that TensorFlow copies once: it copies an ndarray twice, the second time slowly, page by page."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values
