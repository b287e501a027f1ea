"""What leaves the machine has no secret of a study file or of a variable.

Every file is searched for every spelling that a secret may take, in statements, logs, data of pages, arrays, archives
and what pictures have besides their pixels.
"""

import base64
import html
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from urllib.parse import quote

import pytest

KEY, PASSWORD, ACCOUNT, TOKEN = "kEy0of1the2study", "pAss&wOrd-of=it", "annabel-of-it", "tOk+en\"of/the'variable"
# A path of a machine that is no home: study.json and statements lose it alike.
DATA = "/opt/shared/data-of-it"
URL = f"https://{ACCOUNT}:{PASSWORD}@host.example/x"
PROGRAM = """
import base64, os, sys, urllib.parse
import numpy as np

out, token = os.environ["TOOLNOISE_OUT"], sys.argv[6]
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
            "command": f"python programs/train.py --api-key {KEY} --url {URL} --also {{env:MY_TOKEN}} --data {DATA}",
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
VERBS = {"crate": "crate", "export": "export.tar", "slim": "slim"}
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


def shared(toolnoise, folder, out, *arguments):
    """Let each verb write what it shares, and unpack it."""
    for verb, name in VERBS.items():
        done = toolnoise(folder, verb, RESULTS, "--out", out / name, *arguments)
        assert done.returncode == 0, done.stderr
    with tarfile.open(out / "export.tar") as archive:
        archive.extractall(out / "export", filter="data")
    (out / "export.tar").unlink()


@pytest.fixture(scope="module")
def leaky(once, write_study, snakemake):
    def make(folder):
        done = snakemake(write(folder / "here", write_study), env={"MY_TOKEN": TOKEN})
        assert done.returncode == 0, done.stdout + done.stderr
        (folder / "here/said.txt").write_text(done.stdout + done.stderr)

    return once("secrets", make) / "here"


def test_a_dry_run_warns_of_what_looks_like_a_credential_and_of_a_variable_that_is_not_set(
    write_study, snakemake, tmp_path
):
    folder = write(tmp_path / "study", write_study)
    done = snakemake(folder, "-n")
    assert done.returncode == 0
    warnings = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("toolnoise: warning: ")]
    assert len(warnings) == 2
    assert "models.mine.command: looks like a credential (the value of --api-key, a password in an ad" in warnings[0]
    assert warnings[1].endswith("{env:MY_TOKEN}: the variable MY_TOKEN is not set; such as: export MY_TOKEN=...")
    assert KEY not in "".join(warnings)


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


@pytest.mark.parametrize("verb", VERBS)
def test_results_with_a_credential_are_not_shared_unless_somebody_says_that_it_is_none(
    leaky, toolnoise, refusal, tmp_path, verb
):
    out = tmp_path / VERBS[verb]
    line = refusal(toolnoise(leaky, verb, RESULTS, "--out", out))
    assert "command: looks like a credential (" in line
    assert "--no-credential TEXT" in line
    assert not any(one in line.encode() for secret in (KEY, PASSWORD) for one in spellings(secret))
    assert not out.exists()
    line = refusal(toolnoise(leaky, verb, RESULTS, "--out", out, "--no-credential", KEY))
    assert "looks like a credential (a password in an address)" in line
    done = toolnoise(leaky, verb, RESULTS, "--out", out, "--no-credential", KEY, "--no-credential", PASSWORD)
    assert done.returncode == 0, done.stderr
    assert out.exists()


def test_no_file_that_is_shared_has_the_value_of_a_variable(leaky, toolnoise, tmp_path):
    shared(toolnoise, leaky, tmp_path, "--no-credential", KEY, "--no-credential", PASSWORD)
    assert having(tmp_path, TOKEN)[0] == set()
    for verb in VERBS:
        # The search finds what is there.
        found, count = having(tmp_path / verb, KEY)
        assert found
        assert len(found) < count


def test_a_signature_hides_no_credential(leaky, toolnoise, refusal, tmp_path):
    folder = shutil.copytree(leaky, tmp_path / "copy", symlinks=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    assert toolnoise(folder, "sign", RESULTS, "--key", tmp_path / "key").returncode == 0
    line = refusal(toolnoise(folder, "export", RESULTS, "--out", tmp_path / "x.tar", "--no-predictions"))
    assert "looks like a credential" in line
