"""Trainings for the engine's tests, each in a process of its own: no framework is ever imported into pytest's."""

import csv
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from toolnoise import epoch_plan
from toolnoise.base import arrays, files
from toolnoise.base.spec import Spec
from toolnoise.datasets import preparation, prepared
from toolnoise.study import grid

DRIVERS = Path(__file__).parent / "drivers"

# Everything that floating-point surroundings could leak into: a cosine, a warm-up, means and deviations, every move.
RECIPE = {
    "epochs": 2,
    "batch_size": 128,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "warmup_epochs": 1,
    "normalise": "per-image",
    "crop": 2,
    "flip": True,
}


# By framework, what makes the registry's entry `cpu` a tooling of it; of those that are installed.
TOOLINGS = {"tensorflow": {}, "jax": {"engine": "jax", "kernels": "xla"}, "torch": {"engine": "torch"}}
INSTALLED = {name: tooling for name, tooling in TOOLINGS.items() if importlib.util.find_spec(name)}


@pytest.fixture(scope="session")
def toolings():
    return INSTALLED


# Of a module: for a session, pytest would sort tests by framework, and make a module's trainings once for each.
@pytest.fixture(scope="module", params=INSTALLED)
def framework(request):
    return request.param


class Trained(NamedTuple):
    """What a run left, and its spec."""

    weights: dict[str, np.ndarray]
    weight_bytes: bytes
    history: list[dict[str, str]]
    record: dict[str, Any]

    @property
    def digests(self):
        return [(row["weights_sha256"], row["tensors_sha256"]) for row in self.history]

    @property
    def untimed(self):
        """Its history without its times, which no two runs share."""
        return [{name: value for name, value in row.items() if name != "seconds"} for row in self.history]


class Workshop:
    """A folder with a study of one model in which runs are trained by hand."""

    def __init__(self, folder, toolnoise, run, skip_without, options_of):
        self.folder, self.toolnoise, self.run, self.options_of = folder, toolnoise, run, options_of
        self.study = grid.load_study(folder / "study.yaml")
        self.cell = self.study.cells[0]
        for engine in {self.study.tooling(cell.hardware)["engine"] for cell in self.study.cells}:
            skip_without(engine)
        self.data = f"{self.cell.dataset}.npz"
        # As the verb does, which other tests start: here it would be one more process for each workshop.
        entry = self.study.config["datasets"][self.cell.dataset]
        own = {"path": folder / entry["path"]} if "path" in entry else {}
        preparation.prepare(self.cell.dataset, {**entry, **own}, out=folder / self.data)

    def command(self, variant="control", seed=1, hardware=None, out="out"):
        """The arguments of `toolnoise` that train one run."""
        cell = self.cell._replace(variant=variant, hardware=hardware or self.cell.hardware)
        spec = self.options_of(self.study.spec(cell, seed))
        outputs = ["--weights", f"{out}/weights.npz", "--history", f"{out}/history.csv", "--record", f"{out}/run.json"]
        outputs += ["--checkpoint", f"checkpoints/{out}.npz"]
        return ["train", *spec, "--data", self.data, *outputs]

    def attempt(self, variant="control", seed=1, hardware=None, out="out", **options):
        """Train; return the finished process."""
        return self.toolnoise(self.folder, *self.command(variant, seed, hardware, out), **options)

    def begin(self, *named):
        """Begin to train in a process that keeps a checkpoint after every epoch."""
        command = [sys.executable, DRIVERS / "training.py", "always_keeping", *map(str, self.command(*named))]
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def kill_after(self, epoch, ending, *named):
        """Begin to train and end it as soon as it says that an epoch is over; return what it had said."""
        process, said = self.begin(*named), []
        for line in process.stdout:
            said.append(line)
            if line.startswith(f"epoch {epoch} of "):
                process.send_signal(ending)
                break
        process.stdout.close()
        assert process.wait() == -ending, said
        return said

    def finish(self, *named):
        """Train to the end; return what was said."""
        process = self.begin(*named)
        said = process.communicate()[0]
        assert process.returncode == 0, said
        return said

    def train(self, variant="control", seed=1, hardware=None, **options):
        """Train and return what the run left."""
        out = self.named(variant, seed, hardware)
        done = self.attempt(variant, seed, hardware, out=out, **options)
        assert done.returncode == 0, done.stderr
        return self.read(out)

    def named(self, variant="control", seed=1, hardware=None):
        """The folder of a run."""
        return f"{hardware or self.cell.hardware}-{variant}-{seed}"

    def read(self, out):
        """What a run left."""
        folder = self.folder / out
        with (folder / "history.csv").open(newline="") as file:
            history = list(csv.DictReader(file))
        weights = arrays.read_npz(folder / "weights.npz")
        return Trained(weights, (folder / "weights.npz").read_bytes(), history, files.read_json(folder / "run.json"))

    def spec(self, variant="control", seed=1):
        return self.study.spec(self.cell._replace(variant=variant), seed)

    def dataset(self):
        """The data as the engine gets it."""
        return prepared.load(self.folder / self.data, self.spec().recipe["normalise"])

    def last_step(self, trained):
        """The plan of a run's last step."""
        spec = Spec.read(trained.record["spec"])
        train = self.dataset().train
        plan = epoch_plan.plan_epoch(spec, len(train.labels), spec.recipe["epochs"] - 1, train.margin, train.boxes)
        parts = ("order", "offsets", "flips", "slots", *(() if plan.boxes is None else ("boxes",)))
        return plan._replace(**{part: getattr(plan, part)[-1] for part in parts})

    def drive(self, script, function, *arguments, out="out.npz", read=arrays.read_npz):
        """Run a driver of the engine, a function of a script; return what it wrote."""
        command = (sys.executable, DRIVERS / f"{script}.py", function)
        done = self.run(self.folder, *command, "study.yaml", self.data, out, *arguments)
        assert done.returncode == 0, done.stderr
        return read(self.folder / out)


