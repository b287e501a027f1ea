"""One lie each, told in files and in all statements that name them, up to the root: the audit finds it by its rule."""

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from forging import GONE, ROOTED, YEAR, asked, change, definition, ended, flipped, made_from, move_times, observed, said

from toolnoise.base import arrays

CELL, NORMED_CELL, EIGEN = "smallcnn/digits/cpu", "smallcnn-bn/digits/cpu", "smallcnn/digits/cpu-eigen"
RUN, OTHER_RUN, IMPL = f"runs/{CELL}/algo_impl/1", f"runs/{CELL}/algo_impl/2", f"runs/{CELL}/impl/1"
NORMED, CONTROL = f"runs/{NORMED_CELL}/algo_impl/1", f"runs/{CELL}/control/2"
METRICS, STABILITY, TABLE = f"metrics/cells/{CELL}/impl.csv", "metrics/stability.csv", "figures/table2.html"
SNAPSHOTS, BIT = "runs/smallcnn/mine/cpu/control/1/weights.npz", "runs/smallcnn/mine/cpu/bit/1/run.json"
EXCHANGE = "exchanged/smallcnn/mine/cpu/control/cpu-jax"
ZEROS = "0" * 64


def part_of(statement, name):
    """A part of a statement by a short name: a kind of dependency is the first of this kind."""
    times = statement["predicate"]["runDetails"]["metadata"]
    parts = {"statement": statement, "definition": definition(statement), "asked": asked(statement), "times": times}
    parts |= {"outputs": statement["subject"], "observed": observed(statement)}
    return parts[name] if name in parts else made_from(statement, name)[0]


def stated(artifact, way, value):
    """A lie in a statement."""
    part, *rest = way.split()
    return lambda of: of.restate(artifact, lambda made: change(part_of(made, part), rest, value))


def recorded(artifact, way, value):
    """A lie in a record."""
    return lambda of: of.edit(artifact, lambda record: change(record, way.split(), value))


def told(*lies):
    """Several lies at once."""
    return lambda of: [lie(of) for lie in lies]


def in_both(name, way, value):
    """A lie in a record and in its statement."""
    return told(recorded(name, way, value), stated(name, way, value))


# What statements say: the rules, the artifacts, where in the statement of the first, and what stands there
# --------------------------------------------------------------------------------------------------------


def other_output(name):
    return lambda outputs: [*outputs, outputs[0] | {"name": name}]


def without(kind):
    return lambda made: [one for one in made if one["annotations"]["kind"] != kind]


DEPENDENCIES = "definition resolvedDependencies"
AT_OTHER_CODE = {"name": "repository", "digest": {"gitCommit": "365ea18e67bd795f9eaab4ef2db95fc71821e72a"}}
AT_OTHER_CODE |= {"annotations": {"kind": "commit", "dirty": False}}
STATED = [
    ("study", f"{IMPL}/run.json", "asked keys init key", "0" * 32),
    ("study", f"{IMPL}/run.json", "asked keys shuffle replicate", 5),
    ("study record", f"{NORMED}/run.json", "asked spec study_seed", 1),
    ("study record", f"{NORMED}/run.json", "asked spec variant varying", ["impl"]),
    ("study record", f"{NORMED}/run.json", "asked spec recipe epochs", 9),
    ("study", METRICS, "asked cell", [{}, None, 3, [[]]]),
    ("study", TABLE, "asked emulated", []),
    ("study", METRICS, "definition buildType", "urn:toolnoise:count:1"),
    ("study unknown", METRICS, "definition buildType", "urn:toolnoise:dream-up:1"),
    ("unknown study", f"{RUN}/weights.npz", "statement subject", lambda outputs: outputs[::-1]),
    ("unknown", f"{RUN}/history.csv", "outputs 1", GONE),
    ("missing unknown", f"{TABLE} results/else/x.csv", "statement subject", other_output("results/else/x.csv")),
    ("missing unknown", f"{TABLE} ../../etc/passwd", "statement subject", other_output("../../etc/passwd")),
    ("changed unknown", METRICS, "outputs 0 annotations size", 10**300),
    ("inputs", f"{METRICS} data/digits.npz", "input digest sha256", ZEROS),
    ("inputs", METRICS, "input annotations statement", ZEROS),
    ("inputs", METRICS, "input name", "results/small/data/x.npz"),
    ("inputs", METRICS, "input annotations kind", "source"),
    ("inputs study", METRICS, DEPENDENCIES, lambda made: made[1:]),
    ("code", "data/digits.npz", "package digest sha256", ZEROS),
    ("code", f"{RUN}/run.json", "code digest sha256", ZEROS),
    ("code", TABLE, "resource digest sha256", ZEROS),
    ("code", TABLE, "lock digest sha256", ZEROS),
    ("code", METRICS, "code name", "../../evil.py"),
    ("code", METRICS, DEPENDENCIES, without("code")),
    # Every module was another one then, and the statement has no difference from it.
    ("code", METRICS, DEPENDENCIES, lambda made: [*made[:-1], AT_OTHER_CODE]),
    ("commit", METRICS, "commit digest gitCommit", "0" * 40),
    ("commit", METRICS, "commit annotations", {"kind": "commit", "dirty": True}),
    ("commit", METRICS, DEPENDENCIES, without("commit")),
]

