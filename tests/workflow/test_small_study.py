"""A small study, run by Snakemake from its file to its page: numbers, statements, report, gate, what runs again."""

import csv
import html
import json
import os
import re
import shutil
import zipfile

import numpy as np
import pytest

from toolnoise.base import arrays, metric_files
from toolnoise.base.files import sha256
from toolnoise.base.noise_sources import replicate
from toolnoise.base.spec import Spec
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.pages import study_page
from toolnoise.papers.frameworks.cross_tooling import CROSS_TOOLING
from toolnoise.record import statements
from toolnoise.study import figure_kinds

TABLES = {"table2", "table4"}
DIGESTS = ("weights_sha256", "draws_sha256")
KINDS = {*TABLES, "noise_by_source", "batch_norm", "across_toolings"}


@pytest.fixture(scope="module")
def overall(small_study):
    """The values over all examples by cell and metric."""
    rows = metric_files.read(small_study / "results/small/metrics/stability.csv", STABILITY)
    rows = rows[rows["group"] == "all"]
    return {(tuple(row[:4]), row.metric): row.value for row in rows.itertuples(index=False)}


def cells(overall, *variants):
    found = sorted({cell for cell, _ in overall if cell[3] in variants})
    assert found
    return found


def test_control_has_exactly_no_noise(overall):
    for cell in cells(overall, "control"):
        for metric in ("churn", "l2_unit", "l2_raw", "accuracy_sd"):
            assert overall[cell, metric] == 0, (cell, metric)


def test_every_other_variant_has_noise(overall):
    for cell in cells(overall, "algo_impl", "impl"):
        assert overall[cell, "l2_unit"] > 0, cell
    assert max(overall[cell, "churn"] for cell in cells(overall, "algo_impl")) > 0


def test_a_run_of_a_draw_is_the_run_of_algo_impl_with_the_same_draws(small_study):
    runs = small_study / "results/small/runs/smallcnn-bn/digits/cpu"
    for draw in (1, 2):
        of_draw, of_seed = runs / f"impl/{10000 * draw + draw}", runs / f"algo_impl/{draw}"
        assert (of_draw / "weights.npz").read_bytes() == (of_seed / "weights.npz").read_bytes()


def test_noise_of_several_draws_is_measured_within_them(small_study, overall):
    cell = ("smallcnn-bn", "digits", "cpu", "impl")
    predicted = np.load(small_study / f"results/small/predictions/{'/'.join(cell)}.npy").argmax(axis=-1)
    churn = [np.mean(predicted[one] != predicted[one + 1]) for one in (0, 2)]
    apart = [np.mean(predicted[one] != predicted[other]) for one, other in ((0, 3), (1, 2))]
    assert overall[cell, "churn"] == overall[cell, "churn_same_draw"] == pytest.approx(np.mean(churn))
    assert overall[cell, "churn_other_draw"] == pytest.approx(np.mean(apart))
    assert overall[cell, "n_draws"] == 2
    runs = metric_files.read(small_study / "results/small/metrics/runs.csv", RUNS)
    runs = runs[
        (runs[["model", "dataset", "hardware", "variant"]] == list(cell)).all(axis=1) & (runs["metric"] == "churn")
    ]
    assert list(zip(runs["seed"], runs["init"], runs["impl"], strict=True)) == [
        (10000 * draw + seed, str(draw), str(seed)) for draw in (1, 2) for seed in (1, 2)
    ]
    np.testing.assert_allclose(runs["value"], np.repeat(churn, 2))


def test_two_toolings_are_apart_under_control(small_study):
    rows = metric_files.read(small_study / "results/small/metrics/cross_tooling.csv", CROSS_TOOLING)
    assert set(rows["variant"]) == {"control"}
    values = dict(zip(rows["metric"], rows["value"], strict=True))
    assert values["l2_unit"] > 0 or values["churn"] > 0
    histories = [
        (small_study / f"results/small/runs/smallcnn/digits/{tooling}/control/1/history.csv").read_text().splitlines()
        for tooling in ("cpu", "cpu-eigen")
    ]
    weights, draws = ([[row[name] for row in csv.DictReader(one)] for one in histories] for name in DIGESTS)
    assert weights[0] != weights[1]
    assert draws[0] == draws[1]


def test_every_figure_is_there_in_every_format_and_so_is_the_page(small_study):
    results = small_study / "results/small"
    notebooks = {path.stem for path in results.glob("notebooks/*.ipynb")}
    assert {name.split("-")[0] for name in notebooks} == KINDS
    for name in notebooks:
        suffixes = {path.suffix for path in results.glob(f"figures/{name}.*")}
        assert suffixes == ({".html", ".csv", ".md", ".tex"} if name in TABLES else {".svg", ".pdf", ".png"})
    assert (results / "index.html").stat().st_size > 0


