"""`toolnoise check` of programs: the planted cause is named first, clean ones pass, and so it is with `--world`."""

import json
import sys
import textwrap

import pytest
import traced_programs

pytestmark = pytest.mark.long

# Each writes preds.npy. The line that ends with "# here" is the fault's. Further ones are in test_check.py and in
# test_observed_programs.py.
DIFFERENT = {
    "numpy: option": """
        import sys
        import numpy as np
        if '--seed' in sys.argv:
            np.random.seed(1)
        x = np.random.normal(size=9)  # here
        np.save('preds.npy', x)
    """,
    "sklearn": """
        import numpy as np
        from sklearn.model_selection import train_test_split
        x, _ = train_test_split(np.arange(99))  # here
        np.save('preds.npy', x)
    """,
    "speed": """
        import time
        import numpy as np
        def seconds(size):
            start = time.perf_counter()  # here
            np.ones(1000 + size).sum()
            return time.perf_counter() - start
        taken = [seconds(size) for size in range(99)]
        np.save('preds.npy', np.argsort(taken))
    """,
    "memory": """
        import numpy as np
        names = np.array([f'{number}.png' for number in range(320)], dtype=object)
        del names
        x = np.empty(640, 'int32')  # here
        np.save('preds.npy', x)
    """,
    "time": """
        import time
        import numpy as np
        np.random.seed(1)
        x = np.random.normal(size=9) + time.time()  # here
        np.save('preds.npy', x)
    """,
    "time: input": """
        import torch
        torch.manual_seed(1)
        layer = torch.nn.Linear(4, 2)
        import time
        x = torch.full((3, 4), time.time() % 1)  # here
        import numpy as np
        np.save('preds.npy', layer(x).detach().numpy())
    """,
    "set: attribute": """
        import numpy as np
        class Columns:
            def __init__(self):
                self.names = set()
            def read(self, rows):
                for row in rows:
                    self.names.update(row.split())
                return self.names
        names = list(Columns().read(['a few words', 'in no certain order']))  # here
        np.save('preds.npy', [len(name) + ord(name[0]) for name in names])
    """,
    "shared": """
        import threading
        import numpy as np
        rng, out = np.random.default_rng(1), np.zeros((4, 90000))
        def work(row):
            for column in range(90000):
                out[row, column] = rng.normal()  # here
        threads = [threading.Thread(target=work, args=(row,)) for row in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        np.save('preds.npy', out)
    """,
    "race": """
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        order = []
        def work(part):
            value = np.random.default_rng(part).normal(size=20000 + 9000 * (part % 7)).sum()
            order.append(value)  # here
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(400)))
        np.save('preds.npy', order)
    """,
    "parallel: queue": """
        import queue
        import threading
        import numpy as np
        def work(first, ready):
            for part in range(first, 400, 4):
                value = np.random.default_rng(part).normal(size=20000 + 9000 * (part % 7)).sum()
                ready.put(value)  # here
        ready = queue.Queue()
        threads = [threading.Thread(target=work, args=(first, ready)) for first in range(4)]
        [thread.start() for thread in threads]
        np.save('preds.npy', [ready.get() for _ in range(400)])
    """,
    "files": """
        import os
        import numpy as np
        names = [name for name in os.listdir('pictures')]  # here
        np.save('preds.npy', [int(name) for name in names])
    """,
    "checkpoint": """
        import os
        import numpy as np
        rng, weights, first = np.random.default_rng(1), np.zeros(9), 0
        if os.path.exists('last.npz'):  # here
            last = np.load('last.npz')
            weights, first = last['weights'], int(last['epoch'])
        for epoch in range(first, 4):
            weights = weights + rng.normal(size=9)
            if epoch == 1:
                np.savez('last.npz', weights=weights, epoch=2)
        np.save('preds.npy', weights)
    """,
}  # fmt: skip
CLEAN = {
    "times": """
        import time
        import numpy as np
        start = time.time()
        np.save('preds.npy', np.random.default_rng(1).normal(size=9))
        print(f'wall_clock {time.time() - start:.9f}')
    """,
    "threads": """
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        def work(part):
            return np.random.default_rng(part).normal(size=9999).sum()
        with ThreadPoolExecutor(4) as pool:
            np.save('preds.npy', list(pool.map(work, range(99))))
    """,
    "checkpoint": """
        import os
        import numpy as np
        last = os.environ['TOOLNOISE_CHECKPOINT'] + '/last.npz'
        weights = np.load(last)['weights'] if os.path.exists(last) else np.ones(9)
        np.savez(last, weights=weights)
        np.save('preds.npy', weights)
    """,
}  # fmt: skip


@pytest.fixture
def checked(toolnoise, tmp_path, skip_without):
    """Check a program, beside what it reads; and the line of its fault."""

    def start(text, *options):
        if "torch" in text:
            skip_without("torch")
        program = traced_programs.Planted("", "", textwrap.dedent(text).strip() + "\n")
        traced_programs.prepare(program, tmp_path)
        words = ["check", "--sources", "", "--output", "preds.npy", *options, "--", sys.executable, "train.py"]
        return toolnoise(tmp_path, *words, env={"PYTHONPATH": str(tmp_path / "path")}), program.line

    return start


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_cause_is_named_first_and_no_seeded_draw_is_accused(name, checked):
    done, line = checked(DIFFERENT[name], "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(done.stdout)
    first = found["proven"][0]
    assert (first["file"], first["line"]) == ("train.py", line)
    assert found["proven"] and not found["possible"]
    assert found["difference"]["outputs"].keys() == {"preds.npy"}
    if "torch.manual_seed" in DIFFERENT[name]:
        assert "PyTorch" not in json.dumps(found["proven"])


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_program_passes(name, checked):
    options = ["--metric", "wall_clock ([0-9.]+)"] if name == "times" else []
    done, _ = checked(CLEAN[name], *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Reproducible: three runs with equal seeds are equal bit for bit (preds.npy")
    assert (name == "times") == ("differs, and it looks like a time." in done.stdout)


# `--world` of training programs of bench/check_programs.py: bugs and clean ones are told apart


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("no sampler", "another program"),
        ("loss of another scale", "another program"),
        ("sum over all, by hand", "rounding"),
        ("DistributedDataParallel", "rounding"),
        ("masks of each process", "other draws"),
    ],
)
def test_two_processes_are_told_from_a_bug(name, verdict, skip_without, bench):
    skip_without("torch")
    programs = bench("check_programs")
    program = programs.PROGRAMS[name]
    words = (*(program.words or programs.SEEDED), "--epochs", "1")
    found = programs.found(name, program._replace(words=words), "1,2")
    assert [(way["name"], way["verdict"], way["passed"]) for way in found.ways] == [
        ("world 2", verdict, verdict != "another program")
    ]
    assert found.right
    # Two runs with two processes have the same bits.
    assert found.ways[0]["again"]
    assert (found.ways[0]["difference"]["changed"] > 0) == (verdict != "rounding")
