"""A training that is killed at any operation on files ends with the same bits, and the audit finds nothing."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from conftest import bits, run_folder

KILLS = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory, prepared):
    """The study, with its data prepared."""
    return shutil.copytree(prepared, tmp_path_factory.mktemp("kills"), dirs_exist_ok=True)


@pytest.fixture(scope="module")
def driver(place, drive):
    return drive(place)


@pytest.fixture(scope="module")
def trained(driver, planned, drawn):
    """A training for each kill, killed and made again, two at a time; and the operations of undisturbed ones."""
    undisturbed = [driver.do(planned["train", str(seed)]) for seed in (1, 2)]
    assert [one.code for one in undisturbed] == [0, 0], undisturbed
    at = drawn(len(undisturbed[1].done), KILLS)
    cases = [(planned["train", str(seed)], number) for seed, number in enumerate(at, 3)]
    ended = {}
    for start in range(0, len(cases), 2):
        pair = cases[start : start + 2]
        killed = driver.perform(*((argv, {"fault": "kill", "at": number}) for argv, number in pair))
        again = driver.perform(*((argv, {}) for argv, _ in pair))
        ended |= {number: both for (_, number), *both in zip(pair, killed, again, strict=True)}
    return undisturbed, ended


def test_each_rename_and_each_new_folder_is_synced(trained):
    for one in trained[0]:
        # The file before it is renamed, and its folder afterwards; the folder that a new folder lies in.
        assert one.done.count("s") == 2 * one.done.count("r") + one.done.count("m")
        assert not re.search(r"[^s]r|r[^s]|m[^s]", one.done)


def test_a_training_that_is_killed_anywhere_ends_with_the_same_bits(trained, place, findings, record_property):
    wanted = bits(place, 1)
    for seed, (number, (killed, again)) in enumerate(trained[1].items(), 3):
        assert (number, killed.code) == (number, -signal.SIGKILL)
        assert (number, again.code) == (number, 0), again.said
        assert bits(place, seed) == wanted, number
    assert findings(place, complete=False) == []
    record_property("kills survived, bit-equal", len(trained[1]))


def test_two_verbs_on_one_output_make_it_once(trained, planned, driver, place):
    argv = planned["train", str(3 + len(trained[1]))]
    ended = driver.perform((argv, {}), (argv, {}))
    assert sorted(one.code for one in ended) in ([0, 0], [0, 2])
    for one in ended:
        assert one.code == 0 or "another process is making it" in one.said
    assert bits(place, 3 + len(trained[1])) == bits(place, 1)


@pytest.mark.parametrize(("what", "make"), [("a folder", Path.mkdir), ("a pipe or a device", os.mkfifo)])
def test_what_is_in_the_way_is_found_before_a_training_starts(what, make, trained, planned, driver, place):
    seed = 4 + len(trained[1])
    record = run_folder(place, seed) / "run.json"
    record.parent.mkdir()
    make(record)
    ended = driver.do(planned["train", str(seed)])
    assert (ended.code, ended.said) == (
        2,
        f"toolnoise: {record.relative_to(place)}: {what} is in the way; a file, or nothing\n",
    )
    assert [path.name for path in record.parent.iterdir()] == ["run.json"]
    shutil.rmtree(record.parent)
