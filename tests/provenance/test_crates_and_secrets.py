"""What leaves the machine: a crate has what it says, and statements, pages, archives and crates have no secret.

Keys are planted in the environment, in what a program's command and a data set's address name, and in ~/.netrc. Every
file of a study is searched for every spelling of them, in archives and in what pictures have besides their pixels.
"""

import base64
import hashlib
import html
import json
import re
import shutil
import sys
import tarfile
import threading
import zipfile
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from forging import asked, definition, sha256

from toolnoise import cli
from toolnoise.base.errors import BadInput
from toolnoise.provenance import crate
from toolnoise.study import config

# A study as a research object: what is in the crate, what is only named, and what is refused

WEIGHTS, DATA, COUNTS = "runs/smallcnn/digits/cpu/impl/1/weights.npz", "data/digits.npz", "metrics/data/digits.csv"


@pytest.fixture
def export(small, tmp_path):
    """Write the crate of the small study; returns its place."""

    def write(name="crate", embed=False):
        crate.export(small.root, tmp_path / name, embed)
        return tmp_path / name

    return write


def described(out):
    return {one["@id"]: one for one in json.loads((out / "ro-crate-metadata.json").read_text())["@graph"]}


def made_of(small, artifact, name, **about):
    """State that a job was made of another file, too."""
    one = {"name": name, "digest": {"sha256": sha256(b"x")}, **about}
    small.restate(artifact, lambda made: definition(made)["resolvedDependencies"].append(one))


def test_a_job_is_an_action_with_what_it_read_was_told_and_wrote(small, export):
    found, stated = described(export()), json.loads(small.original[small.stated[WEIGHTS]])
    job = found[f"#job/{WEIGHTS}"]
    assert (job["@type"], job["instrument"]) == ("CreateAction", {"@id": "#verb/train"})
    assert job["description"].startswith("toolnoise train --model ")
    assert job["startTime"] == f"{stated['predicate']['runDetails']['metadata']['startedOn'][:23]}+00:00"
    assert {one["@id"] for one in job["result"]} == {one["name"] for one in stated["subject"]}
    objects = [found[one["@id"]] for one in job["object"]]
    (data,) = [one for one in objects if one["name"] == small.name(DATA)]
    assert data["sha256"] == sha256(small.original[DATA])
    values = {one["name"]: one["value"] for one in objects if one["@type"] == "PropertyValue"}
    assert json.loads(values["spec"]) == asked(stated)["spec"]
    assert found[small.name(small.stated[WEIGHTS])]["about"] == {"@id": job["@id"]}
    mentioned = [one["@id"] for one in found["./"]["mentions"]]
    assert (mentioned[0], len(mentioned)) == ("#run", 1 + len(small.statements))
    last = {one["@id"] for one in found["#run"]["result"]}
    assert small.name("index.html") in last
    assert small.name(DATA) not in last, "jobs read it"


def test_large_files_are_referenced_unless_they_are_embedded(small, export, monkeypatch):
    monkeypatch.setattr(crate, "SMALL", len(small.original[WEIGHTS]) - 1)
    told, packed, name = export("told"), export("packed", embed=True), small.name(WEIGHTS)
    (large,) = [one for one in described(told).values() if one.get("name") == name]
    assert large["@id"].startswith("#file/")
    assert large["contentSize"] == str(len(small.original[WEIGHTS]))
    assert not (told / name).exists()
    assert (packed / name).read_bytes() == small.original[WEIGHTS]
    parts = [described(out)["./"]["hasPart"] for out in (told, packed)]
    assert ({"@id": large["@id"]} in parts[0], {"@id": name} in parts[1]) == (False, True)


def test_what_lies_outside_of_the_study_is_referenced_and_never_packed_or_written(small, export):
    address, climbing = "https://example.org/data.npz", "results/small/../../../out.csv"
    made_of(small, DATA, "data.npz", uri=address, annotations={"kind": "source"})
    made_of(small, COUNTS, climbing, annotations={"kind": "input"})
    out = export(embed=True)
    (source,) = [one for one in described(out).values() if one.get("url") == address]
    (other,) = [one for one in described(out).values() if one.get("name") == climbing]
    assert source["@id"].startswith("#file/")
    assert other["@id"].startswith("#file/")
    assert not [path for path in out.parent.rglob("*") if path.name in ("data.npz", "out.csv")]