def test_figures_with_emulated_noise_say_so(small_study):
    assert "emulated" in (small_study / "results/small/figures/noise_by_source-cpu.svg").read_text()
    assert "emulated" in (small_study / "results/small/figures/table2.md").read_text()


def test_the_gate_says_that_control_is_bit_equal(small_study):
    verdicts = [json.loads(path.read_text()) for path in (small_study / "results/small/control").rglob("*.json")]
    assert [verdict["bit_equal"] for verdict in verdicts] == [True, True, True]


def test_progress_is_printed_to_a_file_with_what_is_left(small_study):
    lines = (small_study / "said.txt").read_text().splitlines()
    assert any("of 16 runs trained" in line and line.endswith("left") for line in lines)
    assert lines[-1].startswith("100%, 16 of 16 runs trained")


def test_the_findings_are_one_screen_and_name_what_else_can_be_asked(
    small_study, toolnoise, printed_by_verb, monkeypatch
):
    done = toolnoise(small_study, "summary", "--study", "results/small/study.json")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 100
    assert "bit-equal in 3 of 3 tasks" in done.stdout
    assert lines[-1] == "each cell: toolnoise summary --cells; the page: results/small/index.html"
    monkeypatch.chdir(small_study)
    cells = printed_by_verb("summary", "--study", "results/small/study.json", "--cells")
    assert sum("bit-equal" in line for line in cells.splitlines()) == 3
    claims = printed_by_verb("summary", "--study", "results/small/study.json", "--claims")
    assert claims.startswith("Zhuang et al.: ")


# A plan takes seconds: here is one of each kind, and tests/base/test_code_digest.py has what each change makes anew


def test_a_finished_study_plans_nothing_where_all_has_moved_and_a_plan_needs_no_scipy(
    copied, checkout, planned, blocking
):
    shutil.move(copied / "results/small/study.json", copied / "kept.json")
    shutil.copy(copied / "kept.json", copied / "results/small/study.json")
    # Every file of the tree is new there. Every job of a cluster plans its own again.
    of_tree = os.pathsep.join(map(str, (checkout / "tests/blocking", checkout / "workflow")))
    env = blocking("scipy") | {"PYTHONPATH": of_tree}
    assert planned(copied, study="kept.json", source=checkout, env=env) == {}


COLLECTED = {f"collect_{kind}" for kind in ("stability", "runs", "identical", "convergence", "ensembles", "ratios")}
AFTER_CELLS = {
    "measure_cell",
    "show_cell",
    "measure_ratios",
    *COLLECTED,
    "judge_claims",
    "write_page",
    "page",
}


def test_a_changed_study_plans_exactly_its_runs_and_what_follows(copied, change_study, planned):
    def change(study):
        study["recipes"]["normed"].update(learning_rate=0.02)
        # One run more of ALGO+IMPL and one of IMPL: Control keeps its two.
        study["grid"][0].update(seeds=3)
        # Cells are measured again by other criteria of convergence, and nothing is trained.
        study.update(identical={"criteria": ["last"], "weak": {"margin": 0.5}})

    change_study(copied, change)
    jobs = planned(copied)
    rendered = {rule for rule in jobs if rule.startswith("render_")}
    trained = {"train_run", "dump_predictions", "check_control"}
    # What is collected waits for the gate. The pair's runs are not among those.
    assert set(jobs) - rendered == AFTER_CELLS | trained | {"collect_cross_tooling"}
    assert jobs["train_run"] == 8 + 2
    assert jobs["dump_predictions"] == 3 + 2
    assert jobs["check_control"] == 1
    assert jobs["measure_cell"] == 7
    # Tables that read other metric files alone.
    assert not {"render_table3", "render_table4", "render_kernels", "render_overhead"} & rendered


def test_only_some_toolings_plans_new_tables_and_no_run(copied, planned):
    jobs = planned(copied, "--config", "only=[cpu]")
    assert jobs["collect_stability"] == jobs["render_table2"] == 1
    assert not {"train_run", "dump_predictions", "measure_cell", "measure_pair", "render_across_toolings"} & set(jobs)


