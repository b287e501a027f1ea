"""One lie each, told in files and in all statements that name them, up to the root: the audit finds it by its rule."""

import base64
import functools
import json
import re
import subprocess
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import pytest
from forging import (
    ROOTED,
    YEAR,
    Folder,
    asked,
    definition,
    dependency,
    drop,
    ended,
    flipped,
    made_from,
    move_times,
    observed,
    said,
)

from toolnoise.base import arrays

CELL = "smallcnn/digits/cpu"
RUN, OTHER_RUN, IMPL = f"runs/{CELL}/algo_impl/1", f"runs/{CELL}/algo_impl/2", f"runs/{CELL}/impl/1"
NORMED, CONTROL = "runs/smallcnn-bn/digits/cpu/algo_impl/1", f"runs/{CELL}/control/2"
DRAWN = "runs/smallcnn-bn/digits/cpu/impl/20002"
METRICS, STABILITY, TABLE = f"metrics/cells/{CELL}/impl.csv", "metrics/stability.csv", "figures/table2.html"
SNAPSHOTS, BIT = "runs/smallcnn/mine/cpu/control/1/weights.npz", "runs/smallcnn/mine/cpu/bit/1/run.json"
EXCHANGE = "exchanged/smallcnn/mine/cpu/control/cpu-jax"


class Forgery(NamedTuple):
    """A lie: the study that it is told of, the rules that may find it, and the artifacts one of which they name."""

    what: str
    study: str
    rules: set[str]
    artifacts: tuple[str, ...]
    tell: object


FORGERIES = {}


def register(what, study, rules, artifacts, tell):
    assert what not in FORGERIES
    FORGERIES[what] = Forgery(what, study, {*rules.split("|")}, artifacts, tell)


def forgery(rules, *artifacts, study="small"):
    """Name a function that changes files or statements; what names these is changed afterwards."""

    def registered(tell):
        register(tell.__name__.replace("_", " "), study, rules, artifacts, tell)
        return tell

    return registered


# What statements say
# -------------------

# Every module of the package was another one then.
EARLIER = "365ea18e62d1f4a5a0a7b9e6a0a0a0a0a0a0a0a0"

