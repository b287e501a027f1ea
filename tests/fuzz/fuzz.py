"""Bad input on purpose: a verb of a finished study with one of its inputs changed, thousands of times.

Each case starts in a copy of the small study of fuzz_base.py, of hard links, puts something bad in the place of one
file that a command names, or that lies in a folder that it names, or of one of its arguments, and performs the command
in a process of its own. A case fails if its output has a traceback, a warning, or anything that a terminal would obey;
if its exit code is not one of those that are documented, or bad input is not one line; if it is ended by a signal,
takes too long or too much memory; if it leaves a process; or if input that was refused costs a file.

    python tests/fuzz/fuzz.py --cases 3000 --seed 1
    python tests/fuzz/fuzz.py --cases 200 --seconds 240 --seed 1   # as many as there is time for
    python tests/fuzz/fuzz.py --seed 1 --only 1234   # one case again, with what it printed; its folder stays

The first use makes the study, in a few minutes; later ones find it in --folder.
"""

import argparse
import base64
import copy
import csv
import functools
import gzip
import io
import json
import math
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import fuzz_base
import numpy as np
import yaml

from toolnoise import cli
from toolnoise.study import job_code

MOST_MEMORY, SECONDS = 3 * 2**30, 600
# Besides 0 and 2, which each verb may end with.
CODES = {verb: {1} for verb in ("audit", "check", "diff", "rebuild", "gate", "run")} | {"keep": {1, 3}}
TRACEBACK = re.compile(r"^\s*(?:\+ +)?Traceback \(most recent call last\)|^Fatal Python error", re.MULTILINE)
WARNING = re.compile(r"\b\w*Warning: .*")
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MEMORY = "not enough memory"
ARGUMENTS_SHARE = 0.2

RUN = "results/fuzz/runs/linear/mine/cpu"
CELL = "results/fuzz/predictions/linear/mine/cpu"
RESULTS = "results/fuzz/study.json"
DATA, STABILITY = "results/fuzz/data/mine.npz", "results/fuzz/metrics/stability.csv"
# The verbs that people call: by verb, its command lines.
BY_HAND = {
    "init": ["own/model.py"],
    "run": ["study.yaml --dry-run --quiet all"],
    "summary": [f"--study {RESULTS}", f"--study {RESULTS} --json", "--study study.yaml"],
    "doctor": [""],
    "estimate": [f"--study {RESULTS}", "--study study.yaml --json"],
    "rebuild": ["results/fuzz/metrics/cells/linear/mine/cpu"],
    "diff": [f"{RUN}/control/1 {RUN}/control/2", f"{RUN}/control {RUN}/algo_impl --json", "results/fuzz results/fuzz"],
    "audit": ["results/fuzz", "results/fuzz --json --strict", "results/fuzz --require-signature key.pub"],
    "sign": ["results/fuzz --key key", "results/fuzz --key key.pub"],
    "export": ["results/fuzz --out new.tar.gz", "study.yaml --out new.tar --hardware cpu --no-predictions"],
    "import": [
        *("fuzz.tar.gz --into elsewhere --study study.yaml --other-code", "fuzz.tar.gz --other-code"),
        "fuzz.tar.gz --into elsewhere --study study.yaml --require-signature key.pub",
    ],
    "crate": ["results/fuzz --out new", "results/fuzz --out new.zip --embed"],
    "compare": [
        *("a.npy b.npy --labels y.npy", "a.npz b.npz --labels y.npy --json", "a.csv b.csv --labels y.npy --paired"),
        *(f"{CELL}/algo.npy {CELL}/algo_impl.npy", f"{CELL}/control.npy {CELL}/algo.npy --labels {DATA}"),
        "--arm found/a/seed1.npy --arm b.npy --labels y.npy",
        *("a-named.csv b-named.csv --paired", "a-right.csv b-right.csv --json", "a-right.csv b.npy --labels y.npy"),
        *("a-odds.npy b-odds.npy --labels many.npy", "a-words.npy b-words.npy --labels words.npy --json"),
        *("a1-log.jsonl b1-log.jsonl --metric acc,strict", "a.eval b.eval --metric match --cluster passage --json"),
        *("a-log.json b.eval --metric match", "a-log.csv b-log.csv --correct --paired --cluster passage"),
        *("found.csv --metric score --against previous", "curves.csv --metric acc --last --lower --json"),
        *("wide.csv --metric acc --latex", "found.csv found.csv --metric score --by arm --seed none"),
        *("a-nll.npy b-nll.npy --losses", "a-values.npy b-values.npy --values --labels values.npy --json"),
    ],
    "check": [
        "--limit 1 -- sh -c 'cp -r left/scores/. \"$0\"' {out}",
        "--sources init --json -- sh -c 'cp -r left/metric/. \"$0\"' {out}",
        "--sources init -- sh -c 'cp -r left/losses/. \"$0\"' {out}",
    ],
    "adopt": [
        *("found/{arm}/seed{seed}.npy --labels y.npy --name new", "found.csv --labels y.npy --name new"),
        *("found.csv --metric score --name new", "values/{arm}-{seed}.npy --values --labels values.npy --name new"),
        *("{arm}-many/{seed}.npy --labels many.npy --name new", "{arm}-losses/{seed}.npy --losses --name new"),
    ],
    "gate": [
        "--reference losses-a.csv --new losses-b.csv --metric loss",
        "--reference losses-a.csv --new losses-b.csv --metric loss --one-sided --lower --json",
    ],
    "keep": [f"found.csv --metric score --by arm {way}" for way in ("--higher", "--lower --strict --json")],
    "plan": [
        *("--sd 0.3 --gain 0.3", "--sd 0.3 --sd-runs 5 --gain 0.4 --json"),
        f"--pilot {STABILITY} --gain 1 --arm linear/mine/cpu/algo",
        *("--pilot found.csv --metric score --higher --gain 0.1", "--pilot wide.csv --metric acc --arm a b"),
    ],
}
# Where a command names no file by itself.
READ = {"check": "left", "run": "study.yaml", "adopt": "found"}
# Verbs that start something large, and how often they are drawn.
SELDOM = {"run": 0.15, "estimate": 0.3, "rebuild": 0.3, "render": 0.3, "report": 0.1, "predict-elsewhere": 0.3}


