"""Rules about machines: each job ran on a machine and with settings that its tooling declares."""

from typing import Any

from toolnoise import engines
from toolnoise.engines import accelerators, environment
from toolnoise.provenance.audit.evidence import Evidence, Found, each
from toolnoise.provenance.record.statements import Statement


@each
def hardware_is_the_declared(_evidence: Evidence, statement: Statement) -> Found:
    """The observed device, precision, instruction set, threads, kernels and determinism are those declared."""
    spec = statement.parameters.get("spec")
    if spec is None:
        return
    for what in _differs(spec["hardware"], spec["variant"]["varying"], statement.observed):
        yield statement.outputs[0].name, f"{what}; declared: {spec['hardware']['name']}"


def _differs(tooling: dict[str, Any], varying: list[str], observed: dict[str, Any]) -> list[str]:
    wanted = {
        "deterministic": "impl" not in varying,
        "precision": tooling["precision"],
        "tf32": tooling["tf32"],
    }
    found = [f"{key} was {observed[key]!r}" for key, value in wanted.items() if observed[key] != value]
    cpu, device = tooling["accelerator"] == "cpu", observed["device"]
    if not (
        device == "cpu" if cpu else device != "cpu" and accelerators.is_called(tooling["device"] or device, device)
    ):
        found.append(f"the device was {device!r}")
    if cpu and environment.FLAGS[tooling["isa"]] not in observed["cpu_flags"]:
        found.append(f"the CPU has no {tooling['isa']}")
    settings = engines.load(tooling["engine"]).variables(tooling, "impl" not in varying)
    variables = observed["variables"]
    found += [f"{name} was {variables.get(name)!r}" for name, value in settings.items() if variables.get(name) != value]
    others = variables.keys() - settings.keys() - set(environment.VISIBLE)
    return found + [f"{name} was set" for name in sorted(others)]
