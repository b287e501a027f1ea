"""The figure and the table of language models."""

from collections.abc import Iterable
from typing import Any

from toolnoise.datasets.outcomes import TOKENS
from toolnoise.study.cells import Cell
from toolnoise.study.entries import outcome
from toolnoise.study.kind import TABLES, Kind, by_tooling


def of_text(cells: Iterable[Cell], config: dict[str, Any]) -> list[Cell]:
    """Those of these cells whose data are text."""
    return [cell for cell in cells if outcome(config["datasets"][cell.dataset]) == TOKENS]


NEEDS = "a model that is built here, on a data set of text"

KINDS = {
    "language": Kind(
        ("stability", "language", "runs"),
        lambda grid: (of_text(grid.built, grid.config), by_tooling),
        needs=NEEDS,
        also=("ratios",),
        takes=("width",),
        caption="""Language models of study *{study}*, by the sources that may vary: the SD of perplexity, the share of
            next tokens that two runs predict differently, the Jensen-Shannon divergence of their distributions of the
            next token, and how much of a greedy continuation has diverged, counted from the first token that differs.
            Small dots are the runs.""",
    ),
    "table_language": Kind(
        ("stability", "language"),
        lambda grid: (of_text(grid.built, grid.config), None),
        needs=NEEDS,
        category=TABLES,
        caption="""Language models of study *{study}* by the measures of Summers and Dinneen (arXiv:2103.04514):
            perplexity and its SD, churn of next tokens, the correlation of two runs' scores, and how much lower the
            perplexity of a pair's averaged scores is; and the divergence of their distributions. The last columns scale
            churn to the range that the errors of two runs allow, for all tokens and for the rarest. Their numbers for
            the Penn Treebank are not at hand.""",
    ),
}
