"""A page to look at: the one that TOOLNOISE_PAGE names, or the small study's."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def page_file(request):
    """The page of a study, as Snakemake's report writes it."""
    given = os.environ.get("TOOLNOISE_PAGE")
    if given:
        return Path(given).resolve()
    return request.getfixturevalue("small_study") / "results/small/report.html"
