"""A language model of LSTM layers (Hochreiter and Schmidhuber, 1997; forget gate: Gers et al., 2000).

Embedding, LSTM layers, (dropout,) and a dense layer to one score for each token that may come next. With a_t = x_t W +
h_(t-1) U + b in four parts, h_0 = c_0 = 0:

    i = sigmoid(a_i), f = sigmoid(a_f + 1), g = tanh(a_g), o = sigmoid(a_o); c_t = f c_(t-1) + i g; h_t = o tanh(c_t)

The 1 lets a new network remember (Jozefowicz et al., 2015). Keras's own LSTM contains a random number generator.
"""

from typing import Any

import keras
from keras import ops

from toolnoise.models.dropout import Dropout


class LSTM(keras.layers.Layer):
    """One layer: [batch, length, features] to [batch, length, units]."""

    def __init__(self, units: int, **options: Any) -> None:
        super().__init__(**options)
        self.units = units

    def build(self, shape: tuple[int | None, ...]) -> None:
        """Make the weights of all four parts, side by side in the order i, f, g, o."""
        self.kernel = self.add_weight((shape[-1], 4 * self.units), initializer="glorot_uniform", name="kernel")
        self.recurrent = self.add_weight((self.units, 4 * self.units), initializer="glorot_uniform", name="recurrent")
        self.bias = self.add_weight((4 * self.units,), initializer="zeros", name="bias")

    def call(self, values: Any) -> Any:
        """Compute every h_t."""
        of_inputs = ops.transpose(ops.matmul(values, self.kernel) + self.bias, (1, 0, 2))

        def step(state: tuple[Any, Any], of_input: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
            hidden, cell = state
            i, f, g, o = ops.split(of_input + ops.matmul(hidden, self.recurrent), 4, axis=-1)
            cell = ops.sigmoid(f + 1) * cell + ops.sigmoid(i) * ops.tanh(g)
            state = ops.sigmoid(o) * ops.tanh(cell), cell
            # The outputs of the scan must have the form of its state in TensorFlow.
            return state, state

        nothing = ops.zeros_like(of_inputs[0, :, : self.units])
        # A loop, because unrolled, 64 positions take XLA 25 times as long to compile, and a step five times as long.
        _, (hidden, _) = ops.scan(step, (nothing, nothing), of_inputs)
        return ops.transpose(hidden, (1, 0, 2))

    def compute_output_shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Give the shape, so that Keras does not trace the loop."""
        return (*shape[:-1], self.units)


def build(
    input_shape: tuple[int], classes: int, units: int = 128, layers: int = 1, embedding: int = 64, dropout: float = 0.0
) -> keras.Model:
    """Build the network for tokens 0 to classes - 1; it gives logits at every position."""
    tokens = keras.Input(input_shape, dtype="int32", name="tokens")
    values = keras.layers.Embedding(classes, embedding, name="embedding")(tokens)
    for number in range(1, layers + 1):
        values = LSTM(units, name=f"lstm{number}")(values)
    if dropout:
        values = Dropout(dropout, name="dropout")(values)
    return keras.Model(tokens, keras.layers.Dense(classes, name="logits")(values))
