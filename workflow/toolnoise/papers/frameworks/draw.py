"""Pairs of toolings in figures: their rows, and the frameworks by name."""

from collections.abc import Mapping, Sequence

import pandas as pd

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.figures import selection, style


def framework_versions(
    identical: Sequence[str], hardware: Sequence[str], tasks: Sequence[Sequence[str]]
) -> dict[str, tuple[str, str]]:
    """Each tooling's framework and its version, from files of identical runs; without these, the tooling's name."""
    if not identical:
        return {name: (name, "") for name in hardware}
    rows = metric_files.read_metrics(identical, metric_files.columns_at("toolnoise.papers.identical.metric:IDENTICAL"))
    rows = selection.of_tasks(rows.assign(model=rows["network"]), tasks)
    rows = rows.drop_duplicates("hardware").set_index("hardware")[["backend", "backend_version"]]
    return {
        name: (style.framework_name(rows.loc[name, "backend"]), rows.loc[name, "backend_version"]) for name in hardware
    }


def framework_names(named: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Each tooling's framework without its version, or the tooling if two have the same framework."""
    short = {name: framework for name, (framework, _) in named.items()}
    return short if len(set(short.values())) == len(short) else {name: name for name in named}


def rows_of_pairs(
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
