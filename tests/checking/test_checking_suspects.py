"""What is often forgotten is found in a program's text, with its file and line; what is right is not suspected."""

import pytest

from toolnoise.checking import program_text, suspects
from toolnoise.checking.causes import CAUSES, LIKELY, POSSIBLE, SURE, UNLIKELY


@pytest.fixture
def found(tmp_path):
    """The suspicions about a script: cause, line and weight."""

    def read(text):
        (tmp_path / "train.py").write_text(text)
        words = ["python", "train.py"]
        return [(one.cause, one.line, one.weight) for one in suspects.suspects(program_text.sources(words, tmp_path))]

    return read


SCOPED = "import torch\nfrom torch.utils.data import DataLoader\nwith torch.random.fork_rng():\n torch.manual_seed(1)\n"
# A class with a layer in line 4, and a function that seeds PyTorch; the program goes on in line 6.
NETWORK = (
    "import torch\nfrom torch import nn\nclass Net(nn.Module):\n"
    " def __init__(self): self.a = nn.Linear(2, 2)\ndef fix(s): torch.manual_seed(s)\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import numpy as np\nnp.random.rand(3)", [("numpy", 2, SURE)]),
        ("from numpy.random import default_rng as new\nnew()", [("numpy", 2, SURE)]),
        ("import numpy\nnumpy.random.RandomState(None)", [("numpy", 2, SURE)]),
        ("import numpy as np\nnp.random.seed()\n", [("numpy", 2, SURE)]),
        ("import random\nrandom.shuffle([])", [("random", 2, SURE)]),
        ("import random\nrandom.SystemRandom().random()", [("random", 2, SURE)]),
        ("import torch\nx = torch.randn(3)", [("torch", 2, SURE)]),
        ("from torch import nn\nnn.Linear(2, 2)", [("torch", 2, SURE)]),
        ("import torch\nmodel = torch.nn.Linear(2, 2)\ntorch.manual_seed(1)", [("torch", 2, SURE)]),
        (NETWORK + "def main():\n model = Net()\n fix(1)\nmain()", [("torch", 4, SURE), ("torch", 7, SURE)]),
        (NETWORK + "def main():\n fix(1)\n model = Net()\nmain()", [("torch", 4, UNLIKELY)]),
        (NETWORK + "fix(0)\ndef main():\n model = Net()\n fix(1)\nmain()", [("torch", 4, UNLIKELY)]),
        (SCOPED + "DataLoader([], 4, True)", [("loader", 5, SURE)]),
        (SCOPED + "DataLoader([], shuffle=options.shuffle)", [("loader", 5, SURE)]),
        (
            "import torch\ntorch.manual_seed(1)\ntorch.utils.data.DataLoader([], shuffle=True)",
            [("loader", 3, UNLIKELY)],
        ),
        (
            "from torch.utils.data import DataLoader\nDataLoader([], num_workers=2, generator=g)\n"
            "DataLoader([], num_workers=2)",
            [("workers", 3, POSSIBLE)],
        ),
        (SCOPED + "model.eval()\ntorch.nn.functional.dropout(x)", [("dropout", 6, LIKELY)]),
        (
            SCOPED + " loss.backward()\nd = torch.nn.Dropout(0.5)",
            [("dropout", 6, POSSIBLE), ("evaluation", 6, POSSIBLE)],
        ),
        ("for x in set(words): pass", [("set", 1, LIKELY)]),
        ("words = {f() for x in y}\norder = list(words)", [("set", 2, LIKELY)]),
        ("a = [x for x in set(y) - {1}]", [("set", 1, LIKELY)]),
        ("seed = hash('a')", [("hash", 1, LIKELY)]),
        ("import time, torch\ntorch.manual_seed(int(time.time()))", [("clock", 2, SURE)]),
        ("import time\nnow = time.time_ns()\nrun(seed=now)", [("clock", 3, SURE)]),
        ("import uuid\nseed = uuid.uuid4().int", [("clock", 2, SURE)]),
        ("import os\nimport numpy as np\nrng = np.random.default_rng(os.getpid())", [("clock", 3, SURE)]),
        ("from datetime import datetime\nrng = f(datetime.now().microsecond)", [("clock", 2, SURE)]),
        ("import numpy as np, zlib\nnp.random.default_rng(zlib.crc32(args.out.encode()))", [("path", 2, LIKELY)]),
        ("import os\nseed = len(os.environ['TOOLNOISE_OUT'])", [("path", 2, LIKELY)]),
        ("for x in pool.imap_unordered(f, y): pass", [("parallel", 1, LIKELY)]),
        ("import os\nfor x in os.listdir('.'): pass", [("files", 2, LIKELY)]),
        ("import numpy as np\nx = np.random.rand(3)\nnp.random.seed(1)", [("numpy", 2, SURE)]),
        ("import torch\nif a.seed: torch.manual_seed(a.seed)\nx = torch.rand(2)", [("torch", 3, POSSIBLE)]),
        ("import time\ndef now():\n return int(time.time())\nseed = now()", [("clock", 3, SURE), ("clock", 4, SURE)]),
        (
            "import tempfile\nimport numpy as np\ndef stage():\n to = tempfile.mkdtemp()\n return to\n"
            "rng = np.random.default_rng(crc(stage()))",
            [("clock", 4, SURE), ("clock", 6, SURE)],
        ),
        (
            "import time\nclass Budget:\n def over(self): return time.time() - self.t > 9\n"
            "while not Budget().over(): step()",
            [("time", 3, LIKELY), ("time", 4, LIKELY)],
        ),
        ("query = 'SELECT x FROM y ORDER BY RANDOM() LIMIT 9'", [("outside", 1, LIKELY)]),
        ("import subprocess\nsubprocess.run(['shuf', name])", [("outside", 2, LIKELY)]),
        ("seed = open('/dev/urandom', 'rb').read(4)", [("outside", 1, LIKELY)]),
        ("from scipy import stats\nx = stats.norm(0, 1).rvs(9)", [("numpy", 2, SURE)]),
        (
            "import numpy as np\nclass A:\n rng: object = field(default_factory=np.random.default_rng)",
            [("numpy", 3, SURE)],
        ),
        (
            "import asyncio\nasync def get(x):\n y = await f(x)\n all.append(y)\n"
            "async def main(): await asyncio.gather(*(get(x) for x in names))",
            [("race", 4, LIKELY)],
        ),
        ("import os\nn = os.sysconf('SC_AVPHYS_PAGES') * share", [("time", 2, LIKELY)]),
        ("import time\nx = numbers(3) + time.time()", [("time", 2, LIKELY)]),
        ("import time, numpy as np\nx = np.full(3, time.time())", [("time", 2, LIKELY)]),
        ("import time\nend = time.time() + 9\nwhile time.time() < end: step()", [("time", 3, LIKELY)]),
        ("import time\nt = time.time()\nwhile True:\n if time.time() - t > 60: break", [("time", 4, LIKELY)]),
        (
            "from threading import Thread\nimport numpy as np\nrng = np.random.default_rng(1)\n"
            "def work(i): out[i] = rng.normal()\nThread(target=work, args=(1,)).start()",
            [("shared", 4, SURE)],
        ),
        (
            "from concurrent.futures import ThreadPoolExecutor\ndef add(i):\n total[0] += f(i)\n"
            "with ThreadPoolExecutor(4) as pool: list(pool.map(add, x))",
            [("race", 3, LIKELY)],
        ),
        (
            "from pathlib import Path\nimport torch\nif Path('last.pt').exists():\n"
            " model.load_state_dict(torch.load('last.pt'))",
            [("checkpoint", 4, LIKELY)],
        ),
        ("import torch\ndef worker(i):\n import numpy as np\n rng = np.random.default_rng()", [("numpy", 4, SURE)]),
        ("import torch\ntorch.backends.cudnn.benchmark = True\nx.to('cuda:0')", [("kernels", 2, LIKELY)]),
        ("from sklearn.model_selection import train_test_split as t\nt(x, test_size=1)", [("sklearn", 2, SURE)]),
        ("from keras import layers\nlayers.Input(3)\nlayers.Dense(2)", [("tensorflow", 3, SURE)]),
        ("from sklearn.cluster import KMeans\nKMeans(8)", [("sklearn", 2, SURE)]),
        ("from sklearn.model_selection import KFold\nKFold(5, shuffle=True)", [("sklearn", 2, SURE)]),
        # A helper seeds what its own text seeds, not what its name promises.
        (
            "import random\nimport numpy as np\ndef set_seed(s): np.random.seed(s)\nset_seed(1)\nnp.random.rand()\n"
            "random.random()",
            [("random", 6, SURE)],
        ),
        ("import torch\ng = torch.Generator()\ng.seed()", [("clock", 3, SURE)]),
        ("import pandas as pd\nx = pd.read_csv(f).sample(frac=1)", [("numpy", 2, SURE)]),
        ("for name in a.keys() - b.keys(): f(name)", [("set", 1, LIKELY)]),
        ("order = list(set().union(*rows))", [("set", 1, LIKELY)]),
        ("from concurrent.futures import wait\ndone, _ = wait(jobs)", [("parallel", 2, LIKELY)]),
        ("import signal\nsignal.alarm(60)", [("time", 2, POSSIBLE)]),
        ("words = set()\nfor x in y: words.add(x)\ncolumn = {w: i for i, w in enumerate(words)}", [("set", 3, LIKELY)]),
        ("def names(x): return {f(y) for y in x}\nfor name in names(a): pass", [("set", 2, LIKELY)]),
        (
            "class A:\n def __init__(self): self.a = set(b)\n def f(self):\n  for x in self.a: g(x)",
            [("set", 4, LIKELY)],
        ),
        ("first = sorted(nodes, key=lambda n: id(n))", [("time", 1, LIKELY)]),
        (
            "import uuid\nclass Run:\n def __init__(self): self.name = uuid.uuid4().hex\n"
            " def seed(self): return int(self.name, 16)",
            [("clock", 4, SURE)],
        ),
        ("import pandas as pd\nx['age'] = (pd.Timestamp.now() - x.born).dt.days", [("time", 2, LIKELY)]),
        (
            "import time\nfor f in ways:\n t = time.time()\n f()\n took = time.time() - t\n if took < best:\n"
            "  best, way = took, f",
            [("speed", 6, LIKELY)],
        ),
        (
            "import time\nimport numpy as np\ndef probe(b):\n t = time.time()\n f(b)\n return time.time() - t\n"
            "took = [probe(b) for b in sizes]\nbest = sizes[np.argmin(took)]",
            [("speed", 8, LIKELY)],
        ),
        ("import numpy as np\nrng = np.random.default_rng(config.get('seed'))", [("numpy", 2, POSSIBLE)]),
        (
            "import random\nclass A:\n def __init__(self, n, seed=None): self.rng = random.Random(seed)\nA(3)",
            [("random", 3, POSSIBLE)],
        ),
        (
            "import numpy as np\nparser.add_argument('--seed', type=int)\nrng = np.random.default_rng(args.seed)",
            [("numpy", 3, POSSIBLE)],
        ),
        ("import numpy as np\nv = np.empty(9)\nv += 1", [("memory", 2, LIKELY)]),
        ("import numpy as np\nv = np.empty(9)\nfor i in x: v[i] = 1", [("memory", 2, POSSIBLE)]),
        (
            "import os, torch\ndef load(m):\n if not os.path.exists('a'): return\n m.load_state_dict(torch.load('a'))",
            [("checkpoint", 4, LIKELY)],
        ),
        (
            "import pickle\ntry: model = pickle.load(f)\nexcept FileNotFoundError: model = g()",
            [("checkpoint", 2, LIKELY)],
        ),
        (
            "from threading import Thread\ndef work(i, q): q.put(f(i))\n[Thread(target=work, args=(i, q)) for i in x]",
            [("parallel", 2, LIKELY)],
        ),
        (
            "from multiprocessing import Pool\ndef work(i):\n with open('out', 'a') as f: f.write(i)\n"
            "with Pool(2) as pool: pool.map(work, x)",
            [("parallel", 3, LIKELY)],
        ),
        # What a pool calls may be an object, or a function with some arguments; a thread may be a class.
        (
            "from multiprocessing.pool import ThreadPool\nclass Crop:\n"
            " def __call__(self, x): return self.rng.normal()\n"
            "crop = Crop()\nwith ThreadPool(4) as pool: pool.map(crop, x)",
            [("shared", 3, SURE)],
        ),
        (
            "from functools import partial\nfrom multiprocessing.pool import ThreadPool\n"
            "def crop(rng, x): total[0] += x\n"
            "with ThreadPool(4) as pool: pool.map(partial(crop, 1), x)",
            [("race", 3, LIKELY)],
        ),
        (
            "from threading import Thread\nclass Work(Thread):\n def __init__(self, w): self.w = w\n"
            " def run(self):\n  self.w -= f(self.w)\n  self.n += 1\nall = [Work(weights) for i in x]",
            [("race", 5, LIKELY)],
        ),
        (
            "from concurrent.futures import as_completed as c\nfor f in c(x):\n n[i] = f\n i += 1",
            [("parallel", 2, LIKELY)],
        ),
        # A dictionary has its keys in the order in which they came.
        ("for i, y in pool.imap_unordered(f, x): out[i] = y\nout = {}", [("parallel", 1, POSSIBLE)]),
        (
            "from sklearn.svm import SVC\nfrom sklearn.ensemble import RandomForestClassifier\n"
            "known = {'svm': SVC, 'forest': RandomForestClassifier}\nknown[name](**options)",
            [("sklearn", 4, POSSIBLE)],
        ),
        (
            "from sklearn.ensemble import ExtraTreesRegressor\nExtraTreesRegressor(n_jobs=-1, random_state=0)",
            [("forest", 2, LIKELY)],
        ),
    ],
)
def test_what_was_forgotten_is_found(text, expected, found):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nnp.random.seed(s)\nnp.random.rand(3)\nnp.random.default_rng(0).random()",
        "import numpy as np\nrng: np.random.Generator = np.random.Generator(np.random.PCG64(s))",
        "import random\nrandom.Random(3).shuffle(x)\nrng = random.Random(x=1)",
        "from lightning import seed_everything as s\ns(1)\nimport numpy as np\nnp.random.rand(3)",
        "from torch.utils.data import DataLoader\nDataLoader(x, 4, shuffle=True, generator=g)\nDataLoader(x)",
        "from torch.utils.data import DataLoader\nDataLoader(x, 4, True, num_workers=2, **seeds.loader())",
        "for x in sorted(set(words)): pass\nn = len(set(words))\nok = sorted(f(x) for x in {*words})",
        "words = set(words)\nwords = sorted(words)\nfor x in words: pass",
        "for x in {1, 2, 3}: pass\nfor y in set(range(3)): pass\nz = {f(x) for x in set(y)}\nq = 'a' in set(b)",
        "import time\nstarted = time.time()\nprint(time.time() - started)",
        "import os\nfor x in sorted(os.listdir('.')): pass",
        "import time\nt = time.time()\nfor i in x: print(f'{i / (time.time() - t):.1f} a second')\nlog.append(t)",
        "import time\nlast = time.time()\nfor i in x:\n if time.time() - last > 10: print(i)",
        "from threading import Thread\ndef work(i): out[i] = f(i)\nThread(target=work, args=(1,)).start()",
        "import numpy as np\nfrom threading import Thread\ndef work(i):\n rng = np.random.default_rng(i)\n"
        " total = 0\n total += rng.normal()\n out[i] = total\nThread(target=work).start()",
        "import torch\nmodel.load_state_dict(torch.load('start.pt'))",
        "import torch\ntorch.backends.cudnn.benchmark = False",
        "from sklearn.model_selection import train_test_split as t\nt(x, random_state=0)",
        "import keras\nkeras.utils.set_random_seed(1)\nkeras.layers.Dense(2)",
        "def hash_of(x): return x.hash()",
        "class A:\n def __hash__(self): return hash(self.name)",
        # A name of one function is not that of another.
        "def f():\n words = set(a)\n return len(words)\ndef g(words): return ' '.join(words)",
        "import pandas as pd\nx.sample(frac=1, random_state=0)\nfrom concurrent.futures import wait\nwait(jobs)",
        "state = {id(p): 0 for p in x}\ny = state[id(p)]",
        "import time\nt = time.time()\ntimes.append(time.time() - t)\nprint(min(times))",
        "import uuid\nfrom pathlib import Path\nto = Path('logs') / uuid.uuid4().hex\n(to / 'log').write_text('x')",
        "import numpy as np\nv = np.empty(9)\nv[:] = x\nw = np.empty(3)\nnp.copyto(w, x)",
        "from threading import Thread\ndef work(q):\n for x in y: q.put(x)\nThread(target=work, args=(q,)).start()",
        "from sklearn import cluster, model_selection\nmodel_selection.KFold(5)\ncluster.KMeans(2, random_state=s)",
        "import random\ndef f(seed=None): return random.Random(seed)\nf(3)\nf(seed=4)",
        # A name of a module that is not imported, and a list that is sorted, or only counted, later.
        "import numpy as np\nrandom = np.random.RandomState(1)\nx = random.randn(3)",
        "import os\nnames = [x for x in os.listdir('a') if x != 'b']\nnames.sort()\nn = [f(x) for x in names]",
        "import os\nnames = os.listdir('a')\nfor x in sorted(names): f(x)\nprint(len(names), 'b' in os.listdir('a'))",
        "import os\nfor to, folders, names in os.walk('a'):\n folders.sort()\n for x in sorted(names): f(x)",
        "import os\nfor x in os.listdir('a'): os.remove(x)\nif not os.listdir('a'): os.rmdir('a')",
        "from multiprocessing.pool import ThreadPool\ndone = []\ndef work(i): done.append(i)\n"
        "with ThreadPool(4) as pool: pool.map(work, x)\nprint(len(done))",
        "from threading import Thread\nclass Work(Thread):\n def __init__(self, w, r): self.w, self.r = w, r\n"
        " def run(self): self.w += self.r.normal()\nall = [Work(w, r) for w, r in zip(x, y)]",
        "from concurrent.futures import as_completed as c\nfor f in c(jobs):\n out[jobs[f]] = f.result()\n print(f)",
        "out = []\nfor y in pool.imap_unordered(f, x): out.append(y)\nout.sort()",
        "from sklearn.cluster import KMeans\nKMeans(**{'random_state': 1, **more})",
        "from sklearn.ensemble import ExtraTreesRegressor as E\nE(n_jobs=1, random_state=0)\nE(random_state=0)",
        "import psutil\nfrom time import time\ndef f():\n t = time()\n return {'took': time() - t}\nx = f()['acc'] * 2",
        "'How to order by random()'\nrun(['shuf', name, '--random-source', key])\nx['shuf'] = 1",
        "from threading import Thread\ndef work(q): q.put(None)\n[Thread(target=work, args=(q,)) for i in x]",
        "from scipy import stats\nstats.norm.rvs(size=9, random_state=1)\nx = field(default_factory=list)",
        "import asyncio\nasync def get(x): return await f(x)\nasync def main(): return await asyncio.gather(get(1))",
        "import random, numpy as np\nfor f in (random.seed, np.random.seed): f(1)\nnp.random.rand()\nrandom.random()",
        "import numpy as np\nclass Data:\n def __getitem__(self, i): return np.random.rand()\n"
        "def begin(i): np.random.seed(i)\nload(Data(), worker_init_fn=begin)",
    ],
)
def test_what_is_right_is_not_suspected(text, found):
    assert found(text) == []


