"""The table of claims in docs/claims.md."""

import importlib.util

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


def test_the_page_has_what_the_command_prints_of_every_claim(bench, evidence):
    _, _, rest = PAGE.partition(bench.BEGIN)
    printed, _, _ = rest.partition(bench.END)
    assert all(claim["says"] in printed for claim in config.registered("claims").values())
    assert printed == bench.table([evidence("gpu-h100")]), "run bench/claims_table.py --write evidence/gpu-h100.tar.xz"
