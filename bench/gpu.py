"""Items of the GPU queue on a machine with JAX or PyTorch, but without TensorFlow, Snakemake and network.

    python bench/gpu.py queue               # what the next minutes are for
    python bench/gpu.py pack --python 3.12  # here: writes build/gpu.tar.gz; copy it there and unpack it
    python bench/gpu.py run --minutes 8     # there: continues after the last piece; repeat until nothing is left
    python bench/gpu.py unpack FILES        # here: adds a piece's files from `brought/` to the results

Jobs are the study's own, on the toolings that the machine can run. They run by the workflow's verbs, each in its own
process, and each writes its statement. A failed job is not tried again while its log is `….failed`; `pack` leaves these
logs out. docs/cluster.md is the manual; tests/workflow/test_gpu_trials.py runs each study small on CPUs.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [str(ROOT / "workflow"), str(ROOT / "site")]
sys.path[:0] = PACKAGES

from toolnoise import steps  # noqa: E402
from toolnoise.base import code_digest, files  # noqa: E402
from toolnoise.base.errors import BadInput, errors_in_one_line  # noqa: E402
from toolnoise.base.printing import span  # noqa: E402
from toolnoise.datasets import sources  # noqa: E402
from toolnoise.engines import serving  # noqa: E402
from toolnoise.record import archive, recorder, repository, statements  # noqa: E402
from toolnoise.steps import STEPS, Job  # noqa: E402
from toolnoise.study import config, grid, layout  # noqa: E402
from toolnoise.study.study import Study  # noqa: E402
from toolnoise.verify import history  # noqa: E402
from toolnoise.verify.share import sharing  # noqa: E402

STUDIES = ROOT / "workflow/studies"
# In the order of worth: a study, how to run it, and the archive in evidence/ that takes an item off the list. On an
# H200, five networks are done in PyTorch and three in JAX: evidence/gpu-cost-h200.tar.xz.
ITEMS = (
    ("gpu-cost", "--parts cost --jobs 10 --frameworks torch", "gpu-cost-h100"),
    ("gpu-jax", "--parts control noise --jobs 16", "gpu-jax-h100"),
    ("gpu-cost", "--parts cost --jobs 5 --frameworks jax", "gpu-cost-jax-h100"),
)
# The parts in order, each with the verb whose outputs it needs. What `profile` times takes the GPU for itself.
PARTS = {"control": "check-control", "noise": "measure", "cost": "measure-overhead"}
# What the machine's lock file has for the package, and JAX and PyTorch machines usually lack. They have Matplotlib, but
# in another version no job could state that file.
CARRIED = ("keras", "namex", "optree", "jsonschema", "jsonschema-specifications", "referencing", "rpds-py", "attrs")
CARRIED = (*CARRIED, "pooch", "platformdirs", "matplotlib")
WHEELS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
LARGEST, MOST = 15e6, 4  # bytes of an archive that comes back, and how many
# Brought back last if space is short: these files can be made again, or are large and already measured.
BULKY = ("weights.npz", "data", "checkpoints")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("archives", nargs="*", type=Path, metavar="FILES", help="of unpack: archives from `run`")
    first = STUDIES / f"{ITEMS[0][0]}.yaml"
    parser.add_argument("--study", type=Path, default=first, metavar="FILE", help="the study (that of the first item)")
    parser.add_argument("--python", metavar="VERSION", help="of pack: include packages for this Python version")
    parser.add_argument("--minutes", type=float, default=8, help="of run: time limit (8)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="of run: jobs at a time (1)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run (all)")
    parser.add_argument("--frameworks", nargs="+", choices=("jax", "torch"), default=["jax", "torch"])
    options = parser.parse_intermixed_args()
    with errors_in_one_line():
        VERBS[options.verb](options)


def queue(_options: argparse.Namespace) -> None:
    """Print the commands of what is left to run on a GPU, in order."""
    for study, options, lands in ITEMS:
        if not (ROOT / f"evidence/{lands}.tar.xz").exists():
            print(f"run --study workflow/studies/{study}.yaml {options}    # until evidence/{lands}.tar.xz is there")


def pack(options: argparse.Namespace) -> None:
    """Write a self-contained tree: the commit, the study's data, packages, and results so far."""
    commit = repository.commit()
    if commit is None or commit.changes:
        found = (commit.why or "has changes that are not committed") if commit else "is no checkout"
        raise BadInput(ROOT, "", found, "a committed tree, so that statements can name its commit")
    folder = Path("build/gpu").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    history.extract(commit.sha, folder)
    digests = {name: files.sha256(folder / name) for name in history.tracked(commit.sha)}
    files.write_json(folder / repository.PACKED.name, {"commit": commit.sha, "files": digests})
    study = grid.load(options.study)
    wanted = [Path(one["path"]) for entry in study.config["datasets"].values() for one in sources.sources(entry)]
    # Failed jobs are tried again, because the code has changed.
    results = (path for found in Path("results").glob(f"{study.name}*") for some in shares(found.name) for path in some)
    for path in (*wanted, *(path for path in results if path.suffix != ".failed")):
        with files.readable(path, "the data of the study"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path)
    if options.python:
        pins = repository.pins((ROOT / "requirements/machines/gpu.txt").read_text("utf-8"))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-compile", "--only-binary=:all:", "--implementation", "cp", "--python-version", options.python]
        command += [part for wheel in WHEELS for part in ("--platform", wheel)]
        command += ["--target", str(folder / "site"), *(f"{name}=={pins[name]}" for name in CARRIED)]
        subprocess.run(command, check=True)
    print(shutil.make_archive(str(folder), "gztar", folder), commit.sha)
    shutil.rmtree(folder)


