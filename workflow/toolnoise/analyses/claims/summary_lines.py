"""What `toolnoise summary` says of claims: the verdicts of a study."""

from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise.analyses.claims import judging, sentences
from toolnoise.analyses.claims.judging import WHOLE
from toolnoise.study import layout
from toolnoise.study.study import Study


def lines(study: Study) -> list[str]:
    """The verdicts as lines of text."""
    verdicts = _verdicts(study)
    if verdicts is None:
        return ["no verdicts on claims yet: snakemake claims"]
    return ["", "Verdicts on claims:", *sentences.paragraphs(verdicts)]


def values(study: Study) -> dict[str, Any]:
    """The verdicts as plain values; null before there are any."""
    verdicts = _verdicts(study)
    if verdicts is None:
        return {"claims": None}
    whole = verdicts[verdicts["part"] == WHOLE]
    return {"claims": whole[["paper", "claim", "says", "side", "verdict"]].to_dict("records")}


def _verdicts(study: Study) -> pd.DataFrame | None:
    claims = study.path(layout.CLAIMS)
    return judging.read(claims) if Path(claims).exists() else None
