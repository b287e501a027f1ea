"""The command line: one verb for each rule, and what a person asks for by hand.

A verb's arguments say what it reads and what it writes. Bad input ends in one line and exit code 2.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from toolnoise import study as studies
from toolnoise.errors import BadInput, told_in_one_line
from toolnoise.figures import KINDS
from toolnoise.study import MODES, Cell, Pair, Profile, Study


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb."""
    with told_in_one_line():
        options = _parser().parse_args(arguments)
        try:
            options.run(options)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read what was printed, such as `head`, has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fetch(options: argparse.Namespace) -> None:
    from toolnoise.datasets import fetching

    fetching.fetch(options.dataset, _dataset(options), options.out)


def _prepare(options: argparse.Namespace) -> None:
    from toolnoise.datasets import preparation

    preparation.prepare(options.dataset, _dataset(options), options.out, options.threads)


def _count(options: argparse.Namespace) -> None:
    from toolnoise.datasets import counting

    counting.count(options.dataset, options.data, options.out)


def _synthesise(options: argparse.Namespace) -> None:
    from toolnoise.datasets import synthetic

    synthetic.write(options.format, options.examples, options.out)


def _train(options: argparse.Namespace) -> None:
    from toolnoise import code, training

    study, cell = _cell(options)
    digest = code.digest("toolnoise.training", *study.modules(cell))
    outputs = options.weights, options.history, options.record
    training.train(_spec(options, options.seed), options.data, digest, *outputs, options.checkpoint)


def _measure_speed(options: argparse.Namespace) -> None:
    from toolnoise import speed

    study, cell = _cell(options)
    speed.measure(study.spec(cell, study.seeds[cell][0]), options.data, options.out)


def _profile(options: argparse.Namespace) -> None:
    from toolnoise import profiling

    study = studies.load(options.study)
    profile = Profile(options.model, options.hardware, options.mode, options.repeat)
    if profile not in study.profiles:
        allowed = "model/hardware/mode/repeat of its overhead"
        raise BadInput(options.study, "overhead", f"no {'/'.join(map(str, profile))}", allowed)
    profiling.profile(study.profile_spec(profile), options.out, options.record)


def _predict(options: argparse.Namespace) -> None:
    from toolnoise import prediction

    study, cell = _cell(options)
    spec = study.spec(cell, study.seeds[cell][0])
    prediction.dump(spec, options.data, options.records, options.logits, options.index)


def _check_control(options: argparse.Namespace) -> None:
    from toolnoise import control

    name = "/".join([options.model, options.dataset, options.hardware, "control"])
    control.check(name, options.records, options.logits, options.index, options.out)


def _measure(options: argparse.Namespace) -> None:
    from toolnoise import measuring

    study, cell = _cell(options)
    seed = study.config["seed"]
    measuring.measure_cell(cell, seed, options.data, options.logits, options.index, options.records, options.out)


def _measure_pair(options: argparse.Namespace) -> None:
    from toolnoise import measuring

    pair = Pair(options.model, options.dataset, options.hardware, options.other_hardware, options.variant)
    measuring.measure_pair(
        pair,
        options.data,
        (options.logits, options.other_logits),
        (options.index, options.other_index),
        (options.records, options.other_records),
        options.out,
    )


def _measure_overhead(options: argparse.Namespace) -> None:
    from toolnoise import measuring

    study, network = studies.load(options.study), Cell(options.model, "", options.hardware, "")
    if network not in study.networks:
        found = f"no {network.model} on {network.hardware}"
        raise BadInput(options.study, "overhead", found, "a model and a tooling of its overhead")
    measuring.measure_overhead(study, network, options.records, options.out_overhead, options.out_kernels)


def _collect(options: argparse.Namespace) -> None:
    from toolnoise.metrics import table

    columns = table.DATA if options.kind == "counts" else getattr(table, options.kind.upper())
    table.concatenate(options.metrics, columns, options.out)