def run(options: argparse.Namespace) -> None:
    """Run unfinished jobs until the time is over, then pack the results."""
    ends = time.monotonic() + 60 * options.minutes
    study = served(options.study)
    print(f"{study.name}: {', '.join(study.config['only'])}", flush=True)
    work = Work(study)
    chosen = [name for name in study.config["only"] if study.tooling(name)["engine"] in options.frameworks]
    for part in options.parts:
        work.attain([job for job in work.targets(part) if job.place.hardware in chosen], options.jobs, ends)
    shutil.rmtree("brought", ignore_errors=True)
    for number, some in enumerate(shares(study.name), 1):
        members = [archive.Member(path.as_posix(), path.stat().st_size, iter([path.read_bytes()])) for path in some]
        sharing.pack(f"brought/{study.name}-{number}.tar.gz", members)
    print(work.summary())


def served(file: Path) -> Study:
    """The study on the toolings that this machine can run; its name contains the GPU."""
    hardware = config.read(file)["hardware"]
    reasons = {name: serving.why_not({"name": name, **entry}) for name, entry in hardware.items()}
    able = [name for name, reason in reasons.items() if not reason]
    if not able:
        raise BadInput(file, "hardware", f"this machine can run none: {next(iter(reasons.values()))}")
    of_gpu = "".join(f"-{model}" for model in sorted({hardware[name]["gpu_model"] for name in able} - {""}))
    whole = config.read_yaml(file)
    whole = {**whole, "only": able, "study": whole["study"].removesuffix(of_gpu) + of_gpu}
    study = grid.build(config.resolve(whole, file), file)
    recorder.write_study(study.path(layout.STUDY), study.config, os.path.relpath(file))
    return study


