"""The runs of a method in one file, or in one file a run."""

import numpy as np
import pytest

from toolnoise.comparison import arms
from toolnoise.comparison.prediction_files import Labels

LABELS = np.array([0, 1, 2, 1, 0])
LOGITS = np.random.Generator(np.random.Philox(1)).normal(size=(3, 5, 3))
CLASSES = LOGITS.argmax(axis=2)


@pytest.fixture
def folder(tmp_path):
    for run in range(3):
        np.save(tmp_path / f"run{run}.npy", LOGITS[run])
    (tmp_path / "notes.txt").write_text("not a run")
    return tmp_path


def read(*given, source="y.npy"):
    return arms.read([str(one) for one in given], Labels(str(source), LABELS, len(LABELS)))


def test_a_folder_a_pattern_and_what_a_shell_makes_of_it_are_the_same_runs(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    files = [folder / f"run{run}.npy" for run in range(3)]
    for given in ([folder], [folder / "*.npy"], files, [f"{folder.name}/run[0-9].npy"]):
        found = read(*given)
        np.testing.assert_array_equal(found.predicted, CLASSES)
        assert (len(found.entropies), found.classes, len(set(found.bits)), found.drawn) == (3, 3, 3, None)
    assert read(*files).file == f"{files[0]} ... {files[2]}"
    assert read(folder).file == str(folder)


def test_runs_of_classes_and_of_scores_can_stand_together(folder):
    np.savetxt(folder / "run3.csv", CLASSES[0], fmt="%d")
    found = read(folder)
    assert (len(found.predicted), found.entropies, found.bits, found.classes) == (4, None, None, 3)


def test_of_several_files_each_is_one_run(folder, refused):
    np.save(folder / "run1.npy", LOGITS)
    assert refused(read, folder) == f"{folder}/run1.npy: found 3 runs; one run in each of 3 files"
    assert len(read(folder / "run1.npy").predicted) == 3


def test_what_is_no_arm_is_refused(folder, tmp_path_factory, refused):
    empty = tmp_path_factory.mktemp("empty")
    for given in (empty, empty / "*.npy"):
        assert refused(read, given) == f"{given}: found no file; .npy, .npz, .csv files, one a run"
    np.save(folder / "y.npy", LABELS)
    assert "found the labels among the runs" in refused(lambda: read(folder, source=folder / "y.npy"))
    np.save(folder / "y.npy", np.pad(LOGITS[0], ((0, 0), (0, 1))))
    assert "found 4 classes; the 3 of " in refused(read, *sorted(folder.glob("*.npy")))


def test_more_is_not_assumed_than_can_be(folder, refused):
    three, two, one = read(folder), read(*sorted(folder.glob("*.npy"))[:2]), read(folder / "run0.npy")
    known = three._replace(drawn=[{}] * 3, file="known.npy")
    arms.require_comparable([three, three], True, False)
    for of, options, line in (
        ([three, two], (True, False), "--paired: found 3, 2 runs; equal numbers of runs"),
        ([three, three], (True, True), "--paired: found --same-start, too; one of them"),
        ([three, known], (False, True), "--same-start: the draws of known.npy are known; only for files of your own"),
        ([one, one, one], (False, False), "ARMS: found 3 methods of one run each; quote the pattern: 'a/*.npy', or"),
        ([three] * 27, (False, False), "ARMS: found 27 arms; at most 26"),
    ):
        assert line in refused(arms.require_comparable, of, *options)
