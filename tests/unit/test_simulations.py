"""The simulations behind docs/statistics.md still run: each section, on a few studies."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
# Minutes of simulated studies.
pytestmark = pytest.mark.slow


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"bench/{name}.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bench")
        spec.loader.exec_module(module)
    return module


coverage = load("coverage")


@pytest.mark.parametrize("section", coverage.SECTIONS)
def test_a_section_of_the_coverage_prints_a_share_of_its_studies(section, monkeypatch, capsys):
    few = {"STUDIES": 4, "SLOW_STUDIES": 2, "REDUCTIONS": 2, "MANY": 20, "RESAMPLES": 9}
    for name, number in few.items():
        monkeypatch.setattr(coverage, name, number)
    coverage.SECTIONS[section][1](np.random.Generator(np.random.Philox(1)))
    lines = capsys.readouterr().out.splitlines()
    assert any(" % ± " in line for line in lines)
    assert all(" % ± " in line or line.endswith("no interval") for line in lines)


def test_winners_are_counted_for_each_way_in_which_arms_can_share_draws(monkeypatch, capsys):
    winners = load("winners")
    monkeypatch.setattr(winners, "DIFFERING", 2)
    winners.main(2)
    printed = capsys.readouterr().out
    assert all(way in printed for way in winners.WAYS)
