"""What this machine is, and which toolings it can run.

Nothing is imported, so this works on a machine without a framework, a GPU or /proc. The reason why a tooling cannot
run has the words in which a run would be refused.
"""

from typing import Any

from toolnoise.base.printing import aligned
from toolnoise.engines import accelerators, environment, serving

PACKAGES = "tensorflow|tensorflow-cpu|keras|jax|jaxlib|jax-cuda.*|torch|numpy|nvidia-.*|snakemake|toolnoise"


def examine(hardware: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """This machine, its accelerators and packages, and for each tooling why it cannot run here (empty: it can)."""
    return {
        "machine": environment.machine(),
        "gpus": [gpu._asdict() for gpu in accelerators.gpus()],
        "tpus": accelerators.tpu(),
        "packages": environment.installed(PACKAGES),
        "hardware": {name: serving.why_not({"name": name, **entry}) for name, entry in hardware.items()},
    }


def as_text(found: dict[str, Any]) -> str:
    """The findings, for a person."""
    machine = found["machine"]
    memory = f", {machine['memory_mib'] / 1024:.1f} GiB" if machine["memory_mib"] else ""
    gpus = [f"{gpu['name']} (driver {gpu['driver'] or 'unknown'})" for gpu in found["gpus"]]
    lines = [
        f"machine   {machine['host']}, {machine['system']}, Python {machine['python']}",
        f"CPU       {machine['cpu']}, {machine['cores']} cores{memory}",
        f"          {' '.join(machine['cpu_flags']) or 'no instruction sets known'}",
        f"GPUs      {', '.join(gpus) or 'none'}",
        f"TPUs      {', '.join(found['tpus']) or 'none'}",
        f"packages  {', '.join(f'{name} {version}' for name, version in found['packages'].items())}",
        "",
    ]
    rows = [(name, "no" if reason else "yes", reason) for name, reason in found["hardware"].items()]
    return "\n".join(lines + aligned([("hardware", "served", "why not"), *rows]))
