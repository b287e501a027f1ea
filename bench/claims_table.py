"""The papers' claims with their verdicts, as the Markdown tables of docs/tables/claims.txt.

    .venv/bin/python bench/claims_table.py [--write] evidence/gpu-h100.tar.xz

With --write, they take the place of those that are there. Each folder or archive is a finished study: its claims are
judged again from its metric files, with the registry and the statistics of this code. The published numbers come first.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise import steps
from toolnoise.analyses.claims import judging, sentences
from toolnoise.analyses.claims.effects import Side
from toolnoise.analyses.claims.judging import ABSENT, CERTAIN, CLAIMS, OPEN, WHOLE
from toolnoise.analyses.claims.whole import JUDGED, claimed, toolings
from toolnoise.base import program
from toolnoise.record import unpacked
from toolnoise.study import config, grid

TABLES = program.ROOT / "docs/tables/claims.txt"
HEAD = """\
The claims of the three papers with their verdicts, by `python bench/claims_table.py --write evidence/gpu-h100.tar.xz`.
docs/claims.md explains the words.
"""
NONE = "-"


def sides(root: Path) -> tuple[list[dict[str, Any]], Side]:
    """The claims of a finished study, and what they are judged on."""
    study = grid.load(root / "study.json")
    files = {kind: root / "metrics" / Path(name).name for kind, name in steps.collected(study).items()}
    read = judging.read_tables({kind: files[kind] for kind in JUDGED if kind in files}, JUDGED)
    return claimed(study), judging.by_study(read, toolings(study))


def verdicts(claims: list[dict[str, Any]], side: Side) -> pd.DataFrame:
    """The verdicts on claims as a whole, by name."""
    rows = pd.DataFrame(judging.verdicts(claims, side), columns=list(CLAIMS))
    return rows[rows["part"] == WHOLE].set_index("claim")


def table(roots: Sequence[Path]) -> str:
    """The claims of each paper, on the published numbers and on studies."""
    claims = [{"name": name, **claim} for name, claim in config.registered("claims").items()]
    found = {"published": verdicts(claims, judging.by_publication())}
    found |= {root.name: verdicts(*sides(root)) for root in roots}
    lines = []
    for paper in dict.fromkeys(claim["paper"] for claim in claims):
        heads = ["the paper says", *found]
        lines += ["", f"### {paper}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        without = []
        for claim in claims:
            if claim["paper"] == paper:
                told = [_told(rows.loc[claim["name"]]) for rows in found.values()]
                if {*told} == {NONE}:
                    without.append(claim["says"])
                else:
                    lines.append(f"| {' | '.join([claim['says'], *told])} |")
        if without:
            lines += ["", f"Without numbers, and not run: {'; '.join(without)}."]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, nargs="*", help="the folder or archive of a finished study")
    parser.add_argument("--write", action="store_true", help="write them to docs/tables/claims.txt")
    options = parser.parse_args()
    with unpacked.opened(*options.study) as roots:
        found = table(roots)
    if options.write:
        TABLES.write_text(HEAD + found, "utf-8")
    else:
        print(found)


def _told(row: pd.Series) -> str:
    if row["verdict"] in ABSENT.values():
        return NONE
    words = row["verdict"] if row["verdict"] in (OPEN, CERTAIN) else f"**{row['verdict']}**"
    words += ", emulated" if row["emulated"] else ""
    if pd.notna(row["value"]):
        words += f": {sentences.effect(row).removeprefix('ratio ')}"
    return words


if __name__ == "__main__":
    main()
