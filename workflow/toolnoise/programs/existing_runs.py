"""Existing runs, from any program, become a study: their outcomes, and a study file that measures them.

Each run's predictions or metrics are copied into a folder in the form of docs/outside.md, beside the study file.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.comparison import arms, known_names, label_files
from toolnoise.comparison.arms import PREDICTIONS, RIGHTS, Arm
from toolnoise.comparison.metric_layouts import is_index
from toolnoise.comparison.naming import list_text, plain_words, require_one_scale_of_shares
from toolnoise.formulas import outcome_files, outputs
from toolnoise.formulas.outcomes import CLASSES, LEFT, LOGITS, LOSSES, METRIC, VALUES
from toolnoise.formulas.outcomes import LABELS as MANY
from toolnoise.study import config, strict_yaml

FIELD = re.compile(r"\{(\w+)\}")
SEED, ARM, FILE, LABELS = "seed", "arm", "file", "labels"
# The smallest normal float32, which stands for smaller probabilities: 0 has no logarithm.
TINY = np.finfo(np.float32).tiny
# A study's seeds begin at 1: 0 is the replicate of a source that may not vary.
STUDY_SEEDS = range(1, 1 << 31)
RENUMBERED = "Their seeds are numbered from 1 in their order; each origin.json has the run's own."


class Columns(NamedTuple):
    """The columns of a table that have a run's arm, its seed and its metrics."""

    arm: str = ARM
    seed: str = SEED
    metrics: tuple[str, ...] = ()


class ExistingRun(NamedTuple):
    """An existing run: its arm, its own seed if that is known, its file of predictions or its metrics."""

    where: str
    arm: str
    seed: int | None
    file: str = ""
    labels: str = ""
    metrics: dict[str, float] | None = None
    number: int = 0  # its seed in the study


def adopt(given: str, name: str, labels: str | None, columns: Columns, numbers_as: str | None = None) -> str:
    """Write the outcomes and the study file of runs in a table, or in files that match a pattern with fields.

    Return a report for a person.
    """
    config.complete_and_check(name, config.study_schema()["$defs"]["name"], "command line: --name")
    study, folder = Path(f"{name}.yaml"), Path("adopted") / name
    for path in (study, folder):
        if path.exists():
            raise BadInput(path, "", "already exists", "another --name, or remove it first")
    runs = _numbered(given, list(_in_files(given) if FIELD.search(given) else _in_table(given, columns)))
    by_metric: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        for metric, value in (run.metrics or {}).items():
            by_metric.setdefault(metric, {}).setdefault(run.arm, []).append(value)
    for metric, of_arms in by_metric.items():
        require_one_scale_of_shares(metric, of_arms, given)
    # Everything is read before anything is written.
    first: list[Arm] = []
    outcomes = [(run, _outcome(run, labels, numbers_as, first)) for run in runs]
    kinds = {kind for _, (kind, _) in outcomes}
    if len(kinds) > 1:
        raise BadInput(given, "", f"found {' and '.join(sorted(kinds))}", "one kind of outcome in a study")
    for run, (_, contents) in outcomes:
        _write(folder / run.arm / str(run.number), run, contents)
    seeds = {arm: [run.number for run in runs if run.arm == arm] for arm in dict.fromkeys(run.arm for run in runs)}
    files.write_text(study, _study(name, folder, seeds, kinds.pop()))
    counts = ", ".join(f"{arm} {len(numbers)}" for arm, numbers in seeds.items())
    renumbered = "" if all(run.seed in (None, run.number) for run in runs) else f" {RENUMBERED}"
    return f"{study}: {len(runs)} runs ({counts}), copied to {folder}.{renumbered} Next: toolnoise run {study}"


