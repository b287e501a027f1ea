"""One run of a small network on each tooling that this environment is for: does what a lock file installs train?

bench/locks.py runs it with the Python of an environment, in the folder that has .environments/<name>. It trains through
Snakemake where that is installed, else by the verbs. Toolings of GPUs must be refused in one line.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import jobs
import numpy as np
import yaml

from toolnoise.base import program
from toolnoise.datasets import preparation
from toolnoise.record import repository
from toolnoise.study import config, environments, grid, layout
from toolnoise.study.cells import Place, Training
from toolnoise.study.study import Study

# By the framework: where it runs here, and where it would with a GPU.
TOOLINGS = {"tensorflow": ("cpu", "h100"), "jax": ("cpu-jax", "h100-jax"), "torch": ("cpu-torch", "h100-torch")}
MODEL = "smallcnn"
STUDY = Path("study.yaml")


def toolings(name: str) -> tuple[list[str], list[str]]:
    """The toolings to train on, and those to be refused for want of a GPU."""
    if name in environments.known():
        registered = config.registered("hardware").items()
        return [tooling for tooling, entry in registered if entry["environment"] == name], []
    here = [both for framework, both in TOOLINGS.items() if importlib.util.find_spec(framework)]
    return [one for one, _ in here], [other for _, other in here]


def study(names: list[str]) -> Study:
    """A study of one run on each of these toolings, with its data."""
    draw = np.random.default_rng(1)
    images = {part: draw.integers(0, 256, (64, 8, 8, 1), np.uint8) for part in ("train", "test")}
    labels = {f"{part}_labels": np.arange(64) % 4 for part in images}
    np.savez("data.npz", **{f"{part}_images": array for part, array in images.items()}, **labels)
    cells = {"models": [MODEL], "datasets": ["mine"], "hardware": names, "variants": ["control"], "seeds": 1}
    written = {
        "study": "one",
        "datasets": {"mine": {"reader": "npz", "path": "data.npz"}},
        "recipes": {"short": {"epochs": 2, "batch_size": 16, "learning_rate": 0.01}},
        "grid": [cells | {"recipe": "short"}],
        "figures": [],
    }
    STUDY.write_text(yaml.safe_dump(written))
    return grid.load(STUDY)


def command(of: Study, verb: str, place: Place) -> list[str]:
    """The command of a job, with this environment's program."""
    return [f"{sys.prefix}/bin/toolnoise", *jobs.words(of, str(STUDY), verb, place)]


def trained(of: Study, place: Training) -> None:
    """Perform the jobs of a run; a job that fails ends this program."""
    if importlib.util.find_spec("snakemake"):
        where = ["--snakefile", str(program.snakefile()), "--configfile", str(STUDY), "--cores", "1", "--quiet", "all"]
        lines = [program.python("snakemake", *where, "--show-failed-logs", of.path(layout.WEIGHTS, place))]
    else:
        # Where the verbs of data cannot be performed, the workflow's environment prepares it.
        entry = of.config["datasets"][place.dataset]
        preparation.prepare(place.dataset, entry, of.path(layout.DATA, dataset=place.dataset))
        lines = [command(of, "train", place)]
    for line in lines:
        subprocess.run(line, check=True, stdout=sys.stderr)


def refused(of: Study, place: Training) -> str:
    """The line that refuses a run."""
    done = subprocess.run(command(of, "train", place), capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("toolnoise: ")]
    if done.returncode != 2 or len(lines) != 1 or "Traceback" in done.stderr:
        sys.exit(f"{place.hardware}: exit code {done.returncode}, not refused in one line:\n{done.stderr}")
    return lines[0].removeprefix("toolnoise: ")


def main() -> None:
    """Train, and print what happened on each tooling, as JSON."""
    works, refuses = toolings(sys.argv[1])
    if not works:
        sys.exit(f"{sys.argv[1]}: no tooling trains in this environment")
    of = study(works + refuses)
    said = {}
    for name in works:
        trained(of, Training(MODEL, "mine", name, "control", 1))
        said[name] = "trained"
    for name in refuses:
        said[name] = refused(of, Training(MODEL, "mine", name, "control", 1))
    print(json.dumps({"states": repository.lock({}), "toolings": said}))


if __name__ == "__main__":
    main()
