"""`import toolnoise as tn`: what programs call. It is listed, typed, lazy, and says what the command line says.

docs/ten-minutes.md and the notebook in examples/ show what runs; digits may differ between processors.
"""

import dataclasses
import doctest
import hashlib
import importlib.util
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import traceback

import nbformat
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from nbclient import NotebookClient
from scipy import stats
from scripts import loaded

import toolnoise as tn
from toolnoise import cli
from toolnoise.api.values import draw_intervals
from toolnoise.base.program import ROOT

LISTED = ROOT / "docs/tables/api.txt"
LABELS = np.arange(200) % 4


def runs(wrong, seed=0):
    """Classes of several runs, [S, N], of which so large a share is wrong."""
    draw = np.random.default_rng(seed)
    return np.where(draw.random((5, len(LABELS))) < wrong, (LABELS + 1) % 4, LABELS)


A, B = runs(0.2), runs(0.1, seed=1)


def scores(classes):
    draw = np.random.default_rng(7)
    return (np.eye(4)[classes] * 3 + draw.normal(0, 0.1, (*classes.shape, 4))).astype(np.float32)


def said(capsys, *words):
    """What the command line prints."""
    cli.main(list(map(str, words)))
    return capsys.readouterr().out


# What is public


def listed():
    """The public names with their arguments, and what their results have."""
    lines = []
    for name in sorted(set(tn.__all__) - {"__version__"}):
        public = getattr(tn, name)
        lines.append(f"tn.{name}{inspect.signature(public) if inspect.isfunction(public) else ''}")
    for module, name in (("values", "Result"), ("values", "Verdict"), ("study", "StudyResults")):
        kind = getattr(importlib.import_module(f"toolnoise.api.{module}"), name)
        own = [field.name for field in dataclasses.fields(kind)] + [
            f"{method}()" for method, value in vars(kind).items() if inspect.isfunction(value) and method[0] != "_"
        ]
        lines.append(f"{name}: {', '.join(dict.fromkeys(own))}")
    return "".join(f"{line}\n" for line in lines)


def test_what_is_public_is_listed_and_changes_with_a_line_in_the_changelog():
    found = listed()
    head, _, rest = LISTED.read_text().partition("\n\n")
    assert rest == found, "docs/tables/api.txt does not list what is public now"
    digest = hashlib.sha256(found.encode()).hexdigest()[:8]
    assert f"(API {digest})" in (ROOT / "CHANGELOG.md").read_text(), f"no line of the changelog ends in (API {digest})"
    assert head


USED = """
import toolnoise as tn

reveal_type(tn.compare_predictions("a", "b"))
reveal_type(tn.check("python train.py").passed)
tn.plan(sd="a lot")
tn.nothing
"""


def test_programs_that_call_it_are_checked_by_their_types(tmp_path):
    (tmp_path / "used.py").write_text(USED)
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", str(tmp_path)]
    places = [str(tmp_path / "used.py"), str(ROOT / "workflow/toolnoise/api")]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "workflow")}
    command = [sys.executable, "-m", "mypy", *options, *places]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    *found, last = done.stdout.splitlines()
    assert [line.partition(": ")[2] for line in found] == [
        'note: Revealed type is "toolnoise.api.values.Result"',
        'note: Revealed type is "bool"',
        'error: Argument "sd" to "plan" has incompatible type "str"; expected "float | None"  [arg-type]',
        'error: Module has no attribute "nothing"  [attr-defined]',
    ], done.stdout + done.stderr
    assert last.startswith("Found 2 errors in 1 file")


def test_an_import_loads_nothing_that_a_function_needs():
    program = "import sys, toolnoise as tn\n"
    for used, unneeded in (
        ("tn", {"numpy", "pandas", "scipy", "matplotlib"}),
        # A check needs NumPy alone: it runs in the environments of others.
        ("tn.check", {"pandas", "scipy", "matplotlib"}),
        # pandas and Matplotlib come with the first table and the first figure.
        ("tn.churn([[0, 1], [0, 0]])", {"pandas", "matplotlib"}),
    ):
        program += f"{used}; print({unneeded} & set(sys.modules))\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n" * 3


