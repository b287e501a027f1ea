"""Statements signed with SSH keys: what is signed, who may sign, and every way in which a signature does not count."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import psutil
import pytest
from toolnoise.provenance.audit.rules import ROOT_SIGNED, RULES, SIGNED, rule
from toolnoise.provenance.audit.rules.root import not_before

from toolnoise import cli
from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.provenance import history, repository, signing, statements, tree
from toolnoise.provenance.audit import examine
from toolnoise.provenance.statements import COMMIT, Artifact, Statement

NOON = datetime(2026, 1, 31, 12)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A folder with the keys of Ann and Bob, and a file that says that Ann may sign."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ann", "bob"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True)
    write_allowed(folder / "allowed", folder, "ann")
    return folder


def write_allowed(path, keys, *names, options=""):
    path.write_text("".join(f"{name}@example.org {options}{(keys / f'{name}.pub').read_text()}" for name in names))
    return path


@pytest.fixture
def results(tmp_path):
    """A results folder with two bare statements; returns their paths."""
    paths = []
    for name in ("one", "two"):
        output = Artifact(f"results/s/data/{name}.npz", "ab" * 32, 7, "out")
        statement = Statement("prepare", (output,), (), {"dataset": name}, {}, NOON, NOON, {"python": "3.11.7"})
        paths.append(tmp_path / statements.path_for(output.name))
        files.write_json(paths[-1], statement.as_json())
    return paths


@pytest.fixture
def sign(results, keys):
    """Sign the results with somebody's key."""
    return lambda name="ann": signing.sign(results[0].parents[3], keys / name)


def check(keys, path, allowed="allowed"):
    try:
        statement = statements.read(path)
    except BadInput:
        statement = None
    return signing.AllowedSigners(keys / allowed).check(path, statement)


def edit(path, change):
    envelope = json.loads(path.read_text())
    change(envelope)
    files.write_json(path, envelope)


def test_every_statement_is_signed_and_says_what_it_said(results, sign, keys):
    before = [(path.read_bytes(), statements.read(path)) for path in results]
    assert sign() == (2, 0)
    for path, (content, statement) in zip(results, before, strict=True):
        assert statements.read(path) == statement
        assert base64.b64decode(json.loads(path.read_text())["payload"]) == content
        assert check(keys, path) == signing.Verdict(("ann@example.org",))
    assert not [path for path in results[0].parent.iterdir() if path not in results]


def test_what_is_signed_is_dsses_encoding_and_the_key_is_named(results, sign, keys, tmp_path):
    content = results[0].read_bytes()
    sign()
    envelope = json.loads(results[0].read_text())
    assert set(envelope) == {"payload", "payloadType", "signatures"}
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    (signature,) = envelope["signatures"]
    told = subprocess.run(["ssh-keygen", "-l", "-f", keys / "ann.pub"], capture_output=True, text=True, check=True)
    assert signature["keyid"] in told.stdout
    # By hand, as a stranger without this program would.
    armoured = f"-----BEGIN SSH SIGNATURE-----\n{signature['sig']}\n-----END SSH SIGNATURE-----\n"
    (tmp_path / "sig").write_text(armoured)
    encoded = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(content)).encode() + b" " + content
    command = ["ssh-keygen", "-Y", "verify", "-f", keys / "allowed", "-I", "ann@example.org", "-n", "toolnoise"]
    subprocess.run([*command, "-s", tmp_path / "sig"], input=encoded, capture_output=True, check=True)


def test_signing_again_with_the_same_key_changes_no_byte(results, sign):
    sign()
    before = [path.read_bytes() for path in results]
    assert sign() == (0, 2)
    assert [path.read_bytes() for path in results] == before


def test_several_may_sign_and_whoever_may_is_told(results, sign, keys):
    sign("bob")
    assert sign("ann") == (2, 0)
    assert len(json.loads(results[0].read_text())["signatures"]) == 2
    assert check(keys, results[0]).principals == ("ann@example.org",)
    write_allowed(keys / "both", keys, "ann", "bob")
    assert check(keys, results[0], "both").principals == ("bob@example.org", "ann@example.org")


