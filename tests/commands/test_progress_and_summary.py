"""What a study prints: its progress while it runs, and the summary at its end, in words and as JSON."""

import io
import json
import logging
import re
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from snakemake import exceptions
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_toolnoise import LOG_LINES, LogHandler, progress_line
from toolnoise.base import files, metric_files, progress
from toolnoise.checks import parameters
from toolnoise.commands import summary as command
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.study import job_code, layout
from toolnoise.study.cells import Whole

# Progress lines, and counters of files

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
def counted(capsys, monkeypatch):
    """What a counter writes; `now`: as if every update came after the interval."""

    def count(total, now=True):
        monkeypatch.setattr(progress, "INTERVAL", 0 if now else 30)
        with progress.progress("reading", total, "file") as shown:
            for _ in range(3):
                shown.update()
        return capsys.readouterr().err

    return count


@pytest.mark.parametrize(("total", "last"), [(3, "reading: 3.00 of 3.00 file"), (None, "reading: 3.00 file")])
def test_long_work_writes_lines_into_a_pipe_and_no_bar(counted, total, last):
    said = counted(total)
    assert "\r" not in said
    assert "|" not in said
    assert "█" not in said
    assert said.splitlines()[-1].startswith(last)


# The summary: its findings, its claims, and all of it as JSON

NAN = np.nan
VALUES = {"accuracy_mean": 0.98765, "accuracy_sd": 0.0123, "churn": 0.05, "l2_unit": 0.123456}


@pytest.fixture
def summary(written, built, tmp_path, monkeypatch):
    """The summary of a study of one control cell and one of algo, from metric files with these numbers."""
    monkeypatch.chdir(tmp_path)
    block = written["grid"][0] | {"hardware": ["cpu"], "variants": ["control", "algo"]}
    tiny = built(written | {"grid": [block], "hardware": {}})

    def summarise_these(
        values=VALUES, runs=5, missing=0, bit_equal=True, json=False, width=NAN, more=(), say=command.as_text
    ):
        rows = [
            (*cell, metric, group, value, value - width, value + width, runs, missing)
            for cell in (*tiny.cells, *more)
            for metric, value in values.items()
            for group in ("all", "3")
        ]
        metric_files.write_metrics(tiny.path(layout.COLLECTED, file="stability"), STABILITY, rows)
        files.write_json(tiny.path(layout.GATE, tiny.controls[0]), {"bit_equal": bit_equal})
        return (command.as_json if json else lambda study: say(study).splitlines())(tiny)

    return summarise_these


def test_a_data_set_whose_pictures_are_drawn_is_synthetic_in_every_summary(written, built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = written["grid"][0] | {"hardware": ["cpu"], "variants": ["algo"], "datasets": ["digits", "own"]}
    own = {"reader": "faces", "train_examples": 40, "test_examples": 40, "image_size": 20}
    study = built(written | {"grid": [block], "hardware": {}, "datasets": {"own": own}})
    rows = [(*cell, metric, "all", value, NAN, NAN, 5, 0) for cell in study.cells for metric, value in VALUES.items()]
    metric_files.write_metrics(study.path(layout.COLLECTED, file="stability"), STABILITY, rows)
    found = command.as_json(study)
    assert ([cell["dataset"] for cell in found["cells"]], found["synthetic"]) == (["digits", "own"], ["own"])
    assert "synthetic data: own" in command.as_text(study).splitlines()[0]


def test_a_source_that_varies_and_changes_no_bit_is_named(summary):
    zeros = VALUES | {"accuracy_sd": 0.0, "churn": 0.0, "l2_unit": 0.0, "bit_equal": 1.0}
    control, algo = summary(zeros, json=True)["cells"]
    assert (control["without_effect"], algo["without_effect"]) == ([], ["init", "shuffle", "augment", "dropout"])
    # Runs that differ may agree in every answer.
    assert not any(cell["without_effect"] for cell in summary(zeros | {"bit_equal": 0.0}, json=True)["cells"])


def test_the_summary_as_json_has_the_numbers_in_full_and_null_for_what_is_undefined(summary):
    found = summary(VALUES | {"churn": NAN}, runs=4, missing=1, json=True)
    assert found == json.loads(json.dumps(found, allow_nan=False))
    control, algo = found["cells"]
    assert control == {
        **dict(zip(("model", "dataset", "hardware", "variant"), ("smallcnn", "digits", "cpu", "control"), strict=True)),
        "runs": 4,
        "diverged": 1,
        **VALUES,
        "churn": None,
        "control_bit_equal": True,
        "without_effect": [],
    }
    assert (algo["variant"], algo["control_bit_equal"]) == ("algo", None)
    assert (found["emulated"], found["page"], found["claims"]) == (["cpu"], "results/tiny/index.html", None)


def judge(study, path):
    job_code.perform_job("judge-claims", parameters.claims(study, Whole()), {"out": str(path)})


def test_verdicts_are_sentences_where_they_are_asked_for(summary, written, built, tmp_path, refused):
    tiny = built(written)
    assert summary(say=command.claims_text) == ["no verdicts on claims yet: snakemake claims"]
    judge(tiny, tmp_path / "results/tiny/metrics/claims.csv")
    assert not [line for line in summary(say=command.as_text) if "claims" in line], "the study is about none of them"
    assert summary(say=command.claims_text)[:2] == [
        "Zhuang et al.: 53 not run",
        "  Mean accuracy under ALGO or IMPL is within 0.84 points of both (section 3.1, table 2).",
    ]
    claims = summary(json=True)["claims"]
    assert {claim["side"] for claim in claims} == {"published", "study"}
    assert claims[0].keys() == {"paper", "claim", "says", "side", "verdict"}
    path = tmp_path / "results/tiny/metrics/claims.csv"
    *head, last = path.read_text().splitlines()
    for lines, says in (
        (head, "side: found one side of "),
        ([*head, last, last], " twice in this or the files beside it"),
    ):
        path.write_text("\n".join(lines) + "\n")
        assert says in refused(lambda: summary(say=command.as_text))


# What a study found, on one screen


def screen(summary, **given):
    lines = summary(say=command.as_text, **given)
    assert len(lines) <= 6 + command.MOST == 15
    assert max(map(len, lines)) <= 100
    return lines


def test_the_findings_say_what_changes_by_what_varies(summary):
    head, emulated, names, _, control, algo, last = screen(summary, width=0.01)
    assert head == "tiny: 10 runs of 2 cells"
    assert emulated == "implementation noise is emulated (reduction order) on cpu"
    assert names.split("  ")[0] == "what varies"
    assert control.split("  ")[:2] == ["everything fixed (Control)", "nothing: bit-equal"]
    assert re.split("  +", algo) == ["a new seed (ALGO)", "5.00 % (4.00 to 6.00)", "5", "98.8"]
    assert last == "the page: results/tiny/index.html"


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ("[]", "found []; expected the record of a run"),
        ('{"seconds": {"training": "x"}}', 'seconds.training: found "x"'),
    ],
)
def test_a_damaged_record_is_one_line(record, says, summary, refused, tmp_path):
    path = tmp_path / "results/tiny/runs/smallcnn/digits/cpu/control/1/run.json"
    path.parent.mkdir(parents=True)
    path.write_text(record)
    assert says in refused(lambda: summary(say=command.as_text))


