"""Finished results to be changed, each put right after the test that changed it."""

import pytest
from forging import Folder


@pytest.fixture(scope="module")
def both(small_study, other_study, tmp_path_factory):
    """Copies of both studies' results, for those who put right what they change."""
    folders = {"small": small_study, "other": other_study}
    return {name: Folder(of / "results" / name, tmp_path_factory.mktemp(name)) for name, of in folders.items()}


@pytest.fixture
def forged(both):
    """Copies of both studies' results, to be changed."""
    yield both
    for folder in both.values():
        folder.restore()


@pytest.fixture
def small(forged):
    """That of the small study."""
    return forged["small"]
