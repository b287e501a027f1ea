"""Regressions, many labels, tokens, masks, losses, classes, metrics: through a study, its page and `compare`.

The programs are real: scikit-learn and NumPy on the data that scikit-learn brings, and on Python's own sources. Every
number is held against NumPy in float64, computed from the files that the programs left.
"""

import csv
import json
import re

import numpy as np
import pytest

from toolnoise.base import arrays

pytestmark = pytest.mark.long

# Each trains in less than a second. `init` draws weights, or the order of training.
PROGRAM = """
import inspect, json, os, sys, textwrap
import numpy as np

kind, seed, out = sys.argv[1], int(sys.argv[2]), os.environ["TOOLNOISE_OUT"]

def save(**arrays):
    for name, array in arrays.items():
        np.save(f"{out}/{name}.npy", array)

if kind not in ("tokens", "losses", "signs", "score"):
    from sklearn import datasets
    from sklearn.linear_model import SGDClassifier
    from sklearn.neural_network import MLPRegressor

def bigrams():
    # A model of signs in Python's own programs: counts of pairs in a random half of the text, smoothed.
    text = np.frombuffer(inspect.getsource(textwrap).encode(), np.uint8) % 32
    segments = text[: len(text) // 33 * 33].reshape(-1, 33)
    train, test = segments[:60], segments[60:80]
    counts = np.ones((32, 32))
    for one in train[np.random.default_rng(seed).permutation(60)[:30]]:
        np.add.at(counts, (one[:-1], one[1:]), 1)
    logits = np.log(counts / counts.sum(1, keepdims=True))[test[:, :-1]]
    return logits, test[:, 1:].astype(np.int64)

if kind in ("diabetes", "linnerud"):
    images, truth = getattr(datasets, f"load_{kind}")(return_X_y=True)
    images, half = (images - images.mean(0)) / images.std(0), len(images) // 2
    import warnings

    warnings.simplefilter("ignore")  # it stops early
    net = MLPRegressor(hidden_layer_sizes=[8], random_state=seed, max_iter=40, learning_rate_init=0.1)
    net.fit(images[:half], truth[:half])
    save(predictions=net.predict(images[half:]), labels=truth[half:].astype(float))
elif kind == "digits":
    images, digit = datasets.load_digits(return_X_y=True)
    labels = np.stack([digit % 2, digit > 4, np.isin(digit, (0, 6, 8, 9))], axis=1).astype(np.int64)
    images = images / 16
    nets = [SGDClassifier(loss="log_loss", random_state=seed, max_iter=5, tol=None) for _ in labels.T]
    each = [net.fit(images[:900], one) for net, one in zip(nets, labels[:900].T)]
    logits = np.stack([one.decision_function(images[900:1200]) for one in each], axis=1).astype(np.float32)
    save(logits=logits, labels=labels[900:1200])
    np.savez(f"{out}/groups.npz", small=digit[900:1200] < 3)
elif kind == "masks":
    truth = (datasets.load_digits().images[:240] > 7).astype(np.int64)
    noisy = truth + np.random.default_rng(0).normal(size=truth.shape)
    net = SGDClassifier(loss="log_loss", random_state=seed, max_iter=2, tol=None)
    net.fit(noisy[:200].reshape(-1, 1), truth[:200].ravel())
    of_ink = net.decision_function(noisy[200:].reshape(-1, 1)).reshape(40, 8, 8)
    save(logits=np.stack([np.zeros_like(of_ink), of_ink], axis=-1).astype(np.float32), labels=truth[200:])
elif kind in ("signs", "score"):
    truth = np.random.default_rng(0).normal(size=50)
    values = truth + np.random.default_rng(seed).normal(size=50)
    if kind == "signs":
        save(predictions=(values > 0).astype(int), labels=(truth > 0).astype(int))
    else:
        json.dump({"perplexity": float(values.sum())}, open(f"{out}/metric.json", "w"))
else:
    logits, labels = bigrams()
    if kind == "tokens":
        save(logits=logits.astype(np.float32), labels=labels)
    else:
        losses = -np.take_along_axis(logits, labels[..., None], axis=2)[..., 0]
        # The last segments are shorter.
        losses[-3:, 20:] = np.nan
        save(losses=losses)
"""
KINDS = {
    "diabetes": "values",
    "linnerud": "values",
    "digits": "labels",
    "tokens": "tokens",
    "masks": "masks",
    "losses": "losses",
    "signs": "classes",
    "score": "metric",
}
SEEDS = (1, 2, 3)
GATED = ("linnerud", "digits", "losses", "signs", "score")
# These say that they draw dropout masks, and do not read that seed.
UNREAD = ("signs", "score")
STUDY = {
    "study": "outcomes",
    "figures": ["table2"],
    "models": {
        name: {
            "command": f"python train.py {name} {{init}}",
            "sources": ["init", *(["dropout"] if name in UNREAD else [])],
            "outcome": kind,
        }
        for name, kind in KINDS.items()
    },
    "datasets": {f"of-{name}": {"reader": "outcome"} for name in KINDS},
    "grid": [
        {
            "models": [name],
            "datasets": [f"of-{name}"],
            "hardware": ["command"],
            "variants": ["control"] * (name in GATED) + ["init"] + ["dropout"] * (name in UNREAD),
            "seeds": len(SEEDS),
        }
        for name in KINDS
    ],
}


