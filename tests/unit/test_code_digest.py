"""Digests of code: of what a module imports and nothing else, and the same wherever a module lies."""

import ast
import os
import re
import shutil
import subprocess

import pytest

from toolnoise.base import code_digest, code_text, program
from toolnoise.record import repository
from toolnoise.verify.audit import moves

ENGINE = "toolnoise.engines.tensorflow"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package whose files a test may change; digests are of the copy."""
    copy = tmp_path / "workflow" / "toolnoise"
    shutil.copytree(program.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(program, "PACKAGE", copy)
    monkeypatch.setattr(program, "ROOT", tmp_path)
    yield copy
    forget()


def forget():
    """What a new process would not remember."""
    for cached in (code_digest.sources, code_digest.read, code_digest.key, code_digest._paths, code_digest._source):
        cached.cache_clear()
    for cached in (code_digest.imports_of, moves.present, moves._here, moves._then, moves._tracked):
        cached.cache_clear()


def digest(*modules, **options):
    forget()
    return code_digest.digest(*modules, **options)


def change(path):
    path.write_text(path.read_text() + "\n# changed\n")


@pytest.mark.parametrize(
    ("module", "changed"),
    [
        ("toolnoise.training.loop", "training/loop.py"),
        ("toolnoise.training.loop", "epoch_plan.py"),  # imported by it
        ("toolnoise.training.loop", "base/noise_sources.py"),  # at some depth
        ("toolnoise.training.loop", "datasets/prepared.py"),
        ("toolnoise.datasets.readers.folder", "datasets/archives.py"),
        ("toolnoise.training.loop", "engines/__init__.py"),  # a package
        ("toolnoise.measures.cell", "stats/estimates.py"),
        ("toolnoise.measures.cell", "formulas/stability.py"),
        (ENGINE, "models/dropout.py"),  # inside a function
        (ENGINE, "engines/environment.py"),
        ("toolnoise.models.smallcnn", "models/smallcnn.py"),
    ],
)
def test_a_change_to_what_a_module_imports_changes_its_digest(module, changed, package):
    before = digest(module)
    change(package / changed)
    assert digest(module) != before


@pytest.mark.parametrize(
    ("module", "changed"),
    [
        ("toolnoise.training.loop", "figures/style.py"),
        ("toolnoise.training.loop", "dumps/prediction_dump.py"),  # imports training, not the other way round
        ("toolnoise.training.loop", "engines/tensorflow.py"),  # named by the spec, and added from there
        ("toolnoise.training.loop", "formulas/churn.py"),
        ("toolnoise.measures.control_gate", "stats/spread.py"),
        ("toolnoise.figures.render", "training/loop.py"),
        ("toolnoise.base.metric_files", "streams.py"),
        ("toolnoise.training.loop", "__init__.py"),  # the names that programs call
    ],
)
def test_a_change_to_what_a_module_never_imports_changes_nothing(module, changed, package):
    before = digest(module)
    change(package / changed)
    assert digest(module) == before


def test_the_package_itself_is_no_source_of_a_job():
    """Else the audit would miss it among what a statement names."""
    assert code_digest.source_of("toolnoise") is None
    assert "workflow/toolnoise/__init__.py" not in code_digest.sources("toolnoise.training.loop")


def test_touching_every_file_changes_nothing(package):
    before = digest("toolnoise.training.loop", ENGINE)
    for path in package.rglob("*.py"):
        os.utime(path, (1, 1))
    assert digest("toolnoise.training.loop", ENGINE) == before


def test_where_the_package_lies_changes_nothing(package, monkeypatch):
    here = digest("toolnoise.training.loop")
    elsewhere = package.parents[1] / "elsewhere" / "toolnoise"
    shutil.copytree(package, elsewhere)
    monkeypatch.setattr(program, "PACKAGE", elsewhere)
    assert digest("toolnoise.training.loop") == here


def test_a_module_that_becomes_empty_is_not_one_that_is_absent(package):
    before = digest("toolnoise.training.loop")
    (package / "base/noise_sources.py").write_text("")
    empty = digest("toolnoise.training.loop")
    (package / "base/noise_sources.py").unlink()
    assert len({before, empty, digest("toolnoise.training.loop")}) == 3


def test_files_of_the_repository_count_as_they_are_asked_for(package):
    resource = package.parents[1] / "one.yaml"
    resource.write_text("1")
    before = digest("toolnoise.base.files", files=("one.yaml",))
    assert before != digest("toolnoise.base.files")
    resource.write_text("2")
    assert digest("toolnoise.base.files", files=("one.yaml",)) != before


def test_a_builder_of_ones_own_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    builder = tmp_path / "my_builder_of_this_test.py"
    builder.write_text("def build(): pass\n")
    before = digest("toolnoise.base.files", builder.stem)
    assert before != digest("toolnoise.base.files")
    change(builder)
    assert digest("toolnoise.base.files", builder.stem) != before
    forget()


def test_what_ones_own_builder_imports_counts_and_nothing_is_imported_to_know(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (folder / "net.py").write_text("from mine import blocks\nimport numpy\n")
    (folder / "blocks.py").write_text("width = 1\n")
    before = digest("mine.net")
    change(folder / "blocks.py")
    assert digest("mine.net") != before
    forget()


@pytest.mark.parametrize("named", ["train.py", "train"])
@pytest.mark.parametrize(
    "text",
    [
        "print 'a'\n",
        "type Pair = tuple[int, int] | f'{'a'}'\n",
        "x = '\\d'\n",
        "x = '\0'\n",
        "x = " + "(" * 300,
        "x = " + "-" * 100_000 + "1",
    ],
)
def test_a_program_for_another_python_counts_and_nothing_is_said_of_it(text, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(text)
    before = digest(named)
    change(script)
    assert digest(named) != before
    forget()


@pytest.mark.parametrize("path", sorted(program.PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_no_module_imports_in_a_way_that_a_digest_does_not_follow(path):
    for node in ast.walk(ast.parse(path.read_text())):
        assert not (isinstance(node, ast.ImportFrom) and node.level), "relative"


MEASURE = "toolnoise.measures.cell"
CHURN = "workflow/toolnoise/formulas/churn.py"
NOTEBOOK = "notebooks/overhead.ipynb"


@pytest.fixture
def own_package(tmp_path, monkeypatch):
    """A repository of its own with a copy of the package and of the notebooks."""
    copy = tmp_path / program.NAME
    shutil.copytree(program.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "web"))
    shutil.copytree(program.ROOT / "notebooks", tmp_path / "notebooks")
    for module in (program, repository):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(program, "PACKAGE", copy)
    forget()
    git(tmp_path, "init", "--quiet")
    yield copy
    forget()


def git(folder, *arguments):
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(own_package):
    git(own_package, "add", "--all", "--force", "..")
    git(own_package, "add", "--all", "--force", "../../notebooks")
    git(own_package, "commit", "--quiet", "--message", "as it lies")
    return git(own_package, "rev-parse", "HEAD")


def move(own_package, old, new):
    """Move a module to another room, and let everything import it from there."""
    source, target = (own_package.joinpath(*name.split(".")).with_suffix(".py") for name in (old, new))
    target.parent.mkdir(parents=True, exist_ok=True)
    if not (target.parent / "__init__.py").exists():
        (target.parent / "__init__.py").write_text('"""A new room."""\n')
    source.rename(target)
    (old_room, old_name), (new_room, new_name) = (name.rsplit(".", 1) for name in (old, new))
    assert old_name == new_name
    for path in [*own_package.rglob("*.py"), *own_package.parents[1].glob("notebooks/*.ipynb")]:
        text = path.read_text()
        text = re.sub(rf"from toolnoise\.{old}\b", f"from toolnoise.{new}", text)
        # One line for each name, as what is moved may have stood among others.
        text = re.sub(
            rf"^( *)from toolnoise\.{old_room} import (.*\b{old_name}\b.*)$",
            lambda found: "\n".join(
                f"{found[1]}from toolnoise.{new_room if name.split()[0] == old_name else old_room} import {name}"
                for name in found[2].split(", ")
            ),
            text,
            flags=re.MULTILINE,
        )
        path.write_text(text)
    forget()


def test_a_module_in_another_room_changes_no_digest(own_package):
    modules = [MEASURE, "toolnoise.analyses.frameworks.pair", "toolnoise.figures.render", "toolnoise.training.loop"]
    before = [digest(module) for module in modules]
    for name in ("formulas.churn", "stats.estimates", "datasets.prepared"):
        move(own_package, name, f"elsewhere.{name.rpartition('.')[2]}")
    assert "toolnoise.elsewhere" in (own_package / "formulas/stability.py").read_text()
    assert [digest(module) for module in modules] == before


def test_a_notebook_that_imports_what_moved_changes_no_digest(own_package):
    notebook = own_package.parents[1] / NOTEBOOK
    before = digest(files=(NOTEBOOK,))
    move(own_package, "analyses.overhead.metric", "elsewhere.metric")
    assert "toolnoise.elsewhere" in notebook.read_text()
    assert digest(files=(NOTEBOOK,)) == before
    notebook.write_text(notebook.read_text().replace('"cells"', '"cell_count": 1,\n "cells"', 1))
    assert digest(files=(NOTEBOOK,)) != before


def test_the_audit_finds_a_module_where_it_lies_now(own_package):
    then = commit(own_package)
    move(own_package, "formulas.churn", "elsewhere.churn")
    assert moves.present(then, CHURN) == ("workflow/toolnoise/elsewhere/churn.py",)
    # What imports it is what it was.
    assert moves.present(then, "workflow/toolnoise/formulas/stability.py") == (
        "workflow/toolnoise/formulas/stability.py",
    )
    # A package that is no more was only a docstring.
    assert moves.present(then, "workflow/toolnoise/stats/__init__.py") == ()


def test_the_audit_takes_no_changed_module_for_a_moved_one(own_package):
    then = commit(own_package)
    move(own_package, "formulas.churn", "elsewhere.churn")
    moved = own_package / "elsewhere/churn.py"
    moved.write_text(moved.read_text() + "\n# changed\n")
    forget()
    assert moves.present(then, CHURN) is None
    # Nor what imports it, as the name and the lines of what it imports are others.
    assert moves.present(then, "workflow/toolnoise/formulas/stability.py") is None


def test_a_name_from_another_module_is_a_change(own_package):
    (own_package / "one.py").write_text("def f():\n    return 1\n")
    (own_package / "other.py").write_text("def f():\n    return 2\n")
    user = own_package / "user.py"
    user.write_text("from toolnoise.one import f\n\nx = f()\n")
    then, before = commit(own_package), digest("toolnoise.user")
    user.write_text("from toolnoise.other import f\n\nx = f()\n")
    assert digest("toolnoise.user") != before
    assert moves.present(then, "workflow/toolnoise/user.py") is None


def test_two_branches_that_change_places_change_the_digest(own_package):
    (own_package / "one.py").write_text("def f():\n    return 1\n")
    (own_package / "other.py").write_text("def f():\n    return 2\n")
    branches = ("from toolnoise.one import f", "from toolnoise.other import f")
    user = own_package / "user.py"
    text = "def choose(x):\n    if x:\n        {}\n    else:\n        {}\n    return f()\n"
    user.write_text(text.format(*branches))
    then, before = commit(own_package), digest("toolnoise.user")
    user.write_text(text.format(*reversed(branches)))
    assert digest("toolnoise.user") != before
    assert moves.present(then, "workflow/toolnoise/user.py") is None


def test_an_import_that_leaves_its_function_is_a_change(own_package):
    user = own_package / "user.py"
    text = "def one():\n    {}\n    return 1\n\n\ndef other():\n    {}\n    return 1\n"
    line = "from toolnoise.base import files"
    user.write_text(text.format(line, "pass"))
    before = digest("toolnoise.user")
    user.write_text(text.format("pass", line))
    assert digest("toolnoise.user") != before


def test_every_module_has_a_key():
    keys = {path: code_digest.key(path) for path in program.PACKAGE.rglob("*.py")}
    said = [value for path, value in keys.items() if not code_digest.is_docstring(path)]
    assert len(set(said)) == len(said), "two modules that say the same"


def test_a_text_without_its_imports_has_the_same_lines():
    lines = b"import os\nfrom toolnoise.base import (\n    files,\n    program as p,\n)\n\nx = os.sep + files.y\n"
    text = code_text.read(lines, lambda module: module != "toolnoise.base.files")
    bare = code_text.read(b"import os\nx = os.sep + files.y\n", lambda _: False)
    assert text.digest == bare.digest
    assert {(one.alias, one.module, one.name) for one in text.imports} == {
        ("files", "toolnoise.base", "files"),
        ("p", "toolnoise.base.program", ""),
    }
