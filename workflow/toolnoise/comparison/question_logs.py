"""The scores of questions: samples of lm-evaluation-harness, logs of Inspect, JSON lines, or a CSV file.

Every log has the score of each sample of a run for each question. Questions are identified by their names, and also by
their content if a log has it. In a table without names, the number of the line is the name. Fields are looked up by
name; dots separate the names of nested fields.

A line of `lm_eval --log_samples` belongs to a document and a filter. Metrics have the names of its results:
`exact_match,strict-match` is a metric after a filter. The filter may be left out if a file has only one. The answer is
the text after the filter, or the index of the likeliest choice.

A log of Inspect is a `.eval`, a zip with a JSON file for each sample and epoch, or a `.json` of all. Scores are
numbers, or C, P, I and N for 1, 1/2, 0 and 0, as in Inspect's `value_to_float`. If a score has several values, each is
named `scorer/value`. A sample that ended in an error has no score. Python 3.14 reads a zip packed with Zstandard;
earlier versions need the package zstandard. Each file in the zip is read on its own, up to a size limit, and nothing is
written.

Columns of other files are found by their names (docs/tables/compare.txt): the question; its score, or an answer and its
target, which are compared without the spaces around them; the run; the sample, if another column has the question.
Metrics of runs are no scores of questions. So lines of several runs or steps must name their questions, and so must
lines with scores other than 0 and 1 and without texts.
"""

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from toolnoise.base.errors import BadInput, Spelling
from toolnoise.base.files import LARGEST_TEXT, read_bytes, readable
from toolnoise.comparison.known_names import QUESTION_ANSWERS, QUESTION_SAMPLES, QUESTION_SCORES, STEPS
from toolnoise.comparison.naming import list_text, parts_of, role_of
from toolnoise.comparison.table_files import (
    BOOLEANS,
    LARGEST,
    first_object,
    has_names,
    is_number,
    is_zipped,
    objects,
    read_csv,
)

OF_LOGS = "a log of lm-evaluation-harness or Inspect, or JSON lines"


class Asked(NamedTuple):
    """What to read from logs: the name of the score, and the field that groups questions."""

    metric: str | None = None
    cluster: str | None = None


class Scored(NamedTuple):
    """One sample of one run for a question; it has no score if its evaluation failed.

    `cluster` is the question's group, `content` a digest of the question itself.
    """

    question: str
    score: float | None
    run: str = ""
    sample: str = ""
    answer: str | None = None
    cluster: str | None = None
    content: str | None = None


class Log(NamedTuple):
    """The samples of a file or of all files of an arm, with metric, task, and notes on how they were read.

    `samples` has a line for each `Scored`. The runs of an arm are numbered from 0, and have `names` if files have them.
    """

    file: str
    metric: str
    how: Sequence[str]
    samples: pd.DataFrame
    task: str = ""
    names: Sequence[str] | None = None

    @property
    def scores(self) -> list[float]:
        """All scores."""
        return self.samples["score"].dropna().tolist()


def samples_of(rows: Iterable[Scored]) -> pd.DataFrame:
    """Samples as a frame."""
    return pd.DataFrame(list(rows), columns=Scored._fields, dtype=object)


def score_number(path: str, key: str, value: Any) -> float:
    """A score as a finite number."""
    if isinstance(value, bool | int | float) and abs(value) <= LARGEST:
        return float(value)
    raise BadInput(path, key, f"found {value!r:.40}", f"a number within {LARGEST:g} of 0, or true or false")


def field_text(path: str, key: str, of: Any, name: str) -> str:
    """The value of a field by its name, as a text."""
    value = of
    for part in [name] if isinstance(of, Mapping) and name in of else name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            allowed = f"one of {list_text([*value])}" if isinstance(value, Mapping) and value else "a field that it has"
            raise BadInput(path, key, f"found no {name}", f"{allowed} as cluster")
        value = value[part]
    if isinstance(value, Mapping | list) or value is None:
        allowed = "a field that has a text or a number as cluster"
        raise BadInput(path, key, f"found {value!r:.40} as {name}", allowed)
    return str(value)


