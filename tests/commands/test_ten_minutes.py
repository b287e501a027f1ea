"""The transcripts of docs/ten-minutes.md are what its commands print; digits may differ between processors."""

import importlib.util
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/ten-minutes.md").read_text()
# A number, and the signs and spaces that align a table or lead to it.
NUMBERS = re.compile(r"[-+]?\d[\d,.]*(e[-+]?\d+)?%?")
SPACES = re.compile(r"[ -]{2,}")


@pytest.fixture(scope="module")
def transcripts():
    spec = importlib.util.spec_from_file_location("transcripts", ROOT / "docs/site/transcripts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(line):
    """A line without its digits, and without what depends on their width."""
    return SPACES.sub(" ", NUMBERS.sub("#", line)).strip()


def test_each_line_of_a_transcript_is_printed(transcripts, tmp_path):
    folder = tmp_path / "ten"
    folder.mkdir()
    shown = list(transcripts.transcripts(PAGE, folder))
    assert len(shown) == 5
    for transcript in shown:
        printed = [words(line) for line in transcript.printed.splitlines()]
        expected = [words(line) for line in transcript.block.splitlines() if transcripts.CUT not in line]
        assert [line for line in expected if line not in printed] == []
