"""JAX: a whole epoch is one compiled loop on an accelerator; on a CPU each step is one compiled call.

On a CPU, XLA's convolutions are tens of times slower inside a loop than outside. The training set, or the part of it
for the next steps, is on the device with the plan. A step gathers its batch, crops and mirrors it as planned, and
updates the weights in place. All randomness comes with the plan.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from toolnoise.datasets.prepared import Split
from toolnoise.datasets.streaming import steps_in_part
from toolnoise.engines import accelerators, decay, formulas, jax_kernels, rate_factor
from toolnoise.engines.formulas import BETA_1, BETA_2, EPSILON, RISE_1, RISE_2, smoothed_targets
from toolnoise.engines.framework import keep_freed_memory
from toolnoise.engines.keras_engine import LOSS_SCALE, Chunk, KerasEngine, Sums
from toolnoise.epoch_plan import Plan, steps_per_epoch

ISA = {"avx2": "AVX2", "avx512": "AVX512"}
PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}
# The number of steps in a plan is padded to a power of two, at least this one.
FEWEST_STEPS = 128


class Engine(KerasEngine):
    """Trains one Keras model in this process."""

    framework = "jax"
    trains_variables = False

    def variables(self, tooling: dict[str, Any], deterministic: bool) -> dict[str, str]:
        """The environment variables by which a tooling sets JAX, Keras and XLA."""
        if tooling["accelerator"] == "cpu":
            flags = [f"--xla_cpu_max_isa={ISA[tooling['isa']]}"]
        else:
            # It also disables the timing of kernels, by which XLA chooses among them anew in every process.
            flags = ["--xla_gpu_deterministic_ops=true"] if deterministic and tooling["accelerator"] == "gpu" else []
        full = "tensorfloat32" if tooling["tf32"] else "highest"
        return {
            "JAX_DEFAULT_MATMUL_PRECISION": full if tooling["precision"] == "float32" else "default",
            "JAX_ENABLE_COMPILATION_CACHE": "false",
            "JAX_PLATFORMS": PLATFORMS[tooling["accelerator"]],
            "KERAS_BACKEND": "jax",
            # XLA takes this as the number of processors, and so of threads.
            "NPROC": str(tooling["threads"]),
            "OMP_NUM_THREADS": str(tooling["threads"]),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "XLA_FLAGS": " ".join(flags),
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }

    def _set_up(self, deterministic: bool) -> None:  # noqa: ARG002 (XLA_FLAGS say it)
        self.jax = self.library
        if self.tooling["accelerator"] == "cpu":
            keep_freed_memory()
            jax_kernels.install_pooling(self.jax, self.keras.src.backend)

    def _allows_tf32(self) -> bool:
        return self.jax.config.jax_default_matmul_precision == "tensorfloat32"

    def _gpus(self) -> list[tuple[str, str]]:
        try:
            return [(gpu.device_kind, str(getattr(gpu, "compute_capability", ""))) for gpu in self.jax.devices("gpu")]
        except RuntimeError:
            return []

    def _use_gpu(self, place: int) -> None:
        self.jax.config.update("jax_default_device", self.jax.devices("gpu")[place])

    def _claim_tpu(self) -> dict[str, Any]:
        """One core of the TPU: one run, one device. Never tried, for lack of a TPU."""
        try:
            devices = self.jax.devices("tpu")
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            problem = f"JAX cannot use the {(accelerators.tpu() or ['TPU'])[0]} of this machine ({reason})"
            raise self._refusal("device", problem, "install jax[tpu]") from None
        names = [tpu.device_kind for tpu in devices]
        place = accelerators.choose(self.tooling, names)
        self.jax.config.update("jax_default_device", devices[place])
        return {"device": names[place]}

    def _tensor(self, variable: Any) -> Any:
        return self.jax.numpy.zeros(variable.shape, variable.dtype)

    def compiled_for_images(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The function, compiled for each size of a batch."""
        compiled = self.jax.jit(lambda tensors, images: self._called(tensors, lambda: function(images))[0])
        return lambda images: compiled(self.tensors, images)

    def _called(self, tensors: dict[str, Any], function: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
        """The result of a function with these tensors in the model's variables, and the variables' values after it."""
        weights = self.model.weights
        with self.keras.StatelessScope(state_mapping=[(weight, tensors[weight.path]) for weight in weights]) as scope:
            result = function()
        return result, {weight.path: scope.get_current_value(weight) for weight in weights}

    def batches(self, split: Split) -> Iterator[np.ndarray]:
        """The batches, the last one padded: XLA compiles for one size."""
        size = min(self._at_once(split), len(split))
        return (_filled(images, size) for images in super().batches(split))

    def _on_device(self, images: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
        size = len(images)
        if self.train.streamed:
            size = min(self._steps, steps_in_part(self.train, self.recipe["batch_size"])) * self.recipe["batch_size"]
        return self.jax.device_put(_filled(images, size)), self.jax.device_put(_filled(labels, size))

    def _zeros(self, like: Any) -> Any:
        return self.jax.numpy.zeros_like(like)

    @property
    def _steps(self) -> int:
        return steps_per_epoch(self.recipe, len(self.train))

    def _compile(self) -> None:
        self._loops = self.tooling["accelerator"] != "cpu"
        self._advance = self.jax.jit(self._loop if self._loops else self._step, donate_argnums=0)
        # A step whose result is discarded compiles the functions that training calls.
        batch, copy = (1, self.recipe["batch_size"]), self.jax.numpy.array
        plan = Plan(
            np.zeros(batch, np.int32),
            np.zeros((*batch, 2), np.int32),
            np.zeros(batch, bool),
            np.zeros(batch, np.uint32),
            np.zeros(4, np.uint32),
            np.zeros(1, np.float32),
        )
        blank = self.blank_inputs(self.train.pixels.shape[1:]), np.zeros((1, *self.train.targets.shape[1:]), np.int32)
        data = self.held or self._on_device(*blank)
        kept = self.tensors, self.slots
        self.tensors, self.slots = self.jax.tree.map(copy, kept)
        step = Chunk(*data, plan, np.ones(1, np.uint32), np.zeros((1, 3), np.float32))
        self._train(step, Sums(np.float32(0), np.int32(0)))
        self.tensors, self.slots = kept

    def _train(self, part: Chunk, sums: Sums) -> Sums:
        # A part of another length needs no new compilation: each is padded to the same power of two.
        plan, count = part.plan, len(part.steps)
        size = 2 ** (max(FEWEST_STEPS, self._steps, count) - 1).bit_length()
        planned = plan.order, plan.offsets, plan.flips, plan.slots, part.steps, part.rates
        planned = [_filled(values, size) for values in planned]
        inputs = self.jax.device_put((planned, part.images, part.labels, plan.dropout))
        left_out = self.jax.numpy.array(self.slots[LOSS_SCALE][formulas.LEFT_OUT] if self.loss_scaled else 0)
        carried = self.tensors, self.slots, *map(self.jax.numpy.array, sums)
        try:
            for number in [count] if self._loops else range(count):
                carried = self._advance(carried, number, *inputs, left_out)
        except self.jax.errors.JaxRuntimeError as error:
            line = str(error).strip().splitlines()[0]
            if "determinis" not in line:
                raise
            raise self._refusal("", f"no deterministic kernel ({line})") from None
        tensors, self.slots, *summed = carried
        # JAX returns dictionaries sorted; these keep the order of the layers.
        self.tensors = {path: tensors[path] for path in self.tensors}
        return Sums(*map(np.asarray, summed))

    def _loop(self, carried, count, *inputs):  # noqa: ANN001, ANN002, ANN202 (symbolic arrays)
        return self.jax.lax.fori_loop(0, count, lambda number, carried: self._step(carried, number, *inputs), carried)

    def _step(self, carried, number, planned, pixels, targets, dropout, left_out):  # noqa: ANN001, ANN202
        jnp, (tensors, slots, loss_sum, correct) = self.jax.numpy, carried
        order, offsets, flips, places, step = (values[number] for values in planned[:-1])
        images, labels = self._augmented(pixels, order, offsets, flips), self._gathered(targets, order)
        for layer_number, layer in enumerate(self.dropouts):
            layer.plan(dropout, step, layer_number, places)
        counts = slots.get(LOSS_SCALE)

        def objective(trained):  # noqa: ANN001, ANN202
            logits, after = self._called(tensors | trained, lambda: self._logits(images, training=True))
            loss = jnp.mean(self._losses(labels, logits))
            return loss * self._loss_scale(counts) if counts else loss, (loss, logits, after)

        trained = {path: tensors[path] for path in self.trainable}
        gradients, (loss, logits, after) = self.jax.grad(objective, has_aux=True)(trained)
        # Adam's powers count the updates made.
        made = number - (counts[formulas.LEFT_OUT] - left_out) if counts else number
        rates = planned[-1][number, 0], *planned[-1][made, 1:]
        if counts:
            finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(gradient)) for gradient in gradients.values()]))
            undo = self._loss_scale(counts, -1)
            gradients = {path: gradient * undo for path, gradient in gradients.items()}
        new, new_slots = self._updated(trained, slots, gradients, *rates)
        if counts:
            new, new_slots = self.jax.tree.map(partial(jnp.where, finite), (new, new_slots), (trained, slots))
            new_slots[LOSS_SCALE] = formulas.scale_counts_after(counts, finite.astype(jnp.int32), jnp.clip)
        right = jnp.sum(self._answers(logits, jnp.argmax) == labels, dtype=jnp.int32)
        return after | new, new_slots, loss_sum + loss, correct + right

    def _updated(self, trained, slots, gradients, rate, *powers):  # noqa: ANN001, ANN002, ANN202
        """The trained tensors and their slots after a step."""
        rises = (RISE_1, RISE_2) if self.tooling["formulas"] == "common" else (1 - BETA_1, 1 - BETA_2)
        new, new_slots = {}, {slot: dict(tensors) for slot, tensors in slots.items()}
        for path, gradient in gradients.items():
            tensor = trained[path]
            # Where a factor is 1 or 0 nothing is computed: other operations would give other bits.
            if times := decay(path, self.recipe):
                gradient = gradient + times * tensor
            factor = rate_factor(path, self.recipe)
            lr = rate if factor == 1 else rate * factor
            if self.recipe["optimizer"] == "adam":
                m = slots["m"][path] + (gradient - slots["m"][path]) * rises[0]
                v = slots["v"][path] + (gradient * gradient - slots["v"][path]) * rises[1]
                size = lr * self.jax.numpy.sqrt(1 - powers[1]) / (1 - powers[0])
                new[path] = tensor - m * size / (self.jax.numpy.sqrt(v) + EPSILON)
                new_slots["m"][path], new_slots["v"][path] = m, v
            else:
                momentum = slots["momentum"][path] * self.recipe["momentum"] - lr * gradient
                new[path] = tensor + momentum
                new_slots["momentum"][path] = momentum
        return new, new_slots

    def _loss_scale(self, counts, sign=1):  # noqa: ANN001, ANN202
        bits = formulas.scale_bits(counts[formulas.DOUBLINGS], sign)
        return self.jax.lax.bitcast_convert_type(bits, self.jax.numpy.float32)

    def _losses(self, labels, logits):  # noqa: ANN001, ANN202
        if not self.outcome.scores_each_class:
            return self._losses_of_odds(labels, logits)
        jax, (here, elsewhere) = self.jax, smoothed_targets(self.recipe["label_smoothing"], logits.shape[-1])
        of_class = jax.nn.one_hot(labels, logits.shape[-1], dtype=bool)
        targets = jax.numpy.where(of_class, np.float32(here), np.float32(elsewhere))
        return -jax.numpy.sum(targets * jax.nn.log_softmax(logits), axis=-1)

    def _gathered(self, array: Any, places: Any) -> Any:
        return array.at[places].get(mode="promise_in_bounds")

    def _set(self, tensor: Any, values: np.ndarray) -> Any:
        # A copy, since training reuses the memory.
        return self.jax.numpy.array(values, tensor.dtype)


def _filled(values: np.ndarray, length: int) -> np.ndarray:
    """An array padded with zeros to a length."""
    missing = length - len(values)
    return np.concatenate([values, np.zeros((missing, *values.shape[1:]), values.dtype)]) if missing else values
