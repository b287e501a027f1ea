"""A small study, run by Snakemake from its file to its page: numbers, statements, report, gate, what runs again.

And `snakemake` and `toolnoise run` as people type them, from a folder that is not the clone. Bad input is one line with
exit code 2, and results stay as they were. tests/system/faults/test_ended_runs.py sends signals.
"""

import html
import json
import os
import re
import shlex
import shutil
import zipfile
from collections import Counter

import numpy as np
import pytest

from toolnoise.base import metric_files
from toolnoise.formulas.stability import STABILITY
from toolnoise.pages import study_page
from toolnoise.papers.frameworks.pair import CROSS_TOOLING
from toolnoise.provenance import statements
from toolnoise.study import figure_kinds, job_code

TABLES = {"table2", "table4"}
ACROSS = "across_toolings-smallcnn-digits"
KINDS = {*TABLES, "noise_by_source", "batch_norm", "across_toolings"}


@pytest.fixture(scope="module")
def overall(small_study):
    """The values over all examples by cell and metric."""
    rows = metric_files.read_metrics(small_study / "results/small/metrics/stability.csv", STABILITY)
    rows = rows[rows["group"] == "all"]
    return {(tuple(row[:4]), row.metric): row.value for row in rows.itertuples(index=False)}


# That draws are equal on every tooling is a rule of the audit: in tests/provenance/test_audit.py this study passes it.
def test_control_has_exactly_no_noise_and_every_other_variant_has_some_and_two_toolings_are_apart(small_study, overall):
    for cell in {cell for cell, _ in overall}:
        if cell[3] == "control":
            assert [overall[cell, metric] for metric in ("churn", "l2_unit", "l2_raw", "accuracy_sd")] == [0] * 4, cell
        else:
            assert overall[cell, "l2_unit"] > 0, cell
            assert cell[3] == "impl" or overall[cell, "churn"] > 0, cell
    rows = metric_files.read_metrics(small_study / "results/small/metrics/cross_tooling.csv", CROSS_TOOLING)
    assert set(rows["variant"]) == {"control"}
    assert rows.set_index("metric")["value"]["l2_unit"] > 0


def test_noise_of_several_draws_is_measured_within_them(small_study, overall):
    cell = ("smallcnn-bn", "digits", "cpu", "impl")
    runs = small_study / "results/small/runs/smallcnn-bn/digits/cpu"
    for draw in (1, 2):
        # The run of ALGO+IMPL with the same draws.
        of_draw, of_seed = runs / f"impl/{10000 * draw + draw}", runs / f"algo_impl/{draw}"
        assert (of_draw / "weights.npz").read_bytes() == (of_seed / "weights.npz").read_bytes()
    predicted = np.load(small_study / f"results/small/predictions/{'/'.join(cell)}.npy").argmax(axis=-1)
    churn = [np.mean(predicted[one] != predicted[one + 1]) for one in (0, 2)]
    apart = [np.mean(predicted[one] != predicted[other]) for one, other in ((0, 3), (1, 2))]
    assert overall[cell, "churn"] == overall[cell, "churn_same_draw"] == pytest.approx(np.mean(churn))
    assert overall[cell, "churn_other_draw"] == pytest.approx(np.mean(apart))
    assert overall[cell, "n_draws"] == 2


def test_every_figure_is_there_in_every_format_and_so_is_the_page(small_study):
    results = small_study / "results/small"
    notebooks = {path.stem for path in results.glob("notebooks/*.ipynb")}
    assert {name.split("-")[0] for name in notebooks} == KINDS
    for name in notebooks:
        suffixes = {path.suffix for path in results.glob(f"figures/{name}.*")}
        assert suffixes == ({".html", ".csv", ".md", ".tex"} if name in TABLES else {".svg", ".pdf", ".png"})
    assert (results / "index.html").stat().st_size > 0
    assert "emulated" in (small_study / "results/small/figures/noise_by_source-cpu.svg").read_text()
    assert "emulated" in (small_study / "results/small/figures/table2.md").read_text()


# A plan takes seconds: here is one of each kind, and tests/base/test_code_digest.py has what each change makes anew


