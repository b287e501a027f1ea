"""Digests of code: of what it does, however it is worded, and of what it imports, wherever that lies."""

import ast
import copy
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from toolnoise.base import code_digest, program
from toolnoise.checks import audit_rules
from toolnoise.checks.expected_jobs import expected_jobs
from toolnoise.provenance import repository
from toolnoise.provenance.statements import CODE, COMMIT, Artifact, Statement
from toolnoise.study import config, grid, job_code

ENGINE = "toolnoise.engines.tensorflow"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package and of all other files that jobs are made by, to be changed; digests are of the copy."""
    copied = tmp_path / program.NAME
    shutil.copytree(program.PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("notebooks", "requirements", "resources", "workflow/report"):
        shutil.copytree(program.ROOT / folder, tmp_path / folder)
    for module in (program, repository):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(program, "PACKAGE", copied)
    forget()
    yield copied
    forget()


def forget():
    """What a new process would not remember."""
    for module in (code_digest, repository, audit_rules):
        for cached in (one for one in vars(module).values() if hasattr(one, "cache_clear")):
            cached.cache_clear()


def digest(*modules, **options):
    forget()
    return code_digest.digest_of_code(*modules, **options)


def change(path, text="\nchanged = True\n"):
    path.write_text(path.read_text() + text)


IMPORTED = {
    "toolnoise.training.loop": [
        "training/loop.py",
        "epoch_plan.py",  # imported by it
        "base/noise_sources.py",  # at some depth
        "datasets/prepared.py",
        "engines/__init__.py",  # a package
    ],
    "toolnoise.datasets.readers.folder": ["datasets/archives.py"],
    "toolnoise.measures.noise": ["stats/estimates.py", "formulas/stability.py"],
    ENGINE: ["models/dropout.py", "base/environment.py"],  # the first inside a function
    "toolnoise.models.smallcnn": ["models/smallcnn.py"],
}
NOT_IMPORTED = {
    "toolnoise.training.loop": [
        "figures/style.py",
        "dumps/prediction_dump.py",  # imports training, not the other way round
        "engines/tensorflow.py",  # named by the spec, and added from there
        "formulas/churn.py",
        "__init__.py",  # the names that programs call
        "base/printing.py",  # imported by messages alone
    ],
    "toolnoise.measures.control_gate": ["stats/contrasts.py"],
    "toolnoise.measures.noise": ["engines/keras_engine.py"],  # it reads runs, and trains none
    "toolnoise.programs.run_program": ["training/loop.py"],  # a program has its own
    "toolnoise.figures.render": ["training/loop.py"],
    "toolnoise.base.metric_files": ["streams.py"],
}


def test_a_change_to_what_a_module_imports_changes_its_digest(package):
    unchanged = []
    for module, imported in IMPORTED.items():
        before = digest(module)
        for name in imported:
            change(package / name)
            after = digest(module)
            unchanged += [(module, name)] * (after == before)
            before = after
    assert unchanged == []


@pytest.mark.parametrize("module", NOT_IMPORTED)
def test_a_change_to_what_a_module_never_imports_changes_nothing(module, package):
    before = digest(module)
    for name in NOT_IMPORTED[module]:
        change(package / name)
    assert digest(module) == before


def test_a_builder_of_ones_own_and_what_it_imports_count_and_nothing_is_imported_to_know(here):
    folder = here / "mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (folder / "net.py").write_text("from mine import blocks\nimport numpy\n")
    (folder / "blocks.py").write_text("width = 1\n")
    digests = [digest(), digest("mine.net")]
    # Even a comment: nothing else keeps the text that made a result.
    for name, text in (("net", "# changed\n"), ("blocks", "width = 2\n")):
        change(folder / f"{name}.py", text)
        digests.append(digest("mine.net"))
    assert len(set(digests)) == 4
    forget()


@pytest.mark.parametrize(
    "text",
    [
        "print 'a'\n",
        "x = '\\d'\n",
        "x = '\0'\n",
        "x = " + "-" * 100_000 + "1",
    ],
)
def test_a_program_for_another_python_counts_and_nothing_is_said_of_it(text, here):
    script = here / "train.py"
    script.write_text(text)
    before = digest("train.py")
    change(script)
    assert digest("train.py") != before
    forget()


def test_no_module_imports_in_a_way_that_a_digest_does_not_follow():
    trees = {path: ast.parse(path.read_text()) for path in program.PACKAGE.rglob("*.py")}
    imports = [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if type(node) is ast.ImportFrom]
    assert imports
    assert [(path, node.lineno) for path, node in imports if node.level] == [], "relative"


OVERHEAD = "notebooks/overhead.ipynb"


def git(folder, *arguments):
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(package):
    repository_of = package.parents[1]
    git(repository_of, "init", "--quiet")
    git(repository_of, "add", "--all", "--force", ".")
    git(repository_of, "commit", "--quiet", "--message", "as it lies")
    return git(repository_of, "rev-parse", "HEAD")


def test_a_module_in_another_room_changes_no_digest(package):
    digests = set()
    for room in ("here", "there"):
        (package / room).mkdir()
        (package / room / "__init__.py").write_text(f'"""The room {room}."""\n')
        (package / room / "one.py").write_text("def f():\n    return 1\n")
        # Their order follows from where the modules lie.
        imports = sorted(
            [f"toolnoise.{room} import one", f"toolnoise.{room}.one import f", "toolnoise.stats import draws"]
        )
        (package / "user.py").write_text("".join(f"from {one}\n" for one in imports) + "found = one, f(), draws\n")
        digests.add(digest("toolnoise.user"))
    assert len(digests) == 1


def test_the_audit_calls_stale_what_the_next_run_would_make_again(package):
    stated = code_digest.digests_of_files("toolnoise.measures.control_gate")
    made_by = tuple(Artifact(name, sha256, kind=CODE) for name, sha256 in stated.items())
    then, parameters = (
        Artifact("repository", commit(package), kind=COMMIT),
        {"cell": ["cnn", "digits", "cpu", "control"]},
    )
    once, counts = datetime(2026, 1, 1, tzinfo=UTC), job_code.digest_of_job("check-control", {})
    made = Statement("check-control", (), (*made_by, then), parameters, {}, once, once, {}, counted=counts)

    def stale(statement):
        forget()
        return repository.changed_since(statement, package.parents[1] / "results/mine", audit_rules.counted)

    # Of the second nothing but messages makes use.
    for name in ("base/errors.py", "base/printing.py"):
        assert f"workflow/toolnoise/{name}" in stated
        change(package / name)
    change(package / "base/files.py", "# changed\n")
    assert stale(made) == []
    # Statements of earlier versions do not say what counts.
    assert "workflow/toolnoise/base/files.py" in stale(made._replace(counted=""))
    change(package / "base/files.py")
    assert "workflow/toolnoise/base/files.py" in stale(made)


ONE_OR_OTHER = "def choose(x):\n    if x:\n        {}\n    else:\n        {}\n    return f()\n"
TWO_FUNCTIONS = "def one():\n    {}\n    return 1\n\n\ndef other():\n    {}\n    return 1\n"


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("{}\n\nx = f()\n", ["from toolnoise.one import f"], ["from toolnoise.other import f"]),
        (ONE_OR_OTHER, *(["from toolnoise.one import f", "from toolnoise.other import f"][::way] for way in (1, -1))),
        (TWO_FUNCTIONS, *(["from toolnoise.base import files", "pass"][::way] for way in (1, -1))),
    ],
    ids=["another module", "branches that change places", "an import that leaves its function"],
)
def test_from_where_a_name_comes_and_where_it_is_known_counts(text, before, after, package):
    for number, name in enumerate(("one", "other")):
        (package / f"{name}.py").write_text(f"def f():\n    return {number}\n")
    digests = []
    for lines in (before, after):
        (package / "user.py").write_text(text.format(*lines))
        digests.append(digest("toolnoise.user"))
    assert digests[0] != digests[1]


def test_every_module_that_counts_has_a_key():
    keys = {path: code_digest.key_of_module(path) for path in program.PACKAGE.rglob("*.py")}
    without = {code_digest.name_of(path) for path, value in keys.items() if not value}
    assert without >= {*code_digest.UNCOUNTED}
    assert all(name.endswith("/__init__.py") for name in without - {*code_digest.UNCOUNTED})
    assert len({*keys.values()} - {""}) == len(keys) - len(without), "two modules that do the same"


def counted(text):
    return code_digest.counted_text(code_digest.parse_python(text))


TEXT = """
def f(a, *, b=None, **c):
    "one"
    return a + 1, {**c, None: b}, 'a', f'{a:{b}}'
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a + 1", "a - 1"),
        ("a + 1", "a + True"),
        ("'a'", "b'a'"),
        ("b=None", "b"),
        ("**c, None: b", "None: b, **c"),
        ("{a:{b}}", "{a:{b}.}"),
        ('"one"', 'f"one"'),
    ],
)
def test_what_code_does_counts(old, new):
    assert TEXT.count(old) == 1
    assert counted(TEXT.replace(old, new)).digest != counted(TEXT).digest