@pytest.mark.parametrize("name", ["compare", "decide", "study"])
def test_the_examples_of_each_function_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(f"toolnoise.api.{name}"))
    assert found.attempted
    assert not found.failed


# Results


def test_a_result_is_frozen_and_shows_itself():
    found = tn.churn(A)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.text = ""
    assert str(found) == repr(found) == found.text
    found.to_dict()["churn"]["value"] = 2
    assert found["churn"]["value"] < 1, "a result's own values stay"


def test_a_result_is_a_table_and_a_figure():
    found = tn.compare_predictions(A, B, labels=LABELS)
    table = found.to_frame()
    (row,) = table[table["quantity"] == "accuracy_difference"].itertuples()
    assert (row.a, row.b) == ("A", "B")
    assert (row.value, row.low, row.high) == tuple(found["accuracy_difference"].values())
    axes = Figure().add_subplot()
    assert found.plot(axes) is axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["B - A"]
    assert axes.get_xlabel() == "difference in accuracy, points (lines: 95 % intervals)"
    (whole, dot, _) = axes.get_lines()
    assert list(whole.get_xdata()) == pytest.approx([100 * row.low, 100 * row.high])
    assert list(dot.get_xdata()) == pytest.approx([100 * row.value])
    with pytest.raises(tn.BadInput, match="found no value"):
        draw_intervals("x", [{"quantity": "a", "value": None, "low": None, "high": None}], None)


@pytest.mark.parametrize(
    "found",
    [
        lambda: tn.compare_predictions(A, B, labels=LABELS),
        lambda: tn.compare_runs(TABLE, metric="accuracy"),
        lambda: tn.churn(A),
        lambda: tn.noise(A, LABELS),
        lambda: tn.plan(sd=np.float32(0.3), gain=np.arange(1, 3)),
    ],
)
def test_a_finding_can_be_pickled_and_is_plain(found):
    found = found()
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.to_frame().equals(found.to_frame())
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_a_figure_without_matplotlib_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(tn.BadInput, match=r"^matplotlib: not installed; pip install matplotlib"):
        tn.compare_runs([1, 2], [3, 5], metric="loss").plot()


def test_an_error_names_arguments_and_the_command_line_options(capsys):
    too_few, of_time = ["compare", "--metric", "f1"], ["keep", "t.csv", "--metric", "step_ms"]
    no_time = ["check", "--limit", "-1", "x"]
    for wrong, of_program, words, of_line in (
        (lambda: tn.plan(sd_runs=3), "sd_runs: given without sd", ["plan", "--sd-runs", "3"], "--sd-runs: "),
        (lambda: tn.compare_runs(metric="f1"), "arms: found 0", too_few, "command line: ARMS: "),
        (lambda: tn.keep("t.csv", metric="step_ms"), "metric: ", of_time, "--metric: "),
        (lambda: tn.check(["--output", "x"], limit=-1), "limit: found -1", no_time, "--limit: found -1"),
    ):
        with pytest.raises(tn.BadInput) as caught:
            wrong()
        assert str(caught.value).startswith(of_program)
        assert len(traceback.extract_tb(caught.value.__traceback__)) == 3, "this test, its function, the public one"
        with pytest.raises(SystemExit):
            cli.main(words)
        assert of_line in capsys.readouterr().err


# Compare


def test_arrays_are_compared_as_their_files_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, array in {"a": A, "b": B, "y": LABELS}.items():
        np.save(f"{name}.npy", array)
    asked = said(capsys, "compare", "a.npy", "b.npy", "--labels", "y.npy", "--json")
    of_files = tn.compare_predictions("a.npy", "b.npy", labels="y.npy")
    assert of_files.to_dict() == json.loads(asked)
    assert f"{of_files}\n" == said(capsys, "compare", "a.npy", "b.npy", "--labels", "y.npy")
    of_arrays, expected = tn.compare_predictions(A, B, labels=LABELS).to_dict(), of_files.to_dict()
    for found in (of_arrays, expected):
        found.pop("notes"), found["a"].pop("file"), found["b"].pop("file")
    assert of_arrays == expected


