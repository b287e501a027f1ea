"""What claims add to a study: their figure and table, and checks beyond the schema."""

from pathlib import Path
from typing import Any

from toolnoise.analyses.claims.plan import require_possible
from toolnoise.study.kind import PUBLISHED, Kind

KINDS = {
    "claims": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        caption="""Claims of Zhuang et al. (arXiv:2106.11872), Summers & Dinneen (arXiv:2103.04514) and Pham et al.
            (doi:10.1145/3324884.3416545), and those of the study file, with a verdict on each: by the numbers that
            were published, and by study *{study}*. A dot is the effect with the interval that decides, after Holm's
            adjustment within its paper; small grey dots are its parts, by task and tooling. The blue band is what
            the claim says. A claim is supported if the interval lies on its side, and refuted if it lies on the
            other. Otherwise it cannot be told, and n is about the number of independent runs per arm that would
            support or refute it with 80 % power at the observed effect. Claims that cannot fail are neither judged
            nor counted.""",
    ),
    "claim_parts": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        category=PUBLISHED,
        caption="""The parts of the claims, by task and tooling, on the published numbers and on study *{study}*: each
            with its effect, 95 % confidence interval, p-value and p-value after Holm's adjustment within its claim.""",
    ),
}


def check_registry(name: str, entries: dict[str, Any], path: Path) -> None:
    """Check the papers' claims."""
    if name == "claims":
        require_possible(entries, (), "", path)


def check(config: dict[str, Any], registered: dict[str, Any], file: str | Path) -> None:
    """Check a study's own claims beside the papers'."""
    require_possible(config["claims"], registered, "claims.", file)
