# The study, read and checked, and helpers of the rules. All the work is in the package.
import functools
import os
import re
import shlex
import sys

from snakemake.utils import update_config
from toolnoise import steps
from toolnoise.base import command_words, program
from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.commands import session, snakemake_internals as internals
from toolnoise.datasets import sources
from toolnoise.estimate import gpu_memory
from toolnoise.papers.published import paper_items
from toolnoise.steps import STEPS
from toolnoise.study import config as configuration, figure_kinds, given, grid, layout
from toolnoise.study.builders import is_own, require_builders
from toolnoise.study.entries import cores
from toolnoise.study.cells import MODES, Cell, MetricFile, Pair, Shown, Variants

# The study file: the last --configfile, else config.yaml. --config overrides it. A profile may name it through a link.
# A module of another workflow has the configuration that the other gives it; the other's file is where that comes from.
IS_MODULE = internals.is_module(workflow)
IS_DRY_RUN = internals.is_dry_run(workflow)
CONFIGFILES, CONFIG_WORDS = internals.given(workflow)
DEFAULT = internals.snakefile(workflow) if IS_MODULE else "config.yaml"
FILE = os.path.realpath(CONFIGFILES[-1]) if CONFIGFILES else DEFAULT

if not IS_MODULE:
    with errors_in_one_line():
        contents = given.read(CONFIGFILES or [FILE], CONFIG_WORDS)

    configfile: FILE

    # Snakemake reads 010 as 8, and 1e-3 in a file as text: what is written counts.
    config.clear()
    for content in contents:
        update_config(config, content)


with errors_in_one_line():
    study = grid.build(configuration.resolve(config, FILE), FILE)
    require_builders(study.config["models"], FILE)

# The metrics of the whole study, and its figures by name.
METRICS = steps.collected(study)
FIGURES = {figure.name: figure for figure in study.figures}


def require_variables(models):
    # Of the training programs that will run: before anything is trained, not when the first of them starts.
    for model in dict.fromkeys(models):
        entry = study.config["models"][model]
        texts = [entry.get(key, "") for key in ("command", "deterministic")]
        command_words.variables(texts, f"{FILE}: models.{model}.command")


@functools.cache
def warn_unless_set(model):
    # A dry run says what the start would refuse.
    try:
        require_variables([model])
    except BadInput as error:
        print(f"toolnoise: warning: {error}", file=sys.stderr, flush=True)


def write_study():
    """The whole study, every default and registry entry written out, goes with its results; verbs read it there."""
    # Imported here: the Snakefile is read in every cluster job, and only this needs it.
    from toolnoise.record import recorder

    name = FILE if os.path.relpath(FILE).startswith("..") else os.path.relpath(FILE)
    recorder.write_study(study.path(layout.STUDY), study.config, name)


# Linux gives the arguments of a program a quarter of its stack: 2 MB of the usual 8 MB, the paths of 25,000 runs. A verb
# that reads a larger cell gets more, up to the 6 MB that Linux allows.
ROOM = "ulimit -S -s 65536; " if max(map(len, study.seeds.values()), default=0) > 20_000 else ""

# The runs of the largest cells that share a job with others.
MOST_TOGETHER = 100

# Verbs are looked up in the environment that Snakemake itself runs in, activated or not. A job of --sdm conda has another
# environment activated by then: its Python runs the verb, from the same package.
PACKAGE = shlex.quote(str(program.path_of("workflow/for-conda")))
HERE = f"export PATH={shlex.quote(os.path.dirname(sys.executable))}:$PATH"
THERE = f'export PYTHONPATH={PACKAGE}; toolnoise() {{ python -P -m toolnoise.cli "$@"; }}'
ACTIVATED = f'[ "${{CONDA_PREFIX:-}}" != {shlex.quote(os.environ.get("CONDA_PREFIX", ""))} ]'
PREFIX = f"set -euo pipefail; {ROOM}if {ACTIVATED}; then {THERE}; else {HERE}; fi; "


# Snakemake puts values in place of single braces, which a path may have.
def keep_braces(text):
    return text.replace("{", "{{").replace("}", "}}")


shell.prefix(keep_braces(PREFIX))
ENVIRONMENT = keep_braces(str(program.path_of("environment.yml")))


wildcard_constraints:
    **{name: r"[A-Za-z0-9][A-Za-z0-9_+-]*" for name in {*Cell._fields, *Pair._fields}},
    study=study.name,
    seed=r"[1-9][0-9]*",
    mode="|".join(MODES),
    repeat=r"[1-9][0-9]*",


# Inputs, outputs and parameters of a job, from its verb's row and its wildcards.


def get_place(verb, wildcards):
    place = STEPS[verb].where.place
    return place(*(int(wildcards[name]) if name in ("seed", "repeat") else wildcards[name] for name in place._fields))


@functools.lru_cache(maxsize=64)
def get_parameters_at(verb, place):
    # Each job needs these twice in a row.
    return STEPS[verb].parameters(study, place)


def get_parameters(verb, wildcards):
    return get_parameters_at(verb, get_place(verb, wildcards))


def get_inputs(verb):
    def get_them(wildcards):
        place = get_place(verb, wildcards)
        if verb == "check-model" and IS_DRY_RUN:
            call_builder(place.model, place.dataset)
        if verb == "run-program" and IS_DRY_RUN:
            warn_unless_set(place.model)
        return steps.followed(STEPS[verb], STEPS[verb].given(study, place))

    return get_them


@functools.cache
def call_builder(model, dataset):
    # A dry run says what the job would refuse.
    from toolnoise.commands import trial

    with errors_in_one_line():
        trial.call_builder(study, model, dataset)


