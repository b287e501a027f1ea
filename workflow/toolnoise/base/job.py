"""What the function of a job says of itself, by the types of its arguments and by a decorator.

Its command line and its statement follow from that: a file that is read or written, a value, or what changes no
outcome. `JobFunction.of` reads a signature. Rules are held to it by a test.
"""

import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from toolnoise.base.errors import BadInput


class File(NamedTuple):
    """How an argument names files; those beside a file are read too, by a name or by a suffix in place of its own."""

    written: bool = False
    several: bool = False
    beside: tuple[str, ...] = ()
    timed: bool = False  # it contains times, so two runs of the job differ


# A cell or a pair of toolings, by the names in its path.
PlaceNames = Annotated[Sequence[str], "place"]
# Several words, and values as key=value text (`key_values`). What has none of these types is JSON.
Words = Annotated[Sequence[str], "words"]
Values = Annotated[Mapping[str, Any], "values"]

Input = Annotated[str, File()]
Inputs = Annotated[list[str], File(several=True)]
# A dump with its index, the records of runs with their weights, or with all that a run leaves, and a profile's record.
Dump = Annotated[str, File(beside=(".json",))]
Dumps = Annotated[list[str], File(several=True, beside=(".json",))]
RunRecord = Annotated[str, File(beside=("weights.npz",))]
TrainedRuns = Annotated[list[str], File(several=True, beside=("weights.npz",))]
WholeRuns = Annotated[list[str], File(several=True, beside=("weights.npz", "history.csv"))]
ProfileRecords = Annotated[list[str], File(several=True, beside=(".csv",))]

Output = Annotated[str, File(written=True)]
Outputs = Annotated[list[str], File(written=True, several=True)]
TimedOutput = Annotated[str, File(written=True, timed=True)]

# What changes no outcome: it is in no digest and no statement.
Aside = Annotated[str, "aside"]
AsideNumber = Annotated[int, "aside"]

# What follows from the parameters: it is on no command line.
Implied = Annotated[Any, "implied"]

Files = dict[str, Any]  # the files of a job by its arguments
# From a job's parameters and its first output: the files from outside of the study that it was made from.
FromOutside = Callable[[dict[str, Any], str], Iterable[dict[str, Any]]]


def outside(files: FromOutside) -> Callable[[Callable], Callable]:
    """Mark a function whose outputs come from outside of the study; `files` lists what they come from."""

    def mark(function: Callable) -> Callable:
        function.from_outside = files
        return function

    return mark


def unrepeatable(why: str) -> Callable[[Callable], Callable]:
    """Mark a function whose outputs cannot be made again, with the reason."""

    def mark(function: Callable) -> Callable:
        function.why_unrepeatable = why
        return function

    return mark


class JobFunction(NamedTuple):
    """A function that does a job, with its arguments: values, files and what is aside, by name."""

    function: Callable[..., Any]
    values: Mapping[str, inspect.Parameter]
    files: Mapping[str, File]
    aside: Mapping[str, inspect.Parameter]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "JobFunction":
        """What a signature says."""
        values, files, aside = {}, {}, {}
        types = typing.get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            typed = parameter.replace(annotation=types[name])
            about = annotation_of(typed)
            if isinstance(about, File):
                files[name] = about
            elif about == "aside":
                aside[name] = typed
            elif about != "implied":
                values[name] = typed
        return cls(function, values, files, aside)

    def is_optional(self, name: str) -> bool:
        """Whether an argument has a default."""
        return inspect.signature(self.function).parameters[name].default is not inspect.Parameter.empty

    def read(self, given: Files) -> Iterator[tuple[str, str]]:
        """Every file that the job reads, with its role: its option, or `beside` that option."""
        for name, about in self.files.items():
            if about.written:
                continue
            for path in _listed(given[name]):
                if not Path(path).name:
                    raise BadInput("command line", f"--{option(name)}", f"found {path!r}", "a file")
                yield path, option(name)
                for other in about.beside:
                    beside = Path(path).with_suffix(other) if other.startswith(".") else Path(path).with_name(other)
                    yield str(beside), f"beside {option(name)}"

    def written(self, given: Files) -> Iterator[tuple[str, str]]:
        """Every file that the job writes, with its role: its option."""
        for name, about in self.files.items():
            if about.written:
                yield from ((path, option(name)) for path in _listed(given[name]))


def annotation_of(parameter: inspect.Parameter) -> Any:
    """What the type of an argument says besides its values."""
    return next(iter(getattr(parameter.annotation, "__metadata__", ())), None)


def option(argument: str) -> str:
    """The option of an argument, without its dashes, which is the role of its files in statements."""
    return argument.replace("_", "-")


def argument_of(role: str) -> str:
    """The argument whose files have a role."""
    return role.replace("-", "_")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
