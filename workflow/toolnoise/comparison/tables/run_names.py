"""Arms, numbers and seeds in the names of runs and files: bert-seed1 is a run of bert with seed 1, gpt_2 one of gpt.

A number is a seed only where the name says so: W&B, for instance, numbers all runs of a project.
"""

import re
from collections.abc import Sequence

ENDS = re.compile(r"(?P<arm>.*?)[\s_\-/.=,(]*(?P<word>[A-Za-z]*)[\s_\-=:]*(?P<number>\d+)\W*", re.ASCII)
SEED = re.compile(r"(?<![a-z])s(?:eed)?[\s_\-=:]*(\d+)(?!\d)", re.IGNORECASE)
WORDS = {"", "seed", "s", "run", "rep", "replicate", "trial", "r"}


def split(names: Sequence[str]) -> list[str] | None:
    """The arms that names have before a number, if there are two or more, and several runs of one; None if not."""
    arms = []
    for name in names:
        match = ENDS.fullmatch(name)
        if not match:
            return None
        word = match["word"]
        arm = match["arm"] if word.lower() in WORDS else name[: match.end("word")]
        arms.append(arm.rstrip(" _-/.=,("))
    if "" in arms or len(set(arms)) < 2 or len(set(arms)) == len(set(names)):
        return None
    return arms


def seeds(names: Sequence[str]) -> list[str] | None:
    """The seed that each name has, if each has one: seed1, s2."""
    found = [SEED.findall(name) for name in names]
    return [str(int(each[-1])) for each in found] if found and all(found) else None


def of_files(arms: Sequence[Sequence[str]]) -> list[str]:
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
