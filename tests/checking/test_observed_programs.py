"""What makes two runs differ is observed and proven: programs with a planted cause, and the line that is named."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from toolnoise.checking import diagnosis, differences, first_difference, trial_runs
from toolnoise.checking.diagnosis import ALIKE, NOT_OBSERVED
from toolnoise.checking.experiments import ObservedRuns
from toolnoise.checking.first_difference import Event, Observed, fixed_seedings
from toolnoise.checking.trial_runs import LeftFiles, TrialRuns, parse_wanted

ROOT = Path(__file__).parents[2]
# The observer reads the values of frameworks in each of these.
VERSIONS = sorted(path.stem for path in (ROOT / "requirements/versions").glob("*.txt"))
VALUES = {
    "torch": "import torch; make = torch.tensor",
    "jax": "import jax.numpy; make = jax.numpy.asarray",
    "tensorflow": "import tensorflow; make = tensorflow.constant",
}
LEAVES = "json.dump({'loss': float(x)}, open(os.environ['TOOLNOISE_OUT'] + '/metric.json', 'w'))\n"
MARK = "  # here"


@pytest.fixture
def runs_of(tmp_path, monkeypatch):
    """Runs of a program that leaves the number x; its other files lie beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial_runs, "PAUSE", 0)
    for name in ("PYTHONPATH", "PYTHONHASHSEED"):
        monkeypatch.delenv(name, raising=False)

    def start(text, words=("train.py",), **others):
        for name, content in {"train": text, **others}.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(content).strip() + "\n")
        with (tmp_path / "train.py").open("a") as file:
            file.write(f"import json, os\n{LEAVES}" if LEAVES not in text else "")
        return TrialRuns([sys.executable, *words], 600, parse_wanted((), ()), tmp_path / "runs")

    return start


@pytest.fixture
def diagnosed(runs_of):
    """Why two runs of a program differ."""

    def start(text, words=("train.py",), **others):
        runs = runs_of(text, words, **others)
        before = trial_runs.files_here()
        control = runs.run("control-1")
        left = LeftFiles.since(before, [str(runs.folder)])
        outcomes = [control, runs.run("control-2")]
        assert differences.find_differences(*outcomes).files
        left = LeftFiles([name for name in left.names if not name.startswith("runs")])
        return diagnosis.diagnose(runs, outcomes, [], left)

    return start


def line_of(text):
    lines = textwrap.dedent(text).strip().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(MARK))