def test_changed_code_plans_exactly_its_jobs_and_what_follows(copied, checkout, planned, change_study, tmp_path):
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
    package = tree / "workflow/toolnoise"

    def change(path, text="\nchanged = True\n"):
        path.write_text(path.read_text() + text)

    change(package / "training/loop.py", "\n# changed\n")
    # A measure that this study has no job of.
    change(package / "papers/layers/metric.py")
    change(package / "papers/frameworks/pair.py")
    notebook = json.loads((tree / "notebooks/noise_by_source.ipynb").read_text())
    notebook["cells"][-1]["source"].append("\nchanged = True")
    (tree / "notebooks/noise_by_source.ipynb").write_text(json.dumps(notebook))
    shutil.copyfile(tree / "notebooks/table4.ipynb", tree / "notebooks/mine.ipynb")
    change(package / "study/figure_kinds.py", '\nKINDS["mine"] = KINDS["table4"]\n')
    captions = tree / figure_kinds.CAPTIONS
    captions.write_text(captions.read_text().replace("table4: |-", "mine: Examples once more.\n\ntable4: |-\n  Again:"))
    change_study(copied, lambda study: study["figures"].append("mine"))
    assert planned(copied, source=tree) == {
        "measure_pair": 1,
        "collect_cross_tooling": 1,
        "render_across_toolings": 1,
        "render_noise_by_source": 2,
        "render_mine": 1,
        "write_page": 1,
        "page": 1,
    }


def test_the_papers_names_are_targets_and_plan_what_they_are_about(copied, planned):
    (copied / "results/small/figures/batch_norm-cpu.svg").unlink()
    assert planned(copied, "fig3", "table2") == {"render_batch_norm": 1, "fig3": 1}
    shutil.rmtree(copied / "results/small/runs")
    shutil.rmtree(copied / "results/small/predictions")
    shutil.rmtree(copied / "results/small/metrics")
    # Figure 3 is about the two models on `cpu`, the runs on `cpu-eigen` are not in it; table 4 is about no run.
    assert planned(copied, "fig3", "table4")["train_run"] == 14


# tests/figures/test_catalogue.py has the other lines.
def test_a_name_that_is_no_item_and_an_item_that_the_study_cannot_feed_are_one_line(small_study, snakemake, refusal):
    line = refusal(snakemake(small_study, "fig10", "--dry-run"))
    items = "no table or figure of this name; allowed: table1, table2, "
    assert line.startswith(f"toolnoise: {small_study}/study.yaml: fig10: {items}")
    line = refusal(snakemake(small_study, "fig4", "--dry-run"))
    needs = "it needs a data set with sub-groups: faces, celeba with groups, or text with frequency"
    assert line == f"toolnoise: {small_study}/study.yaml: fig4: the study has no subgroups; {needs}"


# Every job states what it did, and its statements are as the standard wants them


@pytest.fixture(scope="module")
def stated(small_study):
    """The statements of the small study by the path of each."""
    found = (small_study / "results/small/statements").rglob(f"*{statements.SUFFIX}")
    return {path: statements.read(path) for path in found}


def test_every_file_of_the_results_is_somebodys_output(small_study, stated):
    results = small_study / "results"
    files = {str(path.relative_to(small_study)) for path in results.rglob("*") if path.is_file()}
    outputs = [output.name for statement in stated.values() for output in statement.outputs]
    assert sorted(outputs) == sorted(name for name in files if "/statements/" not in name)


def test_digests_and_sizes_are_those_of_the_files(small_study, stated):
    for statement in stated.values():
        for artifact in (*statement.outputs, *statement.inputs):
            path = small_study / artifact.name
            assert (artifact.sha256, artifact.size) == (sha256(path), path.stat().st_size)


def test_a_statement_lies_where_its_first_output_says(small_study, stated):
    for path, statement in stated.items():
        assert path.relative_to(small_study) == statements.path_for(statement.outputs[0].name)


def test_chains_end_in_the_data_and_the_code(stated):
    (prepared,) = (statement for statement in stated.values() if statement.verb == "prepare")
    (package,) = (one for one in prepared.dependencies if one.kind == statements.PACKAGE)
    assert package.name == "sklearn/datasets/data/digits.csv.gz"
    assert package.uri.startswith("pkg:pypi/scikit-learn@")
    assert all(any(one.kind == statements.CODE for one in statement.dependencies) for statement in stated.values())
    for statement in stated.values():
        if not statement.inputs:
            assert statement.verb in ("prepare", "configure")


def test_a_run_states_its_spec_its_keys_and_its_machine(small_study, stated):
    for statement in stated.values():
        if statement.verb == "train":
            record = json.loads((small_study / statement.outputs[2].name).read_text())
            assert statement.parameters["spec"] == record["spec"]
            for source, drawn in statement.parameters["keys"].items():
                assert drawn["replicate"] == replicate(source, Spec.read(record["spec"]))
            assert statement.observed == record["observed"]


