"""The figure and the table of claims."""

from toolnoise.study.kind import PUBLISHED, Kind

KINDS = {
    "claims": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
    ),
    "claim_parts": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        category=PUBLISHED,
    ),
}
