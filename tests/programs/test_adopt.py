"""Runs that are already there become a study, which is measured and audited as others are."""

import json

import numpy as np
import pytest
import yaml

from toolnoise.base import metric_files
from toolnoise.formulas.stability import STABILITY

pytestmark = pytest.mark.long


def measured(folder, study="mine"):
    rows = metric_files.read([folder / f"results/{study}/metrics/stability.csv"], STABILITY)
    return {(row.model, row.metric): row.value for row in rows[rows["group"] == "all"].itertuples()}


def test_predictions_of_another_program_have_the_churn_and_the_sd_that_numpy_alone_computes(
    existing_arms, toolnoise, snakemake
):
    folder, labels, found = existing_arms
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
    existing_arms, toolnoise, snakemake
):
    folder, *_ = existing_arms
    toolnoise(folder, "adopt", "runs/{arm}/seed{seed}/preds.npy", "--labels", "y.npy", "--name", "mine")
    (folder / "mine.yaml").write_text((folder / "mine.yaml").read_text() + "figures: [table2]\n")
    assert snakemake(folder, study="mine.yaml").returncode == 0
    changed = folder / "adopted/mine/wide/3/logits.npy"
    np.save(changed, np.load(changed)[::-1])
    assert "differs from the one here" in toolnoise(folder, "audit", "results/mine").stdout


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