STATED = {
    ("study", f"{IMPL}/run.json"): {
        "a key of the streams is changed": lambda made: asked(made)["keys"]["init"].update(key="0" * 32),
    },
    ("study", f"runs/{CELL}/impl/2/run.json"): {
        "a replicate is changed": lambda made: asked(made)["keys"]["shuffle"].update(replicate=5),
    },
    ("study|record", f"{NORMED}/run.json"): {
        "the seed of the study is changed": lambda made: asked(made)["spec"].update(study_seed=1),
        "a source is taken from those that may vary": lambda made: asked(made)["spec"]["variant"]["varying"].pop(),
        "the recipe of a run is changed in its statement": lambda made: asked(made)["spec"]["recipe"].update(epochs=9),
    },
    ("study", f"metrics/cells/{CELL}/control.csv"): {
        "the parameters of a measure are changed": lambda made: asked(made).update(study_seed=5),
        "the parameters of a statement are of odd types": lambda made: asked(made).update(cell=[{}, None, 3, [[]]]),
        "a statement is of another verb": lambda made: definition(made).update(buildType="urn:toolnoise:count:1"),
    },
    ("study|unknown", METRICS): {
        "a statement is of a verb that nobody knows": lambda made: definition(made).update(
            buildType="urn:toolnoise:dream-up:1"
        ),
    },
    ("study", TABLE): {
        "the parameters of a table are changed": lambda made: asked(made).update(emulated=[]),
    },
    ("unknown|study", f"{OTHER_RUN}/weights.npz"): {
        "the outputs of a statement stand in another order": lambda made: made["subject"].reverse(),
    },
    ("unknown", f"{RUN}/history.csv"): {
        "an output is taken out of a statement": lambda made: made["subject"].pop(1),
    },
    ("missing|unknown", "figures/table4.csv", "results/elsewhere/x.csv"): {
        "an output of another study is added to a statement": lambda made: made["subject"].append(
            made["subject"][0] | {"name": "results/elsewhere/x.csv"}
        ),
    },
    ("missing|unknown", "figures/table2.md", "../../etc/passwd"): {
        "an output at a path that climbs is added to a statement": lambda made: made["subject"].append(
            made["subject"][0] | {"name": "../../etc/passwd"}
        ),
    },
    ("changed|unknown", "metrics/ratios.csv"): {
        "a stated size is huge": lambda made: made["subject"][0]["annotations"].update(size=10**300),
    },
    ("changed|unknown", "metrics/runs.csv"): {
        "a stated size is left out": lambda made: made["subject"][0]["annotations"].pop("size"),
    },
    ("inputs", METRICS, "data/digits.npz"): {
        "the digest of an input is changed": lambda made: made_from(made, "input")[0]["digest"].update(sha256="0" * 64),
    },
    ("inputs", METRICS): {
        "the statement of an input is another": lambda made: made_from(made, "input")[0]["annotations"].update(
            statement="0" * 64
        ),
    },
    ("inputs", "metrics/runs/smallcnn-bn/digits/cpu/impl.csv"): {
        "an input is made by no statement": lambda made: made_from(made, "input")[0].update(
            name="results/small/data/x.npz"
        ),
    },
    ("inputs", "metrics/runs/smallcnn-bn/digits/cpu/control.csv"): {
        "a result is given out for a file from outside": lambda made: made_from(made, "input")[0]["annotations"].update(
            kind="source"
        ),
    },
    ("inputs|unknown|code", "metrics/ensembles.csv"): {
        "a dependency is of an unknown kind": lambda made: made_from(made, "input")[0]["annotations"].update(
            kind="magic"
        ),
    },
    ("inputs|study", f"page/cells/{CELL}/impl.js"): {
        "an input is left out": lambda made: drop(made, "run.json"),
    },
    ("inputs|study|record|numbers", "data/digits.npz"): {
        "the digest of a packages file is changed": lambda made: made_from(made, "package")[0]["digest"].update(
            sha256="0" * 64
        ),
    },
    ("code", f"{RUN}/run.json"): {
        "the digest of a module is changed": lambda made: made_from(made, "code")[0]["digest"].update(sha256="0" * 64),
    },
    ("code", TABLE): {
        "the digest of a notebook is changed": lambda made: dependency(made, "notebooks/table2.ipynb")["digest"].update(
            sha256="0" * 64
        ),
    },
    ("code", "figures/table4.html"): {
        "the digest of the lock file is changed": lambda made: made_from(made, "lock")[0]["digest"].update(
            sha256="0" * 64
        ),
    },
    ("code", "metrics/cross_tooling.csv"): {
        "code is of another commit and no difference is stated": lambda made: made_from(made, "commit")[0][
            "digest"
        ].update(gitCommit=EARLIER),
        "no code is stated": lambda made: [drop(made, one["name"]) for one in made_from(made, "code")],
    },
    ("code", "metrics/convergence.csv"): {
        "a module from elsewhere is stated": lambda made: made_from(made, "code")[0].update(name="/tmp/evil.py"),
    },
    ("code", "metrics/identical.csv"): {
        "a module is stated that climbs out of the results": lambda made: made_from(made, "code")[0].update(
            name="../../evil.py"
        ),
    },
    ("commit", f"{OTHER_RUN}/run.json"): {
        "the commit is one that nobody knows": lambda made: made_from(made, "commit")[0]["digest"].update(
            gitCommit="0" * 40
        ),
    },
    ("commit", "metrics/data.csv"): {
        "no commit is stated": lambda made: drop(made, "repository"),
    },
    ("commit", "metrics/claims.csv"): {
        "git did not say what had changed": lambda made: made_from(made, "commit")[0].update(
            annotations={"kind": "commit", "dirty": True}
        ),
    },
    ("order", f"metrics/ratios/{CELL}.csv"): {
        "a result is older than its inputs": lambda made: move_times(made, -YEAR),
    },
    ("order", "figures/batch_norm-cpu.svg"): {
        "a job ended before it began": lambda made: turn_times(made),
    },
    ("order", "metrics/data/digits.csv"): {
        "a result is older than the commit that made it": lambda made: move_times(made, -10 * YEAR),
    },
    ("order", ROOTED): {
        "the page is from the future": lambda made: move_times(made, YEAR),
    },
    ("unknown", f"metrics/pairs/{CELL}/cpu-eigen/control.csv"): {
        "a time is none": lambda made: made["predicate"]["runDetails"]["metadata"].update(startedOn="yesterday"),
    },
    ("unknown", f"page/cells/{CELL}/control.js"): {
        "a statement is of another version": lambda made: made.update(_type="https://in-toto.io/Statement/v0.1"),
    },
}


