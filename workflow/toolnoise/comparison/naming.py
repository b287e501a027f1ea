"""The meaning of names: a column's role, a metric's direction, arms and seeds in names of runs and files.

A metric has a direction if its name consists of a listed name and of words that do not reverse it, such as val and
top1. Any other word may change the meaning: loss_reduction, weight_loss, accuracy_gap. For such names, the user gives
the direction. Names do not give the scale: 0.93 in one arm and 93 in another probably differ only by a factor of 100.

An arm is given as a file, as a folder of files, as a pattern such as `a/*.npy`, or as several files. The files of a
folder or a pattern are read in the order of their names. If files or their names number the runs, runs are in the order
of these numbers. A single file may have any number of runs; if there are several files, each is one run. bert-seed1 is
a run of bert with seed 1, gpt_2 a run of gpt. A number is a seed only after the word seed or s, since others may number
something else: W&B numbers all runs of a project.
"""

import difflib
import os
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison.known_names import (
    HIGHER,
    LOWER,
    NEGATED,
    NEUTRAL,
    NUMBERED_RUNS,
    OF_EXAMPLES,
    SCORES_OF,
    WORDS,
)

# Prefixes that loggers put before a column's name.
PREFIXES = ("metrics.", "params.", "tags.", "config.", "summary.", "config/", "params_", "user_attrs_")
SHOWN = 20  # names shown in an error
PERCENT = 100
# Words in names of metrics that are shares.
SHARES = {"acc", "accuracy", "auc", "auroc", "auprc", "iou", "miou", "recall", "precision", "dice", "rouge"}


class Metric(NamedTuple):
    """A metric's name, whether lower is better (None: unknown), and its unit if it has one."""

    name: str
    lower: bool | None
    unit: str = ""
    why: str = ""

    @property
    def better(self) -> str:
        """Its direction, as a sentence."""
        if self.lower is None:
            return f"{self.name}: which way is better is not known (lower or higher says it)"
        return f"{self.name}: {'lower' if self.lower else 'higher'} is better ({self.why})"


def with_directions(
    names: Sequence[str], lower: Sequence[str] | None = None, higher: Sequence[str] | None = None
) -> list[Metric]:
    """Metrics with their directions; empty `lower` or `higher` means all metrics, None means none."""
    metrics = []
    for name in names:
        said = [of is not None and (not of or name in of) for of in (lower, higher)]
        if all(said):
            raise BadArgument("lower", f"found higher, too, of {name}", "one of them")
        metrics.append(Metric(name, said[0], why="as you say") if any(said) else _by_name(name))
    return metrics


def require_directions(metrics: Iterable[Metric]) -> None:
    """Refuse a metric whose direction is unknown."""
    for metric in metrics:
        if metric.lower is None:
            what = f"found {metric.name}, and not which way it is better"
            raise BadArgument("metric", what, lambda spelled: f"{spelled('lower')} or {spelled('higher')}, too")


def _by_name(name: str) -> Metric:
    """The direction of a known name; a name with both directions has none."""
    for text in dict.fromkeys((name, split_words(name))):  # mIoU, testError
        words = re.findall("[a-z]+[0-9]*", text.lower())
        # Numbers are dropped unless they belong to a name: top1 is top, f1 stays f1.
        words = [word if word in HIGHER else word.rstrip("0123456789") for word in words]
        spaced = f" {' '.join(words)} "
        lower, higher = ([known for known in of if f" {known} " in spaced] for of in (LOWER, HIGHER))
        others = {*words} - {word for of in (*lower, *higher) for word in of.split()} - NEUTRAL
        if bool(lower) != bool(higher) and others <= NEGATED:
            return Metric(name, bool(lower) != bool(others), why="by its name")
    return Metric(name, None)


