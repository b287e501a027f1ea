"""An invented study: all its files in their real formats with statements that are true of them, and nothing trained.

Jobs run through the recorder as they do in a study, so that inputs, outputs, code and machine are stated and the audit
finds nothing. Three kinds of work are invented: training and predicting give random numbers that follow from the run's
keys, and rendering writes one line. Measures are computed for the first network; the cells of the others have
the same numbers under their own names.
"""

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from toolnoise import steps
from toolnoise.base import arrays, files
from toolnoise.base.spec import Spec
from toolnoise.base.timings import Timings
from toolnoise.datasets import prepared
from toolnoise.dumps import prediction_dump
from toolnoise.record import recorder
from toolnoise.steps import STEPS
from toolnoise.study import config, grid, layout
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study
from toolnoise.training import runs
from toolnoise.training.loop import HISTORY, TENSOR_DIGITS
from toolnoise.training.network import start_engine

NAME, FILE = "invented", "study.yaml"
RIGHT = 4.0  # added to the logit of the right class: an accuracy of 99 %
TENSORS = {"dense/kernel": (64, 10), "dense/bias": (10,)}


def study(
    runs: int,
    a_cell: int,
    toolings: Sequence[str] = ("cpu",),
    variants: Sequence[str] = ("algo_impl",),
    epochs: int = 5,
    only: Sequence[str] = (),
) -> Study:
    """A study of so many runs in cells of `a_cell` runs: as many networks as it takes, on `only` some toolings."""
    count = max(1, runs // (a_cell * len(toolings) * len(variants)))
    models = {f"network-{number}": {"builder": "toolnoise.models.smallcnn:build"} for number in range(count)}
    block = {"models": list(models), "datasets": ["digits"], "recipe": "short", "seeds": a_cell}
    written = {
        "study": NAME,
        "models": models,
        "recipes": {"short": {"epochs": epochs, "batch_size": 64, "learning_rate": 0.01}},
        "grid": [block | {"hardware": list(toolings), "variants": list(variants)}],
        "figures": ["table2"],
    } | ({"only": list(only)} if only else {})
    return grid.build(config.resolve(written, FILE), FILE)


def make(study: Study, folder: Path, wanted: Callable[[steps.Job], bool] = lambda _: True) -> None:
    """Write the study's file and the results of all or some of its jobs into a folder."""
    jobs = [job for job in steps.jobs(study) if job.needed and job.verb != steps.CONFIGURE and wanted(job)]
    with chdir(folder), _unsynced():
        # JSON is YAML.
        files.write_json(FILE, study.config)
        recorder.write_study(study.path(layout.STUDY), study.config, FILE)
        spec = next(Spec.read(job.parameters["spec"]) for job in jobs if job.verb == "train")
        work = _Work(start_engine(spec)[1])
        with mock.patch.object(steps, "perform", work.perform):
            for job in jobs:
                aside = dict.fromkeys(STEPS[job.verb].work.aside)
                recorder.perform(job.verb, job.parameters, files_of(study, job) | aside, "")


def files_of(study: Study, job: steps.Job) -> steps.Files:
    """The inputs and outputs of a job by the options that name them."""
    step = STEPS[job.verb]
    written = {
        option: [name for name, role in job.outputs if role == option]
        if option in step.several
        else next(name for name, role in job.outputs if role == option)
        for option in step.writes
    }
    return step.given(study, job.place) | written


@contextmanager
def _unsynced() -> Iterator[None]:
    """Files that need not outlast a power cut."""
    with mock.patch.object(os, "fsync", lambda _: None):
        yield


class _Work:
    """What jobs do in place of their own work, with what was observed of this machine."""

    def __init__(self, observed: dict[str, Any]) -> None:
        self.observed, self.labels = observed, np.empty(0, int)
        self.real, self.measured = steps.perform, {}

    def perform(self, verb: str, parameters: steps.Parameters, named: steps.Files) -> dict[str, Any] | None:
        """Do the work of a job, or what looks like it."""
        invented = {"train": self._train, "predict": self._predict, "render": self._render, "measure": self._measure}
        return invented.get(verb, self._really)(verb, parameters, named)

    def _really(self, verb: str, parameters: steps.Parameters, named: steps.Files) -> dict[str, Any] | None:
        return self.real(verb, parameters, named)

    def _train(self, _verb: str, parameters: steps.Parameters, named: steps.Files) -> dict[str, Any]:
        if not len(self.labels):
            self.labels = prepared.load(named["data"]).test.labels
            self.data = prepared.load(named["data"]).sha256
        spec, keys = Spec.read(parameters["spec"]), parameters["keys"]
        chance = np.random.default_rng(_number(keys))
        accuracy = float((_logits(spec, self.labels).argmax(axis=1) == self.labels).mean())
        drawn = {source: key for source, key in keys.items() if source not in ("init", "bit")}
        rows, epochs = [], spec.recipe["epochs"]
        for epoch in range(1, epochs + 1):
            tensors = {name: chance.normal(size=shape).astype(np.float32) for name, shape in TENSORS.items()}
            whole, each = runs.weight_digests(tensors)
            losses = dict(zip(HISTORY[1:5], chance.random(4).tolist(), strict=True))
            digests = {"tensors_sha256": " ".join(one[:TENSOR_DIGITS] for one in each), "weights_sha256": whole}
            digests["draws_sha256"] = files.canonical_sha256([drawn, epoch])
            rows.append({"epoch": epoch, **losses, "learning_rate": 0.01, "seconds": 0.1, **digests})
        rows[-1]["test_accuracy"] = accuracy
        text = io.StringIO()
        writer = csv.DictWriter(text, HISTORY, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        arrays.write_npz(named["weights"], tensors)
        files.write_text(named["history"], text.getvalue())
        about = {"status": "completed", "epochs": epochs, "trainable": list(tensors), "resumed_after": []}
        about |= {"data_sha256": self.data, "initial_sha256": files.canonical_sha256(keys["init"])}
        about |= {"emulated_noise": None, "moved_bit": None, "recorded_steps": [], "seconds": {"training": epochs / 10}}
        files.write_json(named["record"], {"spec": spec.as_json(), "observed": self.observed, **about})
        return self.observed

    def _predict(self, _verb: str, parameters: steps.Parameters, named: steps.Files) -> dict[str, Any]:
        spec, cell = Spec.read(parameters["spec"]), [runs.read(record) for record in named["records"]]
        shape = (len(cell), len(self.labels), TENSORS["dense/bias"][0])
        layers = (_logits(run.spec, self.labels) for run in cell)
        arrays.write_npy(named["logits"], arrays.Rows(shape, np.dtype(np.float32), layers))
        files.write_json(named["index"], prediction_dump.about(spec, cell, shape, self.observed, Timings()))
        return self.observed

    def _render(self, _verb: str, _parameters: steps.Parameters, named: steps.Files) -> None:
        for name in (*named["out"], named["executed"]):
            files.write_text(name, f"{name}\n")

    def _measure(self, verb: str, parameters: steps.Parameters, named: steps.Files) -> None:
        cell = Cell(*parameters["cell"])
        written = {option: named[option] for option in STEPS[verb].writes}
        if cell.variant not in self.measured:
            self._really(verb, parameters, named)
            texts = {option: Path(name).read_text() for option, name in written.items()}
            self.measured[cell.variant] = cell.model, texts
        model, texts = self.measured[cell.variant]
        for option, name in written.items():
            files.write_text(name, texts[option].replace(f"{model},", f"{cell.model},"))


def _logits(spec: Spec, labels: np.ndarray) -> np.ndarray:
    """Logits of a run: networks with one seed have the same."""
    chance = np.random.default_rng([spec.seed, _number(spec.variant.name)])
    logits = chance.normal(size=(len(labels), TENSORS["dense/bias"][0])).astype(np.float32)
    logits[np.arange(len(labels)), labels] += np.float32(RIGHT)
    return logits


def _number(value: object) -> int:
    return int(files.canonical_sha256(value)[:16], 16)
