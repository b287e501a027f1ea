"""`toolnoise keep` and `gate`: decisions computed by hand and by simulation, exit codes, tables, and the examples."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scripts import loaded

import toolnoise as tn
from toolnoise import cli
from toolnoise.base.program import ROOT
from toolnoise.comparison import keep
from toolnoise.comparison.keep import RULE, STRICT
from toolnoise.comparison.regression_gate import gate_runs

# Which change to keep


# Mean 0, SD sqrt(16 / 15): the incumbent of the tables computed by hand.
BASE = [("base", value) for value in [1.0, -1.0] * 8]
HEADS = "change,score\n"


def csv(runs):
    return HEADS + "".join(f"{name},{value}\n" for name, value in runs)


def answer(runs, rule=RULE):
    """The word, the change and how many times more."""
    word, change, more = keep.answer(keep.replay(runs, rule))
    return word, change and change.name, more


def z_by_hand(values, incumbent, *repeated):
    """z of a change, with the SD pooled over it, the incumbent and other changes that were run again."""
    arms = [np.asarray(each, float) for each in (values, incumbent, *repeated)]
    squares = sum(((each - each.mean()) ** 2).sum() for each in arms)
    sd = math.sqrt(squares / sum(len(each) - 1 for each in arms))
    return (np.mean(values) - np.mean(incumbent)) / (sd * math.sqrt(1 / len(values) + 1 / len(incumbent)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # The SD is 1.0328 and the standard error of one run 1.0646: z exceeds 0.25 from 0.2661 on.
        ([0.266], ("drop", 0)),
        ([0.267], ("run", 1)),
        # Two equal runs: SD sqrt(16 / 16), standard error 0.75, so 0.5625 is z = 0.75, which is not above it.
        ([0.5625, 0.5625], ("drop", 0)),
        ([0.5626, 0.5626], ("run", 2)),
        # Four equal runs: SD sqrt(16 / 18), standard error 0.527.
        ([0.8, 0.8, 0.25, 0.25], ("drop", 0)),
        ([0.8, 0.8, 0.8, 0.8], ("run", 4)),
        ([0.8] * 16, ("keep", 0)),
        # The mean of 16 is 0.45; SD sqrt((16 + 16 * 0.35**2) / 30) = 0.774, standard error 0.274, z = 1.64.
        ([0.8] * 8 + [0.1] * 8, ("drop", 0)),
        ([-0.1] + [5.0] * 15, ("drop", 0)),
        # Of a change that crashed once, the runs that did not are no fair sample.
        ([0.8, math.nan], ("drop", 0)),
    ],
)
def test_a_change_is_dropped_run_again_or_kept_by_thresholds_computed_by_hand(values, expected):
    word, more = expected
    assert answer([*BASE, *(("new", value) for value in values)]) == (word, "new", more)


def test_the_sd_is_pooled_over_all_changes_that_were_run_again():
    incumbent, first, second = [value for _, value in BASE], [3.0, -2.0], [0.9, 1.4, 2.0, 0.3]
    loop = keep.replay([*BASE, *(("a", value) for value in first), *(("b", value) for value in second)], RULE)
    assert loop.changes["a"].z == pytest.approx(z_by_hand(first, incumbent))
    assert loop.changes["b"].z == pytest.approx(z_by_hand(second, incumbent, first))
    assert [loop.changes[name].state for name in "ab"] == ["dropped", "open"]


def test_the_16_runs_of_a_kept_change_are_the_incumbents():
    rng = np.random.Generator(np.random.Philox(3))
    good = [("good", value) for value in 3 + rng.standard_normal(16)]
    assert answer([*BASE, *good]) == ("keep", "good", 0)
    # Better than the base by three SDs, and no better than what was kept.
    assert answer([*BASE, *good, ("next", 2.9)]) == ("drop", "next", 0)
    loop = keep.replay([*BASE, *good, ("next", 4.0)], RULE)
    base, values = ([value for _, value in runs] for runs in (BASE, good))
    assert loop.changes["next"].z == pytest.approx(z_by_hand([4.0], values, base))


def test_nothing_is_decided_before_the_incumbent_has_its_runs():
    assert answer([*BASE[:10], ("a", -9.0), ("b", 9.0)]) == ("run", "base", 6)
    assert answer(BASE) == ("run", None, 1)
    # Changes that were run before then are decided with its last run.
    loop = keep.replay([*BASE[:10], ("a", -9.0), ("b", 9.0), *BASE[10:]], RULE)
    assert [change.state for change in loop.tried] == ["dropped", "open"]
    assert answer([*BASE[:10], ("b", 9.0), *BASE[10:]]) == ("run", "b", 1)
    assert answer([*BASE[:10], ("b", -1.0), ("b", 9.0), *BASE[10:]]) == ("drop", "b", 0)


def test_strict_needs_32_runs_of_the_incumbent_and_of_what_is_kept():
    good = [("good", 2.0 + value) for _, value in BASE * 2]
    assert answer([*BASE * 2, *good[:16]], STRICT) == ("run", "good", 16)
    assert answer([*BASE * 2, *good], STRICT) == ("keep", "good", 0)
    # Of 32 runs the mean is 0.425 and the standard error 0.192: z = 2.2 is above 2, and not above 2.5.
    weak = [("weak", 0.8)] * 16 + [("weak", 0.05)] * 16
    assert answer([*BASE * 2, *weak], STRICT) == ("drop", "weak", 0)


def random_loop(rng, rule, effects):
    """The runs that the rule itself asks for, one after another, and the effects of the changes that it keeps."""
    runs, kept = [("base", value) for value in rng.standard_normal(max(rule))], []
    loop = keep.replay(runs, rule)
    for place, effect in enumerate(effects):
        word = "run"
        while word == "run":
            runs.append((f"c{place}", sum(kept) + effect + rng.standard_normal()))
            loop.add_run(*runs[-1])
            word = keep.answer(loop).word
        kept += [effect] if word == "keep" else []
    return runs, kept


@pytest.mark.parametrize("rule", [RULE, STRICT], ids=["rule", "strict"])
def test_the_simulation_decides_as_the_rule_does_on_the_same_runs(rule):
    effects = np.random.Generator(np.random.Philox(1)).choice([0.0, 0.0, 0.7, -0.5], (40, 30))
    for place, one in enumerate(effects):
        runs, kept = random_loop(np.random.Generator(np.random.Philox(place)), rule, one)
        found = keep.simulate(np.random.Generator(np.random.Philox(place)), one[np.newaxis], rule)
        assert (found.kept[0], found.runs[0], found.gain[0]) == (len(kept), len(runs), pytest.approx(sum(kept)))
        assert found.false[0] == sum(effect <= 0 for effect in kept)


def test_the_false_keeps_to_expect_are_those_of_loops_without_effects():
    rng = np.random.Generator(np.random.Philox(21))
    kept = [len(random_loop(rng, RULE, np.zeros(60))[1]) for _ in range(500)]
    error = np.std(kept) * math.sqrt(1 / 500 + 1 / keep.LOOPS)
    assert keep.false_keeps(60, RULE) == pytest.approx(np.mean(kept), abs=3 * error)
    assert keep.false_keeps(60, STRICT) < keep.false_keeps(60, RULE) < keep.false_keeps(600, RULE)


def test_the_numbers_of_the_page_are_those_of_the_simulation(monkeypatch, capsys):
    page, first = (
        (ROOT / "docs/keep.md").read_text("utf-8"),
        (ROOT / "docs/tables/keep.txt").read_text("utf-8").split("\n\n")[2],
    )
    rows = re.findall(r"^\| (.*?) \| \**([\d.]+)\** \| \**([\d.]+)\** \|$", page, re.MULTILINE)
    printed = re.findall(r"^  (.*?)  +([\d.]+) \(.*?\) +([\d.]+) \(", first, re.MULTILINE)
    assert [numbers for _, *numbers in rows] == [numbers for _, *numbers in printed[: len(rows)]] and len(rows) == 6
    bench = loaded(ROOT / "bench/keep.py")
    monkeypatch.setattr(bench, "LOOPS", 20)
    bench.table("few loops", {1: 0.1}, np.random.Generator.standard_normal)
    lines = capsys.readouterr().out.splitlines()[3:]
    assert [line[:52].strip() for line in lines] == [name for name, *_ in printed]


@pytest.mark.parametrize(
    ("runs", "code", "says"),
    [
        ([("new", 0.8)] * 16, 0, "keep new: "),
        ([("new", -0.8)], 1, "drop new: "),
        ([("new", 0.8)], 3, "run new 1 more time: "),
    ],
)
def test_the_exit_code_is_the_answer(runs, code, says, here):
    runs = [*BASE, *((name, value + 0.001 * place) for place, (name, value) in enumerate(runs))]
    (here / "results.csv").write_text(csv(runs))
    command = [Path(sys.executable).with_name("toolnoise"), "keep", "results.csv", "--metric", "score", "--higher"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith(says)
    assert f"runs used: {len(runs)}; changes tried: 1; kept so far: {code == 0:d}" in done.stdout


def judged(capsys, *words):
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main(["keep", *words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert ended.value.code == {"keep": 0, "drop": 1, "run": 3}[found["answer"]]
    return found


def test_a_table_of_an_autoresearch_loop_is_read_as_it_is_written(here, capsys):
    # Commits that look like numbers, a crash with 0.000000, free text with quotes, a run that is not done.
    lines = ["commit\tval_bpb\tmemory_gb\tstatus\tdescription"]
    lines += [f"0012345\t{0.98 + 0.001 * value:.6f}\t44.0\tkeep\tbaseline" for _, value in BASE]
    lines += ["1e5\t0.000000\t0.0\tcrash\tdouble the width (OOM)", '12345\t0.990000\t44.0\tdiscard\tuse 2 "heads"']
    lines += ["77e1\t0.970000\t44.2\tkeep\tGeLU", "88e1\t0\t0\trunning\tReLU"]
    (here / "results.tsv").write_text("\n".join(lines))
    found = judged(capsys, "results.tsv", "--metric", "val_bpb")
    states = {each["change"]: each["state"] for each in found["changes"]}
    assert states == {"1e5": "crashed", "12345": "dropped", "77e1": "open"}
    assert (found["answer"], found["change"], found["more"], found["incumbent"]) == ("run", "77e1", 1, "0012345")
    assert (found["runs"], found["crashes"]) == (19, 1)


def test_a_log_has_a_line_that_says_the_change_before_each_run(here, capsys):
    runs = [*BASE, ("a", ""), ("b", 0.8)]
    text = "".join(f"step 1\nMETRIC commit={name}\n  METRIC seconds=3\nMETRIC score={value}\n" for name, value in runs)
    (here / "loop.log").write_text(text)
    found = judged(capsys, "loop.log", "--metric", "score", "--higher")
    assert [(each["change"], each["state"]) for each in found["changes"]] == [("a", "crashed"), ("b", "open")]


def test_a_dataframe_is_read_as_its_file_is(here):
    (here / "runs.csv").write_text(csv([*BASE, ("a", 0.8), ("a", "nan"), ("b", 0.9)]))
    read = pd.read_csv("runs.csv").rename(columns={"change": " change"}).assign(seed=None, status=float("nan"))
    file, frame = (tn.keep(table, metric="score", higher=True) for table in ("runs.csv", read))
    assert file.to_dict() == frame.to_dict()
    with pytest.raises(tn.BadInput, match="found a column twice"):
        tn.keep(pd.concat([read, read["score"]], axis=1), metric="score", higher=True)
    lower = tn.keep(read, metric="score", lower=True)
    assert lower["answer"] == "drop" and lower["changes"][1]["gain"] == pytest.approx(-0.9)
    for named in ({"metric": "nothing", "higher": True}, {"metric": "score", "higher": True, "by": "x"}):
        with pytest.raises(tn.BadInput, match=r"^(?!.*--).*found no column"):
            tn.keep(read, **named)


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        (f"{HEADS}a,1\n,2\n", (), "line 3: change: found no change"),
        ('change,score,why\na,1,"x\nb,2,y\nc,3,z"\n', (), "a cell of several lines"),
        ("change,seed,score\na,1,1\na,1,2\n", (), "found 1 twice for a"),
        ("change,step,score\na,10,1\na,20,2\n", (), "several steps"),
        ("commit,score,status\na,1,keep\nb,0,skipped\n", (), "line 3: status: found 'skipped'"),
        (csv([("a", 1)] * 16), (), "found 16 equal runs of a"),
        (csv(BASE), ("--lower",), "--lower: found higher, too"),
        ("METRIC commit=a\nMETRIC score=1\nMETRIC score=2\n", (), "METRIC commit=... before each run"),
    ],
)
def test_a_hostile_table_is_refused_in_one_line(text, words, says, here, refused_by_verb):
    (here / "runs.csv").write_text(text)
    assert says in refused_by_verb("keep", "runs.csv", "--metric", "score", "--higher", *words)


def test_a_metric_without_a_direction_and_a_time_without_sessions_are_refused(here, refused_by_verb, capsys):
    (here / "runs.csv").write_text("change,toxicity,step_ms\n" + "".join(f"base,{v},{v}\n" for _, v in BASE))
    assert "--lower or --higher" in refused_by_verb("keep", "runs.csv", "--metric", "toxicity")
    assert "session none" in refused_by_verb("keep", "runs.csv", "--metric", "step_ms", "--lower")
    assert judged(capsys, "runs.csv", "--metric", "step_ms", "--lower", "--session", "none")["answer"] == "run"


def test_the_example_s_loop_which_the_page_shows_keeps_the_gain_and_drops_what_has_no_effect(here):
    shutil.copytree(ROOT / "examples/keep", here, dirs_exist_ok=True)
    # Its line is not in the program: the loop goes on without it.
    (here / "changes/c.patch").write_text((here / "changes/faster.patch").read_text().replace("0.1", "0.2"))
    names = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = os.environ | names | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in (["git", "init", "-q"], ["git", "add", "."], ["git", "commit", "-qm", "base"], ["bash", "loop.sh"]):
        done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert "keep changes/faster.patch: " in done.stdout and "drop changes/another-start.patch: " in done.stdout
    log = subprocess.run(["git", "log", "--format=%s"], env=env, capture_output=True, text=True).stdout
    assert log.split() == ["changes/faster.patch", "base"]
    # The page has the script below its first comment.
    _, _, loop = (ROOT / "examples/keep/loop.sh").read_text("utf-8").split("\n", 2)
    assert f"```sh\n{loop}```" in (ROOT / "docs/keep.md").read_text("utf-8")


# Whether new runs pass


@pytest.mark.parametrize(("further", "worse"), [(3, None), (1, "higher"), (3, "lower")])
def test_of_unchanged_runs_the_level_fails(further, worse):
    rng = np.random.Generator(np.random.Philox(11))
    values = rng.normal(3, 0.1, (2500, 4 + further))
    fails = [not gate_runs(one[:4], one[4:], "loss", level=0.1, worse=worse)["passes"] for one in values]
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
    bound = gate_runs(reference, np.array([3.2]), "loss", worse="higher")["high"]
    for value, passes in ((bound - 1e-6, True), (bound + 1e-6, False)):
        found = gate_runs(reference, np.array([value]), "loss", worse="higher")
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
def test_times_of_runs_are_gated_only_if_each_run_is_said_to_have_a_session_of_its_own(
    words, refused_by_verb, printed_by_verb
):
    Path("reference.csv").write_text("step_ms\n3.1\n3.2\n3.3\n3.2\n")
    Path("new.csv").write_text("step_ms\n3.21\n3.23\n3.24\n")
    words = ("gate", "--metric", "step_ms", "--reference", "reference.csv", "--new", "new.csv", *words)
    line = refused_by_verb(*words)
    assert "step_ms" in line and "session none" in line
    assert "--session: found host; none" in refused_by_verb(*words, "--session", "host")
    assert printed_by_verb(*words, "--session", "none").startswith("pass: step_ms 3.2")


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
