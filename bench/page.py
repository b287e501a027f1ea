"""The page of an invented study of 10,000 runs: its size, and the time until Chromium shows it.

    .venv/bin/python bench/page.py [RUNS]

Nothing is trained. Every job of the study has a statement of the usual form with random digests, every cell the usual
measures and curves with random numbers. The page is written and opened as that of a real study is.
"""

import itertools
import random
import shutil
import statistics
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import invented
from playwright.sync_api import sync_playwright

from toolnoise import steps
from toolnoise.base import metric_files
from toolnoise.base.files import write_text
from toolnoise.formulas import declared
from toolnoise.pages import cell_page, page_tables, study_page
from toolnoise.pages.document import document, part
from toolnoise.record import statements
from toolnoise.record.statements import INPUT, Artifact, Statement
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study
from toolnoise.verify.audit.examine import Audit
from toolnoise.verify.audit.rules import RULES
from toolnoise.verify.page import of_audit as statements_shown
from toolnoise.verify.tree import Results, Stated, Tree

TOOLINGS = ("cpu", "cpu-eigen", "cpu-jax", "cpu-torch")
VARIANTS = ("algo_impl", "algo", "impl", "init", "shuffle")
SEEDS = 10
EXAMPLES = 500
PICTURE = 130
REPEATS = 5
THEN = datetime(2026, 1, 31, 12)
OBSERVED = {"host": "node", "device": "cpu", "cpu": "Some Processor @ 2.80GHz", "versions": {"tensorflow": "2.21.0"}}
CODE = tuple(Artifact(f"workflow/toolnoise/{number}.py", f"{number:064x}", kind="code") for number in range(40))


def main(runs: int) -> None:
    """Write the page of a study of so many runs, print its size, open it, print the times."""
    study = invented.study(runs, SEEDS, TOOLINGS, VARIANTS, epochs=200)
    folder = Path(tempfile.mkdtemp(prefix="page-"))
    try:
        print(f"{sum(map(len, study.seeds.values())):,} runs in {len(study.cells):,} cells")
        write(study, folder)
        sizes = {
            path.relative_to(folder).as_posix(): path.stat().st_size for path in folder.rglob("*") if path.is_file()
        }
        print(f"{sum(sizes.values()) / 1e6:.1f} MB in {len(sizes):,} files")
        of_cells = {name for name in sizes if name.startswith("page/cells/")}
        print(f"  cells {sum(sizes[name] for name in of_cells) / 1e6:.2f} MB")
        for name in sizes.keys() - of_cells:
            print(f"  {name} {sizes[name] / 1e6:.2f} MB")
        opened(study, folder / "index.html")
    finally:
        shutil.rmtree(folder)


def write(study: Study, folder: Path) -> None:
    """Write all files of the page."""
    chance = random.Random(0)
    stated, files = [], {}
    made: dict[str, Artifact] = {}
    for number, job in enumerate(steps.jobs(study)):
        if job.verb == steps.ROOT:
            continue
        outputs = tuple(
            Artifact(name, f"{chance.getrandbits(256):064x}", chance.randrange(60_000), role)
            for name, role in job.outputs
        )
        made |= {one.name: one for one in outputs}
        read = tuple(made[name]._replace(role=role, kind=INPUT) for name, role in job.inputs if name in made)
        begun = THEN + timedelta(seconds=number + chance.random())
        ended = begun + timedelta(seconds=10 * chance.random())
        observed = OBSERVED | {"memory_mib": 24_000}
        one = Statement(
            job.verb, outputs, (*read, *CODE), job.parameters, observed, begun, ended, {"toolnoise": "0.1.0"}
        )
        within = f"results/{study.name}/"
        path = statements.path_for(outputs[0].name).as_posix().removeprefix(within)
        stated.append(Stated(path, one))
        files |= {one.name.removeprefix(within): one.size for one in outputs}
    tree = Tree(study.name, folder, files, {}, tuple(stated), {}, {}, study)
    audit = Audit(Results(folder, (tree,), ()), RULES, (), (), (), (), THEN)
    write_text(folder / "page/statements.js", part("statements", statements_shown.data(audit, strict=False)))
    shown = {"clean": True, "slim": "", "findings": 0, "stale": 0, "says": [], "ran_on": [], "left_out": []}
    write_text(folder / "page/audit.js", part("audit", shown))
    write_text(folder / "page/tables.js", part("tables", all_tables(study, folder, chance)))
    for cell in study.cells:
        points = steps.STEPS["show-cell"].parameters(study, cell)["points"]
        block = runs_of(study, cell, points, chance)
        write_text(folder / f"page/{cell_page.name(cell)}.js", part(cell_page.name(cell), block))
    write_text(folder / "index.html", document(first(study, chance)))


def all_tables(study: Study, folder: Path, chance: random.Random) -> dict[str, Any]:
    """The metric files that the page shows as tables, with as many rows as it shows at most."""
    found, file = {}, folder / "metrics.csv"
    for kind in steps.collected(study):
        if kind in study_page.NO_TABLE:
            continue
        columns = metric_files.columns(steps.COLUMNS[kind])
        rows = (
            [invented_value(kind, study, chance) for kind in columns.values()] for _ in range(page_tables.MOST_ROWS)
        )
        metric_files.write(file, columns, rows)
        found[f"metrics-{kind}"] = page_tables.measured(file, kind)
    file.unlink()
    return found


