"""What leaves the machine has no secret: statements, pages, archives and crates have no key that was within reach.

Keys are planted in the environment, in what a program's command and a data set's address name, and in ~/.netrc. Every
file of a study is searched for every spelling of them, in archives and in what pictures have besides their pixels.
"""

import base64
import hashlib
import html
import json
import re
import shutil
import tarfile
import threading
import zipfile
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import numpy as np
import pytest

from toolnoise.study import config

TOKEN, KEY, PASSWORD = "tOk+en\"of/the'variable", "key&of=the/address", "pass+word/of%the*server"
AROUND = {"AWS_SECRET_ACCESS_KEY": "aws+secret/of*nobody", "HF_TOKEN": "hf_token*of'nobody", "XLA_KEY": "xla/key+of=no"}
PLANTED = (TOKEN, KEY, PASSWORD, *AROUND.values())
# What everybody may read.
DATA = "/opt/shared/data-of-it"
PROGRAM = """
import base64, os, sys, urllib.parse
import numpy as np

out, token = os.environ["TOOLNOISE_OUT"], sys.argv[2]
assert len(token) == 22, token
print(sys.argv, token, urllib.parse.quote(token), base64.b64encode(token.encode()).decode())
if "FAIL" in os.environ:
    raise SystemExit(f"refused: {token}")
draw = np.random.default_rng(int(os.environ["TOOLNOISE_SEED_INIT"]))
labels = np.arange(30) % 3
np.save(f"{out}/logits.npy", (np.eye(3)[labels] + draw.normal(size=(30, 3))).astype(np.float32))
np.save(f"{out}/labels.npy", labels)
np.savez(f"{out}/weights.npz", dense=draw.normal(size=(4, 3)).astype(np.float32))
"""
COMMAND = f"python programs/train.py --token {{env:MY_TOKEN}} --data {DATA}"
CELL = {"seeds": 2, "variants": ["init"]}
STUDY = {
    "study": "leaky",
    "models": {"mine": {"command": COMMAND, "sources": ["init"]}},
    "grid": [
        CELL | {"models": ["mine"], "datasets": ["outcome"], "hardware": ["command"]},
        CELL | {"models": ["linear"], "datasets": ["drawn"], "hardware": ["cpu"], "recipe": "short"},
    ],
    "recipes": {"short": {"epochs": 1, "batch_size": 16, "learning_rate": 0.01}},
    "figures": ["noise_by_source"],
}
RESULTS, LOG = "results/leaky", "logs/leaky/run-program/mine/outcome/command/init/1.log"
# Before a stream of a PDF, and before a compressed text of a PNG.
COMPRESSED = rb"stream\r?\n|zTXt[^\x00]*\x00\x00|iTXt[^\x00]*\x00\x01\x00[^\x00]*\x00[^\x00]*\x00"


