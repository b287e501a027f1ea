"""Distances from equal starts: known distances, known laws of growth, and intervals that cover."""

import numpy as np
import pytest

from toolnoise.analyses.growth import metric as growth
from toolnoise.analyses.growth.metric import Course
from toolnoise.training.recorded_steps import schedule

STEPS = np.array(schedule(800))


def of_distances(distances, churn=0.0):
    """The course of a start with these distances after steps 1, 2, 4, ..."""
    found = np.array([0.0, *distances])
    return Course(STEPS, {**dict.fromkeys(growth.DISTANCES, found), "churn": np.full(len(STEPS), churn)})


def by_name(rows):
    return {name: (estimate, count) for name, estimate, count in rows}


def recorded(*weights, logits=((0.0, 1.0), (1.0, 0.0))):
    return {step: {"a": np.array(one), "logits": np.array(logits)} for step, one in enumerate(weights)}


def test_a_run_and_itself_are_apart_by_exactly_0():
    run = recorded([1.0, 2.0], [0.5, 3.0])
    for values in growth.course(run, run, ["a"]).distances.values():
        assert values.tolist() == [0.0, 0.0]


def test_ways_at_a_right_angle_are_the_root_of_two_apart_however_near_the_weights_are():
    start = [1000.0, 0.0, 0.0]
    one, other = recorded(start, [1000.0, 1.0, 0.0]), recorded(start, [1000.0, 0.0, 1.0])
    found = growth.course(one, other, ["a"]).distances
    assert found["movement"].tolist() == [0.0, pytest.approx(np.sqrt(2))]
    assert found["l2_unit"][1] == pytest.approx(np.sqrt(2) / 1000, rel=1e-5)


def test_churn_is_over_the_recorded_examples():
    one, other = recorded([1.0]), recorded([1.0], logits=((0.0, 1.0), (0.0, 1.0)))
    assert growth.course(one, other, ["a"]).distances["churn"].tolist() == [0.5]


@pytest.mark.parametrize("rate", [-0.5, 0.5, 1.0, 2.0])
def test_a_power_of_the_steps_is_found_with_its_rate_and_without_misfit(rate):
    found = growth.fit(of_distances(1e-8 * STEPS[1:] ** rate))
    assert found["rate"] == pytest.approx(rate)
    assert found["rate_last"] == pytest.approx(rate)
    assert found["misfit"] == pytest.approx(0, abs=1e-9)
    assert found["misfit_exponential"] > 0.3
    assert found["first"] == pytest.approx(1e-8)


def test_an_exponential_of_the_steps_is_found_with_its_rate_and_without_misfit():
    found = growth.fit(of_distances(1e-8 * 2.0 ** (STEPS[1:] / 50)))
    assert found["rate_exponential"] == pytest.approx(2)
    assert found["misfit_exponential"] == pytest.approx(0, abs=1e-9)
    assert found["misfit"] > 0.3


def test_a_leap_and_an_end_that_no_longer_grows_are_told():
    found = growth.fit(of_distances(np.where(STEPS[1:] < 64, 1e-6, 1e-6 * 2**16)))
    assert (found["jump"], found["rate_last"], found["grown"]) == (pytest.approx(16), 0, 1)
    assert found["grown_last"] == pytest.approx(1e-6 * 2**16)


def test_runs_that_never_part_have_no_rate_and_count_as_not_grown():
    found = growth.fit(of_distances(np.zeros(len(STEPS) - 1)))
    assert np.isnan([found["rate"], found["first"], found["l2_unit_last"], found["grown_last"]]).all()
    assert (found["grown"], found["churn_last"]) == (0, 0)


def test_a_moved_bit_that_no_gradient_reaches_has_not_parted():
    moved = of_distances(np.full(len(STEPS) - 1, 1e-9))
    still = Course(moved.steps, moved.distances | dict.fromkeys(("movement", "logits"), np.zeros(len(STEPS))))
    rows = [row for row in growth.levels([still, still], 100) if row[0] == 800]
    found = {name: (estimate.value, count) for _, name, estimate, count in rows}
    assert found == {
        "parted": (0, 2),
        **dict.fromkeys(growth.DISTANCES, (0, 0)),
        "churn": (0, 2),
    }


def test_distances_are_geometric_means_over_the_starts_that_part():
    some = [of_distances(np.full(len(STEPS) - 1, distance)) for distance in (1e-6, 1e-2, 0)]
    rows = {name: (estimate, count) for step, name, estimate, count in growth.levels(some, 100) if step == 1}
    assert rows["parted"][0].value == pytest.approx(2 / 3)
    assert rows["l2_unit"][0].value == pytest.approx(1e-4)
    assert rows["l2_unit"][1] == 2
    assert rows["l2_unit"][0].high <= 2


def test_the_interval_of_a_rate_covers_it_in_95_of_100_studies():
    random = np.random.default_rng(1)
    studies, starts, rate = 1000, 6, 0.8
    hits = 0
    for _ in range(studies):
        noise = random.normal(0, 0.5, (starts, 1)) * np.log2(STEPS[1:]) + random.normal(0, 1, (starts, len(STEPS) - 1))
        of_starts = [growth.fit(of_distances(1e-8 * STEPS[1:] ** rate * 2**one)) for one in noise]
        found = by_name(growth.fits(of_starts, 500))["rate"][0]
        hits += found.low <= rate <= found.high
    assert 0.93 < hits / studies < 0.97


def test_beside_the_toolings_start_by_start_what_starts_share_cancels():
    random = np.random.default_rng(2)
    starts = {(number,): scale for number, scale in enumerate(10 ** random.normal(-4, 2, 5))}
    mine, other = (
        {start: growth.fit(of_distances(times * scale * STEPS[1:] ** 0.5)) for start, scale in starts.items()}
        for times in (3.0, 1.0)
    )
    found = by_name(growth.beside(mine, [other, other], 500))
    assert found["first_over_toolings"][0] == pytest.approx((3, 3, 3))
    assert found["rate_minus_toolings"][0].value == pytest.approx(0, abs=1e-9)
    assert found["first_over_toolings"][1] == 5


def test_starts_that_all_agree_leave_a_share_uncertain():
    same = {(number,): growth.fit(of_distances(np.full(len(STEPS) - 1, 0.3))) for number in range(4)}
    found = by_name(growth.beside(same, [same], 500))["grown_minus_toolings"][0]
    assert found.value == 0
    assert found.low < -0.5
    assert found.high > 0.5


def test_one_start_has_no_interval_and_no_tooling_no_comparison():
    alone = {(1,): growth.fit(of_distances(1e-8 * STEPS[1:]))}
    assert np.isnan(by_name(growth.fits(list(alone.values()), 500))["rate"][0].low)
    assert by_name(growth.beside(alone, [], 500))["rate_minus_toolings"][1] == 0


def test_the_mean_of_several_runs_of_a_start_is_over_its_runs():
    one, other = (of_distances(np.full(len(STEPS) - 1, distance)) for distance in (0.1, 0.3))
    assert growth.mean_course([one, other]).distances["logits"][1:].tolist() == pytest.approx([0.2] * 11)
