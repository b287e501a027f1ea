"""A sample of the signals of bench/fault_sweep.py: every process, phase and signal is in it."""

import importlib.util
import os
import pty
import select
import shlex

import pytest
from conftest import ROOT

spec = importlib.util.spec_from_file_location("fault_sweep", ROOT / "bench/fault_sweep.py")
fault_sweep = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fault_sweep)
# Neither processes nor signals repeat after so many points.
EACH = 11
POINTS = fault_sweep.points()[::EACH][:20]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The study, undisturbed."""
    return fault_sweep.made(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(scope="module")
def outcomes(base, tmp_path_factory):
    """How the workflow of each point ended."""
    return dict(fault_sweep.outcomes(POINTS, base, tmp_path_factory.mktemp("signals"), at_once=2))


def test_the_sample_has_every_signal_process_and_phase():
    columns = (fault_sweep.SIGNALS, fault_sweep.PROCESSES, fault_sweep.PHASES)
    assert [{*column} for column in zip(*POINTS, strict=True)] == [{*column} for column in columns]


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_after_a_signal_a_study_has_the_bits_of_an_undisturbed_one_and_nothing_is_left(point, outcomes):
    if outcomes[point] == fault_sweep.MISSED:
        pytest.skip("the process had ended before its signal, each time")
    assert outcomes[point] in (fault_sweep.ON, fault_sweep.AGAIN)


@pytest.fixture
def lose_terminal(until):
    """Type a command in a shell on a terminal, and close the terminal once the first training runs."""

    def lose(words, folder):
        terminal, other = pty.openpty()
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), other)
        # The shell makes this terminal its own, as a login does.
        shell = fault_sweep.started(folder, ["setsid", "--ctty", "--wait", "bash", "--norc", "-i"], **streams)
        os.close(other)
        os.write(terminal, f"{shlex.join(words)}\n".encode())

        def runs():
            while select.select([terminal], [], [], 0)[0]:
                os.read(terminal, 4096)
            return fault_sweep.has_begun("run", folder, 0)

        until(runs)
        os.close(terminal)
        shell.wait()

    return lose


@pytest.mark.parametrize("process", ["toolnoise run", "snakemake"])
def test_a_terminal_that_is_lost_ends_a_workflow_in_order(process, base, lose_terminal, until, tmp_path):
    folder = tmp_path / "study"
    fault_sweep.copy(base, folder, "run")
    lose_terminal(fault_sweep.command(process), folder)
    until(lambda: not fault_sweep.here(folder))
    assert fault_sweep.left_behind(folder) == []
    assert fault_sweep.end(folder, fault_sweep.started(folder, fault_sweep.command(process))) == 0
    fault_sweep.require_whole(base, folder)