class Case(NamedTuple):
    """A command line with one input changed, and what was changed; the file, if it was no argument."""

    words: list[str]
    changed: str
    file: str


class Ended(NamedTuple):
    """How a process ended: its exit code or minus its signal, and what it printed; whether it was late or left one."""

    code: int
    said: str
    late: bool
    left: bool


@functools.cache
def commands(folder: Path) -> dict[str, list[list[str]]]:
    """Command lines of each verb: those of BY_HAND, and a few of those of the study's jobs."""
    found = {verb: [[verb, *shlex.split(line)] for line in lines] for verb, lines in BY_HAND.items()}
    of_jobs: dict[str, list[list[str]]] = {}
    for words in json.loads((folder / "made").read_text()):
        of_jobs.setdefault(words[0], []).append(words)
    found |= {verb: lines[:: -(-len(lines) // 4)] for verb, lines in of_jobs.items()}
    if missing := found.keys() ^ {*cli.VERBS, *job_code.JOBS}:
        sys.exit(f"not fuzzed, or no verb: {', '.join(sorted(missing))}")
    return found


def files_of(words: list[str], folder: Path) -> list[Path]:
    """The files that a command names, and those in the folders of a study that it names."""
    # A parameter may be longer than a name of a file can be.
    short = [word for word in (*words[1:], READ.get(words[0], "")) if 0 < len(word) < 200]
    named = {folder / word for word in short if (folder / word).exists()}
    named |= {path.parent for path in named if path.name == "study.json"}
    inside = (one for path in named for one in (path.rglob("*") if path.is_dir() else [path]))
    return sorted(path for path in set(inside) if path.is_file() and not path.is_symlink())


def prepared(number: int, seed: int, base: Path, folder: Path) -> Case:
    """A case's folder with one input changed."""
    rng = random.Random(f"{seed}/{number}")
    found = commands(base)
    (verb,) = rng.choices(sorted(found), [SELDOM.get(verb, 1) for verb in sorted(found)])
    words = rng.choice(found[verb])

    def linked(source: str, target: str) -> None:
        # A shell writes into logs.
        (shutil.copy2 if "/logs/" in source else os.link)(source, target, follow_symlinks=False)

    shutil.copytree(base, folder, symlinks=True, copy_function=linked)
    os.mkfifo(folder / "pipe")
    # As often a file of each kind, however many there are.
    kinds: dict[tuple[str, bool], list[Path]] = {}
    for path in files_of(words, folder):
        kinds.setdefault((path.suffix, "statements" in path.parts), []).append(path)
    if not kinds or rng.random() < ARGUMENTS_SHARE:
        return Case(*of_arguments(words, rng), "")
    path = rng.choice(kinds[rng.choice(sorted(kinds))])
    return Case(words, of_file(path, rng), str(path.relative_to(folder)))


def performed(case: Case, folder: Path) -> Ended:
    """Perform a case in a process of its own, and end whatever it leaves."""

    def limited() -> None:
        for what, most in ((resource.RLIMIT_DATA, MOST_MEMORY), (resource.RLIMIT_FSIZE, 2**29)):
            resource.setrlimit(what, (most, most))

    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-P", "-m", "toolnoise.cli", *map(os.fsencode, case.words)]
    log = folder.parent / "log"
    with log.open("wb") as said:
        into = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said, "cwd": folder}
        process = subprocess.Popen(words, env=env, start_new_session=True, preexec_fn=limited, **into)
    try:
        process.wait(SECONDS)
        late = False
    except subprocess.TimeoutExpired:
        late = True
    try:
        os.killpg(process.pid, signal.SIGKILL)
        left = not late
    except ProcessLookupError:
        left = False
    return Ended(process.wait(), log.read_bytes().decode("utf-8", "replace"), late, left)


def states(folder: Path) -> dict[str, tuple[int, ...]]:
    """The files in a folder: by name, what changes when a file changes."""
    stats = {str(path.relative_to(folder)): path.lstat() for path in folder.rglob("*") if not path.is_dir()}
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def lost(base: Path, folder: Path, changed: str) -> list[str]:
    """What a refused input has cost: files that are gone, or other than they were."""
    now = states(folder)
    return [
        f"lost or replaced {name}"
        for name, state in states(base).items()
        if name != changed
        and now.get(name) != state
        and not (name in now and (folder / name).read_bytes() == (base / name).read_bytes())
    ]


def judged(case: Case, end: Ended) -> list[str]:
    """Why a case fails; nothing if it does not."""
    reasons = ["traceback"] * bool(TRACEBACK.search(end.said)) + ["memory"] * (MEMORY in end.said)
    reasons += [f"warning: {found[0][:150]}" for found in [WARNING.search(end.said)] if found]
    reasons += [f"prints {found[0]!r}" for found in [OBEYED.search(end.said)] if found]
    if end.late:
        reasons.append("hangs")
    elif end.code not in {0, 2} | CODES.get(next(iter(case.words), ""), set()):
        reasons.append(f"exit code {end.code}")
    lines = [line for line in end.said.splitlines() if line.startswith("toolnoise: ")]
    if end.code == 2 and len(lines) != 1:
        reasons.append(f"{len(lines)} lines for bad input")
    return reasons + ["leaves a process"] * end.left


# Mutations: each makes one bad input of a good one, at random, and says what it did. The kind of a file follows from
# its name, and so does that of a member of an archive. Files of the finished study are hard links: a mutation never
# writes into one, it puts another file in its place.


ESCAPE = "\x1b[31mred\x9b2J\x07\rover"
# In JSON and YAML. A large integer asks for much work where an amount is meant, so it is too large for every amount.
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.5, 2**31, 2**63, 2**64, 10**400, -(10**30), 1e-320, 1e300),
    *(float("nan"), float("inf"), "", " ", "x", "1", "nan", "0x10", "1e400", "all", "any", "none", "../../x", "/"),
    *(ESCAPE, "a\nb", "\x00", "\ud800", "{", "{0}", "{x}", "%s", "*", "é" * 40, "x" * 5000),
    *([], [None], [[]], [[1]], [1, 2, 3], ["x", "x"], [float("nan")], {}, {"x": 1}, {"": None}, {"x": {"x": []}}),
]
ARGUMENTS = [
    *("", " ", "0", "1", "-1", "2", "1.5", "-0.5", "nan", "inf", "-inf", "1e300", "1e-300", "9" * 21, "9" * 400, "0x1"),
    *("nowhere", "nowhere/else.json", ".", "..", "empty", "null", "pipe", "results", "study.yaml", "y.npy"),
    *("fuzz.tar.gz", "x" * 5000, "a\nb", ESCAPE, "\udcff", "é", "{", "{}", "{0}", "{arm}", "{seed}", "*", "[", "a,b"),
    *(",", "-", "--", "~", "--json", "results/fuzz", "results/fuzz/study.json", "results/fuzz/metrics/stability.csv"),
    "left/scores/logits.npy",
]
# What stands in a text, and what is put in its place once; and lines of YAML and other text.
TEXTS = [
    *(
        ("{", '{"x": 1, "x": 2, '),
        (":", ": " + "[" * fuzz_base.DEEP + "]" * fuzz_base.DEEP + ', "y":'),
        ("1", "9" * 5000),
        ("1", "NaN"),
    ),
    *(("1", "-Infinity"), ("1", "1e999"), (",", ",,"), ('"', "'"), ('"', '"\\u001b[2J\\ud800')),
]
LINES = [
    *("\tx: 1", "x: &a [*a]", "<<: *nowhere", "x: !!python/object/apply:os.system [true]", "x: !!binary x", "- x"),
    *("x: 2020-13-45", "x: 2020-01-01", "x: 1:99:99", "x: .nan", "? [x]\n: 1", "? {x: 1}\n: 1", "%TAG", "---", "..."),
    *("study: a\nstudy: b", "x: " + "[" * 5000, fuzz_base.LAUGHS, "x: !!timestamp x", "x: 0b2", "1: 2", "null: x"),
    *("x: \x1b[2J", ESCAPE, "x", "{", ""),
]
CELLS = [
    *("", "x", "-1", "0", "nan", "inf", "-inf", "1e999", "1e-999", "9" * 400, "0.5", "1.5", ESCAPE, '"', "a,b", "\0"),
    *("x" * 200_000, "1_0", "\u0663", " 1", "1\n2", "True", "all", "0x1", "=1+1", "\ud800", "-0", "1e300", "-1e300"),
]
DTYPES = ["float64", "float16", "int64", "int8", "uint64", "bool", "complex64", "U3", "S5", "M8[s]", ">f4", "V3"]
HEADERS = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000, 10), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }",
    "{'descr': '|V2147483647', 'fortran_order': False, 'shape': (), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [('a', '<f4', (100000, 100000))], 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f4', 'fortran_order': 3, 'shape': (True,), }",
    "[" * 1000,
    "",
]
OTHER_BYTES = [
    *(b"null", b"[]", b"{}", b"1", b'"x"', b"x", bytes(100), b"\xff" * 100, b"PK\3\4" + bytes(50), b"\x93NUMPY\1\0"),
    *(b"", b"[" * fuzz_base.DEEP, b'{"x":' * fuzz_base.DEEP, b"9" * 5000, "\ufeff{}".encode(), "x: é".encode("utf-16")),
]
LINKS = ("/dev/zero", "/dev/null", "nowhere", ".", "/proc/self/mem")
NAMES = ("../../x", "/x", "x", "x.npy", "a/b.txt", "x:.npy", " ", ".", "", ESCAPE, "x" * 300)
HUGE = 2**30

