"""Snakemake's own report on a finished study, as people ask for it: `snakemake --report`."""

import html
import json
import re
import zipfile

import pytest

from toolnoise.pages import study_page
from toolnoise.study import catalogue

# The kinds of figures that the small study has.
KINDS = ("table2", "noise_by_source", "batch_norm", "across_toolings", "table4")


def captions(report):
    """The captions in a report, without marks and with all white space alike."""
    written = map(json.loads, re.findall(r'"caption": ("(?:[^"\\]|\\.)*")', report.read_text()))
    return {" ".join(html.unescape(re.sub(r"<[^>]+>", "", caption)).split()) for caption in written}


@pytest.fixture
def files(copied):
    """The paths of all files in the folder of the study, but for Snakemake's logs and what it keeps for minutes."""

    def listed():
        found = {path.relative_to(copied).as_posix() for path in copied.rglob("*") if path.is_file()}
        return {name for name in found if not name.startswith((".snakemake/log/", ".snakemake/iocache/"))}

    return listed


def test_a_report_has_every_figure_with_its_caption_and_is_the_only_new_file(copied, snakemake, files):
    before = files()
    done = snakemake(copied, "--report", "mine.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Study <em>small</em>: how much of a trained network" in (copied / "mine.html").read_text()
    # Besides them there is the caption of the metric files.
    found = captions(copied / "mine.html")
    assert len(found) == len(KINDS) + 1
    assert {study_page.plain(catalogue.KINDS[kind].caption_in("small")) for kind in KINDS} < found
    assert files() == before | {"mine.html"}


def test_a_report_may_be_an_archive(copied, snakemake):
    done = snakemake(copied, "--report", "mine.zip")
    assert done.returncode == 0, done.stdout + done.stderr
    assert zipfile.ZipFile(copied / "mine.zip").testzip() is None