def chosen_score(path: str, found: Iterable[str], asked: str | None) -> str:
    """The name that is asked for, or the only one; if there are several, one must be asked for."""
    names = list(dict.fromkeys(found))
    if asked in names:
        return asked
    what = f"found the scores {list_text(names)}" if names else "found no score that is a number"
    if not names:
        raise BadInput(path, "", what, "a log with scores")

    def one_of_them(spelled: Spelling) -> str:
        return f"{f'not {asked}: ' if asked else ''}one of them, such as {spelled('metric', names[0])}"

    if asked is not None or len(names) > 1:
        raise BadInput(path, "", what, one_of_them)
    return names[0]


def digest_of_content(value: Any) -> str:
    """A digest of a question's content."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()


NAMED = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+\.jsonl")
# The fields of a line besides its metrics.
KEYS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
KEYS |= {"doc_hash", "prompt_hash", "target_hash"}


def is_harness_line(found: dict[str, Any]) -> bool:
    """Whether lm-evaluation-harness wrote this line."""
    return {"doc_id", "doc", "resps"} <= found.keys()


def read_harness_samples(path: str, asked: Asked) -> Log:
    """The samples in a file of lm-evaluation-harness."""
    name = NAMED.fullmatch(Path(path).name)
    task, kept = name[1] if name else "", []
    for place, line in objects(path):
        key = f"line {place}"
        if not is_harness_line(line):
            raise BadInput(path, key, "found no doc_id, doc and resps", "lines as lm_eval --log_samples writes them")
        doc = line["doc"]
        # Documents are large; only a few values of each line are kept.
        cluster = None
        if asked.cluster:
            cluster = task if asked.cluster == "task" and task else field_text(path, key, doc, asked.cluster)
        # Not every version writes its own hash.
        content = str(digest_of_content(doc) if doc else line.get("doc_hash") or digest_of_content(doc))
        about = Scored(str(line["doc_id"]), None, answer=_answer(line), cluster=cluster, content=content)
        kept.append((key, about, str(line.get("filter", "none")), _metrics(line)))
    filters = {of for _, _, of, _ in kept}
    full = {f"{metric},{of}": (metric, of) for _, _, of, metrics in kept for metric in metrics}
    if len(filters) == 1 and asked.metric not in full:
        full = {metric: (metric, of) for metric, of in full.values()}
    metric, wanted = full[chosen_score(path, full, asked.metric)]
    rows = []
    for key, about, of, metrics in kept:
        if of == wanted:
            if metric not in metrics:
                raise BadInput(path, key, f"found no {metric}", "the same metrics in every line")
            rows.append(about._replace(score=score_number(path, key, metrics[metric])))
    shown = f"{metric},{wanted}" if len(filters) > 1 else metric
    return Log(path, shown, [f"read as samples of lm-evaluation-harness: {shown}"], samples_of(rows), task)


def _metrics(line: dict[str, Any]) -> dict[str, float]:
    """The metrics of a line that are numbers, by name."""
    names = line.get("metrics")
    # Older versions do not list the metrics.
    names = names if isinstance(names, list) else [name for name in line if name not in KEYS]
    return {name: line[name] for name in map(str, names) if isinstance(line.get(name), bool | int | float)}


def _answer(line: dict[str, Any]) -> str | None:
    """The answered text, or the index of the likeliest choice."""
    found = line.get("filtered_resps")
    if not isinstance(found, list) or not found:
        return None
    if len(found) == 1:
        only = found[0][0] if isinstance(found[0], list) and len(found[0]) == 1 else found[0]
        return only.strip() if isinstance(only, str) else None
    # Each choice has its log-likelihood; log-likelihoods without the context may follow.
    asked = line.get("arguments")
    parts = list(asked.values()) if isinstance(asked, dict) else asked if isinstance(asked, list) else []
    contexts = [part.get("arg_0") if isinstance(part, dict) else None for part in parts]
    same = [at for at, context in enumerate(contexts) if context == contexts[0]] or range(len(found))
    try:
        odds = {at: float(found[at][0]) for at in same}
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return str(max(odds, key=odds.__getitem__))


SCORE_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
SAMPLE_FILE = re.compile(r"samples/.+_epoch_\d+\.json")
BEGINNING = 10_000  # length of a log's beginning that has its first keys
ZSTANDARD = 93
HEADERS = ("header.json", "_journal/start.json")
# The header of a file in a zip; its last fields are the lengths of the name and of the extra field.
LOCAL = struct.Struct("<26xHH")


def is_inspect_json(path: str) -> bool:
    """Whether a file begins like a log in Inspect's JSON format, on one line or several."""
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        begins = file.read(BEGINNING)
    return all(f'"{key}":' in begins for key in ("status", "eval"))


