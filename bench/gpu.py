"""Items of the GPU queue on a machine with JAX or PyTorch, but without TensorFlow, Snakemake and network.

    python bench/gpu.py queue                               # what the next minutes are for
    python bench/gpu.py pack --study FILE --python 3.12     # here: writes build/gpu.tar.gz; copy it there and unpack it
    python3 bench/gpu.py run --minutes 8                    # there: goes on after the last piece; until nothing is left
    python bench/gpu.py unpack FILES                        # here: adds a piece's files from `brought/` to the results

Here, data are prepared and Snakemake lists the commands that are left (`snakemake -n -p`). There, `run` executes them:
each is a verb of the workflow in a process of its own, and writes its statement. docs/cluster.md is the manual;
tests/workflow/test_gpu_script.py runs each study small on CPUs.
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
from toolnoise.base.printing import span  # noqa: E402
from toolnoise.provenance import recorder, repository  # noqa: E402
from toolnoise.study import config, grid, layout  # noqa: E402

# In the order of worth: the name of the results, of their archive in evidence/, which takes an item off the list, and
# how to pack it. On an H200, five networks are done in PyTorch and three in JAX: evidence/gpu-cost-h200.tar.xz.
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
# What the machine's lock file has for the package, and JAX and PyTorch machines usually lack. They have Matplotlib, but
# in another version no job could state that file.
CARRIED = ("keras", "namex", "optree", "jsonschema", "jsonschema-specifications", "referencing", "rpds-py", "attrs")
CARRIED = (*CARRIED, "pooch", "platformdirs", "matplotlib")
WHEELS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
LARGEST, MOST = 15e6, 4  # bytes of an archive that comes back, and how many
# Brought back last if space is short: these files can be made again, or are large and already measured.
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
    """Print the commands of what is left to run on a GPU, in order."""
    for name, study, packed, ran in ITEMS:
        if not (ROOT / f"evidence/{name}.tar.xz").exists():
            print(f"pack --study workflow/studies/{study}.yaml --name {name} {packed}    # there: run {ran}")
    if not (ROOT / f"evidence/{BATCHES}").exists():
        print(f"python3 bench/batch_invariance.py --out {BATCHES}    # there; keep the file in evidence/")


def pack(options: argparse.Namespace) -> None:
    """Write a self-contained tree: the commit, what is left to do, packages, and results so far."""
    if options.study is None:
        raise BadInput("pack", "--study", "missing", "a study file")
    commit = repository.commit()
    if commit is None or commit.changes:
        found = (commit.why or "has changes that are not committed") if commit else "is no checkout"
        raise BadInput(ROOT, "", found, "a committed tree, so that statements can name its commit")
    folder = Path("build/gpu").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    repository.extract(commit.sha, folder)
    extracted = [path for path in folder.rglob("*") if path.is_file()]
    digests = {path.relative_to(folder).as_posix(): files.sha256(path) for path in extracted}
    files.write_json(folder / repository.PACKED.name, {"commit": commit.sha, "files": digests})
    name, jobs = planned(options.study, options.name, options.only, options.until)
    files.write_json(folder / COMMANDS, {"study": name, "jobs": jobs})
    # What will be made again is not there yet: the code has changed, or an input.
    again = {path for job in jobs for path in job["output"]}
    for path in (path for path in made(name) if path.as_posix() not in again):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, folder / path)
    if options.python:
        pins = repository.pins((ROOT / "requirements/machines/gpu.txt").read_text("utf-8"))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-compile", "--only-binary=:all:", "--implementation", "cp", "--python-version", options.python]
        command += [part for wheel in WHEELS for part in ("--platform", wheel)]
        command += ["--target", str(folder / "site"), *(f"{name}=={pins[name]}" for name in CARRIED)]
        subprocess.run(command, check=True)
    print(shutil.make_archive(str(folder), "gztar", folder), commit.sha, f"{len(jobs)} jobs")
    shutil.rmtree(folder)


def planned(file: Path, name: str | None, only: list[str] | None, until: list[str] | None) -> tuple[str, list[Job]]:
    """The name of a study whose data are prepared here, and the jobs that are left until these rules, in order."""
    changes = {key: value for key, value in {"study": name, "only": only}.items() if value}
    whole = config.read_yaml(file) | changes
    study = grid.build(config.resolve(whole, file), file)
    recorder.write_study(study.path(layout.STUDY), study.config, os.path.relpath(file))
    given = [f"{key}=[{','.join(value)}]" if key == "only" else f"{key}={value}" for key, value in changes.items()]
    # More cores than any job asks for: Snakemake writes into a command how many it may have.
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--workflow-profile", "none"]
    command += ["--cores", "64", "--configfile", str(file), *(["--config", *given] if given else [])]
    done = subprocess.run([*command, "--until", "prepare_data"], stdout=sys.stderr)
    if done.returncode:
        raise BadInput(file, "", "its data cannot be prepared here", "see above")
    last = ["--until", *until] if until else []
    said = subprocess.run([*command, *last, "--dry-run", "--printshellcmds"], capture_output=True, text=True)
    if said.returncode:
        raise BadInput(file, "", "cannot be planned", said.stdout + said.stderr)
    return study.name, listed(said.stdout)


def listed(said: str) -> list[Job]:
    """The jobs that `snakemake -n -p` prints: rule, files and command, each after those that it needs."""
    parts = re.split(r"^ *(?:local)?rule (\w+):$", said.partition("\nReasons:\n")[0], flags=re.MULTILINE)[1:]
    jobs = []
    for rule, block in zip(parts[::2], parts[1::2], strict=True):
        about, _, rest = block.partition("\nShell command: ")
        # The time precedes the next job or group, the table of jobs follows the last one.
        ends = r"^ *\[\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}\]|^Job stats:$"
        command = re.split(ends, rest, maxsplit=1, flags=re.MULTILINE)[0].strip()
        told = dict(re.findall(r"^ +(input|output|log): (.*)$", about, re.MULTILINE))
        paths = {key: told[key].split(", ") if key in told else [] for key in ("input", "output", "log")}
        # A rule that is a name of files has no command.
        if command and command != "None":
            jobs.append({"rule": rule, **paths, "command": command})
    return jobs


def run(options: argparse.Namespace) -> None:
    """Execute the listed commands until one fails or the time is over, then pack the results."""
    with files.readable(COMMANDS, "the folder that `pack` wrote"):
        about = files.read_json(COMMANDS)
    left = [job for job in about["jobs"] if not is_made(job)]
    failed = executed(left, options.jobs, time.monotonic() + 60 * options.minutes)
    shutil.rmtree("brought", ignore_errors=True)
    Path("brought").mkdir()
    for number, some in enumerate(shares(about["study"]), 1):
        with tarfile.open(f"brought/{about['study']}-{number}.tar.gz", "w:gz") as archive:
            for path in some:
                archive.add(path)
    print(f"{sum(map(is_made, about['jobs']))} of {len(about['jobs'])} jobs done")
    if failed:
        said = "".join(Path(log).read_text("utf-8", "replace") for log in failed["log"] if Path(log).exists())
        sys.exit(f"failed: {failed['rule']}: {failed['command']}\n{said[-2000:]}")


def executed(left: list[Job], at_once: int, ends: float) -> Job | None:
    """Execute jobs, so many at once and none before what it reads is made; returns the first that fails."""
    began, running = time.monotonic(), {}
    try:
        while left or running:
            awaited = {path for job in (*left, *running.values()) for path in job["output"]}
            ready = [job for job in left if awaited.isdisjoint(job["input"])]
            for job in ready[: at_once - len(running)]:
                print(f"{span(time.monotonic() - began):>6} {job['rule']} {job['output'][0]}", flush=True)
                running[started(job)] = left.pop(left.index(job))
            if time.monotonic() >= ends:
                print("       the time is over: a training resumes from its checkpoint, if it has one", flush=True)
                return None
            time.sleep(0.05)
            for process in [one for one in running if one.poll() is not None]:
                job = running.pop(process)
                if process.returncode or not is_made(job):
                    return job
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return None


def started(job: Job) -> subprocess.Popen[bytes]:
    """Start a job's command in bash, where `toolnoise` is that of this tree."""
    for path in (*job["output"], *job["log"]):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    toolnoise = 'toolnoise() { "$PYTHON" -P -m toolnoise.cli "$@"; }'
    path = os.pathsep.join(filter(None, (*PACKAGES, os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "PYTHONPATH": path, "PYTHON": sys.executable}
    command = ["bash", "-c", f"set -euo pipefail; {toolnoise}; {job['command']}"]
    # A session of its own, so that all its processes can be ended: the next piece must have the GPU to itself.
    return subprocess.Popen(command, env=env, start_new_session=True)


def is_made(job: Job) -> bool:
    """Whether every file of a job is there: none appears before it is whole."""
    return all(Path(path).exists() for path in job["output"])


def made(study: str) -> list[Path]:
    """The files of a study's results and logs."""
    return [path for top in ("results", "logs") for path in Path(top, study).rglob("[!.]*") if path.is_file()]


def shares(study: str) -> list[list[Path]]:
    """The files of a study's results and logs in a few archives, the smallest first; prints those left out."""
    found = sorted(made(study), key=lambda path: (not BULKY.isdisjoint(path.parts[2:]), path.stat().st_size, path))
    some: list[list[Path]] = [[]]
    room, left = LARGEST, []
    for path in found:
        needs = path.stat().st_size + 1024  # in a tar: a header and blocks of 512 bytes
        if room < needs <= LARGEST and len(some) < MOST:
            some.append([])
            room = LARGEST
        (some[-1] if needs <= room else left).append(path)
        room -= needs if needs <= room else 0
    if left:
        print("left behind:", dict(Counter(path.name if path.name in BULKY else path.parts[2] for path in left)))
    return [paths for paths in some if paths]


def unpack(options: argparse.Namespace) -> None:
    """Add the returned files to the results here, replacing those of earlier pieces; they keep their times."""
    for file in options.archives:
        with tarfile.open(file) as archive:
            for member in archive:
                top, *rest = PurePosixPath(member.name).parts
                if not member.isfile() or top not in ("results", "logs") or len(rest) < 2 or ".." in rest:
                    raise BadInput(file, repr(member.name), "is no file of a study's results", "an archive from `run`")
                with files.replacing(member.name) as scratch, scratch.open("wb") as out:
                    shutil.copyfileobj(archive.extractfile(member), out)
                # Snakemake makes again what is older than what it was made of.
                os.utime(member.name, (member.mtime, member.mtime))
        print(f"{file}: added; `snakemake --configfile results/{rest[0]}/study.json` goes on")


VERBS = {verb.__name__: verb for verb in (queue, pack, run, unpack)}

if __name__ == "__main__":
    main()
