"""Predictions and labels in files from anywhere."""

import pickle

import numpy as np
import pytest

from toolnoise.base import arrays, files
from toolnoise.base.noise_sources import DRAWN
from toolnoise.comparison import arms
from toolnoise.comparison.arms import PREDICTIONS
from toolnoise.comparison.label_files import Truth
from toolnoise.formulas.accuracy import cross_entropies

LABELS = np.array([0, 1, 2, 1, 0])
LOGITS = np.random.Generator(np.random.Philox(1)).normal(size=(3, 5, 3)).astype(np.float32)
CLASSES = LOGITS.argmax(axis=2)
# The index of a dump.
ABOUT = {"spec": {"study_seed": 0}, "draws": dict.fromkeys(DRAWN), "seeds": [1, 2, 3], "shape": [3, 5, 3]}


@pytest.fixture
def saved(tmp_path):
    """Write what is given as .npy or, if it is text or bytes, as it is; its path."""

    def save(value, name="a.npy"):
        path = tmp_path / name
        if isinstance(value, (str, bytes)):
            path.write_bytes(value.encode() if isinstance(value, str) else value)
        else:
            np.save(path, value)
        return str(path)

    return save


def read(path):
    return arms.read_file(path, PREDICTIONS, Truth("y.npy", LABELS, len(LABELS)))


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
def test_the_shape_says_what_an_array_holds(saved, value, predicted):
    np.testing.assert_array_equal(read(saved(value)).answers, predicted)


def test_scores_have_cross_entropies_and_classes_none(saved):
    np.testing.assert_allclose(read(saved(LOGITS)).entropies, cross_entropies(LOGITS, LABELS), rtol=1e-12)
    assert read(saved(LOGITS)).classes == 3
    assert read(saved(CLASSES)).entropies is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_probabilities_have_the_cross_entropies_of_their_logits(saved, dtype):
    found = read(saved((np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)).astype(dtype)))
    np.testing.assert_allclose(found.entropies, cross_entropies(LOGITS, LABELS), rtol=0.002)
    np.testing.assert_array_equal(found.answers, CLASSES)


def test_what_is_taken_for_logits_or_not_is_said(saved):
    softmax = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)
    assert read(saved(LOGITS)).notes == ("read 3 x 5 x 3 values as 3 runs of 5 x 3 scores",)
    assert "of probabilities as they are" in read(saved(softmax)).notes[1]
    for bad in (1 / (1 + np.exp(-LOGITS)), 100 * softmax, np.concatenate([softmax[:1], softmax[1:] * 0.9])):
        found = read(saved(bad))
        assert found.entropies is None
        assert "neither logits nor probabilities" in found.notes[1]
        np.testing.assert_array_equal(found.answers, bad.argmax(axis=2))


def test_npz_has_one_stack_or_an_array_a_run(tmp_path, refused):
    path = str(tmp_path / "a.npz")
    for content in (
        {"anything": LOGITS},
        {"logits": LOGITS, "labels": LABELS, "more": np.zeros(3)},
        {f"seed{run}": LOGITS[run] for run in range(3)},
    ):
        np.savez(path, **content)
        np.testing.assert_array_equal(read(path).answers, CLASSES)
        np.testing.assert_allclose(read(path).entropies, cross_entropies(LOGITS, LABELS), rtol=1e-12)
    np.savez_compressed(path, one=CLASSES[0], other=CLASSES[1])
    np.testing.assert_array_equal(read(path).answers, CLASSES[:2])
    for bad in ({"a": LOGITS[0], "b": LOGITS[0, :4]}, {"a": LOGITS, "b": LOGITS}, {"logits": LOGITS, "scores": LOGITS}):
        np.savez(path, **bad)
        names = "logits or probabilities or predictions or scores or correct"
        assert f"one array named {names}, or an array of one shape for each run" in refused(read, path)


