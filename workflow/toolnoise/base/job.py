"""How the function of a job declares its inputs and outputs: by the types of its arguments and by decorators.

The job's command line and its statement follow from them. An argument is a file that is read or written, a value, or an
aside, which changes no outcome. `JobFunction.of` reads a signature. A test compares the rules with it.

Values are one line of text, `key=value key=value`, which people can read in parameters of rules and on command lines. A
value is a plain word, or JSON. Reading returns exactly what was written: numbers keep their kind and all digits.
"""

import inspect
import json
import re
import time
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from toolnoise.base.errors import BadInput

# A plain word in values as text.
_WORD = re.compile(r"[A-Za-z_./][A-Za-z0-9_.,:/+@%-]*(?=\s|$)")
# Words that have another meaning in JSON.
_OF_JSON = ("true", "false", "null", "NaN", "Infinity")
_KEY = re.compile(r"([^\s=]+)=")
_DECODER = json.JSONDecoder()


class File(NamedTuple):
    """How an argument names files; `beside` has the names, or suffixes, of files beside each that are read, too."""

    written: bool = False
    several: bool = False
    beside: tuple[str, ...] = ()
    timed: bool = False  # it contains times, so two runs of the job differ


# A cell or a pair of toolings, by the names in its path.
PlaceNames = Annotated[Sequence[str], "place"]
# Several words, and values as key=value text. An argument with none of these types is JSON.
Words = Annotated[Sequence[str], "words"]
Values = Annotated[Mapping[str, Any], "values"]

Input = Annotated[str, File()]
Inputs = Annotated[list[str], File(several=True)]
# A dump with its index, the records of runs with their weights, or with all files of a run, and a profile's record.
Dump = Annotated[str, File(beside=(".json",))]
Dumps = Annotated[list[str], File(several=True, beside=(".json",))]
RunRecord = Annotated[str, File(beside=("weights.npz",))]
TrainedRuns = Annotated[list[str], File(several=True, beside=("weights.npz",))]
WholeRuns = Annotated[list[str], File(several=True, beside=("weights.npz", "history.csv"))]
ProfileRecords = Annotated[list[str], File(several=True, beside=(".csv",))]

Output = Annotated[str, File(written=True)]
Outputs = Annotated[list[str], File(written=True, several=True)]
TimedOutput = Annotated[str, File(written=True, timed=True)]

# An argument that changes no outcome: it is in no digest and no statement.
Aside = Annotated[str, "aside"]
AsideNumber = Annotated[int, "aside"]

# An argument that follows from the parameters: it is on no command line.
Implied = Annotated[Any, "implied"]

Files = dict[str, Any]  # the files of a job by its arguments
# Maps a job's parameters and its first output to the files outside of the study that the output was made from.
FromOutside = Callable[[dict[str, Any], str], Iterable[dict[str, Any]]]


def outside(files: FromOutside) -> Callable[[Callable], Callable]:
    """Mark a function whose outputs come from outside of the study; `files` lists their sources."""

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
    """A function that does a job, with its arguments by name: values, files and asides."""

    function: Callable[..., Any]
    values: Mapping[str, inspect.Parameter]
    files: Mapping[str, File]
    aside: Mapping[str, inspect.Parameter]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "JobFunction":
        """Read the signature of a function."""
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
                    raise BadInput("command line", f"--{option_of(name)}", f"found {path!r}", "a file")
                yield path, option_of(name)
                for other in about.beside:
                    beside = Path(path).with_suffix(other) if other.startswith(".") else Path(path).with_name(other)
                    yield str(beside), f"beside {option_of(name)}"

    def written(self, given: Files) -> Iterator[tuple[str, str]]:
        """Every file that the job writes, with its role: its option."""
        for name, about in self.files.items():
            if about.written:
                yield from ((path, option_of(name)) for path in _listed(given[name]))


def annotation_of(parameter: inspect.Parameter) -> Any:
    """The first extra of an argument's `Annotated` type, if it has one."""
    return next(iter(getattr(parameter.annotation, "__metadata__", ())), None)


def option_of(argument: str) -> str:
    """The option of an argument without its dashes, which is also the role of its files in statements."""
    return argument.replace("_", "-")


def argument_of(role: str) -> str:
    """The argument whose files have a role."""
    return role.replace("-", "_")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def values_as_text(values: Mapping[str, Any]) -> str:
    """Values as text: `name` first, the others sorted by key, so that the order in a file changes nothing."""
    return " ".join(f"{key}={_value(values[key])}" for key in sorted(values, key=lambda key: (key != "name", key)))


def _value(value: Any) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value) and value not in _OF_JSON:
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def values_in_text(line: str, option: str) -> dict[str, Any]:
    """The values in the text of a command-line option."""
    values: dict[str, Any] = {}
    position = 0
    while position < len(line):
        match = _KEY.match(line, position)
        if not match or match[1] in values:
            raise BadInput("command line", option, f"found {line[position:][:60]!r}", "key=value, each key once")
        values[match[1]], position = _parsed_value(line, match.end(), option)
        if line[position : position + 1] not in ("", " "):
            raise BadInput("command line", option, f"found {line[position:][:60]!r}", "a space between values")
        position += 1
    return values


def _parsed_value(line: str, start: int, option: str) -> tuple[Any, int]:
    word = _WORD.match(line, start)
    if word and word[0] not in _OF_JSON:
        return word[0], word.end()
    try:
        return _DECODER.raw_decode(line, start)
    except ValueError:
        raise BadInput("command line", option, f"found {line[start:][:60]!r}", "a word, or JSON") from None


class Timings(Counter[str]):
    """A job's seconds by activity."""

    @contextmanager
    def measure(self, what: str) -> Iterator[None]:
        """Add the seconds of the block to `what`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self[what] += time.perf_counter() - started
