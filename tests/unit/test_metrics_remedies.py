"""The score that Summers & Dinneen report without a formula, against their own table."""

import pytest

from toolnoise import published
from toolnoise.metrics.remedies import MEASURES, variability_reduction

NUMBERS = published.read(published.REMEDIES)


def table(item):
    """The measures of each remedy of a table, and the reductions that were published for it."""
    found = {}
    for one in NUMBERS:
        table, _, remedy = one.item.partition("/")
        if table == item:
            found.setdefault(remedy, {})[one.metric] = one.amount
    return found


def test_every_number_says_where_it_was_read_and_stands_once():
    assert len({(one.item, one.metric) for one in NUMBERS}) == len(NUMBERS) == 2 * 9 * 5 + 8
    assert {one.evidence for one in NUMBERS} == {"R"}
    assert all(one.source.startswith("doi:10.5281/zenodo.6574623") for one in NUMBERS)


def test_the_score_gives_all_eight_published_values():
    remedies = table("remedies")
    single = remedies.pop("single")
    found = [round(100 * variability_reduction(single, remedied)) for remedied in remedies.values()]
    assert found == [48, 21, 16, 21, 33, 37, 58, 61]
    assert found == [round(100 * remedied["variability_reduction"]) for remedied in remedies.values()]


def test_correlation_itself_in_its_place_gives_the_values_that_the_replication_could_not_explain():
    remedies = table("remedies")
    single = remedies.pop("single")
    found = [sum(abs(1 - remedied[name] / single[name]) for name in MEASURES) / 5 for remedied in remedies.values()]
    assert [round(100 * value) for value in found] == [37, 17, 13, 17, 26, 30, 46, 48]


def test_nothing_changed_is_no_reduction_and_equal_runs_are_all_of_it():
    single = table("remedies-replicated")["single"]
    assert variability_reduction(single, single) == 0
    assert variability_reduction(single, dict.fromkeys(MEASURES, 0.0) | {"correlation": 1.0}) == pytest.approx(1)
