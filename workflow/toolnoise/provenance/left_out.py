"""The list of the files that a slim copy of results does not have, and the statement of that list.

The archives in evidence/ are slim copies, made by earlier versions of this program. A slim copy may lack what is large
or can be made again: weights, predictions, data, executed notebooks. It may lack
nothing else, whatever its list says: a metric or a figure that is gone is missing. The list has a statement, which
names the root. It is the statement of no job, so those who read the statements of jobs do not see it.
"""

import re
from typing import NamedTuple

from toolnoise.provenance.statements import FOLDER, SUFFIX
from toolnoise.study import layout

FILE = "left-out.json"
STATEMENT = f"{FOLDER}/{FILE}{SUFFIX}"
VERB = "slim"
# Executed notebooks have their pictures among the figures. Snakemake's report repeats these, and has scripts.
KINDS = {
    layout.WEIGHTS: "weights",
    layout.LOGITS: "predictions",
    layout.EXCHANGED: "predictions",
    layout.REMEDIED: "predictions",
    layout.GRAMS: "Gram matrices of layers",
    layout.DATA: "data sets",
    layout.NOTEBOOK: "executed notebooks",
    layout.REPORT: "reports",
}
_PATTERNS = {re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(where))): kind for where, kind in KINDS.items()}


class Listed(NamedTuple):
    """A list: its digest and size, and the files on it that no slim copy leaves out."""

    sha256: str
    size: int
    refused: tuple[str, ...]


def kind(path: str) -> str | None:
    """What a file at a path in a study is, if a slim copy leaves it out."""
    return next((kind for pattern, kind in _PATTERNS.items() if pattern.fullmatch(f"results/study/{path}")), None)
