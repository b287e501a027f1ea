"""The root, which stands for all statements: signed with a person's SSH key, and what may be demanded of it.

The root has the digest of every other statement of its study, so one signature stands for all. A DSSE envelope
replaces the bare statement when it is signed, by `ssh-keygen -Y`. Private keys are never read here: they stay in a
file, whose passphrase ssh-keygen asks for, or in ssh-agent, if the path is that of the public key. A signature shows
who vouches for the statements; whether the files agree with them is checked by the audit.

An older root, which was signed in its time, must not pass for a later one. A signature has no date, and nothing in a
results folder or an archive shows that a newer one exists. So whoever audits or imports says what is known from
elsewhere: a day on which the study was not yet finished.
"""

import subprocess
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.provenance import statements, tree
from toolnoise.provenance.statements import Envelope, Statement

# The purpose of the SSH signatures: one for another purpose, such as a commit or a login, does not count here.
NAMESPACE = "toolnoise"
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
# The first word of a public key's file.
KEY_TYPES = ("ssh-", "ecdsa-", "sk-")
REVOKING = "public keys, one on each line"
PUBLIC = "the file of a public SSH key, such as id_ed25519.pub"
AGE = "a date such as 2026-01-31 or 2026-01-31T12:00+01:00 (UTC without an offset)"


class Demand(NamedTuple):
    """What may be demanded of the root: its name, its promise, and why a file with the root does not keep it."""

    name: str
    says: str
    why_not: Callable[[Path, Statement], str]


def sign(folder: str | Path, key: str | Path) -> list[Path]:
    """Sign the root of each study in a results folder; returns their paths. Signing again replaces the signature."""
    paths = []
    for study in tree.load(folder).trees:
        if study.top is None:
            raise BadInput(study.root, "", "no statement names the others", "a study whose page has been made")
        paths.append(study.root / study.top.path)
    fingerprint = _fingerprint(key)
    for path in paths:
        bare = _read(path)
        signature = {"keyid": fingerprint, "sig": _signature(bare, key)}
        # A job may have been run again in the meantime.
        if _read(path) != bare:
            raise BadInput(path, "", "changed while it was signed", "a study that is not running")
        others = [one for one in bare.signatures if one["keyid"] != fingerprint]
        files.write_json(path, bare._replace(signatures=(*others, signature)).as_json())
    return paths


@contextmanager
def signed_by(key: str | Path, revoked: str | Path | None = None) -> Iterator[Demand]:
    """The demand that this key has signed, and is not among the keys in `revoked`."""
    with files.readable(key, PUBLIC):
        words = files.read_text(key).split()
    fingerprint = _fingerprint(key)
    if len(words) < 2 or not words[0].startswith(KEY_TYPES):
        raise BadInput(key, "", "is no public key", PUBLIC)
    without = ("-r", _revoking(revoked)) if revoked else ()
    # A file that allows the key, as ssh-keygen(1) says.
    with tempfile.NamedTemporaryFile("w") as allowed:
        print(fingerprint, *words[:2], file=allowed, flush=True)

        def why_not(path: Path, statement: Statement) -> str:
            try:
                signed = _read(path)
                if statement != statements.opened(signed, path):
                    # It holds for the statement that was read, even if the file server shows another one now.
                    return "changed since it was read"
            except BadInput as error:
                return str(error)
            message, reasons = signed.signed_bytes(), []
            for one in signed.signatures:
                reasons.append(_refusal(one["sig"], message, fingerprint, allowed.name, without))
            return "" if "" in reasons else "; ".join(dict.fromkeys(reasons)) or "is not signed"

        yield Demand("signature", "The root is signed with the required key.", why_not)


def not_before(asked: str) -> Demand:
    """The demand that the root is of a date or time, UTC unless it has an offset, or later."""
    try:
        time = datetime.fromisoformat(asked)
        oldest = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise BadInput("command line", "--not-before", f"found {asked!r}", AGE) from None

    def why_not(_path: Path, root: Statement) -> str:
        too_old = f"is of {root.finished.isoformat()}Z; {oldest.isoformat()}Z or later"
        return too_old if root.finished < oldest else ""

    return Demand("not-before", "The root was made at the required time or later.", why_not)


def _refusal(signature: str, message: bytes, fingerprint: str, allowed: str, without: tuple[object, ...]) -> str:
    """Why a signature is none by a key; nothing if it is one."""
    with tempfile.NamedTemporaryFile("w") as file:
        print(BEGIN, *textwrap.wrap(signature, 70), END, sep="\n", file=file, flush=True)
        options = ("-Y", "verify", "-f", allowed, "-I", fingerprint, "-n", NAMESPACE, "-s", file.name)
        done = _ssh_keygen(*options, *without, input=message)
        if done.returncode == 0:
            return ""
        if without and _ssh_keygen(*options, input=message).returncode == 0:
            return f"is signed by {fingerprint}, which is a revoked key"
    return f"has no valid signature by {fingerprint} ({_last_line(done)})"


def _revoking(path: str | Path) -> Path:
    """A list of revoked keys; ssh-keygen would reject every signature, without a reason, if it could not read one."""
    with files.readable(path, REVOKING):
        content, path = files.read_bytes(path), Path(path).absolute()
    done = _ssh_keygen("-l", "-f", path)
    lines = [line for line in content.decode(errors="replace").splitlines() if line.strip()]
    if len(done.stdout.splitlines()) != sum(not line.lstrip().startswith("#") for line in lines):
        raise BadInput(path, "", f"cannot be read ({_last_line(done)})", REVOKING)
    return path


def _read(path: Path) -> Envelope:
    return statements.unpack(files.read_plain(path, statements.WANTED), path)


def _signature(bare: Envelope, key: str | Path) -> str:
    with tempfile.TemporaryDirectory() as place:
        Path(place, "root").write_bytes(bare.signed_bytes())
        # Its input is the terminal, if there is one, so that it can ask for a passphrase.
        done = _ssh_keygen("-Y", "sign", "-f", Path(key).absolute(), "-n", NAMESPACE, "root", cwd=place)
        if done.returncode:
            raise BadInput(key, "", f"cannot sign ({_last_line(done)})", "a private key, or a public key of ssh-agent")
        return "".join(Path(place, "root.sig").read_text("ascii").splitlines()[1:-1])


def _fingerprint(key: str | Path) -> str:
    # ssh-keygen also opens the other half of a pair.
    for path in (str(key), str(key).removesuffix(".pub"), f"{key}.pub"):
        files.require_plain(path)
    done = _ssh_keygen("-l", "-E", "sha256", "-f", Path(key).absolute())
    words = done.stdout.decode(errors="replace").split()
    if done.returncode or len(words) < 2 or not words[1].startswith("SHA256:"):
        raise BadInput(key, "", f"cannot be read ({_last_line(done)})", "an SSH key, private or public")
    return words[1]


def _ssh_keygen(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *map(str, arguments)], capture_output=True, **options)
    except FileNotFoundError:
        raise BadInput("ssh-keygen", "", "is not installed", "it comes with OpenSSH (Debian: openssh-client)") from None


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """The last line that a program printed, errors before the rest."""
    lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else f"exit code {done.returncode}"
