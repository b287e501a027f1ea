"""Training segments of a text, all or some, among which a token may have a given share of the labels.

The draws are the same in every study: the segments that have the token among their labels, and the others, have one
random order each, and a set takes the first of them. So the token's segments at a smaller share are among those at a
larger one, and the other way round for the rest. The number of segments is that of `train_examples` at every share.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from toolnoise import streams
from toolnoise.base.errors import BadInput


def chosen(member: np.ndarray, entry: Mapping[str, Any], source: str) -> np.ndarray:
    """The places of the `train_examples` segments, in order; `member` [N, L] marks the labels that are the token."""
    available, length = member.shape
    total = entry["train_examples"]
    if total > available:
        raise BadInput(source, "train_examples", f"found {total}", f"allowed: {available} or fewer")
    if "group_share" not in entry:
        return np.sort(_order(np.arange(available), "all")[:total])
    has = member.any(1)
    having, others = _order(np.flatnonzero(has), entry["group"], "with"), _order(np.flatnonzero(~has), "without")
    labels = np.cumsum([0, *member[having].sum(1)])  # that are the token, in the first 0, 1, 2, ... of these segments
    wanted = round(entry["group_share"] * total * length)
    least, most = labels[max(0, total - len(others) - 1)] + 1, labels[min(len(having), total)]
    if not least <= wanted <= most:
        found = f"found {entry['group_share']:g}, {wanted} of {total * length} labels"
        raise BadInput(source, "group_share", found, f"allowed: {least} to {most}")
    needed = int(np.searchsorted(labels, wanted))
    return np.sort([*having[:needed], *others[: total - needed]])


def _order(places: np.ndarray, *what: str) -> np.ndarray:
    return places[streams.permutation(streams.key(0, streams.DATA, 0, "thinning", *what), len(places))]
