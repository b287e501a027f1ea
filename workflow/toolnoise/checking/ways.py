"""Other ways to run a program that should not matter: those that a person names, and those that its text shows."""

import ast
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import command_words
from toolnoise.base.errors import BadInput
from toolnoise.checking import program_text
from toolnoise.checking.program_text import SourceFile

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# What `--matrix` tries of every program, and of one with PyTorch.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ALWAYS = (
    *(f"threads {number}: {' '.join(f'{name}={number}' for name in THREADS)}" for number in (1, 2, 4)),
    *(f"hash seed {number}: PYTHONHASHSEED={number}" for number in (0, 1)),
)
# Kernels for a processor without AVX. TORCHDYNAMO_DISABLE means something to a program that compiles.
TORCH = {
    r"^\s*(import|from) torch\b": "plain processor: ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41",
    r"\btorch\.compile\(": "not compiled: TORCHDYNAMO_DISABLE=1",
}
# What it tries if the program has one of these options, in any of its spellings.
OPTIONS = {
    "workers": (("--num-workers", "--workers"), ("0", "2")),
    "evaluation batch": (("--eval-batch-size", "--eval-batch", "--test-batch-size"), ("7", "64")),
    "accumulation": (
        (
            *("--accumulate", "--accumulation", "--accumulation-steps", "--accum-steps", "--accum-iter"),
            *("--grad-accum", "--grad-accum-steps", "--gradient-accumulation", "--gradient-accumulation-steps"),
            "--accumulate-grad-batches",
        ),
        ("2",),
    ),
}
COMPILES = ("--compile", "--torch-compile", "--use-compile")
PRECISIONS = ("--dtype", "--precision")
DOUBLE = ("float64", "double", "fp64", "64", "64-true")
DEVICES = ("--device", "--accelerator")
BATCHES = (
    *("--batch-size", "--batch", "--train-batch-size", "--micro-batch-size", "--per-device-batch-size"),
    "--per-device-train-batch-size",
)


class Way(NamedTuple):
    """A way to run a program: its name, the whole command, and variables.

    `knob` is what it turns, if it is one that is known. One that was `found` may not run. `instead` is the same way for
    a program whose option counts the examples of one step of one process, and not those of the whole batch.
    """

    name: str
    words: list[str]
    variables: dict[str, str]
    knob: str = ""
    found: bool = False
    instead: "Way | None" = None


class Asked(NamedTuple):
    """The ways to try, words that raise the precision, and words that switch draws off."""

    ways: Sequence[Way] = ()
    higher: Sequence[str] = ()
    without_draws: Sequence[str] = ()


class _Option(NamedTuple):
    """What a program's text says of an option."""

    default: str = ""
    choices: tuple[str, ...] = ()
    is_flag: bool = False


