"""Warm starts without a workflow; tests/workflow/test_warm.py has those of jobs."""

import itertools

from toolnoise.base.program import ROOT
from toolnoise.warm import template


def test_what_a_template_imports_ahead_is_among_what_the_demo_installs():
    locked = (ROOT / "requirements/cpu.txt").read_text()
    packages = {module.partition(".")[0] for module in itertools.chain(*template.FURTHER.values())} - {"toolnoise"}
    assert {"matplotlib", "papermill"} <= packages
    assert [package for package in sorted(packages) if f"\n{package}==" not in locked] == []
