"""`toolnoise doctor`: what this machine has, a line each, and which toolings it can run.

No framework is imported, so this works on a machine without one, a GPU or /proc. Why a tooling cannot run here is what
a run on it is refused with.
"""

import argparse
import shutil
from collections.abc import Iterator

from toolnoise.base.printing import size
from toolnoise.commands.verb import MORE, Verb

FRAMEWORKS = "tensorflow|tensorflow-cpu|keras|jax|jaxlib|jax-cuda.*|torch|nvidia-cudnn.*"
PACKAGES = "toolnoise|snakemake|numpy|scipy|pandas"
PROGRAMS = ("ssh-keygen", "conda", "sbatch")


def _run(_options: argparse.Namespace) -> None:
    for what, found in _findings():
        print(f"{what:<12}{found}")


def _findings() -> Iterator[tuple[str, str]]:
    from toolnoise.base import environment
    from toolnoise.engines import accelerators, serving
    from toolnoise.study import config
    from toolnoise.study.programs import ENGINE

    machine = environment.machine()
    yield "machine", f"{machine['host']}, {machine['system']}, Python {machine['python']}"
    yield "processor", f"{machine['cpu']}: {' '.join(machine['cpu_flags']) or 'no instruction sets known'}"
    yield "cores", f"{machine['cores']}"
    yield "memory", f"{machine['memory_mib'] / 1024:.1f} GiB" if machine["memory_mib"] else "unknown"
    yield "free disk", f"{size(shutil.disk_usage('.').free)} in this folder"
    yield "GPUs", ", ".join(f"{gpu.name} (driver {gpu.driver or 'unknown'})" for gpu in accelerators.gpus()) or "none"
    yield "TPUs", ", ".join(accelerators.tpu()) or "none"
    for what, names in (("frameworks", FRAMEWORKS), ("packages", PACKAGES)):
        found = environment.installed(names)
        yield what, ", ".join(f"{name} {version}" for name, version in found.items()) or "none"
    for program in PROGRAMS:
        yield program, shutil.which(program) or "not found"
    for name, entry in config.registered("hardware").items():
        # Those of training programs need nothing installed but what the programs need.
        if entry["engine"] != ENGINE and not serving.why_not({"name": name, **entry}):
            yield "can run", name


VERB = Verb(
    group=MORE,
    says="list what this machine has, and the toolings that can run here",
    example="toolnoise doctor",
    run=_run,
    arguments={},
)