Changed = tuple[bytes, str]
Change = Callable[[bytes, random.Random], Changed]


def of_arguments(words: list[str], rng: random.Random) -> tuple[list[str], str]:
    """A command line with something bad in it, and what that is."""
    words, place = list(words), rng.randrange(1, len(words)) if len(words) > 1 else 0
    how, old = rng.choice(("replaced",) * 6 + ("left out", "repeated", "added", "letters")), words[place]
    words[place : place + 1] = {
        "replaced": [rng.choice(ARGUMENTS)],
        "left out": [],
        "repeated": [old, old],
        "added": [old, rng.choice(ARGUMENTS)],
        "letters": [letters_changed(old, rng)],
    }[how]
    return words, f"argument {place} {how}: {old!r} -> {words[place : place + 2]!r}"[:300]


def of_file(path: Path, rng: random.Random) -> str:
    """Put something bad in the place of a file; returns what it is."""
    content, how = path.read_bytes(), rng.choice(("content",) * 8 + ("missing", "folder", "pipe", "link", "huge"))
    path.unlink()
    said = ""
    if how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "link":
        said = rng.choice((*LINKS, path.name))
        path.symlink_to(said)
    elif how != "missing":
        made, said = of_content(path.name, content, rng) if how == "content" else (content, "")
        path.write_bytes(made)
        if how == "huge":
            os.truncate(path, HUGE)
    return f"{path}: {how}: {said}"


