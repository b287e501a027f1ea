"""The summary at the end of a study: its findings, its claims, and all of it as JSON."""

import json
import re

import numpy as np
import pytest

from toolnoise.base import files, metric_files
from toolnoise.checks import parameters
from toolnoise.commands import summary as command
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.study import job_code, layout
from toolnoise.study.cells import Whole

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
        metric_files.write(tiny.path(layout.COLLECTED, file="stability"), STABILITY, rows)
        files.write_json(tiny.path(layout.GATE, tiny.controls[0]), {"bit_equal": bit_equal})
        return (command.as_json if json else lambda study: say(study).splitlines())(tiny)

    return summarise_these


def test_a_data_set_whose_pictures_are_drawn_is_synthetic_in_every_summary(written, built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = written["grid"][0] | {"hardware": ["cpu"], "variants": ["algo"], "datasets": ["digits", "own"]}
    own = {"reader": "faces", "train_examples": 40, "test_examples": 40, "image_size": 20}
    study = built(written | {"grid": [block], "hardware": {}, "datasets": {"own": own}})
    rows = [(*cell, metric, "all", value, NAN, NAN, 5, 0) for cell in study.cells for metric, value in VALUES.items()]
    metric_files.write(study.path(layout.COLLECTED, file="stability"), STABILITY, rows)
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
    job_code.perform("judge-claims", parameters.claims(study, Whole()), {"out": str(path)})


def test_verdicts_are_sentences_where_they_are_asked_for(summary, written, built, tmp_path, refused):
    tiny = built(written)
    assert summary(say=command.claims) == ["no verdicts on claims yet: snakemake claims"]
    judge(tiny, tmp_path / "results/tiny/metrics/claims.csv")
    assert not [line for line in summary(say=command.as_text) if "claims" in line], "the study is about none of them"
    assert summary(say=command.claims)[:2] == [
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
    metric_files.write(tmp_path / "results/tiny/metrics/runs.csv", RUNS, rows)
    lines = screen(summary, missing=2)
    assert lines[0] == "tiny: 10 runs of 2 cells, 4 diverged"
    assert "accuracy hides it: from run to run 90.0 to 92.0 % of all are right, but 50.0 to 90.0 % of class 3," in lines
    assert "  the widest range of 3 classes and sub-groups (smallcnn/digits/cpu/algo, 2 runs)" in lines
