"""Memory that the C library hands out: kept when it is freed, and not given back to the system.

A training step on a CPU needs the same large arrays each time. By default the C library maps each anew and unmaps it,
and the system clears every page at its first touch, which takes longer than many a kernel on it. No bit depends on it.
"""

import ctypes

# Parameters of glibc's mallopt(3): nothing is mapped on its own, nothing is given back up to so much, one heap for all.
GLIBC = {"M_MMAP_MAX": (-4, 0), "M_TRIM_THRESHOLD": (-1, 2**31 - 1), "M_TOP_PAD": (-2, 2**26), "M_ARENA_MAX": (-8, 1)}


def keep_freed_memory() -> bool:
    """Keep freed memory for the next step; whether the C library is one that can be told to."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and {mallopt(*setting) for setting in GLIBC.values()} == {1}