def _in_files(pattern: str) -> Iterator[ExistingRun]:
    """The runs of the files that match a pattern such as runs/{arm}/seed{seed}/preds.npy, with the fields of each."""
    fields = FIELD.findall(pattern)
    for field in fields:
        if field not in (ARM, SEED) or fields.count(field) > 1:
            raise BadInput("command line", "RUNS", f"found {{{field}}}", "allowed: {arm} and {seed}, each once")
    glob = FIELD.sub("*", pattern)
    expression = "".join(
        f"(?P<{part}>[^/]+)" if number % 2 else re.escape(part).replace(r"\*", "[^/]*")
        for number, part in enumerate(FIELD.split(pattern))
    )
    root = Path(Path(glob).anchor)
    try:
        paths = sorted(root.glob(str(Path(glob).relative_to(root))))
    except (ValueError, OSError) as error:
        wanted = "a pattern such as runs/{arm}/{seed}.npy, with something between its fields"
        raise BadInput("command line", "RUNS", f"{pattern}: {error}", wanted) from None
    matched = [(path, match) for path in paths if (match := re.fullmatch(expression, str(path)))]
    if not matched:
        raise BadInput("command line", "RUNS", f"no file matches {pattern}", "a pattern such as runs/{arm}/{seed}.npy")
    for path, match in matched:
        about = match.groupdict()
        yield ExistingRun(str(path), about.get(ARM, "runs"), _seed(about.get(SEED), str(path)), file=str(path))


def _in_table(path: str, columns: Columns) -> Iterator[ExistingRun]:
    with readable(path, "a CSV table of runs"):
        reader = csv.DictReader(io.StringIO(files.read_bytes(path).decode("utf-8-sig")), strict=True)
        rows = list(reader)
    header = reader.fieldnames or []
    if repeated := [name for name in header if header.count(name) > 1]:
        raise BadInput(path, "", f"found {len(repeated)} columns {repeated[0]!r}", "a name of its own for each column")
    wanted = columns.metrics or (FILE,)
    for column in (*wanted, *(name for name in (columns.arm, columns.seed) if name not in (ARM, SEED))):
        if column not in header:
            allowed = f"its columns are {', '.join(header)}; `--metric COLUMN` takes metrics from the table"
            raise BadInput(path, "", f"no column {column!r}", allowed)
    if not rows:
        raise BadInput(path, "", "no rows", "a run in each")
    names = _plain_names("command line", "--metric", columns.metrics)
    lines = [{key: (value or "").strip() for key, value in row.items() if key is not None} for row in rows]
    _require_runs(path, header, lines, columns)
    for number, about in enumerate(lines, 2):
        where = f"{path}: line {number}"
        arm, seed = about.get(columns.arm) or "runs", _seed(about.get(columns.seed), where)
        if columns.metrics:
            metrics = {name: _number(about[column], where, column) for column, name in names.items()}
            yield ExistingRun(where, arm, seed, metrics=metrics)
        else:
            beside = Path(path).parent
            labels = about.get(LABELS)
            yield ExistingRun(where, arm, seed, str(beside / about[FILE]), str(beside / labels) if labels else "")


def _require_runs(path: str, header: Sequence[str], lines: list[dict[str, str]], columns: Columns) -> None:
    """Refuse lines that are not runs of their arms, and arms or seeds in a column of another name."""
    free = [name for name in header if name not in (columns.arm, columns.seed, FILE, LABELS, *columns.metrics)]
    called = {name: plain_words(name) for name in free}
    several = [name for name in free if len({line[name] for line in lines}) > 1]
    for option, column, likely in (
        ("--arm-column", columns.arm, [name for name in several if called[name] in known_names.ARMS]),
        ("--seed-column", columns.seed, [name for name in free if called[name] in known_names.SEEDS]),
    ):
        if column not in header and likely:
            allowed = f"one of these: {list_text(likely)}; or a table without them"
            raise BadInput(path, option, f"missing, and no column is named {column}", allowed)
    arms = [line.get(columns.arm) for line in lines]
    seeds = any(line.get(columns.seed) for line in lines)
    for name in several:
        if len({*zip(arms, (line[name] for line in lines), strict=True)}) == len({*arms}):
            continue
        if called[name] in known_names.TASKS:
            raise BadInput(path, name, "found several in one arm", "a table for each")
        if called[name] in known_names.STEPS and not seeds:
            allowed = "a line for each run, with its seed, or without this column"
            raise BadInput(path, name, "found several in one arm, which may be steps of one run", allowed)
    numbering = [name for name in free if called[name] in {*known_names.RUNS, *known_names.SEEDS}]
    numbering += [name for place, name in enumerate(header) if name == columns.seed or (not place and is_index(name))]
    words = dict.fromkeys(numbering, known_names.SUMMARIES)
    words |= {name: known_names.UNFINISHED - {""} for name in free if called[name] in known_names.STATES}
    for number, line in enumerate(lines, 2):
        for name, wrong in words.items():
            if plain_words(line[name]) in wrong and not any(map(str.isdigit, line[name])):
                raise BadInput(f"{path}: line {number}", name, f"found {line[name]!r}", "a finished run in each line")


