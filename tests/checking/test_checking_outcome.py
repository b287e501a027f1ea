"""What an existing program leaves: read strictly, and copied and compared bit for bit where it knows no contract."""

import gzip
import io
import json
import pickle
import struct
import zipfile

import jsonschema
import numpy as np
import pytest
import yaml

from toolnoise.base import program, times
from toolnoise.base.errors import BadInput
from toolnoise.checking import outcome, tensors, unmodified

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


@pytest.fixture
def left(tmp_path):
    """Leave an outcome: logits and labels, and what is given; None leaves a file out."""

    def leave(**changes):
        for name, value in ({"logits": LOGITS, "labels": LABELS} | changes).items():
            if value is not None:
                np.save(tmp_path / f"{name}.npy", value)
        return tmp_path

    return leave


def test_a_whole_outcome_is_read(left):
    folder = left()
    raw = np.array([1.5, -2], np.float32)
    (folder / "weights.safetensors").write_bytes(
        safetensors(
            b=("F32", [2], raw.tobytes()),
            a=("BF16", [1, 2], (raw.view(np.uint32) >> 16).astype("<u2").tobytes()),
            none=("I64", [0, 3], b""),
        )
    )
    (folder / "history.csv").write_text("epoch,loss\n0,\n1,0.5\n")
    np.savez_compressed(folder / "groups.npz", odd=LABELS % 2 == 1)
    found = outcome.read(folder)
    assert found.answers.tolist() == LABELS.tolist()
    assert {name: values.tolist() for name, values in found.weights.items()} == {
        "b": [1.5, -2],
        "a": [[1.5, -2]],
        "none": [],
    }
    assert found.history == (["epoch", "loss"], [["0", ""], ["1", "0.5"]])
    assert found.groups["odd"].tolist() == [False, True, False, True]
    assert (found.predictions, found.metric) == (None, None)


def test_weights_may_be_an_npz(left):
    kernel = np.arange(6, dtype=np.float64).reshape(2, 3)
    np.savez(left() / "weights.npz", kernel=kernel, turned=np.asfortranarray(kernel), step=np.int64(3))
    found = outcome.read(left()).weights
    assert (found["kernel"].tolist(), found["turned"].tolist(), found["step"]) == (kernel.tolist(), kernel.tolist(), 3)


def test_classes_values_or_a_metric_may_take_the_place_of_logits(left):
    assert outcome.read(left(logits=None, predictions=LABELS)).answers.tolist() == LABELS.tolist()
    values = outcome.read(left(logits=None, predictions=LABELS / 2, labels=LABELS / 3)).answers
    assert values.tolist() == (LABELS / 2).tolist()
    for name in ("predictions.npy", "labels.npy"):
        (left(logits=None, labels=None) / name).unlink()
    (left(logits=None, labels=None) / "metric.json").write_text('{"perplexity": 12, "loss": 1e-3}')
    found = outcome.read(left(logits=None, labels=None))
    assert (found.metric, found.answers, found.labels) == ({"perplexity": 12, "loss": 0.001}, None, None)


