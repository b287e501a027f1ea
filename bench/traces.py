"""Does a trace find the planted first cause, and leave clean programs alone? How much longer does a recorded run take?

    python bench/traces.py [NAME ...]

Prints a row for each program, the score, and for programs of some seconds the ratio of times. In each planted program,
the line that ends with the mark is the first cause, and an operation shows it; each program leaves preds.npy.
tests/workflow/test_traced_programs.py runs some of them.
"""

import os
import shutil
import statistics
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

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
MARK = "  # here"
# A listing as on another file system at each start.
SHUFFLED = Path(__file__).with_name("shuffled_listing.py")
TORCH = """
import os, threading, time
import numpy as np
import torch
"""
SAVE = "np.save('preds.npy', np.asarray(x.detach()))"


class Planted(NamedTuple):
    """A program, and the operation whose result is the first to differ; none if the program is clean."""

    framework: str
    operation: str
    text: str

    @property
    def line(self) -> int | None:
        """The line of the first cause."""
        lines = self.text.splitlines()
        return next((number for number, line in enumerate(lines, 1) if line.endswith(MARK)), None)


def prepare(planted, folder):
    """Write the program to a folder, with what it reads."""
    (folder / "train.py").write_text(planted.text)
    (folder / "data.txt").write_text("1 2 3 4\n5 6 7 8\n")
    (folder / "pictures").mkdir()
    for number in range(20):
        (folder / f"pictures/{number}").touch()
    (folder / "path").mkdir()
    shutil.copyfile(SHUFFLED, folder / "path/sitecustomize.py")


def _program(*parts: str) -> str:
    return "\n".join(textwrap.dedent(part).strip() for part in parts) + "\n"


def _torch(operation: str, text: str) -> Planted:
    return Planted("torch", operation, _program(TORCH, text, SAVE))


