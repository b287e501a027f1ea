"""The root signed with an SSH key: what is signed, whose signature counts, and every way in which none does."""

import base64
import json
import os
import shutil
import subprocess
from datetime import datetime

import pytest

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.provenance import signing, statements, tree
from toolnoise.provenance.statements import Artifact, Statement

NOON = datetime(2026, 1, 31, 12)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A folder with the keys of Ann and Bob."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ann", "bob"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True)
    return folder


@pytest.fixture
def results(tmp_path):
    """A results folder with a statement, and that of the page, which names it."""
    output = Artifact("results/s/data/one.npz", "ab" * 32, 7, "out")
    one = Statement("prepare", (output,), (), {"dataset": "one"}, {}, NOON, NOON, {"python": "3.11.7"})
    files.write_json(tmp_path / statements.path_for(output.name), one.as_json())
    chain = {name: files.sha256(tmp_path / name) for name in [statements.path_for(output.name).as_posix()]}
    output = Artifact("results/s/index.html", "cd" * 32, 7, "out")
    page = Statement("write-page", (output,), (), {}, {}, NOON, NOON, {"python": "3.11.7"}, chain=chain)
    files.write_json(tmp_path / statements.path_for(output.name), page.as_json())
    return tmp_path / "results"


@pytest.fixture
def root(results):
    return results / "s/statements/index.html.intoto.json"


@pytest.fixture
def sign(results, keys):
    """Sign the results with somebody's key."""
    return lambda name="ann": signing.sign(results, keys / name)


def check(keys, root, name="ann"):
    return signing.signature_check(keys / f"{name}.pub")(tree.load_study(root.parents[1]))


def edit(path, change):
    envelope = json.loads(path.read_text())
    change(envelope)
    files.write_json(path, envelope)


def fingerprint(keys, name):
    told = subprocess.run(["ssh-keygen", "-l", "-f", keys / name], capture_output=True, text=True, check=True)
    return told.stdout.split()[1]


def test_the_root_is_signed_and_says_what_it_said_and_nothing_else_is_changed(results, root, sign, keys):
    others = {path: path.read_bytes() for path in results.rglob("*.json") if path != root}
    content, statement = root.read_bytes(), statements.read_statement(root)
    assert sign() == [root]
    assert statements.read_statement(root) == statement
    assert base64.b64decode(json.loads(root.read_text())["payload"]) == content
    assert check(keys, root) == ""
    signed = root.read_bytes()
    assert sign() == [root]
    assert root.read_bytes() == signed
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == others | {root: signed}


def test_what_is_signed_is_dsses_encoding_and_the_key_is_named(root, sign, keys, tmp_path):
    content = root.read_bytes()
    sign()
    envelope = json.loads(root.read_text())
    assert set(envelope) == {"payload", "payloadType", "signatures"}
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    (signature,) = envelope["signatures"]
    assert signature["keyid"] == fingerprint(keys, "ann.pub")
    # By hand, as a stranger without this program would.
    (tmp_path / "allowed").write_text(f"ann@example.org {(keys / 'ann.pub').read_text()}")
    armoured = f"-----BEGIN SSH SIGNATURE-----\n{signature['sig']}\n-----END SSH SIGNATURE-----\n"
    (tmp_path / "sig").write_text(armoured)
    encoded = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(content)).encode() + b" " + content
    command = ["ssh-keygen", "-Y", "verify", "-f", tmp_path / "allowed", "-I", "ann@example.org", "-n", "toolnoise"]
    subprocess.run([*command, "-s", tmp_path / "sig"], input=encoded, capture_output=True, check=True)


