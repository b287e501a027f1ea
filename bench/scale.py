"""Time and memory of each verb as a study grows, and the exponent of growth.

    nice -n 10 .venv/bin/python bench/scale.py [--cells CELLS] [RUNS ...]

Studies of 100, 1,000 and 10,000 runs are invented, in cells of 100 runs; for `measure`, in one cell. With `--cells`,
all studies have this number of cells, and `measure` is left out. Each verb runs in its own process. Time is the CPU
time of that process and its children, memory the peak of the largest of them, both from `wait4`. The exponent is
log(t2 / t1) / log(n2 / n1) for the two largest sizes: starting Python takes a second or more, which makes smaller sizes
look flat. Nothing is subtracted.

An invented study has all its files in their real formats with correct statements, but nothing is trained: jobs run
through the recorder as in a study, so the audit finds nothing wrong. Training and predicting write random numbers that
depend on the run's keys, and rendering writes one line. Measures are computed for the first network; the cells of the
other networks get the same numbers under their own names.
"""

import argparse
import csv
import io
import itertools
import math
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Container, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from toolnoise import cli, streams
from toolnoise.base import arrays, files
from toolnoise.base.job import Files, Timings
from toolnoise.base.program import ROOT
from toolnoise.base.spec import Spec
from toolnoise.commands import jobs
from toolnoise.datasets import prepared
from toolnoise.dumps import prediction_dump
from toolnoise.provenance import recorder
from toolnoise.study import config, grid, job_code, layout, runs
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study
from toolnoise.training.loop import HISTORY
from toolnoise.training.network import start_engine

NAME, FILE = "invented", "study.yaml"
RIGHT = 4.0  # added to the logit of the right class: an accuracy of 99 %
TENSORS = {"dense/kernel": (64, 10), "dense/bias": (10,)}
SIZES = (100, 1_000, 10_000)
A_CELL = 100
STACK = 2**26
MOST = 1.1  # the largest exponent that is accepted
BARE_SNAKEMAKE = (sys.executable, "-m", "snakemake", "--workflow-profile", "none", "--cores", "1")
SNAKEMAKE = (*BARE_SNAKEMAKE, "--snakefile", str(ROOT / "Snakefile"))
TOOLNOISE = (sys.executable, "-m", "toolnoise.cli")
BARE_PLAN, PLAN, AGAIN = "bare snakemake -n", "snakemake -n", "snakemake -n, all done"
MEASURE = "measure, one cell"


