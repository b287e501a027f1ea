"""Memory of the C library: freed memory is kept and not returned to the system.

A training step on a CPU needs the same large arrays each time. By default the C library maps and unmaps each of them
anew, and the system clears every page at its first touch, which takes longer than many a kernel on it. No bit depends
on this setting.
"""

import ctypes

# Parameters of glibc's mallopt(3): no separate mappings, nothing returned below this size, one heap for all threads.
GLIBC = {"M_MMAP_MAX": (-4, 0), "M_TRIM_THRESHOLD": (-1, 2**31 - 1), "M_TOP_PAD": (-2, 2**26), "M_ARENA_MAX": (-8, 1)}


def keep_freed_memory() -> bool:
    """Keep freed memory for the next step; return whether the C library supports it."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and {mallopt(*setting) for setting in GLIBC.values()} == {1}
