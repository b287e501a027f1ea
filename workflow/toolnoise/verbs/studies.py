"""Studies from their file to their summary: `init`, `run`, `summary`, `estimate`; `adopt` and `doctor`."""

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from toolnoise.base.printing import size_text
from toolnoise.commands.verb import AS_JSON, MORE, STUDY, flag, option, show, verb

# The packages and programs that `doctor` looks for.
FRAMEWORKS = "tensorflow|tensorflow-cpu|keras|jax|jaxlib|jax-cuda.*|torch|nvidia-cudnn.*"
PACKAGES = "toolnoise|snakemake|numpy|scipy|pandas"
PROGRAMS = ("ssh-keygen", "conda", "sbatch")


@verb(
    STUDY,
    "toolnoise init command",
    {"KIND": {"nargs": "?", "help": "command, builder or adopted (what is found in this folder)"}},
)
def init(options: argparse.Namespace) -> None:
    """write a study file for the program or Keras builder in this folder"""
    from toolnoise.programs import first_study

    print(first_study.write(options.kind))


@verb(
    STUDY,
    "toolnoise run my-study.yaml --cores 2",
    {"--profile": option("NAME", "a profile of the workflow, such as slurm, or of your own (this machine, all cores)")},
    "toolnoise run [STUDY] [--profile NAME] [OPTION OF SNAKEMAKE ...]",
)
def run(options: argparse.Namespace) -> None:
    """run a study with Snakemake and print its summary; further options are Snakemake's"""
    from toolnoise.commands import run

    sys.exit(run.run(options.profile, options.further))


@verb(
    STUDY,
    "toolnoise summary",
    {
        "--study": option(
            "PLACE", "a configuration, or a study's results folder or archive (the only study of this folder)"
        ),
        "--claims": flag("the verdicts on claims of papers, and of the study file, instead"),
        **AS_JSON,
    },
)
def summary(options: argparse.Namespace) -> None:
    """print what a study found, on one screen"""
    from toolnoise.commands import summary
    from toolnoise.provenance import archive
    from toolnoise.study import grid, layout, study_files

    name = Path(layout.STUDY).name
    with archive.opened_results(options.study or study_files.to_read()) as (file,):
        kept = file / name if file.is_dir() else file
        study = grid.load_study(kept)
        if kept.name == name and kept.with_name("metrics").is_dir():
            # The results lie beside this file, also if they were moved. A user's own file may have the same name.
            study = study.lying_at(kept.parent)
        shown = summary.as_json if options.json else summary.claims_text if options.claims else summary.as_text
        show(shown(study))


@verb(
    STUDY,
    "toolnoise estimate --study my-study.yaml --measure",
    {
        "--study": option(
            "FILE", "a configuration, or the study.json among its results (the only study of this folder)"
        ),
        "--measure": flag("benchmark untimed cells first, on this machine"),
        **AS_JSON,
    },
)
def estimate(options: argparse.Namespace) -> None:
    """estimate a study's run time, cost and disk space"""
    from toolnoise.estimate import costs
    from toolnoise.study import study_files

    file, study = study_files.load_from_files(options.study)
    if options.measure:
        costs.measure(study, file)
    cost = costs.estimate(study)
    show(costs.as_json(cost) if options.json else costs.as_text(cost, file))


@verb(
    MORE,
    "toolnoise adopt 'runs/{arm}/seed{seed}/preds.npy' --labels y.npy --name mine",
    {
        "FOUND": {
            "help": "a CSV with a run in each row (columns file, arm, seed), or a quoted pattern with {arm} and {seed}"
        },
        "--name": option("NAME", "the study's name: writes NAME.yaml and adopted/NAME", required=True),
        "--labels": option("FILE", "the labels of all runs, unless the CSV has a column `labels`"),
        "--values": flag("predictions are numbers (regression), not classes: N, or N x column"),
        "--losses": flag("files have each token's negative log-likelihood, N x token or token; no labels"),
        "--metric": option(
            "COLUMN", "take this number from the CSV instead of predictions; repeat for each", action="append"
        ),
        "--arm-column": option("COLUMN", "the column that names a run's arm (arm)", default="arm"),
        "--seed-column": option("COLUMN", "the column with a run's seed (seed)", default="seed"),
    },
)
def adopt(options: argparse.Namespace) -> None:
    """make a study of existing runs, from any program"""
    from toolnoise.comparison import arms
    from toolnoise.programs import existing_runs

    asked = arms.kind_asked(values=options.values, losses=options.losses)
    columns = existing_runs.Columns(options.arm_column, options.seed_column, tuple(options.metric or ()))
    print(existing_runs.adopt(options.found, options.name, options.labels, columns, asked))


@verb(
    MORE,
    "toolnoise doctor",
    {},
)
def doctor(_options: argparse.Namespace) -> None:
    """list what this machine has, and the toolings that can run here"""
    for what, found in _found_here():
        print(f"{what:<12}{found}")


def _found_here() -> Iterator[tuple[str, str]]:
    """What this machine has, without importing a framework, and the toolings that a run here would not be refused."""
    from toolnoise.base import environment
    from toolnoise.engines import accelerators, serving
    from toolnoise.study import config
    from toolnoise.study.programs import ENGINE

    machine = environment.describe_machine()
    yield "machine", f"{machine['host']}, {machine['system']}, Python {machine['python']}"
    yield "processor", f"{machine['cpu']}: {' '.join(machine['cpu_flags']) or 'no instruction sets known'}"
    yield "cores", f"{machine['cores']}"
    yield "memory", f"{machine['memory_mib'] / 1024:.1f} GiB" if machine["memory_mib"] else "unknown"
    yield "free disk", f"{size_text(shutil.disk_usage('.').free)} in this folder"
    yield "GPUs", ", ".join(f"{gpu.name} (driver {gpu.driver or 'unknown'})" for gpu in accelerators.gpus()) or "none"
    yield "TPUs", ", ".join(accelerators.tpu()) or "none"
    for what, names in (("frameworks", FRAMEWORKS), ("packages", PACKAGES)):
        found = environment.installed_versions(names)
        yield what, ", ".join(f"{name} {version}" for name, version in found.items()) or "none"
    for program in PROGRAMS:
        yield program, shutil.which(program) or "not found"
    for name, entry in config.registry_entries("hardware").items():
        # Toolings of training programs need only the packages that the programs need.
        if entry["engine"] != ENGINE and not serving.why_not({"name": name, **entry}):
            yield "can run", name
