"""What the summary of a study adds of adopted runs that left metrics: whether their arms differ."""

from typing import Any

from toolnoise.base import metric_files
from toolnoise.formulas.outcomes import METRIC
from toolnoise.study import layout
from toolnoise.study.study import Study


def summary(study: Study) -> list[str]:
    """A sentence for each metric of each arm, as `toolnoise compare --metric` has it."""
    lines = []
    for place, runs, found in _compared(study):
        from toolnoise.comparison import compared_metrics  # slow to import, and most studies have no such arms

        counts = ", ".join(f"{arm} {(runs.about['arm'] == arm).sum()}" for arm in runs.arms)
        compared = f"others compared with {runs.arms[0]}; not paired; {compared_metrics.tests(found)} tests, Holm"
        lines += ["", f"Do adopted arms differ ({place}; runs: {counts}; {compared})?"]
        lines += [
            *(compared_metrics.sentences(each)[0] for each in found),
            *(f"{metric.better.partition(' (')[0]}, by its name." for metric in runs.metrics),
        ]
    return lines


def summary_values(study: Study) -> dict[str, Any]:
    """The comparisons as plain values."""
    compared = _compared(study)
    if not compared:
        return {}
    from toolnoise.comparison import compared_metrics

    return {
        "adopted_arms": [compared_metrics.as_json(runs, found) | {"cells": place} for place, runs, found in compared]
    }


def _compared(study: Study) -> list[tuple[str, Any, Any]]:
    """The adopted arms of each place, its data set, hardware and variant, by all metrics."""
    models = study.config["models"]
    arms = {
        cell for cell in study.cells if "adopted" in models[cell.model] and models[cell.model].get("outcome") == METRIC
    }
    if not arms:
        return []
    from toolnoise.comparison import compared_metrics
    from toolnoise.comparison.metric_names import directed
    from toolnoise.comparison.metric_runs import as_runs
    from toolnoise.formulas.per_run import RUNS

    rows = metric_files.read(study.path(layout.COLLECTED, file="runs"), RUNS)
    found = []
    for place in dict.fromkeys(cell[1:] for cell in study.cells if cell in arms):
        names = [cell.model for cell in study.cells if cell in arms and cell[1:] == place]
        runs = []
        for name in names:
            of_cell = rows[(rows[["model", "dataset", "hardware", "variant"]] == [name, *place]).all(axis=1)]
            for _, of_run in of_cell[of_cell["group"] == "all"].groupby("seed"):
                # Runs of two arms with one seed share nothing that is known.
                runs.append((name, None, dict(zip(of_run["metric"], of_run["value"], strict=True))))
        of_place = as_runs(runs, directed(tuple(dict.fromkeys(metric for *_, metrics in runs for metric in metrics))))
        if len(of_place.arms) > 1:
            found.append(("/".join(place), of_place, compared_metrics.compare(of_place)))
    return found
