"""Signatures on statements by people's SSH keys, made and verified by `ssh-keygen -Y`.

A DSSE envelope replaces the bare statement when it is signed. Private keys are never read here: they stay in a file,
whose passphrase ssh-keygen asks for, or in ssh-agent, if the path is that of the public key. An OpenSSH allowed
signers file lists who may sign. A signature shows who vouches for a statement; whether the files agree with the
statement is checked by the audit.
"""

import base64
import functools
import hashlib
import itertools
import os
import re
import subprocess
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import children, files, scratch
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import span
from toolnoise.base.progress import progress
from toolnoise.provenance import envelope, statements, tree
from toolnoise.provenance.envelope import Envelope, Signature
from toolnoise.provenance.statements import FOLDER, Statement

# The purpose of the SSH signatures: one for another purpose, such as a commit or a login, does not count here.
NAMESPACE = "toolnoise"
MAGIC, BEGIN, END = b"SSHSIG", "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
# Statements per signing process; each process asks for the passphrase once.
AT_ONCE = 5000
# Where ssh-keygen can ask nobody, it has these seconds, and more for each statement.
LIMIT, LIMIT_EACH = 60.0, 0.1
TERMINAL = "/dev/tty"

# The first word of a public key's file.
KEY_TYPES = ("ssh-", "ecdsa-", "sk-")
# What stands for no one person in a list of allowed signers: a negation, or a pattern. For ssh-keygen, " !ann" after a
# comma is a name with a space, and excludes nobody; whoever wrote it meant to.
PATTERN = re.compile(r"^\s*!|[*?]")
# A public key in base64: it begins with the length of its type's name.
KEY = re.compile(r"\bAAAA[\w+/=]+")
# How OpenSSH's binary lists of revoked keys begin.
KRL = b"SSHKRL\n\0"
REVOKING = "public keys, one on each line, or a list from `ssh-keygen -k`"
PUBLIC = "the file of a public SSH key, such as id_ed25519.pub"


class Verdict(NamedTuple):
    """The allowed signers who signed a statement; if there are none, one sentence with the reason."""

    principals: tuple[str, ...]
    why: str = ""


class Signer(NamedTuple):
    """A signature's own claims: its public key, in base64, the fingerprint of that, and its purpose."""

    public: str
    key: str
    namespace: str


class Allowed(NamedTuple):
    """A line of an allowed signers file that has a signature's key, and what ssh-keygen calls its owner."""

    line: str
    names: tuple[str, ...]


def sign(folder: str | Path, key: str | Path, *, root: bool = False) -> tuple[int, int]:
    """Sign every statement in a results folder, or only the root of each study, which has the digests of the others.

    Returns the numbers of statements signed now and before by this key.
    """
    paths = list(_statements(folder, root=root))
    fingerprint = _fingerprint(key)
    signed = 0
    with progress("signing", len(paths), "statement") as shown:
        for start in range(0, len(paths), AT_ONCE):
            opened = {path: _read(path) for path in paths[start : start + AT_ONCE]}
            bare = {
                path: as_read
                for path, as_read in opened.items()
                if fingerprint not in {_signer(signature.blob).key for signature in as_read.signatures}
            }
            shown.update(len(opened) - len(bare))
            for (path, as_read), blob in zip(bare.items(), _signatures(bare.values(), key), strict=True):
                more = as_read._replace(signatures=(*as_read.signatures, Signature(fingerprint, blob)))
                # A job may have been run again in the meantime.
                if _read(path) != as_read:
                    raise BadInput(path, "", "changed while it was signed", "a study that is not running")
                files.write_json(path, more.as_json())
                shown.update()
            signed += len(bare)
    return signed, len(paths) - signed


@contextmanager
def only(key: str | Path, revoked: str | Path | None = None) -> "Iterator[AllowedSigners]":
    """The owner of one public key, by its fingerprint, as the one allowed signer."""
    with files.readable(key, PUBLIC):
        words = files.read_text(key).split()
    fingerprint = _fingerprint(key)
    if len(words) < 2 or not words[0].startswith(KEY_TYPES):
        raise BadInput(key, "", "is no public key", PUBLIC)
    with tempfile.NamedTemporaryFile("w") as allowed:
        print(fingerprint, *words[:2], file=allowed, flush=True)
        yield AllowedSigners(allowed.name, revoked)