def test_many_are_verified_at_once(results, sign, keys):
    sign()
    edit(results[1], lambda envelope: envelope["signatures"].clear())
    assert signing.AllowedSigners(keys / "allowed").check_all({path: statements.read(path) for path in results}) == {
        results[0]: (("ann@example.org",), ""),
        results[1]: ((), "is not signed"),
    }


def test_a_statement_that_is_made_again_is_bare_and_is_signed_again(results, sign, keys):
    bare = results[0].read_bytes()
    sign()
    results[0].write_bytes(bare)
    assert check(keys, results[0]) == ((), "is not signed")
    assert sign() == (1, 1)
    assert check(keys, results[0]).principals == ("ann@example.org",)


def test_a_key_that_an_agent_has_signs_by_its_public_half(results, keys, tmp_path, monkeypatch):
    with subprocess.Popen(
        ["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as agent:
        try:
            agent.stdout.readline()  # it listens by then
            monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
            subprocess.run(["ssh-add", "-q", keys / "ann"], check=True, capture_output=True)
            shutil.copy(keys / "ann.pub", tmp_path / "only.pub")
            assert signing.sign(results[0].parents[3], tmp_path / "only.pub") == (2, 0)
        finally:
            agent.terminate()
    assert check(keys, results[0]).principals == ("ann@example.org",)


def test_what_was_read_before_is_what_must_be_signed(results, sign, keys):
    read = statements.read(results[0])
    sign()
    shutil.copy(results[1], results[0])
    verdict = signing.AllowedSigners(keys / "allowed").check(results[0], read)
    assert verdict == ((), "changed since it was read")


def payload(change):
    def changed(envelope):
        text = base64.b64decode(envelope["payload"]).decode()
        assert change[0] in text
        envelope["payload"] = base64.b64encode(text.replace(*change).encode()).decode()

    return changed


def signed_for(namespace):
    def changed(results, keys):
        statement = results[0].parent / "message"
        envelope = json.loads(results[0].read_text())
        content = base64.b64decode(envelope["payload"])
        statement.write_bytes(b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(content), content))
        command = ["ssh-keygen", "-Y", "sign", "-f", keys / "ann", "-n", namespace, statement]
        subprocess.run(command, capture_output=True, check=True)
        lines = statement.with_name("message.sig").read_text().splitlines()
        envelope["signatures"][0]["sig"] = "".join(lines[1:-1])
        files.write_json(results[0], envelope)

    return changed


def another_statements(results, _keys):
    one, two = (json.loads(path.read_text()) for path in results)
    files.write_json(results[0], one | {"signatures": two["signatures"]})


def edited(change):
    return lambda results, _keys: edit(results[0], change)


HARMFUL = {
    "altered": (edited(payload(('"size": 7', '"size": 8'))), "invalid signature of ann@example.org"),
    "not signed": (edited(lambda envelope: envelope["signatures"].clear()), "is not signed"),
    "another statement's signature": (another_statements, "invalid signature of ann@example.org"),
    "another namespace": (signed_for("file"), "for 'file', not for 'toolnoise'"),
    "truncated base64": (edited(lambda one: one["signatures"][0].update(sig=one["signatures"][0]["sig"][:-2])), "sig:"),
    "truncated signature": (
        edited(lambda one: one["signatures"][0].update(sig=one["signatures"][0]["sig"][:-8])),
        "invalid signature of ann@example.org",
    ),
    "no signature at all": (edited(lambda one: one["signatures"][0].update(sig="AAAA")), "has no valid SSH signature"),
    "another type": (edited(lambda one: one.update(payloadType="text/plain")), "payloadType: found 'text/plain'"),
    "signatures that are no list": (edited(lambda one: one.update(signatures="x")), "signatures: found str"),
    "a payload that is no base64": (edited(lambda one: one.update(payload="%")), "payload: is not valid base64"),
    "too many": (edited(lambda one: one.update(signatures=one["signatures"] * 65)), "signatures: found 65"),
}


def audited(keys, results):
    """What the audit says that requires signatures, by artifact."""
    signers = signing.AllowedSigners(keys / "allowed")
    found = examine.examine(tree.load(results[0].parents[3]), rules=(*RULES, SIGNED), signers=signers)
    return found, {(one.rule, one.artifact) for one in found.findings}


def test_an_audit_that_requires_signatures_says_whose_there_are(results, sign, keys):
    sign()
    found, said = audited(keys, results)
    assert "statements-are-signed" not in {rule for rule, _ in said}
    assert "signed by ann@example.org: 2 statements" in examine.as_text(found, strict=False)
    assert examine.as_json(found, strict=False)["signers"] == {"ann@example.org": 2}


@pytest.mark.parametrize(("harm", "told"), HARMFUL.values(), ids=HARMFUL)
def test_a_signature_that_does_not_count_is_told_in_one_sentence_and_found_by_the_audit(
    harm, told, results, sign, keys
):
    sign()
    harm(results, keys)
    principals, why = check(keys, results[0])
    assert principals == ()
    assert told in why
    assert len(why.splitlines()) == 1
    assert check(keys, results[1]).principals == ("ann@example.org",)
    found, said = audited(keys, results)
    signed = ("statements-are-signed", "results/s/data/one.npz")
    unreadable = ("statements-can-be-read", "results/s/statements/data/one.npz.intoto.json")
    assert said & {signed, unreadable}
    assert found.signers == {"ann@example.org": 1}


def test_an_audit_finds_a_strangers_signature_and_an_envelope_in_anothers_place(results, sign, keys):
    sign("bob")
    assert ("statements-are-signed", "results/s/data/one.npz") in audited(keys, results)[1]
    sign("ann")
    shutil.copy(results[1], results[0])
    assert ("statements-lie-in-place", "results/s/data/two.npz") in audited(keys, results)[1]


def test_a_strangers_signature_does_not_count(results, sign, keys):
    sign("bob")
    principals, why = check(keys, results[0])
    assert principals == ()
    assert why.startswith("is signed by SHA256:")
    assert why.endswith("who is not an allowed signer")


def test_a_stranger_who_claims_to_be_ann_is_a_stranger(results, sign, keys):
    sign("ann")
    ann = json.loads(results[0].read_text())["signatures"][0]["keyid"]
    edit(results[0], lambda envelope: envelope["signatures"].clear())
    sign("bob")
    edit(results[0], lambda envelope: envelope["signatures"][0].update(keyid=ann))
    assert "not an allowed signer" in check(keys, results[0]).why


def test_an_allowed_signer_of_other_things_or_other_times_is_none(results, sign, keys):
    sign()
    for options in ('namespaces="git" ', 'valid-before="20200101" '):
        write_allowed(keys / "others", keys, "ann", options=options)
        assert check(keys, results[0], "others").why


OTHERS = "*,!ann@example.org KEY\n"
LISTS = {
    "a negation alone": (OTHERS, (), "whom no allowed signer names (*, !ann@example.org)"),
    "a negation of a name": ("ann@example.org,!ann@* KEY\n", (), "invalid signature of ann@example.org"),
    "a negation of one of two": ("a@example.org,ann@example.org,!ann@* KEY\n", (), "invalid signature of ann@"),
    "a negation of somebody else": ("ann@example.org,!bob@example.org KEY\n", ("ann@example.org",), ""),
    "a quoted negation": ('"*,!ann@example.org" KEY\n', (), "whom no allowed signer names"),
    "a negation after a space": ('"*, !ann@example.org" KEY\n', (), "whom no allowed signer names"),
    "a name on a later line": (f"{OTHERS}ann@example.org KEY\n", ("ann@example.org",), ""),
    "a pattern": ("*@example.org KEY\n", ("FINGERPRINT (allowed as *@example.org)",), ""),
    "a pattern and a name": ("*,ann@example.org KEY\n", ("ann@example.org",), ""),
}


@pytest.mark.parametrize(("text", "principals", "told"), LISTS.values(), ids=LISTS)
def test_a_pattern_is_nobody_and_a_negation_counts(text, principals, told, results, sign, keys):
    sign()
    key, fingerprint = (keys / "ann.pub").read_text(), json.loads(results[0].read_text())["signatures"][0]["keyid"]
    (keys / "list").write_text(text.replace("KEY\n", key))
    found = check(keys, results[0], "list")
    assert found.principals == tuple(one.replace("FINGERPRINT", fingerprint) for one in principals)
    assert told in found.why
    assert bool(told) == bool(found.why)


@pytest.mark.parametrize("text", [f"{OTHERS}* KEY\n", f"* KEY\n{OTHERS}", f'"ann@*" KEY\n{OTHERS}'])
def test_a_negation_that_a_pattern_of_another_line_undoes_is_refused(text, keys, refused):
    # ssh-keygen takes each line alone, and so accepts ann.
    (keys / "list").write_text(text.replace("KEY\n", (keys / "ann.pub").read_text()))
    assert "has !ann@example.org, and another" in refused(signing.AllowedSigners, keys / "list")
    (keys / "list").write_text(OTHERS.replace("KEY\n", (keys / "ann.pub").read_text()) + "* ssh-ed25519 AAAAother\n")
    signing.AllowedSigners(keys / "list")


@pytest.mark.parametrize(("names", "principals"), [("*", ("ann@example.org",)), ("*,!ann@example.org", ())])
def test_the_names_of_a_certificate_are_the_signers_and_a_negation_counts(names, principals, results, keys, tmp_path):
    ours = tmp_path / "keys"
    shutil.copytree(keys, ours)
    certify = ["ssh-keygen", "-q", "-s", ours / "bob", "-I", "any", "-n", "ann@example.org,other", ours / "ann.pub"]
    subprocess.run(certify, check=True)
    signing.sign(results[0].parents[3], ours / "ann-cert.pub")
    (ours / "list").write_text(f"{names} cert-authority {(ours / 'bob.pub').read_text()}")
    assert check(ours, results[0], "list").principals == principals


@pytest.fixture(params=["a list", "OpenSSH's format"])
def revoked(request, keys, tmp_path):
    """Write a file that revokes somebody's key."""

    def write(*names):
        path = tmp_path / "revoked"
        if request.param == "a list":
            path.write_text("# lost\n\n" + "".join((keys / f"{name}.pub").read_text() for name in names))
        else:
            subprocess.run(
                ["ssh-keygen", "-q", "-k", "-f", path, *(keys / f"{name}.pub" for name in names)], check=True
            )
        return path

    return write


def test_a_revoked_key_signs_nothing_and_others_still_do(results, root, sign, keys, revoked):
    sign("ann")
    sign("bob")
    write_allowed(keys / "both", keys, "ann", "bob")
    statement = statements.read(results[0])
    both = signing.AllowedSigners(keys / "both", revoked("ann"))
    assert both.check(results[0], statement).principals == ("bob@example.org",)
    none = signing.AllowedSigners(keys / "both", revoked("ann", "bob"))
    assert none.check(results[0], statement).why == (
        "is signed by ann@example.org with a revoked key; is signed by bob@example.org with a revoked key"
    )
    with signing.only(keys / "ann.pub", revoked("ann")) as key:
        assert key.check(root, statements.read(root)).why.partition("; ")[0].endswith("with a revoked key")
    with signing.only(keys / "ann.pub", revoked("bob")) as key:
        assert key.check(root, statements.read(root)).principals


@pytest.mark.parametrize("content", [b"ssh-ed25519 AAAA\n", b"nonsense\n", b"SSHKRL\n\0" + bytes(9), None])
def test_a_list_of_revoked_keys_that_cannot_be_read_is_one_line(content, keys, refused, tmp_path):
    if content:
        (tmp_path / "revoked").write_bytes((keys / "bob.pub").read_bytes() * (content[:3] == b"ssh") + content)
    line = refused(signing.AllowedSigners, keys / "allowed", tmp_path / "revoked")
    assert line.startswith(f"{tmp_path / 'revoked'}: ")
    assert "public keys, one on each line" in line


def audit_by_hand(capsys, *arguments):
    """The exit code and the output of `toolnoise audit`."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["audit", *map(str, arguments)])
    return ended.value.code, "".join(capsys.readouterr())


@pytest.mark.usefixtures("root")
def test_the_audit_honours_revoked_keys_for_all_signatures_and_for_the_roots(results, sign, keys, revoked, capsys):
    sign()
    folder, asked = results[0].parents[3], ("--revoked-keys", revoked("ann"))
    for required in (("--require-signatures", keys / "allowed"), ("--require-signature", keys / "ann.pub")):
        assert "signatures: good, by" in audit_by_hand(capsys, folder, *required)[1]
        said = audit_by_hand(capsys, folder, *required, *asked)[1]
        assert "with a revoked key" in said
        assert "signatures: not good" in said
    code, said = audit_by_hand(capsys, folder, *asked)
    assert (code, "--revoked-keys: no signature is required" in said) == (2, True)


@pytest.mark.parametrize(
    ("key", "told"), [("absent", "absent: cannot be read"), ("allowed", "cannot sign"), ("ann.pub", None)]
)
def test_a_key_that_cannot_sign_is_one_line_and_signs_nothing(key, told, results, keys, refused, tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    path = keys / key
    if told is None:
        path = shutil.copy(path, tmp_path / "lonely.pub")
    before = [path.read_bytes() for path in results]
    line = refused(signing.sign, results[0].parents[3], path)
    assert (told or "lonely.pub: cannot sign") in line
    assert [path.read_bytes() for path in results] == before


def test_a_statement_that_cannot_be_read_is_signed_by_nobody(results, sign, refused):
    results[1].write_text("{")
    before = results[0].read_bytes()
    assert refused(sign).startswith(str(results[1]))
    assert results[0].read_bytes() == before


@pytest.mark.parametrize("text", ["", "# nobody\n"])
def test_a_list_of_nobody_is_one_line(text, refused, tmp_path):
    (tmp_path / "allowed").write_text(text)
    assert "names nobody" in refused(signing.AllowedSigners, tmp_path / "allowed")
    assert "no such file" in refused(signing.AllowedSigners, tmp_path / "absent")


def test_without_openssh_it_is_one_line(sign, refused, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert refused(sign) == "ssh-keygen: is not installed; it comes with OpenSSH (Debian: openssh-client)"


@pytest.mark.parametrize(("key", "pipe"), [("key.pub", "key"), ("key", "key.pub"), ("key", "key")])
def test_a_pipe_in_the_place_of_a_key_is_one_line(key, pipe, results, keys, refused, tmp_path):
    for name in ("key", "key.pub"):
        shutil.copyfile(keys / name.replace("key", "ann"), tmp_path / name)
    (tmp_path / pipe).unlink()
    os.mkfifo(tmp_path / pipe)
    assert refused(signing.sign, results[0].parents[3], tmp_path / key).startswith(f"{tmp_path / pipe}: a pipe")


@pytest.fixture
def asking(tmp_path, monkeypatch):
    """An ssh-keygen that waits for ever when it is to sign; returns the file with its number."""
    folder = tmp_path / "bin"
    folder.mkdir()
    real, number = shutil.which("ssh-keygen"), tmp_path / "number"
    (folder / "ssh-keygen").write_text(
        f"""#!/bin/sh
if [ "$2" = sign ]; then echo $$ > {number}.new; mv {number}.new {number}; exec sleep 600; fi
exec {real} "$@"
"""
    )
    (folder / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return number


def test_without_a_terminal_signing_has_a_time_limit(asking, sign, refused, monkeypatch, tmp_path):
    monkeypatch.setattr(signing, "TERMINAL", str(tmp_path / "no terminal"))
    monkeypatch.setattr(signing, "LIMIT", 1.0)
    assert refused(sign).startswith("ssh-keygen: has not ended after")
    assert not psutil.pid_exists(int(asking.read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of a killed process")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ssh_keygen_ends_with_a_signing_that_is_killed(number, asking, results, keys, until):
    script = Path(sys.executable).with_name("toolnoise")
    with subprocess.Popen([script, "sign", results[0].parents[3], "--key", keys / "ann"]) as signing_process:
        until(asking.exists)
        child = psutil.Process(int(asking.read_text()))
        signing_process.send_signal(number)
    until(lambda: not child.is_running())
    assert signing_process.returncode == -number


# The root: the page's statement, which names the others
# ------------------------------------------------------


@pytest.fixture
def root(results):
    """The statement of a page that names both statements; returns its path."""
    output = Artifact("results/s/index.html", "cd" * 32, 7, "out")
    folder = results[0].parents[4]
    chain = {path.relative_to(folder).as_posix(): files.sha256(path) for path in results}
    page = Statement("write-page", (output,), (), {"study": "s"}, {}, NOON, NOON, {"python": "3.11.7"}, chain=chain)
    path = folder / statements.path_for(output.name)
    files.write_json(path, page.as_json())
    return path


def rooted(results, key=None):
    """An audit, and what it says of the root and of what it names."""
    names = ("statements-are-the-roots", "root-is-signed")
    loaded, rules = tree.load(results[0].parents[3]), (*RULES, *([ROOT_SIGNED] if key else []))
    if key:
        with signing.only(key) as owner:
            found = examine.examine(loaded, rules=rules, key=owner)
    else:
        found = examine.examine(loaded, rules=rules)
    return found, [(one.artifact, one.what) for one in found.findings if one.rule in names]


def of_commit(root, *commits):
    """Have the root state these commits."""
    made = statements.read(root)
    files.write_json(
        root,
        made._replace(dependencies=tuple(Artifact("repository", one, kind=COMMIT) for one in commits)).as_json(),
    )


def older(results, asked):
    """What the audit says that asks for a root that is not older."""
    asked = rule(not_before(asked))
    found = examine.examine(tree.load(results[0].parents[3]), rules=(*RULES, asked))
    return [one.what for one in found.findings if one.rule == "root-is-not-older"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("2026-01-31", True),
        ("2026-02-01", False),
        ("2026-01-31T12:00", True),
        ("2026-01-31T12:00:00.000001Z", False),
        ("2026-01-31T13:30+01:30", True),
        ("2026-01-31 11:30-01:00", False),
    ],
)
@pytest.mark.usefixtures("root")
def test_a_root_must_be_of_the_required_time_or_later_and_is_then_no_replay(asked, found, results):
    said = older(results, asked)
    assert said == [] if found else said[0].startswith("is of 2026-01-31T12:00:00Z; allowed: 2026-")


def test_a_root_must_be_of_the_required_commit_or_a_later_one(results, root, tmp_path, monkeypatch):
    source = tmp_path / "source"
    git = ["git", "-C", source, "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", source], check=True)
    for number in range(3):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
        subprocess.run([*git, "tag", f"v{number}"], check=True)
    subprocess.run([*git, "checkout", "-q", "-b", "aside", "v0"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "aside"], check=True)
    monkeypatch.setattr(repository, "ROOT", source)
    v0, v1, v2, aside = (history.named(one) for one in ("v0", "v1", "v2", "aside"))
    for made_by, expected in ((v1, []), (v2, []), (v0, [v0]), (aside, [aside]), ("0" * 40, ["0" * 40])):
        of_commit(root, made_by)
        for asked in ("v1", v1, v1[:12]):
            assert older(results, asked) == [
                f"was made by commit {one}; allowed: {v1}, or a commit that descends from it" for one in expected
            ]
    of_commit(root)
    assert older(results, "v1")[0].startswith("was made by no commit")
    of_commit(root, v0, v2)
    assert older(results, "v1")


def test_what_has_no_root_is_not_shown_to_be_recent(results):
    assert older(results, "2026-01-01") == ["has no statement that names the others"]


@pytest.mark.parametrize(
    "asked", ["", "yesterday", "2026-02-30", "2026-01-31T25:00", "0" * 40, "--all", "9999-12-31T23:59-10"]
)
def test_what_is_no_date_and_no_commit_here_is_one_line(asked, refused):
    assert f"--not-before: found {asked!r}; a date such as" in refused(not_before, asked)


@pytest.mark.usefixtures("root")
def test_an_older_root_is_a_finding_of_the_audit(results, capsys):
    assert "root-is-not-older" in audit_by_hand(capsys, results[0].parents[3], "--not-before", "2026-02-01")[1]


@pytest.mark.usefixtures("root")
def test_a_statement_that_changed_or_went_is_found_from_the_root(results):
    assert rooted(results)[1] == []
    results[0].write_text(results[0].read_text().replace("3.11.7", "3.11.8"))
    results[1].unlink()
    changed, gone = rooted(results)[1]
    assert changed[0] == "results/s/data/one.npz"
    assert "the root names" in changed[1]
    assert gone == ("results/s/statements/data/two.npz.intoto.json", "is named by the root, and is not there")


@pytest.mark.parametrize(
    ("changed", "found"), [(("finishedOn",), True), (("startedOn",), True), (("startedOn", "finishedOn"), False)]
)
@pytest.mark.usefixtures("root")
def test_one_time_that_changed_is_found_and_a_job_performed_again_is_not(changed, found, results):
    statement = json.loads(results[0].read_text())
    metadata = statement["predicate"]["runDetails"]["metadata"]
    for key in changed:
        metadata[key] = metadata[key].replace("T12", "T13")
    results[0].write_text(json.dumps(statement))
    assert ["results/s/data/one.npz"] * found == [artifact for artifact, _ in rooted(results)[1]]


def test_the_root_has_a_digest_that_signing_keeps_and_a_change_does_not(results, root, sign):
    (line,) = rooted(results)[0].roots
    sign()
    found, told = rooted(results)
    assert found.roots == [line]
    assert told == []
    assert found.signatures == "present, not checked (on 3 of 3 statements)"
    assert f"{line}\nsignatures: present, not checked" in examine.as_text(found, strict=False)
    envelope = json.loads(root.read_text())
    payload = base64.b64decode(envelope["payload"]).replace(b"3.11.7", b"3.11.8")
    files.write_json(root, envelope | {"payload": base64.b64encode(payload).decode()})
    assert rooted(results)[0].roots != [line]


def test_one_signature_on_the_root_vouches_for_all(results, root, keys):
    unsigned = [path.read_bytes() for path in results]
    folder = results[0].parents[3]
    assert signing.sign(folder, keys / "ann", root=True) == (1, 0)
    assert signing.sign(folder, keys / "ann", root=True) == (0, 1)
    assert [path.read_bytes() for path in results] == unsigned
    assert len(json.loads(root.read_text())["signatures"]) == 1
    found, told = rooted(results, keys / "ann.pub")
    assert told == []
    assert found.signatures.startswith("good, by SHA256:")
    found, ((artifact, what),) = rooted(results, keys / "bob.pub")
    assert artifact == "results/s/index.html"
    assert "is not an allowed signer" in what
    assert found.signatures.startswith("not good")


def test_what_was_made_after_the_root_is_told_and_is_not_vouched_for(results, root, sign, keys):
    late = Statement("report", (Artifact("results/s/report.html", "ef" * 32, 7, "out"),), (), {}, {}, NOON, NOON, {})
    files.write_json(root.with_name("report.html.intoto.json"), late.as_json())
    found, told = rooted(results)
    assert told == []
    assert found.roots[1] == "s: not under the root: 1 statements, such as that of results/s/report.html"
    sign()
    ((artifact, what),) = rooted(results, keys / "ann.pub")[1]
    assert (artifact, what.endswith("the root names no such statement")) == ("results/s/report.html", True)


def test_a_change_below_a_root_that_is_signed_is_found(results, root, keys):
    signing.sign(results[0].parents[3], keys / "ann", root=True)
    for path in results:
        before = path.read_text()
        path.write_text(before.replace("3.11.7", "3.11.8"))
        ((artifact, what),) = rooted(results, keys / "ann.pub")[1]
        assert artifact in before
        assert "the root names" in what
        path.write_text(before)
    edit(root, lambda one: one.update(payload=base64.b64encode(base64.b64decode(one["payload"]) + b" ").decode()))
    ((artifact, what),) = rooted(results, keys / "ann.pub")[1]
    assert (artifact, "invalid signature" in what) == ("results/s/index.html", True)


def test_results_without_a_root_say_so_and_cannot_be_vouched_for(results, keys, refused):
    found, told = rooted(results)
    assert told == []
    assert found.roots == ["s: no chain: there is no statement of a page that names the digests of the others"]
    assert found.signatures == "none"
    assert rooted(results, keys / "ann.pub")[1] == [("results/s/index.html", "has no statement that names the others")]
    line = refused(lambda: signing.sign(results[0].parents[3], keys / "ann", root=True))
    assert line.endswith("results/s: no statement names the others; a study whose page has been made")


def test_a_key_that_is_no_public_key_is_refused(keys):
    for name in ("ann", "allowed"):
        with pytest.raises(BadInput, match="public"), signing.only(keys / name):
            pass
