"""Two observed runs are compared: which calls are roots of a difference, and which only hand it on."""

from toolnoise.checking import first_difference
from toolnoise.checking.first_difference import Event, Observed, fixed_seedings


def event(time, place, out=0, *, inputs=0, owner=0, turn=1, name="f", thread="", process="main", **more):
    marks = more.pop("marks", ())
    before, drawn = more.pop("before", {}), more.pop("drawn", {})
    place = f"train.py:{place}:0"
    return Event(
        process, time, time - 0.5, place, turn, thread, name, owner, inputs, out, before, drawn, more.get("number", 0),
        "", (), marks,
    )  # fmt: skip


def observed(*events, arguments=0):
    return Observed(None, list(events), {}, {"main": arguments})


def roots(one, other):
    return [(root.kind, root.at[1]) for root in first_difference.roots(observed(*one), observed(*other))]


def test_turns_of_which_some_are_recorded_are_compared_each_with_its_own():
    one = [event(1, 3, out=40, turn=40), event(2, 3, out=64, turn=64)]
    other = [event(1, 3, out=64, turn=64)]
    assert roots(one, other) == []


def test_a_seeding_with_what_differs_is_no_root_nor_are_draws_after_it():
    def run(seed):
        return [
            event(1, 2, out=seed, name="time.time"),
            event(2, 3, inputs=seed, name="random.Random.seed", drawn={"random": [seed + 100, seed]}),
            event(3, 4, out=seed, drawn={"random": [seed, seed + 1]}),
        ]

    assert roots(run(1), run(2)) == [("result", 2)]


def test_an_estimator_is_named_where_it_was_made():
    def run(state):
        return [
            event(1, 2, out=9, name="sklearn.ensemble.RandomForest", before={"numpy.random": state}),
            event(2, 5, owner=9, name="sklearn.ensemble.RandomForest.fit", drawn={"numpy.random": [state, state + 1]}),
        ]

    assert roots(run(10), run(20)) == [("generator", 2)]


def test_arguments_that_a_shell_gives_are_no_root_of_the_program():
    one, other = (observed(event(1, 3, out=seed, name="argparse.ArgumentParser.parse_args"), arguments=seed)
                  for seed in (1, 2))  # fmt: skip
    assert first_difference.roots(one, other) == []


def test_what_threads_do_to_one_object_in_another_order_is_found_and_what_each_does_to_its_own_is_not():
    def run(*threads):
        return observed(
            *(
                event(time, 3, inputs=int(thread), thread=thread, number=5, name="list.append")
                for time, thread in enumerate(threads)
            )
        )

    (root,) = first_difference.orders(run("1", "2", "3"), run("2", "1", "3"))
    assert (root.at[1], root.apart) == (3, True)
    assert first_difference.orders(run("1", "2"), run("1", "2")) == []


def test_the_seeding_before_the_first_equal_draw_comes_first():
    def run(seed):
        return observed(
            event(1, 2, inputs=seed, name="f"),
            event(2, 3, out=11, name="numpy.random.default_rng"),
            event(3, 4, owner=11, out=1, name="numpy.random.Generator.normal"),
            event(4, 5, out=12, name="numpy.random.default_rng"),
            event(5, 6, out=3, marks=("seed",), name="sklearn.model_selection.train_test_split"),
        )

    assert [each.place.split(":")[1] for each in fixed_seedings(run(1), run(2))] == ["3", "5", "6"]


def test_a_generator_that_threads_share_is_named_if_they_come_to_it_in_another_order():
    def run(*threads):
        return [
            event(time, 3 if thread == "MainThread" else 8, thread=thread, drawn={"torch": [time, time + 1]})
            for time, thread in enumerate(threads, 1)
        ]

    def shared(one, other):
        found = first_difference.shared_generators(observed(*one), observed(*other))
        return [(root.kind, root.at[1]) for root in found]

    one = run("MainThread", "Thread-1", "MainThread")
    assert shared(one, run("Thread-1", "MainThread", "MainThread")) == [("order", 8)]
    assert shared(one, one) == []
    assert shared(run("Thread-1", "Thread-1"), run("Thread-1")) == []