class AllowedSigners:
    """The people who may sign: an allowed signers file, as in ssh-keygen(1), without the keys in `revoked`."""

    def __init__(self, path: str | Path, revoked: str | Path | None = None) -> None:
        with files.readable(path, "an allowed signers file, as in ssh-keygen(1)"):
            text = files.read_text(path)
        self._lines = _entries(text)
        if not self._lines:
            raise BadInput(path, "", "names nobody", "lines such as: ann@example.org ssh-ed25519 AAAA...")
        _require_same_exclusions(path, self._lines)
        self._revoked = ("-r", _revoking(revoked)) if revoked else ()
        self._allowed: dict[str, tuple[Allowed, ...]] = {}

    def check(self, path: str | Path, statement: Statement | None) -> Verdict:
        """Whether an allowed signer signed this statement, which was read from this file before."""
        try:
            signed = _read(Path(path))
            if statement != statements.parse(signed.payload, path):
                # The verdict holds for the statement that was read, even if the file server shows another one now.
                return Verdict((), "changed since it was read")
        except BadInput as error:
            return Verdict((), str(error))
        if not signed.signatures:
            return Verdict((), "is not signed")
        verdicts = [self._verify(signature, signed.signed_bytes()) for signature in signed.signatures]
        principals = dict.fromkeys(name for verdict in verdicts for name in verdict.principals)
        return Verdict(tuple(principals), "" if principals else "; ".join(verdict.why for verdict in verdicts))

    def check_all(self, read: Mapping[Path, Statement]) -> dict[Path, Verdict]:
        """The same for many statements, with one process per core."""
        verdicts = {}
        with ThreadPoolExecutor(os.cpu_count()) as pool, progress("verifying", len(read), "statement") as shown:
            for path, verdict in zip(read, pool.map(self.check, read, read.values()), strict=True):
                verdicts[path] = verdict
                shown.update()
        return verdicts

    def _verify(self, signature: Signature, message: bytes) -> Verdict:
        signer = _signer(signature.blob)
        if not signer.key:
            return Verdict((), "has no valid SSH signature")
        if signer.namespace != NAMESPACE:
            return Verdict((), f"is signed by {signer.key} for {signer.namespace!r}, not for {NAMESPACE!r}")
        why = f"is signed by {signer.key}, who is not an allowed signer"
        with tempfile.TemporaryDirectory() as place:
            lines = textwrap.wrap(base64.b64encode(signature.blob).decode(), 70)
            Path(place, "sig").write_text("\n".join([BEGIN, *lines, END, ""]))
            # The lines of a key are looked up once per key, not once per signature.
            if signer.key not in self._allowed:
                self._allowed[signer.key] = tuple(self._find(signer, place))
            for allowed in self._allowed[signer.key]:
                Path(place, "allowed").write_text(allowed.line)
                verdict = self._owner(allowed, signer.key, message, place)
                if verdict.principals:
                    return verdict
                why = verdict.why
        return Verdict((), why)

    def _owner(self, allowed: Allowed, key: str, message: bytes, place: str) -> Verdict:
        """Who signed, if it is the owner of this line's key; only the key is known if the line has but patterns."""
        people, excluded = [name for name in allowed.names if not PATTERN.search(name)], _excluded(allowed.line)
        if excluded and not people:
            return Verdict((), f"is signed by {key}, whom no allowed signer names ({', '.join(allowed.names)})")
        refused = {name: self._refusal(name, message, place) for name in people or allowed.names}
        accepted = [name for name, why in refused.items() if not why]
        # The owner is one of the people, and it is not known which one: nobody may be excluded.
        if not accepted or (excluded and len(accepted) < len(refused)):
            return Verdict((), next(filter(None, refused.values())))
        return Verdict((accepted[0] if people else f"{key} (allowed as {accepted[0]})",))

    def _refusal(self, principal: str, message: bytes, place: str) -> str:
        """Why ssh-keygen does not accept the signature in `place` as this person's; nothing if it does."""
        options = ("-f", Path(place, "allowed"), "-I", principal, "-n", NAMESPACE, "-s", Path(place, "sig"))
        done = _ssh_keygen("-Y", "verify", *options, *self._revoked, input=message)
        if done.returncode == 0:
            return ""
        if self._revoked and _ssh_keygen("-Y", "verify", *options, input=message).returncode == 0:
            return f"is signed by {principal} with a revoked key"
        return f"has an invalid signature of {principal} ({_last_line(done)})"

    def _find(self, signer: Signer, place: str) -> Iterator[Allowed]:
        for line in self._lines:
            # ssh-keygen stops at the first line with the key, and another one may name its owner.
            if signer.public in line or "cert-authority" in line:
                Path(place, "allowed").write_text(line)
                done = _ssh_keygen("-Y", "find-principals", "-f", Path(place, "allowed"), "-s", Path(place, "sig"))
                if done.returncode == 0:
                    yield Allowed(line, tuple(done.stdout.decode(errors="replace").splitlines()))


def _entries(text: str) -> list[str]:
    """The lines of a list that are no comments."""
    return [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]


def _patterns(line: str) -> list[str]:
    """The names and patterns of a list's line."""
    quoted, plain = re.match(r'\s*(?:"([^"]*)"|(\S+))', line).groups()
    return [pattern.strip() for pattern in (quoted or plain or "").split(",")]


def _excluded(line: str) -> set[str]:
    """Whom a list's line excludes: `*,!bob@example.org ssh-ed25519 AAAA...`."""
    return {pattern for pattern in _patterns(line) if pattern.startswith("!")}


