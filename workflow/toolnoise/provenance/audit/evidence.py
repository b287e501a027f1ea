"""The evidence for the audit's rules: a tree, its files as they were read, and the jobs that the study expects.

The clock, the repository and the files' bytes are read here; rules are functions of this evidence. Statements and
files are not trusted: if one makes Python raise, `each` reports that as a finding.
"""

import csv
import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise import steps
from toolnoise.base.errors import BadInput
from toolnoise.base.files import LARGEST_TEXT, canonical_sha256, read_json
from toolnoise.base.spec import Spec
from toolnoise.provenance.audit.digests import Cache, Hashed
from toolnoise.provenance.signing import Verdict
from toolnoise.provenance.statements import Artifact, Statement
from toolnoise.provenance.tree import AUDITED, SHOW_AUDIT, STATEMENTS, Tree
from toolnoise.steps import PAGE, Job
from toolnoise.study import config, layout, runs
from toolnoise.study.cells import Shown, Whole
from toolnoise.study.layout import NARROW
from toolnoise.study.runs import Run
from toolnoise.study.study import Study

# The largest difference between the clocks of machines that share work, unless another is given.
CLOCKS = timedelta(minutes=2)
# Errors that reading and comparing untrusted JSON and CSV can raise.
ODD = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, csv.Error, MemoryError),
    # What may not be opened.
    OSError,
)

# Verdicts on pairs of cells, for the page of earlier results.
COMPARED = layout.PAGE_PARTS + "/compared.js"
# Jobs that every study of earlier versions had, by what they wrote; before that, the job of the page wrote it.
EARLIER = {"compare-cells": {"out": COMPARED}, SHOW_AUDIT: {"out": AUDITED, "out-statements": STATEMENTS}}
PAGE_WROTE = {
    "out": layout.PAGE,
    "out-statements": STATEMENTS,
    "out-tables": layout.PAGE_PARTS + "/tables.js",
    "out-compared": COMPARED,
}
# The verbs whose runs have their draws from here.
DRAWN = tuple(verb for verb, step in steps.STEPS.items() if step.record.drawn)

# A rule's findings: an artifact, by its name in statements, and what is wrong with it.
Found = Iterator[tuple[str, str]]


class RunFacts(NamedTuple):
    """The parts of a run's record and history that other runs must agree with."""

    name: str  # of its run.json
    path: str  # of its folder in the study
    spec: Spec
    data_sha256: str
    initial_sha256: str
    epochs: tuple[str, ...]  # a digest of each epoch's history row without its seconds
    weights: tuple[str, ...]  # digests by epoch
    draws: tuple[str, ...]
    trainable: tuple[str, ...]  # the paths of its trained tensors
    moved_bit: Any

    @property
    def task(self) -> tuple[str, str]:
        """Its model and its data set."""
        return self.spec.model.name, self.spec.dataset.name


