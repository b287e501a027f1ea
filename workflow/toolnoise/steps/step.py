"""What a row of the job graph says, and which files follow from it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.base.spec import Spec
from toolnoise.study import layout
from toolnoise.study.cells import Cell, MetricFile, Pair, Place
from toolnoise.study.figure_kinds import KINDS
from toolnoise.study.study import Study

Parameters = dict[str, Any]
# The files of a job by the options that name them. `read` of a figure has lists: a kind and its files.
Files = dict[str, Any]
Names = tuple[tuple[str, str], ...]  # names of files with their roles


class Read(NamedTuple):
    """What an option names: the paths at a place, what lies beside each, whether several or none may be named."""

    at: Callable[[Study, Any], Any]
    beside: tuple[str, ...] = ()
    several: bool = False
    optional: bool = False


class Write(NamedTuple):
    """What an option that names outputs says: their pattern, and what they are for."""

    pattern: str
    metric: str = ""  # the kind of metric file that they are a part of
    columns: str = ""  # of that kind, as module:NAME
    timed: bool = False  # they contain times, so two runs of the job differ


def metric(kind: str, at: str, module: str, folder: str = "", *, timed: bool = False) -> Write:
    """A metric file for each place: the columns of its kind are a constant of the module with the name of the kind."""
    return Write(f"results/{{study}}/metrics/{folder or kind}/{at}.csv", kind, f"{module}:{kind.upper()}", timed)


class Where(NamedTuple):
    """The places in a study at which there is a job of a kind."""

    place: type[tuple]  # whose fields are the names in the job's paths and on its command line
    all: Callable[[Study], Iterable[Place]]
    key: str  # of the study: it decides which places there are
    allowed: str  # what it must have, for the message that a place is not there
    stated: Callable[[Parameters], Place] | None = None  # in the parameters, where their names do not say it

    def of(self, parameters: Parameters) -> Place:
        """The place of the job with these parameters; what they lack raises what Python raises."""
        if self.stated:
            return self.stated(parameters)
        names = _names_stated(parameters)
        return self.place(*(names[name] for name in self.place._fields))


def _names_stated(parameters: Parameters) -> dict[str, Any]:
    """The names of places that parameters state: those of their spec, cell or pair, or their own."""
    if "spec" in parameters:
        spec = Spec.read(parameters["spec"])
        variant, seed = spec.variant.name, spec.seed
        named = {"model": spec.model.name, "hardware": spec.hardware.name, "variant": variant, "seed": seed}
        # A profile has no data set; its variant is its mode, its seed the number of the repetition.
        return named | ({"dataset": spec.dataset.name} if spec.dataset else {"mode": variant, "repeat": seed})
    if "cell" in parameters:
        return Cell(*parameters["cell"])._asdict()
    return Pair(*parameters["pair"])._asdict() if "pair" in parameters else parameters


class Work(NamedTuple):
    """What makes a job's outcome, besides its parameters and files."""

    function: str  # as module:function; it gets the parameters, the files and what is aside
    aside: tuple[str, ...] = ()  # options that change no outcome
    implied: Callable[[Parameters], Parameters] = lambda _: {}  # what this table adds to the parameters
    check: Callable[[Parameters, Files], None] = lambda _parameters, _files: None  # refuses files that do not fit them
    further: Callable[[Parameters], tuple[str, ...]] = lambda _: ()  # modules that they name
    files: Callable[[Parameters], tuple[str, ...]] = lambda _: ()  # files of the repository that the function reads


class Needs(NamedTuple):
    """What a job needs of the machine that it is sent to."""

    tooling: Callable[[Any], str] | None = None  # the name of the tooling that it computes on
    minutes: Callable[[Study, Any], int] | None = None  # its time limit on a cluster
    cold: str = ""  # why its process must not be forked from one that has its imports


class JobRecord(NamedTuple):
    """What a job repeats of its spec, and what of it goes to other clusters."""

    option: str = ""  # the output with the spec and with what was observed of the machine
    travels: str = ""  # what to call its files, if they travel
    stated: bool = False  # its statement travels, without its files
    drawn: bool = False  # its draws were made here, so that those of other runs must agree with them


class Outside(NamedTuple):
    """What comes from outside of the study: a chain of statements may end here."""

    files: str = ""  # the module:function that lists them; without one, whoever performs the job states them
    packages: bool = False  # whether a file of an installed package may be among them


