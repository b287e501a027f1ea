"""What the summary of a study says of claims."""

from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise.analyses.claims import judging, sentences
from toolnoise.study import layout
from toolnoise.study.study import Study


def lines(study: Study) -> list[str]:
    """The verdicts for people."""
    verdicts = _verdicts(study)
    if verdicts is None:
        return ["no verdicts on claims yet: snakemake claims"]
    return ["", "Verdicts on claims:", *sentences.paragraphs(verdicts)]


def values(study: Study) -> dict[str, Any]:
    """The same as plain values; null before there are verdicts."""
    verdicts, shown = _verdicts(study), ["paper", "claim", "says", "side", "verdict"]
    whole = None if verdicts is None else verdicts.loc[verdicts["part"] == judging.WHOLE, shown].to_dict("records")
    return {"claims": whole}


def _verdicts(study: Study) -> pd.DataFrame | None:
    claims = study.path(layout.CLAIMS)
    return judging.read(claims) if Path(claims).exists() else None