PROVEN = {
    "entropy: behind a registry": """
        import uuid
        NAMES = {'tag': 'uuid4'}
        def tag(kind):
            return getattr(uuid, NAMES[kind])()  # here
        x = sum(tag('tag').bytes)
    """,
    "clock: among other times": """
        import random, time
        started = time.perf_counter()
        rng = random.Random(time.time_ns())  # here
        print(f'after {time.perf_counter() - started:.3f} s')
        x = rng.random()
    """,
    "generator: seeded anew": """
        import random
        rng = random.Random(5)
        rng.seed()  # here
        x = rng.random()
    """,
    "unseeded: global generator": """
        import random
        y = [*range(60)]
        random.shuffle(y)  # here
        random.seed(1)
        x = sum(a * b for a, b in enumerate(y)) + random.random()
    """,
    "unseeded: of PyTorch": """
        import torch
        x = torch.nn.Linear(3, 1).weight.sum().item()  # here
    """,
    "set: a loop": """
        names = {f'name {number}' for number in range(30)}
        x = 0
        for number, name in enumerate(names):  # here
            x += number * len(name) * ord(name[-1])
    """,
    "hash": """
        x = hash('a name')  # here
    """,
    "address": """
        x = id(object())  # here
    """,
    "entropy: in a child that Python starts": """
        import subprocess, sys
        code = 'import os; print(int.from_bytes(os.urandom(4), "big"))'
        x = int(subprocess.check_output([sys.executable, '-c', code]))
    """,
    "generator: threads of a pool": """
        import random
        from concurrent.futures import ThreadPoolExecutor
        def work(number):
            return random.Random().randrange(10**6)  # here
        with ThreadPoolExecutor(3) as pool:
            x = sum(pool.map(work, range(9)))
    """,
    "ready: futures": """
        import time
        from concurrent.futures import ThreadPoolExecutor, as_completed
        def work(number):
            # An address, of which no call shows anything; of few remainders, two runs would have the same one by luck.
            time.sleep((int(f'{object()}'[-12:-1], 16) >> 4) * (number + 7) ** 5 % 99991 % 97 / 1000)
            return number
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(work, number) for number in range(12)]
            x = 0
            for future in as_completed(futures):  # here
                x = x * 1.5 + future.result()
    """,
    "ready: a pool": """
        import multiprocessing, time
        def work(number):
            time.sleep((int(f'{object()}'[-12:-1], 16) >> 4) * (number + 7) ** 5 % 99991 % 97 / 1000)
            return number
        pool = multiprocessing.get_context('fork').Pool(3)
        names = list(pool.imap_unordered(work, range(9)))
        x = 0
        for value in pool.imap_unordered(work, range(12)):  # here
            x = x * 1.5 + value
        pool.close()
        pool.join()
    """,
    "entropy: a loop of many steps": """
        import os
        x, seen = 0, []
        for number in range(20000):
            x = max(x, number)
            if number == 15000:
                seen.append(int.from_bytes(os.urandom(2), 'big'))  # here
        x = sum(seen)
    """,
    "set: objects with slots": """
        class Item:
            __slots__ = ('number',)
            def __init__(self, number):
                self.number = number
        items, x = {Item(number) for number in range(40000)}, 0
        for item in items:  # here
            x = x * 0.9999 + item.number
    """,
    "name: of a temporary file, hashed": """
        import os, tempfile, zlib
        with tempfile.NamedTemporaryFile(prefix='a-long-name-') as file:
            name = os.path.basename(file.name)
        x = zlib.crc32(name.encode())  # here
    """,
    "process: workers of each epoch": """
        import multiprocessing, os
        class Loader:
            def work(self, part):
                return part * os.getpid()  # here
        x = 0
        for epoch in range(2):
            with multiprocessing.get_context('fork').Pool(1) as pool:
                for value in pool.imap(Loader().work, range(1, 4)):
                    x += value * (epoch + 1)
    """,
    "read: what another program has written": """
        import os, subprocess
        path = os.environ['TOOLNOISE_OUT'] + '/drawn'
        subprocess.run(['sh', '-c', 'od -An -N4 -tu4 /dev/urandom >"$1"', 'sh', path], check=True)
        import numpy as np
        x = float(np.loadtxt(path))  # here
    """,
    "folder": """
        import os, zlib
        x = zlib.crc32(os.environ['TOOLNOISE_OUT'].encode())  # here
    """,
}


@pytest.mark.parametrize("name", PROVEN)
def test_the_place_where_the_difference_arises_is_proven(name, diagnosed, skip_without):
    if "PyTorch" in name:
        skip_without("torch")
    text = PROVEN[name]
    why = diagnosed(text)
    assert len(why.proven) == 1, why
    place = why.proven[0]
    if "child" in name:
        assert (place.file, place.line) == ("-c", 1)
    else:
        assert (place.file, place.line) == ("train.py", line_of(text))
        assert place.code.endswith(MARK.strip())
    kind = name.partition(":")[0]
    assert place.cause == kind
    assert place.evidence.startswith("By experiment: ")
    assert not why.possible


def test_the_place_is_found_in_a_module_that_is_started_by_name(diagnosed):
    why = diagnosed("from draws import x", ("-m", "train"), draws="import secrets\nx = secrets.randbelow(1 << 40)")
    assert [(place.file, place.line, place.cause) for place in why.proven] == [("draws.py", 2, "entropy")]


def test_two_causes_are_proven_together_and_what_does_not_matter_is_left_out(diagnosed):
    why = diagnosed("""
        import os, time, uuid
        name = uuid.uuid4().hex
        x = time.time_ns() % 1000
        y = int.from_bytes(os.urandom(3), 'big')
        z = int.from_bytes(os.urandom(3), 'big')
        x = y * 1e9 + z
    """)
    assert [place.line for place in why.proven] == [4, 5]


