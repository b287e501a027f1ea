"""The command lines of jobs: what is no spec, place or value is refused in one line."""

import pytest

from toolnoise import cli
from toolnoise.base.spec import Spec
from toolnoise.commands import jobs

FILES = ["--grams", "g.npy", "--index", "g.json", "--out", "o.csv"]


@pytest.mark.parametrize("cell", ["a", "a/b/c", "a/b/c/d/e", "a//c/d", ""])
def test_a_cell_has_all_of_its_names(cell, refused_by_verb):
    line = refused_by_verb("measure-layers", "--cell", cell, *FILES)
    assert line == f"toolnoise: command line: --cell: found {cell!r}; model/dataset/hardware/variant"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--model", "name"], "--model: found 'name'; key=value"),
        (["--model", "name=a", "--seed", "1"], "--seed: found '1'; key=value"),
        (["--model", "name=a"], "no spec ("),
    ],
)
def test_what_is_no_spec_is_one_line(options, found, refused_by_verb):
    spec = {"--model": "name=a", "--recipe": "", "--tooling": "name=cpu", "--variant": "name=impl", "--seed": "seed=1"}
    spec |= dict(zip(options[::2], options[1::2], strict=True))
    words = [word for pair in spec.items() for word in pair]
    assert found in refused_by_verb("profile", *words, "--out", "o.csv", "--record", "o.json")


def test_what_is_no_json_is_one_line(refused_by_verb):
    place = ["--model", "a", "--dataset", "b", "--hardware", "c", "--records", "r.json", "--out", "o.csv"]
    line = refused_by_verb("measure-growth", *place, "--references", "[[")
    assert line == "toolnoise: command line: --references: found '[['; JSON"


def test_a_recipe_that_lacks_what_a_job_asks_of_it_is_one_line_and_another_fault_is_none(monkeypatch, refused_by_verb):
    spec = {"--model": "name=a", "--recipe": "name=b", "--tooling": "name=cpu", "--variant": "name=impl"}
    words = [word for pair in (spec | {"--seed": "study_seed=0 seed=1"}).items() for word in pair]
    words = [*words, "--out", "o.csv", "--record", "o.json"]
    monkeypatch.setattr(Spec, "read", staticmethod(lambda value: value))

    def asks(key):
        monkeypatch.setattr(jobs, "recorded", lambda *_: {}[key])

    asks("normalise")
    assert "--recipe: lacks the key 'normalise'" in refused_by_verb("profile", *words)
    asks("anything")
    with pytest.raises(KeyError):
        cli.main(["profile", *words])
