"""Whether a model's answer to a row depends on the batch that the row is in; answered by running it.

Every row is given to the model in batches of each size, with other rows beside it, and with other numbers of threads.
What comes out is compared bit by bit with the largest batch's. Where bits differ, float64 tells rounding from a model
that mixes rows, as in `invariances`.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import aligned, span
from toolnoise.checking import differences, invariances, launch
from toolnoise.checking.invariances import EQUAL, ROUNDING, UNDECIDED

SIZES = (1, 2, 3, 4, 7, 8, 16, 32, 64, 128, 256)
THREADS = (1, 2)
SUFFIXES = (".onnx", ".keras", ".pt2")
AGAIN, REVERSED = "same batch again", "rows reversed"
# How the libraries of all frameworks are told.
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "NPROC")
EXPORT = (
    "torch.export.save(torch.export.export(model.eval(), (x,), "
    "dynamic_shapes=({0: torch.export.Dim('batch', min=1)},)), 'model.pt2')"
)
FORWARD = Path(__file__).with_name("forward.py")


class ForwardTask(NamedTuple):
    """What is compared: the file of a model, the file of its rows, the sizes of batches, and by which interpreter."""

    model: Path
    inputs: Path
    n_rows: int
    sizes: list[int]
    python: str
    higher: Path | None
    decode: int
    limit: float


class Row(NamedTuple):
    """A way, and what differs in it: rows, answers, the largest difference in both precisions if they are known.

    `parted` sequences differ, first at token `token`, if any were generated.
    """

    name: str
    verdict: str
    rows: int
    changed: int
    single: float | None
    double: float | None
    parted: int | None = None
    token: int | None = None

    @property
    def passed(self) -> bool:
        """As of other ways: up to rounding, and what is undecided if it changes no answer."""
        return self.verdict in (EQUAL, ROUNDING) or (self.verdict == UNDECIDED and not (self.changed or self.parted))


class CheckedModel(NamedTuple):
    """What was found, of which the first row is the control: the same batch again."""

    task: ForwardTask
    about: dict[str, Any]
    rows: list[Row]
    left_out: list[str]

    @property
    def passed(self) -> bool:
        """Whether the model is equal to itself, and all ways pass."""
        return self.rows[0].verdict == EQUAL and all(row.passed for row in self.rows)


def task(
    model: str,
    inputs: str | None,
    batches: str | None,
    python: str | None,
    higher: str | None,
    decode: int | None,
    limit: float,
) -> ForwardTask:
    """What to compare, from the command line; `limit` is in seconds."""
    if inputs is None:
        raise BadInput("command line", "--inputs", "is missing", "--inputs x.npy, the rows that the model is given")
    rows = _n_rows(Path(inputs))
    sizes = _sizes(batches, rows)
    if decode is not None and decode < 1:
        raise BadInput("command line", "--decode", f"found {decode}", "a number of tokens")
    raised = _model(higher) if higher else None
    return ForwardTask(_model(model), Path(inputs), rows, sizes, _interpreter(python), raised, decode or 0, limit)


def _model(name: str) -> Path:
    path = Path(name)
    if path.suffix in (".pt", ".pth", ".ckpt", ".bin", ".pkl", ".joblib", ".ts", ".torchscript"):
        raise BadInput(
            path, "", "a pickle or TorchScript, which can run code when it is loaded", f"export it: {EXPORT}"
        )
    if path.suffix not in SUFFIXES:
        raise BadInput(path, "", f"found the suffix {path.suffix!r}", f"allowed: {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise BadInput(path, "", "no such file", "the file of a model")
    return path


def _n_rows(path: Path) -> int:
    try:
        with path.open("rb"):
            found = np.load(path, allow_pickle=False, mmap_mode="r" if path.suffix == ".npy" else None)
        arrays = [found] if isinstance(found, np.ndarray) else list(found.values())
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(path, "", f"cannot be read ({error})", "a file that numpy.save or numpy.savez wrote") from None
    counts = {len(array) if array.ndim else 0 for array in arrays}
    if len(counts) != 1 or min(counts) < 2:
        raise BadInput(path, "", f"found {' and '.join(map(str, sorted(counts)))} rows", "at least 2, in each array")
    return counts.pop()


def _sizes(text: str | None, n_rows: int) -> list[int]:
    if text is None:
        return [size for size in SIZES if size <= n_rows]
    words = text.split(",")
    if not all(word.isascii() and word.isdecimal() and 0 < int(word) <= n_rows for word in words):
        raise BadInput("command line", "--batches", f"found {text!r}", f"sizes from 1 to {n_rows}, such as 1,8,64")
    return sorted(set(map(int, words)))


def _interpreter(python: str | None) -> str:
    if python is None:
        return sys.executable
    found = shutil.which(str(Path(python) / "bin/python") if Path(python).is_dir() else python)
    if not found:
        raise BadInput("command line", "--python", f"found {python!r}", "an interpreter, or a virtual environment")
    return found


def check(asked: ForwardTask, folder: Path) -> CheckedModel:
    """Run the model as often as its verdicts need, with all that its runs leave in a folder."""
    largest = asked.sizes[-1]
    same = {"size": largest, "reversed": False}
    ways = {AGAIN: same, REVERSED: same | {"reversed": True}}
    ways |= {f"batch {size}": {"size": size, "reversed": False} for size in asked.sizes[:-1]}
    about = _forward(asked, folder, "batches", ways)
    differences = about.pop("differences")
    found = {name: differences[name] for name in ways if name in differences}
    for number in THREADS:
        name = f"threads {number}"
        found |= _forward(asked, folder, name, {name: same}, threads=number)["differences"]
    # What has the same bits has no need of float64, and of a model that draws at random it tells nothing.
    differing = [name for name, each in found.items() if each["rows"] and not found[AGAIN]["rows"]]
    doubles = _in_float64(asked, folder, {name: ways[name] for name in differing if name in ways}, differing, same)
    rows = [_row(name, each, doubles.get(name)) for name, each in found.items()]
    return CheckedModel(asked, about, rows, [name for name in ways if name not in found])


def _in_float64(
    asked: ForwardTask, folder: Path, ways: Mapping[str, Any], differing: Sequence[str], same: Mapping[str, Any]
) -> dict[str, float | None]:
    """The largest differences in float64; none where the model cannot be run so."""
    if not differing:
        return {}
    first = _forward(asked, folder, "float64", ways, is_double=True)
    if "no_float64" in first:
        return {}
    found = first["differences"]
    for number in THREADS:
        if (name := f"threads {number}") in differing:
            found |= _forward(asked, folder, f"float64 {name}", {name: same}, number, is_double=True)["differences"]
    return {name: each["largest"] for name, each in found.items()}


def _forward(
    asked: ForwardTask,
    folder: Path,
    name: str,
    ways: Mapping[str, Any],
    threads: int | None = None,
    is_double: bool = False,
) -> dict[str, Any]:
    """Run the model in a process of its own."""
    job, out, log = (folder / f"{name.replace(' ', '-')}.{suffix}" for suffix in ("json", "found.json", "log"))
    model = asked.higher if is_double and asked.higher else asked.model
    files.write_json(
        job,
        {
            "model": str(model.absolute()),
            "inputs": str(asked.inputs.absolute()),
            "ways": dict(ways),
            "size": asked.sizes[-1],
            "reference": str(folder / ("float64.npy" if is_double else "outputs.npy")),
            "threads": threads,
            # A file of its own has its types.
            "double": is_double and asked.higher is None,
            "decode": 0 if is_double else asked.decode,
            "is_first": threads is None,
            "out": str(out),
        },
    )
    print(f"{name} started; log: {log}", file=sys.stderr, flush=True)
    variables = dict.fromkeys(VARIABLES, str(threads)) if threads else {}
    # A foreign interpreter must not write beside this program's files.
    variables |= {"PYTHONDONTWRITEBYTECODE": "1"}
    launch.run(
        [str(Path(asked.python).absolute()), str(FORWARD), str(job)],
        variables,
        log,
        folder,
        asked.limit,
        beat=_beat(name),
    )
    found = json.loads(out.read_text())
    if "refused" in found:
        raise BadInput(model, "", *found["refused"])
    return found


def _beat(name: str) -> Any:
    return lambda seconds, _line: print(f"{name} runs, {span(seconds)}", file=sys.stderr, flush=True)


def _row(name: str, found: Mapping[str, Any], double: float | None) -> Row:
    parted = found.get("parted", [None, None])
    verdict = invariances.verdict(found["largest"], double) if found["rows"] else EQUAL
    if not found["rows"] and parted[0]:
        verdict = UNDECIDED
    return Row(name, verdict, found["rows"], found["changed"], found["largest"], double, *parted)


def as_text(checked: CheckedModel) -> str:
    """The verdict for people; a model that differs from itself says so first."""
    asked, about, control = checked.task, checked.about, checked.rows[0]
    rows = f"{asked.n_rows} rows"
    if control.verdict == EQUAL:
        lines = [f"The same batch again: equal bit for bit ({rows}, {about['framework']}, {about['dtype']})."]
    else:
        lines = [f"The model differs from itself: in the same batch again, {control.rows} of {rows} have other bits."]
        lines += ["What other batches change cannot be told from that."]
    lines += ["", f"Compared with batches of {asked.sizes[-1]}:", *aligned(_table(checked))]
    mixing = [row.name for row in checked.rows if row.verdict == invariances.OTHER]
    if mixing:
        lines += [
            "",
            f"In float64 the difference stays ({', '.join(mixing)}): a row's answer depends on the other rows.",
        ]
    if control.verdict == EQUAL and any(row.verdict == UNDECIDED for row in checked.rows):
        lines += [
            "",
            "Undecided: without float64 a difference may be rounding or not. --higher FILE names an export in it.",
        ]
    if checked.left_out:
        lines.append(f"Left out ({', '.join(checked.left_out)}): exported for batches of {about['made_for']}.")
    lines.append(f"Run by {asked.python} on {os.cpu_count()} processors.")
    return "\n".join(lines)


def _table(checked: CheckedModel) -> list[tuple[str, ...]]:
    """A row for each way, by what it changes."""
    n_rows, decode = checked.task.n_rows, checked.task.decode
    table = [("way", "verdict", "rows that differ", "answers changed", "largest difference", "in float64")]
    table[0] += ("sequences that part", "first at token") if decode else ()
    for row in checked.rows:
        cells = (
            f"{row.rows} of {n_rows}",
            f"{row.changed} of {n_rows}",
            differences.size(row.single),
            differences.size(row.double),
        )
        if not row.rows:
            cells = ("none", "", "", "")
        if decode:
            cells += (f"{row.parted} of {n_rows}", str(row.token)) if row.parted else ("none", "")
        table.append((row.name, row.verdict, *cells))
    return table


def as_json(checked: CheckedModel) -> dict[str, Any]:
    """The verdict for programs."""
    asked = checked.task
    return {
        "model": str(asked.model),
        "inputs": str(asked.inputs),
        "python": asked.python,
        "passed": checked.passed,
        "deterministic": checked.rows[0].verdict == EQUAL,
        "reference": asked.sizes[-1],
        "n_rows": asked.n_rows,
        **checked.about,
        "ways": [{**row._asdict(), "passed": row.passed} for row in checked.rows],
        "left_out": checked.left_out,
    }
