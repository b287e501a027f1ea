"""The content of the figure and the table of language models: names and units, rows, entries, the figure's title."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from toolnoise.figures import dots, findings, selection, style
from toolnoise.figures.style import Measure
from toolnoise.figures.tables import Entry
from toolnoise.stats.estimates import Estimate

SHOWN = ("perplexity_sd", "churn", "divergence", "continuation_left")
DECIMALS = 4  # of perplexity, at most
# On the panels the churn of tokens has a name of its own, as its unit is not that of examples.
TOKEN_CHURN = {"churn": "token_churn"}
DRAWN = tuple(TOKEN_CHURN.get(metric, metric) for metric in SHOWN)
# `dots` finds a measure's name and unit in this table of all figures.
style.MEASURES.update(
    {
        "perplexity_sd": Measure("SD of perplexity", "perplexity", 1),
        "token_churn": Measure("Token churn", "% of test tokens", 100),
        "divergence": Measure("Divergence", "bits", 1),
        "continuation_left": Measure("Continuation apart", "% of its tokens", 100),
    }
)


def rows_of_figure(table: pd.DataFrame, paths: Sequence[str], hardware: Sequence[str], tasks: Sequence) -> pd.DataFrame:
    """The rows of the figure from those of `stability.csv` and `language.csv`, which have the same columns."""
    return pd.concat([selection.select_rows(table, paths, metric, hardware, tasks) for metric in SHOWN])


def of_runs(table: pd.DataFrame, hardware: Sequence[str], tasks: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Each run's own part in churn and in the SD of perplexity."""
    entropies = table[table["metric"] == "cross_entropy"]
    # `dots` computes a run's distance from the mean of its draws only for `accuracy`, so perplexity gets that name.
    perplexities = entropies.assign(metric="accuracy", value=np.exp(entropies["value"]))
    values = dots.of_runs(pd.concat([table[table["metric"] == "churn"], perplexities]), hardware, tasks)
    return values.replace({"metric": TOKEN_CHURN | {"accuracy_sd": "perplexity_sd"}})


def keep_the_likeliest(table: pd.DataFrame, tasks: Sequence[Sequence[str]]) -> list[str]:
    """The data sets with only the likeliest tokens kept: these have no correlation of scores."""
    shown = selection.of_tasks(table, tasks)
    correlated = set(shown[shown["metric"] == "correlation_spearman"]["dataset"])
    return [name for name in selection.distinct_names(shown["dataset"]) if name not in correlated]


def rarest_group(table: pd.DataFrame) -> dict[str, str]:
    """The sub-group of the rarest tokens of each data set that has sub-groups by `frequency`."""
    groups = table[table["group"].str.startswith("up-to-")]
    return dict(zip(groups["dataset"], groups["group"], strict=True))


def number_text(value: float, digits: int) -> str:
    """A number with `digits` decimals, or one significant digit if it would round to zero; a bare 0 or 1 is exact."""
    text = f"{value:.{digits}f}"
    return f"{value:.0f}" if value in (0, 1) else f"{value:.1g}" if float(text) == 0 else text


def entry_of_table(estimate: Estimate, scale: float, digits: int) -> Entry:
    """A number and its interval, which bit-equal runs do not have."""
    if np.isnan(estimate.value):
        return Entry("n/a")
    value, low, high = (number_text(scale * end, digits) for end in estimate)
    bare = np.isnan(estimate.low) or estimate.low == estimate.high
    return Entry(value, "" if bare else f"{low} to {high}")


def mean_and_sd(mean: Estimate, sd: Estimate) -> Entry:
    """Mean ± SD of perplexity, with two significant digits of the SD, and the SD's interval; a bare ± 0 is exact."""
    if np.isnan(mean.value):
        return Entry("n/a")
    if np.isnan(sd.value):
        return Entry(f"{mean.value:.2f}", "SD n/a")
    if sd.value == 0:
        return Entry(f"{mean.value:.{DECIMALS}f} ± 0")
    digits = min(max(1 - int(np.floor(np.log10(sd.value))), 0), DECIMALS)
    ends = "" if np.isnan(sd.low) else f"SD {number_text(sd.low, digits)} to {number_text(sd.high, digits)}"
    return Entry(f"{mean.value:.{digits}f} ± {number_text(sd.value, digits)}", ends)


def of_language(shown: pd.DataFrame, emulated: bool = False) -> str:
    """How many next tokens differ between two runs of one training."""
    whole = findings.churn_rows(shown, "algo_impl", "algo")
    if len(whole):
        return f"Two runs differ in {findings.share_text(whole, 'next tokens')}"
    churns = shown[(shown["metric"] == "churn") & shown["value"].notna()]
    varied = churns[churns["variant"] != "control"]
    if len(varied):
        variants = selection.distinct_names(varied["variant"])
        changed = findings.share_text(varied, "next tokens")
        if len(variants) > 1:
            return f"Single sources change {changed}"
        return f"{'Emulated noise' if emulated else style.variant_name(variants[0])} alone changes {changed}"
    if len(churns) and churns["value"].max() == 0:
        return "With every source fixed, runs predict the same tokens"
    return "How far do runs of one language model end apart?"
