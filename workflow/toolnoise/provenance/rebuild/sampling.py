"""The jobs behind given files, and samples of jobs that take each kind of job in turn."""

import itertools
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from toolnoise import streams
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import escaped
from toolnoise.provenance import tree
from toolnoise.provenance.statements import FOLDER, SUFFIX, Statement
from toolnoise.provenance.tree import Tree
from toolnoise.steps import STEPS
from toolnoise.study.cells import Shown

WANTED = "a run, or any file under results that has a statement"
# The first kinds of job in a sample, so that a small one covers each stage; others follow.
FIRST = ("train with noise", "picture", "measure", "table", "predict", "train", "prepare", "collect")


class Made(NamedTuple):
    """A finished job of a study, with its statement."""

    tree: Tree
    path: str
    statement: Statement

    @property
    def called(self) -> str:
        """A short name of the job."""
        return f"{self.statement.verb} {escaped(self.statement.name)}"

    @property
    def kind(self) -> str:
        """The kind of the job, for samples."""
        verb, parameters = self.statement.verb, self.statement.parameters
        step = STEPS.get(verb)
        if step and step.place is Shown:
            pictures = (".png", ".pdf", ".svg")
            return "picture" if any(output.name.endswith(pictures) for output in self.statement.outputs) else "table"
        if step and step.record.drawn and "impl" in str(parameters.get("spec", {}).get("variant", {}).get("varying")):
            return "train with noise"
        return verb


def of(paths: Iterable[str | Path]) -> list[Made]:
    """The jobs that made these files, or everything in these folders."""
    trees: dict[Path, Tree] = {}
    jobs: dict[Path, Made] = {}
    for path in paths:
        for made in _of(path, trees):
            jobs.setdefault(made.tree.root / made.path, made)
    return list(jobs.values())


def sample(jobs: list[Made], count: int, seed: int, leave_out: Iterable[str]) -> list[Made]:
    """Draw `count` jobs, kind by kind in turn and at random within a kind, without the verbs in `leave_out`."""
    kinds: dict[str, list[Made]] = {kind: [] for kind in FIRST}
    for made in sorted(jobs, key=lambda made: (str(made.tree.root), made.path)):
        if made.statement.verb not in leave_out:
            kinds.setdefault(made.kind, []).append(made)
    drawn = []
    for kind, members in kinds.items():
        order = streams.permutation(streams.key(seed, streams.ANALYSIS, 0, "rebuild", kind), len(members))
        drawn.append([members[place] for place in order])
    turns = itertools.chain.from_iterable(itertools.zip_longest(*drawn))
    return [made for made in turns if made][:count]


def kinds(jobs: Iterable[Made]) -> str:
    """The number of jobs of each kind, as text."""
    return ", ".join(f"{count} {kind}" for kind, count in Counter(made.kind for made in jobs).items())


def _of(path: str | Path, trees: dict[Path, Tree]) -> list[Made]:
    place = Path(path).absolute()
    root = next((folder for folder in (place, *place.parents) if (folder / FOLDER).is_dir()), None)
    if root is None:
        if not place.is_dir():
            raise BadInput(path, "", "lies in no study with statements", WANTED)
        studies = tree.load(place).trees
        jobs = [made for study in studies for made in _made(study)]
        unreadable = [error for study in studies for error in study.unreadable.values()]
    else:
        if root not in trees:
            trees[root] = tree.load_study(root)
        study = trees[root]
        inside = place.relative_to(root).as_posix()
        jobs = [made for made in _made(study) if _states(made, inside)]
        unreadable = [error for name, error in study.unreadable.items() if name == f"{FOLDER}/{inside}{SUFFIX}"]
    if not jobs:
        raise next(iter(unreadable), BadInput(path, "", "has no statement", WANTED))
    return jobs


def _made(study: Tree) -> list[Made]:
    return [Made(study, stated.path, stated.statement) for stated in study.statements]


def _states(made: Made, inside: str) -> bool:
    """Whether `inside` is the statement itself, one of its outputs, or a folder with one of its outputs."""
    outputs = {made.tree.inside(output.name) for output in made.statement.outputs}
    below = "" if inside == "." else f"{inside}/"
    return made.path == inside or any(name and (name == inside or name.startswith(below)) for name in outputs)
