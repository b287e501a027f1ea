"""Artifacts of a finished study, made again from their statements; and its runs compared."""

import json
import shutil

import numpy as np
import pytest

from toolnoise.base import arrays

pytestmark = pytest.mark.long

RUN = "results/small/runs/smallcnn/digits/cpu"
NOISY = f"{RUN}/algo_impl/2"


@pytest.fixture
def rebuild(toolnoise):
    """Rebuild files of a study's folder; returns what was said and the exit code."""

    def call(folder, *arguments, **options):
        done = toolnoise(folder, "rebuild", *arguments, **options)
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout, done.returncode

    return call


def statement_of(folder, artifact):
    return folder / "results/small/statements" / f"{artifact.removeprefix('results/small/')}.intoto.json"


def edit(folder, artifact, change):
    """Edit a statement's definition of how its artifact was made."""
    path = statement_of(folder, artifact)
    statement = json.loads(path.read_text())
    change(statement["predicate"]["buildDefinition"])
    path.write_text(json.dumps(statement))


def spec(**parts):
    return lambda definition: [
        definition["externalParameters"]["spec"][key].update(about) for key, about in parts.items()
    ]


def test_a_sample_has_every_stage_and_is_reproduced(small_study, toolnoise):
    done = toolnoise(small_study, "rebuild", "--sample", 5, "--seed", 3)
    first, *lines, count = done.stdout.splitlines()
    assert first.startswith(
        "sampled 5 of 62 jobs (seed 3): 1 train with noise, 1 render, 1 measure, 1 predict, 1 train"
    )
    assert (count, done.returncode) == ("5 reproduced", 0), done.stdout
    assert len(lines) == 5
    assert lines[0].startswith("reproduced: train results/small/runs/smallcnn")
    assert "/weights.npz: 3 files bit-equal, 2 of them except times" in lines[0]
    assert lines[1].startswith("reproduced: render results/small/figures/")
    assert ": 5 files bit-equal, by the code here" in lines[1]


def test_data_and_gates_are_reproduced_in_a_results_folder_of_another_name(small_study, rebuild, tmp_path):
    shutil.copytree(small_study / "results/small", tmp_path / "published")
    said, code = rebuild(tmp_path, "published/data", "published/control/smallcnn-bn", "published/metrics/data.csv")
    assert (said.splitlines()[-1], code) == ("3 reproduced", 0)


def test_a_changed_tensor_is_named_though_the_statement_is_met(copied, rebuild):
    weights = arrays.read_npz(copied / NOISY / "weights.npz")
    weights["conv2/kernel"][0, 0, 1, 2] += np.float32(1e-3)
    arrays.write_npz(copied / NOISY / "weights.npz", weights)
    said, code = rebuild(copied, NOISY)
    assert said.startswith(f"differs: train {NOISY}/weights.npz: {NOISY}/weights.npz: rebuilt as stated, but the file")
    assert "as stated, differs in conv2/kernel, at (0, 0, 1, 2): " in said
    assert "from equal initial weights no epoch's digests differ" in said
    assert "then and now: no recorded difference" in said
    assert code == 1


def test_a_training_that_comes_out_otherwise_is_told_by_epoch_layer_and_machine(copied, rebuild):
    def another_machine(definition):
        internal = definition["internalParameters"]
        internal["command"] = [
            word.replace("learning_rate=0.01 ", "learning_rate=0.02 ") for word in internal["command"]
        ]
        internal["observed"]["cpu"] = "another one"

    edit(copied, f"{NOISY}/weights.npz", another_machine)
    said, code = rebuild(copied, NOISY)
    assert "from equal initial weights they differ from epoch 1 on, first in conv1/kernel" in said
    assert "then and now: cpu: another one -> " in said
    assert "then and now: parameters.spec.recipe.learning_rate: 0.01 -> 0.02" in said
    assert code == 1


def test_an_input_that_has_changed_is_told_and_not_used(copied, rebuild):
    path = copied / "results/small/data/digits.npz"
    content = bytearray(path.read_bytes())
    content[-200] ^= 1
    path.write_bytes(content)
    said, code = rebuild(copied, NOISY)
    assert f"not tried: train {NOISY}/weights.npz: an input has changed: results/small/data/digits.npz is " in said
    assert code == 1


