"""Start an existing program with its seeds and folders, and watch it until it ends. docs/outside.md explains it.

A program gets its seeds and folders as environment variables, in a JSON file, and as placeholders in its command line;
its place in the grid is only in the file. Seeds come from the streams: a source that may not vary has the same seed in
every run. A program starts without a shell, in its own process group, with a log and a time limit.

Ctrl-C, SIGTERM and SIGHUP first end the program and its process group, then this process. If this process is killed,
Linux kills the program, but processes that the program has started may go on.

If the command names variables by {env:NAME}, the program's output goes through a pipe. It is written to the log at
once, with placeholders instead of the values. Only an end that may be the beginning of a value is held back. So the log
never has a value in it, even if this process is killed.
"""

import base64
import functools
import html
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote, quote_plus

from toolnoise import streams
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC, replicate_of
from toolnoise.base.printing import span_text
from toolnoise.base.program import end_with
from toolnoise.base.spec import Spec

GRACE = 10  # seconds from SIGTERM to SIGKILL
BEAT, LOOK, SOON = 30, 1, 0.02  # seconds between progress reports, looks at the log, and looks for a stop
# Bytes of a log: the beginning that is kept when a log is cut, and the size above which it is cut.
KEPT, MOST = 1 << 26, 1 << 28
LAST_LINES, LAST_BYTES = 3, 4096
# The prefix of the environment variables with a program's seeds.
SEED = "TOOLNOISE_SEED_"
# Bytes that a pipe holds.
SIZE = 1 << 16
# Values of several lines, such as keys, are also hidden line by line, if a line has at least this many characters.
LINE = 16


Job = dict[str, Any]


def job_of(spec: Spec, study: str, out: str | Path, checkpoint: str | Path) -> Job:
    """The job of a run's program: its place in the grid, its seeds by source, and its folders."""
    return {
        "study": study,
        **{part: getattr(spec, part).name for part in ("model", "dataset", "hardware", "variant")},
        "seed": spec.seed,
        "seeds": {source: _seed(spec, source) for source in ALGORITHMIC},
        "deterministic": not spec.varies("impl"),
        "out": str(Path(out).absolute()),
        "checkpoint": str(Path(checkpoint).absolute()),
    }


def variables_of(job: Job, file: str | Path) -> dict[str, str]:
    """The environment variables for the program; `file` is the job as JSON."""
    return {
        "TOOLNOISE_OUT": job["out"],
        **{f"{SEED}{source.upper()}": str(seed) for source, seed in job["seeds"].items()},
        "TOOLNOISE_DETERMINISTIC": str(int(job["deterministic"])),
        "TOOLNOISE_CHECKPOINT": job["checkpoint"],
        "TOOLNOISE_JOB": str(Path(file).absolute()),
    }


def placeholders_of(job: Job) -> dict[str, Any]:
    """The values of the placeholders in the program's command line."""
    return {**job["seeds"], "out": job["out"], "checkpoint": job["checkpoint"]}


def _seed(spec: Spec, source: str) -> int:
    """32 bits of the source's stream for this run's replicate."""
    stream = streams.stream_key(spec.study_seed, source, replicate_of(source, spec), "program")
    return int(streams.raw_integers(stream, 1)[0]) >> 32


# Values of variables that a command names