@dataclass
class Evidence:
    """One study, for the rules. `now` is in UTC; `signatures`, if required, are by the paths of statements.

    `root_verdict` is that on the root's signature, if one is required. `cache` may know the digests of weights. Clocks
    of machines may differ by `skew`.
    """

    tree: Tree
    hashed: dict[str, Hashed]
    now: datetime
    signatures: dict[str, Verdict] = field(default_factory=dict)
    root_verdict: Verdict | None = None
    cache: Cache | None = None
    skew: timedelta = CLOCKS
    _seen: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict, init=False, repr=False)

    @functools.cached_property
    def jobs(self) -> dict[str, Job]:
        """The jobs of the study by the name of their first output; none without a study.json."""
        if self.tree.study is None:
            return {}
        return {job.outputs[0][0]: job for job in _as_they_were(self.tree, steps.jobs(self.tree.study))}

    def job(self, statement: Statement) -> Job | None:
        """The study's job that a statement belongs to, or None."""
        job = self.jobs.get(statement.name)
        return job if job and job.verb == statement.verb else None

    def output(self, name: str) -> Artifact | None:
        """An artifact as its producer's statement describes it."""
        made = self.tree.producer(name)
        return next((output for output in made.statement.outputs if output.name == name), None) if made else None

    def record(self, name: str) -> dict[str, Any]:
        """The JSON object in an artifact."""
        path = self.small(name)
        value = read_json(path)
        if not isinstance(value, dict):
            raise BadInput(path, "", f"found {type(value).__name__}", "an object")
        return value

    def run(self, record: str) -> RunFacts:
        """The facts of the run whose run.json is this artifact."""
        path = self.small(record)
        folder = path.parent.relative_to(self.tree.root).as_posix()
        self.small(self.tree.named(f"{folder}/history.csv"))
        run = runs.read(path)
        rows, about = run.history(), run.record
        digests = {key: tuple(_text(row[key]) for row in rows) for key in ("weights_sha256", "draws_sha256")}
        return RunFacts(
            record,
            folder,
            run.spec,
            _text(about["data_sha256"]),
            _text(about["initial_sha256"]),
            self._once(tuple(canonical_sha256({**row, "seconds": None}) for row in rows)),
            self._once(digests["weights_sha256"]),
            self._once(digests["draws_sha256"]),
            self._once(tuple(map(_text, about["trainable"]))),
            about.get("moved_bit"),
        )

    @functools.cached_property
    def runs(self) -> tuple[list[RunFacts], list[tuple[str, str]]]:
        """The facts of every readable run, and for the others why they cannot be read."""
        facts, damaged = [], []
        for stated in self.tree.statements:
            if stated.statement.verb in DRAWN:
                outputs = stated.statement.outputs
                record = next((output.name for output in outputs if output.role == "record"), stated.statement.name)
                try:
                    run = self.run(record)
                    # A run with impossible values is damaged, so it is not compared.
                    _ = run.task, run.spec.variant.varying, run.spec.recipe["batch_size"]
                    facts.append(run)
                except (BadInput, *ODD) as error:
                    damaged.append((record, reason(error)))
        return facts, damaged

    def weights(self, run: RunFacts) -> list[dict[str, np.ndarray]]:
        """A run's weights after each cycle, mapped into memory."""
        return self.whole(run).snapshots()

    def final_weights(self, run: RunFacts) -> str:
        """The digest of a run's weights at the end of training: they are read, unless a file of these bytes was."""
        of_file = self.hashed.get(f"{run.path}/weights.npz", Hashed()).sha256
        known = self.cache.weights_in(of_file) if self.cache else None
        if known is None:
            known, _ = runs.weight_digests(self.weights(run)[-1])
            if self.cache and of_file:
                self.cache.keep_weights(of_file, known)
        return known

    def whole(self, run: RunFacts) -> Run:
        """A run whose weights are there."""
        name = self.tree.named(f"{run.path}/weights.npz")
        self.path(name)
        return runs.read(self.tree.root / run.path / "run.json")

    def _once(self, digests: tuple[str, ...]) -> tuple[str, ...]:
        # Equal tuples of different runs are kept once.
        return self._seen.setdefault(digests, digests)

    def path(self, name: str) -> Path:
        """Where an artifact lies; it must be there, with the size in its statement."""
        (path, size), stated = self._found(name), self.output(name)
        if size != stated.size if stated else size > LARGEST_TEXT:
            raise BadInput(name, "", f"has {size} bytes", f"stated: {stated.size if stated else 'nothing'}")
        return path

    def small(self, name: str) -> Path:
        """Where an artifact lies that is small enough to be read at once."""
        path, size = self._found(name)
        if size > LARGEST_TEXT:
            raise BadInput(name, "", f"has {size} bytes", f"at most {LARGEST_TEXT}")
        return path

    def _found(self, name: str) -> tuple[Path, int]:
        path = self.tree.inside(name)
        if path is None or path not in self.tree.files:
            raise BadInput(name, "", "is missing", "a file of this study")
        return self.tree.root / path, self.tree.files[path]


def each(check: Callable[[Evidence, Statement], Found]) -> Callable[[Evidence], Found]:
    """A rule that checks every statement; if the check itself fails, its first output gets the finding."""

    @functools.wraps(check)
    def over_all(evidence: Evidence) -> Found:
        for stated in evidence.tree.statements:
            yield from guarded(stated.statement.name, lambda of=stated: check(evidence, of.statement))

    return over_all


def shows_earlier_page(evidence: Evidence, statement: Statement) -> bool:
    """Whether this is an audit that an earlier version showed, of a page that has been made again since."""
    return statement.verb == SHOW_AUDIT and (top := evidence.tree.top) is not None and top.statement is not statement


def guarded(name: str, check: Callable[[], Iterable[tuple[str, str]]]) -> Found:
    """The findings of a check; an error in the check becomes a finding about `name`."""
    try:
        yield from check()
    except (BadInput, *ODD) as error:
        yield name, reason(error)


def reason(error: Exception) -> str:
    """Why a check was impossible."""
    return str(error) if isinstance(error, BadInput) else f"cannot be checked ({type(error).__name__}: {error})"[:300]


