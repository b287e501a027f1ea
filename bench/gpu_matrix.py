"""What changes bits on one GPU, in PyTorch: a matrix of batch sizes, kernels of attention, compilers, and modes.

    python bench/gpu_matrix.py --pictures data/cifar10-jpeg.tar.xz --out FOLDER --minutes 3.5 --jobs 16

1. Rows computed in batches of other sizes, in four precisions, and greedy decoding.
2. Backends of attention: forward against float64, and whether gradients repeat.
3. `torch.compile`, in fresh processes without a common cache.
4. Training with cuDNN's timing of algorithms and nondeterministic kernels, each on or off; with one changed bit; and
   with new seeds.

All jobs are processes of their own (gpu_matrix_jobs.py), several at a time: parts 1 to 3 together, then part 4, by
rounds of one run for each mode. What ends in time counts. FOLDER/matrix.json is complete after each job, and
FOLDER/answers.npz has the test answers of part 4. `--device cpu --small` tries it anywhere.
"""

import argparse
import datetime
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from toolnoise.base import files  # noqa: E402
from toolnoise.base.printing import aligned  # noqa: E402
from toolnoise.formulas.churn import churn, pairwise_churn  # noqa: E402
from toolnoise.stats.estimates import UNDEFINED, Estimate, log_t_interval  # noqa: E402
from toolnoise.stats.jackknife import pairs_standard_error, pairwise_jackknife, pairwise_mean  # noqa: E402

PROGRAM = Path(__file__).with_name("gpu_matrix_jobs.py")
PARTS = ("batches", "attention", "compiled", "training")
PRECISIONS = ("float32", "tf32", "bfloat16", "float16")
WAYS = ("max-autotune-no-cudagraphs", "default", "eager")
NETWORKS = ("smallcnn", "smallcnn-bn")
SEEDS = "new seeds"
# In the order in which each round runs them.
CELLS = ("control", "default", SEEDS, "benchmark", "atomics", "one-bit")
# What cuBLAS needs to be deterministic.
WORKSPACE = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
# The longest time for parts 1 to 3 if part 4 follows: a share of all, and seconds.
FIRST_SHARE, FIRST_SECONDS = 0.45, 80
WRITTEN_EVERY = 5  # seconds
# The jobs that must end well before a training begins.
NEEDED = {"about", "pictures"}


class Job(NamedTuple):
    """A process: its part, its name, the arguments of its function, and its environment variables."""

    part: str
    name: str
    task: dict[str, Any]
    variables: dict[str, str]


class Ended(NamedTuple):
    """What a job found, perhaps only in part; an error if it failed or was stopped; its seconds; what it printed."""

    job: Job
    found: dict[str, Any]
    error: str
    seconds: float
    log: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="for matrix.json and answers.npz")
    parser.add_argument("--pictures", type=Path, metavar="FILE", help="the archive of the study gpu, for training")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run (all)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="where to compute (cuda)")
    parser.add_argument("--small", action="store_true", help="small sizes, to try it")
    parser.add_argument("--minutes", type=float, default=3.5, help="time limit (3.5)")
    parser.add_argument("--jobs", type=int, default=16, metavar="N", help="processes at a time (16)")
    parser.add_argument("--runs", type=int, default=6, metavar="N", help="trainings of each kind (6)")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS), help="to train (both)")
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS), help="kinds of trainings (all)")
    parser.add_argument("--epochs", type=int, default=4, metavar="N", help="epochs of a training (4)")
    options = parser.parse_args()
    if "training" in options.parts and not (options.pictures and options.pictures.is_file()):
        parser.error(f"--pictures: found {options.pictures}; the archive is needed for the part training")
    options.out.mkdir(parents=True, exist_ok=True)
    # So that a time limit of somebody else stops the processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="gpu-matrix-", ignore_cleanup_errors=True) as scratch:
        matrix = Matrix(options, Path(scratch))
        matrix.run()
    print("\n".join(text(matrix.value())))


