"""Loss scaling for float16, whose smallest number is too large for many gradients.

The loss is multiplied by a power of two before gradients are taken and these are divided by it again, so that no bit
is lost. It is found as Keras's LossScaleOptimizer finds it, which Keras puts around every optimiser under
mixed_float16: from 2^15, halved by a step whose gradients overflow, which is left out, and doubled after 2,000 steps in
a row that were not. All of it is counted in integers, which are 0 at the start, and belongs to the state of training.
"""

from collections.abc import Callable, Sequence
from typing import Any

INITIAL_EXPONENT = 15
STEPS_TO_GROW = 2000
# So that the factor and its inverse are always normal numbers.
EXPONENTS = (-126, 126)


class LossScale:
    """The factor of one training; its variables live on TensorFlow's device."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.variables = {name: tf.Variable(0, dtype=tf.int32) for name in ("doublings", "steps_in_a_row", "left_out")}

    @property
    def left_out(self) -> Any:
        """How many steps were left out since training began."""
        return self.variables["left_out"]

    def factor(self, sign: int = 1) -> Any:
        """The factor, or with sign -1 what undoes it, built from its exponent: exact on every device."""
        exponent = sign * (self.variables["doublings"] + INITIAL_EXPONENT)
        return self.tf.bitcast(self.tf.bitwise.left_shift(exponent + 127, 23), self.tf.float32)

    def step(self, gradients: Sequence[Any], apply: Callable[[list[Any]], None]) -> None:
        """Call `apply` with the gradients at their true size, or leave the step out if one of them overflowed."""
        tf = self.tf
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients])

        def take() -> None:
            undo = self.factor(-1)
            apply([gradient * undo for gradient in gradients])
            grown = self.variables["steps_in_a_row"] + 1 == STEPS_TO_GROW
            self._multiply(tf.cast(grown, tf.int32))
            self.variables["steps_in_a_row"].assign(tf.where(grown, 0, self.variables["steps_in_a_row"] + 1))

        def leave_out() -> None:
            self._multiply(-1)
            self.variables["steps_in_a_row"].assign(0)
            self.variables["left_out"].assign_add(1)

        tf.cond(finite, take, leave_out)

    def _multiply(self, doublings: Any) -> None:
        low, high = (exponent - INITIAL_EXPONENT for exponent in EXPONENTS)
        self.variables["doublings"].assign(self.tf.clip_by_value(self.variables["doublings"] + doublings, low, high))
