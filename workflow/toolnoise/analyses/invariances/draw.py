"""What is said of ways to compute one training."""

import pandas as pd

from toolnoise.figures.findings import ratio, said


def of_ways(rows: pd.DataFrame) -> str:
    """Which way changes most answers, beside a new seed."""
    ratios = rows[(rows["metric"] == "churn_to_seeds") & rows["value"].notna()]
    if ratios.empty:
        return "Which ways to compute one training change answers?"
    most = ratios.loc[ratios["value"].idxmax()]
    if most["value"] == 0:
        return f"None of {ratios['setting'].nunique()} other ways to compute the training changes an answer"
    worded = said(most, ratio)
    return f"{most['setting']} changes most: its churn on {most['model']} is {worded} times that of a new seed"


def named(row: pd.Series, bit_equal: pd.Series, first: pd.Series) -> str:
    """A way, and how it differs: in no bit, or by how much the loss of the first epoch differs."""
    key = row["model"], row["dataset"], row["other_hardware"]
    return f"{row['setting']} ({'=' if bit_equal[key] == 1 else f'{first[key]:.0e}'})"
