"""A small study whose results lie in object storage alone, on a real S3 server: what is where, its audit, accidents.

Its network and its data are its own, and lie beside the study file.
"""

import hashlib
import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from toolnoise import steps
from toolnoise.base.program import ROOT
from toolnoise.record.statements import path_for
from toolnoise.study import grid

STUDY = {
    "study": "small",
    "grid": [
        {
            "models": ["mine"],
            "datasets": ["shades"],
            "recipe": "quick",
            "hardware": ["cpu"],
            "variants": ["control"],
            "seeds": 2,
        }
    ],
    "models": {"mine": {"builder": "own_network:build"}},
    "datasets": {"shades": {"reader": "npz", "path": "shades.npz"}},
    "recipes": {"quick": {"epochs": 2, "batch_size": 64, "learning_rate": 0.01}},
    "figures": [],
}
WEIGHTS = "results/small/runs/mine/shades/cpu/control/1/weights.npz"
LOGITS = "results/small/predictions/mine/shades/cpu/control.npy"
NODE = """
export JOB=$RANDOM$RANDOM
export PLACE=$PWD/.snakemake/storage SCRIPT=$1
setsid unshare --mount bash -c 'mount -t tmpfs none "$PLACE" && exec bash "$SCRIPT"' </dev/null >"$1.out" 2>&1 &
echo $!
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_study):
    """Make a folder with the study, its network and its data."""

    def make(name):
        folder = write_study(tmp_path_factory.mktemp("storage") / name, STUDY)
        shutil.copy(Path(__file__).with_name("own_network.py"), folder)
        draws, labels = np.random.default_rng(7), np.arange(300) % 3
        images = (draws.integers(0, 90, (300, 4, 4, 1)) + 70 * labels[:, None, None, None]).astype(np.uint8)
        parts = {"train_images": images[:200], "train_labels": labels[:200]}
        np.savez(folder / "shades.npz", **parts, test_images=images[200:], test_labels=labels[200:])
        return folder

    return make


@pytest.fixture(scope="module")
def snakemake_stored(storage, snakemake):
    """Run the study in a folder with a bucket, by the profile."""

    def start(folder, bucket, *arguments, env=None):
        profile = ["--workflow-profile", ROOT / "workflow/profiles/s3", "--scheduler", "greedy"]
        prefix = ["--default-storage-prefix", f"s3://{bucket}"] if bucket else []
        return snakemake(folder, *profile, *prefix, *arguments, env=storage.env | (env or {}))

    return start


@pytest.fixture(scope="module")
def finished(folder, snakemake_stored):
    """The folder in which the study was run to its page; its results are in the bucket `noise`."""
    made = folder("first")
    done = snakemake_stored(made, "noise")
    (made / "said.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture
def copied(finished, storage, tmp_path):
    """Copy the results from the bucket to a folder of this machine."""

    def copy():
        storage.copy("noise/results", tmp_path / "results")
        # The audit also reads the network's code.
        shutil.copy(finished / "own_network.py", tmp_path)
        return tmp_path

    return copy


def files_of(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_bucket_has_every_file_and_statement_of_the_study_and_its_logs(finished, storage, monkeypatch):
    monkeypatch.chdir(finished)
    jobs = [job for job in steps.jobs(grid.load("study.yaml")) if job.verb != "report"]
    files = {name for job in jobs for name, _ in job.outputs}
    expected = files | {str(path_for(job.outputs[0][0])) for job in jobs}
    assert len(expected) > 40
    stored = {one.key for one in storage.bucket("noise").objects.all()}
    assert {name for name in stored if name.startswith("results/")} == expected
    assert "logs/small/train/mine/shades/cpu/control/1.log" in stored


def test_no_result_is_left_where_snakemake_ran(finished):
    assert not (finished / "results").exists()
    # Besides what it was given, Snakemake's own, and what Python compiled of the network, there are copies of logs.
    left = {name for name in files_of(finished) if not name.startswith((".snakemake/log/", ".snakemake/metadata/"))}
    left = {name for name in left if "__pycache__" not in name}
    logs = {name for name in left if name.startswith(".snakemake/storage/s3/noise/logs/")}
    links = {name for name in left - logs if (finished / name).is_symlink()}
    assert left - logs - links == {"study.yaml", "own_network.py", "shades.npz", "said.txt"}


def test_the_audit_is_clean_and_control_is_bit_equal(copied, toolnoise):
    folder = copied()
    done = toolnoise(folder, "audit", "results/small")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].startswith("clean")
    (check,) = (json.loads(path.read_text()) for path in folder.glob("results/small/control/**/*.json"))
    assert (check["bit_equal"], check["seeds"]) == (True, [1, 2])


def test_jobs_start_warm_as_without_storage(copied):
    statements = [json.loads(path.read_text()) for path in copied().rglob("*.intoto.json")]
    process = [one["predicate"]["runDetails"]["metadata"].get("toolnoise_process", "") for one in statements]
    assert sum(text == "warm" for text in process) > 10
    assert not [text for text in process if "failed" in text]


def test_results_name_no_folder_of_the_machine_that_made_them(finished, copied):
    folder = copied()
    (one,) = folder.glob("results/small/statements/study.json.intoto.json")
    made_of = json.loads(one.read_text())["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert [about["name"] for about in made_of if about["annotations"].get("kind") == "source"] == ["study.yaml"]
    texts = {path: path.read_bytes() for path in folder.glob("results/**/*") if path.is_file()}
    assert len(texts) > 40
    assert [path for path, text in texts.items() if str(finished).encode() in text] == []


def test_another_call_has_nothing_to_do_here_or_in_a_folder_that_knows_of_no_job(finished, snakemake_stored, tmp_path):
    for name in ("study.yaml", "own_network.py", "shades.npz"):
        shutil.copy2(finished / name, tmp_path)
    for place in (finished, tmp_path):
        done = snakemake_stored(place, "noise")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Nothing to be done" in done.stdout + done.stderr


def test_a_changed_object_is_a_finding(storage, copied, toolnoise):
    logits = storage.bucket("noise").Object(LOGITS)
    before = logits.get()["Body"].read()
    logits.put(Body=before[:-1] + bytes([before[-1] ^ 1]))
    try:
        done = toolnoise(copied(), "audit", "results/small")
    finally:
        logits.put(Body=before)
    assert done.returncode == 1
    assert f"digests-match: {LOGITS}" in done.stdout


def test_a_deleted_object_is_made_again_with_equal_bits(finished, storage, snakemake_stored, copied, toolnoise):
    weights = storage.bucket("noise").Object(WEIGHTS)
    before = weights.get()["Body"].read()
    weights.delete()
    done = snakemake_stored(finished, "noise")
    assert done.returncode == 0, done.stdout + done.stderr
    assert weights.get()["Body"].read() == before
    done = toolnoise(copied(), "audit", "results/small")
    assert done.returncode == 0, done.stdout


def test_the_keys_are_in_no_file_that_is_kept_or_leaves(finished, storage, copied, toolnoise):
    folder = copied()
    storage.copy("noise/logs", folder / "logs")
    exported = toolnoise(folder, "export", "results/small", "--out", "small.tar.gz")
    assert exported.returncode == 0, exported.stdout + exported.stderr
    with tarfile.open(folder / "small.tar.gz") as archive:
        archive.extractall(folder / "exported", filter="data")
    assert len(files_of(folder / "exported")) > 10
    paths = [path for place in (folder, finished) for path in place.rglob("*") if path.is_file()]
    assert len(paths) > 100
    keys = [text.encode() for key in storage.keys for text in (key, *key.split(":"))]
    assert [path for path in paths for key in keys if key in path.read_bytes()] == []


@pytest.mark.usefixtures("finished")
def test_jobs_on_machines_that_share_no_results_leave_equal_bits(folder, storage, snakemake_stored):
    place = folder("nodes")
    # The disk of a node: what Snakemake has fetched or made here is not to be seen there.
    (place / "node.sh").write_text(NODE)
    (place / ".snakemake/storage").mkdir(parents=True)
    submit = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", "bash node.sh", "--jobs", "1"]
    submit += ["--seconds-between-status-checks", "1"]
    disk = ["--remote-job-local-storage-prefix", f"{place.parent}/disks/$JOB"]
    done = snakemake_stored(place, "nodes", *submit, *disk, "--latency-wait", "10", WEIGHTS)
    said = "".join(path.read_text() for path in place.glob(".snakemake/tmp.*/*.out"))
    assert done.returncode == 0, done.stdout + done.stderr + said
    made = [storage.bucket(name).Object(WEIGHTS).get()["Body"].read() for name in ("noise", "nodes")]
    assert hashlib.sha256(made[0]).digest() == hashlib.sha256(made[1]).digest()
    # Neither has the machine that submitted the job the weights, nor are copies left on the node.
    assert [path for path in place.parent.rglob("*") if path.name.startswith("weights")] == []


@pytest.mark.parametrize(
    ("bucket", "change", "words"),
    [
        ("", {}, "command line: --default-storage-prefix: found ''; such as s3://my-bucket"),
        ("noise", {"SNAKEMAKE_STORAGE_S3_SECRET_KEY": "another"}, "(403) when calling the HeadObject operation"),
        ("noise", {"SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": "http://127.0.0.1:1"}, "Could not connect to the endpoint"),
    ],
)
def test_a_storage_that_cannot_be_used_is_one_line(bucket, change, words, folder, snakemake_stored, refusal):
    assert words in refusal(snakemake_stored(folder("refused"), bucket, "--dry-run", env=change))


def test_what_reads_the_results_of_this_machine_says_that_there_are_none(finished, snakemake_stored, refusal):
    line = refusal(snakemake_stored(finished, "noise", "audit"))
    assert line == "toolnoise: results/small: is in the storage; the verb itself, on a copy of it"