def test_how_code_is_written_does_not_count():
    for old, new in (
        ('"one"', '"another"'),
        ('"one"', ""),
        ('"one"', '"""one\n    """  # beside a comment'),
        ("a + 1", "(a+  0x1)"),
        ("'a'", "u'a'"),
        ("'a'", "'' 'a'"),
        ("return", "\n    # above\n    return"),
    ):
        assert TEXT.count(old) == 1
        assert counted(TEXT.replace(old, new)).digest == counted(TEXT).digest, new


# The trees of Python 3.11, 3.12 and 3.13 differ: in fields that are empty, and in the texts of an f-string.
UNLIKE = """
class A(dict):
    async def f(self, x: int = -1, *, y=None) -> None:
        return [f"{x:}", f"{x!r:>{y}}", f"a{{{x}}}" "b" f"{y=}", lambda: ...], {**self, None: "\U0001fae8"}
"""


def test_a_digest_is_equal_on_every_python():
    assert counted(UNLIKE).digest == "6c90d9f55fcca1bfc59ed936d38d69fc1b951248dcdaa0c2c59b080775d4e4ff"


DIGESTS = """
from toolnoise.base import code_digest, program

for path in sorted(program.PACKAGE.rglob("*.py")):
    print(code_digest.counted_text(code_digest.parse_python(path.read_bytes())).digest)
"""