def turn_times(statement):
    times = statement["predicate"]["runDetails"]["metadata"]
    times["startedOn"], times["finishedOn"] = times["finishedOn"], times["startedOn"]


for (rules, *artifacts), by_name in STATED.items():
    for what, edit in by_name.items():
        tell = functools.partial(Folder.restate, artifact=artifacts[0], change=edit)
        register(what, "small", rules, tuple(artifacts), tell)


@forgery("order", "data/digits.npz")
def an_input_is_younger_than_what_was_made_from_it(folder):
    folder.restate("data/digits.npz", lambda made: move_times(made, timedelta(hours=1)))


@forgery("order|circles", "data/digits.npz", METRICS)
def data_is_made_from_what_is_made_from_it(folder):
    about = json.loads(folder.original[folder.stated[METRICS]])["subject"][0]
    about["annotations"] = {"kind": "input", "role": "data", "size": about["annotations"]["size"]}
    folder.restate("data/digits.npz", lambda made: definition(made)["resolvedDependencies"].append(about))


@forgery("study", f"{RUN}/weights.npz", f"{OTHER_RUN}/weights.npz")
def the_statements_of_two_seeds_are_swapped_and_renamed_to_fit(folder):
    texts = [folder.original[folder.stated[f"{run}/weights.npz"]].decode() for run in (RUN, OTHER_RUN)]
    for run, other, text in zip((RUN, OTHER_RUN), (OTHER_RUN, RUN), reversed(texts), strict=True):
        folder.put(folder.stated[f"{run}/weights.npz"], text.replace(folder.name(other), folder.name(run)).encode())
    folder.settle(*(f"{run}/{name}" for run in (RUN, OTHER_RUN) for name in ("weights.npz", "history.csv", "run.json")))


@forgery("study|unknown", "metrics/cells/smallcnn/digits/cpu/better.csv")
def a_file_is_added_with_a_statement(folder):
    artifact = "metrics/cells/smallcnn/digits/cpu/better.csv"
    folder.put(artifact, folder.original[METRICS])
    folder.state_as(artifact, METRICS)


@forgery("study", "runs/smallcnn-bn/digits/cpu/control/1/weights.npz")
def a_recipe_is_changed_in_the_study_alone(folder):
    folder.edit("study.json", lambda study: study["recipes"]["normed"].update(epochs=9))


@forgery("inputs|study|record|numbers", "data/mine.npz", "data/mine.sources.json", study="other")
def the_digest_of_a_file_from_outside_is_changed(folder):
    folder.restate("data/mine.npz", lambda made: made_from(made, "source")[0]["digest"].update(sha256="0" * 64))


@forgery("inputs|study|record|numbers", "data/mine.npz", study="other")
def data_comes_from_another_file_than_the_declared(folder):
    folder.restate("data/mine.npz", lambda made: made_from(made, "source")[0].update(name="yours.npz"))


@forgery("study", f"{EXCHANGE}.npy", study="other")
def the_statement_of_an_exchange_says_that_its_runs_were_trained_elsewhere(folder):
    folder.restate(f"{EXCHANGE}.npy", lambda made: asked(made).update(trained_on="cpu-jax"))


# What records say
# ----------------


def recording(edit, run):
    """A change to what a run says of its machine, in its record and in its statement."""

    def tell(folder):
        folder.edit(f"{run}/run.json", lambda record: edit(record["observed"]))
        folder.restate(f"{run}/run.json", lambda made: edit(observed(made)))

    return tell