def asked(
    words: Sequence[str], varied: Sequence[str], worlds: Sequence[str], higher: str, without_draws: str, *, matrix: bool
) -> Asked:
    """What a command line asks for: `NAME: [VARIABLE=VALUE ...] [WORD ...]`, and further numbers of processes."""
    program = program_text.sources(words, Path())
    options = options_of(program)
    start = torchrun(words, worlds[0]) if worlds else list(words)
    found = list(_matrix(start, program, options)) if matrix else []
    found += [_way(start, text) for text in varied]
    found = [_with_batch(way, _accumulated(way), options) for way in found]
    for number in worlds[1:]:
        way = Way(f"world {number}", torchrun(words, number), {}, "world")
        found.append(_with_batch(way, number, options, worlds[0]))
    names = [way.name for way in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput("command line", "--vary", f"found {name!r} twice", "each name once")
    raised = command_words.words(higher, "--higher") if higher else []
    if matrix and not higher:
        raised = next(([option, value] for option, value in _precisions(options) if value in DOUBLE), [])
    return Asked(found, raised, command_words.words(without_draws, "--without-draws") if without_draws else [])


def _matrix(start: Sequence[str], program: Sequence[SourceFile], options: dict[str, _Option]) -> Iterator[Way]:
    """The ways that a program has for certain, and those that its text shows."""
    text = "\n".join(line for source in program for line in source.lines)
    always = [*ALWAYS, *(way for pattern, way in TORCH.items() if re.search(pattern, text, re.MULTILINE))]
    yield from (_way(start, each)._replace(knob=re.sub(r" \d+:.*|:.*", "", each)) for each in always)
    tried = [
        (f"{knob} {value}", knob, [option, value])
        for knob, (spellings, values) in OPTIONS.items()
        for option in [_known(spellings, options)]
        for value in values
        if option
    ]
    compiles = _known(COMPILES, options)
    if compiles and options[compiles].is_flag and compiles not in start:
        tried.append(("compiled", "compile", [compiles]))
    tried += [
        (f"precision {value}", "precision", [option, value])
        for option, value in _precisions(options)
        if value not in start
    ]
    device = _known(DEVICES, options)
    devices = [each for each in _devices() if device and each not in (*start, options[device].default)]
    tried += [(f"device {each}", "device", [device, each]) for each in devices]
    for name, knob, more in tried:
        yield Way(name, [*start, *more], {}, knob, found=True)


def _precisions(options: dict[str, _Option]) -> list[tuple[str, str]]:
    """Values of an option for the precision, other than its default. Its text must name them."""
    option = _known(PRECISIONS, options)
    return [(option, value) for value in options[option].choices if value != options[option].default] if option else []


def _devices() -> list[str]:
    """Where else a program may compute here; on a machine with one device there is no other."""
    if Path("/dev/nvidiactl").exists():
        return ["cpu", "cuda"]
    return ["cpu", "mps"] if sys.platform == "darwin" else []


def options_of(program: Sequence[SourceFile]) -> dict[str, _Option]:
    """The options in a program's text: all texts like one, with what the call that declares them says."""
    nodes = [node for source in program for node in ast.walk(source.tree)]
    found = {
        str(node.value): _Option(is_flag=True)
        for node in nodes
        if isinstance(node, ast.Constant) and re.fullmatch(r"--[a-z][a-z0-9_-]+", str(node.value))
    }
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        for name in (word.value for word in call.args if isinstance(word, ast.Constant) and word.value in found):
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            choices = getattr(given.get("choices"), "elts", ())
            values = tuple(str(each.value) for each in choices if isinstance(each, ast.Constant))
            default = str(getattr(given.get("default"), "value", ""))
            found[name] = _Option(default, values, "action" in given)
    return found


def _known(spellings: Sequence[str], options: dict[str, _Option]) -> str:
    """The program's own spelling of an option, with hyphens or underscores."""
    return next((own for own in options if canonical(own) in spellings), "")


def canonical(option: str) -> str:
    """An option with hyphens."""
    return "--" + option[2:].replace("_", "-")


def _with_batch(way: Way, parts: str, options: dict[str, _Option], first: str = "1") -> Way:
    """A way that divides a batch, with the reading that the option for its size counts a part, if that is known."""
    option = _known(BATCHES, options)
    size = _value(option, way.words) or (options[option].default if option else "")
    if not (size.isdigit() and parts.isdigit() and int(parts)) or int(size) * int(first) % int(parts):
        return way
    more = [option, str(int(size) * int(first) // int(parts))]
    return way._replace(instead=way._replace(name=f"{way.name} ({' '.join(more)})", words=[*way.words, *more]))


def _accumulated(way: Way) -> str:
    """How many batches a way accumulates; nothing if it does not say so."""
    spelled = [word for word in way.words if canonical(word.partition("=")[0]) in OPTIONS["accumulation"][0]]
    return _value(spelled[-1].partition("=")[0], way.words) if way.knob == "accumulation" and spelled else ""


def _value(option: str, words: Sequence[str]) -> str:
    """The last value of an option among words, if it has one there."""
    joined = [word.partition("=")[2] for word in words if option and word.startswith(f"{option}=")]
    return ["", *joined, *(value for word, value in pairwise(words) if word == option)][-1]


def _way(words: Sequence[str], text: str) -> Way:
    name, separator, rest = text.partition(":")
    parts = shlex.split(rest)
    if not (name.strip() and separator and parts):
        raise BadInput("command line", "--vary", f"found {text!r}", "NAME: VARIABLE=VALUE, or NAME: --option value")
    count = next((place for place, part in enumerate(parts) if not VARIABLE.match(part)), len(parts))
    variables = dict(part.split("=", 1) for part in parts[:count])
    more = command_words.required(parts[count:]) if parts[count:] else []
    knobs = {word: knob for knob, (spellings, _) in OPTIONS.items() for word in spellings}
    knob = next((knobs[option] for word in more if (option := canonical(word.partition("=")[0])) in knobs), "")
    return Way(name.strip(), [*words, *more], variables, knob)


def worlds(text: str | None) -> list[str]:
    """Numbers of processes; what is unchanged has the first."""
    found = (text or "").split(",") if text else []
    for number in found:
        if not re.fullmatch("[1-9][0-9]?", number):
            raise BadInput("command line", "--world", f"found {number!r}", "numbers of processes, such as 1,2,4")
    return found


def torchrun(words: Sequence[str], number: str) -> list[str]:
    """A command that starts a Python program as several processes on this machine."""
    if not Path(words[0]).name.startswith("python"):
        raise BadInput("command line", "--world", f"found the program {words[0]!r}", "python SCRIPT ...")
    return [words[0], "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", number, *words[1:]]