BLOCK = {"recipe": "here", "hardware": ["cpu"], "variants": ["impl", "algo", "control", "dropout"], "seeds": 3}
# Three of Control: one of them is bound to a core.
BLOCK |= {"control_seeds": 3}


@pytest.fixture(scope="session")
def workshop_in(toolnoise, run, skip_without, options_of):
    """Open a workshop in the folder of a study."""
    return lambda folder: Workshop(folder, toolnoise, run, skip_without, options_of)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory, write_study, workshop_in):
    """Open a workshop on digits; `registries` are the study's own entries."""

    def make(
        recipe=RECIPE, model="smallcnn", hardware=("cpu", "cpu-eigen"), own_hardware=None, variants=(), **registries
    ):
        block = BLOCK | {"models": [model], "datasets": ["digits"], "hardware": list(hardware)}
        block["variants"] = [*BLOCK["variants"], *variants]
        written = {"study": "workshop", "grid": [block], "recipes": {"here": recipe}, **registries}
        written["hardware"] = own_hardware or {}
        return workshop_in(write_study(tmp_path_factory.mktemp("workshop"), written))

    return make


@pytest.fixture(scope="session")
def own_workshop(tmp_path_factory, write_study, workshop_in):
    """Open a workshop on a builder, of drivers/own_models.py unless said, and 64 images of 6 x 8 pixels unless said."""

    def make(builder, options=None, module="own_models", size=(6, 8, 2), tooling=None, data=None, **recipe):
        folder = tmp_path_factory.mktemp("workshop")
        (folder / "own_models.py").write_text((DRIVERS / "own_models.py").read_text())
        generator = np.random.default_rng(1)
        raw = {}
        for part in ("train", "test"):
            raw[f"{part}_images"] = generator.integers(0, 256, (64, *size), np.uint8)
            raw[f"{part}_labels"] = np.arange(64) % 4
        np.savez(folder / "raw.npz", **raw)
        written = {
            "study": "workshop",
            "grid": [BLOCK | {"models": ["mine"], "datasets": ["pictures"]}],
            "hardware": {"cpu": tooling or {}},
            "models": {"mine": {"builder": f"{module}:{builder}", "options": options or {}}},
            "datasets": {"pictures": data or {"reader": "npz", "path": "raw.npz"}},
            "recipes": {"here": {"epochs": 1, "batch_size": 32, "learning_rate": 0.01} | recipe},
        }
        return workshop_in(write_study(folder, written))

    return make


@pytest.fixture(scope="session")
def attempts(run):
    """Try several trainings of one tooling in one process, each in a folder; what each said, and its exit code."""

    def attempt(*commands):
        words = [word for folder, command in commands for word in ("--", folder, *command)]
        done = run(Path.cwd(), sys.executable, DRIVERS / "training.py", "several", *words)
        assert done.returncode == 0, done.stderr
        ended = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return [SimpleNamespace(returncode=one["code"], stdout=one["said"], stderr="") for one in ended]

    return attempt


@pytest.fixture(scope="session")
def train_together(attempts):
    """Train runs of one tooling in one process, each given as (workshop, variant, seed); what each left."""

    def train(*runs):
        outs = [here.named(*run) for here, *run in runs]
        which = zip(runs, outs, strict=True)
        for done in attempts(*((here.folder, here.command(*run, out=out)) for (here, *run), out in which)):
            assert done.returncode == 0, done.stdout
        return [here.read(out) for (here, *_), out in zip(runs, outs, strict=True)]

    return train
