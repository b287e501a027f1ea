"""The sources of noise, and the replicate of each that a run has.

A run's seed is the replicate of every source that may vary. The others have replicate 0, which is no run's seed. A cell
may also have several draws of the fixed sources: then a run's seed is draw x DRAW + seed within the draw, and its spec
has the draw.

`data`, the choice of training examples, is drawn only if it may vary; otherwise a run trains on the whole set. No two
runs of a cell share a draw of it, so it never makes runs of one cell dependent, and tables of runs have no column for
it.
"""

from collections.abc import Collection, Iterable

from toolnoise.base.spec import Spec

ALGORITHMIC = ("init", "shuffle", "augment", "dropout")
DRAWN = (*ALGORITHMIC, "impl", "bit")  # the sources that every run has a draw of
SOURCES = ("data", *DRAWN)
# The sources that a training may lack.
OPTIONAL = ("augment", "dropout")
DRAW = 10_000


def replicate_of(source: str, spec: Spec) -> int:
    """The replicate of a source in a run."""
    if spec.varies(source):
        return spec.seed if spec.draw is None or source == "data" else spec.seed % DRAW
    return spec.draw or 0 if source in ALGORITHMIC else 0


def drawn_sources(spec: Spec) -> tuple[str, ...]:
    """The sources that a run has a draw of; `data` is one of them only if it may vary."""
    return SOURCES if spec.varies("data") else DRAWN


def with_seed(spec: Spec, seed: int) -> Spec:
    """The spec of another run of the same cell."""
    return Spec.read(spec.json | {"seed": seed} | ({} if spec.draw is None else {"draw": seed // DRAW}))


def draws_of_runs(spec: Spec, seeds: Iterable[int], unused: Collection[str] = ()) -> dict[str, list[int] | None]:
    """The replicates of each source in the runs of a cell; None for a source whose draws runs never share.

    These are sources that the training does not use, implementation noise that is not emulated, and every source of
    adopted runs.
    """
    runs = [with_seed(spec, seed) for seed in seeds]
    if spec.model.adopted is not None:
        # It is not known which draws runs from before the study share.
        return dict.fromkeys(DRAWN)
    own = {"impl"} if spec.hardware.impl_noise == "native" else set()
    without = own.intersection(spec.variant.varying).union(unused)
    return {
        source: None if source in without else [replicate_of(source, run) for run in runs]
        for source in drawn_sources(spec)
    }