class Matrix:
    """The jobs of a run of this script, and what is known of them."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options, self.scratch = options, scratch
        self.began, self.started = time.monotonic(), datetime.datetime.now(datetime.UTC)
        self.ended: list[Ended] = []
        self.planned: dict[str, int] = {}
        self.spans: dict[str, list[float]] = {}
        self.written = 0.0

    def run(self) -> None:
        """Run all parts, as far as the time allows."""
        options, ends = self.options, self.began + 60 * self.options.minutes
        first, training, first_ends = self._first(), [], ends
        if "training" in options.parts:
            training = self._training()
            first_ends = self.began + min(FIRST_SECONDS, FIRST_SHARE * 60 * options.minutes)
        for job in (*first, *training):
            self.planned[job.part] = self.planned.get(job.part, 0) + 1
        try:
            perform(first, options.jobs, first_ends, self.scratch, self._take)
            # Without a GPU or pictures all trainings would fail, one after another.
            if {each.job.name for each in self.ended if each.job.part == "about" and not each.error} >= NEEDED:
                perform(training, options.jobs, ends, self.scratch, self._take)
        finally:
            self._write()

    def _first(self) -> list[Job]:
        """The jobs that do not train, the longest first."""
        options = self.options
        common = {"device": options.device, "small": options.small}
        jobs = [Job("about", "about", {"job": "about", "device": options.device}, {})]
        if "training" in options.parts:
            most = {"train": 50, "test": 20} if options.small else {"train": 5000, "test": 1000}
            task = {"job": "pictures", "archive": str(options.pictures), "at_most": most, "folder": str(self.scratch)}
            jobs.append(Job("about", "pictures", task, {}))
        if "compiled" in options.parts:
            # On the CPU it is only tried, and tuning would take minutes.
            for way in WAYS[1:] if options.small else WAYS:
                for process in range(1, 2 if options.small else 4):
                    name = f"{way} {process}"
                    variables = {
                        variable: str(self.scratch / f"{name} {variable}".replace(" ", "-"))
                        for variable in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
                    }
                    variables["TORCHINDUCTOR_COMPILE_THREADS"] = "5" if way == WAYS[0] and not options.small else "1"
                    jobs.append(Job("compiled", name, {"job": "compiled", **common, "way": way}, variables))
        if "batches" in options.parts:
            jobs += [
                Job("batches", precision, {"job": "batches", **common, "precision": precision}, {})
                for precision in (PRECISIONS[::2] if options.small else PRECISIONS)
            ]
        if "attention" in options.parts:
            jobs.append(Job("attention", "attention", {"job": "attention", **common}, WORKSPACE))
        return jobs

    def _training(self) -> list[Job]:
        """The trainings, by rounds."""
        options, jobs = self.options, []
        for run in range(1, options.runs + 1):
            for network in options.networks:
                for cell in (cell for cell in CELLS if cell in options.cells):
                    mode = "control" if cell == SEEDS else cell
                    task = {"job": "training", "device": options.device, "small": options.small, "network": network}
                    task |= {"mode": mode, "run": run, "seed": run + 1 if cell == SEEDS else 1}
                    task |= {"epochs": options.epochs, "folder": str(self.scratch)}
                    variables = {} if mode in ("atomics", "default") else WORKSPACE
                    jobs.append(Job("training", f"{network} / {cell} / {run}", task, variables))
        return jobs

    def _take(self, ended: Ended) -> None:
        self.ended.append(ended)
        now = time.monotonic() - self.began
        span = self.spans.setdefault(ended.job.part, [now - ended.seconds, now])
        span[:] = [min(span[0], now - ended.seconds), max(span[1], now)]
        if ended.error:
            print(f"{ended.job.part}: {ended.job.name}: {ended.error}", file=sys.stderr, flush=True)
        if now - self.written >= WRITTEN_EVERY:
            self._write()

    def _write(self) -> None:
        self.written = time.monotonic() - self.began
        files.write_json(self.options.out / "matrix.json", self.value())
        answers = {
            each.job.name.replace(" ", ""): np.array(each.found["answers"], np.uint8)
            for each in self.ended
            if "answers" in each.found
        }
        if answers:
            with files.replacing(self.options.out / "answers.npz") as path, path.open("wb") as file:
                np.savez_compressed(file, **answers)

    def value(self) -> dict[str, Any]:
        """All that is known, as JSON."""
        by_name = {each.job.name: each for each in self.ended if each.job.part == "about"}
        facts = by_name["about"].found if "about" in by_name else {}
        options = {key: value.name if isinstance(value, Path) else value for key, value in vars(self.options).items()}
        found: dict[str, Any] = {
            "date": self.started.isoformat(timespec="seconds"),
            "about": facts,
            "pictures": by_name["pictures"].found if "pictures" in by_name else {},
            "options": options,
            "seconds": round(time.monotonic() - self.began, 1),
            "parts": {},
        }
        summaries = {"batches": batches, "attention": attention, "compiled": compiled, "training": training}
        for part in ("about", *self.options.parts):
            here = [each for each in self.ended if each.job.part == part]
            start, end = self.spans.get(part, (0.0, 0.0))
            about = {
                "jobs": self.planned.get(part, 0),
                "ended_well": sum(not each.error for each in here),
                "from_second": round(start, 1),
                "to_second": round(end, 1),
                "failed": {each.job.name: each.error for each in here if each.error},
            }
            if part in summaries:
                try:
                    about |= summaries[part]([each for each in here if each.found])
                except Exception as error:  # What the others found must be written.
                    about["failed"]["summary"] = f"{type(error).__name__}: {error}"
            found["parts"][part] = about
        return finite(found)


def finite(value: Any) -> Any:
    """The same without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Processes


