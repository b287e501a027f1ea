"""How a job is performed: from its parameters and the files that it is given, by the module that does the work.

That module is imported when the job is performed and not before: whoever asks what jobs there are needs none of them.
"""

import os
from typing import Any

from toolnoise.asked import Given, Parameters
from toolnoise.base.errors import BadInput
from toolnoise.study import grid as studies
from toolnoise.study.catalogue import KINDS
from toolnoise.study.grid import Cell, Pair


def fetch(parameters: Parameters, given: Given) -> None:
    """Download or find the files of a data set."""
    from toolnoise.datasets import fetching

    fetching.fetch(parameters["dataset"], parameters["entry"], given.out)


def prepare(parameters: Parameters, given: Given) -> None:
    """Write the prepared form of a data set."""
    from toolnoise.datasets import preparation

    preparation.prepare(parameters["dataset"], parameters["entry"], given.out, given.threads)


def count(parameters: Parameters, given: Given) -> None:
    """Count the examples of a data set."""
    from toolnoise.datasets import counting

    counting.count(parameters["dataset"], given.data, given.out)


def train(parameters: Parameters, given: Given) -> dict[str, Any]:
    """Train one run."""
    from toolnoise.base import code_digest
    from toolnoise.training import loop

    digest = code_digest.digest("toolnoise.training.loop", *studies.modules(parameters["spec"]))
    outputs = given.weights, given.history, given.record
    return loop.train(parameters["spec"], given.data, digest, *outputs, given.checkpoint)


def measure_speed(parameters: Parameters, given: Given) -> dict[str, Any]:
    """Time some steps."""
    from toolnoise.timing import speed_probe

    return speed_probe.measure(parameters["spec"], given.data, given.out)


def profile(parameters: Parameters, given: Given) -> dict[str, Any]:
    """Measure what a training step takes."""
    from toolnoise.timing import profile

    return profile.profile(parameters["spec"], given.out, given.record)


def predict(parameters: Parameters, given: Given) -> dict[str, Any]:
    """Dump a cell's predictions."""
    from toolnoise.dumps import prediction_dump

    return prediction_dump.dump(parameters["spec"], given.data, given.records, given.logits, given.index)


def exchange(parameters: Parameters, given: Given) -> dict[str, Any]:
    """Dump a cell's predictions on another tooling."""
    from toolnoise.dumps import prediction_dump

    files = given.data, given.records, given.logits, given.index
    return prediction_dump.dump(parameters["spec"], *files, parameters["trained_on"])


def remedy(parameters: Parameters, given: Given) -> dict[str, Any]:
    """Dump a cell's predictions under remedies."""
    from toolnoise.dumps import remedy_dump

    files = given.data, given.records, given.logits, given.index
    return remedy_dump.dump(parameters["spec"], parameters["remedies"], *files)


def dump_layers(parameters: Parameters, given: Given) -> dict[str, Any]:
    """Dump how a cell's runs represent examples."""
    from toolnoise.dumps import layer_dump

    files = given.data, given.records, given.grams, given.index
    return layer_dump.dump(parameters["spec"], parameters["examples"], *files)


def check_control(parameters: Parameters, given: Given) -> None:
    """Compare control runs bit for bit."""
    from toolnoise.measures import control_gate

    control_gate.check("/".join(parameters["cell"]), given.records, given.logits, given.index, given.out)


def measure(parameters: Parameters, given: Given) -> None:
    """Measure a cell."""
    from toolnoise.measures import measuring

    cell = Cell(*parameters["cell"])
    read = given.data, given.logits, given.index, given.records
    write = given.out, given.out_identical, given.out_ensembles
    measuring.measure_cell(cell, parameters["study_seed"], parameters["identical"], *read, *write)


def measure_remedies(parameters: Parameters, given: Given) -> None:
    """Measure what remedies leave of a cell's noise."""
    from toolnoise.measures import measuring

    read = given.data, given.logits, given.index, given.remedied, given.single
    measuring.measure_remedies(Cell(*parameters["cell"]), parameters["study_seed"], *read, given.out)


def measure_pair(parameters: Parameters, given: Given) -> None:
    """Measure what separates two toolings."""
    from toolnoise.measures import measuring

    measuring.measure_pair(
        Pair(*parameters["pair"]),
        given.data,
        (given.logits, given.other_logits),
        (given.index, given.other_index),
        (given.records, given.other_records),
        given.out,
    )


def measure_frameworks(parameters: Parameters, given: Given) -> None:
    """Measure what separates two frameworks."""
    from toolnoise.measures import frameworks

    frameworks.measure(
        Pair(*parameters["pair"]),
        (given.logits, given.other_logits),
        (given.exchanged, given.other_exchanged),
        (given.records, given.other_records),
        given.out,
        given.out_partings,
    )


def measure_layers(parameters: Parameters, given: Given) -> None:
    """Measure how similar the layers of a cell's runs are."""
    from toolnoise.measures import measuring

    measuring.measure_layers(Cell(*parameters["cell"]), given.grams, given.index, given.out)


def measure_overhead(parameters: Parameters, given: Given) -> None:
    """Measure what determinism costs."""
    from toolnoise.measures import measuring

    about = (parameters["model"], parameters["hardware"], parameters["accelerator"])
    measuring.measure_overhead(about, parameters["overhead"], given.records, given.out_overhead, given.out_kernels)


def collect(parameters: Parameters, given: Given) -> None:
    """Put metric files together."""
    from toolnoise.base import metric_files

    kind = parameters["kind"]
    columns = metric_files.DATA if kind == "counts" else getattr(metric_files, kind.upper())
    metric_files.concatenate(given.metrics, columns, given.out)


def render(parameters: Parameters, given: Given) -> None:
    """Execute a notebook."""
    from toolnoise.figures import render

    formats = KINDS[parameters["notebook"]].formats
    stem = os.path.splitext(given.out[0])[0]  # noqa: PTH122 (Path would tidy what the command line said)
    if {f"{stem}.{suffix}" for suffix in formats} != set(given.out):
        wanted = f"one path with each of {', '.join(formats)}"
        raise BadInput("command line", "--out", f"found {', '.join(given.out)}", wanted)
    read = {name: files for name, *files in given.read}
    # In this order they stand in the executed notebook, whatever order a statement has them in.
    shown = {key: parameters[key] for key in ("hardware", "tasks", "emulated", "batch_sizes") if key in parameters}
    render.render(parameters["notebook"], {**read, **shown, "stem": stem}, given.executed)


def report(_parameters: Parameters, given: Given) -> None:
    """Write a study's page."""
    from toolnoise.figures import render

    render.write_report(given.study, given.out)
