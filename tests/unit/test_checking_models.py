"""What a model's file may hold: no code, and nothing that is unpickled. What is compared is counted."""

import importlib
import json
import zipfile

import numpy as np
import pytest

from toolnoise.checking.models import batches

TREE = '[1, {"type": "builtins.tuple", "context": "null", "children_spec": []}]'
SIZE = "Symbol('s77', positive=True, integer=True)"


@pytest.fixture
def beside(monkeypatch):
    """A module of the program that an interpreter of another environment runs."""
    monkeypatch.syspath_prepend(batches.FORWARD.parent)
    return importlib.import_module


@pytest.fixture
def says(beside):
    """Call what must refuse a model, and return what was found."""

    def call(function, *arguments):
        with pytest.raises(beside("loading").Refused) as caught:
            function(*arguments)
        return caught.value.found

    return call


@pytest.mark.parametrize(
    ("layer", "found"),
    [
        ({"class_name": "Lambda", "module": "keras.layers"}, "a Lambda layer"),
        ({"class_name": "TFSMLayer", "module": "keras.layers"}, "a TFSMLayer layer"),
        ({"class_name": "TorchModuleWrapper", "module": "keras.layers"}, "a TorchModuleWrapper layer"),
        ({"class_name": "__lambda__", "config": {"value": ""}}, "a __lambda__ layer"),
        ({"class_name": "Mine", "module": "my.layers"}, "my.layers.Mine is not of Keras"),
        ({"class_name": "run", "module": "subprocess"}, "subprocess.run is not of Keras"),
        (
            {"class_name": "function", "config": "get_file", "module": "keras.utils"},
            "keras.utils.function is not of Keras",
        ),
        ({"class_name": "function", "module": "keras.config"}, "keras.config.function is not of Keras"),
        (
            {"class_name": "Dense", "module": "keras.layers", "registered_name": "pkg>Dense"},
            "keras.layers.Dense is not of Keras",
        ),
        (
            {"class_name": "StringLookup", "module": "keras.layers", "config": {"vocabulary": "/etc/passwd"}},
            "a layer reads",
        ),
    ],
)
def test_a_keras_file_holds_keras_own_layers_alone(layer, found, beside, says):
    of_keras = beside("of_keras")
    dense = {"class_name": "Dense", "module": "keras.layers", "config": {"activation": "relu"}, "registered_name": None}
    of_keras.require_plain({"class_name": "Sequential", "module": "keras", "config": {"layers": [dense]}})
    assert says(of_keras.require_plain, {"config": {"layers": [dense, {"inner": [layer]}]}}).startswith(found)


def test_a_keras_file_has_one_configuration(beside, says, tmp_path):
    of_keras, path = beside("of_keras"), tmp_path / "m.keras"
    path.write_bytes(b"\x89HDF\r\n")
    assert says(of_keras.load, str(path), None, False).startswith("cannot be read (File is not a zip file")
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("config.json", "{}")
        archive.writestr("config.json", "{}")
    assert says(of_keras.load, str(path), None, False) == "2 members config.json"


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"target": "torch.serialization.os.system"}, "calls torch.serialization.os.system"),
        ({"target": "torch.load"}, "calls torch.load"),
        ({"target": "torch.ops.aten.from_file.default"}, "calls torch.ops.aten.from_file.default"),
        ({"target": "torch.ops.mine.op.default"}, "calls torch.ops.mine.op.default"),
        ({"target": "_operator.methodcaller"}, "calls _operator.methodcaller"),
        ({"target": "torch.ops.higher_order.triton_kernel_wrapper_functional"}, "calls torch.ops.higher_order"),
        ({"expr_str": "__import__('os').system('x')"}, "has a size"),
        ({"expr_str": "open('x')"}, "has a size"),
        ({"expr_str": "Symbol('s0').func"}, "has a size"),
        ({"expr_str": "Add('os.system(1)', 1)"}, "has a size"),
        ({"name": "x=print()"}, "has a text"),
        ({"x=print(), y": 1}, "has a text"),
        ({"forward_arg_names": ["x):\n    import os\n    return (x"]}, "has a text"),
    ],
)
def test_a_graph_calls_pytorch_s_operations_alone(changed, found, beside, says):
    pytest.importorskip("torch")
    of_torch = beside("of_torch")
    node = {"target": "torch.ops.aten.linear.default", "name": "linear", "metadata": {"stack_trace": "f(x)\n"}}
    of_torch.require_plain({"nodes": [node], "in_spec": TREE, "sizes": [{"expr_str": SIZE}, {"expr_str": "2*s77 + 1"}]})
    of_torch.require_plain({"target": "_operator.getitem", "sizes": {"expr_str": f"FloorDiv({SIZE}, 2)"}})
    assert says(of_torch.require_plain, {"nodes": [node, changed]}).startswith(found)


