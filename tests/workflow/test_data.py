"""Data from outside: planned without it, downloaded, verified, prepared, streamed and counted."""

import functools
import hashlib
import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import official_formats
import pytest

pytestmark = pytest.mark.long

BLOCK = {"models": ["smallcnn"], "recipe": "quick", "hardware": ["cpu"], "variants": ["algo"], "seeds": 1}
COUNTS = "results/pictures/metrics/data.csv"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A web server of this test's own that has a synthetic image folder as a tar; its address and the tar."""
    folder = tmp_path_factory.mktemp("served")
    official_formats.write("image-folder", 60, folder)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/pictures.tar", folder / "pictures.tar"
        running.shutdown()


@pytest.fixture
def written(server, write_study):
    """Write a study of pictures that are downloaded, kept larger than they are seen, and streamed."""

    def write(folder, **source):
        checksum = "sha256:" + hashlib.sha256(server[1].read_bytes()).hexdigest()
        source = {"path": "data/pictures.tar", "url": server[0], "checksum": checksum} | source
        entry = {"reader": "image-folder", "image_size": 24, "stored_size": 28, "streamed": True} | source
        study = {
            "study": "pictures",
            "grid": [BLOCK | {"datasets": ["pictures"]}],
            "datasets": {"pictures": entry},
            "recipes": {"quick": {"epochs": 1, "batch_size": 16, "learning_rate": 0.01, "crop": 1}},
        }
        return write_study(folder, study)

    return write


def test_a_study_runs_from_an_address_to_its_metrics(server, written, snakemake, planned, tmp_path):
    folder = written(tmp_path / "here")
    assert planned(folder, COUNTS) == dict.fromkeys(("fetch_data", "prepare_data", "count_data", "collect_metrics"), 1)
    done = snakemake(folder, "metrics")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "data/pictures.tar").read_bytes() == server[1].read_bytes()
    (source,) = json.loads((folder / "results/pictures/data/pictures.sources.json").read_text())["sources"]
    assert source["sha256"] == hashlib.sha256(server[1].read_bytes()).hexdigest()
    assert (source["url"], source["path"]) == (server[0], "data/pictures.tar")
    rows = (folder / COUNTS).read_text().splitlines()[1:]
    assert rows[:3] == ["dataset,split,group,label,count", "pictures,train,all,all,60", "pictures,train,all,0,15"]
    # The figure by class has no data: names of folders reach it as a metric file.
    labels = (folder / "results/pictures/metrics/labels.csv").read_text().splitlines()[1:]
    assert labels == ["dataset,label,name", *(f"pictures,{label},class_{label}" for label in range(4))]
    run = json.loads((folder / "results/pictures/runs/smallcnn/pictures/cpu/algo/1/run.json").read_text())
    assert run["spec"]["dataset"]["streamed"] is True
    # What was downloaded is needed no more, and may go.
    (folder / "data/pictures.tar").unlink()
    assert planned(folder, "metrics") == {}


def failed(folder, snakemake):
    done = snakemake(folder, COUNTS)
    assert done.returncode != 0
    said = (folder / "logs/pictures/fetch/pictures.log").read_text()
    assert "Traceback" not in said
    assert not list(folder.glob("results/pictures/data/*"))
    return next(line for line in said.splitlines() if line.startswith("toolnoise: "))


def test_another_checksum_is_one_line_and_leaves_nothing(server, written, snakemake, tmp_path):
    folder = written(tmp_path / "here", checksum="md5:" + "0" * 32)
    line = failed(folder, snakemake)
    assert line == f"toolnoise: {server[0]}: the downloaded file has another checksum; expected md5:{'0' * 32}"
    assert list((folder / "data").iterdir()) == []


def test_no_answer_is_one_line_with_where_to_get_and_where_to_put_the_file(server, written, snakemake, tmp_path):
    url = server[0].replace("pictures.tar", "absent.tar")
    line = failed(written(tmp_path / "here", url=url), snakemake)
    assert line.startswith("toolnoise: data/pictures.tar: no such file, and it cannot be downloaded (404 ")
    assert line.endswith(f"; get it from {url} and put it there")


def test_a_file_put_in_its_place_by_hand_is_used_and_kept(server, written, snakemake, tmp_path):
    folder = written(tmp_path / "here", url="http://127.0.0.1:9/nobody-listens")
    (folder / "data").mkdir()
    (folder / "data/pictures.tar").write_bytes(server[1].read_bytes())
    done = snakemake(folder, COUNTS)
    assert done.returncode == 0, done.stdout + done.stderr
    # Not even a study that is made anew from the start touches it.
    done = snakemake(folder, COUNTS, "--forceall")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "data/pictures.tar").read_bytes() == server[1].read_bytes()


@pytest.fixture
def jobs_for(write_study, jobs_of, tmp_path):
    """What the rules call, by the first words, in a study of one run on each of these data sets."""

    def words(names, **entries):
        study = {"study": "official", "grid": [BLOCK | {"datasets": names, "recipe": "digits"}], "datasets": entries}
        jobs = jobs_of(write_study(tmp_path / "here", study), "all")["jobs"]
        return [job["words"] for job in jobs]

    return words


def test_every_official_data_set_can_be_planned_with_none_of_it_in_place(jobs_for, toolnoise, refusal, tmp_path):
    words = jobs_for(["cifar10", "cifar100", "celeba", "imagenet"])
    verbs = [verb for verb, *_ in filter(None, words)]
    assert [verbs.count(verb) for verb in ("fetch", "prepare", "train")] == [4, 4, 4]
    # What only a person can get.
    (fetch,) = (one for one in words if one[:3] == ["fetch", "--dataset", "celeba"])
    line = refusal(toolnoise(tmp_path / "here", *fetch))
    assert line.startswith("toolnoise: data/celeba/")
    assert line.endswith(
        ": no such file; get it from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html and put it there"
    )


def test_an_absent_file_of_ones_own_is_one_line_before_anything_runs(write_study, snakemake, refusal, tmp_path):
    data = {"own": {"reader": "npz", "path": "own.npz"}}
    study = {"study": "own", "grid": [BLOCK | {"datasets": ["own"], "recipe": "digits"}], "datasets": data}
    folder = write_study(tmp_path / "here", study)
    line = refusal(snakemake(folder, "--dry-run"))
    assert line == f"toolnoise: {folder}/study.yaml: datasets.own: no such file: own.npz; a file or a folder of yours"


@pytest.mark.parametrize(
    ("form", "dataset", "under"),
    [("cifar-10", "cifar10", ""), ("cifar-100", "cifar100", ""), ("celeba", "celeba", "celeba")],
)
def test_a_file_that_is_not_the_official_one_is_refused_unless_told_otherwise(
    form, dataset, under, jobs_for, toolnoise, refusal, tmp_path
):
    official_formats.write(form, 200, tmp_path / "here/data" / under)
    (fetch,) = (words for words in jobs_for([dataset]) if words[:1] == ["fetch"])
    assert ": its md5 is " in refusal(toolnoise(tmp_path / "here", *fetch))
    if dataset != "celeba":
        for words in jobs_for([dataset], **{dataset: {"checksum": "none"}}):
            if words[:1] in (["fetch"], ["prepare"]):
                done = toolnoise(tmp_path / "here", *words)
                assert done.returncode == 0, done.stderr
