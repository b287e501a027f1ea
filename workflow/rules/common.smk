# Reads and checks the study, and defines what several rules use. All the work is in the package.
import functools
import json
import os
import re
import shlex
import sys
from types import SimpleNamespace

from snakemake.utils import update_config
from toolnoise.papers import notebook_values
from toolnoise.papers import paper_items
from toolnoise.base import program
from toolnoise.base.errors import BadInput, errors_in_one_line, warn_once
from toolnoise.base.files import canonical_sha256
from toolnoise.base.job import values_as_text
from toolnoise.commands import snakemake_internals as internals
from toolnoise.datasets import sources
from toolnoise.provenance.statements import path_for
from toolnoise.checks import parameters as parameters_at
from toolnoise.study import config as configuration, entries, expected, figure_files, figure_kinds, grid
from toolnoise.study import job_code, layout as patterns, places, programs, study_files
from toolnoise.study.builders import require_builders
from toolnoise.study.cells import MODES, Cell, Dataset, Network, Pair, Profile, Training, Variants, Whole
from toolnoise.warm import template

# The study file: the last --configfile, else config.yaml. --config overrides its values. A profile may name it through
# a link. A module gets its configuration from the other workflow, and errors name the file of that workflow.
IS_MODULE = internals.is_module(workflow)
IS_DRY_RUN = internals.is_dry_run(workflow)
CONFIGFILES, CONFIG_WORDS = internals.configuration_given(workflow)
DEFAULT = internals.snakefile_in_use(workflow) if IS_MODULE else "config.yaml"
FILE = os.path.realpath(CONFIGFILES[-1]) if CONFIGFILES else DEFAULT

# Snakemake reads 010 as 8, and 1e-3 in a file as text. Reading the files again finds the values as written.
with errors_in_one_line():
    if IS_MODULE:
        contents = [study_files.as_written(dict(config), CONFIGFILES)]
    else:
        contents = study_files.read_strictly(CONFIGFILES or [FILE], CONFIG_WORDS)

if not IS_MODULE:

    configfile: FILE


config.clear()
for content in contents:
    update_config(config, content)


with errors_in_one_line():
    study = grid.build_study(configuration.resolve(config, FILE), FILE)
    require_builders(study.config["models"], FILE)


# The study's name is no wildcard: Snakemake finds the rule of a file faster when its outputs start with fixed text.
def in_study(pattern):
    return pattern.replace("{study}", study.name)


layout = SimpleNamespace(**{name: in_study(value) for name, value in vars(patterns).items() if isinstance(value, str)})
METRIC = {kind: in_study(metric.pattern) for kind, metric in expected.METRICS.items()}

# The metrics of the whole study, and its figures by name.
COLLECTED = figure_files.collected_files(study)
FIGURES = {figure.name: figure for figure in study.figures}

# A job runs `toolnoise` from Snakemake's own environment, activated or not. With --sdm conda, the job's environment is
# activated, and its Python runs the same package. Linux limits a program's arguments to a quarter of its stack: 2 MB by
# default and 6 MB at most. A study with large cells raises the limit, because their verbs read many files.
ROOM = "ulimit -S -s 65536; " if max(map(len, study.seeds.values()), default=0) > 20_000 else ""
PACKAGE = shlex.quote(str(program.path_of("workflow/for-conda")))
HERE = f"export PATH={shlex.quote(os.path.dirname(sys.executable))}:$PATH"
THERE = f'export PYTHONPATH={PACKAGE}; toolnoise() {{ python -P -m toolnoise.cli "$@"; }}'
ACTIVATED = f'[ "${{CONDA_PREFIX:-}}" != {shlex.quote(os.environ.get("CONDA_PREFIX", ""))} ]'
PREFIX = f"set -euo pipefail; {ROOM}if {ACTIVATED}; then {THERE}; else {HERE}; fi; "


# Snakemake replaces single braces with values, and a path may contain braces.
def keep_braces(path):
    return path.replace("{", "{{").replace("}", "}}")


shell.prefix(keep_braces(PREFIX))
ENVIRONMENT = keep_braces(str(program.path_of("environment.yml")))


# Rules with the same output files are distinguished by the names of their models, data sets or figures.
def among(names):
    return "|".join(map(re.escape, sorted(set(names)))) or "(?!)"


NAME = r"[A-Za-z0-9][A-Za-z0-9_+-]*"
BUILT = among(cell.model for cell in places.built_places(study))
PROGRAMS = among(cell.model for cell in places.of_programs(study))


wildcard_constraints:
    model=NAME,
    dataset=NAME,
    hardware=NAME,
    other_hardware=NAME,
    variant=NAME,
    seed=r"[1-9][0-9]*",
    mode="|".join(MODES),
    repeat=r"[1-9][0-9]*",


# Places, from a job's wildcards.
def cell_at(wildcards):
    """The cell that a job computes for; a job without a variant, such as a check of a model, uses Control."""
    hardware = wildcards.get("other_hardware", wildcards.hardware)
    return Cell(wildcards.model, wildcards.dataset, hardware, wildcards.get("variant", "control"))


def place_at(kind):
    """A function that makes a place of this kind from a job's wildcards."""
    return lambda wildcards: kind(**{name: wildcards[name] for name in kind._fields})


dataset_at, network_at, pair_at, task_at = map(place_at, (Dataset, Network, Pair, Variants))