def test_a_metric_is_as_exact_as_it_is_written(tmp_path):
    (tmp_path / "metric.json").write_text('{"checksum": 36028797018963969, "gap": -0, "loss": 1e300}')
    assert repr(outcome.read(tmp_path).metric) == "{'checksum': 36028797018963969, 'gap': -0.0, 'loss': 1e+300}"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"logits": None}, ": the program left no result; one of logits.npy, predictions.npy, nll.npy, losses.npy,"),
        ({"predictions": LABELS}, ": found logits.npy and predictions.npy; only one of"),
        ({"labels": None}, "labels.npy: no such file; the labels of the examples of logits.npy"),
        ({"logits": LOGITS.astype(float)}, "logits.npy: found float64 of shape (4, 3); float32"),
        ({"logits": LOGITS[:, :1]}, "logits.npy: found float32 of shape (4, 1); examples x classes, two classes or"),
        ({"logits": LOGITS * np.float32(np.nan)}, "logits.npy: 12 of 12 values are not finite; finite numbers"),
        ({"logits": LOGITS[:3]}, "labels.npy: found 4 labels; 3, the examples of logits.npy"),
        ({"labels": LABELS + 1}, "labels.npy: found labels from 1 to 3; 0 to 2, the classes of logits.npy"),
        ({"labels": LABELS / 1}, "labels.npy: found float64 of shape (4,); integers from 0: the classes"),
        (
            {"labels": LABELS[:, None]},
            "labels.npy: found int64 of shape (4, 1); shape (4, 3), as logits.npy has labels",
        ),
        (
            {"logits": None, "predictions": LABELS / 1, "labels": LABELS[:, None]},
            "labels.npy: found int64 of shape (4, 1); one label per example",
        ),
        # Many labels, tokens, masks
        (
            {"labels": LABELS[:, None].repeat(3, 1)},
            "labels.npy: found labels from 0 to 2; 0 to 1, the classes of logits",
        ),
        ({"labels": np.eye(3)[LABELS]}, "labels.npy: found float64 of shape (4, 3); integers from 0: the classes"),
        (
            {"logits": LOGITS[:, None].repeat(5, 1), "labels": LABELS[:, None].repeat(4, 1)},
            "labels.npy: found int64 of shape (4, 4); shape (4, 5), as logits.npy has labels",
        ),
        (
            {"logits": LOGITS[:, None].repeat(5, 1), "labels": LABELS},
            "logits.npy: found float32 of shape (4, 5, 3); examples x classes, two classes or more",
        ),
        (
            {"logits": LOGITS[:, None, :1].repeat(5, 1), "labels": LABELS[:, None].repeat(5, 1)},
            "logits.npy: found float32 of shape (4, 5, 1); examples x labels, or segments x tokens x classes, as its",
        ),
        (
            {"logits": LOGITS[:, None], "labels": LABELS[:, None, None]},
            "logits.npy: found float32 of shape (4, 1, 3); pictures x height x width x classes, as its labels are",
        ),
        # Losses
        ({"logits": None, "nll": LABELS}, "nll.npy: found int64 of shape (4,); floats from 0 up, segment x token or"),
        ({"logits": None, "nll": LOGITS[None, None]}, "nll.npy: found float32 of shape (1, 1, 4, 3); floats from 0"),
        ({"logits": None, "losses": np.array([[0.5, -0.25]])}, "losses.npy: [0, 1]: found -0.25; floats from 0 up,"),
        ({"logits": None, "losses": np.array([0.5, np.inf])}, "losses.npy: [1]: found inf; floats from 0 up, segment"),
        (
            {"logits": None, "losses": np.array([[0.5, 1], [np.nan, np.nan]])},
            "losses.npy: [1]: every token is NaN; a loss of one token or more in each segment",
        ),
        ({"logits": None, "losses": np.array([np.nan])}, "losses.npy: every token is NaN; a loss of one token or"),
        (
            {"logits": None, "nll": np.ones((4, 2))},
            "labels.npy: found int64 of shape (4,); shape (4, 2), as nll.npy has",
        ),
        ({"nll": np.ones(4)}, ": found logits.npy and nll.npy; only one of"),
        ({"logits": None, "predictions": LABELS > 1}, "predictions.npy: found bool of shape (4,); integers"),
        ({"logits": LOGITS[:0], "labels": LABELS[:0]}, "logits.npy: found float32 of shape (0, 3); at least one"),
    ],
)
def test_bad_arrays_are_refused(changes, line, left, refused):
    folder = left(**changes)
    assert refused(outcome.read, folder).removeprefix(str(folder)).removeprefix("/").startswith(line)


NPY = io.BytesIO()
np.save(NPY, LOGITS)
OBJECTS = io.BytesIO()
np.save(OBJECTS, np.array([{}], object))
COMPLEX = io.BytesIO()
np.save(COMPLEX, LOGITS + 1j)
with zipfile.ZipFile(PARTS := io.BytesIO(), "w") as zipped:
    zipped.writestr(zipfile.ZipInfo("a"), b"1")  # without the time of day