def of_content(name: str, content: bytes, rng: random.Random) -> Changed:
    """Other content of a file of this name, and what it is."""
    of_kind = [changes for ends, changes in BY_KIND.items() if name.endswith(ends)]
    change = rng.choice(of_kind[0] if of_kind and rng.random() < 0.75 else ANY)
    made, said = change(content, rng)
    return made, f"{change.__name__}: {said}"


def letters_changed(text: str, rng: random.Random) -> str:
    """A text with one to three other letters."""
    letters = list(text) or ["x"]
    for _ in range(rng.randint(1, 3)):
        letters[rng.randrange(len(letters))] = rng.choice("x0-./{}\x1b é\n,=:")
    return "".join(letters)


# Any content


def truncated(content: bytes, rng: random.Random) -> Changed:
    kept = rng.randrange(len(content) or 1)
    return content[:kept], f"to {kept} of {len(content)} bytes"


def bits_flipped(content: bytes, rng: random.Random) -> Changed:
    made = bytearray(content or b"\0")
    # Headers are short, and the beginning has them.
    end = len(made) if rng.random() < 0.5 else min(len(made), 200)
    places = [rng.randrange(end) for _ in range(rng.choice((1, 1, 3, 20)))]
    for place in places:
        made[place] ^= 1 << rng.randrange(8)
    return bytes(made), f"in bytes {places}"


