"""model.sig and OpenSSF's own tool: each verifies what the other signs, and each finds a changed byte."""

import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.verify import model_signature, tree

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".environments/model-signing/bin"
WEIGHTS = "runs/smallcnn/digits/cpu/impl/1/weights.npz"


@pytest.fixture
def study(tmp_path):
    """The files of a finished study, with weights."""
    with tarfile.open(ROOT / "evidence/growth-small.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    folder = tmp_path / "results/growth-small"
    arrays.write_npz(folder / WEIGHTS, {"dense/kernel": np.arange(6, dtype=np.float32)})
    return folder


@pytest.fixture
def keys(tmp_path):
    """A folder with a private key and its public half."""
    make = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", tmp_path / "key"]
    subprocess.run(make, check=True)
    show = ["openssl", "pkey", "-in", tmp_path / "key", "-pubout", "-out", tmp_path / "key.pem"]
    subprocess.run(show, check=True)
    return tmp_path


@pytest.fixture
def theirs(run, tmp_path):
    """Run the other tool."""
    if not (PROGRAMS / "model_signing").exists():
        pytest.skip("model-signing is not installed: make .environments/model-signing")
    return lambda *arguments: run(tmp_path, PROGRAMS / "model_signing", *arguments)


def change(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_the_other_tool_verifies_the_weights_and_the_page_and_finds_a_changed_byte(study, keys, theirs, toolnoise):
    done = toolnoise(keys, "sign", study, "--key", keys / "key", "--model-signing")
    assert done.returncode == 0, done.stderr

    def verified():
        return theirs("verify", "key", "--signature", study / "model.sig", "--public_key", keys / "key.pem", study)

    assert "Verification succeeded" in verified().stdout
    for name in (WEIGHTS, "index.html"):
        change(study / name)
        failed = verified()
        assert failed.returncode != 0
        assert name in failed.stdout + failed.stderr
        change(study / name)
    assert "Verification succeeded" in verified().stdout


def test_what_the_other_tool_signs_is_read_and_a_changed_byte_is_found(study, keys, theirs, monkeypatch):
    done = theirs("sign", "key", "--private_key", keys / "key", "--signature", study / "model.sig", study)
    assert done.returncode == 0, done.stderr
    bundle = model_signature.read(study / "model.sig")
    assert model_signature.verifier(str(keys / "key.pem"))(bundle) == ""

    def differing():
        return [path for path, _ in bundle.differences(model_signature.digests(tree.load_study(study)))]

    assert differing() == []
    change(study / WEIGHTS)
    assert differing() == [WEIGHTS]
    # A signature with a key is in no log.
    monkeypatch.setenv("PATH", str(PROGRAMS), prepend=":")
    assert "is not signed by ann@example.org of https://example.org," in model_signature.verifier(
        "ann@example.org,https://example.org"
    )(bundle)
