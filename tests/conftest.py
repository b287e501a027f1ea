"""What the tests of whole programs share: verbs and Snakemake as a person runs them, each in processes of its own."""

import copy
import fcntl
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import settings
from scripts import loaded

from toolnoise import cli, streams
from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import values_as_text
from toolnoise.base.noise_sources import DRAWN
from toolnoise.commands import jobs
from toolnoise.provenance import archive
from toolnoise.study import config, grid, runs
from toolnoise.study.cells import Cell
from toolnoise.study.variants import VARIANTS
from toolnoise.training import loop

ROOT = Path(__file__).parents[1]
# What takes longest comes first: at the end, no worker then waits for long.
FIRST = (
    "tests/workflow",
    "tests/engines",
    "tests/provenance/test_audit_mutations.py",
    "tests/provenance/test_audit.py",
    "tests/figures/test_rendered_figures.py",
)

# The same examples every time, however busy the machine.
settings.register_profile("toolnoise", deadline=None, derandomize=True)
settings.load_profile("toolnoise")


def pytest_collection_modifyitems(items):
    """Tests of whole studies before those of functions."""
    items.sort(key=lambda item: not any(item.path.is_relative_to(ROOT / folder) for folder in FIRST))


@pytest.fixture(scope="session")
def run():
    """Run a program in a folder, with variables laid over this process's."""

    def start(folder, *command, env=None, **options):
        environment = {**os.environ, **(env or {})}
        return subprocess.run(
            [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, **options
        )

    return start


@pytest.fixture(scope="session")
def toolnoise(run):
    """Run a verb through the console script, which does not look for modules in the folder it starts in."""
    script = Path(sys.executable).with_name("toolnoise")
    return lambda folder, *arguments, **options: run(folder, script, *arguments, **options)


@pytest.fixture(scope="session")
def options_of():
    """The options with which a rule gives the spec of a job."""

    def options(spec):
        rest = spec.as_json()
        named = {"tooling": rest.pop("hardware")}
        named |= {part: rest.pop(part) for part in jobs.SPEC if part != "seed" and part in rest} | {"seed": rest}
        return [word for part, values in named.items() for word in (f"--{part}", values_as_text(values))]

    return options


@pytest.fixture(scope="session")
def snakemake(run):
    """Run a study file's workflow; results go to the folder, the source is this checkout unless another is given."""

    def start(folder, *arguments, study="study.yaml", source=ROOT, cores=2, env=None):
        command = [sys.executable, "-m", "snakemake", "--snakefile", source / "Snakefile", "--directory", folder]
        command += ["--configfile", Path(folder) / study, "--cores", cores, "--workflow-profile", "none"]
        # A checkout elsewhere is the package that counts there.
        env = {"PYTHONPATH": str(source / "workflow"), **(env or {})}
        return run(folder, *command, *arguments, env=env)

    return start


@pytest.fixture(scope="session")
def until():
    """Wait for a condition, at most ten minutes: the machine may be busy."""

    def wait(condition):
        end = time.monotonic() + 600
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.05)

    return wait


@pytest.fixture(scope="session")
def skip_without():
    """Skip what needs a package that is not installed; nothing is imported to find out."""

    def skip(package):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")

    return skip


@pytest.fixture(scope="session")
def blocking():
    """Variables under which a process and its children fail if they import these packages."""

    def variables(*packages):
        paths = [str(ROOT / "tests/blocking"), str(ROOT / "workflow"), os.environ.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "BLOCKED": " ".join(packages)}

    return variables


@pytest.fixture(scope="session")
def refusal():
    """The one line with which a program refused bad input: exit code 2 and no traceback."""

    def line(done):
        said = done.stdout + done.stderr
        assert done.returncode == 2, said
        assert "Traceback" not in said
        lines = [text for text in said.splitlines() if text.startswith("toolnoise: ")]
        assert len(lines) == 1, said
        return lines[0]

    return line


