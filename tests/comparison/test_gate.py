"""`toolnoise gate`: intervals for further runs, exit codes, the example's step."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from toolnoise import cli
from toolnoise.base.program import ROOT
from toolnoise.comparison.regression_gate import gated


@pytest.mark.parametrize(("further", "worse"), [(3, None), (1, "higher"), (3, "lower")])
def test_of_unchanged_runs_the_level_fails(further, worse):
    rng = np.random.Generator(np.random.Philox(11))
    values = rng.normal(3, 0.1, (2500, 4 + further))
    fails = [not gated(one[:4], one[4:], "loss", level=0.1, worse=worse)["passes"] for one in values]
    # Standard error 0.006.
    assert np.mean(fails) == pytest.approx(0.1, abs=0.018)


@pytest.fixture
def csvs(here):
    """Runs of a reference and new ones, in the current folder."""
    Path("reference.csv").write_text("seed,loss\n1,3.1\n2,3.2\n3,3.3\n4,3.2\n")
    for name, value in (("same", 3.25), ("worse", 4.5), ("better", 1.0)):
        Path(f"{name}.csv").write_text(f"loss\n{value}\n")
    return here


def gate(*words):
    try:
        cli.main(["gate", "--metric", "loss", *words])
    except SystemExit as ended:
        return ended.code
    return 0


LOWER, HIGHER = (("--one-sided", f"--{way}") for way in ("lower", "higher"))


@pytest.mark.parametrize(
    ("new", "words", "code"),
    [
        ("same", (), 0),
        ("worse", (), 1),
        ("better", (), 1),
        ("better", LOWER[:1], 0),
        ("worse", LOWER[:1], 1),
        ("better", HIGHER, 1),
        ("worse", HIGHER, 0),
    ],
)
@pytest.mark.usefixtures("csvs")
def test_the_exit_code_is_the_verdict_and_the_output_one_line(new, words, code, capsys):
    assert gate("--reference", "reference.csv", "--new", f"{new}.csv", *words) == code
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("FAIL: loss" if code else "pass: loss")
    # Of the reach of 0.53, two digits count.
    assert "mean 3.20, SD 0.0816, 4 runs" in line
    if words == LOWER[:1]:
        assert line.endswith("loss: lower is better (by its name)")


def test_a_value_that_fails_never_reads_like_the_bound():
    reference = np.array([3.1, 3.2, 3.3, 3.2])
    bound = gated(reference, np.array([3.2]), "loss", worse="higher")["high"]
    for value, passes in ((bound - 1e-6, True), (bound + 1e-6, False)):
        found = gated(reference, np.array([value]), "loss", worse="higher")
        assert found["passes"] is passes
        shown, allowed = re.search(r"loss ([\d.]+); allowed at most ([\d.]+)", found["verdict"]).groups()
        assert (float(shown) <= float(allowed)) is passes and shown != allowed


@pytest.mark.usefixtures("csvs")
def test_the_reference_is_no_further_runs_of_itself(refused_by_verb):
    Path("copy.csv").write_text(Path("reference.csv").read_text())
    for new in ("reference.csv", "copy.csv"):
        line = refused_by_verb("gate", "--metric", "loss", "--reference", "reference.csv", "--new", new)
        assert f"{new}: found the 4 runs of reference.csv" in line
    # Deterministic programs have equal runs.
    Path("same.csv").write_text("loss\n2\n2\n")
    assert gate("--reference", "same.csv", "--new", "same.csv") == 0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", [(), LOWER])
def test_times_of_runs_are_gated_only_if_each_run_is_said_to_have_a_session_of_its_own(words, refused_by_verb, capsys):
    Path("reference.csv").write_text("step_ms\n3.1\n3.2\n3.3\n3.2\n")
    Path("new.csv").write_text("step_ms\n3.21\n3.23\n3.24\n")
    words = ("gate", "--metric", "step_ms", "--reference", "reference.csv", "--new", "new.csv", *words)
    line = refused_by_verb(*words)
    assert "step_ms" in line and "session none" in line
    assert "--session: found host; none" in refused_by_verb(*words, "--session", "host")
    try:
        cli.main([*words, "--session", "none"])
    except SystemExit as ended:
        assert ended.code == 1
    assert "step_ms 3.2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loss\n1\nnan\n", "column loss: found runs to leave out (Left out: 1 run of new whose loss is not"),
        ("seed,state,loss\n1,done,2\n2,failed,3\n", "found runs to leave out (Left out: 1 with state failed"),
        ("loss\n1\n1e101\n", "line 3: loss: found 1e+101"),
        ("a,b\n1,2\n", "--metric: found no column loss; it has a, b"),
        ("seed,loss\nmean,2\n1,3\n", "Left out: 1 with mean in place of a run"),
    ],
)
@pytest.mark.usefixtures("csvs")
def test_a_file_of_runs_without_a_number_for_each_is_refused(text, says, refused_by_verb):
    Path("new.csv").write_text(text)
    assert says in refused_by_verb("gate", "--metric", "loss", "--reference", "reference.csv", "--new", "new.csv")


def performed(inputs, folder):
    """The exit code and the summary of the action's steps, as GitHub runs them in its bash."""
    action = yaml.safe_load((ROOT / "examples/gate/action.yml").read_text())
    given = {name: about.get("default", "") for name, about in action["inputs"].items()} | inputs
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in action["runs"]["steps"]:
        variables = {
            name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")] for name, value in step["env"].items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env=os.environ | {"PATH": path, "GITHUB_STEP_SUMMARY": "summary.md"} | variables,
            cwd=folder,
            capture_output=True,
        )
        if done.returncode:
            break
    return done.returncode, (folder / "summary.md").read_text()


@pytest.mark.parametrize(("new", "code", "verdict"), [("same", 0, "pass: "), ("worse", 1, "FAIL: "), ("no", 2, "")])
def test_the_example_for_github_ends_as_the_gate_does(new, code, verdict, csvs):
    inputs = {"reference": "reference.csv", "new": f"{new}.csv", "metric": "loss", "options": "--one-sided --lower"}
    found, summary = performed(inputs, csvs)
    assert found == code and summary.startswith(verdict) and bool(summary) == bool(verdict)
