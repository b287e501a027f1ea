"""Dropout whose masks follow from the streams.

The mask is a hash of the run's dropout key, the step, the layer's number, and the element's place in the planned batch.
An engine passes these to each layer through `plan` before it calls the model in training. So if the examples within a
batch are reordered, their masks move with them.
"""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from toolnoise import streams


class Dropout(keras.layers.Layer):
    """Zero a share of the elements in training and scale up the others.

    `whole` drops or keeps each example as a whole: stochastic depth, if the layer ends a branch.
    """

    def __init__(self, rate: float, whole: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.rate, self.whole = rate, whole

    def plan(self, key_words: Any, step: Any, number: int, slots: Any) -> None:
        """Set the inputs of the next call's mask: uint32 tensors of the engine, and the layer's number in the model."""
        self.drawn_from = (key_words, step, number, slots)

    def call(self, values: Any, training: bool = False) -> Any:
        """Apply dropout in training."""
        if not training or self.rate == 0:
            return values
        key_words, step, number, slots = self.drawn_from
        shape = tuple(1 if self.whole else length for length in values.shape[1:])
        size = math.prod(shape)
        inside = ops.reshape(ops.cast(ops.arange(size, dtype="int32"), "uint32"), (1, *shape))
        elements = streams.low_word(ops, ops.reshape(slots, (-1, *(1 for _ in shape))) * size + inside)
        keep = streams.keep_mask(ops, key_words, (step, np.uint32(number), elements), self.rate)
        # Multiply, because only some compilers turn a division by a constant into a multiplication.
        return ops.where(keep, values * (1 / (1 - self.rate)), ops.zeros_like(values))
