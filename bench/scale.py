"""Time and memory of each verb as a study grows, and the exponent of growth.

    nice -n 10 .venv/bin/python bench/scale.py [--cells CELLS] [RUNS ...]

Studies of 100, 1,000 and 10,000 runs are invented (`invented.py`), in cells of 100 runs; for `measure`, in one cell.
With `--cells`, all studies have so many cells, however large, and `measure` is left out. Each verb runs in a process of
its own. Time is the CPU time of that process and its children, memory the peak of the largest of them, both from
`wait4`. The exponent is log(t2 / t1) / log(n2 / n1) for the two largest sizes; nothing is subtracted. Starting Python
takes a second or more, which makes small sizes look flat: so the largest two.
"""

import argparse
import itertools
import math
import os
import resource
import shutil
import sys
import tempfile
import traceback
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import invented

from toolnoise import steps
from toolnoise.base.program import ROOT
from toolnoise.steps import STEPS
from toolnoise.study import layout
from toolnoise.study.study import Study

SIZES = (100, 1_000, 10_000)
A_CELL = 100
STACK = 2**26
MOST = 1.1  # the largest exponent that is accepted
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "1")
TOOLNOISE = (sys.executable, "-m", "toolnoise.cli")
PLAN, AGAIN = "snakemake -n", "snakemake -n, all done"
MEASURE = "measure, one cell"


class Used(NamedTuple):
    """What a process used."""

    seconds: float
    megabytes: float


def main() -> None:
    """Print a row for each verb; with an exponent that is too large, the exit code is 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", metavar="RUNS", type=int, nargs="*", help="runs of each study")
    parser.add_argument("--cells", type=int, help="cells of each study (default: as many as have 100 runs)")
    asked = parser.parse_args()
    sizes = asked.sizes or list(SIZES)
    if asked.cells and any(runs % asked.cells for runs in sizes):
        parser.error(f"RUNS: found {sizes}; allowed: multiples of {asked.cells} cells")
    found: dict[str, list[Used]] = {}
    for runs in sizes:
        of_one = of_cell(runs) if asked.cells is None else ()
        a_cell = runs // asked.cells if asked.cells else A_CELL
        for verb, used in itertools.chain(of_study(runs, a_cell), of_one):
            print(f"{runs:,} runs: {verb}: {used.seconds:.1f} s", file=sys.stderr, flush=True)
            found.setdefault(verb, []).append(used)
    sys.exit(0 if show(sizes, found) else 1)


def show(sizes: list[int], found: dict[str, list[Used]]) -> bool:
    """Print the table; return whether no time grows too fast."""
    print(f"{'':24}" + "".join(f"{f'{runs:,} runs':>20}" for runs in sizes) + f"{'exponent of time':>20}")
    exponents = [exponent(sizes, [one.seconds for one in used]) for used in found.values()]
    for (verb, used), grows in zip(found.items(), exponents, strict=True):
        cells = (f"{one.seconds:.1f} s {one.megabytes:,.0f} MB" for one in used)
        print(f"{verb:24}" + "".join(f"{cell:>20}" for cell in cells) + f"{grows:>20.2f}", flush=True)
    return not any(grows > MOST for grows in exponents)


def exponent(sizes: list[int], values: list[float]) -> float:
    """The slope between the two largest sizes, on logarithmic axes; NaN for a single size."""
    if len(sizes) < 2:
        return math.nan
    return math.log(values[-1] / values[-2]) / math.log(sizes[-1] / sizes[-2])


def of_study(runs: int, a_cell: int) -> Iterator[tuple[str, Used]]:
    """Each verb that works on a study, with what it used."""
    study = invented.study(runs, a_cell)
    with made(study) as folder:
        for verb, command in commands(study):
            yield verb, used_by(command, folder / "empty" if verb == PLAN else folder)


def of_cell(runs: int) -> Iterator[tuple[str, Used]]:
    """The measures of one cell of so many runs, with what they used."""
    study = invented.study(runs, runs)
    with made(study, ("prepare", "train", "predict")) as folder:
        yield MEASURE, used_by(measuring(study), folder)


@contextmanager
def made(study: Study, verbs: Container[str] = STEPS) -> Iterator[Path]:
    """A folder with what these verbs make of a study."""
    folder = Path(tempfile.mkdtemp(prefix="scale-"))
    try:
        # In a process of its own: a child starts with the memory of its parent.
        child = os.fork()
        if not child:
            # What goes wrong is said here: the parent removes the folder.
            try:
                invented.make(study, folder, lambda job: job.verb in verbs)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise SystemExit("the study could not be invented")
        yield folder
    finally:
        shutil.rmtree(folder)


def commands(study: Study) -> Iterator[tuple[str, list[str]]]:
    """The command line of each verb, in a study's folder."""
    file = study.path(layout.STUDY)
    results = str(Path(file).parent)
    yield PLAN, [*SNAKEMAKE, "--configfile", f"../{invented.FILE}", "--dry-run"]
    yield AGAIN, [*SNAKEMAKE, "--configfile", invented.FILE, "--dry-run"]
    for verb in ("status", "estimate", "summary"):
        yield verb, [*TOOLNOISE, verb, "--study", file]
    yield "audit", [*TOOLNOISE, "audit", results]
    yield "export", [*TOOLNOISE, "export", results, "--out", "all.tar"]


def measuring(study: Study) -> list[str]:
    """The command line that measures the first cell of a study."""
    job = next(job for job in steps.jobs(study) if job.verb == "measure")
    named = {**job.place._asdict(), **invented.files_of(study, job)}
    words = [
        word
        for option, value in named.items()
        for word in (f"--{option}", *(value if isinstance(value, list) else [value]))
    ]
    return [*TOOLNOISE, "measure", "--study", study.path(layout.STUDY), *words]


def used_by(command: list[str], folder: Path) -> Used:
    """What a command uses in a folder; it must succeed."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            os.chdir(folder)
            # As in the workflow: Linux gives the arguments of a program a quarter of its stack.
            resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            os.execv(command[0], command)
        _, status, usage = os.wait4(child, 0)
        if status:
            said.seek(0)
            raise SystemExit(f"{' '.join(command[:6])}: {said.read().decode()[-3000:]}")
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
