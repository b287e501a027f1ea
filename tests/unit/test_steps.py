"""The table of steps: what is special about a kind of job is said in its row, and nowhere else."""

import ast

from toolnoise.base import program

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
