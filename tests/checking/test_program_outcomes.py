"""What a program leaves: read strictly, copied and compared bit for bit; what differs is counted and named."""

import gzip
import io
import json
import math
import struct
import zipfile
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

from toolnoise.base import program
from toolnoise.base.errors import BadInput
from toolnoise.checking import differences, launch, outcome, trial_runs
from toolnoise.checking.outcome import EpochTable, Outcome

LABELS = np.array([0, 1, 2, 1])
LOGITS = np.eye(3, dtype=np.float32)[LABELS]


def safetensors(**values):
    """The bytes of such a file: (type, shape, bytes) by name."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (kind, shape, part) in values.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def left(folder, **changes):
    """Leave an outcome: logits and labels, and what is given; None leaves a file out."""
    for name, value in ({"logits": LOGITS, "labels": LABELS} | changes).items():
        if value is not None:
            np.save(folder / f"{name}.npy", value)
    return folder


def test_a_whole_outcome_is_read(tmp_path):
    folder = left(tmp_path)
    raw = np.array([1.5, -2], np.float32)
    half = ("BF16", [1, 2], (raw.view(np.uint32) >> 16).astype("<u2").tobytes())
    content = safetensors(b=("F32", [2], raw.tobytes()), a=half, none=("I64", [0, 3], b""))
    (folder / "weights.safetensors").write_bytes(content)
    (folder / "history.csv").write_text("epoch,loss\n0,\n1,0.5\n")
    np.savez_compressed(folder / "groups.npz", odd=LABELS % 2 == 1)
    found = outcome.read_outcome(folder)
    assert found.answers.tolist() == LABELS.tolist()
    weights = {name: values.tolist() for name, values in found.weights.items()}
    assert weights == {"b": [1.5, -2], "a": [[1.5, -2]], "none": []}
    assert found.history == (["epoch", "loss"], [["0", ""], ["1", "0.5"]])
    assert found.groups["odd"].tolist() == [False, True, False, True]
    assert (found.predictions, found.metric) == (None, None)


def test_classes_values_or_a_metric_may_take_the_place_of_logits_and_weights_may_be_an_npz(tmp_path):
    assert outcome.read_outcome(left(tmp_path, logits=None, predictions=LABELS)).answers.tolist() == LABELS.tolist()
    values = outcome.read_outcome(left(tmp_path, logits=None, predictions=LABELS / 2, labels=LABELS / 3)).answers
    assert values.tolist() == (LABELS / 2).tolist()
    for name in ("predictions.npy", "labels.npy"):
        (tmp_path / name).unlink()
    (tmp_path / "metric.json").write_text('{"checksum": 36028797018963969, "gap": -0, "loss": 1e300}')
    np.savez(tmp_path / "weights.npz", turned=np.asfortranarray([[1.0, 2], [3, 4]]), step=np.int64(3))
    found = outcome.read_outcome(tmp_path)
    # As exact as it is written.
    assert repr(found.metric) == "{'checksum': 36028797018963969, 'gap': -0.0, 'loss': 1e+300}"
    assert (found.answers, found.labels) == (None, None)
    assert (found.weights["turned"].tolist(), found.weights["step"]) == ([[1, 2], [3, 4]], 3)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"logits": None}, ": the program left no result; one of logits.npy, predictions.npy, nll.npy, losses.npy,"),
        ({"predictions": LABELS}, ": found logits.npy and predictions.npy; only one of"),
        ({"labels": None}, "labels.npy: no such file; the labels of the examples of logits.npy"),
        ({"logits": LOGITS.astype(float)}, "logits.npy: found float64 of shape (4, 3); float32"),
        ({"logits": LOGITS * np.float32(np.nan)}, "logits.npy: 12 of 12 values are not finite; finite numbers"),
        ({"logits": LOGITS[:3]}, "labels.npy: found 4 labels; 3, the examples of logits.npy"),
        ({"labels": LABELS + 1}, "labels.npy: found labels from 1 to 3; 0 to 2, the classes of logits.npy"),
        ({"labels": LABELS[:, None]}, "labels.npy: found int64 of shape (4, 1); shape (4, 3), as logits.npy has"),
        # Many labels, tokens, masks
        ({"labels": LABELS[:, None].repeat(3, 1)}, "labels.npy: found labels from 0 to 2; 0 to 1, the classes of"),
        (
            {"logits": LOGITS[:, None], "labels": LABELS[:, None, None]},
            "logits.npy: found float32 of shape (4, 1, 3); pictures x height x width x classes, as its labels are",
        ),
        # Losses
        ({"logits": None, "nll": LABELS}, "nll.npy: found int64 of shape (4,); floats from 0 up, segment x token or"),
        ({"logits": None, "losses": np.array([[0.5, -0.25]])}, "losses.npy: [0, 1]: found -0.25; floats from 0 up,"),
        ({"logits": None, "nll": np.ones((4, 2))}, "labels.npy: found int64 of shape (4,); shape (4, 2), as nll.npy"),
        ({"logits": None, "predictions": LABELS > 1}, "predictions.npy: found bool of shape (4,); integers"),
        ({"logits": LOGITS[:0], "labels": LABELS[:0]}, "logits.npy: found float32 of shape (0, 3); at least one"),
    ],
)
def test_bad_arrays_are_refused(changes, line, tmp_path, refused):
    folder = left(tmp_path, **changes)
    assert refused(outcome.read_outcome, folder).removeprefix(str(folder)).removeprefix("/").startswith(line)


NPY, OBJECTS, GROUPS = io.BytesIO(), io.BytesIO(), io.BytesIO()
np.save(NPY, LOGITS)
np.save(OBJECTS, np.array([{}], object))
np.savez(GROUPS, few=np.ones(3, bool))
with zipfile.ZipFile(PARTS := io.BytesIO(), "w") as zipped:
    zipped.writestr(zipfile.ZipInfo("a"), b"1")  # without the time of day
ZIP = PARTS.getvalue()
WHOLE = safetensors(a=("F32", [1], b"1234"))
WRONG_CHECKSUM = GROUPS.getvalue().replace(b"\1\1\1", b"\1\1\0", 1)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("logits.npy", OBJECTS.getvalue(), "Python objects in dtype"),
        ("logits.npy", NPY.getvalue()[:-1], "claims 48 bytes and has 47"),
        ("logits.npy", NPY.getvalue().replace(b"(4, 3), }      ", b"(4, 3000000), }"), "claims 48000000 bytes"),
        ("weights.safetensors", b"\xff" * 8, "a header of 18446744073709551615 bytes"),
        ("weights.safetensors", WHOLE[:-1], "tensor a of F32 (1,) lies at bytes 0 to 4"),
        ("weights.safetensors", WHOLE + b"5", "1 bytes belong to no tensor"),
        ("weights.safetensors", WHOLE.replace(b'"F32"', b'"F99"'), "tensor a is of type 'F99', expected one of F64"),
        ("weights.safetensors", WHOLE.replace(b"[0, 4]", b"[-4,0]"), "tensor a has the shape [1] at [-4, 0]"),
        ("weights.safetensors", WHOLE.replace(b"[1]", b"1.0"), "tensor a has no lists of numbers"),
        ("weights.npz", b"PK", "File is not a zip file"),
        ("groups.npz", WRONG_CHECKSUM, "Bad CRC-32"),
        ("groups.npz", GROUPS.getvalue(), "few: found bool of shape (3,); a boolean for each of the 4 examples"),
        ("history.csv", b"loss\n1\n", "found 'loss' as the first column; 'epoch'"),
        ("history.csv", b"epoch,a\n1\n", "line 2: found 1 fields; 2, as in the first line"),
        ("history.csv", b"epoch\n2\n2\n", "line 3: found epoch '2'; whole numbers that rise, one row each"),
        ("history.csv", b"epoch,a,a\n", "a column stands twice; a name of its own for each"),
    ],
)
def test_damaged_files_are_refused(name, content, line, tmp_path, refused):
    (left(tmp_path) / name).write_bytes(content)
    said = refused(outcome.read_outcome, tmp_path)
    assert said.startswith(f"{tmp_path / name}: ")
    assert line in said


def test_an_npz_that_expands_beyond_the_bound_is_refused_unread(tmp_path, refused, monkeypatch):
    np.savez_compressed(left(tmp_path) / "weights.npz", zeros=np.zeros(10**6))
    assert len(outcome.read_outcome(tmp_path).weights["zeros"]) == 10**6
    monkeypatch.setattr(outcome, "MOST_COPIED", 10**6)
    line = f"{tmp_path}/weights.npz: found 8000128 bytes of arrays; at most 1000000; or .safetensors"
    assert refused(outcome.read_outcome, tmp_path) == line


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('{"a": 0.5, "b": -1e-300, "\u00e9, 95 %": 1}', True),
        ("{}", False),
        ("[1]", False),
        ('{"": 1}', False),
        ('{"\\u001b[2J": 1}', False),
        ('{"a": true}', False),
    ],
)
def test_metrics_are_as_their_schema_says(text, allowed, tmp_path):
    rules = yaml.safe_load((program.ROOT / "workflow/schemas/outcome.schema.yaml").read_text())
    rules = {"$ref": "#/$defs/metric", **rules}
    (tmp_path / "metric.json").write_text(text)
    if allowed:
        assert outcome.read_outcome(tmp_path).metric == json.loads(text)
        jsonschema.validate(json.loads(text), rules)
        return
    with pytest.raises(BadInput):
        outcome.read_outcome(tmp_path)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(text), rules)


@pytest.mark.parametrize("value", ["NaN", "1" + "0" * 400])
def test_a_metric_that_is_not_finite_is_refused(value, tmp_path, refused):
    (tmp_path / "metric.json").write_text(f'{{"loss": {value}}}')
    assert refused(outcome.read_outcome, tmp_path).endswith("a finite number")


# Files and numbers of a program that knows no contract


def raw(path, content):
    path.write_bytes(content)


def archive(path, members):
    with zipfile.ZipFile(path, "w") as file:
        for number, (name, content) in enumerate(members.items()):
            file.writestr(zipfile.ZipInfo(name, (2020 + number, 1, 1, 0, 0, 0)), content)


def packed(path, content):
    path.write_bytes(gzip.compress(content, mtime=int(path.name[0])))


def keras(path, ids):
    """A model as Keras saves it at a time of its own, with objects at these addresses."""
    config = ", ".join(f'{{"name": "x", "shared_object_id": {number}}}' for number in ids)
    metadata = f'{{"keras_version": "3.15.1", "date_saved": "2026-11-27@16:43:0{ids[0] % 10}"}}'
    archive(path, {"metadata.json": metadata, "config.json": f"[{config}]", "model.weights.h5": b"1"})


@pytest.mark.parametrize(
    ("name", "write", "contents", "said"),
    [
        ("a.bin", raw, (b"ab", b"ab"), ""),
        ("a.bin", raw, (b"abc", b"ab"), "from byte 2 on"),
        ("a.csv", raw, (b"1\n2\n3\n", b"1\n4\n"), "2 of 3 lines, the first is line 2"),
        ("a.pt", archive, ({"m/0": b"1", "m/1": b"2"}, {"m/0": b"1", "m/1": b"3"}), "1 of 2 parts, the first is m/1"),
        ("a.pt", archive, ({"m/0": b"1", "m/1": b"2"}, {"m/1": b"2", "m/0": b"1"}), ""),
        ("a.keras", keras, ([11, 12, 11], [23, 21, 23]), ""),
        ("a.keras", keras, ([11, 12, 11], [23, 21, 21]), "1 of 3 parts, the first is config.json"),
        ("a.zip", keras, ([11, 12], [23, 21]), "2 of 3 parts, the first is metadata.json"),
        ("a.csv.gz", packed, (b"1,2", b"1,2"), ""),
        ("a.csv.gz", packed, (b"1,2", b"1,3"), "from byte 2 of its unpacked content on"),
        ("a.pt", raw, (ZIP, ZIP.replace(b"1", b"2")), "from byte 31 on"),
        ("a.npy", np.save, (np.array([1.0, 2, 3]), np.array([1.0, 5, 6])), "2 of 3 rows"),
        ("a.npy", np.save, (np.array(["a"]), np.array(["b"])), "from byte 128 on"),
        ("a.npy", np.save, (np.zeros(2), np.zeros(3)), "float64 of shape (2,), and float64 of shape (3,)"),
        # Compared as bytes, and not unpickled
        ("a.npy", np.save, (np.array([None]), np.array([{}])), "from byte 1"),
    ],
)
def test_a_change_is_put_in_words(name, write, contents, said, tmp_path):
    paths = [tmp_path / f"{number}-{name}" for number in range(2)]
    for path, content in zip(paths, contents, strict=True):
        write(path, content)
    change = differences.change_of_file(name, *paths)
    assert change == said or (said.endswith(" 1") and change.startswith(said))


def test_a_file_that_a_run_does_not_write_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("1")
    (tmp_path / "log").write_text("")
    path, copied = Path("old.csv"), tmp_path / "files/0"
    before = launch.file_stamps([path])
    said = refused(trial_runs.copy_written, path, copied, before, tmp_path / "log")
    assert said.startswith("old.csv: the program did not write it")
    path.write_text("22")
    trial_runs.copy_written(path, copied, before, tmp_path / "log")
    assert copied.read_text() == "22"
    path.unlink()
    path.mkdir()
    said = refused(trial_runs.copy_written, path, copied, before, tmp_path / "log")
    assert said.startswith("old.csv: is a folder; a file that each run writes")


@pytest.mark.parametrize(
    ("line", "pattern", "value"),
    [
        ("accuracy 0.5\naccuracy 0.75", "accuracy ([0-9.]+)", 0.75),
        ("epoch 7. Next 7/10", "epoch ([0-9]+)", 7),
        ("n 36028797018963969", "n ([0-9]+)", 36028797018963969),
        ("loss 0.5", "error ([0-9.]+)", "nothing that the program printed matches"),
        ("loss nothing", "loss ([a-z]+)", "found 'nothing'; a number in the group"),
        ("loss 3.2e-05", "loss ([0-9.]+)", "found '3.2', a part of 3.2e-05; a group that takes the whole number"),
        ("accuracy 93.5 %", "accuracy ([0-9]+)", "found '93', a part of 93.5"),
    ],
)
def test_a_number_is_the_last_that_was_printed_and_whole(line, pattern, value, tmp_path, refused):
    (tmp_path / "log").write_text(f"{line}\n")
    wanted = trial_runs.parse_wanted([], [pattern])
    if isinstance(value, str):
        assert value in refused(trial_runs.numbers_in, tmp_path / "log", wanted)
    else:
        assert list(trial_runs.numbers_in(tmp_path / "log", wanted).values()) == [value]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("Cohen's kappa ([0-9.]+)", "Cohen kappa"),
        (r"\bloss:\s*([0-9.]+)", "loss"),
        ("accuracy (?P<top>[0-9.]+)", "top"),
    ],
)
def test_a_metric_has_the_words_of_its_pattern_as_its_name(pattern, name):
    ((found, _),) = trial_runs.parse_wanted([], [pattern]).metrics
    assert found == name


@pytest.mark.parametrize(
    ("files", "patterns", "said"),
    [
        ([], ["accuracy"], "found 'accuracy'; one group, such as 'accuracy ([0-9.]+)'"),
        ([], ["("], "a regular expression with one group"),
        ([], ["b (1)", "a (1)", "a (2)"], "found 'a' twice"),
        (["a.pt", "a.pt"], [], "found a.pt, a.pt; each file once"),
    ],
)
def test_what_is_compared_is_named_strictly(files, patterns, said, refused):
    assert said in refused(trial_runs.parse_wanted, files, patterns)


@pytest.mark.parametrize(
    ("arrays", "answers"),
    [
        ({"a.npy": np.array([[0.5], [0.25]])}, [0.5, 0.25]),
        ({"a.npy": np.array([[1, 2], [4, 3]])}, [1, 0]),
        ({"a.npy": np.array([3, 1]), "b.npy": np.array([1, 2])}, None),
        ({"a.npy": np.array(["a"])}, None),
    ],
)
def test_the_answers_of_a_program_are_those_of_its_only_array(arrays, answers, tmp_path):
    for name, values in arrays.items():
        np.save(tmp_path / name, values)
    found = Outcome(tmp_path, files={name: tmp_path / name for name in arrays}).answers
    assert (None if found is None else found.tolist()) == answers


# Two outcomes

HISTORY = EpochTable(["epoch", "loss", "time"], [["0", "1", "7"], ["1", "0.5", "8"]])
ONE = Outcome(Path(), LOGITS, labels=LABELS, weights={"a": np.zeros(2), "b": np.ones(3)}, history=HISTORY)


@pytest.fixture
def between(tmp_path):
    """The difference from an outcome with changes."""
    one = ONE._replace(folder=tmp_path)
    return lambda **changes: differences.find_differences(one, one._replace(**changes))


def history(*rows):
    return HISTORY._replace(rows=[list(row) for row in rows])


def test_equal_outcomes_differ_in_nothing_and_times_do_not_count(between):
    same = between(history=history(["0", "1", "9"], ["1", "0.5", "9"]))
    assert (same.files, same.changed, same.examples, same.largest) == ([], 0, 4, 0)
    assert (same.tensors, same.epoch, same.column) == ([], None, None)
    assert differences.names_of_times(ONE) == ["time of history.csv"]
    timed = between(metric={"loss": 1.0, "train_runtime": 12.5})
    assert (timed.files, timed.times) == (["metric.json"], {"train_runtime": (None, 12.5)})


def test_one_bit_is_a_difference(between, tmp_path):
    logits = LOGITS.copy()
    logits[0, 1] = -0.0
    found = between(logits=logits)
    assert (found.files, found.changed, found.largest) == (["logits.npy"], 0, 0)
    assert between(weights={"a": np.zeros(2), "b": np.ones(3) + 1e-16 * 3}).tensors == ["b"]
    assert between(weights={"a": np.zeros(2, np.float32), "b": np.ones(3)}).tensors == ["a"]

    def names(value, other):
        one, two = (ONE._replace(folder=tmp_path, printed={"gap": each}) for each in (value, other))
        return differences.find_differences(one, two).files

    assert names(0.0, -0.0) == names(2**55, 2**55 + 1) == names(0.1, 0.1 + 2e-17) == ["gap"]
    assert names(math.nan, float("nan")) == names(12.0, 12.0) == []
    assert differences.both_numbers(2**55, 2**55 + 1) == "36028797018963968 and 36028797018963969"


def test_differences_are_counted(between, tmp_path):
    logits = LOGITS.copy()
    logits[0] = [0, 0, 3]
    found = between(logits=logits, weights={"a": np.zeros(2), "c": np.ones(3)}, groups={"odd": LABELS > 1})
    assert found.files == ["logits.npy", "weights", "groups.npz"]
    assert (found.changed, found.examples, found.largest) == (1, 4, 3)
    assert (found.tensors, found.n_tensors) == (["b", "c"], 3)
    # What is no number twice has not changed.
    np.save(tmp_path / "a.npy", np.array([np.nan, 1, 2]))
    np.save(tmp_path / "b.npy", np.array([np.nan, 1, 3]))
    one, other = (Outcome(tmp_path, files={"a.npy": tmp_path / name}) for name in ("a.npy", "b.npy"))
    found = differences.find_differences(one, other)
    assert (found.changed, found.outputs) == (1, {"a.npy": "1 of 3 rows"})


def test_the_first_epoch_and_column_are_found(between):
    def first(table):
        return between(history=table)[8:10]

    assert first(history(["0", "2", "7"])) == (0, "loss")
    assert first(history(["0", "1", "7"], ["1", "0.4", "8"])) == (1, "loss")
    assert first(history(["0", "1", "7"])) == (1, "epoch")
    assert first(None) == (None, "epoch")
    assert first(EpochTable(["epoch", "mine"], [])) == (None, "loss")