def is_inspect_zip(path: str) -> bool:
    """Whether a zip is a log of Inspect."""
    try:
        with zipfile.ZipFile(path) as packed:
            return not {*HEADERS}.isdisjoint(packed.namelist())
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def read_inspect_log(path: str, asked: Asked) -> Log:
    """The samples in a log of Inspect."""
    if is_zipped(path):
        header, samples = _of_zip(path)
    else:
        with readable(path, OF_LOGS):
            header = _object_in(path, "", read_bytes(path))
        every = header.get("samples")
        if not isinstance(every, list) or not every or not all(isinstance(each, dict) for each in every):
            raise BadInput(path, "samples", "found none", "a list of samples")
        samples = ((f"samples[{place}]", sample) for place, sample in enumerate(every))
    about = header["eval"] if isinstance(header.get("eval"), dict) else {}
    task = str(about.get("task", ""))
    kept = [(key, _sample_of_log(path, key, sample, task, asked), _scores_of_sample(sample)) for key, sample in samples]
    metric = chosen_score(path, (name for _, _, scores in kept for name in scores), asked.metric)
    # A sample has no score after an error, or if a scorer was not reached.
    rows = [
        row if scores.get(metric) is None else row._replace(score=_as_number(path, f"{key}: {metric}", scores[metric]))
        for key, row, scores in kept
    ]
    status = header.get("status", "success")
    model = f" of {about['model']}" if isinstance(about.get("model"), str) else ""
    how = f"read as a log of Inspect{model}: {metric}" + (f"; its status is {status}" if status != "success" else "")
    return Log(path, metric, [how], samples_of(rows), task)


