"""Studies with a model, data, an environment or an address of one's own, within another workflow, and at the edge."""

import csv
import functools
import hashlib
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
import pytest
import yaml

from toolnoise.base import metric_files, program
from toolnoise.base.program import ROOT
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.identical.measure import CONVERGENCE, IDENTICAL
from toolnoise.provenance import statements

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples/own-model"
# Of metric files only those of identical runs have what the clock says.
TIMES = ("training", "convergent", "per_epoch", "first_epoch")
NUMBERS = ("convergent_epoch", "_diff_epoch")  # of epochs to convergence


@pytest.mark.parametrize("name", ["my_model.py", "my-study.yaml"])
def test_the_docs_show_the_files_of_the_example(name):
    assert f"\n{(EXAMPLE / name).read_text()}```\n" in (ROOT / "docs/own-study.md").read_text()


def start(folder, run, write_study):
    """The example as the docs have it, but for fewer runs and figures."""
    study = yaml.safe_load((EXAMPLE / "my-study.yaml").read_text())
    study["grid"][0] |= {"variants": ["dropout"], "seeds": 2}
    write_study(folder, study | {"figures": ["table2", "noise_by_source"]})
    for name in ("my_model.py", "make_data.py"):
        shutil.copyfile(EXAMPLE / name, folder / name)
    made = run(folder, sys.executable, "make_data.py")
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def first(tmp_path_factory, run, write_study, snakemake):
    folder = start(tmp_path_factory.mktemp("first"), run, write_study)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def second(tmp_path_factory, run, write_study, snakemake):
    # Another number of jobs at once and other surroundings.
    folder = start(tmp_path_factory.mktemp("second") / "deeper", run, write_study)
    done = snakemake(folder, cores=3, env={"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "3"})
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_users_own_model_and_data_run_to_metrics_and_page(first):
    rows = metric_files.read(first / "results/mine/metrics/stability.csv", STABILITY)
    assert set(zip(rows["model"], rows["dataset"], strict=True)) == {("my-model", "my-data")}
    overall = rows[rows["group"] == "all"].set_index(["metric", "variant"])["value"]
    assert overall["accuracy_mean"].min() > 0.8
    assert overall["l2_raw", "dropout"] > 0
    assert (first / "results/mine/index.html").exists()


@pytest.fixture
def copy(first, tmp_path):
    return shutil.copytree(first, tmp_path / "copy")


def test_a_change_to_a_users_own_model_plans_its_check_and_its_runs_again(copy, planned):
    path = copy / "my_model.py"
    path.write_text(path.read_text().replace("0.2", "0.5"))
    jobs = planned(copy)
    assert (jobs["check_model"], jobs["train_run"]) == (1, 2)


def test_one_changed_bit_of_a_users_own_data_plans_everything_again(copy, planned):
    with np.load(copy / "my-data.npz") as raw:
        arrays = dict(raw)
    arrays["train_images"][5, 3, 2, 0] ^= 1
    np.savez(copy / "my-data.npz", **arrays)
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
            return metric_files.read(folder / name, columns).drop(columns=timed).to_csv()
    return (folder / name).read_bytes()


def test_a_second_run_in_another_folder_gives_the_same_bytes_but_for_times(first, second):
    # Statements have the digests of records, and so of their times, and so has the page.
    names = [
        {path.relative_to(folder).as_posix() for path in (folder / "results").rglob("*") if path.is_file()}
        for folder in (first, second)
    ]
    assert names[0] == names[1]
    compared = [name for name in names[0] if not re.search("/statements/|/page/|/index.html$", name)]
    assert {Path(name).suffix for name in compared} > {".npz", ".npy", ".csv", ".json", ".svg", ".pdf", ".md", ".ipynb"}
    assert [name for name in compared if without_times(first, name) != without_times(second, name)] == []


@pytest.mark.parametrize("dry", [True, False])
def test_a_model_without_logits_is_refused_before_its_first_run(dry, copy, change_study, snakemake):
    model = (copy / "my_model.py").read_text()
    (copy / "soft.py").write_text(model.replace('name="logits"', 'name="logits", activation="softmax"'))

    def add(study):
        study["models"]["soft"] = {"builder": "soft:build"}
        study["grid"][0]["models"].append("soft")

    change_study(copy, add)
    shutil.rmtree(copy / "results")
    done = snakemake(copy, "--logger", "toolnoise", *(["-n"] if dry else []))
    line = "toolnoise: model soft: builder: soft:build ends in a softmax"
    assert line in done.stdout + done.stderr
    assert done.returncode == 2 if dry else done.returncode != 0
    if dry:
        assert done.stderr.splitlines()[-1].startswith(line)
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
def apart(tmp_path_factory, write_study, snakemake):
    """A finished study with a tooling of an environment, and that environment."""
    folder = write_study(tmp_path_factory.mktemp("apart"), APART)
    place = borrowed(folder)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, place


def test_a_statement_has_the_environment_and_says_why_the_job_started_cold(apart):
    folder, _ = apart
    run = folder / "results/apart/statements/runs/smallcnn/digits"
    found, other = (statements.read(run / f"{name}/control/2/weights.npz.intoto.json") for name in ("elsewhere", "cpu"))
    assert found.parameters["spec"]["hardware"]["environment"] == ENVIRONMENT
    assert found.process == "cold: its tooling has no template, or its command line is too long"
    assert "environment" not in other.parameters["spec"]["hardware"]


def test_equal_packages_give_equal_bits_in_two_environments(apart):
    folder, _ = apart
    runs = folder / "results/apart/runs/smallcnn/digits"
    weights = [(runs / f"{name}/control/1/weights.npz").read_bytes() for name in ("cpu", "elsewhere")]
    assert weights[0] == weights[1]
    rows = (folder / "results/apart/metrics/cross_tooling.csv").read_text()
    assert "smallcnn,digits,cpu,elsewhere,control,churn,all,0.0," in rows


def test_the_audit_finds_that_the_packages_are_not_those_of_the_environments_lock(apart, toolnoise):
    folder, _ = apart
    found = json.loads(toolnoise(folder, "audit", "results/apart", "--json").stdout)
    wrong = [one for one in found["findings"] if one["rule"] == "record"]
    runs = [f"results/apart/runs/{ELSEWHERE}/{seed}/weights.npz" for seed in (1, 2)]
    predicted = f"results/apart/predictions/{ELSEWHERE}.npy"
    assert {one["artifact"] for one in wrong} == {*runs, predicted}
    assert all(f"declared: {ENVIRONMENT}" in str(one) for one in wrong)


def test_a_run_is_rebuilt_in_its_environment(apart, toolnoise):
    folder, _ = apart
    done = toolnoise(folder, "rebuild", f"results/apart/runs/{ELSEWHERE}/1/weights.npz")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bit-equal" in done.stdout


# Data from outside: planned without it, downloaded, verified, prepared, streamed and counted


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


# Studies at the edge: one run of everything, runs that diverge, and a folder whose name has braces


def edge_study(seeds, variants, **recipe):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "here", "hardware": ["cpu"]}
    return {
        "study": "edge",
        "grid": [block | {"variants": variants, "seeds": seeds}],
        "recipes": {"here": {"epochs": 2, "batch_size": 128, "learning_rate": 0.01} | recipe},
    }


@pytest.fixture(scope="module")
def one_run(write_study, snakemake, tmp_path_factory):
    folder = write_study(
        tmp_path_factory.mktemp("one"),
        edge_study([4], ["algo", "control"]) | {"figures": ["table2", "noise_by_source"]},
    )
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results/edge"


def test_one_run_has_an_accuracy_but_no_spread_and_no_verdict_of_the_gate(one_run):
    text = (one_run / "figures/table2.md").read_text()
    assert "one run" in text
    assert "±" not in text.partition("\n\n")[0]
    rows = metric_files.read(one_run / "metrics/stability.csv", STABILITY)
    rows = rows[rows["group"] == "all"].set_index("metric")["value"]
    assert rows["accuracy_mean"].notna().all()
    assert rows[["accuracy_sd", "churn", "l2_unit"]].isna().all()
    assert '"bit_equal": null' in (one_run / "control/smallcnn/digits/cpu.json").read_text()


def test_a_study_whose_runs_diverge_counts_them_and_renders_its_figures(write_study, snakemake, toolnoise, tmp_path):
    diverging = edge_study(2, ["algo", "control"], optimizer="sgd", learning_rate=1e9)
    # Those that show runs.
    shown = ["table2", "identical_runs", "noise_by_source", "per_class"]
    folder = write_study(tmp_path, diverging | {"figures": shown})
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = metric_files.read(folder / "results/edge/metrics/stability.csv", STABILITY)
    assert set(rows["n_runs"]) == {0}
    assert set(rows["n_missing"]) == {2}
    # What is expected from sizes alone needs no run.
    measured = ~rows["metric"].str.contains("null|n_draws")
    assert rows[measured]["value"].isna().all()
    runs = metric_files.read(folder / "results/edge/metrics/identical.csv", IDENTICAL)
    assert set(runs["no_try"]) == {0}
    assert set(runs["n_missing"]) == {2}
    for name in ("table2.md", "identical_runs.md", "noise_by_source-cpu.svg", "per_class-cpu-smallcnn-digits.svg"):
        assert (folder / "results/edge/figures" / name).stat().st_size > 0
    summary = toolnoise(folder, "summary", "--study", "results/edge/study.json", "--json")
    assert [cell["diverged"] for cell in json.loads(summary.stdout)["cells"]].count(2) == 2, summary.stdout


def test_a_study_runs_through_in_a_clone_whose_path_has_braces(checkout, write_study, snakemake, tmp_path):
    # Snakemake and papermill put values in place of braces.
    clone = shutil.copytree(checkout, tmp_path / "a{b}c", symlinks=True)
    linear = edge_study(1, ["control"]) | {"figures": ["table2", "noise_by_source"]}
    linear["grid"][0]["models"] = ["linear"]
    write_study(clone, linear)
    done = snakemake(clone, source=clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (clone / "results/edge/figures/table2.md").stat().st_size > 0


# The workflow as a module of another one, which gives it its configuration; and as snakedeploy lays it out


PART = {
    "study": "part",
    "grid": [
        {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "hardware": ["cpu"]}
        | {"variants": ["control"], "seeds": 2}
    ],
    "recipes": {"short": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
    "figures": ["noise_by_source"],
}
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
    command = [sys.executable, "-m", "snakemake", "--snakefile", program.snakefile(), "--dry-run"]
    alone = run(tmp_path, *command, "--configfile", "results/part/study.json")
    assert "Nothing to be done" in alone.stdout + alone.stderr
    audited = toolnoise(tmp_path, "audit", "--strict")
    assert audited.returncode == 0, audited.stdout
    reported = whole({"noise": PART}, "--report", "mine.html")
    assert reported.returncode == 0, reported.stdout + reported.stderr
    report = (tmp_path / "mine.html").read_text()
    assert "in study <em>part</em>: SD of test accuracy" in report
    assert "<p>How much of a trained network is noise" in report


@pytest.fixture
def deployed(run, checkout, tmp_path):
    """The folder into which snakedeploy has laid the workflow out."""
    snakedeploy = ROOT / ".environments/snakedeploy/bin/snakedeploy"
    if not snakedeploy.exists():
        pytest.skip("snakedeploy is not installed: make .environments/snakedeploy")
    done = run(tmp_path, snakedeploy, "deploy-workflow", checkout, "mine", "--tag", "any", "--name", "toolnoise")
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "mine"


def test_snakedeploy_lays_out_a_workflow_that_plans_the_demo(deployed, checkout, run):
    assert (deployed / "config/README.md").read_text() == (ROOT / "config/README.md").read_text()
    assert (deployed / "config/config.yaml").read_text() == (ROOT / "config.yaml").read_text()
    snakefile = deployed / "workflow/Snakefile"
    # A local source is declared by its path in the source, as if it lay beside what is laid out.
    declared = snakefile.read_text()
    assert declared.count('"workflow/Snakefile"') == 1
    snakefile.write_text(declared.replace('"workflow/Snakefile"', repr(str(checkout / "workflow/Snakefile"))))
    # The profile is laid out, too, and taken unasked: both run as they are typed.
    for words in ([], ["fig5"]):
        done = run(deployed, sys.executable, "-m", "snakemake", *words, "--dry-run")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "train_run" in done.stdout
        assert "workflow specific profile profiles/default" in done.stderr


def test_the_catalogue_finds_what_it_asks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert (ROOT / "workflow/Snakefile").exists()
    assert (ROOT / "config/README.md").exists()
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme
    assert "workflow" in readme
