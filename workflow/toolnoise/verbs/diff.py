"""`toolnoise diff`: what differs between two results, and where it began."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput, as_given
from toolnoise.commands.verb import AS_JSON, VERIFY, Verb, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive, diff

    with archive.opened(options.a, options.b) as pair:
        found = compared(*pair)
    show(found if options.json else diff.as_text(found))
    sys.stdout.flush()
    sys.exit(0 if found["equal"] else 1)


def compared(path_a: str | Path, path_b: str | Path) -> dict[str, Any]:
    """All differences between A and B, as a JSON-like value whose `equal` is the verdict."""
    from toolnoise.measures import two_runs
    from toolnoise.provenance import diff

    (kind, a), (other, b) = two_runs.kind_of(path_a), two_runs.kind_of(path_b)
    if kind != other:
        raise BadInput(path_b, "", f"a {other}, and {path_a} is a {kind}", two_runs.WANTED)
    if kind == two_runs.RUN:
        found = two_runs.compare_runs(a, b, diff.made_from)
    elif kind == two_runs.CELL:
        found = two_runs.compare_cells(a, b, diff.made_from)
        found["made_from"] = diff.merged(run["made_from"] for run in found["runs"])
    else:
        found = diff.compare_results(a, b, partial(two_runs.compare_cells_of, made_from=diff.made_from))
    return {"kind": kind, "a": as_given(path_a), "b": as_given(path_b), **found}


VERB = Verb(
    group=VERIFY,
    says="print the differences between two runs, cells or folders",
    example="toolnoise diff results/demo ../elsewhere/results/demo",
    run=_run,
    arguments={
        "A": {"help": "a run, a cell, a study's results or archive, or a results folder"},
        "B": {"help": "another of the same kind"},
        **AS_JSON,
    },
)