def test_a_timer_that_ends_a_loop_is_proven_by_the_turn_at_which_it_does(diagnosed):
    why = diagnosed("""
        import threading
        stop = threading.Event()
        threading.Timer(0.2, stop.set).start()
        x = 0
        while not stop.is_set():
            x += 1
    """)
    places = [*why.proven, *why.possible]
    assert (places[0].line, places[0].cause) in ((3, "clock"), (5, "clock"))


def test_threads_that_share_an_object_are_named_where_they_meet(diagnosed):
    why = diagnosed("""
        import threading, time
        results = []
        def work(number):
            time.sleep(0.003 * (threading.current_thread().native_id * (number + 7) ** 5 % 99991 % 47))
            results.append(number)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        x = sum(7**place * number for place, number in enumerate(results))
    """)
    assert [(place.line, place.cause) for place in why.proven] == [(5, "shared")]
    assert "one after another" in why.proven[0].evidence


def test_what_an_earlier_run_left_is_proven_by_a_run_without_it(diagnosed, tmp_path):
    why = diagnosed("""
        import os
        x = 1.0
        if os.path.exists('last.txt'):
            x += 1
        open('last.txt', 'w').close()
    """)
    assert [(place.line, place.cause) for place in why.proven] == [(3, "left")]
    assert "without last.txt" in why.proven[0].evidence
    assert (tmp_path / "last.txt").is_file()


def test_the_hash_seed_is_proven_where_no_call_shows_it(diagnosed):
    why = diagnosed("""
        x = int.from_bytes(f"{set('abcdefgh')}".encode(), 'big') % 1000003
    """)
    assert not why.proven
    assert why.notes == ["By experiment: with PYTHONHASHSEED=0 runs are equal."]


def test_a_program_of_a_shell_is_not_observed_and_its_text_makes_a_place_possible(diagnosed, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "bash")
    (tmp_path / "train.sh").write_text('echo "{\\"loss\\": $RANDOM}" > "$TOOLNOISE_OUT/metric.json"\n')
    why = diagnosed("", ("train.sh",))
    assert (why.proven, why.notes) == ([], [NOT_OBSERVED])
    assert [(place.file, place.line, place.cause) for place in why.possible] == [("train.sh", 1, "shell")]


