"""`toolnoise check --model`: a model's answers in batches of other sizes, with Keras, PyTorch and onnxruntime."""

import json
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

ONNX = Path(__file__).parents[2] / ".environments/onnx/bin/python"
N_ROWS = 24
# The same rows, counted without toolnoise: the model is computed for them alone and with all the others.
TORCH = """
import torch
from torch import nn

def save(name, model, x, **dynamic):
    sizes = {0: torch.export.Dim("batch", min=1, **dynamic)} | ({1: torch.export.Dim("length", min=1)} if x.ndim == 2
        and not x.is_floating_point() else {})
    torch.export.save(torch.export.export(model.eval(), (x,), dynamic_shapes=(sizes,)), name + ".pt2")

class Mixing(nn.Module):
    def forward(self, x):
        return x - x.mean(0)

class Drawing(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5, True)

class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.kept = nn.Linear(64, 10), torch.ones(1)
    def forward(self, x):
        return self.inner(x).to(torch.float32) * self.kept + torch.full((1,), 1 / 3, dtype=torch.float32)

class Tokens(nn.Module):
    def __init__(self, mixing):
        super().__init__()
        self.words, self.out, self.mixing = nn.Embedding(50, 16), nn.Linear(16, 50), mixing
    def forward(self, tokens):
        words = self.words(tokens)
        return self.out(words - self.mixing * words.mean(0))

torch.manual_seed(0)
x = torch.randn(24, 64)
plain = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
save("plain", plain, x)
save("mixing", Mixing(), x)
save("drawing", Drawing(), x)
save("constants", Constants(), x)
save("bounded", plain, x[:4], max=8)
torch.export.save(torch.export.export(plain, (x,)), "fixed.pt2")
save("tokens", Tokens(0), torch.zeros(4, 5, dtype=torch.int64))
save("mixing_tokens", Tokens(1), torch.zeros(4, 5, dtype=torch.int64))
torch.jit.save(torch.jit.trace(plain, x), "script.pt2")
import numpy, json
x = torch.from_numpy(numpy.load("x.npy"))
with torch.no_grad():
    whole = plain(x)
    rows = {size: sum(not torch.equal(plain(x[i:i + size])[j], whole[i + j]) for i in range(0, 24, size)
        for j in range(size)) for size in (1, 2, 3, 4)}
json.dump(rows, open("rows.json", "w"))
"""
KERAS = """
import keras
from keras import layers
keras.utils.set_random_seed(0)
images = keras.Input((8, 8, 1))
values = layers.Conv2D(16, 3, activation="relu")(images)
values = layers.Dropout(0.5)(layers.BatchNormalization()(values))
values = keras.ops.tanh(layers.GlobalAveragePooling2D()(values) + 1.0)
keras.Model(images, layers.Dense(10)(values)).save("plain.keras")
keras.Sequential([keras.Input((2,)), layers.Lambda(lambda x: [open("ran", "w"), x][1])]).save("code.keras")
"""
ONNX_MODELS = """
import numpy, onnx
from onnx import helper, numpy_helper
draw = numpy.random.default_rng(0).standard_normal
def save(name, nodes, batch, **weights):
    given = [numpy_helper.from_array(values.astype("float32"), key) for key, values in weights.items()]
    sides = [[helper.make_tensor_value_info(key, 1, [batch, size])] for key, size in (("x", 64), ("y", 10))]
    graph = helper.make_graph([helper.make_node(*node) for node in nodes], name, *sides, given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, name + ".onnx")
layer = ("Gemm", ["x", "w", "b"], ["h"])
weights = {"w": draw((64, 10)), "b": draw(10)}
save("plain", [layer, ("Tanh", ["h"], ["y"])], "batch", **weights)
save("fixed", [layer, ("Tanh", ["h"], ["y"])], 4, **weights)
scaled = [layer, ("Softmax", ["h"], ["s"]), ("ReduceMax", ["s"], ["m"]), ("Div", ["s", "m"], ["y"])]
save("mixing", scaled, "batch", **weights)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run a script that makes models, in the folder that has their rows."""
    folder = tmp_path_factory.mktemp("models")
    draw = np.random.default_rng(0)
    np.save(folder / "x.npy", draw.standard_normal((N_ROWS, 64)).astype(np.float32))
    np.save(folder / "images.npy", draw.standard_normal((N_ROWS, 8, 8, 1)).astype(np.float32))
    np.save(folder / "tokens.npy", draw.integers(0, 50, (N_ROWS, 5)))
    kept = {}

    def make(script, python=sys.executable):
        if script not in kept:
            kept[script] = subprocess.run([python, "-c", script], cwd=folder, capture_output=True, text=True)
        assert kept[script].returncode == 0, kept[script].stderr
        return folder

    return make