@pytest.mark.parametrize("name", ["a b#c?.csv", "ü%41.csv", "line\nbreak.csv"])
def test_odd_names_are_percent_encoded(name, small, export):
    small.put(f"metrics/data/{name}", b"odd")
    small.state_as(f"metrics/data/{name}", COUNTS)
    out = export()
    assert (out / small.name(f"metrics/data/{name}")).read_bytes() == b"odd"
    (file,) = [one for one in described(out).values() if one.get("name") == small.name(f"metrics/data/{name}")]
    assert re.fullmatch(r"results/small/metrics/data/[A-Za-z0-9._~%-]+", file["@id"])


def test_the_same_study_gives_the_same_bytes(export):
    one, other = export("one.zip"), export("other.zip")
    assert one.read_bytes() == other.read_bytes()
    assert zipfile.ZipFile(one).testzip() is None


@pytest.mark.parametrize("name", ["crate", "crate.zip"])
def test_a_file_that_is_not_what_its_statement_says_is_refused_and_nothing_is_left(name, small, export, tmp_path):
    small.put(COUNTS, b"2\n")
    with pytest.raises(BadInput, match=r"digits\.csv: differs from its statement"):
        export(name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_gone_or_a_link_is_referenced_and_cannot_be_embedded(small, export, tmp_path):
    small.delete(COUNTS)
    assert small.name(COUNTS) not in described(export("told"))
    with pytest.raises(BadInput, match="no such file"):
        export("packed", embed=True)
    (tmp_path / "secret").write_bytes(small.original[COUNTS])
    small.path(COUNTS).symlink_to(tmp_path / "secret")
    with pytest.raises(BadInput, match="symbolic link"):
        export("packed", embed=True)


def test_nothing_is_written_over_or_among_results(small, export, tmp_path):
    with pytest.raises(BadInput, match="lies among the results"):
        export(small.root / "crate")
    for name in ("full", "study.zip"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
        with pytest.raises(BadInput, match="already exists"):
            export(name)
        assert (tmp_path / name / "mine").exists()


def test_what_is_no_study_with_readable_statements_is_refused(small, export, tmp_path):
    with pytest.raises(BadInput, match="has no statements"):
        crate.export(tmp_path, tmp_path.with_name("crate"), embed=False)
    small.restate(COUNTS, lambda made: asked(made).update(dataset="\ud800"))
    with pytest.raises(BadInput, match="invalid Unicode"):
        export()
    small.put(small.stated[COUNTS], b"{")
    with pytest.raises(BadInput, match=r"digits\.csv\.intoto\.json"):
        export()


def test_the_licence_is_the_one_that_is_given_or_none_is_stated(small, export, tmp_path):
    assert described(export())["#licence"]["name"] == "no licence is stated"
    cli.main(["crate", str(small.root), "--out", str(tmp_path / "given"), "--licence", "CC-BY-4.0"])
    assert described(tmp_path / "given")["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}


# The crate of a study that was really run, held against its profile by roc-validator, with the network cut


DRIVER = Path(__file__).parent / "drivers/validate_crates.py"


@pytest.fixture(scope="module")
def validated(run, tmp_path_factory):
    """What the validator finds in crates, in a home of its own."""

    def look(*crates):
        home = tmp_path_factory.mktemp("home")
        environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        done = run(home, sys.executable, DRIVER, *crates, env=environment)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    return look


@pytest.mark.long
def test_a_study_is_a_provenance_run_crate(copied, toolnoise, validated):
    done = toolnoise(copied, "crate", "results/small", "--out", "crate.zip")
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = list((copied / "results/small/statements").rglob("*.intoto.json"))
    assert f"{len(jobs)} jobs" in done.stdout
    (found,) = validated(copied / "crate.zip")
    for look in ("metadata", "payload"):
        assert found[look]["issues"] == [] and found[look]["passed"]
    # What one look left out, the other saw.
    assert set(found["metadata"]["skipped"]) <= set(found["payload"]["run"])
    assert set(found["payload"]["skipped"]) <= set(found["metadata"]["run"])
    assert any(check.startswith("provenance-run-crate-0.5") for check in found["metadata"]["run"])


# No key that was within reach is in any file


TOKEN, KEY, PASSWORD = "tOk+en\"of/the'variable", "key&of=the/address", "pass+word/of%the*server"
AROUND = {"AWS_SECRET_ACCESS_KEY": "aws+secret/of*nobody", "HF_TOKEN": "hf_token*of'nobody", "XLA_KEY": "xla/key+of=no"}
PLANTED = (TOKEN, KEY, PASSWORD, *AROUND.values())
# What everybody may read.
READABLE = "/opt/shared/data-of-it"
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
COMMAND = f"python programs/train.py --token {{env:MY_TOKEN}} --data {READABLE}"
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
    assert "its query may have only variables: ?token={env:TOKEN}" in refused(config.resolve, study, "study.yaml")


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
        assert having(tmp_path / shared, READABLE)


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