def test_an_observer_that_fails_in_the_programs_process_is_reported(diagnosed, tmp_path, monkeypatch):
    (tmp_path / "found_first").mkdir()
    (tmp_path / "found_first/ast.py").write_text("raise ImportError('not the standard one')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "found_first"))
    why = diagnosed("import os\nx = os.urandom(1)[0]")
    assert (why.proven, why.notes) == ([], ["Not observed: the observer failed (ImportError: not the standard one)."])


def test_where_observed_runs_are_equal_nothing_is_proven(runs_of):
    runs = runs_of("import uuid\nname = uuid.uuid4()\nx = 1.0")
    control = runs.run("control-1")
    changed = control._replace(metric={"loss": 2.0})
    why = diagnosis.diagnose(runs, [control, changed], [], LeftFiles([]))
    assert (why.proven, why.notes) == ([], [ALIKE])
    assert [place.line for place in why.possible] == [2]


ORDINARY = """
    '''A docstring, and what stands before all else.'''
    from __future__ import annotations
    import asyncio, collections, enum, functools, json, os, pickle, random, sys, threading
    from dataclasses import dataclass, field
    Point = collections.namedtuple('Point', 'a b')
    class Base:
        def __init__(self, *names, **more): self.names, self.more = names, more
        def __len__(self): return len(self.names)
        @property
        def first(self): return self.names[0]
        @classmethod
        def of(cls, text): return cls(*text.split(), text=text)
        @functools.lru_cache(maxsize=None)
        def slow(self, n): return n * n
    class Child(Base):
        def __init__(self, *names, **more):
            super().__init__(*names, **more)
            self.__hidden = [*names]
        def hidden(self): return self.__hidden
    @dataclass
    class Item:
        size: int = 3
        parts: list[int] = field(default_factory=list)
    class Kind(enum.Enum):
        A = 1
    def numbers(n):
        for number in range(n):
            got = yield number
            if got: return got
    def outer(n):
        total = 0
        def inner():
            nonlocal total
            total += n
        inner()
        return total, sorted(locals())
    async def wait(n):
        await asyncio.sleep(0)
        return [n async for n in later(n)]
    async def later(n):
        for each in range(n): yield each
    async def both(): return await asyncio.gather(wait(2), wait(3))
    class Closing:
        def __enter__(self): return self
        def __exit__(self, *error): print('closed', error[0] and error[0].__name__); return True
    if (n := len('abc')) == 3: print(n)
    child = Child.of('x y z')
    print(child.hidden(), child.first, len(child), child.more, child.slow(4))
    print(pickle.loads(pickle.dumps(Point(1, 2))), Item(), Kind.A, outer(2))
    rest = iter(numbers(9))
    for one in rest:
        if one == 2: break
    print(list(rest), {**{'k': 1}}, *[1, 2], sep='-')
    print(asyncio.run(both()), [i * j for i in range(3) for j in range(i)], {k: v for k, v in zip('ab', (1, 2))})
    with Closing(): raise ValueError(os.path.basename(__file__))
    seen = []
    thread = threading.Thread(target=lambda: seen.append(threading.current_thread() is thread))
    thread.start(); thread.join()
    random.seed(5)
    rng, other = random.Random(6), random.Random()
    other.setstate(rng.getstate())
    print(seen, __name__, __spec__, __package__, sys.argv[1:], os.path.basename(sys.argv[0]), random.random())
    print(rng.random() == other.random(), sum(map(len, {'ab', 'c'})), sys.path[0] == os.path.dirname(__file__))
    total, halves = 0, []
    for i in range(5000):
        if i % 7 == 0: continue
        for j in (1, 2):
            total += j * (i % 3)
        else: total += abs(-1)
        halves.append(lambda i=i: i / 2)
        if i > 4000: break
    else: total = -1
    while total > 10:
        try: total //= i % 2 + 1 + len(halves) // 5000
        finally: total -= 1
    print(total, sum(half() for half in halves))
    def fails(): return {}['missing']
    try: fails()
    except KeyError as error: print(error.args, error.__traceback__.tb_lineno)
    x = 1.0
    json.dump({'loss': x}, open(os.environ['TOOLNOISE_OUT'] + '/metric.json', 'w'))
    sys.exit(0)
"""


def test_an_observed_program_does_what_it_does_unobserved(runs_of, tmp_path):
    runs = runs_of(ORDINARY.replace(MARK, ""), ("train.py", "--of", "two words"))
    (tmp_path / "train.py").write_text(textwrap.dedent(ORDINARY).strip() + "\n")
    runs.run("control-1")
    assert ObservedRuns(runs).run() is not None
    plain, observed = runs.printed("control-1"), runs.printed("observed-01")
    assert plain == observed
    assert "closed ValueError" in plain and "two words" in plain


@pytest.mark.parametrize("text", ["raise SystemExit(7)", "import os; os._exit(7)", "1 / 0", "def"])
def test_a_program_that_fails_fails_in_the_same_way(text, runs_of, tmp_path):
    observed = ObservedRuns(runs_of("x = 1"))
    (tmp_path / "train.py").write_text(text)
    assert observed.run() is None
    plain = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True)
    said = observed.runs.printed("observed-01")
    assert said.splitlines()[-1:] == plain.stderr.splitlines()[-1:]


def test_a_seeding_that_no_seed_reaches_is_named(runs_of):
    runs = runs_of("""
        import os, random
        seed = int(os.environ['TOOLNOISE_SEED_INIT'])
        random.seed(seed)
        rng = random.Random(0 * seed)
        x = rng.random()
    """)
    found = diagnosis.lost_seeds(runs, ["init"], [])
    assert [(place.file, place.line) for place in found["init"]] == [("train.py", 4)]
    assert found["init"][0].evidence == "Seen: `random.Random` is the same whatever {init} is."


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_arrays_of_each_version_of_a_framework_count_by_their_values(version, tmp_path):
    python = ROOT / ".environments" / version / "bin/python"
    if not python.exists():
        pytest.skip(f"{version} is not installed: make .environments/{version}")
    trial_runs.injected_variables(tmp_path, "none", {})
    text = f"{VALUES[version.partition('-')[0]]}\nfrom toolnoise_injected.values import digest_of_value as digest\n"
    text += "print(digest(make([1.0, 2.0])) == digest(make([1.0, 2.0])), digest(make([1.0])) == digest(make([2.0])))"
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)})
    assert done.stdout.split() == ["True", "False"], done.stderr