def test_a_name_in_an_npz_must_be_true(tmp_path, refused):
    path = str(tmp_path / "a.npz")
    softmax = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)
    np.savez(path, logits=softmax)
    assert refused(read, path) == f"{path}: logits: found probabilities; logits"
    np.savez(path, probabilities=LOGITS)
    assert refused(read, path) == f"{path}: probabilities: found logits; probabilities"


TABLE = "\n".join(",".join(map(str, row)) for row in LOGITS[0])


def changed(place, value, dtype=np.float32):
    array = LOGITS.astype(dtype)
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
def test_a_bad_array_is_refused_in_one_line(saved, refused, value, line):
    path = saved(value)
    assert refused(read, path).startswith(f"{path}: {line}")


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
def test_bad_csv_is_refused_in_one_line(saved, refused, text, line):
    path = saved(text, "a.csv")
    assert refused(read, path).startswith(f"{path}: {line}")


@pytest.mark.parametrize("name", ["a.npy", "a.csv"])
def test_what_is_not_there_or_no_file_is_refused_in_one_line(tmp_path, refused, name):
    assert "no such file" in refused(read, str(tmp_path / name))
    assert "a folder is in the way" in refused(read, str(tmp_path))


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.pkl"])
def test_nothing_is_ever_unpickled(saved, refused, tmp_path, name):
    harm = tmp_path / "harm"
    np.save(tmp_path / "objects.npy", np.array([Harmful(harm)]), allow_pickle=True)
    for content in (pickle.dumps(Harmful(harm)), (tmp_path / "objects.npy").read_bytes()):
        refused(read, saved(content, name))
    assert not harm.exists()


def test_two_files_must_answer_the_same_question(saved, refused):
    three = read(saved(LOGITS, "a.npy"))
    four = read(saved(np.pad(LOGITS, ((0, 0), (0, 0), (0, 1))), "b.npy"))
    assert "found 4 classes; the 3 of " in refused(arms.require_comparable, [three, four])
    beyond = read(saved(np.array([0, 1, 7, 1, 0]), "c.npy"))
    for pair in ((three, beyond), (beyond, three)):
        assert "found class 7; the 3 of " in refused(arms.require_comparable, pair)
    arms.require_comparable([three, read(saved(CLASSES, "d.npy"))])


def test_diverged_runs_of_a_dump_are_left_out_and_counted(tmp_path):
    stack = LOGITS.copy()
    stack[1] = np.nan
    arrays.write_npy(tmp_path / "algo.npy", stack)
    index = ABOUT | {"draws": dict.fromkeys(DRAWN) | {"init": [1, 2, 3]}, "diverged": [False, True, False]}
    files.write_json(tmp_path / "algo.json", index)
    found = read(str(tmp_path / "algo.npy"))
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
        found = read(str(tmp_path / "algo.npy"))
        np.testing.assert_array_equal(found.answers, classes)
        assert (found.notes, found.entropies, len(found.drawn)) == ((), None, runs)
    fewer = Truth("y.npy", LABELS[:4], 4)
    assert "found shape (5, 5) for the 4 labels" in refused(
        arms.read_file, str(tmp_path / "algo.npy"), PREDICTIONS, fewer
    )


def test_only_dumps_of_a_study_have_labels_of_their_own(saved, refused, tmp_path):
    study = tmp_path / "results/s"
    arrays.write_npy(study / "predictions/m/digits/cpu/algo.npy", LOGITS)
    index = ABOUT | {"diverged": [False] * 3}
    files.write_json(study / "predictions/m/digits/cpu/algo.json", index)
    dump = str(study / "predictions/m/digits/cpu/algo.npy")
    line = f"labels: {dump} is not a dump of a study; a file with the labels"
    assert refused(arms.labels_of, [dump]) == line
    arrays.write_npz(study / "data/digits.npz", {"labels": LABELS})
    found = arms.labels_of([dump])
    assert (found.source, found.answers.tolist()) == (str(study / "data/digits.npz"), LABELS.tolist())
    refused(arms.labels_of, [saved(LOGITS)])
    refused(arms.labels_of, ["/a.npy"])