PLANTED = {
    "unseeded weights": _torch(
        "aten.uniform_",
        """
        net = torch.nn.Linear(4, 2)  # here
        torch.manual_seed(1)
        x = net(torch.rand(3, 4))
        """,
    ),
    "clock by a helper": _torch(
        "aten.mul.Tensor",
        """
        def jitter():
            return time.time() % 1
        torch.manual_seed(1)
        net = torch.nn.Linear(4, 2)
        scale = jitter()  # here
        for step in range(3):
            x = net(torch.rand(3, 4)).relu()
            x = x * (1 + scale)
        """,
    ),
    "dropout": _torch(
        "aten.bernoulli_.float",
        """
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.Dropout(0.5))
        torch.manual_seed(os.getpid())  # here
        x = net(torch.ones(3, 4))
        """,
    ),
    # What a worker does is not recorded: the loop is named to which it sends its batches.
    "workers": _torch(
        "the next batch of a DataLoader",
        """
        class Noisy(torch.utils.data.Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, i):
                return torch.ones(4) * np.random.default_rng().normal()
        torch.manual_seed(1)
        net = torch.nn.Linear(4, 2)
        for batch in torch.utils.data.DataLoader(Noisy(), 4, num_workers=2):  # here
            x = net(batch)
        """,
    ),
    "listing": _torch(
        "aten.lift_fresh",
        """
        torch.manual_seed(1)
        weights = torch.rand(20)
        names = [name for name in os.listdir('pictures')]  # here
        values = [float(name) for name in names]
        x = weights * torch.tensor(values)
        """,
    ),
    "set": _torch(
        "aten.lift_fresh",
        """
        torch.manual_seed(1)
        words = {word for word in 'a few words in no certain order at all'.split()}
        net = torch.nn.Linear(9, 2)
        codes = torch.tensor([float(len(word) + ord(word[0])) for word in words])  # here
        x = net(codes)
        """,
    ),
    "atomic scatter": _torch(
        "lab.scatter",
        """
        @torch.library.custom_op("lab::scatter", mutates_args=())
        def scatter(source: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
            # The order of additions differs, as with atomics on a GPU.
            order = np.random.Generator(np.random.PCG64()).permutation(len(source)).tolist()
            out = torch.zeros(3)
            for at in order:
                out[index[at]] += source[at]
            return out
        torch.manual_seed(1)
        source, index = torch.rand(3000), torch.randint(3, (3000,))
        weights = torch.rand(3)
        x = weights * scatter(source, index)  # here
        """,
    ),
    "uninitialised": _torch(
        "aten.add.Tensor",
        """
        torch.manual_seed(1)
        bytes_of_before = [bytearray(os.urandom(size)) for size in range(200, 800)]
        del bytes_of_before
        mask = torch.empty(400, dtype=torch.uint8)  # here
        mask[:10] = 1
        data = torch.ones(400)
        x = data + mask
        """,
    ),
    "race": _torch(
        "aten.mul.Tensor",
        """
        total = torch.ones(3)
        parts = torch.arange(12.0).reshape(4, 3)
        def work(part):
            time.sleep(os.urandom(1)[0] / 1000)
            for _ in range(9):
                time.sleep(os.urandom(1)[0] / 10000)
                total.mul_(1.1).add_(parts[part])  # here
        threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        x = total * 2
        """,
    ),
    "data that grow": _torch(
        "data",
        """
        torch.manual_seed(1)
        net = torch.nn.Linear(4, 2)
        data = np.loadtxt('data.txt', dtype=np.float32)  # here
        x = net(torch.from_numpy(data))
        np.savetxt('data.txt', np.concatenate([data, data[:1]]))
        """,
    ),
    "branch": _torch(
        "aten.sub.Tensor",
        """
        torch.manual_seed(1)
        x = torch.rand(3)
        for step in range(3):
            x = x + 1
            if step == 1 and os.path.exists('cache'):  # here
                os.remove('cache')
                x = x * 2
            elif step == 1:
                open('cache', 'w').close()
                x = x - 1
        """,
    ),
    "unordered sum": _torch(
        "aten.add.Tensor",
        """
        from concurrent.futures import ThreadPoolExecutor, as_completed
        def part(number):
            time.sleep(os.urandom(1)[0] / 500)
            return torch.full((3,), 1.1) ** number
        x = torch.zeros(3)
        with ThreadPoolExecutor(4) as pool:
            for done in as_completed([pool.submit(part, number) for number in range(16)]):
                x = x + done.result()  # here
        """,
    ),
    "numpy: generator": Planted(
        "numpy",
        "Generator.normal",
        _program(
            """
            import numpy as np
            def init(rng, size):
                return rng.normal(size=size)
            np.random.seed(1)
            rng = np.random.default_rng()  # here
            noise = np.random.normal(size=9)
            x = init(rng, 9) + noise
            np.save('preds.npy', x)
            """
        ),
    ),
    "numpy: split": Planted(
        "numpy",
        "x",
        _program(
            """
            import time
            import numpy as np
            from sklearn.model_selection import train_test_split
            start = time.time()
            data = np.arange(99) * 1.5
            x, _ = train_test_split(data)  # here
            x = x / x.std()
            np.save('preds.npy', x)
            """
        ),
    ),
    "jax: key": Planted(
        "jax",
        "stage",
        _program(
            """
            import os
            import jax, jax.numpy as jnp, numpy as np
            w = jax.random.normal(jax.random.PRNGKey(1), (4, 2))
            seed = int.from_bytes(os.urandom(3), 'big')  # here
            key = jax.random.PRNGKey(seed)
            @jax.jit
            def loss(w):
                return (jax.nn.relu(jax.random.normal(key, (3, 4)) @ w) ** 2).mean()
            for step in range(2):
                w = w - 0.1 * jax.grad(loss)(w)
            np.save('preds.npy', np.asarray(w))
            """
        ),
    ),
    "jax: set": Planted(
        "jax",
        "convert_element_type",
        _program(
            """
            import jax, jax.numpy as jnp, numpy as np
            words = set('a few words in no certain order at all'.split())
            w = jax.random.normal(jax.random.PRNGKey(1), (9,))
            x = jnp.array([float(len(word) + ord(word[0])) for word in words])  # here
            np.save('preds.npy', np.asarray(jnp.tanh(x / 200) * w))
            """
        ),
    ),
    "jax: callback": Planted(
        "jax",
        "pure_callback",
        _program(
            """
            import os
            import jax, jax.numpy as jnp, numpy as np
            def measured(x):
                return np.asarray(x) * np.float32(os.urandom(1)[0] + os.urandom(1)[0] / 256)
            w = jax.random.normal(jax.random.PRNGKey(1), (4,))
            @jax.jit
            def step(w):
                x = jnp.tanh(w)
                return x + jax.pure_callback(measured, jax.ShapeDtypeStruct(x.shape, x.dtype), x)  # here
            np.save('preds.npy', np.asarray(step(w)))
            """
        ),
    ),
    "keras: weights": Planted(
        "tensorflow",
        "random.randint",
        _program(
            """
            import keras, numpy as np
            np.random.seed(1)
            x = np.random.normal(size=(16, 4)).astype('float32')
            dense = keras.layers.Dense(3)  # here
            net = keras.Sequential([keras.Input((4,)), dense])
            net.compile('sgd', 'mse')
            net.fit(x, x[:, :3], epochs=1, batch_size=8, verbose=0, shuffle=False)
            np.save('preds.npy', net.predict(x, verbose=0))
            """
        ),
    ),
    "keras: order": Planted(
        "tensorflow",
        "Generator.permutation",
        _program(
            """
            import keras, numpy as np
            keras.utils.set_random_seed(1)
            x = np.random.normal(size=(16, 4)).astype('float32')
            rng = np.random.default_rng()  # here
            net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
            net.compile('sgd', 'mse')
            x = x[rng.permutation(16)]
            net.fit(x, x[:, :3], epochs=1, batch_size=8, verbose=0, shuffle=False)
            np.save('preds.npy', net.predict(x, verbose=0))
            """
        ),
    ),
    "keras: layer": Planted(
        "tensorflow",
        "Mul",
        _program(
            """
            import os
            import keras, numpy as np
            class Scaled(keras.layers.Layer):
                def call(self, x):
                    factor = float(os.urandom(1)[0] + os.urandom(1)[0] / 256)  # here
                    return x * factor
            keras.utils.set_random_seed(1)
            x = np.random.normal(size=(16, 4)).astype('float32')
            net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), Scaled()])
            net.compile('sgd', 'mse', run_eagerly=True)
            net.fit(x, x[:, :3], epochs=1, batch_size=8, verbose=0, shuffle=False)
            np.save('preds.npy', net.predict(x, verbose=0))
            """
        ),
    ),
}  # fmt: skip
CLEAN = {
    "torch": _torch(
        "",
        """
        start = time.time()
        torch.manual_seed(1)
        np.random.seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.BatchNorm1d(9), torch.nn.Dropout(0.5))
        optimizer = torch.optim.AdamW(net.parameters())
        pairs = torch.utils.data.TensorDataset(torch.rand(16, 4))
        for epoch in range(2):
            for (x,) in torch.utils.data.DataLoader(pairs, 4, shuffle=True, num_workers=2):
                x = net(x + torch.from_numpy(np.random.normal(size=4)).float())
                optimizer.zero_grad()
                x.square().sum().backward()
                optimizer.step()
        print(f'{time.time() - start} seconds')
        """,
    ),
    "torch: empty": _torch(
        "",
        """
        torch.manual_seed(1)
        unused = torch.empty(1000)
        buffer = torch.empty(9, 4)
        for row in range(9):
            buffer[row] = torch.rand(4)
        x = buffer.sum(dim=0)
        """,
    ),
    "torch: threads": _torch(
        "",
        """
        from concurrent.futures import ThreadPoolExecutor
        def part(number):
            time.sleep(os.urandom(1)[0] / 2000)
            return torch.full((3,), 1.1) ** number
        with ThreadPoolExecutor(4) as pool:
            x = torch.stack(list(pool.map(part, range(16)))).sum(dim=0)
        """,
    ),
    "numpy": Planted(
        "numpy",
        "",
        _program(
            """
            import random, time
            import numpy as np
            start = time.time()
            random.seed(1)
            rng = np.random.default_rng(1)
            names = set('a few words in no certain order'.split())
            x = rng.normal(size=(9, 4)) + len(names) + random.random()
            for row in range(9):
                x[row] = x[row] / x.std()
            seconds = time.time() - start
            np.save('preds.npy', x)
            """
        ),
    ),
    "jax": Planted(
        "jax",
        "",
        _program(
            """
            import jax, jax.numpy as jnp, numpy as np
            w = jax.random.normal(jax.random.PRNGKey(1), (4, 2))
            @jax.jit
            def step(w, _):
                return w - 0.1 * jax.grad(lambda w: (jax.nn.relu(jnp.ones((3, 4)) @ w) ** 2).mean())(w), None
            w, _ = jax.lax.scan(step, w, length=3)
            np.save('preds.npy', np.asarray(w))
            """
        ),
    ),
    "keras": Planted(
        "tensorflow",
        "",
        _program(
            """
            import keras, numpy as np
            keras.utils.set_random_seed(1)
            x = np.random.normal(size=(16, 4)).astype('float32')
            net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dropout(0.5)])
            net.compile('adam', 'mse')
            net.fit(x, x[:, :3], epochs=1, batch_size=8, verbose=0)
            np.save('preds.npy', net.predict(x, verbose=0))
            """
        ),
    ),
}  # fmt: skip


def located(planted):
    """Where two runs of a program part, and whether that is the planted place."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(planted, folder)
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
    for programs, what in ((PLANTED, "planted causes found"), (CLEAN, "clean programs")):
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
