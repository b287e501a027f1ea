"""What the page of a study and `toolnoise summary` show of claims: the verdicts, by paper on the page."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise.papers.claims import judging, sentences
from toolnoise.papers.claims.judging import OPEN, PUBLISHED, REFUTED, STUDY, SUPPORTED, WHOLE
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
                    "published": sentences.sentence(published.loc[row.claim], short=True),
                }
                for row in rows.itertuples()
            ],
        }


def summary(study: Study) -> list[str]:
    """How many of the claims that the study is about it decides, in one line; nothing if it is about none."""
    verdicts = _verdicts(study)
    if verdicts is None:
        return []
    here = verdicts[(verdicts["part"] == WHOLE) & (verdicts["side"] == STUDY)]
    counted = Counter(here["verdict"])
    decided = counted[SUPPORTED] + counted[REFUTED]
    about = decided + counted[OPEN]
    return [f"enough runs to decide {decided} of {about} claims: toolnoise summary --claims"] if about else []


def verdicts(study: Study) -> list[str]:
    """The verdicts in sentences."""
    verdicts = _verdicts(study)
    return ["no verdicts on claims yet: snakemake claims"] if verdicts is None else sentences.paragraphs(verdicts)


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
