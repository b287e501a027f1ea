"""The programs of examples/: equal seeds give equal bits on a CPU, and each seed that is changed gives others."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base.program import ROOT

DRIVER = Path(__file__).parent / "drivers/forks.py"
# timm is in a folder of its own, with a torchvision that not every build of PyTorch can load (Makefile).
APART = ROOT / ".environments/timm"
BESIDE = {"PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parent / "without_cuda", APART)))}
# The package that an example needs, what takes long to import, and the sources that it separates.
EXAMPLES = {
    "smallcnn_digits": ("torch", ("torch", "sklearn.datasets"), ("init", "shuffle", "augment")),
    "torch_digits": ("torch", ("torch", "sklearn.datasets"), ("init", "shuffle", "augment", "dropout")),
    "lightning_digits": ("pytorch_lightning", ("pytorch_lightning",), ("init", "shuffle", "dropout")),
    "timm_digits": ("timm", ("timm", "sklearn.datasets"), ("init", "shuffle", "augment", "dropout")),
    "transformers_digits": ("transformers", ("transformers.trainer",), ("init", "shuffle", "dropout")),
}


def test_every_program_is_tested():
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.fixture(scope="module", params=EXAMPLES)
def outcomes(request, tmp_path_factory, skip_without, run):
    """An example's folders: run alone, run again, and run with each seed changed."""
    package, modules, sources = EXAMPLES[request.param]
    beside = BESIDE if package == "timm" and APART.is_dir() else {}
    if not beside:
        skip_without(package)
    program, folder = ROOT / f"examples/{request.param}.py", tmp_path_factory.mktemp(request.param)
    control = {"TOOLNOISE_DETERMINISTIC": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""} | beside
    changed = {source: control | {f"TOOLNOISE_SEED_{source.upper()}": "4294967295"} for source in sources}
    runs = {"again": control | {"TOOLNOISE_OUT": "elsewhere"}, **changed}
    for name in ("alone", *runs):
        (folder / name).mkdir()
    alone = run(folder / "alone", sys.executable, program, env=control)
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout.splitlines()[-1].startswith("test accuracy 0.")
    within = {str(folder / name): variables for name, variables in runs.items()}
    done = run(folder, sys.executable, DRIVER, program, json.dumps(modules), json.dumps(within), env=beside)
    assert done.returncode == 0, done.stderr
    return folder, sources


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_example_learns_repeats_itself_bit_by_bit_and_heeds_every_seed(outcomes):
    folder, sources = outcomes
    alone = contents(folder / "alone/outcome")
    assert set(alone) == {"logits.npy", "labels.npy", "weights.npz", "history.csv"}
    logits, labels = (np.load(folder / f"alone/outcome/{name}.npy") for name in ("logits", "labels"))
    assert (logits.argmax(1) == labels).mean() > 0.5
    assert contents(folder / "again/elsewhere") == alone
    logits = {(folder / name / "outcome/logits.npy").read_bytes() for name in sources}
    assert len(logits | {alone["logits.npy"]}) == 1 + len(sources)
