"""A program of its own, which runs a model on the same rows in batches of several sizes, and compares the outputs.

It is started with the path of a job, a JSON file, whose keys are the arguments of `compared`; it writes what it found,
or why it refuses, to the file that the job names. The interpreter may be any that has the framework.
"""

import importlib
import json
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from loading import Input, LoadedModel, NoFloat64, Refused

MODULES = {".onnx": "of_onnx", ".keras": "of_keras", ".pt2": "of_torch"}
PACKAGES = {".onnx": "onnxruntime", ".keras": "keras", ".pt2": "torch"}
Compute = Callable[[Sequence[np.ndarray]], np.ndarray]


def compared(
    model: str,
    inputs: str,
    ways: dict[str, dict[str, Any]],
    size: int,
    reference: str,
    threads: int | None,
    double: bool,
    decode: int,
    is_first: bool,
) -> dict[str, Any]:
    """What differs in each way from the batches of a size; their outputs are written first, or are there."""
    loaded = _loaded(model, threads, double)
    arrays = _fitting(inputs, loaded, double, decode)
    if not loaded.least <= size <= loaded.most:
        raise Refused(f"was exported for batches of {_span(loaded)}", f"--batches among them; not {size}")
    if is_first:
        _write(reference, _in_batches(loaded.run, arrays, size), len(arrays[0]))
    outputs = np.load(reference, mmap_mode="r", allow_pickle=False)
    if double and outputs.dtype != np.float64:
        raise NoFloat64
    tokens = f"{reference}.tokens.npy"
    if decode and is_first:
        _write(tokens, _in_batches(_greedy(loaded.run, decode), arrays, size), len(arrays[0]))
    found = {}
    for name, way in ways.items():
        if loaded.least <= way["size"] <= loaded.most:
            rows = [array[::-1] if way["reversed"] else array for array in arrays]
            found[name] = _difference(outputs, _in_batches(loaded.run, rows, way["size"]), way["reversed"])
            if decode:
                generated = _in_batches(_greedy(loaded.run, decode), rows, way["size"])
                found[name]["parted"] = _parted(np.load(tokens), generated, way["reversed"])
    about = {"framework": loaded.framework, "output": list(outputs.shape[1:]), "dtype": str(outputs.dtype)}
    return {**about, "made_for": _span(loaded), "differences": found}


def _span(loaded: LoadedModel) -> str:
    return f"{loaded.least} or more" if loaded.most == float("inf") else f"{loaded.least} to {loaded.most:.0f}"


def _loaded(path: str, threads: int | None, double: bool) -> LoadedModel:
    suffix = Path(path).suffix
    try:
        return importlib.import_module(MODULES[suffix]).load(path, threads, double)
    except (Refused, NoFloat64):
        raise
    except ImportError as error:
        name = PACKAGES[suffix]
        if error.name and error.name.split(".")[0] != name:
            raise Refused(f"{name} cannot be imported ({error})", f"--python with {name}") from None
        raise Refused(f"{name} is missing in {sys.executable}", f"pip install {name}, or --python") from None
    except Exception as error:
        if isinstance(error.__cause__, Refused):
            raise error.__cause__ from None
        raise Refused(f"cannot be loaded ({_short(error)})", f"a model that this {PACKAGES[suffix]} loads") from error


def _fitting(path: str, loaded: LoadedModel, double: bool, decode: int) -> list[np.ndarray]:
    """An array for each input, of its type, in the model's order."""
    found = np.load(path, mmap_mode="r" if path.endswith(".npy") else None, allow_pickle=False)
    names = [each.name for each in loaded.inputs]
    if isinstance(found, np.ndarray):
        given = [found]
        if len(names) != 1:
            raise Refused(f"takes {len(names)} inputs ({', '.join(names)})", "--inputs FILE.npz, an array for each")
    else:
        missing = [name for name in names if name not in found]
        if missing:
            raise Refused(f"takes the input {missing[0]}", f"{path} has: {', '.join(found)}")
        given = [found[name] for name in names]
    tokens = decode and (len(given) != 1 or given[0].ndim != 2 or loaded.inputs[0].dtype.kind not in "iu")
    if tokens:
        raise Refused("does not take token ids alone", "for --decode: one input of integers, rows x positions")
    return [_cast(array, each, double) for array, each in zip(given, loaded.inputs, strict=True)]