# What records say, and what is observed in a record and in its statement
# -----------------------------------------------------------------------

OBSERVED = [
    ("record", "device", "Tesla V100-SXM2-16GB"),
    ("record", "deterministic", True),
    ("record", "precision", "mixed_float16"),
    ("record", "tf32", True),
    ("record", "cpu_flags", ["sse4_1"]),
    ("record", "variables ONEDNN_MAX_CPU_ISA", "SSE41"),
    ("record", "variables TF_NUM_INTRAOP_THREADS", "8"),
    ("record", "variables TF_ENABLE_ONEDNN_OPTS", "0"),
    ("record", "variables", lambda of: of | {"XLA_FLAGS": "-f"}),
    ("lock", "versions tensorflow", "2.20.0"),
    ("lock", "versions", lambda of: of | {"nvidia-cudnn-cu12": "9.10.2.21"}),
]
MOVED = {"tensor": "conv1/kernel", "index": [0, 0, 0, 0], "up": True, "after_epoch": 0}
RECORDS = [
    ("small", "record", f"runs/{NORMED_CELL}/impl/20002/run.json", "spec draw", 1),
    ("small", "record", f"{NORMED}/run.json", "spec recipe learning_rate", 0.02),
    ("small", "record draws", f"predictions/{CELL}/impl.json", "seeds", lambda seeds: seeds[::-1]),
    ("small", "record draws", f"predictions/{CELL}/algo_impl.json", "draws init", [7, 8]),
    ("other", "record", f"{EXCHANGE}.json", "trained_on", "cpu-eigen"),
    ("other", "record", "overhead/smallcnn/cpu/default/1.json", "spec steps steps", 2),
    ("other", "record", "speed/smallcnn/mine/cpu/control.json", "observed host", "elsewhere"),
    ("other", "numbers", BIT, "moved_bit up", lambda up: not up),
    ("other", "numbers", BIT, "moved_bit", None),
    ("other", "numbers", "runs/smallcnn/mine/cpu-jax/control/1/run.json", "moved_bit", MOVED),
    ("other", "numbers", "runs/smallcnn/mine/cpu/control/1/run.json", "recorded_steps", lambda steps: steps[1:]),
    ("small", "draws", f"{RUN}/run.json", "data_sha256", ZEROS),
    ("small", "draws", f"{CONTROL}/run.json", "initial_sha256", ZEROS),
    ("small", "control", f"control/{CELL}.json", "weights_sha256", ZEROS),
]

# What is told by changing files, or more than one thing
# ------------------------------------------------------


def turn_times(made):
    times = part_of(made, "times")
    times["startedOn"], times["finishedOn"] = times["finishedOn"], times["startedOn"]


def moved(artifact, by):
    return lambda of: of.restate(artifact, lambda made: move_times(made, by))