@pytest.fixture(scope="module")
def studied(once, write_study, snakemake):
    def make(folder):
        (folder / "here").mkdir()
        write_study(folder / "here", STUDY)
        (folder / "here/train.py").write_text(PROGRAM)
        done = snakemake((folder / "here").resolve())
        assert done.returncode == 0, done.stdout + done.stderr

    return once("outcomes", make) / "here"


def left(folder, name):
    """What the runs of a program left, stacked by the array's name."""
    place = folder / f"results/outcomes/runs/{name}/of-{name}/command/init"
    runs = [arrays.read_npz(place / str(seed) / "weights.npz") for seed in SEEDS]
    return {key.removesuffix(":"): np.stack([run[key] for run in runs]) for key in runs[0]}


def measured(folder, name, variant="init"):
    lines = (folder / "results/outcomes/metrics/stability.csv").read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {
        (row["metric"], row["group"]): float(row["value"] or "nan")
        for row in rows
        if (row["model"], row["variant"]) == (name, variant)
    }


def pairs(values, difference):
    """The mean over pairs of runs of the mean of a difference."""
    each = [difference(a, b).mean() for place, a in enumerate(values) for b in values[:place]]
    return np.mean(each)


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def test_many_labels_have_the_measures_of_their_labels(studied):
    found, rows = left(studied, "digits"), measured(studied, "digits")
    said, truth = found["logits"] > 0, found["labels"][0]
    right = said == truth
    accuracies = right.reshape(len(SEEDS), -1).mean(axis=1)
    assert rows["accuracy_mean", "all"] == near(accuracies.mean())
    assert rows["accuracy_sd", "all"] == near(accuracies.std(ddof=1))
    assert rows["churn", "all"] == near(pairs(said, np.not_equal))
    logits = found["logits"].astype(np.float64)
    losses = np.logaddexp(0, np.where(truth == 1, -logits, logits)).reshape(len(SEEDS), -1).mean(axis=1)
    assert rows["cross_entropy_mean", "all"] == near(losses.mean())
    for label in range(truth.shape[1]):
        of_label = right[:, :, label].mean(axis=1)
        assert rows["accuracy_mean", f"label_{label}:all"] == near(of_label.mean())
        assert rows["accuracy_sd", f"label_{label}:all"] == near(of_label.std(ddof=1))
    small = found["group/small"][0]
    assert rows["accuracy_mean", "small"] == near(right[:, small].mean())
    assert rows["accuracy_mean", "label_1:small"] == near(right[:, small, 1].mean())


@pytest.mark.parametrize("name", ["tokens", "masks"])
def test_tokens_and_pixels_have_the_measures_of_units(name, studied):
    found, rows = left(studied, name), measured(studied, name)
    said, truth = found["logits"].argmax(axis=-1), found["labels"][0]
    accuracies = (said == truth).reshape(len(SEEDS), -1).mean(axis=1)
    assert rows["accuracy_mean", "all"] == near(accuracies.mean())
    assert rows["accuracy_sd", "all"] == near(accuracies.std(ddof=1))
    assert rows["churn", "all"] == near(pairs(said, np.not_equal))
    logits = found["logits"].astype(np.float64)
    logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    losses = -np.take_along_axis(logits, found["labels"][..., None], axis=-1).reshape(len(SEEDS), -1).mean(axis=1)
    assert rows["cross_entropy_sd", "all"] == near(losses.std(ddof=1))


@pytest.mark.parametrize("name", ["diabetes", "linnerud"])
def test_values_of_one_column_or_several_have_their_errors(name, studied):
    found, rows = left(studied, name), measured(studied, name)
    values, truth = (found[key].reshape(len(SEEDS), len(found[key][0]), -1) for key in ("predictions", "labels"))
    columns = {"all": slice(None)}
    if name == "linnerud":
        columns |= {f"column_{place}": slice(place, place + 1) for place in range(3)}
    assert {group for _, group in rows} == columns.keys()
    for group, of_group in columns.items():
        wrong = (values - truth)[:, :, of_group].reshape(len(SEEDS), -1)
        absolute, rmse = np.abs(wrong).mean(axis=1), np.sqrt((wrong**2).mean(axis=1))
        assert rows["mean_absolute_error_mean", group] == near(absolute.mean())
        assert rows["mean_absolute_error_sd", group] == near(absolute.std(ddof=1))
        assert rows["rmse_sd", group] == near(rmse.std(ddof=1))
        apart = pairs(values[:, :, of_group], lambda a, b: np.abs(a - b))
        assert rows["mean_absolute_difference", group] == near(apart)