def perform(jobs: Sequence[Job], at_once: int, ends: float, scratch: Path, take: Callable[[Ended], None]) -> None:
    """Run processes, several at a time, until all have ended or the time is over; what runs then is stopped."""
    left, running = list(jobs), []
    try:
        while (left or running) and time.monotonic() < ends:
            while left and len(running) < at_once:
                running.append(Running(left.pop(0), scratch))
            for one in [one for one in running if one.process.poll() is not None]:
                running.remove(one)
                take(one.ended())
            time.sleep(0.02)
        for one in running:
            one.stop()
            take(one.ended("stopped: the time was over"))
        running.clear()
        for job in left:
            take(Ended(job, {}, "not begun: the time was over", 0.0, ""))
    finally:
        for one in running:
            one.stop()


class Running:
    """A process of a job, with its files in a folder."""

    def __init__(self, job: Job, scratch: Path) -> None:
        self.job, self.began = job, time.monotonic()
        self.files = scratch / re.sub(r"[^a-z0-9.-]+", "-", f"{job.part}-{job.name}")
        self.files.mkdir()
        files.write_json(self.files / "task.json", job.task)
        command = [sys.executable, str(PROGRAM), str(self.files / "task.json"), str(self.files / "found.json")]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"} | job.variables
        with (self.files / "log").open("wb") as log:
            # A session of its own: compilers start processes, too.
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def stop(self) -> None:
        """End it and what it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ended(self, why: str = "") -> Ended:
        """What it has found so far; `why` it was stopped."""
        file = self.files / "found.json"
        found = json.loads(file.read_text("utf-8")) if file.exists() else {}
        log = (self.files / "log").read_text("utf-8", "replace")
        code = self.process.returncode
        # After the alarm of a hanging profiler, the training's results are complete.
        if not why and code and not (code == -signal.SIGALRM and found):
            lines = log.strip().splitlines()
            why = f"exit code {code}: {lines[-1][:400] if lines else 'no message'}"
        return Ended(self.job, found, why, time.monotonic() - self.began, log)


# Summaries


def batches(ended: Iterable[Ended]) -> dict[str, Any]:
    """By precision."""
    return {"precisions": {each.job.name: each.found for each in ended}}


def attention(ended: Iterable[Ended]) -> dict[str, Any]:
    return {"rows": [row for each in ended for row in each.found["rows"]]}


def compiled(ended: Sequence[Ended]) -> dict[str, Any]:
    """By network and way: the distinct results of the processes, and how far they are from eager and from float64."""
    rows = []
    tried = dict.fromkeys((name, each.job.task["way"]) for each in ended for name in each.found)
    for name, way in tried:
        here = [each.found[name] for each in ended if each.job.task["way"] == way and name in each.found]
        rows.append(
            {
                "network": name,
                "way": way,
                "processes": len(here),
                "repeats_itself": sum(each["again"] for each in here),
                "distinct_losses": len({each["loss"] for each in here}),
                "distinct_gradients": len({each["gradients"] for each in here}),
                "equal_to_eager": sum(each["equals_eager"] for each in here),
                "to_eager": max(each["to_eager"] for each in here),
                "error": max(each["error"] for each in here),
                "seconds": max(each["seconds"] for each in here),
            }
        )
    chosen = {each.job.name: choices(each.log) for each in ended}
    return {"rows": rows, "tuned": {name: found for name, found in chosen.items() if found}}


def choices(log: str) -> list[str]:
    """The fastest kernel of each product or convolution, as the compiler's tuning prints it."""
    found = re.findall(r"AUTOTUNE (.*)\n(?:(?:strides|dtypes): .*\n)*\s+(\S+) [0-9.]+ ms[^\n]*?%(.*)", log)
    return [" ".join(" ".join(each).split()) for each in found]


