"""What is said of ways to compute one training."""

import pandas as pd

from toolnoise.figures.findings import ratio, said


def of_ways(rows: pd.DataFrame) -> str:
    """How many answers other ways change at most, beside a new seed."""
    ratios = rows[(rows["metric"] == "churn_to_seeds") & rows["value"].notna()]
    if ratios.empty:
        return "Which ways to compute one training change answers?"
    most = ratios.loc[ratios["value"].idxmax()]
    if most["value"] == 0:
        return f"None of {ratios['setting'].nunique()} other ways to compute the training changes an answer"
    where = f"({most['setting']} on {most['model']})"
    return f"Other ways to compute the training change up to {said(most, ratio)} of what a new seed changes {where}"


def named(row: pd.Series, bit_equal: pd.Series, first: pd.Series) -> str:
    """A way, and how it differs: in no bit, or by how much the loss of the first epoch differs."""
    key = row["model"], row["dataset"], row["other_hardware"]
    return f"{row['setting']} ({'=' if bit_equal[key] == 1 else f'{first[key]:.0e}'})"