def _object_in(path: str, key: str, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadInput(path, key, f"damaged or truncated ({error})", OF_LOGS) from None
    if not isinstance(found, dict):
        raise BadInput(path, key, f"found {type(found).__name__}", "an object")
    return found


def _of_zip(path: str) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    with readable(path, OF_LOGS), zipfile.ZipFile(path) as packed:
        parts = {part.filename: part for part in packed.infolist()}
    header = next((name for name in HEADERS if name in parts), None)
    samples = [name for name in parts if SAMPLE_FILE.fullmatch(name)]
    if header is None or not samples:
        raise BadInput(path, "", f"found {list_text([*parts]) or 'no files'}", "header.json and samples of Inspect")

    def unpacked(name: str) -> dict[str, Any]:
        if parts[name].file_size > LARGEST_TEXT:
            what = f"unpacks to {parts[name].file_size} bytes"
            raise BadInput(path, name, what, f"at most {LARGEST_TEXT}")
        # Python 3.14's zipfile reads Zstandard itself.
        by_package = parts[name].compress_type == ZSTANDARD and not hasattr(zipfile, "ZIP_ZSTANDARD")
        with readable(path, OF_LOGS), zipfile.ZipFile(path) as packed:
            content = _of_zstandard(path, parts[name]) if by_package else packed.read(name)
        return _object_in(path, name, content)

    return unpacked(header), ((name, unpacked(name)) for name in samples)


def _of_zstandard(path: str, part: zipfile.ZipInfo) -> bytes:
    """The bytes of a file that is packed with Zstandard."""
    try:
        import zstandard
    except ImportError:
        allowed = "pip install zstandard; or a copy that inspect log convert --to json makes"
        raise BadInput(path, part.filename, "is packed with Zstandard", allowed) from None
    with Path(path).open("rb") as file:
        file.seek(part.header_offset)
        name, further = LOCAL.unpack(file.read(LOCAL.size))
        file.seek(name + further, io.SEEK_CUR)
        packed = io.BytesIO(file.read(part.compress_size))
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            content = stream.read(part.file_size + 1)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    if len(content) != part.file_size or zlib.crc32(content) != part.CRC:
        raise ValueError(f"{part.filename} has other bytes than the zip says")
    return content


def _sample_of_log(path: str, key: str, sample: Mapping[str, Any], task: str, asked: Asked) -> Scored:
    if "id" not in sample or "epoch" not in sample:
        raise BadInput(path, key, "found no id and epoch", "a sample as Inspect writes it")
    cluster = None
    if asked.cluster:
        cluster = task if asked.cluster == "task" else field_text(path, key, sample.get("metadata"), asked.cluster)
    question = sample.get("input")
    if isinstance(question, list):  # messages have random names
        question = [[it.get("role"), it.get("content")] if isinstance(it, dict) else it for it in question]
    about = {"sample": str(sample["epoch"]), "answer": _answer_of_sample(sample)}
    return Scored(str(sample["id"]), None, cluster=cluster, content=digest_of_content(question), **about)


def _scores_of_sample(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The values of each scorer, by name."""
    scores = sample.get("scores")
    # Logs of the first versions have one score.
    scores = scores if isinstance(scores, dict) else {"score": sample["score"]} if sample.get("score") else {}
    found = {}
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            found |= {f"{name}/{part}": each for part, each in value.items()}
        elif value is not None and not isinstance(value, list):
            found[name] = value
    return found


def _as_number(path: str, key: str, value: Any) -> float:
    if not isinstance(value, str):
        return score_number(path, key, value)
    known = SCORE_WORDS.get(value, SCORE_WORDS.get(value.lower()))
    try:
        return score_number(path, key, float(value)) if known is None else known
    except ValueError:
        raise BadInput(path, key, f"found {value[:40]!r}", "a number, or C, P, I or N") from None


def _answer_of_sample(sample: Mapping[str, Any]) -> str | None:
    """The answer extracted by the scorers if all agree, else the whole completion."""
    scores, output = sample.get("scores"), sample.get("output")
    every = scores.values() if isinstance(scores, dict) else ()
    taken = {str(score.get("answer") or "") for score in every if isinstance(score, dict)}
    if len(taken) == 1 and (only := taken.pop()):
        return only.strip()
    completion = output.get("completion") if isinstance(output, dict) else None
    return completion.strip() if isinstance(completion, str) else None


# Columns of texts, by name.
Columns = Mapping[str, Sequence[str]]


def read_score_table(path: str, asked: Asked) -> Log:
    """The scores in CSV or JSON lines."""
    columns = _columns(path)
    examples = _of_role(columns, "example")
    questions = [name for name in examples if _short(name) not in QUESTION_SAMPLES] or examples
    # A table may have a question's text beside its id.
    named = [name for name in questions if "id" in parts_of(name)]
    questions = _at_most_one(path, named if len(named) == 1 else questions, "questions")
    samples = [name for name in columns if _short(name) in QUESTION_SAMPLES and name not in questions]
    runs = _of_role(columns, "run")
    answers = _of_role(columns, "pred") or [name for name in columns if _short(name) in QUESTION_ANSWERS]
    answers = _at_most_one(path, answers, "answers")
    score, scores = _scores(path, columns, answers, asked.metric)
    if not questions:
        _require_questions(path, columns, score, scores)
    if asked.cluster is not None and asked.cluster not in columns:
        raise BadInput(path, "", f"found no column {asked.cluster}", f"one of {list_text([*columns])} as cluster")
    rows = [
        Scored(
            # Without names, a question is known by its line.
            question=_named(path, columns, questions, place) or str(place + 1),
            score=value,
            run=_named(path, columns, runs, place),
            sample=_named(path, columns, samples, place),
            answer=columns[answers[0]][place].strip() if answers else None,
            cluster=_named(path, columns, [asked.cluster], place) if asked.cluster else None,
        )
        for place, value in enumerate(scores)
    ]
    alone = "" if questions else ", without a column of questions: each line is taken for one, in the same order"
    return Log(path, score, [f"read as a table: {score}{alone}"], samples_of(rows))


def _columns(path: str) -> Columns:
    if not first_object(path):
        frame = read_csv(path, typed=False)
        if not has_names(frame):
            raise BadInput(path, "", "found no names of columns", "a first line with id, correct and so on")
        return {name: frame[name].tolist() for name in frame}
    lines = list(objects(path))
    names = [name for name, value in lines[0][1].items() if not isinstance(value, dict | list | None)]
    for place, line in lines:
        for name in names:
            if isinstance(line.get(name), dict | list | None):
                what = f"found {json.dumps(line[name]) if name in line else 'none':.40}"
                raise BadInput(path, f"line {place}: {name}", what, "a value, as in the first line")
    return {name: [str(line[name]) for _, line in lines] for name in names}


def _named(path: str, columns: Columns, names: Sequence[str], place: int) -> str:
    """The name of a line's run, sample or question from these columns; 7 and 7.0 are one name."""
    found = [columns[name][place].strip() for name in names]
    if "" in found:
        raise BadInput(path, f"row {place + 1}, column {names[found.index('')]}", "found nothing", "a name")
    return "/".join(f"{float(text):.17g}" if "." in text and is_number(text) else text for text in found)


def _scores(path: str, columns: Columns, answers: Sequence[str], metric: str | None) -> tuple[str, list[float]]:
    """The name of the score, and the score of each line."""
    kept = _of_role(columns, "correct") or [name for name in columns if _short(name) in QUESTION_SCORES]
    if kept or metric is not None:
        name = chosen_score(path, columns if metric is not None else kept, metric)
        return name, [_number(path, f"row {row + 1}, column {name}", text) for row, text in enumerate(columns[name])]
    targets = _of_role(columns, "label")
    # Beside a prediction, an answer is the target.
    targets = targets or [name for name in columns if name == "answer" and name not in answers]
    if not answers or not _at_most_one(path, targets, "targets"):
        allowed = "a column correct or score; or texts, in pred and target"
        raise BadInput(path, "", f"found the columns {list_text([*columns])}", allowed)
    pairs = zip(columns[answers[0]], columns[targets[0]], strict=True)
    return f"{answers[0]} = {targets[0]}", [float(text.strip() == target.strip()) for text, target in pairs]


def _require_questions(path: str, columns: Columns, score: str, scores: Sequence[float]) -> None:
    """Refuse lines that may not be one question each: several runs or steps, or numbers such as metrics."""
    of_runs = [
        name
        for name in columns
        if role_of(name) == "run" or _short(name) in QUESTION_SAMPLES or "_".join(parts_of(name)) in STEPS
    ]
    several = next((name for name in of_runs if name != score and len(set(columns[name])) > 1), None)
    texts = any(role_of(name) in ("pred", "label") or _short(name) in QUESTION_ANSWERS for name in columns)
    other = next((value for value in scores if value not in (0, 1)), None)
    if several or (other is not None and not texts):
        what = f"found several values of {several}" if several else f"found {score} {other:g}"
        allowed = "metrics of runs go in one table or a CSV, with metric, without correct"
        raise BadInput(path, "", f"{what}, and no column of questions", f"a column id of the questions; {allowed}")


def _of_role(columns: Columns, role: str) -> list[str]:
    return [name for name in columns if role_of(name) == role]


def _at_most_one(path: str, names: list[str], what: str) -> list[str]:
    if len(names) > 1:
        raise BadInput(path, "", f"found the columns {list_text(names)}", f"one column of {what}")
    return names


def _short(name: str) -> str:
    return "".join(parts_of(name))


def _number(path: str, key: str, text: str) -> float:
    known = BOOLEANS.get(text.strip().lower())
    if known is None and is_number(text):
        known = float(text)
    return score_number(path, key, text if known is None else known)