def test_an_option_that_the_command_gives_is_no_missing_seed(tmp_path):
    text = "import random\nparser.add_argument('-s', '--seed')\nrng = random.Random(args.seed)"
    (tmp_path / "train.py").write_text(text)
    text = program_text.sources(["python", "train.py"], tmp_path)
    for words, n in (([], 1), (["train.py", "--seed", "1"], 0), (["--seed=1"], 0), (["-s", "1"], 0)):
        assert len(suspects.suspects(text, words)) == n


def test_a_time_in_a_file_that_is_compared_is_suspected(tmp_path):
    text = (
        "import json, time\nscores = {'at': time.time(), 'accuracy': 1}\nwith open(%s, 'w') as f: json.dump(scores, f)"
    )
    for name, weights in (("'out/scores.json'", [LIKELY]), ("args.out", [POSSIBLE]), ("'log.json'", [])):
        (tmp_path / "train.py").write_text(text % name)
        found = suspects.suspects(program_text.sources(["train.py"], tmp_path), (), ["out/scores.json"])
        assert [(place.cause, place.line, place.weight) for place in found] == [("time", 3, each) for each in weights]


def test_local_modules_are_read_too(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "train.py").write_text("from mine import data\nimport json, torch\n")
    (tmp_path / "mine/__init__.py").write_text("")
    (tmp_path / "mine/data.py").write_text("from .words import all\nfrom . import words\n")
    (tmp_path / "mine/words.py").write_text("import train\n\nall = list(set(open('w')))\n")
    for words in (["python", "train.py"], ["python", "-u", "-m", "mine.data"]):
        text = program_text.sources(words, tmp_path)
        assert [(one.file, one.line) for one in suspects.suspects(text)] == [("mine/words.py", 3)]


