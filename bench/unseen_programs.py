"""Training programs as people write them, with one cause of nondeterminism or none; bench/unseen.py checks them.

PLANTED and CLEAN, with their causes, were written before the rules of `toolnoise check` were read. HELD_OUT was, too,
and was first checked after the rules were mended. LAST was written by one who knew the rules, and checked once at the
end.
A line that ends with FAULT is the cause. It is true to name a line that ends with ALSO, but it is not the cause.
A text has several files if lines such as `=== model.py` begin them; the first is train.py.
"""

from typing import NamedTuple

FAULT, ALSO = "  #!", "  #~"
CLOCK = r"clock|time"
SEED = r"seed|drawn?|draws|random_state|generator"
ORDER = r"order|sort"


class Program(NamedTuple):
    """What is wrong with a program, a pattern that what is said of its line matches, and its files."""

    cause: str
    says: str
    text: str
    by_hash: bool = False  # PYTHONHASHSEED=0 makes two runs equal
    words: str = ""  # what stands after `python train.py`
    shuffled: bool = False  # its folder `pictures` is listed in another order at each start


PLANTED = {
    "import_draw": Program(
        "weights are drawn when a module is imported, and the seed is set later",
        SEED,
        """
import argparse
import time

import numpy as np

from data import load
from model import Regression


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    np.random.seed(args.seed)
    started = time.time()
    x, y = load(300, 5)
    model = Regression()
    for _ in range(args.steps):
        model.step(x, y)
    np.savetxt("preds.csv", model(x))
    print(f"took {time.time() - started:.1f} s, loss {np.mean((model(x) - y) ** 2):.6f}")


if __name__ == "__main__":
    main()
=== data.py
import numpy as np


def load(rows, columns):
    x = np.random.normal(size=(rows, columns))
    return x, x @ np.arange(columns) + np.random.normal(size=rows)
=== model.py
import numpy as np

WIDTH = 5
START = 0.1 * np.random.randn(WIDTH)  #!


class Regression:
    def __init__(self, rate=0.001):
        self.w, self.rate = START.copy(), rate

    def __call__(self, x):
        return x @ self.w

    def step(self, x, y):
        self.w -= self.rate * x.T @ (self(x) - y) / len(y)
""",
    ),
    "falsy_seed": Program(
        "the seed 0 of the configuration counts as missing, and the clock is taken",
        rf"{CLOCK}|missing",
        """
import json

import numpy as np

from common import seeding


class Perceptron:
    def __init__(self, rng, size):
        self.w = rng.normal(0, 0.1, size)

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            for a, b in zip(x, y):
                self.w += 0.1 * (b - (a @ self.w > 0)) * a
        return self


with open("config.json") as f:
    cfg = json.load(f)
rng = np.random.default_rng(seeding.resolve(cfg["training"]))  #~
x = np.random.default_rng(cfg["data_seed"]).normal(size=(200, 8))
y = (x[:, 0] + 0.3 * x[:, 1] > 0).astype(int)
model = Perceptron(rng, 8).fit(x, y, cfg["training"]["epochs"])
np.savetxt("preds.csv", x @ model.w)
=== config.json
{"data_seed": 11, "training": {"epochs": 3, "seed": 0}}
=== common/__init__.py
=== common/seeding.py
import time


def resolve(section):
    return section.get("seed") or now()  #!


def now():
    return time.time_ns() % 2**32  #!
""",
    ),
    "threads_share_generator": Program(
        "threads draw from one generator",
        r"thread",
        """
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np


class Augmenter:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, index):
        image = np.load(f"cache/{index}.npy")
        for _ in range(40):
            image = np.roll(image, self.rng.integers(8), axis=1) + self.rng.normal(0, 0.01, image.shape)  #!
        return image


def prepare(count):
    os.makedirs("cache", exist_ok=True)
    rng = np.random.default_rng(0)
    for i in range(count):
        np.save(f"cache/{i}.npy", rng.normal(size=(16, 16)))


if __name__ == "__main__":
    prepare(120)
    augment = Augmenter(seed=3)
    with ThreadPoolExecutor(max_workers=4) as pool:
        images = np.stack(list(pool.map(augment, range(120))))  #~
    weights = np.linalg.lstsq(images.reshape(120, -1), np.arange(120.0), rcond=None)[0]
    np.save("preds.npy", weights)
""",
    ),
    "hogwild": Program(
        "threads update the same weights without a lock",
        r"thread|race|lock",
        """
import threading

import numpy as np

N_THREADS = 4


class Hogwild(threading.Thread):
    def __init__(self, weights, x, y, seed):
        super().__init__()
        self.weights, self.x, self.y = weights, x, y
        self.rng = np.random.default_rng(seed)

    def run(self):
        for row in self.rng.integers(len(self.x), size=6000):
            error = self.x[row] @ self.weights - self.y[row]
            self.weights -= 0.01 * error * self.x[row]  #!


rng = np.random.default_rng(1)
x = rng.normal(size=(2000, 30))
y = x @ rng.normal(size=30) + rng.normal(size=2000)
w = np.zeros(30)
workers = [Hogwild(w, x[i::N_THREADS], y[i::N_THREADS], seed=i) for i in range(N_THREADS)]  #~
for worker in workers:
    worker.start()  #~
for worker in workers:
    worker.join()
np.savetxt("preds.csv", x @ w)
print("mse", float(np.mean((x @ w - y) ** 2)))
""",
    ),
    "pool_default_rng": Program(
        "a process of a pool draws from a generator without a seed",
        SEED,
        """
import argparse
import functools
import multiprocessing
import random

import numpy as np


def bootstrap(x, y, member):
    rng = np.random.default_rng()  #!
    rows = rng.integers(0, len(x), len(x))
    return np.linalg.lstsq(x[rows], y[rows], rcond=None)[0]


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)


def cli():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--members", type=int, default=12)
    return p.parse_args()


if __name__ == "__main__":
    args = cli()
    seed_everything(args.seed)
    x = np.random.rand(400, 6)
    y = x.sum(axis=1) + 0.1 * np.random.rand(400)
    with multiprocessing.Pool(2) as pool:
        ensemble = pool.map(functools.partial(bootstrap, x, y), range(args.members))
    np.save("preds.npy", x @ np.mean(ensemble, axis=0))
""",
    ),
    "folder_order": Program(
        "files are trained on in the order in which the folder lists them",
        r"folder|directory|listing|sort",
        """
import argparse
import os

import numpy as np


class Folder:
    def __init__(self, root):
        self.items = []
        for name in os.listdir(root):  #!
            if name.endswith(".npy"):
                self.items.append((os.path.join(root, name), int(name[0] in "aeiou")))

    def __iter__(self):
        for path, label in self.items:
            yield np.load(path), label


def make(root):
    os.makedirs(root, exist_ok=True)
    rng = np.random.default_rng(5)
    for letter in "abcdefghijklmnopqrstuvwxyz":
        np.save(f"{root}/{letter}.npy", rng.normal(size=12))


parser = argparse.ArgumentParser()
parser.add_argument("--data", default="pictures")
root = parser.parse_args().data
make(root)
w = np.zeros(12)
for epoch in range(5):
    for features, label in Folder(root):
        w += 0.1 * (label - 1 / (1 + np.exp(-features @ w))) * features
np.savetxt("preds.csv", w)
""",
        shuffled=True,
    ),
    "set_vocabulary": Program(
        "columns are numbered in the order of a set of words",
        r"\bsets?\b|hash",
        """
import numpy as np

TEXTS = [
    ("a warm and funny film", 1), ("a dull slow film", 0), ("funny clever warm story", 1),
    ("slow story and no plot", 0), ("clever plot", 1), ("no fun dull and long", 0),
]


class BagOfWords:
    def fit(self, texts):
        words = set()
        for text in texts:
            words.update(text.split())
        self.index = {word: i for i, word in enumerate(words)}  #!
        return self

    def transform(self, texts):
        counts = np.zeros((len(texts), len(self.index)))
        for row, text in enumerate(texts):
            for word in text.split():
                counts[row, self.index[word]] += 1
        return counts


texts, labels = zip(*TEXTS)
x = BagOfWords().fit(texts).transform(texts)
rng = np.random.RandomState(0)
hidden = np.maximum(x @ rng.normal(size=(x.shape[1], 4)), 0)
w = np.linalg.lstsq(hidden, np.array(labels), rcond=None)[0]
np.savetxt("preds.csv", hidden @ w)
""",
        by_hash=True,
    ),
    "hash_split": Program(
        "examples are split by the hash of their names",
        r"hash",
        """
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Patient:
    name: str
    age: float
    risk: float

    @property
    def fold(self):
        return hash(self.name) % 5  #!


def cohort(n=150):
    rng = np.random.default_rng(42)
    for i in range(n):
        age = rng.uniform(20, 90)
        yield Patient(f"patient-{i:04d}", age, 0.01 * age + rng.normal(0, 0.1))


def fit(people):
    return np.polyfit([p.age for p in people], [p.risk for p in people], 1)


if __name__ == "__main__":
    people = list(cohort())
    train = [p for p in people if p.fold]
    slope, offset = fit(train)
    print(f"{len(train)} of {len(people)}, slope {slope:.8f}")
    np.savetxt("preds.csv", [slope * p.age + offset for p in people])
""",
        by_hash=True,
    ),
    "warm_start": Program(
        "a run goes on from the model that the run before it left",
        r"checkpoint|earlier|left|found|exist|run before|cache",
        """
import logging
from pathlib import Path

import joblib
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
STATE = Path("artifacts") / "model.joblib"


class Trainer:
    def __init__(self, path):
        self.path = path
        if path.exists():  #!
            logging.info("continuing from %s", path)
            self.model = joblib.load(path)  #!
        else:
            self.model = SGDClassifier(random_state=0)

    def fit(self, x, y):
        for _ in range(2):
            self.model.partial_fit(x, y, classes=range(10))
        self.path.parent.mkdir(exist_ok=True)
        joblib.dump(self.model, self.path)
        return self


x, y = load_digits(return_X_y=True)
trainer = Trainer(STATE).fit(x[:1000], y[:1000])  #~
logging.info("accuracy %.4f", trainer.model.score(x[1000:], y[1000:]))
trainer.model.decision_function(x[1000:]).tofile("preds.bin")
""",
    ),
    "object_set": Program(
        "a set of objects is walked in the order of their addresses",
        r"\bsets?\b|hash|address|id\(",
        """
import numpy as np


class Parameter:
    def __init__(self, value):
        self.value = value
        self.grad = np.zeros_like(value)


class Layer:
    def __init__(self, rng, n_in, n_out):
        self.w = Parameter(rng.normal(0, 0.3, (n_in, n_out)))
        self.b = Parameter(np.zeros(n_out))

    def parameters(self):
        return {self.w, self.b}  #~


class NoisySGD:
    def __init__(self, parameters, rng, rate=0.05):
        self.parameters, self.rng, self.rate = set(parameters), rng, rate

    def step(self):
        for p in self.parameters:  #!
            p.value -= self.rate * (p.grad + self.rng.normal(0, 0.01, p.grad.shape))


rng = np.random.default_rng(9)
layers = [Layer(rng, 6, 6) for _ in range(8)]
optimizer = NoisySGD((p for layer in layers for p in layer.parameters()), rng)
x = rng.normal(size=(64, 6))
for _ in range(20):
    for layer in layers:
        out = np.tanh(x @ layer.w.value + layer.b.value)
        layer.w.grad, layer.b.grad = x.T @ (out - x) / 64, (out - x).mean(axis=0)
    optimizer.step()
np.save("preds.npy", np.concatenate([layer.w.value for layer in layers]))
""",
    ),
    "uuid_seed": Program(
        "the seed is taken from a random identifier of the run",
        r"clock|process|system|uuid|identif",
        """
import csv
import uuid

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor


class Run:
    def __init__(self, project):
        self.project = project
        self.id = uuid.uuid4()  #!
        self.history = []

    @property
    def seed(self):
        return self.id.int % 2**31  #!

    def log(self, **values):
        self.history.append(values)
        print(self.project, values)


def train(run):
    rng = np.random.default_rng(2024)
    x = rng.uniform(-1, 1, (150, 4))
    y = np.sin(3 * x[:, 0]) + x[:, 1]
    model = ExtraTreesRegressor(10, random_state=run.seed).fit(x, y)  #~
    run.log(r2=round(model.score(x, y), 4))
    return model.predict(rng.uniform(-1, 1, (50, 4)))


if __name__ == "__main__":
    with open("preds.csv", "w", newline="") as f:
        csv.writer(f).writerows([value] for value in train(Run("trees")))
""",
    ),
    "free_memory": Program(
        "the batch size is taken from the memory that is free",
        r"clock|process|system|memory|environment|machine",
        """
import os

import numpy as np

ROW = 8 * 16


def auto_batch(share=1e-4):
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  #!
    return max(16, int(free * share / ROW))


def batches(x, y, size, rng):
    order = rng.permutation(len(x))
    for start in range(0, len(x), size):
        rows = order[start : start + size]
        yield x[rows], y[rows]


def main(seed=0, epochs=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40000, 16))
    y = x @ rng.normal(size=16)
    w = np.zeros(16)
    size = auto_batch()  #~
    for _ in range(epochs):
        for a, b in batches(x, y, size, rng):
            w -= 0.1 * a.T @ (a @ w - b) / len(a)
    np.savetxt("preds.csv", x @ w)


main()
""",
    ),
    "temp_name": Program(
        "the seed is taken from the name of a temporary folder",
        r"clock|process|system|temp",
        """
import tempfile
import zlib
from pathlib import Path

import numpy as np
import torch


def stage(rows):
    folder = Path(tempfile.mkdtemp(prefix="stage-"))  #!
    torch.save(torch.linspace(-1, 1, rows)[:, None], folder / "x.pt")
    return folder


def seed_for(path):
    return zlib.crc32(str(path).encode())  #!


torch.set_num_threads(1)
folder = stage(128)
x = torch.load(folder / "x.pt")
torch.manual_seed(seed_for(folder / "x.pt"))  #~
net = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), 0.01)
for _ in range(30):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(net(x), x**3).backward()
    optimizer.step()
np.save("preds.npy", net(x).detach().numpy())
""",
    ),
    "generator_seed": Program(
        "Generator.seed() is called in place of manual_seed(), and draws a seed from the system",
        SEED,
        """
import argparse
import random

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def loader(data, batch_size):
    generator = torch.Generator()
    generator.seed()  #!
    return DataLoader(data, batch_size, shuffle=True, generator=generator)  #~


def main(args):
    seed_everything(args.seed)
    x = torch.randn(256, 10)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    net = torch.nn.Linear(10, 2)
    sgd = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(3):
        for a, b in loader(data, args.batch_size):
            loss = torch.nn.functional.cross_entropy(net(a), b)
            sgd.zero_grad(), loss.backward(), sgd.step()
        print(f"epoch {epoch} loss {loss.item():.6f}")
    torch.save(net.state_dict(), "model.pt")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--batch-size", type=int, default=16)
    main(p.parse_args())
""",
        words="--seed {init}",
    ),
    "mixup_numpy": Program(
        "NumPy's generator is not seeded, PyTorch's is",
        SEED,
        """
import torch
from torch import nn

from augment import mixup

CONFIG = dict(seed=13, epochs=4, alpha=0.4)


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(CONFIG["seed"])
x = torch.randn(200, 20)
y = nn.functional.one_hot((x[:, 0] > 0).long(), 2).float()
net = Net()
adam = torch.optim.Adam(net.parameters())
for _ in range(CONFIG["epochs"]):
    a, b = mixup(x, y, CONFIG["alpha"])
    loss = nn.functional.cross_entropy(net(a), b)
    adam.zero_grad()
    loss.backward()
    adam.step()
net.eval()
with open("preds.csv", "w") as f:
    f.writelines(f"{value!r}\\n" for value in net(x)[:, 1].tolist())
=== augment.py
import numpy as np


def mixup(x, y, alpha):
    share = float(np.random.beta(alpha, alpha))  #!
    order = np.random.permutation(len(x))  #!
    return share * x + (1 - share) * x[order], share * y + (1 - share) * y[order]
""",
    ),
    "estimator_from_config": Program(
        "an estimator that a configuration names has no random_state",
        SEED,
        """
import argparse
import json

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

MODELS = {"logistic": LogisticRegression, "forest": RandomForestClassifier}


def build(section):
    return make_pipeline(StandardScaler(), MODELS[section["name"]](**section["params"]))  #!


parser = argparse.ArgumentParser()
parser.add_argument("config")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
with open(args.config) as f:
    config = json.load(f)
x, y = make_classification(600, 12, random_state=args.seed)
x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=args.seed)
model = build(config["model"]).fit(x_train, y_train)  #~
np.save("preds.npy", model.predict_proba(x_test))
print("accuracy", model.score(x_test, y_test))
=== forest.json
{"model": {"name": "forest", "params": {"n_estimators": 15, "max_depth": 4}}}
""",
        words="forest.json --seed {init}",
    ),
    "loader_workers": Program(
        "a loader's workers are seeded from PyTorch's generator, and only Python's and NumPy's have a seed",
        SEED,
        """
import random

import numpy as np
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self, images, size):
        self.images, self.size = images, size

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        top = random.randrange(len(self.images[i]) - self.size)  #!
        return self.images[i][top : top + self.size].astype("float32")


def set_seed(seed=0):
    random.seed(seed)
    np.random.seed(seed)


def main():
    set_seed()
    images = np.random.rand(64, 32)
    loader = DataLoader(Crops(images, 8), batch_size=8, num_workers=2)  #!
    w = np.zeros(8)
    for epoch in range(2):
        for batch in loader:
            a = batch.numpy()
            w -= 0.1 * a.T @ (a @ w - 1) / len(a)
    np.save("preds.npy", w)


if __name__ == "__main__":
    main()
""",
    ),
    "time_budget": Program(
        "the training ends after a time",
        CLOCK,
        """
import time

import numpy as np


class Callback:
    def on_train_begin(self):
        pass

    def should_stop(self, step):
        return False


class Budget(Callback):
    def __init__(self, seconds):
        self.seconds = seconds

    def on_train_begin(self):
        self.begun = time.perf_counter()  #!

    def should_stop(self, step):
        return time.perf_counter() - self.begun > self.seconds  #!


class Loop:
    def __init__(self, callbacks):
        self.callbacks = callbacks

    def run(self, w, x, y):
        for callback in self.callbacks:
            callback.on_train_begin()
        for step in range(10**7):
            rows = np.arange(step, step + 32) % len(x)
            w -= 1e-4 * x[rows].T @ (x[rows] @ w - y[rows])
            if any(callback.should_stop(step) for callback in self.callbacks):  #~
                return w


rng = np.random.default_rng(0)
x = rng.standard_normal((500, 20))
y = x @ rng.standard_normal(20)
np.save("preds.npy", x @ Loop([Budget(0.3)]).run(np.zeros(20), x, y))
""",
    ),
    "as_completed": Program(
        "results are gathered in the order in which threads end",
        ORDER,
        """
from concurrent import futures

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingRegressor


def member(x, y, subset):
    columns = np.random.default_rng(subset).choice(x.shape[1], 10, replace=False)
    model = GradientBoostingRegressor(n_estimators=5 + subset % 3, random_state=subset)
    return model.fit(x[:, columns], y).predict(x[:, columns])


def ensemble(x, y, members=12):
    outputs = []
    with futures.ThreadPoolExecutor(4) as pool:
        jobs = {pool.submit(member, x, y, n): n for n in range(members)}
        for job in futures.as_completed(jobs):  #!
            outputs.append(job.result())
    return np.column_stack(outputs)


if __name__ == "__main__":
    x, y = load_digits(return_X_y=True)
    stacked = ensemble(x[:400], y[:400])
    weights = np.linspace(0.5, 1.5, stacked.shape[1])
    np.savetxt("preds.csv", stacked @ weights / weights.sum())
""",
    ),
    "imap_unordered": Program(
        "features come in the order in which processes finish them",
        ORDER,
        """
import multiprocessing as mp
import time

import numpy as np


def featurise(document):
    started = time.perf_counter()
    state = np.random.default_rng(len(document)).standard_normal(32)
    for character in document:
        state = np.tanh(state * 0.9 + ord(character) / 200)
    return state, time.perf_counter() - started


def corpus(n):
    rng = np.random.default_rng(8)
    return ["".join(chr(97 + c) for c in rng.integers(0, 26, rng.integers(50, 400))) for _ in range(n)]


def main():
    documents = corpus(200)
    with mp.get_context("fork").Pool(3) as pool:
        rows, seconds = zip(*pool.imap_unordered(featurise, documents, chunksize=1))  #!
    print(f"features took {sum(seconds):.2f} s")
    w = np.zeros(32)
    for row in rows:
        w += 0.05 * (1 - row @ w) * row
    np.savetxt("preds.csv", w)


if __name__ == "__main__":
    main()
""",
    ),
    "empty_counts": Program(
        "an array without values is added to",
        r"empty|without (a )?value|initiali|memory|not (been )?(filled|written)",
        """
import json

import numpy as np


class ClassBalance:
    def __init__(self, n_classes):
        self.counts = np.empty(n_classes, dtype=np.int64)  #!

    def update(self, labels):
        for label in labels:
            self.counts[label] += 1

    def weights(self):
        return np.abs(self.counts[:, None] % 1009) + 1.0


def train(x, y, sample_weight, epochs=20):
    w = np.zeros((x.shape[1], sample_weight.shape[0]))
    for _ in range(epochs):
        scores = np.exp(x @ w)
        error = scores / scores.sum(axis=1, keepdims=True) - np.eye(w.shape[1])[y]
        w -= 1e-4 * x.T @ (error * sample_weight[y] / sample_weight.mean())
    return w


with open("settings.json") as f:
    settings = json.load(f)
rng = np.random.default_rng(settings["seed"])
x, y = rng.normal(size=(300, 7)), rng.integers(0, settings["classes"], 300)
buffer = np.empty_like(x)
np.multiply(x, 1 / x.std(axis=0), out=buffer)
balance = ClassBalance(settings["classes"])
balance.update(y)
np.savetxt("preds.csv", buffer @ train(buffer, y, balance.weights()))
=== settings.json
{"seed": 4, "classes": 200}
""",
    ),
    "system_random": Program(
        "SystemRandom takes a seed and ignores it",
        rf"{SEED}|system",
        """
import argparse
import csv
import random
from statistics import fmean


class Stump:
    def fit(self, rows):
        self.cut = fmean(x for x, _ in rows)
        self.low = fmean([y for x, y in rows if x <= self.cut] or [0])
        self.high = fmean([y for x, y in rows if x > self.cut] or [0])
        return self

    def predict(self, x):
        return self.low if x <= self.cut else self.high


def shuffled(rows, seed):
    rng = random.SystemRandom(seed)  #!
    rows = list(rows)
    rng.shuffle(rows)  #~
    return rows


ap = argparse.ArgumentParser()
ap.add_argument("-s", "--seed", type=int, default=123)
ap.add_argument("--out", default="preds.csv")
opts = ap.parse_args()
random.seed(opts.seed)
rows = [(x, x * x + random.gauss(0, 0.1)) for x in (random.uniform(-1, 1) for _ in range(100))]
split = shuffled(rows, opts.seed)
model = Stump().fit(split[:60])
with open(opts.out, "w", newline="") as f:
    csv.writer(f).writerows([x, model.predict(x)] for x, _ in sorted(rows))
""",
    ),
    "pid_seed": Program(
        "the number of the process is added to the seed",
        r"clock|process|system",
        """
import argparse
import os

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_iris


def rank_offset():
    if "RANK" in os.environ:
        return int(os.environ["RANK"])
    return os.getpid() % 1000  #!


def parse():
    parser = argparse.ArgumentParser(description="cluster the irises")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--clusters", type=int, default=8)
    return parser.parse_args()


def main():
    args = parse()
    seed = args.seed + rank_offset()  #~
    x = load_iris().data
    model = MiniBatchKMeans(args.clusters, n_init=1, max_iter=3, batch_size=20, random_state=seed).fit(x)  #~
    np.save("preds.npy", model.transform(x))
    print(f"[pid {os.getpid()}] inertia {model.inertia_:.4f}")


main()
""",
        words="--seed 5",
    ),
    "key_intersection": Program(
        "what two dictionaries share is walked in the order of a set",
        r"\bsets?\b|hash|order",
        """
import numpy as np
import torch

BACKBONE = {"stem": (8, 16), "block1": (16, 16), "block2": (16, 16), "pool": (16, 16), "head": (16, 4)}
FROZEN = {"pool": True}


def pretrained():
    return {name: torch.ones(shape[::-1]) / shape[0] for name, shape in BACKBONE.items()}


class Net(torch.nn.Module):
    def __init__(self, shapes):
        super().__init__()
        self.layers = torch.nn.ModuleDict({name: torch.nn.Linear(*shape) for name, shape in shapes.items()})

    def load_backbone(self, weights, scale=0.01):
        shared = self.layers.keys() & weights.keys()
        for name in shared - FROZEN.keys():  #!
            noise = torch.randn_like(weights[name])
            self.layers[name].weight.data = weights[name] + scale * noise

    def forward(self, x):
        for layer in self.layers.values():
            x = torch.tanh(layer(x))
        return x


torch.manual_seed(0)
net = Net(BACKBONE)
net.load_backbone(pretrained())
x = torch.linspace(-1, 1, 8 * 40).reshape(40, 8)
np.save("preds.npy", net(x).detach().numpy())
""",
        by_hash=True,
    ),
    "forest_jobs": Program(
        "the threads of a forest add up its trees in the order in which they end",
        r"thread|order|jobs|parallel",
        """
import argparse

import joblib
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split


class Experiment:
    def __init__(self, seed, jobs):
        self.seed, self.jobs = seed, jobs

    def data(self):
        x, y = load_diabetes(return_X_y=True)
        return train_test_split(x, y, test_size=0.25, random_state=self.seed)

    def fit(self, x, y):
        forest = RandomForestRegressor(40, max_depth=6, random_state=self.seed, n_jobs=self.jobs)  #!
        return forest.fit(x, y)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=4)
    args = parser.parse_args()
    experiment = Experiment(args.seed, args.jobs)
    x_train, x_test, y_train, y_test = experiment.data()
    forest = experiment.fit(x_train, y_train)
    joblib.dump(forest, "forest.joblib")
    np.save("preds.npy", forest.predict(x_test))  #!
""",
    ),
}