def test_a_page_is_made_again_with_the_same_bytes_and_a_study_has_what_was_on_a_command_line(small_study, rebuild):
    said, code = rebuild(small_study, "results/small/index.html", "results/small/study.json")
    assert "reproduced: write-page results/small/index.html: 1 file bit-equal" in said
    assert (said.splitlines()[-1], code) == ("1 reproduced, 1 cannot be replayed", 0)


MADE_FROM, COMMAND, ASKED = "resolvedDependencies", "internalParameters", "externalParameters"
KEYS, DATA, UNTOLD = "parameters.keys.init.replicate", "results/small/data/digits.npz", "its statement has no command"
CHANGED = [
    ("cannot be replayed", spec(hardware={"impl_noise": "native"}), "implementation noise of cpu is native, so it"),
    ("cannot be replayed", spec(hardware={"accelerator": "gpu", "device": "V100"}), "this machine cannot run cpu: "),
    ("differs", lambda about: about[ASKED]["keys"]["init"].update(replicate=1), f"its command is for other {KEYS}"),
    ("differs", lambda about: about[MADE_FROM].pop(0), f"it fails now: exit code 2, {DATA}: "),
    ("not tried", lambda about: about[MADE_FROM][0].update(name="../../outside"), "'../../outside' lies outside of"),
    ("not tried", lambda about: about[COMMAND]["command"].append("/tmp/x"), "'/tmp/x' lies outside of the folder"),
    ("not tried", lambda about: about.update({ASKED: {"spec": {"hardware": 3}}}), "its parameters are not those of"),
    ("not tried", lambda about: about[COMMAND].pop("command"), f"{UNTOLD}; `toolnoise rebuild` at its commit, "),
    ("not tried", lambda about: about[COMMAND].update(command=["import", "a.tar"]), UNTOLD),
]


@pytest.mark.parametrize(("verdict", "change", "says"), CHANGED, ids=range(len(CHANGED)))
def test_a_run_of_another_statement_is_no_reproduction_and_told_in_one_line(verdict, change, says, copied, rebuild):
    edit(copied, f"{NOISY}/weights.npz", change)
    said, code = rebuild(copied, NOISY)
    assert said.startswith(f"{verdict}: train {NOISY}/weights.npz: "), said
    assert says in said
    assert code == (verdict != "cannot be replayed")


def test_what_no_statement_tells_of_is_refused_in_one_line(copied, toolnoise, refusal):
    (copied / "results/small/extra.csv").touch()
    assert "has no statement" in refusal(toolnoise(copied, "rebuild", "results/small/extra.csv"))
    assert "nothing to rebuild" in refusal(toolnoise(copied, "rebuild"))
    assert "lies in no study" in refusal(toolnoise(copied, "rebuild", "study.yaml"))
    statement_of(copied, f"{NOISY}/weights.npz").write_text("{")
    assert "weights.npz.intoto.json" in refusal(toolnoise(copied, "rebuild", f"{NOISY}/weights.npz"))


def test_a_file_that_is_not_here_is_made_again_as_stated(copied, rebuild):
    counts = "results/small/metrics/data.csv"
    (copied / counts).unlink()
    said, code = rebuild(copied, counts)
    assert "data.csv: is not here; the rebuilt file is as stated" in said
    assert code == 0


def test_code_that_has_changed_is_taken_from_its_commit_or_named(copied, rebuild, as_repository, tmp_path):
    tree = tmp_path / "tree"
    commit = as_repository(tree)
    here = {"PYTHONPATH": str(tree / "workflow")}
    control = "results/small/control/smallcnn/digits/cpu.json"
    module = tree / "workflow/toolnoise/measures/control_gate.py"
    module.write_text(module.read_text().replace('"bit_equal": equal', '"bit_equal": not equal'))
    said, code = rebuild(copied, control, env=here)
    missing = "code: neither here nor at its commit: workflow/toolnoise/measures/control_gate.py"
    assert said.startswith(f"not tried: check-control {control}: {missing}"), said
    assert code == 1

    def at(definition):
        made_of = [one for one in definition["resolvedDependencies"] if one["name"] != "repository"]
        named = {"name": "repository", "digest": {"gitCommit": commit}, "annotations": {"kind": "commit"}}
        definition["resolvedDependencies"] = [*made_of, named]

    edit(copied, control, at)
    said, code = rebuild(copied, control, env=here)
    assert f"1 file bit-equal, by the code of commit {commit[:12]}" in said
    assert code == 0