def training(ended: Iterable[Ended]) -> dict[str, Any]:
    """By network and cell: whether runs are equal, where they part, and their churn against that of new seeds."""
    runs: dict[tuple[str, str], list[Ended]] = {}
    for each in sorted(ended, key=lambda each: each.job.task["run"]):
        network, cell, _ = each.job.name.split(" / ")
        runs.setdefault((network, cell), []).append(each)
    rows, between = [], {}
    for network in dict.fromkeys(network for network, _ in runs):
        answers = {cell: _answers(runs.get((network, cell), [])) for cell in CELLS}
        controls = [each.found for each in runs.get((network, "control"), [])]
        for cell in CELLS:
            if here := [each.found for each in runs.get((network, cell), [])]:
                rows.append({"network": network, "cell": cell, **_of_cell(here, controls)})
                rows[-1] |= _churns(answers[cell], answers[SEEDS])
        firsts = {cell: answer[0] for cell, answer in answers.items() if len(answer) and cell != SEEDS}
        if firsts:
            matrix = pairwise_churn(np.stack(list(firsts.values())))
            between[network] = {"cells": list(firsts), "churn": matrix.tolist()}
    control = {row["network"]: row["runs"] > 1 and row["bit_equal"] for row in rows if row["cell"] == "control"}
    lists = {
        _name(each.found["kernels"]): each.found["kernels"]
        for run in runs.values()
        for each in run
        if "kernels" in each.found
    }
    return {"control_is_bit_equal": control, "rows": rows, "churn_between_first_runs": between, "kernel_lists": lists}


def _name(kernels: list[str]) -> str:
    """The name of a list of kernels."""
    return files.canonical_sha256(kernels)[:8]


def _answers(runs: Sequence[Ended]) -> np.ndarray:
    return np.array([each.found["answers"] for each in runs])


