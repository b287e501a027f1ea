"""Algorithmic randomness as data.

Every algorithmic draw is a pure function of (study seed, source, replicate, name of the draw). These form the key of a
Philox generator, which gives the same raw integers on every platform. Uniforms, normals, integers and permutations are
made from those integers here. The operations are exact, or IEEE 754 rounds them in one way only. So no NumPy release,
maths library or number of threads can change a draw. Epoch 7 needs nothing from epoch 6: a run can be resumed anywhere.
"""

import hashlib
import json
from typing import Any

import numpy as np

from toolnoise.base.noise_sources import SOURCES, drawn_sources, replicate_of
from toolnoise.base.spec import Spec

# Coefficients of P and Q, highest power first. Among the standard normals within two standard deviations, a share |v|
# lies nearer to zero than v P(v^2) / Q(v^2). It is a minimax fit with a relative error below 1.6e-9, whereas float32
# rounds by up to 6e-8.
QUANTILE_P = (-0.012198171277867, 0.292778860102870, -1.588095332768931, 3.467786875116782, -3.352097387246814,
              1.196288015084657)  # fmt: skip
QUANTILE_Q = (-0.034773279545203, 0.447048135362574, -1.873996844678355, 3.504553017664593, -3.040599599294981,
              1.0)  # fmt: skip
# This number of draws at a time fits a processor's cache.
BLOCK = 1 << 15

# A stream for resampling in the analysis, which is no source of noise in any training.
ANALYSIS = "analysis"


def keys_of_run(spec: Spec) -> dict[str, dict[str, int | str]]:
    """The replicate of each source in the run of a spec, and the key of all streams of that source."""
    drawn_for = {source: replicate_of(source, spec) for source in drawn_sources(spec)}
    return {
        source: {"replicate": number, "key": f"{stream_key(spec.study_seed, source, number):032x}"}
        for source, number in drawn_for.items()
    }


def stream_key(study_seed: int, source: str, replicate: int, *what: str | int) -> int:
    """The 128-bit key of one stream; `what` names the draw within the source, such as a layer or an epoch."""
    if source not in (*SOURCES, ANALYSIS):
        raise ValueError(f"unknown source {source!r}")
    name = json.dumps(["toolnoise-streams-1", study_seed, source, replicate, *what], separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")


def raw_integers(stream: int, count: int) -> np.ndarray:
    """The first `count` 64-bit integers of a stream."""
    return np.random.Philox(key=stream).random_raw(count)


def uniform(stream: int, shape: tuple[int, ...]) -> np.ndarray:
    """float32 in [0, 1): the 24 highest bits, so that every value is exact."""
    high = raw_integers(stream, int(np.prod(shape))) >> np.uint64(40)
    return (high.astype(np.float32) * np.float32(2**-24)).reshape(shape)


def truncated_normal(stream: int, shape: tuple[int, ...]) -> np.ndarray:
    """float32, standard normal within two standard deviations of zero: the quantiles of 53-bit uniforms."""
    generator = np.random.Philox(key=stream)
    values = np.empty(int(np.prod(shape)), np.float32)
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK]
        high = generator.random_raw(len(block)) >> np.uint64(11)
        # Odd multiples of 2^-53 between -1 and 1: symmetric, and neither end is reached.
        share = (high.astype(np.float64) * 2.0 + (1.0 - 2.0**53)) * 2.0**-53
        square = share * share
        block[:] = share * _polynomial(QUANTILE_P, square) / _polynomial(QUANTILE_Q, square)
    return values.reshape(shape)


def integers(stream: int, shape: tuple[int, ...], bound: int) -> np.ndarray:
    """int32 in [0, bound), from 32 bits each; the bias of this method is negligible for the bounds used here."""
    return below(raw_integers(stream, int(np.prod(shape))), bound).reshape(shape)


def permutation(stream: int, length: int) -> np.ndarray:
    """int32 order of `range(length)`: the order that sorts as many 64-bit integers."""
    return np.argsort(raw_integers(stream, length), kind="stable").astype(np.int32)


def key_as_words(stream: int) -> np.ndarray:
    """A key as four uint32, for hashes that run on a device."""
    return np.array([stream >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)], np.uint32)


def keep_mask(xp: Any, key_words: Any, counters: tuple[Any, ...], rate: float) -> Any:
    """The elements that dropout keeps: a hash of the key and of each element's counters, compared with `rate`.

    `xp` is numpy or keras.ops, and the arrays are its own, all uint32. The integer operations are the same everywhere,
    so every engine, device and number of threads keeps the same elements. PyTorch does not compute with uint32 and has
    them in int64. `counters` (such as step, layer and element) broadcast against one another.
    """
    state = key_words[0]
    for number, counter in enumerate(counters):
        state = low_word(xp, _mixed(xp, xp.bitwise_xor(state, counter)) + key_words[(number + 1) % 4])
    # 24 bits, as in `uniform`: a rate of 0 keeps everything, and nothing rounds.
    return xp.right_shift(_mixed(xp, state), np.uint32(8)) >= _scalar(state, round(rate * 2**24))


def low_word(xp: Any, value: Any) -> Any:
    """The 32 lowest bits of each integer, if it has more."""
    return xp.bitwise_and(value, 0xFFFFFFFF) if _is_wide(value) else value


def below(words: np.ndarray, bound: int | np.ndarray) -> np.ndarray:
    """int32 in [0, bound), from the 32 highest bits of each word; 0 for a bound of 0."""
    high = words >> np.uint64(32)
    return ((high * np.uint64(bound)) >> np.uint64(32)).astype(np.int32)


def _polynomial(coefficients: tuple[float, ...], at: np.ndarray) -> np.ndarray:
    values = np.full_like(at, coefficients[0])
    for coefficient in coefficients[1:]:
        values *= at
        values += coefficient
    return values


def _mixed(xp: Any, value: Any) -> Any:
    # A bijection of 32 bits in which every input bit changes every output bit about half the time (Wellons, lowbias32).
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        value = xp.bitwise_xor(value, xp.right_shift(value, np.uint32(shift)))
        value = low_word(xp, value * _scalar(value, factor))
    return xp.bitwise_xor(value, xp.right_shift(value, np.uint32(16)))


def _scalar(beside: Any, word: int) -> Any:
    # For int64, the factor that is equal modulo 2^32 and nearer to 0, so that no product overflows.
    return (word + 2**31) % 2**32 - 2**31 if _is_wide(beside) else np.uint32(word)


def _is_wide(value: Any) -> bool:
    return str(value.dtype).endswith("int64")
