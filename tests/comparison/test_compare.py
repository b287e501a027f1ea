"""`toolnoise compare` as a person runs it: on cells of a study, and on files that another program wrote."""

import itertools
import json

import numpy as np
import pytest

CELL = "results/small/predictions/smallcnn/digits/cpu"


@pytest.fixture
def study(small_study, monkeypatch):
    """The folder of the small study, which is the current one."""
    monkeypatch.chdir(small_study)
    return small_study


def test_two_cells_are_compared_by_the_labels_of_their_study(study, toolnoise, printed_by_verb):
    done = toolnoise(study, "compare", f"{CELL}/algo_impl.npy", f"{CELL}/impl.npy")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    about = [f"A: {CELL}/algo_impl.npy, 2 runs", f"B: {CELL}/impl.npy, 2 runs of 1 draw", "500 examples"]
    place = lines.index(about[0])
    assert lines[place : place + 3] == about
    found = json.loads(printed_by_verb("compare", f"{CELL}/algo_impl.npy", f"{CELL}/impl.npy", "--json"))
    logits, labels = (np.load(study / f"{CELL}/impl.npy"), np.load(study / "results/small/data/digits.npz"))
    accuracy = (logits.argmax(axis=2) == labels["test_labels"]).mean()
    assert found["b"]["accuracy_mean"]["value"] == pytest.approx(accuracy)
    assert found["verdict"] == " ".join([lines[0], *lines[lines.index("", 2) + 1 : place]])


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(["algo_impl", "impl", "control"], 2)))
@pytest.mark.usefixtures("study")
def test_variants_of_a_study_are_paired_or_one_draw(printed_by_verb, one, other):
    found = json.loads(printed_by_verb("compare", f"{CELL}/{one}.npy", f"{CELL}/{other}.npy", "--json"))
    assert found["way"] == "one draw"
    assert found["pvalue"] is None
    if found["accuracy_difference"]["value"]:
        assert found["verdict"].startswith("No winner: ")
        assert "one draw of init, shuffle and augment, and luck cannot be ruled out. " in found["verdict"]


@pytest.mark.usefixtures("study")
def test_control_runs_answer_alike(printed_by_verb):
    found = json.loads(printed_by_verb("compare", f"{CELL}/control.npy", f"{CELL}/control.npy", "--json"))
    assert (found["verdict"], found["same_draw"]["churn"]["value"]) == ("Both have the same accuracy.", 0)


def test_a_method_may_have_one_file_a_run_and_more_than_two_methods_are_compared(
    here, printed_by_verb, refused_by_verb
):
    rng = np.random.Generator(np.random.Philox(1))
    labels = rng.integers(0, 3, 200)
    np.save(here / "y.npy", labels)
    for name, strength in (("a", 1), ("b", 3), ("c", 1)):
        (here / name).mkdir()
        for run in range(4):
            np.save(here / name / f"{run}.npy", rng.normal(size=(200, 3)) + strength * np.eye(3)[labels])
    patterns = ["a/*.npy", "b", "c/[0-9].npy"]
    said = printed_by_verb("compare", "--labels", "y.npy", *patterns, "--paired", "--json")
    first, second = json.loads(said)["comparisons"]
    assert first["verdict"].startswith("B is better than A: ") and "paired t over 4 draws" in first["verdict"]
    assert "better" not in second["verdict"]
    # As a shell makes of patterns: unquoted they are refused, with --arm they are arms.
    files = {name: [f"{name}/{run}.npy" for run in range(4)] for name in "abc"}
    arms = [part for each in files.values() for part in ("--arm", *each)]
    again = printed_by_verb("compare", "--labels", "y.npy", *arms, "--paired", "--json")
    for one, other in zip(json.loads(again)["comparisons"], (first, second), strict=True):
        assert one["accuracy_difference"] == other["accuracy_difference"]
    said = refused_by_verb("compare", "--labels", "y.npy", *files["a"], *files["b"])
    assert said.startswith("toolnoise: command line: ARMS: found 8 methods of one run each; quote the pattern")
    assert "two or more arms" in refused_by_verb("compare", "--labels", "y.npy", "a")
    assert "found both ARMS and --arm" in refused_by_verb("compare", "a", "--arm", "b", "--arm", "c")
