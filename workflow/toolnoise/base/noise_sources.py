"""The sources of noise, and which replicate of each a run has."""

ALGORITHMIC = ("init", "shuffle", "augment", "dropout")
SOURCES = (*ALGORITHMIC, "impl", "bit")


def replicate(source: str, varying: list[str] | tuple[str, ...], seed: int) -> int:
    """The run's seed where `source` may vary, and 0, which no run has, where it may not."""
    return seed if source in varying else 0