OBSERVED = {
    "record": {
        "another device is said to have computed": lambda of: of.update(device="Tesla V100-SXM2-16GB"),
        "the determinism switch is said to have been on": lambda of: of.update(deterministic=True),
        "half precision is said to have been used": lambda of: of.update(precision="mixed_float16"),
        "TF32 is said to have been on": lambda of: of.update(tf32=True),
        "the CPU is said to have no AVX2": lambda of: of.update(cpu_flags=["sse4_1"]),
        "another instruction set is said to have been set": lambda of: of["variables"].update(
            ONEDNN_MAX_CPU_ISA="SSE41"
        ),
        "more threads are said to have computed": lambda of: of["variables"].update(TF_NUM_INTRAOP_THREADS="8"),
        "other kernels are said to have computed": lambda of: of["variables"].update(TF_ENABLE_ONEDNN_OPTS="0"),
        "a variable that nobody declared is said to have been set": lambda of: of["variables"].update(XLA_FLAGS="-f"),
        "no variables are said to have been set": lambda of: of["variables"].clear(),
    },
    "lock": {
        "another version of the framework is said to have computed": lambda of: of["versions"].update(
            tensorflow="2.20.0"
        ),
        "a library that the lock does not pin is said to have computed": lambda of: of["versions"].update(
            {"nvidia-cudnn-cu12": "9.10.2.21"}
        ),
    },
}
for rule, by_name in OBSERVED.items():
    for what, edit in by_name.items():
        register(what, "small", rule, (f"{IMPL}/run.json",), recording(edit, IMPL))

RECORDS = {
    ("small", "record", f"{DRAWN}/run.json"): {
        "a run says that it is of another draw": lambda record: record["spec"].update(draw=1),
        "the CPU of a run is another than its statement says": lambda record: record["observed"].update(cpu="Another"),
        "the recipe of a run is another than its statement says": lambda record: record["spec"]["recipe"].update(
            learning_rate=0.02
        ),
    },
    ("small", "record|draws", f"predictions/{CELL}/impl.json"): {
        "the index of a dump says another order of seeds": lambda record: record["seeds"].reverse(),
    },
    ("small", "record|draws", f"predictions/{CELL}/algo_impl.json"): {
        "the index of a dump says that its runs had other draws": lambda record: record["draws"].update(init=[7, 8]),
    },
    ("other", "record", f"{EXCHANGE}.json"): {
        "an exchange says that its runs were trained elsewhere": lambda record: record.update(trained_on="cpu-eigen"),
    },
    ("other", "record", "overhead/smallcnn/cpu/default/1.json"): {
        "the steps of a profile are changed in its record": lambda record: record["spec"]["steps"].update(steps=2),
    },
    ("other", "record", "speed/smallcnn/mine/cpu/control.json"): {
        "a measured speed says another machine": lambda record: record["observed"].update(host="elsewhere"),
    },
    ("other", "numbers", BIT): {
        "a run says that it moved another bit": lambda record: record["moved_bit"].update(
            up=not record["moved_bit"]["up"]
        ),
    },
    ("other", "numbers", "runs/smallcnn/mine/cpu-jax/control/1/run.json"): {
        "a run says that it moved a bit": lambda record: record.update(
            moved_bit={"tensor": "conv1/kernel", "index": [0, 0, 0, 0], "up": True, "after_epoch": 0}
        ),
    },
    ("small", "draws", f"{RUN}/run.json"): {
        "a run says that it was trained on other data": lambda record: record.update(data_sha256="0" * 64),
    },
    ("small", "control", f"control/{CELL}.json"): {
        "the gate says of other weights that they are equal": lambda record: record.update(weights_sha256="0" * 64),
    },
    ("small", "control", "control/smallcnn-bn/digits/cpu.json"): {
        "the gate says that Control differs": lambda record: record.update(bit_equal=False),
    },
}
for (study, rules, artifact), by_name in RECORDS.items():
    for what, edit in by_name.items():
        register(what, study, rules, (artifact,), functools.partial(Folder.edit, artifact=artifact, change=edit))


@forgery("record|draws", f"{IMPL}/run.json")
def a_record_is_nested_deeply(folder):
    folder.put(f"{IMPL}/run.json", b"[" * 100_000)


@forgery("record|draws|control", f"{RUN}/run.json", f"{OTHER_RUN}/run.json")
def all_files_of_two_seeds_are_swapped(folder):
    for name in ("weights.npz", "history.csv", "run.json"):
        folder.swap(f"{RUN}/{name}", f"{OTHER_RUN}/{name}")


