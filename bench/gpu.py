"""Run JAX and PyTorch on a GPU machine that has both, but no TensorFlow, no Snakemake and no network.

    python bench/gpu.py queue               # what the next minutes are for
    python bench/gpu.py trial               # here: a small version of a study, on CPUs to its end
    python bench/gpu.py pack --python 3.12  # here: writes build/gpu.tar.gz; copy it there and unpack it
    python bench/gpu.py run --minutes 9     # there: continues after the last piece; repeat until nothing is left
    python bench/gpu.py unpack FILES        # here: adds a piece's files from `brought/`, for the tables and the audit

The parts, in order: whether control is bit-equal in each framework and precision; the implementation noise; the cost
of determinism; images per second against `Model.fit`; the differences between the two frameworks. The study
workflow/studies/gpu.yaml defines networks, recipes and seeds; only the toolings that this machine can run are used.
Jobs are the study's own. They run by the workflow's verbs, each in its own process, and each writes its statement;
Snakemake runs the same jobs where it is available. A failed job is not tried again while its `.failed.log` is in
logs/; `pack` leaves these logs out. docs/cluster.md is the manual.
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
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [str(ROOT / "workflow"), str(ROOT / "site")]
sys.path[:0] = PACKAGES

from toolnoise import steps  # noqa: E402
from toolnoise.analyses.estimate import run_time  # noqa: E402
from toolnoise.base import code_digest, files  # noqa: E402
from toolnoise.base.errors import BadInput, errors_in_one_line  # noqa: E402
from toolnoise.base.files import sha256  # noqa: E402
from toolnoise.base.printing import size, span  # noqa: E402
from toolnoise.base.spec import Spec  # noqa: E402
from toolnoise.datasets import sources  # noqa: E402
from toolnoise.engines import serving  # noqa: E402
from toolnoise.record import archive, recorder, repository, statements  # noqa: E402
from toolnoise.steps import STEPS, Job  # noqa: E402
from toolnoise.study import config, layout  # noqa: E402
from toolnoise.study import grid as studies  # noqa: E402
from toolnoise.verify import history  # noqa: E402
from toolnoise.verify.share import sharing  # noqa: E402

STUDY = ROOT / "workflow/studies/gpu.yaml"
# The parts in order, each with the verbs whose outputs it needs.
PARTS = {
    "control": ("check-control",),
    # All that read predictions or weights, which may be too large to bring back.
    "noise": ("measure", "measure-language", "measure-growth"),
    "cost": ("measure-overhead",),
    "throughput": ("count",),
    "frameworks": ("measure-frameworks",),
}
# Parts whose jobs need the GPU to themselves. What `profile` times takes the GPU for itself.
TIMED = ("throughput",)
# What the machine's lock file has for the package, and JAX and PyTorch machines usually lack. They have Matplotlib, but
# in another version no job could state that file.
CARRIED = ("keras", "namex", "optree", "jsonschema", "jsonschema-specifications", "referencing", "rpds-py", "attrs")
CARRIED = (*CARRIED, "pooch", "platformdirs", "matplotlib")
WHEELS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
# Packed last if space is short: these files can be made again, or are large and already measured.
BULKY = ("weights.npz", "data", "checkpoints")
FAILED = ".failed.log"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    verbs.add_parser("queue", help="list what the next minutes are for").set_defaults(perform=queue)
    for verb, text in (
        (trial, "run a small version on CPUs"),
        (pack, "write build/gpu.tar.gz"),
        (run, "run one piece"),
        (unpack, "add results"),
    ):
        one = verbs.add_parser(verb.__name__, help=text)
        one.set_defaults(perform=verb)
        one.add_argument(
            "--study", type=Path, default=STUDY, metavar="FILE", help="the study (workflow/studies/gpu.yaml)"
        )
        if verb is pack:
            one.add_argument("--python", metavar="VERSION", help="include packages for this Python version")
        if verb in (run, trial):
            one.add_argument("--minutes", type=float, default=9, help="time limit (9)")
            one.add_argument(
                "--jobs", type=int, default=1, metavar="N", help="jobs at a time (1); whatever is timed runs alone"
            )
            one.add_argument(
                "--parts", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run (all, in this order)"
            )
            one.add_argument(
                "--toolings",
                nargs="+",
                metavar="NAME",
                help="toolings, or frameworks, whose jobs to run (all that are here)",
            )
        if verb is not unpack:
            one.add_argument(
                "--largest", type=float, default=15, metavar="MB", help="largest size of a result archive (15)"
            )
            one.add_argument("--most", type=int, default=4, metavar="N", help="largest number of result archives (4)")
        else:
            one.add_argument("archives", nargs="+", type=Path, metavar="FILES", help="archives from `run`")
    options = parser.parse_args()
    with errors_in_one_line():
        options.perform(options)


# Here, before


def queue(_options: argparse.Namespace) -> None:
    """Print what is left to run on a GPU, in order."""
    import gpu_queue

    print("\n".join(gpu_queue.listed(ROOT)))


def trial(options: argparse.Namespace) -> None:
    """Run a small version of a study on the toolings of a CPU, and fail unless it came to its end."""
    import gpu_trial

    small = gpu_trial.small(config.read_yaml(options.study))
    options.study = Path(f"build/{small['study']}.json")
    files.write_json(options.study, small)
    study = run(options)
    work = Work(study)
    left = [called(job) for part in options.parts for job in work.targets(part) if not work.is_done(job)]
    left += [f"all on {name}" for name in small["hardware"] if name not in study.config["only"]]
    if left:
        sys.exit(f"{study.name} did not come to its end: {', '.join(left)}")
    print(f"{study.name} came to its end")


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
    packed = {name: sha256(folder / name) for name in history.tracked(commit.sha)}
    files.write_json(folder / repository.PACKED.name, {"commit": commit.sha, "files": packed})
    study = studies.load(options.study)
    declared = [source for entry in study.config["datasets"].values() for source in sources.sources(entry)]
    for path in (Path(source["path"]) for source in declared):
        with files.readable(path, "the data of the study"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path)
    if options.python:
        _install(options.python, folder / "site")
    for found in sorted(Path("results").glob(f"{study.name}*")):
        for some in _shares(found.name, options.largest, options.most):
            # Failed jobs are tried again, because the code has changed.
            for path in (path for path in some if not path.name.endswith(FAILED)):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / path)
    packed = Path(shutil.make_archive(str(folder), "gztar", folder))
    shutil.rmtree(folder)
    print(f"{packed.relative_to(Path.cwd())}: {size(packed.stat().st_size)}, commit {commit.sha}")


def _install(version: str, site: Path) -> None:
    pins = repository.pins((ROOT / "requirements/machines/gpu.txt").read_text("utf-8"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-compile", "--only-binary=:all:", "--implementation", "cp", "--python-version", version]
    command += [part for wheel in WHEELS for part in ("--platform", wheel)]
    subprocess.run([*command, "--target", site, *(f"{name}=={pins[name]}" for name in CARRIED)], check=True)


# There


def run(options: argparse.Namespace) -> studies.Study:
    """Run unfinished jobs until the time is over, then pack the results; returns what this machine can run."""
    ends = time.monotonic() + 60 * options.minutes
    study = _served(options.study)
    able = study.config["only"]
    # A framework's name is for its toolings, whichever GPU the machine has.
    framework_of = {name: study.tooling(name)["engine"] for name in able}
    known = [*able, *dict.fromkeys(framework_of.values())]
    for name in options.toolings or ():
        if name not in known:
            raise BadInput("--toolings", "", f"{name} is none of this machine's", f"allowed: {', '.join(known)}")
    chosen = [name for name in able if {name, framework_of[name]} & set(options.toolings or known)]
    print(f"{study.name}: {', '.join(able)}", flush=True)
    work = Work(study, ends)
    for part in options.parts:
        if part == "throughput":
            work.time_against_fit()
        targets = [job for job in work.targets(part) if not options.toolings or _is_of(job, chosen)]
        work.attain(targets, 1 if part in TIMED else options.jobs)
    shutil.rmtree("brought", ignore_errors=True)
    for number, some in enumerate(_shares(study.name, options.largest, options.most), 1):
        members = [archive.Member(path.as_posix(), path.stat().st_size, _blocks(path)) for path in some]
        sharing.pack(f"brought/{study.name}-{number}.tar.gz", members)
    print(summary(study))
    return study


def _is_of(job: Job, toolings: list[str]) -> bool:
    return getattr(job.place, "hardware", None) in toolings


def _served(file: Path) -> studies.Study:
    """The study on the toolings that this machine can run; its name contains the GPU."""
    whole = config.read(file)
    reasons = {name: serving.why_not({"name": name, **entry}) for name, entry in whole["hardware"].items()}
    able = [name for name, reason in reasons.items() if not reason]
    if not able:
        raise BadInput(file, "hardware", f"this machine can run none: {next(iter(reasons.values()))}")
    models = {whole["hardware"][name]["gpu_model"] for name in able} - {""}
    of_gpu = "".join(f"-{model}" for model in sorted(models))
    whole = config.read_yaml(file) | {"only": able, "study": whole["study"].removesuffix(of_gpu) + of_gpu}
    study = studies.build(config.resolve(whole, file), file)
    recorder.write_study(study.path(layout.STUDY), study.config, os.path.relpath(file))
    return study


class Work:
    """The jobs of a study, and the time left for them."""

    def __init__(self, study: studies.Study, ends: float = 0) -> None:
        self.study, self.ends, self.began = study, ends, time.monotonic()
        jobs = list(steps.jobs(study))
        self.jobs = {name: job for job in jobs for name, _ in job.outputs}
        self.ordered = jobs
        self.digests: dict[tuple[str, int, int], str] = {}

    def targets(self, part: str) -> list[Job]:
        """The jobs whose outputs a part needs."""
        return [job for job in self.ordered if job.verb in PARTS[part]]

    def attain(self, targets: list[Job], at_once: int) -> None:
        """Perform targets and the jobs that they need, unless something fails or the time is over."""
        left, finished = list(targets), set()
        running: dict[str, Running] = {}
        try:
            while left:
                for target in left[:]:
                    if len(running) < at_once and not self._begin(target, at_once, running, finished):
                        left.remove(target)
                if not running:
                    return
                for name in self._wait(running):
                    job, succeeded = running[name].job, running.pop(name).ended()
                    if succeeded and not self.is_done(job):
                        raise RuntimeError(
                            f"{name} has ended without error, but its outputs are not those of the study"
                        )
        finally:
            for one in running.values():
                one.kill()

    def _begin(self, target: Job, at_once: int, running: dict[str, "Running"], finished: set[str]) -> bool:
        """Begin what can run now for a target; returns whether something for it runs or can run later."""
        for job in self.ready(target, finished):
            name = called(job)
            if failed := why_failed(log_of(job)):
                print(f"left: {called(target)}, because {name} failed: {failed}", flush=True)
                return False
            if len(running) == at_once:
                return True
            if name not in running and self._fits(job):
                running[name] = self._perform(job)
            if name not in running:
                return False
        return called(target) not in finished

    def _wait(self, running: dict[str, "Running"]) -> list[str]:
        """The jobs that have ended, at least one of them; all are ended when the time is over."""
        while not (ended := [name for name, one in running.items() if one.process.poll() is not None]):
            if time.monotonic() >= self.ends:
                print("       the time is over: a training resumes from its checkpoint, if it has one", flush=True)
                for one in running.values():
                    one.kill()
                running.clear()
                return []
            time.sleep(0.05)
        return ended

    def lacking(self, job: Job) -> Job | None:
        """The next job to perform for a job's outputs; it may be the job itself."""
        return next(self.ready(job, set()), None)

    def ready(self, job: Job, finished: set[str]) -> Iterator[Job]:
        """The jobs that can be performed now for a job's outputs; adds to `finished` those whose outputs are there."""
        if called(job) in finished:
            return
        if self.is_done(job) and is_of_this_code(job):
            finished.add(called(job))
            return
        names = [name for name, _ in job.inputs]
        if job.verb == "prepare":
            # Without inputs: a plan needs no files of other jobs.
            names.append(self.study.path(layout.SOURCES, dataset=job.parameters["dataset"]))
        waits = False
        for maker in {called(self.jobs[name]): self.jobs[name] for name in names if name in self.jobs}.values():
            for first in self.ready(maker, finished):
                waits = True
                yield first
        if not waits:
            yield job

    def is_done(self, job: Job) -> bool:
        """Whether a job's outputs exist, made as the study defines from the inputs that still exist."""
        path = statements.path_for(job.outputs[0][0])
        if not path.exists() or not all(Path(name).exists() for name, _ in job.outputs):
            return False
        statement = statements.read(path)
        there = [one for one in statement.inputs if Path(one.name).exists()]
        return not sharing.difference(statement, job) and all(self._digest(one.name) == one.sha256 for one in there)

    def time_against_fit(self) -> None:
        """Time each tooling's engine against Keras's `Model.fit` on the same backend."""
        for name in self.study.config["only"]:
            out = throughput(self.study, name)
            if not out.exists() and not why_failed(out) and self.ends > time.monotonic():
                # On a GPU the tooling's registry entry, on a CPU the framework.
                tooling = self.study.tooling(name)
                asked = name if tooling["accelerator"] == "gpu" else tooling["engine"]
                command = [sys.executable, str(ROOT / "bench/engine_vs_fit.py"), asked]
                running = {name: self._start(f"engine_vs_fit {name}", command, out)}
                try:
                    for ended in self._wait(running):
                        running.pop(ended).ended()
                finally:
                    for one in running.values():
                        one.kill()

    def _fits(self, job: Job) -> bool:
        """Whether there is time for a job, or for a part of it if it is longer than a whole piece."""
        left = self.ends - time.monotonic()
        spec = Spec.read(job.parameters["spec"]) if "spec" in job.parameters else None
        known = None
        if job.verb == "train" and (found := run_time.find(spec)):
            known = found.run(spec.recipe)
        elif job.verb == "profile":
            known = run_time.profiling(spec)
        return left > 0 and (known is None or known < left or known > self.ends - self.began)

    def _perform(self, job: Job) -> "Running":
        for name, _ in job.outputs:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "toolnoise.cli", *arguments(self.study, job)]
        return self._start(called(job), command, log_of(job), job)

    def _start(self, name: str, command: list[str], log: Path, job: Job | None = None) -> "Running":
        """Start a command; its output goes to the log, or to a `.failed.log`."""
        print(f"{span(time.monotonic() - self.began):>6} {name}", flush=True)
        log.parent.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join(filter(None, (*PACKAGES, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path}
        with unfinished(log).open("wb") as output:
            # A session of its own, so that all its processes can be ended: the next piece must have the GPU to itself.
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
        return Running(process, log, job)

    def _digest(self, name: str) -> str:
        about = Path(name).stat()
        key = (name, about.st_size, about.st_mtime_ns)
        if key not in self.digests:
            self.digests[key] = sha256(name)
        return self.digests[key]


class Running(NamedTuple):
    """A command that was started, its log, and the job that it performs, if any."""

    process: subprocess.Popen[bytes]
    log: Path
    job: Job | None

    def ended(self) -> bool:
        """Keep the log of a command that has ended; returns whether it succeeded."""
        succeeded = self.process.wait() == 0
        unfinished(self.log).replace(self.log if succeeded else failed_log(self.log))
        return succeeded

    def kill(self) -> None:
        """End the command and all that it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def is_of_this_code(job: Job) -> bool:
    """Whether the present code performed a finished job; other code may give other results."""
    step, kinds = STEPS[job.verb], (statements.CODE, statements.RESOURCE)
    statement = statements.read(statements.path_for(job.outputs[0][0]))
    made_by = {one.name: one.sha256 for one in statement.dependencies if one.kind in kinds}
    return made_by == code_digest.sources(*step.modules(job.parameters), files=step.work.files(job.parameters))


def arguments(study: studies.Study, job: Job) -> list[str]:
    """The command line of a job's verb."""
    step, names = STEPS[job.verb], job.place._asdict()
    given = {"study": [study.path(layout.STUDY)], "threads": [str(os.cpu_count())]}
    if job.verb == "train":
        given["checkpoint"] = [study.path(layout.CHECKPOINT, **names)]
    for name, role in (*job.inputs, *job.outputs):
        given.setdefault(role, []).append(name)
    line = [job.verb]
    line += ["--study", *given["study"]]
    for name, value in names.items():
        line += [f"--{name.replace('_', '-')}", str(value)]
    for option in (*step.reads, *step.writes, *step.work.aside):
        line += [f"--{option}", *given[option]]
    return line


def called(job: Job) -> str:
    """A short name of a job."""
    return f"{job.verb} {'/'.join(map(str, job.place))}"


def log_of(job: Job) -> Path:
    """The path of a job's log."""
    return Path("logs", *PurePosixPath(f"{job.outputs[0][0]}.log").parts[1:])


def unfinished(log: Path) -> Path:
    """The path of the log while the job runs."""
    return log.with_name(f"{log.name}.unfinished")


def failed_log(log: Path) -> Path:
    """The path of the log after a failure."""
    return log.with_suffix(FAILED)


def why_failed(log: Path) -> str:
    """The last line of a failed job's log; empty if it did not fail."""
    failed = failed_log(log)
    lines = failed.read_text("utf-8", "replace").strip().splitlines() if failed.exists() else []
    return (lines or ["no output"])[-1].removeprefix("toolnoise: ") if failed.exists() else ""


def throughput(study: studies.Study, tooling: str) -> Path:
    """The path of the comparison with `Model.fit`."""
    return Path(f"logs/{study.name}/throughput/{tooling}.log")


# Back


def _shares(study: str, largest: float, most: int) -> Iterator[list[Path]]:
    """The files of a study's results and logs, in `most` shares of `largest` MB at most; prints those left out."""
    found = [path for top in ("results", "logs") for path in Path(top, study).rglob("*") if path.is_file()]
    found = [path for path in found if not path.name.startswith(".") and path.suffix != ".unfinished"]
    found.sort(key=lambda path: (any(part in BULKY for part in path.parts[2:]), path.stat().st_size, path))
    shares: list[list[Path]] = [[]]
    room, left = largest * 1e6, []
    for path in found:
        # Size in a tar: a header and blocks of 512 bytes.
        needs = path.stat().st_size + 1024
        if needs > room and needs <= largest * 1e6 and len(shares) < most:
            shares.append([])
            room = largest * 1e6
        if needs <= room:
            shares[-1].append(path)
            room -= needs
        else:
            left.append(path)
    if left:
        kinds = Counter(path.name if path.name in BULKY else path.parts[2] for path in left)
        listed = ", ".join(f"{count} of {kind}" for kind, count in kinds.items())
        print(f"left behind, {size(sum(path.stat().st_size for path in left))}: {listed}")
    yield from (some for some in shares if some)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(archive.BLOCK):
            yield block


# Here, afterwards


def unpack(options: argparse.Namespace) -> None:
    """Add the returned files to the results here, replacing those of earlier pieces, and print the tables."""
    name = config.read(options.study)["study"]
    found: dict[str, None] = {}
    for file in options.archives:
        for member in archive.read(file):
            top, *rest = PurePosixPath(member.name).parts
            if top not in ("results", "logs") or len(rest) < 2 or ".." in rest or not rest[0].startswith(name):
                raise BadInput(file, repr(member.name), "is not among the study's results", "an archive from `run`")
            with files.replacing(member.name) as scratch, scratch.open("wb") as out:
                out.writelines(member.chunks)
            found |= {rest[0]: None}
    for study in found:
        print(summary(studies.load(f"results/{study}/study.json")))


def summary(study: studies.Study) -> str:
    """The results so far, part by part, and the jobs that failed or were not run."""
    import gpu_tables

    work = Work(study)
    lines = []
    for part in PARTS:
        targets = work.targets(part)
        done = [job for job in targets if work.is_done(job)]
        lines += ["", *gpu_tables.TABLES[part](study, done)]
        if part == "throughput":
            lines += [f"against Model.fit on {name}: {_against_fit(study, name)}" for name in study.config["only"]]
        first = {called(job): work.lacking(job) for job in targets if job not in done}
        failed = {name: why for name, job in first.items() if (why := why_failed(log_of(job)))}
        lines += [f"failed: {name}, at {called(first[name])}: {why}" for name, why in failed.items()]
        not_run = [name for name in first if name not in failed]
        lines += [f"not run: {len(not_run)} of {len(targets)}: {', '.join(not_run)}"] if not_run else []
    return "\n".join(lines)


def _against_fit(study: studies.Study, tooling: str) -> str:
    log = throughput(study, tooling)
    if not log.exists():
        return f"failed: {why}" if (why := why_failed(log)) else "not run"
    return ", ".join(line for line in log.read_text("utf-8").splitlines() if line.startswith("ratio "))


if __name__ == "__main__":
    main()
