"""Networks that answer more than one question an example: text, masks, and CelebA as it was published.

From files to the page. What is stored and measured is computed again here, in float64, from the dumps alone.
"""

import itertools
import json

import numpy as np
import official_formats
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.special import logsumexp

from toolnoise.base import metric_files
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.language.measure import LANGUAGE

pytestmark = pytest.mark.long

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
    rows = metric_files.read([study / f"metrics/{file}.csv"], columns)
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