@forgery("record", f"{EXCHANGE}.npy", f"{EXCHANGE}.json", study="other")
def an_exchange_is_said_to_have_been_computed_where_its_runs_were_trained(folder):
    there = json.loads(folder.original[folder.stated["predictions/smallcnn/mine/cpu/control.npy"]])
    variables = observed(there)["variables"]
    folder.restate(f"{EXCHANGE}.npy", lambda made: observed(made).update(variables=variables))
    folder.edit(f"{EXCHANGE}.json", lambda record: record["observed"].update(variables=variables))


@forgery("study|record", f"{NORMED}/weights.npz")
def the_recipe_of_a_run_is_changed_in_record_and_statement(folder):
    folder.edit(f"{NORMED}/run.json", lambda record: record["spec"]["recipe"].update(learning_rate=0.02))
    folder.restate(f"{NORMED}/run.json", lambda made: asked(made)["spec"]["recipe"].update(learning_rate=0.02))


# What runs share
# ---------------


def change_history(folder, run, column, value="0" * 64, row=-1):
    lines = folder.path(f"{run}/history.csv").read_text().splitlines()
    cells = lines[row].split(",")
    at = lines[0].split(",").index(column)
    cells[at] = value(cells[at]) if callable(value) else value
    lines[row] = ",".join(cells)
    folder.put(f"{run}/history.csv", ("\n".join(lines) + "\n").encode())


def of_each(cell, *seeds):
    return tuple(f"runs/{cell}/{seed}/run.json" for seed in seeds)


@forgery("draws", f"{CONTROL}/run.json")
def a_run_that_must_share_its_initial_weights_says_others(folder):
    folder.edit(f"{CONTROL}/run.json", lambda record: record.update(initial_sha256="0" * 64))


@forgery("draws", f"{OTHER_RUN}/run.json")
def a_run_says_the_initial_weights_of_another_replicate(folder):
    initial = json.loads(folder.original[f"{RUN}/run.json"])["initial_sha256"]
    folder.edit(f"{OTHER_RUN}/run.json", lambda record: record.update(initial_sha256=initial))


@forgery("draws", f"{CONTROL}/run.json")
def a_run_that_must_share_its_draws_says_others(folder):
    change_history(folder, CONTROL, "draws_sha256")


@forgery("draws", *of_each("smallcnn/digits/cpu-eigen/control", 1, 2))
def a_run_on_another_tooling_says_other_draws(folder):
    change_history(folder, "runs/smallcnn/digits/cpu-eigen/control/1", "draws_sha256")


@forgery("draws", f"{NORMED}/run.json", f"{RUN}/run.json")
def a_run_of_another_model_says_other_draws(folder):
    change_history(folder, NORMED, "draws_sha256")


@forgery("control", *of_each(f"{CELL}/control", 1, 2), f"control/{CELL}.json")
def the_history_of_a_control_run_parts_from_the_others(folder):
    change_history(folder, CONTROL, "weights_sha256", row=1)


@forgery("control|numbers", *of_each("smallcnn-bn/digits/cpu/control", 1, 2), "control/smallcnn-bn/digits/cpu.json")
def the_accuracy_of_a_control_run_is_embellished(folder):
    change_history(folder, "runs/smallcnn-bn/digits/cpu/control/2", "test_accuracy", "0.999", row=1)


@forgery("control|numbers", *of_each(f"{CELL}/control", 1, 2), f"control/{CELL}.json")
def the_weights_of_a_control_run_are_of_another(folder):
    folder.put(f"{CONTROL}/weights.npz", folder.original[f"{RUN}/weights.npz"])


@forgery("control", f"predictions/{CELL}/control.npy", f"control/{CELL}.json")
def a_logit_of_a_control_run_is_the_next_number(folder):
    path = folder.path(f"predictions/{CELL}/control.npy")
    stack = np.array(arrays.read_npy(path))
    stack[1, 0, 0] = np.nextafter(stack[1, 0, 0], np.float32(np.inf))
    arrays.write_npy(path, stack)


# What numbers follow from
# ------------------------


def change_tensor(folder, artifact, edit):
    tensors = {name: np.array(values) for name, values in arrays.read_npz(folder.path(artifact)).items()}
    arrays.write_npz(folder.path(artifact), edit(tensors) or tensors)


def nudge(name, row):
    def edit(tensors):
        tensors[name][row].flat[7] += 1e-6

    return edit