@pytest.fixture(scope="module")
def plan(snakemake):
    """What a dry run says, and how many jobs of each rule it plans; those of figures by the figure."""

    def said_and_jobs(folder, *words, **options):
        done = snakemake(folder, *words, "--dry-run", **options)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        _, *parts = re.split(r"^ *(?:local)?rule (\w+):$", said, flags=re.MULTILINE)
        figures = [re.search(r"figure=([^,\s]+)", about) for about in parts[1::2]]
        return said, Counter(name[1] if name else rule for rule, name in zip(parts[::2], figures, strict=True))

    return said_and_jobs


def test_a_finished_study_plans_nothing_where_all_has_moved_and_a_plan_needs_no_scipy(copied, checkout, plan, blocking):
    shutil.copy(copied / "results/small/study.json", copied / "kept.json")
    # Every file of the tree is new there. Every job of a cluster plans its own again.
    of_tree = os.pathsep.join(map(str, (checkout / "tests/blocking", checkout / "workflow")))
    env = blocking("scipy") | {"PYTHONPATH": of_tree}
    said, _ = plan(copied, study="kept.json", source=checkout, env=env)
    assert "Nothing to be done" in said


AFTER_RUNS = {"dump_predictions": 3, "check_control": 1, "measure_cell": 3, "show_cell": 3, "measure_ratios": 1}
LAST = {"write_study": 1, "judge_claims": 1, "write_page": 1, "default": 1}


def test_a_changed_recipe_plans_exactly_its_runs_and_says_what_changed(copied, change_study, plan):
    change_study(copied, lambda study: study["recipes"]["normed"].update(learning_rate=0.02))
    said, jobs = plan(copied)
    # All cells are put together again, once the gate has passed; table 4 is about no run.
    rendered = {"table2": 1, "noise_by_source-cpu": 1, "batch_norm-cpu": 1}
    assert jobs == {"train_run": 8, "collect_metrics": 7} | AFTER_RUNS | LAST | rendered
    values = re.findall(r"now across all output: before: '(name=normed .*?)' now: '(name=normed .*?)' ", said)
    assert len(values) == 8
    for before, now in values:
        assert set(before.split()) ^ set(now.split()) == {"learning_rate=0.01", "learning_rate=0.02"}


def test_more_seeds_train_only_those_and_other_criteria_train_nothing(copied, change_study, plan):
    def change(study):
        # One run more of ALGO+IMPL and one of IMPL: Control keeps its two.
        study["grid"][0].update(seeds=3)
        study.update(identical={"criteria": ["last"], "weak": {"margin": 0.5}})

    change_study(copied, change)
    _, jobs = plan(copied)
    assert (jobs["train_run"], jobs["dump_predictions"], jobs["check_control"], jobs["measure_cell"]) == (2, 2, 0, 7)


def test_changed_code_plans_exactly_its_jobs_and_what_follows(copied, checkout, plan, change_study, tmp_path):
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
    package = tree / "workflow/toolnoise"

    def change(path, text="\nchanged = True\n"):
        path.write_text(path.read_text() + text)

    # A comment, a docstring, and what is only told.
    loop = (package / "training/loop.py").read_text()
    (package / "training/loop.py").write_text(loop.replace('"""', '"""Changed. ', 1) + "\n# changed\n")
    change(package / "base/errors.py")
    # A measure that this study has no job of.
    change(package / "papers/layers/measure.py")
    change(package / "papers/frameworks/pair.py")
    notebook = json.loads((tree / "notebooks/noise_by_source.ipynb").read_text())
    notebook["cells"][-1]["source"].append("\nchanged = True")
    (tree / "notebooks/noise_by_source.ipynb").write_text(json.dumps(notebook))
    shutil.copyfile(tree / "notebooks/table4.ipynb", tree / "notebooks/mine.ipynb")
    change(package / "study/figure_kinds.py", '\nKINDS["mine"] = KINDS["table4"]\n')
    captions = tree / figure_kinds.CAPTIONS
    captions.write_text(captions.read_text().replace("table4: |-", "mine: Examples once more.\n\ntable4: |-\n  Again:"))
    change_study(copied, lambda study: study["figures"].append("mine"))
    _, jobs = plan(copied, source=tree)
    shown = {ACROSS: 1, "noise_by_source-cpu": 1, "mine": 1, "table4": 1}
    assert jobs == {"measure_pair": 1, "collect_metrics": 1, "write_study": 1, "write_page": 1, "default": 1} | shown


