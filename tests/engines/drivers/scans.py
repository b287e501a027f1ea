"""Scans in PyTorch, ours and Keras's: whether results and gradients are the same bits."""

from types import SimpleNamespace

import keras
import torch

from toolnoise.engines import torch_scan

LENGTH, EXAMPLES, UNITS = 7, 3, 4


def scans():
    """Of each way to scan whether the bits are Keras's, and whether ours was called."""
    core = keras.src.backend.torch.core
    theirs = core.scan
    taken_apart = []

    def stack(tensors):
        taken_apart.append(len(tensors))
        return torch.stack(tensors)

    # PyTorch, but for counting what is taken apart at once.
    counted = SimpleNamespace(zeros_like=torch.zeros_like, stack=stack)
    torch_scan.install(counted, keras)
    torch_scan.install(counted, keras)
    said = {}
    for name, way in WAYS.items():
        before = len(taken_apart)
        said[name] = [found(theirs, way) == found(keras.ops.scan, way), len(taken_apart) > before]
    return said


def found(scan, way):
    """The bytes of what a scan gives, and of its gradients."""
    torch.manual_seed(1)
    shape = (LENGTH, EXAMPLES, UNITS)
    tensors = [torch.randn(size, requires_grad=True) for size in (shape, shape, (UNITS, UNITS), shape[1:])]
    given = keras.tree.flatten(way(scan, *tensors))
    sum((each * each).sum() for each in given).backward()
    gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
    return [each.detach().numpy().tobytes() for each in (*given, *gradients)]


def _one(scan, inputs, _, weights, start, **more):
    return scan(lambda state, given: (torch.tanh(state @ weights + given),) * 2, start, inputs, **more)


def _several(scan, inputs, others, weights, start):
    def step(state, given):
        hidden, total = state
        return (torch.tanh(hidden @ weights + given[0]), total + given[1]), (hidden * given[1], total)

    return scan(step, (start, torch.zeros_like(start)), (inputs, others))


def _nothing_made(scan, inputs, _, weights, start):
    return scan(lambda state, given: (torch.tanh(state @ weights + given), None), start, inputs)


WAYS = {
    "one": _one,
    "several": _several,
    "nothing made": _nothing_made,
    "back": lambda *given: _one(*given, reverse=True),
    "some": lambda *given: _one(*given, length=LENGTH - 2),
}
