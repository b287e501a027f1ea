"""Rows of pairs of frameworks for a figure: their names, and the churn between two as parts."""

from collections.abc import Mapping, Sequence

import pandas as pd

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.figures import selection, style
from toolnoise.figures.findings import churn, share

TOTAL, TRAINING = "in all", "training"
TINTS = {TOTAL: "#555555", TRAINING: "#D55E00"}
INFERENCE = "#0072B2"


def versions(
    identical: Sequence[str], hardware: Sequence[str], tasks: Sequence[Sequence[str]]
) -> dict[str, tuple[str, str]]:
    """Each tooling's framework and its version, from files of identical runs; its own name without these."""
    if not identical:
        return {name: (name, "") for name in hardware}
    rows = metric_files.read(identical, metric_files.columns("toolnoise.papers.identical.measure:IDENTICAL"))
    rows = selection.of_tasks(rows.assign(model=rows["network"]), tasks)
    rows = rows.drop_duplicates("hardware").set_index("hardware")[["backend", "backend_version"]]
    return {
        name: (style.framework_name(rows.loc[name, "backend"]), rows.loc[name, "backend_version"]) for name in hardware
    }


def brief(named: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Each tooling's framework without its version, or the tooling if two have the same framework."""
    short = {name: framework for name, (framework, _) in named.items()}
    return short if len(set(short.values())) == len(short) else {name: name for name in named}


def pairs(
    rows: pd.DataFrame, paths: str | Sequence[str], hardware: Sequence[str], tasks: Sequence[Sequence[str]]
) -> pd.DataFrame:
    """Rows of these tasks for pairs of these toolings; there must be some."""
    both = selection.of_tasks(rows, tasks)
    both = both[both["hardware"].isin(hardware) & both["other_hardware"].isin(hardware)]
    if both.empty:
        raise BadInput(
            selection.file_names(paths), "hardware", f"no pair among {', '.join(hardware)}", "name two of its toolings"
        )
    return both


def parts(split: pd.DataFrame, short: Mapping[str, str]) -> pd.DataFrame:
    """Churn between two frameworks in all, of inference alone on either's networks, and of training."""
    found = []
    ways = split[split["metric"] == "churn"].drop_duplicates(["hardware", "other_hardware", "variant"])
    for one, other, variant in ways[["hardware", "other_hardware", "variant"]].itertuples(index=False):
        place = f"{short[one]} ↔ {short[other]}, {style.variant_name(variant)}"
        lines = {TOTAL: (one, other, "churn"), TRAINING: (one, other, "churn_training")}
        for first, second in ((one, other), (other, one)):
            lines[f"inference of {short[first]}'s"] = (first, second, "churn_inference")
        for name, (first, second, metric) in lines.items():
            mine = (split["hardware"] == first) & (split["other_hardware"] == second) & (split["metric"] == metric)
            row = split[mine & (split["variant"] == variant)]
            found.append(row.assign(metric="churn", source=variant, variant=name, place=place))
    return pd.concat(found)


def tints(rows: pd.DataFrame) -> dict[str, str]:
    """The colour of each part of the churn."""
    return {name: TINTS.get(name, INFERENCE) for name in selection.unique(rows["variant"])}


def logits(split: pd.DataFrame) -> str:
    """How far inference alone moves logits, at the least and the most of all pairs and variants."""
    values = split[split["metric"] == "logits_relative_difference"]["value"].dropna()
    most = split[split["metric"] == "logits_max_difference"]["value"].max()
    if values.empty:
        return ""
    span = " to ".join(dict.fromkeys(f"{end:.1e}" for end in (values.min(), values.max())))
    return f"Inference moves logits by {span} of their length, mean over examples, and by at most {most:.1e}."


def of_pairs(across: pd.DataFrame) -> str:
    """How many answers change with the tooling alone."""
    same = churn(across, "algo", "control")
    if same.empty:
        return "How far does the same run differ between toolings?"
    return f"The tooling alone changes {share(same)}"


def of_parts(rows: pd.DataFrame) -> str:
    """How much of the churn between two frameworks is inference's."""
    rows = rows[rows["value"].notna()]
    # As in the figure `across_toolings`.
    rows = rows[rows["source"] == "algo"] if "algo" in set(rows["source"]) else rows
    inference, training = rows[rows["variant"].str.startswith("inference")], rows[rows["variant"] == "training"]
    if inference.empty or training.empty:
        return "Do frameworks part in inference or in training?"
    trains = "; training does" if inference["value"].max() == 0 < training["value"].max() else ""
    return f"Inference alone changes {share(inference)}{trains}"
