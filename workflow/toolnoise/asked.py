"""What a job is asked for: its parameters, plain JSON that is worked out of the study before anything starts.

A command line asks for it by names, of which the study must have each; what expands a study asks for each of its jobs.
"""

import argparse
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.study import grid as studies
from toolnoise.study.catalogue import KINDS, Figure
from toolnoise.study.grid import Cell, Pair, Profile, Study

Parameters = dict[str, Any]
# What the command line said: the paths of files by their options, and what changes no outcome (such as threads).
Given = argparse.Namespace


# By a study


def of_spec(spec: dict[str, Any]) -> Parameters:
    """What a job is asked for that trains, or computes as training does."""
    from toolnoise import streams

    return {"spec": spec, "keys": streams.keys(spec["study_seed"], spec["variant"]["varying"], spec["seed"])}


def of_exchange(study: Study, way: Pair) -> Parameters:
    """What the dump of runs is asked for that are trained on one tooling and predicted on another.

    The spec is that of what computes: runs of the same cell there.
    """
    trained, elsewhere = way.cells
    return of_spec(study.spec(elsewhere, study.seeds[trained][0])) | {"trained_on": trained.hardware}


def of_remedies(study: Study, cell: Cell) -> Parameters:
    """What the dump of a cell's remedied predictions is asked for."""
    return of_spec(study.spec(cell, study.seeds[cell][0])) | {"remedies": list(study.remedies(cell))}


def of_layers(study: Study, cell: Cell) -> Parameters:
    """What the dump of a cell's layers is asked for."""
    return of_spec(study.spec(cell, study.seeds[cell][0])) | {"examples": study.layers[cell]}


def of_cell(study: Study, cell: Cell) -> Parameters:
    """What the measuring of a cell is asked for."""
    return {"cell": list(cell), "study_seed": study.config["seed"], "identical": study.config["identical"]}


def of_network(study: Study, network: Cell) -> Parameters:
    """What the measuring of a network's overhead is asked for."""
    block = study.config["overhead"]
    accelerator = study.tooling(network.hardware)["accelerator"]
    return {"model": network.model, "hardware": network.hardware, "accelerator": accelerator, "overhead": block}


def of_figure(study: Study, figure: Figure) -> Parameters:
    """What a figure's notebook is asked for."""
    parameters = {
        "figure": figure.name,
        "notebook": figure.notebook,
        "hardware": list(figure.hardware),
        "tasks": [list(task) for task in figure.tasks],
        "emulated": list(study.emulated()),
    }
    if figure.notebook == "order":
        sizes = {model: study.batch_size(model, dataset) for model, dataset in figure.tasks}
        parameters["batch_sizes"] = dict(sorted(sizes.items()))
    return parameters


def of_page(study: Study) -> Parameters:
    """What a study's page is asked for."""
    return {"study": study.name, "figure_kinds": list(study.figure_kinds)}


# By a command line


def data(given: Given) -> Parameters:
    """For a data set."""
    return {"dataset": given.dataset, "entry": _dataset(given)}


def run(given: Given) -> Parameters:
    """For a run."""
    study, cell = _cell(given)
    if given.seed not in study.seeds[cell]:
        allowed = ", ".join(map(str, study.seeds[cell]))
        raise BadInput(given.study, "seeds", f"no seed {given.seed} of {'/'.join(cell)}", f"allowed: {allowed}")
    return of_spec(study.spec(cell, given.seed))


def cell(given: Given) -> Parameters:
    """For what an engine does with a cell's runs."""
    study, cell = _cell(given)
    return of_spec(study.spec(cell, study.seeds[cell][0]))


def profile(given: Given) -> Parameters:
    """For the timing of a training step."""
    study = studies.load(given.study)
    profile = Profile(given.model, given.hardware, given.mode, given.repeat)
    if profile not in study.profiles:
        allowed = "model/hardware/mode/repeat of its overhead"
        raise BadInput(given.study, "overhead", f"no {'/'.join(map(str, profile))}", allowed)
    return of_spec(study.profile_spec(profile))


