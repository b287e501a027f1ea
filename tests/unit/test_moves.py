"""Where a module lies is no part of a result: digests stay as they are, and the audit finds what has moved."""

import re
import shutil
import subprocess

import pytest

from toolnoise.base import code_digest, code_text, program
from toolnoise.record import repository
from toolnoise.verify.audit import moves

MEASURE = "toolnoise.measures.cell"
CHURN = "workflow/toolnoise/metrics/churn.py"
NOTEBOOK = "notebooks/overhead.ipynb"


@pytest.fixture
def package(tmp_path, monkeypatch):
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


def forget():
    """What a new process would not remember."""
    for cached in (code_digest.sources, code_digest.read, code_digest.key, code_digest._paths, code_digest._source):
        cached.cache_clear()
    for cached in (code_digest.imports_of, moves.present, moves._here, moves._then, moves._tracked):
        cached.cache_clear()


def git(folder, *arguments):
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(package):
    git(package, "add", "--all", "--force", "..")
    git(package, "add", "--all", "--force", "../../notebooks")
    git(package, "commit", "--quiet", "--message", "as it lies")
    return git(package, "rev-parse", "HEAD")


def move(package, old, new):
    """Move a module to another room, and let everything import it from there."""
    source, target = (package.joinpath(*name.split(".")).with_suffix(".py") for name in (old, new))
    target.parent.mkdir(parents=True, exist_ok=True)
    if not (target.parent / "__init__.py").exists():
        (target.parent / "__init__.py").write_text('"""A new room."""\n')
    source.rename(target)
    (old_room, old_name), (new_room, new_name) = (name.rsplit(".", 1) for name in (old, new))
    assert old_name == new_name
    for path in [*package.rglob("*.py"), *package.parents[1].glob("notebooks/*.ipynb")]:
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


def digest(*modules, **options):
    forget()
    return code_digest.digest(*modules, **options)


def test_a_module_in_another_room_changes_no_digest(package):
    modules = [MEASURE, "toolnoise.analyses.frameworks.pair", "toolnoise.figures.render", "toolnoise.training.loop"]
    before = [digest(module) for module in modules]
    for name in ("metrics.churn", "stats.estimates", "datasets.prepared"):
        move(package, name, f"elsewhere.{name.rpartition('.')[2]}")
    assert "toolnoise.elsewhere" in (package / "metrics/stability.py").read_text()
    assert [digest(module) for module in modules] == before


def test_a_notebook_that_imports_what_moved_changes_no_digest(package):
    notebook = package.parents[1] / NOTEBOOK
    before = digest(files=(NOTEBOOK,))
    move(package, "analyses.overhead.metric", "elsewhere.metric")
    assert "toolnoise.elsewhere" in notebook.read_text()
    assert digest(files=(NOTEBOOK,)) == before
    notebook.write_text(notebook.read_text().replace('"cells"', '"cell_count": 1,\n "cells"', 1))
    assert digest(files=(NOTEBOOK,)) != before


def test_the_audit_finds_a_module_where_it_lies_now(package):
    then = commit(package)
    move(package, "metrics.churn", "elsewhere.churn")
    assert moves.present(then, CHURN) == ("workflow/toolnoise/elsewhere/churn.py",)
    # What imports it is what it was.
    assert moves.present(then, "workflow/toolnoise/metrics/stability.py") == (
        "workflow/toolnoise/metrics/stability.py",
    )
    # A package that is no more was only a docstring.
    assert moves.present(then, "workflow/toolnoise/stats/__init__.py") == ()


def test_the_audit_takes_no_changed_module_for_a_moved_one(package):
    then = commit(package)
    move(package, "metrics.churn", "elsewhere.churn")
    moved = package / "elsewhere/churn.py"
    moved.write_text(moved.read_text() + "\n# changed\n")
    forget()
    assert moves.present(then, CHURN) is None
    # Nor what imports it, as the name and the lines of what it imports are others.
    assert moves.present(then, "workflow/toolnoise/metrics/stability.py") is None


def test_a_name_from_another_module_is_a_change(package):
    (package / "one.py").write_text("def f():\n    return 1\n")
    (package / "other.py").write_text("def f():\n    return 2\n")
    user = package / "user.py"
    user.write_text("from toolnoise.one import f\n\nx = f()\n")
    then, before = commit(package), digest("toolnoise.user")
    user.write_text("from toolnoise.other import f\n\nx = f()\n")
    assert digest("toolnoise.user") != before
    assert moves.present(then, "workflow/toolnoise/user.py") is None


def test_two_branches_that_change_places_change_the_digest(package):
    (package / "one.py").write_text("def f():\n    return 1\n")
    (package / "other.py").write_text("def f():\n    return 2\n")
    branches = ("from toolnoise.one import f", "from toolnoise.other import f")
    user = package / "user.py"
    text = "def choose(x):\n    if x:\n        {}\n    else:\n        {}\n    return f()\n"
    user.write_text(text.format(*branches))
    then, before = commit(package), digest("toolnoise.user")
    user.write_text(text.format(*reversed(branches)))
    assert digest("toolnoise.user") != before
    assert moves.present(then, "workflow/toolnoise/user.py") is None


def test_an_import_that_leaves_its_function_is_a_change(package):
    user = package / "user.py"
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