class Work:
    """The jobs of a study: which are done, which can run now, and the processes that run them."""

    def __init__(self, study: Study) -> None:
        self.study, self.began, self.jobs = study, time.monotonic(), list(steps.jobs(study))
        self.makers = {name: job for job in self.jobs for name, _ in job.outputs}
        self.finished: set[str] = set()

    def targets(self, part: str) -> list[Job]:
        """The jobs whose outputs a part needs."""
        return [job for job in self.jobs if job.verb == PARTS[part]]

    def attain(self, targets: list[Job], at_once: int, ends: float) -> None:
        """Perform targets and the jobs that they need, unless something fails or the time is over."""
        running: dict[str, tuple[Job, subprocess.Popen[bytes]]] = {}
        try:
            while time.monotonic() < ends:
                able = {called(job): job for target in targets for job in self.ready(target)}
                able = {name: job for name, job in able.items() if not self.log(job, "failed").exists()}
                for name in [name for name in able if name not in running][: at_once - len(running)]:
                    running[name] = able[name], self.start(able[name])
                if not running:
                    return
                while not (ended := [name for name in running if running[name][1].poll() is not None]):
                    if time.monotonic() >= ends:
                        break
                    time.sleep(0.05)
                for job, process in map(running.pop, ended):
                    if process.returncode:
                        self.log(job, "log").replace(self.log(job, "failed"))
                    elif not self.is_done(job):
                        raise RuntimeError(f"{called(job)}: no error, but its outputs are not those of the study")
            print("       the time is over: a training resumes from its checkpoint, if it has one", flush=True)
        finally:
            for _, process in running.values():
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def ready(self, job: Job) -> Iterator[Job]:
        """The jobs that can be performed now for a job's outputs; it may be the job itself."""
        if called(job) in self.finished:
            return
        if self.is_done(job) and is_of_this_code(job):
            self.finished.add(called(job))
            return
        names = [name for name, _ in job.inputs]
        if job.verb == "prepare":
            # Without inputs: a plan needs no files of other jobs.
            names.append(self.study.path(layout.SOURCES, dataset=job.parameters["dataset"]))
        makers = {called(self.makers[name]): self.makers[name] for name in names if name in self.makers}
        yield from [one for maker in makers.values() for one in self.ready(maker)] or [job]

    def is_done(self, job: Job) -> bool:
        """Whether a job's outputs exist, made as the study defines from the inputs that still exist."""
        path = statements.path_for(job.outputs[0][0])
        if not path.exists() or not all(Path(name).exists() for name, _ in job.outputs):
            return False
        statement = statements.read(path)
        there = [one for one in statement.inputs if Path(one.name).exists()]
        return not sharing.difference(statement, job) and all(files.sha256(one.name) == one.sha256 for one in there)

    def start(self, job: Job) -> subprocess.Popen[bytes]:
        """Start a job's verb; its output goes to its log."""
        print(f"{span(time.monotonic() - self.began):>6} {called(job)}", flush=True)
        for name in (self.log(job, "log"), *(name for name, _ in job.outputs)):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join(filter(None, (*PACKAGES, os.environ.get("PYTHONPATH"))))
        command = [sys.executable, "-m", "toolnoise.cli", *arguments(self.study, job)]
        # A session of its own, so that all its processes can be ended: the next piece must have the GPU to itself.
        about = {"env": {**os.environ, "PYTHONPATH": path}, "start_new_session": True}
        with self.log(job, "log").open("wb") as said:
            return subprocess.Popen(command, stdout=said, stderr=said, **about)

    def log(self, job: Job, suffix: str) -> Path:
        """The log of a job: `failed` after a failure, else `log`."""
        return Path("logs", self.study.name, job.verb, f"{'/'.join(map(str, job.place))}.{suffix}")

    def summary(self) -> str:
        """What is done, part by part, and the jobs that failed."""
        lines = []
        for targets in filter(None, map(self.targets, PARTS)):
            left = [job for job in targets if not self.is_done(job)]
            first = {called(job): self.log(job, "failed") for target in left for job in self.ready(target)}
            lines.append(f"{targets[0].verb}: {len(targets) - len(left)} of {len(targets)} done")
            for name, log in ((name, log) for name, log in first.items() if log.exists()):
                lines.append(f"failed: {name}: {(log.read_text('utf-8', 'replace').splitlines() or ['no output'])[-1]}")
        return "\n".join(lines)


def is_of_this_code(job: Job) -> bool:
    """Whether the present code performed a finished job; other code may give other results."""
    step, kinds = STEPS[job.verb], (statements.CODE, statements.RESOURCE)
    statement = statements.read(statements.path_for(job.outputs[0][0]))
    made_by = {one.name: one.sha256 for one in statement.dependencies if one.kind in kinds}
    return made_by == code_digest.sources(*step.modules(job.parameters), files=step.work.files(job.parameters))


def called(job: Job) -> str:
    """A short name of a job."""
    return f"{job.verb} {'/'.join(map(str, job.place))}"


def arguments(study: Study, job: Job) -> list[str]:
    """The command line of a job's verb."""
    step, names = STEPS[job.verb], job.place._asdict()
    given = {"threads": [str(os.cpu_count())]}
    if job.verb == "train":
        given["checkpoint"] = [study.path(layout.CHECKPOINT, **names)]
    for name, role in (*job.inputs, *job.outputs):
        given.setdefault(role, []).append(name)
    given |= {name.replace("_", "-"): [str(value)] for name, value in names.items()}
    options = ("study", *(name.replace("_", "-") for name in names), *step.reads, *step.writes, *step.work.aside)
    given["study"] = [study.path(layout.STUDY)]
    return [job.verb, *(word for option in options for word in (f"--{option}", *given[option]))]


def shares(study: str) -> list[list[Path]]:
    """The files of a study's results and logs in a few archives, the smallest first; prints those left out."""
    found = [path for top in ("results", "logs") for path in Path(top, study).rglob("[!.]*") if path.is_file()]
    found.sort(key=lambda path: (any(part in BULKY for part in path.parts[2:]), path.stat().st_size, path))
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
    """Add the returned files to the results here, replacing those of earlier pieces, and print what is done."""
    name, found = config.read(options.study)["study"], {}
    for file in options.archives:
        for member in archive.read(file):
            top, *rest = PurePosixPath(member.name).parts
            if top not in ("results", "logs") or len(rest) < 2 or ".." in rest or not rest[0].startswith(name):
                raise BadInput(file, repr(member.name), "is not among the study's results", "an archive from `run`")
            with files.replacing(member.name) as scratch, scratch.open("wb") as out:
                out.writelines(member.chunks)
            found[rest[0]] = None
    for study in found:
        print(Work(grid.load(f"results/{study}/study.json")).summary())


VERBS = {verb.__name__: verb for verb in (queue, pack, run, unpack)}

if __name__ == "__main__":
    main()