def spellings(secret):
    """A secret as it is, and as JSON, Python, addresses, pages and base64 have it: there, at each of three offsets."""
    plain = {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret), quote(secret, safe="")}
    plain |= {json.dumps(one)[1:-1] for one in plain} | {quote(secret), html.escape(secret, quote=False)}
    plain |= {re.sub("[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", one) for one in plain}
    plain |= {one.replace("\\", "\\\\").replace("'", "\\'") for one in plain}
    found = {one.encode() for one in plain} | {secret.encode("utf-16-le"), secret.encode().hex().encode()}
    for before in (b"", b"x", b"xx"):
        # Without the characters that depend on what stands beside it.
        whole = base64.b64encode(before + secret.encode())
        found.add(whole[4 if before else 0 : len(whole) // 4 * 4 - 4])
    return found


def contents(path):
    """The bytes of a file, and those that are packed in it: members of archives, streams of PDFs, texts of pictures."""
    content = path.read_bytes()
    yield content
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    for found in re.finditer(COMPRESSED, content):
        try:
            yield zlib.decompressobj().decompress(content[found.end() :])
        except zlib.error:
            continue


def having(folder, *secrets):
    """The files below a folder that have one of these secrets."""
    wanted = {one for secret in secrets for one in spellings(secret)}
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 20
    return [path for path in files if any(one in content for content in contents(path) for one in wanted)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A server that gives a data set to whom has the password and the key, as the entry that names it."""
    path = tmp_path_factory.mktemp("server") / "drawn.npz"
    draw, arrays = np.random.default_rng(1), {}
    for part, count in (("train", 64), ("test", 16)):
        arrays[f"{part}_images"] = draw.integers(0, 256, (count, 8, 8, 1), np.uint8)
        arrays[f"{part}_labels"] = np.arange(count) % 4
    np.savez(path, **arrays)
    known = "Basic " + base64.b64encode(f"ann:{PASSWORD}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = (self.path, self.headers.get("Authorization"))
            self.send_response(200 if asked == (f"/drawn.npz?key={quote(KEY, safe='')}", known) else 403)
            self.end_headers()
            self.wfile.write(path.read_bytes())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/drawn.npz?key={{env:DATA_KEY}}"
        checksum = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
        yield {"reader": "npz", "path": "raw/drawn.npz", "url": url, "checksum": checksum}
        server.shutdown()


@pytest.fixture(scope="module")
def leaky(data, tmp_path_factory, write_study, snakemake):
    folder = tmp_path_factory.mktemp("leaky")
    write_study(folder, STUDY | {"datasets": {"drawn": data}})
    (folder / "programs").mkdir()
    (folder / "programs/train.py").write_text(PROGRAM)
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login ann password {PASSWORD}")
    netrc.chmod(0o600)
    done = snakemake(folder, env=AROUND | {"MY_TOKEN": TOKEN, "DATA_KEY": KEY, "NETRC": str(netrc)})
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "said.txt").write_text(done.stdout + done.stderr)
    return folder


@pytest.mark.parametrize("url", ["https://ann:word@example.org/x.npz", "https://example.org/x.npz?token=word"])
def test_an_address_with_a_secret_is_refused(url, refused):
    study = STUDY | {"datasets": {"drawn": {"reader": "npz", "path": "x.npz", "url": url}}}
    assert "~/.netrc, and its query names variables: ?token={env:TOKEN}" in refused(config.resolve, study, "study.yaml")


def test_no_file_of_a_study_and_none_that_is_shared_has_a_key(leaky, toolnoise, tmp_path):
    assert having(leaky, *PLANTED) == []
    assert (leaky / LOG).read_text().count("{env:MY_TOKEN}") == 4
    record = json.loads((leaky / RESULTS / "runs/mine/outcome/command/init/1/run.json").read_text())
    assert record["spec"]["model"]["command"] == COMMAND
    stated = (leaky / RESULTS / "statements/data/drawn.npz.intoto.json").read_text()
    assert "/drawn.npz?key={env:DATA_KEY}" in stated
    for verb, name in (("crate", "crate"), ("export", "export.tar")):
        done = toolnoise(leaky, verb, RESULTS, "--out", tmp_path / name, env=AROUND | {"MY_TOKEN": TOKEN})
        assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "export.tar") as archive:
        archive.extractall(tmp_path / "export", filter="data")
    assert having(tmp_path, *PLANTED) == []
    # The search finds what is there.
    for shared in ("crate", "export"):
        assert having(tmp_path / shared, DATA)


@pytest.mark.long
def test_a_program_that_fails_says_so_without_the_value(leaky, snakemake, tmp_path):
    folder = shutil.copytree(leaky, tmp_path / "copy", symlinks=True)
    done = snakemake(folder, "--forcerun", "run_program", env={"MY_TOKEN": TOKEN, "FAIL": "1"})
    assert done.returncode != 0
    assert "refused: {env:MY_TOKEN}" in (folder / LOG).read_text().splitlines()[-1]
    assert having(folder, TOKEN) == []
    assert not any(one in (done.stdout + done.stderr).encode() for one in spellings(TOKEN))


def test_the_audit_notes_whose_values_are_not_recorded(leaky, toolnoise):
    found = json.loads(toolnoise(leaky, "audit", RESULTS, "--json").stdout)
    assert found["findings"] == []
    assert ["MY_TOKEN" in note for note in found["notes"]].count(True) == 1