def _of_cell(runs: Sequence[dict[str, Any]], controls: Sequence[dict[str, Any]]) -> dict[str, Any]:
    accuracies = [run["accuracy"] for run in runs]
    weights = [run["epochs"][-1] for run in runs]
    return {
        "runs": len(runs),
        "bit_equal": len(set(weights)) == 1,
        "distinct_results": len(set(weights)),
        "equal_to_control": sum(each == controls[0]["epochs"][-1] for each in weights) if controls else None,
        "distinct_first_gradients": len({run["gradients"][0] for run in runs}),
        "first_step_with_other_gradients": _parts_at([run["gradients"] for run in runs]),
        "first_step_with_other_weights": _parts_at([run["weights"] for run in runs]),
        "first_epoch_with_other_weights": _parts_at([run["epochs"] for run in runs]),
        "kernels": [_name(run["kernels"]) if "kernels" in run else None for run in runs],
        "weights_after_epochs": [run["epochs"] for run in runs],
        "first_gradients": [run["gradients"][0] for run in runs],
        "steps": runs[0]["steps"],
        "accuracies": accuracies,
        "accuracy": float(np.mean(accuracies)),
        "accuracy_sd": float(np.std(accuracies, ddof=1)) if len(runs) > 1 else None,
        "last_losses": [run["losses"][-1] for run in runs],
        "seconds": max(run["seconds"] for run in runs),
    }


def _parts_at(hashes: Sequence[Sequence[str]]) -> int | None:
    """The first step, from 1, after which not all runs are equal."""
    return next((step for step, each in enumerate(zip(*hashes, strict=True), 1) if len(set(each)) > 1), None)


def _churns(answers: np.ndarray, of_seeds: np.ndarray) -> dict[str, Any]:
    """The mean churn of a cell's runs with its interval, and its share of that of new seeds."""
    if len(answers) < 2:
        return {"churn": UNDEFINED, "share": UNDEFINED}
    pairs, share = churn(answers), UNDEFINED
    if len(of_seeds) > 1:
        seeds = churn(of_seeds)
        both = [(pairwise_mean(each).value, each) for each in (pairs, seeds)]
        values = [value for value, _ in both]
        fewest = min(len(answers), len(of_seeds))
        if values[1] > 0:
            share = Estimate(values[0] / values[1], math.nan, math.nan)
        if min(values) > 0 and fewest > 2 and answers is not of_seeds:
            errors = [pairs_standard_error(each) / value for value, each in both]
            share = log_t_interval(share.value, math.hypot(*errors), fewest - 1)
    return {"churn": pairwise_jackknife(pairs), "share": share}


# Text


def text(found: dict[str, Any]) -> list[str]:
    """The tables."""
    about, parts = found["about"], found["parts"]
    lines = [
        f"{found['date']}: {about.get('gpu') or found['options']['device']}, driver {about.get('driver')}, "
        f"torch {about.get('torch')}, CUDA {about.get('cuda')}, cuDNN {about.get('cudnn')}; {found['seconds']} s, "
        f"{found['options']['jobs']} processes at a time"
    ]
    tables = {"batches": _batches, "attention": _attention, "compiled": _compiled, "training": _training}
    for part in ("about", *PARTS):
        about_part = parts.get(part)
        if not about_part:
            continue
        lines += [
            "",
            f"{part}: {about_part['ended_well']} of {about_part['jobs']} jobs, "
            f"second {about_part['from_second']} to {about_part['to_second']}",
        ]
        if part in tables:
            lines += tables[part](about_part)
        alike: dict[str, list[str]] = {}
        for name, error in about_part["failed"].items():
            alike.setdefault(error, []).append(name)
        for error, names in alike.items():
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            lines.append(f"  failed: {', '.join(names[:3])}{more}: {error}")
    return lines


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    return aligned(rows) if len(rows) > 1 else []


