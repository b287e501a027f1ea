"""TensorFlow: a whole epoch is one compiled call, or one for each part of data that is streamed.

The training set, or the part of it that the next steps need, lies on the device; a compiled loop over the steps gathers
each batch, crops and mirrors it as planned, and updates the weights with TensorFlow's fused optimiser kernels. All
randomness comes in with the plan.
"""

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from toolnoise.ahead import ahead
from toolnoise.datasets import streaming
from toolnoise.datasets.prepared import Split
from toolnoise.engines import EpochResult, Kernel, State, Weights, accelerators, decay, environment, rate_factor, xplane
from toolnoise.engines.loss_scale import LossScale
from toolnoise.errors import BadInput
from toolnoise.models.initial import Parameter
from toolnoise.plans import Plan

ISA = {"sse41": "SSE41", "avx2": "AVX2", "avx512": "AVX512_CORE"}
SLOTS = {"adam": ("m", "v"), "sgd": ("momentum",)}
LOSS_SCALE = "loss_scale"
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
EVALUATION_BATCH = 512
# What Keras and TensorFlow import if they find it and training never uses: half of the time to import them.
UNUSED = ("h5py", "IPython", "jax", "matplotlib", "pandas", "PIL", "scipy", "sklearn", "torch")


class Engine:
    """Trains one Keras model in this process."""

    # Functions are placed on a TPU whole, as XLA compiles them; elsewhere TensorFlow's own kernels compute.
    _jit_compile: bool | None = None

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
        # Weights are float32 in every precision; layers compute in the tooling's.
        keras.config.set_dtype_policy(tooling["precision"])
        tf.config.experimental.enable_tensor_float_32_execution(tooling["tf32"])
        if deterministic:
            # Where it is off, TensorFlow's default lets cuDNN time its algorithms and choose in every process anew.
            tf.config.experimental.enable_op_determinism()
        claim = {"cpu": self._claim_cpu, "gpu": self._claim_gpu, "tpu": self._claim_tpu}[tooling["accelerator"]]
        return {
            **claim(),
            "precision": keras.config.dtype_policy().name,
            "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
            "deterministic": deterministic,
            "xla": tf.config.optimizer.get_jit() or "off",
            "variables": imposed,
            "versions": {"tensorflow": tf.__version__, "keras": keras.__version__, "numpy": np.__version__},
            "build": dict(tf.sysconfig.get_build_info()),
            **environment.machine(),
        }

    def _claim_cpu(self) -> dict[str, Any]:
        self.tf.config.set_visible_devices([], "GPU")
        return {"device": "cpu"}

    def _claim_gpu(self) -> dict[str, Any]:
        """Of the GPUs that the scheduler or the user made visible, the first that the tooling means, and no other."""
        config = self.tf.config
        seen, present = config.list_physical_devices("GPU"), accelerators.gpus()
        if present and not seen:
            found = f"TensorFlow cannot use the {present[0].name} of this machine"
            raise BadInput(f"hardware {self.tooling['name']}", "device", found, "install the extra `cuda`")
        details = [config.experimental.get_device_details(gpu) for gpu in seen]
        names = [detail.get("device_name", "") for detail in details]
        place = accelerators.choose(self.tooling, names)
        config.set_visible_devices(seen[place], "GPU")
        config.experimental.set_memory_growth(seen[place], True)
        told = next((gpu for gpu in present if gpu.name == names[place]), None)
        return {
            "device": names[place],
            "compute_capability": ".".join(map(str, details[place].get("compute_capability", ()))),
            "driver": told.driver if told else "",
            "device_memory_mib": told.memory_mib if told else "",
            "libraries": environment.installed("nvidia-.*"),
        }

    def _claim_tpu(self) -> dict[str, Any]:
        """One core of the TPU, without a distribution strategy: one run, one device. Never tried, for lack of a TPU."""
        names, tf = accelerators.tpu(), self.tf
        place = accelerators.choose(self.tooling, names)
        try:
            address = os.environ.get("TPU_NAME", "local")
            tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu=address)
        except (ValueError, RuntimeError, ImportError, OSError, tf.errors.OpError) as error:
            reason = str(error).partition(".")[0]
            found = f"TensorFlow cannot connect to the {names[place]} ({reason})"
            raise BadInput(f"hardware {self.tooling['name']}", "device", found, "a TensorFlow built for TPUs") from None
        # For the rest of the process: what is made from here on is made there.
        tf.device("/TPU:0").__enter__()
        self._jit_compile = True
        return {"device": names[place]}

    def build(
        self, builder: Callable[..., Any], options: dict[str, Any], shape: tuple[int, ...], classes: int
    ) -> tuple[Parameter, ...]:
        """Build the network; its own initial numbers are never used."""
        from toolnoise.models.dropout import Dropout

        self.slots, self.step, self.shape = {}, 0, shape
        # In a stateless scope Keras leaves weights to be drawn at its end: until then each knows its initialiser.
        with self.keras.StatelessScope():
            self.model = builder(shape, classes, **options)
            initializers = {variable.path: variable._initializer for variable in self.model.weights}
        # Classes whose logits differ by less than half precision shows would tie, and the lower number win.
        for layer in reversed(self.model.layers):
            layer.dtype_policy = "float32"
            if layer.weights:
                break
        for layer in self.model._flatten_layers():
            if hasattr(layer, "seed_generator"):
                found = f"{type(layer).__name__} draws random numbers of its own"
                raise BadInput("model", layer.name, found, "for dropout: toolnoise.models.dropout.Dropout")
        self.variables = {variable.path: variable.value for variable in self.model.weights}
        self.dropouts = [layer for layer in self.model._flatten_layers() if isinstance(layer, Dropout)]
        self.trainable = [variable.path for variable in self.model.trainable_variables]
        self._forward = self._of_images(lambda images: self._logits(images, training=False))
        self._watching = {}
        return tuple(
            Parameter(
                variable.path,
                tuple(variable.shape),
                variable.path in self.trainable,
                *_serialised(initializers[variable.path], variable.path),
            )
            for variable in self.model.weights
        )

    def _of_images(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        signature = [self.tf.TensorSpec((None, *self.shape), self.tf.float32)]
        return self.tf.function(function, input_signature=signature, autograph=False, jit_compile=self._jit_compile)

    def compile(self, recipe: dict[str, Any], train: Split) -> None:
        """Compile the epoch, and put the training set on the device unless it is streamed."""
        tf = self.tf
        self.recipe, self.train = recipe, train
        if not train.streamed:
            self.held = tf.constant(_Pixels(train.images)), tf.constant(train.labels)
        self.slots = {
            slot: {path: tf.Variable(tf.zeros_like(self.variables[path])) for path in self.trainable}
            for slot in SLOTS[recipe["optimizer"]]
        }
        self.loss_scale = LossScale(tf) if self.tooling["precision"] == "mixed_float16" else None
        if self.loss_scale:
            self.slots[LOSS_SCALE] = self.loss_scale.variables
        batch = (None, recipe["batch_size"])
        signature = [
            tf.TensorSpec((None, *train.pixels.shape[1:]), tf.float32),
            tf.TensorSpec((None,), tf.int32),
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
        # AutoGraph is off: rewriting the loop from its source would take as long as all the rest of compilation.
        self._epoch = tf.function(
            self._train, input_signature=signature, autograph=False, jit_compile=self._jit_compile
        )
        # An epoch of no steps compiles everything and changes nothing.
        self._run(*(np.zeros([n or 0 for n in spec.shape], spec.dtype.as_numpy_dtype) for spec in signature))
        self._forward(tf.zeros((1, *train.shape)))

    def _run(self, *arrays: np.ndarray) -> list[np.ndarray]:
        try:
            return [np.asarray(value) for value in self._epoch(*map(self.tf.constant, arrays))]
        except self.tf.errors.UnimplementedError as error:
            op = error.op.name if error.op is not None else ""
            line = error.message.strip().splitlines()[0]
            raise BadInput(f"hardware {self.tooling['name']}", op, f"no deterministic kernel ({line})") from None

    def _train(self, pixels, targets, *planned):  # noqa: ANN001, ANN002, ANN202 (symbolic tensors)
        tf = self.tf
        order, offsets, flips, slots, dropout, steps, rates, loss, correct = planned
        trained = [self.variables[path] for path in self.trainable]
        left_out = tf.identity(self.loss_scale.left_out) if self.loss_scale else 0

        def one_step(step, loss_sum, correct):  # noqa: ANN001, ANN202
            images = self._augmented(pixels, order[step], offsets[step], flips[step])
            labels = tf.gather(targets, order[step])
            for number, layer in enumerate(self.dropouts):
                layer.plan(dropout, steps[step], number, slots[step])
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(trained)
                logits = self._logits(images, training=True)
                loss = tf.reduce_mean(self._losses(labels, logits))
                objective = loss * self.loss_scale.factor() if self.loss_scale else loss
            gradients = tape.gradient(objective, trained)
            # Adam's powers count the updates that were made.
            made = step - (self.loss_scale.left_out - left_out) if self.loss_scale else step
            update = partial(self._update, rate=rates[step, 0], powers=rates[made, 1:])
            if self.loss_scale:
                self.loss_scale.step(gradients, update)
            else:
                update(gradients)
            predicted = tf.argmax(logits, -1, tf.int32)
            return step + 1, loss_sum + loss, correct + tf.reduce_sum(tf.cast(predicted == labels, tf.int32))

        last = tf.shape(order)[0]
        return tf.while_loop(lambda step, *_: step < last, one_step, (0, loss, correct), parallel_iterations=1)[1:]

    def _logits(self, images, training):  # noqa: ANN001, ANN202
        return self.tf.cast(self.model(images, training=training), self.tf.float32)

    def _augmented(self, pixels, indices, offsets, flips):  # noqa: ANN001, ANN202
        # Pixels are only moved, never computed, so that every engine makes the same bits.
        tf = self.tf
        pad, images = self.recipe["crop"], tf.gather(pixels, indices)
        count, (height, width, channels) = tf.shape(indices)[0], self.train.shape
        padded = tf.pad(images, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        from_height, from_width = padded.shape[1:3]
        rows = tf.range(count)[:, None] * from_height + offsets[:, :1] + tf.range(height)
        columns = tf.where(flips[:, None], tf.range(width - 1, -1, -1), tf.range(width)) + offsets[:, 1:]
        places = rows[:, :, None] * from_width + columns[:, None, :]
        return tf.gather(tf.reshape(padded, (-1, channels)), places)

    def _losses(self, labels, logits):  # noqa: ANN001, ANN202
        tf, smoothing = self.tf, self.recipe["label_smoothing"]
        if not smoothing:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        elsewhere = smoothing / logits.shape[-1]
        targets = tf.one_hot(labels, logits.shape[-1], 1 - smoothing + elsewhere, elsewhere, dtype=logits.dtype)
        return tf.nn.softmax_cross_entropy_with_logits(targets, logits)

    def _update(self, gradients, rate, powers):  # noqa: ANN001, ANN202
        apply = self.tf.raw_ops
        for path, gradient in zip(self.trainable, gradients, strict=True):
            # Where a factor is 1 or 0 nothing is computed: other operations would be other bits.
            if times := decay(path, self.recipe):
                gradient += times * self.variables[path]
            factor = rate_factor(path, self.recipe)
            lr = rate if factor == 1 else rate * factor
            variable = self.variables[path].handle
            slots = [self.slots[slot][path].handle for slot in SLOTS[self.recipe["optimizer"]]]
            if self.recipe["optimizer"] == "adam":
                apply.ResourceApplyAdam(
                    var=variable,
                    m=slots[0],
                    v=slots[1],
                    lr=lr,
                    beta1_power=powers[0],
                    beta2_power=powers[1],
                    beta1=BETA_1,
                    beta2=BETA_2,
                    epsilon=EPSILON,
                    grad=gradient,
                )
            else:
                apply.ResourceApplyKerasMomentum(
                    var=variable, accum=slots[0], lr=lr, grad=gradient, momentum=self.recipe["momentum"]
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
        # The sums go on from part to part, so that they are rounded as in one.
        loss, correct = np.float32(0), np.int32(0)
        for images, labels, part in self._parts(plan):
            steps = self.step + 1 + np.arange(len(part.order))
            updates = steps - (int(self.loss_scale.left_out) if self.loss_scale else 0)
            rates = np.stack([part.rates, BETA_1**updates, BETA_2**updates], axis=1).astype(np.float32)
            loss, correct = self._run(images, labels, *part[:-1], steps.astype(np.uint32), rates, loss, correct)
            self.step += len(part.order)
        return EpochResult(float(loss) / len(plan.order), int(correct) / plan.order.size)

    def profile(self, plan: Plan) -> tuple[Kernel, ...]:
        """Train one epoch under TensorFlow's profiler."""
        from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

        tf, on_gpu = self.tf, self.tooling["accelerator"] == "gpu"
        # Its options (such as the level of detail on the host) are not passed: TensorFlow 2.21 ignores them.
        with tempfile.TemporaryDirectory() as folder:
            with tf.profiler.experimental.Profile(folder):
                self.epoch(plan)
            (trace,) = Path(folder).rglob("*.xplane.pb")
            space = XSpace.FromString(trace.read_bytes())
        found = xplane.gpu_kernels(space) if on_gpu else xplane.cpu_operators(space)
        if not found or xplane.lacks(space):
            reason = xplane.lacks(space) or "it saw no kernel"
            driver = "CUPTI and a driver that lets users profile (NVreg_RestrictProfilingToAdminUsers=0)"
            wanted = driver if on_gpu else "TensorFlow with its host tracer"
            raise BadInput(f"hardware {self.tooling['name']}", "profiler", reason, f"it needs {wanted}")
        return found

    def _parts(self, plan: Plan) -> Iterator[tuple[Any, Any, Plan]]:
        if self.train.streamed:
            for images, labels, part in streaming.parts(self.train, plan):
                yield self.tf.constant(_Pixels(images)), labels, part
        else:
            yield *self.held, plan

    def logits(self, split: Split) -> np.ndarray:
        """Logits of the network as it is, in batches of a fixed size."""
        return np.concatenate([np.asarray(self._forward(images)) for images in self._batches(split)])

    def _batches(self, split: Split) -> Iterator[Any]:
        starts = range(0, len(split.labels), EVALUATION_BATCH)
        return map(self.tf.constant, ahead(lambda start: split.middle(slice(start, start + EVALUATION_BATCH)), starts))

    def layers(self) -> dict[str, int]:
        """Every layer with weights of its own, in the order in which they compute, by what one blank image gives."""
        blank = self.tf.zeros((1, *self.shape))
        return {name: int(values.shape[1]) for name, values in self._watched(blank).items()}

    def activations(self, split: Split, layers: Sequence[str]) -> list[np.ndarray]:
        """What each of these layers gives of every image; what no layer among them needs is not computed."""
        layers = tuple(layers)
        if layers not in self._watching:
            self._watching[layers] = self._of_images(lambda images: list(map(self._watched(images).get, layers)))
        found: list[np.ndarray] = []
        start = 0
        for images in self._batches(split):
            some = self._watching[layers](images)
            # Filled batch by batch: to put batches together at the end would take twice the memory.
            found = found or [np.empty((len(split.labels), values.shape[1]), np.float32) for values in some]
            for whole, values in zip(found, some, strict=True):
                whole[start : start + len(values)] = values
            start += len(images)
        return found

    def _watched(self, images):  # noqa: ANN001, ANN202
        """What each layer with weights of its own gives, by name, as the network is called."""
        tf, watched, call = self.tf, {}, self.keras.Layer.__call__

        def watching(layer, *args, **options):  # noqa: ANN001, ANN002, ANN003, ANN202
            values = call(layer, *args, **options)
            if _has_own_weights(layer):
                times = sum(name.partition("#")[0] == layer.path for name in watched)
                given = [tf.reshape(one, (tf.shape(one)[0], -1)) for one in self.keras.tree.flatten(values)]
                watched[f"{layer.path}#{times + 1}" if times else layer.path] = tf.cast(tf.concat(given, 1), tf.float32)
            return values

        # A functional model, a sequential one and a class of one's own all call their layers, nested ones too.
        with mock.patch.object(self.keras.Layer, "__call__", watching):
            self.model(images, training=False)
        return watched

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


def _has_own_weights(layer: Any) -> bool:
    inside = {id(weight) for one in layer._flatten_layers(include_self=False) for weight in one.weights}
    return any(id(weight) not in inside for weight in layer.weights)


def _serialised(initializer: Any, path: str) -> tuple[str, dict[str, Any]]:
    if not hasattr(initializer, "get_config"):
        raise BadInput("model", path, f"initialiser {initializer}", "allowed: those of keras.initializers")
    return type(initializer).__name__, dict(initializer.get_config())


def _values(variables: dict[str, Any]) -> Weights:
    return {path: np.array(variable) for path, variable in variables.items()}
