"""The wheel, in environments of its own and in folders without a clone: it has all that its verbs and its rules read.

The environment of this Python borrows packages. Those of other Pythons have what the wheel itself asks for.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.stats import ttest_ind

from toolnoise.base.program import ROOT

# What the extras bring, by the names that are imported.
EXTRAS = (
    *("IPython", "ipykernel", "matplotlib", "papermill", "PIL", "pooch", "requests", "rocrate", "sklearn", "seaborn"),
    *("snakemake", "keras", "tensorflow", "jax", "torch"),
)
TASK = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "hardware": ["cpu"]}
STUDY = {
    "study": "mine",
    "grid": [TASK | {"variants": ["algo_impl", "control"], "seeds": 2}],
    "recipes": {"short": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own, and nothing of this checkout on the path of programs."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


@pytest.fixture
def verb(run, installed, folder):
    """Run a verb of the installed package in that folder; without what the extras bring, if these are blocked."""

    def start(*arguments, blocked=()):
        env = {"PYTHONPATH": str(ROOT / "tests/blocking"), "BLOCKED": " ".join(blocked)} if blocked else {}
        return run(folder, installed / "toolnoise", *arguments, env=env)

    return start


def test_the_wheel_has_every_file_of_the_program_and_none_of_its_tests(wheel, checkout):
    folders = [checkout / name for name in ("notebooks", "requirements", "resources", "workflow")]
    files = {path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    files -= {checkout / "requirements/lock.sh", *(checkout / "requirements/tools").iterdir()}
    files -= {checkout / "workflow/profiles" / name for name in ("write.py", "slurm.template")}
    wanted = {path.relative_to(checkout).as_posix() for path in files}
    wanted |= {"Snakefile", "config.yaml", "environment.yml", "CITATION.cff", "LICENSE", "profiles/default/config.yaml"}
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    carried = {name.removeprefix("toolnoise/carried/") for name in names if name.startswith("toolnoise/carried/")}
    modules = {f"workflow/{name}" for name in names if not name.startswith("toolnoise/carried/")}
    assert carried | modules == wanted


def test_what_is_published_has_the_same_bytes_wherever_it_is_built_and_leads_to_the_repository(
    as_repository, run, folder
):
    """Other rights, times, folders and files beside what git has: it is of the commit alone, and so is the source."""
    tree, address = folder / "tree", "https://example.org/toolnoise"
    as_repository(tree)
    (tree / ".venv").symlink_to(sys.prefix)
    (folder / "scratch").mkdir()

    def made(mask, scratch):
        dist = f'make --silent -o .venv/cpu dist REPOSITORY="{address}"'
        done = run(tree, "bash", "-c", f'umask {mask} && TMPDIR="{scratch}" {dist}')
        assert done.returncode == 0, done.stdout + done.stderr
        (found,) = (tree / "dist").glob("*.whl")
        return found.rename(folder / f"made-with-{mask}.whl")

    first = made("022", folder)
    for path in (tree / "workflow").rglob("*.py"):
        path.chmod(0o600)
        os.utime(path, (0, 0))
    (tree / "workflow/toolnoise/uncommitted.py").touch()
    second = made("077", folder / "scratch")
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(next((tree / "dist").glob("*.tar.gz"))) as packed:
        packed.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    build = "from setuptools import build_meta; build_meta.build_wheel('..')"
    assert run(source, sys.executable, "-c", build).returncode == 0
    (built,) = (folder / "source").glob("*.whl")
    contents = [{name: one.read(name) for name in one.namelist()} for one in map(zipfile.ZipFile, (first, built))]
    assert contents[0] == contents[1]
    about = contents[0]["toolnoise-0.1.0.dist-info/METADATA"].decode()
    assert f"\nProject-URL: Repository, {address}\n" in about
    links = re.findall(r"\]\(([^)]*)\)", about)
    assert f"{address}/blob/HEAD/LICENSE" in links and all(re.match("https://|#", link) for link in links)


@pytest.fixture
def by_hand(folder):
    """Use each verb that needs no study, and adopt one, started in this way; returns how each verb ended."""

    def use(verb, python):
        assert verb("--version").stdout == "toolnoise 0.1.0\n"
        labels = np.arange(100) % 10
        np.save(folder / "y.npy", labels)
        for name, wrong in (("a", 20), ("b", 10)):
            (folder / name).mkdir()
            for run in range(3):
                predicted = labels.copy()
                predicted[run : wrong + run] = 9 - predicted[run : wrong + run]
                np.save(folder / name / f"{run}.npy", predicted)
        compared = verb("compare", "a/*.npy", "b/*.npy", "--labels", "y.npy")
        assert "accuracy %" in compared.stdout, compared.stderr
        planned = verb("plan", "--sd", "0.3", "--gain", "0.3")
        (folder / "runs.csv").write_text("accuracy\n0.9\n0.91\n0.92\n")
        (folder / "new.csv").write_text("accuracy\n0.91\n")
        judged = verb("gate", "--reference", "runs.csv", "--new", "new.csv", "--metric", "accuracy")
        shutil.copyfile(ROOT / "tests/checking/drivers/trained_in_numpy.py", folder / "train.py")
        program = [python, "train.py", "--seed", "{init}", "--data-seed", "{shuffle}"]
        checked = verb("check", "--sources", "init,shuffle", "--", *map(str, program))
        adopted = verb("adopt", "{arm}/{seed}.npy", "--labels", "y.npy", "--name", "mine")
        assert adopted.stdout.startswith("mine.yaml: 6 runs (a 3, b 3)"), adopted.stderr
        estimated = verb("estimate", "--study", "mine.yaml")
        return [compared, planned, judged, checked, adopted, estimated]

    return use


def failures(ended):
    """What those said that did not end well."""
    return [done.stdout + done.stderr for done in ended if done.returncode]


def test_what_needs_no_study_needs_no_extra(by_hand, verb, installed):
    assert failures(by_hand(functools.partial(verb, blocked=EXTRAS), installed / "python")) == []


# tests/commands/test_api.py and tests/comparison/test_eval_logs.py have what a figure and a packed log need.
def test_tables_and_logs_are_compared_without_an_extra(verb, folder):
    values = {"a": [0.912, 0.921, 0.915, 0.909, 0.918], "b": [0.925, 0.930, 0.921, 0.919, 0.933]}
    for name, column in values.items():
        (folder / f"{name}.csv").write_text("\n".join(["accuracy", *map(str, column)]) + "\n")
    done = verb("compare", "a.csv", "b.csv", "--metric", "accuracy", blocked=EXTRAS)
    interval = ttest_ind(values["b"], values["a"], equal_var=False).confidence_interval()
    assert f"(95 % CI {interval.low:.4f} to {interval.high:.4f}; Welch" in done.stdout, done.stderr
    with tarfile.open(ROOT / "tests/comparison/eval_logs.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    done = verb("compare", "inspect/a.json", "inspect/b.json", "--metric", "match", blocked=EXTRAS)
    assert "match +8 points (95 % CI -4 to 21; over 12 questions" in done.stdout, done.stderr


def interpreter(version):
    """A Python of that minor version on the PATH or among pyenv's, whose shims are there without a Python, too."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    places = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
    says = ["-c", "import ensurepip, sys, venv; print('{}.{}'.format(*sys.version_info))"]
    for place in filter(None, places):
        if subprocess.run([place, *says], capture_output=True, text=True).stdout.strip() == version:
            return place
    return pytest.skip(f"python{version} is neither on the PATH nor among pyenv's")


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_another_python_with_what_the_wheel_asks_for_has_the_verbs_that_need_no_extra(
    version, by_hand, wheel, run, folder
):
    env = folder / "env/bin"
    subprocess.run([interpreter(version), "-m", "venv", env.parent], check=True)
    done = run(folder, env / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    if done.returncode and "connection broken by" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    assert failures(by_hand(functools.partial(run, folder, env / "toolnoise"), env / "python")) == []


def test_a_study_is_examined_and_estimated_without_an_extra_and_planned_with_them(verb, folder, write_study):
    write_study(folder, STUDY)
    found = verb("doctor", blocked=EXTRAS)
    assert "cpu-eigen" in found.stdout, found.stderr
    estimated = verb("estimate", "--study", "study.yaml", blocked=EXTRAS)
    assert estimated.returncode == 0, estimated.stderr
    done = verb("run", "--dry-run")
    assert re.search(r"^train_run +4$", done.stdout + done.stderr, re.MULTILINE)


def test_what_a_clone_has_made_is_up_to_date_clean_and_reported_for_the_installed_program(
    verb, run, installed, folder, small_study
):
    # Equal code digests under equal names: else jobs would be planned, and results would be stale.
    shutil.copytree(small_study, folder, dirs_exist_ok=True)
    program = "from toolnoise.base import program; print(program.path_of_snakefile())"
    file = run(folder, installed / "python", "-c", program).stdout.strip()
    assert Path(file).is_relative_to(installed.parent)
    command = [installed / "python", "-m", "snakemake", "--snakefile", file, "--configfile", "study.yaml"]

    def plan(*asked):
        done = run(folder, *command, *(asked or ["--dry-run"]))
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"workflow specific profile {Path(file).parent}/profiles/default" in done.stderr
        return done.stdout + done.stderr

    assert "Nothing to be done" in plan()
    said = verb("summary", "--study", "results/small/study.json", blocked=EXTRAS)
    assert said.returncode == 0, said.stderr
    audited = verb("audit", "results/small", "--strict", blocked=EXTRAS)
    assert audited.returncode == 0, audited.stdout + audited.stderr
    plan("--report", "mine.html")
    assert "test accuracy over runs in study <em>small</em>" in (folder / "mine.html").read_text()


def test_results_of_other_versions_are_stale_and_not_damaged_without_a_repository(verb):
    audited = verb("audit", ROOT / "evidence/gpu-h200.tar.xz", blocked=EXTRAS)
    assert audited.returncode == 0, audited.stdout + audited.stderr
    assert "commits and changed code were not checked" in audited.stdout
    assert re.search(r"^clean: .* results are stale", audited.stdout, re.MULTILINE)


# `--sdm conda`: a job runs in the environment of environment.yml, which a stand-in for conda makes


CELL = "smallcnn/digits/cpu/control"
TWO_FRAMEWORKS = {
    "study": "small",
    "grid": [
        {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "quick", "variants": ["control"], "seeds": 1}
        | {"hardware": ["cpu", "cpu-jax"]}
    ],
    "recipes": {"quick": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
    "figures": ["table1"],
}
# What Snakemake asks of conda. An environment has the packages here, but for this program; its Python notes each call.
CONDA = """\
#!/bin/bash
set -eu
case "$*" in
  "info --json") echo '{{"conda_prefix": "{base}", "platform": "linux-64"}}' ;;
  "--version") echo "conda 24.7.1" ;;
  "config --get channel_priority --json") echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
  "env create"*)
    while [ "$1" != --prefix ]; do [ "$1" = --file ] && cp "$2" {base}/made-from.yml; shift; done
    {python} -m venv --without-pip "$2"
    echo {packages} >"$(echo "$2"/lib/python*/site-packages)/packages.pth"
    mv "$2/bin/python" "$2/bin/real-python"
    printf '#!/bin/bash\\necho "$@" >>{base}/calls\\nexec "$(dirname "$0")/real-python" "$@"\\n' >"$2/bin/python"
    chmod +x "$2/bin/python" ;;
  "clean "*) ;;
  *) echo "not expected of conda: $*" >&2; exit 1 ;;
esac
"""
ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'


def test_a_job_runs_in_the_environment_of_its_rule_and_from_the_same_package(
    write_study, snakemake, skip_without, tmp_path
):
    skip_without("tensorflow")
    skip_without("jax")
    folder, base = write_study(tmp_path / "study", TWO_FRAMEWORKS), tmp_path / "conda"
    (base / "bin").mkdir(parents=True)
    filled = CONDA.format(base=base, python=sys.executable, packages=Path(yaml.__file__).parents[1])
    (base / "bin/conda").write_text(filled)
    (base / "bin/conda").chmod(0o755)
    (base / "bin/activate").write_text(ACTIVATE)
    env = {"PATH": f"{base / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    runs = [f"results/small/runs/smallcnn/digits/{hardware}/control/1/run.json" for hardware in ("cpu", "cpu-jax")]
    done = snakemake(folder, *runs, "table1", "--sdm", "conda", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (base / "made-from.yml").read_text() == (ROOT / "environment.yml").read_text()
    calls = re.findall(r"-m toolnoise\.cli (\S+)(.*)", (base / "calls").read_text())
    # JAX is not among what environment.yml has: its training ran where Snakemake runs.
    assert sorted(verb for verb, _ in calls) == ["count", "prepare", "render", "train"]
    assert "--tooling name=cpu " in dict(calls)["train"]
    stated = (folder / f"results/small/statements/runs/{CELL}/1/weights.npz.intoto.json").read_text()
    assert '"workflow/toolnoise/study/runs.py"' in stated and '"requirements/cpu.txt"' in stated
    again = snakemake(folder, *runs, "table1", "--dry-run", "--sdm", "conda", env=env)
    assert "Nothing to be done" in again.stdout + again.stderr
    # Snakemake makes again what another environment made.
    without = snakemake(folder, runs[0], "--dry-run")
    assert "Software environment definition has changed" in without.stdout + without.stderr