def make_from_its_product(of):
    about = json.loads(of.original[of.stated[METRICS]])["subject"][0]
    about["annotations"] |= {"kind": "input"}
    of.restate("data/digits.npz", lambda made: definition(made)["resolvedDependencies"].append(about))


def swap_statements(of):
    for run, other in ((RUN, OTHER_RUN), (OTHER_RUN, RUN)):
        text = of.original[of.stated[f"{other}/weights.npz"]].decode()
        of.put(of.stated[f"{run}/weights.npz"], text.replace(of.name(other), of.name(run)).encode())
        of.settle(*(f"{run}/{name}" for name in RUN_FILES))


def add_with_statement(of):
    of.put(ADDED, of.original[METRICS])
    of.state_as(ADDED, METRICS)


def swap_files(of):
    for name in RUN_FILES:
        of.swap(f"{RUN}/{name}", f"{OTHER_RUN}/{name}")


def compute_elsewhere(of):
    there = observed(json.loads(of.original[of.stated["predictions/smallcnn/mine/cpu/control.npy"]]))
    in_both(f"{EXCHANGE}.json", "observed variables", there["variables"])(of)


def history(run, column, value, row=-1):
    def tell(of):
        lines = of.original[f"{run}/history.csv"].decode().splitlines()
        cells = lines[row].split(",")
        at = lines[0].split(",").index(column)
        cells[at] = value(cells[at]) if callable(value) else value
        lines[row] = ",".join(cells)
        of.put(f"{run}/history.csv", ("\n".join(lines) + "\n").encode())

    return tell


def exchange_initial(of):
    initial = json.loads(of.original[f"{RUN}/run.json"])["initial_sha256"]
    recorded(f"{OTHER_RUN}/run.json", "initial_sha256", initial)(of)


def nudge_logit(of):
    stack = np.array(arrays.read_npy(of.path(f"predictions/{CELL}/control.npy")))
    stack[1, 0, 0] = np.nextafter(stack[1, 0, 0], np.float32(np.inf))
    arrays.write_npy(of.path(f"predictions/{CELL}/control.npy"), stack)


def leave_out_a_run(of):
    """Of a dump, with its index and its statement."""
    dump = f"predictions/{CELL}/algo_impl"
    arrays.write_npy(of.path(f"{dump}.npy"), np.array(arrays.read_npy(of.path(f"{dump}.npy"))[:1]))

    def shorten(index):
        index["shape"][0] = 1
        index.update({key: index[key][:1] for key in ("seeds", "diverged")})
        index["draws"] = {source: seeds and seeds[:1] for source, seeds in index["draws"].items()}

    of.edit(f"{dump}.json", shorten)

    def shorten_statement(made):
        about, command = definition(made), definition(made)["internalParameters"]["command"]
        about["resolvedDependencies"] = [one for one in about["resolvedDependencies"] if OTHER_RUN not in one["name"]]
        command[:] = [word for word in command if OTHER_RUN not in word]

    of.restate(f"{dump}.npy", shorten_statement)


def tensors(edit):
    def tell(of):
        stored = {name: np.array(values) for name, values in arrays.read_npz(of.path(SNAPSHOTS)).items()}
        arrays.write_npz(of.path(SNAPSHOTS), edit(stored) or stored)

    return tell


def nudge(name, row):
    return tensors(lambda of: of[name][row].flat.__setitem__(7, 9.0))


def change_number(of):
    text = of.original[STABILITY].decode()
    of.put(STABILITY, re.sub(r"0\.\d", lambda found: "0.1" if found[0] != "0.1" else "0.2", text, count=1).encode())


def cut_line(artifact):
    return lambda of: of.put(artifact, b"".join(of.original[artifact].splitlines(keepends=True)[:-1]))


def put_other(artifact, other):
    return lambda of: of.put(artifact, of.original[other])


def of_control(cell):
    return f"runs/{cell}/control/1/run.json runs/{cell}/control/2/run.json control/{cell}.json"


