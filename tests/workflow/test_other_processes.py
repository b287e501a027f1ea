"""`toolnoise check --world` of training programs of bench/invariances.py: bugs and clean ones are told apart."""

import importlib.util

import pytest

from toolnoise.base.program import ROOT

pytestmark = pytest.mark.long
spec = importlib.util.spec_from_file_location("invariances", ROOT / "bench/invariances.py")
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("no sampler", "another program"),
        ("loss of another scale", "another program"),
        ("sum over all, by hand", "rounding"),
        ("DistributedDataParallel", "rounding"),
        ("masks of each process", "other draws"),
    ],
)
def test_two_processes_are_told_from_a_bug(name, verdict, skip_without):
    skip_without("torch")
    program = bench.PROGRAMS[name]
    found = bench.found(name, program._replace(words=(*(program.words or bench.SEEDED), "--epochs", "1")), "1,2")
    assert [(way["name"], way["verdict"], way["passed"]) for way in found.ways] == [
        ("world 2", verdict, verdict != "another program")
    ]
    assert found.right
    assert found.line in ("", "right")
    # Two runs with two processes have the same bits.
    assert found.ways[0]["again"]
    assert (found.ways[0]["difference"]["changed"] > 0) == (verdict != "rounding")
