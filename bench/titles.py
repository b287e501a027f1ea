"""The titles of a study's figures beside the numbers behind them, as Markdown: are they true of the metric files?

    .venv/bin/python bench/titles.py [STUDY ...]

Each figure of each study is drawn from its metric files (bench/gallery.py), into no file. Below a title stand the rows
that it words: those of the estimates that it names, or, of a title that counts, the rows that it counts. A claim's rows
are in metrics/claims.csv.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import pandas as pd
from gallery import STUDIES, drawn, found, has_metrics

from toolnoise.figures import findings, sheets
from toolnoise.study import analyses
from toolnoise.study.catalogue import KINDS
from toolnoise.study.kind import FIGURES

NUMBERS = ("value", "ci_low", "ci_high", "low", "high", "null_low", "null_high", "independent", "n_runs", "n_missing")
NAMES = (
    *("model", "dataset", "hardware", "other_hardware", "over_model", "over_variant", "place", "name", "group"),
    *("variant", "factor", "layer", "members", "step", "metric", "quantity", "above", "unlike"),
)


@contextmanager
def noted() -> Iterator[dict[str, Any]]:
    """What the titles drawn meanwhile say, and the rows that they were given and worded."""
    notes: dict[str, Any] = {"title": "", "given": [], "worded": []}
    word, frame = findings.said, sheets.frame

    def said(row: pd.Series, *how: Any) -> str:
        notes["worded"].append(row.to_frame().T)
        return word(row, *how)

    def framed(figure: Any, title: str, *rest: Any, **more: Any) -> None:
        notes["title"] = title
        frame(figure, title, *rest, **more)

    def given(finding: Any) -> Any:
        def of(*rows: Any) -> str:
            notes["given"] += [some for some in rows if isinstance(some, pd.DataFrame) and len(some)]
            return finding(*rows)

        return of

    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(sheets, "frame", framed))
        for module in (findings, *analyses.modules("draw")):
            made = {name: given(finding) for name, finding in vars(module).items() if name.startswith("of_")}
            made |= {"said": said} if hasattr(module, "said") else {}
            for name, other in made.items():
                patches.enter_context(mock.patch.object(module, name, other))
        yield notes


def rows_of(notes: dict[str, Any]) -> list[str]:
    """The rows behind a title, as lines of a Markdown list."""
    lines = []
    for rows in notes["worded"] or notes["given"]:
        for row in rows.to_dict("records"):
            about = [f"{row[name]}" for name in NAMES if name in row and not pd.isna(row[name]) and row[name] != ""]
            about += [f"{name} {row[name]:.5g}" for name in NUMBERS if name in row and not pd.isna(row[name])]
            lines.append(f"* {', '.join(about)}")
    return list(dict.fromkeys(lines))


def main() -> None:
    """Print the titles of the figures of some studies, each with the rows behind it."""
    for name in sys.argv[1:] or filter(has_metrics, STUDIES):
        study = found(name)
        print(f"# {name}\n")
        for figure in study.figures:
            if KINDS[figure.notebook].category == FIGURES:
                with noted() as notes, drawn(study, figure):
                    pass
                print(f"## {figure.name}\n\n**{notes['title']}**\n", *rows_of(notes), "", sep="\n")


if __name__ == "__main__":
    main()
