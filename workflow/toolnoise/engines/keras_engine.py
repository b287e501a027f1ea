"""The parts that the engines share, since Keras builds the network for each of them: all but the training step itself.

A subclass holds tensors, compiles functions and trains the steps of a plan. Tensors have the paths that Keras gives
them, which are the same on every framework.
"""

import abc
import itertools
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.datasets import streaming
from toolnoise.datasets.prefetch import map_ahead
from toolnoise.datasets.prepared import Split
from toolnoise.engines import EpochResult, State, Weights, formulas
from toolnoise.engines.formulas import BETA_1, BETA_2, smoothed_targets
from toolnoise.engines.framework import Framework
from toolnoise.epoch_plan import Plan
from toolnoise.formulas.outcomes import OUTCOMES, unit_scores
from toolnoise.models.initial import Parameter

SLOTS = {"adam": ("m", "v"), "sgd": ("momentum",)}
LOSS_SCALE = "loss_scale"
EVALUATION_BATCH = 512


class Chunk(NamedTuple):
    """Steps to train: the part's images and labels on the device, and its plan.

    `steps` [T] numbers the steps since training began; `rates` [T, 3] has their learning rates and Adam's powers.
    """

    images: Any
    labels: Any
    plan: Plan
    steps: np.ndarray
    rates: np.ndarray


class Sums(NamedTuple):
    """Sums over the steps of an epoch so far: the losses, and the number of correct predictions."""

    loss: np.float32
    correct: np.int32


