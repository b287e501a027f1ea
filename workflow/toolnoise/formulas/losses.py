"""Losses that training programs leave: the negative log-likelihood of each token."""

from pathlib import Path

import numpy as np

from toolnoise.base.errors import BadInput


def require_losses(path: str | Path, values: np.ndarray) -> None:
    """Refuse what is no negative log-likelihood of each token, NaN where a segment is padded."""
    allowed = "floats from 0 up, segment x token or token: each token's negative log-likelihood, NaN for padding"
    if values.dtype.kind != "f" or values.ndim not in (1, 2) or not values.size:
        raise BadInput(path, "", f"found {values.dtype} of shape {values.shape}", allowed)
    padded = np.isnan(values)
    wrong = ~padded & ~((values >= 0) & (values < np.inf))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise BadInput(path, str(list(place)), f"found {values[place]}", allowed)
    empty = np.atleast_2d(padded).all(axis=1)
    if empty.any():
        place = f"[{int(empty.argmax())}]" if values.ndim > 1 else ""
        raise BadInput(path, place, "every token is NaN", "a loss of one token or more in each segment")


def lengths(losses: np.ndarray) -> np.ndarray:
    """The number of tokens of each segment, without padding; a row of tokens alone is one segment."""
    return np.count_nonzero(~np.isnan(np.atleast_2d(losses)), axis=1)
