"""Estimates of a study before it runs, from runs that have ended and from steps that were timed."""

from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays, files
from toolnoise.base.spec import Spec
from toolnoise.estimate import costs, speed
from toolnoise.study import layout
from toolnoise.study.cells import Cell

SECONDS = {"start_up": 4.0, "compile": 2.0, "training": 30.0, "evaluation": 3.0}
EPOCHS = 3
# 6 s to start and 33 s for three epochs, of which each evaluation takes 1 s.
RUN = 39.0
CELLS = [
    Cell("smallcnn", "digits", hardware, variant) for hardware in ("cpu", "v100") for variant in ("control", "impl")
]


pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def tiny(written, built):
    """A study of ten runs a cell on `cpu` with two threads and on `v100`, with a price for one."""
    ten = {"variants": ["control", "impl"], "seeds": 10, "control_seeds": 10}
    block = written["grid"][0] | {"hardware": ["cpu", "v100"]} | ten
    own = {"recipes": {"digits": {"epochs": EPOCHS}}, "hardware": {"cpu": {"threads": 2}}, "prices": {"v100": 3.6}}
    return built(written | own | {"grid": [block], "figures": ["table2"]})


def leave_run(spec, study="tiny", seconds=SECONDS):
    """Leave a finished run of `spec`, in any study; returns the path of its record."""
    path = layout.RECORD.format(study=study, **Cell.of(spec)._asdict(), seed=spec.seed)
    record = {"spec": spec.as_json(), "status": "completed", "epochs": EPOCHS, "trainable": [], "seconds": seconds}
    files.write_json(path, record)
    arrays.write_npz(path.replace("run.json", "weights.npz"), {"w": np.zeros(1000, np.float32)})
    return path


@pytest.fixture
def leave(tiny):
    """Leave a finished run of a cell."""
    return lambda cell, seed=1, study=tiny: leave_run(study.spec(cell, seed))


@pytest.fixture
def prepared(tiny):
    path = Path(tiny.path(layout.DATA, dataset="digits"))
    raw = {"maximum": np.array(16), "classes": np.array(list("0123456789"))}
    for part in ("train", "test"):
        raw |= {f"{part}_images": np.zeros((500, 8, 8, 1), np.uint8), f"{part}_labels": np.arange(500) % 10}
    arrays.write_npz(path, raw)
    return path


def of(found, hardware):
    return next(tooling for tooling in found.hardware if tooling.hardware == hardware)


def test_what_nobody_measured_is_unknown_and_never_guessed(tiny):
    found = costs.estimate(tiny)
    assert {(task.seconds_a_run, task.seconds_left) for task in found.tasks} == {(None, None)}
    for name in ("cpu", "v100"):
        assert (of(found, name).left, of(found, name).unknown, of(found, name).hours) == (20, 20, 0)
    told = costs.as_text(found, "tiny.yaml")
    assert "v100: 20 runs left, GPU-hours and cost unknown" in told
    assert "toolnoise estimate --measure --study tiny.yaml" in told
    disk = found.disk
    assert (disk.weights, disk.predictions, disk.data) == (0, 0, 0)
    assert disk.unknown == ["weights of smallcnn on digits", "data and predictions of digits"]


def test_jobs_are_counted(tiny):
    assert costs.estimate(tiny).jobs == {
        "data sets": 1,
        "trainings": 40,
        "predictions": 4,
        "layers": 0,
        "profiles": 0,
        # four cells, two of them control, one pair of toolings under control
        "checks and measures": 7,
        "figures and tables": 1,
    }


def test_hours_are_those_of_what_is_left_and_of_its_predictions(tiny, leave):
    leave(CELLS[3])
    control, impl = [task for task in costs.estimate(tiny).tasks if task.hardware == "v100"]
    assert (impl.runs, impl.left, impl.seconds_a_run) == (10, 9, RUN)
    assert impl.seconds_left == 9 * RUN + (6 + 10 * 1)
    assert control.seconds_a_run is None


