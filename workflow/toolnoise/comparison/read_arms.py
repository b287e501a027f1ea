"""The runs of one method, from one file of several runs or from one file a run.

An arm is given as a file, as a folder of files, as a pattern such as `a/*.npy`, or as the files that a shell makes of a
pattern. Files of a folder or a pattern are taken in the order of their names. A single file may hold any number of
runs; of several files, each is one run.
"""

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison import prediction_files, table_rows
from toolnoise.comparison.label_files import Labels
from toolnoise.comparison.prediction_files import Answers

NAMES = string.ascii_uppercase
SUFFIXES = (".npy", ".npz", ".csv")


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
    return joined(given[0] if len(given) == 1 else f"{given[0]} ... {given[-1]}", answers, labels)


def joined(name: str, answers: Sequence[Answers], labels: Labels) -> Answers:
    """The runs of an arm that are one file, or each of several files, or arrays."""
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
    known = next((arm.file for arm in arms if arm.drawn is not None), None)
    if known and (paired or same_start):
        option = "--paired" if paired else "--same-start"
        raise BadInput("command line", option, f"the draws of {known} are known", "only for files of your own")
    if paired and len(set(counts)) > 1:
        raise BadInput("command line", "--paired", f"found {', '.join(map(str, counts))} runs", "equal numbers of runs")
    numbered = [arm for arm in arms if arm.numbers]
    for arm in numbered if paired else ():
        if arm.numbers != numbered[0].numbers:
            runs = (f"{_shown(each.numbers)} in {each.file}" for each in (numbered[0], arm))
            what = f"found runs {', '.join(runs)}"
            raise BadInput("command line", "--paired", what, "the same runs in each arm")


def _shown(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + " ..." * (len(numbers) > 5)
