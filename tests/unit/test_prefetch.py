import threading

import pytest

from toolnoise.base.prefetch import ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_results_come_in_order(threads, count):
    assert list(ahead(lambda item: item * item, range(count), threads)) == [item * item for item in range(count)]


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_than_one_result_a_thread_is_made_ahead(threads):
    started = []
    results = ahead(lambda item: started.append(item) or item, range(100), threads)
    for used in range(50):
        assert next(results) == used
        assert len(started) <= used + 1 + threads


def test_the_next_result_is_made_while_the_last_one_is_used():
    made = threading.Event()
    results = ahead(lambda item: made.set() if item else item, range(2))
    next(results)
    assert made.wait(30)


def test_an_error_is_raised_where_its_result_would_be():
    def divided(item):
        return 6 // item

    results = ahead(divided, [1, 2, 0, 3], 2)
    assert [next(results), next(results)] == [6, 3]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_what_nobody_asks_for_any_more_is_not_made():
    started, threads = [], threading.active_count()
    results = ahead(started.append, range(1000), 2)
    next(results)
    results.close()
    assert len(started) <= 3
    assert threading.active_count() == threads


def test_a_thread_of_the_pool_may_be_the_one_that_ends_it():
    ended, left = threading.Event(), threading.Event()

    def made(item):
        # As the garbage collector may, whichever thread it happens to run in.
        if item == 1 and left.wait(30):
            results.close()
            ended.set()
        return item

    results = ahead(made, range(1000))
    assert next(results) == 0
    left.set()
    assert ended.wait(30)
    assert list(results) == []