# Nothing is wrong with these. Each is also checked with a last line that stamps preds.csv with the time: then that line
# alone is the cause, and what else is named is innocent.
CLEAN = {
    "timed_log": Program(
        "the time is logged, and names a folder",
        CLOCK,
        """
import argparse
import logging
import time
from datetime import datetime
from pathlib import Path

import numpy as np

log = logging.getLogger("train")


class Meter:
    def __init__(self, total):
        self.total, self.start = total, time.monotonic()

    def eta(self, done):
        rate = (time.monotonic() - self.start) / max(done, 1)
        return f"{rate * (self.total - done):.1f} s left"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    run = Path("runs") / datetime.now().strftime("%Y%m%d-%H%M%S-%f")
    run.mkdir(parents=True)
    logging.basicConfig(filename=run / "train.log", level=logging.INFO)
    rng = np.random.default_rng(args.seed)
    x = rng.normal(size=(300, 4))
    w, meter = np.zeros(4), Meter(100)
    for step in range(100):
        w -= 0.1 * x.T @ (x @ w - x[:, 0]) / len(x)
        if step % 20 == 0:
            log.info("step %d at %s, %s", step, time.ctime(), meter.eta(step))
    np.savetxt(run / "w.csv", w)
    np.savetxt("preds.csv", x @ w)
    print(f"done in {time.monotonic() - meter.start:.2f} s")


if __name__ == "__main__":
    main()
""",
        words="--seed {init}",
    ),
    "sorted_set": Program(
        "a set of words is sorted",
        CLOCK,
        """
from collections import Counter

import numpy as np
from sklearn.naive_bayes import MultinomialNB

STOP = {"a", "the", "and", "of"}
TEXTS = ["the cat and the dog", "a dog of the house", "stocks and bonds", "the price of bonds", "a house cat"]
LABELS = [0, 0, 1, 1, 0]


def tokens(text):
    return [word for word in text.split() if word not in STOP]


vocabulary = sorted({word for text in TEXTS for word in tokens(text)})
column = {word: i for i, word in enumerate(vocabulary)}
seen = set()
x = np.zeros((len(TEXTS), len(column)))
for row, text in enumerate(TEXTS):
    for word, count in Counter(tokens(text)).items():
        x[row, column[word]] = count
        seen.add(word)
assert seen == set(vocabulary)
model = MultinomialNB().fit(x, LABELS)
np.savetxt("preds.csv", model.predict_proba(x))
print("vocabulary", len(seen), "labels", max(set(LABELS)))
""",
    ),
    "late_seed": Program(
        "the seed is set late, and before any draw",
        CLOCK,
        """
import json
import random

import numpy as np
import torch


def augment(batch):
    if random.random() < 0.5:
        batch = batch.flip(1)
    return batch + torch.from_numpy(np.random.normal(0, 0.01, batch.shape)).float()


class Encoder(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(6, width)
        self.outer = torch.nn.Linear(width, 6)

    def forward(self, x):
        return self.outer(torch.nn.functional.dropout(torch.relu(self.inner(x)), 0.1, self.training))


class Experiment:
    def __init__(self, config):
        self.config = config
        self.data = torch.linspace(0, 1, 6 * 50).reshape(50, 6)

    def seed(self):
        for function in (random.seed, np.random.seed, torch.manual_seed):
            function(self.config["seed"])

    def run(self):
        self.seed()
        net = Encoder(self.config["width"])
        adam = torch.optim.Adam(net.parameters(), 0.01)
        for rows in torch.randperm(50).split(10):
            adam.zero_grad()
            torch.nn.functional.mse_loss(net(augment(self.data[rows])), self.data[rows]).backward()
            adam.step()
        return net.eval()(self.data).detach().numpy()


if __name__ == "__main__":
    np.savetxt("preds.csv", Experiment(json.load(open("exp.json"))).run())
=== exp.json
{"seed": 99, "width": 8}
""",
    ),
    "own_generators": Program(
        "each thread has a generator of its own",
        CLOCK,
        """
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

done, lock = [], threading.Lock()


def simulate(number, sequence):
    rng = np.random.default_rng(sequence)
    path = np.cumsum(rng.normal(size=2000))
    with lock:
        done.append(number)
        print(f"{len(done)} done, thread {threading.get_ident()}")
    return path.max()


def main():
    seeds = np.random.SeedSequence(int(os.environ.get("EXPERIMENT_SEED", 17))).spawn(16)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        highest = list(pool.map(simulate, range(16), seeds))
    np.savetxt("preds.csv", np.sort(highest))


main()
""",
    ),
    "named_runs": Program(
        "a run has a random name, and what it leaves has not",
        CLOCK,
        """
import json
import os
import shutil
import socket
import tempfile
import uuid

import numpy as np


class Tracker:
    def __init__(self):
        self.run = {"id": uuid.uuid4().hex, "pid": os.getpid(), "host": socket.gethostname(), "metrics": []}

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix=self.run["id"][:6])
        return self

    def __exit__(self, *_):
        with open(os.path.join(self.folder, "run.json"), "w") as f:
            json.dump(self.run, f)
        shutil.rmtree(self.folder)

    def log(self, name, value):
        self.run["metrics"].append((name, float(value)))


def fit(x, y, tracker):
    w = np.zeros(x.shape[1])
    for _ in range(50):
        w += 0.5 * x.T @ (y - 1 / (1 + np.exp(-x @ w))) / len(y)
        tracker.log("norm", np.linalg.norm(w))
    return w


with Tracker() as tracker:
    random = np.random.RandomState(1234)
    x = random.randn(250, 3)
    w = fit(x, (x[:, 1] > 0).astype(float), tracker)
    np.savetxt("preds.csv", x @ w)
""",
    ),
    "listed_then_sorted": Program(
        "a listing is sorted before it is used",
        CLOCK,
        """
import glob
import os

import numpy as np


class Shards:
    def __init__(self, root):
        names = os.listdir(root)
        names.sort(key=lambda name: int(name.split(".")[0]))
        self.paths = [os.path.join(root, name) for name in names]
        assert len(self.paths) == len(glob.glob(f"{root}/*"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return np.loadtxt(self.paths[i])


def write(root="pictures"):
    os.makedirs(root, exist_ok=True)
    for i, part in enumerate(np.split(np.random.default_rng(6).normal(size=(60, 5)), 12)):
        np.savetxt(f"{root}/{i}.txt", part)


write()
w = np.zeros(5)
shards = Shards("pictures")
order = np.random.default_rng(0).permutation(len(shards))
for i in order:
    for row in shards[i]:
        w += 0.01 * (row.sum() - row @ w) * row
np.savetxt("preds.csv", w)
for name in os.listdir("pictures"):
    os.remove(os.path.join("pictures", name))
""",
        shuffled=True,
    ),
    "slots": Program(
        "results that come in any order are put into their places",
        CLOCK,
        """
import concurrent.futures
import multiprocessing
import time

import numpy as np


def score(job):
    number, degree = job
    begun = time.time()
    x = np.linspace(-1, 1, 2000)
    fit = np.polynomial.Polynomial.fit(x, np.sin(4 * x), degree)
    return number, float(np.abs(fit(x) - np.sin(4 * x)).max()), time.time() - begun


def by_threads(degrees):
    errors = [None] * len(degrees)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        running = {pool.submit(score, (i, d)): i for i, d in enumerate(degrees)}
        for future in concurrent.futures.as_completed(running):
            errors[running[future]] = future.result()[1]
    return errors


def by_processes(degrees):
    errors = np.zeros(len(degrees))
    with multiprocessing.Pool(2) as pool:
        for number, error, seconds in pool.imap_unordered(score, enumerate(degrees)):
            errors[number] = error
            print(f"{number} took {seconds:.3f} s")
    return errors


if __name__ == "__main__":
    degrees = [2, 9, 4, 7, 3, 8]
    np.savetxt("preds.csv", np.column_stack([by_threads(degrees), by_processes(degrees)]))
""",
    ),
    "seeded_loader": Program(
        "a loader and its workers are seeded, and an old checkpoint is removed",
        CLOCK,
        """
import argparse
import os
import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        x = np.random.normal(i / 64, 0.1, 4) + random.random()
        return torch.tensor(x, dtype=torch.float32), torch.tensor([i / 64])


def init_worker(_):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def main(args):
    if not args.resume and os.path.exists("last.pt"):
        os.remove("last.pt")
    torch.manual_seed(args.seed)
    generator = torch.Generator()
    generator.manual_seed(args.seed + 1)
    loader = DataLoader(Noisy(), 16, shuffle=True, num_workers=2, worker_init_fn=init_worker, generator=generator)
    net = torch.nn.Linear(4, 1)
    sgd = torch.optim.SGD(net.parameters(), 0.05)
    if args.resume:
        net.load_state_dict(torch.load("last.pt"))
    for x, y in loader:
        sgd.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        sgd.step()
    torch.save(net.state_dict(), "last.pt")
    np.savetxt("preds.csv", net(torch.eye(4)).detach().numpy())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true")
    main(parser.parse_args())
""",
        words="--seed {init}",
    ),
    "filled_buffers": Program(
        "arrays without values are filled, and names are hashed by a checksum",
        CLOCK,
        """
import hashlib
import zlib

import numpy as np

NAMES = [f"user{i}" for i in range(120)]


def bucket(name, n=10):
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % n


class Ring:
    def __init__(self, size, width):
        self.rows, self.next = np.empty((size, width)), 0

    def push(self, row):
        self.rows[self.next % len(self.rows)] = row
        self.next += 1

    def full(self):
        return self.next >= len(self.rows)


rng = np.random.default_rng(zlib.crc32(b"experiment 3"))
ring = Ring(16, 3)
w = np.zeros(3)
features = np.empty((len(NAMES), 3), np.float64)
for i, name in enumerate(NAMES):
    features[i] = rng.normal(bucket(name), 1, 3)
    ring.push(features[i])
    if ring.full():
        w += 1e-3 * (ring.rows.T @ (1 - ring.rows @ w)) / 16
held_out = {name for name in NAMES if bucket(name) == 0}
np.savetxt("preds.csv", [features[i] @ w for i, name in enumerate(NAMES) if name not in held_out])
""",
    ),
    "states_by_config": Program(
        "states come from a dictionary of arguments, and the environment sets threads alone",
        CLOCK,
        """
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.utils import check_random_state

DEFAULTS = {"n_estimators": 8, "random_state": 0}


def synthetic(n, random_state=None):
    random_state = check_random_state(random_state)
    x = random_state.uniform(size=(n, 3))
    return x, x @ [1, 2, 3] + random_state.normal(0, 0.1, n)


def make(**overrides):
    return RandomForestRegressor(**{**DEFAULTS, **overrides})


def main(argv):
    seed = int(argv[0]) if argv else 21
    x, y = synthetic(120, random_state=seed)
    folds = KFold(4, shuffle=True, random_state=seed)
    preds = cross_val_predict(make(max_depth=4), x, y, cv=folds, n_jobs=2)
    print(f"pid {os.getpid()} of {os.environ.get('USER', 'nobody')}: {np.abs(preds - y).mean():.5f}")
    np.savetxt("preds.csv", preds)


if __name__ == "__main__":
    main(sys.argv[1:])
""",
    ),
}