class Redaction:
    """Hides values in a program's output, in every spelling in which programs print them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """Take the values to hide, by placeholder; without values, nothing is changed and no pipe is made."""
        self.names = {form: f"{{{name}}}".encode() for name, value in values.items() for form in _spellings(value)}
        # The longest first, since a spelling may begin with another one.
        spelled = sorted(self.names, key=len, reverse=True)
        self.pattern = re.compile(b"|".join(map(re.escape, spelled))) if spelled else None
        self.first = {form[0] for form in spelled}

    def text(self, text: str) -> str:
        """Replace the values in a text by their placeholders."""
        content = text.encode(errors="surrogateescape")
        return self._hidden(content).decode(errors="surrogateescape")

    def require_absent(self, where: Path, content: bytes) -> None:
        """Refuse an outcome that contains a hidden value, since outcomes are kept and may be shared."""
        if self.pattern and (match := self.pattern.search(content)):
            what = f"the program wrote the value of {self.names[match[0]].decode()} into it"
            raise BadInput(where, "", what, "an outcome without values that the study does not record")

    @contextmanager
    def into(self, log: int) -> Iterator[int]:
        """Yield a descriptor for a program's output; when the block ends, the redacted output is in the log."""
        if self.pattern is None:
            yield log
            return
        read, write = os.pipe()
        ended, end = os.pipe()
        copying = threading.Thread(target=self._copy, args=(read, ended, log), daemon=True)
        copying.start()
        try:
            yield write
        finally:
            os.close(write)
            # Do not wait for the end of the pipe: processes that the program has left may hold it open.
            os.close(end)
            copying.join()
            os.close(read)
            os.close(ended)

    def _copy(self, read: int, ended: int, log: int) -> None:
        # After the program has ended, read only what the pipe holds: a process that it has left may print for ever.
        waiting, has_ended, left = b"", False, SIZE
        while left > 0:
            has_ended = has_ended or ended in select.select([read, ended], [], [])[0]
            if has_ended and not select.select([read], [], [], 0)[0]:
                break
            new = os.read(read, SIZE)
            if not new:
                break
            left -= len(new) * has_ended
            ready, waiting = self._ready(waiting + new)
            _write(log, ready)
        _write(log, self._hidden(waiting))

    def _ready(self, content: bytes) -> tuple[bytes, bytes]:
        """The part of the output that can be written, redacted, and the rest, which may be the beginning of a value."""
        longest = max(map(len, self.names))
        start = max(0, len(content) - longest + 1)
        ends = (content[at:] for at in range(start, len(content)) if content[at] in self.first)
        held = next((end for end in ends if any(name.startswith(end) for name in self.names)), b"")
        at = len(content) - len(held)
        # A value that begins before the rest may end in it.
        for match in self.pattern.finditer(content):
            if match.start() < at < match.end():
                at = match.end()
        return self._hidden(content[:at]), content[at:]

    def _hidden(self, content: bytes) -> bytes:
        return self.pattern.sub(lambda match: self.names[match[0]], content) if self.pattern else content


def _write(log: int, content: bytes) -> None:
    # A full disk under a log must not end the job.
    with suppress(OSError):
        while content:
            content = content[os.write(log, content) :]


def _spellings(value: str) -> set[bytes]:
    """A value as it is, escaped as in JSON, Python, URLs and HTML, and in base64; and its long lines."""
    plain = value.encode(errors="surrogateescape")
    spelled = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]]
    spelled += [quote(plain), quote(plain, safe=""), quote_plus(plain), html.escape(value)]
    lines = [line for line in value.splitlines() if len(line) >= LINE]
    texts = (text.encode(errors="surrogateescape") for text in (*spelled, *lines))
    return {plain, base64.b64encode(plain), *texts}


# Starting, stopping and watching a program


class Saves:
    """The times at which a program has finished saving its checkpoints, as far as repeated looks show."""

    def __init__(self, places: Sequence[Path]) -> None:
        self.places = places
        self._seen: dict[Path, tuple[int, int]] = {}
        self._kept: dict[Path, tuple[int, int]] = {}
        self._times: list[float] = []

    def times(self) -> list[float]:
        """Look, and return the times of all saves. A save is over when changed files stay the same for two looks."""
        seen = file_stamps(self.places)
        # If files are only removed, such as an older checkpoint, it is no save.
        if seen == self._seen and any(self._kept.get(path) != stamp for path, stamp in seen.items()):
            self._kept = seen
            self._times.append(time.monotonic())
        self._seen = seen
        return self._times


def file_stamps(places: Sequence[Path]) -> dict[Path, tuple[int, int]]:
    """The modification time and size of the files in `places`, and of all files below the folders in `places`."""
    found = {}
    for place in places:
        # Unlike Path.rglob, os.walk does not fail if a folder vanishes meanwhile.
        within = (Path(folder, name) for folder, _, names in os.walk(place) for name in names)
        for path in (place, *within):
            with suppress(OSError):
                if path.is_file():
                    stat = path.stat()
                    found[path] = stat.st_mtime_ns, stat.st_size
    return found


class Stop(NamedTuple):
    """The signal that stops a program, and when: `after` seconds after its start, or after it has printed `pattern`.

    With `saves`, it stops after the second save, by the share `after` of the time between the first two saves.
    """

    signal: int
    after: float
    pattern: re.Pattern | None = None
    saves: Saves | None = None

    def is_due(self, log: Path, times: list[float]) -> bool:
        """Whether the stop is due; `times` begins with the start, and the time of the pattern is added to it."""
        if self.saves:
            saved = self.saves.times()
            return len(saved) > 1 and time.monotonic() - saved[1] >= self.after * (saved[1] - saved[0])
        if self.pattern and len(times) == 1 and self.pattern.search(log.read_text(errors="replace")):
            times.append(time.monotonic())
        return len(times) == 1 + bool(self.pattern) and time.monotonic() - times[-1] >= self.after


