"""The files of one method's runs: one of several runs, or one a run; and what names of files say.

An arm is given as a file, as a folder of files, as a pattern such as `a/*.npy`, or as the files that a shell makes of a
pattern. Files of a folder or a pattern are taken in the order of their names; runs that files or their names number, in
the order of their numbers. A single file may hold any number of runs; of several files, each is one run.

Names of runs and files say arms and seeds, too: bert-seed1 is a run of bert with seed 1, gpt_2 one of gpt. A number is
a seed only where the name says so: W&B, for instance, numbers all runs of a project.
"""

import re
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison.table_rows import numbers_of

NAMES = string.ascii_uppercase
SUFFIXES = (".npy", ".npz", ".csv")
# The part of a path that has a date, and a part below it that has the time alone: neither numbers a run.
DATED = re.compile(r"[^/]*(\d{4}-\d\d-\d\d|\d{8}[T_-]\d{6})[^/]*(/\d\d-\d\d-\d\d(?=/))?")
ENDS = re.compile(r"(?P<arm>.*?)[\s_\-/.=,(]*(?P<word>[A-Za-z]*)[\s_\-=:]*(?P<number>\d+)\W*", re.ASCII)
SEED = re.compile(r"(?<![a-z])s(?:eed)?[\s_\-=:]*(\d+)(?!\d)", re.IGNORECASE)
RUN_WORDS = {"", "seed", "s", "run", "rep", "replicate", "trial", "r"}


def files_of(given: str) -> list[str]:
    """The files that a path or a pattern stands for."""
    path = Path(given)
    if path.is_dir():
        files = [str(file) for file in sorted(path.iterdir()) if file.suffix in SUFFIXES]
    elif path.exists() or not any(sign in given for sign in "*?["):
        return [given]
    else:
        files = [str(file) for file in sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))]
    if not files:
        raise BadInput(given, "", "found no file", f"{', '.join(SUFFIXES)} files, one a run")
    return files


def numbered(paths: Sequence[str]) -> list[int] | None:
    """The number of each of several files, which is the seed in its path, or else the last number; None if two agree.

    A time is no number of a run.
    """
    seeds = seeds_in_names(paths)
    if seeds and len(set(seeds)) == len(seeds) > 1:
        return [int(seed) for seed in seeds]
    return numbers_of([DATED.sub("", path) for path in paths]) if len(paths) > 1 else None


def require_pairs(counts: Sequence[int], named: Sequence[tuple[Sequence[Any], str]], fewest: int = 1) -> None:
    """Refuse paired arms of other numbers of runs, or whose runs have other names: those of each, and its file."""
    if len(set(counts)) > 1 or counts[0] < fewest:
        allowed = "equal numbers of runs" + ", two or more" * (fewest > 1)
        raise BadArgument("paired", f"found {', '.join(map(str, counts))} runs", allowed)
    for names, file in named:
        if names != named[0][0]:
            of_arms = [named[0], (names, file)]
            runs = (f"{', '.join(map(str, of[:5]))}{' ...' * (len(of) > 5)} in {where}" for of, where in of_arms)
            raise BadArgument("paired", f"found runs {', '.join(runs)}", "the same runs in each arm")


def arms_in_names(names: Sequence[str]) -> list[str] | None:
    """The arms that names have before a number, if there are two or more, and several runs of one; None if not."""
    arms = []
    for name in names:
        match = ENDS.fullmatch(name)
        if not match:
            return None
        word = match["word"]
        arm = match["arm"] if word.lower() in RUN_WORDS else name[: match.end("word")]
        arms.append(arm.rstrip(" _-/.=,("))
    if "" in arms or len(set(arms)) < 2 or len(set(arms)) == len(set(names)):
        return None
    return arms


def seeds_in_names(names: Sequence[str]) -> list[str] | None:
    """The seed that each name has, if each has one: seed1, s2."""
    found = [SEED.findall(name) for name in names]
    return [str(int(each[-1])) for each in found] if found and all(found) else None


def names_of_arms(arms: Sequence[Sequence[str]]) -> list[str]:
    """A name for each arm by its files: the shortest by which they all differ."""
    for naming in (
        _stem,
        _folder,
        _beginning,
        lambda files: files[0] if len(files) == 1 else f"{files[0]} ... {files[-1]}",
    ):
        names = [naming(files) for files in arms]
        if len(set(names)) == len(names) and all(names):
            return names
    return [f"{number}: {files[0]}" for number, files in enumerate(arms, 1)]


def _stem(files: Sequence[str]) -> str:
    return re.sub(r"\.[A-Za-z]+$", "", files[0].rpartition("/")[2]) if len(files) == 1 else ""


def _beginning(files: Sequence[str]) -> str:
    """What the names have in common before a number: run-a of run-a-seed1-tag-accuracy.csv and others."""
    same = _same([file.rpartition("/")[2] for file in files])
    return re.sub(r"[\s_\-.=]*(seed|run|rep|s)?[\s_\-.=]*\d*$", "", same, flags=re.IGNORECASE)


def _folder(files: Sequence[str]) -> str:
    """What the paths have in common before the last / of it."""
    return _same(files).rpartition("/")[0].rpartition("/")[2]


def _same(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts), max(texts)
    return first[: next((place for place, sign in enumerate(first) if last[place : place + 1] != sign), len(first))]