@pytest.fixture
def check(toolnoise):
    """Check a model of a folder: the exit code, and what was found or said."""

    def start(folder, model, inputs="x.npy", *more):
        done = toolnoise(folder, "check", "--model", model, "--inputs", inputs, "--json", *more)
        if done.returncode == 2:
            return 2, next(line for line in done.stderr.splitlines() if line.startswith("toolnoise: "))
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, json.loads(done.stdout)

    return start


def by_name(found):
    return {way["name"]: way for way in found["ways"]}


def test_a_plain_model_s_rows_differ_by_rounding_as_pytorch_counts_them(made, check):
    pytest.importorskip("torch")
    folder = made(TORCH)
    code, found = check(folder, "plain.pt2", "x.npy", "--batches", "1,2,3,4,24")
    assert (code, found["passed"], found["deterministic"], found["reference"]) == (0, True, True, N_ROWS)
    ways = by_name(found)
    assert list(ways)[:2] == ["same batch again", "rows reversed"]
    assert {name: ways[f"batch {name}"]["rows"] for name in "1234"} == json.loads((folder / "rows.json").read_text())
    assert {way["verdict"] for way in ways.values()} <= {"equal", "rounding"}
    assert ways["same batch again"]["verdict"] == "equal"
    assert {"threads 1", "threads 2"} < set(ways)
    code, found = check(folder, "constants.pt2")
    assert code == 0
    assert {way["verdict"] for way in found["ways"]} <= {"equal", "rounding"}


def test_a_model_that_mixes_rows_is_another_program(made, check):
    pytest.importorskip("torch")
    code, found = check(made(TORCH), "mixing.pt2", "x.npy", "--batches", "4,8")
    way = by_name(found)["batch 4"]
    assert (code, way["verdict"], way["rows"]) == (1, "another program", N_ROWS)
    assert 0 < way["changed"] <= N_ROWS
    assert way["double"] == pytest.approx(way["single"], rel=1e-3)


def test_a_model_that_differs_from_itself_says_so_first(made, toolnoise):
    pytest.importorskip("torch")
    folder = made(TORCH)
    done = toolnoise(folder, "check", "--model", "drawing.pt2", "--inputs", "x.npy", "--batches", "4,8")
    said = f"The model differs from itself: in the same batch again, {N_ROWS} of {N_ROWS} rows have other bits."
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, said)
    assert "another program" not in done.stdout


def test_greedy_sequences_part_where_a_batch_changes_them(made, check):
    pytest.importorskip("torch")
    folder = made(TORCH)
    code, found = check(folder, "tokens.pt2", "tokens.npy", "--decode", "6", "--batches", "1,8")
    assert code == 0
    assert {way["parted"] for way in found["ways"]} == {0}
    code, found = check(folder, "mixing_tokens.pt2", "tokens.npy", "--decode", "6", "--batches", "4,8")
    way = by_name(found)["batch 4"]
    assert code == 1
    assert 0 < way["parted"] <= N_ROWS
    assert 1 <= way["token"] <= 6
    assert check(folder, "plain.pt2", "x.npy", "--decode", "2") == (
        2,
        "toolnoise: plain.pt2: does not take token ids alone; for --decode: one input of integers, rows x positions",
    )


def test_shapes_and_types_are_those_of_the_model(made, check):
    pytest.importorskip("torch")
    folder = made(TORCH)
    refused = {
        ("plain.pt2", "images.npy"): "takes input of any x 64; --inputs has 24 x 8 x 8 x 1",
        ("plain.pt2", "tokens.npy"): "takes input of any x 64; --inputs has 24 x 5",
        ("tokens.pt2", "x.npy"): "takes tokens of type int64; --inputs has float32",
        ("fixed.pt2", "x.npy"): "takes batches of 24 alone (its input is 24 x 64); an export with a free first size",
        ("bounded.pt2", "x.npy"): "was exported for batches of 1 to 8; --batches among them; not 16",
    }
    for (model, inputs), said in refused.items():
        assert check(folder, model, inputs) == (2, f"toolnoise: {model}: {said}")


class Evil:
    def __reduce__(self):
        return open, ("ran", "w")


def changed(edit):
    """A copy of the plain model, with another content of some members."""

    def make(folder):
        path = folder / "changed.pt2"
        with zipfile.ZipFile(folder / "plain.pt2") as old, zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                new.writestr(name, edit(name, old.read(name)))
        return path.name

    return make