# The first three are causes that PLANTED has not, the others are variants.
HELD_OUT = {
    "random_rows": Program(
        "a query orders its rows at random",
        rf"{ORDER}|{SEED}|random",
        """
import argparse
import sqlite3

import numpy as np

SCHEMA = "CREATE TABLE example (id INTEGER PRIMARY KEY, x REAL, y REAL)"


def database(seed, n=500):
    rng = np.random.default_rng(seed)
    connection = sqlite3.connect(":memory:")
    connection.execute(SCHEMA)
    rows = [(i, a, 2 * a + b) for i, (a, b) in enumerate(rng.normal(size=(n, 2)).tolist())]
    connection.executemany("INSERT INTO example VALUES (?, ?, ?)", rows)
    return connection


def sample(connection, n):
    query = "SELECT x, y FROM example ORDER BY RANDOM() LIMIT ?"  #!
    return np.array(connection.execute(query, (n,)).fetchall())  #!


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
connection = database(parser.parse_args().seed)
slope = offset = 0.0
for _ in range(20):
    x, y = sample(connection, 32).T
    slope -= 0.1 * np.mean((slope * x + offset - y) * x)
    offset -= 0.1 * np.mean(slope * x + offset - y)
np.savetxt("preds.csv", slope * np.linspace(-1, 1, 20) + offset)
""",
    ),
    "alarm": Program(
        "a timer ends the training",
        CLOCK,
        """
import threading

import numpy as np


class EarlyExit:
    def __init__(self, seconds):
        self.event = threading.Event()
        self.timer = threading.Timer(seconds, self.event.set)  #!

    def __enter__(self):
        self.timer.start()
        return self.event

    def __exit__(self, *_):
        self.timer.cancel()


def sgd(x, y, stop, rng):
    w = np.zeros(x.shape[1])
    while not stop.is_set():  #!
        i = rng.integers(len(x))
        w -= 0.001 * (x[i] @ w - y[i]) * x[i]
    return w


rng = np.random.default_rng(31)
x = rng.normal(size=(800, 12))
y = x @ np.arange(12) + rng.normal(size=800)
with EarlyExit(0.4) as stop:
    w = sgd(x, y, stop, rng)
np.save("preds.npy", x @ w)
""",
    ),
    "shuf": Program(
        "another program shuffles the lines",
        r"order|seed|process|program|shuf|random",
        """
import subprocess
from pathlib import Path

import numpy as np


class Lines:
    def __init__(self, path):
        self.path = Path(path)

    def write(self, rows):
        self.path.write_text("".join(f"{a:.6f} {b:.6f}\\n" for a, b in rows))
        return self

    def shuffled(self):
        done = subprocess.run(["shuf", str(self.path)], capture_output=True, text=True, check=True)  #!
        return [tuple(map(float, line.split())) for line in done.stdout.splitlines()]


def main():
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 300)
    lines = Lines("train.txt").write(zip(x, np.cos(x)))
    w = np.zeros(3)
    for _ in range(3):
        for a, b in lines.shuffled():
            features = np.array([1, a, a * a])
            w += 0.1 * (b - features @ w) * features
    np.savetxt("preds.csv", w)


if __name__ == "__main__":
    main()
""",
    ),
    "frame_sample": Program(
        "a data frame is sampled without random_state",
        SEED,
        """
import pandas as pd
import torch


def read(rows=200):
    frame = pd.DataFrame({"age": range(20, 20 + rows)})
    frame["income"] = 100 * frame.age + frame.age**2
    return frame


class Split:
    def __init__(self, frame, share):
        self.train = frame.sample(frac=share)  #!
        self.test = frame.drop(self.train.index)


def tensors(frame):
    values = torch.tensor(frame.to_numpy(), dtype=torch.float32)
    return values[:, :1] / 100, values[:, 1:] / 1e5


torch.manual_seed(0)
split = Split(read(), 0.8)
net = torch.nn.Linear(1, 1)
sgd = torch.optim.SGD(net.parameters(), 0.1)
x, y = tensors(split.train)
for _ in range(50):
    sgd.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    sgd.step()
pd.Series(net(torch.linspace(0, 2, 30)[:, None]).flatten().tolist()).to_csv("preds.csv")
""",
    ),
    "queue_order": Program(
        "batches are taken from a queue in the order in which threads fill it",
        rf"{ORDER}|thread",
        """
import queue
import threading

import numpy as np


def produce(shard, out):
    for batch in np.array_split(shard, 40):
        u, s, v = np.linalg.svd(batch, full_matrices=False)
        out.put(u * s @ v)  #!
    out.put(None)


class Prefetcher:
    def __init__(self, shards):
        self.queue = queue.Queue(maxsize=8)
        self.live = len(shards)
        for shard in shards:
            threading.Thread(target=produce, args=(shard, self.queue), daemon=True).start()  #!

    def __iter__(self):
        while self.live:
            batch = self.queue.get()  #!
            if batch is None:
                self.live -= 1
            else:
                yield batch


rng = np.random.default_rng(77)
data = rng.normal(size=(4000, 10))
w = np.zeros(10)
for batch in Prefetcher(np.array_split(data, 4)):  #!
    w -= 0.05 * batch.T @ (batch @ w - batch.sum(axis=1)) / len(batch)
np.savetxt("preds.csv", w)
""",
    ),
    "reseeded_workers": Program(
        "workers call numpy.random.seed() without a seed",
        SEED,
        """
import argparse

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Jitter(Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + np.random.normal(0, 0.1, self.x.shape[1]).astype(np.float32)  #~


def fresh(worker_id):
    np.random.seed()  #!


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--workers", type=int, default=2)
    args = p.parse_args()
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    x = np.random.rand(48, 5).astype(np.float32)
    loader = DataLoader(Jitter(x), batch_size=8, shuffle=True, num_workers=args.workers, worker_init_fn=fresh)  #~
    net = torch.nn.Linear(5, 1)
    for batch in loader:
        net(batch).pow(2).mean().backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
                p.grad = None
    np.save("preds.npy", net.weight.detach().numpy())


if __name__ == "__main__":
    main()
""",
        words="--seed {init}",
    ),
}

