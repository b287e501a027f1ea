"""The content of an epoch, decided before the engine sees it: order, augmentation and learning rates as arrays.

A plan depends only on the spec and the number of the epoch.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from toolnoise import streams
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import replicate_of
from toolnoise.base.spec import Spec

# The value of `last_batch` in a recipe that fills the batch with the first examples of the next pass over the data.
REPEATED = "repeated"


class Plan(NamedTuple):
    """One epoch of T steps of B examples.

    `order` [T, B] has indices into the training set; where the data may vary, some occur several times. `offsets` [T,
    B, 2] has the row and column at which the window of each zero-padded image begins. `flips` [T, B] marks the images
    that are mirrored. `slots` [T, B] has the place in the batch that each example was planned for (whatever its actual
    place). `dropout` has the key words of the run's masks. `rates` [T] has the learning rate of each step. `rest` is
    the incomplete last batch, one step, if it is kept. `boxes` [T, B, 4] has top, left, height and width of the visible
    part of each original; a part of negative width is mirrored before it is resized, and `flips` marks nothing.
    """

    order: np.ndarray
    offsets: np.ndarray
    flips: np.ndarray
    slots: np.ndarray
    dropout: np.ndarray
    rates: np.ndarray
    rest: "Plan | None" = None
    boxes: np.ndarray | None = None

    def parts(self) -> tuple["Plan", ...]:
        """The plan of the steps with whole batches, and that of the incomplete last batch."""
        return (self, self.rest) if self.rest else (self,)

    def steps(self, start: int, stop: int) -> "Plan":
        """The plan of the steps from `start` to before `stop`."""
        boxes = () if self.boxes is None else ("boxes",)
        names = ("order", "offsets", "flips", "slots", "rates", *boxes)
        return self._replace(**{name: getattr(self, name)[start:stop] for name in names}, rest=None)

    def digest(self) -> str:
        """SHA-256 of all drawn parts of the plan."""
        arrays = [array for part in self.parts() for array in (*part[:5], part.boxes) if array is not None]
        return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in arrays)).hexdigest()


def count_cycles(recipe: Mapping[str, Any]) -> int:
    """The number of cosine cycles; one in a recipe that is older than this setting."""
    return recipe.get("cycles", 1)


def cycle_length(recipe: Mapping[str, Any]) -> int:
    """The number of epochs of a cycle."""
    return recipe["epochs"] // count_cycles(recipe)


def steps_per_epoch(recipe: dict[str, Any], examples: int) -> int:
    """Batches in an epoch. An incomplete one is dropped (other examples in each epoch) unless it is kept or filled."""
    if recipe["batch_size"] > examples:
        allowed = f"at most the {examples} training examples"
        raise BadInput(f"recipe {recipe['name']}", "batch_size", f"found {recipe['batch_size']}", allowed)
    whole, rest = divmod(examples, recipe["batch_size"])
    return whole + ("last_batch" in recipe and rest > 0)


def plan_epoch(spec: Spec, examples: int, epoch: int, margin: int = 0, draw: Any = None) -> Plan:
    """The plan of epoch `epoch` (from 0) on a training set of `examples` examples.

    The images are higher and wider by `margin` than the window that the network sees. `draw` draws the boxes of
    originals from the recipe's distribution, with a stream for each attempt.
    """
    recipe = spec.recipe
    steps, batch = steps_per_epoch(recipe, examples), recipe["batch_size"]

    def stream(source: str, *what: str | int) -> int:
        return streams.stream_key(spec.study_seed, source, replicate_of(source, spec), *what)

    def drawn(number: int) -> tuple[np.ndarray, ...]:
        """The order of a pass over the data, and the offsets, the flip and the box of each example in it."""
        order = trained_on(spec, examples)[streams.permutation(stream("shuffle", number), examples)]
        # Augmentation is drawn per example, not per place in the order: shuffling alone changes no picture.
        offsets = streams.integers(stream("augment", number, "crop"), (examples, 2), margin + 2 * recipe["crop"] + 1)
        flips = streams.integers(stream("augment", number, "flip"), (examples,), 2).astype(bool) & recipe["flip"]
        if "resized_crop" not in recipe:
            return order, offsets[order], flips[order]
        if draw is None:
            problem = "found it, and the data set has no originals"
            raise BadInput(f"recipe {recipe['name']}", "resized_crop", problem, "stored_size: original")
        boxes = draw(recipe["resized_crop"], lambda attempt: stream("augment", number, "box", attempt))
        boxes[flips, 3] *= -1
        return order, offsets[order], np.zeros_like(flips), boxes[order]

    rates = learning_rates(recipe, steps, epoch)

    def planned(seen: list[np.ndarray], rates: np.ndarray, *what: str) -> Plan:
        """The plan of steps, from their orders, offsets, flips and boxes, each [T, B, ...]."""
        slots = np.tile(np.arange(seen[0].shape[1]), (len(seen[0]), 1))
        if spec.varies("impl") and spec.hardware.impl_noise == "reduction-order":
            # The same examples in another order: the same gradient on paper, but its sum is rounded differently.
            keys = streams.raw_integers(stream("impl", epoch, *what), slots.size).reshape(slots.shape)
            slots = np.argsort(keys, axis=1, kind="stable")
            seen = [part[np.arange(len(slots))[:, np.newaxis], slots] for part in seen]
        order, offsets, flips, *boxes = seen
        dropout = streams.key_as_words(stream("dropout"))
        return Plan(order, offsets, flips, slots.astype(np.uint32), dropout, rates, boxes=boxes[0] if boxes else None)

    if recipe.get("last_batch") == REPEATED:
        # Pass after pass without a gap, cut into epochs of whole batches.
        first, skipped = divmod(epoch * steps * batch, examples)
        passes = [drawn(number) for number in range(first, first + 1 + (skipped + steps * batch - 1) // examples)]
        seen = [np.concatenate(parts)[skipped : skipped + steps * batch] for parts in zip(*passes, strict=True)]
    else:
        seen = list(drawn(epoch))
    whole = len(seen[0]) // batch
    plan = planned([part[: whole * batch].reshape(whole, batch, *part.shape[1:]) for part in seen], rates[:whole])
    if steps == whole:
        return plan
    return plan._replace(rest=planned([part[np.newaxis, whole * batch :] for part in seen], rates[whole:], "rest"))


def trained_on(spec: Spec, examples: int) -> np.ndarray:
    """The examples that a run is trained on, int32: all of them, or a bootstrap sample if the data may vary.

    The sample is as large as the set, drawn with replacement once for the whole training.
    """
    if not spec.varies("data"):
        return np.arange(examples, dtype=np.int32)
    stream = streams.stream_key(spec.study_seed, "data", replicate_of("data", spec), "bootstrap")
    return streams.integers(stream, (examples,), examples)


def learning_rates(recipe: dict[str, Any], steps: int, epoch: int) -> np.ndarray:
    """The rate of each step of an epoch, float32."""
    # Progress in epochs since the start of the cycle.
    progress = epoch % cycle_length(recipe) + np.arange(steps) / steps
    rates = np.full(steps, recipe["learning_rate"], np.float64)
    if recipe["schedule"] == "step":
        at = recipe["step_epochs"]
        rates *= recipe["step_factor"] ** (epoch // at if isinstance(at, int) else sum(epoch >= step for step in at))
    elif recipe["schedule"] == "cosine":
        rates *= 0.5 * (1 + np.cos(np.pi * progress / cycle_length(recipe)))
    if "warmup" in recipe and recipe["warmup_epochs"]:
        rises = progress <= recipe["warmup_epochs"]
        rates[rises] = recipe["learning_rate"] * progress[rises] / recipe["warmup_epochs"]
    elif progress[0] < recipe["warmup_epochs"]:
        rates *= np.minimum(1, (progress + 1 / steps) / recipe["warmup_epochs"])
    return rates.astype(np.float32)
