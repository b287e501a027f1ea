"""A small study, run by Snakemake from its file to its page: numbers, statements, report, gate, what runs again."""

import csv
import html
import json
import re
import shutil
import zipfile

import numpy as np
import pytest

from toolnoise.analyses.frameworks.cross_tooling import CROSS_TOOLING
from toolnoise.base import arrays, metric_files
from toolnoise.base.files import sha256
from toolnoise.base.noise_sources import replicate
from toolnoise.base.spec import Spec
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.pages import study_page
from toolnoise.record import statements
from toolnoise.study import catalogue

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


def test_a_summary_has_a_line_for_every_cell(small_study, toolnoise):
    done = toolnoise(small_study, "summary", "--study", "results/small/study.json", "--cells")
    assert done.returncode == 0, done.stderr
    assert sum("bit-equal" in line for line in done.stdout.splitlines()) == 3


def test_the_findings_are_one_screen_and_name_what_else_can_be_asked(small_study, toolnoise):
    done = toolnoise(small_study, "summary", "--study", "results/small/study.json")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 100
    assert "bit-equal in 3 of 3 tasks" in done.stdout
    assert lines[-1] == "each cell: toolnoise summary --cells; the page: results/small/index.html"
    claims = toolnoise(small_study, "summary", "--study", "results/small/study.json", "--claims").stdout
    assert claims.startswith("Zhuang et al.: ")


def test_a_finished_study_plans_nothing_and_a_plan_needs_no_scipy(small_study, planned, blocking):
    # Every job of a cluster plans its own again.
    assert planned(small_study, env=blocking("scipy")) == {}


def test_nor_does_it_when_tree_and_results_have_moved(copied, checkout, planned):
    # Every file of the tree is new there.
    assert planned(copied, source=checkout) == {}


def test_the_study_kept_with_the_results_is_the_study(copied, planned):
    shutil.copy(copied / "results/small/study.json", copied / "kept.json")
    assert planned(copied, study="kept.json") == {}


def test_a_changed_recipe_plans_exactly_its_runs_and_what_follows(copied, change_study, planned):
    change_study(copied, lambda study: study["recipes"]["normed"].update(learning_rate=0.02))
    jobs = planned(copied)
    assert jobs["train_run"] == 8
    assert jobs["dump_predictions"] == jobs["measure_cell"] == 3
    assert jobs["check_control"] == 1
    assert "prepare_data" not in jobs
    assert "measure_pair" not in jobs


def test_another_seed_plans_only_the_new_runs(copied, change_study, planned):
    change_study(copied, lambda study: study["grid"][1].update(seeds=3))
    jobs = planned(copied)
    # One of ALGO+IMPL: Control keeps its two.
    assert jobs["train_run"] == 1
    assert jobs["dump_predictions"] == 1


def test_other_criteria_of_convergence_measure_again_and_train_nothing(copied, change_study, planned):
    change_study(copied, lambda study: study.update(identical={"criteria": ["last"], "weak": {"margin": 0.5}}))
    jobs = planned(copied)
    assert jobs["measure_cell"] == 7
    assert jobs["collect_identical"] == 1
    assert not {"train_run", "dump_predictions", "measure_pair", "check_control"} & set(jobs)


def test_only_some_toolings_plans_new_tables_and_no_run(copied, planned):
    jobs = planned(copied, "--config", "only=[cpu]")
    assert jobs["collect_stability"] == jobs["render_table2"] == 1
    assert not {"train_run", "dump_predictions", "measure_cell", "measure_pair", "render_across_toolings"} & set(jobs)


def test_changed_code_plans_what_depends_on_it(copied, checkout, planned, tmp_path):
    tree = shutil.copytree(checkout, tmp_path / "changed")
    with (tree / "workflow/toolnoise/formulas/churn.py").open("a") as file:
        file.write("\nchanged = True\n")
    with (tree / "notebooks/noise_by_source.ipynb").open("a") as file:
        file.write("\n")
    jobs = planned(copied, source=tree)
    assert jobs["measure_cell"] == 7
    assert jobs["measure_pair"] == 1
    assert jobs["render_noise_by_source"] == 2
    assert not {"train_run", "dump_predictions", "check_control"} & set(jobs)


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


@pytest.fixture
def changed(copied, checkout, planned, tmp_path):
    """What is planned for the finished study by a source tree in which one file ends in this text."""

    def plan(name, text="\nchanged = True\n"):
        tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
        with (tree / name).open("a") as file:
            file.write(text)
        return planned(copied, source=tree)

    return plan


