"""What the text alone shows of a program: what no observer sees, and what may make other runs differ.

Each sign is a pattern: it makes a place possible, and proves nothing. Comments and docstrings are left out.
"""

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolnoise.checking import causes
from toolnoise.checking.causes import Place
from toolnoise.checking.program_text import SourceFile

MOST_BYTES = 1 << 20
# Of Python's own text.
SIGNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("memory", r"\b(np|numpy|torch|cp|cupy)\.(empty|empty_like|empty_strided)\(|\.new_empty\("),
        ("database", r"(?i)order\s+by\s+(random|rand|newid)\s*\("),
        ("shell", r"\bshuf\b[\"' ]|\bsort\s+(-R|--random-sort)\b|\"sort\", *\"(-R|--random-sort)\"|/dev/u?random"),
        ("clock", r"\bsignal\.(alarm|setitimer)\(|\bthreading\.Timer\("),
        ("ready", r"\b(as_completed|imap_unordered)\(|\bFIRST_COMPLETED\b"),
    )
)
SHELL = re.compile(r"\b(RANDOM|SRANDOM|EPOCHREALTIME|EPOCHSECONDS)\b|\bshuf\b|\bsort\s+(-R|--random-sort)\b|\$\$|"
                   r"/dev/u?random|\bmktemp\b|\bdate\b|\buuidgen\b|\bwait\s+-n\b")  # fmt: skip
SCRIPTS = (".sh", ".bash", ".zsh")


def signs(program: Sequence[SourceFile], words: Sequence[str]) -> list[Place]:
    """Places of a program that may make runs differ, in the order of their files."""
    return [*_of_python(program), *_of_shell(words)]


def _of_python(program: Sequence[SourceFile]) -> Iterator[Place]:
    for source in program:
        for number, line in enumerate(_without_comments(source.lines), 1):
            for kind, pattern in SIGNS:
                if pattern.search(line):
                    yield causes.place(kind, source.file, number, source.lines[number - 1].strip())


def _without_comments(lines: Sequence[str]) -> list[str]:
    """The lines of a text, without comments and texts that stand alone."""
    kept = list(lines)
    try:
        before = tokenize.NEWLINE
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            first, last = token.start[0] - 1, token.end[0] - 1
            if token.type == tokenize.COMMENT:
                kept[first] = kept[first][: token.start[1]]
            elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                kept[first : last + 1] = [""] * (last + 1 - first)
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                before = token.type
    except (tokenize.TokenError, SyntaxError, IndexError):
        return list(lines)
    return kept


def _of_shell(words: Sequence[str]) -> Iterator[Place]:
    for number, word in enumerate(words):
        is_text = number and words[number - 1] == "-c" and Path(words[number - 2]).name in ("sh", "bash", "zsh", "dash")
        path = Path(word)
        if is_text:
            lines, name = word.splitlines(), "-c"
        elif word.endswith(SCRIPTS) and path.is_file() and path.stat().st_size <= MOST_BYTES:
            lines, name = path.read_text("utf-8", errors="replace").splitlines(), word
        else:
            continue
        for at, line in enumerate(lines, 1):
            if SHELL.search(line.partition(" #")[0]) and not line.lstrip().startswith("#"):
                yield causes.place("shell", name, at, line.strip())