def test_remedied_predictions_are_counted_and_take_a_pass_for_each_view_of_each_snapshot(built, tiny, leave):
    recipe = {"epochs": EPOCHS, "schedule": "cosine", "cycles": EPOCHS}
    block = tiny.config["grid"][0] | {"remedies": ["crops9"]}
    study = built({**tiny.config, "grid": [block], "recipes": {"digits": recipe}})
    leave(CELLS[3], study=study)
    found = costs.estimate(study)
    assert (found.jobs["predictions"], found.jobs["checks and measures"]) == (4 + 4, 7 + 4)
    assert found.tasks[3].seconds_left == 9 * RUN + (6 + 10 * 1) + (6 + 10 * EPOCHS * 9)


def test_what_is_predicted_for_another_framework_and_of_layers_takes_time_where_it_is_predicted(built, tiny, leave):
    block = tiny.config["grid"][0] | {"hardware": ["cpu", "cpu-jax"], "variants": ["control"], "layers": 100}
    study = built({**tiny.config, "grid": [block], "hardware": {}, "figures": ["table2"]})
    leave(CELLS[0]._replace(hardware="cpu-jax"), study=study)
    found = costs.estimate(study)
    assert (found.jobs["predictions"], found.jobs["layers"]) == (2 + 2, 2)
    (task,) = [task for task in found.tasks if task.hardware == "cpu-jax"]
    assert task.seconds_left == 9 * RUN + 3 * (6 + 10 * 1)


def test_unknown_runs_are_counted_beside_the_hours_of_the_others(tiny, leave):
    leave(CELLS[3])
    found = of(costs.estimate(tiny), "v100")
    assert (found.left, found.unknown, found.unit) == (19, 10, "GPU-hours")
    assert found.hours == pytest.approx((9 * RUN + 16) / 3600)
    assert found.cost == pytest.approx(3.6 * found.hours)
    told = costs.as_text(costs.estimate(tiny), "tiny.yaml")
    assert "v100: 19 runs left, at least 0.10 GPU-hours, and 10 runs whose time is unknown; cost at least 0.37" in told


def test_a_run_on_two_threads_takes_two_cores_and_has_an_unknown_price(tiny, leave):
    for cell in CELLS[:2]:
        leave(cell)
    found = of(costs.estimate(tiny), "cpu")
    assert (found.unit, found.cost) == ("core-hours", None)
    assert found.hours == pytest.approx(2 * 2 * (9 * RUN + 16) / 3600)


def test_of_a_finished_study_it_says_that_nothing_is_left(tiny, leave):
    for cell in CELLS:
        for seed in range(1, 11):
            leave(cell, seed)
        files.write_text(tiny.path(layout.LOGITS, cell), "")
    nothing, disk = costs.as_text(costs.estimate(tiny), "tiny.yaml").splitlines()
    assert nothing == "nothing left: all 40 runs and profiles are here"
    assert disk.startswith("disk: ")


def test_disk_is_weights_logits_and_data_of_the_whole_study(tiny, leave, prepared):
    leave(CELLS[3])
    size = Path(tiny.path(layout.RECORD, CELLS[3], seed="1")).with_name("weights.npz").stat().st_size
    found = costs.estimate(tiny).disk
    assert found.weights == 40 * size
    assert found.predictions == 40 * 500 * 10 * 4
    assert found.data == prepared.stat().st_size
    assert found.unknown == []


def test_only_what_is_unknown_and_can_be_served_here_is_timed(tiny, leave, monkeypatch, capsys):
    commands = []
    monkeypatch.setattr(costs, "why_not", lambda tooling: "no GPU" if tooling["name"] == "v100" else "")
    monkeypatch.setattr(costs.subprocess, "run", lambda command, **_: commands.append(command))
    leave(CELLS[0])
    costs.measure(tiny, "tiny.yaml")
    (command,) = commands
    assert [word for word in command if "/speed/" in word] == [tiny.path(layout.SPEED, CELLS[1])]
    assert f"not timed: {'/'.join(CELLS[2])}: no GPU" in capsys.readouterr().err


