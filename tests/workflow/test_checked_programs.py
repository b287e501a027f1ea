"""`toolnoise check` of programs: the planted cause is named first, clean ones pass, and so it is with `--world`."""

import importlib.util
import json
import shutil
import sys
import textwrap

import pytest

from toolnoise.base.program import ROOT

pytestmark = pytest.mark.long

# Each writes preds.npy. The line that ends with the mark is the fault's.
MARK = "  # here"
DIFFERENT = {
    "numpy": "import numpy as np\nx = np.random.normal(size=9)  # here\nnp.save('preds.npy', x)",
    "numpy: own": """
        import numpy as np
        rng = np.random.default_rng()  # here
        np.save('preds.npy', rng.normal(size=9))
    """,
    "numpy: late": """
        import numpy as np
        x = np.random.normal(size=9)  # here
        np.random.seed(1)
        np.save('preds.npy', x)
    """,
    "numpy: option": """
        import sys
        import numpy as np
        if '--seed' in sys.argv:
            np.random.seed(1)
        x = np.random.normal(size=9)  # here
        np.save('preds.npy', x)
    """,
    "numpy: import": """
        import numpy as np
        import data
        np.random.seed(1)
        np.save('preds.npy', data.NOISE + np.random.normal(size=9))
    """,
    "numpy: worker": """
        from multiprocessing import Pool
        import numpy as np
        def draw(i):
            rng = np.random.default_rng()  # here
            return rng.normal()
        if __name__ == '__main__':
            with Pool(2) as pool:
                np.save('preds.npy', pool.map(draw, range(9)))
    """,
    "random": "import random\nimport numpy as np\nx = random.random()  # here\nnp.save('preds.npy', [x])",
    "numpy: no key": """
        import numpy as np
        config = {'epochs': 3, 'seeds': 1}
        class Net:
            def __init__(self, size, seed=None):
                self.weights = np.random.default_rng(seed).normal(size=size)  # here
        np.save('preds.npy', Net(9, config.get('seed')).weights)
    """,
    "random: helper": """
        import random
        import numpy as np
        def seed_everything(seed):
            np.random.seed(seed)
        seed_everything(1)
        order = random.sample(range(99), 99)  # here
        np.save('preds.npy', np.random.permutation(99)[order])
    """,
    "sklearn: folds": """
        import numpy as np
        from sklearn.model_selection import KFold
        folds = KFold(3, shuffle=True)  # here
        np.save('preds.npy', next(folds.split(np.arange(99)))[1])
    """,
    "sklearn": """
        import numpy as np
        from sklearn.model_selection import train_test_split
        x, _ = train_test_split(np.arange(99))  # here
        np.save('preds.npy', x)
    """,
    "clock": """
        import time
        import numpy as np
        np.random.seed(time.time_ns() % 2**32)  # here
        np.save('preds.npy', np.random.rand(9))
    """,
    "clock: helper": """
        import time
        import numpy as np
        def now():
            return time.time_ns() % 2**32  # here
        def main():
            seed = now()
            np.save('preds.npy', np.random.default_rng(seed).normal(size=9))
        main()
    """,
    "clock: process": """
        import os
        import numpy as np
        rng = np.random.default_rng(os.getpid())  # here
        np.save('preds.npy', rng.normal(size=9))
    """,
    "clock: uuid": """
        import uuid
        import numpy as np
        seed = uuid.uuid4().int  # here
        np.save('preds.npy', np.random.default_rng(seed).normal(size=9))
    """,
    "clock: session": """
        import uuid
        import numpy as np
        class Session:
            def __init__(self):
                self.name = uuid.uuid4().hex
            def seed(self):
                return int(self.name[:8], 16)  # here
        np.save('preds.npy', np.random.default_rng(Session().seed()).normal(size=9))
    """,
    "speed": """
        import time
        import numpy as np
        def seconds(size):
            start = time.perf_counter()
            np.ones(1000 + size).sum()
            return time.perf_counter() - start
        taken = [seconds(size) for size in range(99)]
        np.save('preds.npy', np.argsort(taken))  # here
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
    "time: limit": """
        import time
        import numpy as np
        rng, steps = np.random.default_rng(1), 0
        end = time.perf_counter() + 0.3
        while time.perf_counter() < end:  # here
            steps += 1
        np.save('preds.npy', rng.normal(size=9) * steps)
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
    "set": """
        import numpy as np
        words = {word for word in 'a few words in no certain order'.split()}
        np.save('preds.npy', [len(word) + ord(word[0]) for word in words])  # here
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
    "hash": "import numpy as np\nx = hash('a word') % 1000003  # here\nnp.save('preds.npy', [x])",
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
        if os.path.exists('last.npz'):
            last = np.load('last.npz')  # here
            weights, first = last['weights'], int(last['epoch'])
        for epoch in range(first, 4):
            weights = weights + rng.normal(size=9)
            if epoch == 1:
                np.savez('last.npz', weights=weights, epoch=2)
        np.save('preds.npy', weights)
    """,
    "torch": """
        import numpy as np
        import torch
        x = torch.nn.Linear(4, 2)  # here
        np.save('preds.npy', x.weight.detach().numpy())
    """,
    "checkpoint: cache": """
        import os
        import numpy as np
        def features():
            if not os.path.exists('cache.npy'):
                x = np.random.default_rng(1).normal(size=9)
                np.save('cache.npy', x.astype('float16'))
                return x
            return np.load('cache.npy')  # here
        np.save('preds.npy', features().astype('float64'))
    """,
    "torch: late": """
        import numpy as np
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 2)  # here
        def main():
            net = Net()
            torch.manual_seed(1)
            np.save('preds.npy', net.layer.weight.detach().numpy())
        main()
    """,
}  # fmt: skip
CLEAN = {
    "numpy": "import numpy as np\nnp.random.seed(1)\nnp.save('preds.npy', np.random.normal(size=9))",
    "helper": """
        import numpy as np
        def fix(seed):
            np.random.seed(seed)
        def main():
            fix(1)
            np.save('preds.npy', np.random.normal(size=9))
        main()
    """,
    "random": "import random\nimport numpy as np\nrng = random.Random(1)\nnp.save('preds.npy', [rng.random()])",
    "sklearn": """
        import numpy as np
        from sklearn.model_selection import train_test_split
        np.save('preds.npy', train_test_split(np.arange(99), random_state=1)[0])
    """,
    "set": """
        import numpy as np
        words = set('a few words'.split())
        np.save('preds.npy', [len(word) for word in sorted(words)])
    """,
    "hash": "import zlib\nimport numpy as np\nnp.save('preds.npy', [zlib.crc32(b'a word')])",
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
    "one thread ahead": """
        import queue, threading, time, uuid
        from pathlib import Path
        import numpy as np
        folder, ready, start = Path('logs') / uuid.uuid4().hex, queue.Queue(3), time.time()
        def read(rng):
            for _ in range(9):
                ready.put(rng.normal())
        threading.Thread(target=read, args=(np.random.default_rng(1),)).start()
        folder.mkdir(parents=True)
        (folder / 'log.txt').write_text(f'{time.time() - start} s')
        x = np.empty(9)
        x[:] = [ready.get() for _ in range(9)]
        np.save('preds.npy', x)
    """,
    "files": """
        import os
        import numpy as np
        np.save('preds.npy', [int(name) for name in sorted(os.listdir('pictures'))])
    """,
    "checkpoint": """
        import os
        import numpy as np
        last = os.environ['TOOLNOISE_CHECKPOINT'] + '/last.npz'
        weights = np.load(last)['weights'] if os.path.exists(last) else np.ones(9)
        np.savez(last, weights=weights)
        np.save('preds.npy', weights)
    """,
    "torch": """
        import numpy as np
        import torch
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.Dropout(0.5), torch.nn.Linear(9, 2))
        pairs = torch.utils.data.TensorDataset(torch.rand(16, 4))
        for (x,) in torch.utils.data.DataLoader(pairs, 4, shuffle=True):
            out = net(x)
        np.save('preds.npy', out.detach().numpy())
    """,
}  # fmt: skip
# A listing as on another file system at each start.
SHUFFLED = ROOT / "bench/shuffled_listing.py"


