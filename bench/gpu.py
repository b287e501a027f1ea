"""Runs studies of the GPU queue on a machine ("there") with JAX or PyTorch, without TensorFlow, Snakemake and network.

    python bench/gpu.py queue                               # here: prints what is left to run, and how
    python bench/gpu.py pack --study FILE --python 3.12     # here: writes build/gpu.tar.gz; copy it there and unpack it
    python3 bench/gpu.py run --minutes 8                    # there: continues; repeat it until no job is left
    python bench/gpu.py unpack FILES                        # here: adds a piece's files from `brought/` to the results

`pack` prepares the data and asks Snakemake for the remaining commands (`snakemake -n -p`). `run` executes them: each is
a verb of the workflow, runs in its own process and writes its statement. docs/cluster.md is the manual;
tests/workflow/test_gpu_script.py runs a small version of each study on CPUs.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [str(ROOT / "workflow"), str(ROOT / "site")]
sys.path[:0] = PACKAGES

from toolnoise.base import files  # noqa: E402
from toolnoise.base.errors import BadInput, errors_in_one_line  # noqa: E402
from toolnoise.base.printing import span_text  # noqa: E402
from toolnoise.provenance import recorder, repository  # noqa: E402
from toolnoise.study import config, grid, layout  # noqa: E402

# The most useful first: the name of the results and of their archive in evidence/ (an archived item is done), the
# study, options of `pack` and `run`. evidence/gpu-cost-h200.tar.xz has an H200: five networks in PyTorch, three in JAX.
ITEMS = (
    ("gpu-cost-h100", "gpu-cost", "--only h100-torch --until measure_overhead", "--jobs 10"),
    ("gpu-lenet-h100", "gpu-lenet", "--only h100-torch --until check_control measure_cell", "--jobs 16"),
    (
        "gpu-finetuning-h100",
        "gpu-finetuning",
        "--only h100-torch --until check_control measure_cell measure_language",
        "--jobs 4",
    ),
    ("gpu-jax-h100", "gpu-jax", "--only h100-jax --until check_control measure_cell", "--jobs 16"),
    ("gpu-cost-jax-h100", "gpu-cost", "--only h100-jax --until measure_overhead", "--jobs 5"),
)
BATCHES = "batch-invariance-h100.json"
COMMANDS = Path("commands.json")
# Packages of the machine's lock file that JAX and PyTorch machines usually lack. They do have Matplotlib, but jobs can
# name the lock file in their statements only if Matplotlib has the locked version.
CARRIED = ("keras", "namex", "optree", "jsonschema", "jsonschema-specifications", "referencing", "rpds-py", "attrs")
CARRIED = (*CARRIED, "pooch", "platformdirs", "matplotlib")
WHEELS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
LARGEST, MOST = 15e6, 4  # bytes of an archive that comes back, and how many
# These files come back last if space is short: they can be made again, or are large and already measured.
BULKY = {"weights.npz", "data", "checkpoints"}

Job = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("archives", nargs="*", type=Path, metavar="FILES", help="of unpack: archives from `run`")
    parser.add_argument("--study", type=Path, metavar="FILE", help="of pack: the study")
    parser.add_argument("--name", help="of pack: the name of the results (that of the study)")
    parser.add_argument("--only", nargs="+", metavar="TOOLING", help="of pack: the toolings that the machine has (all)")
    parser.add_argument("--until", nargs="+", metavar="RULE", help="of pack: the last rules (all)")
    parser.add_argument("--python", metavar="VERSION", help="of pack: include packages for this Python version")
    parser.add_argument("--minutes", type=float, default=8, help="of run: time limit (8)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="of run: jobs at a time (1)")
    options = parser.parse_intermixed_args()
    with errors_in_one_line():
        VERBS[options.verb](options)


def queue(_options: argparse.Namespace) -> None:
    """Print the commands for the remaining items, in order."""
    for name, study, packed, ran in ITEMS:
        if not (ROOT / f"evidence/{name}.tar.xz").exists():
            print(f"pack --study workflow/studies/{study}.yaml --name {name} {packed}    # there: run {ran}")
    if not (ROOT / f"evidence/{BATCHES}").exists():
        print(f"python3 bench/batch_invariance.py --out {BATCHES}    # there; keep the file in evidence/")


def pack(options: argparse.Namespace) -> None:
    """Write a self-contained archive: the commit, the remaining jobs, packages, and the results so far."""
    if options.study is None:
        raise BadInput("pack", "--study", "missing", "a study file")
    commit = repository.head_commit()
    if commit is None or commit.changes:
        problem = (commit.why or "has changes that are not committed") if commit else "is no checkout"
        raise BadInput(ROOT, "", problem, "a committed tree, so that statements can name its commit")
    folder = Path("build/gpu").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    repository.extract_commit(commit.sha, folder)
    extracted = [path for path in folder.rglob("*") if path.is_file()]
    digests = {path.relative_to(folder).as_posix(): files.sha256(path) for path in extracted}
    files.write_json(folder / repository.PACKED.name, {"commit": commit.sha, "files": digests})
    name, jobs = planned(options.study, options.name, options.only, options.until)
    files.write_json(folder / COMMANDS, {"study": name, "jobs": jobs})
    # Files that will be made again are left out: their code or an input has changed.
    outdated = {path for job in jobs for path in job["output"]}
    for path in (path for path in made(name) if path.as_posix() not in outdated):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, folder / path)
    if options.python:
        pins = repository.pinned_versions((ROOT / "requirements/machines/gpu.txt").read_text("utf-8"))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-compile", "--only-binary=:all:", "--implementation", "cp", "--python-version", options.python]
        command += [part for wheel in WHEELS for part in ("--platform", wheel)]
        command += ["--target", str(folder / "site"), *(f"{name}=={pins[name]}" for name in CARRIED)]
        subprocess.run(command, check=True)
    print(shutil.make_archive(str(folder), "gztar", folder), commit.sha, f"{len(jobs)} jobs")
    shutil.rmtree(folder)


def planned(file: Path, name: str | None, only: list[str] | None, until: list[str] | None) -> tuple[str, list[Job]]:
    """Prepares a study's data; returns its name and the remaining jobs up to these rules, in order."""
    changes = {key: value for key, value in {"study": name, "only": only}.items() if value}
    whole = config.read_yaml(file) | changes
    study = grid.build_study(config.resolve(whole, file), file)
    recorder.write_study(study.path(layout.STUDY), study.config, os.path.relpath(file))
    overrides = [f"{key}=[{','.join(value)}]" if key == "only" else f"{key}={value}" for key, value in changes.items()]
    # More cores than any job asks for: Snakemake writes the number of threads into a command.
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--workflow-profile", "none"]
    command += ["--cores", "64", "--configfile", str(file), *(["--config", *overrides] if overrides else [])]
    done = subprocess.run([*command, "--until", "prepare_data"], stdout=sys.stderr)
    if done.returncode:
        raise BadInput(file, "", "its data cannot be prepared here", "see above")
    last = ["--until", *until] if until else []
    plan = subprocess.run([*command, *last, "--dry-run", "--printshellcmds"], capture_output=True, text=True)
    if plan.returncode:
        raise BadInput(file, "", "cannot be planned", plan.stdout + plan.stderr)
    return study.name, listed(plan.stdout)


