"""Rules about where and when jobs ran: on a declared machine, after their inputs were made, and not in the future."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from toolnoise import engines
from toolnoise.base import environment
from toolnoise.base.printing import span
from toolnoise.base.spec import Spec
from toolnoise.engines import accelerators
from toolnoise.provenance import history
from toolnoise.provenance.audit.evidence import Evidence, Found, each, shows_earlier_page
from toolnoise.provenance.statements import COMMIT, TIME, Statement
from toolnoise.steps import STEPS
from toolnoise.study import programs
from toolnoise.study.programs import thread_variables


@each
def hardware_is_the_declared(_evidence: Evidence, statement: Statement) -> Found:
    """The observed device, precision, instruction set, threads, kernels and determinism are those declared."""
    if statement.parameters.get("spec") is None or not STEPS[statement.verb].tooling:
        return
    spec = Spec.read(statement.parameters["spec"])
    for what in _differs(spec.hardware.json, spec.variant.varying, statement.observed):
        yield statement.name, f"{what}; declared: {spec.hardware.name}"


def _differs(tooling: dict[str, Any], varying: Collection[str], observed: dict[str, Any]) -> list[str]:
    if tooling["engine"] == programs.ENGINE:
        return [
            *_wrong_device(tooling, observed),
            *_wrong_settings(thread_variables(tooling), observed),
        ]
    wanted = {"deterministic": "impl" not in varying, "precision": tooling["precision"], "tf32": tooling["tf32"]}
    wrong = [f"{key} was {observed[key]!r}" for key, value in wanted.items() if observed[key] != value]
    wrong += _wrong_device(tooling, observed)
    if tooling["accelerator"] == "cpu" and environment.FLAGS[tooling["isa"]] not in observed["cpu_flags"]:
        wrong.append(f"the CPU has no {tooling['isa']}")
    return wrong + _wrong_settings(engines.load(tooling["engine"]).variables(tooling, "impl" not in varying), observed)


def _wrong_device(tooling: dict[str, Any], observed: dict[str, Any]) -> list[str]:
    device = observed["device"]
    on_cpu = tooling["accelerator"] == "cpu"
    called = device != "cpu" and accelerators.is_called(tooling["device"] or device, device)
    return [] if (device == "cpu" if on_cpu else called) else [f"the device was {device!r}"]


def _wrong_settings(wanted: dict[str, str], observed: dict[str, Any]) -> list[str]:
    variables = observed["variables"]
    wrong = [f"{name} was {variables.get(name)!r}" for name, value in wanted.items() if variables.get(name) != value]
    others = variables.keys() - wanted.keys() - set(environment.VISIBLE)
    return wrong + [f"{name} was set" for name in sorted(others)]


@each
def times_are_possible(evidence: Evidence, statement: Statement) -> Found:
    """Every job began after its inputs and its commit were made, ended after it began, and not in the future."""
    name = statement.name
    host = _host(statement)
    if statement.finished < statement.started:
        why = _set_back(host, statement.started - statement.finished)
        yield name, f"ended at {statement.finished:{TIME}}, before it began at {statement.started:{TIME}}{why}"
    if statement.finished > evidence.now + evidence.skew:
        ahead = span((statement.finished - evidence.now).total_seconds())
        why = f": the clock of {host} is {ahead} ahead" if host else ""
        yield name, f"ended at {statement.finished:{TIME}}, in the future{why}"
    for needed in () if shows_earlier_page(evidence, statement) else statement.inputs:
        made = evidence.tree.producer(needed.name)
        # Runs from another cluster lie beside data that was prepared here, perhaps later.
        elsewhere = needed.role == "data" and statement.verb in STEPS and STEPS[statement.verb].record.travels
        if made and not elsewhere and made.statement.finished > statement.started + evidence.skew:
            behind, other = made.statement.finished - statement.started, _host(made.statement)
            # Snakemake does not repeat a job whose input was deleted and made again, if its bits are equal.
            why = f"{_set_back(host, behind)}, or the input was made again" if host else ""
            if host and other and host != other:
                why = f": the clock of {host} is {span(behind.total_seconds())} behind that of {other}"
            yield name, f"began at {statement.started:{TIME}}, before its input {needed.name} was made{why}"
    for needed in statement.dependencies:
        when = history.committed(needed.sha256) if needed.kind == COMMIT else None
        if when and statement.started < when - evidence.skew:
            behind = span((when - statement.started).total_seconds())
            why = f": or the clock of {host} is {behind} behind" if host else ""
            yield name, f"began at {statement.started:{TIME}}, before its commit was made{why}"


def _host(statement: Statement) -> str:
    """Where a job ran; nothing if that was left out."""
    return str(statement.observed.get("host", ""))


def _set_back(host: str, by: timedelta) -> str:
    return f": the clock of {host} was set back by {span(by.total_seconds())}" if host else ""
