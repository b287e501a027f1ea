"""The signature of the root, which stands for all statements, with a person's SSH key.

The root has the digest of every other statement of its study, so one signature stands for all. A DSSE envelope
replaces the bare statement when it is signed, by `ssh-keygen -Y`. Private keys are never read here: they stay in a
file, whose passphrase ssh-keygen asks for, or in ssh-agent, if the path is that of the public key. A signature shows
who vouches for the statements; the audit checks whether the files agree with them. A signature has no date: to
distinguish an older signed root from a later one, compare the digest that the audit prints.
"""

import subprocess
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.provenance import statements, tree
from toolnoise.provenance.statements import Envelope
from toolnoise.provenance.tree import Tree

# The purpose of the SSH signatures: a signature for a commit, a login or another purpose does not count here.
NAMESPACE = "toolnoise"
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
# The first word of a public key's file.
KEY_TYPES = ("ssh-", "ecdsa-", "sk-")
PUBLIC = "the file of a public SSH key, such as id_ed25519.pub"


def sign(folder: str | Path, key: str | Path) -> list[Path]:
    """Sign the root of each study in a results folder; returns their paths. Signing again replaces the signature."""
    paths = []
    for study in tree.load_results(folder).trees:
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


def signature_check(key: str | Path) -> Callable[[Tree], str]:
    """A function that returns why a study's root is not signed by this public key; empty if it is signed."""
    with files.readable(key, PUBLIC):
        words = files.read_text(key).split()
    fingerprint = _fingerprint(key)
    if len(words) < 2 or not words[0].startswith(KEY_TYPES):
        raise BadInput(key, "", "is no public key", PUBLIC)
    # A line of a file of allowed signers, see ssh-keygen(1).
    allowed = f"{fingerprint} {words[0]} {words[1]}\n"

    def why_not(study: Tree) -> str:
        if study.top is None:
            return "there is no root: no statement names the others"
        try:
            signed = _read(study.root / study.top.path)
        except BadInput as error:
            return str(error)
        if signed.sha256() != study.top.sha256:
            # The signature must belong to the statement that was loaded; the file may have changed since.
            return "changed since it was read"
        reasons = [_refusal(one["sig"], signed.signed_bytes(), fingerprint, allowed) for one in signed.signatures]
        return "" if "" in reasons else "; ".join(dict.fromkeys(reasons)) or "is not signed"

    return why_not


def _refusal(signature: str, message: bytes, fingerprint: str, allowed: str) -> str:
    """Why a signature is not valid for a key; empty if it is valid."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "allowed").write_text(allowed)
        Path(place, "sig").write_text("\n".join([BEGIN, *textwrap.wrap(signature, 70), END, ""]))
        options = ("-Y", "verify", "-f", "allowed", "-I", fingerprint, "-n", NAMESPACE, "-s", "sig")
        done = _ssh_keygen(*options, input=message, cwd=place)
    return f"has no valid signature by {fingerprint} ({_last_line(done)})" if done.returncode else ""


def _read(path: Path) -> Envelope:
    return statements.unpack_envelope(files.read_plain(path, statements.WANTED), path)


def _signature(bare: Envelope, key: str | Path) -> str:
    with tempfile.TemporaryDirectory() as place:
        Path(place, "root").write_bytes(bare.signed_bytes())
        # Its input stays the terminal, if any, so that ssh-keygen can ask for a passphrase.
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
    """The last line that a program printed; errors take precedence over output."""
    lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else f"exit code {done.returncode}"