RUNNING = ".".join(map(str, sys.version_info[:2]))


@pytest.mark.parametrize("version", sorted({"3.11", "3.12", "3.13"} - {RUNNING}))
def test_the_package_has_the_same_digests_on_every_python(version):
    command = [shutil.which(f"python{version}") or sys.executable, "-c"]
    env = os.environ | {"PYTHONPATH": str(program.PACKAGE.parent), "PYENV_VERSION": version}
    started = subprocess.run([*command, "import sys; print(sys.version)"], env=env, capture_output=True, text=True)
    if not started.stdout.startswith(version):
        pytest.skip(f"no Python {version} is installed here")
    done = subprocess.run([*command, DIGESTS], env=env, capture_output=True, text=True, check=True)
    here = [counted(path.read_bytes()).digest for path in sorted(program.PACKAGE.rglob("*.py"))]
    assert done.stdout.split() == here


DEMO = config.read_yaml(program.ROOT / "config.yaml")
FRAMEWORKS = config.read_yaml(program.ROOT / "workflow/studies/frameworks-small.yaml")


def planned(written):
    """What the rules' params have of each job of a study: its parameters, and the digest of its code."""
    forget()
    study = grid.build_study(config.resolve(copy.deepcopy(written), "study.yaml"), "study.yaml")
    return {
        (job.verb, *job.place): (json.dumps(job.parameters), job_code.digest_of_job(job.verb, job.parameters))
        for job in expected_jobs(study)
        if job.verb in job_code.JOBS
    }


@pytest.fixture(scope="module")
def demo():
    return planned(DEMO)


def changed(before, written=DEMO):
    after = planned(written)
    assert before.keys() == after.keys()
    return {job for job in before if before[job] != after[job]}


def replace(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_comments_docstrings_and_messages_plan_nothing(package, demo):
    replace(package / "base/errors.py", "; {text}", "; rather {text}")
    replace(package / "base/errors.py", "no space is left on the disk", "the disk is full")
    replace(package / "base/progress.py", "{n_fmt} of {total_fmt}", "{n_fmt}/{total_fmt}")
    replace(package.parents[1] / OVERHEAD, "# A study may leave out", "# Some studies leave out")
    number = 0
    for path in package.rglob("*.py"):
        lines = path.read_text().splitlines(keepends=True)
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                first = node.body[0].lineno - 1
                lines[first] = lines[first].replace('"""', '"""In other words. ', 1)
                number += 1
        path.write_text(f"# above\n{''.join(lines)}    # below\n")
    assert number > 1000
    assert changed(demo) == set()


SPEC = ("train", "predict", "profile", "measure-speed", "predict-elsewhere")


def test_an_engine_plans_what_computes_with_it(package):
    before = planned(FRAMEWORKS)
    change(package / "engines/jax.py")
    on_it = {job for job in before if job[0] in SPEC and "cpu-jax" in job[3 + (job[0] == "predict-elsewhere") :]}
    assert len(on_it) == 42 + 9 + 9 + 12
    assert changed(before, FRAMEWORKS) == on_it


def test_a_measure_or_the_keeping_of_checkpoints_plans_its_own_jobs(package):
    before = planned(FRAMEWORKS)
    change(package / "papers/frameworks/pair.py")
    pairs = {job for job in before if job[0] == "measure-pair"}
    assert pairs
    reading = changed(before, FRAMEWORKS) - pairs
    assert {job[0] for job in reading} == {"collect", "render"}, "they read its columns"
    change(package / "measures/noise.py")
    measured = reading | pairs | {job for job in before if job[0] == "measure"}
    assert changed(before, FRAMEWORKS) == measured
    change(package / "training/checkpoints.py")
    assert {job[0] for job in changed(before, FRAMEWORKS) - measured} == {"train", "measure-speed"}


def test_a_builder_plans_what_computes_with_its_networks_and_a_reader_its_data_sets(package, demo):
    change(package / "models/mediumcnn.py")
    of_networks = {job for job in demo if job[0] in SPEC and job[1].startswith("mediumcnn")}
    assert changed(demo) == of_networks
    change(package / "datasets/readers/faces.py")
    assert changed(demo) == of_networks | {("prepare", "faces")}