def test_a_key_that_an_agent_has_signs_by_its_public_half(results, root, keys, tmp_path, monkeypatch):
    with subprocess.Popen(
        ["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as agent:
        try:
            agent.stdout.readline()  # it listens by then
            monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
            subprocess.run(["ssh-add", "-q", keys / "ann"], check=True, capture_output=True)
            shutil.copy(keys / "ann.pub", tmp_path / "only.pub")
            signing.sign(results, tmp_path / "only.pub")
        finally:
            agent.terminate()
    assert check(keys, root) == ""


def payload(change):
    def changed(envelope):
        text = base64.b64decode(envelope["payload"]).decode()
        assert change[0] in text
        envelope["payload"] = base64.b64encode(text.replace(*change).encode()).decode()

    return changed


def signed_for(namespace, message=b""):
    """Ann's signature for another purpose, or on something else."""

    def changed(root, keys):
        statement = root.parent / "message"
        envelope = json.loads(root.read_text())
        content = base64.b64decode(envelope["payload"])
        statement.write_bytes(message or b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(content), content))
        command = ["ssh-keygen", "-Y", "sign", "-f", keys / "ann", "-n", namespace, statement]
        subprocess.run(command, capture_output=True, check=True)
        lines = statement.with_name("message.sig").read_text().splitlines()
        envelope["signatures"][0]["sig"] = "".join(lines[1:-1])
        files.write_json(root, envelope)

    return changed


def strangers(root, keys):
    """Bob's signature, which says that it is Ann's."""
    anns = json.loads(root.read_text())["signatures"][0]["keyid"]
    edit(root, lambda envelope: envelope["signatures"].clear())
    signing.sign(root.parents[2], keys / "bob")
    edit(root, lambda envelope: envelope["signatures"][0].update(keyid=anns))


def edited(change):
    return lambda root, _keys: edit(root, change)


HARMFUL = {
    "altered": (edited(payload(('"size": 7', '"size": 8'))), "has no valid signature by SHA256:"),
    "not signed": (edited(lambda envelope: envelope["signatures"].clear()), "is not signed"),
    "a stranger's": (strangers, "has no valid signature by SHA256:"),
    "another statement's signature": (signed_for("toolnoise", b"other"), "incorrect signature"),
    "another namespace": (signed_for("file"), "namespace does not match"),
    "no signature at all": (edited(lambda one: one["signatures"][0].update(sig="AAAA")), "has no valid signature by"),
    "a payload that is no base64": (edited(lambda one: one.update(payload="%")), "there is no root"),
    "too many": (edited(lambda one: one.update(signatures=one["signatures"] * 65)), "there is no root"),
}


@pytest.mark.parametrize(("harm", "told"), HARMFUL.values(), ids=HARMFUL)
def test_a_signature_that_does_not_count_is_told_in_one_sentence(harm, told, root, sign, keys):
    sign()
    harm(root, keys)
    why = check(keys, root)
    assert told in why
    assert len(why.splitlines()) == 1


@pytest.mark.parametrize(
    ("key", "told"), [("absent", "absent: cannot be read"), ("other", "cannot"), ("ann.pub", "lonely.pub: cannot sign")]
)
def test_a_key_that_cannot_sign_is_one_line_and_signs_nothing(
    key, told, results, root, keys, refused, tmp_path, monkeypatch
):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / "other").write_text("no key")
    path = shutil.copy(keys / key, tmp_path / "lonely.pub") if key == "ann.pub" else tmp_path / key
    before = root.read_bytes()
    assert told in refused(signing.sign, results, path)
    assert root.read_bytes() == before


def test_a_key_that_is_no_public_key_is_refused(keys, tmp_path):
    (tmp_path / "text").write_text("no key")
    for path in (keys / "ann", tmp_path / "text", tmp_path / "absent"):
        with pytest.raises(BadInput, match=path.name):
            signing.signature_check(path)


def test_without_openssh_it_is_one_line(sign, refused, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert refused(sign) == "ssh-keygen: is not installed; it comes with OpenSSH (Debian: openssh-client)"


def test_a_pipe_in_the_place_of_a_key_is_one_line(results, keys, refused, tmp_path):
    shutil.copyfile(keys / "ann.pub", tmp_path / "key.pub")
    os.mkfifo(tmp_path / "key")
    # ssh-keygen opens the other half of a pair, too.
    for key in ("key", "key.pub"):
        assert refused(signing.sign, results, tmp_path / key).startswith(f"{tmp_path / 'key'}: a pipe")


def test_what_was_read_before_is_what_must_be_signed(root, sign, keys):
    sign()
    study = tree.load_study(root.parents[1])
    files.write_json(root, statements.read_statement(root)._replace(verb="report").as_json())
    assert signing.signature_check(keys / "ann.pub")(study) == "changed since it was read"
