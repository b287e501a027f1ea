"""Files of predictions as NumPy, pandas, trackers and spreadsheets write them: what is read, said and refused."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from toolnoise.base import arrays, files
from toolnoise.base.noise_sources import DRAWN
from toolnoise.comparison import arms, label_files
from toolnoise.comparison.arms import PREDICTIONS, RIGHTS
from toolnoise.comparison.label_files import Truth
from toolnoise.formulas.accuracy import cross_entropies
from toolnoise.formulas.outcomes import TOKENS

N, S, C = 400, 5, 5
DRAW = np.random.Generator(np.random.Philox(27))
TRUTH = DRAW.permutation(np.arange(N) % C)


def accuracies_in(said):
    """The accuracies of both arms, rounded to the uncertainty of their difference."""
    return [float(number) for number in said.split("accuracy %")[1].split()[:2]]


def answers(right, runs):
    """Predicted classes, [S, N], of which so many in all are right."""
    found = np.repeat(TRUTH[np.newaxis], runs, axis=0)
    wrong = DRAW.permutation(found.size)[right:]
    found.ravel()[wrong] = (found.ravel()[wrong] + DRAW.integers(1, C, len(wrong))) % C
    return found


RUNS = answers(1711, S)
BETTER = answers(1800, S)
RIGHT = answers(1320, S) == TRUTH
SEEDS = [f"seed{run}" for run in range(S)]
LABELS = Truth("y.npy", TRUTH, N)


@pytest.fixture
def refusal(refused):
    """The line with which a file is refused."""
    return lambda name, labels=LABELS: refused(read, name, labels)


@pytest.fixture
def write(here):
    """Write an array, a table, or a text to a file here; its name."""

    def save(value, name="a.csv", **how):
        if isinstance(value, np.ndarray):
            np.save(name, value)
        elif isinstance(value, pd.DataFrame):
            value.to_csv(name, **{"index": False} | how)
        else:
            (here / name).write_bytes(value if isinstance(value, bytes) else value.encode())
        return name

    return save


def read(name, labels=LABELS):
    return arms.read_file(name, PREDICTIONS, labels)


def table(runs=RUNS, names=SEEDS):
    return pd.DataFrame(runs.T, columns=names)


def long(runs=RUNS, **names):
    """A line for each run and example, in any order."""
    run, example, pred, label = (names.get(name, name) for name in ("run", "example", "pred", "label"))
    columns = {run: np.repeat(np.arange(S), N), example: np.tile(np.arange(N), S)}
    lines = pd.DataFrame(columns | {pred: runs.ravel(), label: np.tile(TRUTH, S)})
    return lines.sample(frac=1, random_state=1)


# The five ways in which compare gave a wrong answer without a word.


def test_of_id_pred_and_label_pred_is_read_and_label_is_the_label(write, printed_by_verb, refused_by_verb):
    one, other = answers(324, 1)[0], answers(352, 1)[0]
    for name, run in (("a.csv", one), ("b.csv", other)):
        write(pd.DataFrame({"id": np.arange(N), "pred": run, "label": TRUTH}), name)
    said = printed_by_verb("compare", "a.csv", "b.csv")
    assert "A: read the column pred as 1 run of 400 predicted classes; labels: the column label.\n" in said
    assert accuracies_in(said) == pytest.approx([81, 88], abs=0.0501)
    write(TRUTH, "y.npy")
    assert printed_by_verb("compare", "a.csv", "b.csv", "--labels", "y.npy") == said
    write(np.roll(TRUTH, 1), "y.npy")
    line = refused_by_verb("compare", "a.csv", "b.csv", "--labels", "y.npy")
    assert "a.csv: found other labels in it than in y.npy; the same labels" in line


def test_right_and_wrong_by_seed_are_accuracies_where_a_name_says_so(write, printed_by_verb):
    ones = [f"correct_seed{run}" for run in range(S)]
    better = answers(1500, S)
    write(table(RIGHT.astype(int), ones))
    write(table(better), "b.csv")
    write(TRUTH, "y.npy")
    said = printed_by_verb("compare", "a.csv", "b.csv", "--labels", "y.npy")
    assert "A: read 5 columns correct_seed0 to correct_seed4 as 5 runs of 400 right or wrong answers (churn cou" in said
    assert accuracies_in(said) == pytest.approx([66, 75], abs=0.0501)
    # Both arms then say only what is right, so a flip is a change of that.
    found = json.loads(printed_by_verb("compare", "a.csv", "b.csv", "--labels", "y.npy", "--json"))
    good = np.mean([(~one & other).mean() for one in RIGHT for other in better == TRUTH])
    bad = np.mean([(one & ~other).mean() for one in RIGHT for other in better == TRUTH])
    changes = {name: part["value"] for name, part in found["other_draws"].items()}
    assert changes == pytest.approx({"churn": good + bad, "good_flips": good, "bad_flips": bad})
    # Such files need no labels; True and False can be nothing else then.
    write(table(better == TRUTH), "b.csv")
    alone = printed_by_verb("compare", "a.csv", "b.csv")
    assert accuracies_in(alone) == pytest.approx([66, 75], abs=0.0501)


@pytest.mark.parametrize(("values", "found"), [(RIGHT.astype(int), "0 and 1"), (RIGHT, "True and False")])
def test_right_and_wrong_without_that_name_are_refused_against_classes(write, values, found, refusal):
    line = f"found only {found}, with labels of 5 classes: right and wrong, or classes; name it correct (correct_0, ..."
    assert line in refusal(write(table(values)))
    assert line in refusal(write(values, "a.npy"))
    assert line in refusal(write(values.T.copy(), "a.npy"))
    for resolved in (write(values, "a_correct.npy"), write(table(values), "correct.csv")):
        assert read(resolved).kind == RIGHTS
        np.testing.assert_array_equal(read(resolved).answers, RIGHT)


def test_a_weak_model_that_predicts_two_classes_is_read_where_a_name_says_pred(write, refusal):
    np.testing.assert_array_equal(read(write(RIGHT.astype(int), "a_pred.npy")).answers, RIGHT)
    assert read(write(pd.DataFrame({"pred": RIGHT[0].astype(int)}))).kind != RIGHTS
    assert read(write(np.zeros(N, int), "a.npy")).kind != RIGHTS
    assert "found only True and False" in refusal(write(pd.DataFrame({"pred": RIGHT[0]})))


def test_labels_that_no_run_ever_predicts_are_refused(write, refusal):
    line = "a.csv: found classes 0 to 4 for labels 1 to 5 of y.npy; classes counted from the same number"
    assert refusal(write(table()), Truth("y.npy", TRUTH + 1, N)) == line


# Names


@pytest.mark.parametrize(
    "names",
    [
        {"run": "Seed", "example": "Question_ID", "pred": "Prediction", "label": "Target"},
        {"run": "replicate", "example": "sample_id", "pred": "y_pred", "label": "Ground Truth"},
    ],
)
@pytest.mark.parametrize(
    "how", [{}, {"index": True}, {"sep": ";"}, {"sep": "\t", "lineterminator": "\r\n"}, {"quoting": 1}]
)
def test_a_line_for_each_run_and_example_is_read_by_names(write, names, how):
    name = write(long(**names), **how)
    found = read(name)
    np.testing.assert_array_equal(found.answers, RUNS)
    assert found.notes[0] == (
        f"read the column {names['pred']} by {names['run']} as 5 runs of 400 predicted classes;"
        f" labels: the column {names['label']}"
    )
    np.testing.assert_array_equal(arms.labels_of([name]).answers, TRUTH)


def test_scores_and_rights_may_have_a_line_for_each_run_and_example(write):
    lines = long()
    scores = np.eye(C)[RUNS.ravel()] * 0.5 + 0.1
    for place in (3, 1, 0, 4, 2):
        lines[f"prob_{place}"] = scores[lines.index, place]
    found = read(write(lines.drop(columns="pred")))
    np.testing.assert_array_equal(found.answers, RUNS)
    assert "by run as 5 runs of 400 x 5 scores" in found.notes[0]
    lines["correct"] = lines["pred"] == lines["label"]
    found = read(write(lines[["run", "example", "correct"]]))
    np.testing.assert_array_equal(found.answers, RUNS == TRUTH)
    assert found.kind == RIGHTS
    # With both, the classes are read.
    found = read(write(lines))
    np.testing.assert_array_equal(found.answers, RUNS)
    assert found.notes[0].endswith("not read: prob_3, prob_1, prob_0, prob_4, prob_2, correct")


@pytest.mark.parametrize(
    ("names", "how"),
    [
        (SEEDS, {"index": True}),
        ([" run 1", "run 2 ", "RUN-3", "Run_4", "run5"], {}),
        ([f"resnet/seed{run}/prediction" for run in range(S)], {}),
        (range(S), {}),
    ],
)
def test_columns_of_runs_are_known_by_many_names(write, names, how):
    found = read(write(table(names=names), **how))
    np.testing.assert_array_equal(found.answers, RUNS)
    assert "as 5 runs of 400 predicted classes" in found.notes[0]


def test_columns_are_read_in_the_order_of_their_numbers(write):
    """Many programs sort names as texts: prob_10 stands before prob_2."""
    classes = Truth("y.npy", np.arange(N) % 12, N)
    scores = DRAW.random((N, 12))
    for prefix in ("prob_", "c"):
        name = write(table(scores.T, [f"{prefix}{place}" for place in range(12)]).sort_index(axis=1))
        np.testing.assert_array_equal(read(name, classes).answers[0], scores.argmax(axis=1))
    runs = answers(2000, 12)
    name = write(table(runs, [f"seed{run}" for run in range(12)]).sort_index(axis=1))
    np.testing.assert_array_equal(read(name).answers, runs)
    assert read(name).numbers == list(range(12))


ANIMALS = "cat,dog,cow,hen,fox"
ONE_HOT = np.eye(C, dtype=int)[TRUTH]
OPEN = "of whole numbers: predicted classes, a run in each, or scores"


@pytest.mark.parametrize(
    ("first", "values", "line"),
    [
        (ANIMALS, RUNS.T, f"found 5 columns cat to fox {OPEN}"),
        ("pred_0,pred_1,pred_2,pred_3,pred_4", ONE_HOT, f"found 5 columns {OPEN}"),
        ("", ONE_HOT, f"found 5 columns {OPEN}"),
        ("id,label", np.stack([range(N), TRUTH], 1), "found no predictions among the columns id, label; predictions"),
        ("", np.stack([range(N), RUNS[0], TRUTH], 1), "found 3 columns without names, one of which counts the lines"),
        ("pred,prediction", RUNS[:2].T, "found 2 columns of predictions: pred, prediction; one of them, or a column a"),
        ("prob_seed0,prob_seed1", RUNS[:2].T / 7, "found one score of each run: prob_seed0, prob_seed1; predicted"),
        ("seed0,seed1", RUNS[:2].T / 2, "found fractions in seed0, a column of a run; predicted classes; scores in"),
        ("run,a,b", np.stack([TRUTH * 0, *RUNS[:2]], 1), "found 2 columns a to b of whole numbers beside run: scores,"),
        ("correct_0,correct_1", RUNS[:2].T, "found more than right and wrong in what is named correct; 0 and 1, or"),
        ("pred,label,target", np.stack([TRUTH, TRUTH, TRUTH % 3], 1), "target: differs from label; one column of"),
        ("id,pred", np.stack([TRUTH, TRUTH], 1), "id: differs between runs, or repeats within one; each example once"),
        ("score", RUNS[:1].T, "found scores of 1 class; a score of each class, 2 or more"),
    ],
)
def test_what_names_and_values_leave_open_is_refused_with_both_readings(write, first, values, line, refusal):
    lines = [first] * bool(first) + [",".join(map(str, row)) for row in values]
    assert refusal(write("\n".join(lines))).startswith(f"a.csv: {line}")


# Texts, and what programs leave around numbers

NAMES = np.array(["cat", "dog, big", "golden retriever", "cow", "hen"])


def test_classes_may_be_texts(write, printed_by_verb, refusal):
    for name, runs in (("a.csv", RUNS), ("b.csv", BETTER)):
        texts = NAMES[runs]
        # Each file has a class that no label has, and not the same.
        texts[:, 0] = name
        write(table(texts), name)
    write(pd.DataFrame({"label": NAMES[TRUTH]}), "y.csv")
    found = json.loads(printed_by_verb("compare", "a.csv", "b.csv", "--labels", "y.csv", "--json"))
    expected = [(np.delete(runs, 0, 1) == np.delete(TRUTH, 0)).mean() * 399 / 400 for runs in (RUNS, BETTER)]
    assert [found[arm]["accuracy_mean"]["value"] for arm in "ab"] == pytest.approx(expected)
    labels = label_files.read_labels("y.csv")
    one, other = (arms.read_file(name, PREDICTIONS, labels).answers for name in ("a.csv", "b.csv"))
    assert (one[:, 0] != other[:, 0]).all()
    write(pd.DataFrame({"pred": NAMES[RUNS[0]]}), "c.csv")
    assert refusal("c.csv").startswith("c.csv: found the class ")
    assert "and texts as labels in y.csv; texts in both, or numbers" in refusal(write(table(), "d.csv"), labels)
    upper = pd.DataFrame({"label": np.char.upper(NAMES[TRUTH])})
    labels = label_files.read_labels(write(upper, "y.csv"))
    assert "for labels such as 'CAT'; classes that are labels" in refusal("c.csv", labels)
    scores = write(DRAW.random((N, C)), "s.npy")
    assert refusal(scores, labels).startswith("y.csv: found texts as labels; whole numbers: the places of the classes")


@pytest.mark.usefixtures("write")
def test_what_savetxt_writes_is_read():
    whole = {"fmt": "%d"}
    for how in ({"delimiter": ","}, whole, whole | {"header": " ".join(SEEDS)}, whole | {"delimiter": "\t"}):
        np.savetxt("a.csv", RUNS.T, **how)
        np.testing.assert_array_equal(read("a.csv").answers, RUNS)
        np.savetxt("a.csv", RUNS, **{name: value for name, value in how.items() if name != "header"})
        np.testing.assert_array_equal(read("a.csv").answers, RUNS)
    np.savetxt("y.csv", TRUTH, header="label")
    np.testing.assert_array_equal(label_files.read_labels("y.csv").answers, TRUTH)


def test_a_square_of_whole_numbers_is_refused_and_names_decide(write, refusal):
    square = RUNS[:, :5]
    labels = Truth("y.npy", TRUTH[:5], 5)
    line = refusal(write(square, "a.npy"), labels)
    assert "found 5 x 5 whole numbers or booleans: a run in each line, or in each column" in line
    np.testing.assert_array_equal(read(write(table(square)), labels).answers, square)
    np.savez("a.npz", **dict(zip(SEEDS, square, strict=True)))
    np.testing.assert_array_equal(read("a.npz", labels).answers, square)


# Examples


def test_shuffled_examples_are_put_into_order_by_their_names(write, refusal):
    order = DRAW.permutation(N)
    for ids in (np.arange(N), np.arange(1, N + 1), np.array([f"q{at}" for at in range(N)]), np.arange(N) * 7 + 3):
        write(pd.DataFrame({"question_id": ids, "label": TRUTH}), "y.csv")
        labels = label_files.read_labels("y.csv")
        name = write(table().assign(id=ids).iloc[order])
        np.testing.assert_array_equal(read(name, labels).answers, RUNS)
    # The labels' own order counts.
    labels = label_files.read_labels(write(pd.DataFrame({"id": ids, "label": TRUTH}).iloc[order], "y.csv"))
    np.testing.assert_array_equal(read(name, labels).answers, RUNS[:, order])
    name = write(table().assign(id=ids + 1))
    allowed = "the same, once each, by their ids or index, or neither in the file"
    assert refusal(name, labels) == f"a.csv: found other examples than in y.csv; {allowed}"
    # An index says it, too.
    np.testing.assert_array_equal(read(write(table().iloc[order], index=True)).answers, RUNS)
    np.testing.assert_array_equal(read(write(table().set_axis(ids), index=True), labels).answers, RUNS[:, order])


@pytest.mark.parametrize("name", ["", "idx"])
def test_the_index_of_a_shuffled_split_identifies_examples(write, refused, name):
    kept, order = DRAW.permutation(9000)[:N], DRAW.permutation(N)
    write(pd.DataFrame({"label": TRUTH}, index=pd.Index(kept, name=name)), "y.csv", index=True)
    labels = label_files.read_labels("y.csv")
    runs = table().set_axis(pd.Index(kept, name=name))
    for lines in (runs, runs.iloc[order]):
        np.testing.assert_array_equal(read(write(lines, index=True), labels).answers, RUNS)
    # One that counts lines is no other.
    np.testing.assert_array_equal(read(write(table(), index=True), labels).answers, RUNS)
    # Without labels that have it, two arms must have one order.
    both = [read(write(lines, f"{place}.csv", index=True)) for place, lines in enumerate((runs, runs.iloc[order]))]
    assert "1.csv: found other examples than in 0.csv" in refused(arms.require_comparable, both)


@pytest.mark.usefixtures("write")
@pytest.mark.parametrize(("name", "ids"), [("ids", np.arange(N)), ("sample_id", np.arange(N) * 7 + 3)])
def test_ids_in_an_archive_put_examples_into_order(refusal, name, ids):
    order = DRAW.permutation(N)
    np.savez("a.npz", predictions=RUNS[0][order], **{name: ids[order]})
    np.savez("y.npz", labels=TRUTH[::-1], **{name: ids[::-1]})
    labels = label_files.read_labels("y.npz")
    assert (read("a.npz", labels).answers == labels.answers).mean() == (RUNS[0] == TRUTH).mean()
    # Places are those among labels without ids.
    np.testing.assert_array_equal(read("a.npz").answers, [RUNS[0] if name == "ids" else RUNS[0][order]])
    np.savez("a.npz", predictions=RUNS[0], **{name: np.zeros(N)})
    assert refusal("a.npz") == f"a.npz: {name}: differs between runs, or repeats within one; each example once"
    many = Truth("y.npy", np.tile(TRUTH[:, None], 3).ravel(), 3 * N, shape=(N, 3), outcome=TOKENS)
    np.savez("a.npz", predictions=np.tile(TRUTH[order][:, None], 3), ids=order)
    np.testing.assert_array_equal(read("a.npz", many).answers, [many.answers])


# Archives, and arms of several files


@pytest.mark.usefixtures("write")
def test_arrays_of_an_archive_are_known_by_name(refusal):
    np.savez("a.npz", **dict(zip(SEEDS, RUNS, strict=True)), labels=TRUTH)
    found = read("a.npz")
    np.testing.assert_array_equal(found.answers, RUNS)
    assert found.notes == ("read 5 arrays seed0 to seed4 as 5 runs of 400 predicted classes",)
    np.testing.assert_array_equal(arms.labels_of(["a.npz"]).answers, TRUTH)
    assert refusal("a.npz", Truth("y.npy", TRUTH[::-1], N)).startswith("a.npz: found other labels in it than in y.npy")
    np.savez("b.npz", **{SEEDS[run]: RUNS[run] for run in (2, 0, 3, 1, 4)})
    np.testing.assert_array_equal(read("b.npz").answers, RUNS)
    assert read("b.npz").numbers == list(range(S))
    np.savez("b.npz", correct=RIGHT.T)
    assert read("b.npz").kind == RIGHTS
    np.savez("b.npz", predictions=RIGHT.astype(int))
    assert read("b.npz").kind != RIGHTS


def test_a_folder_of_rights_needs_no_labels_and_classes_beside_them_are_refused(write, refused, tmp_path):
    for run, right in enumerate(RIGHT):
        write(right, f"run{run}.npy")
    labels = arms.labels_of([str(tmp_path)])
    assert labels.answers is None
    found = arms.read_arm([str(tmp_path)], PREDICTIONS, labels)
    np.testing.assert_array_equal(found.answers, RIGHT)
    said = "read 400 values as 1 run of 400 right or wrong answers"
    assert found.notes == [f"{said} (churn counts changes between right and wrong)"]
    write(RUNS[0], "run5.npy")
    line = "run5.npy: found classes, and no labels; labels in a file of their own: the first one has"
    assert line in refused(arms.read_arm, [str(tmp_path)], PREDICTIONS, labels)
    for run, right in enumerate(RIGHT):
        write(right, f"run{run}_correct.npy")
        (tmp_path / f"run{run}.npy").unlink()
    line = "run5.npy: found classes beside right and wrong answers; one of them in all files of an arm"
    assert line in refused(arms.read_arm, [str(tmp_path)], PREDICTIONS, LABELS)


def test_names_of_columns_cannot_command_a_terminal(write):
    name = write(table(names=[f"seed{run}\x1b[2J" for run in range(S)]))
    assert "5 columns seed0" in read(name).notes[0]
    assert "\x1b" not in read(name).notes[0]


# Arrays, archives, dumps of a study, and hostile files


FIVE = np.array([0, 1, 2, 1, 0])
LOGITS = np.random.Generator(np.random.Philox(1)).normal(size=(3, 5, 3)).astype(np.float32)
CLASSES = LOGITS.argmax(axis=2)
# The index of a dump.
ABOUT = {"spec": {"study_seed": 0}, "draws": dict.fromkeys(DRAWN), "seeds": [1, 2, 3], "shape": [3, 5, 3]}


def read_five(path):
    return arms.read_file(path, PREDICTIONS, Truth("y.npy", FIVE, len(FIVE)))


@pytest.mark.parametrize(
    ("value", "predicted"),
    [
        (CLASSES[0], CLASSES[:1]),
        (CLASSES, CLASSES),
        (CLASSES.astype(np.uint8), CLASSES),
        (CLASSES.astype(float), CLASSES),
        (CLASSES[0][:, np.newaxis], CLASSES[:1]),
        (LOGITS[0], CLASSES[:1]),
        (LOGITS, CLASSES),
        (np.asfortranarray(LOGITS.astype(">f8")), CLASSES),
        (np.ones((5, 5)) * [0, 0, 0.5, 0, 0], [[2] * 5]),  # as many classes as examples: others are scores
    ],
)
def test_the_shape_says_what_an_array_holds(write, value, predicted):
    np.testing.assert_array_equal(read_five(write(value, "a.npy")).answers, predicted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_probabilities_have_the_cross_entropies_of_their_logits(write, dtype):
    found = read_five(write((np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)).astype(dtype), "a.npy"))
    np.testing.assert_allclose(found.entropies, cross_entropies(LOGITS, FIVE), rtol=0.002)
    np.testing.assert_array_equal(found.answers, CLASSES)


def test_what_is_taken_for_logits_or_not_is_said(write):
    softmax = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)
    assert read_five(write(LOGITS, "a.npy")).notes == ("read 3 x 5 x 3 values as 3 runs of 5 x 3 scores",)
    assert "of probabilities as they are" in read_five(write(softmax, "a.npy")).notes[1]
    for bad in (1 / (1 + np.exp(-LOGITS)), 100 * softmax, np.concatenate([softmax[:1], softmax[1:] * 0.9])):
        found = read_five(write(bad, "a.npy"))
        assert found.entropies is None
        assert "neither logits nor probabilities" in found.notes[1]
        np.testing.assert_array_equal(found.answers, bad.argmax(axis=2))


def test_npz_has_one_stack_or_an_array_a_run(tmp_path, refused):
    path = str(tmp_path / "a.npz")
    for content in (
        {"anything": LOGITS},
        {"logits": LOGITS, "labels": FIVE, "more": np.zeros(3)},
        {f"seed{run}": LOGITS[run] for run in range(3)},
    ):
        np.savez(path, **content)
        np.testing.assert_array_equal(read_five(path).answers, CLASSES)
        np.testing.assert_allclose(read_five(path).entropies, cross_entropies(LOGITS, FIVE), rtol=1e-12)
    np.savez_compressed(path, one=CLASSES[0], other=CLASSES[1])
    np.testing.assert_array_equal(read_five(path).answers, CLASSES[:2])
    for bad in ({"a": LOGITS[0], "b": LOGITS[0, :4]}, {"a": LOGITS, "b": LOGITS}, {"logits": LOGITS, "scores": LOGITS}):
        np.savez(path, **bad)
        names = "logits or probabilities or predictions or scores or correct"
        assert f"one array named {names}, or an array of one shape for each run" in refused(read_five, path)


def test_a_name_in_an_npz_must_be_true(tmp_path, refused):
    path = str(tmp_path / "a.npz")
    softmax = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)
    np.savez(path, logits=softmax)
    assert refused(read_five, path) == f"{path}: logits: found probabilities; logits"
    np.savez(path, probabilities=LOGITS)
    assert refused(read_five, path) == f"{path}: probabilities: found logits; probabilities"


def changed(place, value):
    array = LOGITS.copy()
    array[place] = value
    return array


class Harmful:
    """Writes a file if it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