class KerasEngine(Framework):
    """Trains one Keras model in this process; its methods are all that training needs of a framework."""

    # Whether the framework trains the model's variables themselves.
    trains_variables = True

    def build(
        self, builder: Callable[..., Any], options: dict[str, Any], shape: tuple[int, ...], classes: int
    ) -> tuple[Parameter, ...]:
        """Build the network, whose own initial values are never used; return its tensors in the order of its layers."""
        from toolnoise.models.dropout import Dropout

        self.slots, self.step, self.shape, self.loss_scaled = {}, 0, shape, False
        # In a stateless scope Keras initialises weights at the end: until then each has its initialiser.
        with self.keras.StatelessScope(initialize_variables=self.trains_variables):
            self.model = builder(shape, classes, **options)
            initializers = {variable.path: variable._initializer for variable in self.model.weights}
            # Their draws are never used, and drawing takes as long as everything else here.
            for variable in self.model.weights:
                variable._initializer = self.keras.initializers.Zeros()
        # In half precision, logits with a very small difference would tie, and the lower class would win.
        for layer in reversed(self.model.layers):
            layer.dtype_policy = "float32"
            if layer.weights:
                break
        for layer in self.model._flatten_layers():
            if hasattr(layer, "seed_generator"):
                problem = f"{type(layer).__name__} draws random numbers of its own"
                raise BadInput("model", layer.name, problem, "for dropout: toolnoise.models.dropout.Dropout")
        self.tensors = {variable.path: self._tensor(variable) for variable in self.model.weights}
        self._outputs = self._network()
        self.dropouts = [layer for layer in self.model._flatten_layers() if isinstance(layer, Dropout)]
        self.trainable = [variable.path for variable in self.model.trainable_variables]
        self._forward = self.compiled_for_images(lambda images: self._logits(images, training=False))
        return tuple(
            Parameter(
                variable.path,
                tuple(variable.shape),
                variable.path in self.trainable,
                *_serialised(initializers[variable.path], variable.path),
            )
            for variable in self.model.weights
        )

    def _network(self) -> Callable[[Any, bool], Any]:
        """The network as a function of images, and of whether it trains."""
        return lambda images, training: self.model(images, training=training)

    def _tensor(self, variable: Any) -> Any:
        """The object that holds a variable's values in training."""
        return variable.value

    @abc.abstractmethod
    def compiled_for_images(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Compile a function of images, in which the model is called, for batches of any size."""

    def compile(self, recipe: dict[str, Any], train: Split) -> None:
        """Compile the training, and put the training set on the device unless it is streamed."""
        self.recipe, self.train, self.outcome = recipe, train, OUTCOMES[train.outcome]
        side = min(train.shape[:2])
        if recipe["crop"] > side:
            allowed = f"at most the {side} pixels of an image's side"
            raise BadInput(f"recipe {recipe['name']}", "crop", f"found {recipe['crop']}", allowed)
        self.around = train.around(recipe)
        self.held = None if train.streamed else self._on_device(train.images, train.targets)
        names = SLOTS[recipe["optimizer"]]
        self.slots = {slot: {path: self._zeros(self.tensors[path]) for path in self.trainable} for slot in names}
        self.loss_scaled = self.tooling["precision"] == "mixed_float16"
        if self.loss_scaled:
            self.slots[LOSS_SCALE] = {name: self._zeros(np.int32(0)) for name in formulas.COUNTS}
        self._compile()

    @abc.abstractmethod
    def _on_device(self, images: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
        """Images and labels as training reads them."""

    @abc.abstractmethod
    def _zeros(self, like: Any) -> Any:
        """A trainable-state tensor of zeros, with the shape and type of another tensor or of an array."""

    @abc.abstractmethod
    def _compile(self) -> None:
        """Compile everything that training and evaluating need."""

    def restore(self, state: State) -> None:
        """Take weights, slots and step; if the state has no slots, all are zero."""
        for path, tensor in self.tensors.items():
            self.tensors[path] = self._set(tensor, state.weights[path])
        for slot, tensors in self.slots.items():
            values = state.slots[slot] if state.slots else None
            for path, tensor in tensors.items():
                tensors[path] = self._set(tensor, values[path] if values else np.zeros(tuple(tensor.shape)))
        self.step = state.step

    @abc.abstractmethod
    def _set(self, tensor: Any, values: np.ndarray) -> Any:
        """Return the holder of these values, in the tensor's type: the tensor itself, or a new one."""

    def epoch(self, plan: Plan, at: Collection[int] = (), then: Callable[[], None] = lambda: None) -> EpochResult:
        """Train one epoch: in one compiled call, or in one for each part of streamed data.

        After each number of steps in `at`, the engine has the state after that step and calls `then`, which must not
        change it. The epoch ends with the same bits as without these calls. Adam's powers are computed here, so the
        device keeps no step count.
        """
        # The sums continue from part to part, so they round as if there were one part.
        sums, before = Sums(np.float32(0), np.int32(0)), self.step
        for images, labels, part in itertools.chain.from_iterable(self._cut(part, at) for part in plan.parts()):
            steps = self.step + 1 + np.arange(len(part.order))
            updates = steps - self._left_out_so_far()
            rates = np.stack([part.rates, BETA_1**updates, BETA_2**updates], axis=1).astype(np.float32)
            sums = self._train(Chunk(images, labels, part, steps.astype(np.uint32), rates), sums)
            self.step += len(part.order)
            if self.step - before in at:
                then()
        steps = sum(len(part.order) for part in plan.parts())
        units = sum(part.order.size for part in plan.parts()) * self.train.units
        return EpochResult(float(sums.loss) / steps, int(sums.correct) / units)

    def _left_out_so_far(self) -> int:
        """The number of steps that overflowed and were left out."""
        return int(self.slots[LOSS_SCALE][formulas.LEFT_OUT]) if self.loss_scaled else 0

    @abc.abstractmethod
    def _train(self, part: Chunk, sums: Sums) -> Sums:
        """Train the steps of a part; return the sums with these steps added."""

    def _parts(self, plan: Plan) -> Iterator[tuple[Any, Any, Plan]]:
        if self.held:
            yield *self.held, plan
        else:
            for images, labels, part in streaming.parts_of_epoch(self.train, plan):
                yield *self._on_device(images, labels), part

    def _cut(self, plan: Plan, at: Collection[int]) -> Iterator[tuple[Any, Any, Plan]]:
        """The parts of an epoch, cut after these numbers of its steps, too."""
        done = 0
        for images, labels, part in self._parts(plan):
            steps = len(part.order)
            cuts = [0, *(number - done for number in sorted(at) if 0 < number - done < steps), steps]
            for start, stop in itertools.pairwise(cuts):
                yield images, labels, part.steps(start, stop)
            done += steps

    def _logits(self, images: Any, training: bool) -> Any:
        return self.keras.ops.cast(self._outputs(images, training), "float32")

    def _augmented(self, pixels: Any, indices: Any, offsets: Any, flips: Any) -> Any:
        """A batch, cropped and mirrored: pixels are moved and never computed, so all engines give the same bits."""
        # Without crops and mirrored images, the code below would leave every pixel where it is.
        if not self.outcome.augmentable or self._stays(pixels):
            return self._gathered(pixels, indices)
        ops, pad = self.keras.ops, self.recipe["crop"]
        height, width, channels = self.train.shape
        padded = ops.pad(self._gathered(pixels, indices), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        if self.around is not None:
            padded = padded + ops.convert_to_tensor(self.around)
        from_height, from_width = padded.shape[1:3]
        rows = ops.arange(ops.shape(indices)[0])[:, None] * from_height + offsets[:, :1] + ops.arange(height)
        columns = ops.where(flips[:, None], ops.arange(width - 1, -1, -1), ops.arange(width)) + offsets[:, 1:]
        places = rows[:, :, None] * from_width + columns[:, None, :]
        return self._gathered(ops.reshape(padded, (-1, channels)), places)

    def _stays(self, pixels: Any) -> bool:
        """Whether training sees every image as it is stored."""
        moves = self.recipe["crop"] or self.recipe["flip"]
        return not moves and tuple(pixels.shape[1:]) == tuple(self.train.shape)

    def _gathered(self, array: Any, places: Any) -> Any:
        """The entries at these indices of the first axis; all of them exist."""
        return array[places]

    def logits(self, split: Split) -> np.ndarray:
        """The scores of every unit, [U, C], on the middle of every image, float32, in batches of a fixed size."""
        return np.concatenate([scores for _, scores in self.scores(split)])

    def scores(self, split: Split) -> Iterator[tuple[slice, np.ndarray]]:
        """The places of units and their scores, by batch: all scores of a large vocabulary do not fit into memory."""
        start = 0
        for images in self.batches(split):
            scores = unit_scores(split.outcome, self.values_of(self._forward(images)))[: len(split.labels) - start]
            yield slice(start, start + len(scores)), scores
            start += len(scores)

    def _answers(self, logits: Any, highest: Callable[..., Any]) -> Any:
        """The class of each unit: the one with the highest score; with many labels, 1 if yes is likelier than no."""
        return highest(logits, -1) if self.outcome.scores_each_class else self.keras.ops.cast(logits > 0, "int32")

    def _losses_of_odds(self, labels: Any, odds: Any) -> Any:
        """The cross-entropy of each of many labels, from the log-odds of yes, in a form that never overflows."""
        ops, (yes, no) = self.keras.ops, smoothed_targets(self.recipe["label_smoothing"], 2)
        targets = ops.where(labels > 0, np.float32(yes), np.float32(no))
        return ops.relu(odds) - odds * targets + ops.log1p(ops.exp(-ops.abs(odds)))

    def blank_inputs(self, shape: tuple[int, ...]) -> np.ndarray:
        """One input of zeros: tokens, which have one axis, are integers."""
        return np.zeros((1, *shape), np.int32 if len(self.shape) == 1 else np.float32)

    def _at_once(self, split: Split) -> int:
        """The batch size of evaluation: smaller if each example has many units, whose scores need memory."""
        return max(1, EVALUATION_BATCH // split.units)

    def batches(self, split: Split) -> Iterator[np.ndarray]:
        """The middles of all images in batches; other images may fill the last batch."""

        def read(start: int) -> np.ndarray:
            return split.middle(slice(start, start + at_once))

        at_once = self._at_once(split)
        starts = range(0, len(split), at_once)
        # With one batch there is nothing to read ahead, and a thread takes as long as the logits of small images.
        return map_ahead(read, starts) if len(starts) > 1 else map(read, starts)

    def weights(self) -> Weights:
        """A copy of every tensor, in the order of the layers."""
        return {path: self.values_of(tensor) for path, tensor in self.tensors.items()}

    def state(self) -> State:
        """A copy of weights, slots and step."""
        slots = {
            slot: {path: self.values_of(tensor) for path, tensor in tensors.items()}
            for slot, tensors in self.slots.items()
        }
        return State(self.weights(), slots, self.step)

    def values_of(self, tensor: Any) -> np.ndarray:
        """A copy of a tensor's values."""
        return np.array(tensor)


def _serialised(initializer: Any, path: str) -> tuple[str, dict[str, Any]]:
    if not hasattr(initializer, "get_config"):
        raise BadInput("model", path, f"initialiser {initializer}", "allowed: those of keras.initializers")
    return type(initializer).__name__, dict(initializer.get_config())