def test_arms_may_be_scores_lists_texts_and_losses():
    whole = tn.compare_predictions(scores(A), scores(B), labels=LABELS).to_dict()
    assert whole["cross_entropy_difference"]["value"] < 0
    listed_runs = tn.compare_predictions(list(scores(A)), list(scores(B)), labels=LABELS)
    assert listed_runs["accuracy_difference"] == whole["accuracy_difference"]
    names = np.array(["ant", "bee", "cat", "dog"])
    texts = tn.compare_predictions(names[A], names[B], labels=names[LABELS])
    assert texts["accuracy_difference"] == whole["accuracy_difference"]
    rights = tn.compare_predictions(A == LABELS, B == LABELS)
    assert rights["accuracy_difference"] == whole["accuracy_difference"]
    losses = np.random.default_rng(3).gamma(2, size=(2, 3, 6, 10))
    of_tokens = tn.compare_values(losses[0], list(losses[1]), losses=True)
    assert of_tokens["difference"]["value"] == pytest.approx(losses[1].mean() - losses[0].mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("arms", "options", "says"),
    [
        ([A], {"labels": LABELS}, "found 1; two or more arms"),
        ([A, B], {}, "arm A: found classes, and no labels"),
        ([A, B], {"labels": LABELS[:7]}, "for the 7 labels of labels"),
        ([A, B], {"labels": LABELS, "losses": True}, "^labels: .*a loss is no prediction of a label"),
        ([A, B], {"metric": "accuracy"}, r"arm A: found int64 of shape \(5, 200\); with a metric: a path"),
    ],
)
def test_what_cannot_be_compared_is_one_line(arms, options, says):
    functions = {"metric": tn.compare_runs, "losses": tn.compare_values}
    compare = next((functions[name] for name in functions if name in options), tn.compare_predictions)
    with pytest.raises(tn.BadInput, match=says) as caught:
        compare(*arms, **options)
    assert "\n" not in str(caught.value)


TABLE = pd.DataFrame(
    {
        "model": ["base"] * 5 + ["new"] * 5,
        "seed": [*range(5)] * 2,
        "accuracy": [0.90, 0.91, 0.93, 0.92, 0.94, 0.93, 0.93, 0.97, 0.94, 0.95],
        "loss": [0.5, 0.45, 0.4, 0.44, 0.42, 0.41, 0.44, 0.33, 0.4, 0.37],
    }
)


def test_tables_are_files_or_dataframes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("results.csv", index=False)
    of_file = tn.compare_runs("results.csv", metric=["accuracy", "loss"], by="model", seed="seed")
    words = ("compare", "results.csv", "--metric", "accuracy", "loss", "--by", "model", "--seed", "seed")
    assert of_file.to_dict() == json.loads(said(capsys, *words, "--json"))
    assert f"{of_file}\n" == said(capsys, *words)
    of_frame = tn.compare_runs(TABLE, metric=["accuracy", "loss"], by="model", seed="seed")
    assert of_frame["comparisons"] == of_file["comparisons"]
    assert str(of_frame) == str(of_file).replace("results.csv", "arm A")
    base, new = (TABLE[TABLE["model"] == name].drop(columns="model") for name in ("base", "new"))
    expected = stats.ttest_rel(new["accuracy"], base["accuracy"])
    (row, _) = of_frame.to_frame().itertuples()
    assert (row.a, row.b, row.quantity) == ("base", "new", "accuracy")
    assert row.pvalue == pytest.approx(expected.pvalue, abs=1e-12)
    (of_two,) = tn.compare_runs(base, new, metric="accuracy", seed="seed").to_frame().itertuples()
    assert (of_two.a, of_two.b, of_two.pvalue) == ("A", "B", row.pvalue)