def test_code_in_the_command_line_is_read_and_what_is_no_python_is_left(tmp_path):
    one = suspects.suspects(program_text.sources(["python", "-c", "for x in set('ab'): print(x)"], tmp_path))
    assert [(place.cause, place.file, place.line) for place in one] == [("set", "-c", 1)]
    (tmp_path / "old.py").write_text("print 'a'")
    (tmp_path / "escape.py").write_text(r"digits = '\d'")
    assert [one.file for one in program_text.sources(["old.py", "escape.py"], tmp_path)] == ["escape.py"]
    (tmp_path / "train.sh").write_text("python old.py")
    assert program_text.sources(["sh", "train.sh", "old.py", "not_there.py"], tmp_path) == []


def test_every_cause_says_what_to_do():
    for cause, about in CAUSES.items():
        assert about.says, cause
        assert about.remedy, cause
        assert about.source in ("", "init", "shuffle", "augment", "dropout", "impl"), cause


def test_an_option_that_the_program_never_reads_is_known(tmp_path):
    (tmp_path / "train.py").write_text(
        "parser.add_argument('--data-seed')\nparser.add_argument('--seed')\nf(args.seed)"
    )
    text = program_text.sources(["train.py"], tmp_path)
    assert program_text.reads(text, "seed")
    assert not program_text.reads(text, "data_seed")
    (tmp_path / "train.py").write_text("parser.add_argument('--data-seed')\nf(vars(args)['data_seed'])")
    text = program_text.sources(["train.py"], tmp_path)
    assert program_text.reads(text, "data_seed")
    assert program_text.reads(text, "train.data_seed")
    assert not program_text.reads(text, "seed")


