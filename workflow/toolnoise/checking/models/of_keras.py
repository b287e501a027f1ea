"""Models of .keras files, which hold Keras's own layers and weights.

Keras's safe mode refuses lambdas. Versions of it have had gaps, so what a file names is looked at first: it may be
Keras's own layers and what belongs to them, and no layer that has code, or a file to read, of its own.
"""

import importlib.util
import json
import os
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from loading import Input, LoadedModel, NoFloat64, Refused

CONFIG = "config.json"
# Where Keras keeps what a model is made of. Elsewhere in it are functions that download, or that end the safe mode.
MODULES = (
    *("keras", "builtins", "keras.activations", "keras.constraints", "keras.dtype_policies", "keras.initializers"),
    *("keras.layers", "keras.models", "keras.regularizers", "keras.quantizers"),
)
INNER = ("keras.src.models.", "keras.src.ops.")
# Layers that hold code, or load what somebody else has written.
WITH_CODE = ("Lambda", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "__lambda__", "__typespec__")
# A list may be a file instead, which is then read.
FILES = ("vocabulary", "idf_weights")
FLOATS = ("float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16")
ALLOWED = "Keras's own layers: nothing of a file is executed"


def load(path: str, threads: int | None, double: bool) -> LoadedModel:
    """Load a model; threads are set by variables."""
    require_plain(_config(path))
    frameworks = ("tensorflow", "jax", "torch")
    found = next(filter(importlib.util.find_spec, frameworks), None)
    if found:
        os.environ.setdefault("KERAS_BACKEND", found)
    import keras

    backend = keras.config.backend()
    if double and backend == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    if threads and backend == "torch":
        import torch

        torch.set_num_threads(threads)
    model = keras.saving.load_model(path, compile=False, safe_mode=True)
    if not getattr(model, "inputs", None):
        raise Refused("a model that does not declare its inputs", "a Functional or Sequential model")
    model = _in_float64(model) if double else model
    inputs = [Input(each.name, tuple(each.shape), np.dtype(each.dtype)) for each in model.inputs]

    def run(arrays: list[np.ndarray]) -> np.ndarray:
        output = model.predict_on_batch(arrays if len(arrays) > 1 else arrays[0])
        return np.asarray(keras.tree.flatten(output)[0])

    return LoadedModel(f"keras {keras.__version__} on {backend}", inputs, run)


def _config(path: str) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if names.count(CONFIG) != 1:
                raise Refused(f"{names.count(CONFIG)} members {CONFIG}", "a file that model.save wrote")
            return json.loads(archive.read(CONFIG))
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise Refused(f"cannot be read ({error})", "a .keras file, as model.save writes it") from None


def require_plain(config: Any) -> None:
    """Refuse a model of which anything is not Keras's own, or has code."""
    for each in _dictionaries(config):
        for key in FILES:
            if isinstance(each.get(key), str):
                raise Refused(f"a layer reads the file {each[key]!r}", ALLOWED)
        name, module = each.get("class_name"), each.get("module")
        if name is None:
            continue
        known = module is None or module in MODULES or str(module).startswith(INNER)
        registered = each.get("registered_name")
        # Keras names a class of somebody else "package>name", and imports its module.
        if not known or (isinstance(registered, str) and ">" in registered):
            raise Refused(f"{module}.{name} is not of Keras", ALLOWED)
        if name in WITH_CODE:
            raise Refused(f"a {name} layer", ALLOWED)


def _dictionaries(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    if isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _dictionaries(each)


def _in_float64(model: Any) -> Any:
    """The same layers and weights, each computed in float64."""
    again = type(model).from_config(_raised(model.get_config()))
    again.set_weights(model.get_weights())
    if any("float" in weight.dtype and weight.dtype != "float64" for weight in again.weights):
        raise NoFloat64
    return again


def _raised(value: Any, key: str = "") -> Any:
    """A configuration with float64 in place of each type of number that is smaller."""
    if isinstance(value, dict):
        policy = value.get("class_name") == "DTypePolicy"
        return {
            name: _raised(each, "policy" if policy and name == "config" else name) for name, each in value.items()
        } | ({"name": "float64"} if key == "policy" and value.get("name") in FLOATS else {})
    if isinstance(value, (list, tuple)):
        return type(value)(_raised(each) for each in value)
    return "float64" if key == "dtype" and value in FLOATS else value