# Parameters: a job's settings as readable text, and the digest of its code.
@functools.cache
def spec_of(cell):
    """Maps each part of the spec of a cell's runs, except their seeds, to its text."""
    spec = study.spec(cell, 1).json
    return {part: values_as_text(spec[part]) for part in ("model", "dataset", "recipe", "hardware", "variant")}


def part_of_spec(part):
    return lambda wildcards: spec_of(cell_at(wildcards))[part]


def seed_of(wildcards):
    """The seeds of a run, or of the first run of a cell."""
    trained = Cell(wildcards.model, wildcards.dataset, wildcards.hardware, wildcards.variant)
    return values_as_text(study.seeds_stated(cell_at(wildcards), int(wildcards.get("seed", study.seeds[trained][0]))))


# The parameters of all jobs that compute on a tooling, and the options that pass them to the verb.
SPEC = {
    "model": part_of_spec("model"),
    "data": part_of_spec("dataset"),
    "recipe": part_of_spec("recipe"),
    "tooling": part_of_spec("hardware"),
    "variant": part_of_spec("variant"),
    "seed": seed_of,
}
SPEC_OPTIONS = (
    "--model {params.model:q} --dataset {params.data:q} --recipe {params.recipe:q} --tooling {params.tooling:q}"
    " --variant {params.variant:q} --seed {params.seed:q}"
)


def name_of(place_at):
    return lambda wildcards: "/".join(place_at(wildcards))


@functools.cache
def code_digest(verb, **names):
    """The digest of a job's code, including the code that its spec, its notebook or its kind of metric names."""
    if "hardware" in names:
        cell = Cell(names["model"], names["dataset"], names["hardware"], "control")
        return job_code.digest_of_job(verb, {"spec": study.spec(cell, 1).as_json()})
    return job_code.digest_of_job(verb, names)


def code_of(verb):
    return lambda wildcards: code_digest(verb)


def code_of_spec(verb):
    return lambda wildcards: code_digest(verb, **cell_at(wildcards)._replace(variant="control")._asdict())


# What a job needs from the machine that it runs on.
def tooling_at(wildcards):
    return study.tooling(wildcards.get("other_hardware", wildcards.hardware))


def environment_of(wildcards):
    """For --sdm conda: environment.yml has TensorFlow for CPUs. Other toolings use Snakemake's own environment."""
    tooling = tooling_at(wildcards)
    framework = tooling["engine"], tooling["accelerator"], tooling["environment"]
    return ENVIRONMENT if framework == ("tensorflow", "cpu", "") else None


def data_at(wildcards):
    # A job that profiles training steps has no data set.
    return study.config["datasets"].get(wildcards.get("dataset", ""), {})


def threads_of(wildcards):
    return entries.cores_of_tooling(tooling_at(wildcards), data_at(wildcards))


def memory(wildcards, attempt):
    return entries.memory_of_dataset(data_at(wildcards)) * attempt


def of_tooling(need):
    return lambda wildcards: entries.scheduler_needs(tooling_at(wildcards))[need]


# A cluster's profile maps these resources to the site. Jobs set only resources that some tooling of the study needs.
OF_TOOLINGS = [entries.scheduler_needs(tooling).items() for tooling in study.config["hardware"].values()]
NEEDED = dict.fromkeys(need for needs in OF_TOOLINGS for need, value in needs if value)
ON_TOOLING = {"mem_mb": memory} | {need: of_tooling(need) for need in NEEDED}


def minutes_of_training(wildcards, attempt):
    return study.minutes[Cell(wildcards.model, wildcards.dataset, wildcards.hardware, wildcards.variant)] * attempt


def group_of_cell(wildcards):
    """A cluster's profile sets how many cells share a job. Large cells share none: after each run, Snakemake 9.27 checks
    all inputs of the groups that wait for it, which takes quadratic time."""
    return "cells" if len(study.seeds[cell_at(wildcards)]) <= 100 else None


places_of = functools.cache(lambda kind: expected.places_of(study, kind))


def in_grid(kind):
    """An input function that returns no file, but refuses a target outside the study's grid during planning."""

    def no_file(wildcards):
        with errors_in_one_line():
            expected.require_place(places_of(kind), kind, wildcards, FILE)
        return []

    return no_file


def files_of_cell(pattern, cell):
    """The file of a cell, or the files of all its runs."""
    return study.runs(pattern, cell) if "{seed}" in pattern else study.path(pattern, cell)


def of_cell(pattern):
    return lambda wildcards: files_of_cell(pattern, cell_at(wildcards))


TRAINED_RUNS = {"records": of_cell(layout.RECORD), "weights": of_cell(layout.WEIGHTS)}
WHOLE_RUNS = TRAINED_RUNS | {"histories": of_cell(layout.HISTORY)}
# A cell's predictions of a test set, with the prepared data.
DUMPED = {"data": layout.DATA, "logits": layout.LOGITS, "index": layout.PREDICTIONS}


def of_pair(pattern, which):
    """Like of_cell, for the cell on the first (0) or the second (1) tooling of a pair."""
    return lambda wildcards: files_of_cell(pattern, pair_at(wildcards).cells[which])


def statement_of(first_output):
    """The pattern of a job's statement, from the pattern of its first output."""
    return str(path_for(first_output))
