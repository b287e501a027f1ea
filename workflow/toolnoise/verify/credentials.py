"""What looks like a credential in a text: a table of patterns, and what is done with what they find.

No table finds every credential, and some of what it finds is none: docs/sharing.md lists what is looked for. Most texts
have no trace of any, so each pattern comes with a short text that its matches always contain. The Snakefile reads this.

Files in which something looks like a credential are not shared: the place is named, the credential is not. Arrays and
pictures are not searched, nor are other files that are no text. Statements are searched as they were before they were
signed.
"""

import contextlib
import json
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import escaped
from toolnoise.record import envelope
from toolnoise.record.statements import SUFFIX

HIDDEN = "******"
ARGUMENT = "--no-credential"
NOT_SEARCHED = (".npz", ".npy", ".png", ".pdf")
JSON, CODE = (".json", ".ipynb"), (".py", ".smk", ".ipynb", ".js")
# What has a zero byte at its beginning is no text.
BEGINNING = 4096
# Names of what holds a credential. A tokeniser's special tokens, and numbers of tokens, are none.
_NOT = r"(?:pad|mask|eos|bos|unk|sep|cls|special|stop|start|end|next|first|last|max|min|num|new|per)"
_KEYS = ("api", "access", "secret", "private", "account")
_NAME = (
    rf"(?P<name>(?!(?:[\w.-]{{0,60}}[-_])?{_NOT}[-_]?token)(?:\w{{1,40}}[-.]){{0,4}}\w{{0,40}}?"
    rf"(?:(?:{'|'.join(_KEYS)})[-_]?key|secret|(?<![a-z])token|password|passwd|passphrase))"
)
# What stands for a value that is elsewhere, such as {env:NAME}, $NAME or what was left out, is no value.
_BARE = r"(?![-{$<\[(*%])[^\s\"'\\&]{4,}"
_VALUE = rf"(?:\\?\"(?![{{$(*<])([^\"\\]{{4,}})|'(?![{{$(*<])([^'\\]{{4,}})|({_BARE}))"
_QUOTED = r"(?:\\?\"(?![{$(*<])([^\"\\\s]{4,})\\?\"|'(?![{$(*<])([^'\\\s]{4,})')"
_START = r"(?<![A-Za-z0-9])"
# A name is never the end of another, such as eos_token.
_APART = r"(?<![\w.-])"
_PREFIXED = "|".join(
    (
        r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9+/=])",  # Amazon
        r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}",
        r"glpat-[\w-]{20,}",  # GitLab
        r"hf_[A-Za-z0-9]{30,}",  # Hugging Face
        r"sk-(?:ant|proj|svcacct|admin)-[\w-]{20,}|sk-[A-Za-z0-9]{32,}",  # OpenAI, Anthropic
        r"xox[abeoprs]-[\w-]{10,}",  # Slack
        r"AIza[\w-]{35}",  # Google
        r"[rs]k_live_[A-Za-z0-9]{16,}",  # Stripe
        r"npm_[A-Za-z0-9]{36}",
        r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",  # a JSON Web Token
    )
)


class Pattern(NamedTuple):
    """A form of credentials: its name, one of the texts that each match has (lower case), the groups that it hides.

    A form that code has too, as in `f(token=token)`, is not looked for in code.
    """

    says: str
    has: tuple[str, ...]
    matches: re.Pattern[str]
    in_code: bool = True


_WORDS = (*(f"{one}{sign}key" for one in _KEYS for sign in "-_"), *(f"{one}key" for one in _KEYS))
_WORDS = (*_WORDS, "secret", "token", "passw", "passphrase")
PATTERNS = (
    Pattern(
        "a token or key by its first letters",
        (
            *("akia", "asia", "github_pat_", "glpat-", "hf_", "sk-", "xox", "aiza", "k_live_", "npm_", "eyj"),
            *(f"gh{one}_" for one in "pousr"),
        ),
        re.compile(rf"{_START}({_PREFIXED})"),
    ),
    Pattern(
        "a private key",
        ("private key",),
        re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----((?s:.{40,}?)(?=-----END|\Z))"),
    ),
    Pattern(
        "a password in an address",
        ("://",),
        re.compile(r"://(?:[^\s/:@\"'<>\\{}]*:(?![$(*])([^\s/@\"'<>\\{}]+)|([A-Za-z0-9_-]{20,}))@"),
    ),
    Pattern("the value of --{name}", _WORDS, re.compile(rf"(?<!\S)(?:[\"'])?--?{_NAME}(?:\s*=\s*|\s+){_VALUE}", re.I)),
    Pattern("the value of {name}", _WORDS, re.compile(rf"{_APART}{_NAME}\\?[\"']?\s*[=:]\s*{_QUOTED}", re.IGNORECASE)),
    Pattern("the value of {name}", _WORDS, re.compile(rf"{_APART}{_NAME}=({_BARE})", re.IGNORECASE), in_code=False),
    Pattern(
        "the value of {name}",
        _WORDS,
        re.compile(rf"^[ -]*{_NAME}[ ]*:[ ]+({_BARE})[ ]*$", re.IGNORECASE | re.MULTILINE),
        in_code=False,
    ),
    Pattern(
        "an Authorization header",
        ("authorization",),
        re.compile(
            r"Authorization\\?[\"']?\s*[:=]\s*\\?[\"']?(?:Bearer|Basic|Token)\s+([\w.~+/=-]{8,})", re.IGNORECASE
        ),
    ),
)
_HAS = {one.has for one in PATTERNS}
_KEY = re.compile(_NAME, re.IGNORECASE)
_WHOLE = re.compile(_BARE)