@pytest.fixture
def checked(toolnoise, tmp_path, skip_without):
    def start(text, *options):
        if "torch" in text:
            skip_without("torch")
        program = textwrap.dedent(text).strip() + "\n"
        (tmp_path / "train.py").write_text(program)
        (tmp_path / "data.py").write_text("import numpy as np\nNOISE = np.random.normal(size=9)\n")
        (tmp_path / "pictures").mkdir()
        for number in range(20):
            (tmp_path / f"pictures/{number}").touch()
        (tmp_path / "path").mkdir()
        shutil.copyfile(SHUFFLED, tmp_path / "path/sitecustomize.py")
        words = ["check", "--sources", "", "--output", "preds.npy", *options, "--", sys.executable, "train.py"]
        done = toolnoise(tmp_path, *words, env={"PYTHONPATH": str(tmp_path / "path")})
        lines = program.splitlines()
        return done, next((number for number, line in enumerate(lines, 1) if line.endswith(MARK)), None)

    return start


@pytest.mark.in_turn
@pytest.mark.parametrize("name", DIFFERENT)
def test_the_cause_is_named_first_and_no_seeded_draw_is_accused(name, checked):
    done, line = checked(DIFFERENT[name], "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(done.stdout)
    first = [*found["likely"], *found["possible"]][0]
    place = ("data.py", 2) if name == "numpy: import" else ("train.py", line)
    assert (first["cause"], first["file"], first["line"]) == (name.partition(":")[0], *place)
    assert found["difference"]["outputs"].keys() == {"preds.npy"}
    if "torch.manual_seed" in DIFFERENT[name] and name != "torch: late":
        assert "PyTorch" not in json.dumps(found["likely"] + found["possible"])


@pytest.mark.in_turn
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_program_passes(name, checked):
    options = ["--metric", "wall_clock ([0-9.]+)"] if name == "times" else []
    done, _ = checked(CLEAN[name], *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Reproducible: two runs with equal seeds are equal bit for bit (preds.npy")
    assert (name == "times") == ("differs, and it looks like a time." in done.stdout)


# `--world` of training programs of bench/invariances.py: bugs and clean ones are told apart


spec = importlib.util.spec_from_file_location("invariances", ROOT / "bench/invariances.py")
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


@pytest.mark.in_turn
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
def test_two_processes_are_told_from_a_bug(name, verdict, skip_without):
    skip_without("torch")
    program = bench.PROGRAMS[name]
    found = bench.found(name, program._replace(words=(*(program.words or bench.SEEDED), "--epochs", "1")), "1,2")
    assert [(way["name"], way["verdict"], way["passed"]) for way in found.ways] == [
        ("world 2", verdict, verdict != "another program")
    ]
    assert found.right
    assert found.line in ("", "right")
    # Two runs with two processes have the same bits.
    assert found.ways[0]["again"]
    assert (found.ways[0]["difference"]["changed"] > 0) == (verdict != "rounding")
