"""Algorithmic randomness as data.

Every algorithmic draw is a pure function of (study seed, source, replicate, what is drawn): the key of a Philox
generator, which gives the same raw integers on every platform. Uniforms, integers and permutations are made from
those integers here, by exact operations only, so that neither a NumPy release nor a maths library nor a number of
threads can change a draw. Asking for epoch 7 needs nothing from epoch 6: a run can be resumed anywhere.
"""

import hashlib
import json

import numpy as np

from toolnoise.variants import SOURCES

# What resampling in the analysis draws from: no source of noise in any training.
ANALYSIS = "analysis"


def key(study_seed: int, source: str, replicate: int, *what: str | int) -> int:
    """The 128-bit key of one stream; `what` names the draw within the source, such as a layer or an epoch."""
    if source not in (*SOURCES, ANALYSIS):
        raise ValueError(f"unknown source {source!r}")
    name = json.dumps(["toolnoise-streams-1", study_seed, source, replicate, *what], separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")


def raw(stream: int, count: int) -> np.ndarray:
    """The first `count` 64-bit integers of a stream."""
    return np.random.Philox(key=stream).random_raw(count)


def uniform(stream: int, shape: tuple[int, ...]) -> np.ndarray:
    """float32 in [0, 1): the 24 highest bits, so that every value is exact."""
    high = raw(stream, int(np.prod(shape))) >> np.uint64(40)
    return (high.astype(np.float32) * np.float32(2**-24)).reshape(shape)


def integers(stream: int, shape: tuple[int, ...], bound: int) -> np.ndarray:
    """int32 in [0, bound), from 32 bits each (no bound used here comes near the bias that leaves)."""
    high = raw(stream, int(np.prod(shape))) >> np.uint64(32)
    return ((high * np.uint64(bound)) >> np.uint64(32)).astype(np.int32).reshape(shape)


def permutation(stream: int, length: int) -> np.ndarray:
    """int32 order of `range(length)`: the ranks of that many 64-bit integers."""
    return np.argsort(raw(stream, length), kind="stable").astype(np.int32)