def test_numbers_of_runs_are_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    a, b = np.random.default_rng(0).normal([[0.9], [0.95]], 0.02, (2, 6))
    for name, numbers in {"a": a, "b": b}.items():
        (tmp_path / f"{name}.csv").write_text("".join(f"{number!r}\n" for number in numbers.tolist()))
    of_files = json.loads(said(capsys, "compare", "a.csv", "b.csv", "--metric", "accuracy", "--json"))
    expected = stats.ttest_ind(b, a, equal_var=False).pvalue
    for given in ((a, b), (list(a), b.tolist()), (pd.Series(a), pd.DataFrame(b)), ("a.csv", b)):
        (found,) = tn.compare_runs(*given, metric="accuracy")["comparisons"]
        assert found["difference"] == of_files["comparisons"][0]["difference"]
        assert found["pvalue"] == pytest.approx(expected, abs=1e-12)
    seeds = [pd.Series(arm, pd.Index(range(6), name="seed"), name="accuracy") for arm in (a, b)]
    (paired,) = tn.compare_runs(*seeds, metric="accuracy")["comparisons"]
    assert paired["pvalue"] == pytest.approx(stats.ttest_rel(b, a).pvalue, abs=1e-12)
    planned = tn.plan(pilot=a, metric="accuracy", gain=0.02)
    assert planned["sd"]["value"] == pytest.approx(a.std(ddof=1), abs=1e-12)
    with pytest.raises(tn.BadInput, match=r"^pilot: found ndarray; a path, or metric with a table of runs$"):
        tn.plan(pilot=a, gain=0.02)


# Noise


def test_churn_is_the_mean_over_pairs():
    pairs = [(A[i] != A[j]).mean() for i in range(5) for j in range(i)]
    found = tn.churn(A)
    assert found["churn"]["value"] == pytest.approx(np.mean(pairs), abs=1e-15)
    assert (found["runs"], found["examples"]) == (5, 200)
    assert tn.churn(scores(A))["churn"] == tn.churn(list(A))["churn"] == found["churn"]
    assert tn.churn(np.array(["ant", "bee", "cat", "dog"])[A])["churn"] == found["churn"]
    assert tn.churn([A[0]] * 3)["churn"] == {"value": 0.0, "low": None, "high": None}
    with pytest.raises(tn.BadInput, match="found 1 run; two or more"):
        tn.churn(A[0])


@pytest.mark.parametrize(
    ("predictions", "says"),
    [
        (np.zeros((4, 30, 20), int), r"found int64 of shape \(4, 30, 20\); .*, with tokens or pixels in one axis"),
        ([np.linspace(0, 1, 9)] * 3, r"found fractions of shape \(9,\)"),
        ([np.zeros((3, 5), int)] * 2, r"found shape \(3, 5\) in a list of arrays; one run in each"),
        ([np.array(["a", "b", "c"]), np.arange(3)], "found numbers beside texts"),
        ([["a", "b", "c"], [0, 1, 2]], "found list of int and str"),
    ],
)
def test_what_is_no_classes_has_no_churn(predictions, says):
    with pytest.raises(tn.BadInput, match=f"^predictions: {says}") as caught:
        tn.churn(predictions)
    assert "\n" not in str(caught.value)


def test_noise_has_the_spread_and_the_nulls():
    found = tn.noise(scores(A), LABELS)
    right = (A == LABELS).mean(axis=1)
    assert found["accuracy_mean"]["value"] == pytest.approx(right.mean(), abs=1e-12)
    assert found["accuracy_sd"]["value"] == pytest.approx(right.std(ddof=1), abs=1e-12)
    share = np.mean(A == LABELS, axis=0)
    independent = np.sqrt(np.mean(share * (1 - share) * 5 / 4) / len(LABELS))
    assert found["accuracy_sd_independent_null"]["value"] == pytest.approx(independent, rel=1e-9)
    assert found["churn"] == tn.churn(A)["churn"]
    assert found["cross_entropy_mean"]["value"] > 0
    assert set(found["classes"]) == {"0", "1", "2", "3"}
    assert tn.noise(scores(A), LABELS).to_dict() == found.to_dict(), "its bootstrap has a seed"


# Arrays of other libraries: each in a process of its own, since frameworks start threads