# The graph of an invented study in bare Snakemake, as a user would write it: nothing is read or computed.
BARE = """
CELLS = [f"network-{{number}}/digits/cpu/algo_impl" for number in range({cells})]
SEEDS = range(1, {seeds} + 1)
KINDS = ["stability", "runs", "identical", "convergence", "ensembles"]
RUN = ["weights", "history", "record"]
PARTS = ["model", "data", "recipe", "tooling", "variant", "seed"]
SPEC = "name=any " + 300 * "x"


wildcard_constraints:
    cell="[^/]+/[^/]+/[^/]+/[^/]+",
    seed="[0-9]+",


def runs(*names):
    return lambda wildcards: [f"runs/{{wildcards.cell}}/{{seed}}/{{name}}" for name in names for seed in SEEDS]


rule page:
    input: "study.json", expand("all/{{kind}}.csv", kind=[*KINDS, "counts"]), "claims.csv", "table2.html",
        expand("page/{{cell}}.json", cell=CELLS)
    output: "index.html", "index.intoto.json"
    shell: "touch {{output}}"


rule study:
    output: "study.json", "study.intoto.json"
    shell: "touch {{output}}"


rule prepare:
    output: "digits.npz", "digits.intoto.json"
    shell: "touch {{output}}"


rule train:
    input: "digits.npz"
    output: **{{name: f"runs/{{{{cell}}}}/{{{{seed}}}}/{{name}}" for name in [*RUN, "statement"]}}
    log: "logs/{{cell}}/{{seed}}.log"
    threads: lambda wildcards: 1
    resources: mem_mb=lambda wildcards, attempt: 16000 * attempt, runtime=lambda wildcards, attempt: 240 * attempt,
        gpu=lambda wildcards: 0
    params: **{{name: lambda wildcards: SPEC for name in [*PARTS, "code"]}}
    shell: "train --model {{params.model:q}} --dataset {{params.data:q}} --recipe {{params.recipe:q}}"
        " --tooling {{params.tooling:q}} --variant {{params.variant:q}} --seed {{params.seed:q}} --data {{input:q}}"
        " --weights {{output.weights:q}} --history {{output.history:q}} --record {{output.record:q}} >{{log:q}}"


rule predict:
    input: "digits.npz", runs("record", "weights")
    output: "logits/{{cell}}.npy", "logits/{{cell}}.json", "logits/{{cell}}.intoto.json"
    params: recipe="epochs=5", code="digest"
    shell: "touch {{output}}"


rule measure:
    input: "digits.npz", "logits/{{cell}}.npy", "logits/{{cell}}.json", runs(*RUN)
    output: expand("{{kind}}/{{{{cell}}}}.csv", kind=[*KINDS, "measured"])
    params: code="digest"
    shell: "touch {{output}}"


rule show:
    input: rules.measure.input, "stability/{{cell}}.csv", "runs/{{cell}}.csv"
    output: "page/{{cell}}.html", "page/{{cell}}.json", "page/{{cell}}.intoto.json"
    params: code="digest"
    shell: "touch {{output}}"


rule count:
    input: "digits.npz"
    output: "all/counts.csv", "all/counts.intoto.json"
    shell: "touch {{output}}"


rule collect:
    input: lambda wildcards: [f"{{wildcards.kind}}/{{cell}}.csv" for cell in CELLS]
    output: "all/{{kind}}.csv", "all/{{kind}}.intoto.json"
    wildcard_constraints: kind="|".join(KINDS)
    shell: "touch {{output}}"


rule claims:
    input: expand("all/{{kind}}.csv", kind=["stability", "runs", "identical", "counts"])
    output: "claims.csv", "claims.intoto.json"
    shell: "touch {{output}}"


rule render:
    input: lambda wildcards: [f"stability/{{cell}}.csv" for cell in CELLS]
    output: "table2.html", "table2.csv", "table2.md", "table2.tex", "table2.ipynb", "table2.intoto.json"
    shell: "touch {{output}}"
"""


class Used(NamedTuple):
    """The CPU time and the peak memory of a process."""

    seconds: float
    megabytes: float


def main() -> None:
    """Print a row for each verb; if an exponent is too large, the exit code is 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", metavar="RUNS", type=int, nargs="*", help="runs of each study")
    parser.add_argument("--cells", type=int, help="cells of each study (default: as many as have 100 runs)")
    options = parser.parse_args()
    sizes = options.sizes or list(SIZES)
    if options.cells and any(runs % options.cells for runs in sizes):
        parser.error(f"RUNS: found {sizes}; allowed: multiples of {options.cells} cells")
    measurements: dict[str, list[Used]] = {}
    for size in sizes:
        of_one = of_cell(size) if options.cells is None else ()
        a_cell = size // options.cells if options.cells else A_CELL
        for verb, used in itertools.chain(of_study(size, a_cell), of_one):
            print(f"{size:,} runs: {verb}: {used.seconds:.1f} s", file=sys.stderr, flush=True)
            measurements.setdefault(verb, []).append(used)
    sys.exit(0 if show(sizes, measurements) else 1)


def show(sizes: list[int], measurements: dict[str, list[Used]]) -> bool:
    """Print the table; return whether no verb's time grows too fast."""
    print(f"{'':24}" + "".join(f"{f'{runs:,} runs':>20}" for runs in sizes) + f"{'exponent of time':>20}")
    exponents = [exponent(sizes, [used.seconds for used in of_verb]) for of_verb in measurements.values()]
    for (verb, of_verb), growth in zip(measurements.items(), exponents, strict=True):
        cells = (f"{used.seconds:.1f} s {used.megabytes:,.0f} MB" for used in of_verb)
        print(f"{verb:24}" + "".join(f"{cell:>20}" for cell in cells) + f"{growth:>20.2f}", flush=True)
    return not any(growth > MOST for growth in exponents)


def exponent(sizes: list[int], values: list[float]) -> float:
    """The slope between the two largest sizes, on logarithmic axes; NaN for a single size."""
    return math.log(values[-1] / values[-2]) / math.log(sizes[-1] / sizes[-2]) if len(sizes) > 1 else math.nan


