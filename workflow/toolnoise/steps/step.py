"""What a row of the job graph says, and which files follow from it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.study import layout
from toolnoise.study.catalogue import KINDS
from toolnoise.study.cells import Cell, Pair, Place
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


class Step(NamedTuple):
    """One kind of job. `place` has the names in its paths; `places` are all there are in a study.

    `work` is the function, as module:function; it gets the parameters, the files and what is `aside`, which changes no
    outcome. `tooling` names the tooling that a job computes on. `metrics` are the outputs that are put together for the
    whole study, each as a kind of metric file with its columns. `implied` is what this table adds to the parameters,
    `check` refuses files that do not fit them, `further` are modules that they name. `wanted` says why a place may not
    be there: the key of the study and what it would need. `programs` says whether its places are those of training
    programs of others, where another step writes the same files for networks that are built here, or the other way
    round. `sources` are files from outside that it takes, each with `path`, `sha256` and `bytes`. `record` is the
    output that repeats the spec and what was observed; `travels` is what such files are called when they go from one
    cluster to another; `unrepeatable` says why they cannot be made again.
    """

    rule: str
    says: str
    place: type[tuple]
    places: Callable[[Study], Iterable[Place]]
    parameters: Callable[[Study, Any], Parameters]
    reads: Mapping[str, Read]
    writes: Mapping[str, str]
    work: str
    wanted: tuple[str, str]
    tooling: Callable[[Any], str] | None = None
    minutes: Callable[[Study, Any], int] | None = None
    metrics: Mapping[str, tuple[str, str]] = {}
    implied: Callable[[Parameters], Parameters] = lambda _: {}
    check: Callable[[Parameters, Files], None] = lambda _parameters, _files: None
    further: Callable[[Parameters], tuple[str, ...]] = lambda _: ()
    files: Callable[[Parameters], tuple[str, ...]] = lambda _: ()
    aside: tuple[str, ...] = ()
    needed: bool = True
    programs: bool | None = None
    sources: Callable[[Parameters], list[dict[str, Any]]] = lambda _: []
    record: str = ""
    travels: str = ""
    unrepeatable: str = ""

    @property
    def module(self) -> str:
        """The module that does the work."""
        return self.work.partition(":")[0]

    @property
    def several(self) -> set[str]:
        """The options that may name several files."""
        return {option for option, read in self.reads.items() if read.several} | {
            option for option, pattern in self.writes.items() if "{suffix}" in pattern
        }

    def modules(self, parameters: Parameters) -> tuple[str, ...]:
        """The modules that a job is made by: an engine and a model's builder, too, where it has a spec."""
        named = code_digest.named_by(parameters["spec"]) if "spec" in parameters else ()
        return (self.module, *named, *self.further(parameters))

    def code_digest(self, parameters: Parameters) -> str:
        """The digest of all the code and the files of the repository that a job is made by."""
        return code_digest.digest(*self.modules(parameters), files=self.files(parameters))

    def given(self, study: Study, place: Place) -> Files:
        """What the options that name inputs say."""
        return {option: read.at(study, place) for option, read in self.reads.items()}

    def wildcards(self) -> tuple[str, ...]:
        """The names in its paths, in their order."""
        first = next(iter(self.writes.values()))
        return tuple(name for name in re.findall(r"{(\w+)}", first) if name in self.place._fields)

    def log(self, verb: str) -> str:
        """The pattern of its logs."""
        names = self.wildcards() or self.place._fields
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
    found = {}
    for option, read in step.reads.items():
        name, value = option.replace("-", "_"), given[option]
        found[name] = value
        suffixes = tuple(suffix for suffix in read.beside if suffix.startswith("."))
        if suffixes:
            paths = value if isinstance(value, list) else [value]
            found[f"{name}_beside"] = [other for path in paths for other in _beside(path, suffixes)]
    return found


def _beside(path: str, beside: tuple[str, ...]) -> Iterator[str]:
    for other in beside:
        yield str(Path(path).with_suffix(other) if other.startswith(".") else Path(path).with_name(other))


def outputs_of(step: Step, parameters: Parameters, study: str) -> Names:
    """What a job of a step with these parameters writes, in its order, with its roles.

    Parameters may come from anywhere: what they lack raises what Python raises.
    """
    return tuple(_written(step, parameters, names_in(parameters) | {"study": study}))


def _written(step: Step, parameters: Parameters, names: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for option, pattern in step.writes.items():
        suffixes = KINDS[parameters["notebook"]].formats if "{suffix}" in pattern else ("",)
        yield from ((pattern.format(**names, suffix=suffix), option) for suffix in suffixes)


def names_in(parameters: Parameters) -> dict[str, Any]:
    """The names in a path that parameters give."""
    if "cell" in parameters:
        return Cell(*parameters["cell"])._asdict()
    if "pair" in parameters:
        return Pair(*parameters["pair"])._asdict()
    if "kind" in parameters:
        return {"file": layout.FILE_OF.get(parameters["kind"], parameters["kind"])}
    if "spec" not in parameters:
        return {name: value for name, value in parameters.items() if name != "study"}
    spec = parameters["spec"]
    variant = spec["variant"]["name"]
    parts = {part: spec[part]["name"] for part in ("model", "dataset", "hardware") if part in spec}
    if "trained_on" in parameters:
        parts |= {"hardware": parameters["trained_on"], "other_hardware": spec["hardware"]["name"]}
    return parts | {"variant": variant, "seed": spec["seed"], "mode": variant, "repeat": spec["seed"]}
