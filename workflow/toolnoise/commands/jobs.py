"""The verbs of jobs: the options of each are the arguments of its function, and the recorder performs it."""

import argparse
import inspect
import io
import json
import os
import shutil
import sys
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolnoise import streams
from toolnoise.base import files
from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.base.job import Files, JobFunction, annotation_of, argument_of, option_of, values_in_text
from toolnoise.base.printing import Plain
from toolnoise.base.spec import Spec
from toolnoise.commands.verb import Verb
from toolnoise.engines import serving
from toolnoise.study import config, environments, job_code, programs
from toolnoise.study.cells import Cell, Pair
from toolnoise.study.expected import first_output

if TYPE_CHECKING:
    from toolnoise.provenance import recorder

GROUP = "jobs, which Snakemake runs"
# The parts of a spec by the options that give them, as key=value text. The last two are for a profile.
SPEC = {
    "model": "the network or the program",
    "dataset": "the data set",
    "recipe": "the recipe",
    "tooling": "the tooling",
    "variant": "the variant, and what varies in it",
    "seed": "the seeds of the study and of the run",
    "images": "the size of the images that steps are timed on",
    "steps": "the numbers of timed steps",
}
_OPTIONAL_PARTS = ("dataset", "images", "steps")
# Arguments that name a place in full, each with the kind of place.
PLACES = {"cell": Cell, "pair": Pair}


def verb_of_job(name: str) -> Verb:
    """The verb of a job."""
    job = job_code.function_of(name)
    return Verb(
        group=GROUP,
        says=inspect.getdoc(job.function).splitlines()[0],
        example=f"snakemake --printshellcmds  # prints every `toolnoise {name}` with its options",
        run=_run,
        arguments=dict(_arguments(job)),
    )


def _arguments(job: JobFunction) -> typing.Iterator[tuple[str, Mapping[str, Any]]]:
    """Every option with its settings for argparse."""
    for name, parameter in job.values.items():
        if parameter.annotation is Spec:
            for part, about in SPEC.items():
                yield f"--{part}", {"required": part not in _OPTIONAL_PARTS, "metavar": "KEY=VALUE", "help": about}
        else:
            yield f"--{option_of(name)}", {**_of_value(parameter), "required": not job.is_optional(name)}
    for name, about in job.files.items():
        several = {"nargs": "*" if job.is_optional(name) else "+"} if about.several else {}
        yield f"--{option_of(name)}", {"metavar": "FILE", **several, "required": not job.is_optional(name)}
    for name, parameter in job.aside.items():
        kind = {"type": int} if typing.get_args(parameter.annotation)[0] is int else {}
        yield f"--{option_of(name)}", {**kind, "required": not job.is_optional(name)}


def _of_value(parameter: inspect.Parameter) -> dict[str, Any]:
    """The settings for argparse of an option with a value."""
    if parameter.annotation is int:
        return {"type": int, "metavar": "N"}
    if annotation_of(parameter) == "words":
        return {"nargs": "*", "metavar": "WORD"}
    kind = "TEXT" if parameter.annotation is str else "KEY=VALUE" if _is_values(parameter) else "JSON"
    # Snakemake writes no word for an empty text.
    return {"metavar": kind, "nargs": "?", "const": ""}


def _is_values(parameter: inspect.Parameter) -> bool:
    return annotation_of(parameter) == "values" or parameter.kind is parameter.VAR_KEYWORD