def of_study(runs: int, a_cell: int) -> Iterator[tuple[str, Used]]:
    """Each verb that works on a study, with its time and memory."""
    study = invented(runs, a_cell)
    with made(study) as folder:
        for verb, command in commands(study, folder):
            yield verb, used_by(command, folder / "empty" if verb in (BARE_PLAN, PLAN) else folder)


def of_cell(runs: int) -> Iterator[tuple[str, Used]]:
    """The verb that measures a cell of this number of runs, with its time and memory."""
    study = invented(runs, runs)
    with made(study, ("prepare", "train", "predict")) as folder:
        yield MEASURE, used_by(measuring(folder), folder)


@contextmanager
def made(study: Study, verbs: Container[str] = job_code.JOBS) -> Iterator[Path]:
    """A folder with the files that these verbs write for a study."""
    folder = Path(tempfile.mkdtemp(prefix="scale-"))
    try:
        # In a new process, because the measured processes start with the memory of this one.
        child = os.fork()
        if not child:
            # The child prints its errors itself, because the parent removes the folder.
            try:
                invent(study, folder, verbs)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise SystemExit("the study could not be invented")
        yield folder
    finally:
        shutil.rmtree(folder)


def commands(study: Study, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The command line of each verb, in a study's folder."""
    file = study.path(layout.STUDY)
    results = str(Path(file).parent)
    seeds = len(study.seeds[study.cells[0]])
    (folder / "bare.smk").write_text(BARE.format(cells=len(study.cells), seeds=seeds))
    yield BARE_PLAN, [*BARE_SNAKEMAKE, "--snakefile", "../bare.smk", "--dry-run"]
    yield PLAN, [*SNAKEMAKE, "--configfile", f"../{FILE}", "--dry-run"]
    yield AGAIN, [*SNAKEMAKE, "--configfile", FILE, "--dry-run"]
    for verb in ("estimate", "summary"):
        yield verb, [*TOOLNOISE, verb, "--study", file]
    yield "audit", [*TOOLNOISE, "audit", results]
    yield "export", [*TOOLNOISE, "export", results, "--out", "all.tar"]


def measuring(folder: Path) -> list[str]:
    """The command line that measures the first cell of a study."""
    return [*TOOLNOISE, *next(words for words in planned(folder) if words[0] == "measure")]


def planned(folder: Path) -> Iterator[list[str]]:
    """The words after `toolnoise` in every job's command, in the order in which Snakemake prints the jobs."""
    command = [*SNAKEMAKE, "--configfile", FILE, "--dry-run", "--forceall", "--printshellcmds"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    for line in re.findall(r"toolnoise (.*?) >\S+ 2>&1$", done.stdout + done.stderr, re.MULTILINE):
        yield shlex.split(line)


def used_by(command: list[str], folder: Path) -> Used:
    """The time and memory of a command in a folder; the command must succeed."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if not child:
            os.chdir(folder)
            # As in the workflow: Linux limits a program's arguments to a quarter of its stack.
            resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.execv(command[0], command)
        _, status, usage = os.wait4(child, 0)
        if status:
            output.seek(0)
            raise SystemExit(f"{' '.join(command[:6])}: {output.read().decode()[-3000:]}")
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


# An invented study


def invented(runs: int, a_cell: int) -> Study:
    """A study with this number of runs, in cells of `a_cell` runs; each cell has its own network."""
    count = max(1, runs // a_cell)
    models = {f"network-{number}": {"builder": "toolnoise.models.smallcnn:build"} for number in range(count)}
    block = {"models": list(models), "datasets": ["digits"], "recipe": "short", "seeds": a_cell}
    written = {
        "study": NAME,
        "models": models,
        "recipes": {"short": {"epochs": 5, "batch_size": 64, "learning_rate": 0.01}},
        "grid": [block | {"hardware": ["cpu"], "variants": ["algo_impl"]}],
        "figures": ["table2"],
    }
    return grid.build_study(config.resolve(written, FILE), FILE)


def invent(study: Study, folder: Path, verbs: Container[str] = job_code.JOBS) -> None:
    """Write the study's file and the results of these verbs' jobs into a folder."""
    with chdir(folder), _unsynced():
        # Every JSON file is also a YAML file.
        files.write_json(FILE, study.config)
        recorder.write_study(study.path(layout.STUDY), study.config, FILE)
        if not verbs:
            return
        work = _Work(start_engine(study.spec(study.cells[0], 1))[1])
        with mock.patch.object(job_code, "perform_job", work.perform):
            for words in planned(folder):
                options = vars(cli.parse_options(words))
                if options["verb"] in verbs:
                    job = job_code.function_of(options["verb"])
                    named = {name: options[name] if options[name] is not None else () for name in job.files}
                    parameters = jobs.parameters_of(job, options)
                    recorder.record_job(jobs.recorded_job(options["verb"], parameters, named, {}, words), "")


@contextmanager
def _unsynced() -> Iterator[None]:
    """Writes files without fsync, since they need not survive a power cut."""
    with mock.patch.object(os, "fsync", lambda _: None):
        yield


class _Work:
    """Does invented work in place of the work of jobs, and reports this machine's observations."""

    def __init__(self, observed: dict[str, Any]) -> None:
        self.observed, self.labels = observed, np.empty(0, int)
        self.real, self.measured = job_code.perform_job, None

    def perform(self, verb: str, parameters: dict[str, Any], named: Files) -> dict[str, Any] | None:
        """Do the work of a job, or write invented files in its place."""
        invented = {"train": self._train, "predict": self._predict, "render": self._render, "measure": self._measure}
        return invented.get(verb, self.real)(verb, parameters, named)

    def _train(self, _verb: str, parameters: dict[str, Any], named: Files) -> dict[str, Any]:
        if not len(self.labels):
            self.labels = prepared.load(named["data"]).test.labels
            self.data = prepared.load(named["data"]).sha256
        spec = Spec.read(parameters["spec"])
        keys = streams.keys_of_run(spec)
        chance = np.random.default_rng(int(files.canonical_sha256(keys)[:16], 16))
        accuracy = float((_logits(spec, self.labels).argmax(axis=1) == self.labels).mean())
        drawn = {source: key for source, key in keys.items() if source not in ("init", "bit")}
        rows, epochs = [], spec.recipe["epochs"]
        for epoch in range(1, epochs + 1):
            tensors = {name: chance.normal(size=shape).astype(np.float32) for name, shape in TENSORS.items()}
            whole, shas = runs.weight_digests(tensors)
            losses = dict(zip(HISTORY[1:5], chance.random(4).tolist(), strict=True))
            digests = {"tensors_sha256": " ".join(sha[: runs.TENSOR_DIGITS] for sha in shas), "weights_sha256": whole}
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

    def _predict(self, _verb: str, parameters: dict[str, Any], named: Files) -> dict[str, Any]:
        spec, cell = Spec.read(parameters["spec"]), [runs.read_run(record) for record in named["records"]]
        shape = (len(cell), len(self.labels), TENSORS["dense/bias"][0])
        layers = (_logits(run.spec, self.labels) for run in cell)
        arrays.write_npy(named["logits"], arrays.Rows(shape, np.dtype(np.float32), layers))
        files.write_json(named["index"], prediction_dump.index_of_dump(spec, cell, shape, self.observed, Timings()))
        return self.observed

    def _render(self, _verb: str, _parameters: dict[str, Any], named: Files) -> None:
        for name in (*named["out"], named["executed"]):
            files.write_text(name, f"<caption>{name}</caption>\n")

    def _measure(self, verb: str, parameters: dict[str, Any], named: Files) -> None:
        cell = Cell(*parameters["cell"])
        outputs = (name for name, about in job_code.function_of(verb).files.items() if about.written)
        written = {name: named[name] for name in outputs}
        if self.measured is None:
            self.real(verb, parameters, named)
            self.measured = cell.model, {option: Path(name).read_text() for option, name in written.items()}
        model, texts = self.measured
        for option, name in written.items():
            files.write_text(name, texts[option].replace(f"{model},", f"{cell.model},"))


def _logits(spec: Spec, labels: np.ndarray) -> np.ndarray:
    """Logits of a run; all networks have the same logits for the same seed."""
    chance = np.random.default_rng(spec.seed)
    logits = chance.normal(size=(len(labels), TENSORS["dense/bias"][0])).astype(np.float32)
    logits[np.arange(len(labels)), labels] += np.float32(RIGHT)
    return logits


if __name__ == "__main__":
    main()