def _render(options: argparse.Namespace) -> None:
    from toolnoise import rendering

    study = studies.load(options.study)
    figures = {figure.name: figure for figure in study.figures}
    if options.figure not in figures:
        raise BadInput(options.study, "figures", f"no {options.figure!r}", f"allowed: {', '.join(figures)}")
    figure = figures[options.figure]
    given, kind = {name: files for name, *files in options.read}, KINDS[figure.notebook]
    if not set(kind.reads) <= set(given) <= {*kind.reads, *kind.also}:
        wanted = f"it reads {', '.join(kind.reads)}" + (f", and may read {', '.join(kind.also)}" if kind.also else "")
        raise BadInput("command line", "--read", f"{figure.name} given {', '.join(given)}", wanted)
    parameters = {
        **given,
        "hardware": list(figure.hardware),
        "tasks": [list(task) for task in figure.tasks],
        "emulated": list(study.emulated()),
        "stem": options.stem,
    }
    if figure.notebook == "order":
        parameters["batch_sizes"] = {model: study.batch_size(model, dataset) for model, dataset in figure.tasks}
    rendering.render(figure.notebook, parameters, options.executed)


def _report(options: argparse.Namespace) -> None:
    from toolnoise import rendering

    studies.load(options.study)  # a wrong study is told here: Snakemake would tell it at length
    rendering.write_report(options.study, options.out)


def _summary(options: argparse.Namespace) -> None:
    from toolnoise.summary import summarise

    print(summarise(studies.load(options.study)))


def _dataset(options: argparse.Namespace) -> dict[str, Any]:
    entries = studies.load(options.study).config["datasets"]
    if options.dataset not in entries:
        raise BadInput(options.study, "datasets", f"no {options.dataset!r}", f"allowed: {', '.join(entries)}")
    return entries[options.dataset]


def _doctor(options: argparse.Namespace) -> None:
    from toolnoise import config, doctor

    hardware = studies.load(options.study).config["hardware"] if options.study else config.registered("hardware")
    found = doctor.examine(hardware)
    _print(found if options.json else doctor.told(found))
    # Of a study every tooling is asked for, of the registry any.
    able = [not reason for reason in found["hardware"].values()]
    sys.exit(0 if (all if options.study else any)(able) else 1)


def _estimate(options: argparse.Namespace) -> None:
    from toolnoise import estimate

    study = studies.load(options.study)
    if options.measure:
        estimate.measure(study, options.study)
    found = estimate.estimate(study)
    _print(estimate.as_json(found) if options.json else estimate.told(found, options.study))


def _status(options: argparse.Namespace) -> None:
    from toolnoise import status

    study = studies.load(options.study)
    found = status.status(study)
    _print(status.as_json(found) if options.json else status.told(study, found))


def _print(found: object) -> None:
    print(found if isinstance(found, str) else json.dumps(found, indent=1))


