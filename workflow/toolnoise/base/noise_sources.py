"""The sources of noise, and the replicate of each that a run has."""

ALGORITHMIC = ("init", "shuffle", "augment", "dropout")
SOURCES = (*ALGORITHMIC, "impl", "bit")


def replicate(source: str, varying: list[str] | tuple[str, ...], seed: int) -> int:
    """The run's seed if `source` may vary, else 0, which is no run's seed."""
    return seed if source in varying else 0
