"""`toolnoise doctor`: what this machine is, and which toolings it can run.

No framework is imported, so this works on a machine without one, a GPU or /proc. The reason why a tooling cannot run
has the words in which a run would be refused.
"""

import argparse
import sys
from typing import Any

from toolnoise.base.printing import aligned
from toolnoise.commands.verb import A_STUDY, AS_JSON, MORE, Verb, flag, option, show
from toolnoise.study.programs import ENGINE

PACKAGES = "tensorflow|tensorflow-cpu|keras|jax|jaxlib|jax-cuda.*|torch|numpy|nvidia-.*|snakemake|toolnoise"


def _run(options: argparse.Namespace) -> None:
    from toolnoise.study import config, grid

    if options.study:
        hardware = grid.load(options.study).config["hardware"]
    else:
        # Toolings for training programs need nothing installed but what these need.
        hardware = {name: entry for name, entry in config.registered("hardware").items() if entry["engine"] != ENGINE}
    found = examine(hardware)
    # Of a study, what cannot run matters most.
    show(found if options.json else as_text(found, every=bool(options.study) or options.all))
    # A study needs all its toolings; without a study one of the registry is enough.
    able = [not reason for reason in found["hardware"].values()]
    sys.exit(0 if (all if options.study else any)(able) else 1)


def examine(hardware: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """This machine, its accelerators and packages, and for each tooling why it cannot run here (empty: it can)."""
    from toolnoise.base import environment
    from toolnoise.engines import accelerators, serving

    return {
        "machine": environment.machine(),
        "gpus": [gpu._asdict() for gpu in accelerators.gpus()],
        "tpus": accelerators.tpu(),
        "packages": environment.installed(PACKAGES),
        "hardware": {name: serving.why_not({"name": name, **entry}) for name, entry in hardware.items()},
    }


def as_text(found: dict[str, Any], every: bool) -> str:
    """The findings, for a person; without `every`, only those toolings that can run here."""
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
    reasons = found["hardware"]
    if every:
        rows = [(name, "no" if reason else "yes", reason) for name, reason in reasons.items()]
        return "\n".join(lines + aligned([("hardware", "served", "why not"), *rows]))
    able = [name for name, reason in reasons.items() if not reason]
    lines += ["can run here:", *(f"  {name}" for name in able)] if able else []
    return "\n".join([*lines, f"cannot run here: {len(reasons) - len(able)} others; `toolnoise doctor --all` says why"])


VERB = Verb(
    group=MORE,
    says="describe this machine and list what can run here",
    example="toolnoise doctor --study my-study.yaml",
    run=_run,
    arguments={
        "--study": option("FILE", A_STUDY),
        "--all": flag("also those that it cannot run, with the reason"),
        **AS_JSON,
    },
)
