"""model.sig: a signature on all files of a study that other people's tools verify, made, read and found wrong."""

import base64
import hashlib
import json
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from toolnoise import cli
from toolnoise.base import files
from toolnoise.record import statements
from toolnoise.record.statements import Artifact, Statement
from toolnoise.verify import model_signature, signing, tree
from toolnoise.verify.audit import examine
from toolnoise.verify.audit.rules import RULES, rule
from toolnoise.verify.audit.rules.root import signed_by

WEIGHTS = "runs/smallcnn/digits/cpu/impl/1/weights.npz"
PAGE = "statements/index.html.intoto.json"
NOON = datetime(2026, 1, 31, 12)
# Signatures with a key from the tests of OpenSSF's model signing, one folder per version that made them, and the public
# key. They come from `scripts/tests/*-elliptic-key` of <https://github.com/sigstore/model-transparency> at commit
# e343073 (Apache License 2.0). The files are unchanged.
ARCHIVE = Path(__file__).with_name("model_signing.tar.xz")
CURVES = {"prime256v1": "sha256", "secp384r1": "sha384", "secp521r1": "sha512"}


@pytest.fixture(scope="module")
def corpus(unpacked_archive):
    """A folder with what the archive has."""
    assert files.sha256(ARCHIVE) == "21eb76845753aeec8202af1cf50497d793d5386bf874594c4d4eb176a8bbde56"
    return unpacked_archive


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A folder with the keys of Ann and Bob, one of each curve, and one that cannot be used."""
    folder = tmp_path_factory.mktemp("keys")
    for name, curve in (("ann", "prime256v1"), ("bob", "prime256v1"), *((one, one) for one in CURVES)):
        make = ["openssl", "ecparam", "-name", curve, "-genkey", "-noout", "-out", folder / name]
        subprocess.run(make, check=True)
        show = ["openssl", "pkey", "-in", folder / name, "-pubout", "-out", folder / f"{name}.pem"]
        subprocess.run(show, check=True)
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "ed25519"], check=True)
    return folder


@pytest.fixture
def results(tmp_path):
    """A study's folder with two files and their statements."""
    folder = tmp_path / "results/s"
    for name in ("index.html", WEIGHTS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the bytes of {name}")
        output = Artifact(f"results/s/{name}", files.sha256(folder / name), (folder / name).stat().st_size, "out")
        stated = Statement("prepare", (output,), (), {}, {}, NOON, NOON, {"python": "3.11.7"})
        files.write_json(tmp_path / statements.path_for(output.name), stated.as_json())
    return folder


@pytest.fixture
def signed(results, keys):
    """The same, signed by Ann."""
    assert model_signature.sign(results, keys / "ann") == 4
    return results


def said(results, key):
    """What the audit finds that requires this signer."""
    found = examine.examine(tree.load(results), rules=(*RULES, rule(signed_by(str(key)))))
    return [
        (one.artifact.removeprefix("results/s/"), one.what) for one in found.findings if one.rule == "model-is-signed"
    ]


def findings(results):
    return {(one.rule, one.artifact) for one in examine.examine(tree.load(results)).findings}


def test_a_signed_study_is_as_it_was_signed_and_the_signature_is_no_result(results, keys):
    before = findings(results)
    model_signature.sign(results, keys / "ann")
    assert said(results, keys / "ann.pem") == []
    assert findings(results) == before
    assert "s: model.sig is there" in examine.as_text(examine.examine(tree.load(results)), strict=False)


@pytest.mark.parametrize(("curve", "hashing"), CURVES.items())
def test_what_is_signed_is_an_envelope_of_digests_and_openssl_alone_verifies_it(
    curve, hashing, results, keys, tmp_path
):
    model_signature.sign(results, keys / curve)
    bundle = json.loads((results / "model.sig").read_text())
    payload = base64.b64decode(bundle["dsseEnvelope"]["payload"])
    (tmp_path / "message").write_bytes(b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload))
    (tmp_path / "sig").write_bytes(base64.b64decode(bundle["dsseEnvelope"]["signatures"][0]["sig"]))
    options = ["-verify", keys / f"{curve}.pem", "-signature", tmp_path / "sig", tmp_path / "message"]
    subprocess.run(["openssl", "dgst", f"-{hashing}", *options], check=True, capture_output=True)
    about = json.loads(payload)
    there = sorted(path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file())
    assert [one["name"] for one in about["predicate"]["resources"]] == [one for one in there if one != "model.sig"]
    assert all(one["digest"] == files.sha256(results / one["name"]) for one in about["predicate"]["resources"])
    key = (keys / f"{curve}.pem").read_bytes()
    assert bundle["verificationMaterial"]["publicKey"]["hint"] == hashlib.sha256(key).hexdigest()
    assert said(results, keys / f"{curve}.pem") == []