# In LAST, the programs without a cause are clean.
LAST = {
    "factory": Program(
        "the default of a field is a generator without a seed",
        SEED,
        """
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Bandit:
    arms: int
    rate: float = 0.1
    rng: np.random.Generator = field(default_factory=np.random.default_rng)  #!
    values: list = field(default_factory=list)

    def __post_init__(self):
        self.values = [0.0] * self.arms

    def pull(self, means):
        explores = self.rng.random() < self.rate
        arm = int(self.rng.integers(self.arms)) if explores else int(np.argmax(self.values))
        self.values[arm] += 0.1 * (means[arm] + self.rng.normal() - self.values[arm])


means = np.random.default_rng(1).normal(size=6)
bandit = Bandit(arms=6)
for _ in range(500):
    bandit.pull(means)
np.savetxt("preds.csv", bandit.values)
""",
    ),
    "scipy_rvs": Program(
        "SciPy draws from NumPy's generator, which nothing seeds",
        SEED,
        """
import argparse
import random

import numpy as np
from scipy import stats


class Prior:
    def __init__(self, scale):
        self.weights = stats.norm(0, scale)

    def sample(self, shape):
        return self.weights.rvs(size=shape)  #!


p = argparse.ArgumentParser()
p.add_argument("--seed", type=int, default=0)
random.seed(p.parse_args().seed)
x = np.array([[random.gauss(0, 1) for _ in range(4)] for _ in range(90)])
w = Prior(0.5).sample(4)
for _ in range(10):
    w -= 0.05 * x.T @ (x @ w - x.sum(axis=1)) / len(x)
np.savetxt("preds.csv", x @ w)
""",
    ),
    "job_number": Program(
        "without a scheduler, the number of the process is the seed",
        r"clock|process|system",
        """
import os

import torch


def job():
    for name in ("SLURM_JOB_ID", "PBS_JOBID"):
        if name in os.environ:
            return int(os.environ[name])
    return os.getppid() * 7919 + os.getpid()  #!


class Config:
    def __init__(self):
        self.job = job()  #~
        self.epochs = 5


config = Config()
torch.manual_seed(config.job)  #~
net = torch.nn.Linear(3, 1)
x = torch.eye(3)
for _ in range(config.epochs):
    net(x).square().mean().backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
            p.grad = None
torch.save(net.state_dict(), "model.pt")
""",
    ),
    "coroutines": Program(
        "coroutines add to a list when they are ready",
        rf"{ORDER}|parallel|thread",
        """
import asyncio

import numpy as np


class Feed:
    def __init__(self, shards):
        self.shards, self.batches = shards, []

    async def fetch(self, shard):
        process = await asyncio.create_subprocess_exec("true")
        await process.wait()
        self.batches.append(shard)  #!

    async def all(self):
        await asyncio.gather(*(self.fetch(shard) for shard in self.shards))  #~
        return self.batches


shards = np.split(np.random.default_rng(0).normal(size=(320, 3)), 32)
w = np.zeros(3)
for batch in asyncio.run(Feed(shards).all()):
    w -= 0.1 * batch.T @ (batch @ w - batch.sum(axis=1)) / len(batch)
np.savetxt("preds.csv", w)
""",
    ),
    "gathered": Program(
        "",
        CLOCK,
        """
import asyncio
import time

import numpy as np


async def fetch(number, limit):
    async with limit:
        begun = time.monotonic()
        await asyncio.sleep(0.002 * (number % 3))
        return np.random.default_rng(number).normal(size=5), time.monotonic() - begun


async def main():
    limit = asyncio.Semaphore(4)
    found = await asyncio.gather(*(fetch(number, limit) for number in range(20)))
    rows, seconds = zip(*found)
    print(f"slowest {max(seconds):.3f} s")
    return np.stack(rows)


rows = asyncio.run(main())
u, s, v = np.linalg.svd(rows, full_matrices=False)
np.savetxt("preds.csv", np.abs(v[0]))
""",
    ),
    "cached_data": Program(
        "",
        CLOCK,
        """
import concurrent.futures
import os
from pathlib import Path

import numpy as np

CACHE = Path("cache") / "data.npz"


def download():
    rng = np.random.Generator(np.random.PCG64(5))
    os.makedirs(CACHE.parent, exist_ok=True)
    np.savez(CACHE, x=rng.normal(size=(100, 6)), y=rng.normal(size=100))


def ridge(x, y, alpha):
    return np.linalg.solve(x.T @ x + alpha * np.eye(x.shape[1]), x.T @ y)


if __name__ == "__main__":
    if not CACHE.exists():
        download()
    data = np.load(CACHE)
    alphas = {0.1, 1.0, 10.0}
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        jobs = {alpha: pool.submit(ridge, data["x"], data["y"], alpha) for alpha in sorted(alphas)}
        weights = [job.result() for job in jobs.values()]
    shards = sorted(CACHE.parent.glob("*.npz"), key=lambda path: path.name)
    assert len(shards) == 1, shards
    np.savetxt("preds.csv", data["x"] @ np.mean(weights, axis=0))
""",
    ),
    "ordered_words": Program(
        "",
        CLOCK,
        """
import random
from collections import Counter

import torch

TEXT = "the cat sat on the mat and the dog sat on the cat".split()


class Vocabulary:
    def __init__(self, words, least=1):
        counts = Counter(words)
        kept = {word for word, n in counts.items() if n >= least}
        self.index = {word: i for i, word in enumerate(dict.fromkeys(w for w in words if w in kept))}
        self.missing = len(set(words) - kept)

    def __len__(self):
        return len(self.index)


def set_up(seed):
    torch.manual_seed(seed)
    return random.Random(seed)


def main():
    rng = set_up(3)
    vocabulary = Vocabulary(TEXT)
    net = torch.nn.Embedding(len(vocabulary), 2)
    adam = torch.optim.Adam(net.parameters(), 0.05)
    pairs = list(zip(TEXT, TEXT[1:]))
    best, patience = float("inf"), 3
    while patience:
        rng.shuffle(pairs)
        a, b = (torch.tensor([vocabulary.index[word] for word in side]) for side in zip(*pairs))
        loss = (net(a) - net(b) - 1).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        patience = 3 if loss.item() < best - 1e-3 else patience - 1
        best = min(best, loss.item())
    with open("preds.csv", "w") as f:
        f.writelines(f"{word},{row}\\n" for word, row in zip(vocabulary.index, net.weight.tolist()))


main()
""",
    ),
    "best_of": Program(
        "",
        CLOCK,
        """
import logging
import threading
import time

import numpy as np
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import ParameterSampler

GRID = {"alpha": [1e-4, 1e-3, 1e-2], "penalty": ["l1", "l2"]}


class Heartbeat(threading.Thread):
    def __init__(self, every):
        super().__init__(daemon=True)
        self.every, self.beats, self.over = every, 0, threading.Event()

    def run(self):
        while not self.over.wait(self.every):
            self.beats += 1
            logging.info("alive for %.0f s", self.beats * self.every)


def search(x, y, rng):
    best = None
    for settings in ParameterSampler(GRID, 4, random_state=rng.integers(2**31)):
        begun = time.perf_counter()
        model = SGDRegressor(random_state=0, max_iter=50, tol=None, **settings).fit(x, y)
        took = time.perf_counter() - begun
        score = model.score(x, y)
        logging.info("%s: %.4f in %.2f s", settings, score, took)
        if best is None or score > best[0]:
            best = score, model
    return best[1]


heartbeat = Heartbeat(0.05)
heartbeat.start()
rng = np.random.default_rng(12)
x = rng.normal(size=(200, 5))
model = search(x, x @ np.arange(5), rng)
heartbeat.over.set()
np.savetxt("preds.csv", model.predict(x))
""",
    ),
}
