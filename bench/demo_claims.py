"""How many of the papers' claims the demo decides, for designs of its cells: drawn from a finished, longer study.

    toolnoise run workflow/studies/demo-long.yaml
    python bench/demo_claims.py results/demo-long

For each design, some seeds of ALGO and ALGO+IMPL and some draws of IMPL are drawn from the longer study, and all claims
are judged again on these runs. What a design costs is the time that its runs took there, beside that of the first.
Claims on measures without runs, such as times of kernels, stand as in the longer study.
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from toolnoise.analyses.claims import judging
from toolnoise.analyses.claims.judging import CLAIMS, OPEN, REFUTED, STUDY, SUPPORTED, WHOLE
from toolnoise.analyses.claims.whole import JUDGED, claimed, toolings
from toolnoise.base import files
from toolnoise.base.printing import aligned
from toolnoise.datasets.prepared import Data
from toolnoise.dumps.stacks import Predictions
from toolnoise.formulas import per_run
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.entropy import cross_entropies
from toolnoise.formulas.weights import apart
from toolnoise.measures import by_draw, noise
from toolnoise.measures.reading import TrainedVectors, finished_runs, predictions_of
from toolnoise.study import grid, layout
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study


class Design(NamedTuple):
    """Seeds of ALGO and of ALGO+IMPL on digits and on faces, and draws of IMPL, each with two runs."""

    digits: int
    faces: int
    draws: int


DESIGNS = {
    "few draws of IMPL": Design(5, 12, 4),
    "the demo, with two runs a draw": Design(7, 7, 6),
    "ten of everything": Design(10, 12, 10),
    "sixteen of everything": Design(16, 16, 16),
}
STUDIES = 20


class Measured(NamedTuple):
    """A cell's runs: what they are measured from, and their seconds."""

    dump: Predictions
    dataset: Data
    records: list[str]
    seconds: np.ndarray


def chosen(cell: Cell, dump: Predictions, design: Design, draw: np.random.Generator) -> np.ndarray:
    """The runs of a cell that a design has; ALGO and ALGO+IMPL get the same seeds from generators of one state."""
    if cell.variant == "impl":
        of_run = np.array([run["init"][1] for run in dump.drawn])
        known = np.unique(of_run)
        return np.flatnonzero(np.isin(of_run, draw.permutation(known)[: design.draws]))
    if cell.variant in ("algo", "algo_impl"):
        asked = design.faces if cell.dataset == "faces" else design.digits
        return np.sort(draw.permutation(len(dump.seeds))[:asked])
    return np.arange(len(dump.seeds))


def values_of(cell: Cell, measured: Measured, places: np.ndarray) -> list[tuple]:
    """The rows of some runs in metrics/runs.csv, as `noise.measured` makes them."""
    dump = measured.dump
    part = Predictions(
        dump.logits[places],
        [dump.seeds[place] for place in places],
        [dump.diverged[place] for place in places],
        [dump.drawn[place] for place in places],
    )
    test, classes = measured.dataset.test, len(measured.dataset.classes)
    together, groups = by_draw.grouped(part.drawn), measured.dataset.members(test)
    vectors = TrainedVectors(finished_runs([measured.records[place] for place in places], part))
    weights = [apart(vectors.of(members)) for members in together.groups]
    predicted = predictions(part.logits)
    values = per_run.per_run(predicted, cross_entropies(part.logits, test.labels), test.labels, classes, groups)
    values += by_draw.churns(together, predicted, test.labels, groups)
    values += by_draw.distances(together, weights)
    values += by_draw.independent_variances(together, predicted, test.labels, classes, groups)
    return noise.as_rows(cell, part, together, [], values, []).runs


def read(root: Path) -> tuple[Study, dict[Cell, Measured]]:
    """The cells of a finished study."""
    study = grid.load(root / "study.json").lying_at(root)
    cells = {}
    for cell in study.cells:
        records = study.runs(layout.RECORD, cell)
        seconds = [sum(files.read_json(record)["seconds"].values()) for record in records]
        data, logits = study.path(layout.DATA, dataset=cell.dataset), study.path(layout.LOGITS, cell)
        dump, dataset = predictions_of(data, logits, Path(logits).with_suffix(".json"))
        cells[cell] = Measured(dump, dataset, records, np.array(seconds))
    return study, cells


def decided(study: Study, cells: dict[Cell, Measured], design: Design, tables: judging.Tables, number: int) -> tuple:
    """The verdicts of one study of a design, by claim, and the seconds that its runs take."""
    rows, seconds = [], 0.0
    for cell, measured in cells.items():
        places = chosen(cell, measured.dump, design, np.random.default_rng((number, len(measured.dump.seeds))))
        rows += values_of(cell, measured, places)
        seconds += measured.seconds[places].sum()
    runs = pd.DataFrame(rows, columns=list(per_run.RUNS))
    side = judging.by_study({**tables, "runs": runs}, toolings(study))
    told = pd.DataFrame(judging.verdicts(claimed(study), side), columns=list(CLAIMS))
    whole = told[(told["part"] == WHOLE) & (told["side"] == STUDY)]
    return dict(zip(whole["claim"], whole["verdict"], strict=True)), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the folder of the longer study")
    parser.add_argument("--studies", type=int, default=STUDIES, help=f"simulated studies of each design ({STUDIES})")
    options = parser.parse_args()
    study, cells = read(options.results)
    paths = {kind: options.results / "metrics" / f"{kind}.csv" for kind in JUDGED}
    tables = judging.read_tables({kind: [str(path)] for kind, path in paths.items() if path.exists()}, JUDGED)
    lines, often = [("design", "runs take", "decided", "of claims")], {}
    first = None
    for name, design in DESIGNS.items():
        found = [decided(study, cells, design, tables, number) for number in range(options.studies)]
        judged = [sum(verdict in (SUPPORTED, REFUTED) for verdict in verdicts.values()) for verdicts, _ in found]
        about = [sum(verdict in (SUPPORTED, REFUTED, OPEN) for verdict in verdicts.values()) for verdicts, _ in found]
        often[name] = Counter(
            claim for verdicts, _ in found for claim, verdict in verdicts.items() if verdict in (SUPPORTED, REFUTED)
        )
        seconds = float(np.mean([seconds for _, seconds in found]))
        first = first or seconds
        spread = f"{np.mean(judged):.1f} ({min(judged)} to {max(judged)})"
        lines.append((name, f"{seconds / first:.1f} times", spread, f"{np.mean(about):.0f}"))
    print("\n".join(aligned(lines)))
    print(f"\nmeans of {options.studies} studies drawn from {study.name}; the share of them that decide a claim:\n")
    names = sorted(set().union(*often.values()), key=lambda claim: -often[next(reversed(often))][claim])
    rows = [(claim, *(f"{often[name][claim] / options.studies:.0%}" for name in often)) for claim in names]
    print("\n".join(aligned([("claim", *often), *rows])))


if __name__ == "__main__":
    main()