def test_what_changes_no_bit_changed_nothing_in_so_many_pairs(summary):
    zeros = VALUES | {"accuracy_sd": 0.0, "churn": 0.0, "l2_unit": 0.0, "bit_equal": 1.0}
    (algo,) = (line for line in screen(summary, values=zeros) if line.startswith("a new seed"))
    assert "nothing: 10 of 10 pairs bit-equal" in algo
    # Runs that differ may agree in every answer.
    (algo,) = (line for line in screen(summary, values=zeros | {"bit_equal": 0.0}) if line.startswith("a new seed"))
    assert "bit-equal" not in algo


def test_of_several_draws_the_pairs_are_those_of_one_draw(summary):
    zeros = VALUES | {"accuracy_sd": 0.0, "churn": 0.0, "l2_unit": 0.0, "n_draws": 6.0, "bit_equal": 1.0}
    told = screen(summary, values=zeros, runs=18)
    assert [line for line in told if "nothing: 18 of 18 pairs bit-equal" in line], "6 draws of 3 runs"
    of_each = screen(summary, values=zeros | {"n_draws": 18.0}, runs=18)
    assert [line for line in of_each if "nothing: 153 of 153 pairs bit-equal" in line]


def test_numbers_of_programs_have_a_line_a_task_and_no_table_of_nothing(summary):
    values = {"mean_absolute_error_mean": 4.5, "mean_absolute_error_sd": 0.1, "mean_absolute_difference": 1.25}
    lines = screen(summary, values=values, width=0.05)
    assert [line for line in lines if re.search("a new seed .ALGO., smallcnn +1.25 .1.20 to 1.30. +5 +4.50", line)]
    assert not [line for line in lines if "share of answers" in line]
    assert all("mean_absolute_error_mean" in cell["measured"] for cell in summary(values=values, json=True)["cells"])
    metrics = {"bleu_mean": 30.0, "bleu_sd": 0.4}
    assert [line for line in screen(summary, values=metrics, width=0.1) if "SD 0.400 (0.300 to 0.500)" in line]


def test_more_variants_than_a_screen_holds_are_counted(summary):
    more = [("cnn", "digits", "cpu", f"bit_{epoch}") for epoch in range(1, 12)]
    lines = screen(summary, more=more)
    assert "... and 7 more" in lines


def test_diverged_runs_and_the_part_with_the_widest_range_are_told(summary, tmp_path):
    summary()
    rows = [
        ("smallcnn", "digits", "cpu", "algo", seed, *"111111", "accuracy", group, value)
        for group, values in {"all": (0.9, 0.92), "0": (0.9, 0.8), "3": (0.5, 0.9), "7": (1.0, 1.0)}.items()
        for seed, value in enumerate(values, 1)
    ]
    metric_files.write_metrics(tmp_path / "results/tiny/metrics/runs.csv", RUNS, rows)
    lines = screen(summary, missing=2)
    assert lines[0] == "tiny: 10 runs of 2 cells, 4 diverged"
    assert "accuracy hides it: from run to run 90.0 to 92.0 % of all are right, but 50.0 to 90.0 % of class 3," in lines
    assert "  the widest range of 3 classes and sub-groups (smallcnn/digits/cpu/algo, 2 runs)" in lines