BAD = {
    "too few examples": (LOGITS[:, :4], "found shape (3, 4, 3) for the 5 labels of y.npy; 5 or run x 5 classes, or"),
    "four dimensions": (LOGITS[np.newaxis], "found float32 of shape (1, 3, 5, 3); numbers in 1 to 3"),
    "not a number": (changed((1, 2, 0), np.nan), "[1, 2, 0]: found nan; finite numbers"),
    "a fraction of a class": (np.array([0, 1, 0.5, 1, 0]), "[0, 2]: found 0.5; expected a class: 0, 1, ..."),
    "a class beyond all numbers": (np.array([0, 1, 1e300, 1, 0]), "[0, 2]: found 1e+300; expected a class"),
    "one class": (LOGITS[..., :1], "found scores of 1 class; a score of each class, 2 or more"),
    "text": (np.array(["a"] * 5), "found <U1 of shape (5,); numbers in 1 to 3 dimensions"),
    "a pickle": (pickle.dumps(LOGITS), "not a NumPy array; a .npy file that numpy.save wrote, or CSV"),
    "only its magic": (b"\x93NUMPY", "damaged or truncated ("),
}


@pytest.mark.parametrize(("value", "line"), BAD.values(), ids=BAD)
def test_a_bad_array_is_refused_in_one_line(write, refused, value, line):
    path = write(value, "a.npy")
    assert refused(read_five, path).startswith(f"{path}: {line}")