@forgery("numbers", f"{RUN}/weights.npz")
def the_weights_of_a_run_are_of_another(folder):
    folder.put(f"{RUN}/weights.npz", folder.original[f"{OTHER_RUN}/weights.npz"])


@forgery("numbers|record", f"{IMPL}/run.json")
def an_epoch_is_cut_from_a_history(folder):
    lines = folder.original[f"{IMPL}/history.csv"].splitlines(keepends=True)
    folder.put(f"{IMPL}/history.csv", b"".join(lines[:-1]))


@forgery("numbers", f"{OTHER_RUN}/history.csv")
def the_last_accuracy_of_a_run_is_embellished(folder):
    change_history(folder, OTHER_RUN, "test_accuracy", lambda value: str(float(value) + 0.01))


@forgery("numbers", STABILITY)
def a_number_of_the_whole_study_is_changed(folder):
    text = folder.original[STABILITY].decode()
    folder.put(STABILITY, re.sub(r"0\.\d", lambda found: "0.1" if found[0] != "0.1" else "0.2", text, count=1).encode())


@forgery("numbers", "metrics/runs.csv")
def a_row_of_the_whole_study_is_taken_away(folder):
    folder.put("metrics/runs.csv", b"".join(folder.original["metrics/runs.csv"].splitlines(keepends=True)[:-1]))


@forgery("numbers", SNAPSHOTS, study="other")
def a_snapshot_is_changed(folder):
    change_tensor(folder, SNAPSHOTS, nudge("conv1/kernel/", 0))


@forgery("numbers", SNAPSHOTS, study="other")
def the_snapshots_of_a_run_are_taken_away(folder):
    change_tensor(
        folder, SNAPSHOTS, lambda of: {one: of[one] for one in of if not one.endswith("/") or one.endswith("//")}
    )


@forgery("numbers", SNAPSHOTS, study="other")
def the_weights_after_a_recorded_step_are_changed(folder):
    change_tensor(folder, SNAPSHOTS, nudge("conv1/kernel//", -1))


@forgery("numbers", SNAPSHOTS, study="other")
def the_recorded_steps_of_a_run_are_taken_away(folder):
    change_tensor(folder, SNAPSHOTS, lambda of: {one: of[one] for one in of if not one.endswith("//")})


# Each alone
# ----------


@pytest.fixture(scope="module")
def both(small_study, other_study, tmp_path_factory):
    """Copies of both studies' results."""
    folders = {"small": small_study, "other": other_study}
    return {name: Folder(of / "results" / name, tmp_path_factory.mktemp(name)) for name, of in folders.items()}


@pytest.fixture
def folders(both):
    """The same, restored afterwards."""
    yield both
    for folder in both.values():
        folder.restore()


@pytest.fixture
def small(folders):
    """The first of them."""
    return folders["small"]


@pytest.mark.parametrize("what", FORGERIES)
def test_a_lie_is_found_although_every_statement_fits_it(what, folders):
    lie = FORGERIES[what]
    folder = folders[lie.study]
    lie.tell(folder)
    folder.settle_upwards()
    found = folder.audit()
    assert found.told(lie.rules, folder.names(*lie.artifacts)), found.shown
    # It is found by what it says: the root vouches for all of it.
    assert "root" not in {one["rule"] for one in found.findings}


# What must be asked for
# ----------------------


def test_a_metric_that_is_changed_with_all_that_was_collected_from_it_is_found_by_a_sample(small):
    part, whole = "metrics/data/digits.csv", "metrics/data.csv"
    text = small.original[part].decode()
    number = re.search(r"\d+(?=\D*\n?$)", text)[0]
    for one in (part, whole):
        small.put(one, small.original[one].replace(number.encode(), b"1" + number.encode()))
    assert small.path(part).read_text() != text
    small.settle_upwards()
    assert small.audit_of(whole).findings == []
    found = small.audit_of(whole, "--sample", "20")
    assert found.told({"sample"}, small.names(part)), found.shown
    small.restore()
    assert small.audit_of(whole, "--sample", "20").findings == []


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Two keys: Ann's and Bob's."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ann", "bob"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True)
    return folder


