"""What warm starts save: a small study through Snakemake, cold and warm in turn, and then single jobs of it.

CPU seconds are those of all processes of a workflow or job, servers included. A warm job's are the difference between
several jobs of one dispatcher and one job of it, so they are without the import that jobs share.

    python bench/warm_starts.py
    python bench/warm_starts.py --grow 1000  # instead: what a dispatcher and a server hold after so many jobs
"""

import argparse
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import yaml

from toolnoise_warm import VARIABLE, workflow

ROOT = Path(__file__).parents[1]
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2", "-p"]
TASK = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "seeds": 2}
STUDY = {
    "study": "small",
    "grid": [
        TASK | {"hardware": ["cpu"], "variants": ["algo_impl", "impl", "control"]},
        TASK | {"models": ["smallcnn-bn"], "hardware": ["cpu"], "variants": ["algo_impl", "control"]},
        TASK | {"hardware": ["cpu-eigen"], "variants": ["control"]},
    ],
    "recipes": {"short": {"epochs": 2, "batch_size": 64, "learning_rate": 0.01, "crop": 1}},
    "figures": ["table2", "noise_by_source", "batch_norm", "across_toolings", "table4", "claims"],
}
PAIRS, JOBS = 2, 3
# One command of each of these; the first run of a Control cell would be cold.
JOBS_LIKE = {
    "train": "train .*algo_impl",
    "predict": "predict .*algo_impl",
    "measure": "measure .*algo_impl",
    "count": "count ",
    "render": "render .*noise_by_source-cpu ",
}


def main() -> None:
    """Print CPU and wall seconds, cold and warm."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--grow", type=int, metavar="JOBS", help="perform so many jobs of one dispatcher")
    if jobs := parser.parse_args().grow:
        _grow(jobs)
        return
    with tempfile.TemporaryDirectory() as scratch:
        print(f"{'':18}      cold: CPU, wall      warm: CPU, wall   warm / cold: CPU, wall")
        for pair in range(PAIRS):
            folders = [Path(scratch) / f"{start}{pair}" for start in ("cold", "warm")]
            cold, warm = (_used(lambda folder=folder: _study(folder)) for folder in folders)
            _show(f"study {pair + 1}", cold, warm)
        for verb, command in _commands(folders[0] / "said.txt").items():
            os.environ[VARIABLE] = "0"
            cold = _used(lambda command=command: _run(command, folders[0], JOBS))
            del os.environ[VARIABLE]
            one, several = (_used(lambda command=command, n=n: _warm(command, folders[0], n)) for n in (1, 1 + JOBS))
            _show(verb, [a / JOBS for a in cold], [(b - a) / JOBS for a, b in zip(one, several, strict=True)])


def _grow(jobs: int) -> None:
    """Print what the dispatcher and a server hold after the first jobs and after all."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "warm")
        _study(folder, "--until", "count_data")
        count = _command(folder / "said.txt", JOBS_LIKE["count"])
        workflow.start()
        (dispatcher,) = psutil.Process().children()
        for done, further in ((10, 10), (jobs, jobs - 10)):
            _run(count, folder, further)
            for name, process in (("server", *dispatcher.children()), ("dispatcher", dispatcher)):
                held = f"{process.num_fds()} descriptors, {len(process.children())} children"
                print(
                    f"after {done} jobs: {name}: {held}, {process.memory_full_info().uss / 2**20:.1f} MiB", flush=True
                )
        workflow.stop()


def _study(folder: Path, *words: str) -> None:
    folder.mkdir()
    (folder / "study.yaml").write_text(yaml.safe_dump(STUDY))
    command = [*SNAKEMAKE, "--directory", str(folder), "--configfile", str(folder / "study.yaml"), *words]
    switch = {VARIABLE: "0"} if folder.name.startswith("cold") else {}
    with (folder / "said.txt").open("w") as said:
        subprocess.run(command, env=os.environ | switch, stdout=said, stderr=said, check=True)


def _commands(said: Path) -> dict[str, list[str]]:
    """A command of each verb, from what Snakemake printed."""
    return {verb: _command(said, like) for verb, like in JOBS_LIKE.items()}


def _command(said: Path, like: str) -> list[str]:
    return shlex.split(re.search(rf"(toolnoise {like}.*?) +>\S+ 2>&1", said.read_text())[1])


def _run(command: list[str], folder: Path, times: int) -> None:
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for _ in range(times):
        subprocess.run(command, cwd=folder, env=one_thread, check=True, capture_output=True)


def _warm(command: list[str], folder: Path, times: int) -> None:
    workflow.start()
    _run(command, folder, times)
    workflow.stop()


def _used(work: Callable[[], None]) -> list[float]:
    """CPU and wall seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return [
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        time.perf_counter() - started,
    ]


def _show(what: str, cold: list[float], warm: list[float]) -> None:
    ratios = "".join(f"{b / a:12.2f}" for a, b in zip(cold, warm, strict=True))
    print(f"{what:18}{cold[0]:12.2f}{cold[1]:8.2f}{warm[0]:13.2f}{warm[1]:8.2f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
