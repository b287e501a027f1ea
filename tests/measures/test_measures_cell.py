"""What is made of a cell's runs: rows of its stability, of identical runs and of ensembles, and the gate of Control."""

import numpy as np
import pytest

from toolnoise.base import arrays, files, metric_files
from toolnoise.dumps import stacks
from toolnoise.formulas.per_run import FINGERPRINT, fingerprints
from toolnoise.measures import control_gate, reading
from toolnoise.papers.identical import measure as cell
from toolnoise.papers.identical.measure import CRITERIA, Weak
from toolnoise.study import config, runs
from toolnoise.study.cells import Cell
from toolnoise.study.expected import METRICS

CELL = Cell("smallcnn", "digits", "cpu", "control")
CLASSES, EXAMPLES = 3, 60
ALL = {"criteria": list(CRITERIA), "weak": {"reference": "zero", "margin": 0}}


def observed(parts):
    parts["record"]["observed"] = {"versions": {"tensorflow": "2.21.0"}}


@pytest.fixture
def measured(tmp_path, make_run, make_dump):
    """Measure a cell of so many runs, of which some diverged; returns the rows of the three files."""
    labels = np.arange(EXAMPLES) % CLASSES
    images = np.zeros((EXAMPLES, 2, 2, 1), np.uint8)
    about = {"maximum": np.array(255), "classes": np.array(list("abc"))}
    splits = [{f"{part}_images": images, f"{part}_labels": labels} for part in ("train", "test")]
    arrays.write_npz(tmp_path / "digits.npz", splits[0] | splits[1] | about)

    def measure(runs, diverged=(), block=ALL, change=observed, spoil=lambda: None):
        draws = np.random.Generator(np.random.Philox(3))
        logits = draws.normal(size=(runs, EXAMPLES, CLASSES)) + 1.5 * np.eye(CLASSES)[labels]
        failed = [seed in diverged for seed in range(1, runs + 1)]
        logits[failed] = np.nan
        paths = make_dump(logits.astype(np.float32), diverged=failed)
        records = [make_run(seed, change) for seed in range(1, runs + 1)]
        spoil()
        kinds = ("stability", "runs", "identical", "convergence", "ensembles")
        stability, *others = (tmp_path / f"{kind}.csv" for kind in kinds)
        beside = {f"out_{path.stem}": path for path in others}
        cell.measure(CELL, 7, block, tmp_path / "digits.npz", *paths, records, out=stability, **beside)
        return [
            metric_files.read(path, metric_files.columns(METRICS[path.stem].columns)) for path in (stability, *others)
        ]

    return measure


def test_a_cell_has_a_row_for_each_criterion_that_is_asked_for_in_that_order(measured):
    stability, _, identical, _, _ = measured(4)
    assert list(identical["stopping_type"]) == list(CRITERIA)
    assert set(identical["no_try"]) == {4}
    assert set(zip(identical["network"], *(identical[name] for name in CELL._fields[1:]), strict=True)) == {tuple(CELL)}
    stability = stability[stability["group"] == "all"].set_index("metric")["value"]
    assert identical["std_dev_accuracy"].iloc[0] == stability["accuracy_sd"]
    _, _, fewer, _, _ = measured(4, block=ALL | {"criteria": ["patience", "last"]})
    assert list(fewer["stopping_type"]) == ["patience", "last"]


def test_each_run_has_a_number_that_only_equal_bits_share(measured):
    _, of_runs, *_ = measured(4, (2,))
    found = of_runs[of_runs["metric"] == FINGERPRINT].set_index("seed")["value"]
    assert list(found.index) == [1, 3, 4]
    logits = np.random.Generator(np.random.Philox(3)).normal(size=(4, EXAMPLES, CLASSES))
    logits = (logits + 1.5 * np.eye(CLASSES)[np.arange(EXAMPLES) % CLASSES]).astype(np.float32)
    assert found.tolist() == fingerprints(logits[[0, 2, 3]]).tolist()  # the file keeps every digit
    assert len(set(found)) == 3
    changed = logits[:1].copy()
    changed[0, -1, -1] = np.nextafter(changed[0, -1, -1], np.float32(9))
    assert fingerprints(np.concatenate([logits[:1], changed, logits[:1]])).tolist().count(found[1]) == 2