RECIPE = (f"{NORMED}/run.json", "spec recipe learning_rate", 0.02)
RUN_FILES, ADDED = ("weights.npz", "history.csv", "run.json"), f"metrics/cells/{CELL}/better.csv"
OTHER_LIES = [
    ("order", METRICS, moved(METRICS, -YEAR)),
    ("order", METRICS, lambda of: of.restate(METRICS, turn_times)),
    # Before the commit that made it.
    ("order", "data/digits.npz", moved("data/digits.npz", -10 * YEAR)),
    # After what was made from it.
    ("order", METRICS, moved("data/digits.npz", timedelta(hours=1))),
    ("order", ROOTED, moved(ROOTED, YEAR)),
    ("order circles", f"data/digits.npz {METRICS}", make_from_its_product),
    ("study", f"{RUN}/weights.npz {OTHER_RUN}/weights.npz", swap_statements),
    ("study", f"predictions/{CELL}/algo_impl.npy", leave_out_a_run),
    ("study unknown", ADDED, add_with_statement),
    ("study", f"{NORMED}/run.json", recorded("study.json", "recipes normed epochs", 9)),
    ("study record", f"{NORMED}/run.json", told(recorded(*RECIPE), stated(RECIPE[0], f"asked {RECIPE[1]}", 0.02))),
    ("record draws control", f"{RUN}/run.json {OTHER_RUN}/run.json", swap_files),
    ("draws", f"{OTHER_RUN}/run.json", exchange_initial),
    ("draws", f"{CONTROL}/run.json", history(CONTROL, "draws_sha256", ZEROS)),
    # Also on another tooling, and of another model.
    ("draws", of_control(EIGEN), history(f"runs/{EIGEN}/control/1", "draws_sha256", ZEROS)),
    ("draws", f"{NORMED}/run.json {RUN}/run.json", history(NORMED, "draws_sha256", ZEROS)),
    ("control", of_control(CELL), history(CONTROL, "weights_sha256", ZEROS, row=1)),
    ("control numbers", of_control(CELL), history(CONTROL, "test_accuracy", "0.999", row=1)),
    ("control numbers", of_control(CELL), put_other(f"{CONTROL}/weights.npz", f"{RUN}/weights.npz")),
    ("control", f"predictions/{CELL}/control.npy control/{CELL}.json", nudge_logit),
    ("numbers", f"{RUN}/weights.npz", put_other(f"{RUN}/weights.npz", f"{OTHER_RUN}/weights.npz")),
    ("numbers", f"{RUN}/run.json", history(RUN, "test_accuracy", lambda value: str(float(value) + 0.01))),
    ("numbers record", f"{IMPL}/run.json", cut_line(f"{IMPL}/history.csv")),
    ("numbers", STABILITY, change_number),
]
IN_OTHER = [
    ("study", f"{EXCHANGE}.npy", stated(f"{EXCHANGE}.npy", "asked trained_on", "cpu-jax")),
    ("record", f"{EXCHANGE}.npy", compute_elsewhere),
    # Weights after a cycle end with one stroke, those after a recorded step with two.
    ("numbers", SNAPSHOTS, nudge("conv1/kernel/", 0)),
    ("numbers", SNAPSHOTS, nudge("conv1/kernel//", -1)),
    ("numbers", SNAPSHOTS, tensors(lambda of: {one: of[one] for one in of if one[-1] != "/" or one[-2:] == "//"})),
    ("numbers", SNAPSHOTS, tensors(lambda of: {one: of[one] for one in of if one[-2:] != "//"})),
    ("inputs study record", "data/mine.npz", stated("data/mine.npz", "source digest sha256", ZEROS)),
    ("inputs study record", "data/mine.npz", stated("data/mine.npz", "source name", "yours.npz")),
]


LIES = [("small", *lie) for lie in OTHER_LIES] + [("other", *lie) for lie in IN_OTHER]
LIES += [("small", rules, names, stated(names.split()[0], *lie)) for rules, names, *lie in STATED]
LIES += [
    ("small", rule, f"{IMPL}/run.json", in_both(f"{IMPL}/run.json", f"observed {way}", value))
    for rule, way, value in OBSERVED
]
LIES += [(study, rules, name, recorded(name, *lie)) for study, rules, name, *lie in RECORDS]


