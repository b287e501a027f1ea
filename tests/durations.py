"""Where the suite's time goes: tests/durations.txt has the seconds of every test file.

    make durations

It is a plugin of pytest, loaded by that command alone. The seconds of a file include what its tests start, and what a
shared fixture makes for the first file that asks for it. The calibration is a fixed loop on this machine: quote ratios
to it, since machines differ.
"""

import resource
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).with_name("durations.txt")


def processor_seconds():
    """User and system seconds of this process and of the children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def calibration():
    """The seconds of a fixed loop: half of it Python, half of it NumPy on one core."""
    started = time.perf_counter()
    sum(number % 7 for number in range(10_000_000))
    values = np.arange(4_000_000, dtype=np.float64)
    for _ in range(20):
        values = np.sqrt(values + 1)
    return time.perf_counter() - started


class Durations:
    """Adds up the seconds of each test file, on each worker; the main process writes the sums."""

    def __init__(self):
        self.clock, self.processor, self.tests = Counter(), Counter(), Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        started, before = time.perf_counter(), processor_seconds()
        result = yield
        name = item.path.relative_to(Path(__file__).parent).as_posix()
        self.clock[name] += time.perf_counter() - started
        self.processor[name] += processor_seconds() - before
        self.tests[name] += 1
        return result

    def pytest_testnodedown(self, node):
        for ours, theirs in zip(self.counters(), node.workeroutput["durations"], strict=True):
            ours.update(theirs)

    def pytest_sessionfinish(self, session):
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["durations"] = [dict(counter) for counter in self.counters()]
        else:
            FILE.write_text(self.table())

    def counters(self):
        return self.clock, self.processor, self.tests

    def table(self):
        """The table, the slowest files first."""
        rows = [(self.processor[name], self.clock[name], self.tests[name], name) for name in self.tests]
        lines = [f"{'processor s':>11}  {'clock s':>8}  {'tests':>6}  file (`make durations`)"]
        total = self.processor.total(), self.clock.total(), self.tests.total(), "all"
        for processor, clock, tests, name in (total, *sorted(rows, reverse=True)):
            lines.append(f"{processor:11.1f}  {clock:8.1f}  {tests:6}  {name}")
        lines.append(f"{calibration():11.2f}  calibration: a fixed loop on this machine, once the tests had ended")
        return "\n".join(lines) + "\n"


def pytest_configure(config):
    config.pluginmanager.register(Durations(), "toolnoise-durations")