def test_a_change_to_one_measure_plans_its_jobs_and_what_follows_from_them(changed):
    jobs = changed("workflow/toolnoise/measures/cell.py")
    rendered = {rule for rule in jobs if rule.startswith("render_")}
    assert set(jobs) - rendered == AFTER_CELLS
    assert jobs["measure_cell"] == 7
    # Tables that read other metric files alone.
    assert not {"render_table3", "render_table4", "render_kernels", "render_overhead"} & rendered


def test_a_change_to_the_measure_of_pairs_measures_no_cell_again(changed):
    jobs = changed("workflow/toolnoise/analyses/frameworks/pair.py")
    page = {"write_page", "page"}
    assert set(jobs) == {"measure_pair", "collect_cross_tooling", "render_across_toolings"} | page


def test_a_change_to_metrics_that_one_measure_uses_plans_that_one(changed):
    assert changed("workflow/toolnoise/analyses/layers/metric.py") == {}


def test_a_comment_in_the_training_loop_plans_nothing(changed):
    assert changed("workflow/toolnoise/training/loop.py", "\n# changed\n") == {}


def test_a_change_to_the_training_loop_predicts_anew_only_what_is_trained_anew(changed):
    jobs = changed("workflow/toolnoise/training/checkpoints.py")
    assert {"train_run", "dump_predictions", "check_control", "measure_cell"} <= set(jobs)
    assert not {"prepare_data", "count_data", "profile_step"} & set(jobs)


def test_a_change_to_a_caption_draws_nothing_anew(changed):
    another = '\nKINDS["table4"] = KINDS["table4"]._replace(caption="Examples once more.")\n'
    planned = changed("workflow/toolnoise/analyses/published/study.py", another)
    assert planned == {"write_page": 1, "page": 1}


def test_a_new_kind_of_figure_plans_its_own_rendering_and_the_page(copied, checkout, planned, tmp_path, change_study):
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
    shutil.copyfile(tree / "notebooks/table4.ipynb", tree / "notebooks/mine.ipynb")
    with (tree / "workflow/toolnoise/study/catalogue.py").open("a") as file:
        file.write('\nKINDS["mine"] = KINDS["table4"]\n')
    change_study(copied, lambda study: study["figures"].append("mine"))
    assert planned(copied, source=tree) == {"render_mine": 1, "write_page": 1, "page": 1}


def test_the_papers_names_are_targets_and_plan_what_they_are_about(copied, planned):
    assert planned(copied, "fig3", "table2") == {}
    (copied / "results/small/figures/batch_norm-cpu.svg").unlink()
    assert planned(copied, "fig3") == {"render_batch_norm": 1, "fig3": 1}
    shutil.rmtree(copied / "results/small/runs")
    shutil.rmtree(copied / "results/small/predictions")
    shutil.rmtree(copied / "results/small/metrics")
    # Figure 3 is about the two models on `cpu`; the runs on `cpu-eigen` are not in it.
    assert planned(copied, "fig3")["train_run"] == 14
    assert "train_run" not in planned(copied, "table4")


def test_a_name_like_an_item_of_the_paper_is_one_line_with_the_items(copied, snakemake, refusal):
    line = refusal(snakemake(copied, "fig10", "--dry-run"))
    items = "no table or figure of this name; allowed: table1, table2, "
    assert line.startswith(f"toolnoise: {copied}/study.yaml: fig10: {items}")


def test_a_target_that_the_study_cannot_feed_is_one_line_that_says_what_it_needs(copied, snakemake, refusal):
    line = refusal(snakemake(copied, "fig4", "--dry-run"))
    needs = "it needs a data set with sub-groups: faces, celeba with groups, or image-folder with a group"
    assert line == f"toolnoise: {copied}/study.yaml: fig4: the study has no subgroups; {needs}"


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


def test_a_job_that_is_done_again_says_the_same_but_for_times(small_study, toolnoise, tmp_path):
    def about(folder):
        value = json.loads((folder / "results/s/statements/d.npz.intoto.json").read_text())
        del value["predicate"]["runDetails"]["metadata"]
        return value

    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        study = small_study / "results/small/study.json"
        arguments = ["prepare", "--study", study, "--dataset", "digits", "--out", "results/s/d.npz"]
        assert toolnoise(folder, *arguments).returncode == 0
    assert about(tmp_path / "one") == about(tmp_path / "other")


