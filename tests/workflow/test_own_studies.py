"""Studies with a model, data, an environment or an address of one's own, within another workflow, and at the edge."""

import csv
import functools
import hashlib
import itertools
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import official_formats
import pandas as pd
import pytest
import yaml
from scipy.spatial.distance import jensenshannon
from scipy.special import logsumexp

from toolnoise.base import metric_files, program
from toolnoise.base.program import ROOT
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.identical.metric import CONVERGENCE, IDENTICAL
from toolnoise.papers.language.measure import LANGUAGE
from toolnoise.provenance import statements

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples/own-model"
# Of metric files only those of identical runs have what the clock says.
TIMES = ("training", "convergent", "per_epoch", "first_epoch")
NUMBERS = ("convergent_epoch", "_diff_epoch")  # of epochs to convergence


@pytest.fixture(scope="module")
def finished(snakemake, write_study):
    """Run a study in a folder to its page; returns the folder of its results."""

    def run(folder, study, **options):
        write_study(folder, study)
        done = snakemake(folder, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return folder / f"results/{study['study']}"

    return run


@pytest.mark.parametrize("name", ["my_model.py", "my-study.yaml"])
def test_the_docs_show_the_files_of_the_example(name):
    assert f"\n{(EXAMPLE / name).read_text()}```\n" in (ROOT / "docs/own-study.md").read_text()


@pytest.fixture(scope="module")
def example(finished, run):
    """Run the example in a folder as the docs have it, but for fewer runs and figures."""

    def start(folder, **options):
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
        made = run(folder, sys.executable, "make_data.py")
        assert made.returncode == 0, made.stderr
        study = yaml.safe_load((EXAMPLE / "my-study.yaml").read_text())
        study["grid"][0] |= {"variants": ["dropout"], "seeds": 2}
        finished(folder, study | {"figures": ["table2", "noise_by_source"]}, **options)
        return folder

    return start


@pytest.fixture(scope="module")
def first(tmp_path_factory, example):
    return example(tmp_path_factory.mktemp("first"))


@pytest.fixture
def copy(first, tmp_path):
    return shutil.copytree(first, tmp_path / "copy")


def test_a_users_own_model_and_data_run_to_metrics_and_page(first):
    rows = metric_files.read_metrics(first / "results/mine/metrics/stability.csv", STABILITY)
    assert set(zip(rows["model"], rows["dataset"], strict=True)) == {("my-model", "my-data")}
    overall = rows[rows["group"] == "all"].set_index(["metric", "variant"])["value"]
    assert overall["accuracy_mean"].min() > 0.8
    assert overall["l2_raw", "dropout"] > 0
    assert (first / "results/mine/index.html").exists()


def test_a_change_to_a_users_own_model_or_to_one_bit_of_the_data_plans_its_runs_again(copy, planned):
    model, data = copy / "my_model.py", copy / "my-data.npz"
    text = model.read_text()
    model.write_text(text.replace("0.2", "0.5"))
    jobs = planned(copy)
    assert (jobs["check_model"], jobs["train_run"]) == (1, 2)
    model.write_text(text)
    with np.load(data) as raw:
        arrays = dict(raw)
    arrays["train_images"][5, 3, 2, 0] ^= 1
    np.savez(data, **arrays)
    jobs = planned(copy)
    assert (jobs["prepare_data"], jobs["train_run"]) == (1, 2)


def test_a_check_that_has_gone_or_a_further_variant_is_no_reason_to_train_again(copy, change_study, planned):
    check = copy / "results/mine/models/my-model/my-data/cpu.json"
    found = json.loads(check.read_text())
    assert (found["input_shape"], found["classes"]) == ([8, 8, 1], 10)
    assert found["tensors"]["logits/kernel"][1] == 10
    check.rename(copy / "kept.json")
    assert planned(copy) == {}
    (copy / "kept.json").rename(check)
    change_study(copy, lambda study: study["grid"][0]["variants"].insert(0, "algo"))
    jobs = planned(copy)
    assert jobs["train_run"] == 2
    assert "check_model" not in jobs


def without_times(folder, name):
    """A file of results as it is, but for what the clock says."""
    if name.endswith("history.csv"):
        return [row | {"seconds": None} for row in csv.DictReader((folder / name).read_text().splitlines())]
    if name.endswith(".json"):
        record = json.loads((folder / name).read_text())
        record.pop("seconds", None)
        return record
    for kind, columns in (("identical", IDENTICAL), ("convergence", CONVERGENCE)):
        if f"/metrics/{kind}" in name:
            timed = [one for one in columns if any(part in one for part in TIMES) and not one.endswith(NUMBERS)]
            return metric_files.read_metrics(folder / name, columns).drop(columns=timed).to_csv()
    return (folder / name).read_bytes()


def test_a_second_run_in_another_folder_gives_the_same_bytes_but_for_times(first, example, tmp_path):
    # Another number of jobs at once and other surroundings.
    second = example(tmp_path / "deeper", cores=3, env={"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "3"})
    # Statements have the digests of records, and so of their times, and so has the page.
    names = [
        {path.relative_to(folder).as_posix() for path in (folder / "results").rglob("*") if path.is_file()}
        for folder in (first, second)
    ]
    assert names[0] == names[1]
    compared = [name for name in names[0] if not re.search("/statements/|/page/|/index.html$", name)]
    assert {Path(name).suffix for name in compared} > {".npz", ".npy", ".csv", ".json", ".svg", ".pdf", ".md", ".ipynb"}
    assert [name for name in compared if without_times(first, name) != without_times(second, name)] == []


def test_a_model_without_logits_is_refused_before_its_first_run(copy, change_study, snakemake):
    model = (copy / "my_model.py").read_text()
    (copy / "soft.py").write_text(model.replace('name="logits"', 'name="logits", activation="softmax"'))

    def add(study):
        study["models"]["soft"] = {"builder": "soft:build"}
        study["grid"][0]["models"].append("soft")

    change_study(copy, add)
    shutil.rmtree(copy / "results")
    line = "toolnoise: model soft: builder: soft:build ends in a softmax"
    dry = snakemake(copy, "--logger", "toolnoise", "-n")
    assert (dry.returncode, dry.stderr.splitlines()[-1].startswith(line)) == (2, True)
    done = snakemake(copy, "--logger", "toolnoise")
    assert done.returncode != 0
    assert line in done.stdout + done.stderr
    assert not (copy / "results/mine/runs/soft").exists()


# A tooling with an environment of its own, from its runs to the comparison of toolings, the audit and a rebuild


ENVIRONMENT = "tensorflow-2.16"
ELSEWHERE = "smallcnn/digits/elsewhere/control"
APART = {
    "study": "apart",
    "grid": [
        {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "hardware": ["cpu", "elsewhere"]}
        | {"variants": ["control"], "seeds": 2}
    ],
    "hardware": {"elsewhere": {"accelerator": "cpu", "environment": ENVIRONMENT}},
    "recipes": {"short": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
    "figures": [],
}
# What `make` installs last; it leaves a line for each job that it performs.
SCRIPT = """#!{python}
import sys
from pathlib import Path
with Path("performed").open("a") as file:
    print(sys.argv[1], sys.prefix, file=file)
from toolnoise.warm.client import main
main()
"""


def borrowed(folder):
    """An environment with the packages of this one, which no network is needed for; its lock file is another one's."""
    place = folder / ".environments" / ENVIRONMENT
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    packages = place / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    paths = [str(ROOT / "workflow"), *(path for path in sys.path if path.endswith("-packages"))]
    (packages / "borrowed.pth").write_text("\n".join(paths) + "\n")
    (place / "bin" / "toolnoise").write_text(SCRIPT.format(python=place / "bin" / "python"))
    (place / "bin" / "toolnoise").chmod(0o755)
    return place


@pytest.fixture(scope="module")
def apart(tmp_path_factory, finished):
    """A finished study with a tooling of an environment, with that environment."""
    folder = tmp_path_factory.mktemp("apart")
    borrowed(folder)
    finished(folder, APART)
    return folder


def test_equal_packages_give_equal_bits_in_two_environments_and_statements_name_them(apart):
    runs, run = apart / "results/apart/runs/smallcnn/digits", "{}/control/2/weights.npz"
    weights = [(runs / run.format(name)).read_bytes() for name in ("cpu", "elsewhere")]
    assert weights[0] == weights[1]
    rows = (apart / "results/apart/metrics/cross_tooling.csv").read_text()
    assert "smallcnn,digits,cpu,elsewhere,control,churn,all,0.0," in rows
    stated = apart / "results/apart/statements/runs/smallcnn/digits"
    here, found = (
        statements.read_statement(stated / f"{run.format(name)}.intoto.json") for name in ("cpu", "elsewhere")
    )
    assert found.parameters["spec"]["hardware"]["environment"] == ENVIRONMENT
    assert found.process == "cold: its tooling has no template, or its command line is too long"
    assert "environment" not in here.parameters["spec"]["hardware"]


def test_the_audit_finds_that_the_packages_are_not_those_of_the_environments_lock(apart, toolnoise):
    found = json.loads(toolnoise(apart, "audit", "results/apart", "--json").stdout)
    wrong = [one for one in found["findings"] if one["rule"] == "record"]
    runs = [f"results/apart/runs/{ELSEWHERE}/{seed}/weights.npz" for seed in (1, 2)]
    assert {one["artifact"] for one in wrong} == {*runs, f"results/apart/predictions/{ELSEWHERE}.npy"}
    assert all(f"declared: {ENVIRONMENT}" in str(one) for one in wrong)


def test_a_run_is_rebuilt_in_its_environment(apart, toolnoise):
    done = toolnoise(apart, "rebuild", f"results/apart/runs/{ELSEWHERE}/1/weights.npz")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bit-equal" in done.stdout


# Data from outside: planned without it, downloaded, verified, prepared, streamed and counted


BLOCK = {"models": ["smallcnn"], "recipe": "quick", "hardware": ["cpu"], "variants": ["algo"], "seeds": 1}
COUNTS = "results/pictures/metrics/data.csv"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A web server of this test's own that has a synthetic image folder as a tar; its address and the tar."""
    folder = tmp_path_factory.mktemp("served")
    official_formats.write_image_folder(folder, 60)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/pictures.tar", folder / "pictures.tar"
        running.shutdown()


def test_a_study_runs_from_an_address_to_its_metrics(server, write_study, snakemake, planned, tmp_path):
    """Of pictures that are downloaded, kept larger than they are seen, and streamed."""
    checksum = "sha256:" + hashlib.sha256(server[1].read_bytes()).hexdigest()
    entry = {"reader": "image-folder", "image_size": 24, "stored_size": 28, "streamed": True}
    entry |= {"path": "data/pictures.tar", "url": server[0], "checksum": checksum}
    study = {
        "study": "pictures",
        "grid": [BLOCK | {"datasets": ["pictures"]}],
        "datasets": {"pictures": entry},
        "recipes": {"quick": {"epochs": 1, "batch_size": 16, "learning_rate": 0.01, "crop": 1}},
    }
    folder = write_study(tmp_path / "here", study)
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


def test_an_absent_file_of_ones_own_is_one_line_before_anything_runs(write_study, snakemake, refusal, tmp_path):
    data = {"own": {"reader": "npz", "path": "own.npz"}}
    study = {"study": "own", "grid": [BLOCK | {"datasets": ["own"], "recipe": "digits"}], "datasets": data}
    folder = write_study(tmp_path / "here", study)
    line = refusal(snakemake(folder, "--dry-run"))
    assert line == f"toolnoise: {folder}/study.yaml: datasets.own: no such file: own.npz; a file or a folder of yours"


# Studies at the edge: runs that diverge, a folder whose name has braces, and a machine without a device


def edge_study(seeds, variants, hardware=("cpu",), **recipe):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "here", "hardware": list(hardware)}
    return {
        "study": "edge",
        "grid": [block | {"variants": variants, "seeds": seeds}],
        "recipes": {"here": {"epochs": 2, "batch_size": 128, "learning_rate": 0.01} | recipe},
    }


def test_a_study_whose_runs_diverge_counts_them_and_renders_its_figures(finished, toolnoise, tmp_path):
    diverging = edge_study(2, ["algo", "control"], optimizer="sgd", learning_rate=1e9)
    # Those that show runs.
    shown = ["table2", "identical_runs", "noise_by_source", "per_class"]
    results = finished(tmp_path, diverging | {"figures": shown})
    rows = metric_files.read_metrics(results / "metrics/stability.csv", STABILITY)
    assert (set(rows["n_runs"]), set(rows["n_missing"])) == ({0}, {2})
    # What is expected from sizes alone needs no run.
    measured = ~rows["metric"].str.contains("null|n_draws")
    assert rows[measured]["value"].isna().all()
    runs = metric_files.read_metrics(results / "metrics/identical.csv", IDENTICAL)
    assert (set(runs["no_try"]), set(runs["n_missing"])) == ({0}, {2})
    for name in ("table2.md", "identical_runs.md", "noise_by_source-cpu.svg", "per_class-cpu-smallcnn-digits.svg"):
        assert (results / "figures" / name).stat().st_size > 0
    summary = toolnoise(tmp_path, "summary", "--study", "results/edge/study.json", "--json")
    assert [cell["diverged"] for cell in json.loads(summary.stdout)["cells"]].count(2) == 2, summary.stdout


def test_a_study_runs_through_in_a_clone_whose_path_has_braces(checkout, finished, tmp_path):
    # Snakemake and papermill put values in place of braces.
    clone = shutil.copytree(checkout, tmp_path / "a{b}c", symlinks=True)
    linear = edge_study(1, ["control"]) | {"figures": ["table2", "noise_by_source"]}
    linear["grid"][0]["models"] = ["linear"]
    assert (finished(clone, linear, source=clone) / "figures/table2.md").stat().st_size > 0


def test_measuring_by_hand_prepares_the_data_and_times_what_this_machine_serves(write_study, toolnoise, tmp_path):
    folder = write_study(tmp_path, edge_study(2, ["control"], hardware=["cpu", "tpu-v2-8"], epochs=50))
    done = toolnoise(folder, "estimate", "--study", "study.yaml", "--measure")
    assert done.returncode == 0, done.stderr
    assert "measure_speed" in done.stderr
    assert "not timed: smallcnn/digits/tpu-v2-8/control: device: no TPU is visible on this machine" in done.stderr
    assert "tpu-v2-8: 2 runs left, TPU-hours and cost unknown" in done.stdout
    assert "steps timed: " in done.stdout


# The workflow as a module of another one, which gives it its configuration


PART = edge_study(2, ["control"], epochs=1) | {"study": "part", "figures": ["noise_by_source"]}
# Its wildcards have the names of the module's and other values.
WHOLE = f"""
configfile: "config.yaml"


module noise:
    snakefile:
        {str(program.path_of("workflow/Snakefile"))!r}
    config:
        config["noise"]


use rule * from noise as noise_*


rule count:
    input:
        rules.noise_metrics.input,
    output:
        "counts/{{seed}}-{{study}}.txt",
    shell:
        "cat {{input}} | wc -l >{{output}}"


rule whole:
    default_target: True
    input:
        "counts/abc-9.txt",
        rules.noise_page.input,
"""


@pytest.fixture
def whole(run, tmp_path):
    """Run Snakemake on another workflow with these studies in its configuration."""

    def start(config, *arguments):
        (tmp_path / "Snakefile").write_text(WHOLE)
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
        return run(tmp_path, sys.executable, "-m", "snakemake", "--cores", 2, *arguments)

    return start


def test_a_module_has_the_configuration_that_it_is_given_and_a_mistake_in_it_is_one_line(whole, refusal, tmp_path):
    line = refusal(whole({"noise": PART | {"seeds": 3}}, "--dry-run"))
    assert "config.yaml" in line
    assert "unknown key 'seeds'" in line
    config = {"noise": PART, "other": {"study": 7}}
    done = whole(config, "--dry-run", "--config", "study=not-this")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "noise_train_run" in said
    # A dry run writes nothing.
    assert not (tmp_path / "results").exists()
    done = whole(config, "results/part/study.json", "--config", "study=not-this")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "results/part/study.json").read_text())["study"] == "part"


def test_a_module_runs_to_its_page_and_to_a_report_and_is_a_study_like_any_other(whole, toolnoise, run, tmp_path):
    done = whole({"noise": PART})
    assert done.returncode == 0, done.stdout + done.stderr
    assert int((tmp_path / "counts/abc-9.txt").read_text()) > 10
    assert (tmp_path / "results/part/index.html").exists()
    again = whole({"noise": PART}, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
    command = [sys.executable, "-m", "snakemake", "--snakefile", program.path_of_snakefile(), "--dry-run"]
    alone = run(tmp_path, *command, "--configfile", "results/part/study.json")
    assert "Nothing to be done" in alone.stdout + alone.stderr
    audited = toolnoise(tmp_path, "audit", "--strict")
    assert audited.returncode == 0, audited.stdout
    reported = whole({"noise": PART}, "--report", "mine.html")
    assert reported.returncode == 0, reported.stdout + reported.stderr
    report = (tmp_path / "mine.html").read_text()
    assert "in study <em>part</em>: SD of test accuracy" in report
    assert "<p>How much of a trained network is noise" in report


def test_the_catalogue_finds_what_it_asks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert (ROOT / "workflow/Snakefile").exists()
    assert (ROOT / "config/README.md").exists()
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme
    assert "workflow" in readme


# Networks that answer more than one question an example: text, masks, and CelebA as it was published, from files to the
# page. What is stored and measured is computed again here, in float64, from the dumps alone


NETWORKS = """
import keras
from keras import layers
from toolnoise.models.dropout import Dropout


def text(shape, classes):
    tokens = keras.Input(shape, dtype="int32", name="tokens")
    values = layers.Embedding(classes, 8, name="embedding")(tokens)
    values = layers.Conv1D(16, 3, padding="causal", activation="relu", name="conv")(values)
    values = Dropout(0.1, name="dropout")(values)
    return keras.Model(tokens, layers.Dense(classes, name="logits")(values))


def mask(shape, classes):
    images = keras.Input(shape, name="images")
    values = layers.Conv2D(8, 3, padding="same", activation="relu", name="conv")(images)
    return keras.Model(images, layers.Conv2D(classes, 1, name="logits")(values))

"""
TASKS = {"text": "chain", "mask": "masks"}
VARIANTS, TOOLINGS = ("algo_impl", "control"), ("cpu", "cpu-jax")
STUDY = {
    "study": "outcomes",
    "models": {name: {"builder": f"networks:{name}"} for name in TASKS},
    "datasets": {
        "chain": {"reader": "npz", "path": "chain.npz", "outcome": "tokens"},
        "masks": {"reader": "npz", "path": "masks.npz", "outcome": "masks"},
    },
    "recipes": {"short": {"epochs": 2, "batch_size": 40, "learning_rate": 0.01, "schedule": "constant"}},
    "grid": [
        {"models": [model], "datasets": [dataset], "hardware": list(TOOLINGS), "variants": list(VARIANTS), "seeds": 3}
        | {"recipe": "short"}
        for model, dataset in TASKS.items()
    ],
    "figures": ["noise_by_source", "language", "table_language", "table5"],
}
LENGTH = 16
# CelebA, small: 40 attributes from files in its own format.
FILES = {"images": "img_align_celeba.zip", "attributes": "list_attr_celeba.txt", "partition": "list_eval_partition.txt"}
STUDY["datasets"]["celeba"] = {
    "files": {role: {"path": f"celeba/{name}", "checksum": "none"} for role, name in FILES.items()},
    "image_size": 8,
}
STUDY["grid"].append(STUDY["grid"][-1] | {"models": ["smallcnn"], "datasets": ["celeba"], "hardware": ["cpu"]})


def write_data(folder):
    """A chain of signs, and pictures whose pixels are bright or not."""
    draw = np.random.default_rng(0)
    following = draw.dirichlet(np.full(12, 0.3), size=12).cumsum(axis=1)

    def chain(segments):
        signs = [0]
        for share in draw.random(segments * LENGTH):
            signs.append(int(np.searchsorted(following[signs[-1]], share).clip(0, 11)))
        return np.array(signs[:-1]).reshape(-1, LENGTH).astype(np.uint16), np.array(signs[1:]).reshape(-1, LENGTH)

    def drawn(count):
        images = draw.integers(0, 256, (count, 8, 8, 1)).astype(np.uint8)
        return images, (images[..., 0].astype(int) + np.roll(images[..., 0], 1, 1) > 256).astype(int)

    for name, make, classes in (("chain", chain, list("abcdefghijkl")), ("masks", drawn, ["dark", "bright"])):
        (seen, asked), (test, answers) = make(200), make(60)
        arrays = {"train_images": seen, "train_labels": asked, "test_images": test, "test_labels": answers}
        np.savez(folder / f"{name}.npz", **arrays, classes=classes)


@pytest.fixture(scope="module")
def study(tmp_path_factory, write_study, snakemake):
    folder = tmp_path_factory.mktemp("outcomes")
    (folder / "networks.py").write_text(NETWORKS)
    write_data(folder)
    (folder / "celeba").mkdir()
    official_formats.write_celeba(folder / "celeba", 200)
    write_study(folder, STUDY)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results/outcomes"


CELLS = [(model, tooling) for model in TASKS for tooling in TOOLINGS]


def stacked(study, model, tooling, variant):
    """Logits of a cell in float64, and the label of each unit."""
    path = study / f"predictions/{model}/{TASKS[model]}/{tooling}/{variant}.npy"
    with np.load(study.parents[1] / f"{TASKS[model]}.npz") as arrays:
        labels = arrays["test_labels"].reshape(-1)
    return np.load(path).astype(np.float64), labels


def values(study, file, columns, model, tooling, variant):
    rows = metric_files.read_metrics([study / f"metrics/{file}.csv"], columns)
    chosen = (rows["model"] == model) & (rows["hardware"] == tooling) & (rows["variant"] == variant)
    return rows[chosen]


@pytest.mark.parametrize(("model", "tooling"), CELLS)
def test_measures_follow_from_dumps_of_every_unit_and_runs_with_everything_fixed_have_no_noise(study, model, tooling):
    logits, labels = stacked(study, model, tooling, "algo_impl")
    assert logits.shape == (3, len(labels), {"text": 12, "mask": 2}[model])
    losses = logsumexp(logits, axis=2) - np.take_along_axis(logits, labels[None, :, None], axis=2)[..., 0]
    predicted = logits.argmax(axis=2)
    pairs = list(itertools.combinations(range(3), 2))
    expected = {
        "accuracy_mean": (predicted == labels).mean(),
        "accuracy_sd": (predicted == labels).mean(axis=1).std(ddof=1),
        "cross_entropy_mean": losses.mean(),
        "cross_entropy_sd": losses.mean(axis=1).std(ddof=1),
        "churn": np.mean([(predicted[a] != predicted[b]).mean() for a, b in pairs]),
        "correlation_pearson": np.mean([np.corrcoef(logits[a].ravel(), logits[b].ravel())[0, 1] for a, b in pairs]),
    }
    found = values(study, "stability", STABILITY, model, tooling, "algo_impl")
    of_all = found[found["group"] == "all"].set_index("metric")["value"]
    np.testing.assert_allclose(of_all[list(expected)], list(expected.values()), rtol=1e-12)
    # What training recorded of its last epoch is what the dump has.
    for run, loss in zip((1, 2, 3), losses.mean(axis=1), strict=True):
        history = (study / f"runs/{model}/{TASKS[model]}/{tooling}/algo_impl/{run}/history.csv").read_text()
        columns, *_, last = (line.split(",") for line in history.splitlines())
        np.testing.assert_allclose(float(dict(zip(columns, last, strict=False))["test_loss"]), loss, rtol=1e-12)
    fixed, _ = stacked(study, model, tooling, "control")
    assert len(fixed) == 2
    assert fixed[0].tobytes() == fixed[1].tobytes()
    found = values(study, "stability", STABILITY, model, tooling, "control").set_index(["metric", "group"])["value"]
    for metric in ("churn", "accuracy_sd", "cross_entropy_sd", "l2_raw", "churn_new_examples"):
        assert found[metric, "all"] == 0, metric


def test_every_attribute_of_celeba_has_its_rates_and_a_row_for_each_sub_group(study):
    folder = study.parents[1] / "celeba"
    _, names, *rows = (folder / FILES["attributes"]).read_text().splitlines()
    part_of = dict(line.split() for line in (folder / FILES["partition"]).read_text().splitlines())
    chosen = [fields[1:] for fields in map(str.split, rows) if part_of[fields[0]] == "2"]
    people = dict(zip(names.split(), np.array(chosen).T, strict=True))
    logits = np.load(study / "predictions/smallcnn/celeba/cpu/algo_impl.npy").astype(np.float64)
    assert (len(people), logits.shape) == (40, (3, 40 * 40, 2))
    found = values(study, "stability", STABILITY, "smallcnn", "cpu", "algo_impl")
    found = found.set_index(["metric", "group"])["value"]
    # Of each run, person and label.
    says = (logits[..., 1] > logits[..., 0]).reshape(3, 40, 40)
    right = (says == np.stack([answers == "1" for answers in people.values()], axis=1)).mean(axis=1).T
    for rates, label in zip(right, people, strict=True):
        np.testing.assert_allclose(found["accuracy_mean", f"{label}:all"], rates.mean(), rtol=1e-12)
        np.testing.assert_allclose(found["accuracy_sd", f"{label}:all"], rates.std(ddof=1), atol=1e-12)
    np.testing.assert_allclose(found["accuracy_mean", "all"], right.mean(), rtol=1e-12)
    # Table 5 has the label of the paper and all labels side by side.
    table = pd.read_csv(study / "figures/table5.csv", comment="#")
    table = table[(table["group"] == "Old") & (table["rate"] == "accuracy") & (table["variant"] == "algo_impl")]
    for place, name in (("celeba: Blond_Hair", "Blond_Hair:Old"), ("celeba: all labels", "Old")):
        (points,) = table[table["dataset"] == place]["sd_points"]
        np.testing.assert_allclose(points, 100 * found["accuracy_sd", name], rtol=1e-5)


@pytest.mark.parametrize("tooling", TOOLINGS)
def test_language_models_are_measured_as_such(study, tooling):
    logits, labels = stacked(study, "text", tooling, "algo_impl")
    losses = logsumexp(logits, axis=2) - np.take_along_axis(logits, labels[None, :, None], axis=2)[..., 0]
    perplexities = np.exp(losses.mean(axis=1))
    shares = np.exp(logits - logsumexp(logits, axis=2, keepdims=True))
    texts = np.load(study / f"continuations/text/chain/{tooling}/algo_impl.npy")
    assert texts.shape == (3, 60, LENGTH // 2)
    answers = logits.argmax(axis=2).reshape(3, -1, LENGTH)

    pairs = list(itertools.combinations(range(3), 2))
    expected = {
        "perplexity_mean": perplexities.mean(),
        "perplexity_sd": perplexities.std(ddof=1),
        "divergence": np.mean([jensenshannon(shares[a], shares[b], base=2, axis=1) ** 2 for a, b in pairs]),
        "segment_churn": np.mean([(answers[a] != answers[b]).any(axis=1).mean() for a, b in pairs]),
        "continuation_churn": np.mean([(texts[a] != texts[b]).any(axis=1).mean() for a, b in pairs]),
        "continuation_left": np.mean([np.maximum.accumulate(texts[a] != texts[b], axis=1).mean() for a, b in pairs]),
    }
    found = values(study, "language", LANGUAGE, "text", tooling, "algo_impl").set_index("metric")["value"]
    np.testing.assert_allclose(found[list(expected)], list(expected.values()), rtol=1e-10)
    # A continuation of each test segment begins with the answer at the end of its first half.
    np.testing.assert_array_equal(texts[..., 0], answers[..., LENGTH // 2 - 1])
    control = values(study, "language", LANGUAGE, "text", tooling, "control").set_index("metric")["value"]
    assert (control[[name for name in expected if name != "perplexity_mean"]] == 0).all()


def test_an_audit_finds_nothing_but_code_that_is_not_committed(study, toolnoise):
    done = toolnoise(study.parents[1], "audit", "results/outcomes", "--json")
    found = json.loads(done.stdout)
    assert {finding["rule"] for finding in found["findings"]} <= {"commit"}, done.stdout[-2000:]
