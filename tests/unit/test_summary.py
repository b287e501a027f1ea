import json
import re

import numpy as np
import pytest

from toolnoise import steps
from toolnoise.analyses.claims import judging
from toolnoise.base import files, metric_files
from toolnoise.commands import summary as command
from toolnoise.formulas.stability import STABILITY
from toolnoise.study import layout

NAN = np.nan
VALUES = {"accuracy_mean": 0.98765, "accuracy_sd": 0.0123, "churn": 0.05, "l2_unit": 0.123456}


@pytest.fixture
def summary(written, built, tmp_path, monkeypatch):
    """The summary of a study of one control cell and one of algo, from metric files with these numbers."""
    monkeypatch.chdir(tmp_path)
    block = written["grid"][0] | {"hardware": ["cpu"], "variants": ["control", "algo"]}
    tiny = built(written | {"grid": [block], "hardware": {}})

    def summarise_these(values=VALUES, runs=5, missing=0, bit_equal=True, json=False, width=NAN):
        rows = [
            (*cell, metric, group, value, value - width, value + width, runs, missing)
            for cell in tiny.cells
            for metric, value in values.items()
            for group in ("all", "3")
        ]
        metric_files.write(tiny.path(layout.COLLECTED, file="stability"), STABILITY, rows)
        files.write_json(tiny.path(layout.GATE, tiny.controls[0]), {"bit_equal": bit_equal})
        return (command.as_json if json else lambda study: command.as_text(study).splitlines())(tiny)

    return summarise_these


def test_each_cell_is_one_line_of_percents(summary):
    names, rule, control, algo, *notes = summary()
    assert names.split("  ")[0] == "model"
    assert set(rule) == {"-", " "}
    assert control.split() == [
        *("smallcnn", "digits", "cpu", "control", "5"),
        *("98.77", "±", "1.23", "5.00", "0.1235", "bit-equal"),
    ]
    assert algo.split()[-1] == "0.1235", "only control is gated"
    assert notes == [
        "implementation noise is emulated (reduction order) on: cpu",
        "the page: results/tiny/index.html",
        "no verdicts on claims yet: snakemake claims",
    ]


def test_columns_stand_below_their_names(summary):
    names, rule, control, *_ = summary()
    starts = [match.start() for match in re.finditer("-+", rule)]
    assert len(starts) == 9
    for line in (names, control):
        assert " " not in [line[start] for start in starts]
        assert {line[start - 2 : start] for start in starts[1:]} == {"  "}


def test_one_run_has_no_sd_no_churn_and_no_verdict(summary):
    values = VALUES | {"accuracy_sd": NAN, "churn": NAN, "l2_unit": NAN}
    control = summary(values, runs=1, bit_equal=None)[2]
    assert control.split()[4:] == [*("1", "98.77", "±", "n/a", "n/a", "n/a"), *["one", "run:", "not", "checked"]]


def test_diverged_runs_are_counted(summary):
    assert " 3 (2 diverged)  98.77 ± 1.23 " in summary(runs=3, missing=2)[3]


def test_a_cell_whose_runs_all_diverged_is_shown_without_numbers(summary):
    algo = summary(dict.fromkeys(VALUES, NAN), runs=0, missing=5)[3]
    assert algo.split()[4:] == ["0", "(5", "diverged)", "n/a", "±", "n/a", "n/a", "n/a"]


def test_a_plain_zero_is_exact_and_what_is_nearly_zero_is_no_zero(summary):
    zeros = VALUES | {"accuracy_sd": 0.0, "churn": 0.0, "l2_unit": 2.34e-7}
    assert summary(zeros)[2].split()[5:10] == ["98.77", "±", "0", "0", "2.3e-7"]
    tiny = VALUES | {"accuracy_sd": 4.9e-5, "churn": 5.1e-5, "l2_unit": 3e-12}
    assert summary(tiny)[2].split()[5:10] == ["98.77", "±", "4.9e-3", "0.01", "3.0e-12"]


def test_a_source_that_varies_and_changes_no_bit_is_named(summary):
    zeros = VALUES | {"accuracy_sd": 0.0, "churn": 0.0, "l2_unit": 0.0}
    (line,) = [line for line in summary(zeros, width=0.0) if "bit-equal, so" in line]
    assert line.startswith("smallcnn/digits/cpu/algo: the runs are bit-equal, so nothing")
    assert line.endswith("depends on init, shuffle, augment, dropout, which may vary")
    # Runs that differ may agree in every answer.
    assert not [line for line in summary(zeros, width=0.01) if "bit-equal, so" in line]


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


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda lines: [*lines, lines[2].replace("cannot be told", "supported")], "/all/published twice; each"),
        (lambda lines: [*lines[:2], *lines[3:]], "side: found one side of "),
    ],
)
def test_verdicts_that_are_not_two_for_each_claim_are_one_line(edit, says, summary, written, built, tmp_path, refused):
    tiny, path = built(written), tmp_path / "results/tiny/metrics/claims.csv"
    judging.judge(steps.claims(tiny), steps.toolings(tiny), {}, str(path))
    assert len(judging.read(path)) == len(path.read_text().splitlines()) - 2
    path.write_text("\n".join(edit(path.read_text().splitlines())) + "\n")
    assert says in refused(summary)


def test_the_summary_ends_with_the_verdicts_in_sentences(summary, written, built, tmp_path):
    tiny = built(written)
    summary()
    judging.judge(steps.claims(tiny), steps.toolings(tiny), {}, str(tmp_path / "results/tiny/metrics/claims.csv"))
    lines = summary()
    place = lines.index("Verdicts on claims:")
    assert lines[place + 1 : place + 4] == [
        "Zhuang et al.: 49 not run",
        "  Mean accuracy under ALGO or IMPL is within 0.84 points of both (section 3.1, table 2).",
        "    Not run. Published: Cannot be told: -0.84 points apart (-1.5 to -0.178), adjusted p 1.000, "
        "10 independent runs per arm; more than 1000 would be needed to refute it.",
    ]
    assert lines[-1] == "    Not run. Published: Cannot fail: 145 %."
    claims = summary(json=True)["claims"]
    assert {claim["side"] for claim in claims} == {"published", "study"}
    assert claims[0].keys() == {"paper", "claim", "says", "side", "verdict"}