def test_losses_have_a_mean_a_perplexity_and_a_difference_between_runs_and_no_error(studied):
    losses, rows = left(studied, "losses")["losses"], measured(studied, "losses")
    assert np.isnan(losses).sum() == len(SEEDS) * 3 * 12
    means = np.nanmean(losses.reshape(len(SEEDS), -1), axis=1)
    assert rows["loss_mean", "all"] == near(means.mean())
    assert rows["loss_sd", "all"] == near(means.std(ddof=1))
    assert rows["perplexity_mean", "all"] == near(np.exp(means.mean()))
    # The delta method: near the SD of the runs' perplexities.
    assert rows["perplexity_sd", "all"] == near(np.exp(means.mean()) * means.std(ddof=1))
    assert rows["perplexity_sd", "all"] == pytest.approx(np.exp(means).std(ddof=1), rel=means.std())
    there = losses[:, ~np.isnan(losses[0])]
    assert rows["mean_absolute_difference", "all"] == near(pairs(there, lambda a, b: np.abs(a - b)))
    assert not {metric for metric, _ in rows if re.search("error|rmse|accuracy|churn", metric)}
    index = json.loads((studied / "results/outcomes/predictions/losses/of-losses/command/init.json").read_text())
    assert index["lengths"] == [32] * 17 + [20] * 3


def test_classes_have_a_churn_and_a_metric_has_an_sd(studied):
    predicted, rows = left(studied, "signs")["predictions"], measured(studied, "signs")
    assert rows["churn", "all"] == near(pairs(predicted, np.not_equal))
    assert not {metric for metric, _ in rows if metric.startswith("cross_entropy")}
    values = left(studied, "score")["metric/perplexity"]
    assert measured(studied, "score")["perplexity_sd", "all"] == near(values.std(ddof=1))


@pytest.mark.parametrize("name", GATED)
def test_control_is_bit_equal_and_init_is_not(name, studied):
    sds = {"values": "mean_absolute_error_sd", "losses": "perplexity_sd", "metric": "perplexity_sd"}
    metric = sds.get(KINDS[name], "accuracy_sd")
    assert measured(studied, name, "control")[metric, "all"] == 0
    assert measured(studied, name)[metric, "all"] > 0


def test_the_audit_the_summary_the_estimate_and_the_page_know_every_outcome(studied, toolnoise):
    estimate = toolnoise(studied, "estimate", "--study", "results/outcomes/study.json")
    assert "of-linnerud" in estimate.stdout, estimate.stderr
    audit = toolnoise(studied, "audit", "results/outcomes")
    assert audit.returncode == 0, audit.stdout
    cells = json.loads(toolnoise(studied, "summary", "--study", "study.yaml", "--json").stdout)["cells"]
    (losses,) = [cell for cell in cells if (cell["model"], cell["variant"]) == ("losses", "init")]
    assert losses["measured"]["perplexity_mean"] > 0
    unread = [(cell["model"], cell["variant"]) for cell in cells if cell["without_effect"]]
    assert unread == [(name, "dropout") for name in UNREAD]
    page = (studied / "results/outcomes/index.html").read_text()
    for label in ("Mean absolute error", "Loss of a token", "Perplexity", "Mean absolute difference between runs"):
        assert label in page
    # The first task with several sources is told; no cell calls runs equal that differ.
    assert "nothing: 3 of 3 pairs bit-equal" in page
    for name in ("losses", "linnerud", "digits"):
        cell = (studied / f"results/outcomes/page/{name}/of-{name}/command/init.html").read_text()
        assert "differ" in cell and "bit-equal" not in cell, name


def test_cells_are_compared_by_what_they_left(studied, toolnoise, refusal):
    def dump(name):
        return f"results/outcomes/predictions/{name}/of-{name}/command/init.npy"

    for name, kind in KINDS.items():
        done = toolnoise(studied, "compare", dump(name), dump(name), "--json")
        if kind == "metric":
            assert f"{dump(name)}: found an outcome of kind metric; classes or scores" in refusal(done)
            continue
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["outcome"] == ("label" if kind == "classes" else kind)
        changed = found["difference"] if kind in ("values", "losses") else found["accuracy_difference"]
        assert changed["value"] == 0
    line = refusal(toolnoise(studied, "compare", dump("losses"), dump("diabetes")))
    assert line.endswith(f"{dump('diabetes')}: found an outcome of kind values; losses, as in other arms")
    line = refusal(toolnoise(studied, "compare", dump("losses"), dump("losses"), "--values"))
    assert line.endswith("has an outcome of kind losses; leave it out: the dump says it")