def parameters_of(job: JobFunction, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a job, as its statement has them, from the options of its command line."""
    parameters: dict[str, Any] = {}
    for name, parameter in job.values.items():
        if parameter.annotation is Spec:
            parameters["spec"] = spec_of(options)
            continue
        value = options[name]
        # Empty optional values are not stated.
        if value is None or (job.is_optional(name) and value in ("", [])):
            continue
        read = _value(parameter, value, f"--{option_of(name)}")
        parameters |= read if parameter.kind is parameter.VAR_KEYWORD else {name: read}
    return parameters


def _value(parameter: inspect.Parameter, value: Any, option: str) -> Any:
    if annotation_of(parameter) == "place":
        names, wanted = value.split("/"), PLACES[parameter.name]._fields
        if len(names) != len(wanted) or not all(names):
            raise BadInput("command line", option, f"found {value[:60]!r}", "/".join(wanted))
        return names
    if parameter.annotation in (int, str) or annotation_of(parameter) == "words":
        return value
    if _is_values(parameter):
        return values_in_text(value, option)
    try:
        return json.loads(value)
    except ValueError:
        raise BadInput("command line", option, f"found {value[:60]!r}", "JSON") from None


def spec_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """A spec from the options for its parts."""
    given = {part: options[part] for part in SPEC if options[part] is not None}
    spec = {part: values_in_text(text, f"--{part}") for part, text in given.items()}
    spec["hardware"] = spec.pop("tooling")
    spec |= spec.pop("seed")
    try:
        Spec.read(spec)
    except (KeyError, TypeError) as error:
        raise BadInput("command line", "", f"no spec ({error})", "the options of a rule's command") from None
    return spec


def _run(options: argparse.Namespace) -> None:
    job, given = job_code.function_of(options.verb), vars(options)
    parameters = parameters_of(job, given)
    name = environments.environment_of(parameters)
    if name and not environments.is_this(name):
        environments.require_environment(name, parameters["spec"]["hardware"]["name"])
        # This process becomes the job's process in the other environment.
        there = environments.program_of_environment(name, "toolnoise")
        os.execv(there, [str(there), *options.command_line])  # noqa: S606 (no shell is wanted)
    from toolnoise.provenance import recorder

    let_output_be_lost()
    named = {name: given[name] if given[name] is not None else () for name in job.files}
    aside = {name: given[name] for name in job.aside if given[name] is not None}

    def done() -> None:
        if checkpoint := aside.get("checkpoint"):
            files.discard(checkpoint)
            if programs.is_program(parameters["spec"]["model"]):
                # The program has a folder beside the checkpoint, which the job has checked.
                shutil.rmtree(Path(checkpoint).with_suffix(""), ignore_errors=True)

    with errors_in_one_line(f"{options.verb} {name_of_job(parameters)}".rstrip()):
        try:
            work = recorded_job(options.verb, parameters, named, aside, options.command_line)
            recorder.record_job(work, options.started, done)
        except KeyError as error:
            _require_whole_recipe(error.args[0], parameters)
            raise


def recorded_job(
    verb: str, parameters: dict[str, Any], named: Files, aside: Files, command: Sequence[str] = ()
) -> "recorder.Job":
    """A job for the recorder; `named` are its files by argument."""
    from toolnoise.provenance import recorder

    job = job_code.function_of(verb)
    spec = Spec.read(parameters["spec"]) if "spec" in parameters else None
    if spec and (absent := serving.why_not(spec.hardware.json)):
        raise BadInput(f"hardware {spec.hardware.name}", "", absent, "`toolnoise doctor` lists what can run")
    outside = getattr(job.function, "from_outside", None)
    return recorder.Job(
        verb,
        parameters | ({"keys": streams.keys_of_run(spec)} if spec else {}),
        tuple(command),
        tuple(recorder.JobFile(path, role, made_with=first_output(path)) for path, role in job.read(named)),
        tuple(recorder.JobFile(path, role, job.files[argument_of(role)].timed) for path, role in job.written(named)),
        perform=lambda: job_code.perform_job(verb, parameters, named | aside),
        code=lambda: job_code.digests_of_sources(verb, parameters),
        counted=lambda: job_code.digest_of_job(verb, parameters),
        outside=(lambda output: outside(parameters, output)) if outside else lambda _: (),
        resumed=lambda: files.read_json(named["record"]).get("resumed_after"),
        checkpoint=aside.get("checkpoint", ""),
        engine=spec.hardware.engine if spec else "",
        unrepeatable=getattr(job.function, "why_unrepeatable", ""),
    )


def _require_whole_recipe(key: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a recipe without a key that a job needs; the command of a rule has all keys."""
    recipe = parameters.get("spec", {}).get("recipe", {})
    if key in config.study_schema()["$defs"]["recipe"]["properties"] and key not in recipe:
        raise BadInput("command line", "--recipe", f"lacks the key {key!r}", "the recipe of a rule's command")


def name_of_job(parameters: Mapping[str, Any]) -> str:
    """The subject of a job, such as its run or cell, for a message."""
    if "spec" not in parameters:
        about = [parameters[key] for key in ("cell", "pair", "dataset", "figure", "kind") if key in parameters]
        return "/".join(about[0]) if about and isinstance(about[0], list) else "".join(map(str, about[:1]))
    spec = parameters["spec"]
    parts = (spec[part]["name"] for part in ("model", "dataset", "hardware", "variant") if part in spec)
    return "/".join([*parts, str(spec["seed"])])


class _Lossy(io.FileIO):
    """A stream that drops what it cannot write."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def let_output_be_lost() -> None:
    """Let this process continue if its output cannot be written: a full disk under its log must not end a job."""
    for name in ("stdout", "stderr"):
        shown = getattr(sys, name)
        stream = shown.stream if isinstance(shown, Plain) else shown
        # A stream that a test or a notebook has put there stays.
        if stream is getattr(sys, f"__{name}__"):
            stream.flush()
            lossy = io.BufferedWriter(_Lossy(stream.fileno(), "w", closefd=False))
            errors = stream.errors or "strict"
            wrapped = io.TextIOWrapper(lossy, stream.encoding, errors, line_buffering=True)
            if isinstance(shown, Plain):
                shown.stream = wrapped
            else:
                setattr(sys, name, wrapped)