def changed(path):
    return lambda results: (results / path).write_bytes((results / path).read_bytes() + b" ")


def link(path):
    path.symlink_to(path.rename(path.parents[2] / "elsewhere"))


HARM = {
    "weights changed": (changed(WEIGHTS), WEIGHTS, "its SHA-256 is"),
    "a statement changed": (
        changed("statements/index.html.intoto.json"),
        "statements/index.html.intoto.json",
        "signed",
    ),
    "the page gone": (lambda results: (results / "index.html").unlink(), "index.html", "is missing, and in"),
    "a file more": (lambda results: (results / "more").write_text(""), "more", "is not in the signature"),
    "no signature": (lambda results: (results / "model.sig").unlink(), "model.sig", "is missing"),
    "a link": (lambda results: link(results / "model.sig"), "model.sig", "is missing"),
    "no bundle": (lambda results: (results / "model.sig").write_text("{}"), "model.sig", "no such key"),
}


@pytest.mark.parametrize(("harm", "path", "told"), HARM.values(), ids=HARM)
def test_what_is_not_as_it_was_signed_is_named(harm, path, told, signed, keys):
    harm(signed)
    ((artifact, what),) = said(signed, keys / "ann.pem")
    assert (artifact, told in what) == (path, True)


def test_a_signature_by_another_key_or_on_another_statement_is_found(signed, keys):
    ((artifact, what),) = said(signed, keys / "bob.pem")
    assert (artifact, what) == ("model.sig", f"is not signed with the key {keys / 'bob.pem'}")
    bundle = json.loads((signed / "model.sig").read_text())
    payload = base64.b64decode(bundle["dsseEnvelope"]["payload"])
    bundle["dsseEnvelope"]["payload"] = base64.b64encode(payload + b" ").decode()
    files.write_json(signed / "model.sig", bundle)
    assert said(signed, keys / "ann.pem") == [("model.sig", f"is not signed with the key {keys / 'ann.pem'}")]


def test_a_slim_copy_is_under_the_signature_of_the_whole(signed, keys):
    weights = signed / WEIGHTS
    files.write_json(signed / "left-out.json", {WEIGHTS: files.sha256(weights)})
    weights.unlink()
    assert said(signed, keys / "ann.pem") == []
    files.write_json(signed / "left-out.json", {WEIGHTS: "0" * 64})
    assert [artifact for artifact, _ in said(signed, keys / "ann.pem")] == [WEIGHTS]


def with_payload(change):
    def changed(bundle):
        about = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
        change(about)
        bundle["dsseEnvelope"]["payload"] = base64.b64encode(json.dumps(about).encode()).decode()

    return changed


def named(name):
    return with_payload(lambda about: about["predicate"]["resources"][0].update(name=name))