def test_a_statement_has_the_variables_that_numpy_computes_by_and_no_secret(small_study, toolnoise, tmp_path):
    secrets = {"TF_TOKEN_app_terraform_io": "secret", "NVIDIA_API_KEY": "secret", "CUDA_TOKEN": "secret"}
    arguments = ["prepare", "--study", small_study / "results/small/study.json", "--dataset", "digits"]
    done = toolnoise(tmp_path, *arguments, "--out", "results/s/d.npz", env={"OMP_NUM_THREADS": "1", **secrets})
    assert done.returncode == 0, done.stderr
    path = tmp_path / "results/s/statements/d.npz.intoto.json"
    assert "secret" not in path.read_text()
    assert statements.read(path).observed["variables"]["OMP_NUM_THREADS"] == "1"


# Snakemake's own report, as people ask for it: `snakemake --report`


def captions(report):
    """The captions in a report, without marks and with all white space alike."""
    written = map(json.loads, re.findall(r'"caption": ("(?:[^"\\]|\\.)*")', report.read_text()))
    return {" ".join(html.unescape(re.sub(r"<[^>]+>", "", caption)).split()) for caption in written}


@pytest.fixture
def files(copied):
    """The paths of all files in the folder of the study, but for Snakemake's logs and what it keeps for minutes."""

    def listed():
        found = {path.relative_to(copied).as_posix() for path in copied.rglob("*") if path.is_file()}
        return {name for name in found if not name.startswith((".snakemake/log/", ".snakemake/iocache/"))}

    return listed


def test_a_report_has_every_figure_with_its_caption_and_is_the_only_new_file(copied, snakemake, files):
    before = files()
    done = snakemake(copied, "--report", "mine.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Study <em>small</em>: how much of a trained network" in (copied / "mine.html").read_text()
    # Besides them there is the caption of the metric files.
    found = captions(copied / "mine.html")
    assert len(found) == len(KINDS) + 1
    assert {study_page.plain(catalogue.KINDS[kind].caption_in("small")) for kind in KINDS} < found
    assert files() == before | {"mine.html"}


def test_a_report_may_be_an_archive(copied, snakemake):
    done = snakemake(copied, "--report", "mine.zip")
    assert done.returncode == 0, done.stdout + done.stderr
    assert zipfile.ZipFile(copied / "mine.zip").testzip() is None


# The control gate: a study whose control runs are not bit-equal fails, and says where they part


CELL = "smallcnn/digits/cpu"


@pytest.fixture
def tampered(copied):
    """A study in which one control run holds what a run with implementation noise left, but for its record."""
    runs = copied / "results/small/runs" / CELL
    for name in ("weights.npz", "history.csv"):
        shutil.copyfile(runs / "impl/2" / name, runs / "control/2" / name)
    return copied


def gate(toolnoise, folder, out="gate.json"):
    results = folder / "results/small"
    names = ["--study", results / "study.json", "--model", "smallcnn", "--dataset", "digits", "--hardware", "cpu"]
    dump = results / "predictions" / CELL / "control"
    records = [results / "runs" / CELL / "control" / seed / "run.json" for seed in ("1", "2")]
    inputs = ["--logits", f"{dump}.npy", "--index", f"{dump}.json", "--records", *records]
    return toolnoise(folder, "check-control", *names, *inputs, "--out", out)


def test_the_gate_names_seeds_epoch_and_layer_in_one_line(tampered, toolnoise, refusal):
    line = refusal(gate(toolnoise, tampered))
    for words in (f"{CELL}/control", "seeds 1 and 2", "epoch 1", "conv1/kernel"):
        assert words in line
    assert not (tampered / "gate.json").exists()


def test_the_gate_sees_one_changed_bit_of_the_final_weights(copied, toolnoise, refusal):
    path = copied / "results/small/runs" / CELL / "control/2/weights.npz"
    weights = arrays.read_npz(path)
    weights["dense/bias"].view(np.uint32)[3] ^= 1
    arrays.write_npz(path, weights)
    line = refusal(gate(toolnoise, copied))
    assert "final weights" in line
    assert "dense/bias" in line


def test_an_honest_study_passes_the_gate(copied, toolnoise):
    done = gate(toolnoise, copied)
    assert done.returncode == 0, done.stderr


def test_a_study_whose_gate_fails_fails_and_shows_the_line(tampered, snakemake):
    verdict = f"results/small/control/{CELL}.json"
    (tampered / verdict).unlink()
    done = snakemake(tampered, verdict, "results/small/metrics/stability.csv", "--logger", "toolnoise")
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "failed: check_control" in said
    assert any(line.startswith("  toolnoise: ") and "seeds 1 and 2" in line for line in said.splitlines())
    assert not (tampered / verdict).exists()
