"""Runs that are already there become a study: files of another program, tables, and what is refused."""

import json

import numpy as np
import pytest
import yaml
from scipy import stats

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.formulas.stability import STABILITY
from toolnoise.programs import existing_runs
from toolnoise.study import config

pytestmark = pytest.mark.long

EXAMPLES, CLASSES = 40, 3


@pytest.fixture
def runs(tmp_path):
    """Files that another program wrote: two arms of four runs, and their labels."""
    draw = np.random.default_rng(1)
    labels = draw.integers(CLASSES, size=EXAMPLES)
    labels[:CLASSES] = range(CLASSES)
    np.save(tmp_path / "y.npy", labels)
    found = {}
    for arm, noise in (("plain net", 1.0), ("wide", 0.5)):
        for seed in (3, 5, 8, 13):
            folder = tmp_path / "runs" / arm / f"seed{seed}"
            folder.mkdir(parents=True)
            logits = (np.eye(CLASSES)[labels] + noise * draw.normal(size=(EXAMPLES, CLASSES))).astype(np.float32)
            np.save(folder / "preds.npy", logits)
            found.setdefault(arm, []).append(logits)
    return tmp_path, labels, found


def measured(folder, study="mine"):
    rows = metric_files.read([folder / f"results/{study}/metrics/stability.csv"], STABILITY)
    return {(row.model, row.metric): row.value for row in rows[rows["group"] == "all"].itertuples()}