def _batches(part: dict[str, Any]) -> list[str]:
    """Rows that differ at each size; the answers that change and the largest difference at any."""
    heads = ("network", "precision", "again", "answers", "largest", "spread", "error")
    tables: dict[bool, list[tuple[str, ...]]] = {False: [], True: []}
    for precision, nets in part.get("precisions", {}).items():
        for name, net in nets.items():
            # A file has its keys sorted as texts.
            sizes = {int(size): net["sizes"][size] for size in sorted(net["sizes"], key=int)}
            again = "equal" if net["again"] else "DIFFERS"
            if name == "decoding":
                parted = [f"{each['parted']} of {net['sequences']}" for each in sizes.values()]
                first = min((each["first"][0] for each in sizes.values() if each["first"]), default="")
                rows = tables[True] or [("decoding", "again", "first at token", *(f"at {size}" for size in sizes))]
                tables[True] = [*rows, (precision, again, str(first), *parted)]
                continue
            most = max(each["changed"] for each in sizes.values()), max(each["largest"] for each in sizes.values())
            numbers = [str(most[0]), *(_number(value) for value in (most[1], net["spread"], net["error"]))]
            rows = tables[False] or [(*heads, *(f"at {size}" for size in sizes), "of")]
            differing = [str(each["rows"]) for each in sizes.values()]
            tables[False] = [*rows, (name, precision, again, *numbers, *differing, str(net["rows"]))]
    return [*_table(tables[False]), "", *_table(tables[True])]


def _attention(part: dict[str, Any]) -> list[str]:
    """A line for each backend: what it does usually, and with deterministic algorithms alone."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in part.get("rows", []):
        line = found.setdefault(("x".join(map(str, row["shape"])), row["precision"], row["backend"].lower()), [])
        if "unsupported" in row:
            line += [""] * (0 if line else 4) + [f"none: {row['unsupported'][:40]}"]
            continue
        equals = {True: "yes", False: "no", None: ""}[row["equals_math"]]
        numbers = [equals, _number(row["error"]), _number(row["gradient_error"]), str(row["distinct_outputs"])]
        distinct = ", ".join(str(row["distinct_gradients"][name]) for name in ("queries", "keys", "values"))
        line += ([] if line else numbers) + [f"{distinct} of {row['runs']}"]
    heads = ("shape", "precision", "backend", "equals MATH", "error", "of gradients", "outputs", "gradients q, k, v")
    return _table([(*heads, "deterministic"), *((*key, *line, *[""] * (6 - len(line))) for key, line in found.items())])


def _compiled(part: dict[str, Any]) -> list[str]:
    rows = [("network", "way", "processes", "distinct", "repeats itself", "equal to eager", "to eager", "error")]
    for row in part.get("rows", []):
        counts = [str(row[key]) for key in ("processes", "distinct_gradients", "repeats_itself", "equal_to_eager")]
        rows.append((row["network"], row["way"], *counts, _number(row["to_eager"]), _number(row["error"])))
    return _table(rows)


def _training(part: dict[str, Any]) -> list[str]:
    heads = ("network", "cell", "runs", "distinct", "as control", "kernel lists", "parts at step: gradients", "weights")
    rows = [(*heads, "accuracy, %", "churn, %", "share of new seeds")]
    for row in part.get("rows", []):
        steps = [row[f"first_step_with_other_{what}"] for what in ("gradients", "weights")]
        counts = [str(row[key]) for key in ("runs", "distinct_results", "equal_to_control")]
        counts.append(str(len(set(row["kernels"]) - {None})))
        first = [str(step) if step else "" for step in steps]
        churned, share = _interval(row["churn"], 100), _interval(row["share"], 1)
        rows.append((row["network"], row["cell"], *counts, *first, f"{100 * row['accuracy']:.2f}", churned, share))
    notes = [
        f"{network}: control runs {'are bit-equal' if equal else 'DIFFER OR ARE TOO FEW: the rest means nothing'}"
        for network, equal in part.get("control_is_bit_equal", {}).items()
    ]
    for network, between in part.get("churn_between_first_runs", {}).items():
        cells = between["cells"]
        matrix = [
            (cell, *(f"{100 * value:.2f}" for value in values))
            for cell, values in zip(cells, between["churn"], strict=True)
        ]
        notes += ["", *_table([(f"{network}: churn of first runs, %", *cells), *matrix])]
    return [*_table(rows), *notes]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _interval(estimate: Sequence[float | None], times: float) -> str:
    value, *bounds = (None if each is None else f"{times * each:.3g}" for each in estimate)
    return f"{value or ''} ({' to '.join(bounds)})" if all(bounds) else value or ""


if __name__ == "__main__":
    main()
