"""Logs of Inspect: a `.eval`, which is a zip of a JSON file for each sample and epoch, or a `.json` of all.

Scores are numbers, or C, P, I and N for 1, 1/2, 0 and 0, as in Inspect's `value_to_float`; of a score with several
values, each is named `scorer/value`. A sample that ended in an error has no score.

The zip may be packed with Zstandard, which Python 3.14 reads; earlier versions need the package zstandard. Each file in
it is read on its own, none is larger than the memory allows, and nothing is written.
"""

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.files import LARGEST_TEXT, read_bytes, readable
from toolnoise.comparison.metric_names import listed
from toolnoise.comparison.question_logs import (
    OF_LOGS,
    Asked,
    Log,
    Scored,
    chosen_score,
    digest,
    field_text,
    samples_of,
    score_number,
)
from toolnoise.comparison.table_files import is_zipped

WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json")
BEGINNING = 10_000  # letters of a log, among which its first keys stand
ZSTANDARD = 93
HEADERS = ("header.json", "_journal/start.json")
# The header of a file within a zip: its last fields are the lengths of the name and of what stands behind it.
LOCAL = struct.Struct("<26xHH")


def is_json(path: str) -> bool:
    """Whether an object over several lines, or in one, begins as a log in Inspect's JSON format."""
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        begins = file.read(BEGINNING)
    return all(f'"{key}":' in begins for key in ("status", "eval"))


def is_zip(path: str) -> bool:
    """Whether a zip is a log of Inspect."""
    try:
        with zipfile.ZipFile(path) as packed:
            return not {*HEADERS}.isdisjoint(packed.namelist())
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def read_inspect_log(path: str, asked: Asked) -> Log:
    """The samples in a log."""
    if is_zipped(path):
        header, samples = _of_zip(path)
    else:
        with readable(path, OF_LOGS):
            header = _object(path, "", read_bytes(path))
        every = header.get("samples")
        if not isinstance(every, list) or not every or not all(isinstance(each, dict) for each in every):
            raise BadInput(path, "samples", "found none", "a list of samples")
        samples = ((f"samples[{place}]", sample) for place, sample in enumerate(every))
    about = header["eval"] if isinstance(header.get("eval"), dict) else {}
    task = str(about.get("task", ""))
    kept = [(key, _sample(path, key, sample, task, asked), _scores(sample)) for key, sample in samples]
    metric = chosen_score(path, (name for _, _, scores in kept for name in scores), asked.metric)
    # There is no score after an error of the sample, or if a scorer was not reached.
    rows = [
        row if scores.get(metric) is None else row._replace(score=_as_number(path, f"{key}: {metric}", scores[metric]))
        for key, row, scores in kept
    ]
    status = header.get("status", "success")
    model = f" of {about['model']}" if isinstance(about.get("model"), str) else ""
    how = f"read as a log of Inspect{model}: {metric}" + (f"; its status is {status}" if status != "success" else "")
    return Log(path, metric, [how], samples_of(rows), task)


def _object(path: str, key: str, content: bytes) -> dict[str, Any]:
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
    samples = [name for name in parts if SAMPLE.fullmatch(name)]
    if header is None or not samples:
        raise BadInput(path, "", f"found {listed([*parts]) or 'no files'}", "header.json and samples of Inspect")

    def unpacked(name: str) -> dict[str, Any]:
        if parts[name].file_size > LARGEST_TEXT:
            what = f"unpacks to {parts[name].file_size} bytes"
            raise BadInput(path, name, what, f"at most {LARGEST_TEXT}")
        # Python 3.14's zipfile reads Zstandard itself.
        by_package = parts[name].compress_type == ZSTANDARD and not hasattr(zipfile, "ZIP_ZSTANDARD")
        with readable(path, OF_LOGS), zipfile.ZipFile(path) as packed:
            content = _of_zstandard(path, parts[name]) if by_package else packed.read(name)
        return _object(path, name, content)

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


def _sample(path: str, key: str, sample: Mapping[str, Any], task: str, asked: Asked) -> Scored:
    if "id" not in sample or "epoch" not in sample:
        raise BadInput(path, key, "found no id and epoch", "a sample as Inspect writes it")
    cluster = None
    if asked.cluster:
        cluster = task if asked.cluster == "task" else field_text(path, key, sample.get("metadata"), asked.cluster)
    question = sample.get("input")
    if isinstance(question, list):  # the messages of a log have names drawn at random, too
        question = [[it.get("role"), it.get("content")] if isinstance(it, dict) else it for it in question]
    about = {"sample": str(sample["epoch"]), "answer": _answer(sample)}
    return Scored(str(sample["id"]), None, cluster=cluster, content=digest(question), **about)


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
        return score_number(path, key, value)
    known = WORDS.get(value, WORDS.get(value.lower()))
    try:
        return score_number(path, key, float(value)) if known is None else known
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
