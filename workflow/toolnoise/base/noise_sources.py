"""The sources of noise, and the replicate of each that a run has.

A run's seed is the replicate of every source that may vary. The others have replicate 0, which is no run's seed. A cell
may also have several draws of what is fixed: then a run's seed is draw x DRAW + seed within the draw, and its spec has
the draw.

`data`, which examples are trained on, is drawn only where it may vary: elsewhere a run trains on the whole set. No two
runs of a cell have the same draw of it, so it never makes runs of one cell dependent, and tables of runs have no column
for it.
"""

from collections.abc import Collection, Iterable

from toolnoise.base.spec import Spec

ALGORITHMIC = ("init", "shuffle", "augment", "dropout")
DRAWN = (*ALGORITHMIC, "impl", "bit")  # those that every run has a draw of
SOURCES = ("data", *DRAWN)
# Those that a training may do without.
OPTIONAL = ("augment", "dropout")
DRAW = 10_000


def replicate(source: str, spec: Spec) -> int:
    """The replicate of a source that a run is drawn for."""
    if spec.varies(source):
        return spec.seed if spec.draw is None or source == "data" else spec.seed % DRAW
    return spec.draw or 0 if source in ALGORITHMIC else 0


def drawn_sources(spec: Spec) -> tuple[str, ...]:
    """The sources that a run has a draw of: `data` only where it may vary."""
    return SOURCES if spec.varies("data") else DRAWN


def with_seed(spec: Spec, seed: int) -> Spec:
    """The spec of another run of the same cell."""
    return Spec.read(spec.json | {"seed": seed} | ({} if spec.draw is None else {"draw": seed // DRAW}))


def draws(spec: Spec, seeds: Iterable[int], unused: Collection[str] = ()) -> dict[str, list[int] | None]:
    """The replicate of each source that each run of a cell has; None for a source of which runs share no draw.

    That is one that the training does not use, implementation noise which is not emulated, and everything of runs whose
    making is not known.
    """
    runs = [with_seed(spec, seed) for seed in seeds]
    if spec.model.adopted is not None:
        # Of runs that were there before the study, no draw is known to be another run's.
        return dict.fromkeys(DRAWN)
    own = {"impl"} if spec.hardware.impl_noise == "native" else set()
    without = own.intersection(spec.variant.varying).union(unused)
    return {
        source: None if source in without else [replicate(source, run) for run in runs]
        for source in drawn_sources(spec)
    }
