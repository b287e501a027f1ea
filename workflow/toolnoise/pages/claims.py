"""What the page of a study shows of claims: the verdicts, by paper."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolnoise.papers.claims import judging, sentences
from toolnoise.papers.claims.judging import PUBLISHED, STUDY, WHOLE


def by_paper(path: Path) -> Iterator[dict[str, Any]]:
    """Each paper's claims in sentences, on the published numbers and on the study, from the verdicts on all."""
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
                    "published": sentences.sentence(published.loc[row.claim], short=True),
                }
                for row in rows.itertuples()
            ],
        }
