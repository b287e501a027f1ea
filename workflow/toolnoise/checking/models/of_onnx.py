"""Models of ONNX files, run by onnxruntime on the processor. Nothing in such a file is code of Python."""

import numpy as np
import onnxruntime
from loading import Input, LoadedModel, NoFloat64

KINDS = {"float": "float32", "double": "float64"}


def load(path: str, threads: int | None, double: bool) -> LoadedModel:
    """Load a model; the runtime takes the types of its operations from the file."""
    if double:
        raise NoFloat64
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads:
        options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = [Input(each.name, tuple(map(_size, each.shape)), _dtype(each.type)) for each in session.get_inputs()]
    first = session.get_outputs()[0].name

    def run(arrays: list[np.ndarray]) -> np.ndarray:
        given = {each.name: array for each, array in zip(inputs, arrays, strict=True)}
        return session.run([first], given)[0]

    return LoadedModel(f"onnxruntime {onnxruntime.__version__}", inputs, run)


def _size(size: object) -> int | None:
    return size if isinstance(size, int) else None


def _dtype(text: str) -> np.dtype:
    """A type such as tensor(float)."""
    name = text[text.find("(") + 1 : -1]
    return np.dtype(KINDS.get(name, name))
