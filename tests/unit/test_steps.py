"""The table of steps: what is special about a kind of job stands in its row, and docs/rules.md prints it."""

import ast
import re

from toolnoise import cli
from toolnoise.base import program
from toolnoise.base.program import ROOT
from toolnoise.commands import rules
from toolnoise.steps import CONFIGURE, STEPS, followed
from toolnoise.study import config, grid

# The table of steps: what is special about a kind of job is said in its row, and nowhere else


# Whose table it is.
OWN = ("steps", "rows.py")


def test_no_module_asks_for_a_job_by_the_name_of_its_verb():
    found = []
    for path in sorted(program.PACKAGE.rglob("*.py")):
        if not set(OWN).intersection(path.relative_to(program.PACKAGE).parts):
            found += [f"{path.name}:{line}" for line in asked_by_name(ast.parse(path.read_text()))]
    assert not found


def asked_by_name(tree):
    """The lines that compare a verb with a text, or look for it among texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = {getattr(side, "attr", getattr(side, "id", "")) for side in sides}
            texts = [one for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant)]
            if "verb" in names and any(isinstance(one.value, str) for one in texts):
                yield node.lineno


def test_a_verb_that_is_asked_for_by_its_name_is_seen():
    assert list(asked_by_name(ast.parse("made.verb == 'train'\nverb in ('train', 'predict')\nverb in STEPS"))) == [1, 2]


# `toolnoise rules`: what it prints is what jobs read and write, and docs/rules.md is what it prints


STUDIES = ("config.yaml", "workflow/studies/atlas-small.yaml", "workflow/studies/growth-small.yaml")


def test_the_page_is_what_the_command_prints(capsys):
    cli.main(["rules"])
    assert (ROOT / "docs/rules.md").read_text() == capsys.readouterr().out, "toolnoise rules >docs/rules.md"


def test_each_rule_has_the_paths_that_its_jobs_read_and_write():
    texts = dict(re.findall(r"^rule (\S+):\n(.*?)(?=^# |^```)", rules.as_text(), re.MULTILINE | re.DOTALL))
    assert set(texts) == {step.rule for verb, step in STEPS.items() if verb != CONFIGURE}
    compared = set()
    for file in STUDIES:
        study = grid.build(config.resolve(config.read(ROOT / file), file), file)
        for step in STEPS.values():
            for place in list(step.where.all(study))[:1]:
                names = {"study": study.name, **place._asdict()}
                if "variant" in names:
                    names.setdefault("seed", study.seeds[place.cells[0] if hasattr(place, "cells") else place[:4]][0])
                names.setdefault("seed", 1)
                printed = texts.get(step.rule, "")
                for name, value in names.items():
                    printed = printed.replace(f"{{{name}}}", str(value))
                named = {option: read for option, read in step.reads.items() if not read.at.__doc__}
                step = step._replace(reads=named)
                for name, paths in followed(step, step.given(study, place)).items():
                    path = paths if isinstance(paths, str) else f'["{paths[0]}'
                    assert f"{name}={path}" in printed.replace('="', "="), (step.rule, name)
                    compared.add((step.rule, name))
    assert {("measure_cell", "records"), ("measure_pair", "other_logits"), ("check_control", "records")} <= compared
