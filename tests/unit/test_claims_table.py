"""The table of claims in docs/claims.md."""

import importlib.util
import re

import pytest

from toolnoise.base.program import ROOT
from toolnoise.study import config

PAGE = (ROOT / "docs/claims.md").read_text("utf-8")


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("claims_table", ROOT / "bench/claims_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def columns(text, number):
    """The first columns of the rows of a table."""
    return [
        line.split(" | ")[:number] for line in text.splitlines() if line.startswith("| ") and "paper says" not in line
    ]


def test_the_page_has_every_claim_its_section_our_test_and_the_verdict_on_the_papers_numbers(bench):
    _, _, rest = PAGE.partition(bench.BEGIN)
    found, _, _ = rest.partition(bench.END)
    assert len(columns(found, 4)) == len(config.registered("claims"))
    assert columns(found, 4) == columns(bench.table([]).replace(" |\n", " | \n"), 4), (
        "run bench/claims_table.py --write"
    )


def test_the_page_and_the_command_have_the_same_verdicts_on_a_finished_study(bench, evidence):
    (line,) = [
        line
        for line in bench.table([evidence("gpu-h100")]).splitlines()
        if "Batch normalisation lowers churn (s" in line
    ]
    assert re.search(r"\*\*supported\*\*: 0\.8\d+ \(0\.7\d+ to 0\.8\d+\) \|$", line)