def _spec(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    study, cell = _cell(options)
    if seed not in study.seeds[cell]:
        allowed = ", ".join(map(str, study.seeds[cell]))
        raise BadInput(options.study, "seeds", f"no seed {seed} of {'/'.join(cell)}", f"allowed: {allowed}")
    return study.spec(cell, seed)


def _cell(options: argparse.Namespace) -> tuple[Study, Cell]:
    study = studies.load(options.study)
    cell = Cell(options.model, options.dataset, options.hardware, options.variant)
    if cell not in study.seeds:
        raise BadInput(options.study, "grid", f"no cell {'/'.join(cell)}", "model/dataset/hardware/variant of its grid")
    return study, cell


class _Parser(argparse.ArgumentParser):
    """An argument parser that complains in one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput("command line", "", message, f"see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("toolnoise", description="Measure the noise of training deep networks.", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    study, task = ["study"], ["model", "dataset", "hardware"]
    dump = ["data", "logits", "index", "records"]
    for verb, run, says, names in [
        ("fetch", _fetch, "download or find the files of a data set, and verify them", [*study, "dataset", "out"]),
        ("prepare", _prepare, "read a data set and write its prepared form", [*study, "dataset", "threads", "out"]),
        ("count", _count, "count the examples of a data set", ["dataset", "data", "out"]),
        ("synthesise", _synthesise, "write a synthetic data set in an official format", ["format", "examples", "out"]),
        (
            "train",
            _train,
            "train one run",
            [*study, *task, "variant", "seed", "data", "weights", "history", "record", "checkpoint"],
        ),
        (
            "measure-speed",
            _measure_speed,
            "time some steps of a cell's runs",
            [*study, *task, "variant", "data", "out"],
        ),
        (
            "profile",
            _profile,
            "measure what a training step takes",
            [*study, "model", "hardware", "mode", "repeat", "out", "record"],
        ),
        ("predict", _predict, "dump a cell's predictions", [*study, *task, "variant", *dump]),
        ("check-control", _check_control, "compare control runs bit for bit", [*task, *dump[1:], "out"]),
        ("measure", _measure, "measure a cell", [*study, *task, "variant", *dump, "out"]),
        (
            "measure-pair",
            _measure_pair,
            "measure what separates two toolings",
            [
                *task,
                "other-hardware",
                "variant",
                *dump,
                "other-logits",
                "other-index",
                "other-records",
                "out",
            ],
        ),
        (
            "measure-overhead",
            _measure_overhead,
            "measure what determinism costs",
            [*study, "model", "hardware", "records", "out-overhead", "out-kernels"],
        ),
        ("collect", _collect, "put metric files together", ["kind", "metrics", "out"]),
        (
            "render",
            _render,
            "execute a notebook",
            [*study, "figure", "read", "stem", "executed"],
        ),
        ("report", _report, "write a study's page", [*study, "out"]),
        ("summary", _summary, "print a study's results", study),
        ("doctor", _doctor, "print what this machine is and which toolings it can serve", ["study?", "json?"]),
        ("estimate", _estimate, "print what a study will cost", [*study, "measure?", "json?"]),
        ("status", _status, "print where a study stands", [*study, "json?"]),
    ]:
        one = verbs.add_parser(verb, help=says, description=says, allow_abbrev=False)
        one.set_defaults(run=run)
        for name in names:
            # A question mark: it may be left out.
            argument = name.removesuffix("?")
            one.add_argument(f"--{argument}", **{"required": argument == name, **_ARGUMENTS.get(argument, {})})
    return parser


_ARGUMENTS: dict[str, dict[str, Any]] = {
    "study": {"help": "a configuration, or the study.json kept with its results", "metavar": "FILE"},
    "seed": {"type": int},
    "checkpoint": {"help": "where an interrupted run is kept and goes on from; it goes when the run ends"},
    "json": {"action": "store_true", "help": "for programs"},
    "measure": {"action": "store_true", "help": "first time some steps of what nobody timed, on this machine"},
    "mode": {"choices": list(MODES)},
    "repeat": {"type": int},
    "threads": {"type": int, "default": 1, "required": False, "help": "that decode images (1)", "metavar": "N"},
    "format": {"help": "cifar-10, cifar-100, celeba, imagenet or image-folder"},
    "examples": {"type": int, "help": "training examples; a fifth as many are for testing", "metavar": "N"},
    "kind": {"choices": ["stability", "cross_tooling", "counts", "overhead", "kernels"]},
    "records": {"nargs": "+", "metavar": "JSON"},
    "other-records": {"nargs": "+", "metavar": "RUN_JSON"},
    "metrics": {"nargs": "+", "metavar": "CSV"},
    "read": {
        "action": "append",
        "nargs": "+",
        "metavar": ("KIND", "CSV"),
        "help": "metric files of a kind that the figure reads; once for each kind",
    },
}


if __name__ == "__main__":
    main()