def _require_same_exclusions(path: str | Path, lines: Sequence[str]) -> None:
    """Refuse a list in which a pattern allows whom another line with the same key excludes.

    ssh-keygen takes each line alone: `*,!bob@example.org KEY` excludes nobody if there is `* KEY`, too.
    """
    for line, other in itertools.product(filter(_excluded, lines), lines):
        missing = _excluded(line) - _excluded(other)
        allowed = [pattern for pattern in _patterns(other) if pattern[:1] != "!" and PATTERN.search(pattern)]
        if missing and allowed and not set(KEY.findall(line)).isdisjoint(KEY.findall(other)):
            what = f"a line has {min(missing)}, and another with the same key allows {allowed[0]} without it"
            raise BadInput(path, "", what, "the same exclusions in both")


def _revoking(path: str | Path) -> Path:
    """A list of revoked keys; ssh-keygen would reject every signature, without a reason, if it could not read one."""
    with files.readable(path, REVOKING):
        content, path = files.read_bytes(path), Path(path).absolute()
    if content.startswith(KRL):
        done = _ssh_keygen("-Q", "-l", "-f", path)
        whole = done.returncode == 0
    else:
        done = _ssh_keygen("-l", "-f", path)
        whole = len(done.stdout.splitlines()) == len(_entries(content.decode(errors="replace")))
    if not whole:
        raise BadInput(path, "", f"cannot be read ({_last_line(done)})", REVOKING)
    return path


def _statements(folder: str | Path, *, root: bool) -> Iterator[Path]:
    for study in tree.load(folder).trees:
        # Left by a signing that was killed.
        scratch.clean(study.root / FOLDER)
    for study in tree.load(folder).trees:
        for error in study.unreadable.values():
            raise error
        if root and study.top is None:
            raise BadInput(study.root, "", "no statement names the others", "a study whose page has been made")
        yield from (study.root / stated.path for stated in ([study.top] if root else study.all_stated))


def _read(path: Path) -> Envelope:
    return envelope.unpack(files.read_plain(path, envelope.WANTED), path)


def _signatures(envelopes: Iterable[Envelope], key: str | Path) -> Iterator[bytes]:
    """One signature for each, made by one process."""
    with tempfile.TemporaryDirectory() as place:
        names = []
        for number, bare in enumerate(envelopes):
            names.append(str(number))
            Path(place, names[-1]).write_bytes(bare.signed_bytes())
        if not names:
            return
        # Its input is the terminal, if there is one, so that it can ask for a passphrase.
        command = ("-Y", "sign", "-f", Path(key).absolute(), "-n", NAMESPACE, *names)
        done = _ssh_keygen(*command, signs=True, cwd=place)
        if done.returncode:
            raise BadInput(key, "", f"cannot sign ({_last_line(done)})", "a private key, or a public key of ssh-agent")
        for name in names:
            lines = Path(place, f"{name}.sig").read_text("ascii").splitlines()
            yield base64.b64decode("".join(lines[1:-1]))


def _signer(blob: bytes) -> Signer:
    """Read the head of an SSH signature (OpenSSH's PROTOCOL.sshsig); an empty key means that it is not one."""
    version = len(MAGIC) + 4
    key, rest = _field(blob[version:])
    public = base64.b64encode(key).decode()
    namespace, _ = _field(rest)
    if not blob.startswith(MAGIC + b"\0\0\0\1") or not key:
        return Signer("", "", "")
    fingerprint = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
    return Signer(public, f"SHA256:{fingerprint}", namespace.decode(errors="replace"))


def _field(data: bytes) -> tuple[bytes, bytes]:
    end = 4 + int.from_bytes(data[:4], "big")
    return data[4:end], data[end:]


def _fingerprint(key: str | Path) -> str:
    # ssh-keygen also opens the other half of a pair.
    for path in (str(key), str(key).removesuffix(".pub"), f"{key}.pub"):
        files.require_plain(path)
    done = _ssh_keygen("-l", "-E", "sha256", "-f", Path(key).absolute())
    words = done.stdout.decode(errors="replace").split()
    if done.returncode or len(words) < 2 or not words[1].startswith("SHA256:"):
        raise BadInput(key, "", f"cannot be read ({_last_line(done)})", "an SSH key, private or public")
    return words[1]


def _ssh_keygen(*arguments: object, signs: bool = False, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen to its end; `signs` if it may ask for a passphrase."""
    limit = None if signs and _can_ask() else LIMIT + LIMIT_EACH * len(arguments)
    end_with_this = functools.partial(children.end_with, os.getpid())
    try:
        return subprocess.run(
            ["ssh-keygen", *map(str, arguments)],
            capture_output=True,
            timeout=limit,
            # A plain fork takes longer: those that verify, one per statement, need none.
            preexec_fn=end_with_this if signs else None,
            **options,
        )
    except FileNotFoundError:
        raise BadInput("ssh-keygen", "", "is not installed", "it comes with OpenSSH (Debian: openssh-client)") from None
    except subprocess.TimeoutExpired:
        wanted = "a key that needs no passphrase, ssh-agent, or a terminal"
        raise BadInput("ssh-keygen", "", f"has not ended after {span(limit)}", wanted) from None


def _can_ask() -> bool:
    """Whether there is a terminal on which somebody can be asked for a passphrase."""
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """The last line that a program printed, errors first."""
    lines = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else f"exit code {done.returncode}"
