# The study, read and checked, and what the rules ask of it; all the work is in the package.
import os
import shlex
import sys

from toolnoise import asked
from toolnoise.base import code_digest as code
from toolnoise.study import catalogue as figures
from toolnoise.study import config as configuration
from toolnoise.study import grid as studies
from toolnoise.study import layout
from toolnoise.base.errors import told_in_one_line
from toolnoise.base.files import canonical_sha256
from toolnoise.jobs import captions
from toolnoise.study.grid import MODES, Cell, Pair, Profile

# The study file: the last --configfile, else config.yaml. --config is laid over it. A profile may name it by way of a link.
FILE = os.path.realpath(workflow.configfiles[-1]) if workflow.configfiles else "config.yaml"

with told_in_one_line():
    configuration.read_yaml(FILE)


configfile: FILE


with told_in_one_line():
    study = studies.build(configuration.resolve(config, FILE), FILE)

# What is measured on the study as a whole, and its figures by name.
METRICS = study.collected
FIGURES = {figure.name: figure for figure in study.figures}

# Verbs are found in the environment that Snakemake itself runs in, activated or not.
shell.prefix(f"set -euo pipefail; export PATH={shlex.quote(os.path.dirname(sys.executable))}:$PATH; ")


wildcard_constraints:
    **{name: r"[A-Za-z0-9][A-Za-z0-9_+-]*" for name in (*Cell._fields, "other_hardware")},
    study=study.name,
    seed=r"[1-9][0-9]*",
    mode="|".join(MODES),
    repeat=r"[1-9][0-9]*",


def get_cell(wildcards, hardware="hardware"):
    return Cell(wildcards.model, wildcards.dataset, wildcards[hardware], wildcards.get("variant", "control"))


def get_profile(wildcards):
    return Profile(wildcards.model, wildcards.hardware, wildcards.mode, int(wildcards.repeat))


def get_profiles(pattern):
    def get_those_of_a_network(wildcards):
        subject = (wildcards.model, wildcards.hardware)
        return [study.path(pattern, profile) for profile in study.profiles if profile[:2] == subject]

    return get_those_of_a_network


def get_records(wildcards):
    return study.runs(layout.RECORD, get_cell(wildcards))


def get_other_records(wildcards):
    return study.runs(layout.RECORD, get_cell(wildcards, "other_hardware"))


def get_exchange(wildcards):
    # Runs of `hardware` on `other_hardware`.
    return Pair(*(wildcards[name] for name in Pair._fields))


def get_returned(pattern):
    # The same of the runs of `other_hardware`.
    return lambda wildcards: study.path(pattern, get_exchange(wildcards).reversed)


def get_remedied(wildcards):
    # A cell without a remedy of its own has no dump of them, and one that is its own single runs none but that.
    cell = get_cell(wildcards)
    single = study.single(cell)
    dumps = {
        "remedied": study.remedies(cell) and study.path(layout.REMEDIED, cell),
        "remedied_index": study.remedies(cell) and study.path(layout.REMEDIED_INDEX, cell),
        "single": single != cell and study.path(layout.LOGITS, single),
        "single_index": single != cell and study.path(layout.PREDICTIONS, single),
    }
    return {name: path or [] for name, path in dumps.items()}


def get_computing(wildcards):
    # The tooling that a job computes on: the other one, where there is one.
    return study.tooling(wildcards.get("other_hardware", wildcards.hardware))


def get_threads(wildcards):
    return get_computing(wildcards)["threads"]


def get_preparing_threads(wildcards):
    # Data too large for memory has many images to decode; of the rest, reading is the lesser part.
    return 8 if study.config["datasets"][wildcards.dataset]["streamed"] else 1


# What a run needs of a cluster; the profile says where the site has it. A tooling that names a scheduler's GPU model
# goes to that model's nodes, whatever it computes on there.
def get_gpus(wildcards):
    tooling = get_computing(wildcards)
    return int(tooling["accelerator"] == "gpu" or bool(tooling["gpu_model"]))


def get_gpu_model(wildcards):
    return get_computing(wildcards)["gpu_model"]


def get_memory(wildcards, attempt):
    return 16_000 * attempt


def get_training_minutes(wildcards, attempt):
    return study.minutes[get_cell(wildcards)] * attempt


def get_spec_digest(wildcards):
    return canonical_sha256(study.spec(get_cell(wildcards), int(wildcards.get("seed", 0))))


def get_planned_digest(wildcards):
    # The verb checks it: another Snakemake may have written another study of the same name by then.
    return canonical_sha256(asked.of_spec(study.spec(get_cell(wildcards), int(wildcards.seed))))


def get_code_digest(verb):
    # A run also depends on its engine and on its model's builder, which its spec names.
    return lambda wildcards: code.digest(verb, *study.modules(get_cell(wildcards)))


def get_exchanging_code_digest(wildcards):
    # What computes is the other tooling's engine; the training's has its part in the runs.
    return code.digest("toolnoise.dumps.prediction_dump", *study.modules(get_exchange(wildcards).cells[1]))


def get_exchange_digest(wildcards):
    return canonical_sha256(asked.of_exchange(study, get_exchange(wildcards)))


def get_metrics(name):
    return lambda wildcards: study.metric_files(FIGURES[wildcards.figure])[name]


def get_gates(wildcards):
    return study.gates(FIGURES[wildcards.figure])


def get_options(_wildcards, input):
    return [part for name, files in input.items() if name != "gates" for part in ("--read", name, *files)]


def get_files(some):
    """Every file of some figures."""
    for figure in some:
        yield from study.figure_files(figure)


def get_target(name):
    def get_its_files(_wildcards):
        with told_in_one_line():
            return list(get_files(figures.of_target(name, study.figures, FILE)))

    return get_its_files
