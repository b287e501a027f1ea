"""Algorithmic randomness as data.

Every algorithmic draw is a pure function of (study seed, source, replicate, what is drawn): the key of a Philox
generator, which gives the same raw integers on every platform. Uniforms, integers and permutations are made from
those integers here, by exact operations only, so that neither a NumPy release nor a maths library nor a number of
threads can change a draw. Asking for epoch 7 needs nothing from epoch 6: a run can be resumed anywhere.
"""

import hashlib
import json
from typing import Any

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


def words(stream: int) -> np.ndarray:
    """A key as four uint32, for hashes that run on a device."""
    return np.array([stream >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)], np.uint32)


def keep_mask(xp: Any, key_words: Any, counters: tuple[Any, ...], rate: float) -> Any:
    """Which elements dropout keeps: a hash of the key and of each element's counters, compared with `rate`.

    `xp` is numpy or keras.ops and the arrays are its own, all uint32: the same integer operations everywhere, so that
    every engine, device and number of threads keeps the same elements. `counters` (such as step, layer and element)
    broadcast against one another.
    """
    state = key_words[0]
    for number, counter in enumerate(counters):
        state = _mixed(xp, xp.bitwise_xor(state, counter)) + key_words[(number + 1) % 4]
    # 24 bits, as in `uniform`: 0 keeps everything and nothing rounds.
    threshold = np.uint32(round(rate * 2**24))
    return xp.right_shift(_mixed(xp, state), np.uint32(8)) >= threshold


def _mixed(xp: Any, value: Any) -> Any:
    # A bijection of 32 bits in which every input bit moves every output bit about half the time (Wellons, lowbias32).
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        value = xp.bitwise_xor(value, xp.right_shift(value, np.uint32(shift))) * np.uint32(factor)
    return xp.bitwise_xor(value, xp.right_shift(value, np.uint32(16)))
