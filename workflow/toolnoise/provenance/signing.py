"""The signature on the root by a person's SSH key, made and verified by `ssh-keygen -Y`.

The root has the digest of every other statement of its study, so one signature stands for all. A DSSE envelope replaces
the bare statement when it is signed. Private keys are never read here: they stay in a file, whose passphrase ssh-keygen
asks for, or in ssh-agent, if the path is that of the public key. A signature shows who vouches for the statements;
whether the files agree with them is checked by the audit.
"""

import base64
import functools
import os
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import children, files, scratch
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import span
from toolnoise.provenance import statements, tree
from toolnoise.provenance.statements import FOLDER, Envelope, Signature, Statement

# The purpose of the SSH signatures: one for another purpose, such as a commit or a login, does not count here.
NAMESPACE = "toolnoise"
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
# Where ssh-keygen can ask nobody, it has these seconds.
LIMIT = 60.0
TERMINAL = "/dev/tty"
# The first word of a public key's file.
KEY_TYPES = ("ssh-", "ecdsa-", "sk-")
# How OpenSSH's binary lists of revoked keys begin.
KRL = b"SSHKRL\n\0"
REVOKING = "public keys, one on each line, or a list from `ssh-keygen -k`"
PUBLIC = "the file of a public SSH key, such as id_ed25519.pub"


def sign(folder: str | Path, key: str | Path) -> list[Path]:
    """Sign the root of each study in a results folder; returns their paths. Signing again replaces the signature."""
    paths = list(_roots(folder))
    fingerprint = _fingerprint(key)
    for path in paths:
        bare = _read(path)
        signature = Signature(fingerprint, _signature(bare, key))
        # A job may have been run again in the meantime.
        if _read(path) != bare:
            raise BadInput(path, "", "changed while it was signed", "a study that is not running")
        others = [one for one in bare.signatures if one.keyid != fingerprint]
        files.write_json(path, bare._replace(signatures=(*others, signature)).as_json())
    return paths


@contextmanager
def only(key: str | Path, revoked: str | Path | None = None) -> "Iterator[RequiredKey]":
    """The key that must have signed, unless it is among the keys in `revoked`."""
    with files.readable(key, PUBLIC):
        words = files.read_text(key).split()
    fingerprint = _fingerprint(key)
    if len(words) < 2 or not words[0].startswith(KEY_TYPES):
        raise BadInput(key, "", "is no public key", PUBLIC)
    with tempfile.NamedTemporaryFile("w") as allowed:
        print(fingerprint, *words[:2], file=allowed, flush=True)
        yield RequiredKey(fingerprint, allowed.name, ("-r", _revoking(revoked)) if revoked else ())


class RequiredKey(NamedTuple):
    """A public key: its fingerprint, a file that allows it as ssh-keygen(1) says, and options that may revoke it."""

    fingerprint: str
    allowed: str
    revoked: tuple[str | Path, ...]

    def refusal(self, path: Path, statement: Statement) -> str:
        """Why this statement, which was read from this file before, is not signed by the key; nothing if it is."""
        try:
            signed = _read(path)
            if statement != statements.parse(signed.payload, path):
                # It holds for the statement that was read, even if the file server shows another one now.
                return "changed since it was read"
        except BadInput as error:
            return str(error)
        reasons = [self._refusal_of(signature, signed.signed_bytes()) for signature in signed.signatures]
        return "" if "" in reasons else "; ".join(dict.fromkeys(reasons)) or "is not signed"

    def _refusal_of(self, signature: Signature, message: bytes) -> str:
        """Why a signature is none by this key; nothing if it is one."""
        lines = textwrap.wrap(base64.b64encode(signature.blob).decode(), 70)
        with tempfile.NamedTemporaryFile("w") as file:
            print(BEGIN, *lines, END, sep="\n", file=file, flush=True)
            options = ("-f", self.allowed, "-I", self.fingerprint, "-n", NAMESPACE, "-s", file.name)
            done = _ssh_keygen("-Y", "verify", *options, *self.revoked, input=message)
            if done.returncode == 0:
                return ""
            if self.revoked and _ssh_keygen("-Y", "verify", *options, input=message).returncode == 0:
                return f"is signed by {self.fingerprint}, which is a revoked key"
        return f"has no valid signature by {self.fingerprint} ({_last_line(done)})"


def _revoking(path: str | Path) -> Path:
    """A list of revoked keys; ssh-keygen would reject every signature, without a reason, if it could not read one."""
    with files.readable(path, REVOKING):
        content, path = files.read_bytes(path), Path(path).absolute()
    if content.startswith(KRL):
        done = _ssh_keygen("-Q", "-l", "-f", path)
        whole = done.returncode == 0
    else:
        done = _ssh_keygen("-l", "-f", path)
        lines = [line for line in content.decode(errors="replace").splitlines() if line.strip()]
        whole = len(done.stdout.splitlines()) == sum(not line.lstrip().startswith("#") for line in lines)
    if not whole:
        raise BadInput(path, "", f"cannot be read ({_last_line(done)})", REVOKING)
    return path


def _roots(folder: str | Path) -> Iterator[Path]:
    for study in tree.load(folder).trees:
        # Left by a signing that was killed.
        scratch.clean(study.root / FOLDER)
    for study in tree.load(folder).trees:
        for error in study.unreadable.values():
            raise error
        if study.top is None:
            raise BadInput(study.root, "", "no statement names the others", "a study whose page has been made")
        yield study.root / study.top.path


def _read(path: Path) -> Envelope:
    return statements.unpack(files.read_plain(path, statements.ENVELOPE), path)


def _signature(bare: Envelope, key: str | Path) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        Path(place, "root").write_bytes(bare.signed_bytes())
        # Its input is the terminal, if there is one, so that it can ask for a passphrase.
        command = ("-Y", "sign", "-f", Path(key).absolute(), "-n", NAMESPACE, "root")
        done = _ssh_keygen(*command, cwd=place, asks=_can_ask())
        if done.returncode:
            raise BadInput(key, "", f"cannot sign ({_last_line(done)})", "a private key, or a public key of ssh-agent")
        return base64.b64decode("".join(Path(place, "root.sig").read_text("ascii").splitlines()[1:-1]))


def _fingerprint(key: str | Path) -> str:
    # ssh-keygen also opens the other half of a pair.
    for path in (str(key), str(key).removesuffix(".pub"), f"{key}.pub"):
        files.require_plain(path)
    done = _ssh_keygen("-l", "-E", "sha256", "-f", Path(key).absolute())
    words = done.stdout.decode(errors="replace").split()
    if done.returncode or len(words) < 2 or not words[1].startswith("SHA256:"):
        raise BadInput(key, "", f"cannot be read ({_last_line(done)})", "an SSH key, private or public")
    return words[1]


def _ssh_keygen(*arguments: object, asks: bool = False, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen to its end; who is asked for a passphrase has as long as it takes."""
    limit = None if asks else LIMIT
    try:
        return subprocess.run(
            ["ssh-keygen", *map(str, arguments)],
            capture_output=True,
            timeout=limit,
            preexec_fn=functools.partial(children.end_with, os.getpid()),
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
    """The last line that a program printed, errors before the rest."""
    lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else f"exit code {done.returncode}"