BAD_CSV = {
    "empty": ("", "found nothing; predictions in CSV"),
    "words": ("1\n2\nx\n1\n0", "found the class 'x', and numbers as labels in y.npy; texts in both, or numbers"),
    "an empty prediction": ("id,pred,note\n0,1,\n1,,\n2,2,x", "row 2, column pred: found nothing; a value"),
    "nan": ("1\n2\nnan\n1\n0", "row 3, column 1: found nan; finite numbers"),
    "binary": (b"\xff\xfe" * 9, "damaged or truncated ("),
    "runs of unequal length": ("run,a\n1,0\n1,1\n2,0\n", "run: 1 examples in run 2, 2 in run 1; the same examples in"),
    "an example twice": ("run,example,a\n1,0,0\n1,0,1\n2,0,0\n2,1,0", "example: differs between runs, or repeats"),
    "zeros of a lost end": ("pred\n1\n" + "\0" * 99, "damaged (a zero byte); CSV"),
}


@pytest.mark.parametrize(("text", "line"), BAD_CSV.values(), ids=BAD_CSV)
def test_bad_csv_is_refused_in_one_line(write, refused, text, line):
    path = write(text, "a.csv")
    assert refused(read_five, path).startswith(f"{path}: {line}")


@pytest.mark.parametrize("name", ["a.npy", "a.csv"])
def test_what_is_not_there_or_no_file_is_refused_in_one_line(tmp_path, refused, name):
    assert "no such file" in refused(read_five, str(tmp_path / name))
    assert "a folder is in the way" in refused(read_five, str(tmp_path))


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.pkl"])
def test_nothing_is_ever_unpickled(write, refused, tmp_path, name):
    harm = tmp_path / "harm"
    np.save(tmp_path / "objects.npy", np.array([Harmful(harm)]), allow_pickle=True)
    for content in (pickle.dumps(Harmful(harm)), (tmp_path / "objects.npy").read_bytes()):
        refused(read_five, write(content, name))
    assert not harm.exists()


