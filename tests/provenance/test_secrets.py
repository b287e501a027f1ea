"""The value of a variable that a command names is nowhere in results, and in nothing that is made from them.

Every file is searched for every spelling that a secret may take, in statements, logs, data of pages, arrays, archives
and what pictures have besides their pixels.
"""

import base64
import html
import json
import re
import shutil
import tarfile
import zipfile
import zlib
from urllib.parse import quote

import pytest

pytestmark = pytest.mark.long

TOKEN = "tOk+en\"of/the'variable"
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
STUDY = {
    "study": "leaky",
    "models": {
        "mine": {
            "command": f"python programs/train.py --token {{env:MY_TOKEN}} --data {DATA}",
            "sources": ["init"],
        }
    },
    "grid": [
        {
            "models": ["mine"],
            "datasets": ["outcome"],
            "hardware": ["command"],
            "variants": ["init"],
            "seeds": 2,
        }
    ],
    "figures": ["table2", "noise_by_source"],
}
# Before a stream of a PDF, and before a compressed text of a PNG.
COMPRESSED = rb"stream\r?\n|zTXt[^\x00]*\x00\x00|iTXt[^\x00]*\x00\x01\x00[^\x00]*\x00[^\x00]*\x00"
VERBS = {"crate": "crate", "export": "export.tar"}
RESULTS = "results/leaky"


def write(folder, write_study):
    write_study(folder, STUDY)
    (folder / "programs").mkdir()
    (folder / "programs/train.py").write_text(PROGRAM)
    return folder.resolve()


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
    """The files below a folder that have one of these secrets, and how many there are."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    wanted = {one for secret in secrets for one in spellings(secret)}
    found = {path for path in files for content in contents(path) if any(one in content for one in wanted)}
    return {path.relative_to(folder).as_posix() for path in found}, len(files)


@pytest.fixture(scope="module")
def leaky(once, write_study, snakemake):
    def make(folder):
        done = snakemake(write(folder / "here", write_study), env={"MY_TOKEN": TOKEN})
        assert done.returncode == 0, done.stdout + done.stderr
        (folder / "here/said.txt").write_text(done.stdout + done.stderr)

    return once("secrets", make) / "here"


def test_a_dry_run_warns_of_a_variable_that_is_not_set(write_study, snakemake, tmp_path):
    done = snakemake(write(tmp_path / "study", write_study), "-n")
    assert done.returncode == 0
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("toolnoise: warning: ")]
    assert line.endswith("{env:MY_TOKEN}: the variable MY_TOKEN is not set; such as: export MY_TOKEN=...")


def test_without_the_variable_nothing_starts(write_study, snakemake, refusal, tmp_path):
    study = STUDY | {"models": {"mine": STUDY["models"]["mine"] | {"command": "python x.py {env:MY_TOKEN}"}}}
    done = snakemake(write_study(tmp_path / "study", study).resolve())
    assert "the variable MY_TOKEN is not set" in refusal(done)
    assert not (tmp_path / "study/results").exists()


def test_a_variable_is_recorded_by_its_name_alone(leaky):
    found, count = having(leaky, TOKEN)
    assert found == set()
    assert count > 50
    log = (leaky / "logs/leaky/run-program/mine/outcome/command/init/1.log").read_text()
    assert log.count("{env:MY_TOKEN}") == 4
    record = json.loads((leaky / RESULTS / "runs/mine/outcome/command/init/1/run.json").read_text())
    assert record["spec"]["model"]["command"].endswith(f"{{env:MY_TOKEN}} --data {DATA}")


def test_the_audit_is_clean_and_notes_that_the_value_is_not_recorded(leaky, toolnoise):
    done = toolnoise(leaky, "audit", RESULTS, "--json")
    assert done.returncode == 0, done.stdout
    notes = json.loads(done.stdout)["notes"]
    assert [note for note in notes if "{env:" in note] == [
        "leaky: the values of {env:MY_TOKEN} are not recorded, so runs with other values have equal specs"
    ]


def test_a_run_is_made_again_with_the_variable_and_not_without(leaky, toolnoise):
    run = f"{RESULTS}/runs/mine/outcome/command/init/1"
    done = toolnoise(leaky, "rebuild", run, env={"MY_TOKEN": TOKEN})
    assert "reproduced: run-program" in done.stdout, done.stdout + done.stderr
    assert not any(one in (done.stdout + done.stderr).encode() for one in spellings(TOKEN))
    done = toolnoise(leaky, "rebuild", run)
    assert done.returncode != 0
    assert "the variable MY_TOKEN is not set" in done.stdout + done.stderr


def test_a_program_that_fails_says_so_without_the_value(leaky, snakemake, tmp_path):
    folder = shutil.copytree(leaky, tmp_path / "copy", symlinks=True)
    done = snakemake(folder, "--forcerun", "run_program", env={"MY_TOKEN": TOKEN, "FAIL": "1"})
    assert done.returncode != 0
    log = (folder / "logs/leaky/run-program/mine/outcome/command/init/1.log").read_text()
    assert log.splitlines()[-1].startswith("toolnoise: ")
    assert "refused: {env:MY_TOKEN}" in log.splitlines()[-1]
    assert having(folder, TOKEN)[0] == set()
    assert not any(one in (done.stdout + done.stderr).encode() for one in spellings(TOKEN))


def test_no_file_that_is_shared_has_the_value_of_a_variable(leaky, toolnoise, tmp_path):
    for verb, name in VERBS.items():
        done = toolnoise(leaky, verb, RESULTS, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "export.tar") as archive:
        archive.extractall(tmp_path / "export", filter="data")
    assert having(tmp_path, TOKEN)[0] == set()
    for verb in VERBS:
        # The search finds what is there.
        found, count = having(tmp_path / verb, DATA)
        assert found
        assert len(found) < count