def test_a_job_that_is_done_again_says_the_same_but_for_times_and_no_secret(small_study, toolnoise, tmp_path):
    secrets = {"TF_TOKEN_app_terraform_io": "secret", "NVIDIA_API_KEY": "secret", "CUDA_TOKEN": "secret"}
    study = small_study / "results/small/study.json"
    arguments = ["prepare", "--study", study, "--dataset", "digits", "--out", "results/s/d.npz"]
    said = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        done = toolnoise(folder, *arguments, env={"OMP_NUM_THREADS": "1", **secrets})
        assert done.returncode == 0, done.stderr
        path = folder / "results/s/statements/d.npz.intoto.json"
        assert "secret" not in path.read_text()
        # NumPy computes by it.
        assert statements.read(path).observed["variables"]["OMP_NUM_THREADS"] == "1"
        said.append(json.loads(path.read_text()))
        del said[-1]["predicate"]["runDetails"]["metadata"]
    assert said[0] == said[1]


# Snakemake's own report, as people ask for it: `snakemake --report`


def captions(report):
    """The captions in a report, without marks and with all white space alike."""
    written = map(json.loads, re.findall(r'"caption": ("(?:[^"\\]|\\.)*")', report))
    return {" ".join(html.unescape(re.sub(r"<[^>]+>", "", caption)).split()) for caption in written}


@pytest.fixture
def files(copied):
    """The paths of all files in the folder of the study, but for Snakemake's logs and what it keeps for minutes."""

    def listed():
        found = {path.relative_to(copied).as_posix() for path in copied.rglob("*") if path.is_file()}
        return {name for name in found if not name.startswith((".snakemake/log/", ".snakemake/iocache/"))}

    return listed


# tests/workflow/test_installed.py makes one that is a single page.
def test_a_report_has_every_figure_with_its_caption_and_is_the_only_new_file(copied, snakemake, files):
    before = files()
    done = snakemake(copied, "--report", "mine.zip")
    assert done.returncode == 0, done.stdout + done.stderr
    assert files() == before | {"mine.zip"}
    with zipfile.ZipFile(copied / "mine.zip") as archive:
        assert archive.testzip() is None
        (page,) = [name for name in archive.namelist() if name.endswith("report.html")]
        report = archive.read(page).decode()
    assert "Study <em>small</em>: how much of a trained network" in report
    # Besides them there is the caption of the metric files.
    found = captions(report)
    assert len(found) == len(KINDS) + 1
    assert {study_page.plain(figure_kinds.caption_in(kind, "small")) for kind in KINDS} < found


# The control gate: a study whose control runs are not bit-equal fails, and says where they part


CELL = "smallcnn/digits/cpu"


@pytest.fixture
def tampered(copied):
    """A study in which one control run holds what a run with implementation noise left, but for its record."""
    runs = copied / "results/small/runs" / CELL
    for name in ("weights.npz", "history.csv"):
        shutil.copyfile(runs / "impl/2" / name, runs / "control/2" / name)
    return copied


@pytest.fixture
def gate(refused_by_verb, monkeypatch):
    """What the gate of the study in a folder says, which must refuse its runs."""
    dump, runs = (f"results/small/{kind}/{CELL}/control" for kind in ("predictions", "runs"))
    names = ["--study", "results/small/study.json", "--model", "smallcnn", "--dataset", "digits", "--hardware", "cpu"]
    records = ["--records", f"{runs}/1/run.json", f"{runs}/2/run.json"]

    def line(folder):
        monkeypatch.chdir(folder)
        inputs = ["--logits", f"{dump}.npy", "--index", f"{dump}.json", *records]
        return refused_by_verb("check-control", *names, *inputs, "--out", "gate.json")

    return line


def test_the_gate_names_seeds_epoch_and_layer_in_one_line(tampered, gate):
    line = gate(tampered)
    for words in (f"{CELL}/control", "seeds 1 and 2", "epoch 1", "conv1/kernel"):
        assert words in line
    assert not (tampered / "gate.json").exists()


def test_the_gate_sees_one_changed_bit_of_the_final_weights(copied, gate):
    path = copied / "results/small/runs" / CELL / "control/2/weights.npz"
    weights = arrays.read_npz(path)
    weights["dense/bias"].view(np.uint32)[3] ^= 1
    arrays.write_npz(path, weights)
    line = gate(copied)
    assert "final weights" in line
    assert "dense/bias" in line


def test_a_study_whose_gate_fails_fails_and_shows_the_line(tampered, snakemake):
    verdict = f"results/small/control/{CELL}.json"
    (tampered / verdict).unlink()
    done = snakemake(tampered, verdict, "results/small/metrics/stability.csv", "--logger", "toolnoise")
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "failed: check_control" in said
    assert any(line.startswith("  toolnoise: ") and "seeds 1 and 2" in line for line in said.splitlines())
    assert not (tampered / verdict).exists()
