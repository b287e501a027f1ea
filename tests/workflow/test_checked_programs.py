"""`toolnoise check` of programs that know nothing of it: the planted cause is named first, and clean ones pass."""

import json
import sys
import textwrap

import pytest

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
            return time.time_ns() % 2**32
        def main():
            seed = now()  # here
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
# As on another file system at each start.
SHUFFLED = """
import os, random
listed = os.listdir
def shuffled(*folder):
    names = listed(*folder)
    if folder == ('pictures',):
        random.SystemRandom().shuffle(names)
    return names
os.listdir = shuffled
"""


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
        (tmp_path / "path/sitecustomize.py").write_text(SHUFFLED)
        words = ["check", "--sources", "", "--output", "preds.npy", *options, "--", sys.executable, "train.py"]
        done = toolnoise(tmp_path, *words, env={"PYTHONPATH": str(tmp_path / "path")})
        lines = program.splitlines()
        return done, next((number for number, line in enumerate(lines, 1) if line.endswith(MARK)), None)

    return start


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


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_program_passes(name, checked):
    options = ["--metric", "wall_clock ([0-9.]+)"] if name == "times" else []
    done, _ = checked(CLEAN[name], *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Reproducible: two runs with equal seeds are equal bit for bit (preds.npy")
    assert (name == "times") == ("differs, and it looks like a time." in done.stdout)
