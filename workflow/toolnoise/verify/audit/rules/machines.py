"""Rules about machines: each job ran on a machine and with settings that its tooling declares."""

from collections.abc import Collection
from typing import Any

from toolnoise import engines
from toolnoise.base.spec import Spec
from toolnoise.engines import accelerators, command, environment
from toolnoise.record.statements import Statement
from toolnoise.steps import STEPS
from toolnoise.study import programs
from toolnoise.verify.audit.evidence import Evidence, Found, each


@each
def hardware_is_the_declared(_evidence: Evidence, statement: Statement) -> Found:
    """The observed device, precision, instruction set, threads, kernels and determinism are those declared."""
    if statement.parameters.get("spec") is None or not STEPS[statement.verb].needs.tooling:
        return
    spec = Spec.read(statement.parameters["spec"])
    for what in _differs(spec.hardware.json, spec.variant.varying, statement.observed):
        yield statement.name, f"{what}; declared: {spec.hardware.name}"


def _differs(tooling: dict[str, Any], varying: Collection[str], observed: dict[str, Any]) -> list[str]:
    if tooling["engine"] == programs.ENGINE:
        return [*_wrong_device(tooling, observed), *_wrong_settings(command.variables(tooling), observed)]
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