def listed(plan: str) -> list[Job]:
    """The jobs that `snakemake -n -p` prints (rule, files and command); a job comes after the jobs that it needs."""
    parts = re.split(r"^ *(?:local)?rule (\w+):$", plan.partition("\nReasons:\n")[0], flags=re.MULTILINE)[1:]
    jobs = []
    for rule, block in zip(parts[::2], parts[1::2], strict=True):
        about, _, rest = block.partition("\nShell command: ")
        # A command ends before the time of the next job or group, or before the table of jobs.
        ends = r"^ *\[\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}\]|^Job stats:$"
        command = re.split(ends, rest, maxsplit=1, flags=re.MULTILINE)[0].strip()
        lists = dict(re.findall(r"^ +(input|output|log): (.*)$", about, re.MULTILINE))
        paths = {key: lists[key].split(", ") if key in lists else [] for key in ("input", "output", "log")}
        # A rule that only names files has no command.
        if command and command != "None":
            jobs.append({"rule": rule, **paths, "command": command})
    return jobs


def run(options: argparse.Namespace) -> None:
    """Execute the listed commands until one fails or the time is up, then pack the results."""
    with files.readable(COMMANDS, "the folder that `pack` wrote"):
        about = files.read_json(COMMANDS)
    remaining = [job for job in about["jobs"] if not is_made(job)]
    failed = executed(remaining, options.jobs, time.monotonic() + 60 * options.minutes)
    shutil.rmtree("brought", ignore_errors=True)
    Path("brought").mkdir()
    for number, paths in enumerate(shares(about["study"]), 1):
        with tarfile.open(f"brought/{about['study']}-{number}.tar.gz", "w:gz") as archive:
            for path in paths:
                archive.add(path)
    print(f"{sum(map(is_made, about['jobs']))} of {len(about['jobs'])} jobs done")
    if failed:
        log = "".join(Path(file).read_text("utf-8", "replace") for file in failed["log"] if Path(file).exists())
        sys.exit(f"failed: {failed['rule']}: {failed['command']}\n{log[-2000:]}")