@pytest.mark.parametrize(
    ("runs", "diverged", "sizes"),
    [
        (7, (), {1: 7, 2: 3, 3: 2}),  # the seventh is left over
        (2, (1, 2), {1: 0}),
    ],
)
def test_ensembles_are_of_up_to_half_as_many_members_as_there_are_runs(measured, runs, diverged, sizes):
    _, _, identical, _, ensembles = measured(runs, diverged)
    assert dict(zip(ensembles["members"], ensembles["n_runs"], strict=True)) == sizes
    for rows in (identical, ensembles):
        assert set(rows["n_missing"]) == {len(diverged)}
    accuracy = ensembles[ensembles["metric"] == "accuracy_mean"].set_index("members")["value"]
    assert accuracy.notna().all() == (runs > len(diverged))


def test_each_run_has_a_row_for_each_criterion_whether_it_counts_or_not(measured):
    weak = ALL | {"weak": {"reference": "best", "margin": 0}}
    _, _, identical, convergence, _ = measured(5, (2,), block=weak)
    assert list(convergence["try"]) == [1, 3, 4, 5, 2] * len(CRITERIA)
    assert convergence["status"].value_counts().to_dict() == {"counted": 5, "weak": 15, "missing": 5}
    assert convergence[convergence["status"] == "missing"]["accuracy"].isna().all()
    counted = convergence[convergence["status"] == "counted"]
    for name, values in {"accuracy": "accuracy", "convergent": "convergent", "per_epoch": "per_epoch_average"}.items():
        assert counted[values].reset_index(drop=True).equals(identical[f"mean_{name}"])
    _, _, _, diverged, _ = measured(2, (1, 2))
    assert set(diverged["status"]) == {"missing"}


def test_single_runs_are_measured_as_ensembles_of_one(measured):
    stability, _, _, _, ensembles = measured(6)
    alone = ensembles[ensembles["members"] == 1].drop(columns="members").reset_index(drop=True)
    whole = stability[(stability["group"] == "all") & stability["metric"].isin(alone["metric"])]
    whole = whole.set_index("metric").loc[alone["metric"]].reset_index()[list(alone)]
    assert alone.equals(whole)


def test_records_of_fewer_runs_or_of_other_runs_are_one_line(make_run, make_dump, refused, tmp_path):
    dump = stacks.read_predictions(*make_dump(np.zeros((2, 4, 3), np.float32) + np.arange(3, dtype=np.float32)))
    paths = [make_run(1), make_run(2)]
    assert [run.seed for run in reading.finished_runs(paths, dump)] == [1, 2]
    assert "records: found 1; 2, one for each run of the dump" in refused(reading.finished_runs, paths[:1], dump)
    line = refused(reading.finished_runs, paths[::-1], dump)
    assert line == f"{tmp_path}/runs/2/run.json: spec.seed: found 2; 1, as the dump has"


def test_weights_of_another_number_and_a_record_without_versions_are_one_line(make_run, measured, refused, tmp_path):
    more = make_run(2, lambda parts: parts["final"].update({"a/bias": np.zeros(4, np.float32)}))
    both = [runs.read(record) for record in (make_run(1), more)]
    line = refused(lambda: reading.TrainedVectors(both)[:])
    assert line == f"{tmp_path}/runs/2/weights.npz: found 10 trained weights; 9, as {tmp_path}/runs/1 has"
    line = refused(measured, 2, (), ALL, None)
    assert line.startswith(f"{tmp_path}/runs/1/run.json: observed: no versions of the engine")


