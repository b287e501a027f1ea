"""Growth from equal starts: which steps a run records, and known distances between runs."""

import numpy as np
import pytest

from toolnoise.base import arrays, files, metric_files
from toolnoise.papers import growth
from toolnoise.papers.growth import GROWTH, Course
from toolnoise.study import runs
from toolnoise.study.cells import Cell, Variants
from toolnoise.study.runs import recording_steps

STEPS = np.array(recording_steps(800))


def of_distances(distances):
    """The course of a start with these distances after steps 1, 2, 4, ..."""
    found = np.array([0.0, *distances])
    return Course(STEPS, {**dict.fromkeys(growth.DISTANCES, found), "churn": np.zeros(len(STEPS))})


def recorded(*weights, logits=((0.0, 1.0), (1.0, 0.0))):
    return {step: {"a": np.array(one), "logits": np.array(logits)} for step, one in enumerate(weights)}


def test_ways_at_a_right_angle_are_the_root_of_two_apart_however_near_the_weights_are():
    start = [1000.0, 0.0, 0.0]
    one, other = recorded(start, [1000.0, 1.0, 0.0]), recorded(start, [1000.0, 0.0, 1.0])
    found = growth.course_of_runs(one, other, ["a"]).distances
    assert found["movement"].tolist() == [0.0, pytest.approx(np.sqrt(2))]
    assert found["l2_unit"][1] == pytest.approx(np.sqrt(2) / 1000, rel=1e-5)


def test_a_moved_bit_that_no_gradient_reaches_has_not_parted():
    moved = of_distances(np.full(len(STEPS) - 1, 1e-9))
    still = Course(moved.steps, moved.distances | dict.fromkeys(("movement", "logits"), np.zeros(len(STEPS))))
    rows = [row for row in growth.levels_by_step([still, still], 100) if row[0] == 800]
    found = {name: (estimate.value, count) for _, name, estimate, count in rows}
    assert found == {
        "parted": (0, 2),
        **dict.fromkeys(growth.DISTANCES, (0, 0)),
        "churn": (0, 2),
    }


def test_distances_are_geometric_means_over_the_starts_that_part():
    some = [of_distances(np.full(len(STEPS) - 1, distance)) for distance in (1e-6, 1e-2, 0)]
    rows = {name: (estimate, count) for step, name, estimate, count in growth.levels_by_step(some, 100) if step == 1}
    assert rows["parted"][0].value == pytest.approx(2 / 3)
    assert rows["l2_unit"][0].value == pytest.approx(1e-4)
    assert rows["l2_unit"][1] == 2
    assert rows["l2_unit"][0].high <= 2


# Recorded steps: which they are, what a run keeps of them, and when nothing is kept


RECORDED = [0, 1, 2, 4, 6]


def record(epochs, **recipe):
    return {"spec": {"recipe": {"epochs": 3} | recipe}, "steps_per_epoch": 2, "epochs": epochs}


@pytest.fixture
def recording(make_run):
    """A run of three epochs of two steps that has recorded them; `change` edits what its file has."""

    def make(change=lambda _: None):
        def edit(parts):
            parts["record"]["spec"]["recipe"] |= {"epochs": 3, "record_steps": True}
            parts["record"] |= {"steps_per_epoch": 2, "recorded_steps": RECORDED}
            kept = [parts["final"] | {"logits": np.full((4, 2), step, np.float32)} for step in RECORDED]
            packs = dict(runs.packed_weights(kept, runs.OF_STEPS))
            change(packs)
            parts["final"] |= packs

        return runs.read_run(make_run(1, edit))

    return make


def test_what_was_recorded_is_read_by_step_and_stays_in_the_file(recording):
    run = recording()
    recorded = run.recorded()
    assert {step: int(one["logits"][0, 0]) for step, one in recorded.items()} == {step: step for step in RECORDED}
    assert list(recorded[0]) == ["a/kernel", "a/bias", "logits"]
    assert not any(tensor.flags.owndata for one in recorded.values() for tensor in one.values())
    assert list(run.weights()) == ["a/kernel", "a/bias"]
    assert len(run.snapshots()) == 1


DAMAGES = {
    "a tensor is missing": (lambda packs: packs.pop("a/bias//"), "a/bias//: found nothing; run.json's recipe keeps"),
    "a step too few": (
        lambda packs: packs.update({"a/bias//": np.zeros((4, 3), np.float32)}),
        "a/bias//: found (4, 3)",
    ),
}


