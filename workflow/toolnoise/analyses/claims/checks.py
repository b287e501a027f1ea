"""Claims of a configuration and of the registry are checked beyond their schema."""

from pathlib import Path
from typing import Any

from toolnoise.analyses.claims.plan import require_possible

REGISTRY = "claims"


def check_registry(name: str, entries: dict[str, Any], path: Path) -> None:
    """Check the papers' claims."""
    if name == REGISTRY:
        require_possible(entries, (), "", path)


def check(config: dict[str, Any], registered: dict[str, Any], file: str | Path) -> None:
    """Check a study's own claims beside the papers'."""
    require_possible(config["claims"], registered, "claims.", file)