def test_a_history_without_a_column_is_one_line(measured, refused, tmp_path):
    path = tmp_path / "runs/2/history.csv"
    spoil = lambda: path.write_text(path.read_text().replace("seconds", "hours"))  # noqa: E731
    line = refused(measured, 2, (), ALL, observed, spoil)
    assert line == f"{path}: seconds: no such column; the history that train wrote"
    assert not list(tmp_path.glob("*.csv"))


def test_the_schema_knows_every_criterion_and_every_reference():
    rules = config.schema()["properties"]["identical"]["properties"]
    assert set(rules["criteria"]["items"]["enum"]) == set(rules["criteria"]["default"]) == set(CRITERIA)
    for reference in rules["weak"]["properties"]["reference"]["enum"]:
        assert not Weak(reference, -1.0).among(np.array([0.5]), np.array([0, 1])).any()


CHECKED = "smallcnn/digits/cpu/control"


@pytest.fixture
def check(make_run, make_dump, tmp_path):
    """Check three control runs, of which `change` edits the third, and their logits; returns the verdict."""

    def call(change=None, logits=None, runs=3, **index):
        records = [make_run(seed, change if seed == 3 else None) for seed in range(1, runs + 1)]
        dump = make_dump(np.ones((runs, 4, 2), np.float32) if logits is None else logits, **index)
        control_gate.check(CHECKED.split("/"), *dump, records, out=tmp_path / "gate.json")
        return files.read_json(tmp_path / "gate.json")

    return call


def test_bit_equal_runs_pass_and_those_that_diverged_alike_and_one_is_no_verdict(check):
    verdict = check()
    assert (verdict["cell"], verdict["seeds"], verdict["bit_equal"]) == (CHECKED, [1, 2, 3], True)
    assert len(verdict["weights_sha256"]) == 64
    assert check(logits=np.full((3, 4, 2), np.nan, np.float32), diverged=[True] * 3)["bit_equal"] is True
    assert check(runs=1)["bit_equal"] is None


def in_epoch(epoch, tensor, amount=1e-7):
    def change(parts):
        for weights in parts["epochs"][epoch - 1 :]:
            weights[tensor] = weights[tensor] + np.float32(amount)
        parts["final"] = dict(parts["epochs"][-1])

    return change


def both(*changes):
    return lambda parts: [change(parts) for change in changes]


def negative_zero(parts):
    parts["final"]["a/bias"] = -parts["final"]["a/bias"]


DIFFERENCES = {
    "late, in a later layer": (in_epoch(2, "a/bias"), "they part in epoch 2, first in a/bias"),
    "in the first epoch that differs": (
        both(in_epoch(3, "a/kernel", 1), in_epoch(1, "a/bias")),
        "they part in epoch 1, first in a/bias",
    ),
    "a stopped run": (lambda parts: (parts["epochs"].pop(), parts["record"].update(epochs=2)), "3 and 2 epochs"),
    "the sign of a zero": (negative_zero, "their final weights are not, first in a/bias"),
}


@pytest.mark.parametrize(("change", "found"), DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_runs_that_differ_are_one_line_naming_seeds_epoch_and_layer(change, found, check, tmp_path, refused):
    line = refused(check, change)
    assert line.startswith(f"{CHECKED}: seeds 1 and 3: ")
    assert found in line
    assert line.endswith("; replicates must be bit-equal")
    assert not (tmp_path / "gate.json").exists(), "no verdict may be left behind"


def test_equal_weights_with_different_logits_are_one_line(check, refused):
    logits = np.ones((3, 4, 2), np.float32)
    logits[2, 3, 1] = np.nextafter(np.float32(1), np.float32(2))
    line = refused(check, None, logits)
    assert line == f"{CHECKED}: seeds 1 and 3: equal weights give different logits; replicates must be bit-equal"


def test_a_verdict_that_the_gate_cannot_have_written_is_one_line(tmp_path, refused):
    (tmp_path / "cpu.json").write_text('{"bit_equal": false}')
    assert refused(control_gate.verdict, tmp_path / "cpu.json").startswith(f"{tmp_path / 'cpu.json'}: ")