class Step(NamedTuple):
    """One kind of job: all that the rules, the verbs, the audit and `estimate` know of it.

    What a job does follows from its place in a study, by `parameters`, `reads` and `writes`. Nobody else asks which
    verb a job has: what is special about one is said here.
    """

    rule: str  # its rule in Snakemake; {kind} and {notebook} are parameters
    says: str  # the help of its verb
    where: Where  # its places
    parameters: Callable[[Study, Any], Parameters]  # those at a place, as JSON
    reads: Mapping[str, Read]  # by the option that names these inputs
    writes: Mapping[str, Write]  # by the option that names these outputs, in their order
    work: Work  # what is done
    needs: Needs = Needs()
    record: JobRecord = JobRecord()
    outside: Outside | None = None  # if its chain may end with it
    unrepeatable: str = ""  # why its outputs cannot be made again
    needed: bool = True  # a whole study has it; otherwise it is there if somebody asked for it

    @property
    def module(self) -> str:
        """The module that does the work."""
        return self.work.function.partition(":")[0]

    @property
    def several(self) -> set[str]:
        """The options that may name several files."""
        return {option for option, read in self.reads.items() if read.several} | {
            option for option, write in self.writes.items() if "{suffix}" in write.pattern
        }

    def modules(self, parameters: Parameters) -> tuple[str, ...]:
        """The modules that a job is made by: an engine and a model's builder, too, where it has a spec."""
        named = code_digest.named_by(Spec.read(parameters["spec"])) if "spec" in parameters else ()
        return (self.module, *named, *self.work.further(parameters))

    def code_digest(self, parameters: Parameters) -> str:
        """The digest of all the code and the files of the repository that a job is made by."""
        return code_digest.digest(*self.modules(parameters), files=self.work.files(parameters))

    def sources(self, parameters: Parameters) -> dict[str, str]:
        """The SHA-256 of each of these files, by its path."""
        return code_digest.sources(*self.modules(parameters), files=self.work.files(parameters))

    def given(self, study: Study, place: Place) -> Files:
        """What the options that name inputs say."""
        return {option: read.at(study, place) for option, read in self.reads.items()}

    def wildcards(self) -> tuple[str, ...]:
        """The names in its paths, in their order."""
        first = next(iter(self.writes.values())).pattern
        return tuple(name for name in re.findall(r"{(\w+)}", first) if name in self.where.place._fields)

    def log(self, verb: str) -> str:
        """The pattern of its logs."""
        names = self.wildcards() or self.where.place._fields
        return "/".join(["logs/{study}", verb, *(f"{{{name}}}" for name in names)]) + ".log"


def inputs(step: Step, given: Files) -> Iterator[tuple[str, str]]:
    """Every file that a job reads, with its role: the option that names it, or `beside` that option."""
    for option, read in step.reads.items():
        value = given[option]
        if option == "read":
            yield from ((path, f"read {kind}") for kind, *paths in value for path in paths)
            continue
        for path in value if isinstance(value, list) else [value]:
            if not Path(path).name:
                raise BadInput("command line", f"--{option}", f"found {path!r}", "a file")
            yield path, option
            yield from ((other, f"beside {option}") for other in _beside(path, read.beside))


def followed(step: Step, given: Files) -> dict[str, Any]:
    """The inputs as Snakemake follows them: the index beside a dump is one; a run's files go with its record."""
    named = {}
    for option, read in step.reads.items():
        name, value = option.replace("-", "_"), given[option]
        named[name] = value
        suffixes = tuple(suffix for suffix in read.beside if suffix.startswith("."))
        if suffixes:
            paths = value if isinstance(value, list) else [value]
            named[f"{name}_beside"] = [other for path in paths for other in _beside(path, suffixes)]
    return named


def _beside(path: str, beside: tuple[str, ...]) -> Iterator[str]:
    for other in beside:
        yield str(Path(path).with_suffix(other) if other.startswith(".") else Path(path).with_name(other))


def outputs_of(step: Step, place: Place, parameters: Parameters, study: str) -> Names:
    """What the job at a place, with these parameters, writes: in its order, with its roles."""
    of_kind = {"file": layout.FILE_OF.get(place.kind, place.kind)} if isinstance(place, MetricFile) else {}
    names, written = place._asdict() | of_kind | {"study": study}, []
    for option, write in step.writes.items():
        suffixes = KINDS[parameters["notebook"]].suffixes if "{suffix}" in write.pattern else ("",)
        written += [(write.pattern.format(**names, suffix=suffix), option) for suffix in suffixes]
    return tuple(written)
