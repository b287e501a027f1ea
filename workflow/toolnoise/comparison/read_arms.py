"""The runs of one method, from one file of several runs or from one file a run.

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

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison import prediction_files, table_rows
from toolnoise.comparison.label_files import Labels
from toolnoise.comparison.prediction_files import Answers
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


def labels_of(given: Sequence[str]) -> Labels:
    """The labels that the first file of an arm has, or its study."""
    return prediction_files.labels_of(files_of(given[0])[0])


def read(given: Sequence[str], labels: Labels) -> Answers:
    """The runs of an arm, from what was given for it."""
    paths = [path for pattern in given for path in files_of(pattern)]
    for path in paths if labels.alone else ():
        if Path(path).exists() and Path(labels.source).exists() and Path(path).samefile(labels.source):
            raise BadInput(path, "", "found the labels among the runs", "files of predictions")
    # Scores of many files need not fit into memory together.
    answers = [prediction_files.read(path, labels)._replace(scores=None) for path in paths]
    return joined(given[0] if len(given) == 1 else f"{given[0]} ... {given[-1]}", answers, labels, numbered(paths))


def numbered(paths: Sequence[str]) -> list[int] | None:
    """The number of each of several files, which is the seed in its path, or else the last number; None if two agree.

    A time is no number of a run.
    """
    seeds = seeds_in_names(paths)
    if seeds and len(set(seeds)) == len(seeds) > 1:
        return [int(seed) for seed in seeds]
    return numbers_of([DATED.sub("", path) for path in paths]) if len(paths) > 1 else None


def in_order(numbers: Sequence[int] | None, count: int) -> list[int]:
    """The places of so many runs in the order of their numbers, or as they are without."""
    return list(range(count)) if numbers is None else np.argsort(numbers).tolist()


def joined(name: str, answers: Sequence[Answers], labels: Labels, of_files: Sequence[int] | None = None) -> Answers:
    """The runs of an arm that are one file, or each of several files with these numbers, or arrays."""
    if len(answers) == 1:
        return answers[0]
    for runs in answers:
        if len(runs.predicted) != 1:
            allowed = f"one run in each of {len(answers)} files"
            raise BadInput(runs.file, "", f"found {len(runs.predicted)} runs", allowed)
        if runs.rights != answers[0].rights:
            what = "found classes beside right and wrong answers"
            raise BadInput(runs.file, "", what, "one of them in all files of an arm")
        _require_same_question(answers[0], runs)
    within = [number for runs in answers for number in runs.numbers or ()]
    numbers = within if len(set(within)) == len(answers) else of_files
    answers = [answers[place] for place in in_order(numbers, len(answers))]
    entropies, bits, drawn = ([getattr(runs, part) for runs in answers] for part in ("entropies", "bits", "drawn"))
    return Answers(
        name,
        np.concatenate([runs.predicted for runs in answers]),
        None if any(part is None for part in entropies) else np.concatenate(entropies),
        next((runs.classes for runs in answers if runs.classes), None),
        sum(runs.missing for runs in answers),
        None if any(part is None for part in drawn) else [run for part in drawn for run in part],
        None if any(part is None for part in bits) else [run for part in bits for run in part],
        list(dict.fromkeys(note for runs in answers for note in runs.notes)),
        rights=answers[0].rights,
        units=labels.units,
        outcome=labels.outcome,
        ids=next((runs.ids for runs in answers if runs.ids is not None), None),
        numbers=numbers and sorted(numbers),
        names=next((runs.names for runs in answers if runs.names), None),
    )


def _require_same_question(arm: Answers, other: Answers) -> None:
    """Refuse runs that choose among other classes, or whose examples have other names."""
    prediction_files.require_same_classes(arm, other)
    if arm.ids is not None and other.ids is not None:
        order = table_rows.matching(other.ids, arm.ids)
        if order is None or (order != np.arange(len(order))).any():
            allowed = "the same order, or --labels with a column of the examples, or a column of labels in each file"
            raise BadInput(other.file, "", f"found other examples than in {arm.file}, or in another order", allowed)


def right_or_wrong(arms: Sequence[Answers], labels: Labels) -> tuple[Sequence[Answers], np.ndarray]:
    """The arms, and the labels by which they are judged.

    If one of them says only which answers are right, all do, and right is the label of every example.
    """
    if not any(arm.rights for arm in arms):
        return arms, labels.classes
    judged = [
        arm if arm.rights else arm._replace(predicted=(arm.predicted == labels.classes).astype(np.int64), rights=True)
        for arm in arms
    ]
    return judged, np.ones(labels.examples, np.int64)


def require_comparable(arms: Sequence[Answers], paired: bool, same_start: bool) -> None:
    """Refuse arms that answer other questions, and assumptions that cannot hold."""
    for place, arm in enumerate(arms):
        for other in arms[:place]:
            _require_same_question(other, arm)
    require_possible(arms, paired, same_start)


def require_possible(arms: Sequence[Any], paired: bool, same_start: bool) -> None:
    """Refuse arms of answers or of numbers, and assumptions, that cannot be compared or cannot hold."""
    if len(arms) > len(NAMES):
        raise BadInput("command line", "ARMS", f"found {len(arms)} arms", f"at most {len(NAMES)}")
    counts = [arm.runs for arm in arms]
    if len(arms) > 2 and max(counts) == 1:
        what = f"found {len(arms)} methods of one run each"
        raise BadInput("command line", "ARMS", what, "quote the pattern: 'a/*.npy', or --arm a/*.npy --arm b/*.npy")
    if paired and same_start:
        raise BadInput("command line", "--paired", "found --same-start, too", "one of them")
    recorded = next((arm.file for arm in arms if arm.drawn is not None), None)
    if recorded and (paired or same_start):
        option = "--paired" if paired else "--same-start"
        raise BadInput("command line", option, f"the draws of {recorded} are known", "only for files of your own")
    if paired and len(set(counts)) > 1:
        raise BadInput("command line", "--paired", f"found {', '.join(map(str, counts))} runs", "equal numbers of runs")
    known = [arm for arm in arms if arm.numbers]
    for arm in known if paired else ():
        if arm.numbers != known[0].numbers:
            raise other_runs(*((each.numbers, each.file) for each in (known[0], arm)))


def other_runs(*arms: tuple[Sequence[Any], str]) -> BadInput:
    """What is wrong with paired arms that have these runs, each in its file."""
    runs = (f"{', '.join(map(str, names[:5]))}{' ...' * (len(names) > 5)} in {file}" for names, file in arms)
    return BadInput("command line", "--paired", f"found runs {', '.join(runs)}", "the same runs in each arm")


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