@pytest.mark.parametrize("number", range(len(LIES)), ids=lambda number: f"{number}-{'-'.join(LIES[number][1:3])}")
def test_a_lie_is_found_although_every_statement_fits_it(number, forged):
    study, rules, artifacts, tell = LIES[number]
    tell(forged[study])
    forged[study].settle_upwards()
    found = forged[study].audit()
    assert found.told(rules.split(), forged[study].names(*artifacts.split())), found.shown
    # It is found by what it says: the root vouches for all of it.
    assert "root" not in found.rules


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
    assert small.audit(of=whole).findings == []
    found = small.audit("--sample", "20", of=whole)
    assert found.told({"sample"}, small.names(part)), found.shown
    small.restore()
    assert small.audit("--sample", "20", of=whole).findings == []


def test_the_root_must_be_signed_by_a_key_if_that_is_asked(small, tmp_path):
    """tests/provenance/test_signing.py has the ways in which a signature does not count."""
    for name in ("ann", "bob"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    ann, bob = (("--require-signature", tmp_path / f"{name}.pub") for name in ("ann", "bob"))
    before = small.audit(*ann)
    assert before.rules == {"signature"}
    assert said("sign", small.root, "--key", tmp_path / "ann").code == 0
    assert (small.audit(*ann).findings, small.audit().root) == ([], before.root)
    assert small.audit(*bob).rules == {"signature"}


def test_clocks_may_differ_by_two_minutes(small):
    now = datetime.now(UTC).replace(tzinfo=None)
    ahead = now - ended(json.loads(small.original[small.stated[ROOTED]]))

    def judged(by):
        small.restate(ROOTED, lambda made: move_times(made, ahead + by))
        rules = small.audit().rules
        small.restore()
        return rules

    assert judged(timedelta(minutes=1)) == set()
    assert judged(timedelta(minutes=30)) == {"order"}


def test_a_finding_is_printed_with_the_promise_of_its_own_rule(small):
    small.restate(METRICS, turn_times)
    of_order = said("audit", small.root).out.partition(f"order: results/small/{METRICS}: ended")[2]
    assert of_order.partition("promised: ")[2].startswith("Every job began after its inputs")


def test_the_audit_of_a_file_finds_damage_in_what_it_rests_on_and_nothing_else(small):
    below = [f"{IMPL}/weights.npz", "data/digits.npz", f"predictions/{CELL}/impl.json", METRICS]
    beside = [f"{NORMED}/weights.npz", "metrics/data.csv", TABLE, ROOTED, f"metrics/cells/{CELL}/control.csv"]
    assert small.audit(of=METRICS).findings == []
    for one in beside:
        small.put(one, flipped(small.original[one], -3))
    small.restate("metrics/runs.csv", lambda made: asked(made).update(x=1))
    small.put("figures/more.png", b"")
    assert small.audit(of=METRICS).findings == []
    for one in below:
        small.put(one, flipped(small.original[one], -3))
    found = small.audit(of=METRICS)
    assert [one for one in below if not found.told({"changed"}, {small.name(one)})] == []
    assert {one["artifact"] for one in found.findings} <= small.names(*below)


def test_the_audit_of_a_file_knows_forged_statements_below_it(small):
    small.restate(f"{IMPL}/run.json", lambda made: asked(made)["keys"]["init"].update(key="0" * 32))
    small.put("data/digits.npz", flipped(small.original["data/digits.npz"], -3))
    small.settle("data/digits.npz")
    found = small.audit(of=METRICS)
    assert found.told({"study"}, small.names(f"{IMPL}/run.json"))
    assert found.told({"inputs"}, small.names("data/digits.npz", METRICS, f"{IMPL}/run.json"))


def test_a_file_without_a_statement_is_refused(small, refused_by_verb):
    small.put("figures/more.png", b"")
    small.delete(small.stated[METRICS])
    for one in ("figures/more.png", METRICS):
        assert str(small.path(one)) in refused_by_verb("audit", small.path(one))
