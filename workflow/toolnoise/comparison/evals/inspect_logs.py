"""Logs of Inspect: a `.eval`, which is a zip of a JSON file for each sample and epoch, or a `.json` of all.

Scores are numbers, or C, P, I and N for 1, 1/2, 0 and 0, as in Inspect's `value_to_float`; of a score with several
values, each is named `scorer/value`. A sample that ended in an error has no score.

The zip may be packed with Zstandard, which Python 3.14 reads and earlier versions do not. Each file in it is read on
its own, none is larger than the memory allows, and nothing is written.
"""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.files import LARGEST_TEXT, is_below, read_bytes, readable
from toolnoise.comparison import array_files
from toolnoise.comparison.evals import json_text
from toolnoise.comparison.evals.scored import Asked, Log, Scored, chosen, digest, field, listed, number

WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json")
# Letters of a log, before which its first keys stand.
BEGINNING = 10_000
HEADERS = ("header.json", "_journal/start.json")
ZSTANDARD = 93
OF_INSPECT = "a log of Inspect"
# The header of a file within a zip: its last fields are the lengths of the name and of what stands behind it.
LOCAL = struct.Struct("<4s22xHH")


def is_json(path: str) -> bool:
    """Whether an object over several lines, or in one, begins as a log in Inspect's JSON format."""
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        begins = file.read(BEGINNING)
    return all(f'"{key}":' in begins for key in ("status", "eval"))


def is_zip(path: str) -> bool:
    """Whether a zip is a log of Inspect."""
    return not {*HEADERS}.isdisjoint(_names(path))


def read(path: str, asked: Asked) -> Log:
    """The samples in a log."""
    header, samples = _of_zip(path) if array_files.zipped(path) else _of_json(path)
    about = header.get("eval")
    task = str(about.get("task", "")) if isinstance(about, dict) else ""
    kept = [(key, _sample(path, key, sample, task, asked), _scores(sample)) for key, sample in samples]
    metric = chosen(path, (name for _, _, scores in kept for name in scores), asked.metric)
    rows = []
    for key, row, scores in kept:
        value = scores.get(metric)
        # An error of the sample, or a scorer that was not reached.
        rows.append(row if value is None else row._replace(score=_as_number(path, f"{key}: {metric}", value)))
    status = header.get("status", "success")
    model = f" of {about['model']}" if isinstance(about, dict) and isinstance(about.get("model"), str) else ""
    how = f"read as a log of Inspect{model}: {metric}" + (f"; its status is {status}" if status != "success" else "")
    return Log(path, task, metric, how, rows)


def _of_zip(path: str) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    names = _names(path)
    header = next((name for name in HEADERS if name in names), None)
    samples = [name for name in names if SAMPLE.fullmatch(name)]
    if header is None or not samples:
        raise BadInput(path, "", f"found {listed(names) or 'no files'}", "header.json and samples of Inspect")
    wrong = next((name for name in (header, *samples) if not is_below(name)), None)
    if wrong is not None:
        raise BadInput(path, wrong, "found a name that leads elsewhere", "samples/ID_epoch_N.json")
    read_one = _reader(path)
    parts = ((name, json_text.as_object(path, name, read_one(name))) for name in samples)
    return json_text.as_object(path, header, read_one(header)), parts


def _names(path: str) -> list[str]:
    """The names in a zip; none if it is no zip."""
    try:
        with zipfile.ZipFile(path) as packed:
            return packed.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return []


def _reader(path: str) -> Callable[[str], bytes]:
    """A function that gives the bytes of a file in a zip."""
    with readable(path, OF_INSPECT), zipfile.ZipFile(path) as packed:
        parts = {part.filename: part for part in packed.infolist()}

    def read(name: str) -> bytes:
        part = parts[name]
        if part.file_size > LARGEST_TEXT:
            raise BadInput(path, name, f"unpacks to {part.file_size} bytes", f"at most {LARGEST_TEXT}")
        with readable(path, OF_INSPECT):
            if part.compress_type == ZSTANDARD:
                return _unpacked(path, part)
            with zipfile.ZipFile(path) as packed:
                return packed.read(name)

    return read


def _unpacked(path: str, part: zipfile.ZipInfo) -> bytes:
    """The bytes of a file that is packed with Zstandard."""
    try:
        import zstandard
    except ImportError:
        allowed = "pip install zstandard; or a copy that inspect log convert --to json makes"
        raise BadInput(path, part.filename, "is packed with Zstandard", allowed) from None
    with Path(path).open("rb") as file:
        file.seek(part.header_offset)
        sign, name, further = LOCAL.unpack(file.read(LOCAL.size))
        if sign != b"PK\3\4":
            raise ValueError("no file where the zip says")
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


def _of_json(path: str) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    with readable(path, json_text.WANTED):
        found = json_text.as_object(path, "", read_bytes(path))
    samples = found.get("samples")
    if not isinstance(samples, list) or not samples or not all(isinstance(each, dict) for each in samples):
        raise BadInput(path, "samples", "found none", "a list of samples")
    return found, ((f"samples[{place}]", sample) for place, sample in enumerate(samples))


def _sample(path: str, key: str, sample: Mapping[str, Any], task: str, asked: Asked) -> Scored:
    if "id" not in sample or "epoch" not in sample:
        raise BadInput(path, key, "found no id and epoch", "a sample as Inspect writes it")
    cluster = None
    if asked.cluster:
        cluster = task if asked.cluster == "task" else field(path, key, sample.get("metadata"), asked.cluster)
    question, epoch = str(sample["id"]), str(sample["epoch"])
    content = digest(_question(sample.get("input")))
    return Scored(question, None, sample=epoch, answer=_answer(sample), cluster=cluster, content=content)


def _question(asked: Any) -> Any:
    """What was asked: the messages of a log have names drawn at random, too."""
    if not isinstance(asked, list):
        return asked
    return [[each.get("role"), each.get("content")] if isinstance(each, dict) else each for each in asked]


def _scores(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The values of each scorer, by name."""
    scores = sample.get("scores")
    # Logs of the first versions have one.
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
        return number(path, key, value)
    if value in WORDS or value.lower() in WORDS:
        return WORDS.get(value, WORDS.get(value.lower(), 0.0))
    try:
        return number(path, key, float(value))
    except ValueError:
        raise BadInput(path, key, f"found {value[:40]!r}", "a number, or C, P, I or N") from None


def _answer(sample: Mapping[str, Any]) -> str | None:
    """What a scorer took for the answer if all agree, or else the whole completion."""
    scores, output = sample.get("scores"), sample.get("output")
    every = scores.values() if isinstance(scores, dict) else ()
    taken = {str(score.get("answer") or "") for score in every if isinstance(score, dict)}
    if len(taken) == 1 and (only := taken.pop()):
        return only.strip()
    completion = output.get("completion") if isinstance(output, dict) else None
    return completion.strip() if isinstance(completion, str) else None
