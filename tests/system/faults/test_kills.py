"""A training or a workflow that is killed at any point ends with the same bits, and the audit finds nothing."""

import os
import pty
import re
import select
import shlex
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest
import workflow_signals
from conftest import bits, run_folder

# A training that is killed at any operation on files


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


def test_a_training_that_is_killed_anywhere_ends_with_the_same_bits(trained, place, record_property):
    wanted = bits(place, 1)
    for seed, (number, (killed, again)) in enumerate(trained[1].items(), 3):
        assert (number, killed.code) == (number, -signal.SIGKILL)
        assert (number, again.code) == (number, 0), again.said
        assert bits(place, seed) == wanted, number
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


def test_killed_trainings_leave_nothing_that_an_audit_finds(trained, place, findings):
    assert trained
    assert findings(place, complete=False) == []


# A sample of the signals: every process, phase and signal is in it


def sample(points):
    """Few points that have all signals, processes and phases between them.

    The next one has most of what is wanted, and of these the one whose names were chosen least.
    """
    wanted, chosen, times = {name for point in points for name in point}, [], Counter()
    while wanted:
        best = max(points, key=lambda point: (len(wanted & {*point}), -sum(times[name] for name in point)))
        chosen.append(best)
        times.update(best)
        wanted -= {*best}
    return chosen


SAMPLE = sample(workflow_signals.points())


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The study, undisturbed."""
    return workflow_signals.made(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(scope="module")
def outcomes(base, tmp_path_factory):
    """How the workflow of each point ended."""
    return dict(workflow_signals.outcomes(SAMPLE, base, tmp_path_factory.mktemp("signals"), at_once=2))


def test_the_sample_has_every_signal_process_and_phase():
    columns = (workflow_signals.SIGNALS, workflow_signals.PROCESSES, workflow_signals.PHASES)
    assert [{*column} for column in zip(*SAMPLE, strict=True)] == [{*column} for column in columns]


@pytest.mark.parametrize("point", SAMPLE, ids=str)
def test_after_a_signal_a_study_has_the_bits_of_an_undisturbed_one_and_nothing_is_left(point, outcomes):
    if outcomes[point] == workflow_signals.MISSED:
        pytest.skip("the process had ended before its signal, each time")
    assert outcomes[point] in (workflow_signals.ON, workflow_signals.AGAIN)


@pytest.fixture
def lose_terminal(until):
    """Type a command in a shell on a terminal, and close the terminal once the first training runs."""

    def lose(words, folder):
        terminal, other = pty.openpty()
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), other)
        # The shell makes this terminal its own, as a login does.
        shell = workflow_signals.started(folder, ["setsid", "--ctty", "--wait", "bash", "--norc", "-i"], **streams)
        os.close(other)
        os.write(terminal, f"{shlex.join(words)}\n".encode())

        def runs():
            while select.select([terminal], [], [], 0)[0]:
                os.read(terminal, 4096)
            return workflow_signals.has_begun("run", folder, 0)

        until(runs)
        os.close(terminal)
        shell.wait()

    return lose


@pytest.mark.parametrize("process", ["toolnoise run", "snakemake"])
def test_a_terminal_that_is_lost_ends_a_workflow_in_order(process, base, lose_terminal, until, tmp_path):
    folder = tmp_path / "study"
    workflow_signals.copy(base, folder, "run")
    lose_terminal(workflow_signals.command(process), folder)
    until(lambda: not workflow_signals.here(folder))
    assert workflow_signals.left_behind(folder) == []
    assert workflow_signals.end(folder, workflow_signals.started(folder, workflow_signals.command(process))) == 0
    workflow_signals.require_whole(base, folder)
