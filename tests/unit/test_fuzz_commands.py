"""The command lines of tests/fuzz/fuzz.py: every verb has some."""

import importlib.util
import sys

from toolnoise import cli
from toolnoise.base.program import ROOT
from toolnoise.commands import command_line
from toolnoise.steps import STEPS
from toolnoise.study import config, grid


def test_every_verb_is_fuzzed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests/fuzz")
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tests/fuzz/fuzz.py")
    monkeypatch.setitem(sys.modules, "fuzz", fuzz := importlib.util.module_from_spec(spec))
    spec.loader.exec_module(fuzz)
    study = fuzz.fuzz_base.STUDY
    resolved = grid.build(config.resolve(study, "fuzz"), "fuzz")
    performed = {
        verb for verb, step in STEPS.items() if any(fuzz._here(step, place) for place in step.where.all(resolved))
    }
    # Data in official formats are those of a second study, and adopted runs come from `adopt`.
    assert {*fuzz.BY_HAND, *performed, "fetch", "adopt-run"} >= set(command_line.verbs(cli.VERBS))
