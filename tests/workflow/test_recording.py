"""Every job of a study states what it did, and its statements are as the standard wants them."""

import json

import pytest

from toolnoise.base.files import sha256
from toolnoise.base.noise_sources import replicate
from toolnoise.base.spec import Spec
from toolnoise.record import statements


@pytest.fixture(scope="module")
def stated(small_study):
    """The statements of the small study by the path of each."""
    found = (small_study / "results/small/statements").rglob(f"*{statements.SUFFIX}")
    return {path: statements.read(path) for path in found}


def test_every_file_of_the_results_is_somebodys_output(small_study, stated):
    results = small_study / "results"
    files = {str(path.relative_to(small_study)) for path in results.rglob("*") if path.is_file()}
    outputs = [output.name for statement in stated.values() for output in statement.outputs]
    assert sorted(outputs) == sorted(name for name in files if "/statements/" not in name)


def test_digests_and_sizes_are_those_of_the_files(small_study, stated):
    for statement in stated.values():
        for artifact in (*statement.outputs, *statement.inputs):
            path = small_study / artifact.name
            assert (artifact.sha256, artifact.size) == (sha256(path), path.stat().st_size)


def test_a_statement_lies_where_its_first_output_says(small_study, stated):
    for path, statement in stated.items():
        assert path.relative_to(small_study) == statements.path_for(statement.outputs[0].name)


def test_chains_end_in_the_data_and_the_code(stated):
    (prepared,) = (statement for statement in stated.values() if statement.verb == "prepare")
    (package,) = (one for one in prepared.dependencies if one.kind == statements.PACKAGE)
    assert package.name == "sklearn/datasets/data/digits.csv.gz"
    assert package.uri.startswith("pkg:pypi/scikit-learn@")
    assert all(any(one.kind == statements.CODE for one in statement.dependencies) for statement in stated.values())
    for statement in stated.values():
        if not statement.inputs:
            assert statement.verb in ("prepare", "configure")


def test_a_run_states_its_spec_its_keys_and_its_machine(small_study, stated):
    for statement in stated.values():
        if statement.verb == "train":
            record = json.loads((small_study / statement.outputs[2].name).read_text())
            assert statement.parameters["spec"] == record["spec"]
            for source, drawn in statement.parameters["keys"].items():
                assert drawn["replicate"] == replicate(source, Spec.read(record["spec"]))
            assert statement.observed == record["observed"]


def test_a_job_that_is_done_again_says_the_same_but_for_times(small_study, toolnoise, tmp_path):
    def about(folder):
        value = json.loads((folder / "results/s/statements/d.npz.intoto.json").read_text())
        del value["predicate"]["runDetails"]["metadata"]
        return value

    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        study = small_study / "results/small/study.json"
        arguments = ["prepare", "--study", study, "--dataset", "digits", "--out", "results/s/d.npz"]
        assert toolnoise(folder, *arguments).returncode == 0
    assert about(tmp_path / "one") == about(tmp_path / "other")


def test_a_statement_has_the_variables_that_numpy_computes_by_and_no_secret(small_study, toolnoise, tmp_path):
    secrets = {"TF_TOKEN_app_terraform_io": "secret", "NVIDIA_API_KEY": "secret", "CUDA_TOKEN": "secret"}
    arguments = ["prepare", "--study", small_study / "results/small/study.json", "--dataset", "digits"]
    done = toolnoise(tmp_path, *arguments, "--out", "results/s/d.npz", env={"OMP_NUM_THREADS": "1", **secrets})
    assert done.returncode == 0, done.stderr
    path = tmp_path / "results/s/statements/d.npz.intoto.json"
    assert "secret" not in path.read_text()
    assert statements.read(path).observed["variables"]["OMP_NUM_THREADS"] == "1"
