"""What the schema of a configuration has of remedies."""

from typing import Any

from toolnoise.analyses.remedies.plan import SETS


def complete(schema: dict[str, Any]) -> None:
    """Let a block name the sets of views that there are."""
    schema["$defs"]["block"]["properties"]["remedies"]["items"]["enum"] = list(SETS)