def _numbered(source: str, runs: list[ExistingRun]) -> list[ExistingRun]:
    """Runs with arm names that can be paths, each with its seed in the study.

    This is the run's own seed. If no run has a seed, it is the run's place within its arm; if a study cannot have one
    of the seeds, it is the place of the run's seed among all seeds.
    """
    names = _plain_names(source, ARM, (run.arm for run in runs))
    named = [run._replace(arm=names[run.arm]) for run in runs]
    seeds = {run.seed for run in named}
    if None in seeds and len(seeds) > 1:
        odd = next(run for run in named if run.seed is None)
        raise BadInput(odd.where, SEED, "no seed", "a seed in every row, or in none")
    seen: dict[tuple[str, int | None], str] = {}
    for run in named if None not in seeds else ():
        other = seen.setdefault((run.arm, run.seed), run.where)
        if other != run.where:
            raise BadInput(run.where, SEED, f"arm {run.arm} has seed {run.seed} in {other}, too", "each seed once")
    fitting = all(seed in STUDY_SEEDS for seed in seeds - {None})
    numbers = {seed: seed if fitting else place for place, seed in enumerate(sorted(seeds - {None}), 1)}
    places: Counter[str] = Counter()
    numbered = []
    for run in named:
        places[run.arm] += 1
        numbered.append(run._replace(number=places[run.arm] if run.seed is None else numbers[run.seed]))
    return sorted(numbered, key=lambda run: (list(places).index(run.arm), run.number))


def _outcome(
    run: ExistingRun, labels: str | None, numbers_as: str | None, first: list[Arm]
) -> tuple[str, dict[str, Any]]:
    """The kind of a run's outcome, and its files; `first` gets the run whose examples and order others must have."""
    if run.metrics is not None:
        return METRIC, {outcome_files.METRIC: run.metrics}
    arms.require_no_losses(run.file, numbers_as)
    source = run.labels or labels
    if numbers_as == LOSSES:
        if source:
            raise BadInput("command line", "--labels", f"found {source}", "none: a loss is no prediction of a label")
        padded, losses = arms.losses_of_a_run(run.file)
        arms.require_comparable([*first, losses])
        if not first:
            first.append(losses)
        return LOSSES, {LEFT[LOSSES].file: padded}
    if not source:
        raise BadInput("command line", "--labels", "missing", "a file with the labels, or a column `labels`")
    if numbers_as == VALUES:
        truth = label_files.read_numbers(source)
        values = arms.read_file(run.file, VALUES, truth)
        _require_one(run, values.runs)
        arms.require_comparable([*first, values])
        if not first:
            first.append(values)
        predicted, true = (part.reshape(truth.shape) for part in (values.answers, truth.answers))
        return VALUES, {LEFT[VALUES].file: predicted, outcome_files.LABELS: true}
    labels = label_files.read_labels(source)
    if labels.codes is not None:
        raise BadInput(source, "", "found texts as labels", "whole numbers, by which a study knows its classes")
    read = arms.read_file(run.file, PREDICTIONS, labels)
    _require_one(run, read.runs)
    if read.kind == RIGHTS:
        raise BadInput(run.file, "", "found right and wrong answers", "predicted classes or scores")
    arms.require_comparable([*first, read])
    if read.ids is not None and not first:
        first.append(read._replace(scores=None))
    if read.scores is None and labels.shape:
        allowed = "scores, which a study measures: log-odds or probabilities of many labels, or a score of each class"
        raise BadInput(run.file, "", f"found predicted classes of {labels.outcome}", allowed)
    if read.scores is None:
        return CLASSES, {LEFT[CLASSES].file: read.answers[0], outcome_files.LABELS: labels.answers}
    scores = read.scores[0]
    kind = outputs.kind_of_scores(scores)
    if kind == "neither":
        what = "found scores that are neither logits nor probabilities that sum to 1"
        raise BadInput(run.file, "", what, "one of these, or predicted classes")
    if kind == "probabilities":
        # These logits have the probabilities as their softmax.
        scores = np.log(np.maximum(scores.astype(np.float64), TINY))
    if not labels.shape:
        return LOGITS, {LEFT[LOGITS].file: scores.astype(np.float32), outcome_files.LABELS: labels.answers}
    if labels.outcome == MANY:
        scores = scores[:, 1] - scores[:, 0]
    shaped = scores.astype(np.float32).reshape(*labels.shape, *scores.shape[1:])
    return labels.outcome, {
        LEFT[labels.outcome].file: shaped,
        outcome_files.LABELS: labels.answers.reshape(labels.shape),
    }


