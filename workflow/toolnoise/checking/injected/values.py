"""The bits of arrays and the states of generators, of any framework that the program has imported."""

import _random
import ctypes
import random
import sys
import zlib
from typing import Any

MOST_BYTES, SAMPLE = 1 << 22, 4096  # of a larger array on another device, so many elements


def array_of(value: Any, most: float = MOST_BYTES) -> Any:
    """A NumPy array with the bits of an array of any framework; None if it is none."""
    kind, numpy = type(value), sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.ndarray | numpy.generic):
        return numpy.asarray(value)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        tensor = value.detach()
        if tensor.layout != torch.strided or tensor.is_meta or tensor.is_quantized:
            return None
        if tensor.numel() * tensor.element_size() > most and tensor.device.type != "cpu":
            tensor = tensor.reshape(-1)[:: max(1, tensor.numel() // SAMPLE)]
        if tensor.dtype.is_floating_point and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
            # NumPy lacks it.
            tensor = tensor.view(torch.int16 if tensor.element_size() == 2 else torch.uint8)
        return tensor.cpu().resolve_conj().resolve_neg().numpy()
    if str(getattr(value, "dtype", "")).startswith("key<"):
        # A key of JAX.
        return numpy.asarray(sys.modules["jax"].random.key_data(value))
    if hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "__array__"):
        # Traced values of a compiler have no bits yet.
        if "Tracer" in kind.__name__ or kind.__name__ in ("SymbolicTensor", "KerasTensor"):
            return None
        return numpy.asarray(value)
    return None


def crc_of(array: Any, start: int = 0) -> int:
    """A digest of the bits of an array of NumPy."""
    array = array if array.flags.c_contiguous else array.copy()
    return zlib.crc32(array.reshape(-1).view("uint8"), start)


def state_of(value: Any) -> Any:
    """The state of a generator of random numbers; None if it is none, or has no state of its own."""
    if isinstance(value, random.Random):
        return None if isinstance(value, random.SystemRandom) else value.getstate()
    numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    if numpy is not None and hasattr(numpy, "Generator"):
        if isinstance(value, numpy.Generator | numpy.RandomState):
            return value.bit_generator.state if isinstance(value, numpy.Generator) else value.get_state(legacy=False)
        if isinstance(value, numpy.BitGenerator):
            return value.state
        if isinstance(value, numpy.SeedSequence):
            return [value.entropy, value.spawn_key, value.pool_size]
    if torch is not None and isinstance(value, getattr(torch, "Generator", ())):
        return value.get_state().numpy().tobytes()
    if type(value).__name__ == "SeedGenerator" and hasattr(value, "state"):
        # Of Keras.
        return array_of(value.state)
    return None


def set_state(value: Any, state: Any) -> None:
    """Give a generator a state that another one has had."""
    torch = sys.modules.get("torch")
    if isinstance(value, random.Random):
        value.setstate(state)
    elif torch is not None and isinstance(value, torch.Generator):
        value.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    elif type(value).__name__ == "SeedGenerator":
        value.state.assign(state)
    elif hasattr(value, "set_state"):
        value.set_state(state)
    elif isinstance(state, dict) and state_of(value) is not None:
        getattr(value, "bit_generator", value).state = state


def global_generators() -> dict[str, Any]:
    """The global generators that this process has."""
    generators: dict[str, Any] = {"random": random._inst}
    mtrand, torch = sys.modules.get("numpy.random.mtrand"), sys.modules.get("torch")
    if mtrand is not None and hasattr(mtrand, "_rand"):
        generators["numpy.random"] = mtrand._rand
    if torch is not None and hasattr(torch, "default_generator"):
        generators["torch"] = torch.default_generator
    return generators


def global_digests() -> dict[str, int]:
    """A digest of the state of each global generator, by what is quicker than `state_of`."""
    digests = {}
    for name, generator in global_generators().items():
        if name == "random":
            # The memory of its state: its own functions are a hundred times slower.
            head = object.__basicsize__
            memory = ctypes.string_at(id(generator) + head, _random.Random.__basicsize__ - head)
            digests[name] = zlib.crc32(repr(generator.gauss_next).encode(), zlib.crc32(memory))
        elif name == "torch":
            digests[name] = zlib.crc32(generator.get_state().numpy())
        else:
            state = state_of(generator)
            inner = state["state"]
            rest = (inner.get("pos"), state.get("has_gauss"), state.get("gauss"))
            crc = zlib.crc32(inner["key"]) if "key" in inner else zlib.crc32(repr(inner).encode())
            digests[name] = zlib.crc32(repr(rest).encode(), crc)
    return digests