@pytest.fixture(scope="session")
def write_study():
    """Write a study file into a folder."""

    def write(folder, study, name="study.yaml"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(yaml.safe_dump(study, sort_keys=False))
        return folder

    return write


@pytest.fixture(scope="session")
def change_study():
    """Change the study file in a folder."""

    def change(folder, edit):
        path = folder / "study.yaml"
        study = yaml.safe_load(path.read_text())
        edit(study)
        path.write_text(yaml.safe_dump(study, sort_keys=False))

    return change


@pytest.fixture(scope="session")
def planned(snakemake):
    """How many jobs of each rule a dry run plans."""

    def plan(folder, *targets, **options):
        done = snakemake(folder, *targets, "--dry-run", **options)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        if "Nothing to be done" in said:
            return {}
        table = re.search(r"^job +count\n[- ]+\n(.*?)^total ", said, re.MULTILINE | re.DOTALL)
        return {rule: int(count) for rule, count in (line.split() for line in table[1].splitlines())}

    return plan


@pytest.fixture(scope="session")
def photographs():
    """Write JPEGs of many sizes, parts of two photographs, as train/<class>/<image> and test/<class>/<image>."""

    def write(folder, train, test):
        from PIL import Image
        from sklearn.datasets import load_sample_image

        generator = np.random.default_rng(7)
        for part, count in (("train", train), ("test", test)):
            for name in ("china", "flower"):
                whole = load_sample_image(f"{name}.jpg")
                (folder / part / name).mkdir(parents=True)
                for number in range(count):
                    height, width = generator.integers(20, 130, 2)
                    top, left = (int(generator.integers(0, 400 - side)) for side in (height, width))
                    picture = Image.fromarray(whole[top : top + height, left : left + width])
                    picture.save(folder / part / name / f"{number:03}.jpg", quality=90)
        return folder

    return write


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Make a folder once for all of pytest's worker processes; the others wait for the one that makes it."""

    def made(name, make):
        base = tmp_path_factory.getbasetemp()
        shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
        folder = shared / name
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # What a failed attempt left is shown to nobody: every worker fails alike.
            if not (folder / ".made").exists():
                folder.mkdir()
                make(folder)
                (folder / ".made").touch()
        return folder

    return made


TRAINING = {"epochs": 2, "batch_size": 64, "learning_rate": 0.01, "crop": 1}


def _block(model, recipe, hardware, *variants):
    task = {"models": [model], "datasets": ["digits"], "recipe": recipe}
    return task | {"hardware": [hardware], "variants": list(variants), "seeds": 2}


SMALL = {
    "study": "small",
    "grid": [
        _block("smallcnn", "plain", "cpu", "algo_impl", "impl", "control"),
        _block("smallcnn-bn", "normed", "cpu", "algo_impl", "control"),
        _block("smallcnn-bn", "normed", "cpu", "impl") | {"draws": 2},
        _block("smallcnn", "plain", "cpu-eigen", "control"),
    ],
    "recipes": {"plain": TRAINING, "normed": dict(TRAINING)},
    # Each figure takes seconds: per_class and those of sub-groups are rendered in other studies of these tests.
    "figures": ["table2", "noise_by_source", "batch_norm", "across_toolings", "table4"],
}


@pytest.fixture(scope="session")
def small_study(once, write_study, snakemake):
    """A small study's folder, run to its page; read-only. `said.txt` is what its run printed to a file."""

    def make(folder):
        write_study(folder, SMALL)
        done = snakemake(folder, "--logger", "toolnoise")
        (folder / "said.txt").write_text(done.stdout + done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr

    return once("small", make)


@pytest.fixture
def copied(small_study, tmp_path):
    """A finished study of one's own, to change."""
    return shutil.copytree(small_study, tmp_path / "copy")


TASK = {"models": ["smallcnn"], "datasets": ["mine"], "recipe": "short", "hardware": ["cpu"]}
OTHER = {
    "study": "other",
    "grid": [
        TASK | {"variants": ["control"], "seeds": 2, "remedies": ["flip"], "layers": 12},
        TASK | {"variants": ["bit"], "seeds": 1},
        TASK | {"variants": ["control"], "seeds": 2, "hardware": ["cpu-jax"]},
    ],
    "recipes": {
        "short": {
            "epochs": 2,
            "batch_size": 16,
            "learning_rate": 0.01,
            "schedule": "cosine",
            "cycles": 2,
            "record_steps": True,
        }
    },
    "overhead": {
        "models": ["smallcnn"],
        "hardware": ["cpu"],
        "batch_size": 4,
        "image_size": 8,
        "classes": 4,
        "warmup": 1,
        "steps": 1,
        "repeats": 1,
    },
    # The others are rendered in tests/figures/test_rendered_figures.py, without papermill.
    "figures": ["overhead", "layers", "framework_parts", "partings"],
}


@pytest.fixture(scope="session")
def other_study(once, write_study, snakemake):
    """A study's folder, run to its page and its speed; read-only.

    It has what the small one lacks: files from outside, snapshots, recorded steps, one bit, two frameworks, overhead,
    speed.
    """

    def pictures(part, count):
        images = streams.integers(1, (count, 8, 8, 1), 256).astype(np.uint8)
        return {f"{part}_images": images, f"{part}_labels": np.arange(count) % 4}

    def make(folder):
        arrays.write_npz(folder / "mine.npz", pictures("train", 64) | pictures("test", 16))
        checksum = hashlib.sha256((folder / "mine.npz").read_bytes()).hexdigest()
        data = {"mine": {"reader": "npz", "path": "mine.npz", "checksum": f"sha256:{checksum}"}}
        write_study(folder, OTHER | {"datasets": data})
        # Its speed first: the page does not wait for it, and names the statement of it only if it is there.
        for target in ("speed", "all"):
            done = snakemake(folder, target)
            assert done.returncode == 0, done.stdout + done.stderr

    return once("other", make)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """A fresh copy of this source tree, as git would check it out: no results, and every file new."""
    tree = tmp_path_factory.mktemp("elsewhere") / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name, follow_symlinks=False)
    return tree


@pytest.fixture(scope="session")
def as_repository(checkout):
    """Copy the checkout, which tests share and must not change, with further files; commit all; returns the commit."""

    def copy(tree, files=()):
        shutil.copytree(checkout, tree, symlinks=True)
        for name, text in dict(files).items():
            (tree / name).write_text(text)
        about = ["git", "-C", tree, "-c", "user.name=T", "-c", "user.email=t@example.org"]
        for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
            subprocess.run([*about, *command], check=True)
        head = subprocess.run([*about, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        return head.stdout.strip()

    return copy


@pytest.fixture(scope="session")
def wheel(once, checkout):
    """The wheel of this source tree, built in a copy of it."""

    def make(folder):
        shutil.copytree(checkout, folder / "tree", symlinks=True)
        program = "from setuptools import build_meta; build_meta.build_wheel('..')"
        subprocess.run([sys.executable, "-c", program], cwd=folder / "tree", check=True, capture_output=True)
        shutil.rmtree(folder / "tree")

    (found,) = once("wheel", make).glob("*.whl")
    return found


@pytest.fixture(scope="session")
def installed(once, wheel):
    """The programs of an environment with the wheel.

    It borrows the packages of this one. None is downloaded, and this checkout's own package is not among them.
    """

    def make(folder):
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        pip = [folder / "env/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([*pip, wheel], check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        (packages,) = folder.glob("env/lib/python*/site-packages")
        borrowed = [path for path in sys.path if path.endswith("-packages")]
        (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
        # pip would write the script of a package that it installs.
        script = folder / "env/bin/snakemake"
        script.write_text(f"#!{folder}/env/bin/python\nfrom snakemake.cli import main\n\nmain()\n")
        script.chmod(0o755)

    return once("installed", make) / "env/bin"


@pytest.fixture(scope="session")
def bench():
    """Import a program of bench/ by its name."""

    return lambda name: loaded(ROOT / f"bench/{name}.py")


# A study that is not run, and what its runs would leave
# -----------------------------------------------------

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
    return lambda written, file="tiny.yaml": grid.build_study(config.resolve(written, file), file)


@pytest.fixture(scope="session")
def make_spec():
    """The spec of a run of the small study: on `cpu` implementation noise is emulated, on `noisy` it is native."""
    tiny = grid.build_study(config.resolve(copy.deepcopy(STUDY), "tiny.yaml"), "tiny.yaml")
    return lambda variant, seed, hardware="cpu": tiny.spec(Cell("smallcnn", "digits", hardware, variant), seed)


@pytest.fixture(scope="session")
def refused():
    """Call what must refuse its input, and return its one line."""

    def call(function, *arguments, **named):
        with pytest.raises(BadInput) as caught:
            function(*arguments, **named)
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
def printed_by_verb(capsys):
    """Call a verb in this process and return what it prints, which no warning accompanies."""

    def call(*words):
        capsys.readouterr()
        cli.main(list(map(str, words)))
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    return call


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder of the test, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def saved(here):
    """Save arrays under their names in the folder where the test runs."""

    def save(**named):
        for name, array in named.items():
            np.save(here / f"{name}.npy", array)

    return save


@pytest.fixture
def drawn():
    """The same random numbers in every run."""
    return np.random.Generator(np.random.Philox(1))


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
        about = {"spec": {"study_seed": 0}, "seeds": seeds, "draws": dict.fromkeys(DRAWN, seeds)}
        about |= {"diverged": [False] * len(seeds), "shape": list(logits.shape)} | index
        files.write_json(paths[1], {key: value for key, value in about.items() if value is not None})
        return paths

    return make


@pytest.fixture(scope="session")
def evidence():
    """The folder of a study of `evidence/`: its archive is unpacked once, when the first test asks for it."""
    with ExitStack() as stack:
        yield functools.cache(
            lambda name: stack.enter_context(archive.opened_results(ROOT / f"evidence/{name}.tar.xz"))[0]
        )
