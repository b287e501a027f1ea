"""A language model of quasi-recurrent layers (Bradbury et al., 2017, "Quasi-Recurrent Neural Networks").

Embedding, quasi-recurrent layers, (dropout,) and a dense layer to one score for each token that may come next. A layer
is a masked convolution Z, F, O = tanh(W_z * X), sigmoid(W_f * X), sigmoid(W_o * X), each with a bias, that sees a
position and the `window` - 1 before it; and fo-pooling, c_t = f_t c_(t-1) + (1 - f_t) z_t, h_t = o_t c_t, c_0 = 0.

Sizes of `--model QRNN` on the Penn Treebank, from salesforce/awd-lstm-lm at 1d466ec (README.md:97, defaults of main.py,
model.py:29): `embedding: 400, units: [1550, 1550, 1550, 400], windows: [2, 1, 1, 1], dropout: 0.4`, 70 positions
(varied), batch 20, 550 epochs. There the last dense layer shares the embedding's matrix, the embeddings, hidden layers
and weights have their own dropout (0.4, 0.3, 0.1), the state is kept between batches, and f is 1 - f of the paper. The
paper's network: two layers of 640 units, 105 positions, batch 20 (salesforce/pytorch-qrnn at 1634991, README.md:99).
The released code of Summers and Dinneen has no language model.
"""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from toolnoise.models.dropout import Dropout


class Window(keras.layers.Layer):
    """Join the features of each position and of the positions before it; zeros stand before the first."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.width = width

    def call(self, values: Any) -> Any:
        """Give [batch, length, width x features], the position's own features first."""
        length, padded = values.shape[1], ops.pad(values, ((0, 0), (self.width - 1, 0), (0, 0)))
        starts = range(self.width - 1, -1, -1)
        return ops.concatenate([padded[:, start : start + length] for start in starts], axis=-1)


class Pooling(keras.layers.Layer):
    """The fo-pooling of Z, F and O, given side by side and before tanh and sigmoid."""

    def call(self, values: Any) -> Any:
        """Compute every h_t."""
        z, f, o = ops.split(ops.transpose(values, (1, 0, 2)), 3, axis=-1)
        forget = ops.sigmoid(f)

        def step(cell: Any, given: tuple[Any, Any]) -> tuple[Any, Any]:
            kept, added = given
            cell = kept * cell + added
            return cell, cell

        _, cells = ops.scan(step, ops.zeros_like(z[0]), (forget, (1 - forget) * ops.tanh(z)))
        return ops.transpose(ops.sigmoid(o) * cells, (1, 0, 2))

    def compute_output_shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Give the shape, so that Keras does not trace the loop."""
        return (*shape[:-1], shape[-1] // 3)


def build(
    input_shape: tuple[int],
    classes: int,
    units: Sequence[int] = (128, 128),
    windows: Sequence[int] = (2, 1),
    embedding: int = 64,
    dropout: float = 0.0,
) -> keras.Model:
    """Build the network for tokens 0 to classes - 1, a layer for each of `units`; logits at every position."""
    tokens = keras.Input(input_shape, dtype="int32", name="tokens")
    values = keras.layers.Embedding(classes, embedding, name="embedding")(tokens)
    for number, (size, width) in enumerate(zip(units, windows, strict=True), 1):
        values = Window(width, name=f"window{number}")(values)
        values = Pooling(name=f"pooling{number}")(keras.layers.Dense(3 * size, name=f"convolution{number}")(values))
    if dropout:
        values = Dropout(dropout, name="dropout")(values)
    return keras.Model(tokens, keras.layers.Dense(classes, name="logits")(values))