ZIP = PARTS.getvalue()
WHOLE = safetensors(a=("F32", [1], b"1234"))


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("logits.npy", OBJECTS.getvalue(), "Python objects in dtype"),
        ("logits.npy", COMPLEX.getvalue(), "logits.npy: found complex64; booleans, integers or floats"),
        ("logits.npy", pickle.dumps([1]), "magic string is not correct"),
        ("logits.npy", NPY.getvalue()[:-1], "claims 48 bytes and has 47"),
        ("logits.npy", NPY.getvalue() + b"5", "claims 48 bytes and has 49"),
        ("logits.npy", NPY.getvalue().replace(b"(4, 3), }      ", b"(4, 3000000), }"), "claims 48000000 bytes"),
        ("logits.npy", NPY.getvalue().replace(b"(4, 3)", b"(4,-3)"), "claims -48 bytes and has 48"),
        ("weights.safetensors", b"\xff" * 8, "a header of 18446744073709551615 bytes"),
        ("weights.safetensors", b"\x01", "8 bytes expected, 1 found"),
        ("weights.safetensors", WHOLE[:-1], "tensor a of F32 (1,) lies at bytes 0 to 4"),
        ("weights.safetensors", WHOLE + b"5", "1 bytes belong to no tensor"),
        ("weights.safetensors", WHOLE.replace(b'"F32"', b'"F99"'), "tensor a is of type 'F99', expected one of F64"),
        (
            "weights.safetensors",
            WHOLE.replace(b"4]}}", b'4], "dtype": "F32"}}').replace(WHOLE[:8], bytes([WHOLE[0] + 16]) + bytes(7)),
            "key 'dtype' is repeated",
        ),
        ("weights.safetensors", WHOLE.replace(b"[1]", b"[9]"), "tensor a of F32 (9,) lies at bytes 0 to 4"),
        ("weights.safetensors", WHOLE.replace(b"[0, 4]", b"[4, 4]"), "tensor a of F32 (1,) lies at bytes 4 to 4"),
        ("weights.safetensors", WHOLE.replace(b"[0, 4]", b"[-4,0]"), "tensor a has the shape [1] at [-4, 0]"),
        ("weights.safetensors", WHOLE.replace(b"[1]", b"1.0"), "tensor a has no lists of numbers"),
        ("weights.npz", b"PK", "File is not a zip file"),
        ("history.csv", b"", "not enough values to unpack"),
        ("history.csv", b"loss\n1\n", "found 'loss' as the first column; 'epoch'"),
        ("history.csv", b"epoch,a\n1\n", "line 2: found 1 fields; 2, as in the first line"),
        ("history.csv", b"epoch\n2\n2\n", "line 3: found epoch '2'; whole numbers that rise, one row each"),
        ("history.csv", b"epoch,a,a\n", "a column stands twice; a name of its own for each"),
        ("history.csv", b'epoch\n"1', "unexpected end of data"),
    ],
)
def test_damaged_files_are_refused(name, content, line, left, refused):
    folder = left()
    (folder / name).write_bytes(content)
    said = refused(outcome.read, folder)
    assert said.startswith(f"{folder / name}: ")
    assert line in said


def test_an_npz_that_expands_beyond_the_bound_is_refused_unread(left, refused, monkeypatch):
    folder = left()
    np.savez_compressed(folder / "weights.npz", zeros=np.zeros(10**6))
    assert len(outcome.read(folder).weights["zeros"]) == 10**6
    monkeypatch.setattr(tensors, "MOST_COPIED", 10**6)
    line = f"{folder}/weights.npz: found 8000128 bytes of arrays; at most 1000000; or .safetensors"
    assert refused(outcome.read, folder) == line


def test_a_member_whose_checksum_is_wrong_is_refused(left, refused):
    folder = left()
    np.savez(folder / "weights.npz", ones=np.ones(4))
    damaged = (folder / "weights.npz").read_bytes().replace(np.ones(1).tobytes(), np.zeros(1).tobytes(), 1)
    (folder / "weights.npz").write_bytes(damaged)
    assert "Bad CRC-32" in refused(outcome.read, folder)


def test_groups_have_a_boolean_for_each_example(left, refused):
    folder = left()
    np.savez(folder / "groups.npz", few=np.ones(3, bool))
    assert refused(outcome.read, folder).endswith("groups.npz: few: found bool of shape (3,); a boolean for each of "
                                                  "the 4 examples")  # fmt: skip
    with zipfile.ZipFile(folder / "groups.npz", "w") as archive:
        archive.writestr("objects.npy", OBJECTS.getvalue())
    assert "Object arrays cannot be loaded" in refused(outcome.read, folder)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('{"a": 1}', True),
        ('{"a": 0.5, "b": -1e-300}', True),
        ('{"\u00e9, 95 %": 1}', True),
        ("{}", False),
        ("[1]", False),
        ('{"": 1}', False),
        ('{"\\ud800": 1}', False),
        ('{"a\\u0000b": 1}', False),
        ('{"\\u001b[2J": 1}', False),
        (f'{{"{"x" * 201}": 1}}', False),
        ('{"a": true}', False),
        ('{"a": "1"}', False),
        ('{"a": [1]}', False),
        ('{"a": null}', False),
    ],
)
def test_metrics_are_as_their_schema_says(text, allowed, tmp_path):
    rules = yaml.safe_load((program.ROOT / "workflow/schemas/outcome.schema.yaml").read_text())
    (tmp_path / "metric.json").write_text(text)
    if allowed:
        assert outcome.read(tmp_path).metric == json.loads(text)
        jsonschema.validate(json.loads(text), {"$ref": "#/$defs/metric", **rules})
        return
    with pytest.raises(BadInput):
        outcome.read(tmp_path)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(text), {"$ref": "#/$defs/metric", **rules})


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1" + "0" * 400])
def test_a_metric_that_is_not_finite_is_refused(value, tmp_path, refused):
    (tmp_path / "metric.json").write_text(f'{{"loss": {value}}}')
    assert refused(outcome.read, tmp_path).endswith("a finite number")