def test_a_draw_at_import_comes_before_the_seed(tmp_path):
    (tmp_path / "train.py").write_text("import data\nimport numpy as np\nnp.random.seed(1)\nnp.random.rand(2)\n")
    (tmp_path / "data.py").write_text("import numpy as np\nNOISE = np.random.rand(3)\n")
    text = program_text.sources(["python", "train.py"], tmp_path)
    (place,) = suspects.suspects(text)
    assert (place.file, place.line, place.weight) == ("data.py", 2, SURE)
    assert place.says == "NumPy draws from a generator, before train.py:3 seeds it"
    (tmp_path / "train.py").write_text("import numpy as np\nnp.random.seed(1)\nimport data\n")
    assert suspects.suspects(program_text.sources(["python", "train.py"], tmp_path)) == []


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.manual_seed(1)\nnet = torch.nn.Linear(4, 2)",
        "import torch\ndef main():\n torch.manual_seed(1)\n torch.nn.Linear(4, 2)\nif __name__ == '__main__': main()",
        NETWORK + "def build(): return Net()\ndef main():\n fix(1)\n net = build()\nmain()",
        NETWORK + "class Run:\n def __init__(self):\n  fix(1)\n  self.net = Net()\nRun()",
        NETWORK + "def set_up(m): torch.nn.init.normal_(m.a)\nfix(1)\nnet = Net()\nnet.apply(set_up)",
    ],
)
def test_what_is_seeded_in_time_is_unlikely(text, found):
    assert {weight for _, _, weight in found(text)} == {UNLIKELY}
