from pathlib import Path

import pytest

from toolnoise.analyses.estimate import run_time
from toolnoise.base import arrays, files
from toolnoise.base.spec import Spec
from toolnoise.study import layout
from toolnoise.study.cells import Cell

SECONDS = {"start_up": 4.0, "compile": 2.0, "training": 60.0, "evaluation": 6.0, "digests": 3.0, "checkpoints": 0.0}
EPOCHS = 3


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def place(pattern, spec, study, **names):
    parts = Cell.of(spec)._asdict()
    return pattern.format(study=study, **parts, **names)


@pytest.fixture
def leave():
    """Leave the record of a finished run of `spec`, in any study; returns its path."""

    def write(spec, study="tiny", seconds=SECONDS, epochs=EPOCHS):
        path = place(layout.RECORD, spec, study, seed=spec.seed)
        files.write_json(path, {"spec": spec.as_json(), "epochs": epochs, "status": "completed", "seconds": seconds})
        arrays.write_npz(path.replace("run.json", "weights.npz"), {})
        return path

    return write


def test_nothing_is_known_where_nothing_was_measured(make_spec):
    assert run_time.find(make_spec("control", 1)) is None


def test_a_run_takes_its_start_and_its_epochs(leave, make_spec):
    leave(make_spec("control", 2))
    found = run_time.find(make_spec("control", 1))
    assert (found.start, found.epoch, found.evaluation) == (6.0, 23.0, 2.0)
    assert found.run(10) == 236.0
    assert found.predictions(5) == 16.0
    assert found.source == "finished runs: 1"


def test_of_several_runs_the_middle_one_counts(leave, make_spec):
    for seed, training in enumerate((30.0, 60.0, 6000.0), 1):
        leave(make_spec("control", seed), seconds=SECONDS | {"training": training})
    found = run_time.find(make_spec("control", 1))
    assert found.epoch == 23.0
    assert found.source == "finished runs: 3"


def test_runs_of_another_study_and_another_deterministic_variant_count(leave, make_spec):
    leave(make_spec("algo", 2), study="pilot")
    assert run_time.find(make_spec("control", 1)).source == "finished runs: 1"


def change(spec, part, **keys):
    return Spec.read(spec.json | {part: spec.json[part] | keys})


@pytest.mark.parametrize(
    "other",
    [
        lambda spec: change(spec, "recipe", batch_size=64),
        lambda spec: change(spec, "recipe", optimizer="sgd"),
        lambda spec: change(spec, "model", options={"batch_norm": True}),
        lambda spec: change(spec, "dataset", test_examples=7),
        lambda spec: change(spec, "hardware", threads=2),
    ],
    ids=["batches", "optimiser", "model", "data", "tooling"],
)
def test_runs_of_other_work_do_not_count(other, leave, make_spec):
    spec = make_spec("control", 1)
    leave(other(spec))
    assert run_time.find(spec) is None


def test_a_longer_recipe_is_the_same_work(leave, make_spec):
    spec = make_spec("control", 1)
    leave(change(spec, "recipe", epochs=1, learning_rate=3.0))
    assert run_time.find(spec).epoch == 23.0


def test_determinism_on_and_off_are_not_the_same_work(leave, make_spec):
    leave(make_spec("impl", 1))
    assert run_time.find(make_spec("control", 1)) is None


def test_a_damaged_record_tells_nothing(leave, make_spec):
    spec = make_spec("control", 1)
    Path(leave(spec)).write_text("{")
    other = Path(leave(make_spec("control", 2)))
    files.write_json(other, files.read_json(other) | {"spec": None})
    leave(make_spec("control", 3))
    assert run_time.find(spec).source == "finished runs: 1"


def test_a_run_of_several_cycles_has_left_its_weights_after_each(leave, make_spec):
    spec = make_spec("control", 1)
    path = Path(leave(change(spec, "recipe", cycles=5)))
    path.with_name("weights.npz").write_bytes(bytes(5 * 700))
    assert run_time.find(spec).weight_bytes == 700


def test_timed_steps_count_until_a_run_is_finished(leave, make_spec):
    spec = make_spec("control", 1)
    measured = {"spec": spec.as_json(), "epochs": 1, "steps_timed": 64, "seconds": SECONDS, "weight_bytes": 62888}
    files.write_json(place(layout.SPEED, spec, "tiny"), measured)
    found = run_time.find(spec)
    assert (found.epoch, found.weight_bytes, found.source) == (69.0, 62888, "steps timed: 64")
    leave(make_spec("control", 2))
    assert run_time.find(spec).source == "finished runs: 1"


def test_cells_whose_runs_take_the_same_time_are_told_together(written, built):
    block = written["grid"][0] | {"variants": ["algo_impl", "algo", "impl", "control"], "hardware": ["cpu"]}
    groups = built(written | {"grid": [block], "hardware": {}}).alike
    assert [[cell.variant for cell in cells] for cells in groups] == [["algo_impl", "impl"], ["algo", "control"]]
    assert groups[0][0] == Cell("smallcnn", "digits", "cpu", "algo_impl")