@pytest.fixture
def change(tmp_path):
    """How two contents of a file differ, written by a function."""

    def call(name, write, *contents):
        paths = [tmp_path / f"{number}-{name}" for number in range(2)]
        for path, content in zip(paths, contents, strict=True):
            write(path, content)
        return unmodified.change(name, *paths)

    return call


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
        ("a.bin", lambda path, content: path.write_bytes(content), (b"ab", b"ab"), ""),
        ("a.bin", lambda path, content: path.write_bytes(content), (b"abc", b"abd"), "from byte 2 on"),
        ("a.bin", lambda path, content: path.write_bytes(content), (b"abc", b"ab"), "from byte 2 on"),
        (
            "a.csv",
            lambda path, content: path.write_text(content),
            ("1\n2\n3\n", "1\n4\n"),
            "2 of 3 lines, the first is line 2",
        ),
        ("a.csv", lambda path, content: path.write_bytes(content), (b"1\n2\n", b"1\r\n2\r\n"), "line ends"),
        ("a.pt", archive, ({"m/0": b"1", "m/1": b"2"}, {"m/0": b"1", "m/1": b"3"}), "1 of 2 parts, the first is m/1"),
        ("a.pt", archive, ({"m/0": b"1", "m/1": b"2"}, {"m/1": b"2", "m/0": b"1"}), ""),
        ("a.keras", keras, ([11, 12, 11], [23, 21, 23]), ""),
        ("a.keras", keras, ([11, 12, 11], [23, 21, 21]), "1 of 3 parts, the first is config.json"),
        ("a.zip", keras, ([11, 12], [23, 21]), "2 of 3 parts, the first is metadata.json"),
        ("a.csv.gz", packed, (b"1,2", b"1,2"), ""),
        ("a.csv.gz", packed, (b"1,2", b"1,3"), "from byte 2 of its unpacked content on"),
        ("a.gz", lambda path, content: path.write_bytes(content), (b"\x1f\x8b12", b"\x1f\x8b13"), "from byte 3 on"),
        ("a.pt", lambda path, content: path.write_bytes(content), (ZIP, ZIP.replace(b"1", b"2")), "from byte 31 on"),
        ("a.npy", np.save, (np.array([1.0, 2, 3]), np.array([1.0, 5, 6])), "2 of 3 rows"),
        ("a.npy", np.save, (np.array([1j]), np.array([2j])), "from byte 142 on"),
        ("a.npy", np.save, (np.array(["a"]), np.array(["b"])), "from byte 128 on"),
        ("a.npy", np.save, (np.array([0.0]), np.array([-0.0])), "bits of equal numbers"),
        ("a.npy", np.save, (np.zeros(2), np.zeros(3)), "float64 of shape (2,), and float64 of shape (3,)"),
    ],
)
def test_a_change_is_put_in_words(name, write, contents, said, change):
    assert change(name, write, *contents) == said


def test_arrays_of_objects_are_compared_as_bytes_and_not_unpickled(change):
    assert change("a.npy", np.save, np.array([None]), np.array([None])) == ""
    assert change("a.npy", np.save, np.array([None]), np.array([{}])).startswith("from byte 1")


def test_a_file_that_a_run_does_not_write_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("1")
    (tmp_path / "log").write_text("")
    wanted = unmodified.wanted(["old.csv"], [])
    before = unmodified.stamps(wanted, {})
    said = refused(unmodified.collect, wanted, before, tmp_path / "log", tmp_path)
    assert said.startswith("old.csv: the program did not write it")
    (tmp_path / "old.csv").write_text("22")
    assert unmodified.collect(wanted, before, tmp_path / "log", tmp_path) == {}
    assert (tmp_path / "files/0").read_text() == "22"
    (tmp_path / "old.csv").unlink()
    (tmp_path / "old.csv").mkdir()
    said = refused(unmodified.collect, wanted, before, tmp_path / "log", tmp_path)
    assert said.startswith("old.csv: is a folder; a file that each run writes")


