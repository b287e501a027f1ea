"""What the page of a study shows of claims: the verdicts by paper, here and on the published numbers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolnoise.analyses.claims import judging, sentences
from toolnoise.analyses.claims.judging import PUBLISHED, STUDY, WHOLE

FILE = "metrics/claims.csv"


def shown(files: Mapping[str, Path]) -> dict[str, Any]:
    """The page's part, from the study's files by their places in it."""
    return {"claims": list(_claims(files[FILE]))} if FILE in files else {}


def _claims(path: Path) -> Iterator[dict[str, Any]]:
    whole = judging.read(path)
    whole = whole[whole["part"] == WHOLE]
    published = whole[whole["side"] == PUBLISHED].set_index("claim")
    for paper, rows in whole[whole["side"] == STUDY].groupby("paper", sort=False):
        yield {
            "paper": paper,
            "claims": [
                {
                    "says": row.says,
                    "verdict": row.verdict,
                    "here": sentences.sentence(row),
                    "published": sentences.sentence(published.loc[row.claim], short=True)
                    if row.claim in published.index
                    else "",
                }
                for row in rows.itertuples()
            ],
        }