class Credential(NamedTuple):
    """What looks like a credential: what it is, the secret text, and where that stands in the text."""

    says: str
    secret: str
    start: int
    end: int


def found(text: str, code: bool = False) -> list[Credential]:
    """What looks like a credential in a text, in its order."""
    lower, hits = text.lower(), []
    present = {has for has in _HAS if any(part in lower for part in has)}
    for pattern in PATTERNS:
        if pattern.has not in present or (code and not pattern.in_code):
            continue
        for match in pattern.matches.finditer(text):
            named = match.groupdict()
            group = next(number for number, one in enumerate(match.groups(), 1) if one and one != named.get("name"))
            hits.append(Credential(pattern.says.format(**named), match[group], match.start(group), match.end(group)))
    return sorted(hits, key=lambda one: (one.start, -one.end))


def hidden(text: str, instead: str = HIDDEN) -> str:
    """The text without what looks like a credential."""
    parts, at = [], 0
    for one in found(text):
        if one.end > at:
            parts += [text[at : one.start], instead] if one.start >= at else []
            at = one.end
    return "".join([*parts, text[at:]]) if parts else text


def holds(key: str, value: Any) -> bool:
    """Whether a value is a credential by the name of its key."""
    return isinstance(value, str) and bool(_KEY.fullmatch(key)) and bool(_WHOLE.match(value))


def found_in(value: Any, at: str = "", code: bool = False) -> Iterator[tuple[str, Credential]]:
    """What looks like a credential in JSON values, each with its key, such as models.mine.command."""
    if isinstance(value, str):
        yield from ((at, one) for one in found(value, code))
    elif isinstance(value, dict):
        for key, one in value.items():
            below = f"{at}.{key}".lstrip(".")
            if holds(str(key), one):
                yield below, Credential(f"the value of {key}", one, 0, len(one))
            else:
                yield from ((below, each) for _, each in found_in(str(key), below, code))
                yield from found_in(one, below, code)
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from found_in(one, f"{at}[{number}]", code)
        if value and all(isinstance(one, str) for one in value):
            # The words of a command line.
            apart = {one.secret for each in value for one in found(each, code)}
            yield from ((at, one) for one in found(" ".join(value), code) if one.secret not in apart)


def warnings(config: Any, file: str) -> list[str]:
    """A line for each key of a study file that holds what looks like a credential."""
    keys: dict[str, dict[str, None]] = {}
    for key, one in found_in(config):
        keys.setdefault(key, {})[one.says] = None
    remedy = "results would keep it; in a command, {env:NAME} takes it from a variable"
    return [f"{file}: {key}: looks like a credential ({', '.join(says)}); {remedy}" for key, says in keys.items()]


def refuse(contents: Iterable[tuple[str, Path | bytes]], allowed: Collection[str] = ()) -> None:
    """Refuse files, each with its name, if one has what looks like a credential; the texts `allowed` are none."""
    places: dict[str, list[tuple[str, str, str]]] = {}
    for name, content in contents:
        for key, hit in _hits(name, content, allowed):
            if not any(hit.secret in text for text in allowed):
                places.setdefault(hit.secret, []).append((name, key, hit.says))
    if places:
        first, *others = places.values()
        # A key says more than a line, and study.json more than what was made from it.
        name, key, says = min(first, key=lambda place: (place[1].startswith("line "), len(place[0])))
        what = f"looks like a credential ({escaped(says)}), in {len(first)} place{'s' * (len(first) > 1)}"
        what += f"; {len(others)} other text{'s' * (len(others) > 1)} too" if others else ""
        wanted = "files without credentials"
        raise BadInput(escaped(name), escaped(key), what, f"{wanted}; {ARGUMENT} TEXT if it is none")


def _hits(name: str, content: Path | bytes, allowed: Collection[str]) -> Iterator[tuple[str, Credential]]:
    """What looks like a credential in a file, each with its key or its line."""
    if name.endswith(NOT_SEARCHED):
        return
    read = _read(name, content, allowed)
    if b"\0" in read[:BEGINNING]:
        return
    if name.endswith(SUFFIX):
        # A damaged one is searched as it is.
        with contextlib.suppress(BadInput):
            read = envelope.unpack(read, name).payload
    text, code = read.decode(errors="replace"), name.endswith(CODE)
    hits = found(text, code)
    # By keys, if it has any.
    values = _values(text) if hits and name.endswith(JSON) else None
    if values is not None:
        yield from found_in(values, "", code)
    else:
        yield from ((f"line {1 + text.count(chr(10), 0, hit.start)}", hit) for hit in hits)


def _read(name: str, content: Path | bytes, allowed: Collection[str]) -> bytes:
    if isinstance(content, bytes):
        return content
    with files.readable(content, "a file"), files.open_plain(content) as file:
        beginning = file.read(BEGINNING)
        size = content.stat().st_size
        if b"\0" in beginning or (size > files.LARGEST_TEXT and name in allowed):
            return beginning
        if size > files.LARGEST_TEXT:
            what = f"has {size} bytes, too many to be searched for credentials"
            wanted = f"at most {files.LARGEST_TEXT}; {ARGUMENT} {escaped(name)} if it has none"
            raise BadInput(escaped(name), "", what, wanted)
        return beginning + file.readall()


def _values(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
