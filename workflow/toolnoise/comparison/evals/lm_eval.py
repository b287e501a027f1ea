"""Samples of lm-evaluation-harness (`lm_eval --log_samples`): a line for each document and filter.

A metric is named as in its results: `exact_match,strict-match` is one metric after one filter. The filter may be left
out where a file has one. The answer is the text that the filter left, or the place of the likeliest choice.
"""

import re
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.comparison.evals.scored import Asked, Log, Scored, chosen, digest, field, number
from toolnoise.comparison.table_files import objects

NAMED = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+\.jsonl")
# What a line has besides its metrics.
KEYS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
KEYS |= {"doc_hash", "prompt_hash", "target_hash"}


def is_line(found: dict[str, Any]) -> bool:
    """Whether a line is of this harness."""
    return {"doc_id", "doc", "resps"} <= found.keys()


def read(path: str, asked: Asked) -> Log:
    """The samples in a file."""
    name = NAMED.fullmatch(Path(path).name)
    task, kept = name[1] if name else "", []
    for place, line in objects(path):
        key = f"line {place}"
        if not is_line(line):
            raise BadInput(path, key, "found no doc_id, doc and resps", "lines as lm_eval --log_samples writes them")
        doc = line["doc"]
        # Documents are large, and of each line a few values are kept.
        cluster = None
        if asked.cluster:
            cluster = task if asked.cluster == "task" and task else field(path, key, doc, asked.cluster)
        # Not every version writes its own hash.
        content = str(digest(doc) if doc else line.get("doc_hash") or digest(doc))
        about = Scored(str(line["doc_id"]), None, answer=_answer(line), cluster=cluster, content=content)
        kept.append((key, about, str(line.get("filter", "none")), _metrics(line)))
    filters = {of for _, _, of, _ in kept}
    full = {f"{metric},{of}": (metric, of) for _, _, of, metrics in kept for metric in metrics}
    if len(filters) == 1 and asked.metric not in full:
        full = {metric: (metric, of) for metric, of in full.values()}
    metric, wanted = full[chosen(path, full, asked.metric)]
    rows = []
    for key, about, of, metrics in kept:
        if of == wanted:
            if metric not in metrics:
                raise BadInput(path, key, f"found no {metric}", "the same metrics in every line")
            rows.append(about._replace(score=number(path, key, metrics[metric])))
    shown = f"{metric},{wanted}" if len(filters) > 1 else metric
    return Log(path, task, shown, f"read as samples of lm-evaluation-harness: {shown}", rows)


def _metrics(line: dict[str, Any]) -> dict[str, float]:
    """The metrics that are numbers."""
    names = line.get("metrics")
    # Older versions do not list them.
    names = names if isinstance(names, list) else [name for name in line if name not in KEYS]
    return {name: line[name] for name in map(str, names) if isinstance(line.get(name), bool | int | float)}


def _answer(line: dict[str, Any]) -> str | None:
    """The text that was answered, or the place of the likeliest choice."""
    found = line.get("filtered_resps")
    if not isinstance(found, list) or not found:
        return None
    if len(found) == 1:
        only = found[0][0] if isinstance(found[0], list) and len(found[0]) == 1 else found[0]
        return only.strip() if isinstance(only, str) else None
    # Of choices, each has its log-likelihood; unconditional ones, of another context, may stand behind.
    asked = line.get("arguments")
    parts = list(asked.values()) if isinstance(asked, dict) else asked if isinstance(asked, list) else []
    contexts = [part.get("arg_0") if isinstance(part, dict) else None for part in parts]
    same = [at for at, context in enumerate(contexts) if context == contexts[0]] or range(len(found))
    try:
        odds = {at: float(found[at][0]) for at in same}
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return str(max(odds, key=odds.__getitem__))
