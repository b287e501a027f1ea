"""Formulas of measures: pure functions from the arrays of a cell's runs to rows of a metric file."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # This imports SciPy, which takes half a second.
    from toolnoise.stats.estimates import Estimate

Row = tuple[str, str, "Estimate"]  # metric, group, estimate