def _cast(array: np.ndarray, wanted: Input, double: bool) -> np.ndarray:
    free = " x ".join("any" if size is None else str(size) for size in wanted.shape)
    if wanted.shape and wanted.shape[0] is not None:
        raise Refused(
            f"takes batches of {wanted.shape[0]} alone (its input is {free})", "an export with a free first size"
        )
    fits = array.ndim == len(wanted.shape) and all(
        size in (None, has) for size, has in zip(wanted.shape, array.shape, strict=True)
    )
    if not fits:
        has = " x ".join(map(str, array.shape))
        raise Refused(f"takes {wanted.name} of {free}", f"--inputs has {has}")
    if {array.dtype.kind, wanted.dtype.kind} not in ({"f"}, {"b"}, {"i"}, {"u"}, {"i", "u"}):
        raise Refused(f"takes {wanted.name} of type {wanted.dtype}", f"--inputs has {array.dtype}")
    array = array.astype(wanted.dtype)
    return array.astype(np.float64) if double and array.dtype.kind == "f" else array


def _in_batches(compute: Compute, arrays: Sequence[np.ndarray], size: int) -> Iterator[tuple[int, np.ndarray]]:
    """The outputs of all rows, in parts. All batches have the size: the last begins earlier, if rows are too few."""
    n_rows = len(arrays[0])
    for start in range(0, n_rows, size):
        first = min(start, n_rows - size)
        given = [np.ascontiguousarray(array[first : first + size]) for array in arrays]
        try:
            output = compute(given)
        except Exception as error:
            raise Refused(f"fails on a batch of {size} ({_short(error)})", "a model that takes any size") from error
        if output.ndim == 0 or len(output) != size:
            raise Refused(f"returns {output.shape} for a batch of {size}", "an output with a row for each row")
        yield start, output[start - first :]


def _greedy(run: Compute, n_tokens: int) -> Compute:
    """Append the most likely token to each row, again and again; the tokens that were appended."""

    def generate(arrays: Sequence[np.ndarray]) -> np.ndarray:
        rows = arrays[0]
        for _ in range(n_tokens):
            logits = run([rows])
            last = logits[:, -1] if logits.ndim == 3 else logits
            rows = np.concatenate([rows, last.argmax(-1)[:, None].astype(rows.dtype)], axis=1)
        return rows[:, -n_tokens:]

    return generate


def _write(path: str, parts: Iterator[tuple[int, np.ndarray]], n_rows: int) -> None:
    made = None
    for start, part in parts:
        if made is None:
            made = np.lib.format.open_memmap(path, "w+", part.dtype, (n_rows, *part.shape[1:]))
        made[start : start + len(part)] = part
    made.flush()


def _difference(
    outputs: np.ndarray, parts: Iterator[tuple[int, np.ndarray]], is_reversed: bool
) -> dict[str, int | float | None]:
    """Rows of which any bit differs, the largest difference, and answers that are other ones."""
    rows, changed, largest = 0, 0, 0.0
    reference = outputs[::-1] if is_reversed else outputs
    for start, part in parts:
        for one, other in zip(part, reference[start:], strict=False):
            if one.shape != other.shape:
                raise Refused(f"returns rows of {one.shape} and of {other.shape}", "rows of one shape at any batch")
            if one.tobytes() != other.tobytes():
                rows += 1
                changed += _answer(one) != _answer(other)
                # A difference from what is no number is none.
                largest = float(np.maximum(largest, _largest(one, other)))
    return {"rows": rows, "largest": largest if np.isfinite(largest) else None, "changed": changed}


def _answer(row: np.ndarray) -> bytes:
    """The predicted classes, or the values where there is nothing to choose from."""
    return (row.argmax(-1) if row.ndim and row.shape[-1] > 1 else row).tobytes()


def _largest(one: np.ndarray, other: np.ndarray) -> float:
    equal = (one == other) | ((one != one) & (other != other))
    return float(np.abs(np.where(equal, 0, one.astype(np.float64) - other.astype(np.float64))).max(initial=0))


def _parted(tokens: np.ndarray, parts: Iterator[tuple[int, np.ndarray]], is_reversed: bool) -> list[int]:
    """How many sequences differ, and the first position at which any does, from 1."""
    reference = tokens[::-1] if is_reversed else tokens
    places = [
        int(np.flatnonzero(one != other)[0]) + 1
        for start, part in parts
        for one, other in zip(part, reference[start:], strict=False)
        if (one != other).any()
    ]
    return [len(places), min(places, default=0)]


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:200]}"


def main() -> None:
    """Do a job, and write what was found."""
    job = json.loads(Path(sys.argv[1]).read_text())
    out = Path(job.pop("out"))
    try:
        found = compared(**job)
    except NoFloat64:
        found = {"no_float64": True}
    except Refused as refused:
        if refused.__cause__:
            traceback.print_exception(type(refused.__cause__), refused.__cause__, refused.__cause__.__traceback__)
        found = {"refused": [refused.found, refused.allowed]}
    out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
