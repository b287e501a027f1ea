"""Syntax trees of text that others wrote, perhaps for another Python than this one."""

import ast
import warnings

# What parsing raises for a text that this Python does not read. The last two are for nesting that is too deep.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def tree(code: str | bytes) -> ast.Module:
    """The tree of a text; what Python would warn of in it is its author's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)
