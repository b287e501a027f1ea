"""The command lines of bench/fuzz.py: every verb has some."""

import importlib.util
import sys

from toolnoise import cli
from toolnoise.base.program import ROOT
from toolnoise.steps import STEPS
from toolnoise.study import config, grid


def test_every_verb_is_fuzzed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "bench/fuzz.py")
    monkeypatch.setitem(sys.modules, "fuzz", fuzz := importlib.util.module_from_spec(spec))
    spec.loader.exec_module(fuzz)
    study = fuzz.fuzz_base.STUDY
    resolved = grid.build(config.resolve(study, "fuzz"), "fuzz")
    performed = {
        verb for verb, step in STEPS.items() if any(fuzz._here(step, place) for place in step.where.all(resolved))
    }
    # Data in official formats are those of a second study, and adopted runs come from `adopt`.
    assert {*fuzz.BY_HAND, *performed, "fetch", "adopt-run"} >= set(cli._parser("")[1].choices)