# Two observed runs are compared: which calls are roots of a difference, and which only hand it on


def event(time, place, out=0, *, inputs=0, owner=0, turn=1, name="f", thread="", process="main", **more):
    marks = more.pop("marks", ())
    before, drawn = more.pop("before", {}), more.pop("drawn", {})
    place = f"train.py:{place}:0"
    return Event(
        process, time, time - 0.5, place, turn, thread, name, owner, inputs, out, before, drawn, more.get("number", 0),
        "", (), marks,
    )  # fmt: skip


def observed(*events, arguments=0):
    return Observed(None, list(events), {}, {"main": arguments})


def roots(one, other):
    return [(root.kind, root.at[1]) for root in first_difference.differing_roots(observed(*one), observed(*other))]


def test_turns_of_which_some_are_recorded_are_compared_each_with_its_own():
    one = [event(1, 3, out=40, turn=40), event(2, 3, out=64, turn=64)]
    other = [event(1, 3, out=64, turn=64)]
    assert roots(one, other) == []


def test_a_seeding_with_what_differs_is_no_root_nor_are_draws_after_it():
    def run(seed):
        return [
            event(1, 2, out=seed, name="time.time"),
            event(2, 3, inputs=seed, name="random.Random.seed", drawn={"random": [seed + 100, seed]}),
            event(3, 4, out=seed, drawn={"random": [seed, seed + 1]}),
        ]

    assert roots(run(1), run(2)) == [("result", 2)]


def test_an_estimator_is_named_where_it_was_made():
    def run(state):
        return [
            event(1, 2, out=9, name="sklearn.ensemble.RandomForest", before={"numpy.random": state}),
            event(2, 5, owner=9, name="sklearn.ensemble.RandomForest.fit", drawn={"numpy.random": [state, state + 1]}),
        ]

    assert roots(run(10), run(20)) == [("generator", 2)]


def test_arguments_that_a_shell_gives_are_no_root_of_the_program():
    one, other = (observed(event(1, 3, out=seed, name="argparse.ArgumentParser.parse_args"), arguments=seed)
                  for seed in (1, 2))  # fmt: skip
    assert first_difference.differing_roots(one, other) == []


def test_what_threads_do_to_one_object_in_another_order_is_found_and_what_each_does_to_its_own_is_not():
    def run(*threads, shared=True):
        events = [
            event(time, 3, inputs=int(thread), thread=thread, number=5 if shared else int(thread), name="list.append")
            for time, thread in enumerate(threads)
        ]
        return observed(*events)

    (root,) = first_difference.differing_orders(run("1", "2", "3"), run("2", "1", "3"))
    assert (root.at[1], root.apart) == (3, True)
    assert first_difference.differing_orders(run("1", "2"), run("1", "2")) == []
    assert first_difference.differing_orders(run("1", "2", "3", shared=False), run("2", "1", "3", shared=False)) == []


def test_the_seeding_before_the_first_equal_draw_comes_first():
    def run(seed):
        return observed(
            event(1, 2, inputs=seed, name="f"),
            event(2, 3, out=11, name="numpy.random.default_rng"),
            event(3, 4, owner=11, out=1, name="numpy.random.Generator.normal"),
            event(4, 5, out=12, name="numpy.random.default_rng"),
            event(5, 6, out=3, marks=("seed",), name="sklearn.model_selection.train_test_split"),
        )

    assert [each.place.split(":")[1] for each in fixed_seedings(run(1), run(2))] == ["3", "5", "6"]


def test_a_generator_that_threads_share_is_named_if_they_come_to_it_in_another_order():
    def run(*threads):
        return [
            event(time, 3 if thread == "MainThread" else 8, thread=thread, drawn={"torch": [time, time + 1]})
            for time, thread in enumerate(threads, 1)
        ]

    def shared(one, other):
        found = first_difference.shared_generators(observed(*one), observed(*other))
        return [(root.kind, root.at[1]) for root in found]

    one = run("MainThread", "Thread-1", "MainThread")
    assert shared(one, run("Thread-1", "MainThread", "MainThread")) == [("order", 8)]
    assert shared(one, one) == []
    assert shared(run("Thread-1", "Thread-1"), run("Thread-1")) == []