ODD = {
    "another type": lambda bundle: bundle.update(mediaType="application/json"),
    "no envelope": lambda bundle: bundle.pop("dsseEnvelope"),
    "a message instead": lambda bundle: bundle.update(dsseEnvelope={}, messageSignature={}),
    "no signature": lambda bundle: bundle["dsseEnvelope"].update(signatures=[]),
    "two signatures": lambda bundle: bundle["dsseEnvelope"].update(signatures=bundle["dsseEnvelope"]["signatures"] * 2),
    "another statement": with_payload(lambda about: about.update(predicateType="https://slsa.dev/provenance/v1")),
    "other digests": with_payload(lambda about: about["predicate"]["resources"].pop()),
    "a file twice": with_payload(
        lambda about: about["predicate"]["resources"].append(about["predicate"]["resources"][0])
    ),
    "no subject": with_payload(lambda about: about.update(subject=[])),
    "parts of files": with_payload(lambda about: about["predicate"]["serialization"].update(method="shards")),
    "another hash": with_payload(lambda about: about["predicate"]["resources"][0].update(algorithm="blake2b")),
    "a path that climbs": named("../index.html"),
    "a path from the root": named("/index.html"),
    "a path with a detour": named("runs//weights.npz"),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_is_no_such_signature_is_one_line(odd, signed, refused):
    path = signed / "model.sig"
    bundle = json.loads(path.read_text())
    odd(bundle)
    path.write_text(json.dumps(bundle))
    assert refused(model_signature.read, path).startswith(f"{path}: ")


def test_a_signature_that_two_readers_could_understand_differently_is_one_line(signed, refused):
    path = signed / "model.sig"
    path.write_text(path.read_text().replace("{", '{"mediaType": "", ', 1))
    assert "key 'mediaType' is repeated" in refused(model_signature.read, path)


def test_a_key_that_cannot_be_used_is_one_line_and_signs_nothing(results, keys, refused, monkeypatch):
    for name, told in (("absent", "no such file"), ("ed25519", "is of another kind"), ("ann.pem", "cannot be read as")):
        assert f"{name}: {told}" in refused(model_signature.sign, results, keys / name)
    for name in ("absent", "ann"):
        assert "an elliptic curve key" in refused(model_signature.verifier, str(keys / name))
    (results / "link").symlink_to("index.html")
    assert "is a symbolic link" in refused(model_signature.sign, results, keys / "ann")
    assert not (results / "model.sig").exists()
    monkeypatch.setenv("PATH", "")
    assert refused(model_signature.sign, results, keys / "ann").startswith("openssl: is not installed")
    assert refused(model_signature.verifier, "ann@example.org,https://example.org").startswith("sigstore: is not")


def test_the_verbs_sign_and_require_it(results, keys, capsys):
    cli.main(["sign", str(results), "--key", str(keys / "ann"), "--model-signing"])
    assert "signed 4 files in model.sig" in capsys.readouterr().out
    for name, count in (("ann.pem", "-"), ("bob.pem", "1")):
        with pytest.raises(SystemExit):
            cli.main(["audit", str(results), "--require-model-signature", str(keys / name)])
        (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("model-is-signed ")]
        assert line.split()[1] == count


def test_an_ssh_key_in_pem_signs_both_statements_and_files(results, tmp_path):
    make = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "256", "-m", "PKCS8", "-N", "", "-f", tmp_path / "key"]
    subprocess.run(make, check=True)
    convert = ["ssh-keygen", "-e", "-m", "PKCS8", "-f", tmp_path / "key.pub"]
    (tmp_path / "key.pem").write_bytes(subprocess.run(convert, check=True, capture_output=True).stdout)
    assert signing.sign(results, tmp_path / "key") == (2, 0)
    model_signature.sign(results, tmp_path / "key")
    assert said(results, tmp_path / "key.pem") == []


@pytest.mark.parametrize("version", ["v0.3.1", "v1.0.0", "v1.0.1", "v1.1.0"])
def test_signatures_of_each_version_of_the_other_tool_are_read_and_a_changed_byte_is_found(
    version, corpus, keys, tmp_path
):
    folder = shutil.copytree(corpus / version, tmp_path / "model")
    bundle = model_signature.read(folder / "model.sig")
    assert model_signature.verifier(str(corpus / "key.pub.pem"))(bundle) == ""
    assert "is not signed with" in model_signature.verifier(str(keys / "ann.pem"))(bundle)

    def differing():
        found = {path.name: files.sha256(path) for path in folder.iterdir() if path.name != "model.sig"}
        # A model that is one file has no names.
        found = found if set(bundle.digests) != {"."} else {".": found["signme-1"]}
        return [path for path, _ in bundle.differences(found)]

    assert differing() == []
    changed("signme-1")(folder)
    assert differing() == [min(bundle.digests)]
