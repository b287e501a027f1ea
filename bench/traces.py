"""Does a trace find the planted first cause, and leave clean programs alone? How much longer does a recorded run take?

    python bench/traces.py [NAME ...]

Prints a row for each program of traced_programs.py, the score, and for programs of some seconds the ratio of times.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import traced_programs

from toolnoise.base.printing import aligned
from toolnoise.checking import launch, unmodified
from toolnoise.checking.trace import traced_runs
from toolnoise.checking.trial_runs import TrialRuns

LIMIT = 600
# Some seconds of training after the imports; it prints how much CPU time they took.
LONG = """
import time
import torch
torch.set_num_threads(1)
torch.manual_seed(1)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
    torch.nn.Linear(16 * 225, 10))
optimizer = torch.optim.SGD(net.parameters(), 0.01)
images, labels = torch.rand(64, 3, 32, 32), torch.arange(64) % 10
start = time.process_time()
for step in range({steps}):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(images), labels).backward()
    optimizer.step()
print(time.process_time() - start)
"""


def located(planted):
    """Where two runs of a program part, and whether that is the planted place."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        traced_programs.prepare(planted, folder)
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder / "path")
        wanted = unmodified.wanted(["preds.npy"], [])
        found = traced_runs.locate(TrialRuns([sys.executable, "train.py"], LIMIT, wanted, folder / "runs"))
        os.chdir("/")
    if not planted.operation:
        return found, found.index is None and found.equal_results
    return found, found.name == planted.operation and found.first == ("train.py", planted.line)


def overhead(steps, recorded):
    """Seconds of CPU that a small network's training takes, and seconds of the whole program."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(LONG.format(steps=steps))
        traced_runs.install(folder / "recorder")
        variables = traced_runs.variables(folder / "recorder", folder / "trace.jsonl") if recorded else {}
        started = time.perf_counter()
        launch.run([sys.executable, "train.py"], variables, folder / "log", folder, LIMIT)
        return float((folder / "log").read_text().split()[-1]), time.perf_counter() - started


def main():
    """Print the score, and the ratio of times."""
    asked = sys.argv[1:]
    for programs, what in (
        (traced_programs.PLANTED, "planted causes found"),
        (traced_programs.CLEAN, "clean programs"),
    ):
        rows = []
        for name, planted in programs.items():
            if asked and name not in asked:
                continue
            found, is_right = located(planted)
            at = f"{found.name} at {found.file}:{found.line}" if found.name else found.says
            rows.append((name, "right" if is_right else "WRONG", at, ":".join(map(str, found.first))))
            print(f"{name}: {rows[-1][1]}", file=sys.stderr, flush=True)
            if not is_right:
                print("\n".join(traced_runs.as_text(found)), file=sys.stderr, flush=True)
        if rows:
            print("\n".join(aligned([("program", "", "operation", "first cause"), *rows])))
            print(f"{what}: {sum(row[1] == 'right' for row in rows)} of {len(rows)}\n", flush=True)
    if not asked or "overhead" in asked:
        pairs = [(overhead(100, False), overhead(100, True)) for _ in range(3)]
        for number, part in enumerate(("training", "whole program")):
            ratio = statistics.median(recorded[number] / plain[number] for plain, recorded in pairs)
            print(f"{part}: a recorded run takes {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