def test_the_papers_names_are_targets_and_plan_what_they_are_about(copied, plan):
    (copied / "results/small/figures/batch_norm-cpu.svg").unlink()
    assert plan(copied, "fig3", "table2")[1] == {"batch_norm-cpu": 1, "fig3": 1}
    for name in ("runs", "predictions", "metrics"):
        shutil.rmtree(copied / "results/small" / name)
    # Figure 3 is about the two models on `cpu`, the runs on `cpu-eigen` are not in it; table 4 is about no run.
    assert plan(copied, "fig3", "table4")[1]["train_run"] == 14


# Every job states what it did, and its statements are as the standard wants them


# tests/provenance/test_audit.py finds that every file has a statement with its digest.
def test_every_statement_names_its_code_and_what_it_read_and_data_come_from_a_package(small_study):
    found = (small_study / "results/small/statements").rglob(f"*{statements.SUFFIX}")
    stated = [statements.read_statement(path) for path in found]
    for statement in stated:
        assert any(one.kind == statements.CODE for one in statement.dependencies)
        assert statement.inputs or statement.verb in ("prepare", "configure")
    (prepared,) = (statement for statement in stated if statement.verb == "prepare")
    (package,) = (one for one in prepared.dependencies if one.kind == statements.PACKAGE)
    assert package.name == "sklearn/datasets/data/digits.csv.gz"
    assert package.uri.startswith("pkg:pypi/scikit-learn@")


# Snakemake's own report, as people ask for it: `snakemake --report`


def captions(report):
    """The captions in a report, without marks and with all white space alike."""
    written = map(json.loads, re.findall(r'"caption": ("(?:[^"\\]|\\.)*")', report))
    return {" ".join(html.unescape(re.sub(r"<[^>]+>", "", caption)).split()) for caption in written}


