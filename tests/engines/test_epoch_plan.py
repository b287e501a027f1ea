import numpy as np
import pytest

from toolnoise.base.spec import Spec
from toolnoise.epoch_plan import learning_rates, plan_epoch

EXAMPLES = 50


@pytest.fixture
def spec(make_spec):
    """Of a run in which everything varies, in batches of 8, with crops by up to 2 pixels and flips."""
    return make_spec("algo_impl", 1)


def with_recipe(spec, **changes):
    return Spec.read(spec.json | {"recipe": spec.recipe | changes})


def rates(epoch, steps=4, **recipe):
    defaults = {
        "epochs": 10,
        "learning_rate": 0.8,
        "schedule": "constant",
        "step_epochs": 3,
        "step_factor": 0.5,
        "cycles": 1,
    }
    found = learning_rates(defaults | {"warmup_epochs": 0} | recipe, steps, epoch)
    assert found.dtype == np.float32
    return found.tolist()


def close(*values):
    return pytest.approx(values, rel=1e-6)


def test_a_constant_rate_stays():
    assert rates(0) == rates(9) == close(0.8, 0.8, 0.8, 0.8)


@pytest.mark.parametrize(("epoch", "rate"), [(0, 0.8), (2, 0.8), (3, 0.4), (5, 0.4), (6, 0.2), (9, 0.1)])
def test_steps_come_after_whole_epochs(epoch, rate):
    assert rates(epoch, schedule="step") == close(*[rate] * 4)


@pytest.mark.parametrize(("epoch", "rate"), [(0, 0.8), (4, 0.8), (5, 0.4), (6, 0.4), (7, 0.2), (99, 0.2)])
def test_steps_come_after_the_epochs_of_a_list_and_no_more(epoch, rate):
    assert rates(epoch, schedule="step", step_epochs=[5, 7], epochs=100) == close(*[rate] * 4)


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        # cos(pi * progress / 2 epochs) at progress 0, 1/3, 2/3 and at 1, 4/3, 5/3.
        (0, [0.8, 0.4 * (1 + np.sqrt(3) / 2), 0.4 * 1.5]),
        (1, [0.4, 0.4 * 0.5, 0.4 * (1 - np.sqrt(3) / 2)]),
    ],
)
def test_a_cosine_falls_from_the_highest_rate_towards_zero(epoch, expected):
    assert rates(epoch, 3, epochs=2, schedule="cosine") == close(*expected)


def test_each_cycle_is_a_whole_training_of_its_length_with_its_own_warm_up():
    recipe = {"schedule": "cosine", "warmup_epochs": 1.5}
    alone = [rates(epoch, epochs=4, **recipe) for epoch in range(4)]
    assert [rates(epoch, epochs=12, cycles=3, **recipe) for epoch in range(12)] == 3 * alone
    assert alone[0] < alone[1]
    assert alone[3][-1] < 0.02


@pytest.mark.parametrize(
    ("warmup", "epoch", "expected"),
    [
        (2, 0, [0.1, 0.2, 0.3, 0.4]),
        (2, 1, [0.5, 0.6, 0.7, 0.8]),
        (2, 2, [0.8, 0.8, 0.8, 0.8]),
        (0.5, 0, [0.4, 0.8, 0.8, 0.8]),
    ],
)
def test_warm_up_is_a_straight_line_that_ends_at_the_rate(warmup, epoch, expected):
    assert rates(epoch, warmup_epochs=warmup) == close(*expected)


def test_a_plain_warm_up_begins_at_zero_and_the_schedule_after_it():
    recipe = {"epochs": 4, "schedule": "cosine", "warmup": "plain", "warmup_epochs": 1.5}
    assert rates(0, **recipe) == close(0.0, 0.8 / 6, 0.8 / 3, 0.4)
    # At 1.5 epochs the line ends; then half the cosine of the whole way.
    expected = [0.8 / 1.5, 0.8 * 1.25 / 1.5, 0.8, 0.4 * (1 + np.cos(np.pi * 1.75 / 4))]
    assert rates(1, **recipe) == close(*expected)


