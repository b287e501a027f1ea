"""JSON values in fewer characters, which a page's script turns back into the same values (web/unpacking.js).

A long list is kept by columns: the values of one key side by side, numbers in equal steps as start, step and count,
repeated values as places in a list of values, a name without the beginning that it shares with the one before, and
digests in base64. A packed value is an object with a single key, which begins with `$`. Everything else stays as it is.
"""

import base64
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# Shorter lists stay as they are.
FEW = 4
# Lists of at most so many items are rows of a table.
WIDE = 16
# The beginning that two names share ends with one of these, so that no word is cut.
ENDS = "/.:"
# The last character that a script counts as one.
LAST = "\uffff"
# Numbers of more decimals, and larger ones, stay as they are.
DECIMALS, EXACT = 9, 2**53

FORMS = "$same", "$steps", "$chosen", "$names", "$fixed", "$hex", "$rows", "$pairs"
SAME, STEPS, CHOSEN, NAMES, FIXED, HEX, ROWS, PAIRS = FORMS
DIGEST = re.compile(r"(?:[0-9a-f]{2}){3,}")
HOLDERS = (dict, list, tuple)


def packed(value: Any) -> Any:
    """The value in fewer characters."""
    if isinstance(value, dict):
        return _object(value)
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) < FEW:
        return [packed(item) for item in value]
    if len({json.dumps(item) for item in itertools.islice(value, FEW)}) == 1 and _same(value):
        return {SAME: [packed(value[0]), len(value)]}
    return _table(value) if any(isinstance(item, HOLDERS) for item in value) else _scalars(value)


def _object(value: Mapping[Any, Any]) -> Any:
    """An object; one with values of one form is a table of them, by key."""
    forms = {_form(item, len(value)) for item in value.values()}
    if any(str(key).startswith("$") for key in value) or (len(value) >= FEW and len(forms) == 1 and forms != {None}):
        return {PAIRS: [packed(list(map(str, value))), packed(list(value.values()))]}
    return {key: packed(item) for key, item in value.items()}


def _same(items: Sequence[Any]) -> bool:
    # As text, because 1, 1.0 and True are equal.
    first = json.dumps(items[0])
    return all(json.dumps(item) == first for item in items)


def _table(items: Sequence[Any]) -> Any:
    """Rows by columns. Where there are rows of several forms, each form has a table; None is that of all the rest."""
    forms = [_form(item, len(items)) for item in items]
    often = {form for form, count in Counter(forms).items() if form is not None and count >= FEW}
    if not often:
        return [packed(item) for item in items]
    rows: dict[Any, list[Any]] = {}
    for item, form in zip(items, forms, strict=True):
        rows.setdefault(form if form in often else None, []).append(item)
    places = {form: number for number, form in enumerate(rows)}
    numbers = [places[form if form in often else None] for form in forms]
    return {ROWS: [packed(numbers), [[form, _columns(form, of_form)] for form, of_form in rows.items()]]}


def _form(item: Any, rows: int) -> tuple[str, ...] | int | None:
    """What the rows of a table have in common: their keys or, unless they are wider than long, their length."""
    if isinstance(item, dict) and item:
        return tuple(map(str, item))
    return len(item) if isinstance(item, (list, tuple)) and 0 < len(item) <= min(WIDE, rows) else None


def _columns(form: tuple[str, ...] | int | None, rows: Sequence[Any]) -> Any:
    if form is None:
        return [packed(row) for row in rows] if any(isinstance(row, HOLDERS) for row in rows) else packed(rows)
    values = (row.values() if isinstance(row, dict) else row for row in rows)
    return [packed(column) for column in zip(*values, strict=True)]


def _scalars(items: Sequence[Any]) -> Any:
    """A list of numbers, texts and the like."""
    if all(type(item) is int for item in items):
        steps = _steps(items)
        return {STEPS: steps} if len(steps) < len(items) else list(items)
    places: dict[tuple[type, Any], int] = {}
    numbers = [places.setdefault((type(item), item), len(places)) for item in items]
    forms: list[Any] = [list(items)]
    if len(places) <= len(items) / 2:
        forms.append({CHOSEN: [packed([value for _, value in places]), packed(numbers)]})
    elif all(isinstance(item, str) for item in items):
        forms += _digests(items) if all(map(DIGEST.fullmatch, items)) else _names(items)
    elif all(type(item) in (int, float) for item in items):
        forms += _fixed(items)
    return min(forms, key=lambda form: len(json.dumps(form, separators=(",", ":"))))


def _steps(numbers: Iterable[int]) -> list[Any]:
    """Numbers; several in equal steps are [start, step, count]."""
    groups: list[list[int]] = []
    for number in numbers:
        last = groups[-1] if groups else None
        if last and (last[2] == 1 or number == last[0] + last[1] * last[2]):
            last[1] = (number - last[0]) // last[2]
            last[2] += 1
        else:
            groups.append([number, 0, 1])
    kept: list[Any] = []
    for start, step, count in groups:
        kept += [[start, step, count]] if count >= FEW else [start + step * place for place in range(count)]
    return kept


def _names(items: Sequence[str]) -> Iterator[Any]:
    """How many characters each name shares with the one before, and the rest of it."""
    if not all(max(name, default="") <= LAST for name in items):
        return
    shared = [_shared(before, name) for before, name in itertools.pairwise(("", *items))]
    rests = [name[length:] for name, length in zip(items, shared, strict=True)]
    if any(shared):
        yield {NAMES: [packed(shared), packed(rests) if len(set(rests)) <= len(rests) / 2 else rests]}


def _digests(items: Sequence[str]) -> Iterator[Any]:
    """The lengths of digests, and all of them together."""
    yield {HEX: [packed(list(map(len, items))), base64.b64encode(bytes.fromhex("".join(items))).decode()]}


def _shared(before: str, name: str) -> int:
    differs = (place for place, (a, b) in enumerate(zip(before, name, strict=False)) if a != b)
    common = before[: next(differs, min(len(before), len(name)))]
    return max(common.rfind(end) for end in ENDS) + 1


def _fixed(numbers: Sequence[float]) -> Iterator[Any]:
    """Numbers of few decimals as whole ones, and the number of decimals."""
    texts = list(map(repr, numbers))
    if any(sign in text for text in texts for sign in "en"):
        return
    digits = max(len(text.partition(".")[2]) for text in texts)
    whole = [round(number * 10**digits) for number in numbers]
    if digits <= DECIMALS and all(abs(number) < EXACT for number in whole):
        yield {FIXED: [digits, whole]}