def test_two_files_must_answer_the_same_question(write, refused):
    three = read_five(write(LOGITS, "a.npy"))
    four = read_five(write(np.pad(LOGITS, ((0, 0), (0, 0), (0, 1))), "b.npy"))
    assert "found 4 classes; the 3 of " in refused(arms.require_comparable, [three, four])
    beyond = read_five(write(np.array([0, 1, 7, 1, 0]), "c.npy"))
    for pair in ((three, beyond), (beyond, three)):
        assert "found class 7; the 3 of " in refused(arms.require_comparable, pair)
    arms.require_comparable([three, read_five(write(CLASSES, "d.npy"))])


def test_diverged_runs_of_a_dump_are_left_out_and_counted(tmp_path):
    stack = LOGITS.copy()
    stack[1] = np.nan
    arrays.write_npy(tmp_path / "algo.npy", stack)
    index = ABOUT | {"draws": dict.fromkeys(DRAWN) | {"init": [1, 2, 3]}, "diverged": [False, True, False]}
    files.write_json(tmp_path / "algo.json", index)
    found = read_five(str(tmp_path / "algo.npy"))
    assert (len(found.answers), found.missing) == (2, 1)
    np.testing.assert_array_equal(found.answers, CLASSES[[0, 2]])
    assert found.drawn == [dict.fromkeys(DRAWN) | {"init": (0, seed)} for seed in (1, 3)]