def test_profiles_take_what_finished_ones_took(written, built):
    block = {"models": ["smallcnn", "resnet18"], "hardware": ["cpu"], "repeats": 3}
    study = built(written | {"overhead": block, "figures": ["table2"]})

    def profiles(deterministic):
        rows = [task for task in costs.estimate(study).tasks if task.dataset == "-"]
        (row,) = (row for row in rows if row.deterministic is deterministic)
        return row.runs, row.left, row.seconds_a_run, row.seconds_left

    def leave(*chosen):
        for profile in study.profiles:
            if (profile.model, profile.mode, profile.repeat) in chosen:
                record = {"spec": study.profile_spec(profile).as_json(), "seconds": {"start_up": 3.0, "steps": 5.0}}
                files.write_json(study.path(layout.PROFILE_RECORD, profile), record)

    assert profiles(True) == profiles(False) == (6, 6, None, None)
    leave(("smallcnn", "default", 1))
    assert profiles(False) == (6, 5, None, None), "one network is still unknown"
    leave(("resnet18", "default", 2))
    assert profiles(False) == (6, 4, 8.0, 32.0)
    assert profiles(True) == (6, 6, None, None)


# How long a run takes, from records of runs in any study


SECONDS_OF_A_RUN = {"start_up": 4.0, "compile": 2.0, "training": 60.0, "evaluation": 6.0, "digests": 3.0}


def test_a_run_takes_its_start_and_its_epochs(make_spec):
    assert speed.find_pace(make_spec("control", 1)) is None
    # In any study, of any deterministic variant, however long the recipe.
    leave_run(change(make_spec("algo", 2), "recipe", learning_rate=3.0), "pilot", SECONDS_OF_A_RUN)
    found = speed.find_pace(make_spec("control", 1))
    assert (found.start, found.epoch, found.evaluation) == (6.0, 23.0, 2.0)
    assert (found.run({"epochs": 10}), found.predictions(5)) == (236.0, 16.0)
    # Of several runs, the middle one counts.
    for seed, training in enumerate((30.0, 6000.0), 1):
        leave_run(make_spec("control", seed), seconds=SECONDS_OF_A_RUN | {"training": training})
    found = speed.find_pace(make_spec("control", 1))
    assert (found.epoch, found.source) == (23.0, "finished runs: 3")


def change(spec, part, **keys):
    return Spec.read(spec.json | {part: spec.json[part] | keys})


@pytest.mark.parametrize(
    "other",
    [
        lambda spec: change(spec, "recipe", batch_size=64),
        lambda spec: change(spec, "hardware", threads=2),
        lambda spec: change(spec, "variant", name="impl", varying=["impl"]),
    ],
    ids=["batches", "tooling", "without determinism"],
)
def test_runs_of_other_work_do_not_count(other, make_spec):
    spec = make_spec("control", 1)
    leave_run(other(spec))
    assert speed.find_pace(spec) is None


def test_a_damaged_record_tells_nothing(make_spec):
    spec = make_spec("control", 1)
    Path(leave_run(spec)).write_text("{")
    other = Path(leave_run(make_spec("control", 2)))
    files.write_json(other, files.read_json(other) | {"spec": None})
    leave_run(make_spec("control", 3))
    assert speed.find_pace(spec).source == "finished runs: 1"


def test_timed_steps_count_until_a_run_is_finished(make_spec):
    spec = make_spec("control", 1)
    measured = {"epochs": 1, "steps_timed": 64, "seconds": SECONDS_OF_A_RUN, "weight_bytes": 62888}
    path = layout.SPEED.format(study="tiny", **Cell.of(spec)._asdict())
    files.write_json(path, {"spec": spec.as_json(), **measured})
    found = speed.find_pace(spec)
    assert (found.epoch, found.weight_bytes, found.source) == (69.0, 62888, "steps timed: 64")
    leave_run(make_spec("control", 2))
    assert speed.find_pace(spec).source == "finished runs: 1"