def executed(remaining: list[Job], at_once: int, ends: float) -> Job | None:
    """Execute at most `at_once` jobs at a time, each after its inputs are made; returns the first job that fails."""
    began, running = time.monotonic(), {}
    try:
        while remaining or running:
            awaited = {path for job in (*remaining, *running.values()) for path in job["output"]}
            ready = [job for job in remaining if awaited.isdisjoint(job["input"])]
            for job in ready[: at_once - len(running)]:
                print(f"{span_text(time.monotonic() - began):>6} {job['rule']} {job['output'][0]}", flush=True)
                running[started(job)] = remaining.pop(remaining.index(job))
            if time.monotonic() >= ends:
                print("       the time is over: a training resumes from its checkpoint, if it has one", flush=True)
                return None
            time.sleep(0.05)
            for process in [process for process in running if process.poll() is not None]:
                job = running.pop(process)
                if process.returncode or not is_made(job):
                    return job
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return None


def started(job: Job) -> subprocess.Popen[bytes]:
    """Start a job's command in bash, where `toolnoise` is this folder's package."""
    for path in (*job["output"], *job["log"]):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    toolnoise = 'toolnoise() { "$PYTHON" -P -m toolnoise.cli "$@"; }'
    path = os.pathsep.join(filter(None, (*PACKAGES, os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "PYTHONPATH": path, "PYTHON": sys.executable}
    command = ["bash", "-c", f"set -euo pipefail; {toolnoise}; {job['command']}"]
    # A new session, so that all processes of the job can be ended: the next piece needs the GPU for itself.
    return subprocess.Popen(command, env=env, start_new_session=True)


def is_made(job: Job) -> bool:
    """Whether every output of a job exists; no output appears before it is complete."""
    return all(Path(path).exists() for path in job["output"])


def made(study: str) -> list[Path]:
    """The files of a study's results and logs."""
    return [path for top in ("results", "logs") for path in Path(top, study).rglob("[!.]*") if path.is_file()]


def shares(study: str) -> list[list[Path]]:
    """Divides the files of a study's results and logs among a few archives, smallest first; prints those left out."""
    ordered = sorted(made(study), key=lambda path: (not BULKY.isdisjoint(path.parts[2:]), path.stat().st_size, path))
    archives: list[list[Path]] = [[]]
    room, omitted = LARGEST, []
    for path in ordered:
        needs = path.stat().st_size + 1024  # in a tar: a header and blocks of 512 bytes
        if room < needs <= LARGEST and len(archives) < MOST:
            archives.append([])
            room = LARGEST
        (archives[-1] if needs <= room else omitted).append(path)
        room -= needs if needs <= room else 0
    if omitted:
        print("left behind:", dict(Counter(path.name if path.name in BULKY else path.parts[2] for path in omitted)))
    return [paths for paths in archives if paths]


def unpack(options: argparse.Namespace) -> None:
    """Add the returned files to the results here and replace those of earlier pieces; files keep their times."""
    for file in options.archives:
        with tarfile.open(file) as archive:
            for member in archive:
                top, *rest = PurePosixPath(member.name).parts
                if not member.isfile() or top not in ("results", "logs") or len(rest) < 2 or ".." in rest:
                    raise BadInput(file, repr(member.name), "is no file of a study's results", "an archive from `run`")
                with files.replacing(member.name) as scratch, scratch.open("wb") as out:
                    shutil.copyfileobj(archive.extractfile(member), out)
                # Without its time, a file could look older than its inputs, and Snakemake would make it again.
                os.utime(member.name, (member.mtime, member.mtime))
        print(f"{file}: added; `snakemake --configfile results/{rest[0]}/study.json` goes on")


VERBS = {verb.__name__: verb for verb in (queue, pack, run, unpack)}

if __name__ == "__main__":
    main()