def _require_one(run: ExistingRun, runs: int) -> None:
    if runs != 1:
        raise BadInput(run.file, "", f"found {runs} runs", "one run in a file")


def _write(folder: Path, run: ExistingRun, contents: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    for name, values in contents.items():
        if name == outcome_files.METRIC:
            files.write_json(folder / name, values)
        else:
            arrays.write_npy(folder / name, np.ascontiguousarray(values))
    origin: dict[str, Any] = {"adopted_from": run.file or run.where}
    if run.seed is not None:
        origin["seed"] = run.seed
    if run.file:
        origin["sha256"] = files.sha256(run.file)
    files.write_json(folder / "origin.json", origin)


def _study(name: str, folder: Path, seeds: dict[str, list[int]], kind: str) -> str:
    """The study file, with comments on the parts that a person may want to change."""
    models = {arm: {"adopted": str(folder / arm), "outcome": kind} for arm in seeds}
    blocks = [
        {"models": [arm], "datasets": ["outcome"], "hardware": ["adopted"], "variants": ["algo_impl"], "seeds": numbers}
        for arm, numbers in seeds.items()
    ]
    head = (
        f"# Runs that were there before this study, copied to {folder}: how they were made is not known here.\n"
        "# Each arm is a model. `algo_impl` says that anything may differ between its runs; if you know better, name\n"
        "# another variant, such as init for runs that differ by their initial weights alone.\n"
    )
    return head + strict_yaml.dump_yaml({"study": name, "models": models, "grid": blocks})


def _seed(text: str | None, where: str) -> int | None:
    if text is None or not text:
        return None
    if not re.fullmatch("[0-9]{1,20}", text):
        raise BadInput(where, SEED, f"found {text!r}", "a whole number; leave seeds out to count the runs")
    return int(text)


def _number(text: str, where: str, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise BadInput(where, column, f"found {text!r}", "a finite number")
    return value


def _plain_names(file: str, key: str, names: Iterable[str]) -> dict[str, str]:
    """Maps each name to its form in a path; two names with the same form are refused."""
    name_of: dict[str, str] = {}
    for name in names:
        other = name_of.setdefault(_plain(name), name)
        if other != name:
            what = f"found {other!r} and {name!r}, both {_plain(name)} as a name of a study"
            allowed = "names that differ in A-Z, a-z or 0-9 among their first 64 characters"
            raise BadInput(file, key, what, allowed)
    return {name: plain for plain, name in name_of.items()}


def _plain(text: str) -> str:
    """A name of letters, digits, -, _ and +, as paths in a study have."""
    name = re.sub(r"[^A-Za-z0-9_+-]+", "-", text).strip("-")[:64].lstrip("_+-")
    if not name:
        raise BadInput("command line", "RUNS", f"found the name {json.dumps(text)}", "letters or digits")
    return name
