"""The jobs that a study consists of, each as its statement must have it: what it is asked for, reads and writes.

The rules of the workflow say the same to Snakemake. A finished study whose audit is clean shows that both agree.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from toolnoise import asked
from toolnoise.jobs import JOBS
from toolnoise.provenance.record.recorder import read_by
from toolnoise.study import layout
from toolnoise.study.catalogue import KINDS
from toolnoise.study.grid import Cell, Pair, Study

CONFIGURE = "configure"  # the one statement that no verb makes: the workflow's own, of study.json
_WRITES = {
    CONFIGURE: {"out": layout.STUDY},
    "fetch": {"out": layout.SOURCES},
    "prepare": {"out": layout.DATA},
    "count": {"out": layout.COUNTS},
    "train": {"weights": layout.WEIGHTS, "history": layout.HISTORY, "record": layout.RECORD},
    "measure-speed": {"out": layout.SPEED},
    "profile": {"out": layout.KERNEL_TIMES, "record": layout.PROFILE_RECORD},
    "predict": {"logits": layout.LOGITS, "index": layout.PREDICTIONS},
    "predict-elsewhere": {"logits": layout.EXCHANGED, "index": layout.EXCHANGED_INDEX},
    "remedy": {"logits": layout.REMEDIED, "index": layout.REMEDIED_INDEX},
    "dump-layers": {"grams": layout.GRAMS, "index": layout.LAYERS_INDEX},
    "check-control": {"out": layout.GATE},
    "measure": {
        "out": layout.CELL_METRICS,
        "out-identical": layout.CELL_IDENTICAL,
        "out-ensembles": layout.CELL_ENSEMBLES,
    },
    "measure-remedies": {"out": layout.CELL_REMEDIES},
    "measure-pair": {"out": layout.PAIR_METRICS},
    "measure-frameworks": {"out": layout.FRAMEWORK_METRICS, "out-partings": layout.FRAMEWORK_PARTINGS},
    "measure-layers": {"out": layout.LAYER_METRICS},
    "measure-overhead": {"out-overhead": layout.NETWORK_OVERHEAD, "out-kernels": layout.NETWORK_KERNELS},
    "report": {"out": layout.REPORT},
}

Files = tuple[tuple[str, str], ...]  # names with their roles


class Expected(NamedTuple):
    """A job of a study; one that is not `needed` is there if somebody asked for it."""

    verb: str
    parameters: dict[str, Any]
    inputs: Files
    outputs: Files
    needed: bool = True


def outputs(verb: str, parameters: dict[str, Any], study: str) -> Files:
    """What a job that is asked for this writes, in its order.

    Parameters may come from anywhere: what they lack raises what Python raises.
    """
    if verb == "collect":
        patterns = [("out", layout.COLLECTED[parameters["kind"]])]
    elif verb == "render":
        formats = KINDS[parameters["notebook"]].formats
        patterns = [*(("out", f"{layout.FIGURE}.{suffix}") for suffix in formats), ("executed", layout.NOTEBOOK)]
    else:
        patterns = list(_WRITES[verb].items())
    names = place(parameters) | {"study": study}
    return tuple((pattern.format(**names), role) for role, pattern in patterns)


def of_study(study: Study) -> Iterator[Expected]:
    """Every job of a study."""
    yield _job(study, CONFIGURE, {})
    yield from _of_data(study)
    for cell in study.cells:
        yield from _of_cell(study, cell)
    for pair in study.pairs:
        one, other = (_dump(study, cell) for cell in pair.cells)
        read = one | {f"other-{name}": value for name, value in other.items() if name != "data"}
        yield _job(study, "measure-pair", {"pair": list(pair)}, **read)
    yield from _of_frameworks(study)
    for profile in study.profiles:
        yield _job(study, "profile", asked.of_spec(study.profile_spec(profile)))
    for network in study.networks:
        records = [study.path(layout.PROFILE_RECORD, one) for one in study.profiles if one[:2] == _subject(network)]
        yield _job(study, "measure-overhead", asked.of_network(study, network), records=records)
    yield from _of_page(study)


def checkpoints(study: Study) -> Iterator[str]:
    """Where the runs of a study that are not finished are kept."""
    for cell in study.cells:
        yield from study.runs(layout.CHECKPOINT, cell)


def _of_data(study: Study) -> Iterator[Expected]:
    for dataset in study.datasets:
        data = study.path(layout.DATA, dataset=dataset)
        asked = {"dataset": dataset, "entry": study.config["datasets"][dataset]}
        if study.sources(dataset):
            yield _job(study, "fetch", asked)
        yield _job(study, "prepare", asked)
        yield _job(study, "count", {"dataset": dataset}, data=data)


def _of_cell(study: Study, cell: Cell) -> Iterator[Expected]:
    data = study.path(layout.DATA, cell)
    for seed in study.seeds[cell]:
        yield _job(study, "train", asked.of_spec(study.spec(cell, seed)), data=data)
    first, dump = asked.of_spec(study.spec(cell, study.seeds[cell][0])), _dump(study, cell)
    yield _job(study, "measure-speed", first, data=data)._replace(needed=False)
    yield _job(study, "predict", first, data=data, records=dump["records"])
    if cell in study.controls:
        yield _job(study, "check-control", {"cell": list(cell)}, **dump)
    yield _job(study, "measure", asked.of_cell(study, cell), **dump)
    if cell in study.views:
        if study.remedies(cell):
            yield _job(study, "remedy", asked.of_remedies(study, cell), data=data, records=dump["records"])
        other = study.single(cell)
        yield _job(
            study,
            "measure-remedies",
            asked.of_cell(study, cell),
            **{name: dump[name] for name in ("data", "logits", "index")},
            remedied=[study.path(layout.REMEDIED, cell)] if study.remedies(cell) else [],
            single=[study.path(layout.LOGITS, other)] if other != cell else [],
        )
    if cell in study.layers:
        grams, index = study.path(layout.GRAMS, cell), study.path(layout.LAYERS_INDEX, cell)
        yield _job(study, "dump-layers", asked.of_layers(study, cell), data=data, records=dump["records"])
        yield _job(study, "measure-layers", {"cell": list(cell)}, grams=grams, index=index)


def _of_frameworks(study: Study) -> Iterator[Expected]:
    for way in study.exchanged:
        data, records = study.path(layout.DATA, way), study.runs(layout.RECORD, way.cells[0])
        yield _job(study, "predict-elsewhere", asked.of_exchange(study, way), data=data, records=records)
    for pair in study.frameworks:
        read = {}
        for prefix, way in (("", pair), ("other-", pair.reversed)):
            trained = way.cells[0]
            read |= {
                f"{prefix}logits": study.path(layout.LOGITS, trained),
                f"{prefix}exchanged": study.path(layout.EXCHANGED, way),
                f"{prefix}records": study.runs(layout.RECORD, trained),
            }
        yield _job(study, "measure-frameworks", {"pair": list(pair)}, **read)


def _of_page(study: Study) -> Iterator[Expected]:
    parts = study.metric_files()
    for kind in study.collected:
        yield _job(study, "collect", {"kind": kind}, metrics=parts[kind])
    shown = list(study.collected.values())
    for figure in study.figures:
        kind, found = KINDS[figure.notebook], study.metric_files(figure)
        read = [
            [name, *found[name]] for name in (*kind.reads, *(also for also in kind.also if also in study.collected))
        ]
        yield _job(study, "render", asked.of_figure(study, figure), read=read)
        shown += study.figure_files(figure)
    yield _job(study, "report", asked.of_page(study), shows=shown)


def _job(study: Study, verb: str, parameters: dict[str, Any], **files: Any) -> Expected:
    """A job that is given these files to read."""
    read: Iterable[tuple[str, str]] = ()
    if verb != CONFIGURE:
        given = argparse.Namespace(**{option.replace("-", "_"): value for option, value in files.items()})
        read = read_by(JOBS[verb], given)
    # As a statement has it: tuples are lists.
    parameters = json.loads(json.dumps(parameters))
    return Expected(verb, parameters, tuple(read), outputs(verb, parameters, study.name))


def _dump(study: Study, cell: Cell) -> dict[str, Any]:
    return {
        "data": study.path(layout.DATA, cell),
        "logits": study.path(layout.LOGITS, cell),
        "index": study.path(layout.PREDICTIONS, cell),
        "records": study.runs(layout.RECORD, cell),
    }


def _subject(network: Cell) -> tuple[str, str]:
    return network.model, network.hardware


def place(parameters: dict[str, Any]) -> dict[str, Any]:
    """The names in a path that parameters speak of."""
    if "cell" in parameters:
        return Cell(*parameters["cell"])._asdict()
    if "pair" in parameters:
        return Pair(*parameters["pair"])._asdict()
    if "spec" not in parameters:
        return parameters
    spec = parameters["spec"]
    variant = spec["variant"]["name"]
    parts = {part: spec[part]["name"] for part in ("model", "dataset", "hardware") if part in spec}
    if "trained_on" in parameters:
        parts |= {"hardware": parameters["trained_on"], "other_hardware": spec["hardware"]["name"]}
    return parts | {"variant": variant, "seed": spec["seed"], "mode": variant, "repeat": spec["seed"]}
