import pytest

from toolnoise.base.errors import BadInput
from toolnoise.study import config
from toolnoise.study.builders import require_builders

MODULE = "own_builder_of_this_test"
GOOD = "def build(input_shape, classes, width=32, *, depth):\n    pass\n"


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A study's models: one of this source in the folder that the study runs in."""
    monkeypatch.chdir(tmp_path)

    def write(source, options):
        (tmp_path / f"{MODULE}.py").write_text(source)
        return {"mine": {"builder": f"{MODULE}:build", "options": options}}

    return write


def refusal(models):
    """The line that refuses a model, or nothing."""
    try:
        require_builders(models, "study.yaml")
    except BadInput as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (GOOD, {"width": 8, "depth": 2}),
        ("def build(*shape, **options):\n    pass\n", {"anything": 1}),
        ("def wrapped(of):\n    return of\n@wrapped\ndef build():\n    pass\n", {"anything": 1}),
        ("from numpy import build\n", {"anything": 1}),
        ("from numpy.linalg import *\n", {}),
        (f"import keras, sys\nfrom . import other\nfrom {MODULE} import build\n", {}),
        ("try:\n    import elsewhere\nexcept ImportError:\n    pass\n" + GOOD, {}),
        ("def build(input_shape, classes):\n    import elsewhere\n", {}),
        ("import functools\nbuild = functools.partial(print)\n", {"width": 1}),
        ("raise SystemExit('nothing is imported')\ndef build(input_shape, classes):\n    pass\n", {}),
    ],
)
def test_a_builder_that_may_be_right_is_planned(models, source, options):
    assert refusal(models(source, options)) == ""


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("def build(:\n", {}, [f"{MODULE}.py, line 1: "]),
        ("x = " + "-" * 100_000 + "1\n", {}, [f"{MODULE}.py: nested too deeply"]),
        ("def built(input_shape, classes):\n    pass\n", {}, ["has no function build", "allowed: built"]),
        ("'''Nothing yet.'''\n", {}, ["has no function build", "allowed: none"]),
        (f"import numpy, elsewhere.models\n{GOOD}", {}, [f"{MODULE}.py, line 1: no module elsewhere", "elsewhere.py"]),
        (f"import numpy\nfrom elsewhere import *\n{GOOD}", {}, [f"{MODULE}.py, line 2: no module elsewhere"]),
        (GOOD, {"widht": 8}, ["no option widht", "allowed: width, depth"]),
        (GOOD, {"classes": 8}, ["no option classes"]),
    ],
)
def test_a_builder_that_cannot_be_right_is_refused_in_one_line(models, refused, source, options, words):
    line = refused(require_builders, models(source, options), "study.yaml")
    for word in ("study.yaml: models.mine", f"{MODULE}:build", *words):
        assert word in line


def test_a_module_that_is_nowhere_is_refused(refused):
    models = {"mine": {"builder": "no_such_module.models:build", "options": {}}}
    line = refused(require_builders, models, "study.yaml")
    assert "no module no_such_module" in line
    assert "no_such_module.py" in line


def test_every_builder_of_the_registry_is_planned():
    registered = {name: {"options": {}, **model} for name, model in config.registered("models").items()}
    assert len(registered) > 20
    assert refusal(registered) == ""