def test_a_number_is_the_last_that_was_printed(tmp_path, refused):
    (tmp_path / "log").write_text("accuracy 0.5\naccuracy 0.75\nloss nothing\n")

    def read(*patterns):
        return unmodified.collect(unmodified.wanted([], patterns), {}, tmp_path / "log", tmp_path)

    assert read("accuracy ([0-9.]+)") == {"accuracy": 0.75}
    assert read("accuracy (?P<top>[0-9.]+)") == {"top": 0.75}
    assert "nothing that the program printed matches" in refused(read, "error ([0-9.]+)")
    assert "found 'nothing'; a number in the group" in refused(read, "loss ([a-z]+)")
    assert "found ''; a number in the group" in refused(read, "loss (1)?")


@pytest.mark.parametrize(
    ("line", "pattern", "part"),
    [
        ("loss 3.2e-05", "loss ([0-9.]+)", "'3.2', a part of 3.2e-05"),
        ("loss -3.2E5,", "loss ([-0-9.]+)", "'-3.2', a part of 3.2E5"),
        ("epoch 7, accuracy 93.5 %", "accuracy ([0-9]+)", "'93', a part of 93.5"),
        ("loss 0.25", "loss.*([0-9.]+)", "'5', a part of 0.25"),
        ("loss 3.2e-05", r"loss (\S+)", ""),
        ("epoch 7. Next", "epoch ([0-9]+)", ""),
        ("epoch 7/10", "epoch ([0-9]+)", ""),
        ("2026-11-27 loss 7epochs", "loss ([0-9]+)", ""),
        ("loss nan, 3.5", "loss ([a-z]+)", ""),
        ("n 36028797018963969", "n ([0-9]+)", ""),
    ],
)
def test_a_part_of_a_number_is_refused(line, pattern, part, tmp_path, refused):
    (tmp_path / "log").write_text(f"{line}\n")
    given = unmodified.wanted([], [pattern]), {}, tmp_path / "log", tmp_path
    if part:
        said = refused(unmodified.collect, *given)
        assert said.endswith(rf"found {part}; a group that takes the whole number, such as (\S+)")
    else:
        (value,) = unmodified.collect(*given).values()
        assert str(value) in (line.split()[-1], "7.0", "nan")


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("Cohen's kappa ([0-9.]+)", "Cohen kappa"),
        ("time-series mse ([0-9.]+)", "time series mse"),
        (r"\bloss:\s*([0-9.]+)", "loss"),
        ("'accuracy': ([0-9.]+)", "accuracy"),
    ],
)
def test_a_metric_has_the_words_of_its_pattern_as_its_name(pattern, name):
    ((found, _),) = unmodified.wanted([], [pattern]).metrics
    assert found == name
    assert not times.is_time(found)


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (["accuracy"], "found 'accuracy'; one group, such as 'accuracy ([0-9.]+)'"),
        (["("], "a regular expression with one group"),
        (["b (1)", "a (1)", "a (2)"], "found 'a' twice"),
    ],
)
def test_patterns_are_read_strictly(patterns, said, refused):
    assert said in refused(unmodified.wanted, [], patterns)


def test_a_file_stands_once_among_what_is_compared(refused):
    assert "found a.pt, a.pt; each file once" in refused(unmodified.wanted, ["a.pt", "a.pt"], [])


@pytest.mark.parametrize(
    ("arrays", "answers"),
    [
        ({"a.npy": np.array([[0.5], [0.25]])}, [0.5, 0.25]),
        ({"a.npy": np.array([[1, 2], [4, 3]])}, [1, 0]),
        ({"a.npy": np.array([3, 1])}, [3, 1]),
        ({"a.npy": np.array([3, 1]), "b.npy": np.array([1, 2])}, None),
        ({"a.npy": np.zeros((2, 2, 2))}, None),
        ({"a.npy": np.array([1j])}, None),
        ({"a.npy": np.array(["a"])}, None),
        ({"a.npy": np.array([{}])}, None),
        ({"a.npy": np.zeros(0)}, None),
        ({}, None),
    ],
)
def test_the_answers_of_a_program_are_those_of_its_only_array(arrays, answers, tmp_path):
    for name, values in arrays.items():
        np.save(tmp_path / name, values)
    files = {name: tmp_path / name for name in arrays}
    left = outcome.Outcome(tmp_path, files=files)
    assert (None if left.answers is None else left.answers.tolist()) == answers
