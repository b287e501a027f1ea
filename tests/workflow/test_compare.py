"""`toolnoise compare` as a person runs it: on cells of a study, and on files that another program wrote."""

import json

import numpy as np
import pytest

CELL = "results/small/predictions/smallcnn/digits/cpu"


def test_two_cells_are_compared_by_the_labels_of_their_study(small_study, toolnoise):
    done = toolnoise(small_study, "compare", f"{CELL}/algo_impl.npy", f"{CELL}/impl.npy")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:3] == [f"A: {CELL}/algo_impl.npy, 2 runs", f"B: {CELL}/impl.npy, 2 runs", "500 examples"]
    found = json.loads(toolnoise(small_study, "compare", f"{CELL}/algo_impl.npy", f"{CELL}/impl.npy", "--json").stdout)
    logits, labels = (np.load(small_study / f"{CELL}/impl.npy"), np.load(small_study / "results/small/data/digits.npz"))
    accuracy = (logits.argmax(axis=2) == labels["test_labels"]).mean()
    assert found["b"]["accuracy_mean"]["value"] == pytest.approx(accuracy)
    assert found["verdict"] == " ".join(lines[-len(lines[lines.index("", 4) + 1 :]) :])


def test_control_runs_answer_alike(small_study, toolnoise):
    done = toolnoise(small_study, "compare", f"{CELL}/control.npy", f"{CELL}/control.npy")
    assert done.stdout.endswith("All runs are equally accurate.\nNo prediction changes if B replaces A.\n")


def test_files_of_another_program_need_no_study(tmp_path, toolnoise):
    rng = np.random.Generator(np.random.Philox(1))
    labels = rng.integers(0, 3, 200)
    np.save(tmp_path / "a.npy", rng.normal(size=(4, 200, 3)) + 2 * np.eye(3)[labels])
    answers = (rng.normal(size=(3, 200, 3)) + 4 * np.eye(3)[labels]).argmax(axis=2)
    np.savetxt(tmp_path / "b.csv", answers, fmt="%d", delimiter=",")
    np.savetxt(tmp_path / "y.csv", labels, fmt="%d", header="label", comments="")
    done = toolnoise(tmp_path, "compare", "a.npy", "b.csv", "--labels", "y.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert "B is more accurate by " in done.stdout


@pytest.mark.parametrize(
    ("what", "line"),
    [
        (np.zeros((4, 7, 3)), "b.npy: found shape (4, 7, 3) for the 9 labels of y.npy; 9 or run x 9 classes, or 9 x "),
        (np.full((2, 9, 3), np.nan), "b.npy: [0, 0, 0]: found nan; finite numbers"),
        (np.zeros((2, 9, 2)), "y.npy: [2]: found 2; 0 to 1, the classes of b.npy"),
        (np.array([None] * 9), "b.npy: damaged or truncated ("),
        (np.array(["cat"] * 9), "b.npy: found <U3 of shape (9,); numbers in 1 to 3 dimensions"),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path, toolnoise, refusal, what, line):
    np.save(tmp_path / "y.npy", np.arange(9) % 3)
    np.save(tmp_path / "a.npy", np.arange(9) % 3)
    np.save(tmp_path / "b.npy", what)
    for order in (("a.npy", "b.npy"), ("b.npy", "a.npy")):
        said = refusal(toolnoise(tmp_path, "compare", *order, "--labels", "y.npy"))
        assert said.startswith(f"toolnoise: {line}")


def test_files_of_ones_own_need_their_labels(tmp_path, toolnoise, refusal):
    np.save(tmp_path / "a.npy", np.arange(9) % 3)
    said = refusal(toolnoise(tmp_path, "compare", "a.npy", "a.npy"))
    assert said == "toolnoise: command line: --labels: a.npy is not a dump of a study; a file with the labels"
