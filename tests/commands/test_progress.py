"""Progress lines of a study, and counters of files."""

import io
import logging
import time
from collections import Counter
from types import SimpleNamespace

import pytest
from snakemake import exceptions
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_toolnoise import LOG_LINES, LogHandler, progress_line
from toolnoise.base import progress

PLANNED = Counter(train_run=10, measure_cell=5, write_page=1)


def line(done, seconds, at_once=1):
    return progress_line(PLANNED, Counter(done), seconds, at_once)


def test_nothing_done_is_no_percent_and_promises_no_time():
    assert line({}, {}) == "  0%, 0 of 10 runs trained, 0 of 16 jobs"
    assert progress_line(Counter(), Counter(), {}, 1) == "  0%, 0 of 0 jobs"
    assert line(PLANNED, {"train_run": [1.0]}) == "100%, 10 of 10 runs trained, 16 of 16 jobs"


@pytest.mark.parametrize(
    ("at_once", "left"),
    [
        # 6 runs of 30 s, 5 measurements and a report at the typical 30 s.
        (1, "6 min"),
        (2, "3 min"),
        (5, "72 s"),
    ],
)
def test_the_time_left_is_that_of_the_jobs_left_shared_among_those_at_once(at_once, left):
    told = line({"train_run": 4}, {"train_run": [20.0, 40.0, 30.0, 30.0]}, at_once)
    assert told == f" 25%, 4 of 10 runs trained, 4 of 16 jobs, about {left} left"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(time, "monotonic", lambda: now.seconds)
    return now


@pytest.fixture
def handler():
    """A handler that writes to a file in memory."""
    handler = LogHandler(SimpleNamespace(stdout=False, dryrun=False), None)
    handler.stream = io.StringIO()
    return handler


def tell(handler, event, level=logging.INFO, **fields):
    record = logging.LogRecord("snakemake", level, __file__, 1, fields.pop("message", ""), None, None)
    vars(record).update(fields, event=event)
    handler.emit(record)


def begin(handler, *jobs):
    for job in jobs:
        tell(handler, LogEvent.JOB_INFO, jobid=job, rule_name="train_run")
    tell(handler, LogEvent.JOB_STARTED, jobs=list(jobs))


def test_a_study_is_told_from_its_first_job_to_its_last(handler, clock):
    tell(handler, LogEvent.RUN_INFO, stats={"train_run": 4, "total": 4})
    begin(handler, 1, 2)
    for job in (1, 2, 3, 4):
        if job == 3:
            begin(handler, 3, 4)
        clock.seconds += 20
        tell(handler, LogEvent.JOB_FINISHED, job_id=job)
    assert handler.stream.getvalue().splitlines() == [
        " 25%, 1 of 4 runs trained, 1 of 4 jobs, about 30 s left",  # 3 jobs of 20 s, 2 at once
        " 50%, 2 of 4 runs trained, 2 of 4 jobs, about 30 s left",  # 2 jobs of (20 + 40) / 2 s, 2 at once
        " 75%, 3 of 4 runs trained, 3 of 4 jobs, about 13 s left",
        "100%, 4 of 4 runs trained, 4 of 4 jobs",
    ]


def test_away_from_a_terminal_lines_are_rare_and_the_last_is_told(handler, clock):
    tell(handler, LogEvent.RUN_INFO, stats={"train_run": 100, "total": 100})
    begin(handler, *range(100))
    for job in range(100):
        clock.seconds += 1
        tell(handler, LogEvent.JOB_FINISHED, job_id=job)
    told = handler.stream.getvalue().splitlines()
    assert 10 <= len(told) <= 11
    assert told[-1] == "100%, 100 of 100 runs trained, 100 of 100 jobs"