def test_the_last_incomplete_batch_is_left_out_and_each_epoch_leaves_out_others(spec):
    plans = [plan_epoch(spec, EXAMPLES, epoch) for epoch in (0, 1)]
    for plan in plans:
        assert plan.order.shape == plan.flips.shape == plan.slots.shape == plan.offsets.shape[:2] == (6, 8)
        assert plan.rates.shape == (6,)
        assert len(set(plan.order.ravel())) == 48
        assert set(plan.order.ravel()) < set(range(EXAMPLES))
    assert set(plans[0].order.ravel()) != set(plans[1].order.ravel())


def test_an_incomplete_batch_that_is_kept_trains_the_examples_that_would_be_left_out(spec):
    left, kept = (plan_epoch(with_recipe(spec, **keys), EXAMPLES, 1) for keys in ({}, {"last_batch": "kept"}))
    assert (left.rest, [part.order.shape for part in kept.parts()]) == (None, [(6, 8), (1, 2)])
    for name in ("order", "offsets", "flips", "slots"):
        assert (getattr(left, name) == getattr(kept, name)).all()
        assert getattr(kept.rest, name).shape[:2] == (1, 2)
    assert {*left.order.ravel(), *kept.rest.order.ravel()} == set(range(EXAMPLES))
    assert sorted(kept.rest.slots.ravel()) == [0, 1]
    # The rates are those of seven steps.
    seven = learning_rates(with_recipe(spec).recipe, 7, 1)
    assert [*kept.rates, *kept.rest.rates] == [*seven]
    assert kept.digest() != left.digest()
    assert kept.steps(0, 6).rest is None


def as_planned(plans):
    """Every example with its crop and its flip, in the order before the noise permutes batches."""
    for part in (part for plan in plans for part in plan.parts()):
        for order, offsets, flips, slots in zip(part.order, part.offsets, part.flips, part.slots, strict=True):
            for place in np.argsort(slots):
                yield int(order[place]), *offsets[place].tolist(), bool(flips[place])


def test_repeated_data_fill_the_last_batch_with_the_next_pass_which_goes_on_from_there(spec):
    """As the code of Zhuang et al. repeats before it takes batches: no example is left out or comes early."""
    kept, repeated = (with_recipe(spec, last_batch=way) for way in ("kept", "repeated"))
    passes = [plan_epoch(kept, EXAMPLES, number) for number in range(4)]
    epochs = [plan_epoch(repeated, EXAMPLES, epoch) for epoch in range(3)]
    assert {(plan.order.shape, plan.rest) for plan in epochs} == {((7, 8), None)}
    assert [*as_planned(epochs)] == [*as_planned(passes)][: 3 * 7 * 8]
    assert [*epochs[1].rates] == [*learning_rates(repeated.recipe, 7, 1)]


def test_a_batch_larger_than_the_set_is_one_line(spec, refused):
    line = refused(plan_epoch, with_recipe(spec, batch_size=51), EXAMPLES, 0)
    assert line == "recipe digits: batch_size: found 51; at most the 50 training examples"


def test_crops_reach_every_offset_that_leaves_the_padded_image_covered_and_no_other(spec):
    offsets = plan_epoch(spec, 1000, 0).offsets
    assert [set(offsets[..., axis].ravel().tolist()) for axis in (0, 1)] == [{0, 1, 2, 3, 4}] * 2


def test_half_the_images_are_mirrored_if_asked_and_none_else(spec):
    flips = plan_epoch(spec, 1000, 0).flips
    assert abs(flips.mean() - 0.5) < 5 * np.sqrt(0.25 / flips.size)
    assert not plan_epoch(with_recipe(spec, flip=False), 1000, 0).flips.any()


@pytest.mark.parametrize("part", ["order", "offsets", "flips", "slots", "dropout"])
def test_a_digest_tells_every_draw_apart(spec, part):
    plan = plan_epoch(with_recipe(spec, crop=2, flip=True), EXAMPLES, 0)
    values = getattr(plan, part).copy()
    values.flat[-1] = not values.flat[-1] if values.dtype == bool else values.flat[-1] + 1
    assert plan.digest() == plan_epoch(with_recipe(spec, crop=2, flip=True), EXAMPLES, 0).digest()
    assert plan.digest() != plan._replace(**{part: values}).digest()


def test_learning_rates_are_no_draws(spec):
    slower = with_recipe(spec, learning_rate=spec.recipe["learning_rate"] / 2)
    assert plan_epoch(spec, EXAMPLES, 0).digest() == plan_epoch(slower, EXAMPLES, 0).digest()