def files_in(folder):
    """The paths of all files in the folder of a study, but for Snakemake's logs and what it keeps for minutes."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {name for name in found if not name.startswith((".snakemake/log/", ".snakemake/iocache/"))}


# tests/workflow/test_installed.py makes one that is a single page.
def test_a_report_has_every_figure_with_its_caption_and_is_the_only_new_file(copied, snakemake):
    before = files_in(copied)
    done = snakemake(copied, "--report", "mine.zip")
    assert done.returncode == 0, done.stdout + done.stderr
    assert files_in(copied) == before | {"mine.zip"}
    with zipfile.ZipFile(copied / "mine.zip") as archive:
        assert archive.testzip() is None
        (page,) = [name for name in archive.namelist() if name.endswith("report.html")]
        report = archive.read(page).decode()
    assert "Study <em>small</em>: how much of a trained network" in report
    # Besides them there is the caption of the metric files.
    found = captions(report)
    assert len(found) == len(KINDS) + 1
    assert {study_page.plain_caption(figure_kinds.caption_in(kind, "small")) for kind in KINDS} < found
    categories = {figure_kinds.KINDS[kind].category for kind in KINDS} | {"5 Metric files"}
    assert json.loads(re.search(r"var categories = (\{.*?\});?$", report, re.MULTILINE)[1]).keys() == categories


# The control gate: a study whose control runs are not bit-equal fails, and says where they part


CELL = "smallcnn/digits/cpu"


def test_a_study_whose_gate_fails_fails_and_shows_the_line(copied, snakemake):
    # One control run holds what a run with implementation noise left, but for its record.
    runs, verdict = copied / "results/small/runs" / CELL, f"results/small/control/{CELL}.json"
    for name in ("weights.npz", "history.csv"):
        shutil.copyfile(runs / "impl/2" / name, runs / "control/2" / name)
    (copied / verdict).unlink()
    done = snakemake(copied, verdict, "results/small/metrics/stability.csv", "--logger", "toolnoise")
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "failed: check_control" in said
    assert any(line.startswith("  toolnoise: ") and "seeds 1 and 2" in line for line in said.splitlines())
    assert not (copied / verdict).exists()


def test_a_study_file_of_another_configuration_is_told_where_snakemake_has_no_record_of_it(
    copied, change_study, snakemake, refusal
):
    change_study(copied, lambda study: study["grid"][0].update(seeds=3))
    shutil.rmtree(copied / ".snakemake")
    (copied / "results/small/index.html").unlink()
    line = refusal(snakemake(copied))
    assert line.startswith("toolnoise: results/small/study.json: is of another configuration")
    (copied / "results/small/study.json").unlink()
    jobs = snakemake(copied, "--dry-run").stdout
    assert "rule write_study" in jobs


# Single jobs of the small study, by the command of their rule: what they state, and what they refuse in one line


CONTROL = "smallcnn/digits/cpu/control"
RUN = f"runs/{CONTROL}/1/weights.npz"
MEASURED = f"metrics/cells/{CONTROL}.csv"


def everything(folder):
    return {path: path.read_bytes() for path in (folder / "results").rglob("*") if path.is_file()}


def test_a_job_that_is_done_again_says_the_same_but_for_times_and_no_secret(command_for, toolnoise, tmp_path):
    secrets = {"TF_TOKEN_app_terraform_io": "secret", "NVIDIA_API_KEY": "secret", "CUDA_TOKEN": "secret"}
    said = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        done = toolnoise(folder, *command_for("data/digits.npz"), env={"OMP_NUM_THREADS": "1", **secrets})
        assert done.returncode == 0, done.stderr
        path = folder / "results/small/statements/data/digits.npz.intoto.json"
        assert "secret" not in path.read_text()
        # NumPy computes by it.
        assert statements.read_statement(path).observed["variables"]["OMP_NUM_THREADS"] == "1"
        said.append(json.loads(path.read_text()))
        del said[-1]["predicate"]["runDetails"]["metadata"]
    assert said[0] == said[1]


# What each reads, and a job that reads it. The one that imports a framework does so in a process of its own.
DAMAGED = {
    f"runs/{CONTROL}/2/weights.npz": f"predictions/{CONTROL}.npy",
    f"predictions/{CONTROL}.npy": "control/smallcnn/digits/cpu.json",
    f"runs/{CONTROL}/1/run.json": MEASURED,
    "data/digits.npz": MEASURED,
}


def test_a_truncated_file_is_one_line_that_names_it_and_changes_nothing(
    copied, command_for, monkeypatch, toolnoise, refusal, refused_by_verb
):
    monkeypatch.chdir(copied)
    for damaged, read_for in DAMAGED.items():
        path = copied / "results/small" / damaged
        whole = path.read_bytes()
        path.write_bytes(whole[:-100])
        before, words = everything(copied), command_for(read_for)
        line = refusal(toolnoise(copied, *words)) if words[0] == "predict" else refused_by_verb(*words)
        assert f"results/small/{damaged}" in line
        assert everything(copied) == before
        path.write_bytes(whole)


WRONG_LINES = [
    (RUN, {"data": "absent.npz"}, "absent.npz"),
    (MEASURED, {"study-seed": "one"}, "'one'"),
    ("metrics/stability.csv", {"kind": "stabilty"}, "stabilty"),
    ("figures/table2.csv", {"metrics": "results/small/metrics/data/digits.csv"}, "it reads stability"),
    ("figures/table2.csv", {"out": "table2.csv"}, "one path with each of html"),
]


def test_a_wrong_command_line_is_one_line(copied, command_for, monkeypatch, refused_by_verb):
    monkeypatch.chdir(copied)
    before = everything(copied)
    for made, changed, says in WRONG_LINES:
        assert says in refused_by_verb(*command_for(made, **changed))
    assert everything(copied) == before


def test_a_file_that_changes_while_it_is_read_is_refused_and_nothing_is_stated(
    copied, command_for, monkeypatch, refused_by_verb
):
    monkeypatch.chdir(copied)
    perform, data = job_code.perform_job, copied / "results/small/data/digits.npz"
    stated = copied / f"results/small/statements/{MEASURED}.intoto.json"
    stated.unlink()

    def changing(*job):
        observed = perform(*job)
        data.write_bytes(data.read_bytes())
        return observed

    monkeypatch.setattr(job_code, "perform_job", changing)
    assert "results/small/data/digits.npz: changed while it was read" in refused_by_verb(*command_for(MEASURED))
    assert not stated.exists()


def test_a_checkpoint_stays_until_the_statement_is_written(copied, command_for, toolnoise):
    kept = copied / f"results/small/checkpoints/{CONTROL}/1.npz"
    kept.parent.mkdir(parents=True)
    # Of another run: it is told in the log, and must be gone at the end.
    shutil.copyfile(copied / f"results/small/{RUN}", kept)
    statement = copied / f"results/small/statements/{RUN}.intoto.json"
    statement.unlink()
    statement.mkdir()
    (statement / "in the way").touch()
    assert toolnoise(copied, *command_for(RUN)).returncode != 0
    assert kept.exists()
    shutil.rmtree(statement)
    done = toolnoise(copied, *command_for(RUN))
    assert done.returncode == 0, done.stderr
    assert "training starts over" in done.stdout + done.stderr
    assert not kept.exists()
    assert not statements.read_statement(statement).resumed


def test_without_its_environment_a_job_ends_in_one_line(command_for, toolnoise, refusal, tmp_path):
    words = command_for(RUN)
    tooling = words[words.index("--tooling") + 1].replace("name=cpu ", "name=elsewhere environment=tensorflow-2.16 ")
    wanted = ".environments/tensorflow-2.16 is missing: run `make .environments/tensorflow-2.16`"
    line = refusal(toolnoise(tmp_path, *command_for(RUN, tooling=tooling)))
    assert line == f"toolnoise: hardware elsewhere: environment: {wanted}"


# What people type: `toolnoise run`, and study files that are wrong


def test_a_study_is_planned_run_and_summed_up_and_the_command_can_be_pasted(copied, toolnoise, run):
    (copied / "results/small/index.html").unlink()
    planned = toolnoise(copied, "run", "-n")
    assert planned.returncode == 0, planned.stderr
    assert "write_page" in planned.stderr + planned.stdout
    assert "the page:" not in planned.stdout
    done = toolnoise(copied, "run", "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert "the page: results/small/index.html" in done.stdout
    assert "bit-equal" in done.stdout
    command = next(line for line in done.stderr.splitlines() if "--configfile study.yaml" in line)
    again = run(copied, *shlex.split(command))
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr


# tests/study/test_config.py has the other keys.
def test_a_wrong_study_file_is_one_line_and_nothing_runs(copied, change_study, snakemake, toolnoise, refusal):
    before = everything(copied)
    change_study(copied, lambda study: study["grid"][0].update(models=["smalcnn"]))
    for done in (snakemake(copied), toolnoise(copied, "run")):
        line = refusal(done)
        for word in ("study.yaml", "grid[0].models", "'smallcnn'?"):
            assert word in line
    assert everything(copied) == before


TINY = """study: tiny
grid:
- {models: [linear], datasets: [digits], recipe: digits, hardware: [cpu], variants: [control], seeds: 2}
"""


# tests/study/test_config.py has what else Snakemake's own loader cannot read, or reads as something else.
def test_a_file_that_snakemake_reads_differently_is_refused_and_what_is_written_in_files_and_values_is_planned(
    here, snakemake, refusal, refused_by_verb
):
    study = here / "study.yaml"
    for text, says in (
        (f"{TINY}\tseed: 1\n", "line 4: found character '\\t'"),
        (TINY.replace("seeds: 2", "seeds: 010"), "line 3: found 010; allowed: "),
    ):
        study.write_text(text)
        # Before Snakemake starts.
        assert f"study.yaml: {says}" in refused_by_verb("run", "study.yaml", "-n")
    assert "study.yaml: line 3: found 010; allowed: " in refusal(snakemake(here, "-n"))
    assert list(here.iterdir()) == [study]
    study.write_text(f"{TINY}prices: {{cpu: 1e-3}}\n")
    done = snakemake(here, "-n", "--quiet", "all", "--config", "recipes={digits: {learning_rate: 2e-3, epochs: 3}}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--config seed: found 1_0; allowed" in refusal(snakemake(here, "-n", "--config", "seed=1_0"))