def test_on_a_terminal_the_line_ends_with_the_job_that_has_just_started(handler, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    handler.stream = Terminal()
    tell(handler, LogEvent.RUN_INFO, stats={"train_run": 2, "total": 2})
    tell(handler, LogEvent.JOB_INFO, jobid=1, rule_name="train_run", wildcards={"model": "cnn", "seed": 3})
    tell(handler, LogEvent.JOB_STARTED, jobs=[1])
    assert handler.stream.getvalue() == "\r\033[K  0%, 0 of 2 runs trained, 0 of 2 jobs: cnn/3"
    tell(handler, LogEvent.JOB_INFO, jobid=2, rule_name="train_run", wildcards={"model": "x" * 200})
    tell(handler, LogEvent.JOB_STARTED, jobs=[2])
    assert len(handler.stream.getvalue().rpartition("\033[K")[2]) == 99, "a longer line would be left on the screen"
    for job in (1, 2):
        tell(handler, LogEvent.JOB_FINISHED, job_id=job)
    assert handler.stream.getvalue().count("\n") == 1


def test_a_failure_shows_its_rule_and_the_end_of_its_log(handler, tmp_path):
    log = tmp_path / "1.log"
    log.write_text("".join(f"line {number}\n" for number in range(LOG_LINES + 5)))
    wildcards = {"model": "linear", "seed": "7"}
    tell(handler, LogEvent.JOB_INFO, jobid=1, rule_name="train_run", wildcards=wildcards)
    tell(handler, LogEvent.JOB_ERROR, logging.ERROR, rule_name="train_run", jobid=1, log=[str(log)])
    assert handler.stream.getvalue().splitlines() == [
        "failed: train_run linear/7 (job 1)",
        *(f"  line {number}" for number in range(5, LOG_LINES + 5)),
        "  (it ended without a message, as a job does that is killed)",
    ]


def test_a_failure_shows_plainly_the_end_of_a_large_log(handler, tmp_path):
    log = tmp_path / "1.log"
    log.write_text("lost\n" + "x" * 10**6 + "\n\x1b[2J\ta training program's\x1b]0;title\x07\nValueError: two\n")
    tell(handler, LogEvent.JOB_ERROR, logging.ERROR, rule_name="run_program", jobid=1, log=[str(log)])
    told = handler.stream.getvalue()
    assert "\x1b" not in told
    assert told.endswith("\n  \\x1b[2J\ta training program's\\x1b]0;title\\x07\n  ValueError: two\n")
    assert len(told) < 10**4


def test_a_folder_that_is_locked_is_told_with_the_command_that_unlocks_it(handler):
    locked = exceptions.LockException()
    fields = {"exception": "LockException", "message": exceptions.format_exception_to_string(locked)}
    tell(handler, LogEvent.ERROR, logging.ERROR, **fields)
    *said, last = handler.stream.getvalue().splitlines()
    assert "cannot be locked" in said[1]
    assert "snakemake --unlock" in last
    tell(handler, LogEvent.ERROR, logging.ERROR, exception="WorkflowError", message="no space left")
    assert handler.stream.getvalue().endswith(f"{last}\nno space left\n")


def test_a_dry_run_shows_once_what_is_planned_and_no_progress(handler):
    handler.common_settings.dryrun = True
    for _ in range(2):
        tell(handler, LogEvent.RUN_INFO, stats={"train_run": 4, "total": 4}, message="Job stats:\njob  count\n")
    begin(handler, 1)
    tell(handler, LogEvent.JOB_FINISHED, job_id=1)
    assert handler.stream.getvalue() == "Job stats:\njob  count\n"


# Counters


@pytest.fixture
def written(capsys, monkeypatch):
    """What a counter writes; `now`: as if every update came after the interval."""

    def count(total, now=True):
        monkeypatch.setattr(progress, "INTERVAL", 0 if now else 30)
        with progress.progress("reading", total, "file") as shown:
            for _ in range(3):
                shown.update()
        return capsys.readouterr().err

    return count


@pytest.mark.parametrize(("total", "last"), [(3, "reading: 3.00 of 3.00 file"), (None, "reading: 3.00 file")])
def test_long_work_writes_lines_into_a_pipe_and_no_bar(written, total, last):
    said = written(total)
    assert "\r" not in said
    assert "|" not in said
    assert "█" not in said
    assert said.splitlines()[-1].startswith(last)