def differences(value: Any, expected: Any, at: str = "") -> list[str]:
    """The keys under which two JSON values differ, such as `recipe.epochs`; an empty list if they are equal."""
    if isinstance(value, dict) and isinstance(expected, dict):
        keys = {name: f"{at}.{name}".lstrip(".") for name in sorted(value.keys() | expected.keys())}
        shared = value.keys() & expected.keys()
        below = (
            differences(value[name], expected[name], keys[name]) if name in shared else [keys[name]] for name in keys
        )
        return list(itertools.chain.from_iterable(below))
    # In JSON, 1 and true are different values.
    return [] if type(value) is type(expected) and value == expected else [at or "all"]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _as_they_were(tree: Tree, now: Iterable[Job]) -> Iterator[Job]:
    """The jobs of a study, those that an earlier version performed as they were in it.

    Then the page's own job showed the statements, or another did, the parameters of the claims had those of the papers,
    which are a file of the repository now, figures had no form for small screens, a job compared cells for the page,
    and no job knew which data sets are synthetic.
    """
    for verb, outputs in EARLIER.items():
        wrote = tuple((pattern.format(study=tree.name), option) for option, pattern in outputs.items())
        if (made := tree.producer(wrote[0][0])) and made.statement.verb == verb:
            read = tuple((needed.name, needed.role) for needed in made.statement.inputs)
            yield Job(verb, Whole(), made.statement.parameters, read, wrote)
    verdicts = layout.CLAIMS.format(study=tree.name)
    judged = tree.producer(verdicts)
    stated = judged.statement.parameters.get("claims") if judged else None
    for job in _page_as_it_was(tree, now):
        judges = job.outputs[0][0] == verdicts
        of_then = stated if judges and _have_the_papers(stated, job.parameters["claims"]) else None
        if of_then is not None:
            job = job._replace(parameters=job.parameters | {"claims": of_then})
        made = tree.producer(job.outputs[0][0])
        if made and isinstance(job.place, Shown) and stated_outputs(made.statement) == without_narrow(job.outputs):
            job = job._replace(outputs=without_narrow(job.outputs))
        if job.verb in (PAGE, "report"):
            job = _without_study_file(tree, job)
        if made and "synthetic" not in made.statement.parameters:
            job = job._replace(parameters={key: job.parameters[key] for key in job.parameters if key != "synthetic"})
        yield job


def stated_outputs(statement: Statement) -> steps.Names:
    """The outputs that a statement has, each with its role."""
    return tuple((output.name, output.role) for output in statement.outputs)


def without_narrow(outputs: steps.Names) -> steps.Names:
    """The outputs of a figure in versions in which it had no form for small screens."""
    return tuple(output for output in outputs if not output[0].endswith(f".{NARROW}.svg"))


def _have_the_papers(stated: Any, own: list[Any]) -> bool:
    """Whether stated claims are some of the papers, and then a study's own."""
    if not isinstance(stated, list) or len(stated) <= len(own):
        return False
    papers = {claim["paper"] for claim in config.registered("claims").values()}
    theirs, rest = stated[: len(stated) - len(own)], stated[len(stated) - len(own) :]
    return rest == own and all(isinstance(claim, dict) and str(claim.get("paper")) in papers for claim in theirs)


def _page_as_it_was(tree: Tree, now: Iterable[Job]) -> Iterator[Job]:
    shown = tree.producer(STATEMENTS.format(study=tree.name))
    if shown is None or shown.statement.verb != PAGE:
        yield from now
        return
    outputs = tuple((pattern.format(study=tree.name), option) for option, pattern in PAGE_WROTE.items())
    for job in now:
        yield job._replace(parameters={"study": tree.name}, outputs=outputs) if job.verb == PAGE else job


def _without_study_file(tree: Tree, job: Job) -> Job:
    """The page and the report as earlier versions made them: what they say of the study was among their parameters."""
    made = tree.producer(job.outputs[0][0])
    if made is None or not made.statement.parameters:
        return job
    inputs = tuple(needed for needed in job.inputs if needed[1] != "study")
    return job._replace(parameters=job.parameters or _said_of(tree.study, job.verb), inputs=inputs)


def _said_of(study: Study, verb: str) -> steps.Parameters:
    if verb != PAGE:
        return {"study": study.name, "figure_kinds": list(study.figure_kinds)}
    # Imported here: pages need more than audits.
    from toolnoise.pages import study_page

    said = study_page.page_of(study, {})._asdict()
    return json.loads(json.dumps({name: value for name, value in said.items() if name != "files"}))