def appended(content: bytes, rng: random.Random) -> Changed:
    more = rng.choice((b"\0", b"\n", b"x", b'{"x": 1}', b"\xff\xfe", content, rng.randbytes(1000)))
    return content + more, f"{more[:20]!r}"


def other_bytes(_content: bytes, rng: random.Random) -> Changed:
    made = rng.choice((*OTHER_BYTES, rng.randbytes(500)))
    return made, f"{made[:20]!r}"


# JSON, YAML and other text


def places_in(value: Any, depth: int = 0) -> Iterator[tuple[int, Any, Any]]:
    """Every place in a tree: its depth, what it lies in, and its key or number there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield depth, value, key
        yield from places_in(part, depth + 1)


def tree_changed(tree: Any, rng: random.Random) -> tuple[Any, str]:
    """A tree with one change, and which."""
    whole = [copy.deepcopy(tree)]
    places = list(places_in(whole))
    # Deep places are many; mistakes near the top are as likely.
    depth = rng.choice(sorted({one for one, *_ in places}))
    _, parent, key = rng.choice([one for one in places if one[0] == depth])
    old, new = parent[key], rng.choice(VALUES)
    how = rng.choice(("value",) * 5 + (("left out", "renamed", "added", "near", "moved") if depth else ("near",)))
    if how in ("value", "near"):
        parent[key] = new if how == "value" else near(old, rng)
    elif how == "left out":
        del parent[key]
    elif isinstance(parent, dict):
        parent[rng.choice((*parent, "x", "", ESCAPE))] = new if how == "added" else old
    else:
        parent.insert(0 if how == "moved" else len(parent), parent[-1] if how == "moved" else new)
    return whole[0], f"{key!r:.40} {how}: {old!r:.40} -> {new!r:.40}"


def near(value: Any, rng: random.Random) -> Any:
    """What somebody might write in place of a value."""
    if isinstance(value, bool) or value is None:
        return [value]
    if isinstance(value, (int, float)):
        return rng.choice((value + 1, -value, value * 2, float(value), str(value), [value]))
    if isinstance(value, str):
        others = value + "x", value[:-1], value.upper(), [value], value + ESCAPE, letters_changed(value, rng)
        return rng.choice(others)
    if isinstance(value, list):
        return rng.choice((value[:-1], value + value, value[::-1], dict.fromkeys(map(str, value)), value[:1]))
    return rng.choice((list(value), list(value.values()), [value], str(value)))


def json_value(content: bytes, rng: random.Random) -> Changed:
    value = json.loads(content)
    if isinstance(value, dict) and "payload" in value:
        inner, said = json_value(base64.b64decode(value["payload"]), rng)
        return json.dumps(value | {"payload": base64.b64encode(inner).decode()}).encode(), said
    value, said = tree_changed(value, rng)
    return json.dumps(value, indent=1).encode(), said


def json_line(content: bytes, rng: random.Random) -> Changed:
    lines = content.splitlines()
    place = rng.randrange(len(lines))
    made, said = rng.choice((json_value, json_value, text_changed))(lines[place], rng)
    lines[place] = made.replace(b"\n", b" ")
    return b"\n".join(rng.sample(lines, len(lines)) if rng.random() < 0.2 else lines), f"line {place} {said}"


def text_changed(content: bytes, rng: random.Random) -> Changed:
    text, (old, new) = content.decode(), rng.choice(TEXTS)
    if old in text and rng.random() < 0.4:
        parts = text.split(old)
        place = rng.randrange(1, len(parts))
        return (old.join(parts[:place]) + new + old.join(parts[place:])).encode(), f"{old!r} {place} -> {new[:30]!r}"
    lines = text.splitlines() or [""]
    place, how = rng.randrange(len(lines)), rng.choice(("left out", "repeated", "added", "letters"))
    line = lines[place]
    lines[place : place + 1] = {
        "left out": [],
        "repeated": [line, line],
        "added": [rng.choice(LINES), line],
        "letters": [letters_changed(line, rng)],
    }[how]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass"), f"line {place + 1} {how}: {line[:40]!r}"


def yaml_value(content: bytes, rng: random.Random) -> Changed:
    value, said = tree_changed(yaml.safe_load(content), rng)
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=rng.random() < 0.5)
    return text.encode("utf-8", "surrogatepass"), said


def csv_cell(content: bytes, rng: random.Random) -> Changed:
    rows = list(csv.reader(io.StringIO(content.decode())))
    row = rng.randrange(len(rows))
    column, new = rng.randrange(len(rows[row]) or 1), rng.choice(CELLS)
    how = rng.choice(("cell",) * 6 + ("no cell", "cell more", "no column", "column twice", "no rows", "row twice"))
    if how in ("cell", "no cell", "cell more"):
        rows[row][column : column + (how != "cell more")] = [] if how == "no cell" else [new]
    elif how == "no rows":
        rows = rows[: rng.randint(1, 2)]
    elif how == "row twice":
        rows.insert(row, rows[row])
    else:
        rows = [one[: column + (how == "column twice")] + one[column + (how == "no column") :] for one in rows]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass"), f"line {row + 1}, column {column + 1} {how}: {new[:30]!r}"


# Arrays and archives


def npy_array(content: bytes, rng: random.Random) -> Changed:
    array = np.load(io.BytesIO(content))
    numbers = array.dtype.kind in "fiu" and array.size
    how = rng.choice(
        ("header", "header", "dtype", "shape", "more", "less", "none", "object", "values", "values", "names")
    )
    said = how
    if how == "header":
        version, said = rng.choice((b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\7\0")), rng.choice(HEADERS)
        length = len(said).to_bytes(2 if version == b"\1\0" else 4, "little")
        return b"\x93NUMPY" + version + length + said.encode() + content[128:], f"header {version!r} {said}"
    if how == "dtype":
        said = rng.choice(DTYPES)
        array = np.zeros(array.shape, said) if said[0] in "USMV" or not numbers else array.astype(said)
    elif how == "shape":
        array = array.reshape(rng.choice(((-1,), (1, -1), (-1, 1), (1, 1, 1, -1), array.shape[::-1])))
    elif how in ("more", "less", "none") and array.size and array.ndim:
        axis = rng.randrange(array.ndim)
        count = array.shape[axis]
        kept = {"more": [*range(count), 0], "less": range(count - 1), "none": []}[how]
        array = np.take(array, np.array(kept, int), axis)
    elif how == "object":
        array = np.array([{"x": 1}, None], object)
    elif how == "values" and numbers:
        array, said = array.copy(), rng.choice((float("nan"), float("inf"), -1, 0, 2**40, 1e38, 255, 0.5))
        with np.errstate(all="ignore"):
            places = [rng.randrange(array.size) for _ in range(rng.choice((1, 3, array.size)))]
            array.flat[places] = np.array(said).astype(array.dtype)
    else:
        array = np.zeros(3, [("x", "f4"), ("y", "i8")]) if how == "names" else np.array(rng.choice((0, 1.5, "x")))
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue(), f"{said}: {array.dtype} {array.shape}"


def zip_members(content: bytes, rng: random.Random) -> Changed:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(one.filename, archive.read(one)) for one in archive.infolist()]
    place = rng.randrange(len(members))
    (name, inside), packing = members[place], zipfile.ZIP_STORED
    how = rng.choice(("content",) * 5 + ("missing", "renamed", "twice", "packed", "bomb"))
    said = name
    if how == "content":
        made, said = of_content(name, inside, rng)
        members[place] = (name, made)
    elif how == "missing":
        del members[place]
    elif how == "renamed":
        said = rng.choice((*NAMES, name.upper(), name.removesuffix(".npy"), f"{name}/"))
        members[place] = (said, inside)
    elif how == "twice":
        members.append((rng.choice((name, *NAMES)), inside[:-1]))
    elif how == "bomb":
        members[place], packing = (name, inside[:128] + bytes(2**28)), zipfile.ZIP_DEFLATED
    else:
        packing = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        for one, data in members:
            # The same name twice is a warning.
            archive.NameToInfo.pop(one, None)
            archive.writestr(zipfile.ZipInfo(one), data, packing)
    return file.getvalue(), f"{how} {said}"


def tar_members(content: bytes, rng: random.Random) -> Changed:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = [(one, file.read() if (file := archive.extractfile(one)) else b"") for one in archive]
    place = rng.randrange(len(members))
    member, inside = members[place]
    how, said = rng.choice(("content",) * 3 + ("missing", "renamed", "twice", "type", "size", "order")), member.name
    if how == "content":
        made, said = of_content(member.name, inside, rng)
        members[place] = (member, made)
    elif how == "missing":
        del members[place]
    elif how == "renamed":
        member.name = rng.choice((*NAMES, f"{members[0][0].name}x"))
    elif how == "twice":
        members.append((member, inside + b"x"))
    elif how == "type":
        member.type = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE))
        member.linkname = rng.choice(("/etc/hostname", "..", members[0][0].name, "nowhere"))
        members[place] = (member, b"")
    elif how == "order":
        rng.shuffle(members)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for one, data in members:
            one.size = len(data)
            archive.addfile(one, io.BytesIO(data))
    plain = file.getvalue()
    if how == "size":
        # A size in a header that the archive does not have.
        at = 512 * rng.randrange(max(1, len(plain) // 512))
        plain = plain[: at + 124] + b"77777777777\0" + plain[at + 136 :]
    return gzip.compress(plain, 1, mtime=0) if content[:2] == b"\x1f\x8b" else plain, f"{how}: {said}"


ANY: list[Change] = [truncated, bits_flipped, bits_flipped, appended, other_bytes, other_bytes]
# By the ends of names; the first that fits counts.
BY_KIND: dict[tuple[str, ...], list[Change]] = {
    (".json", ".ipynb"): [json_value, json_value, json_value, text_changed],
    (".jsonl",): [json_line],
    (".yaml", ".yml"): [yaml_value, yaml_value, yaml_value, text_changed],
    (".csv",): [csv_cell],
    (".npy",): [npy_array],
    (".npz", ".zip", ".eval"): [zip_members],
    (".tar.gz", ".tar"): [tar_members],
    (".py", ".txt", ".js", ".pub", "key"): [text_changed],
}


def main() -> None:
    """Parse the command line and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="K")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat one case and keep its folder")
    parser.add_argument(
        "--seconds", type=int, default=math.inf, metavar="N", help="begin no case after so many seconds"
    )
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "toolnoise-fuzz")
    options = parser.parse_args()
    # What Python compiles beside a study's own modules is none of its files: it would be damaged, too.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    base = options.folder.resolve() / f"study-{fuzz_base.code()[:12]}"
    fuzz_base.make(base)
    before, started, done, failed = states(base), time.monotonic(), 0, 0
    for number in [options.only] if options.only else range(1, options.cases + 1):
        if time.monotonic() - started > options.seconds:
            break
        # Two folders deep: a path such as .. stays in it.
        scratch = Path(tempfile.mkdtemp(prefix=f"case-{number}-", dir=options.folder))
        case = prepared(number, options.seed, base, scratch / "deep/here")
        end = performed(case, scratch / "deep/here")
        reasons = judged(case, end) + (lost(base, scratch / "deep/here", case.file) if end.code == 2 else [])
        done, failed = done + 1, failed + bool(reasons)
        if reasons or options.only:
            said = f"case {number}: toolnoise {shlex.join(case.words)[:600]}\n    {case.changed[:300]}\n    "
            print(said + "\n    ".join(reasons), flush=True)
        if options.only:
            print(f"in {scratch}: exit code {end.code}\n{end.said}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
        if states(base) != before:
            sys.exit(f"case {number} has written into the study itself, in a file's own place")
    print(f"{failed} of {done} failed (seed {options.seed}, {time.monotonic() - started:.0f} s)")
    sys.exit(1 if failed or not done else 0)


if __name__ == "__main__":
    main()
