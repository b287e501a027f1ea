"""`toolnoise rules`: the rules of the workflow; most are made while the Snakefile is parsed: `grep` does not find them.

No study is needed: names in paths stand for themselves.
"""

import argparse
import ast
import importlib.util
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolnoise.commands.verb import STUDY, Verb, show
from toolnoise.steps import CONFIGURE, STEPS, Step, followed
from toolnoise.study.study import Study

_HEAD = """\
# Rules

`toolnoise rules` prints this page (`toolnoise rules >docs/rules.md`). Each rule is a row of `steps/table.py` or
`steps/whole.py` in the package, or of `rows.py` or `whole.py` in an analysis. `workflow/rules/steps.smk` makes a rule
of a row. The rules that fetch and prepare data, train, collect and render stand in the other files of
`workflow/rules/`; some of them have further inputs.

* `input` and `output` are what the job's verb is given: `data="..."` is `--data ...`. The rule has the same names.
  Where the inputs depend on the study, a comment says which they are.
* `parameters` follow from the study. The rule's `params.planned` is their digest.
* `shell` has the verb, and the function that does the work.

```python
"""


class _AnyStudy:
    """A study of any name, whose cells have any seeds."""

    name, folder = "{study}", ""
    path, runs = Study.path, Study.runs

    def __init__(self) -> None:
        self.seeds = defaultdict(lambda: ("{seed}",))


def as_text() -> str:
    """A page of Markdown with every rule, in the order of the data."""
    rules = ("\n".join(_rule(verb, step)) for verb, step in STEPS.items() if verb != CONFIGURE)
    return _HEAD + "\n\n\n".join(rules) + "\n```"


def _rule(verb: str, step: Step) -> Iterator[str]:
    yield f"# {step.says}"
    yield f"rule {step.rule}:"
    yield from _section("input", _inputs(step))
    outputs = [f'{name.replace("-", "_")}="{write.pattern}"' for name, write in step.writes.items()]
    yield from _section("output", outputs)
    yield from _section("parameters", _parameters(step))
    yield from _section("log", [f'"{step.log(verb)}"'])
    yield from _section("shell", [f'"toolnoise {verb} ..."  # {step.work.function}'])


def _section(name: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"    {name}:"
        yield from (f"        {line}" for line in lines)


def _inputs(step: Step) -> list[str]:
    place = step.where.place(*(f"{{{name}}}" for name in step.where.place._fields))
    # A function with a docstring asks more of a study than paths.
    told = {option: read.at.__doc__ for option, read in step.reads.items()}
    named = step._replace(reads={option: read for option, read in step.reads.items() if not told[option]})
    values = followed(named, named.given(_AnyStudy(), place))
    lines = [f"{name}={_quoted(value)}" for name, value in values.items()]
    for option, says in told.items():
        lines += [f"# {says}", f"{option.replace('-', '_')}=..."] if says else []
    return lines


def _quoted(paths: Any) -> str:
    return f'"{paths}"' if isinstance(paths, str) else f"[{', '.join(map(_quoted, paths))}]"


def _parameters(step: Step) -> list[str]:
    """The arguments of the function that does the work which are no files; it is read, since importing takes longer."""
    module, _, name = step.work.function.partition(":")
    source = ast.parse(Path(importlib.util.find_spec(module).origin).read_text())
    function = next(node for node in source.body if isinstance(node, ast.FunctionDef) and node.name == name)
    files = {option.replace("-", "_") for option in (*step.reads, *step.writes, *step.work.aside)}
    return [one.arg for one in (*function.args.args, *function.args.kwonlyargs) if one.arg not in files]


def _run(_options: argparse.Namespace) -> None:
    show(as_text())


VERB = Verb(
    group=STUDY,
    says="print the rules of the workflow: what each job reads and writes, and its parameters",
    example="toolnoise rules",
    run=_run,
    arguments={},
)