def run_command(
    words: Sequence[str],
    variables: Mapping[str, str],
    log: str | Path,
    folder: str | Path = ".",
    limit: float | None = None,
    hidden: Mapping[str, str] | None = None,
    beat: Callable[[float, str], None] | None = None,
    stop: Stop | None = None,
) -> int | None:
    """Run a command to its end or to its `stop`, for at most `limit` seconds, and append its output to the log.

    Return the signal of `stop` if the program was stopped before it ended, else None.

    The log and errors have placeholders instead of the values of `hidden`. `beat` is called every BEAT seconds, with
    the seconds so far and the last line of the log.
    """
    log, redaction = Path(log), Redaction(hidden or {})
    name = redaction.text(words[0])
    with log.open("ab") as output, _stoppable(), redaction.into(output.fileno()) as printed:
        child = _started(words, variables, folder, printed, redaction)
        try:
            code = _watched(child, log, limit, beat, stop)
            if stop and code is None:
                _stop(child, stop.signal)
                return stop.signal
        finally:
            _end(child)
    if code is None:
        raise BadInput(name, "", f"still runs after {span_text(limit)}", f"a higher limit; {last_words(log)}")
    if code:
        ended = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise BadInput(name, "", ended, last_words(log))
    return None


def _started(
    words: Sequence[str], variables: Mapping[str, str], folder: str | Path, output: int, redaction: Redaction
) -> subprocess.Popen:
    try:
        return subprocess.Popen(
            list(words),
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
            preexec_fn=functools.partial(end_with, os.getpid()),
        )
    except (OSError, ValueError) as error:
        name, why = redaction.text(words[0]), redaction.text(str(error))
        raise BadInput(name, "", f"cannot be started ({why})", "a program, on PATH or by its path") from None


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise SystemExit instead of ending this process at once, so that the program is ended."""

    def stop(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        # Under nohup, SIGHUP stays ignored.
        if handler != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(child: subprocess.Popen, number: int) -> None:
    """Send a signal to a program and its group, and wait; `_end` kills processes that do not end."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, number)
    with suppress(subprocess.TimeoutExpired):
        child.wait(GRACE)


def _end(child: subprocess.Popen) -> None:
    """End a program that still runs, and its group."""
    if child.poll() is not None:
        return
    try:
        _stop(child, signal.SIGTERM)
    finally:
        # This runs also after a second Ctrl-C, and ends processes of the group that outlive its leader.
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _watched(
    child: subprocess.Popen,
    log: Path,
    limit: float | None,
    beat: Callable[[float, str], None] | None,
    stop: Stop | None,
) -> int | None:
    """Return a program's exit code, or None if it still runs at its limit or stop; meanwhile, cut a long log."""
    started = beaten = time.monotonic()
    times = [started]
    while True:
        ran = time.monotonic() - started
        rest = SOON if stop else LOOK
        if limit is not None:
            rest = min(rest, limit - ran)
        try:
            return child.wait(max(0, rest))
        except subprocess.TimeoutExpired:
            ran = time.monotonic() - started
            if (limit is not None and ran >= limit) or (stop and stop.is_due(log, times)):
                return None
        _cut(log)
        if beat and time.monotonic() - beaten >= BEAT:
            beaten = time.monotonic()
            beat(beaten - started, (_last_lines(log) or [""])[-1])


def _cut(log: Path) -> None:
    """Cut a log that is too long to its beginning; later output is appended there."""
    with suppress(OSError):
        if (size := log.stat().st_size) > MOST:
            os.truncate(log, KEPT)
            with log.open("ab") as file:
                file.write(f"\n[toolnoise cut {size - KEPT} bytes here]\n".encode())


def _last_lines(log: Path) -> list[str]:
    """The last lines that a program printed."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LAST_BYTES))
        return [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]


def last_words(log: Path) -> str:
    """The last lines that a program printed, for an error message."""
    lines = _last_lines(log)
    return f"its last lines: {' | '.join(lines[-LAST_LINES:])}" if lines else "it printed nothing"
