"""A language model of transformer blocks (Vaswani et al., 2017), normalised first as in GPT-2 (Radford et al., 2019).

Embeddings of tokens and of positions, both learnt; blocks; layer normalisation; and a dense layer to one score for each
token that may come next. A block adds attention(norm(x)) to x, then mlp(norm(x)). The MLP is four times as wide, with
GELU. A position attends to itself and those before it. Dropout acts on the embeddings and on what a block adds.
Keras's own MultiHeadAttention is not used, because it contains a random number generator.

With a `rank`, only adapters are trained (LoRA: Hu et al., 2021): to each dense layer of a block, two without bias are
added, down to `rank` units and up again. The second starts at zero, so at first the adapters change nothing.
"""

import math
from typing import Any

import keras
from keras import layers as kl
from keras import ops

from toolnoise.models.dropout import Dropout


class Positions(kl.Layer):
    """Add a learnt vector to each position."""

    def build(self, shape: tuple[int | None, ...]) -> None:
        """Make the vectors, initially uniform like the embeddings of tokens."""
        self.vectors = self.add_weight(shape[1:], initializer="uniform", name="vectors")

    def call(self, values: Any) -> Any:
        """Add the vectors."""
        return values + self.vectors


class Attention(kl.Layer):
    """Causal attention with several heads and no weights; queries, keys and values are given side by side."""

    def __init__(self, heads: int, **options: Any) -> None:
        super().__init__(**options)
        self.heads = heads

    def call(self, values: Any) -> Any:
        """Give softmax(Q K^T / sqrt(d)) V of every head, side by side; the softmax is over positions up to its own."""
        length, width = values.shape[1], values.shape[2] // 3
        split = ops.reshape(values, (-1, length, 3, self.heads, width // self.heads))
        queries, keys, given = ops.unstack(ops.transpose(split, (2, 0, 3, 1, 4)), 3)
        scores = ops.matmul(queries, ops.transpose(keys, (0, 1, 3, 2))) / math.sqrt(width // self.heads)
        # The shares are computed in float32 in every precision. The shares of hidden positions are exactly 0.
        seen = ops.arange(length)[:, None] >= ops.arange(length)
        shares = ops.softmax(ops.where(seen, ops.cast(scores, "float32"), -1e9))
        mixed = ops.matmul(ops.cast(shares, self.compute_dtype), given)
        return ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, length, width))


def build(
    input_shape: tuple[int],
    classes: int,
    width: int = 64,
    heads: int = 4,
    layers: int = 2,
    dropout: float = 0.0,
    rank: int = 0,
) -> keras.Model:
    """Build the network for tokens 0 to classes - 1; it gives logits at every position."""
    trained = {"trainable": rank == 0}

    def dropped(values: keras.KerasTensor, name: str) -> keras.KerasTensor:
        return Dropout(dropout, name=f"{name}_dropout")(values) if dropout else values

    def normalised(values: keras.KerasTensor, name: str) -> keras.KerasTensor:
        return kl.LayerNormalization(epsilon=1e-5, name=f"{name}_norm", **trained)(values)

    def dense(values: keras.KerasTensor, units: int, name: str, activation: str | None = None) -> keras.KerasTensor:
        if not rank:
            return kl.Dense(units, activation=activation, name=name)(values)
        given = kl.Dense(units, name=name, **trained)(values)
        down = kl.Dense(rank, use_bias=False, name=f"{name}_down")(values)
        up = kl.Dense(units, use_bias=False, kernel_initializer="zeros", name=f"{name}_up")(down)
        adapted = kl.Add(name=f"{name}_adapted")([given, up])
        return kl.Activation(activation, name=f"{name}_activation")(adapted) if activation else adapted

    tokens = keras.Input(input_shape, dtype="int32", name="tokens")
    values = kl.Embedding(classes, width, name="embedding", **trained)(tokens)
    values = Positions(name="positions", **trained)(values)
    values = dropped(values, "embedding")
    for block in (f"block{number}" for number in range(1, layers + 1)):
        mixed = dense(normalised(values, f"{block}_attention"), 3 * width, f"{block}_heads")
        mixed = dense(Attention(heads, name=f"{block}_attention")(mixed), width, f"{block}_mixed")
        values = kl.Add(name=f"{block}_attended")([values, dropped(mixed, f"{block}_attention")])
        wide = dense(normalised(values, f"{block}_mlp"), 4 * width, f"{block}_wide", "gelu")
        narrow = dense(wide, width, f"{block}_narrow")
        values = kl.Add(name=f"{block}_added")([values, dropped(narrow, f"{block}_mlp")])
    return keras.Model(tokens, kl.Dense(classes, name="logits", **trained)(normalised(values, "last")))