def pickled_weight(name, content):
    if name.endswith("weights_config.json"):
        return content.replace(b'"use_pickle": false', b'"use_pickle": true')
    return pickle.dumps(Evil()) if "/weight_" in name else content


def torch_pickle(name, content):
    """Example inputs are a pickle that the reader unpickles whole if it may not unpickle tensors alone."""
    return pickle.dumps(Evil()) if "sample_inputs" in name else content


@pytest.mark.parametrize(
    "edit",
    [
        lambda _, content: content.replace(b"torch.ops.aten.relu.default", b"torch.serialization.os.getpid"),
        lambda _, content: content.replace(b"Symbol(", b"open('ran','w') or Symbol("),
        pickled_weight,
        torch_pickle,
    ],
    ids=["operation", "size", "weight", "example"],
)
def test_a_changed_export_runs_nothing(edit, made, check):
    pytest.importorskip("torch")
    folder = made(TORCH)
    code, line = check(folder, changed(edit)(folder))
    assert code == 2
    assert re.match(r"toolnoise: changed.pt2: (calls torch.serialization|has a size|has a pickle of more)", line)
    assert not (folder / "ran").exists()


def test_torchscript_is_refused_under_any_name(made, check):
    pytest.importorskip("torch")
    code, line = check(made(TORCH), "script.pt2")
    assert code == 2
    assert line.startswith(
        "toolnoise: script.pt2: is a pickle or TorchScript, which may run code; a new export: torch."
    )


def test_a_keras_model_is_compared_and_its_lambda_is_not_run(made, check):
    folder = made(KERAS)
    code, found = check(folder, "plain.keras", "images.npy", "--batches", "1,7,16")
    assert code == 0
    assert found["framework"].startswith("keras 3")
    assert {way["verdict"] for way in found["ways"]} <= {"equal", "rounding"}
    # 16 of 24 rows are a batch, the last batch begins earlier.
    assert found["n_rows"] == N_ROWS
    (folder / "ran").unlink(missing_ok=True)
    said = "toolnoise: code.keras: a Lambda layer; Keras's own layers: nothing of a file is executed"
    assert check(folder, "code.keras") == (2, said)
    assert not (folder / "ran").exists()


def test_an_onnx_model_is_run_by_another_interpreter(made, check, tmp_path):
    if not ONNX.exists():
        pytest.skip("onnxruntime is not installed: make .environments/onnx")
    folder = made(ONNX_MODELS, ONNX)
    there = ("--python", ONNX.parents[1])
    code, found = check(folder, "plain.onnx", "x.npy", *there)
    assert code == 0
    assert found["framework"].startswith("onnxruntime ")
    assert len(found["ways"]) == 2 + 6 + 2
    assert {way["verdict"] for way in found["ways"]} <= {"equal", "undecided"}
    assert not any(way["changed"] for way in found["ways"])
    # The greatest of all rows divides each.
    code, found = check(folder, "mixing.onnx", "x.npy", "--batches", "1,8", *there)
    assert by_name(found)["batch 1"]["rows"] > N_ROWS / 2
    said = "takes batches of 4 alone (its input is 4 x 64); an export with a free first size"
    assert check(folder, "fixed.onnx", "x.npy", *there) == (2, f"toolnoise: fixed.onnx: {said}")
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    code, line = check(tmp_path, "bad.onnx", folder / "x.npy", *there)
    assert code == 2
    assert line.startswith("toolnoise: bad.onnx: cannot be loaded (")


def test_a_missing_framework_is_said_in_one_line(tmp_path, check):
    np.save(tmp_path / "x.npy", np.zeros((4, 2), np.float32))
    (tmp_path / "m.onnx").write_bytes(b"m")
    code, line = check(tmp_path, "m.onnx")
    assert code == 2
    assert line.startswith(f"toolnoise: m.onnx: onnxruntime is missing in {sys.prefix}/bin/python")
    assert line.endswith("; pip install onnxruntime, or --python")


def test_options_of_a_program_and_of_a_model_are_not_mixed(tmp_path, check, toolnoise):
    code, line = check(tmp_path, "m.onnx", "x.npy", "--world", "1,2")
    assert (code, line) == (
        2,
        "toolnoise: command line: --model: found --world besides; --inputs, --batches, --python, --decode, --higher",
    )
    done = toolnoise(tmp_path, "check", "--batches", "1,2", "--", "true")
    assert done.returncode == 2
    assert done.stderr == "toolnoise: command line: --batches: is for a model; --model FILE\n"
