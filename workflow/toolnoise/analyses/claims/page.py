"""What the page of a study and `toolnoise summary` show of claims: the verdicts, by paper on the page."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise.analyses.claims import judging, sentences
from toolnoise.analyses.claims.judging import PUBLISHED, STUDY, WHOLE
from toolnoise.study import layout
from toolnoise.study.study import Study

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


def summary(study: Study) -> list[str]:
    """The verdicts as lines of the summary."""
    verdicts = _verdicts(study)
    if verdicts is None:
        return ["no verdicts on claims yet: snakemake claims"]
    return ["", "Verdicts on claims:", *sentences.paragraphs(verdicts)]


def summary_values(study: Study) -> dict[str, Any]:
    """The verdicts as plain values; null before there are any."""
    verdicts = _verdicts(study)
    if verdicts is None:
        return {"claims": None}
    whole = verdicts[verdicts["part"] == WHOLE]
    return {"claims": whole[["paper", "claim", "says", "side", "verdict"]].to_dict("records")}


def _verdicts(study: Study) -> pd.DataFrame | None:
    claims = study.path(layout.CLAIMS)
    return judging.read(claims) if Path(claims).exists() else None
