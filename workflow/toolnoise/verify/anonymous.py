"""Results without host names, users, paths and credentials, for review by people who must not know who made them."""

import getpass
import re
import socket
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from toolnoise.verify import credentials
from toolnoise.verify.tree import Tree

LEFT_OUT = "(left out)"
# What nobody can check any more in such a copy.
SAYS = (
    "anonymised: the statements are not those that the jobs left, because names of hosts, users and paths were taken "
    "out of them; no signature of the originals fits them"
)
# What a machine is called, and whom and where it serves: keys of what a job observed.
KEYS = ("host", "slurm", "user")
# A path from the root of a machine, with at least two names; parts of addresses and of relative paths are none.
PATH = re.compile(r"(?<![\w./:+-])(?:/[\w.@+~-]+){2,}/?|~/[\w./@+-]*")
# The account in an address, such as that of a git remote, with or without its password: https://ann@host/repository.
ACCOUNT = re.compile(r"(?<=://)[^\s/?@\"'<>\\]+@")
# A name that nobody is known by.
COMMON = {"root", "user", "localhost", "cpu", "gpu", ""}


def secrets(tree: Tree) -> set[str]:
    """The names that identify somebody: of hosts and jobs in the statements, and of this machine and its user."""
    names = {socket.gethostname(), socket.gethostname().partition(".")[0], _user(), Path.home().name}
    for stated in tree.statements:
        for key in KEYS:
            names |= set(_texts(stated.statement.observed.get(key)))
    # A number, such as that of a job, names nobody.
    return {name for name in names - COMMON if len(name) > 1 and any(sign.isalpha() for sign in name)}


def without(value: Any, names: Collection[str]) -> Any:
    """The same value without these names, paths of a machine, credentials, and the keys that have the first."""
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names, key=len, reverse=True)))

    def text(plain_text: str) -> str:
        hidden = PATH.sub(LEFT_OUT, credentials.hidden(ACCOUNT.sub("", plain_text), LEFT_OUT))
        return pattern.sub(LEFT_OUT, hidden) if names else hidden

    def plain(part: Any) -> Any:
        if isinstance(part, str):
            return text(part)
        if isinstance(part, dict):
            return {
                text(str(key)): LEFT_OUT if credentials.holds(str(key), each) else plain(each)
                for key, each in part.items()
                if key not in KEYS
            }
        return [plain(each) for each in part] if isinstance(part, (list, tuple)) else part

    return plain(value)


def names_somebody(content: bytes, names: Collection[str]) -> bool:
    """Whether a file has such a name, a path or a credential in it."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        # Between its texts a picture has every short name somewhere.
        text = "\n".join(match.decode() for match in TEXTS.findall(content))
    if HOME.search(text) or ACCOUNT.search(text) or credentials.found(text):
        return True
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)


# The texts in a file that is none.
TEXTS = re.compile(rb"[ -~]{12,}")
# In a file that is copied as it is: pictures have many slashes, so only paths of people count.
HOME = re.compile(r"/(?:home|root|Users|tmp|scratch|work)/[\w.@+-]+")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
