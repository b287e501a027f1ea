"""What the tests of whole programs share: verbs and Snakemake as a person runs them, each in processes of its own."""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[1]
# What `make check` runs: the unit tests, and one study from its file to its audit.
QUICK = ("tests/unit", "tests/workflow/test_one_framework.py")
# Unit tests that it leaves to `make test`: they simulate many studies, or start programs, for ten seconds a file.
SLOW = tuple(
    f"tests/unit/test_{name}.py"
    for name in (
        "api",
        "checking_contract",
        "checking_invariances",
        "claims_published",
        "datasets_fetching",
        "faults",
        "fuzz",
        "published",
        "redaction",
        "signing",
        "stats_spread",
        "stats_two_means",
        "stats_variances",
    )
)
# What `make test` leaves to `make test-long`: further studies from their files to their ends, existing programs, what
# compares frameworks, and what is stopped and goes on.
LONG = (
    *(
        f"tests/engine/test_{name}.py"
        for name in (
            "activations",
            "interruption",
            "portable",
            "precision",
            "streaming",
            "three_frameworks",
            "training_on_originals",
        )
    ),
    *(
        f"tests/workflow/test_{name}.py"
        for name in (
            "adopt",
            "before_and_during",
            "celeba",
            "check",
            "data",
            "edges_of_studies",
            "gpu_script",
            "gpu_trials",
            "module",
            "outcomes_of_networks",
            "outcomes_of_programs",
            "overhead",
            "own_environment",
            "own_model_and_data",
            "profiles",
            "programs",
            "rebuild",
            "remedies",
            "secrets",
            "supply",
            "two_sites",
            "validated_crates",
            "warm",
        )
    ),
)


def pytest_collection_modifyitems(items):
    """Whatever else starts programs is slow; so is what is marked so where it stands.

    The slowest come first: at the end, no worker then waits for long.
    """
    for item in items:
        if not _is_in(item, QUICK) or _is_in(item, SLOW):
            item.add_marker(pytest.mark.slow)
        if _is_in(item, LONG):
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: [_is_in(item, (folder,)) for folder in ("tests/unit", "tests/engine")])


def _is_in(item, names):
    return any(item.path.is_relative_to(ROOT / name) for name in names)


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
def snakemake(run):
    """Run a study file's workflow; results go to the folder, the source is this checkout unless another is given."""

    def start(folder, *arguments, study="study.yaml", source=ROOT, cores=2, env=None):
        command = [sys.executable, "-m", "snakemake", "--snakefile", source / "Snakefile", "--directory", folder]
        command += ["--configfile", Path(folder) / study, "--cores", cores]
        # A checkout elsewhere is the package that counts there.
        env = {"PYTHONPATH": str(source / "workflow"), **(env or {})}
        return run(folder, *command, *arguments, env=env)

    return start


@pytest.fixture(scope="session")
def until():
    """Wait for a condition, at most two minutes."""

    def wait(condition):
        end = time.monotonic() + 120
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