def test_rows_are_compared_bit_by_bit_in_batches_of_one_size(beside):
    forward = beside("forward")
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    sizes = []

    def compute(arrays):
        sizes.append(len(arrays[0]))
        return arrays[0] + np.float32(len(arrays[0]) == 2) * np.float32([1, 0])

    parts = dict(forward._in_batches(compute, [rows], 2))
    assert sizes == [2, 2, 2]
    assert {start: len(part) for start, part in parts.items()} == {0: 2, 2: 2, 4: 1}
    difference = forward._difference(rows, iter(parts.items()), False)
    # [0, 1] becomes [1, 1]: its answer is the first class.
    assert difference == {"rows": 5, "largest": 1.0, "changed": 5}
    whole = forward._in_batches(compute, [rows[::-1]], 5)
    assert forward._difference(rows, whole, True) == {"rows": 0, "largest": 0.0, "changed": 0}


def test_zeros_of_two_signs_are_other_bits_and_no_difference_of_a_number_is_none(beside):
    forward = beside("forward")
    zeros = np.zeros((1, 2), np.float32)
    found = forward._difference(zeros, iter([(0, -zeros)]), False)
    assert found == {"rows": 1, "largest": 0.0, "changed": 0}
    found = forward._difference(zeros, iter([(0, zeros * np.float32(np.nan))]), False)
    assert (found["rows"], found["largest"]) == (1, None)


def test_greedy_sequences_part_at_their_first_other_token(beside):
    forward = beside("forward")
    tokens = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    other = np.array([[1, 2, 3], [4, 0, 6], [7, 8, 0]])
    assert forward._parted(tokens, iter([(0, other[:2]), (2, other[2:])]), False) == [2, 2]
    assert forward._parted(tokens, iter([(0, tokens)]), False) == [0, 0]

    def next_token(arrays):
        return np.eye(10)[(arrays[0] + 1) % 10]

    assert forward._greedy(next_token, 3)([np.array([[1, 2], [7, 8]])]).tolist() == [[3, 4, 5], [9, 0, 1]]


@pytest.mark.parametrize(
    ("model", "inputs", "more", "line"),
    [
        (
            "m.pt",
            "x.npy",
            {},
            "m.pt: a pickle or TorchScript, which can run code when it is loaded; export it: torch.exp",
        ),
        ("m.h5", "x.npy", {}, "m.h5: found the suffix '.h5'; allowed: .onnx, .keras, .pt2"),
        ("none.onnx", "x.npy", {}, "none.onnx: no such file"),
        ("m.onnx", None, {}, "command line: --inputs: is missing"),
        ("m.onnx", "pickled.npy", {}, "pickled.npy: cannot be read ("),
        ("m.onnx", "one.npy", {}, "one.npy: found 1 rows; at least 2"),
        ("m.onnx", "m.onnx", {}, "m.onnx: cannot be read ("),
        ("m.onnx", "x.npy", {"batches": "1,9"}, "command line: --batches: found '1,9'; sizes from 1 to 8"),
        ("m.onnx", "x.npy", {"batches": ""}, "command line: --batches: found ''"),
        ("m.onnx", "x.npy", {"python": "no-such"}, "command line: --python: found 'no-such'"),
        ("m.onnx", "x.npy", {"decode": 0}, "command line: --decode: found 0; a number of tokens"),
    ],
)
def test_a_model_that_may_run_code_and_bad_rows_are_refused(model, inputs, more, line, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    for name in ("m.pt", "m.h5", "m.onnx"):
        (tmp_path / name).write_bytes(b"m")
    np.save("x.npy", np.zeros((8, 2)))
    np.save("one.npy", np.zeros((1, 2)))
    np.save("pickled.npy", np.array([{}], object), allow_pickle=True)
    given = {"batches": None, "python": None, "higher": None, "decode": None, "limit": 60} | more
    assert refused(batches.task, model, inputs, *given.values()).startswith(line)


def test_sizes_go_up_to_the_rows_and_a_verdict_needs_a_control(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(b"m")
    np.savez("x.npz", a=np.zeros((9, 2)), b=np.zeros((9, 3)))
    task = batches.task("m.onnx", "x.npz", None, None, None, None, 60)
    assert (task.n_rows, task.sizes) == (9, [1, 2, 3, 4, 7, 8])
    equal = batches.Row("same batch again", "equal", 0, 0, 0.0, None)
    rounding = batches.Row("batch 1", "rounding", 9, 0, 1e-7, 1e-16)
    undecided = batches.Row("batch 2", "undecided", 1, 0, 1e-7, None)
    about = {"framework": "f", "dtype": "float32", "made_for": "1 or more"}

    def passes(*rows):
        checked = batches.CheckedModel(task, about, list(rows), [])
        assert json.loads(json.dumps(batches.as_json(checked)))["passed"] is checked.passed
        return checked.passed

    assert passes(equal, rounding, undecided)
    assert not passes(equal, undecided._replace(changed=1))
    assert not passes(equal, undecided._replace(parted=1, token=1))
    assert not passes(equal, rounding._replace(verdict="another program"))
    assert not passes(equal._replace(verdict="undecided", rows=1), rounding)
