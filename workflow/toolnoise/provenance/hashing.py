"""SHA-256 of files."""

import hashlib
from pathlib import Path


def sha256(path: str | Path) -> str:
    """The digest of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