@pytest.mark.parametrize(("change", "says"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_recorded_steps_are_one_line(change, says, recording, refused):
    assert says in refused(recording(change).recorded)


# From runs that recorded their steps to metric files; which cells of a study are compared with which


BIT = "init+shuffle+augment+dropout+bit"
TOOLINGS = {"cpu-jax": {"engine": "jax", "kernels": "xla"}}
BLOCK = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "digits", "hardware": ["cpu"], "seeds": 3}


@pytest.fixture
def growing(written, built):
    """A study that records steps, of these blocks."""

    def make(*blocks, **recipe):
        written["grid"] = [BLOCK | block for block in blocks]
        written["recipes"]["digits"] |= {"record_steps": True} | recipe
        written["hardware"] |= TOOLINGS
        return built(written)

    return make


def cell(hardware, variant):
    return Cell("smallcnn", "digits", hardware, variant)


HOME = Variants("smallcnn", "digits", "cpu")


def test_a_tooling_is_held_against_the_first_and_noise_and_a_bit_against_their_own_tooling(growing):
    study = growing(
        {"variants": ["algo", "algo_impl", BIT]},
        {"hardware": ["cpu-jax"], "variants": ["algo", "algo_impl"]},
    )
    assert dict(study.growing()[HOME]) == {
        cell("cpu", "algo_impl"): cell("cpu", "algo"),
        cell("cpu", BIT): cell("cpu", "algo"),
        cell("cpu-jax", "algo"): cell("cpu", "algo"),
        cell("cpu-jax", "algo_impl"): cell("cpu-jax", "algo"),
    }


def test_a_variant_that_fixes_its_draws_is_held_against_control_and_with_several_draws_against_algo(growing):
    fixed = growing({"variants": ["control", "impl", "bit"]})
    assert dict(fixed.growing()[HOME]) == {cell("cpu", name): cell("cpu", "control") for name in ("impl", "bit")}
    drawn = growing({"variants": ["algo"]}, {"variants": ["impl"], "draws": 3, "seeds": 2})
    assert dict(drawn.growing()[HOME]) == {cell("cpu", "impl"): cell("cpu", "algo")}


@pytest.fixture
def measured(tmp_path, make_spec):
    """Measure runs that are written by hand, each with how far one weight moves from its reference in a step."""

    def write(variant, seed, offset, status="completed", examples=2):
        spec = make_spec(variant, seed).as_json()
        spec["recipe"] |= {"epochs": 3, "record_steps": True}
        kept = [
            {
                "a/kernel": np.array([[1.0, step], [offset * step, 1.0]], np.float32),
                "logits": np.array([[1.0, 0.0], [0.0, 1.0 + offset * step]], np.float32)[:examples],
            }
            for step in RECORDED
        ]
        folder = tmp_path / variant / str(seed)
        final = {"a/kernel": kept[-1]["a/kernel"]}
        arrays.write_npz(folder / "weights.npz", final | runs.packed_weights(kept, runs.OF_STEPS))
        about = {"spec": spec, "status": status, "epochs": 3, "trainable": ["a/kernel"]}
        files.write_json(folder / "run.json", about | {"steps_per_epoch": 2, "recorded_steps": RECORDED})
        return str(folder / "run.json")

    def call(*of_runs):
        records = [write(*one) for one in of_runs]
        names = dict.fromkeys(one[0] for one in of_runs)
        references = [[list(cell("cpu", name)), list(cell("cpu", "algo"))] for name in names if name != "algo"]
        growth.measure(*HOME, references, records, out=tmp_path / "growth.csv")
        return metric_files.read_metrics(tmp_path / "growth.csv", GROWTH)

    return call


def test_runs_of_one_start_are_compared_and_starts_are_counted(measured):
    rows = measured(*(("algo", seed, 0.0) for seed in (1, 2, 3)), ("algo_impl", 1, 0.1), ("algo_impl", 3, 0.1))
    assert set(rows["step"]) == set(RECORDED)
    end = rows[rows["step"] == 6].set_index("metric")
    # (1, 6, 0, 1) and (1, 6, 0.6, 1), both of norm 1.
    one, other = (np.array(vector) / np.linalg.norm(vector) for vector in ([1, 6, 0, 1], [1, 6, 0.6, 1]))
    assert end.loc["l2_unit", "value"] == pytest.approx(np.linalg.norm(one - other), rel=1e-6)
    assert end.loc["movement", "value"] == pytest.approx(0.1, rel=0.01)
    assert (end.loc["l2_unit", "n_runs"], end.loc["l2_unit", "n_missing"]) == (2, 0)
    assert end.loc["churn", "value"] == 0


def test_cells_without_records_or_without_a_common_start_are_one_line(measured, tmp_path, refused):
    references = [[list(cell("cpu", name)) for name in ("algo_impl", "algo")]]
    line = refused(growth.measure, *HOME, references, [], out=tmp_path / "growth.csv")
    assert "smallcnn/digits/cpu: seeds: no finished run" in line
    line = refused(measured, ("algo", 1, 0.0), ("algo_impl", 2, 0.1))
    assert "smallcnn/digits/cpu: seeds: no finished run" in line


def test_weights_that_are_not_finite_in_a_run_that_finished_are_one_line(measured, refused):
    line = refused(measured, ("algo", 1, 0.0), ("algo_impl", 1, np.inf))
    assert "algo_impl/1/weights.npz: " in line
    assert "found numbers that are not finite after step " in line
