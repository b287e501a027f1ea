from datetime import datetime

import pytest

from toolnoise.base.files import sha256
from toolnoise.base.program import ROOT
from toolnoise.record.statements import CODE, COMMIT, RESOURCE, Artifact, Statement
from toolnoise.verify.rebuild import checkout


@pytest.fixture
def stated(make_spec):
    """A statement of a run made by these files, with the digests that are given or those here."""

    def make(*names, builder="my_model:build", commit="", **digests):
        kinds = {True: CODE, False: RESOURCE}
        made_by = [
            Artifact(name, digests.get(name) or sha256(ROOT / name), kind=kinds[name.endswith(".py")]) for name in names
        ]
        made_by += [Artifact("repository", commit, kind=COMMIT)] if commit else []
        then = datetime(2026, 1, 1)
        spec = make_spec("control", 1).as_json()
        parameters = {"spec": spec | {"model": spec["model"] | {"builder": builder}}}
        return Statement("train", (), tuple(made_by), parameters, {}, then, then, {})

    return make


OWN = "examples/own-model/my_model.py"


def test_code_that_is_as_recorded_is_run_where_it_is(stated, tmp_path):
    code = checkout.package(stated("workflow/toolnoise/measures/control_gate.py", "notebooks/table2.ipynb"), tmp_path)
    assert (code.folder, code.missing) == (ROOT / "workflow", ())
    assert not list(tmp_path.iterdir())


def test_code_that_is_nowhere_is_named_file_by_file(stated, tmp_path):
    names = (
        "workflow/toolnoise/measures/control_gate.py",
        "workflow/toolnoise/gone.py",
        "workflow/toolnoise/training/runs.py",
    )
    other = {"workflow/toolnoise/measures/control_gate.py": "0" * 64, "workflow/toolnoise/gone.py": "1" * 64}
    for commit in ("", "f" * 40):
        code = checkout.package(stated(*names, commit=commit, **other), tmp_path)
        assert code.missing == names[:2]


def test_a_module_of_ones_own_lies_where_its_builder_is_imported_from(stated, tmp_path):
    (own,) = checkout.own_modules(stated(OWN), tmp_path)
    assert own == ("my_model.py", ROOT / OWN)
    (own,) = checkout.own_modules(stated(OWN, builder="own-model.my_model:build"), tmp_path)
    assert own.place == "own-model/my_model.py"


def test_the_users_folder_comes_first_and_another_version_is_not_taken(stated, tmp_path):
    (tmp_path / "my_model.py").write_bytes((ROOT / OWN).read_bytes())
    (own,) = checkout.own_modules(stated(OWN), tmp_path)
    assert own.source == tmp_path / "my_model.py"
    (own,) = checkout.own_modules(stated(OWN, **{OWN: "0" * 64}), tmp_path)
    assert own.source is None