def split_words(name: str) -> str:
    """A name with a space before each word that begins with a capital letter."""
    return re.sub("([a-z])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)


def words_of(name: str) -> list[str]:
    """The words of a name such as val/topLoss_1, in small letters."""
    return re.findall("[a-z]+", split_words(name).lower())


def without_prefix(name: str) -> str:
    """A name without a logger's prefix."""
    prefix = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
    return name[len(prefix) :]


def plain_words(name: str) -> str:
    """A name by its words alone, without a logger's prefix: MLflow's "Run ID" is run_id."""
    return "_".join(words_of(without_prefix(name)))


def is_meant(name: str, wanted: str) -> bool:
    """Whether a name refers to this column, ignoring a logger's prefix and case."""
    return without_prefix(name).lower() == without_prefix(wanted).lower()


def column_named(path: str, names: Sequence[str], wanted: str, argument: str) -> str:
    """The one column that a name refers to: exactly, without a logger's prefix, or ignoring case."""
    for matching in (
        [name for name in names if name == wanted],
        [name for name in names if name in {prefix + wanted for prefix in PREFIXES}],
        [name for name in names if is_meant(name, wanted)],
    ):
        if len(set(matching)) == 1:
            return matching[0]
        if matching:
            what = f"found {wanted} in {', '.join(matching)}"
            raise BadArgument(argument, what, "the name of one of them", path)
    near = difflib.get_close_matches(wanted, names, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise BadArgument(argument, f"found no column {wanted}", f"{meant}it has {list_text(names)}", path)


def list_text(names: Sequence[str]) -> str:
    """A list of names for an error, shortened if long."""
    shown = [name or "one without a name" for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def require_one_scale(held: Mapping[str, Sequence[float]], key: str = "", file: str = "") -> None:
    """Refuse numbers of 0 to 1 in one file or arm beside larger ones, of up to 100, in another."""
    ends = [(name, min(values), max(values)) for name, values in held.items() if values]
    share = next((each for each in ends if each[1] >= 0 and 0 < each[2] <= 1), None)
    for name, low, high in ends if share else ():
        if low >= 0 and 1 < high <= PERCENT:
            what = f"found {low:g} to {high:g} in {name}, and {share[1]:g} to {share[2]:g} in {share[0]}"
            raise BadInput(file or name, key, what, "one scale in all: shares, or percent")


def require_one_scale_of_shares(metric: str, of_arms: Mapping[str, Sequence[float]], file: str = "") -> None:
    """Refuse mixed scales among arms for a metric that is a share by its name."""
    if not SHARES.isdisjoint(words_of(metric)):
        require_one_scale(of_arms, metric, file)


NAMES = string.ascii_uppercase
SUFFIXES = (".npy", ".npz", ".csv")
# A part of a path with a date, and a part below it with a time: their numbers are not runs.
DATED = re.compile(r"[^/]*(\d{4}-\d\d-\d\d|\d{8}[T_-]\d{6})[^/]*(/\d\d-\d\d-\d\d(?=/))?")
ENDS = re.compile(r"(?P<arm>.*?)[\s_\-/.=,(]*(?P<word>[A-Za-z]*)[\s_\-=:]*(?P<number>\d+)\W*", re.ASCII)
SEED = re.compile(r"(?<![a-z])s(?:eed)?[\s_\-=:]*(\d+)(?!\d)", re.IGNORECASE)
RUN_WORDS = {"", "seed", "s", "run", "rep", "replicate", "trial", "r"}


def files_of(given: str) -> list[str]:
    """The files of a path, a folder or a pattern."""
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


def run_numbers(paths: Sequence[str]) -> list[int] | None:
    """The number of each file: the seed in its path, or else the last number; None unless all differ.

    A time is not a run's number.
    """
    seeds = seeds_in_names(paths)
    if seeds and len(set(seeds)) == len(seeds) > 1:
        return [int(seed) for seed in seeds]
    return numbers_of([DATED.sub("", path) for path in paths]) if len(paths) > 1 else None


def require_pairs(counts: Sequence[int], named: Sequence[tuple[Sequence[Any], str]], fewest: int = 1) -> None:
    """Refuse paired arms with different numbers or names of runs; `named` has each arm's names and file."""
    if len(set(counts)) > 1 or counts[0] < fewest:
        allowed = "equal numbers of runs" + ", two or more" * (fewest > 1)
        raise BadArgument("paired", f"found {', '.join(map(str, counts))} runs", allowed)
    for names, file in named:
        if names != named[0][0]:
            of_arms = [named[0], (names, file)]
            runs = (f"{', '.join(map(str, of[:5]))}{' ...' * (len(of) > 5)} in {where}" for of, where in of_arms)
            raise BadArgument("paired", f"found runs {', '.join(runs)}", "the same runs in each arm")


def arms_in_names(names: Sequence[str]) -> list[str] | None:
    """The arms before the number in each name; None unless there are two or more, one of them with several runs."""
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
    """The seed in each name, such as 1 in seed1 or s1; None unless each name has one."""
    found = [SEED.findall(name) for name in names]
    return [str(int(each[-1])) for each in found] if found and all(found) else None


def names_of_arms(arms: Sequence[Sequence[str]]) -> list[str]:
    """A name for each arm from its files: the shortest that differs between all arms."""
    for name_of in (_stem, _folder, _beginning, _whole):
        names = [name_of(files) for files in arms]
        if len(set(names)) == len(names) and all(names):
            return names
    return [f"{number}: {files[0]}" for number, files in enumerate(arms, 1)]


def _stem(files: Sequence[str]) -> str:
    """The name of a single file without its suffix."""
    return re.sub(r"\.[A-Za-z]+$", "", files[0].rpartition("/")[2]) if len(files) == 1 else ""


def _folder(files: Sequence[str]) -> str:
    """The last folder that the paths have in common."""
    return os.path.commonprefix(files).rpartition("/")[0].rpartition("/")[2]  # noqa: RUF071 (by letters)


def _beginning(files: Sequence[str]) -> str:
    """The common beginning of the names before a number, such as run-a for run-a-seed1-tag-accuracy.csv."""
    same = os.path.commonprefix([file.rpartition("/")[2] for file in files])  # noqa: RUF071 (by letters)
    return re.sub(r"[\s_\-.=]*(seed|run|rep|s)?[\s_\-.=]*\d*$", "", same, flags=re.IGNORECASE)


def _whole(files: Sequence[str]) -> str:
    """The whole path, or the first and the last."""
    return files[0] if len(files) == 1 else f"{files[0]} ... {files[-1]}"


# Names in tables of predictions


def role_of(name: str) -> str:
    """The role of a column or an array by its name."""
    words = parts_of(name)
    if name and not words:
        return "other"
    whole = "".join(words)
    for role, names in OF_EXAMPLES.items():
        if not names.isdisjoint((whole, whole.replace("ids", "id"), whole.replace("indices", "index"))):
            return role
    numbered = not NUMBERED_RUNS.isdisjoint(words) and any(word.isdigit() for word in words)
    role = role_of_words(words)
    if role == "score":
        return "score by run" if numbered else "score"
    if role or numbered:
        return f"{role} by run"
    if len(words) > 1 and not SCORES_OF.isdisjoint(words):
        return "score"
    return "number" if len(words) == 1 and words[0].isdigit() else "other"


def parts_of(name: str) -> list[str]:
    """The words and numbers in a name."""
    return re.findall("[a-z]+|[0-9]+", name.lower())


def role_of_words(words: Sequence[str]) -> str:
    """The first role in `WORDS` that one of these words has, or an empty text."""
    return next((role for role, of_role in WORDS.items() if not of_role.isdisjoint(words)), "")


def numbers_of(names: Sequence[str]) -> list[int] | None:
    """The last number in each name; None unless all differ."""
    digits = [re.findall("[0-9]+", name)[-1:] for name in names]
    numbers = [int(last[0][:18]) for last in digits if last]
    return numbers if len(set(numbers)) == len(names) else None


def by_number(names: Sequence[str]) -> list[int]:
    """The places of the names in the order of their numbers, or as given if numbers are missing or repeat."""
    numbers = numbers_of(names)
    return list(range(len(names))) if numbers is None else sorted(range(len(names)), key=numbers.__getitem__)


def distinct_words(names: Sequence[str]) -> list[str]:
    """Each name without the words that all share: a and b for score_a and score_b; full names if two would be equal."""
    words = [re.findall(r"[^\W_]+", name.lower()) for name in names]
    shared = set.intersection(*map(set, words)) if words else set()
    distinct = [" ".join(word for word in each if word not in shared) for each in words]
    return distinct if len(set(distinct)) == len(names) else list(names)
