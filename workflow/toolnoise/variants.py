"""Which sources of noise a variant lets vary."""

ALGORITHMIC = ("init", "shuffle", "augment", "dropout")
SOURCES = (*ALGORITHMIC, "impl")

VARIANTS = {
    "algo_impl": SOURCES,
    "algo": ALGORITHMIC,
    "impl": ("impl",),
    "control": (),
    **{source: (source,) for source in ALGORITHMIC},
}


def replicate(source: str, varying: list[str] | tuple[str, ...], seed: int) -> int:
    """The run's seed where `source` may vary, and 0, which no run has, where it may not."""
    return seed if source in varying else 0
