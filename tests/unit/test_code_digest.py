import ast
import os
import shutil

import pytest

from toolnoise.base import code_digest, program

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
    code_digest.sources.cache_clear()
    code_digest.read.cache_clear()
    code_digest.key.cache_clear()
    code_digest._paths.cache_clear()
    code_digest._source.cache_clear()


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
    ],
)
def test_a_change_to_what_a_module_never_imports_changes_nothing(module, changed, package):
    before = digest(module)
    change(package / changed)
    assert digest(module) == before


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