def exchange(given: Given) -> Parameters:
    """For a cell's predictions on another tooling."""
    study, _ = _cell(given)
    way = Pair(given.model, given.dataset, given.hardware, given.other_hardware, given.variant)
    if way not in study.exchanged:
        wanted = "model/dataset/hardware/other-hardware/variant of two toolings of different engines, control or algo"
        raise BadInput(given.study, "grid", f"no exchange {'/'.join(way)}", wanted)
    return of_exchange(study, way)


def remedies(given: Given) -> Parameters:
    """For a cell's predictions under remedies."""
    study, cell = _cell(given)
    if not study.remedies(cell):
        wanted = "a cell whose block has remedies, or snapshots"
        raise BadInput(given.study, "remedies", f"none for {'/'.join(cell)}", wanted)
    return of_remedies(study, cell)


def layers(given: Given) -> Parameters:
    """For how a cell's runs represent examples."""
    study, cell = _cell(given)
    if cell not in study.layers:
        allowed = "a cell of a block that has it"
        raise BadInput(given.study, "layers", f"the block of {'/'.join(cell)} has no such key", allowed)
    return of_layers(study, cell)


def measured_cell(given: Given) -> Parameters:
    """For the metrics of a cell."""
    return of_cell(*_cell(given))


def measured_remedies(given: Given) -> Parameters:
    """For what remedies leave of a cell's noise."""
    study, cell = _cell(given)
    if cell not in study.views:
        raise BadInput(given.study, "remedies", f"none for {'/'.join(cell)}", "a cell whose block has that key")
    return of_cell(study, cell)


def pair(given: Given) -> Parameters:
    """For the metrics of two toolings."""
    return {"pair": [given.model, given.dataset, given.hardware, given.other_hardware, given.variant]}


def overhead(given: Given) -> Parameters:
    """For what determinism costs a network."""
    study, network = studies.load(given.study), Cell(given.model, "", given.hardware, "")
    if network not in study.networks:
        found = f"no {network.model} on {network.hardware}"
        raise BadInput(given.study, "overhead", found, "a model and a tooling of its overhead")
    return of_network(study, network)


def figure(given: Given) -> Parameters:
    """For a figure, of the kinds of files that it can be drawn from."""
    study = studies.load(given.study)
    figures = {figure.name: figure for figure in study.figures}
    if given.figure not in figures:
        raise BadInput(given.study, "figures", f"no {given.figure!r}", f"allowed: {', '.join(figures)}")
    figure = figures[given.figure]
    kinds, kind = {name for name, *_ in given.read}, KINDS[figure.notebook]
    if not set(kind.reads) <= kinds <= {*kind.reads, *kind.also}:
        wanted = f"it reads {', '.join(kind.reads)}" + (f", and may read {', '.join(kind.also)}" if kind.also else "")
        given_kinds = ", ".join(name for name, *_ in given.read)
        raise BadInput("command line", "--read", f"{figure.name} given {given_kinds}", wanted)
    return of_figure(study, figure)


def page(given: Given) -> Parameters:
    """For a study's page."""
    return of_page(studies.load(given.study))


def _dataset(given: Given) -> dict[str, Any]:
    entries = studies.load(given.study).config["datasets"]
    if given.dataset not in entries:
        raise BadInput(given.study, "datasets", f"no {given.dataset!r}", f"allowed: {', '.join(entries)}")
    return entries[given.dataset]


def _cell(given: Given) -> tuple[Study, Cell]:
    study = studies.load(given.study)
    cell = Cell(given.model, given.dataset, given.hardware, given.variant)
    if cell not in study.seeds:
        raise BadInput(given.study, "grid", f"no cell {'/'.join(cell)}", "model/dataset/hardware/variant of its grid")
    return study, cell