def invented_value(kind: type, study: Study, chance: random.Random) -> str | float:
    """A value of a metric file."""
    if kind is str:
        return chance.choice(chance.choice(study.cells))
    return chance.random() if kind is float else chance.randrange(500)


def runs_of(study: Study, cell: Cell, points: int, chance: random.Random) -> dict[str, Any]:
    """A cell's part with random numbers."""
    seeds, at = study.seeds[cell], cell_page.thinned(200, points)

    def number() -> float:
        return page_tables.number(chance.random())

    def digest() -> str:
        return f"{chance.getrandbits(24):06x}"

    return {
        "says": "Invented.",
        "spec": study.spec(cell, seeds[0]).as_json(),
        "epochs": at,
        "runs": [
            {
                "seed": seed,
                "draw": None,
                "status": "completed",
                "epochs": 200,
                "seconds": number(),
                "resumed": [],
                "moved_bit": None,
            }
            | {"emulated": None, "initial": digest(), "weights": "".join(digest() for _ in at)}
            for seed in seeds
        ],
        "curves": {
            curve: [
                [page_tables.number(chance.random(), cell_page.DRAWN.get(curve, cell_page.OTHERS)) for _ in at]
                for _ in seeds
            ]
            for curve in cell_page.CURVES
        }
        | {"test_accuracy": [[chance.randrange(EXAMPLES) / EXAMPLES for _ in at] for _ in seeds]},
        "values": {metric: {str(seed): number() for seed in seeds} for metric in declared.OF_RUNS},
        "measures": {f"measure_{place}": [number(), number(), number(), SEEDS, 0] for place in range(50)},
        "partings": [
            {"seeds": [seeds[0], seed], "initial_equal": False, "draws_from": 1, "weights_from": 1, "equal": False}
            | {"tensors": ["conv1/kernel"] * cell_page.LISTED, "n_tensors": 12, "l2_unit": number(), "churn": number()}
            | {"flips": dict.fromkeys(cell_page.FLIPS, 9)}
            for seed in seeds[1:]
        ],
        "examples": [
            [place, kind, chance.randrange(EXAMPLES), *(str(chance.randrange(10)) for _ in range(3))]
            for place, kind in itertools.product(range(len(seeds) - 1), cell_page.FLIPS)
            for _ in range(cell_page.LISTED)
        ],
        "flipping": [
            [chance.randrange(EXAMPLES), str(chance.randrange(10)), "1 in 9 runs, 2 in 1 run", 9, 45]
            for _ in range(cell_page.OFTEN)
        ],
        "unit": "example",
        "texts": {},
        # What a digit of 8 x 8 pixels takes.
        "pictures": {
            str(number): f"{chance.getrandbits(1000):0250x}"[:PICTURE]
            for number in range(cell_page.most_drawn(points) // PICTURE)
        },
    }


def first(study: Study, chance: random.Random) -> dict[str, Any]:
    """The block of index.html with random numbers."""

    def values() -> dict[str, list[float]]:
        return {
            name: [*(page_tables.number(chance.random()) for _ in range(3)), SEEDS, 0] for name in declared.labels()
        }

    return {
        "study": study.name,
        "sentences": ["Invented."] * 3,
        "hero": {
            "measure": "churn",
            "where": "invented",
            "rows": [source(cell) for cell in study.cells[: len(VARIANTS)]],
        },
        "facts": [],
        "emulated": [],
        "measures": {name: list(one) for name, one in declared.labels().items()},
        "of_runs": {name: list(one) for name, one in declared.OF_RUNS.items()},
        "usual": list(declared.USUAL),
        "cells": [
            {"cell": list(cell), "seeds": list(study.seeds[cell]), "equal": None, "values": values()}
            for cell in study.cells
        ],
        "figures": [],
        "claims": [],
        "logs": "",
    }


def source(cell: Cell) -> dict[str, Any]:
    """A row of the first figure."""
    told = {"called": cell.variant, "where": "", "says": "5.00 % (4.00 to 6.00)", "runs": "10 runs", "over": ""}
    return {"cell": list(cell), "value": [5, 4, 6], **told}


def opened(study: Study, file: Path) -> None:
    """Open the first view, and a run with its statement, some times each in a window of its own."""
    cell = "/".join(study.cells[len(study.cells) // 2])
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for what, fragment in (("first view", ""), ("a run and its lineage", f"#run/{cell}/1")):
            took, painted = [], []
            for _ in range(REPEATS):
                page = browser.new_page()
                begun = time.perf_counter()
                page.goto(f"{file.as_uri()}{fragment}")
                page.locator("h1").wait_for()
                page.locator("[aria-busy]").first.wait_for(state="detached")
                took.append(time.perf_counter() - begun)
                paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
                painted.append(page.evaluate(paint) / 1000)
                page.close()
            shown = f"{statistics.median(took):.2f} s (median of {REPEATS}, up to {max(took):.2f} s)"
            print(f"{what}: all there after {shown}; first paint after {statistics.median(painted):.2f} s")
        browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
