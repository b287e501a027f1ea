"""Scans of a sequence in PyTorch, with the numbers and gradients of Keras's own.

Keras takes one position after another by an index, and the gradient of each is an array of the whole sequence, mostly
zeros: half of a step of `lstm`. Here the sequence is taken apart at once, and its gradient put together at once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any


def install(torch: Any, keras: Any) -> None:
    """Let Keras's backend scan sequences like this, from their start to their end."""
    core = keras.src.backend.torch.core
    if not isinstance(core.scan, partial):
        core.scan = partial(_scan, torch, keras, core.scan)


def _scan(  # noqa: ANN202
    torch: Any,
    keras: Any,
    theirs: Callable,
    function: Callable,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
):
    if xs is None or length is not None or reverse:
        return theirs(function, init, xs, length, reverse, unroll)
    tree, tensor, made = keras.tree, keras.ops.convert_to_tensor, []
    carried = tree.map_structure(tensor, init)
    nothing = [torch.zeros_like(start) for start in tree.flatten(carried)]
    for each in zip(*(tensor(values).unbind() for values in tree.flatten(xs)), strict=True):
        carried, result = function(carried, tree.pack_sequence_as(xs, each))
        made.append(nothing if result is None else result)
    return carried, tree.map_structure(lambda *results: torch.stack(results), *made)
