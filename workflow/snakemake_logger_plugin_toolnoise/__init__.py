"""Progress of a study in Snakemake: the number of finished runs and the estimated time left.

Enable it with `snakemake --logger toolnoise`. On a terminal it updates one line, which ends with the job that has just
started; elsewhere (a log file, CI) it prints a line at most every 10 seconds. For a failed job it prints the rule and
the last lines of its log. In a dry run it prints the number of planned jobs of each rule; with `-p`, their commands.
"""

import os
import re
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from logging import ERROR, LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from toolnoise.base.files import require_plain
from toolnoise.base.printing import make_printable, span_text

# Networks that are built here, existing training programs, and runs that were there before.
RUN_RULES = ("train_run", "run_program", "adopt_run")
SECONDS_BETWEEN_LINES = 10
LOG_LINES = 20
TAIL_BYTES = 8192
# The last line of a job that ended by itself: a refusal, or an exception.
SAID = re.compile(r"toolnoise: |[A-Za-z_][\w.]*(Error|Exception|Interrupt|Warning)\b")
TRACEBACK = "Traceback (most recent call last):"
SILENT = "it ended without a message, as a job does that is killed"
NOTHING_TO_DO = "Nothing to be done"
LOCKED = (
    "toolnoise: a Snakemake works in this folder, or one was killed here. After a kill, once its jobs have ended: "
    "snakemake --unlock with the same options, then the same command again"
)


class LogHandler(LogHandlerBase):
    """Turn Snakemake's events into one line of progress."""

    # It replaces Snakemake's own output, selects the events that it shows, and formats its own lines.
    writes_to_stream = has_filter = has_formatter = True
    # Snakemake writes its own log file, and no graph is drawn.
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        """Start without any events."""
        self.planned: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.rules: dict[int, str] = {}
        self.places: dict[int, str] = {}
        self.started: dict[int, float] = {}
        self.widest = 1
        self.last_line = -float(SECONDS_BETWEEN_LINES)
        self.stream = sys.stdout if self.common_settings.stdout else sys.stderr

    def emit(self, record: LogRecord) -> None:
        """Handle one event of Snakemake's log."""
        match getattr(record, "event", None):
            case LogEvent.RUN_INFO:
                # A dry run has it twice.
                if self.common_settings.dryrun and not self.planned:
                    self._print(record.getMessage().strip())
                self.planned = Counter({rule: n for rule, n in record.stats.items() if rule != "total"})
            case LogEvent.JOB_INFO:
                self.rules[record.jobid] = record.rule_name
                self.places[record.jobid] = "/".join(map(str, dict(getattr(record, "wildcards", {})).values()))
            case LogEvent.SHELLCMD if self.common_settings.dryrun and self.common_settings.printshellcmds:
                self._print(record.shellcmd)
            case LogEvent.JOB_STARTED:
                self.started.update(dict.fromkeys(_listed(record.jobs), time.monotonic()))
                self.widest = max(self.widest, len(self.started))
                if self.stream.isatty():
                    self._show_progress()
            case LogEvent.JOB_FINISHED:
                self._finish(record.job_id)
            case LogEvent.JOB_ERROR:
                self._show_failure(record)
            case _ if record.levelno >= ERROR or record.getMessage().startswith(NOTHING_TO_DO):
                self._print(record.getMessage())
                if getattr(record, "exception", "") == "LockException":
                    self._print(LOCKED)

    def _finish(self, job: int) -> None:
        rule = self.rules.get(job, "")
        self.done[rule] += 1
        if job in self.started:
            self.seconds[rule].append(time.monotonic() - self.started.pop(job))
        self._show_progress()

    def _show_progress(self) -> None:
        if self.common_settings.dryrun:
            return
        line = progress_line(self.planned, self.done, self.seconds, self.widest)
        if self.stream.isatty():
            self.stream.write(f"\r\033[K{self._with_the_latest(line)}")
            if self.done.total() >= self.planned.total():
                self.stream.write("\n")
            self.stream.flush()
        elif time.monotonic() - self.last_line >= SECONDS_BETWEEN_LINES or self.done.total() >= self.planned.total():
            self.last_line = time.monotonic()
            print(line, file=self.stream, flush=True)

    def _with_the_latest(self, line: str) -> str:
        """A line with the place of the job that started last, as far as it fits into the terminal."""
        job = next(reversed(self.started), None)
        place = self.places.get(job) or self.rules.get(job, "") if job is not None else ""
        return make_printable(f"{line}: {place}" if place else line)[: shutil.get_terminal_size().columns - 1]

    def _show_failure(self, record: LogRecord) -> None:
        self.started.pop(record.jobid, None)
        place = f" {self.places[record.jobid]}" if self.places.get(record.jobid) else ""
        self._print(f"failed: {record.rule_name}{place} (job {record.jobid})")
        for path in (path for path in map(Path, map(str, _listed(record.log))) if path.is_file()):
            text = log_tail(path)
            for line in text.splitlines()[-LOG_LINES:]:
                self._print(f"  {line}")
            if why := silent_end(text):
                self._print(f"  ({why})")

    def _print(self, text: str) -> None:
        start = "\r\033[K" if self.stream.isatty() else ""
        # A log may have signs that a terminal obeys.
        print(start + make_printable(text, "\n\t"), file=self.stream, flush=True)


def log_tail(path: Path) -> str:
    """The end of a log, which may be large."""
    require_plain(path)
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        return file.read().decode(errors="replace")


def silent_end(text: str) -> str:
    """What to say of a log that does not end with why its job failed; often it ends with a library's greeting."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return f"its log is empty: {SILENT}, or the disk under it is full"
    return "" if SAID.match(lines[-1]) or TRACEBACK in lines else SILENT


def progress_line(planned: Counter[str], done: Counter[str], seconds: dict[str, list[float]], at_once: int) -> str:
    """Done and planned jobs, and the time left, estimated from the mean time of each rule so far."""
    share = min(1.0, done.total() / max(1, planned.total()))
    parts = [f"{share:4.0%}"]
    runs, finished = (sum(counts[rule] for rule in RUN_RULES) for counts in (planned, done))
    if runs:
        parts.append(f"{finished} of {runs} runs trained")
    parts.append(f"{done.total()} of {planned.total()} jobs")
    measured = [value for values in seconds.values() for value in values]
    if measured and done.total() < planned.total():
        typical = sum(measured) / len(measured)
        left = sum(
            (count - done[rule]) * (sum(seconds[rule]) / len(seconds[rule]) if seconds.get(rule) else typical)
            for rule, count in planned.items()
        )
        parts.append(f"about {span_text(left / at_once)} left")
    return ", ".join(parts)


def _listed(value: object) -> Iterable:
    return value if isinstance(value, (list, tuple, set)) else [] if value is None else [value]