def test_a_dump_may_have_classes(tmp_path, refused):
    """Those of a training program that leaves no scores, also as many runs as examples."""
    for runs in (3, 5):
        classes = np.resize(CLASSES, (runs, 5))
        arrays.write_npy(tmp_path / "algo.npy", classes)
        seeds = list(range(1, runs + 1))
        index = ABOUT | {"draws": dict.fromkeys(DRAWN) | {"init": seeds}, "seeds": seeds, "outcome": "classes"}
        files.write_json(tmp_path / "algo.json", index | {"diverged": [False] * runs, "shape": [runs, 5]})
        found = read_five(str(tmp_path / "algo.npy"))
        np.testing.assert_array_equal(found.answers, classes)
        assert (found.notes, found.entropies, len(found.drawn)) == ((), None, runs)
    fewer = Truth("y.npy", FIVE[:4], 4)
    assert "found shape (5, 5) for the 4 labels" in refused(
        arms.read_file, str(tmp_path / "algo.npy"), PREDICTIONS, fewer
    )


def test_only_dumps_of_a_study_have_labels_of_their_own(write, refused, tmp_path):
    study = tmp_path / "results/s"
    arrays.write_npy(study / "predictions/m/digits/cpu/algo.npy", LOGITS)
    index = ABOUT | {"diverged": [False] * 3}
    files.write_json(study / "predictions/m/digits/cpu/algo.json", index)
    dump = str(study / "predictions/m/digits/cpu/algo.npy")
    line = f"labels: {dump} is not a dump of a study; a file with the labels"
    assert refused(arms.labels_of, [dump]) == line
    arrays.write_npz(study / "data/digits.npz", {"labels": FIVE})
    found = arms.labels_of([dump])
    assert (found.source, found.answers.tolist()) == (str(study / "data/digits.npz"), FIVE.tolist())
    refused(arms.labels_of, [write(LOGITS, "a.npy")])
    refused(arms.labels_of, ["/a.npy"])
