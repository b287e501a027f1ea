"""What the unit tests share: a small study, specs and files of its runs, and a check that bad input is one line."""

import copy
import functools
import tarfile
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import settings

from toolnoise import cli
from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import SOURCES
from toolnoise.base.program import ROOT
from toolnoise.record import unpacked
from toolnoise.study import config, grid, runs
from toolnoise.study.cells import Cell
from toolnoise.study.variants import VARIANTS
from toolnoise.training import loop

# The same examples every time, however busy the machine.
settings.register_profile("toolnoise", deadline=None, derandomize=True)
settings.load_profile("toolnoise")

EPOCHS = (1, 2, 3)
STUDY = {
    "study": "tiny",
    "seed": 7,
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["digits"],
            "recipe": "digits",
            "hardware": ["cpu", "noisy"],
            "variants": list(VARIANTS),
            "seeds": 3,
        }
    ],
    "recipes": {"digits": {"batch_size": 8, "crop": 2, "flip": True}},
    "hardware": {"noisy": {"accelerator": "cpu"}},
}


@pytest.fixture(scope="module")
def unpacked_archive(request, tmp_path_factory):
    """A folder with what a test module's ARCHIVE has: files that other programs wrote."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(request.module.ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def written():
    """A valid configuration as a person would write it, to be changed by the test."""
    return copy.deepcopy(STUDY)


@pytest.fixture
def built():
    """From a configuration to its study."""
    return lambda written, file="tiny.yaml": grid.build(config.resolve(written, file), file)


@pytest.fixture(scope="session")
def make_spec():
    """The spec of a run of the small study: on `cpu` implementation noise is emulated, on `noisy` it is native."""
    tiny = grid.build(config.resolve(copy.deepcopy(STUDY), "tiny.yaml"), "tiny.yaml")
    return lambda variant, seed, hardware="cpu": tiny.spec(Cell("smallcnn", "digits", hardware, variant), seed)


@pytest.fixture(scope="session")
def refused():
    """Call what must refuse its input, and return its one line."""

    def call(function, *arguments):
        with pytest.raises(BadInput) as caught:
            function(*arguments)
        line = str(caught.value)
        assert line.splitlines() == [line]
        return line

    return call


@pytest.fixture
def refused_by_verb(capsys):
    """Call a verb with what it must refuse, and return the one line that it prints."""

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main(list(map(str, words)))
        said = capsys.readouterr()
        (line,) = said.err.splitlines()
        assert (ended.value.code, said.out) == (2, "")
        return line

    return call


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder of the test, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def make_run(tmp_path, make_spec):
    """Write what a control run leaves, three epochs long; `change` edits its parts first. Returns its run.json."""

    def make(seed, change=None):
        epochs = [
            {"a/kernel": np.full((2, 3), epoch, np.float32), "a/bias": np.zeros(3, np.float32)} for epoch in EPOCHS
        ]
        record = {
            "spec": make_spec("control", seed).as_json(),
            "status": "completed",
            "epochs": len(EPOCHS),
            "trainable": ["a/kernel", "a/bias"],
        }
        parts = {"epochs": epochs, "record": record, "final": dict(epochs[-1])}
        if change:
            change(parts)
        folder = tmp_path / "runs" / str(seed)
        arrays.write_npz(folder / "weights.npz", parts["final"])
        rows = [",".join(loop.HISTORY)]
        for epoch, weights in enumerate(parts["epochs"], 1):
            whole, tensors = runs.weight_digests(weights)
            tensors = " ".join(digest[: runs.TENSOR_DIGITS] for digest in tensors)
            row = {"epoch": epoch, "weights_sha256": whole, "tensors_sha256": tensors}
            rows.append(",".join(str(row.get(column, 0.5)) for column in loop.HISTORY))
        files.write_text(folder / "history.csv", "\n".join(rows) + "\n")
        files.write_json(folder / "run.json", parts["record"])
        return str(folder / "run.json")

    return make


@pytest.fixture
def make_dump(tmp_path):
    """Write a dump of logits (run x example x class) of seeds 1, 2, ...; returns its two paths."""

    def make(logits, name="control", **index):
        paths = tmp_path / f"{name}.npy", tmp_path / f"{name}.json"
        arrays.write_npy(paths[0], logits)
        seeds = list(range(1, len(logits) + 1))
        about = {"spec": {"study_seed": 0}, "seeds": seeds, "draws": dict.fromkeys(SOURCES, seeds)}
        about |= {"diverged": [False] * len(seeds), "shape": list(logits.shape)} | index
        files.write_json(paths[1], {key: value for key, value in about.items() if value is not None})
        return paths

    return make


@pytest.fixture(scope="session")
def evidence():
    """The folder of a study of `evidence/`: its archive is unpacked once, when the first test asks for it."""
    with ExitStack() as stack:
        yield functools.cache(lambda name: stack.enter_context(unpacked.opened(ROOT / f"evidence/{name}.tar.xz"))[0])