def test_a_root_that_is_not_signed_by_the_required_key_is_found(small, keys):
    ann, bob = ("--require-signature", keys / "ann.pub"), ("--require-signature", keys / "bob.pub")
    assert [one["rule"] for one in small.audit(*ann).findings] == ["signature"]
    before = small.audit().root
    assert said("sign", small.root, "--key", keys / "ann").code == 0
    assert small.audit(*ann).findings == small.audit().findings == []
    assert small.audit().root == before
    assert [one["rule"] for one in small.audit(*bob).findings] == ["signature"]
    (revoked := keys / "revoked").write_text((keys / "ann.pub").read_text())
    assert [one["rule"] for one in small.audit(*ann, "--revoked-keys", revoked).findings] == ["signature"]
    # Another result, and a root that names it: the signature is of other bytes.
    signed = json.loads(small.path(small.stated[ROOTED]).read_bytes())
    small.restore()
    small.put(STABILITY, flipped(small.original[STABILITY], -3))
    small.settle_upwards()
    payload = base64.b64encode(small.path(small.stated[ROOTED]).read_bytes()).decode()
    small.put(small.stated[ROOTED], json.dumps(signed | {"payload": payload}).encode())
    assert small.audit(*ann).told({"signature"}, small.names(ROOTED))


def test_a_root_that_is_older_than_asked_is_found(small):
    made = ended(json.loads(small.original[small.stated[ROOTED]]))
    for moment, found in ((made - timedelta(days=2), []), (made + timedelta(days=2), ["not-before"])):
        assert [one["rule"] for one in small.audit("--not-before", moment.date()).findings] == found


def test_clocks_may_differ_by_what_is_said(small):
    """By two minutes if nothing is said."""
    now = datetime.now(UTC).replace(tzinfo=None)
    ahead = now - ended(json.loads(small.original[small.stated[ROOTED]]))

    def judged(by, *options):
        small.restate(ROOTED, lambda made: move_times(made, ahead + by))
        rules = {one["rule"] for one in small.audit(*options).findings}
        small.restore()
        return rules

    assert judged(timedelta(minutes=1)) == set()
    assert judged(timedelta(minutes=30)) == {"order"}
    assert judged(timedelta(minutes=30), "--clock-skew", "40min") == set()


@pytest.mark.parametrize("text", ["2", "h", "-1h", "2 fortnights", "nanh", "1e3h", "25h"])
def test_another_difference_of_clocks_is_refused(text, refused_by_verb):
    assert "--clock-skew" in refused_by_verb("audit", "results", f"--clock-skew={text}")


# What a file rests on
# --------------------


def test_the_audit_of_a_file_finds_damage_in_what_it_rests_on_and_nothing_else(small):
    below = {
        f"{IMPL}/weights.npz": {"changed"},
        "data/digits.npz": {"changed"},
        f"predictions/{CELL}/impl.json": {"changed"},
        METRICS: {"changed"},
    }
    beside = [
        f"{NORMED}/weights.npz",
        "metrics/data.csv",
        TABLE,
        ROOTED,
        "metrics/cells/smallcnn-bn/digits/cpu/impl.csv",
    ]
    assert small.audit_of(METRICS).findings == []
    for one in beside:
        small.put(one, flipped(small.original[one], -3))
    small.restate("metrics/runs.csv", lambda made: asked(made).update(x=1))
    small.put("figures/more.png", b"")
    assert small.audit_of(METRICS).findings == []
    for one in below:
        small.put(one, flipped(small.original[one], -3))
    found = small.audit_of(METRICS)
    assert [one for one in below if not found.told(below[one], {small.name(one)})] == []
    assert {one["artifact"] for one in found.findings} <= small.names(*below)


def test_the_audit_of_a_file_knows_forged_statements_below_it(small):
    small.restate(f"{IMPL}/run.json", lambda made: asked(made)["keys"]["init"].update(key="0" * 32))
    small.put("data/digits.npz", flipped(small.original["data/digits.npz"], -3))
    small.settle("data/digits.npz")
    found = small.audit_of(METRICS)
    assert found.told({"study"}, small.names(f"{IMPL}/run.json"))
    assert found.told({"inputs"}, small.names("data/digits.npz", METRICS, f"{IMPL}/run.json"))


def test_a_file_without_a_statement_is_refused(small, refused_by_verb):
    small.put("figures/more.png", b"")
    small.delete(small.stated[METRICS])
    for one in ("figures/more.png", METRICS):
        assert str(small.path(one)) in refused_by_verb("audit", small.path(one))
