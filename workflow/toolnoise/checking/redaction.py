"""What a program prints, with the values of the variables that its command names replaced by their placeholders.

The program writes to a pipe. What comes out is written to the log at once, but for an end that may begin a value. So no
value is in the log at any time, even if this process is killed.
"""

import base64
import html
import json
import os
import re
import select
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, quote_plus

from toolnoise.base.errors import BadInput

# What a pipe holds.
SIZE = 1 << 16
# A line of a value of several lines, such as a key, is hidden on its own if it is no shorter.
LINE = 16


class Redaction:
    """The values to hide, by placeholder, in every spelling in which programs print them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """Hide these values; without any, nothing is changed and no pipe is made."""
        self.names = {form: f"{{{name}}}".encode() for name, value in values.items() for form in _spellings(value)}
        # The longest first: one may be the beginning of another.
        spelled = sorted(self.names, key=len, reverse=True)
        self.pattern = re.compile(b"|".join(map(re.escape, spelled))) if spelled else None
        self.first = {form[0] for form in spelled}

    def text(self, text: str) -> str:
        """A text without the values."""
        content = text.encode(errors="surrogateescape")
        return self._hidden(content).decode(errors="surrogateescape")

    def require_absent(self, where: Path, content: bytes) -> None:
        """Refuse an outcome that has a value in it: it is kept, and may be shared."""
        if self.pattern and (match := self.pattern.search(content)):
            what = f"the program wrote the value of {self.names[match[0]].decode()} into it"
            raise BadInput(where, "", what, "an outcome without values that the study does not record")

    @contextmanager
    def into(self, log: int) -> Iterator[int]:
        """Yield the descriptor for a program's output, which is in the log, redacted, when the block ends."""
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
            # Not at the end of the pipe: the program may have left processes that hold it open.
            os.close(end)
            copying.join()
            os.close(read)
            os.close(ended)

    def _copy(self, read: int, ended: int, log: int) -> None:
        # Once the program has ended, what the pipe holds: a process that it has left may go on for ever.
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
        """What is certain, redacted, and the rest, which may be the beginning of a value."""
        longest = max(map(len, self.names))
        start = max(0, len(content) - longest + 1)
        ends = (content[at:] for at in range(start, len(content)) if content[at] in self.first)
        held = next((end for end in ends if any(name.startswith(end) for name in self.names)), b"")
        at = len(content) - len(held)
        # A value that begins before it may end in it.
        for match in self.pattern.finditer(content):
            if match.start() < at < match.end():
                at = match.end()
        return self._hidden(content[:at]), content[at:]

    def _hidden(self, content: bytes) -> bytes:
        return self.pattern.sub(lambda match: self.names[match[0]], content) if self.pattern else content


def _write(log: int, content: bytes) -> None:
    # A full disk under a log ends no job.
    with suppress(OSError):
        while content:
            content = content[os.write(log, content) :]


def _spellings(value: str) -> set[bytes]:
    """A value as it is, and as JSON, Python, an address, a page and base64 have it; and its long lines."""
    plain = value.encode(errors="surrogateescape")
    spelled = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]]
    spelled += [quote(plain), quote(plain, safe=""), quote_plus(plain), html.escape(value)]
    lines = [line for line in value.splitlines() if len(line) >= LINE]
    texts = (text.encode(errors="surrogateescape") for text in (*spelled, *lines))
    return {plain, base64.b64encode(plain), *texts}
