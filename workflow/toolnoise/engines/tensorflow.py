"""TensorFlow: a whole epoch is one compiled call.

The training set lies on the device; a compiled loop over the steps gathers each batch, crops and mirrors it as planned,
and updates the weights with TensorFlow's fused optimiser kernels. All randomness comes in with the plan.
"""

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from toolnoise.datasets.prepared import Split
from toolnoise.engines import EpochResult, State, Weights, decays, environment
from toolnoise.errors import BadInput
from toolnoise.models.initial import Parameter
from toolnoise.plans import Plan

ISA = {"sse41": "SSE41", "avx2": "AVX2", "avx512": "AVX512_CORE"}
SLOTS = {"adam": ("m", "v"), "sgd": ("momentum",)}
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
EVALUATION_BATCH = 512
# What Keras and TensorFlow import if they find it and training never uses: half of the time to import them.
UNUSED = ("h5py", "IPython", "matplotlib", "pandas", "PIL", "scipy", "sklearn")


class Engine:
    """Trains one Keras model in this process."""

    def start(self, tooling: dict[str, Any], deterministic: bool) -> dict[str, Any]:
        """Import TensorFlow under the tooling's settings and nothing else's."""
        self.tooling = tooling
        if tooling["accelerator"] == "cpu":
            environment.require_cpu(tooling)
        if "tensorflow" in sys.modules:
            raise RuntimeError("TensorFlow was imported before the tooling's settings were made")
        imposed = environment.impose(variables(tooling))
        self.tf, self.keras = tf, keras = _import()
        # Keras would take these from a file in the user's home.
        keras.config.set_floatx("float32")
        keras.config.set_epsilon(EPSILON)
        keras.config.set_image_data_format("channels_last")
        tf.config.threading.set_intra_op_parallelism_threads(tooling["threads"])
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.experimental.enable_tensor_float_32_execution(False)
        if deterministic:
            tf.config.experimental.enable_op_determinism()
        return {
            "device": self._claim_device(),
            "deterministic": deterministic,
            "variables": imposed,
            "versions": {"tensorflow": tf.__version__, "keras": keras.__version__, "numpy": np.__version__},
            "build": dict(tf.sysconfig.get_build_info()),
            **environment.machine(),
        }

    def _claim_device(self) -> str:
        tf = self.tf
        if self.tooling["accelerator"] == "cpu":
            tf.config.set_visible_devices([], "GPU")
            return "cpu"
        name, wanted = f"hardware {self.tooling['name']}", self.tooling["device"] or "any GPU"
        gpus = tf.config.list_physical_devices("GPU")
        if not gpus:
            raise BadInput(name, "device", "this machine shows TensorFlow no GPU", f"wanted: {wanted}")
        found = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "")
        if self.tooling["device"] not in found:
            raise BadInput(name, "device", f"found {found!r}", f"wanted: {wanted}")
        # One run, one GPU: the first of those that the scheduler or the user made visible, its memory as needed.
        tf.config.set_visible_devices(gpus[:1], "GPU")
        tf.config.experimental.set_memory_growth(gpus[0], True)
        return found

    def build(
        self, builder: Callable[..., Any], options: dict[str, Any], shape: tuple[int, ...], classes: int
    ) -> tuple[Parameter, ...]:
        """Build the network; its own initial numbers are never used."""
        from toolnoise.models.dropout import Dropout

        self.slots, self.step = {}, 0
        # In a stateless scope Keras leaves weights to be drawn at its end: until then each knows its initialiser.
        with self.keras.StatelessScope():
            self.model = builder(shape, classes, **options)
            initializers = {variable.path: variable._initializer for variable in self.model.weights}
        for layer in self.model._flatten_layers():
            if hasattr(layer, "seed_generator"):
                found = f"{type(layer).__name__} draws random numbers of its own"
                raise BadInput("model", layer.name, found, "for dropout: toolnoise.models.dropout.Dropout")
        self.variables = {variable.path: variable.value for variable in self.model.weights}
        self.dropouts = [layer for layer in self.model._flatten_layers() if isinstance(layer, Dropout)]
        self.trainable = [variable.path for variable in self.model.trainable_variables]
        self._forward = self.tf.function(
            lambda images: self.model(images, training=False),
            input_signature=[self.tf.TensorSpec((None, *shape), self.tf.float32)],
            autograph=False,
        )
        return tuple(
            Parameter(
                variable.path,
                tuple(variable.shape),
                variable.path in self.trainable,
                *_serialised(initializers[variable.path], variable.path),
            )
            for variable in self.model.weights
        )

    def compile(self, recipe: dict[str, Any], train: Split) -> None:
        """Put the training set on the device and compile the epoch."""
        tf = self.tf
        self.recipe = recipe
        self.images = tf.constant(_Pixels(train.images))
        self.labels = tf.constant(train.labels)
        self.slots = {
            slot: {path: tf.Variable(tf.zeros_like(self.variables[path])) for path in self.trainable}
            for slot in SLOTS[recipe["optimizer"]]
        }
        batch = (None, recipe["batch_size"])
        signature = [
            tf.TensorSpec(batch, tf.int32),
            tf.TensorSpec((*batch, 2), tf.int32),
            tf.TensorSpec(batch, tf.bool),
            tf.TensorSpec(batch, tf.uint32),
            tf.TensorSpec((4,), tf.uint32),
            tf.TensorSpec((None,), tf.uint32),
            tf.TensorSpec((None, 3), tf.float32),
        ]
        # AutoGraph is off: rewriting the loop from its source would take as long as all the rest of compilation.
        self._epoch = tf.function(self._train, input_signature=signature, autograph=False)
        # An epoch of no steps compiles everything and changes nothing.
        self._run(*(np.zeros([n or 0 for n in spec.shape], spec.dtype.as_numpy_dtype) for spec in signature))
        self.logits(train.images[:1])

    def _run(self, *arrays: np.ndarray) -> list[np.ndarray]:
        try:
            return [np.asarray(value) for value in self._epoch(*map(self.tf.constant, arrays))]
        except self.tf.errors.UnimplementedError as error:
            op = error.op.name if error.op is not None else ""
            line = error.message.strip().splitlines()[0]
            raise BadInput(f"hardware {self.tooling['name']}", op, f"no deterministic kernel ({line})") from None

    def _train(self, order, offsets, flips, slots, dropout, steps, rates):  # noqa: ANN001, ANN202 (symbolic tensors)
        tf = self.tf
        trained = [self.variables[path] for path in self.trainable]

        def one_step(step, loss_sum, correct):  # noqa: ANN001, ANN202
            images = self._augmented(order[step], offsets[step], flips[step])
            labels = tf.gather(self.labels, order[step])
            for number, layer in enumerate(self.dropouts):
                layer.plan(dropout, steps[step], number, slots[step])
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(trained)
                logits = self.model(images, training=True)
                loss = tf.reduce_mean(self._losses(labels, logits))
            gradients = tape.gradient(loss, trained)
            self._update(gradients, rates[step])
            predicted = tf.argmax(logits, -1, tf.int32)
            return step + 1, loss_sum + loss, correct + tf.reduce_sum(tf.cast(predicted == labels, tf.int32))

        last = tf.shape(order)[0]
        return tf.while_loop(lambda step, *_: step < last, one_step, (0, 0.0, 0), parallel_iterations=1)[1:]

    def _augmented(self, indices, offsets, flips):  # noqa: ANN001, ANN202
        # Pixels are only moved, never computed, so that every engine makes the same bits.
        tf = self.tf
        pad, images = self.recipe["crop"], tf.gather(self.images, indices)
        count, (height, width, channels) = tf.shape(indices)[0], self.images.shape[1:]
        padded = tf.reshape(tf.pad(images, ((0, 0), (pad, pad), (pad, pad), (0, 0))), (-1, channels))
        rows = tf.range(count)[:, None] * (height + 2 * pad) + offsets[:, :1] + tf.range(height)
        columns = tf.where(flips[:, None], tf.range(width - 1, -1, -1), tf.range(width)) + offsets[:, 1:]
        return tf.gather(padded, rows[:, :, None] * (width + 2 * pad) + columns[:, None, :])

    def _losses(self, labels, logits):  # noqa: ANN001, ANN202
        tf, smoothing = self.tf, self.recipe["label_smoothing"]
        if not smoothing:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        elsewhere = smoothing / logits.shape[-1]
        targets = tf.one_hot(labels, logits.shape[-1], 1 - smoothing + elsewhere, elsewhere, dtype=logits.dtype)
        return tf.nn.softmax_cross_entropy_with_logits(targets, logits)

    def _update(self, gradients, rates):  # noqa: ANN001, ANN202
        apply = self.tf.raw_ops
        for path, gradient in zip(self.trainable, gradients, strict=True):
            if self.recipe["weight_decay"] and decays(path):
                gradient += self.recipe["weight_decay"] * self.variables[path]
            variable = self.variables[path].handle
            slots = [slot[path].handle for slot in self.slots.values()]
            if self.recipe["optimizer"] == "adam":
                apply.ResourceApplyAdam(
                    var=variable,
                    m=slots[0],
                    v=slots[1],
                    lr=rates[0],
                    beta1_power=rates[1],
                    beta2_power=rates[2],
                    beta1=BETA_1,
                    beta2=BETA_2,
                    epsilon=EPSILON,
                    grad=gradient,
                )
            else:
                apply.ResourceApplyKerasMomentum(
                    var=variable, accum=slots[0], lr=rates[0], grad=gradient, momentum=self.recipe["momentum"]
                )

    def restore(self, state: State) -> None:
        """Take weights, slots and step; slots that are not given are zero."""
        for path, variable in self.variables.items():
            variable.assign(state.weights[path].astype(variable.dtype.as_numpy_dtype))
        for slot, variables in self.slots.items():
            for path, variable in variables.items():
                given = state.slots.get(slot)
                variable.assign(given[path] if given else self.tf.zeros_like(variable))
        self.step = state.step

    def epoch(self, plan: Plan) -> EpochResult:
        """Train one epoch; Adam's powers are computed here, so that no step count lives on the device."""
        steps = self.step + 1 + np.arange(len(plan.order))
        rates = np.stack([plan.rates, BETA_1**steps, BETA_2**steps], axis=1).astype(np.float32)
        loss, correct = self._run(*plan[:-1], steps.astype(np.uint32), rates)
        self.step += len(plan.order)
        return EpochResult(float(loss) / len(plan.order), int(correct) / plan.order.size)

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Logits of the network as it is, in batches of a fixed size."""
        batches = range(0, len(images), EVALUATION_BATCH)
        return np.concatenate(
            [np.asarray(self._forward(self.tf.constant(images[at : at + EVALUATION_BATCH]))) for at in batches]
        )

    def weights(self) -> Weights:
        """A copy of every tensor, in the order of the layers."""
        return _values(self.variables)

    def state(self) -> State:
        """A copy of everything that training carries."""
        slots = {slot: _values(variables) for slot, variables in self.slots.items()}
        return State(self.weights(), slots, self.step)


class _Pixels:
    """An array that TensorFlow copies once: of an ndarray it makes two copies, the second page by slow page."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values


def variables(tooling: dict[str, Any]) -> dict[str, str]:
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


def _import():  # noqa: ANN202 (two modules)
    """Import TensorFlow and Keras without what they would import for others."""
    optional = [name for name in UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(optional))
    gc.disable()
    try:
        import keras
        import tensorflow as tf
    finally:
        gc.enable()
        for name in optional:
            del sys.modules[name]
    gc.freeze()
    return tf, keras


def _serialised(initializer: Any, path: str) -> tuple[str, dict[str, Any]]:
    if not hasattr(initializer, "get_config"):
        raise BadInput("model", path, f"initialiser {initializer}", "allowed: those of keras.initializers")
    return type(initializer).__name__, dict(initializer.get_config())


def _values(variables: dict[str, Any]) -> Weights:
    return {path: np.array(variable) for path, variable in variables.items()}