def test_predictions_of_another_program_have_the_churn_and_the_sd_that_numpy_alone_computes(runs, toolnoise, snakemake):
    folder, labels, found = runs
    done = toolnoise(folder, "adopt", "runs/{arm}/seed{seed}/preds.npy", "--labels", "y.npy", "--name", "mine")
    assert done.stdout.startswith("mine.yaml: 8 runs (plain-net 4, wide 4), copied to adopted/mine."), done.stderr
    assert yaml.safe_load((folder / "mine.yaml").read_text())["grid"][0]["seeds"] == [3, 5, 8, 13]
    done = snakemake(folder, study="mine.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = measured(folder)
    for arm, name in (("plain net", "plain-net"), ("wide", "wide")):
        predicted = np.stack(found[arm]).argmax(axis=2)
        accuracy = (predicted == labels).mean(axis=1)
        churn = [(a != b).mean() for i, a in enumerate(predicted) for b in predicted[:i]]
        assert rows[name, "accuracy_sd"] == pytest.approx(accuracy.std(ddof=1), abs=1e-12)
        assert rows[name, "churn"] == pytest.approx(np.mean(churn), abs=1e-12)
    audit = toolnoise(folder, "audit", "results/mine")
    assert audit.returncode == 0, audit.stdout
    statement = json.loads(next((folder / "results/mine/statements/runs").rglob("*.intoto.json")).read_text())
    definition = statement["predicate"]["buildDefinition"]
    assert definition["internalParameters"]["observed"]["origin"] == "adopted: how it was made is not known here"
    assert any(one["name"].startswith("adopted/mine/") for one in definition["resolvedDependencies"])
    said = toolnoise(folder, "summary", "--study", "mine.yaml").stdout
    assert "adopted, how they were made is not known here" in said
    assert "training" not in said
    said = toolnoise(folder, "summary", "--study", "mine.yaml", "--cells").stdout
    assert "adopted, how they were made is not known here: plain-net, wide" in said
    # Runs of two arms with one seed share nothing that is known.
    dumps = [f"results/mine/predictions/{name}/outcome/adopted/algo_impl.npy" for name in ("plain-net", "wide")]
    compared = toolnoise(folder, "compare", *dumps)
    assert compared.returncode == 0, compared.stderr
    assert "in pairs" not in compared.stdout


def test_a_file_that_was_changed_after_it_was_adopted_is_adopted_again_or_found_by_the_audit(
    runs, toolnoise, snakemake
):
    folder, *_ = runs
    toolnoise(folder, "adopt", "runs/{arm}/seed{seed}/preds.npy", "--labels", "y.npy", "--name", "mine")
    (folder / "mine.yaml").write_text((folder / "mine.yaml").read_text() + "figures: [table2]\n")
    assert snakemake(folder, study="mine.yaml").returncode == 0
    changed = folder / "adopted/mine/wide/3/logits.npy"
    np.save(changed, np.load(changed)[::-1])
    assert "differs" in toolnoise(folder, "audit", "results/mine").stdout


def test_a_table_names_files_arms_and_seeds(runs, toolnoise):
    folder, *_ = runs
    lines = [f"runs/wide/seed{seed}/preds.npy,wide,{seed},y.npy" for seed in (3, 5)]
    (folder / "table.csv").write_text("\n".join(["file,arm,seed,labels", *lines]) + "\n")
    done = toolnoise(folder, "adopt", "table.csv", "--name", "tabled")
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load((folder / "tabled.yaml").read_text())["models"] == {
        "wide": {"adopted": "adopted/tabled/wide", "outcome": "logits"}
    }
    origin = json.loads((folder / "adopted/tabled/wide/3/origin.json").read_text())
    assert origin["adopted_from"] == "runs/wide/seed3/preds.npy"


def test_predictions_of_a_regression_are_taken_as_they_are(tmp_path, toolnoise, refusal):
    truth = np.random.default_rng(2).normal(size=EXAMPLES)
    np.save(tmp_path / "y.npy", truth)
    np.save(tmp_path / "run1.npy", truth + 0.5)
    options = ["--labels", "y.npy", "--values", "--name", "mine"]
    done = toolnoise(tmp_path, "adopt", "run{seed}.npy", *options)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load((tmp_path / "mine.yaml").read_text())["models"]["runs"]["outcome"] == "values"
    left = tmp_path / "adopted/mine/runs/1"
    assert np.array_equal(np.load(left / "predictions.npy"), truth + 0.5)
    assert np.array_equal(np.load(left / "labels.npy"), truth)
    np.save(tmp_path / "run2.npy", truth[:-1])
    line = refusal(toolnoise(tmp_path, "adopt", "run{seed}.npy", *options[:-1], "other"))
    assert line.endswith("run2.npy: found shape (39,); 40 or run x 40, as the true values are")


def test_seeds_that_a_study_cannot_have_are_numbered_in_their_order(tmp_path, toolnoise):
    rows = ["a,0,0.9", "a,4294967295,0.8", "a,7,0.7", "b,7,0.6"]
    (tmp_path / "export.csv").write_text("\n".join(["arm,seed,accuracy", *rows]) + "\n")
    done = toolnoise(tmp_path, "adopt", "export.csv", "--metric", "accuracy", "--name", "mine")
    assert done.returncode == 0, done.stderr
    assert "Their seeds are numbered from 1 in their order" in done.stdout
    grid = yaml.safe_load((tmp_path / "mine.yaml").read_text())["grid"]
    assert [block["seeds"] for block in grid] == [[1, 2, 3], [2]]
    own = {
        f"{arm}/{number}": json.loads((tmp_path / f"adopted/mine/{arm}/{number}/origin.json").read_text())["seed"]
        for arm, number in (("a", 1), ("a", 2), ("a", 3), ("b", 2))
    }
    assert own == {"a/1": 0, "a/2": 7, "a/3": 4294967295, "b/2": 7}


def test_an_export_with_metrics_alone_is_a_study_too(tmp_path, toolnoise, snakemake):
    rows = [("sgd", 1, 0.91, 0.4), ("sgd", 2, 0.93, 0.3), ("sgd", 3, 0.92, 0.5), ("adam", 1, 0.9, 0.2)]
    rows += [("adam", 2, 0.94, 0.1), ("adam", 3, 0.95, 0.6)]
    lines = [f'"{name}","{seed}","{accuracy}","{loss}"' for name, seed, accuracy, loss in rows]
    (tmp_path / "export.csv").write_text('"Group","seed","test/acc","test/loss"\n' + "\n".join(lines) + "\n")
    options = ["--arm-column", "Group", "--metric", "test/acc", "--metric", "test/loss", "--name", "exported"]
    done = toolnoise(tmp_path, "adopt", "export.csv", *options)
    assert done.returncode == 0, done.stderr
    done = snakemake(tmp_path, study="exported.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    found = measured(tmp_path, "exported")
    assert found["adam", "test-acc_sd"] == pytest.approx(np.std([0.9, 0.94, 0.95], ddof=1))
    assert found["sgd", "test-loss_mean"] == pytest.approx(0.4)
    said = toolnoise(tmp_path, "summary", "--study", "exported.yaml").stdout
    how = "others compared with sgd; not paired; 2 tests, Holm"
    assert f"Do adopted arms differ (outcome/adopted/algo_impl; runs: sgd 3, adam 3; {how})?" in said
    assert "adam - sgd: No significant difference in test-acc: " in said
    assert "test-loss: lower is better, by its name." in said
    (arms,) = json.loads(toolnoise(tmp_path, "summary", "--study", "exported.yaml", "--json").stdout)["adopted_arms"]
    for compared, column in zip(arms["comparisons"], (2, 3), strict=True):
        sgd, adam = ([row[column] for row in rows if row[0] == name] for name in ("sgd", "adam"))
        assert compared["pvalue"] == pytest.approx(stats.ttest_ind(adam, sgd, equal_var=False).pvalue, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["runs/{arm}/{run}.npy"], "found {run}; allowed: {arm} and {seed}"),
        (["none/{arm}/{seed}.npy"], "no file matches none/{arm}/{seed}.npy"),
        (["runs/{arm}{seed}.npy"], "a pattern such as runs/{arm}/{seed}.npy, with something between its fields"),
        (["runs/{arm}/seed{seed}/preds.npy"], "--labels: missing"),
        (["y.csv"], "no column 'file'; its columns are label"),
        (["twice.csv"], "found 2 columns 'arm'"),
        (["runs/{arm}/seed{seed}/preds.npy", "--labels", "short.npy"], "39 labels"),
    ],
)
def test_what_cannot_be_adopted_is_refused_and_nothing_is_written(arguments, says, runs, toolnoise, refusal):
    folder, labels, _ = runs
    (folder / "y.csv").write_text("label\n1\n")
    (folder / "twice.csv").write_text("arm,file,arm\na,runs/a.npy,b\n")
    np.save(folder / "short.npy", labels[:-1])
    assert says in refusal(toolnoise(folder, "adopt", *arguments, "--name", "mine"))
    assert not (folder / "mine.yaml").exists()
    assert not (folder / "adopted").exists()


@pytest.mark.parametrize("name", ["../evil", "a/b", "/tmp/evil", "..", "", "a b", "-x", "x" * 65, "a\nb", "é"])
def test_a_name_that_is_no_name_writes_nothing(name, runs, monkeypatch):
    folder, *_ = runs
    monkeypatch.chdir(folder)
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(BadInput, match=r"^command line: --name: found .*; allowed: a name of letters, digits"):
        existing_runs.adopt("runs/{arm}/seed{seed}/preds.npy", name, "y.npy", existing_runs.Columns())
    assert sorted(folder.parent.rglob("*")) == before


@pytest.mark.parametrize("name", ["010", "1e3", "yes", "1_0", "null"])
def test_a_name_that_yaml_would_change_stands_in_quotes(name, runs, monkeypatch):
    folder, *_ = runs
    monkeypatch.chdir(folder)
    (folder / "runs/plain net").rename(folder / "runs" / name)
    existing_runs.adopt("runs/{arm}/seed{seed}/preds.npy", name, "y.npy", existing_runs.Columns())
    study = config.read(f"{name}.yaml")
    assert (study["study"], sorted(study["models"])) == (name, sorted([name, "wide"]))