MADE = {
    "torch": ("torch.tensor(values, requires_grad=True)", "torch.tensor(values, dtype=torch.bfloat16)"),
    "jax.numpy": ("jax.numpy.asarray(values)", "jax.numpy.asarray(values, jax.numpy.bfloat16)"),
    "tensorflow": ("tensorflow.constant(values)",),
    "polars": ("polars.DataFrame(values)",),
    "pandas": ("pandas.DataFrame(values)", "values"),
}
SAYS = """
from toolnoise.api.values import as_array
import {library}
values = [[0.5, 2.0, -1.0], [4.0, 0.25, 8.0]]
for made in ({made},):
    found = as_array("x", made)
    print(type(found).__name__, found.astype(float).tolist() == values)
"""


@pytest.mark.parametrize("library", MADE)
def test_arrays_of_any_library_are_numpys(library, skip_without):
    skip_without(library.partition(".")[0])
    program = SAYS.format(library=library, made=", ".join(MADE[library]))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "ndarray True\n" * len(MADE[library]), done.stderr


# Check, read


def test_a_program_is_checked_as_by_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import os\nprint('loss', os.getpid())\n")
    words = [sys.executable, "train.py"]
    found = tn.check(words, sources="", metric="loss ([0-9]+)")
    assert not found.passed
    assert str(found).startswith("Not reproducible: two runs with equal seeds differ in loss")
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "--sources", "", "--metric", "loss ([0-9]+)", "--json", "--", *words])
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out).keys() == found.to_dict().keys()


@pytest.mark.parametrize("kind", ["archive", "folder", "study.json"])
def test_the_results_of_a_study_are_read(kind, evidence, capsys):
    folder = evidence("outside-small")
    place = {"archive": ROOT / "evidence/outside-small.tar.xz", "folder": folder, "study.json": folder / "study.json"}[
        kind
    ]
    found = tn.read_results(place)
    assert found.name == "outside-small"
    assert len(found.cells) == len(found["cells"]) == 8
    table = found.metrics()
    assert {"churn", "accuracy_sd"} <= set(table["metric"])
    assert {"stability", "runs"} <= set(found.tables)
    assert f"{found}\n" == said(capsys, "summary", "--study", place)
    with pytest.raises(tn.BadInput, match="no such metric file; one of "):
        found.metrics("growth")


def test_what_is_no_study_is_one_line(tmp_path):
    with pytest.raises(tn.BadInput, match="found no results of a study"):
        tn.read_results(tmp_path)


# The page and the notebook that call it


PAGE = (ROOT / "docs/ten-minutes.md").read_text()
# A number, and the signs and spaces that align a table or lead to it.
NUMBERS = re.compile(r"[-+]?\d[\d,.]*(e[-+]?\d+)?%?")
SPACES = re.compile(r"[ -]{2,}")


@pytest.fixture(scope="module")
def transcripts():
    return loaded(ROOT / "docs/site/transcripts.py")


def without_digits(line):
    """A line without its digits, and without what depends on their width."""
    return SPACES.sub(" ", NUMBERS.sub("#", line)).strip()


@pytest.mark.long
def test_each_line_of_a_transcript_is_printed(transcripts, tmp_path):
    folder = tmp_path / "ten"
    folder.mkdir()
    shown = list(transcripts.transcripts(PAGE, folder))
    assert len(shown) == 5
    for transcript in shown:
        printed = [without_digits(line) for line in transcript.printed.splitlines()]
        expected = [without_digits(line) for line in transcript.block.splitlines() if transcripts.CUT not in line]
        assert [line for line in expected if line not in printed] == []


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    notebook = nbformat.read(ROOT / "examples/noise.ipynb", 4)
    folder = tmp_path_factory.mktemp("notebook")
    return NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()


def shown_by(cell):
    """What a cell shows, by type."""
    return {kind: text for output in cell.outputs for kind, text in output.get("data", {}).items()}


def test_every_finding_is_shown_and_nothing_is_warned_of(executed):
    cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert not [output for cell in cells for output in cell.outputs if output.output_type in ("stream", "error")]
    _, noise, compared, plot, table, planned = map(shown_by, cells)
    assert noise["text/plain"].startswith("5 runs of 597 examples")
    assert "churn" in noise["text/plain"]
    assert "accuracy %" in compared["text/plain"]
    assert plot["image/png"]
    assert "accuracy_difference" in table["text/plain"]
    assert "a gain of 0.5 points" in planned["text/plain"]