def get_own(verb):
    # Two rules that write the same files are told apart by the names of their models or data sets.
    step = STEPS[verb]
    if all(len(steps.writing(write.pattern)) == 1 for write in step.writes.values()):
        return {}
    name = "model" if "model" in step.where.place._fields else "dataset"
    mine = sorted({getattr(place, name) for place in step.where.all(study)})
    return {name: "|".join(map(re.escape, mine)) or "(?!)"}


def get_planned(verb):
    # The verb checks it: by then, another Snakemake may have written another study of the same name.
    return lambda wildcards: steps.planned(get_parameters(verb, wildcards))


def get_code(verb):
    return lambda wildcards: STEPS[verb].code_digest(get_parameters(verb, wildcards))


def get_tooling(verb, wildcards):
    return study.tooling(STEPS[verb].needs.tooling(get_place(verb, wildcards)))


def get_environment(verb):
    # With --sdm conda: what environment.yml has is TensorFlow for CPUs. Other toolings compute where Snakemake runs.
    def get_it(wildcards):
        tooling = get_tooling(verb, wildcards)
        own = tooling["engine"], tooling["accelerator"], tooling["environment"]
        return ENVIRONMENT if own == ("tensorflow", "cpu", "") else None

    return get_it if STEPS[verb].needs.tooling else ENVIRONMENT


def get_threads(verb):
    def get_it(wildcards):
        # The steps of a profile have no data set.
        dataset = study.config["datasets"].get(getattr(get_place(verb, wildcards), "dataset", ""), {})
        return cores(get_tooling(verb, wildcards), dataset)

    return get_it if STEPS[verb].needs.tooling else 1


def get_memory(wildcards, attempt):
    return 16_000 * attempt


# What is measured and shown of a cell takes seconds. A cluster's profile says how many cells share a job. Large cells
# share none: when a run ends, Snakemake 9.27 looks at all inputs of the groups that wait for it, which is quadratic.
def get_group(verb):
    def get_it(wildcards):
        return "cells" if len(study.seeds[get_place(verb, wildcards)]) <= MOST_TOGETHER else None

    return get_it if verb in ("measure", "show-cell") else None


# The resources that a job needs on a cluster; the profile maps them to the site. A tooling that names a scheduler's GPU
# model goes to that model's nodes, whatever it computes on there. Jobs without a tooling have the profile's defaults.
def get_resources(verb):
    step = STEPS[verb]

    def get_gpus(wildcards):
        tooling = get_tooling(verb, wildcards)
        return int(tooling["accelerator"] == "gpu" or bool(tooling["gpu_model"]))

    def get_gpu_model(wildcards):
        return get_tooling(verb, wildcards)["gpu_model"]

    def get_minutes(wildcards, attempt):
        return step.needs.minutes(study, get_place(verb, wildcards)) * attempt

    of_tooling = {"gpu": get_gpus, "gpu_model": get_gpu_model, "mem_mb": get_memory} if step.needs.tooling else {}
    return of_tooling | ({"runtime": get_minutes} if step.needs.minutes else {})


def get_arguments(verb):
    # Besides the study: the place of the job, its inputs and its outputs.
    step = STEPS[verb]

    def get_them(wildcards, input, output):
        kinds = (wildcards, step.where.place._fields), (input, step.reads), (output, step.writes)
        found = []
        for values, names in kinds:
            for name in names:
                value = getattr(values, name.replace("-", "_"))
                found += [f"--{name.replace('_', '-')}", *([value] if isinstance(value, str) else value)]
        return found

    return get_them


def get_checked(wildcards):
    # Of the study's own models. What makes a check stale makes every run of its model stale, too. It is not marked as
    # ancient: Snakemake asks a job for no reason of its own while the job that makes such an input has one.
    own = is_own(study.config["models"][wildcards.model])
    return [study.path(layout.CHECKED, Variants(wildcards.model, wildcards.dataset, wildcards.hardware))] if own else []


def get_own_files(wildcards):
    # Files that can be obtained elsewhere are not listed: a plan does not need them, and Snakemake must not touch them.
    entry = study.config["datasets"][wildcards.dataset]
    # In a module, a rule of the whole workflow may make them.
    if not (IS_MODULE or os.path.exists(study.path(layout.SOURCES, dataset=wildcards.dataset))):
        with errors_in_one_line():
            sources.require_own(wildcards.dataset, entry, FILE)
    return [one["path"] for one in sources.sources(entry) if sources.is_own(one)]


def get_fetched(wildcards):
    declared = sources.sources(study.config["datasets"][wildcards.dataset])
    return study.path(layout.SOURCES, dataset=wildcards.dataset) if declared else []


def get_preparing_threads(wildcards):
    # Data too large for memory has many images to decode; for other data, reading is the smaller part of the work.
    return 8 if study.config["datasets"][wildcards.dataset]["streamed"] else 1


def get_metrics(name):
    return lambda wildcards: steps.shown(study, FIGURES[wildcards.figure])[name]


def get_gates(wildcards):
    return steps.gates(study, FIGURES[wildcards.figure])


def get_caption(kind):
    # Snakemake counts no parameter that follows from the input: another caption is no reason to draw a figure again.
    return lambda wildcards, input: figure_kinds.KINDS[kind].caption_in(study.name)


def get_options(_wildcards, input):
    return [part for name, files in input.items() if name != "gates" for part in ("--read", name, *files)]


def get_files(some):
    """Every file of some figures."""
    for figure in some:
        yield from (name for name, _ in steps.outputs_at("render", study, Shown(figure.name)))


def get_target(name):
    def get_its_files(_wildcards):
        with errors_in_one_line():
            return list(get_files(paper_items.of_target(name, study.figures, FILE, config)))

    return get_its_files


def refuse_item(wildcards):
    # A name like those of the paper's items.
    with errors_in_one_line():
        paper_items.refuse(wildcards.item, FILE)
